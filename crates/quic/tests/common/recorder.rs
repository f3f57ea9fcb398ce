//! A controller that records its events.

use cc::{
    Ack, AnyController, CachedExternal, Congestion, Controller, EcnResponse, ExternalController, Failure,
    Lost, Sent, Signals, Timeout, TransmitStart,
};
use std::sync::{Arc, Mutex};
use units::{Rate, Segments, Span, Time};

/// An event of a controller.
#[derive(Clone, Debug)]
pub enum Event {
    Open(Time),
    Ack(Ack),
    Lost(Lost),
    Sent(Sent),
    Congestion(Congestion),
    Rto(Timeout),
    Exit(Time),
    Start(TransmitStart),
    Timer(Time),
    Handshake(Time, Span),
}

/// The events so far.
pub type Events = Arc<Mutex<Vec<Event>>>;

/// A controller with a constant window that records its events.
#[derive(Debug)]
pub struct Recorder {
    pub window: Segments,
    pub needs: Signals,
    pub rate: Option<Rate>,
    /// The time between calls of its timer.
    pub every: Option<Span>,
    pub response: EcnResponse,
    wake: Time,
    events: Events,
}

impl Recorder {
    pub fn new(window: Segments, needs: Signals) -> (Recorder, Events) {
        let events = Events::default();
        let response = EcnResponse::Reduce;
        let wake = Time::NEVER;
        (Recorder { window, needs, rate: None, every: None, response, wake, events: events.clone() }, events)
    }
    pub fn controller(self) -> AnyController {
        AnyController::ExternalController(CachedExternal::new(Box::new(self)))
    }
    fn record(&mut self, event: Event) {
        self.events.lock().unwrap().push(event);
    }
}

impl Controller for Recorder {
    fn needs(&self) -> Signals {
        self.needs
    }
    fn on_open(&mut self, now: Time) {
        self.wake = self.every.map_or(Time::NEVER, |span| now + span);
        self.record(Event::Open(now));
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.record(Event::Ack(*ack));
    }
    fn on_lost(&mut self, lost: &Lost) {
        self.record(Event::Lost(*lost));
    }
    fn on_sent(&mut self, sent: &Sent) {
        self.record(Event::Sent(*sent));
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.record(Event::Congestion(*event));
    }
    fn ecn_response(&self) -> EcnResponse {
        self.response
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.record(Event::Rto(*event));
    }
    fn on_recovery_exit(&mut self, now: Time) {
        self.record(Event::Exit(now));
    }
    fn on_transmit_start(&mut self, event: &TransmitStart) {
        self.record(Event::Start(*event));
    }
    fn on_handshake(&mut self, now: Time, rtt: Span) {
        self.record(Event::Handshake(now, rtt));
    }
    fn on_timer(&mut self, now: Time) {
        self.wake = self.every.map_or(Time::NEVER, |span| now + span);
        self.record(Event::Timer(now));
    }
    fn set_window(&mut self, _: Segments) {}
    fn set_ssthresh(&mut self, _: Segments) {}
    fn cwnd(&self) -> Segments {
        self.window
    }
    fn ssthresh(&self) -> Segments {
        f64::INFINITY
    }
    fn pacing(&self) -> Option<Rate> {
        self.rate
    }
    fn wake_at(&self) -> Time {
        self.wake
    }
}

impl ExternalController for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }
    fn failure(&self) -> Option<&Failure> {
        None
    }
}
