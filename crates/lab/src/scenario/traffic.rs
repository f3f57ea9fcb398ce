//! Traffic sources: flows drawn from the seed of the run, with Poisson arrivals and a distribution of sizes, or in bursts of
//! several senders to one receiver (incast).

use super::flows::ACCESS;
use super::model::{Arrivals, Flow, FlowKind, MOST_FLOWS, Scenario, Traffic};
use super::nodes::{Nodes, check_ends};
use super::reading::{Result, all};
use super::sizes::{SizeDistribution, SizeTable, TruncatedPareto};
use super::table::{NamedTable, TableReader};
use super::transports::{Defaults, read_transport};
use crate::error::ErrorKind;
use cc::detmath;
use engine::Stream;
use params::Form::{self, AtLeast, Integer, Number, Quantity, Text, TextOrTexts};
use params::{Key, Table, Unit, Values, key};
use std::borrow::Cow;
use units::{Rate, Span};

/// A generator of flows.
pub(super) static TRAFFIC: Table = Table::new(
    "traffic",
    "`[[traffic]]`",
    &[&[
        key("name", Text, "`traffic0-`, ...", "name of the source; its flows add a number"),
        FROM,
        TO,
        key(
            "load",
            AtLeast(Unit::Rate, "6Mbps", "1bps"),
            "none; needed without `pattern`",
            "mean offered payload",
        ),
        key(
            "size",
            AtLeast(Unit::Size, "30kB", "1B"),
            "none; needed without `sizes` and `pattern`",
            "mean size of a flow",
        ),
        key(
            "shape",
            Number(1.01, 10.0),
            "all flows have one size",
            "shape of the Pareto distribution of sizes",
        ),
        key("largest", AtLeast(Unit::Size, "10MB", "1B"), "1,000 times `size`", "largest size with `shape`"),
        key("sizes", Text, "none", SIZES),
        key(
            "pattern",
            Form::Table("pattern"),
            "none",
            "bursts of several senders to one receiver, in place of `load` and sizes",
        ),
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

/// Bursts of several senders to one receiver.
pub(super) static PATTERN: Table = Table::new(
    "pattern",
    "`pattern` of `[[traffic]]`",
    &[&[
        key(
            "incast",
            Integer(1, 100_000),
            "",
            "number of flows that start together, from random nodes of `from` to one random node of `to`; a node sends a second flow only when all send one",
        ),
        key("size", AtLeast(Unit::Size, "20kB", "1B"), "", "size of each flow"),
        key(
            "every",
            AtLeast(Unit::Time, "10ms", "1ps"),
            "",
            "time from one burst to the next; the first is at `start`",
        ),
    ]],
);

const SIZES: &str = "distribution of sizes, in place of `size`: `web_search`, `data_mining`, `hadoop`, `storage`, `cache_follower`, `web_server`, `rpc`, or a file that ends in `.csv`, with lines `bytes,share` that rise from 0 or 1 byte to share 1";

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
        let keys_fit = check_keys(reader);
        let pattern =
            reader.table("pattern").and_then(|table| table.map(|table| read_pattern(&table)).transpose());
        let values = values?;
        let arrivals = keys_fit.and_then(|()| match pattern? {
            Some(incast) => Ok(incast),
            None => Ok((Arrivals::Poisson(values.read("load")), read_sizes(reader, &values)?)),
        });
        let (start, stop): (Span, Option<Span>) = (values.read("start"), values.optional("stop"));
        let stop = stop.map_or(duration, Ok)?;
        if stop <= start {
            return Err(reader.error("stop", "must be later than the start"));
        }
        let (arrivals, sizes) = arrivals?;
        let traffic = Traffic {
            name: name.clone()?,
            ends: ends?,
            start,
            stop,
            arrivals,
            sizes,
            access: values.read("access"),
            kind: if reader.has("sizes") { kind?.with_short_segments() } else { kind? },
        };
        if let Some(message) = traffic.lacks_routers() {
            return Err(reader.error_of_kind(ErrorKind::UnmetNeed, "tcp", message));
        }
        let expected = traffic.expected(duration?);
        if expected > MOST_FLOWS as f64 / 10.0 {
            let message =
                format!("about {expected:.0} flows are too many; use larger flows or a smaller load");
            let key = ["pattern", "sizes"].into_iter().find(|key| reader.has(key)).unwrap_or("size");
            return Err(reader.error(key, message));
        }
        Ok(traffic)
    }

    /// The routers that its controller needs; a traffic source cannot have them.
    pub(crate) fn lacks_routers(&self) -> Option<String> {
        let FlowKind::Tcp(tcp) = &self.kind else { return None };
        let lacks = tcp.missing_router(std::iter::empty)?;
        Some(format!("{} needs routers {lacks}; use it in [[flow]] tables", tcp.control.name()))
    }

    /// The mean offered payload.
    pub(crate) fn load(&self) -> Rate {
        match self.arrivals {
            Arrivals::Poisson(load) => load,
            Arrivals::Incast { flows, every } => {
                Rate::from_bps((8.0 * f64::from(flows) * self.sizes.mean() / every.seconds()) as u64)
            }
        }
    }

    /// The expected number of its flows in a run of `duration`.
    pub(crate) fn expected(&self, duration: Span) -> f64 {
        let time = self.stop.min(duration) - self.start;
        match self.arrivals {
            Arrivals::Poisson(load) => load.bps() as f64 / (8.0 * self.sizes.mean()) * time.seconds(),
            Arrivals::Incast { flows, every } => f64::from(flows) * time.ps().div_ceil(every.ps()) as f64,
        }
    }

    /// Draws its flows for a seed, until `until`.
    fn draw(&self, seed: u64, until: Span) -> Vec<Flow> {
        match self.arrivals {
            Arrivals::Poisson(load) => self.draw_poisson(load, seed, until),
            Arrivals::Incast { flows, every } => self.draw_bursts(flows, every, seed, until),
        }
    }

    /// Flows with exponential times between their starts.
    fn draw_poisson(&self, load: Rate, seed: u64, until: Span) -> Vec<Flow> {
        let mut gaps = Stream::new(seed, "arrivals", &self.name);
        let mut sizes = Stream::new(seed, "sizes", &self.name);
        let mut places = Stream::new(seed, "places", &self.name);
        let mean_gap = 8.0 * self.sizes.mean() / load.bps() as f64;
        let mut at = self.start.seconds();
        let mut flows = Vec::new();
        loop {
            at -= mean_gap * detmath::ln(1.0 - gaps.uniform());
            let start = Span::from_seconds(at);
            if start >= self.stop.min(until) {
                return flows;
            }
            let mut end = |of: usize| &self.ends[of][place(&mut places, self.ends[of].len())];
            let ends = [end(0), end(1)];
            flows.push(self.flow(flows.len(), ends, start, self.sizes.pick(sizes.uniform())));
        }
    }

    /// Every `every` as many flows as `together`, from different nodes while there are some.
    fn draw_bursts(&self, together: u32, every: Span, seed: u64, until: Span) -> Vec<Flow> {
        let mut sizes = Stream::new(seed, "sizes", &self.name);
        let mut places = Stream::new(seed, "places", &self.name);
        let [senders, receivers] = &self.ends;
        let mut order: Vec<&String> = senders.iter().collect();
        let mut flows = Vec::new();
        let mut start = self.start;
        while start < self.stop.min(until) {
            let receiver = &receivers[place(&mut places, receivers.len())];
            for number in 0..together as usize {
                let first = number % order.len();
                let other = first + place(&mut places, order.len() - first);
                order.swap(first, other);
                let size = self.sizes.pick(sizes.uniform());
                flows.push(self.flow(flows.len(), [order[first], receiver], start, size));
            }
            start = start + every;
        }
        flows
    }

    /// Its flow number `number`.
    fn flow(&self, number: usize, [from, to]: [&String; 2], start: Span, bytes: u64) -> Flow {
        Flow {
            start,
            bytes: Some(bytes),
            access: self.access,
            ..Flow::new(format!("{}{number}", self.name), from.clone(), to.clone(), self.kind.clone())
        }
    }
}

/// A random index below `count`.
fn place(places: &mut Stream, count: usize) -> usize {
    (places.uniform() * count as f64) as usize
}

/// Reads the nodes of the flows of a source.
fn read_ends(reader: &TableReader<'_>, nodes: Result<&Nodes>) -> Result<[Vec<String>; 2]> {
    let (from, to): (Result<Vec<String>>, Result<Vec<String>>) = (reader.read(&FROM), reader.read(&TO));
    let (ends, nodes) = ([from?, to?], nodes?);
    let pairs = ends[0].iter().flat_map(|from| ends[1].iter().map(move |to| (from, to)));
    all(pairs.map(|(from, to)| check_ends(reader, nodes, from, to)))?;
    Ok(ends)
}

/// Checks that a source has either `pattern`, or `load` and either `size`, with keys that belong to it, or `sizes`.
fn check_keys(reader: &TableReader<'_>) -> Result<()> {
    if reader.has("pattern") {
        return reader.refuse(&["load", "size", "shape", "largest", "sizes"], "a pattern");
    }
    let load = match reader.has("load") {
        true => Ok(()),
        false => Err(reader.missing("load", "mean offered payload, such as load = \"6Mbps\"")),
    };
    let mut of_size = ["size", "shape", "largest"].into_iter().filter(|key| reader.has(key));
    let sizes = match (reader.has("sizes"), of_size.next()) {
        (true, Some(key)) => Err(reader.error(key, "a source has size or sizes; remove one of them")),
        (false, first) if first != Some("size") => {
            let names = SizeTable::names().collect::<Vec<_>>().join(", ");
            let remedy = format!("write a value such as \"30kB\", or write sizes = NAME (one of {names})");
            Err(reader.missing("size", &remedy))
        }
        _ => Ok(()),
    };
    load.and(sizes)
}

/// Reads a burst of several senders to one receiver.
fn read_pattern(pattern: &TableReader<'_>) -> Result<(Arrivals, SizeDistribution)> {
    let values = pattern.values(&PATTERN, 0)?;
    let arrivals = Arrivals::Incast { flows: values.read("incast"), every: values.read("every") };
    Ok((arrivals, SizeDistribution::Fixed(values.read::<u64>("size") as f64)))
}

/// Reads the sizes of the flows of a source.
fn read_sizes(reader: &TableReader<'_>, values: &Values) -> Result<SizeDistribution> {
    if values.optional::<String>("sizes").is_some()
        && let Some(table) = SizeTable::read(reader, "sizes")?
    {
        return Ok(SizeDistribution::Table(table));
    }
    let mean = values.read::<u64>("size") as f64;
    let largest = values.optional::<u64>("largest").map(|bytes| bytes as f64);
    match values.optional("shape") {
        None if largest.is_some() => Err(reader.error("largest", "needs a shape")),
        None => Ok(SizeDistribution::Fixed(mean)),
        Some(shape) => TruncatedPareto::new(mean, shape, largest.unwrap_or(1000.0 * mean))
            .map(SizeDistribution::Pareto)
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
    use super::super::overrides::ScenarioText;
    use super::super::written::Document;
    use super::*;
    use crate::error::ScenarioError;
    use crate::files::FileAccess;

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

    const SIZE: &str = "size = \"20kB\"\nshape = 1.5\nlargest = \"1MB\"\n";

    fn with_file(text: &str, file: &str) -> Result<Scenario, ScenarioError> {
        let files = [("sub/mine.csv".to_string(), file.as_bytes().to_vec())].into_iter().collect();
        let access = FileAccess::Carried(files);
        Document::read(&ScenarioText { file: "s.toml", text, access, ..ScenarioText::default() }, &[])?
            .scenario()
    }

    #[test]
    fn sizes_may_be_published_or_in_a_file() {
        let mut scenario = Scenario::parse("t", &TEXT.replace(SIZE, "sizes = \"hadoop\""), &[]).unwrap();
        assert!(
            (scenario.traffic[0].expected(scenario.duration) - 2e6 * 100.0 / 8.0 / 120_420.75).abs() < 1e-6
        );
        scenario.duration = Span::from_seconds(1e5);
        scenario.traffic[0].stop = scenario.duration;
        let bytes = scenario.drawn(1).flows.iter().map(|f| f.bytes.unwrap()).sum::<u64>() as f64;
        assert!((bytes * 8.0 / 1e5 / 2e6 - 1.0).abs() < 0.03, "{bytes}");
        let text = TEXT.replace(SIZE, "sizes = \"sub/mine.csv\"");
        let mine = with_file(&text, "0,0\n10000,1").unwrap();
        assert_eq!(mine.traffic[0].sizes.mean(), 5000.0);
        let error = with_file(&text, "0,0\n10000,15").unwrap_err();
        assert_eq!(error.key, "traffic.web.sizes");
        assert!(error.message.starts_with("sub/mine.csv:2: the share 15 is above 1"), "{error}");
        let document =
            Document::read(&ScenarioText { file: "s.toml", text: &text, ..ScenarioText::default() }, &[]);
        let document = document.unwrap();
        assert_eq!(document.values().unwrap().files(), ["sub/mine.csv"]);
        assert_eq!(document.mentions().iter().map(|one| &*one.value).collect::<Vec<_>>(), ["sub/mine.csv"]);
    }

    const LOAD: &str = "load = \"2Mbps\"\nsize = \"20kB\"\nshape = 1.5\nlargest = \"1MB\"\n";

    #[test]
    fn bursts_have_different_senders_and_one_receiver() {
        let pattern = "start = \"1s\"\nstop = \"1025ms\"\npattern = { incast = 5, size = \"20kB\", every = \"10ms\" }\n";
        let text = TEXT.replace(LOAD, pattern).replace("to = \"b\"", "to = [\"x\", \"y\"]");
        let text = text.replace("from = \"a\"", "from = [\"a\", \"c\", \"d\"]");
        let links = ["c", "d", "x", "y"].map(|node| {
            format!("[[link]]\nends = [\"{node}\", \"b\"]\nrate = \"10Mbps\"\ndelay = \"1ms\"\n")
        });
        let scenario =
            Scenario::parse("t", &text.replace("[[traffic]]", &(links.concat() + "[[traffic]]")), &[])
                .unwrap();
        let source = &scenario.traffic[0];
        assert_eq!((source.load(), source.expected(scenario.duration)), (Rate::from_bps(80_000_000), 15.0));
        let mut orders = std::collections::BTreeSet::new();
        for seed in 1..=50 {
            let drawn = scenario.drawn(seed);
            assert_eq!(drawn.flows.len(), 15);
            for (burst, flows) in drawn.flows.chunks(5).enumerate() {
                let start = Span::from_ms(1000 + 10 * burst as u64);
                assert!(flows.iter().all(|flow| flow.start == start && flow.bytes == Some(20_000)));
                assert!(flows.iter().all(|flow| flow.to == flows[0].to));
                let senders: Vec<&str> = flows.iter().map(|flow| flow.from.as_str()).collect();
                let mut first: Vec<&str> = senders[..3].to_vec();
                first.sort_unstable();
                assert!(first == ["a", "c", "d"] && senders[3] != senders[4], "{senders:?}");
                orders.insert((first.len(), senders.concat(), flows[0].to.clone()));
            }
        }
        // Six orders of three senders, six pairs, two receivers.
        assert!(orders.len() > 50, "{} of 72", orders.len());
    }

    #[test]
    fn mistakes_are_told() {
        for (old, new, message) in [
            ("load = \"2Mbps\"", "", "traffic.web.load: is missing"),
            ("size = \"20kB\"", "size = \"50p\"", "traffic.web.size: \"50p\" is not a number of bytes"),
            (
                SIZE,
                "",
                "traffic.web.size: is missing: write a value such as \"30kB\", or write sizes = NAME (one of web_",
            ),
            (
                SIZE,
                "sizes = \"web_serch\"",
                "traffic.web.sizes: there are no sizes \"web_serch\"; did you mean \"web_search\"?",
            ),
            (SIZE, "sizes = \"none.csv\"", "none.csv"),
            (
                LOAD,
                "pattern = { incast = 0, size = \"2kB\", every = \"1s\" }",
                "traffic.web.pattern.incast: 0 is not between",
            ),
            (LOAD, "pattern = { incast = 2, size = \"2kB\" }", "traffic.web.pattern.every: is missing"),
            (
                LOAD,
                "pattern = { incast = 2, size = \"2kB\", every = \"1us\" }",
                "traffic.web.pattern: about 200000000 flows",
            ),
            (
                SIZE,
                "pattern = { incast = 2, size = \"2kB\", every = \"1s\" }",
                "traffic.web.load: has no effect with a pattern",
            ),
            (SIZE, "sizes = 5", "traffic.web.sizes: must be text"),
            (
                "shape = 1.5\nlargest = \"1MB\"",
                "sizes = \"rpc\"",
                "traffic.web.size: a source has size or sizes",
            ),
            (SIZE, "shape = 2\nsizes = \"rpc\"", "traffic.web.shape: a source has size or sizes"),
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
