//! What a Python controller receives: its flow, and one class for each event.

use cc::{
    Ack, Arithmetic, Congestion, FlowInfo, Growth, Lost, PathHint, Restart, Sent, Timeout, TransmitStart,
};
use pyo3::prelude::*;
use units::{Span, Time};

/// The properties of a flow at the creation of its controller.
#[pyclass(frozen, get_all, module = "ackclock._core", name = "FlowInfo")]
pub struct PyFlowInfo {
    packet: u32,
    initial_window: f64,
    initial_ssthresh: f64,
    max_window: f64,
    counts_segments: bool,
    integer_windows: bool,
    reduce_on_every_timeout: bool,
    fine_clock: bool,
    abe: bool,
    seed: u64,
}

impl From<&FlowInfo> for PyFlowInfo {
    fn from(flow: &FlowInfo) -> PyFlowInfo {
        let Arithmetic { growth, integer_windows, reduce_on_every_timeout } = flow.arithmetic;
        PyFlowInfo {
            packet: flow.packet,
            initial_window: flow.initial_window,
            initial_ssthresh: flow.initial_ssthresh,
            max_window: flow.max_window,
            counts_segments: growth == Growth::Counted,
            integer_windows,
            reduce_on_every_timeout,
            fine_clock: flow.fine_clock,
            abe: flow.abe,
            seed: flow.seed,
        }
    }
}

/// One acknowledgement.
#[pyclass(frozen, get_all, module = "ackclock._core", name = "Ack")]
pub struct PyAck {
    now_s: f64,
    newly_acked: u32,
    newly_delivered: u32,
    newly_lost: u32,
    delivered_total: u64,
    lost_total: u64,
    dupacks: u32,
    acked_through: u64,
    next: u64,
    in_flight: f64,
    prior_in_flight: f64,
    rtt_s: Option<f64>,
    receiver_time_s: Option<f64>,
    ece: bool,
    delivered: Option<u64>,
    interval_s: Option<f64>,
    app_limited: bool,
    phase: &'static str,
    may_grow: bool,
    window_limited: bool,
}

impl From<&Ack> for PyAck {
    fn from(ack: &Ack) -> PyAck {
        PyAck {
            now_s: ack.now.seconds(),
            newly_acked: ack.newly_acked,
            newly_delivered: ack.delivered,
            newly_lost: ack.newly_lost,
            delivered_total: ack.delivered_total,
            lost_total: ack.lost_total,
            dupacks: ack.dupacks,
            acked_through: ack.acked_through,
            next: ack.next,
            in_flight: ack.in_flight,
            prior_in_flight: ack.prior_in_flight,
            rtt_s: ack.rtt.map(Span::seconds),
            receiver_time_s: ack.receiver_time.map(Time::seconds),
            ece: ack.ece,
            delivered: ack.rate.map(|rate| rate.delivered),
            interval_s: ack.rate.map(|rate| rate.interval.seconds()).filter(|interval| *interval > 0.0),
            app_limited: ack.rate.is_some_and(|rate| rate.app_limited),
            phase: ack.phase.name(),
            may_grow: ack.may_grow,
            window_limited: ack.window_limited,
        }
    }
}

/// A congestion event: at most one per window of data and cause.
#[pyclass(frozen, get_all, module = "ackclock._core", name = "Congestion")]
pub struct PyCongestion {
    now_s: f64,
    cause: &'static str,
    window: f64,
    in_flight: f64,
    segment_sent_s: Option<f64>,
    retransmitted: bool,
    dupacks: u32,
}

/// A retransmission timeout with data outstanding.
#[pyclass(frozen, get_all, module = "ackclock._core", name = "Timeout")]
pub struct PyTimeout {
    now_s: f64,
    window: f64,
    repeated: bool,
}

/// The first transmission after an idle period.
#[pyclass(frozen, get_all, module = "ackclock._core", name = "Restart")]
pub struct PyRestart {
    now_s: f64,
    idle_s: f64,
    window: f64,
}

/// A segment that the sender has given up.
#[pyclass(frozen, get_all, module = "ackclock._core", name = "Lost")]
pub struct PyLost {
    now_s: f64,
    seq: u64,
    tx_in_flight: u32,
    lost: u64,
    delivered_total: u64,
    app_limited: bool,
    starts_range: bool,
}

/// A data segment that the sender has transmitted.
#[pyclass(frozen, get_all, module = "ackclock._core", name = "Sent")]
pub struct PySent {
    now_s: f64,
    seq: u64,
    in_flight: u32,
    retransmission: bool,
}

/// The first transmission after all data in flight was acknowledged.
#[pyclass(frozen, get_all, module = "ackclock._core", name = "TransmitStart")]
pub struct PyTransmitStart {
    now_s: f64,
    idle_s: f64,
    app_limited: bool,
}

/// Information from lower layers.
#[pyclass(frozen, get_all, module = "ackclock._core", name = "PathHint")]
pub struct PyHint {
    now_s: f64,
    kind: &'static str,
    value: Option<f64>,
}

impl PyHint {
    /// The class of `hint`, which arrived at `now`.
    pub fn new(now: Time, hint: &PathHint) -> PyHint {
        let (kind, value) = match hint {
            PathHint::HandoffBegins => ("handoff_begins", None),
            PathHint::HandoffEnds => ("handoff_ends", None),
            PathHint::RouterRate(rate) => ("router_rate", Some(rate.bps() as f64)),
            PathHint::RouterFeedback(feedback) => ("router_feedback", Some(*feedback)),
        };
        PyHint { now_s: now.seconds(), kind, value }
    }
}

impl From<&Congestion> for PyCongestion {
    fn from(event: &Congestion) -> PyCongestion {
        PyCongestion {
            now_s: event.now.seconds(),
            cause: match event.cause {
                cc::Cause::FastRetransmit => "fast_retransmit",
                cc::Cause::Ecn => "ecn",
            },
            window: event.window,
            in_flight: event.in_flight,
            segment_sent_s: event.segment_sent.map(Time::seconds),
            retransmitted: event.retransmitted,
            dupacks: event.dupacks,
        }
    }
}

impl From<&Lost> for PyLost {
    fn from(event: &Lost) -> PyLost {
        PyLost {
            now_s: event.now.seconds(),
            seq: event.seq,
            tx_in_flight: event.tx_in_flight,
            lost: event.lost,
            delivered_total: event.delivered_total,
            app_limited: event.app_limited,
            starts_range: event.starts_range,
        }
    }
}

impl From<&Sent> for PySent {
    fn from(event: &Sent) -> PySent {
        PySent {
            now_s: event.now.seconds(),
            seq: event.seq,
            in_flight: event.in_flight,
            retransmission: event.retransmission,
        }
    }
}

impl From<&Timeout> for PyTimeout {
    fn from(event: &Timeout) -> PyTimeout {
        PyTimeout { now_s: event.now.seconds(), window: event.window, repeated: event.repeated }
    }
}

impl From<&Restart> for PyRestart {
    fn from(event: &Restart) -> PyRestart {
        PyRestart { now_s: event.now.seconds(), idle_s: event.idle.seconds(), window: event.window }
    }
}

impl From<&TransmitStart> for PyTransmitStart {
    fn from(event: &TransmitStart) -> PyTransmitStart {
        PyTransmitStart {
            now_s: event.now.seconds(),
            idle_s: event.idle.seconds(),
            app_limited: event.app_limited,
        }
    }
}
