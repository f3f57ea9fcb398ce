//! IPv4, TCP and UDP headers of the packets of a flow, as a Linux host would write them.

use net::{Ecn, Packet, PacketKind, RouterReply};
use std::collections::BTreeMap;
use transport::{AckOptions, Options};
use units::Time;

/// The properties of a flow that its headers depend on.
#[derive(Clone)]
pub struct FlowStack {
    /// The properties of a TCP flow; `None` for UDP.
    pub tcp: Option<TcpHeaderConfig>,
    /// Addresses of source and destination.
    pub hosts: [[u8; 4]; 2],
    /// Ports of both.
    pub ports: [u16; 2],
}

/// The properties of a TCP flow that its headers depend on.
#[derive(Clone)]
pub struct TcpHeaderConfig {
    pub syn: bool,
    /// Payload of a full segment, and the other bytes of its packet.
    payload: u32,
    header: u32,
    /// Numbers of the segments that are not full, and the bytes that all up to there have less than full ones.
    short: Vec<(u32, u32)>,
    /// What the client of an application sends.
    requests: Requests,
    pub timestamps: bool,
    sack: bool,
    ecn: bool,
    /// Feedback by counters (RFC 9768), and the option for them.
    accurate: bool,
    accecn_kind: u8,
    /// The receive windows, bytes, each with the time from which on the receiver advertises it.
    windows: Vec<(Time, u64)>,
    /// The window scale (RFC 7323).
    scale: u8,
}

impl TcpHeaderConfig {
    /// `largest` is the largest receive window of the run, segments.
    pub fn new(options: &Options, largest: u32) -> TcpHeaderConfig {
        let window = window_bytes(options.packet, largest.max(options.window));
        let scale = (0..14).find(|shift| window >> shift <= 0xffff).unwrap_or(14);
        TcpHeaderConfig {
            syn: options.syn,
            payload: options.packet,
            header: options.header,
            short: Vec::new(),
            requests: Requests::default(),
            timestamps: options.timestamps,
            sack: options.reports(),
            ecn: options.ecn,
            accurate: options.has_accurate_ecn(),
            accecn_kind: if options.l4s { ACCECN_1 } else { ACCECN_0 },
            windows: vec![(Time::ZERO, window_bytes(options.packet, options.window))],
            scale,
        }
    }

    /// The receiver advertises another window from `at` on, segments.
    pub fn change_window(&mut self, at: Time, segments: u32) {
        self.windows.push((at, window_bytes(self.payload, segments)));
    }

    /// The window that the receiver advertises at a time, bytes.
    fn window(&self, at: Time) -> u64 {
        let later = self.windows.partition_point(|(since, _)| *since <= at);
        self.windows[later.saturating_sub(1)].1
    }

    /// Sequence number of the first byte of a segment: a SYN takes one number, a segment its payload.
    fn bytes(&self, segment: u32) -> u32 {
        let before = if self.syn { segment.saturating_sub(1) } else { segment };
        let missing = self.missing_below(segment);
        before.wrapping_mul(self.payload).wrapping_add((self.syn && segment > 0) as u32).wrapping_sub(missing)
    }

    /// The bytes that the segments below `segment` have less than full ones.
    fn missing_below(&self, segment: u32) -> u32 {
        let place = self.short.partition_point(|(number, _)| *number < segment);
        place.checked_sub(1).map_or(0, |last| self.short[last].1)
    }

    /// A packet is sent: notes a request, or the size of a new segment that is not full.
    pub fn sends(&mut self, packet: &Packet) {
        match packet.kind {
            PacketKind::Request if packet.seq == Packet::OPENING => self.requests.opens = true,
            PacketKind::Request => {
                let Requests { bytes, sent, .. } = &mut self.requests;
                let size = packet.size - self.header;
                bytes.entry(packet.seq).or_insert_with(|| {
                    *sent = sent.wrapping_add(size);
                    (sent.wrapping_sub(size), size)
                });
            }
            PacketKind::Ack => self.requests.acknowledged = packet.seq,
            _ => self.sends_data(packet),
        }
    }

    /// A request has arrived.
    pub fn requested(&mut self, number: u32) {
        let Requests { bytes, arrived, beyond, .. } = &mut self.requests;
        if let Some((start, size)) = bytes.get(&number) {
            beyond.insert(*start, *size);
        }
        while let Some(size) = beyond.remove(arrived) {
            *arrived = arrived.wrapping_add(size);
        }
    }

    fn sends_data(&mut self, packet: &Packet) {
        let newest = self.short.last().map_or(0, |(number, _)| number + 1);
        if packet.kind != PacketKind::Data || self.syn && packet.seq == 0 || packet.seq < newest {
            return;
        }
        let payload = packet.size - self.header;
        if payload < self.payload {
            let before = self.missing_below(packet.seq);
            self.short.push((packet.seq, before.wrapping_add(self.payload - payload)));
        }
    }
}

