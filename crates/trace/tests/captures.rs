//! Captures made by hand: one rule each.

use ackclock_trace::capture::Capture;
use ackclock_trace::connection::Chosen;
use ackclock_trace::reasons::Reason;
use ackclock_trace::totals::Totals;

const MS: u64 = 1_000_000;
const MSS: u32 = 1000;
const SYN: u8 = 2;
const ACK: u8 = 16;
const FIN: u8 = 1;

/// A packet to be written.
#[derive(Clone)]
struct Packet {
    at: u64,
    /// From the sender of the data.
    data: bool,
    seq: u32,
    ack: u32,
    flags: u8,
    window: u16,
    length: u32,
    options: Vec<u8>,
    id: u16,
}

fn timestamps(value: u32, echo: u32) -> Vec<u8> {
    let mut options = vec![1, 1, 8, 10];
    options.extend(value.to_be_bytes());
    options.extend(echo.to_be_bytes());
    options
}

fn sack(blocks: &[(u32, u32)]) -> Vec<u8> {
    let mut options = vec![1, 1, 5, 2 + 8 * blocks.len() as u8];
    for (start, end) in blocks {
        options.extend(start.to_be_bytes());
        options.extend(end.to_be_bytes());
    }
    options
}

fn sent(at: u64, seq: u32) -> Packet {
    let (ack, flags, window, length) = (1, ACK, 1000, MSS);
    Packet { at, data: true, seq, ack, flags, window, length, options: Vec::new(), id: at as u16 }
}

fn acked(at: u64, ack: u32, blocks: &[(u32, u32)]) -> Packet {
    let options = if blocks.is_empty() { Vec::new() } else { sack(blocks) };
    Packet { at, data: false, seq: 1, ack, flags: ACK, window: 60_000, length: 0, options, id: at as u16 }
}

/// SYN, SYN-ACK, ACK at 0, 20 and 20 ms: a capture at the sender. Sequence numbers of the data begin at `first`.
fn handshake(first: u32) -> Vec<Packet> {
    let options = vec![2, 4, (MSS >> 8) as u8, MSS as u8, 1, 1, 4, 2];
    let syn = Packet { flags: SYN, length: 0, options: options.clone(), ..sent(MS, first.wrapping_sub(1)) };
    let reply = Packet { flags: SYN | ACK, seq: 0, options, ..acked(21 * MS, first, &[]) };
    vec![syn, reply, Packet { length: 0, ..sent(21 * MS, first) }]
}

impl Packet {
    /// The packet as IPv4.
    fn bytes(&self) -> Vec<u8> {
        let mut tcp = Vec::new();
        let ports: [u16; 2] = if self.data { [4000, 80] } else { [80, 4000] };
        ports.iter().for_each(|port| tcp.extend(port.to_be_bytes()));
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend([((20 + self.options.len()) as u8 / 4) << 4, self.flags]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(&self.options);
        let total = 20 + tcp.len() as u32 + self.length;
        let mut ip = vec![0x45, 0];
        ip.extend(u16::try_from(total).unwrap_or(0).to_be_bytes());
        ip.extend(self.id.to_be_bytes());
        ip.extend([0x40, 0, 64, 6, 0, 0]);
        let hosts = if self.data { [[10, 0, 0, 1], [10, 0, 0, 2]] } else { [[10, 0, 0, 2], [10, 0, 0, 1]] };
        hosts.iter().for_each(|host| ip.extend(host));
        ip.extend(tcp);
        ip
    }

    fn wire(&self) -> u32 {
        40 + self.options.len() as u32 + self.length
    }
}

/// A pcap file with nanoseconds and raw IP; `link` and `head` put something before each packet.
fn pcap(packets: &[Packet], link: u32, head: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, link] {
        file.extend(word.to_le_bytes());
    }
    for packet in packets {
        let mut bytes = head.to_vec();
        bytes.extend(packet.bytes());
        let wire = head.len() as u32 + packet.wire();
        for word in
            [(packet.at / 1_000_000_000) as u32, (packet.at % 1_000_000_000) as u32, bytes.len() as u32, wire]
        {
            file.extend(word.to_le_bytes());
        }
        file.extend(bytes);
    }
    file
}

