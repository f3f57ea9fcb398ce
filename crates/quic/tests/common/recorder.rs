//! A controller that records its events.

use cc::{
    Ack, AnyController, CachedExternal, Congestion, Decision, EcnResponse, ExternalController, Failure, Lost,
    Sample, Sent, Signals, Timeout, TransmitStart,
};
use std::sync::{Arc, Mutex};
use units::{Rate, Segments, Span, Time};

/// An event of a controller.
#[derive(Clone, Debug)]
pub enum Event {
    Open(Time),
    Sample(Sample),
    Ack(Ack),
    Lost(Lost),
    Sent(Sent),
    Congestion(Congestion),
    Rto(Timeout),
    Exit(Time),
    Start(TransmitStart),
    Timer(Time),
    Handshake(Time, Option<Span>),
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
    events: Events,
}

impl Recorder {
    pub fn new(window: Segments, needs: Signals) -> (Recorder, Events) {
        let events = Events::default();
        let response = EcnResponse::Reduce;
        (Recorder { window, needs, rate: None, every: None, response, events: events.clone() }, events)
    }
    pub fn controller(self) -> AnyController {
        let (cwnd, pacing, ecn_response) = (self.window, self.rate, self.response);
        let decision = Decision { cwnd, pacing, ecn_response, ..Decision::default() };
        AnyController::ExternalController(CachedExternal::new(Box::new(self), Ok(decision)))
    }
}

impl ExternalController for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }
    fn needs(&self) -> Signals {
        self.needs
    }
    fn on_event(&mut self, event: cc::Event<'_>, decision: &mut Decision) -> Result<(), Failure> {
        if let cc::Event::Open(now) | cc::Event::Timer(now) = event {
            decision.wake_at = self.every.map_or(Time::NEVER, |span| now + span);
        }
        let event = match event {
            cc::Event::Open(now) => Event::Open(now),
            cc::Event::Sample(sample) => Event::Sample(*sample),
            cc::Event::Ack(ack) => Event::Ack(*ack),
            cc::Event::Lost(lost) => Event::Lost(*lost),
            cc::Event::Sent(sent) => Event::Sent(*sent),
            cc::Event::Congestion(event) => Event::Congestion(*event),
            cc::Event::Rto(event) => Event::Rto(*event),
            cc::Event::RecoveryExit(now) => Event::Exit(now),
            cc::Event::TransmitStart(event) => Event::Start(*event),
            cc::Event::Handshake(event) => Event::Handshake(event.now, event.rtt),
            cc::Event::Timer(now) => Event::Timer(now),
            _ => return Ok(()),
        };
        self.events.lock().unwrap().push(event);
        Ok(())
    }
}
