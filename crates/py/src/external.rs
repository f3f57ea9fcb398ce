//! External controllers written in Python. python/ackclock/base/controllers.py documents the interface of a class.

use crate::events::{self, argument};
use cc::{
    Answer, AnyController, CachedExternal, Decision, Event, ExternalController, ExternalFactory, Failure,
};
use cc::{FlowInfo, Signals, ValueKind};
use lab::ExternalSource;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};
use std::cell::RefCell;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use units::Segments;

/// A controller class with its parameters.
pub struct PyFactory {
    class: Py<PyAny>,
    arguments: Vec<(String, cc::ParamValue)>,
    name: String,
    identity: String,
    probes: Vec<String>,
    needs: Signals,
    initial_window: Option<Segments>,
}

impl fmt::Debug for PyFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.identity, self.arguments)
    }
}

impl PyFactory {
    /// Creates the factory of a class. `name` is the name in outcomes; classes with equal `identity` count as equal.
    pub fn new(
        class: &Bound<'_, PyAny>,
        arguments: Vec<(String, cc::ParamValue)>,
        name: String,
        identity: String,
    ) -> PyResult<PyFactory> {
        let py = class.py();
        let words = |attribute: &Bound<'_, PyString>| -> PyResult<Vec<String>> {
            class
                .getattr_opt(attribute)?
                .map_or(Ok(Vec::new()), |names| names.try_iter()?.map(|w| w?.extract()).collect())
        };
        let mut needs = Signals::NONE;
        for word in words(intern!(py, "needs"))? {
            needs = needs.and(Signals::from_name(&word).map_err(PyValueError::new_err)?);
        }
        let initial_window = number(class, intern!(py, "initial_window"))?;
        if let Some(window) = initial_window.filter(|window| !(1.0..=1e6).contains(window)) {
            let message = format!("initial_window is {window}, not a number from 1 to 1000000");
            return Err(PyValueError::new_err(message));
        }
        Ok(PyFactory {
            class: class.clone().unbind(),
            arguments,
            name,
            identity,
            probes: words(intern!(py, "probes"))?,
            needs,
            initial_window,
        })
    }

    /// The identity of a class in a file. Runs no code of the file.
    pub fn identify(path: &Path, class: &str) -> Result<String, String> {
        Python::attach(|py| {
            let identify = || -> PyResult<String> {
                let identity = py.import("ackclock.base.controllers")?.getattr("identify")?;
                identity.call1((path.to_string_lossy(), class))?.extract()
            };
            identify().map_err(|error| error.value(py).to_string())
        })
    }

    /// Runs the file that a scenario names, and returns a factory for the class.
    pub fn load(source: &ExternalSource) -> Result<Arc<dyn ExternalFactory>, String> {
        Python::attach(|py| {
            let load = || -> PyResult<PyFactory> {
                let loader = py.import("ackclock.base.controllers")?.getattr("load")?;
                let names: Vec<&str> = source.arguments.iter().map(|(name, _)| name.as_str()).collect();
                let class = source.label();
                let (loaded, identity): (Bound<'_, PyAny>, String) =
                    loader.call1((source.path.to_string_lossy(), class, names))?.extract()?;
                PyFactory::new(&loaded, source.arguments.clone(), class.to_string(), identity)
            };
            match load() {
                Ok(factory) => Ok(Arc::new(factory) as Arc<dyn ExternalFactory>),
                Err(error) => {
                    let message = error.value(py).to_string();
                    // Ctrl-C in the file is raised again at the next signal check of the caller.
                    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                        drop(error);
                        let _ = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
                    }
                    Err(message)
                }
            }
        })
    }

    /// Loads a class in JavaScript that a scenario names, into the sandbox.
    pub fn load_javascript(source: &ExternalSource) -> Result<Arc<dyn ExternalFactory>, String> {
        static SANDBOX: PyOnceLock<foreign::javascript::Sandbox> = PyOnceLock::new();
        let sandbox = Python::attach(|py| {
            SANDBOX
                .get_or_try_init(py, || {
                    let parts = || -> PyResult<(Vec<u8>, String)> {
                        py.import("ackclock.base.controllers")?.getattr("sandbox")?.call0()?.extract()
                    };
                    let (interpreter, bridge) = parts().map_err(|error| error.value(py).to_string())?;
                    foreign::javascript::Sandbox::new(&interpreter, &bridge)
                })
                .cloned()
        })?;
        let file = foreign::file_of(source);
        let text = std::str::from_utf8(source.content.as_deref().unwrap_or_default());
        let text = text.map_err(|_| format!("{file}: not UTF-8 text"))?;
        let name = source.name.as_deref();
        foreign::javascript::load_class(&sandbox, text, &file, name, &source.arguments)
    }

    /// Loads a native library that a scenario names, after the program has said so.
    pub fn load_library(source: &ExternalSource) -> Result<Arc<dyn ExternalFactory>, String> {
        Python::attach(|py| {
            let announce = || py.import("ackclock.base.controllers")?.getattr("loads_library");
            let said = announce().and_then(|announce| announce.call1((source.path.to_string_lossy(),)));
            said.map(drop).map_err(|error| error.value(py).to_string())
        })?;
        foreign::load_native(source)
    }

    fn instance(&self, py: Python<'_>, flow: &FlowInfo) -> PyResult<Py<PyAny>> {
        let keywords = PyDict::new(py);
        for (name, value) in &self.arguments {
            match value {
                cc::ParamValue::Number(n) => keywords.set_item(name, n)?,
                cc::ParamValue::Switch(on) => keywords.set_item(name, on)?,
                cc::ParamValue::Word(word) => keywords.set_item(name, word)?,
                cc::ParamValue::File(_) => {
                    unreachable!("the arguments of a class are numbers, switches and words")
                }
            }
        }
        Ok(self.class.bind(py).call((events::FlowInfo(*flow),), Some(&keywords))?.unbind())
    }
}

