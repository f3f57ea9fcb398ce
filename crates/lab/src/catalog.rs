//! The models that a scenario can name, as rows for lists: controllers, recoveries, queues, losses.

use crate::scenario::{APPLICATIONS, CongestionControl, FlowKind, controllers, tables};
use cc::{Signals, ValueKind};
use params::{Key, Table};
use serde::Serialize;
use serde_json::{Value, json};
use units::{Rate, Span};

/// A model that a scenario can name.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its description.
    pub summary: String,
    /// What a controller reacts to first; none for other models.
    pub family: Option<&'static str>,
    /// Its level of validation, if there is one.
    pub status: Option<String>,
    /// Its source (paper or RFC), if there is one.
    pub source: Option<String>,
    /// The year of the source of a controller.
    pub year: Option<u16>,
    /// The signals that a controller requires, as controllers in Python name them.
    pub needs: Vec<&'static str>,
    /// Its parameters.
    pub params: Vec<Parameter>,
    /// The names of its own columns in the window trace.
    pub trace: &'static [&'static str],
    /// The names of the states of a controller that records its transitions, the first state first.
    pub states: &'static [&'static str],
    /// The profiles in which a single flow uses less than 90 % of an empty path (20 Mb/s, 40 ms, one bandwidth-delay
    /// product of buffer).
    pub limits: Vec<ProfileLimit>,
}

/// A profile in which a single flow does not fill an empty path.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ProfileLimit {
    /// The profile: `ns2` with NewReno, or `linux` with SACK.
    pub profile: &'static str,
    /// Why.
    pub reason: &'static str,
}

const CAPACITY_NOT_SET: &str = "without a parameter, the controller assumes a capacity of 1 Mb/s";
const MANY_LOSSES: &str =
    "after a reduction to four fifths, NewReno repairs 10 to 20 losses, one per round trip";

const FAST_GROWTH: &str = "it grows by ten segments and more in the round trip of a loss, and NewReno repairs one of the losses per round trip";

const OWN_QUEUE: &str = "it backs off by the gradient of its own queue, more often with delayed ACKs";

const YIELDS: &str = "it takes a queue above 0.15 of the largest one for that of others, also if the queue is its alone (ns-3's TcpLp uses 3 to 31 % of such a path)";

const MICROSECONDS: &str =
    "its constants are those of data centres, with round-trip times of tens of microseconds";

const FALLS: &str = "its constants are those of data centres, with round-trip times of tens of microseconds; the delay of a delayed ACK counts as that of the path";

/// By controller. `tests/test_alone.py` measures every controller in both profiles, with and without timestamps and delayed
/// ACKs.
const LIMITS: &[(&str, ProfileLimit)] = &[
    ("rcp_plus", ProfileLimit { profile: "ns2", reason: CAPACITY_NOT_SET }),
    ("rcp_plus", ProfileLimit { profile: "linux", reason: CAPACITY_NOT_SET }),
    ("htcp", ProfileLimit { profile: "ns2", reason: FAST_GROWTH }),
    ("cdg", ProfileLimit { profile: "ns2", reason: OWN_QUEUE }),
    ("bic", ProfileLimit { profile: "ns2", reason: MANY_LOSSES }),
    ("bic_awi", ProfileLimit { profile: "ns2", reason: MANY_LOSSES }),
    ("bic_dpe", ProfileLimit { profile: "ns2", reason: MANY_LOSSES }),
    ("lp", ProfileLimit { profile: "ns2", reason: YIELDS }),
    ("lp", ProfileLimit { profile: "linux", reason: YIELDS }),
    ("swift", ProfileLimit { profile: "linux", reason: FALLS }),
    ("timely", ProfileLimit { profile: "linux", reason: MICROSECONDS }),
];

/// A parameter of it.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Default value.
    pub default: String,
    /// Unit, or empty.
    pub unit: String,
    /// Values allowed, and what it does.
    pub doc: String,
}

