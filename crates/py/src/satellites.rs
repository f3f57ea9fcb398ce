//! Satellites without traffic.

use crate::assignment::PyAssignment;
use crate::errors::{interruptible, scenario_error};
use crate::scenario::PySource;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use units::{Span, Time};

/// The satellites of a scenario without traffic, computed up to a time.
#[pyclass(frozen, module = "ackclock._core", name = "SatelliteView")]
pub(crate) struct PySatelliteView(lab::SatelliteView);

impl PySatelliteView {
    fn ends(&self, from: Option<&str>, to: Option<&str>) -> PyResult<Option<(usize, usize)>> {
        let (Some(from), Some(to)) = (from, to) else { return Ok(None) };
        let node = |name| self.0.terminal(name).map_err(PyValueError::new_err);
        Ok(Some((node(from)?, node(to)?)))
    }
}

#[pymethods]
impl PySatelliteView {
    #[new]
    #[pyo3(signature = (source, assignments, until_s, seed))]
    fn new(
        py: Python<'_>,
        source: PySource,
        assignments: Vec<PyAssignment>,
        until_s: f64,
        seed: Option<u64>,
    ) -> PyResult<PySatelliteView> {
        let (text, until) = (source.text()?, Span::from_seconds(until_s));
        let assignments = crate::assignment::assignments(assignments);
        interruptible(py, |stop| lab::SatelliteView::new(&text, &assignments, until, seed, stop))?
            .map(PySatelliteView)
            .map_err(|e| scenario_error(py, e))
    }
    /// The path at a time (s), as JSON; with `positions` also the position of every satellite.
    #[pyo3(signature = (at_s, start, end, positions))]
    fn path_at(
        &self,
        at_s: f64,
        start: Option<&str>,
        end: Option<&str>,
        positions: bool,
    ) -> PyResult<String> {
        let ends = self.ends(start, end)?;
        Ok(lab::to_json(&self.0.path_at(Time::ZERO + Span::from_seconds(at_s), ends, positions)))
    }
    /// The state at a time (s) for drawings, as JSON.
    #[pyo3(signature = (at_s, start, end))]
    fn snapshot(&self, at_s: f64, start: Option<&str>, end: Option<&str>) -> PyResult<String> {
        let ends = self.ends(start, end)?;
        Ok(lab::to_json(&self.0.snapshot(Time::ZERO + Span::from_seconds(at_s), ends)))
    }
    /// Every hand-off, as JSON.
    fn handoffs(&self) -> String {
        lab::to_json(&self.0.handoffs())
    }
}
