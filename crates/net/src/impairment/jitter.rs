//! Random delays after the transmission, and random duplicates.

use super::delay::ORDER;
use super::kind::{Kind, Permits, RATE};
use super::{Effect, Impair, Impairment};
use crate::normal::normal;
use crate::packet::Packet;
use crate::tap::DropReason;
use engine::Stream;
use params::{Form, Mistake, Values, key};
use units::{Span, Time};

/// Random delays.
pub(super) const JITTER: Kind = Kind {
    model: params::model!(
        "loss",
        "jitter",
        "delays packets after their transmission, at random",
        "",
        [
            &[
                key(
                    "distribution",
                    Form::Word(&["uniform", "normal", "pareto", "wifi"]),
                    "\"uniform\"",
                    "distribution of the delays; `\"normal\"` is cut at zero and at 9 deviations above the mean, `\"pareto\"` (shape 3) at zero and at 30; `\"wifi\"`: media access and retransmissions (draft-huitema-ccwg-c4-test)",
                ),
                key("min", Form::delay("0ms"), "\"0ms\"", "`\"uniform\"`: least delay"),
                key(
                    "max",
                    Form::delay("10ms"),
                    "none; needed with `\"uniform\"`",
                    "`\"uniform\"`: largest delay",
                ),
                key(
                    "mean",
                    Form::delay("10ms"),
                    "none; needed with the others",
                    "`\"normal\"`, `\"pareto\"`: mean delay; `\"wifi\"`: the average jitter of its document, 1 to 91 ms, of which the mean is 0.32 ms less",
                ),
                key(
                    "deviation",
                    Form::delay("2ms"),
                    "none; needed with `\"normal\"`, `\"pareto\"`",
                    "`\"normal\"`, `\"pareto\"`: standard deviation",
                ),
                key(
                    "correlation",
                    Form::Number(0.0, 1.0),
                    "0 with `\"normal\"`",
                    "`\"normal\"`: correlation of the delays of two successive packets",
                ),
            ],
            &[ORDER],
        ]
    ),
    check: |values| Distribution::read(values).map(|_| ()),
    build: |values, context| {
        let distribution = Distribution::read(values).ok()?;
        Some(Impairment::Jitter(Jitter::new(distribution, values.read("order"), (context.stream)())))
    },
    label: |values| match Distribution::read(values) {
        Ok(Distribution::Uniform { min, max }) => format!("jitter {min} to {max}"),
        Ok(Distribution::Normal { mean, deviation, .. }) => format!("jitter {mean} ± {deviation}, normal"),
        Ok(Distribution::Pareto { mean, deviation }) => format!("jitter {mean} ± {deviation}, Pareto"),
        Ok(Distribution::Wifi { mean }) => format!("jitter {mean}, Wi-Fi"),
        Err(_) => String::new(),
    },
    stream: "jitter",
    permits: |values| {
        let delay = Distribution::read(values).map_or(Span::ZERO, |distribution| distribution.longest());
        Permits { delay, ..Permits::NOTHING }
    },
    ..Kind::PLAIN
};

/// Delays of a part of the packets.
pub(super) const REORDER: Kind = Kind {
    model: params::model!(
        "loss",
        "reorder",
        "delays a part of the packets, so that others overtake them",
        "",
        [&[RATE, key("by", Form::delay("5ms"), "", "the delay")]]
    ),
    build: |values, context| {
        let jitter = Jitter::reorder(values.read("rate"), values.read("by"), (context.stream)());
        Some(Impairment::Jitter(jitter))
    },
    label: |values| {
        format!("{} % later by {}", 100.0 * values.read::<f64>("rate"), values.read::<Span>("by"))
    },
    stream: "reorder",
    permits: |values| Permits { delay: values.read("by"), ..Permits::NOTHING },
    ..Kind::PLAIN
};