fn read(file: &[u8], step: usize) -> Capture {
    let mut capture = Capture::new(Some(Chosen { connection: 0, direction: 0 }), None);
    file.chunks(step).for_each(|chunk| capture.push(chunk));
    capture.container.finish();
    capture
}

fn totals(packets: &[Packet]) -> Totals {
    let mut all = packets.to_vec();
    all.sort_by_key(|packet| packet.at);
    let capture = read(&pcap(&all, 101, &[]), 1 << 16);
    assert_eq!(capture.container.stop, None);
    capture.connections.list[0].halves[0].totals.clone()
}

fn count(totals: &Totals, reason: Reason) -> u64 {
    totals.reasons[reason as usize]
}

/// Ten segments from 100 ms on, each acknowledged 20 ms later but for those in `lost`, which SACK shows.
fn flight(first: u32, lost: &[u32]) -> Vec<Packet> {
    let mut packets = handshake(first);
    let place = |n: u32| first.wrapping_add(n * MSS);
    let hole = lost.iter().min().copied().unwrap_or(10);
    for n in 0..10 {
        let at = 100 * MS + u64::from(n) * MS;
        packets.push(sent(at, place(n)));
        if n < hole {
            packets.push(acked(at + 20 * MS, place(n + 1), &[]));
        } else if !lost.contains(&n) {
            packets.push(acked(at + 20 * MS, place(hole), &[(place(n), place(n + 1))]));
        }
    }
    packets
}

#[test]
fn sequence_numbers_wrap() {
    for first in [1, u32::MAX - 4500, u32::MAX - 999, 0x7fff_ff00] {
        let totals = totals(&flight(first, &[]));
        assert_eq!((totals.data, totals.bytes, totals.again), (10, 10_000, 0), "{first}");
        assert_eq!(totals.delivered, 10_001, "the SYN takes a number");
        assert_eq!(totals.min_rtt, 20 * MS);
    }
}

#[test]
fn a_segment_below_a_sack_block_is_a_fast_retransmit() {
    let mut packets = flight(1, &[4]);
    packets.push(sent(126 * MS, 4001));
    packets.push(acked(146 * MS, 10_001, &[]));
    let totals = totals(&packets);
    assert_eq!((totals.again, count(&totals, Reason::Sack), totals.reductions), (1, 1, 1));
    assert_eq!(totals.delivered, 10_001);
}

#[test]
fn three_duplicate_acks_without_sack() {
    let mut packets = flight(1, &[4]);
    for packet in &mut packets {
        packet.options.retain(|_| false);
    }
    packets.push(sent(130 * MS, 4001));
    let totals = totals(&packets);
    assert_eq!(count(&totals, Reason::DuplicateAcks), 1);
}

#[test]
fn a_lost_retransmission_is_told_by_a_later_one_that_arrived() {
    let mut packets = flight(1, &[4, 5]);
    // Both are sent again; the second arrives, the first does not, and is sent a third time.
    packets.push(sent(126 * MS, 4001));
    packets.push(sent(127 * MS, 5001));
    packets.push(acked(148 * MS, 4001, &[(5001, 10_001)]));
    packets.push(sent(149 * MS, 4001));
    let totals = totals(&packets);
    assert_eq!(count(&totals, Reason::Sack), 2);
    assert_eq!(count(&totals, Reason::LostRetransmission), 1);
}

#[test]
fn a_timeout_needs_silence_and_what_was_in_flight_follows() {
    let mut packets = flight(1, &[4, 5, 6, 7, 8, 9]);
    packets.push(sent(400 * MS, 4001));
    packets.push(acked(420 * MS, 5001, &[]));
    packets.push(sent(420 * MS, 5001));
    packets.push(sent(421 * MS, 6001));
    let totals = totals(&packets);
    assert_eq!((count(&totals, Reason::Timeout), count(&totals, Reason::AfterTimeout)), (1, 2));
    // The same silence after which something sent later had arrived is none.
    let mut packets = flight(1, &[4]);
    packets.push(sent(400 * MS, 4001));
    let totals = self::totals(&packets);
    assert_eq!((count(&totals, Reason::Timeout), count(&totals, Reason::Sack)), (0, 1));
}

