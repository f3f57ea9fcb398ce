//! Entry points of the fuzz targets; ordinary tests replay their corpora.

use crate::{Reader, Settings};

/// Reads bytes as a recording: its description, and of both directions of its first flow the rows, the path and causes. In
/// pieces whose length the first byte gives: how a file is cut into pieces changes nothing.
pub fn recording(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else { return };
    let mut descriptions = Vec::new();
    for piece in [data.len().max(1), 1 + usize::from(first)] {
        let mut reader = Reader::new(Settings::default());
        let read = data.chunks(piece).try_for_each(|piece| reader.push(piece)).and_then(|()| reader.finish());
        descriptions.push(read.map(|()| reader.description()));
    }
    assert_eq!(descriptions[0], descriptions[1]);
    for direction in [0, 1] {
        let mut reader = Reader::new(Settings { chosen: Some((0, direction)), ..Settings::default() });
        if reader.push(data).and_then(|()| reader.finish()).is_err() {
            return;
        }
        let _ = (reader.path(), reader.figures());
        let last = reader.recording.rows.last().map_or(0, |row| row.at) as f64 / 1e9;
        for at in [0.0, last / 2.0, last] {
            let _ = (reader.why(at, false), reader.why(at, true));
        }
    }
}

/// Reads bytes behind the header of a pcap or pcapng file, which a fuzzer finds seldom.
pub fn capture(data: &[u8]) {
    const PCAP: &[u8] = b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00\0\0\0\0\0\0\0\0\xff\xff\0\0\x65\0\0\0";
    const PCAPNG: &[u8] =
        b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0\
        \x01\0\0\0\x14\0\0\0\x65\0\0\0\0\0\0\0\x14\0\0\0";
    let Some((first, rest)) = data.split_first() else { return };
    let header = if first % 2 == 0 { PCAP } else { PCAPNG };
    recording(&[&[*first], header, rest].concat());
}

/// Reads bytes as a qlog.
pub fn qlog(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let header: &[u8] = match first % 3 {
        0 => b"{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{}}\n",
        1 => b"{\"qlog_version\":\"draft-01\",\"traces\":[{\"event_fields\":[\"relative_time\",\"category\",\"event\",\"data\"],\"events\":[",
        _ => b"{\"qlog_version\":\"0.3\",\"traces\":[{\"events\":[",
    };
    recording(&[&[*first], header, rest].concat());
}

/// Reads bytes as the output of a tool: ss, tcp_probe, ping, iperf3, Flent, irtt.
pub fn tools(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let header: &[u8] = match first % 6 {
        0 => b"ESTAB 0 0 1.1.1.1:1 1.1.1.2:2\n\t cubic cwnd:10 rtt:1.5/0.2 ",
        1 => b"x 1.0: tcp:tcp_probe: snd_cwnd=10 srtt=5 ",
        2 => b"PING a (1.1.1.1) 56(84) bytes of data.\n64 bytes from a: icmp_seq=1 ttl=64 time=1.0 ms\n",
        3 => b"{\"intervals\": [",
        4 => b"{\"x_values\": [0, 1], \"results\": {",
        _ => b"{\"round_trips\": [",
    };
    recording(&[&[*first], header, rest].concat());
}
