//! How many segments an ACK acknowledges when duplicate ACKs count too (docs/specs/westwood.md section 1).

/// Segments credited through duplicate ACKs, to be taken off the cumulative ACK that covers them.
#[derive(Clone, Copy, Debug)]
pub struct DupAckAccounting {
    early: u32,
    /// The most that one ACK counts for; ns-2's module has two.
    cap: u32,
    /// Linux takes everything covered off the account, ns-2's module leaves one.
    linux: bool,
}

impl DupAckAccounting {
    /// As in ns-2's Westwood module: at most `cap` segments an ACK.
    pub const fn new(cap: u32) -> DupAckAccounting {
        DupAckAccounting { early: 0, cap, linux: false }
    }
    /// As in Linux.
    pub const fn linux() -> DupAckAccounting {
        DupAckAccounting { early: 0, cap: u32::MAX, linux: true }
    }

    /// Segments credited and not yet taken off.
    pub fn early(&self) -> u32 {
        self.early
    }

    /// Segments that an ACK for `newly_acked` segments counts for (none: a duplicate), segments.
    pub fn acked_count(&mut self, newly_acked: u32) -> u32 {
        let acked_count = match newly_acked {
            0 => {
                self.early += 1;
                1
            }
            1 => 1,
            n if self.early >= n => {
                self.early -= n - !self.linux as u32;
                1
            }
            n => n - std::mem::take(&mut self.early),
        };
        acked_count.min(self.cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_credited_once() {
        let mut credit = DupAckAccounting::new(2);
        let total: u32 = [0, 0, 0, 4].into_iter().map(|n| credit.acked_count(n)).sum();
        assert_eq!((total, credit.early), (4, 0));
        let mut credit = DupAckAccounting { early: 3, ..DupAckAccounting::new(2) };
        assert_eq!((credit.acked_count(2), credit.early), (1, 2));
        assert_eq!((credit.acked_count(1), credit.early), (1, 2));
        let mut credit = DupAckAccounting { early: 3, ..DupAckAccounting::linux() };
        assert_eq!((credit.acked_count(2), credit.early), (1, 1));
        assert_eq!(DupAckAccounting::new(2).acked_count(9), 2);
        assert_eq!(DupAckAccounting::linux().acked_count(9), 9);
    }
}
