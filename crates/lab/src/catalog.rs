//! What there is: controllers, recoveries, queues, losses, as rows for lists.

use cc::{CONTROLLERS, Kind};
use serde::Serialize;

/// A thing that a scenario can name.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub summary: String,
    /// How far it has been checked, where that is known.
    pub status: Option<String>,
    /// Where it comes from.
    pub source: Option<String>,
    /// Its parameters.
    pub params: Vec<Parameter>,
    /// Columns of its own in the window trace.
    pub trace: &'static [&'static str],
}

/// A parameter of it.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Value where nothing is said.
    pub default: String,
    /// Unit, or empty.
    pub unit: String,
    /// Values allowed, and what it does.
    pub doc: String,
}

/// Names behind the codes in the columns of traces.
pub struct Codes {
    /// Of [`crate::WindowLog::event`].
    pub trace_events: Vec<&'static str>,
    /// Of [`crate::WindowLog::phase`].
    pub phases: Vec<&'static str>,
    /// Of [`crate::PacketLog::event`].
    pub packet_events: Vec<&'static str>,
    /// Of [`crate::PacketLog::reason`]; 255 is none.
    pub reasons: Vec<&'static str>,
    /// Of [`crate::PacketLog::kind`].
    pub kinds: Vec<&'static str>,
}

/// The names, each at its code.
pub fn codes() -> Codes {
    Codes {
        trace_events: transport::Trigger::ALL.iter().map(|t| t.name()).collect(),
        phases: [cc::Phase::Open, cc::Phase::Recovery, cc::Phase::Loss].map(cc::Phase::name).to_vec(),
        packet_events: vec!["enqueue", "drop", "depart", "deliver"],
        reasons: net::Reason::ALL.iter().map(|r| r.name()).collect(),
        kinds: vec!["data", "ack"],
    }
}

/// The kinds of things that can be listed.
pub const KINDS: [&str; 4] = ["controllers", "recoveries", "queues", "losses"];

/// Everything of one kind; none for a kind that does not exist.
pub fn list(kind: &str) -> Option<Vec<Entry>> {
    let plain = |name: &str, summary: &str, params: &str| Entry {
        name: name.into(),
        summary: if params.is_empty() { summary.into() } else { format!("{summary}. {params}") },
        status: None,
        source: None,
        params: Vec::new(),
        trace: &[],
    };
    Some(match kind {
        "controllers" => CONTROLLERS.iter().map(controller).collect(),
        "recoveries" => transport::Recovery::ALL.iter().map(|r| plain(r.1, r.2, "")).collect(),
        "queues" => net::qdisc::QDISCS.iter().map(|(name, params, what)| plain(name, what, params)).collect(),
        "losses" => net::impairment::IMPAIRMENTS
            .iter()
            .map(|(name, params, what)| plain(name, what, params))
            .collect(),
        _ => return None,
    })
}

fn controller(d: &cc::Descriptor) -> Entry {
    let params = d.params.iter().map(|p| {
        let (default, allowed) = match p.kind {
            Kind::Number { default, min, max } => (default.to_string(), format!("{min} to {max}")),
            Kind::Switch(on) => (on.to_string(), "true or false".into()),
            Kind::Choice(words) => (words[0].into(), words.join(", ")),
        };
        Parameter { name: p.name.into(), default, unit: p.unit.into(), doc: format!("{} [{allowed}]", p.doc) }
    });
    Entry {
        name: d.name.into(),
        summary: d.summary.into(),
        status: Some(d.status.to_string()),
        source: Some(d.source.into()),
        params: params.collect(),
        trace: d.probes,
    }
}
