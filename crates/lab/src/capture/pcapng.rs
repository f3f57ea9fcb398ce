//! The file format: pcapng (draft-ietf-opsawg-pcapng), little-endian, raw IP packets, nanoseconds.

use units::Time;

const LINKTYPE_RAW: u16 = 101;

/// Appends a block: type, length, body padded to 32 bits, length.
fn block(out: &mut Vec<u8>, kind: u32, body: &[&[u8]]) {
    let bytes: usize = body.iter().map(|part| part.len()).sum();
    let length = 12 + bytes.next_multiple_of(4) as u32;
    out.extend(kind.to_le_bytes());
    out.extend(length.to_le_bytes());
    body.iter().for_each(|part| out.extend(*part));
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend(length.to_le_bytes());
}

/// Appends an option of a block or a record: code, length, value padded to 32 bits.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// The section header with a comment, if there is one, one interface description per name, and the name resolution of
/// addresses.
pub fn begin(interfaces: &[String], names: &[([u8; 4], String)], comment: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut section = Vec::new();
    section.extend(0x1a2b_3c4d_u32.to_le_bytes());
    section.extend([1, 0, 0, 0]); // version 1.0
    section.extend(u64::MAX.to_le_bytes()); // section length not given
    if let Some(comment) = comment {
        option(&mut section, 1, comment.as_bytes()); // opt_comment
    }
    option(&mut section, 4, b"ackclock"); // shb_userappl
    option(&mut section, 0, &[]);
    block(&mut out, 0x0a0d_0d0a, &[&section]);
    for name in interfaces {
        let mut interface = Vec::new();
        interface.extend(LINKTYPE_RAW.to_le_bytes());
        interface.extend([0, 0]);
        interface.extend(0u32.to_le_bytes()); // no snap length
        option(&mut interface, 2, name.as_bytes()); // if_name
        option(&mut interface, 9, &[9]); // if_tsresol: 10^-9 s
        option(&mut interface, 0, &[]);
        block(&mut out, 1, &[&interface]);
    }
    let mut records = Vec::new();
    for (address, name) in names {
        let text = name.replace(|c: char| c == '\0' || c.is_whitespace(), "_");
        option(&mut records, 1, &[address, text.as_bytes(), b"\0"].concat()); // nrb_record_ipv4
    }
    option(&mut records, 0, &[]);
    block(&mut out, 4, &[&records]);
    out
}

/// Decryption secrets of TLS, text in the SSLKEYLOGFILE format. Readers need them before the packets.
pub fn secrets(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let kind = 0x544c_534b_u32.to_le_bytes(); // TLS key log
    block(&mut out, 10, &[&kind, &(text.len() as u32).to_le_bytes(), text.as_bytes()]);
    out
}

/// Appends a packet at an interface: its headers, and its size on the wire in bytes.
pub fn packet(out: &mut Vec<u8>, interface: u32, at: Time, headers: &[u8], size: u32) {
    let nanoseconds = at.ps() / 1000;
    let mut head = [0u8; 20];
    let words = [
        interface,
        (nanoseconds >> 32) as u32,
        nanoseconds as u32,
        headers.len() as u32,
        size.max(headers.len() as u32),
    ];
    for (place, word) in head.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    block(out, 6, &[&head, headers]);
}
