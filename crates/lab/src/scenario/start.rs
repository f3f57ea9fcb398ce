//! Reads how a flow starts: with saved values of its path (`resume`), or with a jump.

use super::model::{Flow, FlowKind, FlowStart, ResumeFrom, ResumeStart};
use super::reading::Result;
use super::table::{NamedTable, TableReader};
use params::Form::{self, AtLeast, Number, Quantity, Range, Text};
use params::{Key, Table, Unit, key};
use transport::start::{Resume, SavedFrom, SavedPath, StartOptions};
use units::Span;

/// Saved values of a path.
pub(super) static RESUME: Table = Table::new(
    "resume",
    "`resume` of `[tcp]`, of `[quic]` and of a flow's `tcp` or `quic`",
    &[&[
        key("flow", Text, "none", "an earlier flow between the same nodes, which observes its path"),
        key("cwnd", AtLeast(Unit::Size, "7.5MB", "1B"), "none", "without `flow`: the saved window, payload"),
        key(
            "rtt",
            Range(Unit::Time, "600ms", "1us", "1000s"),
            "none",
            "with `cwnd`: the saved smallest round-trip time",
        ),
        key(
            "age",
            Quantity(Unit::Time, "60s"),
            "\"0s\"",
            "with `cwnd`: the time since both were observed, at the start of the flow",
        ),
        key(
            "max_jump",
            AtLeast(Unit::Size, "1MB", "1B"),
            "none",
            "largest window of the jump, which otherwise is half of the saved one",
        ),
        key(
            "lifetime",
            Range(Unit::Time, "3600s", "0s", "1000000s"),
            "\"3600s\"",
            "values that are older are not used",
        ),
    ]],
);

/// The keys of the start, in `[tcp]` and `[quic]`.
pub(super) const KEYS: &[Key] = &[
    key(
        "resume",
        Form::Table("resume"),
        "none",
        "start with half of the window that an earlier flow had on this path, paced over a round trip, confirm it, or retreat (Careful Resume, RFC 9959); TCP with `recovery = \"rack\"`",
    ),
    key(
        "jump",
        Number(2.0, 1e6),
        "none",
        "window after the first round trip without knowledge of the path, paced over a round trip (jumpstart), segments; TCP with `recovery = \"rack\"`",
    ),
];

/// Reads the keys of a table into `start`.
pub(super) fn read(layer: &TableReader<'_>, start: &mut FlowStart) -> Result<()> {
    let jump = layer.read::<Option<f64>>(&KEYS[1]);
    let resume = layer.table("resume")?.map(|table| read_resume(&table)).transpose();
    // The table of a flow takes the place of that of all flows.
    if let Some(resume) = resume? {
        *start = FlowStart { resume: Some(resume), jump: None };
    }
    if let Some(jump) = jump? {
        if layer.has("resume") {
            return Err(layer.error("jump", "a flow starts with resume or with jump; remove one of them"));
        }
        *start = FlowStart { resume: None, jump: Some(jump) };
    }
    Ok(())
}

fn read_resume(table: &TableReader<'_>) -> Result<ResumeStart> {
    let values = table.values(&RESUME, 0)?;
    let (flow, cwnd, rtt): (Option<String>, Option<u64>, Option<Span>) =
        (values.optional("flow"), values.optional("cwnd"), values.optional("rtt"));
    let from = match (flow, cwnd, rtt) {
        (Some(flow), None, None) => {
            if table.has("age") {
                return Err(table.error("age", "is for values that are given; that of a flow is measured"));
            }
            ResumeFrom::Flow(flow)
        }
        (None, Some(cwnd), Some(rtt)) => ResumeFrom::Values { cwnd, rtt, age: values.read("age") },
        (Some(_), _, _) => {
            let key = if table.has("cwnd") { "cwnd" } else { "rtt" };
            return Err(table.error(key, "is what the flow has observed; name a flow, or give cwnd and rtt"));
        }
        (None, None, _) => {
            return Err(table.missing("cwnd", "give cwnd and rtt, or name an earlier flow: flow = \"NAME\""));
        }
        (None, Some(_), None) => {
            return Err(
                table.missing("rtt", "the saved round-trip time confirms the path; write rtt = \"600ms\"")
            );
        }
    };
    Ok(ResumeStart { from, max_jump: values.optional("max_jump"), lifetime: values.read("lifetime") })
}

