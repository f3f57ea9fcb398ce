//! Counters of a channel and of its directions.

use units::Span;

/// Number of classes of [`DirectionAccount::aggregation`]: 1, 2, 3-4, 5-8, ..., 129-256 MPDUs.
pub const AGGREGATION_CLASSES: usize = 9;

/// What one direction of a Wi-Fi link has done.
#[derive(Clone, Debug, Default)]
pub struct DirectionAccount {
    /// PPDUs and MPDUs transmitted, retries included.
    pub ppdus: u64,
    /// MPDUs.
    pub mpdus: u64,
    /// MPDUs that failed, and those given up after their attempts.
    pub failed: u64,
    /// MPDUs that were given up.
    pub given_up: u64,
    /// PPDUs that collided.
    pub collisions: u64,
    /// Airtime of PPDUs, their answers and their protection.
    pub airtime: Span,
    /// PPDUs by number of MPDUs.
    pub aggregation: [u64; AGGREGATION_CLASSES],
    /// MPDUs by MCS.
    pub mcs: [u64; 12],
    /// Sum and number of access delays: from the time at which a direction could contend to its transmission.
    pub access_delay: Span,
    /// Packets delivered.
    pub delivered: u64,
}

impl std::ops::Sub<&DirectionAccount> for DirectionAccount {
    type Output = DirectionAccount;
    /// What it has done after `early`.
    fn sub(self, early: &DirectionAccount) -> DirectionAccount {
        DirectionAccount {
            ppdus: self.ppdus - early.ppdus,
            mpdus: self.mpdus - early.mpdus,
            failed: self.failed - early.failed,
            given_up: self.given_up - early.given_up,
            collisions: self.collisions - early.collisions,
            airtime: self.airtime - early.airtime,
            aggregation: std::array::from_fn(|class| self.aggregation[class] - early.aggregation[class]),
            mcs: std::array::from_fn(|mcs| self.mcs[mcs] - early.mcs[mcs]),
            access_delay: self.access_delay - early.access_delay,
            delivered: self.delivered - early.delivered,
        }
    }
}

impl DirectionAccount {
    /// Counts a PPDU with `mpdus` MPDUs at an MCS.
    pub fn transmitted(&mut self, mpdus: u32, mcs: u8) {
        self.ppdus += 1;
        self.mpdus += mpdus as u64;
        self.mcs[mcs as usize] += mpdus as u64;
        let class = if mpdus <= 1 { 0 } else { 32 - (mpdus - 1).leading_zeros() as usize };
        self.aggregation[class.min(AGGREGATION_CLASSES - 1)] += 1;
    }
}

/// What a channel has done.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChannelAccount {
    /// Accesses, and those in which several devices transmitted.
    pub accesses: u64,
    /// Collisions.
    pub collisions: u64,
    /// Time in which the channel was busy.
    pub busy: Span,
}

impl std::ops::Sub for ChannelAccount {
    type Output = ChannelAccount;
    /// What it has done after `early`.
    fn sub(self, early: ChannelAccount) -> ChannelAccount {
        ChannelAccount {
            accesses: self.accesses - early.accesses,
            collisions: self.collisions - early.collisions,
            busy: self.busy - early.busy,
        }
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