/// The distribution of a delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Uniform between two bounds.
    Uniform {
        /// The smallest delay.
        min: Span,
        /// The largest delay.
        max: Span,
    },
    /// Normal, cut off at zero and at [`Distribution::longest`].
    Normal {
        /// Mean, before the cut.
        mean: Span,
        /// Standard deviation, before the cut.
        deviation: Span,
        /// Correlation of the delays of two successive packets.
        correlation: f64,
    },
    /// Pareto with shape 3, moved and scaled to this mean and deviation, cut off likewise.
    Pareto {
        /// Mean, before the cut.
        mean: Span,
        /// Standard deviation, before the cut.
        deviation: Span,
    },
    /// Delays of a busy Wi-Fi channel (draft-huitema-ccwg-c4-test, "Handling of High Jitter Environments"): steps of 1 ms,
    /// one on average, less a uniform part of one; of a part of the packets also steps of 7.5 ms, 12 on average.
    Wifi {
        /// The average jitter of the document: 1 ms without the longer steps, 91 ms if every packet has them. The uniform
        /// part makes the mean 0.32 ms less.
        mean: Span,
    },
}

/// The largest distances from the mean, in deviations.
const LONGEST_NORMAL: f64 = 9.0;
const LONGEST_PARETO: f64 = 30.0;

/// Steps of `wifi`: their length, mean number, and largest number, which no random number of 53 bits exceeds.
const SHORT_STEP: Span = Span::from_ms(1);
const SHORT_STEPS: (f64, u64) = (1.0, 20);
const LONG_STEP: Span = Span::from_us(7500);
const LONG_STEPS: (f64, u64) = (12.0, 60);

/// The part of the packets with long steps, for an average jitter.
fn long_part(mean: Span) -> f64 {
    ((1e3 * mean.seconds() - 1.0) / 90.0).clamp(0.0, 1.0)
}

/// A number with a Poisson distribution, by inversion; at most `most`.
fn poisson(stream: &mut Stream, (mean, most): (f64, u64)) -> u64 {
    let drawn = stream.uniform();
    let mut probability = libm::exp(-mean);
    let (mut sum, mut count) = (probability, 0);
    while drawn >= sum && count < most {
        count += 1;
        probability *= mean / count as f64;
        sum += probability;
    }
    count
}

impl Distribution {
    /// The distribution that the values of a table name. Fails if they do not go with it.
    fn read(values: &Values) -> Result<Distribution, Mistake> {
        let name: &str = values.read("distribution");
        let keys: &[&'static str] = match name {
            "uniform" => &["min", "max"],
            "normal" => &["mean", "deviation", "correlation"],
            "wifi" => &["mean"],
            _ => &["mean", "deviation"],
        };
        let all = ["min", "max", "mean", "deviation", "correlation"];
        if let Some(key) = all.into_iter().find(|key| values.is_written(key) && !keys.contains(key)) {
            return Err((key, format!("has no effect with distribution = \"{name}\"; it has {keys:?}")));
        }
        let need = |key: &'static str, what: &str| -> Result<Span, Mistake> {
            values
                .optional(key)
                .ok_or_else(|| (key, format!("is missing: the {what}, such as {key} = \"10ms\"")))
        };
        if name == "uniform" {
            let (min, max) = (values.read("min"), need("max", "largest delay")?);
            if min > max {
                return Err(("min", format!("must not be above max, which is {max}")));
            }
            return Ok(Distribution::Uniform { min, max });
        }
        let mean = need("mean", "mean delay")?;
        if name == "wifi" {
            return Ok(Distribution::Wifi { mean });
        }
        let deviation = need("deviation", "deviation")?;
        let correlation = values.optional("correlation").unwrap_or(0.0);
        Ok(match name {
            "normal" => Distribution::Normal { mean, deviation, correlation },
            _ => Distribution::Pareto { mean, deviation },
        })
    }

    /// The largest delay.
    pub fn longest(&self) -> Span {
        match *self {
            Distribution::Uniform { max, .. } => max,
            Distribution::Normal { mean, deviation, .. } => beyond(mean, deviation, LONGEST_NORMAL),
            Distribution::Pareto { mean, deviation } => beyond(mean, deviation, LONGEST_PARETO),
            Distribution::Wifi { .. } => SHORT_STEP * SHORT_STEPS.1 + LONG_STEP * LONG_STEPS.1,
        }
    }
}

/// `mean` and `distance` deviations, at least zero.
fn beyond(mean: Span, deviation: Span, distance: f64) -> Span {
    Span::from_ps((mean.ps() as f64 + deviation.ps() as f64 * distance).max(0.0) as u64)
}