/// The names of the codes in trace columns.
pub struct Codes {
    /// Of [`crate::WindowLog::event`].
    pub trace_events: Vec<&'static str>,
    /// Of [`crate::WindowLog::phase`].
    pub phases: Vec<&'static str>,
    /// Of [`crate::WindowLog::cause`]; 255 is none.
    pub causes: Vec<&'static str>,
    /// Of [`crate::PacketLog::event`].
    pub packet_events: Vec<&'static str>,
    /// Of [`crate::PacketLog::reason`]; 255 is none.
    pub reasons: Vec<&'static str>,
    /// The descriptions of the reasons.
    pub reason_words: Vec<&'static str>,
    /// Of [`crate::PacketLog::kind`].
    pub kinds: Vec<&'static str>,
}

/// The names, each at its code.
pub fn codes() -> Codes {
    Codes {
        trace_events: transport::Trigger::ALL.iter().map(|t| t.name()).collect(),
        phases: cc::Phase::ALL.map(cc::Phase::name).to_vec(),
        causes: transport::WindowCause::ALL.iter().map(|c| c.name()).collect(),
        packet_events: vec!["enqueue", "drop", "depart", "deliver"],
        reasons: net::DropReason::ALL.iter().map(|r| r.name()).collect(),
        reason_words: net::DropReason::ALL.iter().map(|r| r.words()).collect(),
        kinds: vec!["data", "ack", "request"],
    }
}

/// The kinds of things that can be listed.
pub const KINDS: [&str; 6] = ["controllers", "recoveries", "queues", "losses", "applications", "keys"];

/// Everything of one kind; none for a kind that does not exist.
pub fn list(kind: &str) -> Option<Vec<Entry>> {
    let recovery =
        |name: &str, summary: &str| Entry { name: name.into(), summary: summary.into(), ..Entry::default() };
    Some(match kind {
        "controllers" => controllers().map(controller).collect(),
        "recoveries" => transport::Recovery::ALL.iter().map(|r| recovery(r.1, r.0.summary())).collect(),
        "queues" => net::qdisc::disciplines().map(|discipline| model(&discipline.model)).collect(),
        "losses" => net::impairment::KINDS.iter().map(|kind| model(&kind.model)).collect(),
        "applications" => APPLICATIONS.iter().map(model).collect(),
        "keys" => tables().map(table).collect(),
        _ => return None,
    })
}

/// The interface of controllers outside Rust, made from the tables of the crate cc: of a flow its fields; of each event its
/// method and the class and fields of its argument; the answers, with the signal without which they are not read.
pub fn interface() -> Value {
    let methods = cc::Event::METHODS.iter().map(|method| {
        json!({
            "name": method.name, "doc": plain(method.doc), "argument": method.argument, "class": method.class,
            "about": plain(method.about), "fields": fields(method.fields), "required": method.required && method.name != "set_ssthresh",
        })
    });
    let defaults = cc::Decision::default().numbers();
    let answers = cc::Answer::ALL.iter().zip(defaults).map(|(answer, default)| {
        let needs = Signals::named().find(|(_, signal)| *signal == answer.needs).map(|(name, _)| name);
        let mut row = field(&answer.field);
        row["needs"] = needs.into();
        row["required"] = answer.required.into();
        let absent = default.is_nan() || answer.field.kind == ValueKind::Time;
        row["default"] = if absent { Value::Null } else { default.into() };
        row
    });
    let flow = <cc::FlowInfo as cc::Argument>::FIELDS;
    json!({
        "flow": { "class": "FlowInfo", "about": plain(<cc::FlowInfo as cc::Argument>::DOC), "fields": fields(flow) },
        "methods": methods.collect::<Vec<_>>(),
        "answers": answers.collect::<Vec<_>>(),
        "signals": Signals::named().map(|(name, _)| name).collect::<Vec<_>>(),
    })
}

fn fields(fields: &[cc::Field]) -> Vec<Value> {
    fields.iter().map(field).collect()
}

fn field(field: &cc::Field) -> Value {
    let (kind, words) = match field.kind {
        ValueKind::Number => ("number", [].as_slice()),
        ValueKind::Count => ("count", [].as_slice()),
        ValueKind::Flag => ("flag", [].as_slice()),
        ValueKind::Time => ("time", [].as_slice()),
        ValueKind::Word(words) => ("word", words),
    };
    json!({
        "name": field.name, "exact": field.exact, "kind": kind, "words": words, "optional": field.optional,
        "doc": plain(field.doc),
    })
}

