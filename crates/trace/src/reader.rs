//! A file of any kind that is read: pushed bytes in, a description and one record out.

use crate::board::Place;
use crate::capture::Capture;
use crate::connection::{Chosen, Connection};
use crate::json::{self, Writer};
use crate::limits::{Limit, Shares};
use crate::link;
use crate::path::{self, Basis, Path};
use crate::qlog::{Qlog, Trace};
use crate::reasons::Reason;
use crate::record::Recording;
use crate::sniff::{Kind, RECOGNISED_BYTES, sniff};
use crate::summary::{self, Transfer};
use crate::text::{Lines, Samples};
use crate::tools;
use crate::totals::Totals;
use crate::why::{self, Answer, Question, Source};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Connections that a description lists; more are counted.
pub const MAX_LISTED: usize = 1000;

/// How a file is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The connection (capture) or trace (qlog) of which rows are recorded, and the direction, both from 0.
    pub chosen: Option<(usize, usize)>,
    /// Where the capture was taken, if the user says so.
    pub place: Option<Place>,
    /// Seconds between the blocks of a log without times.
    pub every: Option<f64>,
}

enum Inner {
    Unknown(Vec<u8>),
    Capture(Box<Capture>),
    Qlog(Box<Qlog>),
    Lines(Box<Lines>),
    Whole(Vec<u8>),
}

/// A file that is being read.
pub struct Reader {
    settings: Settings,
    inner: Inner,
    kind: Option<Kind>,
    /// Rows of the chosen flow.
    pub recording: Recording,
    /// Samples of a log.
    pub samples: Samples,
    /// Bytes read.
    pub bytes: u64,
    missing: Vec<String>,
    shares: Vec<[Option<Shares>; 2]>,
}

impl Reader {
    /// Reads nothing yet.
    pub fn new(settings: Settings) -> Reader {
        Reader {
            settings,
            inner: Inner::Unknown(Vec::new()),
            kind: None,
            recording: Recording::default(),
            samples: Samples::default(),
            bytes: 0,
            missing: Vec::new(),
            shares: Vec::new(),
        }
    }

