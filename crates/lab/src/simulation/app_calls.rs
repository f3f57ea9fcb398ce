//! Drives an application in any order of packets and timers, against counts of bytes.

use super::apps::{Action, AppFacts, Application, Place, SenderView};
use super::build::audited_app;
use crate::audit::{AppEvent, AuditedApp, Auditor};
use crate::scenario::Scenario;
use net::Packet;
use std::collections::{BTreeMap, BTreeSet};
use units::{Rate, Span, Time};

/// Applications over TCP, then those over QUIC.
const APPLICATIONS: [(&str, bool); 16] = [
    ("\"1Mbps\"", false),
    (
        "{ kind = \"rate\", schedule = [[\"0s\", \"5Mbps\"], [\"1s\", \"0bps\"]], late = \"drop\", most = \"20kB\" }",
        false,
    ),
    ("{ kind = \"on_off\", on = \"100ms\", off = \"50ms\", random = true }", false),
    ("{ kind = \"on_off\", on = \"100ms\", off = \"50ms\", rate = \"2Mbps\" }", false),
    ("{ kind = \"on_off\", size = \"web_server\", off = \"50ms\", start_on = false }", false),
    ("{ kind = \"requests\", response = \"rpc\", think = \"10ms\", random = true, tls = true }", false),
    (
        "{ kind = \"requests\", response = \"20kB\", outstanding = 5, requests = 30, service = \"5ms\" }",
        false,
    ),
    (
        "{ kind = \"page\", page = \"small\", protocol = \"http1\", connections = 3, repeat = \"10ms\" }",
        false,
    ),
    ("{ kind = \"page\", page = \"small\", repeat = \"0s\", parse = \"0s\", opens = \"from\" }", false),
    (
        "{ kind = \"video\", ladder = [\"300kbps\", \"1Mbps\", \"3Mbps\"], chunk = \"500ms\", buffer = \"2s\", variation = 0.5 }",
        false,
    ),
    ("{ kind = \"frames\", rate = \"2Mbps\", group = 10, late = \"drop\", adapt = \"backlog\" }", false),
    ("{ kind = \"requests\", response = \"rpc\", outstanding = 5 }", true),
    ("{ kind = \"page\", page = \"small\", repeat = \"10ms\" }", true),
    (
        "{ kind = \"frames\", rate = \"2Mbps\", group = 10, late = \"cancel\", audio = \"24kbps\", adapt = \"controller\" }",
        true,
    ),
    (
        "{ kind = \"frames\", rate = \"2Mbps\", group = 4, late = \"stop\", streams = \"frame\", key_on_cancel = true }",
        true,
    ),
    (
        "{ kind = \"frames\", layers = [{ rate = \"1Mbps\", priority = 1, late = \"drop\" }, { rate = \"1Mbps\", group = 5, late = \"stop\" }] }",
        true,
    ),
];

/// A stream of the model.
#[derive(Default)]
struct Stream {
    written: u64,
    arrived: u64,
    /// The server writes no more.
    finished: bool,
    /// The server has reset it.
    reset: bool,
    /// The client reads no more.
    stopped: bool,
    /// The client knows that nothing follows.
    over: bool,
}

/// What is between the two halves of an application.
struct Model {
    app: Application,
    auditor: Auditor,
    now: Time,
    asks: bool,
    quic: bool,
    /// Of each connection: its server has opened it.
    begun: Vec<bool>,
    /// Requests under way: connection and number.
    requests: Vec<(u32, u32)>,
    /// Requests that have arrived, and the bytes of each message that were taken.
    arrived: BTreeSet<u32>,
    taken: BTreeMap<u32, u64>,
    streams: BTreeMap<(u32, u32), Stream>,
    datagrams: u32,
    view: SenderView,
}

