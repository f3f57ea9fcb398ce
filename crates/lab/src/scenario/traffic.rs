//! Traffic sources: flows drawn from the seed of the run, with Poisson arrivals and a heavy-tailed size distribution.

use super::flows::ACCESS;
use super::model::{Flow, FlowKind, MOST_FLOWS, Scenario, Sizes, Traffic};
use super::nodes::{Nodes, check_ends};
use super::reading::{Result, all};
use super::table::{NamedTable, TableReader};
use super::transports::{Defaults, read_transport};
use crate::error::ErrorKind;
use cc::detmath;
use engine::Stream;
use params::Form::{self, AtLeast, Number, Quantity, Text, TextOrTexts};
use params::{Key, Table, Unit, Values, key};
use std::borrow::Cow;
use units::Span;

/// x^y for x above zero.
fn power(x: f64, y: f64) -> f64 {
    detmath::exp(y * detmath::ln(x))
}

impl Sizes {
    /// All flows have `mean` bytes.
    pub fn fixed(mean: f64) -> Sizes {
        Sizes { mean, smallest: mean, largest: mean, shape: f64::INFINITY }
    }

    /// The Pareto distribution with `shape` above 1, truncated at `largest`, with this mean, bytes; `None` if no
    /// smallest size gives this mean.
    pub fn pareto(mean: f64, shape: f64, largest: f64) -> Option<Sizes> {
        let with = |smallest: f64| Sizes { mean, smallest, largest, shape };
        let (mut low, mut high) = (1.0, mean);
        if mean >= largest || with(low).mean_of_distribution() > mean {
            return None;
        }
        // The mean increases with the smallest size. Because of the truncation the result is slightly above mean
        // (shape - 1) / shape.
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if with(middle).mean_of_distribution() < mean { low = middle } else { high = middle }
        }
        Some(with(low))
    }

    /// Mean of the truncated distribution.
    fn mean_of_distribution(&self) -> f64 {
        let (a, l, h) = (self.shape, self.smallest, self.largest);
        let kept = 1.0 - power(l / h, a);
        a / (a - 1.0) * l * (1.0 - power(l / h, a - 1.0)) / kept
    }

    /// The flow size, bytes, for a uniform number in [0, 1).
    pub fn pick(&self, uniform: f64) -> u64 {
        if self.shape.is_infinite() {
            return self.mean as u64;
        }
        let kept = 1.0 - power(self.smallest / self.largest, self.shape);
        let size = self.smallest * power(1.0 - uniform * kept, -1.0 / self.shape);
        (size as u64).max(1)
    }
}

/// A generator of flows.
pub(super) static TRAFFIC: Table = Table::new(
    "traffic",
    "`[[traffic]]`",
    &[&[
        key("name", Text, "`traffic0-`, ...", "name of the source; its flows add a number"),
        FROM,
        TO,
        key("load", AtLeast(Unit::Rate, "6Mbps", "1bps"), "", "mean offered payload"),
        key("size", AtLeast(Unit::Size, "30kB", "1B"), "", "mean size of a flow"),
        key(
            "shape",
            Number(1.01, 10.0),
            "all flows have one size",
            "shape of the Pareto distribution of sizes",
        ),
        key("largest", AtLeast(Unit::Size, "10MB", "1B"), "1,000 times `size`", "largest size with `shape`"),
        key("start", Quantity(Unit::Time, "1s"), "\"0s\"", "no flow starts earlier"),
        key("stop", Quantity(Unit::Time, "50s"), "the end", "no flow starts later"),
        key("tcp", Form::Table("tcp"), "`[tcp]`", "options of its flows"),
        key(
            "quic",
            Form::Table("quic"),
            "none",
            "makes them QUIC flows, with these options after those of `[quic]`",
        ),
        ACCESS,
    ]],
);

const FROM: Key = key("from", TextOrTexts, "", "node, or nodes, that send data");

const TO: Key = key("to", TextOrTexts, "", "node, or nodes, that receive data");

