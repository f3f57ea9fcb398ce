//! Recordings of other programs: captures, qlogs and logs.

use ::trace::limits::Limit;
use ::trace::reasons::Reason;
use ::trace::record::{Event, Phase, Row};
use ::trace::{Place, Reader, Settings};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// A file that is being read.
#[pyclass(module = "ackclock._core")]
pub(crate) struct TraceReader {
    reader: Reader,
}

/// The place of a capture by its name.
fn place_of(name: &str) -> PyResult<Place> {
    match name {
        "sender" => Ok(Place::Sender),
        "receiver" => Ok(Place::Receiver),
        "middle" => Ok(Place::Middle),
        _ => Err(PyValueError::new_err(format!("at is sender, receiver or middle, not {name}"))),
    }
}

#[pymethods]
impl TraceReader {
    /// Rows of flow `flow` (from 0) in direction `direction` are recorded; none: only the description is made.
    #[new]
    #[pyo3(signature = (flow=None, direction=0, at=None, every=None))]
    fn new(flow: Option<usize>, direction: usize, at: Option<&str>, every: Option<f64>) -> PyResult<Self> {
        let place = at.map(place_of).transpose()?;
        let settings = Settings { chosen: flow.map(|flow| (flow, direction)), place, every };
        Ok(TraceReader { reader: Reader::new(settings) })
    }

    /// Reads the next bytes. Raises ValueError with what the file is if it is no recording.
    fn push(&mut self, py: Python<'_>, chunk: &[u8]) -> PyResult<()> {
        py.detach(|| self.reader.push(chunk)).map_err(PyValueError::new_err)
    }

