//! The Python module `ackclock._core`: scenarios, runs, lists. Thin: columns go over as bytes.
#![forbid(unsafe_code)]

mod guest;
mod study;

use guest::PyLaw;
use lab::{Recording, Run, Scenario, Settings, TraceMode};
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use units::{Rate, Span, Time};

pyo3::create_exception!(ackclock._core, ScenarioError, PyValueError, "A scenario that cannot be run.");
pyo3::create_exception!(
    ackclock._core,
    ControllerError,
    PyRuntimeError,
    "A controller written in Python raised; its own error is the cause."
);

/// Events between two looks at signals and progress: some milliseconds, more under audit.
const CHUNK: u64 = 1 << 16;
/// The same where a moment ends the run, or where controllers in Python make an event slow.
const FEW: u64 = 1 << 13;

/// Time between two looks at signals while another thread works.
const SIGNALS: Duration = Duration::from_millis(100);

fn scenario_error(py: Python<'_>, error: lab::ScenarioError) -> PyErr {
    let raised = ScenarioError::new_err(error.to_string());
    let value = raised.value(py);
    let filled = value
        .setattr("file", error.file)
        .and_then(|()| value.setattr("line", error.line))
        .and_then(|()| value.setattr("key", error.key))
        .and_then(|()| value.setattr("message", error.message));
    filled.err().unwrap_or(raised)
}

/// A bug in the core becomes an ordinary exception, not an abort.
fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        PyRuntimeError::new_err(
            "internal error in the simulation core (see the message above); please report it",
        )
    })
}

/// Does `work` in a thread of its own, so that Ctrl-C ends the wait for it, however long it is.
fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || sender.send(guarded(work)));
    let receiver = Mutex::new(receiver);
    loop {
        let found =
            py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SIGNALS));
        match found {
            Ok(done) => return done,
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => unreachable!("the thread sends what it has, or its panic"),
        }
    }
}

/// A parsed scenario.
#[pyclass(frozen, module = "ackclock._core", name = "Scenario")]
struct PyScenario {
    scenario: Arc<Scenario>,
    /// What is accepted in the file and would better be written otherwise.
    #[pyo3(get)]
    advice: Vec<String>,
}

#[pymethods]
impl PyScenario {
    #[getter]
    fn title(&self) -> &str {
        &self.scenario.title
    }
    #[getter]
    fn duration_s(&self) -> f64 {
        self.scenario.duration.seconds()
    }
    #[getter]
    fn seed(&self) -> u64 {
        self.scenario.seed
    }
    #[getter]
    fn is_study(&self) -> bool {
        self.scenario.is_study
    }
    /// What the network is made of, as JSON: links, flows, terminals, radio nodes (lab's NetworkDescription).
    fn network(&self) -> String {
        lab::to_json(&self.scenario.describe())
    }
    /// Sides of the area of the radio nodes (zero if none was given) and the distance up to which they receive, m; none
    /// where there is no radio.
    #[getter]
    fn radio(&self) -> Option<(f64, f64, f64)> {
        let radio = self.scenario.radio.as_ref()?;
        Some((radio.area[0], radio.area[1], radio.range()))
    }
    /// Places of the radio nodes at some times (s) under a seed: x and y in metres, node by node, time by time (f64 columns).
    fn places(&self, py: Python<'_>, seed: Option<u64>, times: Vec<f64>) -> Py<PyBytes> {
        let mut found: Vec<f64> = Vec::new();
        if let Some(radio) = &self.scenario.radio {
            let ways =
                radio.trajectories(seed.unwrap_or(self.scenario.seed), Time::ZERO + self.scenario.duration);
            for at in times {
                let at = Time::ZERO + Span::from_seconds(at);
                found.extend(ways.iter().flat_map(|way| way.at(at)));
            }
        }
        PyBytes::new(py, bytemuck::cast_slice(&found)).unbind()
    }
}

/// A finished run.
#[pyclass(frozen, module = "ackclock._core")]
struct Finished {
    /// The outcome as JSON.
    #[pyo3(get)]
    outcome: String,
    #[pyo3(get)]
    flow_names: Vec<String>,
    #[pyo3(get)]
    link_names: Vec<String>,
    /// The first violations that the auditor found.
    #[pyo3(get)]
    violations: Vec<String>,
    #[pyo3(get)]
    violation_count: u64,
    #[pyo3(get)]
    fingerprint: String,
    #[pyo3(get)]
    windows: Py<PyDict>,
    #[pyo3(get)]
    packets: Py<PyDict>,
    #[pyo3(get)]
    radio: Py<PyDict>,
    /// The captures as pcapng files, in the order in which they were asked for.
    #[pyo3(get)]
    captured: Vec<Py<PyBytes>>,
}

