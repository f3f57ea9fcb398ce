//! Quantiles: of values as they are, and of a sketch that can be pooled over flows and runs.

use net::buckets::{BUCKETS, bucket, middle};
use std::collections::BTreeMap;

/// Values are counted in whole multiples of this: a picosecond of times in seconds.
const UNIT: f64 = 1e-12;
/// The bucket of messages that did not finish: their values are larger than all others.
pub const UNFINISHED: usize = BUCKETS;

/// The rank, from 1, of the smallest of `count` values that a part `q` of them does not exceed; none with fewer than 1/(1 - q)
/// values.
fn rank(count: u64, q: f64) -> Option<u64> {
    // 1/(1 - 0.95) is a little more than 20.
    let enough = count as f64 * (1.0 - q) >= 1.0 - 1e-9;
    (count > 0 && enough).then(|| ((q * count as f64 - 1e-9).ceil() as u64).clamp(1, count))
}

/// The quantile `q` of values by rank, which are sorted; infinite ones belong to messages that did not finish. None with fewer
/// than 1/(1 - q) values.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    rank(sorted.len() as u64, q).map(|rank| sorted[rank as usize - 1])
}

/// How often values of about the same size occurred, in buckets whose width is 1/64 of their value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch {
    counts: BTreeMap<usize, u64>,
    total: u64,
}

impl Sketch {
    /// Counts a value, which is not negative: below 1.8e7 to within 0.8 %, above in the last bucket, infinite (or not a number) as
    /// unfinished.
    pub fn record(&mut self, value: f64) {
        let place = if value.is_finite() { bucket((value / UNIT + 0.5) as u64) } else { UNFINISHED };
        self.add(place, 1);
    }

    fn add(&mut self, place: usize, count: u64) {
        *self.counts.entry(place).or_default() += count;
        self.total += count;
    }

    /// How many values were counted.
    #[cfg(test)]
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The buckets with their counts, rising. That of unfinished messages is [`UNFINISHED`].
    pub fn pairs(&self) -> impl Iterator<Item = (usize, u64)> {
        self.counts.iter().map(|(place, count)| (*place, *count))
    }

    /// The quantile `q` by rank; infinite where it falls on an unfinished message. None with fewer than 1/(1 - q) values.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let rank = rank(self.total, q)?;
        let mut below = 0;
        let (place, _) = self.pairs().find(|(_, count)| {
            below += count;
            below >= rank
        })?;
        Some(if place == UNFINISHED { f64::INFINITY } else { UNIT * middle(place) })
    }
}

/// The quantile `q` by rank of the values in several sketches, in whose pairs no bucket stands for unfinished messages; infinite
/// where it falls on one. None with fewer than 1/(1 - q) values.
pub fn pooled_quantile(pairs: impl Iterator<Item = (Option<u32>, u64)>, q: f64) -> Option<f64> {
    let mut pooled = Sketch::default();
    for (bucket, count) in pairs {
        pooled.add(bucket.map_or(UNFINISHED, |bucket| (bucket as usize).min(UNFINISHED)), count);
    }
    pooled.quantile(q)
}

impl FromIterator<f64> for Sketch {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Sketch {
        let mut sketch = Sketch::default();
        values.into_iter().for_each(|value| sketch.record(value));
        sketch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Stream;

    #[test]
    fn quantiles_are_those_of_the_ranks() {
        let upto = |count: u32| (1..=count).map(f64::from).collect::<Vec<_>>();
        assert_eq!((quantile(&upto(20), 0.95), quantile(&upto(19), 0.95)), (Some(19.0), None));
        assert_eq!((quantile(&upto(100), 0.99), quantile(&upto(99), 0.99)), (Some(99.0), None));
        assert_eq!(
            (quantile(&[1.0, 3.0], 0.5), quantile(&[1.0], 0.5), quantile(&[], 0.0)),
            (Some(1.0), None, None)
        );
        assert_eq!(quantile(&[7.0], 0.0), Some(7.0));
    }

    #[test]
    fn a_sketch_has_the_same_quantiles_to_within_a_bucket() {
        let mut stream = Stream::new(1, "test", "sketch");
        for scale in [1e-6, 1.0, 1e6] {
            let mut values: Vec<f64> = (0..999).map(|_| scale * (0.001 + stream.uniform())).collect();
            let sketch: Sketch = values.iter().copied().collect();
            values.sort_by(f64::total_cmp);
            for q in [0.0, 0.01, 0.5, 0.9, 0.95, 0.99] {
                let ratio = sketch.quantile(q).unwrap() / quantile(&values, q).unwrap();
                assert!((ratio - 1.0).abs() < 1.0 / 127.0, "{scale} {q} {ratio}");
            }
            assert_eq!((sketch.quantile(0.999), sketch.count()), (None, 999));
        }
        assert_eq!(std::iter::once(0.0).collect::<Sketch>().quantile(0.0), Some(0.0));
    }

    #[test]
    fn pooled_sketches_have_the_quantiles_of_all_values() {
        let values = |from: u32| (from..from + 50).map(|i| 1e-3 * f64::from(i));
        let pairs = |sketch: &Sketch| {
            let pair = |(bucket, count)| ((bucket != UNFINISHED).then_some(bucket as u32), count);
            sketch.pairs().map(pair).collect::<Vec<_>>()
        };
        let all: Sketch = values(1).chain(values(30)).chain([f64::INFINITY]).collect();
        let parts = [values(1).collect(), values(30).chain([f64::INFINITY]).collect::<Sketch>()];
        for q in [0.5, 0.95, 0.99] {
            assert_eq!(pooled_quantile(parts.iter().flat_map(pairs), q), all.quantile(q));
        }
    }

    #[test]
    fn unfinished_messages_are_longer_than_all_others() {
        let finished = (1..=19).map(f64::from);
        let sketch: Sketch = finished.clone().chain([f64::INFINITY]).collect();
        let p95 = sketch.quantile(0.95).unwrap();
        assert!((p95 / 19.0 - 1.0).abs() < 0.008);
        let sketch: Sketch = finished.chain([f64::INFINITY, f64::INFINITY, 1e300]).collect();
        assert_eq!(sketch.quantile(0.95), Some(f64::INFINITY));
        assert_eq!(sketch.pairs().last(), Some((UNFINISHED, 2)));
        assert!(sketch.quantile(0.9).unwrap() < 2e7);
    }
}