/// Delays packets by random times.
#[derive(Clone, Debug)]
pub struct Jitter {
    distribution: Distribution,
    /// The last normally distributed number, if there was one.
    last: Option<f64>,
    /// Part of the packets that are delayed.
    rate: f64,
    /// Whether packets keep their order.
    ordered: bool,
    stream: Stream,
}

impl Jitter {
    /// Delays every packet by a time of this distribution; with `ordered`, none arrives before the one in front of it.
    pub fn new(distribution: Distribution, ordered: bool, stream: Stream) -> Jitter {
        Jitter { distribution, last: None, rate: 1.0, ordered, stream }
    }

    /// Delays a part `rate` of the packets by `by`, so that others overtake them.
    pub fn reorder(rate: f64, by: Span, stream: Stream) -> Jitter {
        Jitter { rate, ..Jitter::new(Distribution::Uniform { min: by, max: by }, false, stream) }
    }

    /// The delay of the next packet.
    pub fn delay(&mut self) -> Span {
        if self.rate < 1.0 && self.stream.uniform() >= self.rate {
            return Span::ZERO;
        }
        match self.distribution {
            Distribution::Uniform { min, max } if min == max => min,
            Distribution::Uniform { min, max } => min + (max - min).part(self.stream.uniform()),
            Distribution::Normal { mean, deviation, correlation } => {
                let drawn = normal(&mut self.stream);
                let last = self.last.unwrap_or(drawn);
                let next = if self.last.is_none() {
                    drawn
                } else {
                    correlation * last + (1.0 - correlation * correlation).sqrt() * drawn
                };
                self.last = Some(next);
                beyond(mean, deviation, next.clamp(-LONGEST_NORMAL, LONGEST_NORMAL))
            }
            Distribution::Pareto { mean, deviation } => {
                // Shape 3 and scale 1: mean 3/2, variance 3/4.
                let drawn = 1.0 / libm::cbrt(1.0 - self.stream.uniform());
                beyond(mean, deviation, ((drawn - 1.5) / 0.75f64.sqrt()).min(LONGEST_PARETO))
            }
            Distribution::Wifi { mean } => {
                let less = SHORT_STEP.part(self.stream.uniform());
                let short = SHORT_STEP * poisson(&mut self.stream, SHORT_STEPS);
                let short = if short > Span::ZERO { short - less } else { short };
                let long = self.stream.uniform() < long_part(mean);
                short + if long { LONG_STEP * poisson(&mut self.stream, LONG_STEPS) } else { Span::ZERO }
            }
        }
    }
}

impl Impair for Jitter {
    #[inline]
    fn before(&mut self, _now: Time, _packet: &Packet, effect: &mut Effect) -> Option<DropReason> {
        effect.add_delay(self.delay(), self.ordered);
        None
    }

    fn reorders(&self) -> bool {
        !self.ordered
    }

    fn displaces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_have_their_range_and_their_rate() {
        let (min, max) = (Span::from_ms(2), Span::from_ms(5));
        let mut jitter =
            Jitter::new(Distribution::Uniform { min, max }, true, Stream::new(1, "jitter", "test"));
        let delays: Vec<Span> = (0..10_000).map(|_| jitter.delay()).collect();
        assert!(delays.iter().all(|delay| (min..max).contains(delay)));
        let mean = delays.iter().map(|delay| delay.seconds()).sum::<f64>() / 1e4;
        assert!((mean - 0.0035).abs() < 3e-5);
        let mut reorder = Jitter::reorder(0.1, max, Stream::new(1, "reorder", "test"));
        let late = (0..10_000).filter(|_| reorder.delay() == max).count();
        assert!((850..1150).contains(&late));
    }

    /// Mean, deviation (ms), and correlation of successive delays of a distribution.
    fn moments(distribution: Distribution) -> (f64, f64, f64) {
        let mut jitter = Jitter::new(distribution, true, Stream::new(3, "jitter", "test"));
        let delays: Vec<f64> = (0..200_000).map(|_| 1e3 * jitter.delay().seconds()).collect();
        let count = delays.len() as f64;
        let mean = delays.iter().sum::<f64>() / count;
        let variance = delays.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / count;
        let product = delays.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / count;
        (mean, variance.sqrt(), product / variance)
    }

