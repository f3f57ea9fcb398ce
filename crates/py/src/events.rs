//! What a Python controller receives: its flow, and one class for each event. A time is a float in seconds (`_s`) and an
//! exact number of picoseconds (`_ps`).

use cc::{
    Ack, Cause, Congestion, Delivered, Event, FlowInfo, Growth, Lost, PathHint, Restart, Sent, Timeout,
    TransmitStart,
};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use units::{Span, Time};

/// Defines a Python class that has one read-only attribute for each line.
macro_rules! event_class {
    ($(#[$doc:meta])* $class:ident($name:literal, $event:ident: $source:ty) {
        $($attribute:ident: $type:ty = $value:expr,)+
    }) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "ackclock._core", name = $name)]
        pub struct $class(pub $source);

        #[pymethods]
        impl $class {
            /// Itself: it never changes, and a controller that keeps it can be copied.
            fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
                slf
            }
            $(#[getter]
            fn $attribute(&self) -> $type {
                let $event = &self.0;
                $value
            })+
        }
    };
}

event_class! {
    /// The properties of a flow at the creation of its controller.
    PyFlowInfo("FlowInfo", flow: FlowInfo) {
        packet: u32 = flow.packet,
        initial_window: f64 = flow.initial_window,
        initial_ssthresh: f64 = flow.initial_ssthresh,
        max_window: f64 = flow.max_window,
        counts_segments: bool = flow.arithmetic.growth == Growth::Counted,
        integer_windows: bool = flow.arithmetic.integer_windows,
        reduce_on_every_timeout: bool = flow.arithmetic.reduce_on_every_timeout,
        fine_clock: bool = flow.fine_clock,
        abe: bool = flow.abe,
        seed: u64 = flow.seed,
    }
}

event_class! {
    /// The end of the handshake.
    PyHandshake("Handshake", event: (Time, Span)) {
        now_s: f64 = event.0.seconds(),
        now_ps: u64 = event.0.ps(),
        rtt_s: f64 = event.1.seconds(),
        rtt_ps: u64 = event.1.ps(),
    }
}

event_class! {
    /// One acknowledgement.
    PyAck("Ack", ack: Ack) {
        now_s: f64 = ack.now.seconds(),
        now_ps: u64 = ack.now.ps(),
        newly_acked: u32 = ack.newly_acked,
        newly_delivered: u32 = ack.delivered,
        newly_lost: u32 = ack.newly_lost,
        delivered_total: u64 = ack.delivered_total,
        lost_total: u64 = ack.lost_total,
        dupacks: u32 = ack.dupacks,
        acked_through: u64 = ack.acked_through,
        next: u64 = ack.next,
        in_flight: f64 = ack.in_flight,
        prior_in_flight: f64 = ack.prior_in_flight,
        rtt_s: Option<f64> = ack.rtt.map(Span::seconds),
        rtt_ps: Option<u64> = ack.rtt.map(Span::ps),
        receiver_time_s: Option<f64> = ack.receiver_time.map(Time::seconds),
        receiver_time_ps: Option<u64> = ack.receiver_time.map(Time::ps),
        ece: bool = ack.ece,
        delivered: Option<u64> = ack.rate.map(|rate| rate.delivered),
        interval_s: Option<f64> = interval(ack).map(Span::seconds),
        interval_ps: Option<u64> = interval(ack).map(Span::ps),
        app_limited: bool = ack.rate.is_some_and(|rate| rate.app_limited),
        prior_delivered: Option<u64> = ack.rate.map(|rate| rate.prior_delivered),
        tx_in_flight: Option<u32> = ack.rate.map(|rate| rate.tx_in_flight),
        lost: Option<u64> = ack.rate.map(|rate| rate.lost),
        phase: &'static str = ack.phase.name(),
        may_grow: bool = ack.may_grow,
        paced: bool = ack.paced,
        pacing_wait_s: f64 = ack.pacing_wait.seconds(),
        pacing_wait_ps: u64 = ack.pacing_wait.ps(),
        window_limited: bool = ack.window_limited,
    }
}

/// The interval of the rate sample, if a rate follows from it.
fn interval(ack: &Ack) -> Option<Span> {
    ack.rate.map(|rate| rate.interval).filter(|interval| *interval > Span::ZERO)
}

event_class! {
    /// A congestion event: at most one per window of data and cause.
    PyCongestion("Congestion", event: Congestion) {
        now_s: f64 = event.now.seconds(),
        now_ps: u64 = event.now.ps(),
        cause: &'static str = match event.cause {
            Cause::FastRetransmit => "fast_retransmit",
            Cause::Ecn => "ecn",
        },
        window: f64 = event.window,
        in_flight: f64 = event.in_flight,
        segment_sent_s: Option<f64> = event.segment_sent.map(Time::seconds),
        segment_sent_ps: Option<u64> = event.segment_sent.map(Time::ps),
        retransmitted: bool = event.retransmitted,
        dupacks: u32 = event.dupacks,
    }
}

