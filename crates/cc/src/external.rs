//! Controllers outside the registry, for example in Python: the same trait as a trait object.

use crate::controller::Controller;
use crate::events::{Ack, Congestion, EcnResponse, Lost, PathHint, Restart, Sent, Timeout, TransmitStart};
use crate::flow::{FlowInfo, Signals};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use units::{Rate, Segments, Span, Time};

/// A controller that is not registered.
pub trait ExternalController: Controller + Debug + Send {
    /// Its name in outcomes.
    fn name(&self) -> &str;
    /// The error that stopped the controller. After an error its methods do nothing, and the run ends soon.
    fn failure(&self) -> Option<&Failure>;
}

/// Creates one external controller for each flow.
pub trait ExternalFactory: Debug + Send + Sync {
    /// Its name in outcomes. The `Debug` output is its identity: two factories with equal output give equal runs.
    fn name(&self) -> &str;
    /// The names of the internal values that its controllers write to the trace.
    fn probes(&self) -> &[String];
    /// The signals that its controllers require.
    fn needs(&self) -> Signals;
    /// The initial window that its controllers specify ([`Controller::initial_window`]).
    fn initial_window(&self) -> Option<Segments> {
        None
    }
    /// Creates a controller. If that fails, the controller's `failure` is set from the start.
    fn make(&self, flow: &FlowInfo) -> Box<dyn ExternalController>;
}

/// The error of an external controller.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Simulated time of the error.
    pub at: Time,
    /// The error message for the author of the controller.
    pub message: String,
    /// The original error value, for a caller that knows its type.
    pub error: Arc<dyn Any + Send + Sync>,
}

/// An external controller with a copy of its window. The transport reads the window many times per ACK; the copy
/// makes that as cheap as for a registered controller.
#[derive(Debug)]
pub struct CachedExternal {
    cwnd: Segments,
    ssthresh: Segments,
    /// The external controller.
    pub inner: Box<dyn ExternalController>,
}

impl CachedExternal {
    /// Wraps an external controller.
    pub fn new(inner: Box<dyn ExternalController>) -> CachedExternal {
        CachedExternal { cwnd: inner.cwnd(), ssthresh: inner.ssthresh(), inner }
    }

    /// Passes an event to the external controller and copies its window.
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
    fn on_handshake(&mut self, now: Time, rtt: Span) {
        self.notify(|inner| inner.on_handshake(now, rtt));
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.notify(|inner| inner.on_ack(ack));
    }
    fn on_lost(&mut self, lost: &Lost) {
        self.notify(|inner| inner.on_lost(lost));
    }
    fn on_sent(&mut self, sent: &Sent) {
        self.notify(|inner| inner.on_sent(sent));
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
    fn on_transmit_start(&mut self, event: &TransmitStart) {
        self.notify(|inner| inner.on_transmit_start(event));
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
    fn set_ssthresh(&mut self, ssthresh: Segments) {
        self.notify(|inner| inner.set_ssthresh(ssthresh));
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
    fn owns_window(&self) -> bool {
        self.inner.owns_window()
    }
    fn limits_application(&self) -> bool {
        self.inner.limits_application()
    }
    fn fine_timeout(&self) -> Option<Span> {
        self.inner.fine_timeout()
    }
    fn probe(&self, out: &mut [f64]) {
        self.inner.probe(out);
    }
}
