//! Random delays after the transmission, and random duplicates.

use engine::Stream;
use units::Span;

/// Delays each packet by a uniformly distributed time.
#[derive(Clone, Debug)]
pub struct Jitter {
    min: Span,
    max: Span,
    /// Part of the packets that are delayed.
    rate: f64,
    /// Whether packets keep their order.
    ordered: bool,
    stream: Stream,
}

impl Jitter {
    /// Delays every packet by `min` to `max`; with `ordered`, none arrives before the one in front of it.
    pub fn new(min: Span, max: Span, ordered: bool, stream: Stream) -> Jitter {
        Jitter { min, max, rate: 1.0, ordered, stream }
    }

    /// Delays a part `rate` of the packets by `by`, so that others overtake them.
    pub fn reorder(rate: f64, by: Span, stream: Stream) -> Jitter {
        Jitter { min: by, max: by, rate, ordered: false, stream }
    }

    /// Whether packets keep their order.
    pub fn ordered(&self) -> bool {
        self.ordered
    }

    /// The delay of the next packet.
    pub fn delay(&mut self) -> Span {
        if self.rate < 1.0 && self.stream.uniform() >= self.rate {
            return Span::ZERO;
        }
        if self.min == self.max {
            return self.min;
        }
        self.min + (self.max - self.min).part(self.stream.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_have_their_range_and_their_rate() {
        let (min, max) = (Span::from_ms(2), Span::from_ms(5));
        let mut jitter = Jitter::new(min, max, true, Stream::new(1, "jitter", "test"));
        let delays: Vec<Span> = (0..10_000).map(|_| jitter.delay()).collect();
        assert!(delays.iter().all(|delay| (min..max).contains(delay)));
        let mean = delays.iter().map(|delay| delay.seconds()).sum::<f64>() / 1e4;
        assert!((mean - 0.0035).abs() < 3e-5);
        let mut reorder = Jitter::reorder(0.1, max, Stream::new(1, "reorder", "test"));
        let late = (0..10_000).filter(|_| reorder.delay() == max).count();
        assert!((850..1150).contains(&late));
    }
}
