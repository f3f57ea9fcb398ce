//! A window may not outgrow what was in flight (draft-ietf-ccwg-ratelimited-increase, version 10).

use cc::Ack;
use units::Segments;

/// The largest flight since the last reduction, and what the controller adds to its window in a window of data.
#[derive(Clone, Debug)]
pub struct RateLimit {
    max_flight: Segments,
    /// What the controller added in the last window of data, and in the present one, whose acknowledged segments are counted.
    growth: Segments,
    present: Segments,
    acked: f64,
    /// The limit also cuts a window that exceeds it, as the text says literally.
    literal: bool,
}

impl RateLimit {
    /// For a flow with an initial window of `initial` segments. `literal`: the limit also cuts a window that exceeds it.
    pub fn new(initial: Segments, literal: bool) -> RateLimit {
        RateLimit { max_flight: initial, growth: 0.0, present: 0.0, acked: 0.0, literal }
    }

    /// So many segments are in flight after a transmission, with a window of `cwnd`. If there is no room for another one, the
    /// window is used, its fraction too.
    #[inline]
    pub fn on_flight(&mut self, in_flight: Segments, cwnd: Segments) {
        let used = if in_flight + 1.0 > cwnd { cwnd.max(in_flight) } else { in_flight };
        self.max_flight = self.max_flight.max(used);
    }

    /// The window was reduced.
    pub fn on_reduction(&mut self) {
        self.max_flight = 0.0;
        (self.growth, self.present, self.acked) = (0.0, 0.0, 0.0);
    }

    /// The window after an ACK that the controller has processed: it had set the window from `before` to `after` segments.
    /// `slow_start`: `before` was below the threshold.
    pub fn limited(&mut self, ack: &Ack, before: Segments, after: Segments, slow_start: bool) -> Segments {
        let (added, acked) = ((after - before).max(0.0), f64::from(ack.newly_delivered));
        self.present += added;
        self.acked += acked;
        if self.acked >= before {
            self.growth = self.present;
            (self.present, self.acked) = (0.0, 0.0);
        }
        if ack.in_flight >= before || after <= before && !self.literal {
            return after;
        }
        let limit = if slow_start {
            // Rapid Start adds two segments for each that is acknowledged.
            let times = if added > 1.5 * acked { 3.0 } else { 2.0 };
            times * self.max_flight
        } else {
            self.max_flight + self.growth.max(self.present).max(1.0)
        };
        if self.literal { after.min(limit) } else { after.min(before.max(limit)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cc::testing::ack;

    fn one(in_flight: f64) -> Ack {
        Ack { in_flight, ..ack(1) }
    }

    #[test]
    fn the_example_of_the_appendix() {
        let (mut limit, mut cwnd, mut out) = (RateLimit::new(10.0, false), 10.0, Vec::new());
        for packets in [4, 8, 4, 20] {
            for n in 0..packets {
                limit.on_flight(f64::from(n + 1), 1e9);
            }
            for n in 0..packets {
                cwnd = limit.limited(&one(f64::from(packets - n - 1)), cwnd, cwnd + 1.0, true);
            }
            out.push((cwnd, limit.max_flight));
        }
        assert_eq!(out, [(14.0, 10.0), (20.0, 10.0), (20.0, 10.0), (40.0, 20.0)]);
    }

    #[test]
    fn after_a_reduction_the_window_stays_and_the_literal_reading_cuts_it() {
        for (literal, expected) in [(false, 50.0), (true, 21.0)] {
            let mut limit = RateLimit::new(10.0, literal);
            limit.on_flight(100.0, 100.0);
            limit.on_reduction();
            limit.on_flight(20.0, 50.0);
            assert_eq!(limit.limited(&one(19.0), 50.0, 50.02, false), expected);
        }
    }

    #[test]
    fn growth_of_a_whole_segment_once_a_window_is_one_segment() {
        // Reno in whole segments: one ACK of fifty adds one segment.
        let mut limit = RateLimit::new(50.0, false);
        let mut cwnd = 50.0;
        for n in 1..=200u32 {
            let after = if n.is_multiple_of(50) { cwnd + 1.0 } else { cwnd };
            cwnd = limit.limited(&one(30.0), cwnd, after, false);
        }
        assert_eq!(cwnd, 51.0); // 50 in flight at most, and one segment
    }
}
