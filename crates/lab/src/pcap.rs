//! Packet capture in pcapng, written from the packet events of a run.
//!
//! One interface for each host that sends data, as if a capture ran there: its data packets are seen when its
//! first link takes them, their ACKs when they arrive. Headers are IPv4 and TCP (or UDP) with addresses from
//! 10.0.0.0/8, one per node, and ports by flow; sequence numbers count bytes. Payload is left out: the captured
//! length is the header's, the original length the packet's on the wire. Link type 101 (raw IP), nanoseconds.

use crate::world::Run;

const LINKTYPE_RAW: u16 = 101;
const PORT: u16 = 5001;

/// A block with its type, body padded to 32 bits, and its length at both ends.
fn block(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let length = 12 + body.len().next_multiple_of(4) as u32;
    out.extend(kind.to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(body);
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend(length.to_le_bytes());
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// The capture of a run that recorded packets and has ended.
pub fn write_pcapng(run: &mut Run) -> Vec<u8> {
    let (flow_ends, link_ends) = (run.flow_ends(), run.link_ends());
    let flows = run.flow_wire();
    let mut nodes: Vec<&str> = Vec::new();
    // Sources first: their numbers are those of the interfaces.
    for name in flow_ends.iter().map(|ends| &ends[0]) {
        if !nodes.contains(&name.as_str()) {
            nodes.push(name);
        }
    }
    let sources = nodes.len();
    for name in flow_ends.iter().map(|ends| &ends[1]) {
        if !nodes.contains(&name.as_str()) {
            nodes.push(name);
        }
    }
    let number = |name: &str| nodes.iter().position(|n| *n == name);
    let interfaces: Vec<[Option<usize>; 2]> =
        link_ends.iter().map(|ends| ends.each_ref().map(|n| number(n))).collect();
    let hosts: Vec<[Option<usize>; 2]> =
        flow_ends.iter().map(|ends| ends.each_ref().map(|n| number(n))).collect();

    let mut out = Vec::new();
    let mut section = Vec::new();
    section.extend(0x1a2b_3c4d_u32.to_le_bytes());
    section.extend([1, 0, 0, 0]); // version 1.0
    section.extend(u64::MAX.to_le_bytes()); // section length not given
    option(&mut section, 4, b"ackclock"); // shb_userappl
    option(&mut section, 0, &[]);
    block(&mut out, 0x0a0d_0d0a, &section);
    for node in &nodes[..sources] {
        let mut interface = Vec::new();
        interface.extend(LINKTYPE_RAW.to_le_bytes());
        interface.extend([0, 0]);
        interface.extend(0u32.to_le_bytes()); // no snap length
        option(&mut interface, 2, node.as_bytes()); // if_name
        option(&mut interface, 9, &[9]); // if_tsresol: 10^-9 s
        option(&mut interface, 0, &[]);
        block(&mut out, 1, &interface);
    }

    let log = run.packets();
    for i in 0..log.time.len() {
        // Data is seen when its source's link takes it, an ACK when it arrives there.
        let (flow, ack) = (log.flow[i] as usize, log.kind[i] == 1);
        let [source, target] = if ack { [hosts[flow][1], hosts[flow][0]] } else { hosts[flow] };
        let [from, to] = interfaces[log.link[i] as usize];
        let host = match log.event[i] {
            0 if !ack && from == source => source,
            3 if ack && to == target => target,
            _ => None,
        };
        let (Some(host), Some(source), Some(target)) = (host, source, target) else { continue };
        let wire = &flows[flow];
        let header =
            headers(wire, flow, ack, log.seq[i], log.size[i] as u32, [source, target], log.marked[i]);
        let nanoseconds = log.time[i].ps() / 1000;
        let mut packet = Vec::new();
        packet.extend((host as u32).to_le_bytes());
        packet.extend(((nanoseconds >> 32) as u32).to_le_bytes());
        packet.extend((nanoseconds as u32).to_le_bytes());
        packet.extend((header.len() as u32).to_le_bytes());
        packet.extend((log.size[i] as u32).max(header.len() as u32).to_le_bytes());
        packet.extend(&header);
        block(&mut out, 6, &packet);
    }
    out
}

/// What a flow's packets look like on the wire.
pub(crate) struct FlowWire {
    pub tcp: bool,
    pub syn: bool,
    /// Payload of a segment, bytes.
    pub payload: u32,
}

/// IPv4 and TCP or UDP headers without options. Packets smaller than their headers are shown with them.
fn headers(
    wire: &FlowWire,
    flow: usize,
    ack: bool,
    seq: i64,
    size: u32,
    hosts: [usize; 2],
    marked: bool,
) -> Vec<u8> {
    let transport = if wire.tcp { 20 } else { 8 };
    let syn = wire.tcp && wire.syn && !ack && seq == 0;
    let payload = if wire.tcp && (ack || syn) { 0 } else { size.saturating_sub(20 + transport) };
    let mut h = Vec::with_capacity(40);
    h.extend([0x45, if marked { 3 } else { 0 }]);
    h.extend(((20 + transport + payload).min(65_535) as u16).to_be_bytes());
    h.extend([0, 0, 0x40, 0, 64, if wire.tcp { 6 } else { 17 }, 0, 0]);
    for host in hosts {
        h.extend((0x0a00_0001u32 + host as u32).to_be_bytes());
    }
    let sum: u32 = h.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    h[10..12].copy_from_slice(&sum.to_be_bytes());
    let own = 10_000u16.wrapping_add(flow as u16);
    let ports = if ack { [PORT, own] } else { [own, PORT] };
    for port in ports {
        h.extend(port.to_be_bytes());
    }
    if !wire.tcp {
        h.extend(((8 + payload).min(65_535) as u16).to_be_bytes());
        h.extend([0, 0]);
        return h;
    }
    // A SYN takes one number, a segment its payload; segment `seq` begins after all before it.
    let bytes = |segment: i64| -> u32 {
        let before = if wire.syn { segment - 1 } else { segment };
        (before.max(0) as u32).wrapping_mul(wire.payload).wrapping_add((wire.syn && segment > 0) as u32)
    };
    let (sequence, acknowledged, flags) = if ack {
        // The receiver sends nothing but its part of the handshake.
        (wire.syn as u32 & (seq > 0) as u32, bytes(seq + 1), if wire.syn && seq == 0 { 0x12 } else { 0x10 })
    } else {
        (bytes(seq), wire.syn as u32 & !syn as u32, if syn { 0x02 } else { 0x10 })
    };
    h.extend(sequence.to_be_bytes());
    h.extend(acknowledged.to_be_bytes());
    h.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    h
}
