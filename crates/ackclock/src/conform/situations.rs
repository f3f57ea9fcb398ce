//! The situations in which a stack is compared with the reference: a fixed list, version 1.

use crate::{Assignment, Scenario, ScenarioError, ScenarioText};
use lab::Literal;
use serde::{Deserialize, Serialize};
use units::Span;

/// Version of the list: results of different versions are not comparable.
pub const VERSION: u32 = 1;

/// A network, and what is compared in it.
#[derive(Debug)]
pub struct Situation {
    /// Its name.
    pub name: &'static str,
    text: &'static str,
    /// What is compared.
    pub metrics: &'static [Metric],
    /// Time between two points of the curves.
    pub(super) step: Span,
    /// The flows whose ends are the stack's.
    pub flows: &'static [&'static str],
    /// It needs a stack with ECN.
    pub ecn: bool,
}

/// What is compared: one number of each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Payload delivered over the time from the start of the flow, bit/s.
    Goodput,
    /// The same from 0 to 10 s.
    GoodputFirst,
    /// The same from 10 to 20 s.
    GoodputSecond,
    /// The same from 20 to 30 s.
    GoodputThird,
    /// Mean one-way delay above that of an empty path, s.
    MeanQueueing,
    /// Its 95th percentile, s.
    P95Queueing,
    /// Packets that the bottleneck dropped, over packets that it delivered or dropped.
    LossRate,
    /// Packets that the bottleneck marked, over packets that it delivered.
    MarkRate,
    /// Bytes on the wire that arrived, over payload delivered: spurious retransmissions raise it.
    WireOverPayload,
    /// Time from the start of the flow to the delivery of its last byte, s.
    Completion,
    /// 95th percentile of the time from a write to the delivery of its last byte, s.
    Lateness,
    /// Time from the end of the outage to a rate of 80 % of that before it, s.
    Recovery,
    /// Time from the return of the rate to 90 % of the rate before its fall, s.
    TimeTo90,
    /// Part of the payload that is the stack's.
    Share,
    /// Jain's index of the two flows, from 20 s on.
    Jain,
    /// Time from the start of the second flow to a Jain's index of 0.9 over a second, s.
    TimeToFair,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Metric; 16] = [
        Metric::Goodput,
        Metric::GoodputFirst,
        Metric::GoodputSecond,
        Metric::GoodputThird,
        Metric::MeanQueueing,
        Metric::P95Queueing,
        Metric::LossRate,
        Metric::MarkRate,
        Metric::WireOverPayload,
        Metric::Completion,
        Metric::Lateness,
        Metric::Recovery,
        Metric::TimeTo90,
        Metric::Share,
        Metric::Jain,
        Metric::TimeToFair,
    ];

    /// Its name in tables.
    pub const fn words(self) -> &'static str {
        match self {
            Metric::Goodput => "goodput",
            Metric::GoodputFirst => "goodput 0-10 s",
            Metric::GoodputSecond => "goodput 10-20 s",
            Metric::GoodputThird => "goodput 20-30 s",
            Metric::MeanQueueing => "mean queueing delay",
            Metric::P95Queueing => "p95 queueing delay",
            Metric::LossRate => "loss rate",
            Metric::MarkRate => "mark rate",
            Metric::WireOverPayload => "wire bytes over payload",
            Metric::Completion => "completion time",
            Metric::Lateness => "p95 lateness of writes",
            Metric::Recovery => "time to 80 % after the outage",
            Metric::TimeTo90 => "time to 90 % of the old rate",
            Metric::Share => "share beside CUBIC",
            Metric::Jain => "Jain's index",
            Metric::TimeToFair => "time to fairness",
        }
    }

    /// Its unit: `bit/s`, `s` or empty.
    pub const fn unit(self) -> &'static str {
        match self {
            Metric::Goodput | Metric::GoodputFirst | Metric::GoodputSecond | Metric::GoodputThird => "bit/s",
            Metric::MeanQueueing
            | Metric::P95Queueing
            | Metric::Completion
            | Metric::Lateness
            | Metric::Recovery
            | Metric::TimeTo90
            | Metric::TimeToFair => "s",
            _ => "",
        }
    }

    /// The region of agreement: relative, and its least width in the unit of the metric. `rtt_s`: the base round-trip time.
    pub(super) fn margin(self, rtt_s: f64) -> (f64, f64) {
        match self {
            Metric::Goodput | Metric::GoodputFirst | Metric::GoodputSecond | Metric::GoodputThird => {
                (0.05, 1e5)
            }
            Metric::MeanQueueing | Metric::P95Queueing => (0.10, 5e-4),
            Metric::LossRate | Metric::MarkRate => (0.10, 2e-4),
            Metric::WireOverPayload => (0.02, 0.0),
            Metric::Completion
            | Metric::Lateness
            | Metric::Recovery
            | Metric::TimeTo90
            | Metric::TimeToFair => (0.15, rtt_s),
            Metric::Share => (0.10, 0.0),
            Metric::Jain => (0.0, 0.05),
        }
    }
}