impl Model {
    fn new(app: &str, quic: bool) -> Option<Model> {
        let transport = if quic { "quic = {}" } else { "tcp = {}" };
        let text = format!(
            "duration = \"100s\"\nlink = [{{ ends = [\"a\", \"b\"], rate = \"10Mbps\", delay = \"10ms\" }}]\n\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{transport}\napp = {app}\n"
        );
        let scenario = match Scenario::parse("fuzz.toml", &text, &[]) {
            Ok(scenario) => scenario,
            Err(_) if quic && cfg!(not(feature = "quic")) => return None,
            Err(error) => panic!("{error}"),
        };
        let flow = &scenario.flows[0];
        let options = flow.app.as_deref()?;
        let connections = if flow.shares_connections() { options.connections() } else { 1 };
        let flows: Vec<u32> = (0..connections).collect();
        let place = Place {
            flows: &flows,
            name: "f",
            seed: 1,
            quic,
            base_delay: Some(Span::from_ms(11)),
            ideal: None,
            start: Time::ZERO,
            stop: Time::ZERO + Span::from_ms(60_000),
        };
        let mut auditor = Auditor::new(Vec::new(), &[], &[]);
        let audited = audited_app(flow, options);
        let asks = audited.asks;
        auditor.add_application(AuditedApp { flows: flows.clone(), ..audited });
        Some(Model {
            app: Application::new(options, place),
            auditor,
            now: Time::ZERO,
            asks,
            quic,
            begun: vec![false; connections as usize],
            requests: Vec::new(),
            arrived: BTreeSet::new(),
            taken: BTreeMap::new(),
            streams: BTreeMap::new(),
            datagrams: 0,
            view: SenderView::default(),
        })
    }

    fn report(&mut self, event: AppEvent) {
        self.auditor.application(self.now, 0, event);
    }

    /// Does what the application asks for.
    fn perform(&mut self) {
        while let Some(action) = self.app.take_action() {
            match action {
                Action::Open(connection) => self.requests.push((connection, Packet::OPENING)),
                Action::Begin(connection) => self.begun[connection as usize] = true,
                Action::Request { connection, number } => {
                    let (bytes, object) = (self.app.message_bytes(number), self.app.object(number));
                    self.report(AppEvent::Request { connection, message: number, bytes, object });
                    self.requests.push((connection, number));
                }
                Action::Data(connection) => assert!((connection as usize) < self.begun.len()),
                Action::Finish { connection, stream } => {
                    assert!(self.quic);
                    if let Some(stream) = self.streams.get_mut(&(connection, stream)) {
                        stream.finished = true;
                    }
                }
                Action::Reset { connection, stream } => {
                    assert!(self.quic);
                    self.report(AppEvent::Reset { connection, stream });
                    self.streams.entry((connection, stream)).or_default().reset = true;
                }
                Action::StopSending { connection, stream } => {
                    self.report(AppEvent::Stop { connection, stream });
                    let stream = self.streams.get_mut(&(connection, stream)).expect("a stream with bytes");
                    stream.stopped = true;
                }
                Action::Datagram { number, .. } => {
                    assert_eq!(number, self.datagrams);
                    self.datagrams += 1;
                }
            }
        }
    }

    /// The next timer expires.
    fn expire(&mut self) {
        let next = self.app.next_at();
        if next < Time::NEVER {
            self.now = self.now.max(next);
            self.app.on_timer(self.now, &self.view);
            assert!(self.app.next_at() > self.now, "a timer stays");
        }
    }

    /// A request arrives; with `again` a copy of it follows.
    fn deliver_request(&mut self, which: usize, again: bool) {
        if self.requests.is_empty() {
            return;
        }
        let place = which % self.requests.len();
        let (connection, number) = self.requests[place];
        if !again {
            self.requests.swap_remove(place);
        }
        if number == Packet::OPENING {
            self.begun[connection as usize] = true;
        } else {
            self.arrived.insert(number);
            self.app.on_request(self.now, number);
        }
    }

    /// The transport of a connection takes a piece.
    fn pull(&mut self, connection: u32, most: u64) {
        if !self.begun[connection as usize] {
            return;
        }
        let waits = self.app.has_data(connection);
        let piece = self.app.take_piece(connection, most);
        assert_eq!(piece.is_some(), waits);
        let Some(piece) = piece else { return };
        assert!((1..=most).contains(&piece.bytes), "{piece:?}");
        assert!(!self.asks || self.arrived.contains(&piece.message), "{piece:?} was not asked for");
        let taken = self.taken.entry(piece.message).or_default();
        *taken += piece.bytes;
        let all = *taken == self.app.message_bytes(piece.message);
        assert!(piece.endless || piece.ends == all, "{piece:?} after {taken}");
        let stream = self.streams.entry((connection, piece.stream)).or_default();
        assert!(!stream.finished, "{piece:?} after the end of its stream");
        if stream.reset {
            return; // the transport takes nothing of it
        }
        stream.written += piece.bytes;
        stream.finished |= piece.finishes;
        self.report(piece.event(connection));
    }

