//! From the bytes of a frame to the IP packet in it.

use crate::bytes::Order;

/// EtherTypes.
pub const IPV4: u16 = 0x0800;
/// See [`IPV4`].
pub const IPV6: u16 = 0x86dd;
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const MAX_TAGS: usize = 6;
const MPLS: u16 = 0x8847;
const PPPOE: u16 = 0x8864;

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Order::Big.u16(bytes, at)
}

/// EtherType of an IP packet, from its version.
fn version(bytes: &[u8], at: usize) -> Option<u16> {
    match bytes.get(at)? >> 4 {
        4 => Some(IPV4),
        6 => Some(IPV6),
        _ => None,
    }
}

/// Whether frames of a link type are read.
pub fn is_read(link: u16) -> bool {
    matches!(link, 0 | 1 | 9 | 12 | 14 | 101 | 108 | 113 | 228 | 229 | 276)
}

/// The name of a link type, for messages.
pub fn name(link: u16) -> &'static str {
    match link {
        0 | 108 => "loopback",
        1 => "Ethernet",
        9 => "PPP",
        10 => "FDDI",
        12 | 14 | 101 | 228 | 229 => "raw IP",
        105 => "802.11",
        113 => "Linux cooked",
        119 | 127 | 163 => "802.11 with radio headers",
        192 => "PPI",
        195 | 230 => "802.15.4",
        220 | 189 => "USB",
        187 | 201 | 251 => "Bluetooth",
        276 => "Linux cooked, version 2",
        _ => "unknown",
    }
}

/// EtherType and place of the network header in a frame. `None`: the frame is too short, or it has no IP packet.
pub fn network(link: u16, frame: &[u8]) -> Option<(u16, usize)> {
    let (kind, at) = match link {
        1 => ethernet(frame, 0)?,
        0 | 108 => (version(frame, 4)?, 4),
        12 | 14 | 101 | 228 | 229 => (version(frame, 0)?, 0),
        113 => tagged(frame, word(frame, 14)?, 16)?,
        276 => tagged(frame, word(frame, 0)?, 20)?,
        9 => {
            let at = if frame.get(..2) == Some(&[0xff, 3]) { 2 } else { 0 };
            match word(frame, at)? {
                0x21 => (IPV4, at + 2),
                0x57 => (IPV6, at + 2),
                _ => return None,
            }
        }
        _ => return None,
    };
    (at < frame.len()).then_some((kind, at))
}

/// The header of an Ethernet frame at `at`, with its tags.
fn ethernet(frame: &[u8], at: usize) -> Option<(u16, usize)> {
    tagged(frame, word(frame, at + 12)?, at + 14)
}

/// What follows VLAN tags, MPLS labels and PPPoE.
fn tagged(frame: &[u8], mut kind: u16, mut at: usize) -> Option<(u16, usize)> {
    let mut tags = 0;
    while VLAN.contains(&kind) {
        kind = word(frame, at + 2)?;
        at += 4;
        tags += 1;
        if tags > MAX_TAGS {
            return None;
        }
    }
    if kind == MPLS {
        // The lowest bit of the third byte of the last label is set.
        while frame.get(at + 2)? & 1 == 0 {
            at += 4;
            if at > 64 {
                return None;
            }
        }
        at += 4;
        kind = version(frame, at)?;
    }
    if kind == PPPOE {
        at += 8;
        kind = version(frame, at)?;
    }
    Some((kind, at))
}

/// The packet inside a tunnel: EtherType and place.
///
/// VXLAN (RFC 7348), Geneve (RFC 8926) and GRE (RFC 2784), one level. `protocol` and `at` are of the header that follows IP.
pub fn tunnelled(protocol: u8, packet: &[u8], at: usize) -> Option<(u16, usize)> {
    const GRE: u8 = 47;
    const UDP: u8 = 17;
    match protocol {
        GRE => {
            let flags = word(packet, at)?;
            let optional = [0x8000, 0x2000, 0x1000].iter().filter(|bit| flags & **bit != 0).count();
            inner(packet, word(packet, at + 2)?, at + 4 + 4 * optional)
        }
        UDP => match word(packet, at + 2)? {
            4789 => ethernet(packet, at + 16),
            6081 => {
                let options = usize::from(packet.get(at + 8)? & 0x3f) * 4;
                inner(packet, word(packet, at + 10)?, at + 16 + options)
            }
            _ => None,
        },
        _ => None,
    }
}

fn inner(packet: &[u8], kind: u16, at: usize) -> Option<(u16, usize)> {
    const BRIDGED: u16 = 0x6558;
    if kind == BRIDGED { ethernet(packet, at) } else { Some((kind, at)) }
}
