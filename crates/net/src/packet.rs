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
    /// ACK: the timestamp echoed, the sending time of a data packet. Data, which echoes none: a part of the header for routers
    /// ([`RateHeader`] or [`XcpHeader`]), or zero.
    pub echo: Time,
    /// When its transmission began on the link that it is on; the network keeps this.
    pub began: Time,
    /// Place in the table of routes: the link that it is on.
    pub route: u32,
    /// Which flow.
    pub flow: u32,
    /// Data: its number, 0 the first. ACK: the number of the next packet expected.
    pub seq: u32,
    /// ACK: where its SACK blocks and the routers' reply lie, or [`Packet::NO_OPTIONS`]. Data with an [`XcpHeader`]: the time
    /// between its packets, ns.
    pub options: u32,
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
    /// The value of `options` for an ACK without any.
    pub const NO_OPTIONS: u32 = u32::MAX;

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
            options: Packet::NO_OPTIONS,
            size,
            kind,
            marked: false,
            ecn: false,
            cwr: false,
        }
    }
}

/// The header of a data packet whose sender requests a rate from routers (RCP, Quick-Start).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateHeader {
    /// In units of 100 bit/s; all ones: no router has granted one yet.
    rate: u32,
    /// Microseconds, plus one: a header is never zero.
    round_trip: u32,
}

const RATE_UNIT: u64 = 100;
const NO_RATE: u32 = u32::MAX;

impl RateHeader {
    /// The header as a sender fills it in, with its smoothed round-trip time (zero: none yet).
    pub fn request(round_trip: Span) -> RateHeader {
        RateHeader { rate: NO_RATE, round_trip: microseconds_plus_one(round_trip) }
    }
    /// The least rate that a router granted, or that the sender requested; none if neither did.
    pub fn rate(self) -> Option<Rate> {
        (self.rate != NO_RATE).then(|| Rate::from_bps(self.rate as u64 * RATE_UNIT))
    }
    /// The sender's round-trip time.
    pub fn round_trip(self) -> Span {
        Span::from_ps((self.round_trip - 1) as u64 * 1_000_000)
    }
    /// The header with no more than this rate.
    pub fn at_most(self, rate: Rate) -> RateHeader {
        let units = (rate.bps() / RATE_UNIT).clamp(1, NO_RATE as u64 - 1) as u32;
        RateHeader { rate: self.rate.min(units), ..self }
    }
}

/// The congestion header of a data packet of XCP (Katabi, Handley and Rohrs 2002, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XcpHeader {
    /// The sender's round-trip time; zero if it has none yet.
    pub round_trip: Span,
    /// The time between two of its packets.
    pub spacing: Span,
    /// Change of rate, bytes per second: what the sender requests, `i32::MAX` for as much as it can get; then what routers
    /// allow.
    pub feedback: i32,
}

/// What a receiver returns to the sender of the header of its last data packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouterReply {
    /// The packet had no such header, or no router has filled it in.
    #[default]
    None,
    /// The least rate granted (RCP, Quick-Start).
    Rate(Rate),
    /// Change of rate, bytes per second (XCP).
    Feedback(i32),
}

fn microseconds_plus_one(span: Span) -> u32 {
    (span.ps() / 1_000_000).min(u32::MAX as u64 - 1) as u32 + 1
}

impl Packet {
    /// Whether it is an ACK with SACK blocks or a routers' reply.
    pub fn has_options(&self) -> bool {
        self.kind == PacketKind::Ack && self.options != Packet::NO_OPTIONS
    }
    /// The XCP header of a data packet, if it has one.
    pub fn xcp_header(&self) -> Option<XcpHeader> {
        (self.kind == PacketKind::Data && self.options != Packet::NO_OPTIONS).then(|| XcpHeader {
            round_trip: Span::from_ps((self.echo.ps() as u32 - 1) as u64 * 1_000_000),
            spacing: Span::from_ps(self.options as u64 * 1000),
            feedback: (self.echo.ps() >> 32) as u32 as i32,
        })
    }
    /// Gives a data packet an XCP header.
    pub fn set_xcp_header(&mut self, header: XcpHeader) {
        self.options = (header.spacing.ps() / 1000).clamp(1, Packet::NO_OPTIONS as u64 - 1) as u32;
        let round_trip = microseconds_plus_one(header.round_trip);
        self.echo = Time::from_ps((header.feedback as u32 as u64) << 32 | round_trip as u64);
    }
    /// The rate header of a data packet, if it has one.
    pub fn rate_header(&self) -> Option<RateHeader> {
        let bits = self.echo.ps();
        (self.kind == PacketKind::Data && bits != 0 && self.options == Packet::NO_OPTIONS)
            .then_some(RateHeader { rate: (bits >> 32) as u32, round_trip: bits as u32 })
    }
    /// Gives a data packet a rate header.
    pub fn set_rate_header(&mut self, header: RateHeader) {
        self.echo = Time::from_ps((header.rate as u64) << 32 | header.round_trip as u64);
    }
    /// What the receiver of a data packet returns to its sender.
    pub fn router_reply(&self) -> RouterReply {
        if let Some(header) = self.xcp_header() {
            // No router has changed what was requested.
            return match header.feedback {
                i32::MAX => RouterReply::None,
                feedback => RouterReply::Feedback(feedback),
            };
        }
        self.rate_header().and_then(RateHeader::rate).map_or(RouterReply::None, RouterReply::Rate)
    }
}
