//! The report: what was run, the verdicts, and how far each is confirmed.

use super::record::AdapterAudit;
use super::situations::Metric;
use super::statistics::Comparison;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What may be said of a metric in a situation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The stack agrees with the reference.
    Agrees,
    /// It differs, and every check has been passed.
    Differs,
    /// It differs, and a check that would exclude another cause could not be made.
    Suspect,
    /// It differs in the same way with Reno: the cause lies in loss recovery, pacing, the application or the adapter.
    NotTheController,
    /// The size of the application's writes changes it, or the adapter limits the stack.
    ApplicationOrAdapter,
    /// Neither agreement nor difference is shown.
    Undecided,
    /// There is no value on one side.
    NotCompared,
}

impl Standing {
    /// Its words in tables.
    pub const fn words(self) -> &'static str {
        match self {
            Standing::Agrees => "agrees",
            Standing::Differs => "differs",
            Standing::Suspect => "suspect",
            Standing::NotTheController => "not the controller",
            Standing::ApplicationOrAdapter => "application or adapter",
            Standing::Undecided => "undecided",
            Standing::NotCompared => "not compared",
        }
    }
}

/// A metric in a situation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MetricReport {
    /// What is compared.
    pub metric: Metric,
    /// Its name in tables.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// What may be said.
    pub standing: Standing,
    /// The test.
    pub comparison: Comparison,
    /// The checks of a difference, one sentence each.
    pub checks: Vec<String>,
}

/// Payload over time, in steps, in bytes on the wire: of the stack, and the smallest and largest of the references.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Curve {
    /// Width of a step, s.
    pub step_s: f64,
    /// Rate of the stack in each step, bit/s.
    pub stack_bps: Vec<f64>,
    /// Smallest rate of a reference.
    pub low_bps: Vec<f64>,
    /// Largest rate.
    pub high_bps: Vec<f64>,
    /// The seed of the stack's curve: that with the median goodput.
    pub seed: u64,
}

/// A situation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SituationReport {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its scenario, without the assignments of a seed.
    pub scenario: String,
    /// The assignments of the seed of the curve: with them the scenario is what the stack met.
    pub assignments: Vec<String>,
    /// The metrics.
    pub metrics: Vec<MetricReport>,
    /// The first time at which the stack parts from the references, in a sentence; of a difference.
    pub divergence: Option<String>,
    /// Rates over time.
    pub curve: Curve,
    /// What tells whether adapter or application limits the stack, of the first seed; of a stack outside.
    pub audit: Option<AdapterAudit>,
    /// Whether the audit limits what may be said: why.
    pub limited: Option<String>,
}

/// A comparison of a stack with a reference.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Version of this form.
    pub form: u32,
    /// Version of the list of situations.
    pub situations_version: u32,
    /// The stack.
    pub stack: String,
    /// Its version.
    pub version: String,
    /// Its name of the controller.
    pub controller: String,
    /// The reference, exactly.
    pub reference: String,
    /// Its runs: transports, and what its document leaves open.
    pub variants: Vec<String>,
    /// The engine of the references.
    pub engine: String,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The fresh seeds of the confirmations.
    pub fresh_seeds: Vec<u64>,
    /// Bytes on the wire over payload, without retransmissions: of the stack, and of each variant of the reference. Goodputs are
    /// compared after multiplication by it.
    pub wire_over_payload: Vec<f64>,
    /// The situations.
    pub situations: Vec<SituationReport>,
}

impl fmt::Display for Report {
    /// A line for each metric, with the checks of what does not agree below it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} {} beside {}", self.stack, self.version, self.controller, self.reference)?;
        for situation in &self.situations {
            for metric in &situation.metrics {
                writeln!(f, "{}", self.sentence(situation, metric))?;
                for check in &metric.checks {
                    writeln!(f, "    {check}")?;
                }
            }
        }
        Ok(())
    }
}

impl Report {
    /// The metrics with a standing, with their situations.
    pub fn with(&self, standing: Standing) -> impl Iterator<Item = (&SituationReport, &MetricReport)> {
        let all = self.situations.iter().flat_map(|s| s.metrics.iter().map(move |metric| (s, metric)));
        all.filter(move |(_, metric)| metric.standing == standing)
    }

    /// Panics with the table of what differs if something does: for a test.
    #[track_caller]
    pub fn assert(&self) {
        let differs: Vec<String> = self
            .with(Standing::Differs)
            .map(|(situation, metric)| self.sentence(situation, metric))
            .collect();
        assert!(
            differs.is_empty(),
            "{} {} differs from the reference for {}:\n{}",
            self.stack,
            self.controller,
            self.reference,
            differs.join("\n")
        );
    }

    /// One row in words.
    pub fn sentence(&self, situation: &SituationReport, metric: &MetricReport) -> String {
        let Comparison { stack, reference, .. } = &metric.comparison;
        let number = |value: f64| match metric.unit.as_str() {
            "bit/s" => format!("{:.3} Mb/s", value / 1e6),
            "s" => format!("{:.1} ms", value * 1e3),
            _ => format!("{value:.5}"),
        };
        let own = stack.map_or("none".into(), number);
        let [low, high] = reference.unwrap_or([f64::NAN; 2]).map(number);
        let mut line = format!(
            "{}: {} {own}, reference {low} to {high}: {}",
            situation.name,
            metric.name,
            metric.standing.words()
        );
        if let Some(divergence) = situation.divergence.as_ref().filter(|_| !metric.checks.is_empty()) {
            line += &format!("; {divergence}");
        }
        line
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| unreachable!("report: {error}"))
    }
}
