//! Controllers from outside the registry, such as those written in Python: the same trait behind a pointer.

use crate::controller::Controller;
use crate::events::{Ack, Congestion, EchoAnswer, Hint, Restart, Timeout};
use crate::flow::{FlowInfo, Signals};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use units::{Rate, Segments, Span, Time};

/// A controller that is not registered.
pub trait Guest: Controller + Debug + Send {
    /// Its name in outcomes.
    fn name(&self) -> &str;
    /// Why it cannot go on. It does nothing from then on; the run ends soon after.
    fn failure(&self) -> Option<&Failure>;
}

/// What makes guests: one for each flow.
pub trait GuestLaw: Debug + Send + Sync {
    /// Its name in outcomes. What `Debug` prints is its identity: two laws that print alike give the same runs.
    fn name(&self) -> &str;
    /// The named internals that its guests report to the trace.
    fn probes(&self) -> &[String];
    /// The signals that its guests cannot do without.
    fn needs(&self) -> Signals;
    /// A fresh controller; one that has failed where it cannot be made.
    fn make(&self, flow: &FlowInfo) -> Box<dyn Guest>;
}

/// The end of a guest.
#[derive(Clone, Debug)]
pub struct Failure {
    /// When, in the run.
    pub at: Time,
    /// What happened, as its author wants to read it.
    pub message: String,
    /// The error itself, for who knows its type.
    pub error: Arc<dyn Any + Send + Sync>,
}

/// A guest with its window beside the pointer: the transport asks for that many times an ACK, and reads it here as it
/// does a registered controller's.
#[derive(Debug)]
pub struct Hosted {
    cwnd: Segments,
    ssthresh: Segments,
    /// The guest.
    pub guest: Box<dyn Guest>,
}

impl Hosted {
    /// Takes a guest in.
    pub fn new(guest: Box<dyn Guest>) -> Hosted {
        Hosted { cwnd: guest.cwnd(), ssthresh: guest.ssthresh(), guest }
    }

    /// Tells the guest something, and looks at its window.
    #[cold]
    fn tell(&mut self, event: impl FnOnce(&mut dyn Guest)) {
        event(&mut *self.guest);
        (self.cwnd, self.ssthresh) = (self.guest.cwnd(), self.guest.ssthresh());
    }
}

impl Controller for Hosted {
    fn needs(&self) -> Signals {
        self.guest.needs()
    }
    fn on_open(&mut self, now: Time) {
        self.tell(|guest| guest.on_open(now));
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.tell(|guest| guest.on_ack(ack));
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.tell(|guest| guest.on_congestion(event));
    }
    fn echo_answer(&self) -> EchoAnswer {
        self.guest.echo_answer()
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.tell(|guest| guest.on_rto(event));
    }
    fn on_recovery_exit(&mut self, now: Time) {
        self.tell(|guest| guest.on_recovery_exit(now));
    }
    fn on_undo(&mut self, now: Time) {
        self.tell(|guest| guest.on_undo(now));
    }
    fn on_restart(&mut self, event: &Restart) {
        self.tell(|guest| guest.on_restart(event));
    }
    fn on_timer(&mut self, now: Time) {
        self.tell(|guest| guest.on_timer(now));
    }
    fn on_hint(&mut self, now: Time, hint: &Hint) {
        self.tell(|guest| guest.on_hint(now, hint));
    }
    fn set_window(&mut self, cwnd: Segments) {
        self.tell(|guest| guest.set_window(cwnd));
    }
    fn cwnd(&self) -> Segments {
        self.cwnd
    }
    fn ssthresh(&self) -> Segments {
        self.ssthresh
    }
    fn pacing(&self) -> Option<Rate> {
        self.guest.pacing()
    }
    fn wake_at(&self) -> Time {
        self.guest.wake_at()
    }
    fn fine_timeout(&self) -> Option<Span> {
        self.guest.fine_timeout()
    }
    fn probe(&self, out: &mut [f64]) {
        self.guest.probe(out);
    }
}
