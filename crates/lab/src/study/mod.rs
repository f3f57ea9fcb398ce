//! A study: the product of axes and seeds over one scenario.
//!
//! An axis is written in `sweep` in one of three ways: a key with its values, keys that change together
//! (`"a, b" = [[1, 2], [3, 4]]`), or a name with labelled sets of assignments (`[sweep.reading.A]`).

mod pool;

pub use pool::{Done, Job, Pool};

use crate::error::{Origin, ScenarioError};
use crate::scenario::SEED;
use crate::scenario::assign::assign;
use crate::scenario::document::{TomlItem, TomlValue};
use crate::scenario::key::split_outside_quotes;
use crate::scenario::reading::{self, Advice, Reading};
use crate::scenario::table::TableReader;
use crate::scenario::{Assignment, Document, Scenario, ScenarioText};
use std::collections::BTreeSet;
use units::Span;

/// Maximum number of runs of a study.
const MOST_RUNS: usize = 10_000_000;

/// A scenario with axes.
#[derive(Clone, Debug)]
pub struct Study {
    document: Document,
    /// The axes in the order of the file, without the seeds.
    pub axes: Vec<Axis>,
    /// The seeds of each point.
    pub seeds: Vec<u64>,
    /// Title of the scenario.
    pub title: String,
    /// Whether any point has an external controller.
    pub needs_processes: bool,
    /// A hash of everything that decides the result of each point, without the seed.
    digests: Vec<blake3::Hash>,
    /// Points that cannot run, with the error.
    pub refused: Vec<(usize, ScenarioError)>,
    /// Whether QUIC flows take the place of TCP flows.
    #[cfg(feature = "quic")]
    over_quic: bool,
    /// What the points lose over QUIC, in words.
    pub remarks: BTreeSet<String>,
    advice: Advice,
}

/// One axis of a study.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its key or name.
    pub name: String,
    /// Its values.
    pub values: Vec<AxisValue>,
}

/// One value of an axis.
#[derive(Clone, Debug)]
pub struct AxisValue {
    /// Its name in results.
    pub label: String,
    assignments: Vec<(String, TomlItem)>,
}

impl Study {
    /// Parses `text` with `KEY=VALUE` assignments applied; `file` is its name in messages. Reads every point, so that
    /// errors appear before the first run. A scenario without `sweep` is a study of one run.
    pub fn parse(file: &str, text: &str, assignments: &[String]) -> Result<Study, ScenarioError> {
        let assignments: Vec<_> = assignments.iter().map(Assignment::from).collect();
        Study::from_text(&ScenarioText { file, text, ..ScenarioText::default() }, &assignments)
    }

    /// Parses a study with assignments of the user and the program applied, as [`Study::parse`] does.
    pub fn from_text(text: &ScenarioText<'_>, assignments: &[Assignment]) -> Result<Study, ScenarioError> {
        let mut study = Study::begin(text, assignments)?;
        while !study.read_points(usize::MAX)? {}
        Ok(study)
    }

    /// The first step of [`Study::from_text`]: reads the axes. Then call [`Study::read_points`].
    pub fn begin(text: &ScenarioText<'_>, assignments: &[Assignment]) -> Result<Study, ScenarioError> {
        let document = Document::read(text, assignments)?;
        let ((title, axes, seeds), _) = Reading::of(|reading| read_sweep(reading, &document.root))?;
        Ok(Study {
            axes,
            seeds,
            title,
            advice: Advice::default(),
            needs_processes: false,
            digests: Vec::new(),
            refused: Vec::new(),
            #[cfg(feature = "quic")]
            over_quic: false,
            remarks: BTreeSet::new(),
            document,
        })
    }

    /// What has a better form in the text of the points that were read, each line with its place.
    pub fn advice(&self) -> &[String] {
        self.advice.lines()
    }

    /// The same study with QUIC flows in place of TCP flows ([`Scenario::over_quic`]), before its points are read.
    #[cfg(feature = "quic")]
    pub fn over_quic(self) -> Study {
        Study { over_quic: true, ..self }
    }

