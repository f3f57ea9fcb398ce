//! Recordings of other programs: the page pushes a file through, and asks for the rows of a flow and for causes.

use crate::session::Session;
use serde_json::{Value, json};
use trace::reasons::Reason;
use trace::record::{Event, Row};
use trace::text::Sample;
use trace::{Reader, Settings};

/// The columns of a recording that the page draws; windows in bytes, of samples in segments.
const COLUMNS: [fn(&Row) -> f64; 10] = [
    |row| row.at as f64 / 1e9,
    |row| f64::from(row.event as u8),
    |row| f64::from(row.reason),
    |row| if row.event == Event::Sample { f64::NAN } else { row.outstanding as f64 },
    |row| row.cwnd,
    |row| row.ssthresh,
    |row| row.rtt_s,
    |row| row.delivery_bps,
    |row| row.window,
    |row| row.pacing_bps,
];
const COLUMN_NAMES: [&str; 10] = [
    "time_s",
    "event",
    "reason",
    "outstanding",
    "cwnd",
    "ssthresh",
    "rtt_s",
    "delivery_bps",
    "window_bytes",
    "pacing_bps",
];

/// A sample of a log as a row; windows in segments.
fn row_of(sample: &Sample) -> Row {
    let at = if sample.time_s > 0.0 { (sample.time_s * 1e9) as u64 } else { 0 };
    Row {
        cwnd: sample.cwnd,
        ssthresh: sample.ssthresh,
        rtt_s: sample.rtt_s,
        delivery_bps: sample.delivery_bps,
        pacing_bps: sample.pacing_bps,
        window: sample.window_bytes,
        ..Row::new(at, Event::Sample)
    }
}

impl Session {
    /// What a file is that begins with the bytes of the request: `null`, or whether it is a recording, and what can be
    /// done with it.
    pub fn trace_kind(&mut self) {
        let kind = trace::sniff(self.bytes()).map(
            |kind| json!({"recording": kind.is_recording(), "words": kind.words(), "remedy": kind.remedy()}),
        );
        self.reply(&kind.unwrap_or(Value::Null));
    }

    /// Begins to read a file. The request has `flow` and `direction`, from 0, if rows are recorded. 0, or 1 with an error.
    pub fn trace_open(&mut self) -> i32 {
        let Some(request) = self.request() else { return 1 };
        let number = |key: &str| request[key].as_u64().map(|number| number as usize);
        let chosen = number("flow").map(|flow| (flow, number("direction").unwrap_or(0)));
        self.trace_flow = number("flow");
        self.reader = Some(Reader::new(Settings { chosen, ..Settings::default() }));
        0
    }

    /// Reads the bytes of the request. 0, or 1 with an error.
    pub fn trace_push(&mut self) -> i32 {
        let Some(mut reader) = self.reader.take() else { return self.no_reader() };
        let result = reader.push(self.bytes());
        self.reader = Some(reader);
        self.trace_result(result)
    }

    /// The file has ended. 0 with its description, and the names of the columns and of their codes, or 1 with an error.
    pub fn trace_finish(&mut self) -> i32 {
        let Some(reader) = &mut self.reader else { return self.no_reader() };
        if let Err(message) = reader.finish() {
            return self.trace_result(Err(message));
        }
        let limits: serde_json::Map<String, Value> = trace::limits::Limit::ALL
            .iter()
            .map(|limit| (limit.name().to_owned(), limit.label().into()))
            .collect();
        let codes = json!({
            "event": Event::ALL.map(Event::name), "letter": Reason::ALL.map(Reason::letter),
            "reason": Reason::ALL.map(Reason::name), "words": Reason::ALL.map(Reason::words), "limit": limits,
        });
        if let Some(flow) = self.trace_flow {
            let samples = reader.samples.rows.iter().filter(|sample| sample.flow as usize == flow);
            reader.recording.rows.extend(samples.map(row_of));
        }
        let description = reader.description();
        let rows = reader.recording.rows.len();
        let (segment, _) = reader.segment_bytes();
        self.answer = format!(
            "{{\"about\":{description},\"columns\":{},\"codes\":{codes},\"rows\":{rows},\"segment_bytes\":{segment}}}",
            json!(COLUMN_NAMES)
        )
        .into_bytes();
        0
    }

    /// The numbers of a column of the rows become the data.
    pub fn trace_column(&mut self, number: usize) {
        self.data.clear();
        if let (Some(reader), Some(value)) = (&self.reader, COLUMNS.get(number)) {
            self.data.extend(reader.recording.rows.iter().map(value));
        }
    }

    /// The times of the reductions of the window become the data, seconds.
    pub fn trace_reductions(&mut self) {
        self.data.clear();
        if let Some(reader) = &self.reader {
            self.data.extend(reader.recording.reductions.iter().map(|reduction| reduction.at as f64 / 1e9));
        }
    }

    /// The cause of the last event up to a time, or of the last reduction. 0 with the answer, or 1 with a message.
    pub fn trace_why(&mut self, at_s: f64, reduction: bool) -> i32 {
        let Some(reader) = &self.reader else { return self.no_reader() };
        match reader.why(at_s, reduction) {
            Ok(answer) => {
                self.answer = answer.json().into_bytes();
                0
            }
            Err(message) => self.trace_result(Err(message)),
        }
    }

    fn no_reader(&mut self) -> i32 {
        self.trace_result(Err("no recording is open".to_owned()))
    }

    fn trace_result(&mut self, result: Result<(), String>) -> i32 {
        if let Err(message) = result {
            self.fail::<()>(&message);
            return 1;
        }
        0
    }
}
