//! Applications under audit: what they ask for, what their transports take, what arrives, and what the outcome says of it.
//!
//! The auditor knows the stream of each connection from what the transport takes and from how far it has arrived; over TCP it
//! counts the segments that the network delivers. It calculates the least time of a message, and the playing of a video, by itself.

use super::violation::Violation;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use units::{PS_PER_S, Rate, Span, Time};

/// What happens in an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppEvent {
    /// The client of a connection sends the request for a message of `bytes` bytes, perhaps again.
    Request {
        /// Index of the connection.
        connection: u32,
        /// Number of the message.
        message: u32,
        /// Its size.
        bytes: u64,
        /// The object of a page that it carries.
        object: Option<u32>,
    },
    /// The transport of a connection takes bytes of a message.
    Write {
        /// Index of the connection.
        connection: u32,
        /// Number of the message.
        message: u32,
        /// The stream that carries them.
        stream: u32,
        /// How many.
        bytes: u64,
    },
    /// So many bytes of a stream have reached the client in order.
    Progress {
        /// Index of the connection.
        connection: u32,
        /// The stream.
        stream: u32,
        /// Bytes since its beginning.
        bytes: u64,
    },
    /// The server resets a stream.
    Reset {
        /// Index of the connection.
        connection: u32,
        /// The stream.
        stream: u32,
    },
    /// The client reads no more of a stream, and asks for its reset.
    Stop {
        /// Index of the connection.
        connection: u32,
        /// The stream.
        stream: u32,
    },
}

/// A link of a path: its rate, its propagation delay, and the bytes that it adds to a packet.
pub type AuditedHop = (Rate, Span, u32);

/// The empty path of an application.
#[derive(Clone, Debug)]
pub struct AuditedPath {
    /// From the server to the client.
    pub links: Vec<AuditedHop>,
    /// From the client to the server.
    pub back: Vec<AuditedHop>,
    /// Bytes of data in a full packet.
    pub segment: u32,
    /// What a packet has besides.
    pub header: u32,
    /// All packets of a message but the last are full (TCP).
    pub full: bool,
}

/// An object of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditedObject {
    /// Its size.
    pub bytes: u64,
    /// The object from which it is known.
    pub parent: Option<u32>,
    /// Time from the end of its parent to its request.
    pub parse: Span,
}

/// What a player meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlayerEvent {
    /// The last byte of a chunk.
    Chunk,
    /// The viewer asks for nothing more.
    Stop,
    /// The end of the run.
    End,
}

/// A player.
#[derive(Clone, Copy, Debug)]
pub struct AuditedPlayer {
    /// Playing time of a chunk.
    pub chunk: Span,
    /// Chunks in all.
    pub chunks: u64,
    /// The most playing time in the buffer.
    pub buffer: Span,
    /// Playing time in the buffer at which playing begins, and begins again.
    pub thresholds: [Span; 2],
}

/// The connection of an application over TCP, as the auditor sees it in the packets.
#[derive(Clone, Copy, Debug)]
pub struct AuditedTcp {
    /// Segment 0 has no data.
    pub syn: bool,
    /// What a segment has besides its data, bytes.
    pub header: u32,
}

/// The properties of an application that the auditor checks.
#[derive(Clone, Debug, Default)]
pub struct AuditedApp {
    /// The name of its first flow.
    pub name: String,
    /// Numbers of the flows of its connections.
    pub flows: Vec<u32>,
    /// When it starts.
    pub start: Time,
    /// When it stops, if it does.
    pub stop: Option<Time>,
    /// Its messages are responses.
    pub asks: bool,
    /// Payload of a request, and of the request of the set-up, bytes.
    pub request: [u32; 2],
    /// The packets of requests arrive over links, so that the auditor sees them.
    pub requests_seen: bool,
    /// Time from the arrival of a request to its response.
    pub service: Span,
    /// The most requests under way on a connection.
    pub outstanding: Option<u32>,
    /// Its connections are TCP over links.
    pub tcp: Option<AuditedTcp>,
    /// The end of a message is told when its period ends, and not when it arrives.
    pub ends_with_period: bool,
    /// The empty path, if nothing changes it.
    pub path: Option<AuditedPath>,
    /// Frames: the time from capture to arrival.
    pub deadline: Option<Span>,
    /// The objects of a page, and the time from the end of a page to the next one.
    pub page: Option<(Vec<AuditedObject>, Option<Span>)>,
    /// A player.
    pub player: Option<AuditedPlayer>,
}

