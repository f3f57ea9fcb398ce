//! The choice of the MCS: fixed, by the true SNR, or a simple variant of Minstrel-HT.

use super::errors::error_probability;
use super::phy::{Phy, appended};
use engine::Stream;
use units::{Span, Time};

/// A packet for which rates are compared, and the MPDUs of its A-MPDU, before any was sent.
const PACKET: u32 = 1500;
const AGGREGATION: f64 = 16.0;
/// Minstrel: weight of the old success probability, time between two updates, time between two samples.
const LEVEL: f64 = 0.75;
const UPDATE: Span = Span::from_ms(100);
const SAMPLE: Span = Span::from_ms(20);

/// How a transmitter chooses its MCS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateControl {
    /// Always the same.
    Fixed(u8),
    /// The one with the largest expected throughput at the true SNR.
    Ideal,
    /// By counting successes.
    Minstrel,
}

/// The choice for one direction.
#[derive(Clone, Debug)]
pub enum Rates {
    Constant(u8),
    /// The best one at the last SNR.
    Ideal {
        snr: f64,
        mcs: u8,
    },
    Minstrel(Box<Minstrel>),
}

impl Rates {
    pub fn new(control: RateControl, phy: &Phy, stream: Stream) -> Rates {
        match control {
            RateControl::Fixed(mcs) => Rates::Constant(mcs),
            RateControl::Ideal => Rates::Ideal { snr: f64::NAN, mcs: 0 },
            RateControl::Minstrel => Rates::Minstrel(Box::new(Minstrel::new(phy, stream))),
        }
    }

    /// The MCS of the next PPDU, at a true SNR of `snr` dB.
    pub fn choose(&mut self, now: Time, phy: &Phy, snr: f64) -> u8 {
        match self {
            Rates::Constant(mcs) => *mcs,
            Rates::Ideal { snr: last, mcs } => {
                if *last != snr {
                    *last = snr;
                    *mcs = best(phy, |mcs| 1.0 - error_probability(snr, mcs, phy.mpdu(PACKET)));
                }
                *mcs
            }
            Rates::Minstrel(minstrel) => minstrel.choose(now, phy),
        }
    }

    /// Of `sent` MPDUs at an MCS `good` arrived.
    pub fn report(&mut self, mcs: u8, sent: u32, good: u32) {
        if let Rates::Minstrel(minstrel) = self {
            minstrel.report(mcs, sent, good);
        }
    }
}

/// Airtime of an MPDU in an A-MPDU of `count`, s.
fn cost(phy: &Phy, mcs: u8, count: f64) -> f64 {
    let count = (count as u32).clamp(1, phy.window);
    let bytes = (0..count).fold(0, |bytes, _| appended(bytes, phy.mpdu(PACKET)));
    phy.ppdu(mcs, bytes).seconds() / count as f64
}

/// The MCS with the largest success probability over airtime.
fn best(phy: &Phy, success: impl Fn(u8) -> f64) -> u8 {
    let throughput = |mcs: u8| success(mcs) / cost(phy, mcs, AGGREGATION);
    phy.rates().max_by(|a, b| throughput(*a).total_cmp(&throughput(*b))).unwrap_or(0)
}

/// The knowledge about one MCS.
#[derive(Clone, Copy, Debug, Default)]
struct RateStatistics {
    probability: f64,
    tried: bool,
    sent: u32,
    good: u32,
}

/// A simple Minstrel-HT: success probabilities, the best, the second best and the surest rate, a sample now and then.
#[derive(Clone, Debug)]
pub struct Minstrel {
    rates: [RateStatistics; 12],
    /// The retry chain, two attempts each.
    chain: [u8; 3],
    /// Failed PPDUs in a row.
    failures: u32,
    updated: Time,
    sampled: Time,
    /// Mean number of MPDUs of an A-MPDU.
    aggregation: f64,
    stream: Stream,
}

impl Minstrel {
    fn new(phy: &Phy, stream: Stream) -> Minstrel {
        let lowest = phy.rates().next().unwrap_or(0);
        Minstrel {
            rates: [RateStatistics::default(); 12],
            chain: [lowest; 3],
            failures: 0,
            updated: Time::ZERO,
            sampled: Time::ZERO,
            aggregation: AGGREGATION,
            stream,
        }
    }