/// The name of a method of the trait outside Rust.
fn outside(method: &str) -> &str {
    let mut names = cc::Answer::ALL.iter().map(|answer| answer.field.name);
    let unit = |name: &str| matches!(name.strip_prefix(method), Some("" | "_s" | "_bps"));
    names.find(|name| unit(name)).unwrap_or(method)
}

/// A doc comment as one line, with plain names in place of links: `Signals::RATE` is the signal `rate`.
fn plain(doc: &str) -> String {
    let mut parts = doc.split("[`");
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (link, rest) = part.split_once("`]").unwrap_or((part, ""));
        text += &match link.split_once("::") {
            Some(("Signals", signal)) => format!("signal `{}`{rest}", signal.to_lowercase()),
            Some(("Controller", method)) => format!("`{}`{rest}", outside(method)),
            Some((class, field)) => format!("`{class}.{field}`{rest}"),
            None => format!("`{link}`{rest}"),
        };
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn model(model: &params::Model) -> Entry {
    let keys = model.table.keys().filter(|key| key.name != "kind");
    Entry {
        name: model.table.name.into(),
        summary: model.summary.into(),
        source: (!model.source.is_empty()).then(|| model.source.into()),
        params: keys.map(parameter).collect(),
        ..Entry::default()
    }
}

fn parameter(key: &Key) -> Parameter {
    let [first, second] = key.defaults;
    let default = if first == second { first.into() } else { format!("{first} (ns2), {second}") };
    let needs = key.needs.words();
    let needs = if needs.is_empty() { needs } else { format!("; without effect unless {needs}") };
    let doc = format!("{} [{}{needs}]", key.doc, key.form.words());
    Parameter {
        name: key.name.into(),
        default: default.replace('`', ""),
        unit: key.unit.into(),
        doc: doc.replace('`', ""),
    }
}

fn table(table: &Table) -> Entry {
    Entry {
        name: table.name.into(),
        summary: table.place.replace('`', ""),
        params: table.keys().map(parameter).collect(),
        ..Entry::default()
    }
}

/// The first year that a source names.
fn year_of(source: &str) -> Option<u16> {
    let numbers = source.split(|c: char| !c.is_ascii_digit()).filter(|digits| digits.len() == 4);
    numbers.filter_map(|digits| digits.parse().ok()).find(|year| (1980..2100).contains(year))
}

/// The names of the signals that a controller requires with its defaults.
fn needs_of(name: &'static str) -> Vec<&'static str> {
    let flow = crate::scenario::dumbbell(1, Rate::from_bps(1_000_000), Span::from_ms(1000)).flows.remove(0);
    let FlowKind::Tcp(tcp) = &flow.kind else { return Vec::new() };
    let needs = CongestionControl::with_defaults(name).needs(&tcp.flow_info(0, 0));
    let signals = Signals::named().filter(|(_, signal)| needs.has(*signal));
    signals.map(|(name, _)| name).collect()
}

/// The default of a parameter of a controller: a number without exponent, a word without quotes.
fn plain_default(key: &Key) -> String {
    match key.default(0) {
        Some(params::Value::Number(number)) => number.to_string(),
        _ => key.defaults[0].trim_matches('"').into(),
    }
}

fn controller(registration: &cc::Registration<cc::AnyController>) -> Entry {
    let d = &registration.descriptor;
    Entry {
        name: d.name.into(),
        summary: d.summary.into(),
        family: Some(d.family.name()),
        status: Some(d.status.to_string()),
        source: Some(d.source.into()),
        year: year_of(d.source),
        needs: needs_of(d.name),
        params: d
            .params
            .iter()
            .map(|key| Parameter { default: plain_default(key), ..parameter(key) })
            .collect(),
        trace: d.probes,
        states: registration.states,
        limits: LIMITS.iter().filter(|(name, _)| *name == d.name).map(|(_, limit)| *limit).collect(),
    }
}