/// A message, as the application has it at the end.
#[derive(Clone, Copy, Debug)]
pub struct AuditedMessage {
    /// Its size.
    pub bytes: u64,
    /// When it was asked for, captured or written.
    pub start: Time,
    /// When its first byte arrived; [`Time::NEVER`] if none has.
    pub first: Time,
    /// When its last byte arrived.
    pub end: Time,
    /// `finished`, `unfinished`, `cancelled`, `dropped`; of frames `on_time`, `late` in place of `finished`.
    pub state: &'static str,
    /// It belongs to the set-up of a connection.
    pub is_setup: bool,
}

/// What the outcome says of a player: seconds before the first picture since the start of the application, of playing and of stalls; stalls.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuditedPlaying {
    /// From the start of the application to the first picture, or to the end if there is none, seconds.
    pub startup_s: f64,
    /// Media shown, seconds.
    pub played_s: f64,
    /// Interruptions, seconds.
    pub stall_s: f64,
    /// How many.
    pub stalls: u64,
}

/// What the outcome says of an application.
#[derive(Clone, Debug, Default)]
pub struct AuditedOutcome {
    /// Its messages, by number.
    pub messages: Vec<AuditedMessage>,
    /// The part of the run whose messages count.
    pub counted: [Time; 2],
    /// Messages that count, those finished and those unfinished.
    pub counts: [u64; 3],
    /// Frames on time, late, cancelled and dropped.
    pub frames: Option<[u64; 4]>,
    /// What a player has shown.
    pub playing: Option<AuditedPlaying>,
}

/// A message so far.
#[derive(Clone, Debug, Default)]
struct MessageState {
    /// First request: when, and the size that was asked for.
    asked: Option<(Time, u64)>,
    written: u64,
    first_written: Option<Time>,
    /// The stream that carries it.
    stream: Option<(u32, u32)>,
    arrived: u64,
    first_arrived: Option<Time>,
    last_arrived: Option<Time>,
}

impl MessageState {
    /// Whether all that was asked for has arrived.
    fn is_complete(&self) -> bool {
        self.asked.is_some_and(|(_, bytes)| self.arrived >= bytes)
    }
}

/// A stream so far.
#[derive(Clone, Debug, Default)]
struct StreamState {
    written: u64,
    arrived: u64,
    /// Bytes of messages that have not arrived, in the order of the stream.
    under_way: VecDeque<(u32, u64)>,
    reset: bool,
    /// The client reads no more.
    stopped: bool,
}

/// The segments of a TCP flow that have arrived.
#[derive(Clone, Debug, Default)]
struct Segments {
    next: u32,
    beyond: BTreeMap<u32, u64>,
    /// Data of the segments before `next`.
    bytes: u64,
}

/// The page that is being loaded.
#[derive(Clone, Debug, Default)]
struct PageState {
    asked: BTreeSet<u32>,
    complete: BTreeMap<u32, Time>,
    /// The end of the page before it.
    last_end: Option<Time>,
}

/// An application so far.
#[derive(Clone, Debug)]
struct AppState {
    messages: BTreeMap<u32, MessageState>,
    streams: BTreeMap<(u32, u32), StreamState>,
    segments: Vec<Segments>,
    /// The last progress of each connection over TCP.
    progress: Vec<u64>,
    /// Requests under way on each connection.
    under_way: Vec<u32>,
    /// When each request has reached the server: connection and number.
    requests: BTreeMap<(u32, u32), Time>,
    objects: BTreeMap<u32, u32>,
    page: PageState,
}

/// The applications of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Applications {
    apps: Vec<(AuditedApp, AppState)>,
    /// Application and connection of each flow that has one.
    places: BTreeMap<u32, (usize, u32)>,
    /// Events whose time can have further packet events.
    queue: VecDeque<(Time, u32, AppEvent)>,
    /// Applications of which bytes have arrived at the time of the event that was processed last.
    progressed: BTreeSet<usize>,
    violations: Vec<Violation>,
}

