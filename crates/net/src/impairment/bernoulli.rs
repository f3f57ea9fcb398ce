//! Independent losses.

use engine::Stream;

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
    /// The probability of a loss.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }
    /// Whether the next packet is lost.
    #[inline]
    pub fn loses(&mut self) -> bool {
        self.stream.uniform() < self.rate
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
