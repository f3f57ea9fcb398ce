//! Runs in real time (crate reach): on Linux.

use crate::errors::{controller_error, guarded, scenario_error};
use crate::run::{packet_columns, window_columns};
use crate::scenario::PyScenario;
use lab::Recording;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use reach::{Command, Emulation, Error, KernelControl, LiveRun, ProgramOutput, Recorded};
use std::sync::Mutex;
use units::Span;

pyo3::create_exception!(
    ackclock._core,
    UnavailableError,
    PyRuntimeError,
    "This machine or this build does not provide what a run in real time needs."
);

fn converted(py: Python<'_>, error: Error) -> PyErr {
    match error {
        Error::Unavailable(text) => UnavailableError::new_err(text),
        Error::Input(text) => PyValueError::new_err(text),
        Error::Scenario(error) => scenario_error(py, *error),
        Error::Controller(flow, failure) => controller_error(py, &flow, &failure),
        Error::Failed(text) => PyRuntimeError::new_err(text),
        Error::Interrupted => PyRuntimeError::new_err("interrupted"),
    }
}

/// Runs `work` without the interpreter lock. It calls its argument some twenty times a second: an exception of a signal
/// handler, or of `progress`, ends it.
fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let raised = Mutex::new(None);
    let mut check = || {
        let result = Python::attach(|py| {
            py.check_signals()?;
            progress.map_or(Ok(()), |progress| progress.call0(py).map(drop))
        });
        let good = result.is_ok();
        if let (Err(error), Ok(mut raised)) = (result, raised.lock()) {
            *raised = Some(error);
        }
        good
    };
    let done = py.detach(|| guarded(|| work(&mut check)))?;
    if let Ok(mut raised) = raised.lock()
        && let Some(error) = raised.take()
    {
        return Err(error);
    }
    done.map_err(|error| converted(py, error))
}

/// What has happened between two network namespaces.
#[pyclass(frozen, module = "ackclock._core")]
pub(crate) struct FinishedEmulation {
    /// The report as JSON.
    #[pyo3(get)]
    report: String,
    #[pyo3(get)]
    flow_names: Vec<String>,
    #[pyo3(get)]
    link_names: Vec<String>,
    /// The packet events; empty unless they were recorded.
    #[pyo3(get)]
    packets: Py<PyDict>,
    /// The time up to which all of them are there, s.
    #[pyo3(get)]
    packets_until_s: f64,
    /// The captures as pcapng files, in the order in which they were asked for.
    #[pyo3(get)]
    captured: Vec<Py<PyBytes>>,
}

/// Two network namespaces joined by a scenario's network: runs `command` at the first end and `other` at the second, until
/// `command` ends or after `limit_s`. `warn` is called with messages. `output` is the descriptor of a file for
/// what the programs write; without it they write to the streams of this process, with `to_error` to standard error only. `packets`: "off", "first" (as many as fit into 120 MB) or "all".
#[pyfunction]
#[pyo3(signature = (
    scenario, command, other, environment, *, warn, seed=None, limit_s=None, output=None, to_error=false, packets="off",
    captures=Vec::new()
))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments on the Python side")]
pub(crate) fn emulate(
    py: Python<'_>,
    scenario: &PyScenario,
    command: Vec<String>,
    other: Option<Vec<String>>,
    environment: Vec<(String, String)>,
    warn: Py<PyAny>,
    seed: Option<u64>,
    limit_s: Option<f64>,
    output: Option<i32>,
    to_error: bool,
    packets: &str,
    captures: Vec<String>,
) -> PyResult<FinishedEmulation> {
    let mut bounded = (*scenario.scenario).clone();
    if let Some(limit) = limit_s {
        bounded.duration = Span::from_seconds(limit);
    }
    let output = match (output, to_error) {
        (Some(file), _) => ProgramOutput::File(file),
        (None, true) => ProgramOutput::Error,
        (None, false) => ProgramOutput::Own,
    };
    let recording =
        Recording { packets: packets != "off", bounded: packets == "first", ..Recording::default() };
    let program = |arguments| Command { arguments, environment: environment.clone() };
    let commands = [Some(program(command)), other.map(program)];
    let mut warned = |text: &str| {
        Python::attach(|py| drop(warn.call1(py, (text,))));
    };
    let emulated = watched(py, None, |check| {
        reach::emulate(Emulation {
            scenario: &bounded,
            seed,
            commands,
            output,
            recording,
            captures,
            check,
            warn: &mut warned,
        })
    })?;
    let report = lab::to_json(&emulated);
    let Recorded { packets, until_s, captures, shape } = emulated.recorded;
    Ok(FinishedEmulation {
        report,
        flow_names: shape.flows,
        link_names: shape.links,
        packets: packet_columns(py, packets, recording.packets)?,
        packets_until_s: until_s,
        captured: captures.iter().map(|file| PyBytes::new(py, file).unbind()).collect(),
    })
}

/// A flow that has run in real time.
#[pyclass(frozen, module = "ackclock._core")]
pub(crate) struct FinishedLive {
    /// The outcome as JSON, with `substrate` and `validity`.
    #[pyo3(get)]
    outcome: String,
    #[pyo3(get)]
    valid: bool,
    #[pyo3(get)]
    flow_names: Vec<String>,
    #[pyo3(get)]
    windows: Py<PyDict>,
}

fn finished(py: Python<'_>, run: &LiveRun) -> PyResult<FinishedLive> {
    Ok(FinishedLive {
        outcome: run.to_json(),
        valid: run.valid(),
        flow_names: vec![run.flow_name()],
        windows: window_columns(py, run.windows().clone())?,
    })
}

/// Runs the first flow as QUIC over UDP sockets of the loopback device.
#[pyfunction]
#[pyo3(signature = (scenario, *, seed=None, progress=None))]
pub(crate) fn run_udp(
    py: Python<'_>,
    scenario: &PyScenario,
    seed: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<FinishedLive> {
    let run = watched(py, progress.as_ref(), |check| reach::run_udp(&scenario.scenario, seed, check))?;
    finished(py, &run)
}

/// Runs the first flow, a TCP flow, in the kernel: with its algorithm `own`, or without one with the flow's controller
/// through BPF.
#[pyfunction]
#[pyo3(signature = (scenario, kernel_controller=None, *, seed=None, progress=None))]
pub(crate) fn run_kernel(
    py: Python<'_>,
    scenario: &PyScenario,
    kernel_controller: Option<String>,
    seed: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<FinishedLive> {
    let control = match kernel_controller {
        Some(name) => KernelControl::Own(name),
        #[cfg(feature = "kernel")]
        None => KernelControl::Bridge,
        #[cfg(not(feature = "kernel"))]
        None => {
            return Err(UnavailableError::new_err(
                "this core was built without the kernel bridge: build it with `make kernel` (Rust, gcc, libelf, zlib), or \
                 name an algorithm of the kernel, such as linux:cubic",
            ));
        }
    };
    let run =
        watched(py, progress.as_ref(), |check| reach::run_kernel(&scenario.scenario, &control, seed, check))?;
    finished(py, &run)
}
