//! The number of segments that an ACK acknowledges if duplicate ACKs count too (docs/specs/westwood.md section 1).

/// Segments that duplicate ACKs have acknowledged early. The cumulative ACK that covers them does not count them
/// again.
#[derive(Clone, Copy, Debug)]
pub struct DupAckAccounting {
    early: u32,
    /// Upper bound of the count of one ACK; two in ns-2's module.
    cap: u32,
    /// Whether a cumulative ACK clears the account for every segment that it covers (Linux), or for all but one
    /// (ns-2's module).
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

    /// Segments counted early and not yet covered by a cumulative ACK.
    pub fn early(&self) -> u32 {
        self.early
    }

    /// The number of segments that an ACK counts for. `newly_acked` is zero for a duplicate ACK.
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
