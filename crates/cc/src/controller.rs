//! The interface of a congestion controller.

use crate::descriptor::Descriptor;
use crate::events::*;
use crate::flow::FlowInfo;
use crate::parameters::{FileContent, ParamError, Params};
use crate::signals::Signals;
use crate::transitions::Transitions;
use units::{Rate, Segments, Span, Time};

/// A congestion controller of one flow: it processes events and keeps the congestion window. All windows are in
/// segments.
///
/// A method with `&mut self` is an event. A method with `&self` that returns a value is an answer, which the transport reads after
/// events. Those of controllers outside Rust are made from this trait (`make reference`).
#[allow(unused_variables, reason = "an event that a controller does not define has no effect")]
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
    fn on_open(&mut self, now: Time) {}
    /// Called when the handshake is complete (recovery `rack`, QUIC). A controller that takes over in the middle of a run gets
    /// it with the smallest round-trip time of the connection, after the window.
    fn on_handshake(&mut self, event: &Handshake) {}
    /// Called with the measurements of an ACK before anything that follows from it: undo, end of recovery, reduction, and
    /// [`Controller::on_ack`] (only with [`Signals::SAMPLES`]). The modules of Linux process their samples here
    /// (`pkts_acked`). An ACK that arrives with nothing outstanding has none.
    fn on_sample(&mut self, sample: &Sample) {}
    /// Called for every ACK, also during recovery.
    fn on_ack(&mut self, ack: &Ack);
    /// Called for each segment that the sender marks as lost, before [`Controller::on_ack`] of the same ACK (only with
    /// [`Signals::LOSSES`]; recovery `rack`, QUIC).
    fn on_lost(&mut self, lost: &Lost) {}
    /// Called for each segment that an ACK newly reports as delivered, before [`Controller::on_ack`] of the same ACK
    /// (only with [`Signals::DELIVERIES`]; recovery `rack`, QUIC).
    fn on_delivered(&mut self, delivered: &Delivered) {}
    /// Called at each transmission of a data segment, retransmissions included (only with [`Signals::SENT`]).
    fn on_sent(&mut self, sent: &Sent) {}
    /// Called on a loss or an ECN echo, at most once per window of data and cause: the window and the threshold must be
    /// reduced.
    fn on_congestion(&mut self, event: &Congestion);
    /// Called at a retransmission timeout: the window restarts at one segment.
    fn on_rto(&mut self, event: &Timeout);
    /// Called when fast recovery ends, or when everything sent before an ECN echo reduced the window is acknowledged.
    fn on_recovery_exit(&mut self, now: Time) {}
    /// Called when the last reduction was spurious (recovery `rack`). The transport then restores the window and the
    /// threshold through [`Controller::set_window`] and [`Controller::set_ssthresh`].
    fn on_undo(&mut self, now: Time) {}
    /// Called when the connection was idle for longer than the retransmission timeout (RFC 5681 section 4.1): the window
    /// becomes that of the event, unless the controller defines the method (recovery `rack`).
    fn on_restart(&mut self, event: &Restart) {
        self.set_window(event.window);
    }
    /// Called before a transmission with nothing in flight (recovery `rack`, QUIC).
    fn on_transmit_start(&mut self, event: &TransmitStart) {}
    /// Called at the time that [`Controller::wake_at`] returned.
    fn on_timer(&mut self, now: Time) {}
    /// Called with information from lower layers: hand-offs and router feedback.
    fn on_hint(&mut self, hint: &PathHint) {}
    /// Sets the window. The transport calls it when the connection opens, when a partial ACK deflates the window (RFC
    /// 6582), for every ACK of a proportional rate reduction (RFC 9937), when recovery ends, and when Tahoe restarts.
    fn set_window(&mut self, cwnd: Segments);
    /// Sets the slow-start threshold. The transport calls it when a reduction is undone and when the application did not
    /// use the window.
    fn set_ssthresh(&mut self, ssthresh: Segments);
    /// The congestion window, segments, at least 1; the fractional part is kept.
    fn cwnd(&self) -> Segments;
    /// The slow-start threshold, segments, at least 1; infinite until set.
    fn ssthresh(&self) -> Segments;
    /// The pacing rate of the payload ([`FlowInfo::packet`]), bits per second; with [`Signals::ROUTER_RATE`] that of
    /// whole packets. None if ACKs clock the packets.
    fn pacing(&self) -> Option<Rate> {
        None
    }
    /// The segments that the pacer releases at once (draft-ietf-ccwg-bbr: C.send_quantum), at least one. The option
    /// `gso_max_segs` limits it; QUIC sends one by one.
    fn send_quantum(&self) -> u32 {
        1
    }
    /// The time of the next call of [`Controller::on_timer`], in the future; never if there is none.
    fn wake_at(&self) -> Time {
        Time::NEVER
    }
    /// The age at which the first unacknowledged segment is lost if a duplicate ACK arrives (Vegas).
    fn fine_timeout(&self) -> Option<Span> {
        None
    }
    /// How the transport responds to an ECN echo: `reduce` (as to a loss, RFC 3168), `confirm` (the controller
    /// processes [`Ack::ece`]; CWR is sent once per window), `ignore` (the same without CWR).
    fn ecn_response(&self) -> EcnResponse {
        EcnResponse::Reduce
    }
    /// Whether the controller sets its window also in recovery: then the transport does not reduce it ACK by ACK,
    /// restart it after an idle time or shrink it when it is unused (recovery `rack`, QUIC).
    fn owns_window(&self) -> bool {
        false
    }
    /// Whether rate samples must count as limited by the application now; read after every ACK (recovery `rack`,
    /// QUIC).
    fn limits_application(&self) -> bool {
        false
    }
    /// Whether the transport must begin a reduction now, as after an ECN echo, but for the cause `controller`; read after
    /// every ACK, and without effect during a reduction (recovery `rack`, QUIC). Linux: `tcp_enter_cwr`.
    fn reduce_now(&self) -> bool {
        false
    }
    /// Its last transitions between the states of [`Algorithm::STATES`]; `None` if it records none.
    fn transitions(&self) -> Option<&Transitions> {
        None
    }
    /// Writes the internals named in [`Descriptor::probes`], in that order; NaN where there is no value yet.
    fn probe(&self, out: &mut [f64]) {}
}

/// A controller that can be registered.
pub trait Algorithm: Controller + Sized {
    /// Name, source, parameters, internals.
    const DESCRIPTOR: Descriptor;
    /// Checks the combination of parameter values. Fails if values that are valid alone are not valid together.
    fn check(_params: &Params) -> Result<(), ParamError> {
        Ok(())
    }
    /// Reads the text of the file that a parameter names. Fails with what is wrong.
    fn read_file(_text: &str) -> Result<FileContent, String> {
        Err("the controller reads no file".into())
    }
    /// Creates the controller of a flow. `params` were checked against this descriptor.
    fn new(params: &Params, flow: &FlowInfo) -> Self;
    /// The names of its states, the first state first, if it records transitions ([`Controller::transitions`]).
    const STATES: &'static [&'static str] = &[];
    /// The numbers among its parameters that [`Algorithm::tune`] can change.
    const TUNABLE: &'static [&'static str] = &[];
    /// Sets a parameter of [`Algorithm::TUNABLE`] to a value within its bounds; its state stays.
    fn tune(&mut self, _name: &str, _value: f64) {}
}
