//! Independent losses.

use super::kind::{Kind, RATE};
use super::{Impair, Impairment};
use crate::packet::Packet;
use crate::rule::{LossProcess, Rule};
use crate::tap::DropReason;
use engine::Stream;
use units::Time;

/// Independent losses.
pub(super) const BERNOULLI: Kind = Kind {
    model: params::model!("loss", "bernoulli", "independent losses, after the queue", "", [&[RATE]]),
    build: |values, context| {
        Some(Impairment::Bernoulli(Bernoulli::new(values.read("rate"), (context.stream)())))
    },
    label: |values| format!("loss {} %", 100.0 * values.read::<f64>("rate")),
    stream: "loss",
    is_random_loss: true,
    ..Kind::PLAIN
};

/// Loses each packet with the same probability. The n-th packet that the queue accepts takes the n-th number of the
/// stream.
#[derive(Clone, Debug)]
pub struct Bernoulli {
    rate: f64,
    stream: Stream,
}

impl Bernoulli {
    /// Loses with probability `rate` in [0, 1].
    pub fn new(rate: f64, stream: Stream) -> Bernoulli {
        Bernoulli { rate, stream }
    }
    /// Whether the next packet is lost.
    #[inline]
    pub fn loses(&mut self) -> bool {
        self.stream.uniform() < self.rate
    }
}

impl Impair for Bernoulli {
    #[inline]
    fn after(&mut self) -> bool {
        self.loses()
    }

    fn rule(&self, _now: Time, _packet: &Packet, reason: DropReason) -> Option<Rule> {
        let process = LossProcess { name: "bernoulli", probability: self.rate, bad: None };
        (reason == DropReason::Loss).then(|| Rule::Loss(vec![process]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loses_at_its_rate() {
        let n = 100_000;
        for rate in [0.0, 0.01, 0.5, 1.0] {
            let mut b = Bernoulli::new(rate, Stream::new(1, "loss", "test"));
            let lost = (0..n).filter(|_| b.loses()).count() as f64;
            let sd = (n as f64 * rate * (1.0 - rate)).sqrt();
            assert!((lost - n as f64 * rate).abs() <= 4.0 * sd, "{rate}: {lost}");
        }
    }
}
