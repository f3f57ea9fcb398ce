//! What all kinds of applications have in common: messages, connections, requests and their repetition, timers.

use super::outgoing::{Outgoing, Pending, Piece, SendOrder, StreamLog};
use cc::detmath;
use engine::Stream;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use transport::SendLimit;
use units::{Span, Time};

/// Size of the packet that opens a connection, bytes on the wire.
pub const OPENING_SIZE: u32 = 60;
/// Payload of the request of the set-up of TLS, bytes.
pub const SETUP_REQUEST: u32 = 300;
/// How often a lost request is repeated.
const MOST_REPEATS: u32 = 6;

/// The state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageState {
    /// It has not arrived wholly.
    Unfinished,
    Finished,
    /// Its stream was reset.
    Cancelled,
    /// It was not given to the transport.
    Dropped,
}

/// What an application waits for: a response, an object, a chunk, a frame, a write.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub bytes: u64,
    /// When it was asked for, captured or written.
    pub start: Time,
    /// When its first byte reached the receiving application in order; [`Time::NEVER`] before.
    pub first: Time,
    /// When its last byte did.
    pub end: Time,
    pub state: MessageState,
    /// Index of its connection.
    pub connection: u32,
    /// The server has its request, or it needs none.
    pub request_arrived: bool,
    /// It is part of the set-up of a connection: no metric counts it.
    pub is_setup: bool,
}

/// The times under each limit of a sender.
pub type LimitSpans = [Span; SendLimit::NAMES.len()];

/// When a message passed from hand to hand, for explanations; [`Time::NEVER`] before.
#[derive(Clone, Copy, Debug)]
pub struct Handover {
    /// Its request reached the server.
    pub requested: Time,
    /// The server had its data.
    pub ready: Time,
    /// The transport took its last byte.
    pub taken: Time,
    /// The times under each limit of the sender when the data was ready, and when the last byte was taken.
    pub limits: [LimitSpans; 2],
    /// TCP: number of the segment with its last byte.
    pub segment: u32,
}

impl Handover {
    const NONE: Handover = Handover {
        requested: Time::NEVER,
        ready: Time::NEVER,
        taken: Time::NEVER,
        limits: [[Span::ZERO; SendLimit::NAMES.len()]; 2],
        segment: 0,
    };
}

/// What a timer of an application is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// The application begins.
    Start,
    /// The application starts nothing new from now on.
    Stop,
    /// The opening packet of a connection has no answer: connection, how often it was sent.
    Reopen(u32, u32),
    /// A request has no answer: message, how often it was sent.
    Repeat(u32, u32),
    /// The server has prepared a message.
    Serve(u32),
    /// The client has thought: connection.
    Think(u32),
    /// The source writes, or begins or ends a period.
    Source,
    /// An object of a page can be asked for.
    Object(u32),
    /// The next page begins.
    Page,
    /// The player may ask for the next chunk.
    Player,
    /// A frame of a track is captured.
    Capture(u32),
    /// The last moment at which a frame can leave and be in time: message.
    Leave(u32),
    /// The next audio packet.
    Audio,
}

/// What the simulation does for an application, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The client of a connection sends its opening packet, or if the transport has no handshake, the server opens: connection.
    Open(u32),
    /// The server of a connection opens: connection.
    Begin(u32),
    /// The client of a connection sends request `number`.
    Request { connection: u32, number: u32 },
    /// There is data for a connection.
    Data(u32),
    /// The server ends a stream of a connection with what it has written.
    Finish { connection: u32, stream: u32 },
    /// The server resets a stream of a connection.
    Reset { connection: u32, stream: u32 },
    /// The client asks the server to reset a stream.
    StopSending { connection: u32, stream: u32 },
    /// The server sends a datagram of so many bytes.
    Datagram { connection: u32, number: u32, bytes: u32 },
}

/// The state of a connection at its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionState {
    /// Nobody has opened it.
    Closed,
    Opening,
    /// The exchange of TLS is under way.
    Setup,
    Ready,
}