    /// More bytes of a stream arrive, or its end.
    fn deliver(&mut self, which: usize, bytes: u64) {
        let now = self.now;
        let live = |stream: &Stream| !stream.over && (stream.written > stream.arrived || stream.reset);
        let places: Vec<(u32, u32)> =
            self.streams.iter().filter(|(_, stream)| live(stream)).map(|(place, _)| *place).collect();
        if places.is_empty() {
            return;
        }
        let (connection, number) = places[which % places.len()];
        let stream = self.streams.get_mut(&(connection, number)).expect("one of them");
        let arrives = bytes.min(stream.written - stream.arrived);
        stream.arrived += arrives;
        let (arrived, stopped) = (stream.arrived, stream.stopped);
        let finished = stream.finished && stream.arrived == stream.written;
        let reset = stream.reset && (arrives == 0 || bytes.is_multiple_of(2));
        stream.over = finished || reset;
        let over = stream.over;
        if stopped {
            // The client reads no more. Its transport has all of it, or the server resets it.
            if over && !reset {
                self.app.on_acknowledged(number);
            }
            return;
        }
        self.report(AppEvent::Progress { connection, stream: number, bytes: arrived });
        self.app.on_connected(now, connection);
        self.app.on_progress(now, connection, number, arrived);
        if over && self.quic {
            self.app.on_stream_end(connection, number, reset);
        }
    }

    /// A request for the reset of a stream arrives.
    fn stop(&mut self, which: usize) {
        let stopped: Vec<u32> = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.stopped && !stream.reset && !stream.over)
            .map(|((_, number), _)| *number)
            .collect();
        if !stopped.is_empty() {
            self.app.on_stopped(stopped[which % stopped.len()]);
        }
    }

    /// Nothing is left of the rules at the end.
    fn close(mut self) {
        let facts = AppFacts { counted: [Time::ZERO, Time::NEVER], end: self.now, changes: false };
        let outcome = self.app.audited(&facts);
        for (number, message) in outcome.messages.iter().enumerate() {
            let taken = self.taken.get(&(number as u32)).copied().unwrap_or(0);
            assert!(taken <= message.bytes, "message {number}: {message:?}, {taken} taken");
        }
        self.auditor.close_application(0, self.now, &outcome);
        let (violations, count) = self.auditor.close(self.now, &[]);
        assert_eq!(count, 0, "{violations:#?}");
    }
}

/// Calls an application as the bytes say.
pub(crate) fn drive(data: &[u8]) {
    let [first, calls @ ..] = data else { return };
    let (app, quic) = APPLICATIONS[*first as usize % APPLICATIONS.len()];
    let Some(mut model) = Model::new(app, quic) else { return };
    for call in calls.chunks_exact(3).take(5_000) {
        let (which, size) = (call[1] as usize, u64::from(call[2]));
        match call[0] % 8 {
            0 => model.expire(),
            1 => {
                // Up to the next timer.
                let later = model.now + Span::from_ps((1 + size) << (which % 32));
                model.now = later.min(model.app.next_at()).max(model.now);
            }
            2 => model.deliver_request(which, size > 200),
            3 | 4 => model.pull((which % model.begun.len()) as u32, 1 + size * 16),
            5 => model.deliver(which, 1 + size * 16),
            6 => model.stop(which),
            _ if which % 4 == 0 => {
                let pacing = (size > 100).then(|| Rate::from_bps(size * 40_000));
                let smoothed_rtt = (which > 0).then(|| Span::from_ms(1 + size));
                model.view =
                    SenderView { window: 1448.0 * size as f64, smoothed_rtt, pacing, unsent: size * 100 };
            }
            _ => model.app.on_datagram(model.now, (which as u32) % (model.datagrams + 1)),
        }
        model.perform();
    }
    model.close();
}
