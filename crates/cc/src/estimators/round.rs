//! Round trips delimited by segment numbers.

/// A round. It ends when the segment that was next to be sent at the start of the round is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    /// The first segment of this round.
    pub begins: u64,
}

impl Round {
    /// If `acked_through` ends the round, starts the next one at segment `next` and returns the number of segments of
    /// the old one.
    pub fn closed_by(&mut self, acked_through: u64, next: u64) -> Option<u64> {
        if acked_through < self.begins {
            return None;
        }
        let length = next.saturating_sub(self.begins);
        self.begins = next;
        Some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closes_once_a_round() {
        let mut round = Round::default();
        assert_eq!(round.closed_by(0, 2), Some(2)); // the first ACK closes the first round
        assert_eq!(round.closed_by(1, 4), None);
        assert_eq!(round.closed_by(2, 6), Some(4));
        assert_eq!(round.closed_by(5, 9), None);
        assert_eq!(round.closed_by(6, 10), Some(4));
    }
}