/// One byte less than one more segment, so that a sender with the maximum in flight has not filled the window.
fn window_bytes(payload: u32, segments: u32) -> u64 {
    (segments as u64 + 1) * payload as u64 - 1
}

/// The bytes that the client of an application sends.
#[derive(Clone, Default)]
struct Requests {
    /// The client opens the connection: the SYN of the sender of data answers it.
    opens: bool,
    /// Of each request the first byte and the size.
    bytes: BTreeMap<u32, (u32, u32)>,
    /// Bytes sent, and those that have arrived in order.
    sent: u32,
    arrived: u32,
    /// Requests that have arrived beyond them: first byte and size.
    beyond: BTreeMap<u32, u32>,
    /// The last acknowledgement that the client has sent, segments.
    acknowledged: u32,
}

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;
/// Accurate ECN (RFC 9768): the field ACE, three bits from AE to ECE, of the SYN, of a SYN-ACK after a SYN without ECT, and of a
/// packet before any CE packet.
const ACE_SYN: u8 = 0b111;
const ACE_SYN_ACK: u8 = 0b010;
const ACE_INITIAL: u8 = 5;
/// The kinds of the AccECN option: its counters are of ECT(0), CE, ECT(1), or in the opposite order.
const ACCECN_0: u8 = 172;
const ACCECN_1: u8 = 174;
/// The third counter of the option: no packet has the sender's other ECT codepoint.
const NO_BYTES: u32 = 1;
/// Codepoints of the ECN field (RFC 3168).
const ECT_0: u8 = 2;
const ECT_1: u8 = 1;
const CE: u8 = 3;

/// Returns the headers and the size of the packet on the wire, bytes. The wire size is that of the model. If the
/// model makes a packet smaller than its real headers and payload, the size is that of headers and payload. `echo` is
/// the timestamp that the packet echoes (TSecr).
pub fn headers(flow: &FlowStack, packet: &Packet, echo: Time, options: &AckOptions) -> (Vec<u8>, u32) {
    let (transport, payload) = match &flow.tcp {
        Some(tcp) => tcp_header(tcp, flow.ports, packet, echo, options),
        None => {
            let [sender, receiver] = flow.ports;
            let ports = if packet.kind.is_reverse() { [receiver, sender] } else { [sender, receiver] };
            udp_header(ports, packet.size.saturating_sub(28))
        }
    };
    let ecn = match packet.ecn {
        Ecn::Ce => CE,
        Ecn::Ect1 => ECT_1,
        Ecn::Ect0 => ECT_0,
        Ecn::NotEct => 0,
    };
    let length = 20 + transport.len() as u32 + payload;
    let mut h = Vec::with_capacity(80);
    h.extend([0x45, ecn]);
    // If the length does not fit into the field, it is zero, as with segmentation offload.
    h.extend(u16::try_from(length).unwrap_or(0).to_be_bytes());
    h.extend([0, 0, 0x40, 0, 64, if flow.tcp.is_some() { 6 } else { 17 }, 0, 0]);
    let [source, destination] = flow.hosts;
    let ends = if packet.kind.is_reverse() { [destination, source] } else { [source, destination] };
    ends.iter().for_each(|host| h.extend(host));
    let sum: u32 = h.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    h[10..12].copy_from_slice(&sum.to_be_bytes());
    let begin = h.len();
    h.extend(transport);
    if flow.tcp.is_some() && length <= 0xffff {
        let sum = tcp_checksum(&h[12..20], &h[begin..], length - 20);
        h[begin + 16..begin + 18].copy_from_slice(&sum.to_be_bytes());
    }
    (h, length.max(packet.size))
}

