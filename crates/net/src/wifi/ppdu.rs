//! PPDUs, and how long they may be.

use super::block_ack::Mpdu;
use super::phy::{Phy, SIFS};
use units::Span;

/// A PPDU in progress.
#[derive(Debug)]
pub(crate) struct Ppdu {
    pub direction: u32,
    pub mcs: u8,
    pub mpdus: Vec<Mpdu>,
    /// Duration of the data, and of what comes before them.
    pub duration: Span,
    pub protection: Span,
}

/// How long a PPDU may be.
pub(crate) struct Room {
    pub mcs: u8,
    /// The longest PPDU, and for how long the device may transmit; `None`: no longer than that PPDU.
    pub longest: Span,
    pub txop: Option<Span>,
    /// Data of at least so many bytes are sent after RTS and CTS.
    pub rts_threshold: u32,
    /// Its first MPDU is sent if it is too long, too.
    pub first: bool,
}

impl Room {
    /// Duration of RTS and CTS before `bytes` bytes.
    pub fn protection(&self, phy: &Phy, bytes: u32) -> Span {
        if bytes >= self.rts_threshold { phy.protection(self.mcs).0 } else { Span::ZERO }
    }

    /// Whether `bytes` bytes fit.
    pub fn fits(&self, phy: &Phy, bytes: u32) -> bool {
        let duration = phy.ppdu(self.mcs, bytes);
        let within = |txop| self.protection(phy, bytes) + duration + SIFS + phy.answer(self.mcs) <= txop;
        bytes <= phy.longest_ampdu() && duration <= self.longest && self.txop.is_none_or(within)
    }
}
