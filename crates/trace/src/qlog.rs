//! qlog in its dialects: JSON, JSON-SEQ and NDJSON of drafts 00 to 12 (draft-ietf-quic-qlog-main-schema), and the names of quinn,
//! neqo, quiche, quic-go, ngtcp2, picoquic, mvfst, aioquic and quic-trace.

use crate::json::{self, Piece, Splitter, Value};
use crate::limits::{Limit, Round, Shares};
use crate::record::{Event, Phase, Recording, Reduction, Row};
use std::collections::BTreeMap;

const MAX_IN_FLIGHT: usize = 1 << 20;
const MAX_TRACES: usize = 64;
const MAX_NAMES: usize = 256;

/// What one trace of a file says about itself.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Its title, or that of its vantage point.
    pub title: String,
    /// `client`, `server`, `network`, or empty.
    pub vantage: String,
    /// Events by name without prefix.
    pub names: BTreeMap<String, u64>,
    /// Records that are no events.
    pub skipped: u64,
    /// Events whose time is before that of the event before.
    pub backwards: u64,
    /// Packets sent.
    pub sent: u64,
    /// Their bytes, if the file has them.
    pub sent_bytes: u64,
    /// Packets that the sender counted as lost.
    pub lost: u64,
    /// Their bytes.
    pub lost_bytes: u64,
    /// Bytes acknowledged.
    pub acked_bytes: u64,
    /// Packets received.
    pub received: u64,
    /// Changes of the window.
    pub windows: u64,
    /// The first and the last window, bytes.
    pub window_ends: [f64; 2],
    /// Samples of the round-trip time.
    pub samples: u64,
    /// The lowest and the highest of them, seconds.
    pub rtt_range: [f64; 2],
    /// The first and the last event, ns.
    pub range: [u64; 2],
    /// Losses that end a congestion state: reductions.
    pub reductions: u64,
    /// CE marks that the peer reports.
    pub ce: u64,
    /// Time under each limit.
    pub shares: Shares,
    /// Whether packets have sizes.
    pub has_sizes: bool,
    /// Whether the sender says when the application limits it.
    pub has_app_limited: bool,
    /// Name of the congestion control, if the file says it.
    pub control: Option<String>,
}

/// A qlog that is being read.
pub struct Qlog {
    splitter: Splitter,
    /// What the file says of its version: `qlog_version`, `qlog_format` or `file_schema`.
    pub version: String,
    /// The form: JSON, JSON-SEQ or NDJSON.
    pub form: &'static str,
    /// The traces in their order.
    pub traces: Vec<Trace>,
    chosen: usize,
    /// The rows of the chosen trace.
    pub recording: Recording,
    /// Fields of metrics that are not known, with their counts.
    pub unknown: BTreeMap<String, u64>,
    /// The same as text.
    pub unknown_fields: String,
    state: State,
    /// Records that are no JSON.
    pub damaged: u64,
    /// Traces beyond the limit are left out.
    skipping: bool,
}

/// The state of the sender of a trace.
#[derive(Default)]
struct State {
    fields: Vec<String>,
    /// Nanoseconds of a unit of time.
    unit: f64,
    delta: bool,
    category: String,
    clock: f64,
    began: bool,
    now: u64,
    last_send: u64,
    in_flight: BTreeMap<(u8, u64), (u64, u32, u64)>,
    outstanding: u64,
    delivered: u64,
    cwnd: f64,
    ssthresh: f64,
    pacing: f64,
    srtt: f64,
    largest_packet: f64,
    phase: Phase,
    app_limited: Option<bool>,
    blocked: bool,
    round: Option<Round>,
    marks: u32,
}

impl State {
    fn new() -> State {
        State {
            unit: 1e6,
            cwnd: f64::NAN,
            ssthresh: f64::NAN,
            pacing: f64::NAN,
            largest_packet: 1200.0,
            ..State::default()
        }
    }
}

impl Qlog {
    /// Reads nothing yet; rows of the trace number `chosen` (from 0) are recorded.
    pub fn new(chosen: usize) -> Qlog {
        Qlog {
            splitter: Splitter::default(),
            version: String::new(),
            form: "JSON",
            traces: Vec::new(),
            chosen,
            recording: Recording::default(),
            unknown: BTreeMap::new(),
            unknown_fields: String::new(),
            state: State::new(),
            damaged: 0,
            skipping: false,
        }
    }

