//! Applications of flows: what a server sends and a client asks for.
//!
//! An application has two halves that share no clock: the server half is with the sender of the data, the client half with its
//! receiver. What passes between them are packets: data, and requests on the way back. [`core`] has what all kinds have in
//! common; each kind is a state machine in a file of its own; `app_events` of the simulation connects them to it.

// Streams, their resets and datagrams are of QUIC: without it nothing calls what handles them.
#![cfg_attr(not(feature = "quic"), allow(dead_code))]

mod abr;
mod adapt;
mod core;
mod encoder;
mod frames;
mod freezes;
mod outcome;
mod outgoing;
mod page;
mod places;
mod player;
mod requests;
mod sketch;
mod source;
mod sources;
#[cfg(test)]
mod tests;
mod video;

use super::ideal::IdealPath;
use crate::scenario::{App, Protocol, RequestOptions};
use engine::Stream;
use frames::Frames;
pub use outgoing::Piece;
use outgoing::SendOrder;
use page::PageLoader;
use requests::Requests;
pub use sketch::pooled_quantile;
use source::{PeriodWriter, RateWriter};
use units::{Span, Time};
use video::Video;

pub use self::core::{Action, Handover, LimitSpans, Message, OPENING_SIZE, SETUP_REQUEST, Timer};
use self::core::{CommonOptions, Core};
pub use frames::SenderView;
pub use outcome::{AppFacts, AppOutcome, AppRow, MessageRow};
pub use places::{AppPlace, Apps};

/// The state of an application.
#[derive(Clone, Debug)]
pub struct Application {
    core: Core,
    kind: Kind,
    /// The empty path, if nothing changes it.
    ideal: Option<IdealPath>,
}

/// The most messages that are looked at for one whose request is under way: more than can be outstanding.
const MOST_UNANSWERED: usize = 2_000;

/// The state of each kind.
#[derive(Clone, Debug)]
enum Kind {
    Rate(RateWriter),
    OnOff(PeriodWriter),
    Requests(Requests),
    Page(PageLoader),
    Video(Box<Video>),
    Frames(Box<Frames>),
}

/// Where an application runs.
pub struct Place<'a> {
    /// Numbers of the flows of its connections.
    pub flows: &'a [u32],
    /// The name of the first flow, by which its random numbers are drawn.
    pub name: &'a str,
    pub seed: u64,
    /// The transport is QUIC.
    pub quic: bool,
    /// The delay of a full packet over the empty path, if it is known.
    pub base_delay: Option<Span>,
    /// The empty path, if nothing changes it.
    pub ideal: Option<IdealPath>,
    /// When it starts, and when it starts nothing new any more.
    pub start: Time,
    pub stop: Time,
}

impl Application {
    /// An application that has not started.
    pub fn new(app: &App, place: Place<'_>) -> Application {
        let draw = |purpose: &str| Stream::new(place.seed, &format!("app {purpose}"), place.name);
        let kind = match app {
            App::Rate(options) => Kind::Rate(RateWriter::new(options)),
            App::OnOff(options) => Kind::OnOff(PeriodWriter::new(options, draw("think"), draw("sizes"))),
            App::Requests(options) => Kind::Requests(Requests::new(options, draw("sizes"), draw("think"))),
            App::Page(options) => Kind::Page(PageLoader::new(options)),
            App::Video(options) => Kind::Video(Box::new(Video::new(options, draw("sizes")))),
            App::Frames(options) => {
                let sizes = |track: usize| draw(&format!("frames {track}"));
                Kind::Frames(Box::new(Frames::new(options, sizes, place.base_delay)))
            }
        };
        let order = match app {
            App::Frames(_) => SendOrder::Priority,
            App::Page(page) if page.protocol != Protocol::Http1 => SendOrder::RoundRobin,
            App::Requests(_) if place.quic => SendOrder::RoundRobin,
            _ => SendOrder::Fifo,
        };
        let common = match app {
            App::Requests(options) => Some(&options.common),
            App::Page(options) => Some(&options.common),
            App::Video(options) => Some(&options.common),
            App::Rate(_) | App::OnOff(_) | App::Frames(_) => None,
        };
        let mut core = Core::new(common_options(common, place.quic), place.flows, order);
        core.at(place.start, Timer::Start);
        core.at(place.stop, Timer::Stop);
        Application { core, kind, ideal: place.ideal }
    }

    // ---- events -----------------------------------------------------------------------------------------

    /// When the next timer of the application expires.
    pub fn next_at(&self) -> Time {
        self.core.next_at()
    }

    /// Whether the application must know the state of its sender when a timer expires.
    pub fn needs_view(&self) -> bool {
        matches!(&self.kind, Kind::Frames(frames) if frames.needs_view())
    }

    /// Processes the timers that have expired at `now`.
    pub fn on_timer(&mut self, now: Time, view: &SenderView) {
        while let Some(timer) = self.core.take_expired(now) {
            self.expire(now, timer, view);
        }
    }

