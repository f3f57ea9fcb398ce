//! The order of items at one time.

use units::Time;

/// The position of an item among those of the same time: smaller ones come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tie(pub(crate) u64);

/// Bits of the time that an item was under way, in units of 64 ps, and of the number of its source.
const AGE_BITS: u32 = 34;
const AGE_SHIFT: u32 = 6;
const SOURCE_BITS: u32 = 22;
const OLDEST: u64 = (1 << AGE_BITS) - 1;

impl Tie {
    /// Sources with smaller numbers are distinct.
    pub const SOURCES: usize = 1 << SOURCE_BITS;

    /// What was scheduled earlier comes first: an item for time `at` that source `source` scheduled at `since`. Sources that
    /// schedule at one time follow in the order of their numbers, modulo 4,194,304. Items whose times under way differ by less
    /// than 64 ps, or are above 1.1 s, count as scheduled at the same time. Items of one source with one `at` and one `since`
    /// stay in their order if the source delivers in the order in which it sends.
    #[inline]
    pub fn scheduled(at: Time, since: Time, source: u32) -> Tie {
        let age = (at.ps().wrapping_sub(since.ps()) >> AGE_SHIFT).min(OLDEST - 1); // no item comes before the timers
        Tie((OLDEST - age) << SOURCE_BITS | (source as u64 & ((1 << SOURCE_BITS) - 1)))
    }

    /// The order of a counter below 2^56.
    #[inline]
    pub fn counted(count: u64) -> Tie {
        debug_assert!(count < 1 << (AGE_BITS + SOURCE_BITS));
        Tie(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_scheduled_earlier_comes_first() {
        let at = Time::from_ps(20_000_000_000_000);
        let tie = |since: u64, source| Tie::scheduled(at, Time::from_ps(since), source);
        assert!(tie(19_999_999_999_800, 9) < tie(19_999_999_999_900, 1));
        assert!(tie(19_999_999_999_900, 1) < tie(19_999_999_999_900, 2));
        assert!(tie(19_999_999_999_900, 70_000) > tie(19_999_999_999_900, 4_464));
        assert!(tie(3_000_000_000_000, 1) < tie(19_000_000_000_000, 1));
        assert_eq!(tie(0, 1), tie(1_000_000_000_000, 1));
        assert!(Tie::counted(7) < Tie::counted(8));
    }
}
