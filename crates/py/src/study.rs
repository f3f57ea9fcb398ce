//! Studies: axes, identities, and a pool of runs.

use crate::assignment::PyAssignment;
use crate::errors::{guarded, scenario_error};
use crate::scenario::{PyScenario, PySource, Written};
use lab::{Job, Pool, Study};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Points that are read between two signal checks.
const POINTS: usize = 1000;

/// A parsed study.
#[pyclass(frozen, module = "ackclock._core", name = "Study")]
pub struct PyStudy {
    study: Study,
    /// Advice on accepted text in the file that has a better form.
    #[pyo3(get)]
    advice: Vec<String>,
}

/// A finished run: index in the list of jobs, outcome as JSON or `None`, error message, CPU seconds.
type Done = (usize, Option<String>, Option<String>, f64);

#[pymethods]
impl PyStudy {
    #[getter]
    fn title(&self) -> &str {
        &self.study.title
    }
    /// Name and labels of each axis.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        let labels = |axis: &lab::Axis| axis.values.iter().map(|value| value.label.clone()).collect();
        self.study.axes.iter().map(|axis| (axis.name.clone(), labels(axis))).collect()
    }
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.study.seeds.clone()
    }
    /// Whether any point has a controller written in Python.
    #[getter]
    fn needs_processes(&self) -> bool {
        self.study.needs_processes
    }
    /// Points that cannot run, with the error message.
    #[getter]
    fn refused(&self) -> Vec<(usize, String)> {
        self.study.refused.iter().map(|(point, error)| (*point, error.to_string())).collect()
    }
    /// Number of points: combinations of the axes, without seeds.
    #[getter]
    fn points(&self) -> usize {
        self.study.points()
    }
    /// The label of each axis at a point.
    fn labels(&self, point: usize) -> PyResult<Vec<String>> {
        self.check(point)?;
        Ok(self.study.labels(point).into_iter().map(str::to_string).collect())
    }
    /// The scenario of a point.
    fn scenario(&self, py: Python<'_>, point: usize) -> PyResult<PyScenario> {
        self.check(point)?;
        let scenario = self.study.scenario(point).map_err(|error| scenario_error(py, error))?;
        let document = self.study.document(point).map_err(|error| scenario_error(py, error))?;
        let written = Written { document: Arc::new(document) };
        Ok(PyScenario { scenario: Arc::new(scenario), written, advice: Vec::new() })
    }
    /// What is written of the scenario of a point, as a dictionary without axes and base files. Its flows use TCP also over
    /// QUIC.
    fn document(&self, py: Python<'_>, point: usize) -> PyResult<Py<PyAny>> {
        self.check(point)?;
        let values = guarded(|| self.study.document(point)?.values())?;
        let values = values.map_err(|error| scenario_error(py, error))?;
        Ok(crate::assignment::value(py, values)?.unbind())
    }
    /// The identities of the runs of a point, one per seed.
    fn run_ids(&self, point: usize, seeds: Vec<u64>) -> PyResult<Vec<String>> {
        self.check(point)?;
        Ok(seeds.into_iter().map(|seed| self.study.run_id(point, seed)).collect())
    }
}

impl PyStudy {
    fn check(&self, point: usize) -> PyResult<()> {
        if point < self.study.points() {
            return Ok(());
        }
        Err(PyIndexError::new_err(format!("point {point} of {}", self.study.points())))
    }
}

/// Parses a study. With `most`, of a study with more points only about so many are read. With `over_quic`, QUIC flows take the
/// place of TCP flows.
#[pyfunction]
#[pyo3(signature = (source, assignments, most=None, over_quic=false))]
pub(crate) fn parse_study(
    py: Python<'_>,
    source: PySource,
    assignments: Vec<PyAssignment>,
    most: Option<usize>,
    over_quic: bool,
) -> PyResult<PyStudy> {
    let (text, assignments) = (source.text()?, crate::assignment::assignments(assignments));
    let told = |error| scenario_error(py, error);
    let mut study = py.detach(|| guarded(|| Study::begin(&text, &assignments)))?.map_err(told)?;
    if over_quic {
        study = study.over_quic();
    }
    if let Some(most) = most.filter(|most| *most < study.points()) {
        py.detach(|| guarded(|| study.read_sample(most)))?.map_err(told)?;
    } else {
        while !py.detach(|| guarded(|| study.read_points(POINTS)))?.map_err(told)? {
            py.check_signals()?;
        }
    }
    let advice = study.advice().iter().chain(&study.remarks).cloned().collect();
    Ok(PyStudy { study, advice })
}

/// Worker threads over a list of (point, seed).
#[pyclass(frozen, module = "ackclock._core", name = "Pool")]
pub struct PyPool(Mutex<Pool>);

#[pymethods]
impl PyPool {
    #[new]
    fn new(study: &PyStudy, jobs: Vec<(usize, u64)>, threads: usize) -> PyResult<PyPool> {
        let jobs = jobs.into_iter().map(|(point, seed)| study.check(point).map(|()| Job { point, seed }));
        let jobs = jobs.collect::<PyResult<_>>()?;
        Ok(PyPool(Mutex::new(Pool::new(study.study.clone(), jobs, threads))))
    }

    /// Results since the last call; waits up to `timeout_s` for the first one. `None` after the end of all jobs.
    fn collect(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<Vec<Done>>> {
        py.check_signals()?;
        let wait = Duration::from_secs_f64(timeout_s.clamp(0.0, 60.0));
        let outcomes = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).collect(wait));
        Ok(outcomes.map(|done| {
            let row = |d: lab::Done| match d.outcome {
                Ok(outcome) => (d.job, Some(outcome), None, d.cpu_s),
                Err(reason) => (d.job, None, Some(reason), d.cpu_s),
            };
            done.into_iter().map(row).collect()
        }))
    }

    /// Cancels the jobs that have not ended.
    fn stop(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).stop();
    }
}