/// A connection of an application: a flow.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Number of its flow.
    pub flow: u32,
    state: ConnectionState,
    /// What its server has to send.
    pub out: Outgoing,
    /// Streams with bytes that have not arrived.
    streams: BTreeMap<u32, StreamLog>,
    next_stream: u32,
}

/// The options that all kinds have in common.
#[derive(Clone, Debug)]
pub struct CommonOptions {
    /// Payload of a request, bytes.
    pub request: u32,
    /// When a request without an answer is repeated.
    pub request_timeout: Span,
    /// The client opens connections, and not the server.
    pub client_opens: bool,
    /// Bytes of the first message of a connection, which its client asks for before all others; `None` for none.
    pub certificate: Option<u64>,
    /// The transport is QUIC: a message can have a stream of its own.
    pub streams: bool,
}

/// The state that all kinds of applications have.
#[derive(Clone, Debug)]
pub struct Core {
    pub options: CommonOptions,
    pub connections: Vec<Connection>,
    pub messages: Vec<Message>,
    pub actions: VecDeque<Action>,
    timers: BinaryHeap<Reverse<(Time, u64, Timer)>>,
    timers_set: u64,
    /// The application starts nothing new.
    pub stopped: bool,
    pub requests_repeated: u64,
    /// Of each message, if they are recorded.
    pub handovers: Option<Vec<Handover>>,
}

impl Core {
    /// An application over the flows with these numbers.
    pub fn new(options: CommonOptions, flows: &[u32], order: SendOrder) -> Core {
        let connection = |flow: &u32| Connection {
            flow: *flow,
            state: ConnectionState::Closed,
            out: Outgoing::new(order),
            streams: BTreeMap::new(),
            next_stream: 0,
        };
        Core {
            options,
            connections: flows.iter().map(connection).collect(),
            messages: Vec::new(),
            actions: VecDeque::new(),
            timers: BinaryHeap::new(),
            timers_set: 0,
            stopped: false,
            requests_repeated: 0,
            handovers: None,
        }
    }

    // ---- timers -----------------------------------------------------------------------------------------

    /// Sets a timer. Those of one time expire in the order in which they were set.
    pub fn at(&mut self, at: Time, timer: Timer) {
        if at < Time::NEVER {
            self.timers_set += 1;
            self.timers.push(Reverse((at, self.timers_set, timer)));
        }
    }