    /// Reads the next bytes. Fails with what the file is if it is no recording.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), String> {
        self.bytes += chunk.len() as u64;
        if let Inner::Unknown(head) = &mut self.inner {
            head.extend_from_slice(chunk);
            if head.len() < RECOGNISED_BYTES {
                return Ok(());
            }
            let head = std::mem::take(head);
            self.begin(&head)?;
            return self.feed(&head);
        }
        self.feed(chunk)
    }

    fn begin(&mut self, head: &[u8]) -> Result<(), String> {
        let kind = sniff(head);
        self.kind = kind;
        self.inner = match kind {
            Some(Kind::Pcap | Kind::Pcapng) => {
                let chosen =
                    self.settings.chosen.map(|(connection, direction)| Chosen { connection, direction });
                Inner::Capture(Box::new(Capture::new(chosen, self.settings.place)))
            }
            Some(Kind::Qlog) => {
                Inner::Qlog(Box::new(Qlog::new(self.settings.chosen.map_or(usize::MAX, |chosen| chosen.0))))
            }
            Some(kind @ (Kind::Ss | Kind::TcpProbe | Kind::Ping)) => {
                Inner::Lines(Box::new(Lines::new(kind, self.settings.every)))
            }
            Some(Kind::Iperf3 | Kind::Flent | Kind::Irtt) => Inner::Whole(Vec::new()),
            Some(other) => return Err(format!("is {}; {}", other.words(), other.remedy())),
            None if head.is_empty() => return Err("is empty".to_owned()),
            None => {
                return Err(
                    "is no recording that is known: captures (pcap, pcapng), qlogs, and the output of ss, \
                            iperf3 --json, Flent, irtt and ping are read"
                        .to_owned(),
                );
            }
        };
        Ok(())
    }

    fn feed(&mut self, chunk: &[u8]) -> Result<(), String> {
        match &mut self.inner {
            Inner::Unknown(_) => {}
            Inner::Capture(capture) => capture.push(chunk),
            Inner::Qlog(qlog) => qlog.push(chunk),
            Inner::Lines(lines) => lines.push(chunk),
            Inner::Whole(text) => {
                if text.len() + chunk.len() > tools::MAX_FILE {
                    return Err(format!(
                        "is {} with more than {} MB, which is not read",
                        self.kind.map_or("a log", Kind::words),
                        tools::MAX_FILE >> 20
                    ));
                }
                text.extend_from_slice(chunk);
            }
        }
        Ok(())
    }

    /// The file has ended. Fails as [`Reader::push`].
    pub fn finish(&mut self) -> Result<(), String> {
        if let Inner::Unknown(head) = &mut self.inner {
            let head = std::mem::take(head);
            self.begin(&head)?;
            self.feed(&head)?;
        }
        match &mut self.inner {
            Inner::Unknown(_) => {}
            Inner::Capture(capture) => {
                capture.container.finish();
                self.shares = capture.connections.finish();
                self.recording = std::mem::take(&mut capture.connections.recording);
                self.missing = missing_of_capture(capture);
            }
            Inner::Qlog(qlog) => {
                self.missing = qlog.finish();
                self.recording = std::mem::take(&mut qlog.recording);
            }
            Inner::Lines(lines) => {
                lines.finish();
                self.samples = std::mem::take(&mut lines.samples);
                self.samples.shift();
                self.missing_samples();
            }
            Inner::Whole(text) => {
                let (file, whole) = json::read(text);
                self.samples = tools::samples(self.kind.unwrap_or(Kind::Json), &file);
                self.samples.shift();
                if !whole {
                    let text = format!("the JSON ends, or is damaged, before byte {}", text.len());
                    self.missing.push(text);
                }
                self.missing_samples();
            }
        }
        if self.recording.left_out > 0 {
            self.missing.push(format!(
                "{} rows do not fit into memory; the series ends before the file does",
                self.recording.left_out
            ));
        }
        Ok(())
    }

    fn missing_samples(&mut self) {
        let samples = &self.samples;
        if samples.unanswered > 0 {
            self.missing.push(format!("{} probes have no answer", samples.unanswered));
        }
        if samples.skipped > 0 {
            self.missing.push(format!("{} lines are of another form", samples.skipped));
        }
        if samples.rows.iter().any(|row| row.time_s.is_nan()) {
            self.missing
                .push("the log has no times; --every 200ms says how far apart its blocks are".to_owned());
        }
        if samples.rows.is_empty() {
            self.missing.push("no sample was recognised".to_owned());
        }
    }

    /// The kind of the file, once it is known.
    pub fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// Where the capture was taken for the chosen direction.
    pub fn place(&self) -> (Place, Option<f64>) {
        match (&self.inner, self.settings.chosen) {
            (Inner::Capture(capture), Some((connection, direction))) => {
                match (self.settings.place, capture.connections.list.get(connection)) {
                    (Some(place), _) => (place, None),
                    (None, Some(connection)) => connection.place(direction),
                    (None, None) => (Place::Unknown, None),
                }
            }
            (Inner::Qlog(_), _) => (Place::Sender, Some(1.0)),
            _ => (Place::Unknown, None),
        }
    }

    /// The clock's resolution, ns.
    pub fn tick(&self) -> u64 {
        if let Inner::Capture(capture) = &self.inner { capture.tick().max(1) } else { 1000 }
    }

    /// Bytes of a full segment of the chosen flow, and of its headers on the wire (IP, TCP and options).
    pub fn segment_bytes(&self) -> (u32, u32) {
        match (&self.inner, self.settings.chosen) {
            (Inner::Capture(capture), Some((connection, direction))) => {
                capture.connections.list.get(connection).map_or((1448, 52), |connection| {
                    let headers =
                        if connection.v6 { 60 } else { 40 } + if connection.timestamps { 12 } else { 0 };
                    (connection.segment_bytes(direction), headers)
                })
            }
            (Inner::Qlog(_), _) => {
                let largest = self.recording.rows.iter().map(|row| row.sample_bytes).max().unwrap_or(0);
                (if largest > 0 { largest } else { 1200 }, 28)
            }
            _ => (1448, 52),
        }
    }

    /// What the estimators need of the chosen flow.
    fn basis(&self) -> Basis {
        let (payload, headers) = self.segment_bytes();
        let handshake_s = match (&self.inner, self.settings.chosen) {
            (Inner::Capture(capture), Some((connection, _))) => {
                let connection = capture.connections.list.get(connection);
                let [before, after] = connection.map_or([0; 2], |connection| connection.handshake);
                (before > 0 && after > 0).then(|| (before + after) as f64 / 1e9)
            }
            _ => None,
        };
        Basis {
            payload: f64::from(payload),
            headers: f64::from(headers),
            tick_s: self.tick() as f64 / 1e9,
            handshake_s,
        }
    }

    /// The path of the chosen flow. Fails with what is missing.
    pub fn path(&self) -> Result<Path, String> {
        path::estimate(&self.recording, &self.basis())
    }

    /// Goodput, round-trip times and losses of the chosen flow, as JSON.
    pub fn figures(&self) -> String {
        path::figures(&self.recording, &self.basis())
    }

    /// The cause of an event. Fails if there is none.
    pub fn why(&self, at_s: f64, reduction: bool) -> Result<Answer, String> {
        let source = Source {
            kind: self.kind.unwrap_or(Kind::Json),
            place: self.place().0,
            segment: self.basis().payload,
        };
        let path = self.path().ok();
        let at = (at_s.max(0.0) * 1e9) as u64;
        why::explain(&self.recording, path.as_ref(), source, Question { at, reduction })
    }

    /// The description of the file as JSON (`docs/traces.md`).
    pub fn description(&self) -> String {
        let mut w = Writer::default();
        w.open('{');
        w.key("kind").value(self.kind.map_or("unknown", Kind::words));
        w.key("bytes").number(self.bytes as f64);
        match &self.inner {
            Inner::Capture(capture) => self.describe_capture(&mut w, capture),
            Inner::Qlog(qlog) => describe_qlog(&mut w, qlog),
            _ => self.describe_samples(&mut w),
        }
        // Names of fields are the file's own words.
        w.key("unknown_fields").value(if let Inner::Qlog(qlog) = &self.inner {
            &qlog.unknown_fields
        } else {
            ""
        });
        w.key("missing").open('[');
        for text in &self.missing {
            w.value(text);
        }
        w.close(']').close('}');
        w.text
    }

    fn describe_capture(&self, w: &mut Writer, capture: &Capture) {
        let counts = &capture.counts;
        w.key("form").value("capture");
        w.key("packets").number(capture.container.packets as f64);
        w.key("tcp_packets").number(counts.tcp as f64);
        w.key("quic_packets").number(counts.quic as f64);
        w.key("span_s").number(capture.span() as f64 / 1e9);
        w.key("clock_s").number(capture.tick() as f64 / 1e9);
        w.key("snap_bytes").maybe(capture.container.snap.map(f64::from));
        w.key("distrust").maybe_text(capture.distrust().as_deref());
        let list = &capture.connections.list;
        w.key("connections_total").number(list.len() as f64);
        let mut order: Vec<usize> = (0..list.len()).collect();
        let bytes = |number: &usize| list[*number].halves.iter().map(|half| half.totals.bytes).sum::<u64>();
        order.sort_by_key(|number| (std::cmp::Reverse(bytes(number)), *number));
        let origin = capture.connections.origin;
        w.key("flows").open('[');
        let mut hosts = Hosts::default();
        for number in order.into_iter().take(MAX_LISTED) {
            let connection = &list[number];
            for direction in [0, 1] {
                let totals = &connection.halves[direction].totals;
                if totals.data > 0 {
                    let shares = self.shares.get(number).and_then(|both| both[direction]);
                    w.open('{');
                    w.key("flow").number((number + 1) as f64);
                    w.key("direction").number(direction as f64);
                    w.key("ends").open('[');
                    for end in [direction, 1 - direction] {
                        w.value(&end_text(connection, end));
                    }
                    w.close(']').key("names").open('[');
                    for end in [direction, 1 - direction] {
                        w.value(name_of(capture, connection, end));
                    }
                    w.close(']');
                    let letters =
                        [direction, 1 - direction].map(|end| hosts.letters(&connection.ends[end].0));
                    w.key("label").value(&letters.join(" -> "));
                    describe_connection(w, connection, direction, origin);
                    let (place, fraction) = match self.settings.place {
                        Some(place) => (place, None),
                        None => connection.place(direction),
                    };
                    w.key("place").value(place.name());
                    w.key("place_fraction").maybe(fraction);
                    describe_totals(w, totals, origin);
                    let shares = shares.as_ref().filter(|_| place == Place::Sender);
                    describe_shares(w, shares);
                    let transfer = Transfer {
                        place,
                        window: totals.largest_window,
                        min_rtt: totals.min_rtt,
                        mean_rtt: totals.mean_rtt(),
                    };
                    w.key("summary").value(&summary::sentence(shares, transfer));
                    w.close('}');
                }
            }
        }
        w.close(']');
    }

    fn describe_samples(&self, w: &mut Writer) {
        let samples = &self.samples;
        w.key("form").value("samples");
        w.key("control").maybe_text(samples.control.as_deref());
        w.key("samples").number(samples.rows.len() as f64);
        w.key("flows").open('[');
        let mut hosts = Hosts::default();
        for (number, name) in samples.flows.iter().enumerate() {
            let rows = || samples.rows.iter().filter(|row| row.flow as usize == number);
            let mean = |value: fn(&crate::text::Sample) -> f64| {
                let values: Vec<f64> = rows().map(value).filter(|value| value.is_finite()).collect();
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
            };
            let lowest =
                rows().map(|row| row.rtt_s).filter(|rtt| rtt.is_finite()).fold(f64::INFINITY, f64::min);
            w.open('{');
            w.key("flow").number((number + 1) as f64);
            w.key("name").value(name);
            w.key("label").value(&without_addresses(name, &mut hosts));
            w.key("samples").number(rows().count() as f64);
            w.key("rate_bps").maybe(mean(|row| row.delivery_bps));
            w.key("rtt_s").maybe(mean(|row| row.rtt_s));
            w.key("min_rtt_s").number(lowest);
            w.key("cwnd").maybe(mean(|row| row.cwnd));
            w.close('}');
        }
        w.close(']');
    }
}