    /// Reads the next bytes.
    pub fn push(&mut self, chunk: &[u8]) {
        if self.splitter.bytes == 0 && chunk.first() == Some(&0x1e) {
            self.form = "JSON-SEQ";
        }
        let mut splitter = std::mem::take(&mut self.splitter);
        splitter.push(chunk, &mut |piece| self.piece(piece));
        self.splitter = splitter;
    }

    /// The file has ended. Returns what is missing in it.
    pub fn finish(&mut self) -> Vec<String> {
        self.end_round();
        let mut missing = Vec::new();
        if self.splitter.is_cut() {
            missing.push(format!(
                "the file is cut off at byte {}; its events up to there are read",
                self.splitter.bytes
            ));
        }
        if self.splitter.stopped {
            missing.push(format!(
                "byte {}: nested deeper than {}; not read further",
                self.splitter.bytes,
                json::MAX_DEPTH
            ));
        }
        if self.splitter.too_long > 0 {
            missing.push(format!("{} records of more than 1 MB are not read", self.splitter.too_long));
        }
        if self.damaged > 0 {
            missing.push(format!("{} records are no JSON", self.damaged));
        }
        for (number, trace) in self.traces.iter().enumerate() {
            if trace.skipped > 0 {
                missing.push(format!("trace {}: {} records are no events", number + 1, trace.skipped));
            }
            if trace.backwards > 0 {
                missing.push(format!(
                    "trace {}: the time goes back at {} events",
                    number + 1,
                    trace.backwards
                ));
            }
        }
        if !self.unknown.is_empty() {
            let fields: Vec<String> =
                self.unknown.iter().map(|(name, count)| format!("{name} ({count})")).collect();
            self.unknown_fields = fields.join(", ");
        }
        missing
    }

