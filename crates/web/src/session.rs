//! The state of an instance: request, answer, run.

use crate::controller::PageFactory;
use lab::{
    CarriedFiles, FileAccess, PacketLog, Recording, Run, SatelliteView, Scenario, ScenarioText, Settings,
    Study, TraceMode,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{Rate, Span, Time};

/// Messages that the page gets at most.
const MOST_MESSAGES: usize = 100_000;
/// States of messages, by their numbers in the column.
const MESSAGE_STATES: [&str; 6] = ["finished", "on_time", "late", "cancelled", "dropped", "unfinished"];

/// Request, answer, run.
#[derive(Default)]
pub struct Session {
    request: Vec<u8>,
    /// The answer.
    pub answer: Vec<u8>,
    /// Numbers of the answer.
    pub data: Vec<f64>,
    /// The files that scenarios may name.
    files: CarriedFiles,
    pub(crate) view: Option<(SatelliteView, Option<(usize, usize)>)>,
    run: Option<Run>,
    fingerprint: bool,
    packet_times: Vec<f64>,
    marked: Vec<u8>,
    /// The recording of another program that is read.
    pub(crate) reader: Option<trace::Reader>,
    /// The flow of it whose rows are recorded, from 0.
    pub(crate) trace_flow: Option<usize>,
}

impl Session {
    /// Memory for a request.
    pub fn buffer(&mut self, length: usize) -> *mut u8 {
        self.request = vec![0; length];
        self.request.as_mut_ptr()
    }

    /// The bytes of the request.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.request
    }

    /// The request; the previous answer is forgotten. None, with an error as the answer, if it is not a JSON object.
    pub(crate) fn request(&mut self) -> Option<Value> {
        self.clear();
        match serde_json::from_slice(&self.request) {
            Ok(request @ Value::Object(_)) => Some(request),
            Ok(_) => self.fail("the request is not a JSON object"),
            Err(error) => self.fail(&format!("the request is not JSON: {error}")),
        }
    }

    /// Forgets the previous answer.
    fn clear(&mut self) {
        self.answer.clear();
        self.data.clear();
    }

    /// Makes a message the answer.
    pub(crate) fn fail<T>(&mut self, message: &str) -> Option<T> {
        self.reply(&json!({"message": message, "full": message}));
        None
    }

    /// The run, with the previous answer forgotten. None, with an error as the answer, if none is open.
    pub(crate) fn run(&mut self) -> Option<&mut Run> {
        self.clear();
        if self.run.is_none() {
            return self.fail("no run is open");
        }
        self.run.as_mut()
    }

    pub(crate) fn reply(&mut self, what: &Value) {
        self.answer = what.to_string().into_bytes();
    }

    /// Makes an error the answer; returns 1.
    pub(crate) fn refuse(&mut self, error: &lab::ScenarioError) -> i32 {
        self.reply(&json!({
            "file": error.file, "line": error.line, "key": error.key, "message": error.message,
            "full": error.to_string(),
        }));
        1
    }

    /// Sets the files.
    pub fn files(&mut self) -> i32 {
        let Some(Value::Object(files)) = self.request() else { return 1 };
        let mut read = Vec::new();
        for (name, content) in files {
            let bytes = match (content["text"].as_str(), content["base64"].as_str()) {
                (Some(text), _) => Some(text.as_bytes().to_vec()),
                (_, Some(text)) => decode_base64(text),
                _ => None,
            };
            let Some(bytes) = bytes else {
                self.fail::<()>(&format!("{name}: neither text nor base64"));
                return 1;
            };
            read.push((name, bytes));
        }
        self.files = read.into_iter().collect();
        0
    }

    /// The assignments of a request.
    pub(crate) fn assignments(request: &Value) -> Vec<String> {
        let texts = request["set"].as_array().into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_string).collect()
    }

    /// The text of a request, which may name the files of the page.
    pub(crate) fn text<'a>(&self, request: &'a Value, set: &'a [String]) -> ScenarioText<'a> {
        let text = |key: &str| request[key].as_str().unwrap_or_default();
        let access = FileAccess::Carried(self.files.clone());
        ScenarioText { file: text("file"), text: text("text"), set, access, libraries: false }
    }

    /// The scenario of a request, with the advice on it.
    pub(crate) fn scenario(&self, request: &Value) -> Result<(Scenario, Vec<String>), lab::ScenarioError> {
        let assignments = Self::assignments(request);
        let text = self.text(request, &assignments);
        let (mut scenario, advice) = match request["point"].as_u64() {
            Some(point) => {
                let study = Study::from_text(&text, &[])?;
                let last = study.points() - 1;
                let scenario = study.scenario(usize::try_from(point).unwrap_or(last).min(last))?;
                (scenario, study.advice().to_vec())
            }
            None => {
                let scenario = Scenario::from_text(&text, &[])?;
                let advice = scenario.advice.clone();
                (scenario, advice)
            }
        };
        for (flow, class) in request["controllers"].as_object().into_iter().flatten() {
            let factory = PageFactory::new(class).map_err(|message| lab::ScenarioError {
                file: "controller".into(),
                message,
                ..lab::ScenarioError::default()
            })?;
            scenario.set_control(flow, lab::CongestionControl::ExternalController(Arc::new(factory)))?;
        }
        Ok((scenario, advice))
    }

    /// Reads the scenario alone.
    pub fn check(&mut self) -> i32 {
        let Some(request) = self.request() else { return 1 };
        match self.scenario(&request) {
            Err(error) => self.refuse(&error),
            Ok((scenario, advice)) => {
                self.reply(&json!({
                    "title": scenario.title, "seed": scenario.seed, "duration_s": scenario.duration.seconds(),
                    "is_study": scenario.is_study, "advice": advice,
                    "kind": match (&scenario.satellites, &scenario.radio) {
                        (Some(_), _) => "satellites",
                        (None, Some(_)) => "radio",
                        (None, None) => "wired",
                    },
                    "changes": scenario.changes.iter().map(|change| change.name.clone()).collect::<Vec<_>>(),
                    "link_names": scenario.links.iter().map(lab::Duplex::key).collect::<Vec<_>>(),
                    "network": serde_json::to_value(scenario.describe()).unwrap_or_default(),
                }));
                0
            }
        }
    }

    /// The positions of nodes in a drawing of the links and flows of the request, whose `links` and `flows` are pairs of names:
    /// name, column, row and number of rows.
    pub fn layout(&mut self) -> i32 {
        let Some(request) = self.request() else { return 1 };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let pair = |value: &Value| [text(&value[0]), text(&value[1])];
        let pairs = |key: &str| request[key].as_array().into_iter().flatten().map(pair).collect::<Vec<_>>();
        let positions = lab::layout(&pairs("links"), &pairs("flows")).into_iter();
        self.reply(
            &positions.map(|place| json!([place.node, place.column, place.row, place.rows])).collect(),
        );
        0
    }

    /// Builds a run.
    pub fn open(&mut self) -> i32 {
        self.run = None;
        self.packet_times = Vec::new();
        self.marked = Vec::new();
        let Some(request) = self.request() else { return 1 };
        if let Some(message) = unusable(&request) {
            self.fail::<()>(&message);
            return 1;
        }
        let yes = |key: &str| request[key].as_bool().unwrap_or(false);
        let time = |key: &str| request[key].as_f64().map(|s| Time::ZERO + Span::from_seconds(s.max(0.0)));
        let recording = Recording {
            trace: request["trace"].as_str().and_then(TraceMode::from_name).unwrap_or_default(),
            packets: yes("packets"),
            packets_within: time("packets_from").zip(time("packets_until")),
            bounded: yes("bounded"),
            audit: false,
            captures: false,
            fingerprint: yes("fingerprint"),
            radio: yes("radio"),
            qlog: false,
            rules: yes("rules"),
        };
        let opened = self.scenario(&request).and_then(|(scenario, _)| {
            let settings = Settings { seed: request["seed"].as_u64(), recording, ..Settings::default() };
            Ok((scenario.duration.seconds(), Run::new(&scenario, settings)?))
        });
        let (duration, run) = match opened {
            Err(error) => return self.refuse(&error),
            Ok(opened) => opened,
        };
        self.fingerprint = recording.fingerprint;
        let shape = run.shape();
        self.reply(&json!({
            "duration_s": duration,
            "flows": shape.flows, "flow_ends": shape.flow_ends, "links": shape.links, "link_ends": shape.link_ends,
            "applications": serde_json::to_value(run.applications()).unwrap_or_default(),
            "internals": run.logs().windows.internals.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(),
        }));
        self.run = Some(run);
        0
    }

    /// Processes events.
    pub fn advance(&mut self, events: u64) -> i32 {
        self.run.as_mut().is_none_or(|run| run.advance(events)) as i32
    }

    /// Processes events up to a time.
    pub fn advance_to(&mut self, seconds: f64) -> i32 {
        let until = Time::ZERO + Span::from_seconds(seconds.max(0.0));
        self.run.as_mut().is_none_or(|run| run.advance_to(until)) as i32
    }

    /// Simulated seconds so far.
    pub fn now(&self) -> f64 {
        self.run.as_ref().map_or(0.0, |run| run.now().seconds())
    }

    /// The outcome, or the failure of a controller.
    pub fn outcome(&mut self) {
        let Some(run) = self.run() else { return };
        if let Some((flow, failure)) = run.failure() {
            let failed = json!({"failure": failure.message, "flow": flow, "at_s": failure.at.seconds()});
            return self.reply(&failed);
        }
        self.answer = run.outcome().to_json().into_bytes();
    }

    /// The fingerprint.
    pub fn fingerprint(&mut self) {
        let recorded = self.fingerprint;
        let Some(run) = self.run() else { return };
        self.answer = if recorded { run.fingerprint().into_bytes() } else { Vec::new() };
    }

    /// Place and length of a column: 0 to 8 of the window trace, 10 to 18 of the packet log (after [`Session::outcome`]),
    /// from 100 on internal values of controllers.
    pub fn column(&mut self, number: u32) -> (*const u8, usize) {
        if let (Some(log), 10 | 18) = (self.run.as_ref().map(|run| &run.logs().packets), number)
            && log.time.len() != self.packet_times.len()
        {
            self.packet_times = log.time.iter().map(|time| time.seconds()).collect();
            self.marked = log.marked.iter().map(|marked| *marked as u8).collect();
        }
        let Some(run) = &self.run else { return (std::ptr::null(), 0) };
        let log = &run.logs().windows;
        match number {
            0 => place(&log.time_s),
            1 => place(&log.flow),
            2 => place(&log.event),
            3 => place(&log.cwnd),
            4 => place(&log.ssthresh),
            5 => place(&log.ack),
            6 => place(&log.rtt_s),
            7 => place(&log.in_flight),
            8 => place(&log.phase),
            10..=18 => self.packet_column(&run.logs().packets, number),
            _ => {
                let internal = number.checked_sub(100).and_then(|n| log.internals.get(n as usize));
                internal.map_or((std::ptr::null(), 0), |(_, column)| place(column))
            }
        }
    }

    fn packet_column(&self, log: &PacketLog, number: u32) -> (*const u8, usize) {
        match number {
            10 => place(&self.packet_times),
            11 => place(&log.link),
            12 => place(&log.event),
            13 => place(&log.reason),
            14 => place(&log.flow),
            15 => place(&log.kind),
            16 => place(&log.seq),
            17 => place(&log.size),
            _ => place(&self.marked),
        }
    }

    /// Curves for a screen.
    pub fn curves(&mut self, from: f64, to: f64, columns: usize) {
        let Some(run) = self.run() else { return };
        let curves = run.curves(from, to, columns);
        self.reply(&json!({"series": serde_json::to_value(&curves.series).unwrap_or_default()}));
        self.data = curves.data;
    }

    /// Packets on links.
    pub fn flights(&mut self, from: f64, to: f64) {
        let Some(run) = self.run() else { return };
        let flights = run.flights(from, to);
        let columns = lab::Flights::COLUMNS;
        let rows = flights.rows.len() / columns.len();
        self.reply(&json!({"columns": columns, "rows": rows, "left_out": flights.left_out}));
        self.data = flights.rows;
    }

    /// The messages of applications so far, column by column: number of the application, number, bytes, start, first byte,
    /// end, ideal time (seconds; NaN: none), state. Of more than [`MOST_MESSAGES`] every second one, or fewer.
    pub fn messages(&mut self) {
        let Some(run) = self.run() else { return };
        let mut total = 0;
        run.visit_messages(|_, _| total += 1);
        let every = (total as usize).div_ceil(MOST_MESSAGES).max(1) as u32;
        let mut columns: [Vec<f64>; 8] = Default::default();
        run.visit_messages(|app, row| {
            if row.number % every != 0 {
                return;
            }
            let state = MESSAGE_STATES.iter().position(|state| *state == row.state);
            let time = |time: Option<f64>| time.unwrap_or(f64::NAN);
            let values = [
                app as f64,
                row.number as f64,
                row.bytes as f64,
                row.start_s,
                time(row.first_s),
                time(row.end_s),
                time(row.ideal_s),
                state.map_or(f64::NAN, |state| state as f64),
            ];
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        });
        let rows = columns[0].len();
        self.reply(&json!({"rows": rows, "total": total, "states": MESSAGE_STATES}));
        self.data = columns.concat();
    }

    /// What is recorded.
    pub fn recorded(&mut self) {
        let Some(run) = self.run() else { return };
        let ([from, to], [windows, packets]) = run.recorded();
        let logs = run.logs();
        let rows = [logs.windows.time_s.len(), logs.packets.time.len(), logs.rules.len()];
        self.reply(&json!({
            "from_s": from, "to_s": to, "window_rows": windows, "packet_events": packets, "kept_rows": rows,
        }));
    }

    /// Explains a change of a window.
    pub fn why(&mut self) -> i32 {
        let Some(request) = self.request() else { return 1 };
        let Some(run) = self.run() else { return 1 };
        let question = lab::Question {
            at_s: request["at_s"].as_f64().unwrap_or(0.0),
            flow: request["flow"].as_str(),
            cut: request["cut"].as_bool().unwrap_or(false),
        };
        match lab::explain(run, question) {
            Ok(explanation) => {
                self.answer = lab::to_json(&explanation).into_bytes();
                0
            }
            Err(unanswered) => {
                self.fail::<()>(&unanswered.message);
                1
            }
        }
    }

    /// What scenarios can name.
    pub fn catalog(&mut self) {
        let lists: BTreeMap<&str, Value> = lab::catalog::KINDS
            .iter()
            .filter_map(|kind| Some((*kind, serde_json::to_value(lab::catalog::list(kind)?).ok()?)))
            .collect();
        let codes = lab::catalog::codes();
        self.reply(&json!({
            "version": lab::VERSION, "engine": lab::engine(), "lists": lists,
            "codes": {
                "trace_event": codes.trace_events, "phase": codes.phases, "packet_event": codes.packet_events,
                "reason": codes.reasons, "reason_words": codes.reason_words, "kind": codes.kinds,
                "radio": lab::RadioLog::STEPS,
            },
            "schema": lab::schema::scenario_schema(),
        }));
    }

    /// The cost of the speed benchmark's dumbbell.
    pub fn bench(&mut self, flows: u32, seconds: f64, rate_bps: u64) {
        let scenario = lab::dumbbell(flows, Rate::from_bps(rate_bps), Span::from_seconds(seconds));
        let Ok(mut run) = Run::new(&scenario, Settings::default()) else { return };
        run.finish();
        let (cost, goodput) = run.cost();
        self.reply(&json!({"packet_hops": cost.packet_hops, "events": cost.events, "goodput_bps": goodput}));
    }
}

/// What is wrong with a request to open a run.
fn unusable(request: &Value) -> Option<String> {
    let wrong = |key: &str, what: &str| Some(format!("{key}: {} is not {what}", request[key]));
    let present = |key: &str| !request[key].is_null();
    if request["trace"].as_str().is_some_and(|name| TraceMode::from_name(name).is_none()) {
        return wrong("trace", "\"off\", \"changes\" or \"ack\"");
    }
    for key in ["seed", "point"] {
        if present(key) && request[key].as_u64().is_none() {
            return wrong(key, "a whole number from 0 on");
        }
    }
    for key in ["packets_from", "packets_until"] {
        if present("packets_from") != present("packets_until")
            || present(key) && request[key].as_f64().is_none()
        {
            return Some("packets_from, packets_until: both must be numbers, or none of them given".into());
        }
    }
    None
}

/// Place and length of a column.
fn place<T>(column: &[T]) -> (*const u8, usize) {
    (column.as_ptr().cast(), column.len())
}

/// Decodes base64 (RFC 4648 section 4); none if the text is not base64.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches(|c: char| c == '=' || c.is_ascii_whitespace());
    let digits = digits.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0);
    for digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        (bits, count) = (bits << 6 | value as u32, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}