/// Letters in place of addresses: A, B, to Z, AA, in the order in which a description names them.
#[derive(Default)]
struct Hosts(BTreeMap<Vec<u8>, usize>);

impl Hosts {
    fn letters(&mut self, address: &[u8]) -> String {
        let next = self.0.len();
        let mut number = *self.0.entry(address.to_vec()).or_insert(next) + 1;
        let mut letters = Vec::new();
        while number > 0 {
            letters.push(char::from(b'A' + ((number - 1) % 26) as u8));
            number = (number - 1) / 26;
        }
        letters.iter().rev().collect()
    }
}

/// A name in which letters stand in place of addresses and their ports, and of names of hosts.
fn without_addresses(name: &str, hosts: &mut Hosts) -> String {
    let word = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_address = bare.parse::<std::net::IpAddr>().is_ok();
        let host = word.rsplit_once(':').map_or(bare, |(host, port)| {
            if port.chars().all(|c| c.is_ascii_digit() || c == ']') { host } else { bare }
        });
        let is_host =
            host.contains('.') && !host.parse::<f64>().is_ok_and(f64::is_finite) || host.contains(':');
        if is_address || is_host { hosts.letters(host.as_bytes()) } else { word.to_owned() }
    };
    name.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Address and port of an end.
fn end_text(connection: &Connection, end: usize) -> String {
    let (address, port) = connection.ends[end];
    if connection.v6 {
        format!("[{}]:{port}", Ipv6Addr::from(address))
    } else {
        format!("{}:{port}", Ipv4Addr::new(address[12], address[13], address[14], address[15]))
    }
}

