//! `count` of a link or a flow: one table for many.

use super::document::{TomlItem, TomlValue};
use super::reading::{Reading, Result};
use super::table::TableReader;
use crate::error::ScenarioError;
use params::Form::Integer;
use params::{Key, key};
use std::borrow::Cow;

/// The number of links or flows for which a table stands.
pub(super) const COUNT: Key = key(
    "count",
    Integer(1, 100_000),
    "none",
    "the table stands for so many: `{n}` in its texts is the number of each, from 0; a name without it has the number at its end",
);

/// What a message about a count that cannot be assigned says besides.
pub(super) const TOO_LATE: &str = "; an assignment to one of the tables that a count stands for writes them out, so assign the count before it";

/// Whether `name` is `base` with a number.
pub(super) fn is_numbered(name: &str, base: &str) -> bool {
    name.strip_prefix(base).is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The arrays of tables that can have one.
pub(super) const KINDS: [&str; 2] = ["link", "flow"];

/// The most values of all tables that are written out, to bound the memory for a file from elsewhere.
const MOST_VALUES: u64 = 5_000_000;

/// What stands for the number in texts.
const NUMBER: &str = "{n}";

/// A document with each table that has a `count` written out.
pub(crate) struct WrittenOut<'a> {
    pub document: Cow<'a, TomlItem>,
    /// Whether all counts can be read. A table stands for one if its count cannot.
    pub counted: Result<()>,
}

