//! Parsed scenarios.

use crate::assignment::PyAssignment;
use crate::errors::{guarded, scenario_error};
use crate::external::PyFactory;
use crate::foreign_controller::ForeignController;
use lab::{Document, FileAccess, MentionPlace, Scenario, ScenarioText};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{Span, Time};

/// A scenario as it is written: the attributes of `ackclock.base.source.Source`.
#[derive(FromPyObject)]
pub(crate) struct PySource {
    file: String,
    text: String,
    assignments: Vec<String>,
    code: String,
    files: Option<BTreeMap<String, Vec<u8>>>,
    libraries: bool,
}

impl PySource {
    pub(crate) fn text(&self) -> PyResult<ScenarioText<'_>> {
        let access = match (&self.files, self.code.as_str()) {
            (Some(files), _) => FileAccess::Carried(files.clone().into_iter().collect()),
            (None, "none") => FileAccess::NoCode,
            (None, "folder") => FileAccess::Folder,
            (None, "anywhere") => FileAccess::Anywhere,
            (None, other) => return Err(PyValueError::new_err(format!("code is \"{other}\""))),
        };
        let libraries = self.libraries;
        Ok(ScenarioText { file: &self.file, text: &self.text, set: &self.assignments, access, libraries })
    }
}

/// A parsed scenario.
#[pyclass(frozen, module = "ackclock._core", name = "Scenario")]
pub(crate) struct PyScenario {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) written: Written,
    /// Advice on accepted text in the file that has a better form.
    #[pyo3(get)]
    pub(crate) advice: Vec<String>,
}

/// What is written of a scenario.
#[derive(Clone)]
pub(crate) struct Written {
    pub(crate) document: Arc<Document>,
}

impl Written {
    /// Reads the scenario, with controllers for flows by name: classes in Python, or those of [`ForeignController`].
    fn scenario(self, py: Python<'_>, controllers: Option<Bound<'_, PyDict>>) -> PyResult<PyScenario> {
        let read = guarded(|| self.document.scenario())?;
        let mut scenario = read.map_err(|error| scenario_error(py, error))?;
        for (flow, class) in controllers.iter().flatten() {
            let factory: Arc<dyn cc::ExternalFactory> = match class.cast::<ForeignController>() {
                Ok(foreign) => foreign.get().factory.clone(),
                Err(_) => {
                    let name: String = class.getattr("__name__")?.extract()?;
                    Arc::new(PyFactory::new(&class, Vec::new(), name.clone(), name)?)
                }
            };
            let control = lab::CongestionControl::ExternalController(factory);
            let set = scenario.set_control(&flow.extract::<String>()?, control);
            set.map_err(|error| scenario_error(py, error))?;
        }
        let advice = scenario.advice.clone();
        Ok(PyScenario { scenario: Arc::new(scenario), written: self, advice })
    }
}

/// What is known of a scenario after it was read: what its file, its base files and the assignments say.
#[pyclass(frozen, get_all, module = "ackclock._core")]
pub(crate) struct Facts {
    /// The entries as a dictionary, without base files and axes. Keys that are not given are missing. The paths of files are
    /// relative to the folder of the scenario where they are inside it.
    document: Py<PyAny>,
    /// The files in it, each once.
    files: Vec<String>,
    /// The controllers in Python in it, FILE:CLASS, each once.
    controllers: Vec<String>,
    /// The files and controllers in Python that are named, also where another value replaces them.
    mentions: Vec<Mention>,
}

/// An entry whose value is the path of a file or a controller in Python.
#[pyclass(frozen, get_all, module = "ackclock._core")]
#[derive(Clone)]
pub(crate) struct Mention {
    /// The file that has it: that of the scenario, or one that it extends; `None` for an assignment.
    file: Option<String>,
    /// The number of the assignment, from 0; `None` for a file.
    assignment: Option<usize>,
    /// The last name of its key: extends, file, fit or python.
    key: String,
    /// Its value.
    value: String,
    /// Where the file is.
    path: std::path::PathBuf,
}

