//! Window arithmetic: how slow start, additive increase and reduction count and round.
//!
//! RFC 5681 section 3.1 in two profiles. `ns2` counts ACKs, keeps the fraction of the window and truncates the
//! threshold (ns-2.35 with `precisionReduce_`, see docs/validation.md). `linux` counts segments and keeps a whole
//! window with a counter.

use crate::detmath;
use crate::events::{Ack, Phase, Timeout};
use crate::flow::{Arithmetic, Growth};
use crate::parameters::{Params, choice};
use crate::slow_start::{SlowStart, Step};
use params::Key;
use units::Segments;

/// The parameter `variant` of a controller that has one in real numbers and one in the integers of Linux.
pub const VARIANT: Key = choice!(
    "variant",
    ["profile", "paper", "linux"],
    "real numbers as in the paper, or constants and integers of Linux; `profile`: those of the profile"
);

/// Whether the parameter [`VARIANT`] selects Linux.
pub fn linux_variant(params: &Params, flow: &crate::FlowInfo) -> bool {
    match params.choice("variant") {
        "profile" => flow.arithmetic.growth == Growth::Counted,
        other => other == "linux",
    }
}

/// A congestion window with its threshold.
#[derive(Clone, Debug)]
pub struct Window {
    /// Congestion window, segments.
    pub cwnd: Segments,
    /// Slow-start threshold, segments.
    pub ssthresh: Segments,
    max: Segments,
    /// Acknowledged segments that count towards the next step of a whole window.
    pub(crate) counter: f64,
    arithmetic: Arithmetic,
    /// Reductions are not rounded to whole segments where the profile rounds them.
    exact: bool,
    slow_start: Option<Box<SlowStart>>,
}

/// The window accessors of a controller that keeps a [`Window`] in a field.
#[macro_export]
macro_rules! impl_window_accessors {
    ($($field:tt).+) => {
        fn set_window(&mut self, cwnd: $crate::Segments) {
            self.$($field).+.set(cwnd);
        }
        fn set_ssthresh(&mut self, ssthresh: $crate::Segments) {
            self.$($field).+.ssthresh = ssthresh;
        }
        fn owns_window(&self) -> bool {
            self.$($field).+.owns_recovery()
        }
        #[inline]
        fn cwnd(&self) -> $crate::Segments {
            self.$($field).+.cwnd
        }
        #[inline]
        fn ssthresh(&self) -> $crate::Segments {
            self.$($field).+.ssthresh
        }
    };
}
pub use impl_window_accessors;

/// The window of a controller that sets it also in recovery: a real number in a field, with an upper bound in another. Its
/// threshold is a third field, or there is none.
macro_rules! impl_owned_window {
    ($cwnd:ident, $bound:ident) => {
        $crate::window::impl_owned_window!(@window $cwnd, $bound);
        fn set_ssthresh(&mut self, _ssthresh: units::Segments) {}
        fn ssthresh(&self) -> units::Segments {
            f64::INFINITY
        }
    };
    ($cwnd:ident, $bound:ident, $ssthresh:ident) => {
        $crate::window::impl_owned_window!(@window $cwnd, $bound);
        fn set_ssthresh(&mut self, ssthresh: units::Segments) {
            self.$ssthresh = ssthresh;
        }
        fn ssthresh(&self) -> units::Segments {
            self.$ssthresh
        }
    };
    (@window $cwnd:ident, $bound:ident) => {
        fn owns_window(&self) -> bool {
            true
        }
        fn set_window(&mut self, cwnd: units::Segments) {
            self.$cwnd = cwnd.min(self.$bound);
        }
        fn cwnd(&self) -> units::Segments {
            $crate::detmath::floor(self.$cwnd).max(1.0)
        }
    };
}
pub(crate) use impl_owned_window;

impl Window {
    /// The window of a new flow.
    pub fn new(flow: &crate::FlowInfo) -> Window {
        Window {
            cwnd: flow.initial_window,
            ssthresh: flow.initial_ssthresh,
            max: flow.max_window,
            counter: 0.0,
            arithmetic: flow.arithmetic,
            exact: false,
            slow_start: None,
        }
    }

