//! A TCP sender or receiver without a network, for replays.

use crate::errors::{guarded, scenario_error};
use lab::{ScriptedAck, ScriptedData, ScriptedReceiver, ScriptedSender};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A TCP sender whose receiver and clock are played by the caller. Times in microseconds, data in segments.
#[pyclass(unsendable, module = "ackclock._core", name = "ScriptedSender")]
pub(crate) struct PyScriptedSender(Box<ScriptedSender>); // its alignment is larger than that of objects of Python

#[pymethods]
impl PyScriptedSender {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<PyScriptedSender> {
        let sender = guarded(|| ScriptedSender::new(text))?;
        sender.map(|sender| PyScriptedSender(Box::new(sender))).map_err(|error| scenario_error(py, error))
    }
    fn start(&mut self, at_us: f64) {
        self.0.start(at_us);
    }
    fn write(&mut self, at_us: f64, segments: u32) {
        self.0.write(at_us, segments);
    }
    #[pyo3(signature = (at_us, ack, blocks, ece, echo_us, window))]
    fn ack(
        &mut self,
        at_us: f64,
        ack: u32,
        blocks: Vec<(u32, u32)>,
        ece: bool,
        echo_us: f64,
        window: Option<u32>,
    ) {
        self.0.ack(at_us, &ScriptedAck { ack, blocks, ece, echo_us, window });
    }
    /// The earliest timer.
    fn timer_us(&self) -> Option<f64> {
        self.0.timer_us()
    }
    fn fire(&mut self, at_us: f64) {
        self.0.fire(at_us);
    }
    /// What was transmitted since the last call: time, segment, whether it carries CWR.
    fn transmitted(&mut self) -> Vec<(f64, u32, bool)> {
        self.0.transmitted().into_iter().map(|t| (t.at_us, t.seq, t.cwr)).collect()
    }
    /// Windows, counts and timers after the last event.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = PyDict::new(py);
        let (cwnd, ssthresh) = self.0.windows();
        state.set_item("cwnd", cwnd)?;
        state.set_item("ssthresh", ssthresh)?;
        let sender = self.0.sender();
        state.set_item("retransmitted", sender.stats().retransmitted)?;
        state.set_item("timeouts", sender.stats().timeouts)?;
        state.set_item("rto_us", sender.rto().seconds() * 1e6)?;
        state.set_item("backoff", sender.backoff())?;
        state.set_item("srtt_us", sender.smoothed_rtt().map(|rtt| rtt.seconds() * 1e6))?;
        if let Some(counts) = self.0.snapshot() {
            state.set_item("state", counts.state.name())?;
            state.set_item("packets_out", counts.packets_out)?;
            state.set_item("sacked_out", counts.sacked_out)?;
            state.set_item("lost_out", counts.lost_out)?;
            state.set_item("retrans_out", counts.retrans_out)?;
            state.set_item("delivered", counts.delivered)?;
            state.set_item("reordering", counts.reordering)?;
            state.set_item("reord_seen", counts.reordering_seen)?;
            state.set_item("dsack_dups", counts.dsacks)?;
            state.set_item("timer_is_silent", counts.timer_is_silent)?;
            state.set_item("min_rtt_us", counts.min_rtt.map(|rtt| rtt.seconds() * 1e6))?;
        }
        Ok(state)
    }
}

/// An ACK: next segment, blocks, ECN echo, timestamp echo in microseconds.
type ReceivedAck = (u32, Vec<(u32, u32)>, bool, f64);

/// A TCP receiver whose sender and clock are played by the caller. Times in microseconds, data in segments.
#[pyclass(unsendable, module = "ackclock._core", name = "ScriptedReceiver")]
pub(crate) struct PyScriptedReceiver(ScriptedReceiver);

#[pymethods]
impl PyScriptedReceiver {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<PyScriptedReceiver> {
        let receiver = guarded(|| ScriptedReceiver::new(text))?;
        receiver.map(PyScriptedReceiver).map_err(|error| scenario_error(py, error))
    }
    /// A segment arrives. `capable`: it is ECN-capable; `marked`: it carries CE.
    fn data(&mut self, at_us: f64, seq: u32, sent_us: f64, capable: bool, marked: bool, cwr: bool) {
        self.0.data(at_us, &ScriptedData { seq, sent_us, capable, marked, cwr });
    }
    /// The timer of delayed ACKs.
    fn timer_us(&self) -> Option<f64> {
        self.0.timer_us()
    }
    fn fire(&mut self, at_us: f64) {
        self.0.fire(at_us);
    }
    /// The ACKs since the last call.
    fn acks(&mut self) -> Vec<ReceivedAck> {
        self.0.acks().into_iter().map(|ack| (ack.ack, ack.blocks, ack.ece, ack.echo_us)).collect()
    }
}
