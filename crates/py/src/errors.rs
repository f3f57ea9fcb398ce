//! Conversion of core errors into Python exceptions, and work that Ctrl-C interrupts.

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pyo3::create_exception!(ackclock._core, ScenarioError, PyValueError, "A scenario that cannot be run.");

pyo3::create_exception!(
    ackclock._core,
    ControllerError,
    PyRuntimeError,
    "A controller written in Python raised; its own error is the cause."
);

/// Time between two checks for signals while another thread works.
pub(crate) const SIGNALS: Duration = Duration::from_millis(100);

/// The exception for an error in a scenario: BadInput if a text that may not name code names some.
pub(crate) fn scenario_error(py: Python<'_>, error: lab::ScenarioError) -> PyErr {
    if error.kind == lab::ErrorKind::Code {
        let class = py.import("ackclock.base.files").and_then(|files| files.getattr("BadInput"));
        let raised = class.and_then(|class| class.call1((error.to_string(),)));
        return raised.map_or_else(|failed| failed, PyErr::from_value);
    }
    let raised = ScenarioError::new_err(error.to_string());
    let value = raised.value(py);
    let filled = value
        .setattr("file", error.file)
        .and_then(|()| value.setattr("line", error.line))
        .and_then(|()| value.setattr("key", error.key))
        .and_then(|()| value.setattr("message", error.message))
        .and_then(|()| value.setattr("unmet_need", error.kind == lab::ErrorKind::UnmetNeed))
        .and_then(|()| value.setattr("others", error.others));
    filled.err().unwrap_or(raised)
}

/// Runs `work`; a panic in the core becomes a Python exception.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        PyRuntimeError::new_err(
            "internal error in the simulation core (see the message above); please report it",
        )
    })
}

/// Runs `work` in a separate thread. Ctrl-C sets the flag that `work` receives, which ends the work, and raises
/// KeyboardInterrupt. Do not use it for work that runs Python code: the interpreter handles Ctrl-C there.
#[allow(clippy::disallowed_methods, reason = "waiting for a thread; the work does not see which")]
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let waiting = std::thread::current();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let result = guarded(|| work(&stop));
            done.store(true, Ordering::Release);
            waiting.unpark();
            result
        });
        while !done.load(Ordering::Acquire) {
            py.detach(|| std::thread::park_timeout(SIGNALS));
            py.check_signals().inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
        }
        worker.join().unwrap_or_else(|_| unreachable!("a panic of the work is an error"))
    })
}

/// The exception for a failed controller. Ctrl-C in a controller raises KeyboardInterrupt.
pub(crate) fn controller_error(py: Python<'_>, flow: &str, failure: &cc::Failure) -> PyErr {
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
