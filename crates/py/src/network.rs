//! The network of a scenario for stacks in Python, and the comparison of stacks with references.

use crate::errors::{guarded, interruptible, scenario_error};
use crate::scenario::PyScenario;
use ackclock::conform::{Case, ConformError, Conformance, Program, StackEnds, compare, judge_all};
use ackclock::network::{
    Datagram, DriveError, Driver, Endpoint, FlowEnd, Network, NetworkError, Port, Progress, Sample,
    StackError, Transmitter,
};
use ackclock::{DropReason, Ecn, Recording, Span, Time};
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

pyo3::create_exception!(
    ackclock._core,
    StackFailure,
    PyRuntimeError,
    "A stack failed in a simulated network: the message has the time and the call."
);

/// The exception for an error of a network.
fn network_error(py: Python<'_>, error: NetworkError) -> PyErr {
    match error {
        NetworkError::Scenario(error) => scenario_error(py, *error),
        NetworkError::Memory(message) => PyMemoryError::new_err(message),
        error @ NetworkError::Controller { .. } => crate::errors::ControllerError::new_err(error.to_string()),
        error => PyValueError::new_err(error.to_string()),
    }
}

/// See `ackclock.Network`.
#[pyclass(frozen, module = "ackclock._core", name = "Network")]
pub(crate) struct PyNetwork {
    network: Mutex<Network>,
}

impl PyNetwork {
    /// The network. Raises RuntimeError if another thread uses it, or an endpoint that it drives.
    fn open(&self) -> PyResult<MutexGuard<'_, Network>> {
        match self.network.try_lock() {
            Ok(network) => Ok(network),
            Err(TryLockError::Poisoned(network)) => Ok(network.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(PyRuntimeError::new_err("this network is in use; an endpoint uses what it is given"))
            }
        }
    }
}

#[pymethods]
impl PyNetwork {
    /// `attach`: names with commas, `NAME*` for a prefix. `record`: `packets`, `rules`, `audit`, `fingerprint`.
    #[new]
    fn new(
        py: Python<'_>,
        scenario: &PyScenario,
        attach: &str,
        seed: Option<u64>,
        header: u32,
        mtu: u32,
        record: Vec<String>,
    ) -> PyResult<PyNetwork> {
        let mut recording = Recording::default();
        for name in &record {
            match name.as_str() {
                "packets" => recording.packets = true,
                "rules" => recording.rules = true,
                "audit" => recording.audit = true,
                "fingerprint" => recording.fingerprint = true,
                other => {
                    let message =
                        format!("record: \"{other}\" is not one of packets, rules, audit, fingerprint");
                    return Err(PyValueError::new_err(message));
                }
            }
        }
        let mut open = Network::open(&scenario.scenario).attach_list(attach).header(header).mtu(mtu);
        if let Some(seed) = seed {
            open = open.seed(seed);
        }
        let opened = guarded(|| open.record(recording).start())?;
        opened
            .map(|network| PyNetwork { network: Mutex::new(network) })
            .map_err(|error| network_error(py, error))
    }

    #[getter]
    fn now_ns(&self) -> PyResult<u64> {
        Ok(self.open()?.now().ns())
    }

    #[getter]
    fn end_ns(&self) -> PyResult<u64> {
        Ok(self.open()?.end().ns())
    }

    #[getter]
    fn seed(&self) -> PyResult<u64> {
        Ok(self.open()?.seed())
    }

    /// Names of the attached flows; flow k has the ports 2 k and 2 k + 1.
    fn flows(&self) -> PyResult<Vec<String>> {
        let network = self.open()?;
        let sources = network.ports().filter(|port| port.end() == FlowEnd::Source);
        Ok(sources.map(|port| network.flow_of(port).into()).collect())
    }

    /// What the scenario says of the application of a flow: start, stop, bytes, writes; times in ns.
    fn application(&self, flow: &str) -> PyResult<Option<ApplicationTuple>> {
        Ok(self.open()?.application(flow).map(|application| {
            let writes = application.writes.iter().map(|(at, bytes)| (at.ns(), *bytes)).collect();
            (application.start.ns(), application.stop.map(Time::ns), application.bytes, writes)
        }))
    }

