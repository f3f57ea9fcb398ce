//! Transmissions on Wi-Fi channels and in cells, for observers of a run.

use crate::ids::LinkId;
use params::named_values;
use units::{Span, Time};

named_values! {
    /// An access category.
    Access {
        /// Background.
        Background = "bk",
        /// Best effort.
        BestEffort = "be",
        /// Video.
        Video = "vi",
        /// Voice.
        Voice = "vo",
    }
}

/// An MPDU of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpduResult {
    /// Its number in the block ACK agreement of its link.
    pub number: u32,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Its bytes, headers included.
    pub bytes: u32,
    /// Its packets.
    pub packets: u32,
    /// Whether it arrived at the receiver.
    pub arrived: bool,
}

/// What a transmission consists of.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A PPDU with data; without any if it was an RTS that collided.
    Ppdu {
        /// The access category of its packets.
        access: Access,
        /// Modulation and coding scheme.
        mcs: u8,
        /// Duration of preamble and data.
        data: Span,
        /// Several devices transmitted at once.
        collided: bool,
        /// Its MPDUs.
        mpdus: Vec<MpduResult>,
    },
    /// A request for a missing block ACK.
    BlockAckRequest {
        /// The access category of the data.
        access: Access,
        /// Several devices transmitted at once.
        collided: bool,
    },
    /// An attempt of a transport block.
    Block {
        /// Modulation and coding scheme.
        mcs: u8,
        /// Its resource blocks.
        width: u32,
        /// Resource blocks of the cell in this slot.
        all: u32,
        /// The attempt, from 1.
        attempt: u32,
        /// Begin of the slot of its first attempt.
        first: Time,
        /// Packets and parts of packets.
        parts: u32,
        /// Whether it arrived at the receiver.
        arrived: bool,
    },
}

impl Content {
    /// The names of the kinds, by [`Content::kind`].
    pub const KINDS: [&'static str; 3] = ["ppdu", "block_ack_request", "block"];

    /// The number of its kind.
    pub const fn kind(&self) -> u8 {
        match self {
            Content::Ppdu { .. } => 0,
            Content::BlockAckRequest { .. } => 1,
            Content::Block { .. } => 2,
        }
    }

    /// Its access category, on a channel.
    pub const fn access(&self) -> Option<Access> {
        match self {
            Content::Ppdu { access, .. } | Content::BlockAckRequest { access, .. } => Some(*access),
            Content::Block { .. } => None,
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
    /// No transmission lasts longer: a PPDU of 5.484 ms, or of a single packet that is longer than `max_ppdu`.
    pub const LONGEST: Span = Span::from_ms(100);

    /// Number of its MPDUs, or of the packets and parts of its block.
    pub fn packets(&self) -> u32 {
        match &self.content {
            Content::Ppdu { mpdus, .. } => mpdus.len() as u32,
            Content::BlockAckRequest { .. } => 0,
            Content::Block { parts, .. } => *parts,
        }
    }

    /// The part of the medium that it takes while it lasts.
    pub fn share(&self) -> f64 {
        match self.content {
            Content::Ppdu { .. } | Content::BlockAckRequest { .. } => 1.0,
            Content::Block { width, all, .. } => width as f64 / all as f64,
        }
    }
}
