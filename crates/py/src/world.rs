//! Runs that Python advances, copies and changes.

use crate::errors::guarded;
use crate::run::{FEW, Finished, build, drive, finished, trace_mode};
use crate::scenario::PyScenario;
use lab::{Recording, Run, Settings};
use pyo3::exceptions::{PyNotImplementedError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};
use units::{Span, Time};

/// A run in progress; `None` after its end was taken.
#[pyclass(frozen, module = "ackclock._core")]
pub(crate) struct World {
    run: Mutex<Option<Run>>,
}

impl World {
    fn of(run: Run) -> World {
        World { run: Mutex::new(Some(run)) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Run>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `use_run` with the run. Raises RuntimeError if it is in use by another thread, or finished.
    fn with<T>(&self, use_run: impl FnOnce(&mut Run) -> PyResult<T>) -> PyResult<T> {
        let mut run =
            self.run.try_lock().map_err(|_| PyRuntimeError::new_err("another thread uses this run"))?;
        use_run(run.as_mut().ok_or_else(|| PyRuntimeError::new_err("this run is finished"))?)
    }
}

#[pymethods]
impl World {
    /// Builds a run of `scenario`. `within_s`: packets are recorded from this time on.
    #[new]
    #[pyo3(signature = (scenario, *, seed=None, trace="off", packets=false, within_s=None, audit=false, fingerprint=false))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments on the Python side")]
    fn new(
        py: Python<'_>,
        scenario: &PyScenario,
        seed: Option<u64>,
        trace: &str,
        packets: bool,
        within_s: Option<f64>,
        audit: bool,
        fingerprint: bool,
    ) -> PyResult<World> {
        let packets_within = within_s.map(|from| (Time::ZERO + Span::from_seconds(from), Time::NEVER));
        let recording = Recording {
            trace: trace_mode(trace)?,
            packets,
            packets_within,
            audit,
            fingerprint,
            ..Recording::default()
        };
        Ok(World::of(build(py, scenario, Settings { seed, recording, ..Settings::default() })?))
    }

    /// Simulated time so far, ps.
    #[getter]
    fn now_ps(&self) -> PyResult<u64> {
        self.with(|run| Ok(run.now().ps()))
    }

    /// Processes all events before `at_ps`, and none at that time.
    #[pyo3(signature = (at_ps, progress=None))]
    fn advance(&self, py: Python<'_>, at_ps: u64, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let before = Time::from_ps(at_ps.saturating_sub(1));
        self.with(|run| {
            drive(py, run, |run: &mut Run| run.advance_within(FEW, before), progress.as_ref())?;
            guarded(|| run.wait_until(Time::from_ps(at_ps)))
        })
    }

    /// A copy. Raises NotImplementedError with the reason if the run cannot be copied.
    fn fork(&self) -> PyResult<World> {
        let copy = self.with(|run| guarded(|| run.fork()))?;
        copy.map(World::of).map_err(|reason| PyNotImplementedError::new_err(reason.to_string()))
    }

    /// The run continues as one of `scenario`, which has other changes from now on. Returns whether it can; if not, it is not
    /// to be used any more.
    fn adopt(&self, scenario: &PyScenario) -> PyResult<bool> {
        self.with(|run| guarded(|| run.adopt(&scenario.scenario).is_ok()))
    }

    /// For each flow with a window: its name, window and threshold, segments.
    fn windows(&self) -> PyResult<Vec<(String, f64, f64)>> {
        self.with(|run| Ok(run.present_windows()))
    }

    /// Runs to the end.
    #[pyo3(signature = (progress=None))]
    fn finish(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Finished> {
        self.with(|run| drive(py, run, |run: &mut Run| run.advance(FEW), progress.as_ref()))?;
        let run = self.lock().take().ok_or_else(|| PyRuntimeError::new_err("this run is finished"))?;
        finished(py, run, 0)
    }
}

/// The scenario, built for the changes of `others` too: a run of it can [`World::adopt`] each of them that is built so.
#[pyfunction]
pub(crate) fn prepared_for(scenario: &PyScenario, others: Vec<PyRef<'_, PyScenario>>) -> PyScenario {
    let mut prepared = (*scenario.scenario).clone();
    for other in others {
        prepared.prepared.merge(&other.scenario.prepared);
    }
    PyScenario { scenario: prepared.into(), written: scenario.written.clone(), advice: Vec::new() }
}

/// The picoseconds of a time span such as "8s". Raises ValueError.
#[pyfunction]
pub(crate) fn picoseconds(text: &str) -> PyResult<u64> {
    text.parse().map(Span::ps).map_err(|error: units::UnitError| PyValueError::new_err(error.to_string()))
}
