//! The TCP segment of an IP packet: addresses, numbers, flags and options (RFC 9293, 7323, 2018).

use crate::bytes::Order;
use crate::link::{IPV4, IPV6, tunnelled};

/// FIN.
pub const FIN: u16 = 1;
/// SYN.
pub const SYN: u16 = 2;
/// RST.
pub const RST: u16 = 4;
/// PSH.
pub const PSH: u16 = 8;
/// ACK.
pub const ACK: u16 = 16;
/// ECE (RFC 3168), the lowest bit of ACE (RFC 9768).
pub const ECE: u16 = 0x40;
/// CWR.
pub const CWR: u16 = 0x80;
/// AE (RFC 9768).
pub const AE: u16 = 0x100;

/// An end of a connection: the address (IPv4 in the last four bytes) and the port.
pub type End = ([u8; 16], u16);

/// A TCP segment.
#[derive(Clone, Copy, Default, Debug)]
pub struct Segment {
    /// Nanoseconds.
    pub at: u64,
    /// Where it comes from.
    pub source: End,
    /// Where it goes.
    pub destination: End,
    /// Whether the addresses are of IPv6.
    pub v6: bool,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Flags, AE included.
    pub flags: u16,
    /// The window field.
    pub window: u16,
    /// Bytes of data.
    pub length: u32,
    /// The ECN codepoint.
    pub ecn: u8,
    /// Window scale.
    pub scale: Option<u8>,
    /// Maximum segment size; zero: no option.
    pub mss: u16,
    /// The SACK-permitted option.
    pub sack_permitted: bool,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks; the first `sacks` are set.
    pub sack: [(u32, u32); 4],
    /// See `sack`.
    pub sacks: u8,
    /// Options were cut off by the snap length.
    pub options_cut: bool,
    /// Identification of IPv4.
    pub ip_id: u16,
    /// The checksum field.
    pub checksum: u16,
    /// The interface of the capture.
    pub interface: u32,
}

impl Segment {
    /// Whether a flag is set.
    #[inline]
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// What a packet is that has no readable TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// Another protocol.
    Protocol,
    /// UDP with a QUIC long header.
    Quic,
    /// A fragment of an IP packet.
    Fragment,
    /// The snap length left no whole header.
    Cut,
    /// Fields contradict each other.
    Malformed,
}

/// Reads the packet at `start` of a frame with `wire` bytes. `tunnel`: packets in tunnels are read.
pub fn segment(
    kind: u16,
    frame: &[u8],
    start: usize,
    wire: u32,
    tunnel: bool,
) -> Result<(Segment, bool), Other> {
    let packet = frame.get(start..).ok_or(Other::Cut)?;
    let wire = wire.saturating_sub(start as u32);
    let mut segment = Segment::default();
    let (protocol, at, payload) = match kind {
        IPV4 => ipv4(packet, wire, &mut segment)?,
        IPV6 => ipv6(packet, wire, &mut segment)?,
        _ => return Err(Other::Protocol),
    };
    if protocol != 6 {
        if tunnel && let Some((kind, inside)) = tunnelled(protocol, packet, at) {
            return self::segment(kind, frame, start + inside, wire + start as u32, false)
                .map(|s| (s.0, true));
        }
        return Err(if is_quic(protocol, packet, at) { Other::Quic } else { Other::Protocol });
    }
    header(packet, at, payload, &mut segment)?;
    Ok((segment, false))
}

/// UDP whose payload begins with a long header of QUIC version 1 or 2.
fn is_quic(protocol: u8, packet: &[u8], at: usize) -> bool {
    let first = packet.get(at + 8).copied().unwrap_or(0);
    protocol == 17 && first & 0xc0 == 0xc0 && matches!(Order::Big.u32(packet, at + 9), Some(1 | 0x6b33_43cf))
}

