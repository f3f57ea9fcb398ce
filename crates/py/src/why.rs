//! Explanations of window changes.

use crate::run::{FEW, build, drive};
use crate::scenario::PyScenario;
use lab::{Question, Recording, Run, Settings, TraceMode};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use units::{Span, Time};

/// Runs a scenario up to `at_s` and explains the last change of a window, or with `cut` the last reduction, as JSON. Raises
/// ValueError with the part of the question (`at`, `flow` or empty) and the reason if there is none.
#[pyfunction]
#[pyo3(signature = (scenario, at_s, *, flow=None, seed=None, cut=false))]
pub(crate) fn explain(
    py: Python<'_>,
    scenario: &PyScenario,
    at_s: f64,
    flow: Option<&str>,
    seed: Option<u64>,
    cut: bool,
) -> PyResult<String> {
    let recording =
        Recording { trace: TraceMode::EveryAck, packets: true, rules: true, ..Recording::default() };
    let mut run = build(py, scenario, Settings { seed, recording, ..Settings::default() })?;
    let until = Time::ZERO + Span::from_seconds(at_s);
    drive(py, &mut run, |run: &mut Run| run.advance_within(FEW, until), None)?;
    let explanation = lab::explain(&run, Question { at_s, flow, cut });
    explanation
        .map(|explanation| lab::to_json(&explanation))
        .map_err(|unanswered| PyValueError::new_err((unanswered.part, unanswered.message)))
}

/// Runs a scenario and says where the time of message `number` of the application of `flow` went, as JSON. Raises ValueError with
/// the part of the question (`message`) and the reason if there is no such message, or if it has no end.
#[pyfunction]
#[pyo3(signature = (scenario, flow, number, *, seed=None))]
pub(crate) fn message_budget(
    py: Python<'_>,
    scenario: &PyScenario,
    flow: &str,
    number: u32,
    seed: Option<u64>,
) -> PyResult<String> {
    let recording = Recording { packets: true, ..Recording::default() };
    let mut run = build(py, scenario, Settings { seed, recording, ..Settings::default() })?;
    drive(py, &mut run, |run: &mut Run| run.advance(FEW), None)?;
    let budget = lab::message_budget(&run, flow, number);
    budget
        .map(|budget| lab::to_json(&budget))
        .map_err(|unanswered| PyValueError::new_err((unanswered.part, unanswered.message)))
}
