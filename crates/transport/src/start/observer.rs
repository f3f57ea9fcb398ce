//! What a flow saves of its path for a later one (RFC 9959, "Observing").

use super::SavedPath;
use cc::Ack;
use units::{Segments, Span, Time};

/// The round trips whose deliveries are kept.
const ROUNDS: usize = 4;
/// A path is saved if it carried so many initial windows.
const LEAST_WINDOWS: f64 = 4.0;
/// The time for which the smallest round-trip time holds.
const RTT_LIFETIME: Span = Span::from_ms(300_000);

/// What was observed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// The path.
    pub path: SavedPath,
    /// The time of the last ACK.
    pub at: Time,
}

/// Observes the path of a flow.
#[derive(Clone, Debug, Default)]
pub struct PathObserver {
    min_rtt: Option<(Span, Time)>,
    /// What was acknowledged in the last round trips, segments, and in the present one.
    rounds: [Segments; ROUNDS],
    present: Segments,
    /// The round ends when this segment is acknowledged.
    until: u64,
    at: Time,
}

impl PathObserver {
    /// Processes an ACK. `slow_start`: the window is below its threshold, so half of what was acknowledged counts. `used`:
    /// the window limited the sender.
    pub fn on_ack(&mut self, ack: &Ack, slow_start: bool, used: bool) {
        if let Some(rtt) = ack.rtt {
            let valid = self.min_rtt.filter(|(least, at)| *least <= rtt && ack.now.since(*at) < RTT_LIFETIME);
            self.min_rtt = valid.or(Some((rtt, ack.now)));
        }
        let part = if slow_start { 0.5 } else { 1.0 };
        self.present += f64::from(ack.newly_delivered) * part;
        self.at = ack.now;
        if ack.acked_through < self.until {
            return;
        }
        self.until = ack.next;
        let full = std::mem::take(&mut self.present);
        // A round that the application limits says nothing, unless it is the largest.
        if used || full > self.largest() {
            self.rounds.rotate_right(1);
            self.rounds[0] = full;
        }
    }

    fn largest(&self) -> Segments {
        self.rounds.iter().copied().fold(0.0, f64::max)
    }

    /// What a later flow may use, if the path carried enough for that; `initial`: the initial window, segments.
    pub fn saved(&self, initial: Segments) -> Option<Observed> {
        let (rtt, _) = self.min_rtt?;
        let cwnd = self.largest().floor();
        (cwnd >= LEAST_WINDOWS * initial).then_some(Observed { path: SavedPath { cwnd, rtt }, at: self.at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cc::testing::ack;

    /// Rounds of 100 ms that deliver these numbers of segments.
    fn observed(volumes: &[u64], slow_start: bool, used: bool) -> PathObserver {
        let mut observer = PathObserver::default();
        let mut una = 0;
        for (round, volume) in volumes.iter().enumerate() {
            una += volume;
            let next = una + volumes.get(round + 1).unwrap_or(&0);
            let now = Time::ZERO + Span::from_ms(100 * round as u64);
            let rtt = Some(Span::from_ms(100));
            let (count, acked_through) = (*volume as u32, una);
            observer.on_ack(&Ack { now, acked_through, next, rtt, ..ack(count) }, slow_start, used);
        }
        observer
    }

    #[test]
    fn the_largest_of_the_last_four_round_trips_is_saved() {
        let saved = |observer: PathObserver| observer.saved(10.0).map(|observed| observed.path.cwnd);
        assert_eq!(saved(observed(&[900, 50, 70, 60, 55], false, true)), Some(70.0));
        assert_eq!(saved(observed(&[50, 70, 200], true, true)), Some(100.0)); // slow start: half
        assert_eq!(saved(observed(&[10, 39], false, true)), None); // less than four initial windows
        assert_eq!(saved(observed(&[10, 90, 20, 20, 20, 20, 20], false, false)), Some(90.0));
    }

    #[test]
    fn the_smallest_round_trip_time_holds_for_five_minutes() {
        let mut observer = observed(&[50, 70], false, true);
        let later = |seconds: u64, ms: u64| Ack {
            now: Time::ZERO + Span::from_ms(1000 * seconds),
            rtt: Some(Span::from_ms(ms)),
            ..ack(1)
        };
        observer.on_ack(&later(200, 120), false, true);
        assert_eq!(observer.saved(10.0).unwrap().path.rtt, Span::from_ms(100));
        observer.on_ack(&later(301, 120), false, true);
        assert_eq!(observer.saved(10.0).unwrap().path.rtt, Span::from_ms(120));
    }
}