/// Protocol, place of its header, and its bytes.
fn ipv4(packet: &[u8], wire: u32, segment: &mut Segment) -> Result<(u8, usize, u32), Other> {
    let header = packet.first_chunk::<20>().ok_or(Other::Cut)?;
    let length = usize::from(header[0] & 15) * 4;
    if length < 20 {
        return Err(Other::Malformed);
    }
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    if word(6) & 0x3fff != 0 {
        return Err(Other::Fragment);
    }
    // With segmentation offload the total length of a packet beyond 64 kB is zero.
    let total = if word(2) == 0 { wire } else { u32::from(word(2)) };
    segment.ecn = header[1] & 3;
    segment.ip_id = word(4);
    segment.source.0[12..].copy_from_slice(&header[12..16]);
    segment.destination.0[12..].copy_from_slice(&header[16..20]);
    Ok((header[9], length, total.saturating_sub(length as u32)))
}

fn ipv6(packet: &[u8], wire: u32, segment: &mut Segment) -> Result<(u8, usize, u32), Other> {
    const HOP_BY_HOP: u8 = 0;
    const ROUTING: u8 = 43;
    const FRAGMENT: u8 = 44;
    const AUTHENTICATION: u8 = 51;
    const DESTINATION: u8 = 60;
    let header = packet.first_chunk::<40>().ok_or(Other::Cut)?;
    segment.v6 = true;
    segment.ecn = header[1] >> 4 & 3;
    segment.source.0.copy_from_slice(&header[8..24]);
    segment.destination.0.copy_from_slice(&header[24..40]);
    let field = u16::from_be_bytes([header[4], header[5]]);
    let payload = if field == 0 { wire.saturating_sub(40) } else { u32::from(field) };
    let (mut next, mut at) = (header[6], 40);
    while matches!(next, HOP_BY_HOP | ROUTING | AUTHENTICATION | DESTINATION) {
        let (after, words) = (*packet.get(at).ok_or(Other::Cut)?, *packet.get(at + 1).ok_or(Other::Cut)?);
        at +=
            if next == AUTHENTICATION { (usize::from(words) + 2) * 4 } else { (usize::from(words) + 1) * 8 };
        next = after;
        if at > 2048 {
            return Err(Other::Malformed);
        }
    }
    if next == FRAGMENT {
        return Err(Other::Fragment);
    }
    Ok((next, at, payload.saturating_sub(at as u32 - 40)))
}

fn header(packet: &[u8], at: usize, payload: u32, segment: &mut Segment) -> Result<(), Other> {
    let bytes = packet.get(at..).ok_or(Other::Cut)?;
    let header = bytes.first_chunk::<20>().ok_or(Other::Cut)?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let long = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
    let length = usize::from(header[12] >> 4) * 4;
    if length < 20 {
        return Err(Other::Malformed);
    }
    segment.source.1 = word(0);
    segment.destination.1 = word(2);
    segment.seq = long(4);
    segment.ack = long(8);
    segment.flags = word(12) & 0xfff;
    segment.window = word(14);
    segment.checksum = word(16);
    segment.length = payload.saturating_sub(length as u32);
    segment.options_cut = bytes.len() < length;
    options(&bytes[20..length.min(bytes.len())], segment);
    Ok(())
}

fn options(options: &[u8], segment: &mut Segment) {
    let long = |bytes: &[u8], at: usize| Order::Big.u32(bytes, at).unwrap_or(0);
    let mut at = 0;
    while let Some(kind) = options.get(at) {
        if *kind == 0 {
            return;
        }
        if *kind == 1 {
            at += 1;
            continue;
        }
        let Some(length @ 2..) = options.get(at + 1).map(|length| usize::from(*length)) else { return };
        let Some(value) = options.get(at + 2..at + length) else { return };
        match (kind, value.len()) {
            (2, 2) => segment.mss = u16::from_be_bytes([value[0], value[1]]),
            (3, 1) => segment.scale = Some(value[0].min(14)),
            (4, 0) => segment.sack_permitted = true,
            (8, 8) => segment.timestamps = Some((long(value, 0), long(value, 4))),
            (5, _) => {
                let blocks = (value.len() / 8).min(4);
                for (number, block) in segment.sack.iter_mut().take(blocks).enumerate() {
                    *block = (long(value, number * 8), long(value, number * 8 + 4));
                }
                segment.sacks = blocks as u8;
            }
            _ => {}
        }
        at += length;
    }
}
