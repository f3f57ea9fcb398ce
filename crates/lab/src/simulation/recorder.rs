//! The recordings of a run: window trace, packet log, audit, fingerprint. Logs are stored in columns; a disabled
//! recording stores nothing.

use crate::audit::Auditor;
use crate::audit::RadioAuditor;
use crate::capture::Captures;
use crate::simulation::event_order::EventOrder;
use crate::simulation::fingerprint::{EventCodes, Fingerprint};
use crate::simulation::overview::Overview;
use crate::simulation::probes::Probes;
use crate::simulation::radio_log::RadioLog;
use crate::simulation::transmission_log::TransmissionLog;
use cc::{Controller, Transition};
use net::radio::{RadioEvent, RadioStep};
use net::{DropReason, Ecn, Packet, PacketEvent, PacketKind, PacketStep, Rule, RuleEvent, Tap, Transmission};
use transport::{AckOptions, WindowRow};
use units::Time;

/// The rows of the window trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceMode {
    /// None.
    #[default]
    Off,
    /// One per change of the window or the threshold.
    Changes,
    /// One per ACK received.
    EveryAck,
}

impl TraceMode {
    /// The mode with this name: `off`, `changes` or `ack`.
    pub fn from_name(name: &str) -> Option<TraceMode> {
        match name {
            "off" => Some(TraceMode::Off),
            "changes" => Some(TraceMode::Changes),
            "ack" => Some(TraceMode::EveryAck),
            _ => None,
        }
    }
}

/// What a run records.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recording {
    /// The window trace.
    pub trace: TraceMode,
    /// Every packet event.
    pub packets: bool,
    /// If set, only the packet events of this interval, both ends included.
    pub packets_within: Option<(Time, Time)>,
    /// Bound the memory of the logs: window rows, packets and rules of `packets_within` alone, all of them only until one
    /// log is full ([`PacketLog::MOST_ROWS`]), and thinned curves of the whole run. Changes of radio routes have no bound.
    pub bounded: bool,
    /// Audit the run.
    pub audit: bool,
    /// Packet captures ([`crate::Run::capture`]).
    pub captures: bool,
    /// A hash of the packet events.
    pub fingerprint: bool,
    /// All steps of the radio network.
    pub radio: bool,
    /// The rules of drops and marks.
    pub rules: bool,
    /// The qlogs of QUIC flows ([`crate::Run::qlogs`]).
    pub qlog: bool,
}

/// The window trace, in columns. Times in seconds; NaN stands for "none".
#[derive(Clone, Debug, Default)]
pub struct WindowLog {
    /// When.
    pub time_s: Vec<f64>,
    /// Number of the flow.
    pub flow: Vec<u32>,
    /// Number of the event in [`transport::Trigger::ALL`].
    pub event: Vec<u8>,
    /// Congestion window, segments.
    pub cwnd: Vec<f64>,
    /// Slow-start threshold, segments.
    pub ssthresh: Vec<f64>,
    /// Number of the highest segment acknowledged.
    pub ack: Vec<i64>,
    /// Round-trip sample of the controller.
    pub rtt_s: Vec<f64>,
    /// Segments in flight.
    pub in_flight: Vec<f64>,
    /// Number of the phase in [`cc::Phase::ALL`].
    pub phase: Vec<u8>,
    /// Pacing rate of the payload, bits per second; NaN for none.
    pub pacing_bps: Vec<f64>,
    /// 1 if the application limits rate samples now, 0 if not; 255 if the flow counts no rates.
    pub app_limited: Vec<u8>,
    /// Number of the cause of a reduction, or of its undo, in [`transport::WindowCause::ALL`]; 255 for none.
    pub cause: Vec<u8>,
    /// The internal values of the controllers: names and columns.
    pub internals: Vec<(String, Vec<f64>)>,
}

