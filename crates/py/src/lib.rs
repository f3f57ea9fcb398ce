//! The Python module `ackclock._core`: scenarios, runs, studies, lists. Columns are passed as bytes.
#![forbid(unsafe_code)]

mod assignment;
mod environments;
mod errors;
mod events;
mod external;
mod foreign_controller;
#[cfg(target_os = "linux")]
mod live;
mod network;
mod replay;
mod run;
mod satellites;
mod scenario;
mod study;
mod trace;
mod why;
mod workers;
mod world;

use external::PyFactory;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use units::Span;

/// The seconds of a time span such as "600s".
#[pyfunction]
fn seconds(text: &str) -> PyResult<f64> {
    text.parse().map(Span::seconds).map_err(|e: units::UnitError| PyValueError::new_err(e.to_string()))
}

/// The models that a scenario can name, as JSON; `kind` is one of `KINDS`.
#[pyfunction]
fn catalog(kind: &str) -> PyResult<String> {
    let entries = lab::catalog::list(kind)
        .ok_or_else(|| PyValueError::new_err(format!("there is no list of \"{kind}\"")))?;
    serde_json::to_string(&entries).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// The interface of controllers ([`lab::catalog::interface`]), as JSON.
#[pyfunction]
fn interface() -> String {
    lab::catalog::interface().to_string()
}

/// The JSON Schema of a scenario file or of an outcome; `of` is "scenario" or "outcome".
#[pyfunction]
fn schema(of: &str) -> PyResult<String> {
    match of {
        "scenario" => Ok(lab::schema::scenario_schema().to_string()),
        "outcome" => Ok(lab::outcome_schema().to_string()),
        _ => Err(PyValueError::new_err(format!("there is no schema of \"{of}\""))),
    }
}

/// The names of the codes in trace columns.
#[pyfunction]
fn codes(py: Python<'_>) -> PyResult<Py<PyDict>> {
    let names = PyDict::new(py);
    let codes = lab::catalog::codes();
    names.set_item("trace_event", codes.trace_events)?;
    names.set_item("phase", codes.phases)?;
    names.set_item("cause", codes.causes)?;
    names.set_item("packet_event", codes.packet_events)?;
    names.set_item("reason", codes.reasons)?;
    names.set_item("reason_words", codes.reason_words)?;
    names.set_item("kind", codes.kinds)?;
    names.set_item("limit", lab::SEND_LIMITS.to_vec())?;
    names.set_item("transmission", lab::TransmissionLog::KINDS.to_vec())?;
    names.set_item("access", lab::TransmissionLog::ACCESSES.to_vec())?;
    names.set_item("radio", lab::RadioLog::STEPS.to_vec())?;
    Ok(names.unbind())
}

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::assignment::{key_parts, key_text, split_assignment};
    #[pymodule_export]
    use super::environments::{Environments, check_policy, evaluate_policy, policy_features};
    #[pymodule_export]
    use super::errors::{ControllerError, ScenarioError};
    #[pymodule_export]
    use super::foreign_controller::{ForeignController, module_facts};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::live::{FinishedEmulation, FinishedLive, UnavailableError, emulate, run_kernel, run_udp};
    #[pymodule_export]
    use super::network::{PyNetwork, StackFailure, conform, conform_compare, conform_situations};
    #[pymodule_export]
    use super::replay::{PyScriptedReceiver, PyScriptedSender};
    #[pymodule_export]
    use super::run::{Finished, bench, explain_threads, pooled_quantile, run};
    #[pymodule_export]
    use super::satellites::PySatelliteView;
    #[pymodule_export]
    use super::scenario::{Facts, Mention, PyScenario, foreign_kind, layout, parse, set_shipped};
    #[pymodule_export]
    use super::study::{PyPool, PyStudy, parse_study};
    #[pymodule_export]
    use super::trace::{TraceReader, identify_candidates, recording_kind, trace_codes};
    #[pymodule_export]
    use super::why::{explain, message_budget};
    #[pymodule_export]
    use super::world::{World, picoseconds, prepared_for};
    use super::*;
    #[pymodule_export]
    use super::{catalog, codes, interface, schema, seconds};
    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        let python = lab::ExternalLoader { identify: Some(PyFactory::identify), load: PyFactory::load };
        lab::set_external_loader(lab::Language::Python, python);
        let library = lab::ExternalLoader { identify: None, load: PyFactory::load_library };
        lab::set_external_loader(lab::Language::Library, library);
        let javascript = lab::ExternalLoader { identify: None, load: PyFactory::load_javascript };
        lab::set_external_loader(lab::Language::JavaScript, javascript);
        foreign::set_loaders();
        events::add_classes(m)?;
        m.add("__version__", lab::VERSION)?;
        m.add("ENGINE", lab::engine())?;
        m.add("ENGINE_CRATES", lab::ENGINE_CRATES.split(' ').collect::<Vec<_>>())?;
        m.add("KERNEL_BRIDGE", cfg!(feature = "kernel"))?;
        m.add("PGO", option_env!("ACKCLOCK_PGO").is_some())?; // `make pgo`
        m.add("KINDS", lab::catalog::KINDS.to_vec())
    }
}
