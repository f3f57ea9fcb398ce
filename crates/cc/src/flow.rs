//! What a controller knows about its flow when it is created.

use units::Segments;

/// The properties of a flow at the creation of its controller.
#[derive(Clone, Copy, Debug)]
pub struct FlowInfo {
    /// Payload of a segment, bytes. A rate is a window times this size over the round-trip time.
    pub packet: u32,
    /// The window before the first ACK, segments.
    pub initial_window: Segments,
    /// Slow-start threshold at the start, segments; may be infinite.
    pub initial_ssthresh: Segments,
    /// Upper bound of the window, segments; infinite for no bound.
    pub max_window: Segments,
    /// Whether the transport retransmits by the controller's fine-grained clock. The controller then inflates its own
    /// window by the duplicate ACKs.
    pub fine_clock: bool,
    /// An ECN echo reduces the window less than a loss does (RFC 8511).
    pub abe: bool,
    /// A number that is derived from the run's seed and unique to the flow, for an algorithm with random numbers.
    pub seed: u64,
    /// Links of the path to the receiver; 0 if they are not known (satellites, radio, sockets, the kernel).
    pub hops: u32,
    /// How windows are counted and rounded.
    pub arithmetic: Arithmetic,
}

/// What one step of window growth counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// One step per ACK, for any number of acknowledged segments; the window may have a fraction.
    PerAck,
    /// One step per acknowledged segment. The window is a whole number; a counter keeps the remainder.
    Counted,
}

/// How a profile counts and rounds windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// How the window grows.
    pub growth: Growth,
    /// Reductions truncate the window too (ns-2's `precisionReduce_ false`); the threshold is always whole.
    pub integer_windows: bool,
    /// A repeated timeout of one segment reduces the threshold again, as in ns-2. RFC 5681 does not permit this.
    pub reduce_on_every_timeout: bool,
    /// Where a controller has a variant of Linux and one of an RFC, its parameter `profile` means that of the RFC (QUIC).
    pub rfc_variants: bool,
}
