//! The smallest round-trip time seen.

use units::Span;

/// The smallest round-trip time since the start or the last reset.
#[derive(Clone, Copy, Debug, Default)]
pub struct MinRtt(Option<Span>);

impl MinRtt {
    /// Takes a sample.
    pub fn update(&mut self, rtt: Span) {
        self.0 = Some(self.0.map_or(rtt, |least| least.min(rtt)));
    }
    /// Sets the minimum to `rtt`, larger or smaller than before.
    pub fn set(&mut self, rtt: Span) {
        self.0 = Some(rtt);
    }
    /// Removes the minimum.
    pub fn reset(&mut self) {
        self.0 = None;
    }
    /// The value, if there was a sample.
    pub fn get(&self) -> Option<Span> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_least() {
        let mut least = MinRtt::default();
        assert_eq!(least.get(), None);
        for ms in [30, 10, 20] {
            least.update(Span::from_ms(ms));
        }
        assert_eq!(least.get(), Some(Span::from_ms(10)));
        least.set(Span::from_ms(25));
        assert_eq!(least.get(), Some(Span::from_ms(25)));
        least.reset();
        assert_eq!(least.get(), None);
    }
}