impl Applications {
    pub(super) fn add(&mut self, app: AuditedApp) {
        let number = self.apps.len();
        for (connection, flow) in app.flows.iter().enumerate() {
            self.places.insert(*flow, (number, connection as u32));
        }
        let connections = app.flows.len();
        let state = AppState {
            messages: BTreeMap::new(),
            streams: BTreeMap::new(),
            segments: vec![Segments::default(); connections],
            progress: vec![0; connections],
            under_way: vec![0; connections],
            requests: BTreeMap::new(),
            objects: BTreeMap::new(),
            page: PageState::default(),
        };
        self.apps.push((app, state));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.apps.is_empty()
    }

    /// An event of application `app`. Events must be in the order of time.
    pub(super) fn push(&mut self, at: Time, app: u32, event: AppEvent) {
        self.queue.push_back((at, app, event));
    }

    /// A segment of data of `size` bytes on the wire has reached the receiver of a flow.
    pub(super) fn data_arrived(&mut self, flow: u32, seq: u32, size: u32) {
        let Some((app, connection)) = self.places.get(&flow) else { return };
        let (app, state) = &mut self.apps[*app];
        let Some(tcp) = app.tcp else { return };
        let segments = &mut state.segments[*connection as usize];
        let data = if seq == 0 && tcp.syn { 0 } else { u64::from(size.saturating_sub(tcp.header)) };
        if seq >= segments.next {
            segments.beyond.insert(seq, data);
        }
        while let Some(data) = segments.beyond.remove(&segments.next) {
            segments.bytes += data;
            segments.next += 1;
        }
    }

    /// A request of a flow has reached its server.
    pub(super) fn request_arrived(&mut self, at: Time, flow: u32, number: u32) {
        if let Some((app, connection)) = self.places.get(&flow) {
            self.apps[*app].1.requests.entry((*connection, number)).or_insert(at);
        }
    }

    /// Processes the events before `until`: all packet events of their times are known.
    pub(super) fn process(&mut self, until: Time) {
        while self.queue.front().is_some_and(|(at, ..)| *at < until)
            && let Some((at, number, event)) = self.queue.pop_front()
        {
            let (app, state) = &mut self.apps[number as usize];
            let mut report = |rule, what: String| {
                self.violations.push(Violation { at, rule, what: format!("{}: {what}", app.name) });
            };
            state.event(app, at, event, &mut report);
            if matches!(event, AppEvent::Progress { .. }) {
                self.progressed.insert(number as usize);
            }
            if self.queue.front().is_none_or(|(next, ..)| *next > at) {
                for number in std::mem::take(&mut self.progressed) {
                    self.check_progress(at, number);
                }
            }
        }
    }

    /// All that has arrived up to a time over the connections of an application is reported at this time.
    fn check_progress(&mut self, at: Time, number: usize) {
        let (app, state) = &self.apps[number];
        let each = state.progress.iter().zip(&state.segments).enumerate();
        for (connection, (progress, segments)) in each.filter(|_| app.tcp.is_some()) {
            if *progress != segments.bytes {
                let what = format!(
                    "{}: connection {connection} has delivered {} bytes and reported {progress}",
                    app.name, segments.bytes
                );
                self.violations.push(Violation { at, rule: "message bytes", what });
            }
        }
    }

    /// Compares what the outcome says of application `number` with its events.
    pub(super) fn close(&mut self, number: usize, end: Time, outcome: &AuditedOutcome) {
        self.process(Time::NEVER);
        self.check_progress(end, number);
        let (app, state) = &self.apps[number];
        let mut report = |at, rule, what: String| {
            self.violations.push(Violation { at, rule, what: format!("{}: {what}", app.name) });
        };
        state.check_messages(app, outcome, &mut report);
        state.check_counts(app, outcome, |what| report(end, "message counts", what));
        if let (Some(player), Some(playing)) = (&app.player, &outcome.playing)
            && let Err(what) = state.check_player(app, player, playing, outcome, end)
        {
            report(end, "player", what);
        }
    }

