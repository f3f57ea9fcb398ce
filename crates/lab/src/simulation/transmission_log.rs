//! The log of Wi-Fi channels and cells: who transmits, when, and how much at once.

use net::wifi::Access;
use net::{Content, Transmission};
use units::Time;

/// Every transmission, in columns, by their begins.
#[derive(Clone, Debug, Default)]
pub struct TransmissionLog {
    /// When it began.
    pub begin: Vec<Time>,
    /// When the medium was free of it.
    pub end: Vec<Time>,
    /// Number of the link.
    pub link: Vec<u32>,
    /// Number of its kind in [`Content::KINDS`].
    pub kind: Vec<u8>,
    /// Number of the access category in [`Access::NAMES`]; 255 for a transport block.
    pub access: Vec<u8>,
    /// MPDUs of a PPDU, or packets and parts of packets of a transport block.
    pub packets: Vec<u32>,
    /// Those that arrived: of a block all or none.
    pub arrived: Vec<u32>,
    /// Number of the attempt of a block, from 1; of a PPDU the highest one of its MPDUs.
    pub attempt: Vec<u32>,
    /// Modulation and coding scheme; 255 for none.
    pub mcs: Vec<u8>,
    /// Several devices transmitted at once.
    pub collided: Vec<bool>,
    /// The part of the medium that it took: the resource blocks of a block over those of the cell; 1 on a channel.
    pub share: Vec<f64>,
}

impl TransmissionLog {
    /// The names of the kinds.
    pub const KINDS: [&'static str; 3] = Content::KINDS;
    /// Rows of a log with bounded memory, a third of those of the packet log: a packet on a medium has three events or more.
    pub const MOST_ROWS: usize = 1 << 20;
    /// The names of the access categories.
    pub const ACCESSES: &[&str] = Access::NAMES;
    /// Bytes of a row; columns double their capacity when they grow.
    pub(super) const ROW: u64 = 2 * 44;
    const NO_MCS: u8 = u8::MAX;
    const NO_ACCESS: u8 = u8::MAX;

    pub(super) fn push(&mut self, transmission: &Transmission) {
        let (mcs, collided, arrived, attempt) = match &transmission.content {
            Content::Ppdu { mcs, collided, mpdus, .. } => {
                let arrived = mpdus.iter().filter(|mpdu| mpdu.arrived).count() as u32;
                (*mcs, *collided, arrived, mpdus.iter().map(|mpdu| mpdu.attempt).max().unwrap_or(0))
            }
            Content::BlockAckRequest { collided, .. } => (Self::NO_MCS, *collided, 0, 0),
            Content::Block { mcs, parts, arrived, attempt, .. } => {
                (*mcs, false, if *arrived { *parts } else { 0 }, *attempt)
            }
        };
        self.begin.push(transmission.begin);
        self.end.push(transmission.end);
        self.link.push(transmission.link.0);
        self.kind.push(transmission.content.kind());
        self.access.push(transmission.content.access().map_or(Self::NO_ACCESS, |access| access as u8));
        self.packets.push(transmission.packets());
        self.arrived.push(arrived);
        self.attempt.push(attempt);
        self.mcs.push(mcs);
        self.collided.push(collided);
        self.share.push(transmission.share());
    }

    /// The first row whose transmission can reach into the time from `from` on.
    pub(crate) fn first_row(&self, from: Time) -> usize {
        self.begin.partition_point(|begin| *begin + Transmission::LONGEST < from)
    }
}
