//! Controllers of WebAssembly modules and native libraries, for Python.

use cc::{ExternalFactory, ParamValue};
use foreign::{Named, Parameter, Shape, State};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use std::sync::Arc;

/// A controller of a module or a library, loaded, with its parameters.
#[pyclass(frozen, module = "ackclock._core")]
pub(crate) struct ForeignController {
    pub(crate) factory: Arc<dyn ExternalFactory>,
    named: Named,
}

#[pymethods]
impl ForeignController {
    /// Loads a controller: `content` of a WebAssembly module with its name `file`, or without it the native library `file`, which
    /// runs code of it. `name` is that of the controller, None for the first one. Raises ValueError.
    #[new]
    fn new(
        py: Python<'_>,
        file: PathBuf,
        content: Option<Vec<u8>>,
        name: Option<String>,
        parameters: Vec<(String, Bound<'_, PyAny>)>,
    ) -> PyResult<ForeignController> {
        let parameters: Vec<_> = parameters
            .into_iter()
            .map(|(name, value)| Ok((name, param(&value)?)))
            .collect::<PyResult<_>>()?;
        let shown = foreign::shown(&file);
        let loaded = py.detach(|| match content {
            Some(content) => foreign::load_module(&content, &shown, name.as_deref(), &parameters),
            None => foreign::load_library(&file, name.as_deref(), &parameters),
        });
        let named = loaded.map_err(PyValueError::new_err)?;
        Ok(ForeignController { factory: named.factory.clone(), named })
    }
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.named.declaration.name
    }
    /// What must hold for any events, and what happened instead, None if it holds (foreign's `check`).
    fn check(&self, py: Python<'_>) -> Vec<(&'static str, Option<String>)> {
        let checked = py.detach(|| foreign::check::check(&*self.factory));
        checked.into_iter().map(|checked| (checked.property, checked.failure)).collect()
    }
    /// What it says of itself: summary, needs, probes, initial_window, state, parameters, state_size (bytes), functions.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let declaration = &self.named.declaration;
        let description = &declaration.description;
        let of = PyDict::new(py);
        let defined = cc::Event::METHODS.iter().zip(declaration.defined);
        let functions: Vec<&str> =
            defined.filter(|(_, shape)| *shape != Shape::Missing).map(|(method, _)| method.name).collect();
        of.set_item("summary", &description.summary)?;
        of.set_item(
            "needs",
            cc::Signals::named()
                .filter(|(_, signal)| description.needs.has(*signal))
                .map(|(name, _)| name)
                .collect::<Vec<_>>(),
        )?;
        of.set_item("probes", &description.probes)?;
        of.set_item("initial_window", description.initial_window)?;
        of.set_item("state", if description.state == State::Block { "block" } else { "instance" })?;
        of.set_item("state_size", declaration.state_size)?;
        of.set_item("functions", functions)?;
        let parameters = description.parameters.iter().map(|parameter| described(py, parameter));
        of.set_item("parameters", PyList::new(py, parameters.collect::<PyResult<Vec<_>>>()?)?)?;
        Ok(of)
    }
}

fn described<'py>(py: Python<'py>, parameter: &Parameter) -> PyResult<Bound<'py, PyDict>> {
    let of = PyDict::new(py);
    of.set_item("name", &parameter.name)?;
    match &parameter.default {
        ParamValue::Number(number) => of.set_item("default", number)?,
        ParamValue::Switch(on) => of.set_item("default", on)?,
        ParamValue::Word(word) => of.set_item("default", word)?,
        ParamValue::File(_) => {}
    }
    of.set_item("range", parameter.range.map(|range| range.to_vec()))?;
    of.set_item("words", &parameter.words)?;
    of.set_item("about", &parameter.about)?;
    Ok(of)
}

/// A parameter: true or false, a number, or a word.
fn param(value: &Bound<'_, PyAny>) -> PyResult<ParamValue> {
    if let Ok(on) = value.extract::<bool>() {
        return Ok(ParamValue::Switch(on));
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(ParamValue::Number(number));
    }
    Ok(ParamValue::Word(value.extract()?))
}

/// What a module has: the names of its functions, the bytes of its memory, whether it looks at the bits of numbers. Raises
/// ValueError.
#[pyfunction]
pub(crate) fn module_facts(content: &[u8], file: &str) -> PyResult<(Vec<String>, u64, bool)> {
    let facts = foreign::module_facts(content, file).map_err(PyValueError::new_err)?;
    Ok((facts.functions, facts.memory, facts.reads_bits))
}
