//! Runs whose policies wait for actions from Python, many at a time: arrays go over as buffers.

use crate::errors::{controller_error, guarded};
use crate::run::build;
use crate::scenario::PyScenario;
use crate::workers::Workers;
use lab::{Environment, Recording, Settings};
use policy::{Feature, Measured, PolicyFile};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyNotImplementedError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::sync::{Arc, MutexGuard, PoisonError};

/// One environment and what it showed last.
#[derive(Default)]
struct Slot {
    environment: Option<Environment>,
    /// Whether a decision is due.
    waits: bool,
    observations: Vec<f32>,
    measured: Vec<f64>,
    /// The actions of the next step, one for each flow.
    actions: Vec<f64>,
    /// A panic in the core during the last step.
    panic: Option<PyErr>,
}

impl Slot {
    fn advance(&mut self) {
        self.observations.clear();
        self.measured.clear();
        self.waits = false; // also after a panic
        if let Some(environment) = &mut self.environment {
            self.waits = environment.advance(&mut self.observations, &mut self.measured);
        }
    }

    /// Takes the actions, if a decision is due, and runs to the next one.
    fn step(&mut self) {
        if !self.waits {
            return;
        }
        let stepped = guarded(|| {
            if let Some(environment) = &mut self.environment {
                environment.act(&self.actions);
            }
            self.advance();
        });
        self.panic = stepped.err();
    }

    /// Raises the error of the last step, or of a controller in Python of another flow.
    fn check(&mut self, py: Python<'_>) -> PyResult<()> {
        if let Some(panic) = self.panic.take() {
            return Err(panic);
        }
        match self.environment.as_mut().and_then(|environment| environment.run().failure()) {
            Some((flow, failure)) => Err(controller_error(py, flow, failure)),
            None => Ok(()),
        }
    }

    /// 1: a decision is due; 2: all flows have sent everything; 0: the run has ended before that.
    fn state(&self) -> u8 {
        match &self.environment {
            _ if self.waits => 1,
            Some(environment) if environment.completed() => 2,
            _ => 0,
        }
    }
}

/// Environments that step together, on several threads, which wait for the next step in between.
#[pyclass(frozen, module = "ackclock._core")]
pub(crate) struct Environments {
    file: Arc<PolicyFile>,
    agents: Vec<String>,
    slots: Workers<Slot>,
}

#[pymethods]
impl Environments {
    /// `count` environments for the flows `agents`; `plan` is the text of a policy file without layers.
    #[new]
    fn new(plan: &str, agents: Vec<String>, count: usize, threads: usize) -> PyResult<Environments> {
        let file = PolicyFile::read(plan).map_err(PyValueError::new_err)?;
        let slots = Workers::new((0..count).map(|_| Slot::default()), threads, Slot::step)?;
        Ok(Environments { file: Arc::new(file), agents, slots })
    }

    /// Numbers in the observation of one flow.
    #[getter]
    fn inputs(&self) -> usize {
        self.file.inputs()
    }

    /// The smallest and the largest value of each number in an observation.
    #[getter]
    fn bounds(&self) -> Vec<(f32, f32)> {
        let of_interval = self.file.features.iter().map(|feature| feature.bounds());
        (0..self.file.history).flat_map(|_| of_interval.clone()).collect()
    }

    /// The kind of an action and its bounds.
    #[getter]
    fn action(&self) -> (&'static str, (f64, f64)) {
        (self.file.action.kind.name(), self.file.action.range())
    }

    /// Begins an episode in environment `index` and runs to the first decision. Returns whether there is one. If it
    /// `observes`, the flows keep their controllers, whose decisions become the actions. Raises ScenarioError, or
    /// ValueError if a flow has no policy or cannot be observed.
    #[pyo3(signature = (index, scenario, seed=None, first=None, observes=false))]
    fn begin(
        &self,
        py: Python<'_>,
        index: usize,
        scenario: &PyScenario,
        seed: Option<u64>,
        first: Option<f64>,
        observes: bool,
    ) -> PyResult<bool> {
        let run =
            build(py, scenario, Settings { seed, recording: Recording::default(), ..Settings::default() })?;
        let file = self.file.clone();
        let environment = if observes {
            Environment::observing(run, &self.agents, file)
        } else {
            Environment::new(run, &self.agents, file, first)
        };
        let environment = environment.map_err(PyValueError::new_err)?;
        let mut slot = self.slot(py, index)?;
        *slot = Slot { environment: Some(environment), ..Slot::default() };
        guarded(|| slot.advance())?;
        slot.check(py)?;
        Ok(slot.waits)
    }

    /// Environment `to` becomes a copy of environment `from` of `other`. Raises NotImplementedError with the reason if that
    /// cannot be copied.
    fn copy(&self, py: Python<'_>, to: usize, other: &Environments, from: usize) -> PyResult<()> {
        if self.file != other.file || self.agents != other.agents {
            return Err(PyValueError::new_err("the environments differ in their convention or their agents"));
        }
        let copy = {
            let slot = other.slot(py, from)?;
            let environment =
                slot.environment.as_ref().ok_or_else(|| PyRuntimeError::new_err("no episode has begun"))?;
            let environment = guarded(|| environment.fork())?.map_err(PyNotImplementedError::new_err)?;
            Slot {
                environment: Some(environment),
                waits: slot.waits,
                observations: slot.observations.clone(),
                measured: slot.measured.clone(),
                ..Slot::default()
            }
        };
        *self.slot(py, to)? = copy;
        Ok(())
    }

