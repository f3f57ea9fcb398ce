//! Quantiles of waiting times, in [buckets](crate::buckets) whose width is 1/64 of their value.

use crate::buckets::{BUCKETS, bucket, middle};
use crate::counters::Counter;
use units::{Span, Time};

/// How often times of about the same length occurred.
#[derive(Clone, Debug, PartialEq)]
pub struct SojournTimes {
    counts: Box<[u32]>,
    total: u64,
}

impl Default for SojournTimes {
    fn default() -> SojournTimes {
        SojournTimes { counts: vec![0; BUCKETS].into_boxed_slice(), total: 0 }
    }
}

impl SojournTimes {
    /// Counts a time.
    pub fn record(&mut self, time: Span) {
        self.counts[bucket(time.ps())] += 1;
        self.total += 1;
    }

    /// The quantile `q` by rank, within 0.8 %, seconds; none if nothing was counted.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let rank = ((q * self.total as f64).ceil() as u64).max(1);
        let mut below = 0;
        let place = self.counts.iter().position(|count| {
            below += u64::from(*count);
            below >= rank
        })?;
        Some(middle(place) / units::PS_PER_S as f64)
    }
}

impl Counter for SojournTimes {
    fn subtract(&self, early: &SojournTimes) -> SojournTimes {
        let counts = self.counts.iter().zip(&early.counts).map(|(all, early)| all - early).collect();
        SojournTimes { counts, total: self.total - early.total }
    }
    fn add(&self, other: &SojournTimes) -> SojournTimes {
        let counts = self.counts.iter().zip(&other.counts).map(|(one, other)| one + other).collect();
        SojournTimes { counts, total: self.total + other.total }
    }
}

/// Times of each link, by its number.
#[derive(Clone, Debug, Default)]
struct ByLink(Vec<Option<SojournTimes>>);

impl ByLink {
    fn record(&mut self, id: u32, time: Span) {
        let number = id as usize;
        if self.0.len() <= number {
            self.0.resize(number + 1, None);
        }
        self.0[number].get_or_insert_default().record(time);
    }

    fn quantile(&self, number: usize, q: f64) -> Option<f64> {
        self.0.get(number)?.as_ref()?.quantile(q)
    }
}

/// The waiting times of each link, of packets that arrive after the warm-up, and the delays over links of media.
#[derive(Clone, Debug)]
pub(crate) struct Sojourns {
    from: Time,
    waits: ByLink,
    delays: ByLink,
}

impl Sojourns {
    /// Records packets that arrive from `from` on.
    pub fn new(from: Time) -> Sojourns {
        Sojourns { from, waits: ByLink::default(), delays: ByLink::default() }
    }

    /// The first time of an arrival that counts.
    pub fn from(&self) -> Time {
        self.from
    }

    /// The quantile `q` of link `number`, seconds; none if no packet was counted.
    pub fn quantile(&self, number: usize, q: f64) -> Option<f64> {
        self.waits.quantile(number, q)
    }

    /// The median and the 95th and 99th percentiles of the delays over link `number` of a medium, seconds.
    pub fn delays(&self, number: usize) -> Option<[f64; 3]> {
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|q| self.delays.quantile(number, q));
        Some([p50?, p95?, p99?])
    }

    /// Counts a packet that arrived at the queue of link `id` of a medium at `arrived`, and left the receiver at `end`.
    pub fn record_delay(&mut self, id: u32, arrived: Time, end: Time) {
        if arrived >= self.from {
            self.delays.record(id, end.since(arrived));
        }
    }

    /// Counts a packet that arrived at link `id` at `now` and is transmitted or dropped at `start`.
    pub fn record(&mut self, id: u32, now: Time, start: Time) {
        if now >= self.from {
            self.waits.record(id, start.since(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_ranks() {
        let mut times = SojournTimes::default();
        assert_eq!(times.quantile(0.95), None);
        (1..=200).for_each(|ms| times.record(Span::from_ms(ms)));
        for (q, expected) in [(0.0, 0.001), (0.5, 0.1), (0.95, 0.19), (1.0, 0.2)] {
            let value = times.quantile(q).unwrap();
            assert!((value / expected - 1.0).abs() < 0.008, "{q} {value}");
        }
        let mut times = SojournTimes::default();
        times.record(Span::ZERO);
        assert_eq!(times.quantile(0.5), Some(0.0));
    }
}