/// A scenario from its text; `controllers` gives flows (by name) controllers written in Python (classes).
#[pyfunction]
#[pyo3(signature = (file, text, assignments, controllers=None))]
fn parse(
    py: Python<'_>,
    file: &str,
    text: &str,
    assignments: Vec<String>,
    controllers: Option<Bound<'_, PyDict>>,
) -> PyResult<PyScenario> {
    let (parsed, advice) = guarded(|| lab::advised(|| Scenario::parse(file, text, &assignments)))?;
    let mut scenario = parsed.map_err(|e| scenario_error(py, e))?;
    for (flow, class) in controllers.iter().flatten() {
        let name: String = class.getattr("__name__")?.extract()?;
        let law = PyLaw::new(&class, Vec::new(), name.clone(), name)?;
        let control = lab::Control::Guest(Arc::new(law));
        scenario.set_control(&flow.extract::<String>()?, control).map_err(|e| scenario_error(py, e))?;
    }
    Ok(PyScenario { scenario: Arc::new(scenario), advice: advice.iter().map(ToString::to_string).collect() })
}

/// The error for a controller that failed. Ctrl-C inside one is that and nothing else.
fn controller_error(py: Python<'_>, flow: &str, failure: &cc::Failure) -> PyErr {
    let cause = failure.error.downcast_ref::<PyErr>().map(|error| error.clone_ref(py));
    if let Some(error) = &cause
        && error.is_instance_of::<PyKeyboardInterrupt>(py)
    {
        return error.clone_ref(py);
    }
    let at = failure.at.seconds();
    let what = cause.as_ref().map_or_else(|| failure.message.clone(), ToString::to_string);
    let raised = ControllerError::new_err(format!("flow {flow}: its controller failed at {at} s: {what}"));
    let value = raised.value(py);
    let filled = value
        .setattr("flow", flow)
        .and_then(|()| value.setattr("time_s", at))
        .and_then(|()| value.setattr("traceback", &failure.message));
    raised.set_cause(py, cause);
    filled.err().unwrap_or(raised)
}