/// Every packet event, in columns.
#[derive(Clone, Debug, Default)]
pub struct PacketLog {
    /// When.
    pub time: Vec<Time>,
    /// Number of the link.
    pub link: Vec<u32>,
    /// 0 enqueue, 1 drop, 2 depart, 3 deliver.
    pub event: Vec<u8>,
    /// Number of the reason in [`net::DropReason::ALL`]; 255 for none.
    pub reason: Vec<u8>,
    /// Number of the flow.
    pub flow: Vec<u32>,
    /// 0 data, 1 ack.
    pub kind: Vec<u8>,
    /// The packet's number; an ACK's is that of the segment it acknowledges.
    pub seq: Vec<i64>,
    /// Bytes on the wire.
    pub size: Vec<i32>,
    /// Congestion experienced.
    pub marked: Vec<bool>,
    /// Packets that each link holds when the log begins; none of a link without an earlier event.
    pub held: Vec<Option<i64>>,
}

/// Writes the value of row `place`, which is one of the rows or the next one.
fn set<T>(column: &mut Vec<T>, place: usize, value: T) {
    match column.get_mut(place) {
        Some(present) => *present = value,
        None => column.push(value),
    }
}

impl WindowLog {
    /// Writes row `place`, which is one of the rows or the next one. `columns` has the columns of the flow's internal values.
    fn set(&mut self, place: usize, now: Time, row: &WindowRow, columns: &[usize], values: &[f64]) {
        set(&mut self.time_s, place, now.seconds());
        set(&mut self.flow, place, row.flow);
        set(&mut self.event, place, row.trigger as u8);
        set(&mut self.cwnd, place, row.cwnd);
        set(&mut self.ssthresh, place, row.ssthresh);
        set(&mut self.ack, place, row.highest_ack);
        set(&mut self.rtt_s, place, row.rtt.map_or(f64::NAN, |rtt| rtt.seconds()));
        set(&mut self.in_flight, place, row.in_flight as f64);
        set(&mut self.phase, place, row.phase as u8);
        set(&mut self.cause, place, row.cause.map_or(WindowLog::NO_CAUSE, |cause| cause as u8));
        set(&mut self.pacing_bps, place, row.controller.pacing().map_or(f64::NAN, |rate| rate.bps() as f64));
        set(&mut self.app_limited, place, row.app_limited.map_or(WindowLog::UNKNOWN, u8::from));
        for (_, column) in &mut self.internals {
            set(column, place, f64::NAN);
        }
        if self.internals.is_empty() {
            return;
        }
        for (column, value) in columns.iter().zip(values) {
            self.internals[*column].1[place] = *value;
        }
    }
    /// The code for no cause.
    pub const NO_CAUSE: u8 = 255;
    /// The code of [`WindowLog::app_limited`] of a flow that counts no rates.
    pub const UNKNOWN: u8 = 255;
    /// Rows of a log with bounded memory.
    pub const MOST_ROWS: usize = 1 << 19;
}

/// A transition of a flow's controller.
#[derive(Clone, Copy, Debug)]
pub struct StateRow {
    /// Number of the flow.
    pub flow: u32,
    /// When, between which states, and why.
    pub transition: Transition,
}

impl StateRow {
    /// Rows of a log with bounded memory.
    pub const MOST_ROWS: usize = 1 << 16;
}

/// A drop or a mark of a packet, with its rule.
#[derive(Clone, Debug)]
pub struct RuleRow {
    /// When; of a loss on the link the end of the transmission.
    pub time: Time,
    /// Number of the link.
    pub link: u32,
    /// Number of the flow.
    pub flow: u32,
    /// 0 data, 1 ack.
    pub kind: u8,
    /// The packet's number, as in [`PacketLog::seq`].
    pub seq: i64,
    /// It was dropped; otherwise it was marked.
    pub dropped: bool,
    /// Why.
    pub rule: Rule,
}

impl RuleRow {
    /// Rows of a log with bounded memory.
    pub const MOST_ROWS: usize = 1 << 18;
}

/// Remedies for a log that is too large.
const SHORTER: [&str; 3] = [
    "shorten the duration, or run without --packets and --plot",
    "shorten the duration, or run without --trace and --plot",
    "shorten the duration, or run without --pcap",
];

