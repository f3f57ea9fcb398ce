//! Assignments: text of a user, or the attributes of `ackclock.base.assignment.Assignment`, which are data.

use lab::{Assignment, Literal};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// An assignment.
pub(crate) struct PyAssignment(Assignment);

impl<'a, 'py> FromPyObject<'a, 'py> for PyAssignment {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<PyAssignment> {
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(PyAssignment(Assignment::Text(text.extract()?)));
        }
        let key = object.getattr("key")?.extract()?;
        let value = literal(&object.getattr("value")?)?;
        let place = object.getattr("place")?.extract()?;
        let of_text = object.getattr("of_text")?.extract()?;
        Ok(PyAssignment(Assignment::Data { key, value, place, of_text }))
    }
}

/// The assignments of a list.
pub(crate) fn assignments(list: Vec<PyAssignment>) -> Vec<Assignment> {
    list.into_iter().map(|one| one.0).collect()
}

/// A value of Python as one of TOML.
fn literal(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    Ok(if value.is_instance_of::<PyBool>() {
        Literal::Switch(value.extract()?)
    } else if value.is_instance_of::<PyInt>() {
        Literal::Integer(value.extract()?)
    } else if value.is_instance_of::<PyFloat>() {
        Literal::Float(value.extract()?)
    } else if value.is_instance_of::<PyString>() {
        Literal::Text(value.extract()?)
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        Literal::List(value.try_iter()?.map(|item| literal(&item?)).collect::<PyResult<_>>()?)
    } else if let Ok(table) = value.cast::<PyDict>() {
        let entries = table.iter().map(|(key, item)| Ok((key.extract()?, literal(&item)?)));
        Literal::Table(entries.collect::<PyResult<_>>()?)
    } else {
        return Err(PyTypeError::new_err(format!("{} is no value of TOML", value.repr()?)));
    })
}

/// A value of TOML as one of Python.
pub(crate) fn value(py: Python<'_>, literal: Literal) -> PyResult<Bound<'_, PyAny>> {
    match literal {
        Literal::Switch(on) => on.into_bound_py_any(py),
        Literal::Integer(n) => n.into_bound_py_any(py),
        Literal::Float(n) => n.into_bound_py_any(py),
        Literal::Text(text) => text.into_bound_py_any(py),
        Literal::List(items) => {
            let items: Vec<_> = items.into_iter().map(|item| value(py, item)).collect::<PyResult<_>>()?;
            items.into_bound_py_any(py)
        }
        Literal::Table(entries) => {
            let table = PyDict::new(py);
            for (key, item) in entries {
                table.set_item(key, value(py, item)?)?;
            }
            Ok(table.into_any())
        }
    }
}

/// The names of a key (lab's `key_parts`). Raises ValueError.
#[pyfunction]
pub(crate) fn key_parts(text: &str) -> PyResult<Vec<String>> {
    lab::key_parts(text).map_err(pyo3::exceptions::PyValueError::new_err)
}

/// The text of a key (lab's `key_text`).
#[pyfunction]
pub(crate) fn key_text(parts: Vec<String>) -> String {
    lab::key_text(parts.iter().map(String::as_str))
}

/// The texts of key and value of `KEY=VALUE`; None if it is no such text.
#[pyfunction]
pub(crate) fn split_assignment(text: &str) -> Option<(&str, &str)> {
    lab::split_assignment(text)
}
