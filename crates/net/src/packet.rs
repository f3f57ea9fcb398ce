//! Packets: small values that are copied and need no allocation.

use units::{Rate, Span, Time};

/// The kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PacketKind {
    /// TCP data or SYN, from sender to receiver.
    Data,
    /// TCP acknowledgement, from receiver to sender.
    Ack,
    /// UDP data.
    Udp,
    /// A datagram with contents, from the source of its flow to the destination. `Packet::options` is the index of its
    /// bytes, which lie outside the packet.
    Datagram,
    /// Such a datagram from the destination of its flow to the source.
    ReverseDatagram,
    /// A request of an application, from the destination of its flow to the source. `Packet::seq` is its number.
    Request,
}

impl PacketKind {
    /// Whether it travels from the destination of its flow to the source.
    #[inline]
    pub const fn is_reverse(self) -> bool {
        matches!(self, PacketKind::Ack | PacketKind::ReverseDatagram | PacketKind::Request)
    }
    /// Whether its bytes lie outside the packet.
    #[inline]
    pub const fn is_datagram(self) -> bool {
        matches!(self, PacketKind::Datagram | PacketKind::ReverseDatagram)
    }
}

/// The ECN field of the IP header (RFC 3168 section 5; RFC 9331).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable, L4S identifier (RFC 9331).
    Ect1,
    /// ECN-capable.
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// The codepoint of the two bits of the IP header; higher bits have no effect.
    #[inline]
    pub const fn from_bits(bits: u8) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
    /// The two bits of the IP header.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }
    /// Whether a queue may mark the packet instead of dropping it.
    #[inline]
    pub const fn capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
    /// Whether the packet belongs to the low-latency queue of DualPI2: ECT(1) or CE.
    #[inline]
    pub const fn l4s(self) -> bool {
        matches!(self, Ecn::Ect1 | Ecn::Ce)
    }
}

/// The ECN echo of an ACK: none, ECE (RFC 3168), or the counter of CE packets in the field ACE (RFC 9768).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnEcho(u8);

impl EcnEcho {
    /// No echo.
    pub const NONE: EcnEcho = EcnEcho(0);
    /// The flag ECE.
    pub const ECE: EcnEcho = EcnEcho(1);
    const ACE: u8 = 8;

    /// The lower three bits of `field` as the field ACE.
    #[inline]
    pub const fn from_ace(field: u8) -> EcnEcho {
        EcnEcho(EcnEcho::ACE | field & 7)
    }
    /// The flag ECE, or nothing.
    #[inline]
    pub const fn from_flag(ece: bool) -> EcnEcho {
        EcnEcho(ece as u8)
    }
    /// Whether it is neither ECE nor ACE.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
    /// Whether it is the flag ECE.
    #[inline]
    pub const fn is_ece(self) -> bool {
        self.0 == EcnEcho::ECE.0
    }
    /// The field ACE, if the ACK has one.
    #[inline]
    pub const fn ace(self) -> Option<u8> {
        if self.0 & EcnEcho::ACE == 0 { None } else { Some(self.0 & 7) }
    }
}

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Time at which the source sent it.
    pub sent: Time,
    /// ACK: the echoed timestamp, which is the sending time of a data packet. Data packet, which echoes none: a part of its
    /// header for routers ([`RateHeader`] or [`XcpHeader`]), or zero.
    pub echo: Time,
    /// Start of its transmission on the current link; set by the network.
    pub began: Time,
    /// Index into the route table: the current link.
    pub route: u32,
    /// Number of the flow.
    pub flow: u32,
    /// Data: the packet number, from 0. ACK: the number of the next packet expected.
    pub seq: u32,
    /// ACK: the index of its SACK blocks and router reply, or [`Packet::NO_OPTIONS`]. Data with an [`XcpHeader`]: the time
    /// between the packets of its sender, ns. Datagram: the index of its bytes.
    pub options: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// What it is.
    pub kind: PacketKind,
    /// The ECN field.
    pub ecn: Ecn,
    /// ACK: its ECN echo.
    pub ece: EcnEcho,
    /// Data: the sender has reduced its window (CWR). ACK: it acknowledges a SYN; set only if packets are captured.
    pub cwr: bool,
}

impl Packet {
    /// The number of the request that opens a connection.
    pub const OPENING: u32 = u32::MAX;
    /// The value of `options` for an ACK without options.
    pub const NO_OPTIONS: u32 = u32::MAX;

    /// A packet of `size` bytes that the source sends at `sent` on route `route`.
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
            ecn: Ecn::NotEct,
            ece: EcnEcho::NONE,
            cwr: false,
        }
    }
}

/// The header of a data packet whose sender requests a rate from routers (RCP, Quick-Start).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateHeader {
    /// In units of 100 bit/s; all ones: no router has granted one yet.
    rate: u32,
    /// Round-trip time in microseconds, plus one, so that a header is never zero.
    round_trip: u32,
}

const RATE_UNIT: u64 = 100;
const NO_RATE: u32 = u32::MAX;

impl RateHeader {
    /// The header that a sender writes, with its smoothed round-trip time; zero if there is none yet.
    pub fn request(round_trip: Span) -> RateHeader {
        RateHeader { rate: NO_RATE, round_trip: microseconds_plus_one(round_trip) }
    }
    /// The smallest rate that a router granted or the sender requested; `None` if there is none.
    pub fn rate(self) -> Option<Rate> {
        (self.rate != NO_RATE).then(|| Rate::from_bps(self.rate as u64 * RATE_UNIT))
    }
    /// The sender's round-trip time.
    pub fn round_trip(self) -> Span {
        Span::from_ps((self.round_trip - 1) as u64 * 1_000_000)
    }
    /// This header with its rate limited to `rate`.
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

/// The router feedback of the last data packet, or the counters of ECN marks, which the receiver returns to the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouterReply {
    /// The packet had no header for routers, or no router has written it.
    #[default]
    None,
    /// The least rate granted (RCP, Quick-Start).
    Rate(Rate),
    /// Change of rate, bytes per second (XCP).
    Feedback(i32),
    /// The AccECN option (RFC 9768 section 3.2.3): payload bytes that arrived, with their initial values, 24 bits each. A
    /// third counter, of the ECT codepoint that the sender does not use, keeps its initial value.
    EcnBytes {
        /// How many counters the option has, 2 or 3.
        fields: u8,
        /// With the sender's ECT codepoint.
        ect: u32,
        /// With CE.
        ce: u32,
    },
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
    /// Writes the XCP header of a data packet.
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
    /// Writes the rate header of a data packet.
    pub fn set_rate_header(&mut self, header: RateHeader) {
        self.echo = Time::from_ps((header.rate as u64) << 32 | header.round_trip as u64);
    }
    /// The router feedback that the receiver of this data packet returns to the sender.
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