    #[test]
    fn normal_and_pareto_delays_have_their_moments() {
        let (mean, deviation) = (Span::from_ms(20), Span::from_ms(3));
        for correlation in [0.0, 0.6] {
            let measured = moments(Distribution::Normal { mean, deviation, correlation });
            assert!((measured.0 - 20.0).abs() < 0.05 && (measured.1 - 3.0).abs() < 0.05, "{measured:?}");
            assert!((measured.2 - correlation).abs() < 0.02, "{measured:?}");
        }
        let measured = moments(Distribution::Pareto { mean, deviation });
        assert!((measured.0 - 20.0).abs() < 0.05 && (2.7..3.1).contains(&measured.1), "{measured:?}");
        assert!(measured.2.abs() < 0.02, "{measured:?}");
    }

    #[test]
    fn wifi_has_the_part_of_its_document() {
        for (ms, part) in [(0, 0.0), (1, 0.0), (7, 1.0 / 15.0), (46, 0.5), (91, 1.0), (200, 1.0)] {
            assert!((long_part(Span::from_ms(ms)) - part).abs() < 1e-12, "{ms}");
        }
    }

    #[test]
    fn numbers_of_steps_are_poisson() {
        for steps in [SHORT_STEPS, LONG_STEPS] {
            let mut stream = Stream::new(5, "jitter", "test");
            let drawn: Vec<f64> = (0..200_000).map(|_| poisson(&mut stream, steps) as f64).collect();
            let mean = drawn.iter().sum::<f64>() / 2e5;
            let variance = drawn.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / 2e5;
            assert!((mean / steps.0 - 1.0).abs() < 0.01 && (variance / steps.0 - 1.0).abs() < 0.02);
            let zeros = drawn.iter().filter(|n| **n == 0.0).count() as f64 / 2e5;
            assert!((zeros - libm::exp(-steps.0)).abs() < 0.004, "{zeros}");
        }
    }

    #[test]
    fn wifi_delays_have_their_moments() {
        // ms: N short steps, less r if N >= 1, which has the probability p: E[N] - E[r] p, and
        // E[N^2] - 2 E[N] E[r] + E[r^2] p. For the part x: 90 = 12 x 7.5, and 90^2 + 12 x 7.5^2.
        let p = 1.0 - libm::exp(-1.0);
        let short = 1.0 - 0.5 * p;
        let short_square = 2.0 - 1.0 + p / 3.0;
        for ms in [1, 7, 12, 91] {
            let x = long_part(Span::from_ms(ms));
            let mean = short + 90.0 * x;
            let square = short_square + 2.0 * short * 90.0 * x + x * (90.0 * 90.0 + 12.0 * 7.5 * 7.5);
            let deviation = (square - mean * mean).sqrt();
            let measured = moments(Distribution::Wifi { mean: Span::from_ms(ms) });
            let error = 5.0 * deviation / 200_000f64.sqrt(); // five standard errors
            assert!((measured.0 - mean).abs() < error, "{ms}: {measured:?}, not {mean}");
            assert!((measured.1 / deviation - 1.0).abs() < 0.02, "{ms}: {measured:?}, not {deviation}");
        }
        let mut jitter = Jitter::new(
            Distribution::Wifi { mean: Span::from_ms(7) },
            true,
            Stream::new(6, "jitter", "test"),
        );
        let late = (0..100_000).filter(|_| jitter.delay() > Span::from_ms(25)).count();
        assert!((6450..6850).contains(&late), "one in 15: {late}");
        assert!(!jitter.reorders());
    }

    #[test]
    fn delays_are_never_negative_nor_above_their_bound() {
        let (mean, deviation) = (Span::from_ms(1), Span::from_ms(5));
        for distribution in [
            Distribution::Normal { mean, deviation, correlation: 0.9 },
            Distribution::Pareto { mean, deviation },
            Distribution::Wifi { mean: Span::from_ms(7) },
        ] {
            let mut jitter = Jitter::new(distribution, true, Stream::new(4, "jitter", "test"));
            let delays: Vec<Span> = (0..100_000).map(|_| jitter.delay()).collect();
            assert!(delays.iter().all(|delay| *delay <= distribution.longest()));
            assert!(delays.contains(&Span::ZERO));
        }
    }
}