/// The name that the file has of an end's address; empty: none.
fn name_of<'a>(capture: &'a Capture, connection: &Connection, end: usize) -> &'a str {
    let address = &connection.ends[end].0[12..];
    let names = if connection.v6 { &[][..] } else { &capture.container.names[..] };
    names.iter().find(|(known, _)| known == address).map_or("", |(_, name)| name.as_str())
}

fn describe_connection(w: &mut Writer, connection: &Connection, direction: usize, origin: u64) {
    let since = |at: u64| at.saturating_sub(origin) as f64 / 1e9;
    w.key("begin_s").number(since(connection.first));
    w.key("end_s").number(since(connection.last));
    w.key("segment_bytes").number(f64::from(connection.segment_bytes(direction)));
    w.key("timestamps").boolean(connection.timestamps);
    w.key("sack").boolean(connection.sack);
    w.key("handshake_seen").boolean(connection.has_handshake());
    w.key("handshake_rtt_s");
    let [before, after] = connection.handshake;
    w.maybe((before > 0 && after > 0).then(|| (before + after) as f64 / 1e9));
}

fn describe_totals(w: &mut Writer, totals: &Totals, origin: u64) {
    let since = |at: u64| at.saturating_sub(origin) as f64 / 1e9;
    let seconds = totals.last_delivery.max(totals.last).saturating_sub(totals.first) as f64 / 1e9;
    w.key("first_data_s").number(since(totals.first));
    w.key("duration_s").number(seconds);
    w.key("data_packets").number(totals.packets as f64);
    w.key("captured_segments").number(totals.data as f64);
    w.key("sent_bytes").number(totals.bytes as f64);
    w.key("delivered_bytes").number(totals.delivered as f64);
    let rate = totals.delivered as f64 * 8.0 / seconds;
    w.key("goodput_bps").maybe((seconds > 0.0 && totals.delivered > 0).then_some(rate));
    w.key("retransmitted_packets").number(totals.again as f64);
    w.key("retransmitted_bytes").number(totals.again_bytes as f64);
    w.key("retransmitted_segments").number(totals.again_segments as f64);
    w.key("reasons").open('{');
    for reason in Reason::ALL {
        let count = totals.reasons[reason as usize];
        if count > 0 {
            w.key(reason.name()).number(count as f64);
        }
    }
    w.close('}');
    w.key("handshake_again").number(totals.handshake_again as f64);
    w.key("timeouts").number(totals.reasons[Reason::Timeout as usize] as f64);
    w.key("out_of_order").number(totals.out_of_order as f64);
    w.key("dsack_blocks").number(totals.dsack as f64);
    w.key("needless").number(totals.needless as f64);
    w.key("acks").number(totals.acks as f64);
    w.key("zero_windows").number(totals.zero_windows as f64);
    w.key("ce_packets").number(totals.ce as f64);
    w.key("ece_acks").number(totals.ece as f64);
    w.key("cwr_packets").number(totals.cwr as f64);
    w.key("unseen_bytes").number(totals.unseen as f64);
    w.key("longest_segment").number(f64::from(totals.longest));
    w.key("super_segments").number(totals.super_segments as f64);
    w.key("reductions").number(totals.reductions as f64);
    w.key("min_rtt_s").maybe((totals.min_rtt > 0).then_some(totals.min_rtt as f64 / 1e9));
    w.key("mean_rtt_s").maybe((totals.rtts[0] > 0).then(|| totals.mean_rtt() as f64 / 1e9));
    w.key("largest_flight_bytes").number(totals.largest_flight as f64);
    w.key("largest_window_bytes").maybe((totals.largest_window > 0).then_some(totals.largest_window as f64));
    let [segments, acks] = totals.ack_segments;
    w.key("segments_per_ack").maybe((acks > 0).then(|| segments as f64 / acks as f64));
    w.key("not_analysed").maybe_text(totals.given_up);
}