impl ExternalFactory for PyFactory {
    fn name(&self) -> &str {
        &self.name
    }
    fn probes(&self) -> &[String] {
        &self.probes
    }
    fn needs(&self) -> Signals {
        self.needs
    }
    fn initial_window(&self) -> Option<Segments> {
        self.initial_window
    }
    fn make(&self, flow: &FlowInfo) -> AnyController {
        Python::attach(|py| {
            let mut controller = PyController {
                object: py.None(),
                name: self.name.clone(),
                probes: self.probes.clone(),
                needs: self.needs,
                defined: [false; Event::METHODS.len()],
            };
            let first = self.instance(py, flow).and_then(|object| {
                for (defined, name) in controller.defined.iter_mut().zip(methods(py)) {
                    *defined = object.bind(py).hasattr(name)?;
                }
                controller.object = object;
                controller.read(py)
            });
            CachedExternal::new(Box::new(controller), first.map_err(|error| failure(py, error))).into()
        })
    }
}

/// A controller object.
#[derive(Debug)]
struct PyController {
    object: Py<PyAny>,
    name: String,
    probes: Vec<String>,
    needs: Signals,
    /// Whether the object has the event's method.
    defined: [bool; Event::METHODS.len()],
}

/// The names of the event methods.
fn methods(py: Python<'_>) -> &[Py<PyString>] {
    static METHODS: PyOnceLock<Vec<Py<PyString>>> = PyOnceLock::new();
    METHODS.get_or_init(py, || Event::METHODS.iter().map(|m| PyString::intern(py, m.name).unbind()).collect())
}

/// The names of the answers.
fn answers(py: Python<'_>) -> &[Py<PyString>] {
    static ANSWERS: PyOnceLock<Vec<Py<PyString>>> = PyOnceLock::new();
    ANSWERS.get_or_init(py, || {
        Answer::ALL.iter().map(|answer| PyString::intern(py, answer.field.name).unbind()).collect()
    })
}

/// A value of the object: an attribute, or the result of a method of that name; `None` if there is none.
fn answer<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(value) = object.getattr_opt(name)? else { return Ok(None) };
    let value = if value.is_callable() { value.call0()? } else { value };
    Ok((!value.is_none()).then_some(value))
}