/// What a run has recorded so far; complete after its end.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    /// The window trace.
    pub windows: WindowLog,
    /// The transitions of controllers between their states up to the last row of each flow, recorded with the window trace.
    pub states: Vec<StateRow>,
    /// With [`Recording::bounded`], the last row of each flow before the window trace begins, in any order.
    pub(crate) held: WindowLog,
    /// The packet events, in the order of time.
    pub packets: PacketLog,
    /// The drops and marks with their rules, in the order in which they were decided.
    pub rules: Vec<RuleRow>,
    /// The transmissions on Wi-Fi channels and in cells; recorded with packet events.
    pub transmissions: TransmissionLog,
    /// All steps of the radio network, in the order of time.
    pub radio: RadioLog,
}

/// Whether a run can be audited: in a page none is, and the code of the auditors is not in the page.
pub(super) const AUDITS: bool = cfg!(not(target_family = "wasm"));

/// Records a run. `WINDOWS` and `PACKETS` enable the recording of windows and packets at compile time.
#[derive(Clone)]
pub(crate) struct Recorder<const WINDOWS: bool, const PACKETS: bool> {
    pub recording: Recording,
    pub logs: Logs,
    /// The place of each flow in `logs.held`; `u32::MAX` for none.
    held_places: Vec<u32>,
    pub stream: EventOrder,
    pub captures: Option<Captures>,
    pub auditor: Option<Auditor>,
    pub radio_auditor: Option<RadioAuditor>,
    pub fingerprint: Fingerprint,
    /// With bounded memory: curves of the whole run.
    pub overview: Option<Box<Overview>>,
    /// With bounded memory: when a log was full.
    pub full: Option<Time>,
    /// Window rows and packet events of the whole run, recorded or not.
    pub counts: [u64; 2],
    /// The internal values of controllers.
    pub probes: Probes,
    /// The number of transitions of each flow that are recorded.
    transitions: Vec<u32>,
}

impl<const WINDOWS: bool, const PACKETS: bool> Recorder<WINDOWS, PACKETS> {
    /// Creates a recorder for a run that ends at `end`. `probes` has the names of the internal values of each flow's
    /// controller; the last name can be `HANDOFF`.
    pub fn new(recording: Recording, probes: &[Vec<String>], auditor: Option<Auditor>, end: Time) -> Self {
        let columns = if WINDOWS { Probes::new(probes) } else { Probes::default() };
        let overview = recording.bounded.then(|| Box::new(Overview::new(end.seconds(), probes)));
        let windows = WindowLog {
            internals: columns.names.iter().map(|name| (name.clone(), Vec::new())).collect(),
            ..WindowLog::default()
        };
        Recorder {
            recording,
            logs: Logs { held: windows.clone(), windows, ..Logs::default() },
            held_places: Vec::new(),
            stream: EventOrder::new(end),
            captures: None,
            auditor,
            radio_auditor: None,
            fingerprint: Fingerprint::default(),
            overview,
            full: None,
            counts: [0; 2],
            transitions: if WINDOWS { vec![0; probes.len()] } else { Vec::new() },
            probes: columns,
        }
    }

    /// The auditor, if the run is audited.
    #[inline]
    pub fn auditor(&mut self) -> Option<&mut Auditor> {
        self.auditor.as_mut().filter(|_| AUDITS)
    }

    #[inline]
    pub fn window(&mut self, now: Time, row: &WindowRow) {
        if self.recording.trace == TraceMode::Off {
            return;
        }
        self.transitions(row);
        let recorded = self.recording.trace == TraceMode::EveryAck || row.changed;
        if self.overview.is_some() || recorded {
            self.probes.read(row);
        }
        if let Some(overview) = &mut self.overview {
            overview.window(now.seconds(), row, &self.probes.values);
            self.counts[0] += recorded as u64;
            if recorded && self.recording.packets_within.is_some_and(|(from, _)| now < from) {
                self.hold(now, row);
            } else if recorded && self.keeps(now, self.logs.windows.time_s.len(), WindowLog::MOST_ROWS) {
                self.keep(now, row);
            }
        } else if recorded {
            self.keep(now, row);
        }
    }

