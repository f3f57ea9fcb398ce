//! The interface of a congestion controller.

use crate::descriptor::Descriptor;
use crate::events::{
    Ack, Congestion, Delivered, EcnResponse, Lost, PathHint, Restart, Sent, Timeout, TransmitStart,
};
use crate::flow::{FlowInfo, Signals};
use crate::params::{ParamError, Params};
use units::{Rate, Segments, Span, Time};

/// A congestion controller of one flow: it processes events and keeps the congestion window. All windows are in
/// segments.
pub trait Controller {
    /// The signals that the controller requires. A scenario that does not provide one of them is refused.
    fn needs(&self) -> Signals {
        Signals::NONE
    }
    /// The initial window that the algorithm specifies, segments, read once; `None`: that of the transport. A value in
    /// the scenario has precedence.
    fn initial_window(&self) -> Option<Segments> {
        None
    }
    /// Called before the first packet is sent.
    fn on_open(&mut self, _now: Time) {}
    /// Called when the handshake is complete, with its round-trip time (TCP: `recovery = "rack"` only, and only if the
    /// SYN was sent once).
    fn on_handshake(&mut self, _now: Time, _rtt: Span) {}
    /// Called for every ACK, also during recovery.
    fn on_ack(&mut self, ack: &Ack);
    /// Called for each segment that the sender marks as lost, before [`Controller::on_ack`] of the same ACK (only with
    /// [`Signals::LOSSES`]; `recovery = "rack"`).
    fn on_lost(&mut self, _lost: &Lost) {}
    /// Called for each segment that an ACK newly reports as delivered, before [`Controller::on_ack`] of the same ACK (only
    /// with [`Signals::DELIVERIES`]; `recovery = "rack"`).
    fn on_delivered(&mut self, _delivered: &Delivered) {}
    /// Called at each transmission of a data segment, retransmissions included (only with [`Signals::SENT`]).
    fn on_sent(&mut self, _sent: &Sent) {}
    /// Called when the window and the threshold must be reduced.
    fn on_congestion(&mut self, event: &Congestion);
    /// How the transport responds to an ECN echo.
    fn ecn_response(&self) -> EcnResponse {
        EcnResponse::Reduce
    }
    /// Called at a retransmission timeout: the window restarts at one segment.
    fn on_rto(&mut self, event: &Timeout);
    /// Called when fast recovery ends, or when everything sent before an ECN echo reduced the window is acknowledged.
    fn on_recovery_exit(&mut self, _now: Time) {}
    /// Called when the last reduction was spurious (`recovery = "rack"` only). The transport then restores the window and
    /// the threshold through [`Controller::set_window`] and [`Controller::set_ssthresh`].
    fn on_undo(&mut self, _now: Time) {}
    /// Called when the connection was idle for longer than the retransmission timeout (RFC 5681 section 4.1): the window
    /// becomes `event.window` (`recovery = "rack"` only).
    fn on_restart(&mut self, event: &Restart) {
        self.set_window(event.window);
    }
    /// Called before a transmission with nothing in flight (`recovery = "rack"` only).
    fn on_transmit_start(&mut self, _event: &TransmitStart) {}
    /// Called at the time that [`Controller::wake_at`] returned.
    fn on_timer(&mut self, _now: Time) {}
    /// Called with information from lower layers: hand-offs and router feedback.
    fn on_hint(&mut self, _now: Time, _hint: &PathHint) {}
    /// Sets the window. The transport calls it when the connection opens, when a partial ACK deflates the window (RFC
    /// 6582), for every ACK of a proportional rate reduction (RFC 9937), when recovery ends, and when Tahoe restarts.
    fn set_window(&mut self, cwnd: Segments);
    /// Sets the slow-start threshold. The transport calls it when a reduction is undone and when the application did not
    /// use the window.
    fn set_ssthresh(&mut self, ssthresh: Segments);

    /// The congestion window, segments.
    fn cwnd(&self) -> Segments;
    /// The slow-start threshold, segments; infinite until set.
    fn ssthresh(&self) -> Segments;
    /// The pacing rate of the payload ([`FlowInfo::packet`]), with [`Signals::ROUTER_RATE`] of whole packets; `None` if ACKs
    /// clock the packets.
    fn pacing(&self) -> Option<Rate> {
        None
    }
    /// The segments that the pacer releases at once (draft-ietf-ccwg-bbr: C.send_quantum), at least one. The transport may
    /// release fewer.
    fn send_quantum(&self) -> u32 {
        1
    }
    /// The time of the next call of [`Controller::on_timer`]; `Time::NEVER` for none.
    fn wake_at(&self) -> Time {
        Time::NEVER
    }
    /// Whether the controller sets its window also in recovery: then the transport does not reduce it ACK by ACK, restart
    /// it after an idle time or shrink it when it is unused.
    fn owns_window(&self) -> bool {
        false
    }
    /// Whether rate samples must count as limited by the application now, read after every ACK.
    fn limits_application(&self) -> bool {
        false
    }
    /// The age at which the first unacknowledged segment is lost if a duplicate ACK arrives (Vegas).
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
    /// Checks the combination of parameter values. Fails if values that are valid alone are not valid together.
    fn check(_params: &Params) -> Result<(), ParamError> {
        Ok(())
    }
    /// Creates the controller of a flow. `params` were checked against this descriptor.
    fn new(params: &Params, flow: &FlowInfo) -> Self;
}
