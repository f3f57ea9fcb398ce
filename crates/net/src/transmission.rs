//! Transmissions on Wi-Fi channels and in cells, for observers of a run.

use crate::ids::LinkId;
use units::{Span, Time};

/// An MPDU of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpduResult {
    /// Its number in the block ACK agreement of its link.
    pub number: u32,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Whether the receiver got it.
    pub arrived: bool,
}

/// What a transmission consists of.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A PPDU with data; without any if it was a request to send that collided.
    Ppdu {
        /// Modulation and coding scheme.
        mcs: u8,
        /// Duration of preamble and data.
        data: Span,
        /// Whether nobody else transmitted.
        alone: bool,
        /// Its MPDUs.
        mpdus: Vec<MpduResult>,
    },
    /// A request for a missing block ACK.
    Request {
        /// Whether nobody else transmitted.
        alone: bool,
    },
    /// An attempt of a transport block.
    Block {
        /// Resource blocks, and those of the cell.
        width: u32,
        /// Resource blocks of the cell in this slot.
        all: u32,
        /// The attempt, from 1.
        attempt: u32,
        /// Begin of the slot of its first attempt.
        first: Time,
        /// Packets and parts of packets.
        parts: u32,
        /// Whether the receiver got it.
        arrived: bool,
    },
}

impl Content {
    /// What it is: ppdu, request, block.
    pub const fn name(&self) -> &'static str {
        match self {
            Content::Ppdu { .. } => "ppdu",
            Content::Request { .. } => "request",
            Content::Block { .. } => "block",
        }
    }
}

/// A transmission on a medium.
#[derive(Clone, Debug, PartialEq)]
pub struct Transmission {
    /// The link.
    pub link: LinkId,
    /// When it begins.
    pub begin: Time,
    /// When the medium is free of it: of a PPDU after its answer.
    pub end: Time,
    /// What is sent.
    pub content: Content,
}

impl Transmission {
    /// Number of its MPDUs, or of the packets and parts of its block.
    pub fn units(&self) -> u32 {
        match &self.content {
            Content::Ppdu { mpdus, .. } => mpdus.len() as u32,
            Content::Request { .. } => 0,
            Content::Block { parts, .. } => *parts,
        }
    }

    /// The part of the medium that it takes while it lasts.
    pub fn share(&self) -> f64 {
        match self.content {
            Content::Ppdu { .. } | Content::Request { .. } => 1.0,
            Content::Block { width, all, .. } => width as f64 / all as f64,
        }
    }
}