    /// Reads up to `count` more points. Returns whether all points are read. Fails at the end if no point can run; if
    /// only some cannot, they are in [`Study::refused`], and the others run.
    pub fn read_points(&mut self, count: usize) -> Result<bool, ScenarioError> {
        let all = self.points();
        let first = self.digests.len();
        for point in first..all.min(first.saturating_add(count)) {
            let digest = match self.converted(point) {
                Ok((scenario, remarks)) => {
                    self.needs_processes |= scenario.needs_processes();
                    self.remarks.extend(remarks);
                    self.advice.extend(scenario.advice.iter().cloned());
                    digest_of(&scenario)
                }
                Err(error) => {
                    let digest = blake3::hash(format!("{:?}{error}", self.labels(point)).as_bytes());
                    self.refused.push((point, error));
                    digest
                }
            };
            self.digests.push(digest);
        }
        let done = self.digests.len() == all;
        if done && self.refused.len() == all && all > 0 {
            return Err(self.refused.swap_remove(0).1);
        }
        Ok(done)
    }

    /// Reads about `limit` points of a study with more: of each axis every label beside the first ones of the others, then
    /// points at equal distances. Returns their number. Errors as [`Study::read_points`].
    pub fn read_sample(&mut self, limit: usize) -> Result<usize, ScenarioError> {
        let mut chosen = std::collections::BTreeSet::new();
        let mut stride = self.points();
        for axis in &self.axes {
            stride /= axis.values.len();
            chosen.extend((0..axis.values.len()).map(|index| index * stride));
        }
        let rest = limit.saturating_sub(chosen.len());
        chosen.extend((0..rest).map(|n| n * self.points() / rest));
        for point in &chosen {
            match self.scenario(*point) {
                Ok(scenario) => {
                    self.needs_processes |= scenario.needs_processes();
                    self.advice.extend(scenario.advice);
                }
                Err(error) => self.refused.push((*point, error)),
            }
        }
        if self.refused.len() == chosen.len() {
            return Err(self.refused.swap_remove(0).1);
        }
        Ok(chosen.len())
    }

    /// Number of points: combinations of the axes, without seeds.
    pub fn points(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }

    /// The value of each axis at a point; the last axis varies fastest.
    fn values(&self, point: usize) -> Vec<&AxisValue> {
        let mut rest = point;
        let mut values: Vec<&AxisValue> = Vec::new();
        for axis in self.axes.iter().rev() {
            values.push(&axis.values[rest % axis.values.len()]);
            rest /= axis.values.len();
        }
        values.reverse();
        values
    }

    /// The label of each axis at a point.
    pub fn labels(&self, point: usize) -> Vec<&str> {
        self.values(point).into_iter().map(|value| value.label.as_str()).collect()
    }

    /// The identity of a run, 128 bits in hexadecimal: a hash of the scenario, the seed and the engine, which decide
    /// the result. Titles, comments, the order of keys and the notation of quantities are not part of it.
    pub fn run_id(&self, point: usize, seed: u64) -> String {
        let mut hasher = blake3::Hasher::new();
        // Without a digest only the first points of a sample are named.
        let digest = self.digests.get(point).copied();
        let digest = digest.or_else(|| self.scenario(point).ok().map(|scenario| digest_of(&scenario)));
        hasher.update(digest.unwrap_or(blake3::hash(b"refused")).as_bytes());
        hasher.update(&seed.to_le_bytes());
        hasher.finalize().to_hex()[..32].to_string()
    }

    /// The scenario of a point.
    pub fn scenario(&self, point: usize) -> Result<Scenario, ScenarioError> {
        self.converted(point).map(|(scenario, _)| scenario)
    }

    /// The scenario of a point, and what it loses over QUIC, in words.
    fn converted(&self, point: usize) -> Result<(Scenario, Vec<String>), ScenarioError> {
        let scenario = self.document(point)?.scenario()?;
        #[cfg(feature = "quic")]
        if self.over_quic {
            return scenario.over_quic();
        }
        Ok((scenario, Vec::new()))
    }

    /// What is written of the scenario of a point, without the axes. Its flows use TCP also over QUIC.
    pub fn document(&self, point: usize) -> Result<Document, ScenarioError> {
        let mut document = self.document.clone();
        if let TomlValue::Table(entries) = &mut document.root.value {
            entries.retain(|(key, _)| key != "sweep");
        }
        for (key, item) in self.values(point).into_iter().flat_map(|value| &value.assignments) {
            assign(&mut document.root, key, item.clone())?;
        }
        Ok(document)
    }
}