impl From<&lab::Mention> for Mention {
    fn from(mention: &lab::Mention) -> Mention {
        let (file, assignment) = match &mention.place {
            MentionPlace::Text(file) => (Some(file.clone()), None),
            MentionPlace::Assignment(number) => (None, Some(*number)),
        };
        let (key, value, path) = (mention.key.clone(), mention.value.clone(), mention.path.clone());
        Mention { file, assignment, key, value, path }
    }
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
    /// The names of its changes.
    #[getter]
    fn changes(&self) -> Vec<&str> {
        self.scenario.changes.iter().map(|change| change.name.as_str()).collect()
    }
    /// What is written of it.
    fn facts(&self, py: Python<'_>) -> PyResult<Facts> {
        let document = &self.written.document;
        let values = guarded(|| document.values())?.map_err(|error| scenario_error(py, error))?;
        Ok(Facts {
            files: values.files(),
            controllers: values.controllers(),
            mentions: document.mentions().iter().map(Mention::from).collect(),
            document: crate::assignment::value(py, values)?.unbind(),
        })
    }
    /// The scenario with more assignments after those that it has; no text is read again. `controllers`: see `parse`.
    #[pyo3(signature = (assignments, controllers=None))]
    fn assigned(
        &self,
        py: Python<'_>,
        assignments: Vec<PyAssignment>,
        controllers: Option<Bound<'_, PyDict>>,
    ) -> PyResult<PyScenario> {
        let assignments = crate::assignment::assignments(assignments);
        let mut written = self.written.clone();
        let assign = || (*written.document).clone().assign(&assignments);
        let document = guarded(assign)?;
        written.document = Arc::new(document.map_err(|error| scenario_error(py, error))?);
        written.scenario(py, controllers)
    }
    /// What the network is made of, as JSON: links, flows, terminals, radio nodes (lab's NetworkDescription).
    fn network(&self) -> String {
        lab::to_json(&self.scenario.describe())
    }
    /// The values that a run derives: queue limits, paths, round-trip times, as JSON (lab's ResolvedNetwork).
    fn resolved(&self) -> PyResult<String> {
        guarded(|| lab::to_json(&self.scenario.resolve()))
    }
    /// Remarks on what is lost if the first flow becomes a QUIC flow.
    fn first_over_quic(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.scenario.first_over_quic().map(|(_, remarks)| remarks).map_err(|error| scenario_error(py, error))
    }
    /// The scenario with QUIC flows in place of TCP flows, and remarks on what is lost.
    fn over_quic(&self, py: Python<'_>) -> PyResult<(PyScenario, Vec<String>)> {
        let (scenario, remarks) = self.scenario.over_quic().map_err(|error| scenario_error(py, error))?;
        let (written, advice) = (self.written.clone(), self.advice.clone());
        Ok((PyScenario { scenario: Arc::new(scenario), written, advice }, remarks))
    }
    /// Sides of the area of the radio nodes (zero if not given) and their range, m; `None` without radio nodes.
    #[getter]
    fn radio(&self) -> Option<(f64, f64, f64)> {
        let radio = self.scenario.radio.as_ref()?;
        Some((radio.area[0], radio.area[1], radio.range()))
    }
    /// Places of the radio nodes at some times (s) under a seed: x and y in metres, node by node, time by time (f64 columns).
    fn places(&self, py: Python<'_>, seed: Option<u64>, times: Vec<f64>) -> Py<PyBytes> {
        let mut positions: Vec<f64> = Vec::new();
        if let Some(radio) = &self.scenario.radio {
            let paths =
                radio.trajectories(seed.unwrap_or(self.scenario.seed), Time::ZERO + self.scenario.duration);
            for at in times {
                let at = Time::ZERO + Span::from_seconds(at);
                positions.extend(paths.iter().flat_map(|path| path.at(at)));
            }
        }
        PyBytes::new(py, bytemuck::cast_slice(&positions)).unbind()
    }
}

/// The positions of nodes in a drawing (lab's `layout`): name, column, row, number of rows of the column.
#[pyfunction]
pub(crate) fn layout(
    links: Vec<[String; 2]>,
    flows: Vec<[String; 2]>,
) -> PyResult<Vec<(String, f64, f64, f64)>> {
    let positions = guarded(|| lab::layout(&links, &flows))?;
    Ok(positions.into_iter().map(|place| (place.node, place.column, place.row, place.rows)).collect())
}

/// The folder of the scenarios that come with the package.
#[pyfunction]
pub(crate) fn set_shipped(folder: std::path::PathBuf) {
    lab::set_shipped(folder);
}

/// What a file of another program is, by its beginning, and what can be done with it.
#[pyfunction]
pub(crate) fn foreign_kind(content: &[u8]) -> Option<(&'static str, &'static str)> {
    trace::sniff(content).map(|kind| (kind.words(), kind.remedy()))
}

/// A scenario from its source, with assignments of the user; `controllers` gives flows (by name) controllers: classes in Python,
/// or `ForeignController`.
#[pyfunction]
#[pyo3(signature = (source, assignments, controllers=None))]
pub(crate) fn parse(
    py: Python<'_>,
    source: PySource,
    assignments: Vec<PyAssignment>,
    controllers: Option<Bound<'_, PyDict>>,
) -> PyResult<PyScenario> {
    let (text, assignments) = (source.text()?, crate::assignment::assignments(assignments));
    let document = guarded(|| Document::read(&text, &assignments))?;
    let document = Arc::new(document.map_err(|error| scenario_error(py, error))?);
    Written { document }.scenario(py, controllers)
}