impl Traffic {
    /// Reads the source of a table.
    pub(super) fn read(
        NamedTable { reader, name }: &NamedTable<'_>,
        defaults: Defaults<'_>,
        nodes: Result<&Nodes>,
        duration: Result<Span>,
    ) -> Result<Traffic> {
        // Unknown keys come last, so that they do not hide a node that does not exist.
        let ends = read_ends(reader, nodes);
        let values = reader.values(&TRAFFIC, 0);
        let kind = read_transport(reader, defaults);
        let values = values?;
        let sizes = read_sizes(reader, &values);
        let (start, stop): (Span, Option<Span>) = (values.read("start"), values.optional("stop"));
        let stop = stop.map_or(duration, Ok)?;
        if stop <= start {
            return Err(reader.error("stop", "must be later than the start"));
        }
        let traffic = Traffic {
            name: name.clone()?,
            ends: ends?,
            start,
            stop,
            load: values.read("load"),
            sizes: sizes?,
            access: values.read("access"),
            kind: kind?,
        };
        if let Some(message) = traffic.lacks_routers() {
            return Err(reader.error_of_kind(ErrorKind::UnmetNeed, "tcp", message));
        }
        let expected = traffic.expected(duration?);
        if expected > MOST_FLOWS as f64 / 10.0 {
            let message =
                format!("about {expected:.0} flows are too many; use larger flows or a smaller load");
            return Err(reader.error("size", message));
        }
        Ok(traffic)
    }

    /// The routers that its controller needs; a traffic source cannot have them.
    pub(crate) fn lacks_routers(&self) -> Option<String> {
        let FlowKind::Tcp(tcp) = &self.kind else { return None };
        let lacks = tcp.missing_router(std::iter::empty)?;
        Some(format!("{} needs routers {lacks}; use it in [[flow]] tables", tcp.control.name()))
    }

    /// The expected number of its flows in a run of `duration`.
    pub(crate) fn expected(&self, duration: Span) -> f64 {
        let time = self.stop.min(duration).seconds() - self.start.seconds();
        self.load.bps() as f64 / (8.0 * self.sizes.mean) * time.max(0.0)
    }

    /// Draws its flows for a seed: Poisson arrivals until `until`.
    fn draw(&self, seed: u64, until: Span) -> Vec<Flow> {
        let mut gaps = Stream::new(seed, "arrivals", &self.name);
        let mut sizes = Stream::new(seed, "sizes", &self.name);
        let mut places = Stream::new(seed, "places", &self.name);
        let mean_gap = 8.0 * self.sizes.mean / self.load.bps() as f64;
        let mut at = self.start.seconds();
        let mut flows = Vec::new();
        loop {
            at -= mean_gap * detmath::ln(1.0 - gaps.uniform());
            let start = Span::from_seconds(at);
            if start >= self.stop.min(until) {
                return flows;
            }
            let mut end = |of: usize| {
                let nodes = &self.ends[of];
                nodes[(places.uniform() * nodes.len() as f64) as usize].clone()
            };
            let (from, to) = (end(0), end(1));
            flows.push(Flow {
                start,
                bytes: Some(self.sizes.pick(sizes.uniform())),
                access: self.access,
                ..Flow::new(format!("{}{}", self.name, flows.len()), from, to, self.kind.clone())
            });
        }
    }
}

/// Reads the nodes of the flows of a source.
fn read_ends(reader: &TableReader<'_>, nodes: Result<&Nodes>) -> Result<[Vec<String>; 2]> {
    let (from, to): (Result<Vec<String>>, Result<Vec<String>>) = (reader.read(&FROM), reader.read(&TO));
    let (ends, nodes) = ([from?, to?], nodes?);
    let pairs = ends[0].iter().flat_map(|from| ends[1].iter().map(move |to| (from, to)));
    all(pairs.map(|(from, to)| check_ends(reader, nodes, from, to)))?;
    Ok(ends)
}

/// Reads the sizes of the flows of a source.
fn read_sizes(reader: &TableReader<'_>, values: &Values) -> Result<Sizes> {
    let largest = values.optional::<u64>("largest").map(|bytes| bytes as f64);
    let mean = values.read::<u64>("size") as f64;
    match values.optional("shape") {
        None if largest.is_some() => Err(reader.error("largest", "needs a shape")),
        None => Ok(Sizes::fixed(mean)),
        Some(shape) => Sizes::pareto(mean, shape, largest.unwrap_or(1000.0 * mean))
            .ok_or_else(|| reader.error("largest", "must be more than the mean size")),
    }
}