impl<'a> WrittenOut<'a> {
    /// Writes out the tables of `document`.
    pub fn new(reading: &Reading, document: &'a TomlItem) -> WrittenOut<'a> {
        let (mut document, mut values, mut counted) = (Cow::Borrowed(document), 0, Ok(()));
        for kind in KINDS {
            let TomlValue::Table(entries) = &document.value else { break };
            let Some(place) = entries.iter().position(|(key, _)| key == kind) else { continue };
            let TomlValue::List(items) = &entries[place].1.value else { continue };
            if items.iter().any(has_count)
                && let TomlValue::Table(entries) = &mut document.to_mut().value
                && let TomlValue::List(items) = &mut entries[place].1.value
            {
                counted = write_out_all(reading, kind, items, &mut values).and(counted);
            }
        }
        WrittenOut { document, counted }
    }
}

/// Puts so many tables in the place of each of `items` that has a `count`, which are called `kind` in messages. Adds what is
/// written out to `values`, which is bounded.
pub(super) fn write_out(
    kind: &str,
    items: &mut Vec<TomlItem>,
    values: &mut u64,
) -> Result<(), ScenarioError> {
    Reading::of(|reading| write_out_all(reading, kind, items, values)).map(|_| ())
}

fn write_out_all(reading: &Reading, kind: &str, items: &mut Vec<TomlItem>, values: &mut u64) -> Result<()> {
    let (mut all, mut counted) = (Vec::new(), Ok(()));
    for (index, item) in items.drain(..).enumerate() {
        if !has_count(&item) {
            all.push(item);
            continue;
        }
        let count = read_count(reading, &format!("{kind}[{index}]"), &item, values);
        all.extend((0..count.unwrap_or(1)).map(|number| numbered(&item, number)));
        counted = count.and(counted);
    }
    *items = all;
    counted
}

/// The number of tables for which `item` stands, which adds its values to `values`.
fn read_count(reading: &Reading, path: &str, item: &TomlItem, values: &mut u64) -> Result<u64> {
    let reader = TableReader::new(reading, path, item)?;
    let count: u64 = reader.read(&COUNT)?;
    *values += count * size(item);
    if *values > MOST_VALUES {
        return Err(reader.error(COUNT.name, "the tables become too large; write a smaller number"));
    }
    Ok(count)
}

/// The number of values in a table; a long text or key counts as several.
fn size(item: &TomlItem) -> u64 {
    let text = |text: &str| text.len() as u64 / 64;
    match &item.value {
        TomlValue::Text(value) => 1 + text(value),
        TomlValue::List(items) => 1 + items.iter().map(size).sum::<u64>(),
        TomlValue::Table(entries) => {
            1 + entries.iter().map(|(key, item)| text(key) + size(item)).sum::<u64>()
        }
        _ => 1,
    }
}

fn has_count(item: &TomlItem) -> bool {
    matches!(&item.value, TomlValue::Table(entries) if entries.iter().any(|(key, _)| key == COUNT.name))
}

/// The table with a number.
fn numbered(item: &TomlItem, number: u64) -> TomlItem {
    let mut table = item.clone();
    if let TomlValue::Table(entries) = &mut table.value {
        entries.retain(|(key, _)| key != COUNT.name);
        for (key, item) in entries {
            match &mut item.value {
                TomlValue::Text(name) if key == "name" && !name.contains(NUMBER) => *name += NUMBER,
                _ => {}
            }
            replace(item, &number.to_string());
        }
    }
    table
}

fn replace(item: &mut TomlItem, number: &str) {
    match &mut item.value {
        TomlValue::Text(text) if text.contains(NUMBER) => *text = text.replace(NUMBER, number),
        TomlValue::List(items) => items.iter_mut().for_each(|item| replace(item, number)),
        TomlValue::Table(entries) => entries.iter_mut().for_each(|(_, item)| replace(item, number)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scenario;

    const TEXT: &str = r#"
duration = "1s"
link = [
  { ends = ["r", "d"], rate = "1Mbps", delay = "1ms" },
  { name = "access", count = 3, ends = ["s{n}", "r"], rate = "9Mbps", delay = "1{n}ms", back = { loss = { kind = "scripted", flow = "f{n}", packets = [1] } } },
]
[[flow]]
name = "f"
count = 3
from = "s{n}"
to = "d"
start = "{n}00ms"
[[flow]]
name = "last"
from = "r"
to = "d"
"#;

    fn read(sets: &[&str]) -> Result<Scenario, String> {
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        Scenario::parse("s", TEXT, &sets).map_err(|error| error.to_string())
    }

    #[test]
    fn a_table_stands_for_many() {
        let scenario = read(&[]).unwrap();
        let names: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
        assert_eq!(names, ["f0", "f1", "f2", "last"]);
        assert_eq!((scenario.flows[2].from.as_str(), scenario.flows[2].start.seconds()), ("s2", 0.2));
        let access = &scenario.links[3];
        assert_eq!((access.name.as_deref(), &access.ends), (Some("access2"), &["s2".into(), "r".into()]));
        assert_eq!(access.directions[0].delay.seconds(), 0.012);
        assert_eq!(access.directions[1].losses[0].flow().as_deref(), Some("f2"));
    }

    #[test]
    fn the_number_and_each_of_them_can_be_set() {
        let sets = ["link.access.count=5", "flow.f.count=5", "flow.f4.stop=900ms", "link.access4.rate=2Mbps"];
        let scenario = read(&sets).unwrap();
        assert_eq!(scenario.flows.len(), 6);
        assert_eq!(scenario.flows[4].stop.map(|stop| stop.seconds()), Some(0.9));
        assert_eq!(scenario.links[5].directions[0].rate.bps(), 2_000_000);
        let change = ["change.c.at=500ms", "change.c.set={ \"flow.f1.stop\" = \"800ms\" }"];
        assert_eq!(read(&change).unwrap().changes.len(), 1);
    }

    #[test]
    fn default_names_are_those_of_what_is_written_out() {
        let scripted = ", back = { loss = { kind = \"scripted\", flow = \"f{n}\", packets = [1] } }";
        let text = TEXT.replace("name = \"f\"\n", "").replace("name = \"last\"\n", "").replace(scripted, "");
        let stops = |set: &str| -> Vec<bool> {
            let scenario = Scenario::parse("s", &text, &[set.to_string()]).unwrap();
            scenario.flows.iter().map(|flow| flow.stop.is_some()).collect()
        };
        assert_eq!(stops("flow.flow0.stop=900ms"), [true, false, false, false]);
        assert_eq!(stops("flow.flow3.stop=900ms"), [false, false, false, true]);
    }

    #[test]
    fn mistakes_are_told() {
        let late = read(&["flow.f2.stop=900ms", "flow.f.count=5"]).unwrap_err();
        assert!(
            late.contains("there is no \"f\" here") && late.contains("assign the count before it"),
            "{late}"
        );
        let wrong = read(&["flow.q.count=5"]).unwrap_err();
        assert!(wrong.ends_with("there is no \"q\" here; did you mean \"f\"?"), "{wrong}");
        for (set, message) in [
            ("flow.f.count=0", "flow[0].count: 0 is not between 1 and 100000"),
            ("flow.f.udp={ rate = \"1Mbps\", bursts = [] }", "bursts: has no burst"),
            ("flow.f.count=4", "flow.f3.from: there is no node \"s3\"; did you mean \"s0\"?"),
            ("flow.f7.stop=1s", "there is no \"f7\" here; did you mean \"f0\"?"),
            ("flow.f.name=g{n}{n}", "names the flow \"f0\", which does not exist"),
        ] {
            let error = read(&[set]).unwrap_err();
            assert!(error.contains(message), "{set}: {error}");
        }
        let long = "x".repeat(100_000);
        for large in [format!("flow.f.title={long:?}"), format!("flow.f.{long}=1")] {
            let error = read(&[&large, "flow.f.count=100000"]).unwrap_err();
            assert!(error.contains("flow[0].count: the tables become too large"), "{error}");
        }
    }
}