    /// The same window with `slow_start` as the end of slow start.
    pub fn with_slow_start(self, slow_start: SlowStart) -> Window {
        let slow_start = (!matches!(slow_start, SlowStart::Standard)).then(|| Box::new(slow_start));
        Window { slow_start, ..self }
    }

    /// The same window, whose reductions are real numbers: of an algorithm that is specified in bytes, on flows that count
    /// acknowledged segments. With ns-2's arithmetic nothing changes.
    pub fn with_exact_reduction(self) -> Window {
        let exact = self.arithmetic.growth == Growth::Counted;
        Window { exact, ..self }
    }

    /// Whether the window is below the threshold.
    #[inline]
    pub fn slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Processes an ACK: may end slow start. Returns whether the ACK permits window growth. A controller calls it once for
    /// every ACK.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack) -> bool {
        self.on_ack_with(ack, true)
    }

    /// [`Window::on_ack`], where the round-trip sample of the ACK may not count for the end of slow start.
    #[inline]
    pub fn on_ack_with(&mut self, ack: &Ack, sample_counts: bool) -> bool {
        if self.slow_start.is_some() && self.check_slow_start(ack, sample_counts) {
            return false;
        }
        ack.may_grow && (ack.window_limited || self.arithmetic.growth == Growth::PerAck)
    }

    /// Returns whether slow start has set the window, which does not grow then.
    #[cold]
    fn check_slow_start(&mut self, ack: &Ack, counts: bool) -> bool {
        let (below, cwnd) = (self.slow_start(), self.cwnd);
        let step =
            self.slow_start.as_mut().map_or(Step::None, |state| state.on_ack(ack, cwnd, below, counts));
        match step {
            Step::None => false,
            Step::End => {
                self.ssthresh = self.cwnd;
                false
            }
            Step::Set { cwnd, ssthresh } => {
                self.set(self.whole(cwnd));
                self.ssthresh = self.whole(ssthresh);
                self.counter = 0.0;
                true
            }
        }
    }

    /// `window` as this window counts: a whole number with the integers of Linux.
    fn whole(&self, window: Segments) -> Segments {
        if self.arithmetic.growth == Growth::Counted && !self.exact { detmath::floor(window) } else { window }
    }

    /// Whether slow start sets the window in the recovery that is in progress ([`Controller::owns_window`]).
    ///
    /// [`Controller::owns_window`]: crate::Controller::owns_window
    #[inline]
    pub fn owns_recovery(&self) -> bool {
        self.slow_start.as_ref().is_some_and(|state| state.owns_recovery())
    }

    /// The window that a recovery has reached which slow start has set, segments.
    pub fn recovered(&self) -> Option<Segments> {
        self.slow_start.as_ref().and_then(|state| state.recovered())
    }

    /// A reduction of `used` segments to `reduced`: slow start may begin the recovery with another window.
    fn end_slow_start(&mut self, used: Segments, reduced: Segments) {
        if let Some(state) = &mut self.slow_start
            && let Some(window) = state.on_congestion(used, reduced / used.max(1.0))
        {
            self.cwnd = self.whole(window);
        }
    }

    /// The number of segments that an ACK counts for: one, or the segments that it acknowledges where growth is
    /// counted.
    #[inline]
    pub fn counts(&self, ack: &Ack) -> f64 {
        match self.arithmetic.growth {
            Growth::PerAck => 1.0,
            Growth::Counted => ack.newly_delivered as f64,
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

    /// The growth in slow start for `acked` acknowledged segments, before what a controller itself makes of it.
    #[inline]
    pub fn slow_start_growth(&mut self, acked: f64) -> f64 {
        match &mut self.slow_start {
            None => acked,
            Some(end) => end.growth(acked),
        }
    }

    /// Slow start. Returns the acknowledged segments that are left for congestion avoidance.
    #[inline]
    pub fn slow_start_step(&mut self, ack: &Ack) -> f64 {
        match self.arithmetic.growth {
            Growth::PerAck if self.slow_start() => {
                let growth = self.slow_start_growth(1.0);
                self.set(self.cwnd + growth);
                0.0
            }
            Growth::PerAck => 1.0,
            Growth::Counted => {
                let acked = ack.newly_delivered as f64;
                if !self.slow_start() {
                    return acked;
                }
                let before = self.cwnd;
                let growth = self.slow_start_growth(acked);
                if growth < acked {
                    // HyStart++ limits the growth: nothing is left for congestion avoidance.
                    self.count_slow_start(growth);
                    return 0.0;
                }
                self.set((before + growth).min(self.ssthresh));
                let left = growth - (self.cwnd - before).max(0.0);
                if growth == acked { left } else { left * acked / growth } // Rapid Start: its growth is larger
            }
        }
    }

    /// Adds a part of a segment to a whole window in slow start.
    fn count_slow_start(&mut self, growth: f64) {
        self.counter += growth;
        let whole = detmath::floor(self.counter);
        self.counter -= whole;
        self.set((self.cwnd + whole).min(self.ssthresh));
    }

    /// Congestion avoidance: the window grows by one segment per window of acknowledged segments.
    #[inline]
    pub fn additive_step(&mut self, acked: f64) {
        self.grow_by(acked, self.cwnd);
    }

    /// Congestion avoidance: the window grows by one segment for every `per` acknowledged segments.
    #[inline]
    pub fn grow_by(&mut self, acked: f64, per: f64) {
        match self.arithmetic.growth {
            Growth::PerAck => self.set(self.cwnd + acked / per),
            Growth::Counted => self.count(acked, per),
        }
    }

    /// Congestion avoidance of a whole window: one segment for every `per` acknowledged segments.
    #[inline]
    pub fn count(&mut self, acked: f64, per: f64) {
        if self.counter >= per {
            // `per` has become smaller than what was counted.
            self.counter = 0.0;
            self.set(self.cwnd + 1.0);
        }
        self.counter += acked;
        if self.counter >= per {
            let whole = detmath::floor(self.counter / per);
            self.counter -= whole * per;
            self.set(self.cwnd + whole);
        }
    }

    /// Bounds the window from above, besides the bound of the flow.
    pub fn limit(&mut self, bound: Segments) {
        self.max = self.max.min(bound);
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
            Phase::Cwr | Phase::Recovery => {}
        }
    }

    /// Sets window and threshold to `used * factor`.
    pub fn reduce(&mut self, used: Segments, factor: f64) {
        self.counter = 0.0;
        if self.exact {
            self.ssthresh = (used * factor).max(2.0);
            self.cwnd = self.ssthresh;
            self.end_slow_start(used, used * factor);
            return;
        }
        let whole = self.arithmetic.integer_windows || self.arithmetic.growth == Growth::Counted;
        let used = if whole { detmath::floor(used) } else { used };
        let reduced = used * factor;
        self.ssthresh = detmath::floor(reduced).max(2.0);
        self.cwnd = match self.arithmetic.growth {
            Growth::Counted => self.ssthresh,
            Growth::PerAck if whole => detmath::floor(reduced).max(1.0),
            Growth::PerAck => reduced.max(1.0),
        };
        self.end_slow_start(used, reduced);
    }

    /// Sets window and threshold to `reduced`, a whole number.
    pub fn reduce_to(&mut self, reduced: Segments) {
        let used = self.cwnd;
        self.ssthresh = reduced;
        self.cwnd = reduced;
        self.counter = 0.0;
        self.end_slow_start(used, reduced);
    }

    /// A timeout: reduces the threshold as for a loss and sets the window to one segment.
    pub fn timeout(&mut self, event: &Timeout, factor: f64) {
        if self.reduces_at(event) {
            self.reduce(event.window, factor);
        }
        self.restart();
    }

    /// Whether a timeout reduces the threshold: a repeated one of the same segment does so in ns-2 only.
    pub fn reduces_at(&self, event: &Timeout) -> bool {
        !event.repeated || self.arithmetic.reduce_on_every_timeout
    }

    /// After a timeout: one segment; the threshold stays.
    pub fn restart(&mut self) {
        if let Some(end) = &mut self.slow_start {
            end.on_rto();
        }
        self.cwnd = 1.0;
        self.counter = 0.0;
    }
}