/// Reports names of traffic sources whose flows can have names of `flows`, or of the flows of another source.
pub(super) fn check_names(tables: &[Result<NamedTable<'_>>], flows: &[&str]) {
    let sources: Vec<(&TableReader<'_>, &str)> =
        tables.iter().flatten().filter_map(|table| Some((&table.reader, table.known_name()?))).collect();
    for (index, (reader, name)) in sources.iter().enumerate() {
        let numbered = |flow: &&&str| flow.strip_prefix(name).is_some_and(|n| n.parse::<u64>().is_ok());
        if let Some(clash) = flows.iter().find(numbered) {
            reader.error("name", format!("there is a flow \"{clash}\" already"));
            continue;
        }
        // Both "web" and "web1" can create a flow "web10".
        let numbered = |(_, other): &&(&TableReader<'_>, &str)| {
            let rest = other.strip_prefix(name);
            rest.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
        };
        // Of two equal names the first is reported.
        let before = sources[..index].iter().filter(|(_, other)| other != name);
        if let Some((_, other)) = before.chain(&sources[index + 1..]).find(numbered) {
            reader.error("name", format!("its flow names can be equal to those of \"{other}\""));
        }
    }
}

impl Scenario {
    /// The scenario with the flows that its traffic sources create for `seed`.
    pub(crate) fn drawn(&self, seed: u64) -> Cow<'_, Scenario> {
        if self.traffic.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut drawn = self.clone();
        for source in std::mem::take(&mut drawn.traffic) {
            drawn.flows.extend(source.draw(seed, self.duration));
        }
        Cow::Owned(drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_mean_that_was_asked_for() {
        let sizes = Sizes::pareto(30_000.0, 1.2, 1e7).unwrap();
        let n = 1_000_000;
        let mean = (0..n).map(|i| sizes.pick((i as f64 + 0.5) / n as f64) as f64).sum::<f64>() / n as f64;
        assert!((mean / 30_000.0 - 1.0).abs() < 0.002, "{mean}");
        assert!(sizes.pick(0.0) >= 1 && sizes.pick(1.0 - 1e-16) <= 10_000_000);
        assert_eq!(Sizes::fixed(5000.0).pick(0.7), 5000);
        assert_eq!(Sizes::pareto(30_000.0, 1.2, 30_000.0), None);
    }

    const TEXT: &str = r#"
duration = "100s"
[[link]]
ends = ["a", "b"]
rate = "10Mbps"
delay = "10ms"
[[traffic]]
name = "web"
from = "a"
to = "b"
load = "2Mbps"
size = "20kB"
shape = 1.5
largest = "1MB"
"#;

    #[test]
    fn the_load_is_what_was_asked_for_and_the_seed_decides() {
        let scenario = Scenario::parse("t", TEXT, &[]).unwrap();
        let bytes = |seed| scenario.drawn(seed).flows.iter().map(|f| f.bytes.unwrap()).sum::<u64>() as f64;
        let mean = (1..=40).map(bytes).sum::<f64>() / 40.0;
        assert!((mean * 8.0 / 100.0 / 2e6 - 1.0).abs() < 0.05, "{mean}");
        assert_eq!(bytes(1), bytes(1));
        assert_ne!(bytes(1), bytes(2));
        let flows = scenario.drawn(1).flows.len() as f64;
        assert!((flows / 1250.0 - 1.0).abs() < 0.1, "{flows} flows");
    }

    #[test]
    fn mistakes_are_told() {
        for (old, new, message) in [
            ("load = \"2Mbps\"", "", "traffic.web.load: is missing"),
            ("size = \"20kB\"", "size = \"50p\"", "traffic.web.size: \"50p\" is not a number of bytes"),
            ("largest = \"1MB\"", "largest = \"2kB\"", "traffic.web.largest: must be more than the mean"),
            ("shape = 1.5\n", "", "traffic.web.largest: needs a shape"),
            ("load = \"2Mbps\"", "load = \"2Gbps\"", "flows are too many"),
            ("load = \"2Mbps\"", "load = \"0Mbps\"", "traffic.web.load"),
            ("to = \"b\"", "to = \"c\"", "there is no node \"c\""),
            (
                "[[traffic]]",
                "[[flow]]\nname = \"web3\"\nfrom = \"a\"\nto = \"b\"\n[[traffic]]",
                "there is a flow \"web3\"",
            ),
        ] {
            let error = Scenario::parse("t", &TEXT.replace(old, new), &[]).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