    fn expire(&mut self, now: Time, timer: Timer, view: &SenderView) {
        let core = &mut self.core;
        match (timer, &mut self.kind) {
            (Timer::Reopen(..) | Timer::Repeat(..), _) => core.repeat(now, timer),
            (Timer::Serve(message), _) => core.respond(message),
            (Timer::Stop, kind) => {
                core.stopped = true;
                match kind {
                    Kind::OnOff(source) => source.end_endless(core, now),
                    Kind::Video(video) => video.stop(now),
                    _ => {}
                }
            }
            (Timer::Start, Kind::Rate(source)) => source.start(core, now),
            (Timer::Start, Kind::OnOff(source)) => source.start(core, now),
            (Timer::Start, Kind::Requests(requests)) => requests.start(core, now),
            (Timer::Start | Timer::Page, Kind::Page(page)) => page.begin(core, now),
            (Timer::Start, Kind::Video(video)) => video.start(core, now),
            (Timer::Start, Kind::Frames(frames)) => frames.start(core, now, view),
            (Timer::Source, _) if core.stopped => {}
            (Timer::Source, Kind::Rate(source)) => source.write(core, now),
            (Timer::Source, Kind::OnOff(source)) => source.on_timer(core, now),
            (Timer::Think(_), Kind::Requests(requests)) => requests.ask(core, now),
            (Timer::Object(object), Kind::Page(page)) => page.need(core, now, object),
            (Timer::Player, Kind::Video(video)) => video.on_timer(core, now),
            (Timer::Capture(track), Kind::Frames(frames)) => frames.capture(core, now, track, view),
            (Timer::Leave(message), Kind::Frames(frames)) => frames.on_leave(core, message),
            (Timer::Audio, Kind::Frames(frames)) => frames.send_audio(core, now),
            _ => debug_assert!(false, "a timer of another kind"),
        }
    }

    /// Rate, time between requests, or largest rate of the encoder are those of `app` from now on.
    pub fn change(&mut self, now: Time, app: &App) {
        match (&mut self.kind, app) {
            (Kind::Rate(writer), App::Rate(app)) => writer.change_rate(app.schedule[0].1),
            (Kind::Requests(requests), App::Requests(app)) => requests.change_think(app.think),
            (Kind::Frames(frames), App::Frames(app)) => frames.change(now, app),
            _ => debug_assert!(false, "a change of what cannot change"),
        }
    }

    /// The client of a connection knows that it is open.
    pub fn on_connected(&mut self, now: Time, connection: u32) {
        if self.core.connected(now, connection) {
            self.on_ready(now, connection);
        }
    }

    fn on_ready(&mut self, now: Time, connection: u32) {
        match &mut self.kind {
            Kind::Requests(requests) => requests.on_ready(&mut self.core, now),
            Kind::Page(page) => page.on_ready(&mut self.core, now, connection),
            Kind::Video(video) => video.on_ready(&mut self.core, now),
            Kind::Rate(_) | Kind::OnOff(_) | Kind::Frames(_) => {}
        }
    }

    /// Request `number` has reached the server of a connection.
    pub fn on_request(&mut self, now: Time, number: u32) {
        if !self.core.requested(now, number) {
            return;
        }
        let service = match &self.kind {
            Kind::Requests(requests) => requests.service(),
            _ => Span::ZERO,
        };
        if service == Span::ZERO {
            self.core.respond(number);
        } else {
            self.core.at(now + service, Timer::Serve(number));
        }
    }

    /// `bytes` bytes of a stream have reached the client of a connection in order.
    pub fn on_progress(&mut self, now: Time, connection: u32, stream: u32, bytes: u64) {
        while let Some((message, ends)) = self.core.progress(now, connection, stream, bytes) {
            match &mut self.kind {
                Kind::Frames(frames) => frames.on_bytes(&mut self.core, now, message),
                Kind::Video(video) if !ends => video.on_bytes(now, message),
                _ => {}
            }
            if !ends {
                continue;
            }
            if self.core.messages[message as usize].is_setup {
                self.core.set_up(connection);
                self.on_ready(now, connection);
                continue;
            }
            match &mut self.kind {
                Kind::Requests(requests) => requests.on_end(&mut self.core, now),
                Kind::Page(page) => page.on_end(&mut self.core, now, message),
                Kind::Video(video) => video.on_chunk(&mut self.core, now, message),
                Kind::Rate(_) | Kind::OnOff(_) | Kind::Frames(_) => {}
            }
        }
    }

    /// A stream has ended, or was reset: nothing more of it arrives.
    pub fn on_stream_end(&mut self, connection: u32, stream: u32, reset: bool) {
        if let (Kind::Frames(frames), true) = (&mut self.kind, reset) {
            frames.on_reset(&mut self.core, stream);
        }
        self.core.stream_ends(connection, stream);
    }

    /// The client has asked for the reset of a stream.
    pub fn on_stopped(&mut self, stream: u32) {
        if let Kind::Frames(frames) = &mut self.kind {
            frames.on_stopped(&mut self.core, stream);
        }
    }