/// Reads the title, the axes and the seeds of a study.
fn read_sweep(reading: &Reading, document: &TomlItem) -> reading::Result<(String, Vec<Axis>, Vec<u64>)> {
    let top = TableReader::new(reading, "", document)?;
    let (title, seed) = (top.text("title"), top.read(&SEED));
    let mut seeds = seed.map(|seed| vec![seed]);
    let mut axes = Vec::new();
    if let Some(sweep) = top.table("sweep")? {
        for (key, item) in sweep.entries() {
            if key == "seed" {
                seeds = read_seeds(item).map_err(|error| reading.report(error));
            } else {
                axes.push(read_axis(key, item).map_err(|error| reading.report(error)));
            }
        }
    }
    let axes = reading::all(axes.into_iter());
    let (axes, seeds) = (axes?, seeds?);
    let runs = axes.iter().map(|a: &Axis| a.values.len()).try_fold(seeds.len(), |n, m| n.checked_mul(m));
    if runs.is_none_or(|runs| runs > MOST_RUNS) {
        return Err(top.error("sweep", format!("more than {MOST_RUNS} runs")));
    }
    Ok((title?.unwrap_or("").to_string(), axes, seeds))
}

fn refuse(origin: &Origin, key: &str, message: impl Into<String>) -> ScenarioError {
    ScenarioError::new(origin, &format!("sweep.{key}"), message)
}

/// A list of whole numbers, or a range such as `"1..30"`, both ends included.
fn read_seeds(item: &TomlItem) -> Result<Vec<u64>, ScenarioError> {
    let bad = |origin: &Origin| {
        refuse(origin, "seed", "must be whole numbers such as [1, 2, 3], or a range such as \"1..30\"")
    };
    let seeds: Vec<u64> = match &item.value {
        TomlValue::List(items) => items
            .iter()
            .map(|i| match i.value {
                TomlValue::Integer(n) if n >= 0 => Ok(n as u64),
                _ => Err(bad(&i.origin)),
            })
            .collect::<Result<_, _>>()?,
        TomlValue::Text(range) => {
            let ends = range.split_once("..").ok_or_else(|| bad(&item.origin))?;
            let number = |text: &str| match text.trim().parse::<i64>() {
                Ok(n) if n >= 0 => Ok(n as u64),
                _ => Err(bad(&item.origin)),
            };
            let (first, last) = (number(ends.0)?, number(ends.1)?);
            if too_many_seeds(first, last) {
                return Err(refuse(&item.origin, "seed", format!("more than {MOST_RUNS} seeds")));
            }
            (first..=last).collect()
        }
        _ => return Err(bad(&item.origin)),
    };
    if seeds.is_empty() {
        return Err(refuse(&item.origin, "seed", "has no seeds"));
    }
    if seeds.iter().collect::<BTreeSet<_>>().len() < seeds.len() {
        return Err(refuse(&item.origin, "seed", "names a seed twice"));
    }
    Ok(seeds)
}

/// Whether a range of seeds, both ends included, exceeds the maximum number of runs. The computation uses 64 bits on
/// every target.
fn too_many_seeds(first: u64, last: u64) -> bool {
    last.saturating_sub(first) >= MOST_RUNS as u64
}