    /// Records the transitions of a row's controller since the last row of its flow.
    #[inline]
    fn transitions(&mut self, row: &WindowRow) {
        let Some(transitions) = row.controller.transitions() else { return };
        let Some(seen) = self.transitions.get_mut(row.flow as usize) else { return };
        if transitions.count() == *seen {
            return;
        }
        let room =
            if self.recording.bounded { StateRow::MOST_ROWS - self.logs.states.len() } else { usize::MAX };
        let rows = transitions.since(*seen).map(|transition| StateRow { flow: row.flow, transition });
        self.logs.states.extend(rows.take(room));
        *seen = transitions.count();
    }

    /// The controller of `flow` is another one from now on, with the values `probes`.
    pub fn change_controller(&mut self, flow: u32, probes: &[String]) {
        self.probes.change(flow, probes);
        if let Some(seen) = self.transitions.get_mut(flow as usize) {
            *seen = 0;
        }
    }

    /// Keeps a row before the interval that is recorded, in place of the one before it.
    fn hold(&mut self, now: Time, row: &WindowRow) {
        let (flow, rows) = (row.flow as usize, self.logs.held.time_s.len());
        if flow >= self.held_places.len() {
            self.held_places.resize(flow + 1, u32::MAX);
        }
        let place = (self.held_places[flow] as usize).min(rows);
        self.held_places[flow] = place as u32;
        self.logs.held.set(place, now, row, self.probes.columns(row.flow), &self.probes.values);
    }

    /// Whether a log with bounded memory and `rows` rows takes an event.
    fn keeps(&mut self, at: Time, rows: usize, limit: usize) -> bool {
        let within = self.recording.packets_within;
        if within.is_some_and(|(from, to)| !(from..=to).contains(&at)) {
            return false;
        }
        if rows >= limit && self.full.is_none() {
            self.full = Some(at);
        }
        self.full.is_none()
    }

    fn keep(&mut self, now: Time, row: &WindowRow) {
        let place = self.logs.windows.time_s.len();
        self.logs.windows.set(place, now, row, self.probes.columns(row.flow), &self.probes.values);
    }

    /// Records steps of the radio network.
    pub fn radio(&mut self, events: &[RadioEvent]) {
        if let Some(auditor) = self.radio_auditor.as_mut().filter(|_| AUDITS) {
            auditor.watch(events);
        }
        if self.recording.radio {
            for event in events {
                let route = matches!(event.step, RadioStep::Route { .. });
                if route
                    || !self.recording.bounded
                    || self.keeps(event.at, self.logs.radio.time.len(), RadioLog::MOST_ROWS)
                {
                    self.logs.radio.push(event);
                }
            }
        }
        if self.recording.fingerprint {
            events.iter().for_each(|event| self.fingerprint.add_radio(event));
        }
    }

    /// The memory that the logs will need: description, bytes, remedy.
    pub fn memory_needs(&self) -> Vec<(String, u64, &'static str)> {
        let packets = self.logs.packets.time.len() as u64;
        let rows = self.logs.windows.time_s.len() as u64;
        // Columns double their capacity when they grow, and are copied twice on output.
        let row = 4 * (69 + 8 * self.logs.windows.internals.len() as u64);
        let captured = self.captures.as_ref().map_or(0, Captures::bytes);
        let ahead = self.stream.growth() as u64;
        vec![
            (format!("{packets} packet events need"), packets * PacketLog::LATER, SHORTER[0]),
            (format!("{rows} rows of the window trace need"), rows * row, SHORTER[1]),
            ("captures need".into(), 3 * captured, SHORTER[2]),
            (
                "transmissions need".into(),
                self.logs.transmissions.link.len() as u64 * TransmissionLog::ROW,
                SHORTER[0],
            ),
            ("events of packets in flight need".into(), ahead, SHORTER[0]),
        ]
    }

    /// Advances to time `now`: all events before it are final.
    #[inline]
    pub fn reach(&mut self, now: Time) {
        while let Some(event) = self.stream.before(now) {
            self.settled(&event);
        }
    }

    /// The run has ended.
    pub fn finish(&mut self, end: Time) {
        while let Some(event) = self.stream.until(end) {
            self.settled(&event);
        }
    }

