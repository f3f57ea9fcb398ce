//! What an ACK is worth when duplicates count too (specs/westwood.md section 1).

/// Segments credited through duplicate ACKs, to be taken off the cumulative ACK that covers them.
#[derive(Clone, Copy, Debug)]
pub struct Credit {
    early: u32,
    /// The most that one ACK is worth; ns-2's module has two.
    cap: u32,
    /// Linux takes everything covered off the account, ns-2's module leaves one.
    linux: bool,
}

impl Credit {
    /// As in ns-2's Westwood module: at most `cap` segments an ACK.
    pub const fn new(cap: u32) -> Credit {
        Credit { early: 0, cap, linux: false }
    }
    /// As in Linux.
    pub const fn linux() -> Credit {
        Credit { early: 0, cap: u32::MAX, linux: true }
    }

    /// Segments credited and not yet taken off.
    pub fn early(&self) -> u32 {
        self.early
    }

    /// The worth of an ACK for `newly_acked` segments (none: a duplicate), segments.
    pub fn worth(&mut self, newly_acked: u32) -> u32 {
        let worth = match newly_acked {
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
        worth.min(self.cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_credited_once() {
        let mut credit = Credit::new(2);
        let total: u32 = [0, 0, 0, 4].into_iter().map(|n| credit.worth(n)).sum();
        assert_eq!((total, credit.early), (4, 0));
        let mut credit = Credit { early: 3, ..Credit::new(2) };
        assert_eq!((credit.worth(2), credit.early), (1, 2));
        assert_eq!((credit.worth(1), credit.early), (1, 2));
        let mut credit = Credit { early: 3, ..Credit::linux() };
        assert_eq!((credit.worth(2), credit.early), (1, 1));
        assert_eq!(Credit::new(2).worth(9), 2);
        assert_eq!(Credit::linux().worth(9), 9);
    }
}