    /// Expected throughput of an MCS, packets a second.
    fn throughput(&self, phy: &Phy, mcs: u8) -> f64 {
        let probability = self.rates[mcs as usize].probability;
        if probability < 0.1 { 0.0 } else { probability.min(0.9) / cost(phy, mcs, self.aggregation) }
    }

    fn choose(&mut self, now: Time, phy: &Phy) -> u8 {
        if now.since(self.updated) >= UPDATE {
            self.update(now, phy);
        }
        if now.since(self.sampled) >= SAMPLE {
            self.sampled = now;
            let rates: Vec<u8> = phy.rates().collect();
            let mcs = rates[(self.stream.uniform() * rates.len() as f64) as usize];
            let slow = cost(phy, mcs, self.aggregation) > 3.0 * cost(phy, self.chain[2], self.aggregation);
            if mcs != self.chain[0] && self.rates[mcs as usize].probability <= 0.95 && !slow {
                return mcs;
            }
        }
        self.chain[(self.failures as usize / 2).min(2)]
    }

    fn report(&mut self, mcs: u8, sent: u32, good: u32) {
        let rate = &mut self.rates[mcs as usize];
        (rate.sent, rate.good) = (rate.sent + sent, rate.good + good);
        self.failures = if good > 0 { 0 } else { self.failures + 1 };
        self.aggregation += (sent as f64 - self.aggregation) / 16.0;
    }

    fn update(&mut self, now: Time, phy: &Phy) {
        self.updated = now;
        for rate in self.rates.iter_mut().filter(|rate| rate.sent > 0) {
            let part = rate.good as f64 / rate.sent as f64;
            rate.probability =
                if rate.tried { LEVEL * rate.probability + (1.0 - LEVEL) * part } else { part };
            *rate = RateStatistics { probability: rate.probability, tried: true, sent: 0, good: 0 };
        }
        let mut order: Vec<u8> = phy.rates().collect();
        let throughput = |mcs: &u8| self.throughput(phy, *mcs);
        order.sort_by(|a, b| throughput(b).total_cmp(&throughput(a)).then(a.cmp(b)));
        let probability = |mcs: u8| self.rates[mcs as usize].probability;
        let sure = order.iter().copied().find(|mcs| probability(*mcs) >= 0.95);
        let surest = || {
            order.iter().copied().max_by(|a, b| probability(*a).total_cmp(&probability(*b)).then(b.cmp(a)))
        };
        self.chain = [order[0], order[1.min(order.len() - 1)], sure.or_else(surest).unwrap_or(order[0])];
    }
}

#[cfg(test)]
mod tests {
    use super::super::phy::Standard;
    use super::*;

    #[test]
    fn minstrel_follows_the_snr() {
        let phy = Phy::new(Standard::Ac, 20, 1, Span::from_ps(800_000)).unwrap();
        let mut rates = Rates::new(RateControl::Minstrel, &phy, Stream::new(1, "test", "minstrel"));
        let mut errors = Stream::new(1, "test", "errors");
        let mut now = Time::ZERO;
        for (snr, expected) in [(30.0, 8), (14.0, 3), (30.0, 8)] {
            let end = now + Span::from_ms(3000);
            let mut last = 0;
            while now < end {
                let mcs = rates.choose(now, &phy, snr);
                let p = error_probability(snr, mcs, 1538);
                let good = (0..16).filter(|_| errors.uniform() >= p).count() as u32;
                rates.report(mcs, 16, good);
                now += Span::from_ms(2);
                if let Rates::Minstrel(minstrel) = &rates {
                    last = minstrel.chain[0];
                }
            }
            assert_eq!(last, expected, "{snr} dB");
        }
    }

    #[test]
    fn the_ideal_rate_has_few_errors() {
        let phy = Phy::new(Standard::N, 20, 1, Span::from_ps(800_000)).unwrap();
        let mut rates = Rates::new(RateControl::Ideal, &phy, Stream::new(1, "test", "ideal"));
        assert_eq!([3.5, 14.0, 30.0, 60.0].map(|snr| rates.choose(Time::ZERO, &phy, snr)), [0, 3, 7, 7]);
    }
}
