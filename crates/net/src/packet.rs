//! Packets: small, copied, never allocated.

use units::{Rate, Span, Time};

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketKind {
    /// TCP data or SYN, on its way to the receiver.
    Data,
    /// TCP acknowledgement, on its way to the sender.
    Ack,
    /// UDP data.
    Udp,
}

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When it was sent by its source.
    pub sent: Time,
    /// ACK: the timestamp echoed, the sending time of a data packet. Of a flow that asks routers for its rate data and ACKs
    /// carry a [`Stamp`] here instead.
    pub echo: Time,
    /// When its transmission began on the link that it is on; the network keeps this.
    pub began: Time,
    /// Place in the table of routes: the link that it is on.
    pub route: u32,
    /// Which flow.
    pub flow: u32,
    /// Data: its number, 0 the first. ACK: the number of the next packet expected.
    pub seq: u32,
    /// ACK: where the SACK blocks lie, or [`Packet::NO_BLOCKS`]. Data of a flow that asks for feedback ([`Ask`]): the time
    /// between its packets, ns.
    pub blocks: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// What it is.
    pub kind: PacketKind,
    /// Congestion experienced (RFC 3168).
    pub marked: bool,
    /// Data: its sender knows ECN, it may be marked (ECT). ACK: the receiver echoes congestion (ECE).
    pub ecn: bool,
    /// Data: the sender has answered to an echo (CWR). ACK: it answers a SYN; said where packets are captured, and there alone.
    pub cwr: bool,
}

impl Packet {
    /// The value of `blocks` for an ACK without any.
    pub const NO_BLOCKS: u32 = u32::MAX;

    /// A packet of `size` bytes that its source sends at `sent` into `route`.
    #[inline]
    pub fn new(kind: PacketKind, flow: u32, route: u32, seq: u32, size: u32, sent: Time) -> Packet {
        Packet {
            sent,
            echo: Time::ZERO,
            began: Time::ZERO,
            route,
            flow,
            seq,
            blocks: Packet::NO_BLOCKS,
            size,
            kind,
            marked: false,
            ecn: false,
            cwr: false,
        }
    }
}

/// What a packet carries between hosts and routers that tell rates: the round-trip time that its sender has, and the least
/// rate that a router has granted so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// In units of 100 bit/s; all ones: no router yet.
    rate: u32,
    /// Microseconds, one more than they are: a stamp is never zero.
    round_trip: u32,
}

const RATE_UNIT: u64 = 100;
const NO_RATE: u32 = u32::MAX;

impl Stamp {
    /// A sender asks; it knows this round-trip time (zero: none yet).
    pub fn asking(round_trip: Span) -> Stamp {
        let us = (round_trip.ps() / 1_000_000).min(u32::MAX as u64 - 1) as u32;
        Stamp { rate: NO_RATE, round_trip: us + 1 }
    }
    /// The least rate granted; none if no router was passed.
    pub fn rate(self) -> Option<Rate> {
        (self.rate != NO_RATE).then(|| Rate::from_bps(self.rate as u64 * RATE_UNIT))
    }
    /// The sender's round-trip time.
    pub fn round_trip(self) -> Span {
        Span::from_ps((self.round_trip - 1) as u64 * 1_000_000)
    }
    /// With no more than this rate.
    pub fn at_most(self, rate: Rate) -> Stamp {
        let units = (rate.bps() / RATE_UNIT).clamp(1, NO_RATE as u64 - 1) as u32;
        Stamp { rate: self.rate.min(units), ..self }
    }
}

/// What a packet of XCP carries: its sender's round-trip time and the time between its packets, and by how much routers let
/// its rate change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The sender's round-trip time; zero if it has none yet.
    pub round_trip: Span,
    /// The time between two of its packets.
    pub spacing: Span,
    /// Bytes per second, more or less.
    pub feedback: i32,
}

impl Packet {
    /// Whether it has SACK blocks.
    pub fn has_blocks(&self) -> bool {
        self.kind == PacketKind::Ack && self.blocks != Packet::NO_BLOCKS
    }
    /// What a data packet of XCP says, if it is one.
    pub fn ask(&self) -> Option<Ask> {
        (self.kind == PacketKind::Data && self.blocks != Packet::NO_BLOCKS).then(|| Ask {
            round_trip: Span::from_ps((self.echo.ps() as u32 - 1) as u64 * 1_000_000),
            spacing: Span::from_ps(self.blocks as u64 * 1000),
            feedback: (self.echo.ps() >> 32) as u32 as i32,
        })
    }
    /// Puts it on a data packet.
    pub fn put_ask(&mut self, ask: Ask) {
        let us = (ask.round_trip.ps() / 1_000_000).min(u32::MAX as u64 - 1) as u32;
        self.blocks = (ask.spacing.ps() / 1000).clamp(1, Packet::NO_BLOCKS as u64 - 1) as u32;
        self.echo = Time::from_ps((ask.feedback as u32 as u64) << 32 | (us + 1) as u64);
    }
    /// The feedback that an ACK brings, bytes per second, of a flow that asks for it.
    pub fn feedback(&self) -> Option<i32> {
        let bits = self.echo.ps();
        let feedback = (bits >> 32) as u32 as i32;
        // No router has touched what was asked for.
        (bits != 0 && feedback != i32::MAX).then_some(feedback)
    }
    /// The stamp of a data packet, if its sender has put one on it.
    pub fn stamp(&self) -> Option<Stamp> {
        let bits = self.echo.ps();
        (self.kind == PacketKind::Data && bits != 0 && self.blocks == Packet::NO_BLOCKS)
            .then_some(Stamp { rate: (bits >> 32) as u32, round_trip: bits as u32 })
    }
    /// Puts a stamp on a data packet.
    pub fn put_stamp(&mut self, stamp: Stamp) {
        self.echo = Time::from_ps((stamp.rate as u64) << 32 | stamp.round_trip as u64);
    }
    /// The rate that an ACK brings, of a flow that asks for one.
    pub fn granted(&self) -> Option<Rate> {
        let bits = self.echo.ps();
        Stamp { rate: (bits >> 32) as u32, round_trip: bits as u32 }.rate().filter(|_| bits != 0)
    }
}