    /// When the next timer expires.
    pub fn next_at(&self) -> Time {
        self.timers.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    /// When the next timer of this kind expires.
    pub fn next_of(&self, kind: impl Fn(&Timer) -> bool) -> Option<Time> {
        let times = self.timers.iter().filter(|Reverse((_, _, timer))| kind(timer));
        times.map(|Reverse((at, ..))| *at).min()
    }

    /// The next timer that has expired at `now`.
    pub fn take_expired(&mut self, now: Time) -> Option<Timer> {
        if self.next_at() > now {
            return None;
        }
        self.timers.pop().map(|Reverse((_, _, timer))| timer)
    }

    // ---- connections ------------------------------------------------------------------------------------

    /// Whether a connection is open and takes requests.
    pub fn is_ready(&self, connection: u32) -> bool {
        self.connections[connection as usize].state == ConnectionState::Ready
    }

    /// Whether nobody has opened a connection.
    pub fn is_closed(&self, connection: u32) -> bool {
        self.connections[connection as usize].state == ConnectionState::Closed
    }

    /// Opens a connection, if that has not happened.
    pub fn open(&mut self, now: Time, connection: u32) {
        let state = &mut self.connections[connection as usize].state;
        if *state != ConnectionState::Closed {
            return;
        }
        *state = ConnectionState::Opening;
        if self.options.client_opens {
            self.actions.push_back(Action::Open(connection));
            self.at(now + self.options.request_timeout, Timer::Reopen(connection, 1));
        } else {
            self.actions.push_back(Action::Begin(connection));
        }
    }

    /// The client of a connection knows that it is open. Returns whether requests can be sent now.
    pub fn connected(&mut self, now: Time, connection: u32) -> bool {
        let state = &mut self.connections[connection as usize].state;
        if *state != ConnectionState::Opening {
            return false;
        }
        if let Some(bytes) = self.options.certificate {
            *state = ConnectionState::Setup;
            let message = self.new_message(now, connection, bytes);
            self.messages[message as usize].is_setup = true;
            self.send_request(now, message, 1);
            return false;
        }
        *state = ConnectionState::Ready;
        true
    }

    /// The client of a connection has the message of its set-up.
    pub fn set_up(&mut self, connection: u32) {
        self.connections[connection as usize].state = ConnectionState::Ready;
    }

    // ---- messages ---------------------------------------------------------------------------------------

    fn new_message(&mut self, now: Time, connection: u32, bytes: u64) -> u32 {
        self.messages.push(Message {
            bytes,
            start: now,
            first: Time::NEVER,
            end: Time::NEVER,
            state: MessageState::Unfinished,
            connection,
            request_arrived: false,
            is_setup: false,
        });
        if let Some(handovers) = &mut self.handovers {
            handovers.push(Handover::NONE);
        }
        self.messages.len() as u32 - 1
    }

    /// The client of a connection asks for a message of `bytes` bytes. Returns its number.
    pub fn ask(&mut self, now: Time, connection: u32, bytes: u64) -> u32 {
        let message = self.new_message(now, connection, bytes);
        self.send_request(now, message, 1);
        message
    }

    fn send_request(&mut self, now: Time, message: u32, times: u32) {
        let connection = self.messages[message as usize].connection;
        self.actions.push_back(Action::Request { connection, number: message });
        self.at(now + self.timeout(times), Timer::Repeat(message, times));
    }

    /// How long the client waits after it has sent a request `times` times.
    fn timeout(&self, times: u32) -> Span {
        Span::from_ps(self.options.request_timeout.ps().saturating_mul(1 << (times - 1)))
    }

    /// Repeats a request that has not reached the server, or an opening packet without an answer.
    pub fn repeat(&mut self, now: Time, timer: Timer) {
        let (waits, times) = match timer {
            // The client's transport knows when the server has it.
            Timer::Repeat(message, times) => (!self.messages[message as usize].request_arrived, times),
            Timer::Reopen(connection, times) => {
                (self.connections[connection as usize].state == ConnectionState::Opening, times)
            }
            _ => return,
        };
        if !waits || times > MOST_REPEATS {
            return;
        }
        self.requests_repeated += 1;
        match timer {
            Timer::Repeat(message, _) => self.send_request(now, message, times + 1),
            Timer::Reopen(connection, _) => {
                self.actions.push_back(Action::Open(connection));
                self.at(now + self.timeout(times + 1), Timer::Reopen(connection, times + 1));
            }
            _ => {}
        }
    }

    /// A request has reached the server. Returns whether it is the first time.
    pub fn requested(&mut self, now: Time, message: u32) -> bool {
        if let Some(handover) = self.handovers.as_mut().and_then(|all| all.get_mut(message as usize)) {
            handover.requested = handover.requested.min(now);
        }
        self.messages
            .get_mut(message as usize)
            .is_some_and(|m| !std::mem::replace(&mut m.request_arrived, true))
    }

    /// The server writes a message that its client has asked for, on a stream of its own if the transport has streams.
    pub fn respond(&mut self, message: u32) {
        let Message { connection, bytes, .. } = self.messages[message as usize];
        let stream = self.new_stream(connection);
        self.send(
            connection,
            Pending { message, stream, left: bytes, priority: 0, finishes: self.options.streams },
        );
    }

    /// The server of a connection writes a message of `bytes` bytes of its own accord. Returns its number.
    pub fn write(&mut self, now: Time, connection: u32, stream: u32, bytes: u64) -> u32 {
        let message = self.push(now, connection, bytes);
        self.send(connection, Pending { message, stream, left: bytes, priority: 0, finishes: false });
        message
    }

    /// A message that the server sends of its own accord; it has not been written.
    pub fn push(&mut self, now: Time, connection: u32, bytes: u64) -> u32 {
        let message = self.new_message(now, connection, bytes);
        self.messages[message as usize].request_arrived = true;
        message
    }

    /// The server of a connection has `pending` to send.
    pub fn send(&mut self, connection: u32, pending: Pending) {
        self.connections[connection as usize].out.push(pending);
        self.actions.push_back(Action::Data(connection));
    }

    /// The number of a new stream, if the transport has streams; otherwise that of the only one.
    pub fn new_stream(&mut self, connection: u32) -> u32 {
        if !self.options.streams {
            return 0;
        }
        let next = &mut self.connections[connection as usize].next_stream;
        *next += 1;
        *next - 1
    }

    /// The transport takes the next piece of what a connection has to send, of at most `most` bytes.
    pub fn take_piece(&mut self, connection: u32, most: u64) -> Option<Piece> {
        let Connection { out, streams, .. } = &mut self.connections[connection as usize];
        let piece = out.next(most)?;
        streams.entry(piece.stream).or_default().write(&piece);
        if piece.endless {
            self.messages[piece.message as usize].bytes += piece.bytes;
        }
        Some(piece)
    }

    /// Notes the messages of a connection whose data is ready since the last call.
    pub fn note_ready(&mut self, now: Time, connection: u32, limits: LimitSpans) {
        let Some(handovers) = &mut self.handovers else { return };
        for message in self.connections[connection as usize].out.messages() {
            let handover = &mut handovers[message as usize];
            if handover.ready == Time::NEVER {
                (handover.ready, handover.limits[0]) = (now, limits);
            }
        }
    }

    /// Notes that the transport has taken the last byte of a message, in segment `segment`.
    pub fn note_taken(&mut self, now: Time, message: u32, limits: LimitSpans, segment: u32) {
        if let Some(handovers) = &mut self.handovers {
            let handover = &mut handovers[message as usize];
            (handover.taken, handover.limits[1], handover.segment) = (now, limits, segment);
        }
    }

    /// The message without end that the first connection sends on its first stream ends with what the transport has taken.
    pub fn end_endless(&mut self, now: Time, message: u32) {
        let Connection { out, streams, .. } = &mut self.connections[0];
        out.remove(|pending| pending.message == message);
        self.actions.push_back(Action::Data(0)); // what waits has changed
        if self.messages[message as usize].bytes == 0 {
            self.messages[message as usize].state = MessageState::Dropped;
            return;
        }
        if streams.get_mut(&0).is_none_or(|log| log.end_last(message)) {
            let message = &mut self.messages[message as usize];
            (message.end, message.state) = (now, MessageState::Finished);
        }
    }

    /// Drops the oldest messages of a connection that wait as a whole while more than `most` bytes wait.
    pub fn drop_oldest(&mut self, connection: u32, most: u64) {
        let Core { connections, messages, .. } = self;
        let out = &mut connections[connection as usize].out;
        let mut waiting = out.bytes();
        out.remove(|pending| {
            let message = &mut messages[pending.message as usize];
            let drops = waiting > most && pending.left == message.bytes;
            if drops {
                waiting -= pending.left;
                message.state = MessageState::Dropped;
            }
            drops
        });
    }

    /// When `bytes` bytes of a stream have arrived in order: the next message of which bytes have arrived since the last call, and
    /// whether it is complete. Call it until there is none.
    pub fn progress(&mut self, now: Time, connection: u32, stream: u32, bytes: u64) -> Option<(u32, bool)> {
        let log = self.connections[connection as usize].streams.get_mut(&stream)?;
        let arrived = log.next_arrived(bytes)?;
        let message = &mut self.messages[arrived.message as usize];
        message.first = message.first.min(now);
        if arrived.ends {
            message.end = now;
            message.state = MessageState::Finished;
        }
        Some((arrived.message, arrived.ends))
    }

    /// Nothing more of a stream arrives.
    pub fn stream_ends(&mut self, connection: u32, stream: u32) {
        if self.options.streams {
            self.connections[connection as usize].streams.remove(&stream);
        }
    }
}

/// A random time with this mean, exponential.
pub fn exponential(stream: &mut Stream, mean: Span) -> Span {
    Span::from_seconds(-mean.seconds() * detmath::ln(1.0 - stream.uniform()))
}
