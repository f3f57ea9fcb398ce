//! Media under audit: the transmissions of the links that share one take at most the time that there is.

use super::airtime::Airtimes;
use net::wifi::Access;
use std::collections::BTreeMap;
use units::{PS_PER_S, Rate, Span, Time};

/// The medium of a link.
#[derive(Clone, Debug)]
pub struct AuditedMedium {
    /// Its number: links with one number take their time from one another.
    pub number: u32,
    /// The largest rate at which the link sends; `None`: packets can leave without a transmission, so times are not added up.
    pub peak: Option<Rate>,
    /// Packets leave at multiples of this span; zero: at any time.
    pub slot: Span,
    /// By how much the medium can be ahead of this rate: a period of slots, or a burst.
    pub ahead: Span,
    /// The rules of its transmissions.
    pub rules: AccessRules,
}

/// The rules of the transmissions on a medium.
#[derive(Clone, Debug)]
pub enum AccessRules {
    /// They are not checked.
    Unchecked,
    /// Those of a Wi-Fi channel.
    Edca(EdcaRules),
    /// Those of a cell.
    Cell(CellRules),
}

/// The rules of channel access and of PPDUs.
#[derive(Clone, Debug)]
pub struct EdcaRules {
    /// The node that transmits.
    pub node: u32,
    /// Between the end of an access and a transmission of this link, by access category.
    pub aifs: [Span; Access::ALL.len()],
    /// For how long a device may transmit after an access, by access category; zero: one PPDU.
    pub txop: [Span; Access::ALL.len()],
    /// The airtimes of its PPDUs.
    pub airtimes: Airtimes,
    /// Attempts of an MPDU.
    pub attempts: u32,
    /// Bytes of data from which RTS and CTS come before them.
    pub rts_threshold: u32,
    /// After transmissions without an answer everyone waits EIFS.
    pub eifs: bool,
}

/// The rules of transport blocks.
#[derive(Clone, Debug)]
pub struct CellRules {
    /// Resource blocks, each from a time on.
    pub blocks: Vec<(Time, u32)>,
    /// Of each slot of a period, whether this direction may use it.
    pub pattern: Vec<bool>,
    /// Slots from an attempt of a block to the next one, at least.
    pub harq_rtt: u64,
    /// Attempts of a block.
    pub attempts: u32,
    /// HARQ processes of a link.
    pub processes: u32,
    /// Begins and ends of the interruptions of handovers.
    pub interruptions: Vec<(Time, Time)>,
}

/// The time that the transmissions on media have taken at least.
#[derive(Clone, Default)]
pub(super) struct MediaTimes(BTreeMap<u32, u128>);

impl MediaTimes {
    /// A packet of `bytes` leaves at `at`. Returns what is wrong with those before it, which can be lost now, or with its time.
    pub(super) fn depart(&mut self, medium: &AuditedMedium, bytes: u32, at: Time) -> Option<String> {
        let peak = medium.peak?;
        let airtime = self.0.entry(medium.number).or_default();
        let before = *airtime;
        *airtime += time(bytes, peak);
        if before > (at + medium.ahead).ps() as u128 {
            return Some(format!("transmissions take {before} ps at the largest rates"));
        }
        let off = at.ps().checked_rem(medium.slot.ps()).unwrap_or(0);
        (off > 0).then(|| format!("a packet leaves {off} ps after the end of a slot"))
    }

    /// The last packet that left is lost: it may have been transmitted together with another one, in a collision.
    pub(super) fn lose(&mut self, medium: &AuditedMedium, bytes: u32) {
        if let (Some(peak), Some(airtime)) = (medium.peak, self.0.get_mut(&medium.number)) {
            *airtime -= time(bytes, peak);
        }
    }
}

/// The time that `bytes` take at a rate, ps.
fn time(bytes: u32, rate: Rate) -> u128 {
    bytes as u128 * 8 * PS_PER_S as u128 / rate.bps().max(1) as u128
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_take_their_time_from_one_another() {
        let medium = |mbps: u64, slot, ahead| AuditedMedium {
            number: 0,
            peak: Some(Rate::from_bps(mbps * 1_000_000)),
            slot: Span::from_ms(slot),
            ahead: Span::from_ms(ahead),
            rules: AccessRules::Unchecked,
        };
        let at = |us: u64| Time::from_ps(us * 1_000_000);
        // 1,000 bytes take 1 ms at 8 Mb/s and 0.5 ms at 16 Mb/s.
        let mut times = MediaTimes::default();
        assert_eq!(times.depart(&medium(8, 0, 0), 1000, at(1000)), None);
        assert_eq!(times.depart(&medium(16, 0, 0), 1000, at(1500)), None);
        assert_eq!(times.depart(&medium(16, 0, 0), 1000, at(1999)), None);
        let mut lost = times.clone();
        assert!(times.depart(&medium(16, 0, 0), 1000, at(1999)).is_some());
        assert_eq!(times.depart(&medium(8, 0, 2), 1000, at(1999)), None);
        lost.lose(&medium(16, 0, 0), 1000);
        assert_eq!(lost.depart(&medium(16, 0, 0), 1000, at(1999)), None);
        let mut times = MediaTimes::default();
        assert_eq!(times.depart(&medium(80, 1, 0), 1000, at(2000)), None);
        assert!(times.depart(&medium(80, 1, 0), 1000, at(2500)).is_some());
    }
}