const SECOND_TENTH: Span = Span::from_ms(100);
const MILLISECOND: Span = Span::from_ms(1);

macro_rules! situation {
    ($name:literal, $step:expr, $flows:expr, [$($metric:ident),*]) => {
        Situation {
            name: $name,
            text: include_str!(concat!("../../situations/", $name, ".toml")),
            metrics: &[$(Metric::$metric),*],
            step: $step,
            flows: $flows,
            ecn: false,
        }
    };
}

const ONE: &[&str] = &["stack"];

/// The list.
pub static SITUATIONS: [Situation; 14] = [
    situation!("bdp", SECOND_TENTH, ONE, [Goodput, P95Queueing, LossRate]),
    situation!("shallow", SECOND_TENTH, ONE, [Goodput, LossRate]),
    situation!("deep", SECOND_TENTH, ONE, [Goodput, MeanQueueing, P95Queueing]),
    situation!("loss", SECOND_TENTH, ONE, [Goodput]),
    situation!("light-loss", SECOND_TENTH, ONE, [Goodput, P95Queueing]),
    situation!("jitter", SECOND_TENTH, ONE, [Goodput]),
    situation!("reorder", SECOND_TENTH, ONE, [Goodput, WireOverPayload]),
    situation!("drop-rate", SECOND_TENTH, ONE, [GoodputFirst, GoodputSecond, GoodputThird, TimeTo90]),
    situation!("outage", SECOND_TENTH, ONE, [Goodput, Recovery]),
    situation!("start", MILLISECOND, ONE, [Completion, LossRate]),
    situation!("frames", MILLISECOND, ONE, [Lateness, LossRate]),
    Situation { ecn: true, ..situation!("ecn", SECOND_TENTH, ONE, [Goodput, P95Queueing, MarkRate]) },
    situation!("against-cubic", SECOND_TENTH, ONE, [Share]),
    situation!("two", SECOND_TENTH, &["stack", "second"], [Jain, TimeToFair]),
];

/// The situations of a quick comparison.
pub const QUICK: [&str; 5] = ["bdp", "loss", "jitter", "deep", "start"];

impl Situation {
    /// The situation with this name.
    pub fn named(name: &str) -> Option<&'static Situation> {
        SITUATIONS.iter().find(|situation| situation.name == name)
    }

    /// Its scenario as the text of a file, without the assignments of a seed.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// Its title.
    pub fn title(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches("title = \"").trim_end_matches('"')
    }

    /// The network of a seed, to follow up a report: with `why`, an observer or a packet log. Its flows `stack` (and `second`) are
    /// those to attach.
    pub fn network_of(&self, seed: u64) -> Result<Scenario, ScenarioError> {
        self.scenario(seed, Vec::new())
    }

    /// Its scenario with a seed's delays and starts: delays within 1 %, starts up to one round trip later, so that the runs of a
    /// situation without random elements are a sample. `more` comes after them.
    pub(super) fn scenario(&self, seed: u64, more: Vec<Assignment>) -> Result<Scenario, ScenarioError> {
        let text = ScenarioText { file: self.name, text: self.text, ..ScenarioText::default() };
        let of_seed = self.of_seed(seed)?.into_iter().map(|(key, ns)| {
            let key: Vec<&str> = key.iter().map(String::as_str).collect();
            assign(&key, Literal::Text(format!("{ns}ns")))
        });
        let assignments: Vec<Assignment> = of_seed.chain(more).collect();
        Scenario::from_text(&text, &assignments)
    }

    /// The delays and starts of a seed: keys and nanoseconds.
    pub(super) fn of_seed(&self, seed: u64) -> Result<Vec<(Vec<String>, u64)>, ScenarioError> {
        let text = ScenarioText { file: self.name, text: self.text, ..ScenarioText::default() };
        let plain = Scenario::from_text(&text, &[])?.resolve();
        let delay_s = plain.links[0].round_trip_s / 2.0;
        let factor = 1.0 + 0.01 * (2.0 * uniform(seed, "delay") - 1.0);
        let mut values =
            vec![(["link", "bottleneck", "delay"].map(String::from).to_vec(), nanoseconds(factor * delay_s))];
        for flow in &plain.flows {
            let later = flow.base_rtt_s.unwrap_or(0.1) * uniform(seed, &format!("start {}", flow.name));
            let key = ["flow", &flow.name, "start"].map(String::from).to_vec();
            values.push((key, nanoseconds(flow.start_s + later)));
        }
        Ok(values)
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// An assignment of the program.
pub(super) fn assign(key: &[&str], value: Literal) -> Assignment {
    let key = key.iter().map(ToString::to_string).collect();
    Assignment::Data { key, value, place: "conform".into(), of_text: false }
}

/// A number from 0 to 1 that depends on the seed and the purpose only.
fn uniform(seed: u64, purpose: &str) -> f64 {
    let bytes = lab::seed_bytes(seed, &format!("situation {purpose}"));
    let word = u64::from_le_bytes(std::array::from_fn(|place| bytes[place]));
    (word >> 11) as f64 / (1u64 << 53) as f64
}
