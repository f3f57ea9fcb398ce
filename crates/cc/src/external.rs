//! Controllers from outside the registry, such as those written in Python: the same trait behind a pointer.

use crate::controller::Controller;
use crate::events::{Ack, Congestion, EcnResponse, PathHint, Restart, Timeout};
use crate::flow::{FlowInfo, Signals};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use units::{Rate, Segments, Span, Time};

/// A controller that is not registered.
pub trait ExternalController: Controller + Debug + Send {
    /// Its name in outcomes.
    fn name(&self) -> &str;
    /// Why it cannot go on. It does nothing from then on; the run ends soon after.
    fn failure(&self) -> Option<&Failure>;
}

/// What makes external controllers: one for each flow.
pub trait ExternalFactory: Debug + Send + Sync {
    /// Its name in outcomes. What `Debug` prints is its identity: two algorithms that print alike give the same runs.
    fn name(&self) -> &str;
    /// The named internals that its external controllers report to the trace.
    fn probes(&self) -> &[String];
    /// The signals that its external controllers cannot do without.
    fn needs(&self) -> Signals;
    /// A fresh controller; one that has failed where it cannot be made.
    fn make(&self, flow: &FlowInfo) -> Box<dyn ExternalController>;
}

/// The end of an external controller.
#[derive(Clone, Debug)]
pub struct Failure {
    /// When, in the run.
    pub at: Time,
    /// What happened, as its author wants to read it.
    pub message: String,
    /// The error itself, for who knows its type.
    pub error: Arc<dyn Any + Send + Sync>,
}

/// An external controller with its window beside the pointer: the transport asks for that many times an ACK, and reads it here as it
/// does a registered controller's.
#[derive(Debug)]
pub struct CachedExternal {
    cwnd: Segments,
    ssthresh: Segments,
    /// The external controller.
    pub inner: Box<dyn ExternalController>,
}

impl CachedExternal {
    /// Takes an external controller in.
    pub fn new(inner: Box<dyn ExternalController>) -> CachedExternal {
        CachedExternal { cwnd: inner.cwnd(), ssthresh: inner.ssthresh(), inner }
    }

    /// Tells the external controller something, and looks at its window.
    #[cold]
    fn notify(&mut self, event: impl FnOnce(&mut dyn ExternalController)) {
        event(&mut *self.inner);
        (self.cwnd, self.ssthresh) = (self.inner.cwnd(), self.inner.ssthresh());
    }
}

impl Controller for CachedExternal {
    fn needs(&self) -> Signals {
        self.inner.needs()
    }
    fn on_open(&mut self, now: Time) {
        self.notify(|inner| inner.on_open(now));
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.notify(|inner| inner.on_ack(ack));
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.notify(|inner| inner.on_congestion(event));
    }
    fn ecn_response(&self) -> EcnResponse {
        self.inner.ecn_response()
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.notify(|inner| inner.on_rto(event));
    }
    fn on_recovery_exit(&mut self, now: Time) {
        self.notify(|inner| inner.on_recovery_exit(now));
    }
    fn on_undo(&mut self, now: Time) {
        self.notify(|inner| inner.on_undo(now));
    }
    fn on_restart(&mut self, event: &Restart) {
        self.notify(|inner| inner.on_restart(event));
    }
    fn on_timer(&mut self, now: Time) {
        self.notify(|inner| inner.on_timer(now));
    }
    fn on_hint(&mut self, now: Time, hint: &PathHint) {
        self.notify(|inner| inner.on_hint(now, hint));
    }
    fn set_window(&mut self, cwnd: Segments) {
        self.notify(|inner| inner.set_window(cwnd));
    }
    fn cwnd(&self) -> Segments {
        self.cwnd
    }
    fn ssthresh(&self) -> Segments {
        self.ssthresh
    }
    fn pacing(&self) -> Option<Rate> {
        self.inner.pacing()
    }
    fn wake_at(&self) -> Time {
        self.inner.wake_at()
    }
    fn fine_timeout(&self) -> Option<Span> {
        self.inner.fine_timeout()
    }
    fn probe(&self, out: &mut [f64]) {
        self.inner.probe(out);
    }
}
