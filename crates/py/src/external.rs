//! External controllers written in Python. python/ackclock/control.py documents the interface of a class.

use crate::events::{
    PyAck, PyCongestion, PyFlowInfo, PyHint, PyLost, PyRestart, PySent, PyTimeout, PyTransmitStart,
};
use cc::{
    Ack, Congestion, Controller, EcnResponse, ExternalController, ExternalFactory, Failure, FlowInfo,
    PathHint,
};
use cc::{Lost, Restart, Sent, Signals, Timeout, TransmitStart};
use lab::ExternalSource;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};
use pyo3::{IntoPyObjectExt, intern};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use units::{Rate, Segments, Span, Time};

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
                .map_or(Ok(Vec::new()), |found| found.try_iter()?.map(|w| w?.extract()).collect())
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
                let found = py.import("ackclock.control")?.getattr("identify")?;
                found.call1((path.to_string_lossy(), class))?.extract()
            };
            identify().map_err(|error| error.value(py).to_string())
        })
    }

    /// Runs the file that a scenario names, and returns a factory for the class.
    pub fn load(source: &ExternalSource) -> Result<Arc<dyn ExternalFactory>, String> {
        Python::attach(|py| {
            let load = || -> PyResult<PyFactory> {
                let loader = py.import("ackclock.control")?.getattr("load")?;
                let names: Vec<&str> = source.arguments.iter().map(|(name, _)| name.as_str()).collect();
                let (class, identity): (Bound<'_, PyAny>, String) =
                    loader.call1((source.path.to_string_lossy(), &source.class, names))?.extract()?;
                PyFactory::new(&class, source.arguments.clone(), source.class.clone(), identity)
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

    fn instance(&self, py: Python<'_>, flow: &FlowInfo) -> PyResult<Py<PyAny>> {
        let keywords = PyDict::new(py);
        for (name, value) in &self.arguments {
            match value {
                cc::ParamValue::Number(n) => keywords.set_item(name, n)?,
                cc::ParamValue::Switch(on) => keywords.set_item(name, on)?,
                cc::ParamValue::Word(word) => keywords.set_item(name, word)?,
            }
        }
        Ok(self.class.bind(py).call((PyFlowInfo::from(flow),), Some(&keywords))?.unbind())
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
    fn make(&self, flow: &FlowInfo) -> Box<dyn ExternalController> {
        Python::attach(|py| {
            let mut controller_class = PyController {
                object: py.None(),
                name: self.name.clone(),
                probes: self.probes.clone(),
                needs: self.needs,
                now: Time::ZERO,
                shown: Shown { cwnd: 1.0, ssthresh: f64::INFINITY, ..Shown::default() },
                failure: None,
            };
            match self.instance(py, flow) {
                Ok(object) => {
                    controller_class.object = object;
                    controller_class.look(py);
                }
                Err(error) => controller_class.fail(py, error),
            }
            Box::new(controller_class)
        })
    }
}

/// The values of a controller's attributes after the last event.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    cwnd: Segments,
    ssthresh: Segments,
    pacing: Option<Rate>,
    wake_at: Option<Time>,
    fine_timeout: Option<Span>,
    echo: Option<EcnResponse>,
}

/// A controller object. Its attributes are read once after each event.
struct PyController {
    object: Py<PyAny>,
    name: String,
    probes: Vec<String>,
    needs: Signals,
    now: Time,
    shown: Shown,
    failure: Option<Failure>,
}

impl fmt::Debug for PyController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.name, self.shown)
    }
}

/// A value of the object: an attribute, or the result of a method of that name.
fn answer<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    let found = object.getattr(name)?;
    if found.is_callable() { found.call0() } else { Ok(found) }
}