#[test]
fn the_last_segment_after_two_round_trips_is_a_probe() {
    let mut packets = flight(1, &[8, 9]);
    packets.push(sent(167 * MS, 9001));
    let totals = totals(&packets);
    assert_eq!((count(&totals, Reason::TailProbe), totals.reductions), (1, 0));
}

#[test]
fn a_d_sack_proves_a_retransmission_needless() {
    let mut packets = flight(1, &[4]);
    packets.push(sent(126 * MS, 4001));
    packets.push(acked(130 * MS, 10_001, &[]));
    packets.push(acked(146 * MS, 10_001, &[(4001, 5001)]));
    let totals = totals(&packets);
    assert_eq!((totals.dsack, totals.needless), (1, 1));
}

#[test]
fn a_hole_that_is_filled_without_a_retransmission_is_reordering() {
    let mut packets = flight(1, &[4]);
    packets.push(acked(131 * MS, 10_001, &[]));
    packets.sort_by_key(|packet| packet.at);
    let capture = read(&pcap(&packets, 101, &[]), 1 << 16);
    assert_eq!(capture.connections.recording.reordered.len(), 1);
    assert_eq!(capture.connections.list[0].halves[0].totals.again, 0);
}

#[test]
fn at_the_receiver_a_hole_is_a_loss_or_by_its_timestamp_reordering() {
    for (value, reason) in [(104, Reason::Reordering), (126, Reason::Upstream)] {
        let mut packets = handshake(1);
        for n in (0..10).filter(|n| *n != 4) {
            let at = 100 + u64::from(n);
            packets.push(Packet { options: timestamps(at as u32, 1), ..sent(at * MS, 1 + n * MSS) });
        }
        packets.push(Packet { options: timestamps(value, 1), ..sent(127 * MS, 4001) });
        let totals = totals(&packets);
        assert_eq!(count(&totals, reason), 1, "{value}");
    }
}

#[test]
fn probes_of_a_closed_window_and_keep_alives_are_no_retransmissions() {
    let mut packets = flight(1, &[]);
    let closed = Packet { window: 0, ..acked(140 * MS, 10_001, &[]) };
    packets.push(closed);
    packets.push(Packet { length: 1, ..sent(400 * MS, 10_001) });
    packets.push(Packet { length: 1, ..sent(900 * MS, 10_001) });
    packets.push(Packet { length: 1, ..sent(1900 * MS, 10_000) });
    let totals = totals(&packets);
    assert_eq!((totals.again, totals.zero_windows), (0, 1));
    assert_eq!(count(&totals, Reason::WindowProbe), 3);
}

#[test]
fn syn_and_fin_again_are_counted_apart_and_give_no_round_trip_time() {
    let mut packets = handshake(1);
    packets.push(Packet { at: 2, ..packets[0].clone() });
    packets.extend(flight(1, &[]).split_off(3));
    packets.push(Packet { flags: FIN | ACK, length: 0, ..sent(200 * MS, 10_001) });
    packets.push(Packet { flags: FIN | ACK, length: 0, ..sent(500 * MS, 10_001) });
    packets.sort_by_key(|packet| packet.at);
    let capture = read(&pcap(&packets, 101, &[]), 1 << 16);
    let connection = &capture.connections.list[0];
    assert_eq!((connection.halves[0].totals.handshake_again, connection.handshake), (2, [0, 0]));
    assert_eq!(connection.halves[0].totals.again, 0);
}

#[test]
fn super_segments_count_as_their_packets_and_are_acknowledged_in_parts() {
    let mut packets = handshake(1);
    packets.push(Packet { length: 4500, ..sent(100 * MS, 1) });
    packets.push(acked(120 * MS, 2001, &[]));
    packets.push(acked(121 * MS, 2001, &[(3001, 4501)]));
    packets.push(sent(122 * MS, 2001));
    let totals = totals(&packets);
    assert_eq!((totals.data, totals.packets, totals.super_segments), (2, 6, 1));
    assert_eq!((totals.again, count(&totals, Reason::Sack)), (1, 1));
    assert_eq!(totals.delivered, 3501);
}

