//! Counters of a channel and of its directions.

use crate::counters::counters;
use units::Span;

/// Number of classes of [`DirectionAccount::aggregation`]: 1, 2, 3-4, 5-8, ..., 129-256 MPDUs.
pub const AGGREGATION_CLASSES: usize = 9;

counters! {
    /// What one direction of a Wi-Fi link has done.
    #[derive(Clone, Debug, Default)]
    pub struct DirectionAccount {
        /// PPDUs and MPDUs transmitted, retries included.
        ppdus: u64,
        /// MPDUs.
        mpdus: u64,
        /// MPDUs that failed, and those given up after their attempts.
        failed: u64,
        /// MPDUs that were given up.
        given_up: u64,
        /// PPDUs that collided.
        collisions: u64,
        /// Airtime of PPDUs, their answers and their protection.
        airtime: Span,
        /// PPDUs by number of MPDUs.
        aggregation: [u64; AGGREGATION_CLASSES],
        /// MPDUs by MCS.
        mcs: [u64; 12],
        /// Channel accesses: a TXOP is one.
        accesses: u64,
        /// Sum of their delays: from the time at which a direction could contend to its transmission.
        access_delay: Span,
        /// Packets delivered.
        delivered: u64,
    }
}

impl DirectionAccount {
    /// Counts a channel access after `delay`.
    pub fn accessed(&mut self, delay: Span) {
        self.accesses += 1;
        self.access_delay = self.access_delay + delay;
    }

    /// Counts a PPDU with `mpdus` MPDUs at an MCS.
    pub fn transmitted(&mut self, mpdus: u32, mcs: u8) {
        self.ppdus += 1;
        self.mpdus += mpdus as u64;
        self.mcs[mcs as usize] += mpdus as u64;
        let class = if mpdus <= 1 { 0 } else { 32 - (mpdus - 1).leading_zeros() as usize };
        self.aggregation[class.min(AGGREGATION_CLASSES - 1)] += 1;
    }
}

counters! {
    /// What a channel has done.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct ChannelAccount {
        /// Accesses, and those in which several devices transmitted.
        accesses: u64,
        /// Collisions.
        collisions: u64,
        /// Time in which the channel was busy.
        busy: Span,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_double() {
        let mut account = DirectionAccount::default();
        for mpdus in [1, 2, 3, 4, 5, 8, 9, 64, 65, 129, 256] {
            account.transmitted(mpdus, 7);
        }
        assert_eq!(account.aggregation, [1, 1, 2, 2, 1, 0, 1, 1, 2]);
    }
}