    /// What a stack is told of an attached flow; `None` if there is no such flow.
    fn case(&self, py: Python<'_>, flow: &str, controller: &str) -> PyResult<Option<Py<PyDict>>> {
        let case = Case::of_network(&*self.open()?, flow, controller).ok();
        case.map(|case| described(py, &case).map(Bound::unbind)).transpose()
    }

    fn next_ns(&self) -> PyResult<u64> {
        Ok(self.open()?.next().ns())
    }

    /// Returns whether the network is still running.
    fn advance(&self, py: Python<'_>, to_ns: u64) -> PyResult<bool> {
        let to = Time::from_ns(to_ns);
        let mut network = self.open()?;
        let progress = guarded(|| network.advance(to))?.map_err(|error| network_error(py, error))?;
        Ok(progress == Progress::Running)
    }

    fn send(&self, py: Python<'_>, port: u32, bytes: &[u8], ecn: u8) -> PyResult<()> {
        if ecn > 3 {
            return Err(PyValueError::new_err(format!("ecn is 0, 1, 2 or 3, not {ecn}")));
        }
        let mut network = self.open()?;
        let sent = guarded(|| network.send(Port::numbered(port), bytes, Ecn::from_bits(ecn)))?;
        sent.map_err(|error| network_error(py, error))
    }

