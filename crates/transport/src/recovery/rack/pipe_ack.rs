//! Congestion window validation of RFC 7661: the volume that was acknowledged within a round trip tells how much of the
//! window is validated.
//!
//! A window is validated if the measure `pipeACK` is at least half of it. (In slow start a quarter suffices: the window
//! may double within the round trip that a sample takes.) A window that is not validated does not grow. A loss then
//! reduces what was used, the larger of `pipeACK` and the data outstanding; at the end of the recovery the volume that was
//! retransmitted is subtracted. After five minutes the window is halved.

use super::state::{Rack, State};
use crate::change::WindowCause;
use crate::sender::Sender;
use cc::Controller;
use units::{Span, Time};

/// How long a window that is not validated is kept: the non-validated period.
const KEPT: Span = Span::from_ms(300_000);
/// A sample counts for three round trips, at least a second.
const BINS: usize = 3;
const BIN_MIN: Span = Span::from_ms(334);

/// The measure `pipeACK`, in segments.
#[derive(Clone, Debug, Default)]
pub(super) struct PipeAck {
    /// The largest sample of each of the last intervals, the present one first.
    bins: [u32; BINS],
    bin_start: Time,
    /// Whether there was a sample. Without one the window counts as validated.
    measured: bool,
    /// The round trip ends when this segment is acknowledged.
    round_end: u32,
    /// Segments delivered at its start.
    round_delivered: u64,
    /// Since when the window is not validated.
    unvalidated_since: Option<Time>,
    /// The window that a loss reduced although it was not validated, and the segments retransmitted until then.
    reduced: Option<(u32, u32)>,
}

impl PipeAck {
    /// An ACK up to `una`, with `delivered` segments delivered so far and `next` as the next new segment.
    pub(super) fn on_ack(&mut self, now: Time, una: u32, next: u32, delivered: u64, srtt: Option<Span>) {
        self.turn(now, srtt);
        if una < self.round_end {
            return;
        }
        if self.round_end > 0 {
            self.bins[0] = self.bins[0].max((delivered - self.round_delivered) as u32);
            self.measured = true;
        }
        (self.round_end, self.round_delivered) = (next.max(una + 1), delivered);
    }

    /// Drops samples that are too old.
    fn turn(&mut self, now: Time, srtt: Option<Span>) {
        let length = srtt.unwrap_or(Span::ZERO).max(BIN_MIN);
        for _ in 0..BINS {
            if now.since(self.bin_start) < length {
                return;
            }
            self.bins.rotate_right(1);
            self.bins[0] = 0;
            self.bin_start += length;
        }
        self.bin_start = now;
    }

    /// The measure begins again, after a recovery or a timeout.
    pub(super) fn restart(&mut self) {
        (self.bins, self.measured, self.round_end) = ([0; BINS], false, 0);
        self.unvalidated_since = None;
    }

    fn largest(&self) -> u32 {
        self.bins.into_iter().max().unwrap_or(0)
    }

    /// Whether the use of a window of `cwnd` segments is validated.
    pub(super) fn validates(&self, cwnd: u32, slow_start: bool) -> bool {
        let times = if slow_start { 4 } else { 2 };
        !self.measured || self.largest().saturating_mul(times) >= cwnd
    }
}

impl Rack {
    /// A loss or an ECN echo is about to reduce the window: if it is not validated, what was used takes its place.
    pub(super) fn discard_unvalidated(&mut self, s: &mut Sender, now: Time) {
        let (cwnd, slow_start) = (s.cwnd(), s.controller.cwnd() < s.controller.ssthresh());
        let out = self.segments.packets_out();
        let Some(pipe_ack) = &mut self.pipe_ack else { return };
        pipe_ack.turn(now, s.rtt.smoothed(&s.options));
        pipe_ack.reduced = None;
        if !s.controller.owns_window() && !pipe_ack.validates(cwnd, slow_start) {
            let used = pipe_ack.largest().max(out).min(cwnd).max(1);
            pipe_ack.reduced = Some((used, s.stats.retransmitted));
            s.controller.set_window(used as f64);
        }
    }

