//! The trait of a controller.

use crate::descriptor::Descriptor;
use crate::events::{Ack, Congestion, EcnResponse, PathHint, Restart, Timeout};
use crate::flow::{FlowInfo, Signals};
use crate::params::{ParamError, Params};
use units::{Rate, Segments, Span, Time};

/// The controller.
pub trait Controller {
    /// The signals that it cannot do without. A substrate that lacks one refuses the flow.
    fn needs(&self) -> Signals {
        Signals::NONE
    }
    /// The first packet is about to be sent.
    fn on_open(&mut self, _now: Time) {}
    /// Every ACK, also in recovery.
    fn on_ack(&mut self, ack: &Ack);
    /// Reduce the window, and the threshold with it.
    fn on_congestion(&mut self, event: &Congestion);
    /// What an ECN echo does.
    fn ecn_response(&self) -> EcnResponse {
        EcnResponse::Reduce
    }
    /// Start again from one segment.
    fn on_rto(&mut self, event: &Timeout);
    /// Fast recovery is over, or everything sent before an echo reduced the window is acknowledged.
    fn on_recovery_exit(&mut self, _now: Time) {}
    /// The last reduction was for nothing.
    fn on_undo(&mut self, _now: Time) {}
    /// The flow was idle.
    fn on_restart(&mut self, event: &Restart) {
        self.set_window(event.window);
    }
    /// The time asked for by [`Controller::wake_at`] has come.
    fn on_timer(&mut self, _now: Time) {}
    /// News from lower layers.
    fn on_hint(&mut self, _now: Time, _hint: &PathHint) {}
    /// The transport moves the window: when the connection opens, when a partial ACK deflates it
    /// (RFC 6582), when recovery ends with little in flight, when Tahoe restarts.
    fn set_window(&mut self, cwnd: Segments);

    /// The congestion window, segments.
    fn cwnd(&self) -> Segments;
    /// The slow-start threshold, segments; infinite until set.
    fn ssthresh(&self) -> Segments;
    /// The rate at which to space packets; none: sent as acknowledgements clock them.
    fn pacing(&self) -> Option<Rate> {
        None
    }
    /// When to be woken by [`Controller::on_timer`].
    fn wake_at(&self) -> Time {
        Time::NEVER
    }
    /// Age at which the first unacknowledged segment counts as lost on any duplicate ACK.
    fn fine_timeout(&self) -> Option<Span> {
        None
    }
    /// Writes the internals named in [`Descriptor::probes`], in that order; NaN where there is no value yet.
    fn probe(&self, _out: &mut [f64]) {}
}

/// A controller that can be registered.
pub trait Algorithm: Controller + Sized {
    /// Name, source, parameters, internals.
    const DESCRIPTOR: Descriptor;
    /// Refuses values that are allowed each by itself but not together.
    fn check(_params: &Params) -> Result<(), ParamError> {
        Ok(())
    }
    /// A fresh controller. `params` were made for this descriptor.
    fn new(params: &Params, flow: &FlowInfo) -> Self;
}
