//! Losses in bursts: a two-state Markov chain stepped by packets (Gilbert 1960, Elliott 1963).

use engine::Stream;

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
    /// Whether the chain is in the bad state, and the probability of a loss there.
    pub(crate) fn state(&self) -> (bool, f64) {
        (self.bad, if self.bad { self.loss_bad } else { self.loss_good })
    }
    /// Whether the next packet is lost. Two draws a packet: the state first, then the loss.
    #[inline]
    pub fn loses(&mut self) -> bool {
        let turn = self.stream.uniform();
        self.bad = if self.bad { turn >= self.r } else { turn < self.p };
        self.stream.uniform() < if self.bad { self.loss_bad } else { self.loss_good }
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