event_class! {
    /// A retransmission timeout with data outstanding.
    PyTimeout("Timeout", event: Timeout) {
        now_s: f64 = event.now.seconds(),
        now_ps: u64 = event.now.ps(),
        window: f64 = event.window,
        repeated: bool = event.repeated,
    }
}

event_class! {
    /// The first transmission after an idle period.
    PyRestart("Restart", event: Restart) {
        now_s: f64 = event.now.seconds(),
        now_ps: u64 = event.now.ps(),
        idle_s: f64 = event.idle.seconds(),
        idle_ps: u64 = event.idle.ps(),
        window: f64 = event.window,
    }
}

event_class! {
    /// A segment that the sender has given up.
    PyLost("Lost", event: Lost) {
        now_s: f64 = event.now.seconds(),
        now_ps: u64 = event.now.ps(),
        seq: u64 = event.seq,
        tx_in_flight: u32 = event.tx_in_flight,
        lost: u64 = event.lost,
        delivered_total: u64 = event.delivered_total,
        app_limited: bool = event.app_limited,
        starts_range: bool = event.starts_range,
    }
}

event_class! {
    /// A segment that an ACK newly reports as delivered.
    PyDelivered("Delivered", event: Delivered) {
        now_s: f64 = event.now.seconds(),
        now_ps: u64 = event.now.ps(),
        seq: u64 = event.seq,
        sent_s: f64 = event.sent.seconds(),
        sent_ps: u64 = event.sent.ps(),
        rtt_s: f64 = event.rtt.seconds(),
        rtt_ps: u64 = event.rtt.ps(),
    }
}

event_class! {
    /// A data segment that the sender has transmitted.
    PySent("Sent", event: Sent) {
        now_s: f64 = event.now.seconds(),
        now_ps: u64 = event.now.ps(),
        seq: u64 = event.seq,
        in_flight: u32 = event.in_flight,
        retransmission: bool = event.retransmission,
    }
}

event_class! {
    /// The first transmission after all data in flight was acknowledged.
    PyTransmitStart("TransmitStart", event: TransmitStart) {
        now_s: f64 = event.now.seconds(),
        now_ps: u64 = event.now.ps(),
        idle_s: f64 = event.idle.seconds(),
        idle_ps: u64 = event.idle.ps(),
        app_limited: bool = event.app_limited,
    }
}

event_class! {
    /// Information from lower layers.
    PyHint("PathHint", event: (Time, PathHint)) {
        now_s: f64 = event.0.seconds(),
        now_ps: u64 = event.0.ps(),
        kind: &'static str = match event.1 {
            PathHint::HandoffBegins => "handoff_begins",
            PathHint::HandoffEnds => "handoff_ends",
            PathHint::RouterRate(_) => "router_rate",
            PathHint::RouterFeedback(_) => "router_feedback",
        },
        value: Option<f64> = match event.1 {
            PathHint::HandoffBegins | PathHint::HandoffEnds => None,
            PathHint::RouterRate(rate) => Some(rate.bps() as f64),
            PathHint::RouterFeedback(feedback) => Some(feedback),
        },
    }
}

/// The argument of an event's method.
pub fn argument<'py>(py: Python<'py>, event: Event<'_>) -> PyResult<Bound<'py, PyAny>> {
    match event {
        Event::Open(now) | Event::RecoveryExit(now) | Event::Undo(now) | Event::Timer(now) => {
            now.seconds().into_bound_py_any(py)
        }
        Event::SetWindow(segments) | Event::SetThreshold(segments) => segments.into_bound_py_any(py),
        Event::Handshake(now, rtt) => PyHandshake((now, rtt)).into_bound_py_any(py),
        Event::Ack(ack) => PyAck(*ack).into_bound_py_any(py),
        Event::Lost(lost) => PyLost(*lost).into_bound_py_any(py),
        Event::Delivered(delivered) => PyDelivered(*delivered).into_bound_py_any(py),
        Event::Sent(sent) => PySent(*sent).into_bound_py_any(py),
        Event::Congestion(event) => PyCongestion(*event).into_bound_py_any(py),
        Event::Timeout(event) => PyTimeout(*event).into_bound_py_any(py),
        Event::Restart(event) => PyRestart(*event).into_bound_py_any(py),
        Event::TransmitStart(event) => PyTransmitStart(*event).into_bound_py_any(py),
        Event::Hint(now, hint) => PyHint((now, *hint)).into_bound_py_any(py),
    }
}