    fn piece(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Head(_) if self.traces.len() >= MAX_TRACES => self.skipping = true,
            Piece::Head(text) => {
                let head = json::read(text).0;
                self.begin(&head);
            }
            Piece::Item(_) if self.skipping => {}
            Piece::Item(text) => {
                let (event, whole) = json::read(text);
                if whole { self.event(&event) } else { self.damaged += 1 }
            }
            Piece::Record(text) => {
                let (record, whole) = json::read(text);
                if !whole {
                    self.damaged += 1;
                    return;
                }
                let is_head = record.get("trace") != &Value::Null
                    || (record.any(&["qlog_version", "qlog_format", "file_schema"]) != &Value::Null
                        && record.any(&["data", "name"]) == &Value::Null);
                if is_head
                    && record.get("traces") == &Value::Null
                    && record.get("trace").get("events") == &Value::Null
                {
                    if self.form == "JSON" {
                        self.form = "NDJSON";
                    }
                    self.begin(&record);
                } else if record.get("traces") == &Value::Null && !is_head {
                    self.event(&record);
                }
            }
        }
    }

    /// The description of a trace, before its events.
    fn begin(&mut self, head: &Value) {
        self.end_round();
        let version = head.any(&["qlog_version", "file_schema", "qlog_format"]);
        if let Some(text) = version.text() {
            self.version = text.chars().take(64).collect();
        }
        let trace = match head.get("traces").items().last() {
            Some(trace) => trace,
            None if head.get("trace") != &Value::Null => head.get("trace"),
            None => head,
        };
        if self.traces.len() >= MAX_TRACES {
            return;
        }
        let point = trace.get("vantage_point");
        let title = [trace.get("title"), point.get("name"), head.get("title")];
        let title = title.iter().find_map(|value| value.text()).unwrap_or_default();
        self.traces.push(Trace {
            title: title.chars().take(80).collect(),
            vantage: point.get("type").text().or(point.text()).unwrap_or_default().to_ascii_lowercase(),
            rtt_range: [f64::INFINITY, 0.0],
            ..Trace::default()
        });
        self.state = State::new();
        let fields = trace.get("event_fields").items().iter();
        self.state.fields = fields.filter_map(Value::text).map(str::to_ascii_lowercase).collect();
        let common = trace.get("common_fields");
        let configuration = trace.get("configuration");
        let units = configuration.get("time_units").text().or(common.get("time_units").text());
        self.state.unit = match units {
            Some("us") => 1e3,
            Some("ns") => 1.0,
            Some("s") => 1e9,
            _ => 1e6,
        };
        let time = common.get("time_format").text().unwrap_or_default();
        self.state.delta = matches!(time, "delta" | "relative_to_previous_event");
        let category = common.any(&["category", "CATEGORY"]).text().unwrap_or_default();
        self.state.category = category.to_ascii_lowercase();
    }

    /// One event, as an object or as an array of fields.
    fn event(&mut self, event: &Value) {
        if self.traces.is_empty() {
            self.begin(&Value::Null);
        }
        let named;
        let event = if let Value::Array(values) = event {
            let fields = self.state.fields.iter().cloned();
            named = Value::Object(fields.zip(values.iter().cloned()).collect());
            &named
        } else {
            event
        };
        let name = event.any(&["name", "event", "event_type", "type"]).text();
        let time = event.any(&["time", "relative_time", "delta_time"]).number();
        let (Some(name), Some(time)) = (name, time) else {
            if let Some(trace) = self.traces.last_mut() {
                trace.skipped += 1;
            }
            return;
        };
        let name = name.rsplit(':').next().unwrap_or(name).to_ascii_lowercase();
        self.advance(time);
        if let Some(trace) = self.traces.last_mut()
            && (trace.names.len() < MAX_NAMES || trace.names.contains_key(&name))
        {
            *trace.names.entry(name.clone()).or_default() += 1;
        }
        self.dispatch(&name, event.get("data"));
    }

    fn advance(&mut self, time: f64) {
        let state = &mut self.state;
        let time = time * state.unit;
        state.clock = if state.delta { state.clock + time } else { time };
        let at = state.clock.max(0.0) as u64;
        let Some(trace) = self.traces.last_mut() else { return };
        if !state.began {
            state.began = true;
            trace.range = [at, at];
            state.now = at;
        }
        trace.backwards += u64::from(at.saturating_add(1) < state.now);
        let elapsed = at.saturating_sub(state.now);
        state.now = state.now.max(at);
        trace.range[1] = state.now;
        self.account(elapsed);
    }

    /// The limit that holds now, by the last values.
    fn limit(&self) -> Limit {
        let state = &self.state;
        let flight = state.outstanding as f64;
        let silent = state.now.saturating_sub(state.last_send) as f64;
        if matches!(state.phase, Phase::Recovery | Phase::Loss) {
            Limit::Recovery
        } else if state.app_limited == Some(true) {
            Limit::Application
        } else if state.last_send > 0 && state.outstanding == 0 && state.srtt > 0.0 {
            if silent > 3.0 * state.srtt { Limit::Idle } else { Limit::Application }
        } else if state.blocked {
            Limit::ReceiveWindow
        } else if state.cwnd.is_nan() {
            Limit::Unknown
        } else if flight + state.largest_packet > state.cwnd {
            Limit::CongestionWindow
        } else if state.srtt > 0.0 && silent > state.srtt {
            Limit::Application
        } else if state.pacing > 0.0 {
            Limit::Pacing
        } else {
            Limit::Unknown
        }
    }

    fn account(&mut self, elapsed: u64) {
        if self.state.last_send == 0 || elapsed == 0 {
            return;
        }
        let limit = self.limit();
        let chosen = self.is_chosen();
        let Some(trace) = self.traces.last_mut() else { return };
        trace.shares[limit as usize] += elapsed;
        if !chosen {
            return;
        }
        let origin = trace.range[0];
        let until = self.state.now.saturating_sub(origin);
        match &mut self.state.round {
            Some(round) if round.limit == limit => round.until = until,
            _ => {
                self.end_round();
                self.state.round = Some(Round {
                    from: until.saturating_sub(elapsed),
                    until,
                    limit,
                    sends: 0,
                    by_ack: 0.0,
                    variation: 0.0,
                    largest: self.state.outstanding,
                    window: None,
                });
            }
        }
        if let Some(round) = &mut self.state.round {
            round.largest = round.largest.max(self.state.outstanding);
        }
    }

    fn end_round(&mut self) {
        if let Some(round) = self.state.round.take() {
            self.recording.rounds.push(round);
        }
    }

    fn dispatch(&mut self, name: &str, data: &Value) {
        match name {
            "packet_sent" => self.sent(data),
            "packet_received" => self.received(data),
            "packet_lost" | "packets_lost" => self.lost(data),
            "metrics_updated"
            | "metric_update"
            | "recovery_metrics_updated"
            | "congestion_metric_update"
            | "pacing_metric_update"
            | "bandwidth_est_update"
            | "cc_update" => self.metrics(data),
            "congestion_state_updated" | "state_updated" => self.congestion_state(data),
            "app_limited_update" | "app_idle_update" | "custom_cc_application_limited" => {
                let limited = data.any(&["app_limited", "state"]);
                self.state.app_limited = Some(*limited != Value::Bool(false));
            }
            "parameters_set" | "recovery_parameters_set" => {
                let control = data.any(&["congestion_control", "congestion_control_algorithm", "cc_algo"]);
                if let (Some(control), Some(trace)) = (control.text(), self.traces.last_mut()) {
                    trace.control = Some(control.chars().take(40).collect());
                }
            }
            _ => {}
        }
    }

    fn row(&self, event: Event) -> Row {
        let state = &self.state;
        let origin = self.traces.last().map_or(0, |trace| trace.range[0]);
        Row {
            phase: state.phase,
            outstanding: state.outstanding,
            delivered: state.delivered,
            cwnd: state.cwnd,
            ssthresh: state.ssthresh,
            pacing_bps: state.pacing,
            marks: state.marks,
            ..Row::new(state.now.saturating_sub(origin), event)
        }
    }

    /// Whether the last trace is the one whose rows are recorded.
    fn is_chosen(&self) -> bool {
        self.traces.len().checked_sub(1) == Some(self.chosen)
    }

    fn push_row(&mut self, row: Row) {
        if self.is_chosen() {
            self.recording.push(row);
        }
    }

    fn sent(&mut self, data: &Value) {
        let (space, number) = packet(data);
        let size = size(data);
        let state = &mut self.state;
        state.last_send = state.now.max(1);
        if let Some(trace) = self.traces.last_mut() {
            trace.sent += 1;
            trace.sent_bytes = trace.sent_bytes.saturating_add(size as u64);
            trace.has_sizes |= size > 0.0;
        }
        state.largest_packet = state.largest_packet.max(size.min(65_535.0));
        let mut eliciting = data.get("frames").items().is_empty();
        let mut blocked = false;
        for frame in data.get("frames").items() {
            let kind = frame.get("frame_type").text().unwrap_or_default();
            eliciting |= !matches!(kind, "ack" | "padding" | "connection_close");
            blocked |= matches!(kind, "data_blocked" | "stream_data_blocked");
        }
        if eliciting && state.in_flight.len() < MAX_IN_FLIGHT {
            state.in_flight.insert((space, number), (state.now, size as u32, state.delivered));
            state.outstanding = state.outstanding.saturating_add(size as u64);
        }
        let mut row = self.row(Event::Sent);
        row.seq = number;
        row.bytes = size as u32;
        self.push_row(row);
        if blocked {
            self.state.blocked = true;
            self.push_row(self.row(Event::Limit));
        }
    }

    fn received(&mut self, data: &Value) {
        let (space, _) = packet(data);
        if let Some(trace) = self.traces.last_mut() {
            trace.received += 1;
        }
        let mut acked = false;
        let before = self.state.delivered;
        let mut newest: Option<(u64, u32, u64)> = None;
        let mut largest = 0;
        for frame in data.get("frames").items() {
            match frame.get("frame_type").text() {
                Some("ack") => {
                    acked = true;
                    if let Some(marks) = frame.any(&["ce", "ecn_ce"]).number() {
                        self.state.marks = self.state.marks.max(marks.max(0.0) as u32);
                        if let Some(trace) = self.traces.last_mut() {
                            trace.ce = u64::from(self.state.marks);
                        }
                    }
                    for range in frame.get("acked_ranges").items() {
                        let ends = match range {
                            Value::Array(_) => range.items(),
                            _ => std::slice::from_ref(range),
                        };
                        let number =
                            |value: Option<&Value>| value.and_then(Value::number).map(|n| n.max(0.0) as u64);
                        let first = number(ends.first());
                        if let (Some(low), Some(high)) = (first, number(ends.last())) {
                            largest = largest.max(high);
                            self.acknowledge(space, low.min(high), high.max(low), &mut newest);
                        }
                    }
                }
                Some("max_data" | "max_stream_data") => self.state.blocked = false,
                _ => {}
            }
        }
        if !acked {
            return;
        }
        let delivered = self.state.delivered - before;
        if let Some(trace) = self.traces.last_mut() {
            trace.acked_bytes += delivered;
        }
        let mut row = self.row(Event::Ack);
        row.seq = largest;
        row.bytes = delivered.min(u64::from(u32::MAX)) as u32;
        if let Some((at, bytes, earlier)) = newest {
            let origin = self.traces.last().map_or(0, |trace| trace.range[0]);
            let time = self.state.now.saturating_sub(at) as f64 / 1e9;
            row.sent_at = at.saturating_sub(origin);
            row.sample_bytes = bytes;
            row.rtt_s = time;
            if time > 0.0 && bytes > 0 {
                row.delivery_bps = self.state.delivered.saturating_sub(earlier) as f64 * 8.0 / time;
            }
        }
        self.push_row(row);
    }

    fn acknowledge(&mut self, space: u8, low: u64, high: u64, newest: &mut Option<(u64, u32, u64)>) {
        let state = &mut self.state;
        while let Some((key, sent)) = state.in_flight.range((space, low)..=(space, high)).next_back() {
            let (key, sent) = (*key, *sent);
            state.in_flight.remove(&key);
            state.delivered = state.delivered.saturating_add(u64::from(sent.1));
            state.outstanding = state.outstanding.saturating_sub(u64::from(sent.1));
            if newest.is_none_or(|newest| sent.0 >= newest.0) {
                *newest = Some(sent);
            }
        }
    }

    fn lost(&mut self, data: &Value) {
        let (space, number) = packet(data);
        let sent = self.state.in_flight.remove(&(space, number));
        let count = data.get("lost_packets").number().map_or(1, |count| count.max(0.0) as u64);
        let bytes = data.get("lost_bytes").number().map_or_else(
            || sent.map_or(size(data) as u64, |sent| u64::from(sent.1)),
            |bytes| bytes.max(0.0) as u64,
        );
        if let Some(trace) = self.traces.last_mut() {
            trace.lost = trace.lost.saturating_add(count);
            trace.lost_bytes = trace.lost_bytes.saturating_add(bytes);
        }
        self.state.outstanding = self.state.outstanding.saturating_sub(bytes);
        let mut row = self.row(Event::Lost);
        row.seq = number;
        row.bytes = bytes.min(u64::from(u32::MAX)) as u32;
        if let Some(sent) = sent {
            row.sent_at = sent.0.saturating_sub(self.traces.last().map_or(0, |trace| trace.range[0]));
        }
        self.push_row(row);
    }

    fn metrics(&mut self, data: &Value) {
        const KNOWN: [&str; 20] = [
            "congestion_window",
            "cwnd",
            "current_cwnd",
            "bytes_in_flight",
            "ssthresh",
            "smoothed_rtt",
            "min_rtt",
            "latest_rtt",
            "rtt_variance",
            "pacing_rate",
            "pto_count",
            "packets_in_flight",
            "app_limited",
            "cc_state",
            "state",
            "max_ack_delay",
            "ack_delay",
            "congestion_event",
            "recovery_state",
            "bandwidth_bytes",
        ];
        for (name, _) in data.pairs() {
            if !KNOWN.contains(&name.as_str()) && (self.unknown.len() < 64 || self.unknown.contains_key(name))
            {
                *self.unknown.entry(name.chars().take(40).collect()).or_default() += 1;
            }
        }
        // Durations of metrics are milliseconds, but microseconds where the file's unit is that.
        let to_seconds = if self.state.unit == 1e3 { 1e-6 } else { 1e-3 };
        let before = self.state.cwnd;
        if let Some(window) = data.any(&["congestion_window", "cwnd", "current_cwnd"]).number() {
            self.state.cwnd = window;
            if let Some(trace) = self.traces.last_mut() {
                if trace.windows == 0 {
                    trace.window_ends[0] = window;
                }
                trace.windows += 1;
                trace.window_ends[1] = window;
            }
        }
        if let Some(flight) = data.get("bytes_in_flight").number() {
            self.state.outstanding = flight.max(0.0) as u64;
        }
        // "Infinity" and the largest integers stand for no threshold.
        if let Some(threshold) = data.get("ssthresh").number().filter(|value| *value < 4e9) {
            self.state.ssthresh = threshold;
        }
        if let Some(rate) = data.get("pacing_rate").number() {
            self.state.pacing = rate;
        }
        if let Some(srtt) = data.get("smoothed_rtt").number() {
            self.state.srtt = srtt * to_seconds * 1e9;
        }
        if let Value::Bool(limited) = data.get("app_limited") {
            self.state.app_limited = Some(*limited);
            if let Some(trace) = self.traces.last_mut() {
                trace.has_app_limited = true;
            }
        }
        if let Some(name) = data.any(&["cc_state", "recovery_state"]).text() {
            let name = name.to_ascii_lowercase();
            self.enter(&name, before);
        }
        let mut row = self.row(Event::Metrics);
        if let Some(latest) = data.get("latest_rtt").number().filter(|rtt| *rtt > 0.0) {
            row.rtt_s = latest * to_seconds;
            if let Some(trace) = self.traces.last_mut() {
                trace.samples += 1;
                trace.rtt_range = [trace.rtt_range[0].min(row.rtt_s), trace.rtt_range[1].max(row.rtt_s)];
            }
            if self.state.srtt == 0.0 {
                self.state.srtt = row.rtt_s * 1e9;
            }
        }
        self.push_row(row);
    }

    fn congestion_state(&mut self, data: &Value) {
        if let Some(name) = data.any(&["new", "state", "new_state"]).text() {
            let name = name.to_ascii_lowercase();
            let window = self.state.cwnd;
            self.enter(&name, window);
            self.push_row(self.row(Event::State));
        }
    }

    fn enter(&mut self, name: &str, window: f64) {
        let Some(trace) = self.traces.last_mut() else { return };
        if name.contains("application_limited") || name.contains("app_limited") {
            self.state.app_limited = Some(true);
            trace.has_app_limited = true;
            return;
        }
        if trace.has_app_limited && self.state.app_limited == Some(true) {
            self.state.app_limited = Some(false);
        }
        let phase = if name.contains("persistent") {
            Phase::Loss
        } else if name.contains("recovery") && !name.contains("recovery_end") && !name.starts_with("open") {
            Phase::Recovery
        } else {
            Phase::Open
        };
        if phase != Phase::Open && self.state.phase == Phase::Open {
            trace.reductions += 1;
            if self.is_chosen() {
                let origin = self.traces.last().map_or(0, |trace| trace.range[0]);
                let at = self.state.now.saturating_sub(origin);
                let before = window.max(0.0) as u64;
                self.recording.reductions.push(Reduction { at, phase, before, after: 0, until: 0 });
            }
        }
        self.state.phase = phase;
    }
}

/// Packet number space (0 Initial, 1 Handshake, 2 application) and packet number.
fn packet(data: &Value) -> (u8, u64) {
    let header = data.get("header");
    let kind = header.get("packet_type").text().or(data.any(&["packet_type", "packet_number_space"]).text());
    let space = match kind.map(str::to_ascii_lowercase).as_deref() {
        Some("initial") => 0,
        Some("handshake") => 1,
        _ => 2,
    };
    let number = header.get("packet_number").number();
    let number = number.or(data.any(&["packet_number", "largest_lost_packet_num"]).number());
    (space, number.unwrap_or(0.0).max(0.0) as u64)
}

/// Bytes of a packet; zero: the file does not say.
fn size(data: &Value) -> f64 {
    let header = data.get("header");
    let raw = data.get("raw").any(&["length", "payload_length"]).number();
    let size = raw.or(header.any(&["packet_size", "length", "payload_length"]).number());
    size.or(data.any(&["packet_size", "length"]).number()).unwrap_or(0.0).max(0.0)
}
