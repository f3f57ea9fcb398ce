//! Runs: columns go over as bytes.

use crate::errors::{controller_error, guarded, interruptible, scenario_error};
use crate::scenario::PyScenario;
use cc::Transition;
use lab::{Logs, Parts, Recording, Run, Settings, Shape, TraceMode};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use units::{Rate, Span, Time};

/// Events between two checks of signals and progress: some milliseconds, more with the auditor.
pub(crate) const CHUNK: u64 = 1 << 16;

/// The same if a time limit ends the run, or if controllers in Python make events slow.
pub(crate) const FEW: u64 = 1 << 13;

/// The same for a run on several threads, each call of which has a limit of time too.
const MANY: u64 = 1 << 21;

/// Times for which a run has the capacity of links whose rate varies.
const TIMES: usize = 2001;

/// A finished run.
#[pyclass(frozen, module = "ackclock._core")]
pub(crate) struct Finished {
    /// The outcome as JSON.
    #[pyo3(get)]
    outcome: String,
    #[pyo3(get)]
    flow_names: Vec<String>,
    #[pyo3(get)]
    link_names: Vec<String>,
    /// For each flow the nodes at which its data starts and ends.
    #[pyo3(get)]
    flow_ends: Vec<[String; 2]>,
    /// For each flow the payload of a full segment, bytes; `None` for a flow that is not TCP.
    #[pyo3(get)]
    segment_bytes: Vec<Option<u32>>,
    /// For each flow the seconds under each limit (`codes()["limit"]`) that kept its sender from sending more.
    #[pyo3(get)]
    limited_s: Vec<[f64; lab::SEND_LIMITS.len()]>,
    /// The first violations that the auditor found.
    #[pyo3(get)]
    violations: Vec<String>,
    #[pyo3(get)]
    violation_count: u64,
    #[pyo3(get)]
    fingerprint: String,
    #[pyo3(get)]
    windows: Py<PyDict>,
    /// The transitions of controllers: time, s, number of the flow, state before, state after, reason.
    #[pyo3(get)]
    states: Vec<(f64, u32, &'static str, &'static str, &'static str)>,
    #[pyo3(get)]
    packets: Py<PyDict>,
    /// With packets, for each link whose rate varies the bits that it could have sent until equal times (f64 columns).
    #[pyo3(get)]
    capacities: Py<PyDict>,
    #[pyo3(get)]
    transmissions: Py<PyDict>,
    #[pyo3(get)]
    radio: Py<PyDict>,
    /// The messages of applications: columns, and `flow` and `state` as lists of names.
    #[pyo3(get)]
    messages: Py<PyDict>,
    /// The captures as pcapng files, in the order in which they were asked for.
    #[pyo3(get)]
    captured: Vec<Py<PyBytes>>,
    /// The qlogs of QUIC flows: name of the flow, the sender's and the receiver's file.
    #[pyo3(get)]
    qlogs: Vec<(String, String, String)>,
    /// Why the run has used one thread, if it was to use several.
    #[pyo3(get)]
    one_thread: Option<String>,
    /// Explanations of reductions of windows, as JSON.
    #[pyo3(get)]
    causes: Vec<String>,
    /// The time up to which all reductions are explained, seconds.
    #[pyo3(get)]
    causes_until_s: f64,
}

pub(crate) fn trace_mode(name: &str) -> PyResult<TraceMode> {
    TraceMode::from_name(name).ok_or_else(|| {
        PyValueError::new_err(format!("trace is \"off\", \"changes\" or \"ack\", not \"{name}\""))
    })
}

#[pyfunction]
#[pyo3(signature = (scenario, *, seed=None, trace="off", packets=false, audit=false, captures=Vec::new(), fingerprint=false, radio=false, qlog=false, messages=false, causes=0, until_s=None, threads=1, progress=None))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments on the Python side")]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &PyScenario,
    seed: Option<u64>,
    trace: &str,
    packets: bool,
    audit: bool,
    captures: Vec<String>,
    fingerprint: bool,
    radio: bool,
    qlog: bool,
    messages: bool,
    causes: usize,
    until_s: Option<f64>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Finished> {
    let recording = Recording {
        trace: trace_mode(trace)?,
        packets,
        packets_within: None,
        bounded: false,
        captures: !captures.is_empty(),
        audit,
        fingerprint,
        radio,
        rules: causes > 0,
        qlog,
    };
    let settings = Settings { seed, recording, ..Settings::default() };
    let mut run = build(py, scenario, settings)?;
    for place in &captures {
        run.capture(place).map_err(PyValueError::new_err)?;
    }
    if threads > 1 && until_s.is_some() {
        return Err(PyValueError::new_err("until_s: needs threads=1"));
    }
    let mut divide = || (threads > 1).then(|| Parts::new(&mut run, threads)).transpose();
    let (mut parts, one_thread) = match py.detach(|| guarded(&mut divide))? {
        Ok(parts) => (parts, None),
        Err(reason) => (None, Some(reason)),
    };
    let chunk = if until_s.is_some() || run.has_external() { FEW } else { CHUNK };
    let duration = scenario.scenario.duration.seconds();
    let advance = |run: &mut Run| {
        let ended = match &mut parts {
            Some(parts) => parts.advance(run, MANY),
            None => run.advance(chunk),
        };
        ended || until_s.is_some_and(|until| run.progress() * duration > until)
    };
    drive(py, &mut run, advance, progress.as_ref())?;
    let is_whole = parts.is_some_and(|parts| parts.is_whole());
    let one_thread =
        one_thread.or_else(|| is_whole.then(|| "after a trial with parts, which were slower".into()));
    let messages = message_columns(py, if messages { run.messages() } else { Vec::new() })?;
    Ok(Finished { one_thread, messages, ..finished(py, run, causes)? })
}

/// How a run would be divided among threads, as JSON; the reason as an error if one thread is faster.
#[pyfunction]
#[pyo3(signature = (scenario, threads, *, seed=None))]
pub(crate) fn explain_threads(
    py: Python<'_>,
    scenario: &PyScenario,
    threads: usize,
    seed: Option<u64>,
) -> PyResult<String> {
    let mut run = build(py, scenario, Settings { seed, ..Settings::default() })?;
    let parts = py.detach(|| guarded(|| Parts::new(&mut run, threads)))?;
    parts.map(|parts| lab::to_json(parts.facts())).map_err(PyValueError::new_err)
}

/// What a run has recorded, after its end, with the causes of so many reductions of windows.
pub(crate) fn finished(py: Python<'_>, mut run: Run, causes: usize) -> PyResult<Finished> {
    let recording = run.recording();
    let (violations, violation_count) = if recording.audit { run.audit() } else { Default::default() };
    let captured = run.captured().iter().map(|file| PyBytes::new(py, file).unbind()).collect();
    let qlogs = run.qlogs().into_iter().map(|(name, [sender, receiver])| (name, sender, receiver)).collect();
    let outcome = run.outcome();
    let fingerprint = if recording.fingerprint { run.fingerprint() } else { String::new() };
    let (causes, causes_until_s) = reductions(py, &mut run, causes)?;
    let Logs { windows, states, packets, transmissions, radio, .. } = run.take_logs();
    let Shape { links, flows, flow_ends, segment_bytes, .. } = run.shape();
    let capacities = PyDict::new(py);
    for (link, bits) in run.capacities(if recording.packets { TIMES } else { 0 }) {
        put(&capacities, &links[link], bits)?;
    }
    Ok(Finished {
        limited_s: outcome.flows.iter().map(|flow| flow.limited_s).collect(),
        outcome: outcome.to_json(),
        flow_names: flows,
        link_names: links,
        flow_ends,
        segment_bytes,
        violations: violations.iter().map(ToString::to_string).collect(),
        violation_count,
        fingerprint,
        windows: window_columns(py, windows)?,
        states: states.iter().map(state).collect(),
        packets: packet_columns(py, packets, recording.packets)?,
        capacities: capacities.unbind(),
        transmissions: transmission_columns(py, transmissions)?,
        radio: radio_columns(py, radio)?,
        messages: PyDict::new(py).unbind(),
        captured,
        qlogs,
        one_thread: None,
        causes: causes.iter().map(lab::to_json).collect(),
        causes_until_s,
    })
}

/// A transition as values of Python.
fn state(row: &lab::StateRow) -> (f64, u32, &'static str, &'static str, &'static str) {
    let Transition { at, from, to, why } = row.transition;
    (at.seconds(), row.flow, from, to, why)
}

/// The causes of at most `limit` reductions of windows, and the time up to which they are all; other threads go on meanwhile.
fn reductions(py: Python<'_>, run: &mut Run, limit: usize) -> PyResult<(Vec<lab::Explanation>, f64)> {
    if limit == 0 {
        return Ok((Vec::new(), 0.0));
    }
    py.detach(move || guarded(move || lab::reductions(run, limit)))
}

/// Builds a run. Signals interrupt the passes of satellites, which can take seconds; the rest does not look at
/// them, and a thread for it takes as long as a small network.
pub(crate) fn build(py: Python<'_>, scenario: &PyScenario, settings: Settings) -> PyResult<Run> {
    let result = if scenario.scenario.satellites.is_none() || scenario.scenario.has_external() {
        py.detach(|| guarded(|| Run::new(&scenario.scenario, settings)))?
    } else {
        interruptible(py, |stop| Run::stoppable(&scenario.scenario, settings, stop))?
    };
    py.check_signals()?;
    result.map_err(|error| scenario_error(py, error))
}

/// Calls `advance` until it returns that it is done; checks signals, controllers and memory after each call, and reports the
/// progress.
pub(crate) fn drive(
    py: Python<'_>,
    run: &mut Run,
    mut advance: impl FnMut(&mut Run) -> bool + Send,
    progress: Option<&Py<PyAny>>,
) -> PyResult<()> {
    let mut reached: f64 = 0.0;
    loop {
        // With controllers in Python the run keeps the interpreter lock.
        let ended = if run.has_external() {
            guarded(|| advance(run))
        } else {
            py.detach(|| guarded(|| advance(run)))
        }?;
        if let Some((flow, failure)) = run.failure() {
            return Err(controller_error(py, flow, failure));
        }
        py.check_signals()?;
        run.check_memory().map_err(PyMemoryError::new_err)?;
        if let Some(progress) = progress {
            // A run that goes on without its parts begins anew.
            reached = if ended { 1.0 } else { reached.max(run.progress()) };
            progress.call1(py, (reached,))?;
        }
        if ended {
            return Ok(());
        }
    }
}

/// Puts a column into `columns` as bytes, and frees it: a log can take a hundred megabytes.
fn put<T: bytemuck::NoUninit>(columns: &Bound<'_, PyDict>, name: &str, column: Vec<T>) -> PyResult<()> {
    columns.set_item(name, PyBytes::new(columns.py(), bytemuck::cast_slice(&column)))
}

/// The window trace as columns of bytes.
pub(crate) fn window_columns(py: Python<'_>, log: lab::WindowLog) -> PyResult<Py<PyDict>> {
    let columns = PyDict::new(py);
    put(&columns, "time_s", log.time_s)?;
    put(&columns, "flow", log.flow)?;
    put(&columns, "event", log.event)?;
    put(&columns, "cwnd", log.cwnd)?;
    put(&columns, "ssthresh", log.ssthresh)?;
    put(&columns, "ack", log.ack)?;
    put(&columns, "rtt_s", log.rtt_s)?;
    put(&columns, "in_flight", log.in_flight)?;
    put(&columns, "phase", log.phase)?;
    put(&columns, "cause", log.cause)?;
    put(&columns, "pacing_bps", log.pacing_bps)?;
    put(&columns, "app_limited", log.app_limited)?;
    let internals = PyDict::new(py);
    for (name, column) in log.internals {
        put(&internals, &name, column)?;
    }
    columns.set_item("internals", internals)?;
    Ok(columns.unbind())
}

pub(crate) fn packet_columns(py: Python<'_>, log: lab::PacketLog, recorded: bool) -> PyResult<Py<PyDict>> {
    let columns = PyDict::new(py);
    if recorded {
        put(&columns, "time_s", log.time.into_iter().map(Time::seconds).collect())?;
        put(&columns, "link", log.link)?;
        put(&columns, "event", log.event)?;
        put(&columns, "reason", log.reason)?;
        put(&columns, "flow", log.flow)?;
        put(&columns, "kind", log.kind)?;
        put(&columns, "seq", log.seq)?;
        put(&columns, "size", log.size)?;
        put(&columns, "marked", log.marked)?;
    }
    Ok(columns.unbind())
}

/// The messages of applications as columns.
fn message_columns(py: Python<'_>, rows: Vec<(&str, lab::MessageRow)>) -> PyResult<Py<PyDict>> {
    let columns = PyDict::new(py);
    let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
    columns.set_item("flow", rows.iter().map(|(flow, _)| *flow).collect::<Vec<_>>())?;
    columns.set_item("state", rows.iter().map(|(_, row)| row.state).collect::<Vec<_>>())?;
    put(&columns, "number", rows.iter().map(|(_, row)| row.number).collect())?;
    put(&columns, "connection", rows.iter().map(|(_, row)| row.connection).collect())?;
    put(&columns, "bytes", rows.iter().map(|(_, row)| row.bytes).collect())?;
    put(&columns, "start_s", rows.iter().map(|(_, row)| row.start_s).collect())?;
    put(&columns, "first_s", rows.iter().map(|(_, row)| or_nan(row.first_s)).collect())?;
    put(&columns, "end_s", rows.iter().map(|(_, row)| or_nan(row.end_s)).collect())?;
    put(&columns, "ideal_s", rows.iter().map(|(_, row)| or_nan(row.ideal_s)).collect())?;
    Ok(columns.unbind())
}

/// The quantile `part` by rank of the values counted in sketches, whose pairs are buckets and counts; infinite where it falls on a
/// message without an end, none with too few values.
#[pyfunction]
pub(crate) fn pooled_quantile(pairs: Vec<(Option<u32>, u64)>, part: f64) -> Option<f64> {
    lab::pooled_quantile(pairs.into_iter(), part)
}

fn transmission_columns(py: Python<'_>, log: lab::TransmissionLog) -> PyResult<Py<PyDict>> {
    let columns = PyDict::new(py);
    let seconds = |times: Vec<Time>| times.into_iter().map(Time::seconds).collect();
    put(&columns, "begin_s", seconds(log.begin))?;
    put(&columns, "end_s", seconds(log.end))?;
    put(&columns, "link", log.link)?;
    put(&columns, "kind", log.kind)?;
    put(&columns, "access", log.access)?;
    put(&columns, "packets", log.packets)?;
    put(&columns, "arrived", log.arrived)?;
    put(&columns, "attempt", log.attempt)?;
    put(&columns, "mcs", log.mcs)?;
    put(&columns, "collided", log.collided)?;
    put(&columns, "share", log.share)?;
    Ok(columns.unbind())
}

fn radio_columns(py: Python<'_>, log: lab::RadioLog) -> PyResult<Py<PyDict>> {
    let columns = PyDict::new(py);
    put(&columns, "time_s", log.time.into_iter().map(Time::seconds).collect())?;
    put(&columns, "node", log.node)?;
    put(&columns, "to", log.to)?;
    put(&columns, "step", log.step)?;
    put(&columns, "flow", log.flow)?;
    put(&columns, "airtime_s", log.airtime_s)?;
    Ok(columns.unbind())
}

/// The speed benchmark's dumbbell: what it cost and its goodput, as JSON.
#[pyfunction]
pub(crate) fn bench(py: Python<'_>, flows: u32, duration_s: f64, rate_bps: u64) -> PyResult<String> {
    let scenario = lab::dumbbell(flows, Rate::from_bps(rate_bps), Span::from_seconds(duration_s));
    let mut run = py
        .detach(|| guarded(|| Run::new(&scenario, Settings::default())))?
        .map_err(|e| scenario_error(py, e))?;
    while !py.detach(|| guarded(|| run.advance(CHUNK)))? {
        py.check_signals()?;
    }
    let (cost, goodput) = run.cost();
    Ok(format!(
        "{{\"packet_hops\": {}, \"events\": {}, \"cpu_s\": {}, \"goodput_bps\": {goodput}}}",
        cost.packet_hops, cost.events, cost.cpu_s
    ))
}
