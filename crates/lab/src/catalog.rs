//! What there is: controllers, recoveries, queues, losses, as rows for lists.

use cc::{CONTROLLERS, ParamKind};
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
    /// Where a controller alone uses less than 90 % of an empty path (20 Mb/s, 40 ms, one bandwidth-delay product of buffer).
    pub limits: Vec<Limit>,
}

/// A profile in which a controller alone does not fill an empty path.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Limit {
    /// The profile: `ns2` with NewReno, or `linux` with SACK.
    pub profile: &'static str,
    /// Why.
    pub reason: &'static str,
}

const UNTOLD: &str = "the capacity is 1 Mb/s unless a parameter gives the link's";
const MANY_LOSSES: &str = "a reduction to four fifths leaves the queue full: 10 to 20 losses at once, which NewReno repairs one a round trip";

/// By controller. `tests/test_alone.py` measures every controller in both profiles, with and without timestamps and delayed
/// ACKs.
const LIMITS: &[(&str, Limit)] = &[
    ("rcp_plus", Limit { profile: "ns2", reason: UNTOLD }),
    ("rcp_plus", Limit { profile: "linux", reason: UNTOLD }),
    ("bic", Limit { profile: "ns2", reason: MANY_LOSSES }),
    ("bic_awi", Limit { profile: "ns2", reason: MANY_LOSSES }),
    ("bic_dpe", Limit { profile: "ns2", reason: MANY_LOSSES }),
];

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
    /// What the reasons mean.
    pub reason_words: Vec<&'static str>,
    /// Of [`crate::PacketLog::kind`].
    pub kinds: Vec<&'static str>,
}

/// The names, each at its code.
pub fn codes() -> Codes {
    Codes {
        trace_events: transport::Trigger::ALL.iter().map(|t| t.name()).collect(),
        phases: [cc::Phase::Open, cc::Phase::Recovery, cc::Phase::Loss].map(cc::Phase::name).to_vec(),
        packet_events: vec!["enqueue", "drop", "depart", "deliver"],
        reasons: net::DropReason::ALL.iter().map(|r| r.name()).collect(),
        reason_words: net::DropReason::ALL.iter().map(|r| r.words()).collect(),
        kinds: vec!["data", "ack"],
    }
}

/// The kinds of things that can be listed.
pub const KINDS: [&str; 4] = ["controllers", "recoveries", "queues", "losses"];

/// Everything of one kind; none for a kind that does not exist.
pub fn list(kind: &str) -> Option<Vec<Entry>> {
    let recovery = |name: &str, summary: &str| Entry {
        name: name.into(),
        summary: summary.into(),
        status: None,
        source: None,
        params: Vec::new(),
        trace: &[],
        limits: Vec::new(),
    };
    Some(match kind {
        "controllers" => CONTROLLERS.iter().map(controller).collect(),
        "recoveries" => transport::Recovery::ALL.iter().map(|r| recovery(r.1, r.2)).collect(),
        "queues" => net::qdisc::QDISCS.iter().map(model).collect(),
        "losses" => net::impairment::IMPAIRMENTS.iter().map(model).collect(),
        _ => return None,
    })
}

fn model(model: &net::Model) -> Entry {
    let params = model.params.iter().map(|field| Parameter {
        name: field.name.into(),
        default: field.default.into(),
        unit: field.unit.into(),
        doc: field.doc.into(),
    });
    Entry {
        name: model.name.into(),
        summary: model.summary.into(),
        status: None,
        source: (!model.source.is_empty()).then(|| model.source.into()),
        params: params.collect(),
        trace: &[],
        limits: Vec::new(),
    }
}

fn controller(d: &cc::Descriptor) -> Entry {
    let params = d.params.iter().map(|p| {
        let (default, allowed) = match p.kind {
            ParamKind::Number { default, min, max } => (default.to_string(), format!("{min} to {max}")),
            ParamKind::Switch(on) => (on.to_string(), "true or false".into()),
            ParamKind::Choice(words) => (words[0].into(), words.join(", ")),
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
        limits: LIMITS.iter().filter(|(name, _)| *name == d.name).map(|(_, limit)| *limit).collect(),
    }
}
