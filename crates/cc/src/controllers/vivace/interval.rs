//! Monitor intervals and the transmissions in them.

use units::Time;

/// What an interval is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Between decisions: its result is not used.
    None,
    Start,
    /// The number of the pair, and whether the rate is the higher one.
    Probe(u8, bool),
    Move,
}

/// A monitor interval.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub number: u32,
    pub purpose: Purpose,
    /// Mb/s.
    pub rate: f64,
    pub first: Time,
    pub second: Time,
    pub last: Time,
    pub sent: u32,
    pub delivered: u32,
    pub lost: u32,
    /// Of the samples: number, sums of sending times since `first` and of round-trip times, of the squares of the former and
    /// of the products, s.
    pub sums: [f64; 5],
}

impl Interval {
    /// The least-squares slope of the round-trip times over their sending times.
    pub fn slope(&self) -> f64 {
        let [n, x, y, xx, xy] = self.sums;
        let spread = n * xx - x * x;
        if n < 2.0 || spread <= 0.0 { 0.0 } else { (n * xy - x * y) / spread }
    }

    /// The rate at which it was sent, Mb/s.
    pub fn measured(&self, segment_bits: f64) -> f64 {
        let span = self.last.since(self.second).seconds();
        if self.sent < 3 || span <= 0.0 { 0.0 } else { f64::from(self.sent - 2) * segment_bits / span / 1e6 }
    }
}

/// A transmission that is not yet delivered or lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    /// One more than the number of the segment; 0 for none.
    pub segment: u64,
    pub interval: u32,
    pub retransmission: bool,
}
