//! The log of Wi-Fi channels and cells: who transmits, when, and how much at once.

use net::{Content, Transmission};
use units::Time;

/// Every transmission, in columns, in the order in which the media served them.
#[derive(Clone, Debug, Default)]
pub struct TransmissionLog {
    /// When it began.
    pub begin: Vec<Time>,
    /// When the medium was free of it.
    pub end: Vec<Time>,
    /// Number of the link.
    pub link: Vec<u32>,
    /// What was sent: ppdu, request, block.
    pub kind: Vec<&'static str>,
    /// MPDUs of a PPDU, or packets and parts of packets of a transport block; zero of a request.
    pub units: Vec<u32>,
    /// Those that arrived: of a block all or none.
    pub arrived: Vec<u32>,
    /// Number of the attempt of a block, from 1; of a PPDU the highest one of its MPDUs.
    pub attempt: Vec<u32>,
    /// The part of the medium that it took: the resource blocks of a block over those of the cell; 1 on a channel.
    pub share: Vec<f64>,
}

impl TransmissionLog {
    /// Rows of a log with bounded memory.
    pub const MOST_ROWS: usize = 1 << 19;
    /// Bytes of a row; columns double their capacity when they grow.
    pub(super) const ROW: u64 = 2 * 56;

    pub(super) fn push(&mut self, transmission: &Transmission) {
        let (arrived, attempt) = match &transmission.content {
            Content::Ppdu { mpdus, .. } => (
                mpdus.iter().filter(|mpdu| mpdu.arrived).count() as u32,
                mpdus.iter().map(|mpdu| mpdu.attempt).max().unwrap_or(0),
            ),
            Content::Request { .. } => (0, 0),
            Content::Block { parts, arrived, attempt, .. } => (if *arrived { *parts } else { 0 }, *attempt),
        };
        self.begin.push(transmission.begin);
        self.end.push(transmission.end);
        self.link.push(transmission.link.0);
        self.kind.push(transmission.content.name());
        self.units.push(transmission.units());
        self.arrived.push(arrived);
        self.attempt.push(attempt);
        self.share.push(transmission.share());
    }
}