/// Seconds under each limit; `null` if only a capture at the sender could show them.
fn describe_shares(w: &mut Writer, shares: Option<&Shares>) {
    w.key("time_s");
    match shares {
        None => {
            w.number(f64::NAN);
        }
        Some(shares) => {
            w.open('{');
            for limit in Limit::ALL {
                w.key(limit.name()).number(shares[limit as usize] as f64 / 1e9);
            }
            w.close('}');
        }
    }
}

fn describe_qlog(w: &mut Writer, qlog: &Qlog) {
    w.key("form").value("qlog");
    w.key("version").value(&qlog.version);
    w.key("container").value(qlog.form);
    w.key("flows").open('[');
    for (number, trace) in qlog.traces.iter().enumerate().take(MAX_LISTED) {
        describe_trace(w, trace, number);
    }
    w.close(']');
}

fn describe_trace(w: &mut Writer, trace: &Trace, number: usize) {
    let some = |count: u64, value: f64| (count > 0).then_some(value);
    let seconds = trace.range[1].saturating_sub(trace.range[0]) as f64 / 1e9;
    w.open('{');
    w.key("flow").number((number + 1) as f64);
    w.key("title").value(&trace.title);
    w.key("label").value(&format!("trace {}", number + 1));
    w.key("vantage").value(&trace.vantage);
    w.key("control").maybe_text(trace.control.as_deref());
    w.key("duration_s").number(seconds);
    w.key("events").number(trace.names.values().sum::<u64>() as f64);
    w.key("event_counts").open('{');
    for (name, count) in &trace.names {
        w.key(name).number(*count as f64);
    }
    w.close('}');
    w.key("sent_packets").number(trace.sent as f64);
    w.key("sent_bytes").maybe(trace.has_sizes.then_some(trace.sent_bytes as f64));
    w.key("received_packets").number(trace.received as f64);
    w.key("lost_packets").number(trace.lost as f64);
    w.key("lost_bytes").number(trace.lost_bytes as f64);
    w.key("delivered_bytes").maybe(some(trace.acked_bytes, trace.acked_bytes as f64));
    let rate = trace.acked_bytes as f64 * 8.0 / seconds;
    w.key("goodput_bps").maybe((seconds > 0.0 && trace.acked_bytes > 0).then_some(rate));
    w.key("windows").number(trace.windows as f64);
    w.key("first_cwnd_bytes").maybe(some(trace.windows, trace.window_ends[0]));
    w.key("last_cwnd_bytes").maybe(some(trace.windows, trace.window_ends[1]));
    w.key("rtt_samples").number(trace.samples as f64);
    w.key("min_rtt_s").maybe(some(trace.samples, trace.rtt_range[0]));
    w.key("max_rtt_s").maybe(some(trace.samples, trace.rtt_range[1]));
    w.key("reductions").number(trace.reductions as f64);
    w.key("ce_packets").number(trace.ce as f64);
    let shares = Some(&trace.shares).filter(|_| trace.windows > 0 && trace.sent > 0);
    describe_shares(w, shares);
    let transfer = Transfer { place: Place::Sender, window: 0, min_rtt: 0, mean_rtt: 0 };
    w.key("summary").value(&summary::sentence(shares, transfer));
    w.close('}');
}