#[test]
fn what_the_capture_lost_is_counted_and_no_retransmission() {
    let mut packets = flight(1, &[]);
    packets.retain(|packet| !(packet.data && (5001..8001).contains(&packet.seq)));
    packets.push(acked(150 * MS, 12_001, &[]));
    let totals = totals(&packets);
    assert_eq!(totals.unseen, 3000 + 2000 - 3000, "bytes beyond the highest seen");
    assert_eq!(totals.again, 0);
}

#[test]
fn a_new_syn_after_fin_begins_a_new_connection() {
    let mut packets = flight(1, &[]);
    packets.push(Packet { flags: FIN | ACK, length: 0, ..sent(200 * MS, 10_001) });
    for packet in flight(900_000, &[]) {
        packets.push(Packet { at: packet.at + 1000 * MS, ..packet });
    }
    packets.sort_by_key(|packet| packet.at);
    let capture = read(&pcap(&packets, 101, &[]), 1 << 16);
    assert_eq!(capture.connections.list.len(), 2);
    assert!(capture.connections.list.iter().all(|connection| connection.halves[0].totals.bytes == 10_000));
}

#[test]
fn chunks_of_any_size_give_the_same() {
    let mut packets = flight(1, &[4]);
    packets.sort_by_key(|packet| packet.at);
    let file = pcap(&packets, 101, &[]);
    let whole = read(&file, file.len()).connections.list[0].halves[0].totals.delivered;
    for step in [1, 3, 7, 40, 1000] {
        assert_eq!(read(&file, step).connections.list[0].halves[0].totals.delivered, whole);
    }
    let cut = read(&file[..file.len() - 5], 64);
    assert!(cut.container.stop.is_some_and(|stop| stop.what.contains("ends within a record")));
}

#[test]
fn link_types_and_tunnels() {
    let mut packets = flight(1, &[]);
    packets.sort_by_key(|packet| packet.at);
    let ethernet = [&[0u8; 12][..], &[8, 0]].concat();
    let vlan = [&[0u8; 12][..], &[0x81, 0, 0, 1, 8, 0]].concat();
    let three_tags = [&[0u8; 12][..], &[0x88, 0xa8, 0, 1, 0x91, 0, 0, 2, 0x81, 0, 0, 3, 8, 0]].concat();
    let mpls = [&[0u8; 12][..], &[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64]].concat();
    let pppoe = [&[0u8; 12][..], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 40, 0, 0x21]].concat();
    let cooked = [&[0u8; 14][..], &[8, 0]].concat();
    let cooked_2 = [&[8u8, 0][..], &[0; 18]].concat();
    let null = vec![2, 0, 0, 0];
    let ppp = vec![0xff, 3, 0, 0x21];
    let outer = |protocol: u8| {
        let mut ip = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2];
        ip[2] = 5; // total length, which only TCP uses
        ip
    };
    let gre = [outer(47), vec![0, 0, 8, 0]].concat();
    let vxlan =
        [outer(17), vec![0, 1, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 1, 0], ethernet.clone()].concat();
    for (link, head) in [
        (1, ethernet),
        (1, vlan),
        (1, three_tags),
        (1, mpls),
        (1, pppoe),
        (113, cooked),
        (276, cooked_2),
        (0, null),
        (9, ppp),
        (101, gre),
        (101, vxlan),
    ] {
        let capture = read(&pcap(&packets, link, &head), 1 << 16);
        let list = &capture.connections.list;
        assert!(list.len() == 1 && list[0].halves[0].totals.bytes == 10_000, "link {link}, {head:?}");
    }
    let capture = read(&pcap(&packets, 127, &[]), 1 << 16);
    assert_eq!(capture.counts.links.get(&127), Some(&(packets.len() as u64)));
}

#[test]
fn the_place_is_known_from_the_handshake() {
    use ackclock_trace::Place;
    for (reply, last, place) in [(20, 20, Place::Sender), (1, 21, Place::Receiver), (10, 20, Place::Middle)] {
        let mut packets = flight(1, &[]);
        packets[1].at = MS + reply * MS;
        packets[2].at = MS + last * MS + u64::from(last == reply) * 1000;
        if reply == 1 {
            packets[1].at = MS + 1000;
        }
        packets.sort_by_key(|packet| packet.at);
        let capture = read(&pcap(&packets, 101, &[]), 1 << 16);
        assert_eq!(capture.connections.list[0].place(0).0, place, "{reply}");
    }
}