    /// The next datagram: port, bytes, ECN field, number, sent and arrived in ns.
    fn receive<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.open()?.receive().map(|datagram| received(py, &datagram)).transpose()
    }

    fn record(&self, py: Python<'_>, port: u32, sample: &Bound<'_, PyDict>) -> PyResult<()> {
        let sample = sample_of(sample)?;
        self.open()?.record(Port::numbered(port), &sample).map_err(|error| network_error(py, error))
    }

    /// What was counted of what a port has sent.
    fn counts(&self, py: Python<'_>, port: u32) -> PyResult<Py<PyDict>> {
        let counts = self.open()?.counts(Port::numbered(port)).map_err(|error| network_error(py, error))?;
        let all = PyDict::new(py);
        for (name, value) in [
            ("sent", counts.sent),
            ("sent_bytes", counts.sent_bytes),
            ("accepted", counts.accepted),
            ("too_long", counts.too_long),
            ("received", counts.received),
            ("received_bytes", counts.received_bytes),
            ("received_wire_bytes", counts.received_wire_bytes),
            ("duplicates", counts.duplicates),
            ("marked", counts.marked),
        ] {
            all.set_item(name, value)?;
        }
        let dropped = PyDict::new(py);
        for reason in DropReason::ALL {
            dropped.set_item(reason.name(), counts.dropped[reason as usize])?;
        }
        all.set_item("dropped", dropped)?;
        for (name, value) in [
            ("base_delay_s", counts.delay.base_s),
            ("mean_delay_s", counts.delay.mean_s),
            ("p50_delay_s", counts.delay.p50_s),
            ("p95_delay_s", counts.delay.p95_s),
            ("p99_delay_s", counts.delay.p99_s),
        ] {
            all.set_item(name, value)?;
        }
        Ok(all.unbind())
    }

    /// The outcome as JSON; advances to the end first.
    fn outcome(&self, py: Python<'_>) -> PyResult<String> {
        let mut network = self.open()?;
        let outcome = guarded(|| network.outcome())?.map_err(|error| network_error(py, error))?;
        Ok(outcome.to_json())
    }

    fn fingerprint(&self) -> PyResult<Option<String>> {
        Ok(self.open()?.fingerprint())
    }

    /// The first violations of the auditor as text, and their number.
    fn audit(&self) -> PyResult<(Vec<String>, u64)> {
        let mut network = self.open()?;
        let (violations, count) = guarded(|| network.audit())?;
        Ok((violations.iter().map(ToString::to_string).collect(), count))
    }

    /// The history of a datagram, one line for each step.
    fn why(&self, port: u32, number: u64) -> PyResult<Vec<String>> {
        let network = self.open()?;
        let history = guarded(|| network.why(Port::numbered(port), number))?;
        history.map(|history| history.lines).map_err(|error| PyValueError::new_err(error.message))
    }

    /// What the stacks said of themselves: rows of time, port and values, in the order of the sample's fields.
    fn samples(&self, py: Python<'_>) -> PyResult<Vec<Py<PyDict>>> {
        let network = self.open()?;
        let rows = network.samples().iter().map(|row| {
            let dict = PyDict::new(py);
            dict.set_item("time_s", row.at.seconds())?;
            dict.set_item("port", row.port.number())?;
            let sample = &row.sample;
            dict.set_item("delivered_bytes", sample.delivered_bytes)?;
            dict.set_item("cwnd_bytes", sample.cwnd_bytes)?;
            dict.set_item("ssthresh_bytes", sample.ssthresh_bytes)?;
            dict.set_item("in_flight_bytes", sample.in_flight_bytes)?;
            dict.set_item("pacing_bps", sample.pacing_bps)?;
            dict.set_item("srtt_s", sample.srtt.map(Span::seconds))?;
            dict.set_item("lost_packets", sample.lost_packets)?;
            dict.set_item("app_limited", sample.app_limited)?;
            dict.set_item("state", sample.state.as_deref())?;
            Ok(dict.unbind())
        });
        rows.collect()
    }

    /// Runs programs of the pipe protocol at the ends of every attached flow to the end. `programs` is JSON: `both`, or `source` and
    /// `destination`, each a program, `controllers` by flow, `granularity_ns`. Returns as [`PyNetwork::drive`].
    fn drive_programs(&self, py: Python<'_>, programs: &str) -> PyResult<(String, u64, bool)> {
        let programs: Value =
            serde_json::from_str(programs).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let [both, source, destination] =
            ["both", "source", "destination"].map(|key| program(&programs[key]));
        let mut network = self.open()?;
        let sources: Vec<Port> = network.ports().filter(|port| port.end() == FlowEnd::Source).collect();
        let failed = |error: StackError| StackFailure::new_err(error.to_string());
        let mut all = Vec::with_capacity(sources.len());
        for port in sources {
            let flow = network.flow_of(port).to_string();
            let controller = programs["controllers"][&flow].as_str().unwrap_or_default();
            let case =
                Case::of_network(&network, &flow, controller).map_err(|error| network_error(py, error))?;
            let ends = match (&both, source.as_ref().zip(destination.as_ref())) {
                (Some(both), _) => both.both(&case).map_err(failed)?,
                (None, Some((source, destination))) => source.each(destination, &case).map_err(failed)?,
                (None, None) => {
                    return Err(PyValueError::new_err("a stack has a command, or source and destination"));
                }
            };
            match ends {
                StackEnds::Both(both) => all.push((vec![port, port.peer()], Interruptible(both, 0))),
                StackEnds::Each([source, destination]) => {
                    all.push((vec![port], Interruptible(source, 0)));
                    all.push((vec![port.peer()], Interruptible(destination, 0)));
                }
            }
        }
        let granularity = Span::from_ns(programs["granularity_ns"].as_u64().unwrap_or(1));
        let mut driver = Driver::new(&mut network).granularity(granularity);
        for (ports, endpoint) in &mut all {
            driver = driver.endpoint(ports.iter().copied(), endpoint);
        }
        let driven = guarded(|| driver.run())?.map_err(|error| drive_error(py, error))?;
        Ok((driven.outcome.to_json(), driven.steps, driven.finished))
    }

    /// Runs endpoints, each at its ports, to the end. Returns the outcome as JSON, the steps, and whether all finished early.
    fn drive(
        &self,
        py: Python<'_>,
        endpoints: Vec<(Vec<u32>, Py<PyAny>)>,
        granularity_ns: u64,
    ) -> PyResult<(String, u64, bool)> {
        let mut all: Vec<(Vec<Port>, PyEndpoint)> = Vec::with_capacity(endpoints.len());
        for (ports, object) in endpoints {
            all.push((ports.into_iter().map(Port::numbered).collect(), PyEndpoint::new(py, object)?));
        }
        let mut network = self.open()?;
        let mut driver = Driver::new(&mut network).granularity(Span::from_ns(granularity_ns));
        for (ports, endpoint) in &mut all {
            driver = driver.endpoint(ports.iter().copied(), endpoint);
        }
        let driven = guarded(|| driver.run())?.map_err(|error| drive_error(py, error))?;
        Ok((driven.outcome.to_json(), driven.steps, driven.finished))
    }
}

/// Start, stop, bytes, writes.
type ApplicationTuple = (u64, Option<u64>, Option<u64>, Vec<(u64, u64)>);