    fn settled(&mut self, event: &PacketEvent) {
        if self.recording.fingerprint {
            self.fingerprint.add(event, codes(event));
        }
        if let Some(auditor) = self.auditor() {
            auditor.packet(event);
        }
        if self.recording.packets {
            if let Some(overview) = &mut self.overview {
                self.counts[1] += 1;
                overview.packet(event, PacketLog::change_by(event));
            }
            let within = match self.recording.packets_within {
                Some((from, _)) if event.at < from => {
                    self.logs.packets.hold(event);
                    false
                }
                Some((_, to)) => event.at <= to,
                None => true,
            };
            let bounded = self.recording.bounded;
            if within
                && (!bounded || self.keeps(event.at, self.logs.packets.time.len(), PacketLog::MOST_ROWS))
            {
                if bounded && self.logs.packets.time.len() == PacketLog::RESERVED {
                    self.logs.packets.reserve();
                }
                self.logs.packets.push(event);
            }
        }
        if let Some(captures) = &mut self.captures {
            captures.packet(event);
        }
    }

    /// Called before a packet is sent.
    pub fn sends(&mut self, packet: &mut Packet, options: &AckOptions) {
        if let Some(captures) = &mut self.captures {
            captures.sends(packet);
            if packet.has_options() {
                captures.record_options(packet.options, options);
            }
        }
    }

    /// Called before a datagram with these bytes is sent.
    pub fn sends_datagram(&mut self, packet: &Packet, bytes: &[u8]) {
        if let Some(captures) = &mut self.captures {
            captures.record_datagram(packet.options, bytes);
        }
    }

    /// A packet has reached the end of its path.
    pub fn arrived(&mut self, packet: &Packet, now: Time) {
        if let Some(overview) = &mut self.overview
            && !packet.kind.is_reverse()
        {
            overview.arrival(packet.flow, now.seconds(), now.since(packet.sent).seconds());
        }
        if let Some(captures) = &mut self.captures {
            captures.arrived(packet);
        }
    }

    /// Updates the index of the options of an ACK: a copy arrived by radio while other copies are in flight.
    pub fn record_options(&mut self, place: u32, options: &AckOptions) {
        if let Some(captures) = &mut self.captures {
            captures.record_options(place, options);
        }
    }

    pub fn sending(&mut self, now: Time, flow: u32, in_flight: u32, window: u32) {
        if let Some(auditor) = self.auditor() {
            auditor.sending(now, flow, in_flight, window);
        }
    }
}

impl<const WINDOWS: bool, const PACKETS: bool> Tap for Recorder<WINDOWS, PACKETS> {
    const PACKETS: bool = PACKETS;

    fn packet(&mut self, event: &PacketEvent) {
        if !self.stream.wants(event) {
            return;
        }
        if let Some(captures) = &mut self.captures {
            let event = captures.preserve_payload(event);
            self.stream.add(&event);
        } else if self.recording.packets || self.recording.fingerprint || self.auditor.is_some() {
            self.stream.add(event);
        }
    }

    fn wants_rules(&self) -> bool {
        self.recording.rules
    }

    fn wants_transmissions(&self) -> bool {
        self.recording.packets || self.auditor.is_some()
    }

    fn transmission(&mut self, transmission: &Transmission) {
        if let Some(auditor) = self.auditor() {
            auditor.transmission(transmission);
        }
        let rows = self.logs.transmissions.link.len();
        if let Some(overview) = self.overview.as_mut().filter(|_| self.recording.packets) {
            overview.transmission(transmission);
        }
        let outside = |(from, to)| transmission.end < from || transmission.begin > to;
        if self.recording.packets
            && !self.recording.packets_within.is_some_and(outside)
            && (!self.recording.bounded || self.keeps(transmission.begin, rows, TransmissionLog::MOST_ROWS))
        {
            self.logs.transmissions.push(transmission);
        }
    }