fn read_axis(key: &str, item: &TomlItem) -> Result<Axis, ScenarioError> {
    let keys: Vec<&str> = split_outside_quotes(key, ',').into_iter().map(str::trim).collect();
    let values: Vec<AxisValue> = match &item.value {
        TomlValue::Table(variants) => {
            variants.iter().map(|(label, set)| read_variant(key, label, set)).collect::<Result<_, _>>()?
        }
        TomlValue::List(values) if keys.len() == 1 => values
            .iter()
            .map(|v| AxisValue { label: label(v), assignments: vec![(key.to_string(), v.clone())] })
            .collect(),
        TomlValue::List(values) => values
            .iter()
            .map(|v| match &v.value {
                TomlValue::List(parts) if parts.len() == keys.len() => Ok(AxisValue {
                    label: parts.iter().map(label).collect::<Vec<_>>().join(", "),
                    assignments: keys.iter().map(|k| k.to_string()).zip(parts.iter().cloned()).collect(),
                }),
                _ => Err(refuse(&v.origin, key, format!("each step gives {} values", keys.len()))),
            })
            .collect::<Result<_, _>>()?,
        other => {
            let message = format!("must be a list of values, or a table of variants, not {}", other.kind());
            return Err(refuse(&item.origin, key, message));
        }
    };
    if values.is_empty() {
        return Err(refuse(&item.origin, key, "has no values"));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = values.iter().find(|value| !seen.insert(&value.label)) {
        return Err(refuse(&item.origin, key, format!("gives \"{}\" twice", twice.label)));
    }
    Ok(Axis { name: key.to_string(), values })
}

fn read_variant(axis: &str, label: &str, set: &TomlItem) -> Result<AxisValue, ScenarioError> {
    match &set.value {
        TomlValue::Table(assignments) => {
            Ok(AxisValue { label: label.into(), assignments: assignments.clone() })
        }
        other => Err(refuse(
            &set.origin,
            &format!("{axis}.{label}"),
            format!(
                "must be a table of assignments, such as {{ \"tcp.receive_window\" = 20 }}, not {}",
                other.kind()
            ),
        )),
    }
}

/// A value as a short text.
fn label(item: &TomlItem) -> String {
    match &item.value {
        TomlValue::Text(text) => text.clone(),
        TomlValue::Integer(n) => n.to_string(),
        TomlValue::Float(n) => n.to_string(),
        TomlValue::Switch(on) => on.to_string(),
        TomlValue::List(items) => format!("[{}]", items.iter().map(label).collect::<Vec<_>>().join(", ")),
        TomlValue::Table(entries) => match &entries[..] {
            [(key, kind)] if key == "kind" => label(kind),
            _ => {
                let parts = entries.iter().map(|(key, item)| match key.as_str() {
                    "kind" => label(item),
                    _ => format!("{key}={}", label(item)),
                });
                parts.collect::<Vec<_>>().join(" ")
            }
        },
    }
}

fn digest_of(scenario: &Scenario) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(crate::engine().as_bytes());
    // The derived `Debug` format contains every field and prints floats exactly.
    let Scenario {
        title: _,
        seed: _,
        is_study: _,
        advice: _,
        duration,
        warmup,
        cooldown,
        links,
        flows,
        traffic,
        quic: _,
        delays,
        satellites,
        radio,
        wifi,
        cells,
        ecmp,
        changes,
        prepared,
    } = scenario;
    hasher.update(
        format!(
            "{duration:?} {warmup:?} {delays:?} {links:?} {flows:?} {traffic:?} {satellites:?} {radio:?}"
        )
        .as_bytes(),
    );
    if !wifi.is_empty() {
        hasher.update(format!("{wifi:?}").as_bytes());
    }
    if !cells.is_empty() {
        hasher.update(format!("{cells:?}").as_bytes());
    }
    if *cooldown > Span::ZERO {
        hasher.update(format!("{cooldown:?}").as_bytes());
    }
    if *ecmp {
        hasher.update(b"ecmp");
    }
    if !changes.is_empty() {
        hasher.update(format!("{changes:?} {prepared:?}").as_bytes());
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = r#"
duration = "1s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "1Mbps"
delay = "1ms"
[[flow]]
name = "f"
from = "a"
to = "b"
"#;

    fn study(sweep: &str) -> Result<Study, ScenarioError> {
        Study::parse("s.toml", &format!("{BASE}\n{sweep}"), &[])
    }

    #[test]
    fn product_of_three_kinds_of_axes() {
        let s = study(
            r#"
[sweep]
"flow.f.tcp.congestion_control" = ["reno", { kind = "vegas", alpha = 2 }]
"link.l.rate, link.l.delay" = [["1Mbps", "1ms"], ["2Mbps", "5ms"], ["3Mbps", "9ms"]]
seed = "1..4"
[sweep.reading.small]
"tcp.receive_window" = 20
[sweep.reading.default]
"#,
        )
        .unwrap();
        assert_eq!((s.points(), s.seeds.clone()), (12, vec![1, 2, 3, 4]));
        assert_eq!(s.labels(0), ["reno", "1Mbps, 1ms", "small"]);
        assert_eq!(s.labels(11), ["vegas alpha=2", "3Mbps, 9ms", "default"]);
        let last = s.scenario(11).unwrap();
        assert_eq!(last.links[0].directions[0].rate.bps(), 3_000_000);
        let ids: BTreeSet<String> = (0..12).map(|p| s.run_id(p, 1)).collect();
        assert_eq!(ids.len(), 12);
    }

    #[test]
    fn ranges_of_seeds_are_counted_in_64_bits() {
        assert!(too_many_seeds(0, (1 << 32) + 3)); // three, if cut to 32 bits
        assert!(!too_many_seeds(1 << 40, (1 << 40) + 3));
    }

    #[test]
    fn identity_is_of_meaning_not_of_writing() {
        let id = |text: &str, seed| Study::parse("x", text, &[]).unwrap().run_id(0, seed);
        let other = BASE
            .replace("\"1Mbps\"", "\"1000kbps\"   # the same")
            .replace("duration", "title = \"t\"\nduration");
        assert_eq!(id(BASE, 1), id(&other, 1));
        assert_ne!(id(BASE, 1), id(BASE, 2));
        assert_ne!(id(BASE, 1), id(&BASE.replace("1ms", "2ms"), 1));
    }

    #[test]
    fn mistakes_are_told_where_they_are() {
        for (sweep, message) in [
            ("sweep = { \"link.m.rate\" = [\"1Mbps\"] }", "there is no \"m\" here"),
            ("sweep = { \"link.l.rate\" = [\"slow\", \"fast\"] }", "link.l.rate"),
            ("sweep = { \"link.l.rate\" = [] }", "has no values"),
            ("sweep = { \"link.l.rate\" = [\"1Mbps\", \"1Mbps\"] }", "twice"),
            ("sweep = { \"link.l.rate\" = \"1Mbps\" }", "must be a list"),
            ("sweep = { \"link.l.rate, link.l.delay\" = [[\"1Mbps\"]] }", "each step gives 2 values"),
            ("sweep = { seed = [1, 1] }", "a seed twice"),
            ("sweep = { seed = [-1] }", "whole numbers"),
            ("sweep = { seed = \"5..1\" }", "no seeds"),
            ("sweep = { r = { a = 3 } }", "table of assignments"),
            ("sweep = 3", "must be a table"),
        ] {
            // `sweep` must stand before the first table to be a key of the whole.
            let error = Study::parse("s.toml", &format!("{sweep}\n{BASE}"), &[]).unwrap_err();
            assert!(error.to_string().contains(message), "{sweep}: {error}");
            assert_eq!(error.line, Some(1), "{sweep}: {error}");
        }
    }

    #[test]
    fn a_point_that_cannot_be_run_does_not_stop_the_others() {
        let text = format!("sweep = {{ \"link.l.rate\" = [\"1Mbps\", \"fast\", \"2Mbps\"] }}\n{BASE}");
        let study = Study::parse("s.toml", &text, &[]).unwrap();
        assert_eq!(study.refused.iter().map(|(point, _)| *point).collect::<Vec<_>>(), [1]);
        assert!(study.refused[0].1.to_string().contains("s.toml:1: link.l.rate"));
        let ids: std::collections::BTreeSet<String> = (0..3).map(|point| study.run_id(point, 1)).collect();
        assert_eq!(ids.len(), 3);
        assert!(study.scenario(1).is_err() && study.scenario(2).is_ok());
    }

    #[test]
    fn a_sample_has_every_label_and_the_identities_of_the_whole() {
        let axis = |name: &str, unit: &str| {
            let labels: Vec<String> = (1..=40).map(|n| format!("\"{n}{unit}\"")).collect();
            format!("\"link.l.{name}\" = [{}]\n", labels.join(", "))
        };
        let text = format!(
            "duration = \"1s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"1ms\"\n\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\n[sweep]\n{}{}",
            axis("rate", "Mbps"),
            axis("delay", "ms")
        );
        let mut sample =
            Study::begin(&ScenarioText { file: "s", text: &text, ..ScenarioText::default() }, &[]).unwrap();
        assert_eq!(sample.points(), 1600);
        let read = sample.read_sample(100).unwrap();
        assert!((79..=101).contains(&read), "{read}");
        let whole = Study::parse("s", &text, &[]).unwrap();
        assert_eq!(sample.run_id(1234, 2), whole.run_id(1234, 2));
    }
}