fn received<'py>(py: Python<'py>, d: &Datagram<'_>) -> PyResult<Bound<'py, PyTuple>> {
    let bytes = PyBytes::new(py, d.bytes);
    (d.port.number(), bytes, d.ecn.bits(), d.number, d.sent.ns(), d.arrived.ns()).into_pyobject(py)
}

fn sample_of(values: &Bound<'_, PyDict>) -> PyResult<Sample> {
    let mut sample = Sample::default();
    for (key, value) in values {
        let key: String = key.extract()?;
        match key.as_str() {
            "delivered_bytes" => sample.delivered_bytes = value.extract()?,
            "cwnd_bytes" => sample.cwnd_bytes = value.extract()?,
            "ssthresh_bytes" => sample.ssthresh_bytes = value.extract()?,
            "in_flight_bytes" => sample.in_flight_bytes = value.extract()?,
            "pacing_bps" => sample.pacing_bps = value.extract()?,
            "srtt_s" => sample.srtt = value.extract::<Option<f64>>()?.map(Span::from_seconds),
            "lost_packets" => sample.lost_packets = value.extract()?,
            "app_limited" => sample.app_limited = value.extract()?,
            "state" => sample.state = value.extract::<Option<String>>()?.map(Cow::Owned),
            other => {
                return Err(PyValueError::new_err(format!(
                    "\"{other}\" is not a value of a sample; there are delivered_bytes, cwnd_bytes, ssthresh_bytes, \
                     in_flight_bytes, pacing_bps, srtt_s, lost_packets, app_limited, state"
                )));
            }
        }
    }
    Ok(sample)
}

/// An endpoint that Ctrl-C ends, and its polls so far.
struct Interruptible(Box<dyn Endpoint>, u32);

impl Endpoint for Interruptible {
    fn receive(&mut self, now: Time, datagram: &Datagram<'_>) -> Result<(), StackError> {
        self.0.receive(now, datagram)
    }
    fn poll(&mut self, now: Time, out: &mut Transmitter<'_>) -> Result<(), StackError> {
        self.1 += 1;
        if self.1.is_multiple_of(1024) {
            Python::attach(|py| py.check_signals())?;
        }
        self.0.poll(now, out)
    }
    fn timer(&mut self) -> Option<Time> {
        self.0.timer()
    }
    fn sample(&mut self) -> Sample {
        self.0.sample()
    }
    fn finished(&self) -> bool {
        self.0.finished()
    }
}

/// An endpoint in Python.
struct PyEndpoint {
    object: Py<PyAny>,
    samples: bool,
    finishes: bool,
    /// An error of a method that cannot report one; the next poll does.
    failed: Mutex<Option<PyErr>>,
}

impl PyEndpoint {
    fn new(py: Python<'_>, object: Py<PyAny>) -> PyResult<PyEndpoint> {
        for method in ["receive", "poll", "timer"] {
            if !object.bind(py).hasattr(method)? {
                let name = object.bind(py).get_type().name()?;
                return Err(PyValueError::new_err(format!(
                    "{name} has no method {method}; see ackclock.Endpoint"
                )));
            }
        }
        let has = |method| object.bind(py).hasattr(method);
        let (samples, finishes) = (has("sample")?, has("finished")?);
        Ok(PyEndpoint { object, samples, finishes, failed: Mutex::new(None) })
    }