    /// The transport of the client has all of a stream.
    pub fn on_acknowledged(&mut self, stream: u32) {
        if let Kind::Frames(frames) = &mut self.kind {
            frames.on_acknowledged(&mut self.core, stream);
        }
    }

    /// Datagram `number` has reached the client.
    pub fn on_datagram(&mut self, now: Time, number: u32) {
        if let Kind::Frames(frames) = &mut self.kind {
            frames.audio_arrived(now, number);
        }
    }

    /// What the server of a connection waits for, in words, when it has nothing to send.
    pub fn waits_for(&self, connection: u32) -> String {
        let core = &self.core;
        if core.stopped {
            return "it has stopped".into();
        }
        if !core.is_ready(connection) && core.options.client_opens {
            return "its client has not opened the connection".into();
        }
        let next = |kind: fn(&Timer) -> bool, words: &str| {
            core.next_of(kind).map(|at| format!("{words} at {:.6} s", at.seconds()))
        };
        let unanswered = core.messages.iter().enumerate().rev().take(MOST_UNANSWERED).find(|(_, message)| {
            message.connection == connection && !message.request_arrived && !message.is_setup
        });
        let asked = || unanswered.map(|(number, _)| format!("the request of message {number} is under way"));
        let serves = || next(|timer| matches!(timer, Timer::Serve(_)), "the server has a response");
        let waits = match &self.kind {
            Kind::Rate(_) => next(|timer| *timer == Timer::Source, "the next write is due"),
            Kind::OnOff(_) => next(|timer| *timer == Timer::Source, "the next write or period is due"),
            Kind::Requests(_) => asked().or_else(serves).or_else(|| {
                next(|timer| matches!(timer, Timer::Think(_)), "the client has thought and asks again")
            }),
            Kind::Page(_) => asked()
                .or_else(|| {
                    next(
                        |timer| matches!(timer, Timer::Object(_)),
                        "the client has parsed an object and asks for the next",
                    )
                })
                .or_else(|| next(|timer| *timer == Timer::Page, "the next page begins")),
            Kind::Video(_) => asked().or_else(|| {
                next(|timer| *timer == Timer::Player, "the player's buffer is full; a chunk fits into it")
            }),
            Kind::Frames(_) => next(|timer| matches!(timer, Timer::Capture(_)), "the next frame is captured"),
        };
        waits.unwrap_or_else(|| "all that was asked for is complete".into())
    }

    // ---- for the simulation ---------------------------------------------------------------------------------

    /// Records from now on when messages pass from hand to hand.
    pub fn record_handovers(&mut self) {
        self.core.handovers = Some(Vec::new());
    }

    /// Whether it records that.
    pub fn records_handovers(&self) -> bool {
        self.core.handovers.is_some()
    }

    /// The messages of a connection whose data is ready since the last call, with the times under limits of its sender.
    pub fn note_ready(&mut self, now: Time, connection: u32, limits: LimitSpans) {
        self.core.note_ready(now, connection, limits);
    }

    /// The transport has taken a piece; `segment`: the last one of TCP.
    pub fn note_taken(&mut self, now: Time, piece: &Piece, limits: LimitSpans, segment: u32) {
        if piece.ends {
            self.core.note_taken(now, piece.message, limits, segment);
        }
    }

    /// When message `number` passed from hand to hand, if that is recorded.
    pub fn handover(&self, number: u32) -> Option<(Message, Handover)> {
        let handover = self.core.handovers.as_ref()?.get(number as usize)?;
        Some((self.core.messages[number as usize], *handover))
    }

    /// What the simulation has to do next.
    pub fn take_action(&mut self) -> Option<Action> {
        self.core.actions.pop_front()
    }

    /// The number of the flow of a connection.
    pub fn flow(&self, connection: u32) -> u32 {
        self.core.connections[connection as usize].flow
    }

    /// Bytes of a message.
    pub fn message_bytes(&self, number: u32) -> u64 {
        self.core.messages[number as usize].bytes
    }

    /// The object of a page that a message carries.
    pub fn object(&self, number: u32) -> Option<u32> {
        match &self.kind {
            Kind::Page(page) => page.object(number),
            _ => None,
        }
    }

    /// Payload of the request for a message, bytes.
    pub fn request_size(&self, number: u32) -> u32 {
        if self.core.messages[number as usize].is_setup { SETUP_REQUEST } else { self.core.options.request }
    }

    /// The transport of a connection takes the next piece, of at most `most` bytes.
    pub fn take_piece(&mut self, connection: u32, most: u64) -> Option<Piece> {
        self.core.take_piece(connection, most)
    }

    /// Whether a connection has data that its transport has not taken.
    pub fn has_data(&self, connection: u32) -> bool {
        !self.core.connections[connection as usize].out.is_empty()
    }
}

fn common_options(common: Option<&RequestOptions>, quic: bool) -> CommonOptions {
    CommonOptions {
        request: common.map_or(0, |common| common.request),
        request_timeout: common.map_or(Span::ZERO, |common| common.timeout),
        client_opens: common.is_some_and(|common| common.client_opens),
        certificate: common.and_then(|common| common.certificate),
        streams: quic,
    }
}
