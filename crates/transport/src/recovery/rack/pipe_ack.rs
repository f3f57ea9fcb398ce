//! Congestion window validation of RFC 7661: the volume that was acknowledged within a round trip tells how much of the
//! window is validated.
//!
//! A window is validated if the measure `pipeACK` is at least half of it. (In slow start a quarter suffices: the window
//! may double within the round trip that a sample takes.) A window that is not validated does not grow. A loss then
//! reduces what was used, the larger of `pipeACK` and the data outstanding; at the end of the recovery the volume that was
//! retransmitted is subtracted. For each five minutes, idle ones included, the window is halved.

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
    /// Segments delivered at the start of the round trip; `None`: the next ACK starts one.
    round_start: Option<u64>,
    /// It ends when everything below this segment is acknowledged; zero: nothing was outstanding at its start, and the
    /// first ACK sets it.
    round_end: u32,
    /// When the last sample became too old, if the window was not validated since.
    emptied_at: Option<Time>,
    /// Since when the window is not validated.
    unvalidated_since: Option<Time>,
    /// The window that a loss reduced although it was not validated, and the segments retransmitted until then.
    pub(super) reduced: Option<(u32, u32)>,
}

impl PipeAck {
    /// An ACK up to `una`, with `delivered` segments delivered so far and `next` as the next new segment.
    pub(super) fn on_ack(&mut self, now: Time, una: u32, next: u32, delivered: u64, srtt: Option<Span>) {
        self.turn(now, srtt);
        if let Some(start) = self.round_start {
            if self.round_end == 0 {
                self.round_end = next;
            }
            if una < self.round_end {
                return;
            }
            if delivered > start {
                self.bins[0] = self.bins[0].max((delivered - start) as u32);
                self.measured = true;
            }
        }
        (self.round_start, self.round_end) = (Some(delivered), if next > una { next } else { 0 });
    }

    /// Drops samples that are too old.
    pub(super) fn turn(&mut self, now: Time, srtt: Option<Span>) {
        let length = srtt.unwrap_or(Span::ZERO).max(BIN_MIN);
        for _ in 0..BINS {
            if now.since(self.bin_start) < length {
                return;
            }
            let before = self.largest();
            self.bins.rotate_right(1);
            self.bins[0] = 0;
            self.bin_start += length;
            if before > 0 && self.largest() == 0 {
                self.emptied_at = Some(self.bin_start);
            }
        }
        self.bin_start = now;
    }

    /// The measure begins again, after a recovery or a timeout.
    pub(super) fn restart(&mut self) {
        (self.bins, self.measured, self.round_start) = ([0; BINS], false, None);
        self.validated();
    }

    /// The window is validated, or counts as validated.
    pub(super) fn validated(&mut self) {
        (self.emptied_at, self.unvalidated_since) = (None, None);
    }

    /// How often a window that is not validated is to be halved at `now`: once for each five minutes.
    pub(super) fn halvings(&mut self, now: Time) -> u32 {
        let since = *self.unvalidated_since.get_or_insert(self.emptied_at.unwrap_or(now));
        (now.since(since).ps() / KEPT.ps()) as u32
    }

    /// The window was halved `times` times.
    pub(super) fn halved(&mut self, times: u32) {
        self.unvalidated_since = self.unvalidated_since.map(|since| since + KEPT * times as u64);
    }

    pub(super) fn largest(&self) -> u32 {
        self.bins.into_iter().max().unwrap_or(0)
    }

    /// Whether the use of a window of `cwnd` segments is validated.
    pub(super) fn validates(&self, cwnd: u32, slow_start: bool) -> bool {
        let times = if slow_start { 4 } else { 2 };
        !self.measured || self.largest().saturating_mul(times) >= cwnd
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
    fn after_an_idle_time_the_first_acks_count() {
        // Everything is acknowledged; much later ten segments are sent, and an ACK for each half of them follows.
        let rtt = Some(Span::from_ms(100));
        let begin = || {
            let mut pipe_ack = PipeAck::default();
            pipe_ack.on_ack(ms(100), 1, 5, 1, rtt);
            pipe_ack.on_ack(ms(200), 5, 5, 5, rtt);
            assert_eq!(pipe_ack.largest(), 4);
            pipe_ack.on_ack(ms(300), 5, 5, 5, rtt); // a duplicate
            pipe_ack
        };
        let mut idle = begin();
        idle.on_ack(ms(60_000), 10, 15, 10, rtt);
        assert_eq!(idle.largest(), 0);
        idle.on_ack(ms(60_010), 15, 25, 15, rtt);
        assert_eq!(idle.largest(), 10);
        // One ACK for all of them is a sample at once.
        let mut idle = begin();
        idle.on_ack(ms(60_000), 15, 15, 15, rtt);
        assert_eq!(idle.largest(), 10);
        // After a recovery, with data outstanding, the round trip starts at the next ACK.
        let mut restarted = begin();
        restarted.restart();
        restarted.on_ack(ms(60_000), 10, 20, 10, rtt);
        restarted.on_ack(ms(60_050), 19, 30, 19, rtt);
        assert!(restarted.largest() == 0 && restarted.validates(1000, false));
        restarted.on_ack(ms(60_100), 20, 30, 20, rtt);
        assert_eq!((restarted.largest(), restarted.validates(1000, false)), (10, false));
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
