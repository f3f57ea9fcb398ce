//! What is known of a flow when its controller is made, and what a controller may want from it.

use units::Segments;

/// What a controller may want from below, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals(u8);

impl Signals {
    /// Nothing but acknowledgements.
    pub const NONE: Signals = Signals(0);
    /// Delivery-rate samples.
    pub const RATE: Signals = Signals(1);
    /// The receiver's timestamps.
    pub const RECEIVER_TIME: Signals = Signals(2);
    /// A clock per segment that may cause retransmission before the third duplicate ACK (Vegas).
    pub const FINE_CLOCK: Signals = Signals(4);
    /// Paced sending: [`crate::Controller::pacing`] is asked for.
    pub const PACING: Signals = Signals(8);
    /// A timer: [`crate::Controller::wake_at`] is asked for.
    pub const TIMER: Signals = Signals(16);
    /// Rates granted by the routers of the path: [`crate::PathHint::RouterRate`] with every ACK that brings one.
    pub const ROUTER_RATE: Signals = Signals(32);
    /// How the routers of the path let the rate change: [`crate::PathHint::RouterFeedback`] with every ACK that brings it.
    pub const ROUTER_FEEDBACK: Signals = Signals(64);

    /// Whether every signal of `other` is among these.
    pub const fn has(self, other: Signals) -> bool {
        self.0 & other.0 == other.0
    }
    /// Both sets together.
    pub const fn and(self, other: Signals) -> Signals {
        Signals(self.0 | other.0)
    }
}

/// What is known of the flow when its controller is made.
#[derive(Clone, Copy, Debug)]
pub struct FlowInfo {
    /// Payload of a segment, bytes: rates are windows times this.
    pub packet: u32,
    /// Window before the first acknowledgement, segments.
    pub initial_window: Segments,
    /// Slow-start threshold at the start, segments; may be infinite.
    pub initial_ssthresh: Segments,
    /// The window never grows beyond this, segments; infinite for no bound.
    pub max_window: Segments,
    /// How windows are counted and rounded.
    pub arithmetic: Arithmetic,
    /// Whether the transport lets the controller's fine clock cause retransmissions; the controller then
    /// inflates its own window by the duplicate ACKs.
    pub fine_clock: bool,
    /// An ECN echo reduces the window less than a loss does (RFC 8511).
    pub abe: bool,
    /// A number of the flow's own, made from the run's seed, for an algorithm that needs chance.
    pub seed: u64,
}

/// How a window grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// One step per ACK, whatever it covers; the fraction is kept.
    PerAck,
    /// One step per segment acknowledged; a counter holds the fraction, the window is whole.
    Counted,
}

/// Counting and rounding of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// How the window grows.
    pub growth: Growth,
    /// Reductions truncate the window too (ns-2's `precisionReduce_ false`); the threshold is always whole.
    pub integer_windows: bool,
    /// A repeated timeout of one segment lowers the threshold again (ns-2); RFC 5681 says it does not.
    pub reduce_on_every_timeout: bool,
}