/// The checksum of a segment of `length` bytes whose payload is zeros (RFC 9293 section 3.1).
fn tcp_checksum(addresses: &[u8], header: &[u8], length: u32) -> u16 {
    let words = |bytes: &[u8]| -> u32 {
        bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum()
    };
    let mut sum = words(addresses) + 6 + length + words(header);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn udp_header([sender, receiver]: [u16; 2], payload: u32) -> (Vec<u8>, u32) {
    let length = u16::try_from(8 + payload).unwrap_or(0);
    ([sender, receiver, length, 0].iter().flat_map(|word| word.to_be_bytes()).collect(), payload)
}

/// Returns the TCP header with its options, and the number of payload bytes that follow it.
fn tcp_header(
    tcp: &TcpHeaderConfig,
    [sender, receiver]: [u16; 2],
    packet: &Packet,
    echo: Time,
    options: &AckOptions,
) -> (Vec<u8>, u32) {
    let ack = packet.kind == PacketKind::Ack;
    let request = packet.kind == PacketKind::Request;
    let opening = request && packet.seq == Packet::OPENING;
    let data_syn = tcp.syn && !ack && !request && packet.seq == 0;
    // The SYN of the client, or that of the sender of data if the client has sent none; and its answer.
    let syn = opening || data_syn && !tcp.requests.opens;
    let syn_ack = data_syn && tcp.requests.opens || ack && packet.cwr && !tcp.requests.opens;
    let first = syn || syn_ack;
    let payload = if ack || first { 0 } else { packet.size - tcp.header };
    let options = tcp_options(tcp, packet, echo, options, first, payload);
    let Requests { bytes, sent, arrived, acknowledged, .. } = &tcp.requests;
    let (sequence, acknowledged) = match packet.kind {
        _ if opening => (0, 0),
        // Its SYN takes a sequence number too.
        PacketKind::Ack => ((tcp.syn && !syn_ack) as u32 + sent, tcp.bytes(packet.seq)),
        PacketKind::Request => {
            let start = bytes.get(&packet.seq).map_or(0, |(start, _)| *start);
            (tcp.syn as u32 + start, tcp.bytes(*acknowledged))
        }
        _ => (tcp.bytes(packet.seq), (tcp.syn && !syn) as u32 + arrived),
    };
    let mut flags = if syn { SYN } else { ACK };
    if syn_ack {
        flags |= SYN;
    }
    let (echo, reduced) = match (first, ack) {
        (true, _) => (tcp.ecn, tcp.ecn && syn),
        (false, true) => (packet.ece.is_ece(), false),
        (false, false) => (false, packet.cwr),
    };
    if echo {
        flags |= ECE;
    }
    if reduced {
        flags |= CWR;
    }
    let mut high_flags = 0;
    if tcp.accurate {
        let ace = match (syn, syn_ack) {
            (true, _) => ACE_SYN,
            (_, true) => ACE_SYN_ACK,
            _ => packet.ece.ace().unwrap_or(ACE_INITIAL),
        };
        flags = flags & !(CWR | ECE) | (ace & 3) << 6;
        high_flags = ace >> 2;
    }
    let window = tcp.window(packet.sent);
    // The window of a SYN is not scaled.
    let window = if first { window } else { window >> tcp.scale }.min(0xffff) as u16;
    let mut h = Vec::with_capacity(60);
    let ports = if ack || request { [receiver, sender] } else { [sender, receiver] };
    ports.iter().for_each(|port| h.extend(port.to_be_bytes()));
    h.extend(sequence.to_be_bytes());
    h.extend(acknowledged.to_be_bytes());
    h.extend([((20 + options.len()) as u8 / 4) << 4 | high_flags, flags]);
    h.extend(window.to_be_bytes());
    h.extend([0, 0, 0, 0]); // the checksum follows when the addresses are known; no urgent data
    h.extend(options);
    (h, payload)
}

fn tcp_options(
    tcp: &TcpHeaderConfig,
    packet: &Packet,
    echo: Time,
    options: &AckOptions,
    first: bool,
    payload: u32,
) -> Vec<u8> {
    let mut o: Vec<u8> = Vec::with_capacity(40);
    let milliseconds = |at: Time| (at.ps() / 1_000_000_000) as u32;
    if first {
        // RFC 6691: without room for options.
        let mss = tcp.payload + if tcp.timestamps { 12 } else { 0 };
        o.extend([2, 4]);
        o.extend(u16::try_from(mss).unwrap_or(u16::MAX).to_be_bytes());
        o.extend(if tcp.sack { &[4, 2][..] } else { &[] });
    }
    if tcp.timestamps {
        o.extend([8, 10]);
        o.extend(milliseconds(packet.sent).to_be_bytes());
        o.extend(milliseconds(echo).to_be_bytes());
    }
    if first && tcp.scale > 0 {
        o.extend([3, 3, tcp.scale]);
    }
    let blocks = options.blocks.as_slice();
    if !first && tcp.sack && !blocks.is_empty() {
        o.extend([5, 2 + 8 * blocks.len() as u8]);
        for block in blocks {
            o.extend(tcp.bytes(block.start).to_be_bytes());
            o.extend(tcp.bytes(block.end).to_be_bytes());
        }
    }
    if let RouterReply::EcnBytes { fields, ect, ce } = options.reply {
        o.extend([tcp.accecn_kind, 2 + 3 * fields]);
        let counters = [ect, ce, NO_BYTES].into_iter().take(fields.into());
        counters.for_each(|counter| o.extend(&counter.to_be_bytes()[1..]));
    }
    // To 32 bits, and as far as options go to the size that the model gives the headers.
    let modelled = packet.size.saturating_sub(40 + payload) as usize;
    let length = o.len().max(modelled).next_multiple_of(4).min(40);
    o.resize(length.max(o.len().next_multiple_of(4)), 1); // no-operation
    o
}