/// A value of the object as a number, if it has one.
fn number(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<Option<f64>> {
    let found = match answer(object, name) {
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyAttributeError>(object.py()) => {
            return Ok(None);
        }
        found => found?,
    };
    let wrong = || PyTypeError::new_err(format!("{name} is {found}, not a number"));
    found.extract::<Option<f64>>().map_err(|_| wrong())
}

impl PyController {
    /// Calls the method `name` of the object for an event, if the object has it, and reads its attributes.
    fn tell(
        &mut self,
        now: Time,
        name: fn(Python<'_>) -> &Bound<'_, PyString>,
        event: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
    ) {
        if self.failure.is_some() {
            return;
        }
        self.now = now;
        Python::attach(|py| {
            let told = event(py).and_then(|event| self.object.bind(py).call_method1(name(py), (event,)));
            match told {
                Ok(_) => self.look(py),
                Err(error) => self.fail(py, error),
            }
        });
    }

    /// The same of an event that a class need not have a method for.
    fn call_optional(
        &mut self,
        now: Time,
        name: fn(Python<'_>) -> &Bound<'_, PyString>,
        event: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
    ) {
        let has = |py: Python<'_>| self.object.bind(py).hasattr(name(py)).unwrap_or(true);
        if self.failure.is_none() && Python::attach(has) {
            self.tell(now, name, event);
        }
    }

    fn look(&mut self, py: Python<'_>) {
        match self.read(py) {
            Ok(shown) => self.shown = shown,
            Err(error) => self.fail(py, error),
        }
    }

    fn read(&self, py: Python<'_>) -> PyResult<Shown> {
        let object = self.object.bind(py);
        let window = |name: &Bound<'_, PyString>| -> PyResult<f64> {
            let found = answer(object, name)?;
            // The comparison is false for NaN.
            let value = found.extract::<f64>().ok().filter(|value| *value >= 1.0);
            value.ok_or_else(|| PyValueError::new_err(format!("{name} is {found}, not a number from 1 on")))
        };
        let cwnd = window(intern!(py, "cwnd"))?;
        if cwnd.is_infinite() {
            return Err(PyValueError::new_err("cwnd is infinite"));
        }
        let mut shown = Shown { cwnd, ssthresh: window(intern!(py, "ssthresh"))?, ..Shown::default() };
        if self.needs.has(Signals::PACING) {
            let bps = number(object, intern!(py, "pacing_bps"))?;
            if let Some(bps) = bps.filter(|bps| !(1.0..1e15).contains(bps)) {
                let message = format!("pacing_bps is {bps}, not a rate from 1 on (or None)");
                return Err(PyValueError::new_err(message));
            }
            shown.pacing = bps.map(|bps| Rate::from_bps(bps as u64));
        }
        if self.needs.has(Signals::TIMER) {
            let at = number(object, intern!(py, "wake_at_s"))?.filter(|at| at.is_finite());
            shown.wake_at = at.map(|at| Time::ZERO + Span::from_seconds(at.max(0.0)));
        }
        if self.needs.has(Signals::FINE_CLOCK) {
            let age = number(object, intern!(py, "fine_timeout_s"))?.filter(|age| age.is_finite());
            shown.fine_timeout = age.map(|age| Span::from_seconds(age.max(0.0)));
        }
        if let Some(echo) = object.getattr_opt(intern!(py, "ecn_response"))? {
            shown.echo = Some(match echo.extract::<String>()?.as_str() {
                "reduce" => EcnResponse::Reduce,
                "confirm" => EcnResponse::CwrOnly,
                "ignore" => EcnResponse::NoCwr,
                other => {
                    let message = format!("ecn_response is \"{other}\", not reduce, confirm or ignore");
                    return Err(PyValueError::new_err(message));
                }
            });
        }
        Ok(shown)
    }

    fn fail(&mut self, py: Python<'_>, error: PyErr) {
        let traceback = || -> PyResult<String> {
            let lines = py.import("traceback")?.getattr("format_exception")?.call1((
                error.get_type(py),
                error.value(py),
                error.traceback(py),
            ))?;
            PyString::new(py, "").call_method1("join", (lines,))?.extract()
        };
        let message = traceback().unwrap_or_else(|_| error.to_string());
        self.failure = Some(Failure { at: self.now, message, error: Arc::new(error) });
    }
}

/// The name of a method, made once.
macro_rules! method {
    ($name:literal) => {
        |py| {
            static NAME: PyOnceLock<Py<PyString>> = PyOnceLock::new();
            NAME.get_or_init(py, || PyString::intern(py, $name).unbind()).bind(py)
        }
    };
}

impl Controller for PyController {
    fn needs(&self) -> Signals {
        self.needs
    }
    fn on_open(&mut self, now: Time) {
        self.call_optional(now, method!("on_open"), |py| now.seconds().into_bound_py_any(py));
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.tell(ack.now, method!("on_ack"), |py| PyAck::from(ack).into_bound_py_any(py));
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.tell(event.now, method!("on_congestion"), |py| PyCongestion::from(event).into_bound_py_any(py));
    }
    fn ecn_response(&self) -> EcnResponse {
        self.shown.echo.unwrap_or(EcnResponse::Reduce)
    }
    fn on_lost(&mut self, lost: &Lost) {
        self.call_optional(lost.now, method!("on_lost"), |py| PyLost::from(lost).into_bound_py_any(py));
    }
    fn on_sent(&mut self, sent: &Sent) {
        self.call_optional(sent.now, method!("on_sent"), |py| PySent::from(sent).into_bound_py_any(py));
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.tell(event.now, method!("on_rto"), |py| PyTimeout::from(event).into_bound_py_any(py));
    }
    fn on_recovery_exit(&mut self, now: Time) {
        self.call_optional(now, method!("on_recovery_exit"), |py| now.seconds().into_bound_py_any(py));
    }
    fn on_undo(&mut self, now: Time) {
        self.call_optional(now, method!("on_undo"), |py| now.seconds().into_bound_py_any(py));
    }
    fn on_restart(&mut self, event: &Restart) {
        self.tell(event.now, method!("on_restart"), |py| PyRestart::from(event).into_bound_py_any(py));
    }
    fn on_transmit_start(&mut self, event: &TransmitStart) {
        self.call_optional(event.now, method!("on_transmit_start"), |py| {
            PyTransmitStart::from(event).into_bound_py_any(py)
        });
    }
    fn on_timer(&mut self, now: Time) {
        self.call_optional(now, method!("on_timer"), |py| now.seconds().into_bound_py_any(py));
    }
    fn on_hint(&mut self, now: Time, hint: &PathHint) {
        let told = PyHint::new(now, hint);
        self.call_optional(now, method!("on_hint"), |py| told.into_bound_py_any(py));
    }
    fn set_window(&mut self, cwnd: Segments) {
        self.tell(self.now, method!("set_window"), |py| cwnd.into_bound_py_any(py));
    }
    fn set_ssthresh(&mut self, ssthresh: Segments) {
        self.call_optional(self.now, method!("set_ssthresh"), |py| ssthresh.into_bound_py_any(py));
    }
    fn cwnd(&self) -> Segments {
        self.shown.cwnd
    }
    fn ssthresh(&self) -> Segments {
        self.shown.ssthresh
    }
    fn pacing(&self) -> Option<Rate> {
        self.shown.pacing
    }
    fn wake_at(&self) -> Time {
        // A time that has passed is not used again.
        self.shown.wake_at.filter(|at| *at > self.now).unwrap_or(Time::NEVER)
    }
    fn fine_timeout(&self) -> Option<Span> {
        self.shown.fine_timeout
    }
    fn probe(&self, out: &mut [f64]) {
        Python::attach(|py| {
            let object = self.object.bind(py);
            for (value, name) in out.iter_mut().zip(&self.probes) {
                *value = number(object, &PyString::new(py, name)).ok().flatten().unwrap_or(f64::NAN);
            }
        });
    }
}

impl ExternalController for PyController {
    fn name(&self) -> &str {
        &self.name
    }
    fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }
}