    fn failed(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what `poll` gives.
    fn send(&self, py: Python<'_>, now: Time, out: &mut Transmitter<'_>) -> Result<(), StackError> {
        let sent = self.object.call_method1(py, "poll", (now.ns(),))?;
        if sent.is_none(py) {
            return Ok(());
        }
        for item in sent.bind(py).try_iter()? {
            let item = item?;
            if let Ok(bytes) = item.cast::<PyBytes>() {
                out.send(bytes.as_bytes(), Ecn::NotEct)?;
                continue;
            }
            let pair: PyResult<(Bound<'_, PyBytes>, u8)> = item.extract();
            let (bytes, ecn) = pair.map_err(|_| {
                PyValueError::new_err(
                    "poll gives bytes, or pairs of bytes and the ECN field, for each datagram",
                )
            })?;
            if ecn > 3 {
                return Err(Box::new(PyValueError::new_err(format!("ecn is 0, 1, 2 or 3, not {ecn}"))));
            }
            out.send(bytes.as_bytes(), Ecn::from_bits(ecn))?;
        }
        Ok(())
    }
}

impl Endpoint for PyEndpoint {
    fn receive(&mut self, now: Time, datagram: &Datagram<'_>) -> Result<(), StackError> {
        Python::attach(|py| {
            let datagram = received(py, datagram)?;
            self.object.call_method1(py, "receive", (now.ns(), datagram))?;
            Ok(())
        })
    }

    fn poll(&mut self, now: Time, out: &mut Transmitter<'_>) -> Result<(), StackError> {
        if let Some(error) = self.failed().take() {
            return Err(Box::new(error));
        }
        Python::attach(|py| {
            self.send(py, now, out)?;
            py.check_signals()?;
            Ok(())
        })
    }

    fn timer(&mut self) -> Option<Time> {
        Python::attach(|py| {
            let at = self.object.call_method0(py, "timer");
            let at: PyResult<Option<u64>> = at.and_then(|at| at.bind(py).extract());
            at.unwrap_or_else(|error| {
                self.failed().get_or_insert(error);
                Some(0)
            })
            .map(Time::from_ns)
        })
    }

    fn sample(&mut self) -> Sample {
        if !self.samples {
            return Sample::default();
        }
        Python::attach(|py| {
            let said = self.object.call_method0(py, "sample");
            let said = said.and_then(|said| sample_of(said.bind(py).cast::<PyDict>()?));
            said.unwrap_or_else(|error| {
                self.failed().get_or_insert(error);
                Sample::default()
            })
        })
    }

    fn finished(&self) -> bool {
        self.finishes
            && Python::attach(|py| {
                let done = self.object.call_method0(py, "finished");
                done.and_then(|done| done.bind(py).extract()).unwrap_or_else(|error| {
                    self.failed().get_or_insert(error);
                    false
                })
            })
    }
}

/// The exception for an error of a driver; Ctrl-C stays what it is.
fn drive_error(py: Python<'_>, error: DriveError) -> PyErr {
    let message = error.to_string();
    match error {
        DriveError::Network(error) => network_error(py, error),
        DriveError::Ports(message) => PyValueError::new_err(message),
        DriveError::Stopped => PyKeyboardInterrupt::new_err(()),
        DriveError::Stack { error, .. } => match error.downcast::<PyErr>() {
            Ok(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => *error,
            Ok(error) => {
                let failed = StackFailure::new_err(message);
                failed.set_cause(py, Some(*error));
                failed
            }
            Err(_) => StackFailure::new_err(message),
        },
        _ => StackFailure::new_err(message),
    }
}

/// The options of a comparison, from JSON.
fn options(values: &Value) -> Conformance {
    let text = |key: &str| values[key].as_str().unwrap_or_default();
    let number = |key: &str| values[key].as_u64();
    let mut conformance = Conformance::new(text("name"))
        .version(text("version"))
        .controller(text("controller"), text("reference"))
        .ecn(values["ecn"].as_bool().unwrap_or(false));
    if let Some(theirs) = values["reno"].as_str() {
        conformance = conformance.reno(theirs);
    }
    if let Some(names) = values["situations"].as_array() {
        conformance = conformance.situations(names.iter().filter_map(Value::as_str));
    }
    if let Some(seeds) = number("seeds") {
        conformance = conformance.seeds(seeds);
    }
    if let Some(seed) = number("first_seed") {
        conformance = conformance.first_seed(seed);
    }
    if let Some(threads) = number("threads") {
        conformance = conformance.threads(threads as usize);
    }
    if let (Some(header), Some(mtu)) = (number("header"), number("mtu")) {
        conformance = conformance.packets(header as u32, mtu as u32);
    }
    match number("granularity_ns") {
        Some(step) => conformance.granularity(Span::from_ns(step)),
        None => conformance,
    }
}

fn program(values: &Value) -> Option<Program> {
    let command = values["command"].as_array()?.iter().filter_map(Value::as_str);
    let mut program = Program::new(command);
    program.folder = values["folder"].as_str().map(Into::into);
    Some(program)
}

/// Compares a stack with a reference: the report as JSON. `stack` is JSON with `both`, or `source` and `destination`, each a
/// program; or with `simulated`; or a callable in Python that gives the endpoints of a case. Raises ValueError, or
/// StackFailure if the stack fails.
#[pyfunction]
#[pyo3(signature = (options_json, stack=None, progress=None))]
pub(crate) fn conform(
    py: Python<'_>,
    options_json: &str,
    stack: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let values: Value =
        serde_json::from_str(options_json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let conformance = options(&values);
    let says = |run: usize, planned: usize| {
        if let Some(call) = &progress {
            Python::attach(|py| {
                call.call1(py, (run, planned)).map_err(|error| error.write_unraisable(py, None)).ok()
            });
        }
    };
    let [both, source, destination] = ["both", "source", "destination"].map(|key| program(&values[key]));
    let report = match (stack, both, source.zip(destination)) {
        (Some(class), _, _) => {
            // A module has global state: one run of it at a time, beside those of the references.
            let make = |case: &Case| Python::attach(|py| python_ends(py, &class, case));
            let alone = conformance.exclusive(true);
            interruptible(py, |stop| alone.run_watched(make, &says, stop))?
        }
        (None, Some(both), _) => {
            interruptible(py, |stop| conformance.run_watched(|case| both.both(case), &says, stop))?
        }
        (None, None, Some((source, destination))) => interruptible(py, |stop| {
            conformance.run_watched(|case| source.each(&destination, case), &says, stop)
        })?,
        _ => interruptible(py, |stop| conformance.run_simulated(&says, stop))?,
    };
    report.map(|report| report.to_json()).map_err(|error| match error {
        ConformError::Stack { .. } => StackFailure::new_err(error.to_string()),
        ConformError::Stopped => PyKeyboardInterrupt::new_err(()),
        error => PyValueError::new_err(error.to_string()),
    })
}

/// The endpoints that a class in Python makes for a case: a pair, or one for both ends.
fn python_ends(py: Python<'_>, class: &Py<PyAny>, case: &Case) -> Result<StackEnds, StackError> {
    let ends = class.call1(py, (described(py, case)?,))?;
    let pair: PyResult<[Py<PyAny>; 2]> = ends.bind(py).extract();
    let [source, destination] = pair.map_err(|_| {
        PyValueError::new_err("the stack gives a pair for a case: the endpoints of source and destination")
    })?;
    let ends = [PyEndpoint::new(py, source)?, PyEndpoint::new(py, destination)?];
    Ok(StackEnds::Each(ends.map(|end| Box::new(end) as Box<dyn Endpoint>)))
}

/// A case as the argument of what makes the ends.
fn described<'py>(py: Python<'py>, case: &Case) -> PyResult<Bound<'py, PyDict>> {
    let described = PyDict::new(py);
    described.set_item("situation", case.situation)?;
    described.set_item("seed", case.seed)?;
    described.set_item("controller", &case.controller)?;
    described.set_item("flow", &case.flow)?;
    described.set_item("start_ns", case.application.start.ns())?;
    described.set_item("stop_ns", case.application.stop.map(Time::ns))?;
    described.set_item("bytes", case.application.bytes)?;
    let writes: Vec<(u64, u64)> =
        case.application.writes.iter().map(|(at, bytes)| (at.ns(), *bytes)).collect();
    described.set_item("writes", writes)?;
    described.set_item("write_bytes", case.write_bytes)?;
    described.set_item("header", case.header)?;
    described.set_item("mtu", case.mtu)?;
    described.set_item("duration_ns", case.duration.ns())?;
    Ok(described)
}

/// The situations of a comparison: name, title and scenario, as JSON.
#[pyfunction]
pub(crate) fn conform_situations() -> String {
    let all = ackclock::conform::SITUATIONS.iter().map(|situation| {
        let metrics: Vec<&str> = situation.metrics.iter().map(|metric| metric.words()).collect();
        let quick = ackclock::conform::QUICK.contains(&situation.name);
        serde_json::json!({
            "name": situation.name, "title": situation.title(), "scenario": situation.text(),
            "metrics": metrics, "quick": quick, "ecn": situation.ecn,
        })
    });
    Value::Array(all.collect()).to_string()
}

/// The test of one metric ([`ackclock::conform::compare`]), judged alone, as JSON.
#[pyfunction]
pub(crate) fn conform_compare(
    stack: Vec<f64>,
    references: Vec<Vec<f64>>,
    part: f64,
    least: f64,
) -> PyResult<String> {
    let mut comparison = guarded(|| compare(&stack, &references, part, least))?;
    judge_all([&mut comparison]);
    serde_json::to_string(&comparison).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
