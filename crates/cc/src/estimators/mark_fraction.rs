//! The smoothed fraction of marked segments (RFC 8257 section 3.3).

use crate::Ack;

/// An average of the fraction of segments that were marked, as ACKs report them ([`Ack::ce`]).
#[derive(Clone, Debug)]
pub struct MarkFraction {
    alpha: f64,
    gain: f64,
    delivered: f64,
    marked: f64,
}

impl MarkFraction {
    /// An average that starts at one, so that the first mark has the effect of a loss.
    pub fn new(gain: f64) -> MarkFraction {
        MarkFraction { alpha: 1.0, gain, delivered: 0.0, marked: 0.0 }
    }

    /// The average, 0 to 1.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Counts the segments of an ACK.
    #[inline]
    pub fn count(&mut self, ack: &Ack) {
        self.delivered += ack.newly_delivered as f64;
        self.marked += ack.ce as f64;
    }

    /// Ends an observation window: updates the average from the segments counted since the last one.
    pub fn update(&mut self) {
        if self.delivered > 0.0 {
            // Marked copies count too, so that more can be marked than delivered.
            self.alpha += self.gain * ((self.marked / self.delivered).min(1.0) - self.alpha);
        }
        (self.delivered, self.marked) = (0.0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;

    #[test]
    fn the_average_has_the_values_of_the_reference() {
        let mut fraction = MarkFraction::new(1.0 / 16.0);
        let mut next = |ece: bool| {
            fraction.count(&Ack { ece, ce: if ece { 10 } else { 0 }, ..ack(10) });
            fraction.update();
            fraction.alpha()
        };
        for expected in [0.9375, 0.87890625, 0.823974609375] {
            assert_eq!(next(false), expected);
        }
        let mut fraction = MarkFraction { alpha: 0.0, ..MarkFraction::new(1.0 / 16.0) };
        for expected in [0.0625, 0.12109375] {
            fraction.count(&Ack { ece: true, ce: 10, ..ack(10) });
            fraction.update();
            assert_eq!(fraction.alpha(), expected);
        }
        fraction.update(); // without segments nothing changes
        assert_eq!(fraction.alpha(), 0.12109375);
    }
}