/// What a capture lacks, a sentence each.
fn missing_of_capture(capture: &Capture) -> Vec<String> {
    let mut missing = Vec::new();
    let (container, counts, connections) = (&capture.container, &capture.counts, &capture.connections);
    let mut count = |number: u64, text: &str| {
        if number > 0 {
            missing.push(format!("{number} {text}"));
        }
    };
    count(container.damaged, "packets have no time or no interface");
    count(container.dropped, "packets were lost by the capturing program");
    count(counts.fragments, "fragments of IP packets are not read");
    count(counts.cut, "packets are too short for their headers (snap length)");
    count(
        counts.options_cut,
        "segments whose options are cut off: their SACK blocks are unknown (snap length)",
    );
    count(counts.malformed, "packets have fields that contradict each other");
    count(counts.tunnelled, "segments are in tunnels; what other tunnels hold is not read");
    count(
        counts.quic,
        "packets begin QUIC connections, which are encrypted: a qlog of the program has its window and its losses",
    );
    count(counts.backwards, "packets have a time before that of the packet before them");
    count(connections.duplicates, "packets are there twice, from several interfaces; one of each is used");
    count(
        connections.left_out,
        &format!("packets are of connections beyond the first {}", crate::connection::MAX_CONNECTIONS),
    );
    for (link, number) in &counts.links {
        let name = link::name(*link);
        missing.push(format!(
            "{number} packets have link type {link} ({name}), which is not read; tshark -T can convert it"
        ));
    }
    for (number, connection) in connections.list.iter().enumerate().take(MAX_LISTED) {
        for half in &connection.halves {
            if let Some(why) = half.totals.given_up {
                missing.push(format!("#{} is not analysed to its end: {why}", number + 1));
            }
            if half.totals.unseen > 0 {
                let bytes = half.totals.unseen;
                missing.push(format!(
                    "#{}: {bytes} bytes were acknowledged that the capture does not have",
                    number + 1
                ));
            }
        }
    }
    if let Some(stop) = &container.stop {
        missing.push(format!("not read from byte {} on: {}", stop.offset, stop.what));
    }
    if counts.tcp == 0 && counts.quic == 0 {
        missing.push("no TCP packet was read".to_owned());
    }
    missing
}
