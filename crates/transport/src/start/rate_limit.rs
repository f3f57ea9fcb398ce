//! A window may not outgrow what was in flight (draft-ietf-ccwg-ratelimited-increase, version 10).

use cc::Ack;
use units::Segments;

/// The largest flight since the last reduction.
#[derive(Clone, Debug)]
pub struct RateLimit {
    max_flight: Segments,
    /// The limit also cuts a window that exceeds it, as the text says literally.
    literal: bool,
}

impl RateLimit {
    /// For a flow with an initial window of `initial` segments. `literal`: the limit also cuts a window that exceeds it.
    pub fn new(initial: Segments, literal: bool) -> RateLimit {
        RateLimit { max_flight: initial, literal }
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
    }

    /// The window after an ACK that the controller has processed: it had set the window from `before` to `after` segments.
    /// `slow_start`: `before` was below the threshold.
    ///
    /// The limit of slow start is what it makes of the largest flight in a round trip. After it the limit is one segment more than
    /// the largest flight: what Reno adds. What other algorithms add is not known here, and does not need to be: a sender whose
    /// flight was its window when the ACK arrived is not limited.
    pub fn limited(&self, ack: &Ack, before: Segments, after: Segments, slow_start: bool) -> Segments {
        let uses_window = ack.prior_in_flight + 1.0 > before;
        if uses_window || after <= before && !self.literal {
            return after;
        }
        let limit = if slow_start {
            // Rapid Start adds two segments for each that is acknowledged.
            let times = if after - before > 1.5 * f64::from(ack.newly_delivered) { 3.0 } else { 2.0 };
            times * self.max_flight
        } else {
            self.max_flight + 1.0
        };
        if self.literal { after.min(limit) } else { after.min(before.max(limit)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cc::testing::ack;

    /// An ACK of one segment after which so many are in flight.
    fn one(in_flight: f64) -> Ack {
        Ack { in_flight, prior_in_flight: in_flight + 1.0, ..ack(1) }
    }

    #[test]
    fn the_example_of_the_appendix() {
        let (mut limit, mut cwnd, mut out) = (RateLimit::new(10.0, false), 10.0, Vec::new());
        for packets in [4, 8, 4, 20] {
            for n in 0..packets {
                limit.on_flight(f64::from(n + 1), cwnd);
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
    fn a_flight_that_is_the_window_is_not_limited() {
        let mut limit = RateLimit::new(50.0, false);
        limit.on_flight(50.0, 50.0);
        // CUBIC adds half of what is acknowledged: one ACK of 44 segments.
        let stretched = Ack { prior_in_flight: 50.0, in_flight: 6.0, ..ack(44) };
        assert_eq!(limit.limited(&stretched, 50.0, 72.0, false), 72.0);
        // Thirty of fifty in flight: one segment in all.
        let mut cwnd = 50.0;
        for _ in 0..100 {
            cwnd = limit.limited(&one(30.0), cwnd, cwnd + 0.5, false);
        }
        assert_eq!(cwnd, 51.0);
        assert_eq!(limit.limited(&one(30.0), 200.0, 202.0, true), 200.0); // Rapid Start: three times fifty
        assert_eq!(limit.limited(&one(30.0), 148.0, 150.0, true), 150.0);
    }
}