/// A value of the object as a number, if it has one.
fn number(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<Option<f64>> {
    let Some(value) = answer(object, name)? else { return Ok(None) };
    let wrong = |_| PyTypeError::new_err(format!("{name} is {value}, not a number"));
    value.extract::<f64>().map(Some).map_err(wrong)
}

/// An answer as a number; `None` if the value is of another type.
fn answer_number(kind: ValueKind, value: &Bound<'_, PyAny>) -> Option<f64> {
    match kind {
        ValueKind::Number | ValueKind::Time => value.extract().ok(),
        ValueKind::Count => value.extract::<u32>().ok().map(f64::from),
        ValueKind::Flag => value.extract::<bool>().ok().map(|flag| u8::from(flag).into()),
        ValueKind::Word(words) => {
            let word = value.cast::<PyString>().ok()?.to_cow().ok()?;
            words.iter().position(|known| *known == word.as_ref()).map(|place| place as f64)
        }
    }
}

/// The error with its traceback.
fn failure(py: Python<'_>, error: PyErr) -> Failure {
    let traceback = || -> PyResult<String> {
        let lines = py.import("traceback")?.getattr("format_exception")?.call1((
            error.get_type(py),
            error.value(py),
            error.traceback(py),
        ))?;
        PyString::new(py, "").call_method1("join", (lines,))?.extract()
    };
    Failure::new(traceback().unwrap_or_else(|_| error.to_string()), Arc::new(error))
}

impl PyController {
    /// The answers of the object: its attributes after an event.
    fn read(&self, py: Python<'_>) -> PyResult<Decision> {
        let object = self.object.bind(py);
        let last = RefCell::new(None);
        let wrong = |place: usize, expected: &str| {
            let value = last.take().map_or("None".into(), |value: Bound<'_, PyAny>| value.to_string());
            PyValueError::new_err(format!("{} is {value}, not {expected}", Answer::ALL[place].field.name))
        };
        let number = |place: usize| {
            let Some(value) = answer(object, answers(py)[place].bind(py))? else {
                last.take();
                return Ok(None);
            };
            let Answer { field, expected, .. } = &Answer::ALL[place];
            let number = answer_number(field.kind, &value);
            last.replace(Some(value));
            number.map(Some).ok_or_else(|| wrong(place, expected))
        };
        Decision::read(self.needs, number, wrong)
    }
}

impl ExternalController for PyController {
    fn name(&self) -> &str {
        &self.name
    }
    fn needs(&self) -> Signals {
        self.needs
    }
    fn on_event(&mut self, event: Event<'_>, decision: &mut Decision) -> Result<(), Failure> {
        let event = match event {
            // The default of the trait.
            Event::Restart(restart) if !self.defined[event.index()] => Event::SetWindow(restart.window),
            event => event,
        };
        let method = event.index();
        if !self.defined[method] {
            return Ok(());
        }
        Python::attach(|py| {
            let call = || {
                self.object.bind(py).call_method1(&methods(py)[method], (argument(py, event)?,))?;
                self.read(py)
            };
            *decision = call().map_err(|error| failure(py, error))?;
            Ok(())
        })
    }
    fn probe(&self, out: &mut [f64]) {
        Python::attach(|py| {
            let object = self.object.bind(py);
            for (value, name) in out.iter_mut().zip(&self.probes) {
                *value = number(object, &PyString::new(py, name)).ok().flatten().unwrap_or(f64::NAN);
            }
        });
    }
    /// `__ackclock_fork__()` of the object if its class has it, otherwise `copy.deepcopy`.
    fn fork(&self) -> Result<Box<dyn ExternalController>, Failure> {
        Python::attach(|py| {
            let copied = || -> PyResult<Py<PyAny>> {
                let object = self.object.bind(py);
                let copied = match object.getattr_opt(intern!(py, "__ackclock_fork__"))? {
                    Some(hook) => hook.call0()?,
                    None => py.import("copy")?.call_method1("deepcopy", (object,))?,
                };
                Ok(copied.unbind())
            };
            let object = copied().map_err(|error| failure(py, error))?;
            let (name, probes) = (self.name.clone(), self.probes.clone());
            Ok(Box::new(PyController { object, name, probes, needs: self.needs, defined: self.defined }) as _)
        })
    }
}