    /// Runs one environment to its next decision without an action. Returns whether there is one.
    fn stay(&self, py: Python<'_>, index: usize) -> PyResult<bool> {
        let mut slot = self.slot(py, index)?;
        guarded(|| slot.advance())?;
        slot.check(py)?;
        Ok(slot.waits)
    }

    /// Takes one action for each flow of each environment (float64) and runs each environment that waits for one to its next
    /// decision.
    fn step(&self, py: Python<'_>, actions: PyBuffer<f64>) -> PyResult<()> {
        let actions = actions.to_vec(py)?;
        let agents = self.agents.len();
        if actions.len() != agents * self.slots.len() {
            return Err(PyValueError::new_err(format!(
                "{} actions are needed, not {}",
                agents * self.slots.len(),
                actions.len()
            )));
        }
        py.detach(|| {
            self.slots.step(|index, slot| {
                slot.actions.clear();
                slot.actions.extend_from_slice(&actions[index * agents..(index + 1) * agents]);
            });
        });
        (0..self.slots.len()).try_for_each(|index| self.slot(py, index)?.check(py))
    }

    /// Writes what all environments show: observations (float32), measured values (float64; `MEASURED` names them), whether
    /// each flow had an interval (uint8), and the state (uint8; 1: a decision is due, 2: all flows have sent everything, 0:
    /// the run has ended before that).
    fn show(
        &self,
        py: Python<'_>,
        observations: PyBuffer<f32>,
        measured: PyBuffer<f64>,
        active: PyBuffer<u8>,
        state: PyBuffer<u8>,
    ) -> PyResult<()> {
        let agents = self.agents.len();
        let (mut inputs, mut values, mut running, mut states) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for number in 0..self.slots.len() {
            let slot = self.slot(py, number)?;
            inputs.extend_from_slice(&slot.observations);
            values.extend_from_slice(&slot.measured);
            let flows = slot.environment.as_ref().map_or(&[][..], Environment::active);
            running.extend(flows.iter().map(|active| u8::from(*active)));
            states.push(slot.state());
            // Nothing of an environment without an episode.
            inputs.resize((number + 1) * agents * self.file.inputs(), 0.0);
            values.resize((number + 1) * agents * Measured::NAMES.len(), 0.0);
            running.resize((number + 1) * agents, 0);
        }
        observations.copy_from_slice(py, &inputs)?;
        measured.copy_from_slice(py, &values)?;
        active.copy_from_slice(py, &running)?;
        state.copy_from_slice(py, &states)
    }
}

impl Environments {
    /// Environment `index`. Whoever waits for one that another thread runs does not hold the interpreter, which a controller in
    /// Python may need meanwhile.
    fn slot(&self, py: Python<'_>, index: usize) -> PyResult<MutexGuard<'_, Slot>> {
        let message = || PyValueError::new_err(format!("there is no environment {index}"));
        let slot = self.slots.entry(index).ok_or_else(message)?;
        Ok(slot.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a policy can observe of an interval (name, unit, smallest and largest value, text), the measured values (name,
/// unit), the kinds of actions (name, text), and the controllers with the names of the parameters that an action can set.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "four tables of texts")]
pub(crate) fn policy_features() -> (
    Vec<(&'static str, &'static str, f32, f32, &'static str)>,
    Vec<(&'static str, &'static str)>,
    Vec<(&'static str, &'static str)>,
    Vec<(&'static str, Vec<&'static str>)>,
) {
    let feature = |feature: &Feature| {
        let (least, largest) = feature.bounds();
        (feature.name(), feature.unit(), least, largest, feature.doc().trim())
    };
    let tunable = policy::tunable_parameters().map(|(name, parameters)| (name, parameters.to_vec()));
    (
        Feature::ALL.iter().map(feature).collect(),
        Measured::NAMES.to_vec(),
        policy::action_kinds().collect(),
        tunable.collect(),
    )
}

/// The outputs of the network of a policy file (its text) for observations, one after another (float32); recurrent layers
/// take them as those of one flow, in this order. Raises ValueError.
#[pyfunction]
pub(crate) fn evaluate_policy(py: Python<'_>, text: &str, observations: PyBuffer<f32>) -> PyResult<Vec<f32>> {
    let file = PolicyFile::read(text).map_err(PyValueError::new_err)?;
    let inputs = observations.to_vec(py)?;
    if inputs.len() % file.inputs() != 0 {
        return Err(PyValueError::new_err(format!("an observation has {} numbers", file.inputs())));
    }
    let mut state = file.network.initial_state();
    let outputs =
        inputs.chunks_exact(file.inputs()).flat_map(|input| file.network.evaluate(input, &mut state));
    Ok(outputs.collect())
}

/// Checks the text of a policy file. Raises ValueError with the key.
#[pyfunction]
pub(crate) fn check_policy(text: &str) -> PyResult<()> {
    PolicyFile::read(text).map(drop).map_err(PyValueError::new_err)
}