    fn rule(&mut self, event: RuleEvent) {
        if self.recording.bounded && !self.keeps(event.at, self.logs.rules.len(), RuleRow::MOST_ROWS) {
            return;
        }
        let packet = &event.packet;
        self.logs.rules.push(RuleRow {
            time: event.at,
            link: event.link.0,
            flow: packet.flow,
            kind: packet.kind.is_reverse() as u8,
            seq: number(packet),
            dropped: event.dropped,
            rule: event.rule,
        });
    }
}

/// The number of a packet; that of an ACK is the number of the segment that it acknowledges.
fn number(packet: &Packet) -> i64 {
    packet.seq as i64 - (packet.kind == PacketKind::Ack) as i64
}

/// The codes of an event in the log.
fn codes(event: &PacketEvent) -> EventCodes {
    let (step, reason) = match event.step {
        PacketStep::Enqueue => (PacketLog::ENQUEUE, PacketLog::NO_REASON),
        PacketStep::Drop(reason) => (PacketLog::DROP, reason as u8),
        PacketStep::Depart => (PacketLog::DEPART, PacketLog::NO_REASON),
        PacketStep::Deliver => (PacketLog::DELIVER, PacketLog::NO_REASON),
    };
    EventCodes { step, reason, seq: number(&event.packet) }
}

impl PacketLog {
    /// Bytes that a row will take besides in tables once the run has ended.
    const LATER: u64 = 110;
    /// Codes of the events.
    pub(crate) const ENQUEUE: u8 = 0;
    pub(crate) const DROP: u8 = 1;
    pub(crate) const DEPART: u8 = 2;
    pub(crate) const DELIVER: u8 = 3;
    /// The code for no reason.
    pub const NO_REASON: u8 = 255;
    /// Rows of a log with bounded memory.
    pub const MOST_ROWS: usize = 3 << 20;
    /// The rows from which on such a log has room for all of its rows: columns that double leave holes in memory.
    const RESERVED: usize = 1 << 18;

    /// By how much an event changes the number of packets that its link holds, the packet in transmission included.
    pub(crate) fn change_by(event: &PacketEvent) -> i64 {
        let EventCodes { step, reason, .. } = codes(event);
        Self::change(step, reason)
    }

    /// By how much an event with these codes changes the number of packets that its link holds, the packet in
    /// transmission included.
    pub(crate) fn change(step: u8, reason: u8) -> i64 {
        const AQM: u8 = DropReason::Aqm as u8;
        match (step, reason) {
            (Self::ENQUEUE, _) => 1,
            (Self::DEPART, _) | (Self::DROP, AQM) => -1,
            _ => 0,
        }
    }

    /// The reason of the drop in a row; `None` for another event.
    pub(crate) fn drop_reason(&self, row: usize) -> Option<DropReason> {
        DropReason::ALL.get(self.reason[row] as usize).copied()
    }

    /// Counts an event before the log begins.
    fn hold(&mut self, event: &PacketEvent) {
        let EventCodes { step, reason, .. } = codes(event);
        let link = event.link.0 as usize;
        if link >= self.held.len() {
            self.held.resize(link + 1, None);
        }
        *self.held[link].get_or_insert(0) += Self::change(step, reason);
    }

    fn reserve(&mut self) {
        let more = Self::MOST_ROWS - self.time.len();
        self.time.reserve_exact(more);
        self.link.reserve_exact(more);
        self.event.reserve_exact(more);
        self.reason.reserve_exact(more);
        self.flow.reserve_exact(more);
        self.kind.reserve_exact(more);
        self.seq.reserve_exact(more);
        self.size.reserve_exact(more);
        self.marked.reserve_exact(more);
    }

    fn push(&mut self, event: &PacketEvent) {
        let EventCodes { step, reason, seq } = codes(event);
        self.time.push(event.at);
        self.link.push(event.link.0);
        self.event.push(step);
        self.reason.push(reason);
        self.flow.push(event.packet.flow);
        self.kind.push(match event.packet.kind {
            PacketKind::Request => 2,
            kind => kind.is_reverse() as u8,
        });
        self.seq.push(seq);
        self.size.push(event.packet.size as i32);
        self.marked.push(event.packet.ecn == Ecn::Ce);
    }
}
