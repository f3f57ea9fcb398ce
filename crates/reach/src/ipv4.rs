//! The ECN field of IPv4 packets.

use net::Ecn;

/// Bytes of the shortest IPv4 header.
const HEADER: usize = 20;

/// The ECN field of an IPv4 packet; `None` if the bytes are no IPv4 packet.
pub(crate) fn ecn(packet: &[u8]) -> Option<Ecn> {
    if packet.len() < HEADER || packet[0] >> 4 != 4 {
        return None;
    }
    Some(match packet[1] & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    })
}

/// Bytes that an IPv4 packet carries for programs: without the headers of IP, TCP and UDP.
pub(crate) fn payload(packet: &[u8]) -> u64 {
    let header = usize::from(packet.first().map_or(0, |byte| byte & 15)) * 4;
    let transport = match packet.get(9) {
        Some(6) => packet.get(header + 12).map_or(0, |byte| usize::from(byte >> 4) * 4),
        Some(17) => 8,
        _ => 0,
    };
    packet.len().saturating_sub(header + transport) as u64
}

/// Sets the ECN field to CE (RFC 3168) and updates the header checksum (RFC 1624, equation 3).
pub(crate) fn set_ce(packet: &mut [u8]) {
    let word = |packet: &[u8], at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let old = word(packet, 0);
    packet[1] |= 3;
    let new = word(packet, 0);
    let mut sum = u32::from(!word(packet, 10)) + u32::from(!old) + u32::from(new);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum computed from the whole header (RFC 791).
    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn congestion_experienced_keeps_the_checksum_right() {
        for id in 0..=u16::MAX {
            let mut packet = [0x45, 2, 5, 220, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2];
            packet[4..6].copy_from_slice(&id.to_be_bytes());
            let sum = checksum(&packet);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
            assert_eq!(ecn(&packet), Some(Ecn::Ect0));
            set_ce(&mut packet);
            assert_eq!(ecn(&packet), Some(Ecn::Ce));
            assert_eq!(checksum(&packet), 0, "identification {id}");
        }
    }

    #[test]
    fn a_payload_is_without_headers() {
        let mut packet = [0; 100];
        (packet[0], packet[9], packet[32]) = (0x45, 6, 8 << 4);
        assert_eq!(payload(&packet), 100 - 20 - 32);
        packet[9] = 17;
        assert_eq!(payload(&packet), 100 - 28);
        packet[9] = 1;
        assert_eq!(payload(&packet), 80);
        assert_eq!((payload(&packet[..20]), payload(&[])), (0, 0));
    }

    #[test]
    fn other_packets_have_no_ecn_field() {
        assert_eq!(ecn(&[0x60; 40]), None);
        assert_eq!(ecn(&[0x45; 19]), None);
    }
}