#[test]
fn the_same_packet_from_two_interfaces_counts_once() {
    let mut packets = flight(1, &[4]);
    packets.push(sent(126 * MS, 4001));
    packets.sort_by_key(|packet| packet.at);
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 276] {
        file.extend(word.to_le_bytes());
    }
    for packet in &packets {
        for (interface, later) in [(1u8, 0u32), (2, 20_000)] {
            let mut bytes = vec![8, 0, 0, 0, 0, 0, 0, interface];
            bytes.extend([0; 12]);
            bytes.extend(packet.bytes());
            let wire = 20 + packet.wire();
            let part = (packet.at % 1_000_000_000) as u32 + later;
            for word in [(packet.at / 1_000_000_000) as u32, part, bytes.len() as u32, wire] {
                file.extend(word.to_le_bytes());
            }
            file.extend(bytes);
        }
    }
    let capture = read(&file, 1 << 16);
    let totals = &capture.connections.list[0].halves[0].totals;
    assert_eq!((totals.again, totals.data), (1, 11));
    assert_eq!(capture.connections.duplicates, packets.len() as u64);
}

/// A sequence of numbers that is the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

#[test]
fn changed_files_of_all_kinds_end_without_a_panic() {
    use ackclock_trace::{Reader, Settings};
    let mut packets = flight(1, &[4, 5]);
    packets.push(Packet { options: timestamps(1, 2), ..sent(126 * MS, 4001) });
    packets.sort_by_key(|packet| packet.at);
    let capture = pcap(&packets, 101, &[]);
    let qlog = br#"{"qlog_version":"0.3","traces":[{"common_fields":{"time_format":"delta"},"events":[{"time":0,"name":"transport:packet_sent","data":{"header":{"packet_number":1},"raw":{"length":1200}}},{"time":20,"name":"transport:packet_received","data":{"frames":[{"frame_type":"ack","acked_ranges":[[0,18446744073709551615]]}]}},{"time":1,"name":"recovery:metrics_updated","data":{"congestion_window":1e99,"bytes_in_flight":-3}}]}]}"#;
    let log =
        b"State Recv-Q\nESTAB 0 0 a:1 b:2\n cubic rtt:1/2 cwnd:10 pacing_rate 1Mbps\nTime: 1e400\n".to_vec();
    let flent = br#"{"metadata":{"BATCH_NAME":1},"x_values":[0,1],"results":{"TCP":[1,null,2]}}"#.to_vec();
    let mut draw = Draw(88_172_645_463_325_252);
    for file in [capture, qlog.to_vec(), log, flent] {
        for _ in 0..3000 {
            let mut bytes = file.clone();
            for _ in 0..=draw.below(8) {
                let at = draw.below(bytes.len());
                match draw.below(4) {
                    0 => bytes[at] = draw.below(256) as u8,
                    1 => bytes[at] ^= 1 << draw.below(8),
                    2 => bytes.truncate(at.max(4)),
                    _ => bytes.insert(at, draw.below(256) as u8),
                }
            }
            let mut reader = Reader::new(Settings { chosen: Some((0, 0)), ..Settings::default() });
            let step = 1 + draw.below(600);
            let pushed: Result<(), String> = bytes.chunks(step).try_for_each(|chunk| reader.push(chunk));
            if pushed.and_then(|()| reader.finish()).is_ok() {
                assert!(reader.description().starts_with('{'));
                let _ = reader.path();
                let _ = reader.why(0.12, false);
                let _ = reader.why(9.0, true);
                let _ = reader.figures();
            }
        }
    }
}

#[test]
fn fuzz_corpora_are_replayed() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus");
    let mut replayed = 0;
    for (target, run) in [
        ("capture", ackclock_trace::fuzzing::capture as fn(&[u8])),
        ("qlog", ackclock_trace::fuzzing::qlog),
        ("tools", ackclock_trace::fuzzing::tools),
    ] {
        for entry in std::fs::read_dir(format!("{root}/{target}")).unwrap() {
            run(&std::fs::read(entry.unwrap().path()).unwrap());
            replayed += 1;
        }
    }
    assert!(replayed >= 9, "only {replayed} files in the corpora");
}