    /// The violations since the last call.
    pub(super) fn take_violations(&mut self) -> Vec<Violation> {
        std::mem::take(&mut self.violations)
    }
}

impl AppState {
    fn event(
        &mut self,
        app: &AuditedApp,
        at: Time,
        event: AppEvent,
        report: &mut impl FnMut(&'static str, String),
    ) {
        match event {
            AppEvent::Request { connection, message, bytes, object } => {
                if self.messages.get(&message).is_some_and(|known| known.asked.is_some()) {
                    return; // it is repeated
                }
                let under_way = &mut self.under_way[connection as usize];
                *under_way += 1;
                if app.outstanding.is_some_and(|most| *under_way > most) {
                    report(
                        "outstanding",
                        format!("{under_way} requests are under way on connection {connection}"),
                    );
                }
                self.messages.entry(message).or_default().asked = Some((at, bytes));
                if let Some(object) = object {
                    self.objects.insert(message, object);
                    self.ask_object(app, at, object, bytes, report);
                }
            }
            AppEvent::Write { connection, message, stream, bytes } => {
                self.write(app, at, [connection, message, stream], bytes, report);
            }
            AppEvent::Progress { connection, stream, bytes } => {
                self.progress(app, at, [connection, stream], bytes, report);
            }
            AppEvent::Reset { connection, stream } => {
                self.streams.entry((connection, stream)).or_default().reset = true;
            }
            AppEvent::Stop { connection, stream } => {
                self.streams.entry((connection, stream)).or_default().stopped = true;
            }
        }
    }

    /// An object of a page is asked for.
    fn ask_object(
        &mut self,
        app: &AuditedApp,
        at: Time,
        object: u32,
        bytes: u64,
        report: &mut impl FnMut(&'static str, String),
    ) {
        let Some((objects, repeat)) = &app.page else { return };
        let Some(known) = objects.get(object as usize) else {
            return report("page", format!("object {object} does not exist"));
        };
        if known.bytes != bytes {
            report("page", format!("object {object} has {} bytes, and {bytes} are asked for", known.bytes));
        }
        if !self.page.asked.insert(object) {
            report("page", format!("object {object} is asked for twice"));
        }
        let permitted = match known.parent {
            Some(parent) => self.page.complete.get(&parent).map(|end| *end + known.parse),
            None => match (self.page.last_end, repeat) {
                (None, _) => Some(app.start + known.parse),
                (Some(end), Some(repeat)) => Some(end + *repeat + known.parse),
                (Some(_), None) => None,
            },
        };
        if permitted.is_none_or(|permitted| at < permitted) {
            report("page", format!("object {object} is asked for before its parent, or its page"));
        }
    }

    fn write(
        &mut self,
        app: &AuditedApp,
        at: Time,
        [connection, message, stream]: [u32; 3],
        bytes: u64,
        report: &mut impl FnMut(&'static str, String),
    ) {
        let known = self.messages.entry(message).or_default();
        known.written += bytes;
        known.first_written.get_or_insert(at);
        if known.stream.is_some_and(|other| other != (connection, stream)) {
            report("message bytes", format!("message {message} is on two streams"));
        }
        known.stream = Some((connection, stream));
        match known.asked {
            Some((_, size)) if known.written > size => {
                report("message bytes", format!("{} bytes of message {message} of {size}", known.written));
            }
            None if app.asks => report("request", format!("message {message} was not asked for")),
            _ => {}
        }
        if app.asks && app.requests_seen {
            let arrived = self.requests.get(&(connection, message));
            if arrived.is_none_or(|arrived| at < *arrived + app.service) {
                report(
                    "request",
                    format!("message {message} begins before its request has arrived, or is served"),
                );
            }
        }
        let stream_state = self.streams.entry((connection, stream)).or_default();
        if stream_state.reset && bytes > 0 {
            report("reset", format!("{bytes} bytes of stream {stream} are sent after its reset"));
        }
        stream_state.written += bytes;
        match stream_state.under_way.back_mut() {
            Some((last, left)) if *last == message => *left += bytes,
            _ => stream_state.under_way.push_back((message, bytes)),
        }
    }

    fn progress(
        &mut self,
        app: &AuditedApp,
        at: Time,
        [connection, stream]: [u32; 2],
        bytes: u64,
        report: &mut impl FnMut(&'static str, String),
    ) {
        if app.tcp.is_some() {
            self.progress[connection as usize] = bytes;
        }
        let known = self.streams.entry((connection, stream)).or_default();
        if bytes < known.arrived {
            return report(
                "message bytes",
                format!("stream {stream} goes back from {} to {bytes}", known.arrived),
            );
        }
        if bytes > known.written {
            return report(
                "message bytes",
                format!("{bytes} bytes of stream {stream} arrive, and {} were written", known.written),
            );
        }
        let mut new = bytes - known.arrived;
        if known.stopped && new > 0 {
            report("reset", format!("{new} bytes of stream {stream} arrive, which the client reads no more"));
        }
        known.arrived = bytes;
        while new > 0
            && let Some((message, left)) = known.under_way.front_mut()
        {
            let (message, part) = (*message, new.min(*left));
            (*left, new) = (*left - part, new - part);
            if *left == 0 {
                known.under_way.pop_front();
            }
            let Some(state) = self.messages.get_mut(&message) else { continue };
            state.arrived += part;
            state.first_arrived.get_or_insert(at);
            state.last_arrived = Some(at);
            if state.is_complete() {
                self.under_way[connection as usize] -= 1;
                let object = self.objects.get(&message);
                if let (Some(object), Some((objects, _))) = (object, &app.page) {
                    self.page.complete.insert(*object, at);
                    if self.page.complete.len() == objects.len() {
                        self.page = PageState { last_end: Some(at), ..PageState::default() };
                    }
                }
            }
        }
    }

    /// Checks size, times and state of every message.
    fn check_messages(
        &self,
        app: &AuditedApp,
        outcome: &AuditedOutcome,
        report: &mut impl FnMut(Time, &'static str, String),
    ) {
        let unknown = MessageState::default();
        let mut least = BTreeMap::new();
        for (number, message) in outcome.messages.iter().enumerate() {
            let seen = self.messages.get(&(number as u32)).unwrap_or(&unknown);
            let AuditedMessage { bytes, start, first, end, state, is_setup } = *message;
            let mut wrong = |rule, what: &str| report(start, rule, format!("message {number} {what}"));
            if app.asks && seen.asked != Some((start, bytes)) {
                wrong(
                    "request",
                    &format!("starts at another time than its request: {message:?}, {:?}", seen.asked),
                );
            }
            if seen.first_written.is_some_and(|written| written < start) {
                wrong("message time", "is written before it starts");
            }
            if seen.written > bytes || seen.arrived > seen.written {
                wrong("message bytes", &format!("has {bytes} bytes: {seen:?}"));
            }
            let complete = seen.arrived == bytes && (bytes > 0 || state == "finished");
            let finished = matches!(state, "finished" | "on_time" | "late");
            let may_go_on = app.ends_with_period && state == "unfinished";
            if complete != finished && !may_go_on {
                wrong(
                    "message bytes",
                    &format!("is {state}, and {} of {bytes} bytes have arrived", seen.arrived),
                );
            }
            if first != seen.first_arrived.unwrap_or(Time::NEVER) {
                wrong(
                    "message time",
                    &format!("begins at another time than its first byte: {message:?} {seen:?}"),
                );
            }
            let last = seen.last_arrived.unwrap_or(start);
            if finished && (end < last || end > last && !app.ends_with_period) {
                wrong(
                    "message time",
                    &format!("ends at another time than its last byte: {message:?} {seen:?}"),
                );
            }
            let is_reset = || {
                seen.stream
                    .and_then(|stream| self.streams.get(&stream))
                    .is_some_and(|stream| stream.reset || stream.stopped)
            };
            match (state, app.deadline) {
                ("on_time" | "late", Some(deadline))
                    if (state == "on_time") != (end.since(start) <= deadline) =>
                {
                    wrong("frame state", &format!("is {state} after {} ps", end.since(start).ps()));
                }
                ("on_time" | "late", None) | ("finished", Some(_)) => {
                    wrong("frame state", &format!("is {state}"))
                }
                ("dropped", _) if seen.written > 0 => wrong("frame state", "is dropped and was written"),
                ("cancelled", _) if seen.written > 0 && !is_reset() => {
                    wrong("frame state", "is cancelled, and its stream was not reset");
                }
                _ => {}
            }
            if let (Some(path), true) = (&app.path, finished && bytes > 0) {
                let request = app.asks.then_some(app.request[is_setup as usize]);
                let least = *least.entry((bytes, request)).or_insert_with(|| path.least_time(bytes, request));
                if end < start + least {
                    let what = format!(
                        "of {bytes} bytes takes {} ps, at least {}",
                        end.since(start).ps(),
                        least.ps()
                    );
                    wrong("message time", &what);
                }
            }
        }
        for (number, seen) in &self.messages {
            if *number as usize >= outcome.messages.len() {
                report(
                    seen.first_written.unwrap_or(Time::ZERO),
                    "message bytes",
                    format!("message {number} is not known"),
                );
            }
        }
    }

    /// Checks the counts of the outcome.
    fn check_counts(&self, app: &AuditedApp, outcome: &AuditedOutcome, mut wrong: impl FnMut(String)) {
        let counted = |message: &&AuditedMessage| {
            !message.is_setup && (outcome.counted[0]..outcome.counted[1]).contains(&message.start)
        };
        let count = |states: &[&str]| {
            let messages = outcome.messages.iter().filter(counted);
            messages.filter(|message| states.contains(&message.state)).count() as u64
        };
        let all = outcome.messages.iter().filter(counted).count() as u64;
        let expected = [all, count(&["finished", "on_time", "late"]), count(&["unfinished"])];
        if outcome.counts != expected {
            wrong(format!("messages, finished, unfinished: {:?}, counted {expected:?}", outcome.counts));
        }
        if app.deadline.is_some() {
            let frames = outcome.frames.unwrap_or_default();
            if frames.iter().sum::<u64>() + outcome.counts[2] != all {
                wrong(format!(
                    "{all} frames: on time, late, cancelled, dropped {frames:?}, unfinished {}",
                    outcome.counts[2]
                ));
            }
            let expected = ["on_time", "late", "cancelled", "dropped"].map(|state| count(&[state]));
            if frames != expected {
                wrong(format!("frames {frames:?}, counted {expected:?}"));
            }
        }
        let (asked, answered) = self.messages.values().fold((0, 0), |(asked, answered), message| {
            (asked + u64::from(message.asked.is_some()), answered + u64::from(message.is_complete()))
        });
        let setups = outcome.messages.iter().filter(|message| message.is_setup).count() as u64;
        if answered > asked
            || app.asks && asked != outcome.messages.len() as u64
            || setups > app.flows.len() as u64
        {
            wrong(format!(
                "{asked} requests, {answered} answers, {} messages, {setups} of the set-up",
                outcome.messages.len()
            ));
        }
    }

    /// Plays the video with the chunks that have arrived.
    fn check_player(
        &self,
        app: &AuditedApp,
        player: &AuditedPlayer,
        playing: &AuditedPlaying,
        outcome: &AuditedOutcome,
        end: Time,
    ) -> Result<(), String> {
        let chunks = outcome.messages.iter().enumerate().filter(|(_, message)| !message.is_setup);
        let seen: Vec<&MessageState> =
            chunks.filter_map(|(number, _)| self.messages.get(&(number as u32))).collect();
        if seen.is_empty() {
            return Ok(()); // the connection was not opened
        }
        let (mut now, mut buffer) = (app.start, Span::ZERO);
        let (mut startup, mut played, mut stalled, mut stalls) = (Span::ZERO, Span::ZERO, Span::ZERO, 0);
        let (mut begun, mut plays, mut arrived) = (false, false, 0);
        let ends = seen.iter().filter(|chunk| chunk.is_complete()).filter_map(|chunk| chunk.last_arrived);
        let stop = app.stop.filter(|stop| (app.start..end).contains(stop));
        let mut events: Vec<(Time, PlayerEvent)> = ends.map(|at| (at, PlayerEvent::Chunk)).collect();
        events.extend(stop.map(|at| (at, PlayerEvent::Stop)));
        events.sort_by_key(|(at, event)| (*at, *event != PlayerEvent::Stop)); // timers come first
        events.push((end, PlayerEvent::End));
        let mut chunks = player.chunks;
        for (at, event) in events {
            let elapsed = at.since(now);
            now = now.max(at);
            if plays {
                let shown = elapsed.min(buffer);
                (buffer, played) = (buffer - shown, played + shown);
                let over = arrived == chunks && buffer == Span::ZERO;
                if elapsed > shown && !over {
                    (plays, stalls, stalled) = (false, stalls + 1, stalled + (elapsed - shown));
                }
            } else if begun {
                stalled = stalled + elapsed;
            } else {
                startup = startup + elapsed;
            }
            if event == PlayerEvent::Stop {
                // What was asked for still comes, and what is in the buffer is shown.
                chunks = seen.len() as u64;
                (plays, begun) = (plays || arrived == chunks, begun || arrived == chunks);
            }
            if event == PlayerEvent::Chunk {
                (buffer, arrived) = (buffer + player.chunk, arrived + 1);
                if buffer > player.buffer {
                    return Err(format!("the buffer has {} ps of media at {} s", buffer.ps(), at.seconds()));
                }
                let full = buffer + player.chunk > player.buffer || arrived == chunks;
                if !plays && (full || buffer >= player.thresholds[begun as usize]) {
                    (plays, begun) = (true, true);
                }
            }
        }
        let expected = [startup, played, stalled].map(Span::seconds);
        let told = [playing.startup_s, playing.played_s, playing.stall_s];
        let differs = expected.iter().zip(told).any(|(expected, told)| (expected - told).abs() > 1e-9);
        if differs || stalls != playing.stalls {
            return Err(format!(
                "startup, playing, stalls {told:?} ({}), played {expected:?} ({stalls})",
                playing.stalls
            ));
        }
        let total: f64 = told.iter().sum();
        let ended = arrived == chunks && buffer == Span::ZERO;
        if !ended && (total - end.since(app.start).seconds()).abs() > 1e-9 {
            return Err(format!(
                "startup, playing and stalls are {total} s of {} s",
                end.since(app.start).seconds()
            ));
        }
        Ok(())
    }
}

impl AuditedPath {
    /// The least time from the start of a message, or of a request with so many bytes of payload, to the last byte of the message.
    fn least_time(&self, bytes: u64, request: Option<u32>) -> Span {
        // A transmission takes its time to the nearest picosecond.
        let time = |(rate, _, added): &AuditedHop, size: u64| {
            let bits = u128::from(size + u64::from(*added)) * 8;
            (bits * u128::from(PS_PER_S) / u128::from(rate.bps().max(1))) as u64
        };
        let (segment, header) = (u64::from(self.segment.max(1)), u64::from(self.header));
        let asked = request.map_or(0, |payload| {
            self.back.iter().map(|hop| time(hop, u64::from(payload) + header) + hop.1.ps()).sum()
        });
        let packets = bytes.div_ceil(segment);
        let delivered = if self.full {
            // Packet by packet and link by link.
            let mut free = vec![0u64; self.links.len()];
            for packet in 0..packets {
                let size = (bytes - packet * segment).min(segment) + header;
                let mut at = 0;
                for (free, hop) in free.iter_mut().zip(&self.links) {
                    *free = at.max(*free) + time(hop, size);
                    at = *free + hop.1.ps();
                }
            }
            free.last().zip(self.links.last()).map_or(0, |(free, hop)| free + hop.1.ps())
        } else {
            // Packets can have any size: all bytes over one link, and the least packet over the others.
            let least: Vec<u64> = self.links.iter().map(|hop| time(hop, header + 1)).collect();
            let wire = bytes + packets * header;
            let slowest = self.links.iter().zip(&least).map(|(hop, least)| time(hop, wire) - least).max();
            let delays: u64 = self.links.iter().map(|hop| hop.1.ps()).sum();
            slowest.unwrap_or(0) + least.iter().sum::<u64>() + delays
        };
        Span::from_ps(asked + delivered)
    }
}

#[cfg(test)]
mod tests;