    /// The file has ended; its description as JSON. Raises ValueError as `push`.
    fn finish(&mut self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.reader.finish()).map_err(PyValueError::new_err)?;
        Ok(self.reader.description())
    }

    /// The rows of the flow: columns by name, as bytes.
    fn rows(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let rows = &self.reader.recording.rows;
        let columns = PyDict::new(py);
        let floats = |value: fn(&Row) -> f64| {
            let values: Vec<f64> = rows.iter().map(value).collect();
            PyBytes::new(py, bytemuck::cast_slice(&values))
        };
        let bytes = |value: fn(&Row) -> u8| {
            let values: Vec<u8> = rows.iter().map(value).collect();
            PyBytes::new(py, &values)
        };
        columns.set_item("time_s", floats(|row| row.at as f64 / 1e9))?;
        columns.set_item("event", bytes(|row| row.event as u8))?;
        columns.set_item("phase", bytes(|row| row.phase as u8))?;
        columns.set_item("reason", bytes(|row| row.reason))?;
        columns.set_item("ecn", bytes(|row| row.ecn))?;
        columns.set_item("seq", floats(|row| row.seq as f64))?;
        columns.set_item("bytes", floats(|row| f64::from(row.bytes)))?;
        columns.set_item("outstanding", floats(|row| row.outstanding as f64))?;
        columns.set_item("delivered", floats(|row| row.delivered as f64))?;
        columns.set_item("rtt_s", floats(|row| row.rtt_s))?;
        columns.set_item("cwnd_bytes", floats(|row| row.cwnd))?;
        columns.set_item("ssthresh_bytes", floats(|row| row.ssthresh))?;
        columns.set_item("pacing_bps", floats(|row| row.pacing_bps))?;
        columns.set_item("delivery_bps", floats(|row| row.delivery_bps))?;
        columns.set_item("window_bytes", floats(|row| row.window))?;
        columns.set_item("marks", floats(|row| f64::from(row.marks)))?;
        columns.set_item("sent_s", floats(|row| row.sent_at as f64 / 1e9))?;
        columns.set_item("sample_bytes", floats(|row| f64::from(row.sample_bytes)))?;
        Ok(columns.unbind())
    }

    /// The samples of a log: columns by name, as bytes, and the number of each sample's flow.
    fn samples(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let samples = &self.reader.samples.rows;
        let columns = PyDict::new(py);
        let floats = |value: fn(&::trace::text::Sample) -> f64| {
            let values: Vec<f64> = samples.iter().map(value).collect();
            PyBytes::new(py, bytemuck::cast_slice(&values))
        };
        columns.set_item("time_s", floats(|row| row.time_s))?;
        columns.set_item("flow", floats(|row| f64::from(row.flow)))?;
        columns.set_item("cwnd", floats(|row| row.cwnd))?;
        columns.set_item("ssthresh", floats(|row| row.ssthresh))?;
        columns.set_item("in_flight", floats(|row| row.in_flight))?;
        columns.set_item("rtt_s", floats(|row| row.rtt_s))?;
        columns.set_item("min_rtt_s", floats(|row| row.min_rtt_s))?;
        columns.set_item("delivery_bps", floats(|row| row.delivery_bps))?;
        columns.set_item("pacing_bps", floats(|row| row.pacing_bps))?;
        columns.set_item("retransmitted", floats(|row| row.again))?;
        columns.set_item("lost", floats(|row| row.lost))?;
        columns.set_item("window_bytes", floats(|row| row.window_bytes))?;
        columns.set_item("app_limited", floats(|row| row.app_limited))?;
        Ok(columns.unbind())
    }

    /// The path of the flow as JSON. Raises ValueError with what is missing.
    fn path(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.reader.path()).map(|path| path.json()).map_err(PyValueError::new_err)
    }

    /// Goodput, round-trip times and losses of the flow as JSON.
    fn figures(&self) -> String {
        self.reader.figures()
    }

    /// The cause of an event up to `at_s`, with `cut` of the last reduction, as JSON. Raises ValueError if there is none.
    fn why(&self, py: Python<'_>, at_s: f64, cut: bool) -> PyResult<String> {
        py.detach(|| self.reader.why(at_s, cut)).map(|answer| answer.json()).map_err(PyValueError::new_err)
    }

    /// What controllers explain of the flow: `(reductions, factor, [(name, scored, within, likelihood, factor, windows)])`, the
    /// most likely one first; `windows`: times in ns, in flight and window in segments, as bytes of floats.
    #[allow(clippy::type_complexity, reason = "a tuple for Python")]
    fn identify<'py>(
        &self,
        py: Python<'py>,
        names: Vec<String>,
    ) -> PyResult<(u32, f64, Vec<(String, u32, u32, f64, f64, Bound<'py, PyBytes>)>)> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let payload = self.reader.segment_bytes().0;
        let identification = py
            .detach(|| lab::identify::identify(&self.reader.recording, payload, &names))
            .map_err(|error| crate::errors::scenario_error(py, error))?;
        let rows = identification.explained.into_iter().map(|each| {
            let windows: Vec<f64> =
                each.windows.iter().flat_map(|(at, flight, window)| [*at as f64, *flight, *window]).collect();
            let windows = PyBytes::new(py, bytemuck::cast_slice(&windows));
            (each.control, each.scored, each.within, each.likelihood, each.factor, windows)
        });
        Ok((identification.reductions, identification.factor, rows.collect()))
    }

    /// The times of the reductions of what is in flight, seconds.
    fn reductions(&self) -> Vec<f64> {
        self.reader.recording.reductions.iter().map(|reduction| reduction.at as f64 / 1e9).collect()
    }

    /// Bytes of a full segment, and of its headers on the wire.
    fn segment_bytes(&self) -> (u32, u32) {
        self.reader.segment_bytes()
    }
}

/// Whether a file that begins with `content` is a recording, and whether it has packets.
#[pyfunction]
pub(crate) fn recording_kind(content: &[u8]) -> Option<bool> {
    ::trace::sniff(content).filter(|kind| kind.is_recording()).map(|kind| kind.has_packets())
}

/// The controllers that `TraceReader.identify` can compare.
#[pyfunction]
pub(crate) fn identify_candidates() -> Vec<&'static str> {
    lab::identify::candidates()
}

/// The names of the codes in the columns of a recording.
#[pyfunction]
pub(crate) fn trace_codes(py: Python<'_>) -> PyResult<Py<PyDict>> {
    let names = PyDict::new(py);
    names.set_item("event", Event::ALL.map(Event::name).to_vec())?;
    names.set_item("phase", Phase::ALL.map(Phase::name).to_vec())?;
    names.set_item("reason", Reason::ALL.map(Reason::name).to_vec())?;
    names.set_item("reason_words", Reason::ALL.map(Reason::words).to_vec())?;
    names.set_item("reason_letter", Reason::ALL.map(Reason::letter).to_vec())?;
    names.set_item("limit", Limit::ALL.map(Limit::name).to_vec())?;
    names.set_item("limit_label", Limit::ALL.map(Limit::label).to_vec())?;
    Ok(names.unbind())
}
