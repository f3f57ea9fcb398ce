//! Window arithmetic: how slow start, additive increase and reduction count and round.
//!
//! RFC 5681 section 3.1 in two profiles. `ns2` counts ACKs, keeps the fraction of the window and truncates the
//! threshold (ns-2.35 with `precisionReduce_`, see docs/validation.md). `linux` counts segments and keeps a whole
//! window with a counter.

use crate::events::{Ack, Phase, Timeout};
use crate::flow::{Arithmetic, Growth};
use units::Segments;

/// A congestion window with its threshold.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Congestion window, segments.
    pub cwnd: Segments,
    /// Slow-start threshold, segments.
    pub ssthresh: Segments,
    max: Segments,
    counter: f64,
    arithmetic: Arithmetic,
}

/// The window accessors of a controller that keeps a [`Window`] in a field.
macro_rules! impl_window_accessors {
    ($($field:tt).+) => {
        fn set_window(&mut self, cwnd: units::Segments) {
            self.$($field).+.set(cwnd);
        }
        #[inline]
        fn cwnd(&self) -> units::Segments {
            self.$($field).+.cwnd
        }
        #[inline]
        fn ssthresh(&self) -> units::Segments {
            self.$($field).+.ssthresh
        }
    };
}
pub(crate) use impl_window_accessors;

impl Window {
    /// The window of a new flow.
    pub fn new(flow: &crate::FlowInfo) -> Window {
        Window {
            cwnd: flow.initial_window,
            ssthresh: flow.initial_ssthresh,
            max: flow.max_window,
            counter: 0.0,
            arithmetic: flow.arithmetic,
        }
    }

    /// Whether the window is below the threshold.
    #[inline]
    pub fn slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether this ACK permits window growth.
    #[inline]
    pub fn may_grow(&self, ack: &Ack) -> bool {
        ack.newly_acked > 0
            && ack.phase != Phase::Recovery
            && !ack.ece
            && (ack.window_limited || self.arithmetic.growth == Growth::PerAck)
    }

    /// The number of segments that an ACK counts for: one, or the segments that it acknowledges where growth is
    /// counted.
    #[inline]
    pub fn counts(&self, ack: &Ack) -> f64 {
        match self.arithmetic.growth {
            Growth::PerAck => 1.0,
            Growth::Counted => ack.newly_acked as f64,
        }
    }

    /// Reno's growth: slow start below the threshold, then one segment a round trip.
    #[inline]
    pub fn grow(&mut self, ack: &Ack) {
        let left = self.slow_start_step(ack);
        if left > 0.0 {
            self.additive_step(left);
        }
    }

    /// Slow start. Returns the acknowledged segments that are left for congestion avoidance.
    #[inline]
    pub fn slow_start_step(&mut self, ack: &Ack) -> f64 {
        match self.arithmetic.growth {
            Growth::PerAck if self.slow_start() => {
                self.set(self.cwnd + 1.0);
                0.0
            }
            Growth::PerAck => 1.0,
            Growth::Counted => {
                let acked = ack.newly_acked as f64;
                if !self.slow_start() {
                    return acked;
                }
                let before = self.cwnd;
                self.set((before + acked).min(self.ssthresh));
                acked - (self.cwnd - before).max(0.0)
            }
        }
    }

    /// Congestion avoidance: the window grows by one segment per window of acknowledged segments.
    #[inline]
    pub fn additive_step(&mut self, acked: f64) {
        match self.arithmetic.growth {
            Growth::PerAck => self.set(self.cwnd + acked / self.cwnd),
            Growth::Counted => {
                self.counter += acked;
                if self.counter >= self.cwnd {
                    self.counter -= self.cwnd;
                    self.set(self.cwnd + 1.0);
                }
            }
        }
    }

    /// Sets the window, limited to its upper bound.
    #[inline]
    pub fn set(&mut self, cwnd: Segments) {
        // ns-2 compares the whole part with the bound.
        self.cwnd = if cwnd >= self.max + 1.0 { self.max } else { cwnd };
    }

    /// Sets the window to `needed` segments: never in recovery, and only upwards after a timeout.
    pub fn aim(&mut self, needed: Segments, phase: Phase) {
        match phase {
            Phase::Open => self.set(needed),
            Phase::Loss => self.set(self.cwnd.max(needed)),
            Phase::Recovery => {}
        }
    }

    /// Sets window and threshold to `used * factor`.
    pub fn reduce(&mut self, used: Segments, factor: f64) {
        let whole = self.arithmetic.integer_windows || self.arithmetic.growth == Growth::Counted;
        let used = if whole { used.floor() } else { used };
        let reduced = used * factor;
        self.ssthresh = reduced.floor().max(2.0);
        self.cwnd = match self.arithmetic.growth {
            Growth::Counted => self.ssthresh,
            Growth::PerAck if whole => reduced.floor().max(1.0),
            Growth::PerAck => reduced.max(1.0),
        };
        self.counter = 0.0;
    }

    /// A timeout: reduces the threshold as for a loss and sets the window to one segment.
    pub fn timeout(&mut self, event: &Timeout, factor: f64) {
        if !event.repeated || self.arithmetic.reduce_on_every_timeout {
            self.reduce(event.window, factor);
        }
        self.cwnd = 1.0;
        self.counter = 0.0;
    }
}