/// The key of a start that a flow has.
pub(super) fn key_of(start: &FlowStart) -> Option<&'static str> {
    match start {
        FlowStart { resume: Some(_), .. } => Some("resume"),
        FlowStart { jump: Some(_), .. } => Some("jump"),
        _ => None,
    }
}

/// Why a controller that sets its window itself has no such start.
pub(super) fn refusal(control: &str) -> String {
    format!(
        "has no effect with {control}, which sets its window itself; remove it, or name a controller with a window, such as cubic"
    )
}

/// Reports starts with the values of a flow that cannot have saved them.
pub(super) fn check_flows(tables: &[Result<NamedTable<'_>>], flows: &[Result<Flow>]) -> Result<()> {
    let known: Vec<&Flow> = flows.iter().flatten().collect();
    let mut checked = Ok(());
    for (table, flow) in tables.iter().zip(flows) {
        let (Ok(table), Ok(flow)) = (table, flow) else { continue };
        let Some(ResumeFrom::Flow(name)) = flow.kind.start().and_then(|start| start.resume_from()) else {
            continue;
        };
        let earlier = known.iter().find(|other| other.name == *name);
        let problem = match earlier {
            None => Some(crate::error::nearest(name, known.iter().map(|other| other.name.as_str()))),
            Some(other) if other.name == flow.name => Some("is the flow itself; name an earlier one".into()),
            Some(other) if (&other.from, &other.to) != (&flow.from, &flow.to) => Some(format!(
                "\"{name}\" sends from {} to {}: another path, of which nothing may be used here",
                other.from, other.to
            )),
            Some(other) if other.kind.start().is_none() => {
                Some(format!("\"{name}\" has no congestion controller, so it saves nothing"))
            }
            Some(other) if other.start + other.start_jitter >= flow.start => Some(format!(
                "\"{name}\" does not start before \"{}\": only a flow that has ended saves values",
                flow.name
            )),
            Some(other) if other.bytes.is_none() && other.stop.is_none() && other.writes.is_empty() => {
                Some(format!(
                    "\"{name}\" never ends; give it bytes or a stop, so that \"{}\" can use what it saves",
                    flow.name
                ))
            }
            Some(_) => None,
        };
        if let Some(problem) = problem {
            let key = if matches!(flow.kind, FlowKind::Tcp(_)) { "tcp" } else { "quic" };
            let message = match earlier {
                None => format!("resume: there is no flow \"{name}\"; {problem}"),
                Some(_) => format!("resume: {problem}"),
            };
            checked = Err(table.reader.error(key, message));
        }
    }
    checked
}

impl FlowStart {
    /// Where its saved values are from, if it uses some.
    pub(crate) fn resume_from(&self) -> Option<&ResumeFrom> {
        self.resume.as_ref().map(|resume| &resume.from)
    }

    /// The start in segments with `packet` bytes of payload; none if the flow starts as usual.
    pub(crate) fn options(&self, packet: u32) -> Option<StartOptions> {
        let segments = |bytes: u64| bytes as f64 / f64::from(packet);
        let resume = self.resume.as_ref().map(|resume| Resume {
            from: match &resume.from {
                ResumeFrom::Flow(name) => SavedFrom::Flow(name.clone()),
                ResumeFrom::Values { cwnd, rtt, age } => {
                    SavedFrom::Values(SavedPath { cwnd: segments(*cwnd), rtt: *rtt }, *age)
                }
            },
            max_jump: resume.max_jump.map_or(f64::INFINITY, segments),
            lifetime: resume.lifetime,
        });
        (resume.is_some() || self.jump.is_some()).then_some(StartOptions { resume, jump: self.jump })
    }
}
