//! Losses in bursts: a two-state Markov chain stepped by packets (Gilbert 1960, Elliott 1963).

use super::kind::Kind;
use super::{Impair, Impairment};
use crate::packet::Packet;
use crate::rule::{LossProcess, Rule};
use crate::tap::DropReason;
use engine::Stream;
use params::{Form, key};
use units::Time;

/// Losses in bursts.
pub(super) const GILBERT_ELLIOTT: Kind = Kind {
    model: params::model!(
        "loss",
        "gilbert_elliott",
        "losses in bursts, after the queue; starts in the good state",
        "Gilbert 1960, Elliott 1963",
        [&[
            key(
                "p",
                Form::Number(0.0, 1.0),
                "",
                "probability of a change from the good to the bad state, per packet"
            ),
            key(
                "r",
                Form::Number(0.0, 1.0),
                "",
                "probability of a change from the bad to the good state, per packet"
            ),
            key("loss_good", Form::Number(0.0, 1.0), "0", "probability of loss in the good state"),
            key("loss_bad", Form::Number(0.0, 1.0), "1", "probability of loss in the bad state"),
        ]]
    ),
    build: |values, context| {
        let [p, r, good, bad] = ["p", "r", "loss_good", "loss_bad"].map(|key| values.read(key));
        Some(Impairment::GilbertElliott(GilbertElliott::new(p, r, good, bad, (context.stream)())))
    },
    label: |values| format!("bursts of loss (p {}, r {})", values.read::<f64>("p"), values.read::<f64>("r")),
    stream: "loss",
    is_random_loss: true,
    ..Kind::PLAIN
};

/// A chain of a good and a bad state, each with a loss probability.
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    p: f64,
    r: f64,
    loss_good: f64,
    loss_bad: f64,
    bad: bool,
    stream: Stream,
}

impl GilbertElliott {
    /// `p` and `r` are the transition probabilities per packet from good to bad and from bad to good. The chain
    /// starts in the good state.
    pub fn new(p: f64, r: f64, loss_good: f64, loss_bad: f64, stream: Stream) -> GilbertElliott {
        GilbertElliott { p, r, loss_good, loss_bad, bad: false, stream }
    }
    /// Whether the next packet is lost. Two draws a packet: the state first, then the loss.
    #[inline]
    pub fn loses(&mut self) -> bool {
        let turn = self.stream.uniform();
        self.bad = if self.bad { turn >= self.r } else { turn < self.p };
        self.stream.uniform() < if self.bad { self.loss_bad } else { self.loss_good }
    }
}

impl Impair for GilbertElliott {
    #[inline]
    fn after(&mut self) -> bool {
        self.loses()
    }

    fn rule(&self, _now: Time, _packet: &Packet, reason: DropReason) -> Option<Rule> {
        let probability = if self.bad { self.loss_bad } else { self.loss_good };
        let process = LossProcess { name: "gilbert_elliott", probability, bad: Some(self.bad) };
        (reason == DropReason::Loss).then(|| Rule::Loss(vec![process]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_stationary_rate_and_burst_length() {
        let (p, r) = (0.01, 0.25);
        let mut chain = GilbertElliott::new(p, r, 0.0, 1.0, Stream::new(1, "loss", "test"));
        let n = 400_000;
        let losses: Vec<bool> = (0..n).map(|_| chain.loses()).collect();
        let lost = losses.iter().filter(|l| **l).count() as f64;
        let bursts = losses.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        assert!((lost / n as f64 - p / (p + r)).abs() < 0.003); // 0.0385
        assert!((lost / bursts - 1.0 / r).abs() < 0.2); // mean burst 4
    }
}