    /// The end of a recovery: takes what was retransmitted out of a window that was not validated. The measure begins
    /// again.
    pub(super) fn end_unvalidated(&mut self, s: &mut Sender) {
        let Some(pipe_ack) = &mut self.pipe_ack else { return };
        let reduced = pipe_ack.reduced.take();
        pipe_ack.restart();
        if let Some((used, before)) = reduced {
            let again = (s.stats.retransmitted - before).min(used);
            let target = self.reduction.target as u64 * (used - again) as u64 / used as u64;
            self.reduction.target = (target as u32).max(1);
            s.controller.set_ssthresh((target as f64).max(2.0));
        }
    }

    /// Called after each attempt to send and before data is written: halves a window that was not validated for five minutes.
    pub(super) fn expire_unvalidated(&mut self, s: &mut Sender, now: Time) {
        let (cwnd, slow_start) = (s.cwnd(), s.controller.cwnd() < s.controller.ssthresh());
        let Some(pipe_ack) = &mut self.pipe_ack else { return };
        pipe_ack.turn(now, s.rtt.smoothed(&s.options));
        if pipe_ack.validates(cwnd, slow_start) {
            pipe_ack.unvalidated_since = None;
            return;
        }
        let since = *pipe_ack.unvalidated_since.get_or_insert(now);
        if now.since(since) < KEPT || self.state != State::Open || s.controller.owns_window() {
            return;
        }
        pipe_ack.unvalidated_since = Some(now);
        let least = (s.options.initial_window as u32).min(cwnd);
        s.cause = Some(WindowCause::Validation);
        s.controller.set_ssthresh(self.current_ssthresh(s));
        s.controller.set_window((cwnd / 2).max(least) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_ms(n)
    }

    /// Round trips of 100 ms that deliver these numbers of segments.
    fn measured(volumes: &[u32]) -> PipeAck {
        let mut pipe_ack = PipeAck::default();
        let rtt = Some(Span::from_ms(100));
        pipe_ack.on_ack(ms(0), 0, volumes[0], 0, rtt);
        let mut una = 0;
        for (round, volume) in volumes.iter().enumerate() {
            una += volume;
            let next = una + volumes.get(round + 1).unwrap_or(&1);
            pipe_ack.on_ack(ms(100 * (round as u64 + 1)), una, next, una as u64, rtt);
        }
        pipe_ack
    }

    #[test]
    fn without_a_sample_the_window_is_validated() {
        assert!(PipeAck::default().validates(1000, false));
        let mut begun = PipeAck::default();
        begun.on_ack(ms(0), 0, 10, 0, None);
        assert!(begun.validates(1000, false));
    }

    #[test]
    fn the_largest_volume_of_a_round_trip_counts() {
        let pipe_ack = measured(&[10, 40, 20]);
        assert_eq!(pipe_ack.largest(), 40);
        assert!(pipe_ack.validates(80, false) && !pipe_ack.validates(81, false));
        assert!(pipe_ack.validates(160, true) && !pipe_ack.validates(161, true));
    }

    #[test]
    fn samples_are_forgotten_after_a_second() {
        let mut pipe_ack = measured(&[40]);
        pipe_ack.turn(ms(1001), Some(Span::from_ms(100)));
        assert_eq!(pipe_ack.largest(), 40);
        pipe_ack.turn(ms(1002), Some(Span::from_ms(100)));
        assert_eq!(pipe_ack.largest(), 0);
        assert!(!pipe_ack.validates(1, false));
        // With a long round trip they stay for three of them.
        let mut slow = measured(&[40]);
        slow.turn(ms(2999), Some(Span::from_ms(1000)));
        assert_eq!(slow.largest(), 40);
        slow.turn(ms(3000), Some(Span::from_ms(1000)));
        assert_eq!(slow.largest(), 0);
        // Much later nothing is left, and the intervals begin anew.
        let mut late = measured(&[40]);
        late.turn(ms(60_000), None);
        assert_eq!((late.largest(), late.bin_start), (0, ms(60_000)));
    }
}