#[pyfunction]
#[pyo3(signature = (scenario, *, seed=None, trace="off", packets=false, audit=false, captures=Vec::new(), fingerprint=false, radio=false, until_s=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments on the Python side")]
fn run(
    py: Python<'_>,
    scenario: &PyScenario,
    seed: Option<u64>,
    trace: &str,
    packets: bool,
    audit: bool,
    captures: Vec<String>,
    fingerprint: bool,
    radio: bool,
    until_s: Option<f64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Finished> {
    let trace = match trace {
        "off" => TraceMode::Off,
        "changes" => TraceMode::Changes,
        "ack" => TraceMode::EveryAck,
        other => {
            return Err(PyValueError::new_err(format!(
                "trace is \"off\", \"changes\" or \"ack\", not \"{other}\""
            )));
        }
    };
    let recording = Recording { trace, packets, captures: !captures.is_empty(), audit, fingerprint, radio };
    let settings = Settings { seed, recording, unfolded: false };
    let parsed = scenario.scenario.clone();
    let made = interruptible(py, move || Run::new(&parsed, settings))?;
    let mut run = made.map_err(|error| scenario_error(py, error))?;
    for place in &captures {
        run.capture(place).map_err(PyValueError::new_err)?;
    }
    let guests = run.has_guests();
    let chunk = if until_s.is_some() || guests { FEW } else { CHUNK };
    loop {
        // Who is called back at every event keeps the interpreter.
        let ended = if guests {
            guarded(|| run.advance(chunk))
        } else {
            py.detach(|| guarded(|| run.advance(chunk)))
        }?;
        if let Some((flow, failure)) = run.failure() {
            return Err(controller_error(py, flow, failure));
        }
        let ended = ended
            || until_s.is_some_and(|until| run.progress() * scenario.scenario.duration.seconds() > until);
        py.check_signals()?;
        run.check_memory().map_err(PyMemoryError::new_err)?;
        if let Some(progress) = &progress {
            progress.call1(py, (if ended { 1.0 } else { run.progress() },))?;
        }
        if ended {
            break;
        }
    }
    let (violations, violation_count) = if audit { run.audit() } else { Default::default() };
    let captured = run.captured().iter().map(|file| PyBytes::new(py, file).unbind()).collect();
    Ok(Finished {
        outcome: run.outcome().to_json(),
        flow_names: run.flow_names(),
        link_names: run.link_names(),
        violations: violations.iter().map(ToString::to_string).collect(),
        violation_count,
        fingerprint: if fingerprint { run.fingerprint() } else { String::new() },
        windows: window_columns(py, &run)?,
        packets: packet_columns(py, &mut run, packets)?,
        radio: radio_columns(py, &run)?,
        captured,
    })
}

fn window_columns(py: Python<'_>, run: &Run) -> PyResult<Py<PyDict>> {
    let log = run.windows();
    let columns = PyDict::new(py);
    let bytes = |column: &[u8]| PyBytes::new(py, column);
    columns.set_item("time_s", bytes(bytemuck::cast_slice(&log.time_s)))?;
    columns.set_item("flow", bytes(bytemuck::cast_slice(&log.flow)))?;
    columns.set_item("event", bytes(&log.event))?;
    columns.set_item("cwnd", bytes(bytemuck::cast_slice(&log.cwnd)))?;
    columns.set_item("ssthresh", bytes(bytemuck::cast_slice(&log.ssthresh)))?;
    columns.set_item("ack", bytes(bytemuck::cast_slice(&log.ack)))?;
    columns.set_item("rtt_s", bytes(bytemuck::cast_slice(&log.rtt_s)))?;
    columns.set_item("in_flight", bytes(bytemuck::cast_slice(&log.in_flight)))?;
    columns.set_item("phase", bytes(&log.phase))?;
    let internals = PyDict::new(py);
    for (name, column) in &log.internals {
        internals.set_item(name, bytes(bytemuck::cast_slice(column)))?;
    }
    columns.set_item("internals", internals)?;
    Ok(columns.unbind())
}

fn packet_columns(py: Python<'_>, run: &mut Run, wanted: bool) -> PyResult<Py<PyDict>> {
    let columns = PyDict::new(py);
    if !wanted {
        return Ok(columns.unbind());
    }
    let log = run.packets();
    let bytes = |column: &[u8]| PyBytes::new(py, column);
    let times: Vec<f64> = log.time.iter().map(|t| t.seconds()).collect();
    let marked: Vec<u8> = log.marked.iter().map(|m| *m as u8).collect();
    columns.set_item("time_s", bytes(bytemuck::cast_slice(&times)))?;
    columns.set_item("link", bytes(bytemuck::cast_slice(&log.link)))?;
    columns.set_item("event", bytes(&log.event))?;
    columns.set_item("reason", bytes(&log.reason))?;
    columns.set_item("flow", bytes(bytemuck::cast_slice(&log.flow)))?;
    columns.set_item("kind", bytes(&log.kind))?;
    columns.set_item("seq", bytes(bytemuck::cast_slice(&log.seq)))?;
    columns.set_item("size", bytes(bytemuck::cast_slice(&log.size)))?;
    columns.set_item("marked", bytes(&marked))?;
    Ok(columns.unbind())
}

fn radio_columns(py: Python<'_>, run: &Run) -> PyResult<Py<PyDict>> {
    let log = run.radio_log();
    let columns = PyDict::new(py);
    let bytes = |column: &[u8]| PyBytes::new(py, column);
    let times: Vec<f64> = log.time.iter().map(|t| t.seconds()).collect();
    columns.set_item("time_s", bytes(bytemuck::cast_slice(&times)))?;
    columns.set_item("node", bytes(bytemuck::cast_slice(&log.node)))?;
    columns.set_item("to", bytes(bytemuck::cast_slice(&log.to)))?;
    columns.set_item("step", bytes(&log.step))?;
    columns.set_item("flow", bytes(bytemuck::cast_slice(&log.flow)))?;
    columns.set_item("airtime_s", bytes(bytemuck::cast_slice(&log.airtime_s)))?;
    Ok(columns.unbind())
}

/// Whether scenarios may name code and bases outside their own folder, from now on.
#[pyfunction]
fn allow_code(allowed: bool) {
    lab::allow_code(allowed);
}

/// Seconds of a span such as "600s".
#[pyfunction]
fn seconds(text: &str) -> PyResult<f64> {
    text.parse().map(Span::seconds).map_err(|e: units::UnitError| PyValueError::new_err(e.to_string()))
}

/// The sky of a scenario without traffic, worked out up to a moment.
#[pyclass(frozen, module = "ackclock._core", name = "Sky")]
struct PySky(lab::SkyView);

impl PySky {
    fn ends(&self, from: Option<&str>, to: Option<&str>) -> PyResult<Option<(usize, usize)>> {
        let (Some(from), Some(to)) = (from, to) else { return Ok(None) };
        let node = |name| self.0.terminal(name).map_err(PyValueError::new_err);
        Ok(Some((node(from)?, node(to)?)))
    }
}

#[pymethods]
impl PySky {
    #[new]
    #[pyo3(signature = (file, text, assignments, until_s, seed))]
    fn new(
        py: Python<'_>,
        file: String,
        text: String,
        assignments: Vec<String>,
        until_s: f64,
        seed: Option<u64>,
    ) -> PyResult<PySky> {
        let until = Span::from_seconds(until_s);
        interruptible(py, move || lab::SkyView::new(&file, &text, &assignments, until, seed))?
            .map(PySky)
            .map_err(|e| scenario_error(py, e))
    }
    /// The path at a moment (s), as JSON; with `positions` every satellite's place.
    #[pyo3(signature = (at_s, start, end, positions))]
    fn instant(
        &self,
        at_s: f64,
        start: Option<&str>,
        end: Option<&str>,
        positions: bool,
    ) -> PyResult<String> {
        let ends = self.ends(start, end)?;
        Ok(lab::to_json(&self.0.instant(Time::ZERO + Span::from_seconds(at_s), ends, positions)))
    }
    /// What a picture of a moment (s) shows, as JSON.
    #[pyo3(signature = (at_s, start, end))]
    fn picture(&self, at_s: f64, start: Option<&str>, end: Option<&str>) -> PyResult<String> {
        let ends = self.ends(start, end)?;
        Ok(lab::to_json(&self.0.picture(Time::ZERO + Span::from_seconds(at_s), ends)))
    }
    /// Every hand-off, as JSON.
    fn handoffs(&self) -> String {
        lab::to_json(&self.0.handoffs())
    }
}

/// The speed benchmark's dumbbell: what it cost and its goodput, as JSON.
#[pyfunction]
fn bench(py: Python<'_>, flows: u32, duration_s: f64, rate_bps: u64) -> PyResult<String> {
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

/// What can be named in a scenario, as JSON; `kind` is one of `KINDS`.
#[pyfunction]
fn catalog(kind: &str) -> PyResult<String> {
    let entries = lab::catalog::list(kind)
        .ok_or_else(|| PyValueError::new_err(format!("there is no list of \"{kind}\"")))?;
    serde_json::to_string(&entries).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// Names behind the codes of the columns.
#[pyfunction]
fn codes(py: Python<'_>) -> PyResult<Py<PyDict>> {
    let names = PyDict::new(py);
    let codes = lab::catalog::codes();
    names.set_item("trace_event", codes.trace_events)?;
    names.set_item("phase", codes.phases)?;
    names.set_item("packet_event", codes.packet_events)?;
    names.set_item("reason", codes.reasons)?;
    names.set_item("kind", codes.kinds)?;
    names.set_item("radio", lab::RadioLog::STEPS.to_vec())?;
    Ok(names.unbind())
}

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::guest::{PyAck, PyCongestion, PyFlowInfo, PyHint, PyRestart, PyTimeout};
    #[pymodule_export]
    use super::study::{PyPool, PyStudy, parse_study};
    use super::*;
    #[pymodule_export]
    use super::{
        ControllerError, Finished, PyScenario, PySky, ScenarioError, allow_code, bench, catalog, codes,
        parse, run, seconds,
    };
    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        lab::set_guest_loader(lab::GuestLoader { identify: PyLaw::identify, load: PyLaw::load });
        m.add("__version__", lab::VERSION)?;
        m.add("ENGINE", lab::ENGINE)?;
        m.add("ENGINE_CRATES", lab::ENGINE_CRATES.split(' ').collect::<Vec<_>>())?;
        m.add("KINDS", lab::catalog::KINDS.to_vec())
    }
}
