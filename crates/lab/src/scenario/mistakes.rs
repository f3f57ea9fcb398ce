//! All mistakes of a document that cannot be read: unknown keys, values of a wrong type, and the first mistake of each
//! link, flow and source of traffic, of the satellites, the radio network, Wi-Fi, cells and topologies.
//!
//! The descriptions of the tables give the keys and the forms of their values. They are used only after the readers have
//! refused a document, so that they never refuse a document that can be read.

use super::document::{TomlItem, TomlValue};
use super::flows::read_flow;
use super::key::key_text;
use super::links::read_link;
use super::model::{Duplex, RadioNetwork, Satellites, Traffic};
use super::nodes::Nodes;
use super::table::TableReader;
use super::tables::{keys_of, table_of_kind};
use super::top::{SCENARIO, read_times};
use super::transports::Defaults;
use super::{cellular, topologies, wifi};
use crate::error::{ErrorKind, ScenarioError, meant};
use params::{Form, Key};

/// The most mistakes that are collected.
const MOST: usize = 50;

/// The mistakes of a document, in the order of their places, after the readers have failed with `first`. A missing key is
/// left out if an unknown key was probably meant to be it.
pub(super) fn all(document: &TomlItem, first: ScenarioError) -> ScenarioError {
    if first.kind == ErrorKind::UnmetNeed || first.key.starts_with("sweep") {
        return first;
    }
    let mut errors = vec![first];
    let mut walk = Walk { errors: Vec::new() };
    walk.table("", document, "scenario");
    errors.extend(walk.errors);
    if let Ok(top) = TableReader::new("", document) {
        errors.extend(first_of_each(&top));
    }
    keep_one_for_each_place(&mut errors);
    drop_misspelt(&mut errors);
    errors.sort_by_key(|error| place(&error.file, error.line));
    errors.truncate(MOST);
    let mut errors = errors.into_iter();
    let Some(mut error) = errors.next() else { unreachable!("the first mistake is kept") };
    error.others = errors.map(|other| other.to_string()).collect();
    error
}

/// The first mistake of each link, and of the other tables that a network consists of; if there is none, that of each flow
/// and each source of traffic.
fn first_of_each(top: &TableReader<'_>) -> Vec<ScenarioError> {
    let mut errors = Vec::new();
    let mut list = |key| note(&mut errors, top.list(key)).unwrap_or(&[]);
    let [link_items, wifi, cells, topologies] = ["link", "wifi", "cell", "topology"].map(&mut list);
    let mut links: Vec<Duplex> = Vec::new();
    for (i, item) in link_items.iter().enumerate() {
        links.extend(note(&mut errors, read_link(i, item)));
    }
    let times = top.described(&SCENARIO, 0).and_then(|values| read_times(top, &values));
    let duration = times.ok().map(|(duration, _)| duration);
    let (mut satellites, mut radio) = (None, None);
    if let Some(duration) = duration {
        satellites = note(&mut errors, Satellites::read(top, duration)).flatten();
        radio = note(&mut errors, RadioNetwork::read(top, duration)).flatten().map(|(radio, _)| radio);
    }
    let sets = note(&mut errors, wifi::read_all(wifi));
    let users = note(&mut errors, cellular::read_all(cells));
    let read = note(&mut errors, topologies::read_all(topologies));
    if errors.is_empty() {
        for (i, link) in links.iter_mut().enumerate() {
            let (item, link) = (&link_items[i..=i], std::slice::from_mut(link));
            note(&mut errors, wifi::resolve(item, link, sets.as_deref().unwrap_or_default()));
        }
        note(&mut errors, cellular::resolve(link_items, &mut links, &users.unwrap_or_default(), cells));
    }
    links.extend(read.unwrap_or_default());
    let is_wired = !top.has("constellation") && !top.has("radio");
    let has_nodes = if is_wired { !links.is_empty() } else { duration.is_some() };
    if errors.is_empty() && has_nodes {
        let nodes = Nodes::new(&links, satellites.as_ref(), radio.as_ref());
        let defaults = Defaults::new(top);
        let items = |key| top.list(key).unwrap_or(&[]).iter().enumerate();
        errors.extend(items("flow").filter_map(|(i, item)| read_flow(i, item, defaults, &nodes).err()));
        let traffic = |(i, item)| Traffic::read(i, item, defaults, &nodes, duration?).err();
        errors.extend(items("traffic").filter_map(traffic));
    }
    errors
}

/// The value that was read; a mistake goes to `errors`.
fn note<T>(errors: &mut Vec<ScenarioError>, read: Result<T, ScenarioError>) -> Option<T> {
    read.map_err(|error| errors.push(error)).ok()
}

/// Values from the command line come first, then those of each file by line.
fn place(file: &str, line: Option<usize>) -> (bool, String, Option<usize>) {
    (line.is_some(), file.to_string(), line)
}

/// Keeps the first mistake about each key at each place.
fn keep_one_for_each_place(errors: &mut Vec<ScenarioError>) {
    let mut seen = std::collections::BTreeSet::new();
    errors.retain(|error| {
        let last = error.key.rsplit('.').next().unwrap_or("").to_string();
        seen.insert((error.file.clone(), error.line, last))
    });
}

/// Drops a missing key of a table that has an unknown key whose correction it is.
fn drop_misspelt(errors: &mut Vec<ScenarioError>) {
    let split = |error: &ScenarioError| {
        let (table, key) = error.key.rsplit_once('.').unwrap_or(("", &error.key));
        (table.to_string(), key.to_string())
    };
    let unknown: Vec<_> =
        errors.iter().filter(|error| error.kind == ErrorKind::UnknownKey).map(split).collect();
    errors.retain(|error| {
        let (table, key) = split(error);
        let is_meant = |(of, unknown): &(String, String)| *of == table && meant(unknown, [&*key]).is_some();
        error.kind != ErrorKind::MissingKey || !unknown.iter().any(is_meant)
    });
}

struct Walk {
    errors: Vec<ScenarioError>,
}

impl Walk {
    fn note<T>(&mut self, read: Result<T, ScenarioError>) -> Option<T> {
        note(&mut self.errors, read)
    }

    /// Checks a table called `path` against the keys of the table `name`.
    fn table(&mut self, path: &str, item: &TomlItem, name: &str) {
        if let Some(reader) = self.note(TableReader::new(path, item)) {
            self.keys(&reader, keys_of(name));
        }
    }

    fn keys(&mut self, reader: &TableReader<'_>, keys: impl Iterator<Item = &'static Key>) {
        for key in keys {
            self.value(reader, key);
        }
        self.errors.extend(reader.unknown_keys());
    }

    fn value(&mut self, reader: &TableReader<'_>, key: &'static Key) {
        let name = key.name;
        let Some(item) = reader.get(name) else { return };
        let path = reader.path(name);
        match key.form {
            Form::Table(table) => self.table(&path, item, table),
            Form::WordOrTable(_, table) if matches!(item.value, TomlValue::Table(_)) => {
                self.table(&path, item, table);
            }
            Form::Tables(table) => {
                for (i, item) in self.note(reader.list(name)).unwrap_or(&[]).iter().enumerate() {
                    self.table(&element_path(name, i, item), item, table);
                }
            }
            Form::Losses => match &item.value {
                TomlValue::List(items) => {
                    for (i, item) in items.iter().enumerate() {
                        self.model(&format!("{path}[{i}]"), item);
                    }
                }
                _ => self.model(&path, item),
            },
            Form::Queue | Form::Router => self.model(&path, item),
            Form::Controller => self.controller(&path, item),
            Form::LinkRate if matches!(item.value, TomlValue::Table(_)) => self.model(&path, item),
            _ => drop(self.note(reader.value(key))),
        }
    }

    /// Checks a table whose `kind` is the name of a model; the readers report an unknown kind.
    fn model(&mut self, path: &str, item: &TomlItem) {
        let Some(reader) = self.note(TableReader::new(path, item)) else { return };
        let Some(Some(kind)) = self.note(reader.text("kind")) else { return };
        if let Some(table) = table_of_kind(kind) {
            self.keys(&reader, table.keys());
        }
    }

    /// Checks the parameters of a registered controller.
    fn controller(&mut self, path: &str, item: &TomlItem) {
        if matches!(item.value, TomlValue::Text(_)) {
            return;
        }
        let Some(reader) = self.note(TableReader::new(path, item)) else { return };
        let Some(kind) = self.note(reader.text("kind")).flatten() else { return };
        let Some(descriptor) = super::control::controller(kind).map(|c| &c.descriptor) else { return };
        reader.get("fit");
        for key in descriptor.params {
            // Text with a unit is checked by the reader of controllers.
            if key.takes_text() {
                reader.get(key.name);
            } else {
                self.note(reader.value(key));
            }
        }
        self.errors.extend(reader.unknown_keys());
    }
}

/// The name in messages of a table in the array of tables `key`, as the readers write it.
fn element_path(key: &str, index: usize, item: &TomlItem) -> String {
    match (item.name(), key) {
        (Some(name), "link" | "flow" | "traffic" | "change") => key_text([key, name]),
        (_, "flow" | "change") => format!("{key}.{key}{index}"),
        (_, "traffic") => format!("traffic.traffic{index}-"),
        _ => format!("{key}[{index}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scenario;
    use crate::error::ErrorKind;

    const GOOD: &str = "duration = \"1s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1Mbps\"\n\
                        delay = \"1ms\"\nqueue = { kind = \"droptail\", limit = \"9p\" }\n[[flow]]\nname = \"f\"\n\
                        from = \"a\"\nto = \"b\"\ntcp = { receive_window = 9 }\n";

    fn told(text: &str) -> Vec<String> {
        let error = Scenario::parse("s", text, &[]).unwrap_err();
        std::iter::once(error.to_string()).chain(error.others).collect()
    }

    #[test]
    fn every_mistake_is_told_once_in_the_order_of_lines() {
        let text = GOOD
            .replace("duration = \"1s\"", "duration = \"1s\"\nsed = 2\nwarmup = \"1p\"")
            .replace("delay", "dealy")
            .replace("limit = \"9p\"", "limit = \"9p\", depth = 1")
            .replace(
                "receive_window = 9",
                "receive_window = \"9\", congestion_control = { kind = \"vegas\", alfa = 1 }",
            );
        let lines = told(&text);
        let heads: Vec<String> = lines
            .iter()
            .map(|line| line.splitn(4, [':', ';']).take(3).collect::<Vec<_>>().join(":"))
            .collect();
        let expected = [
            "s:2: sed",
            "s:3: warmup",
            "s:8: link.l.dealy",
            "s:9: link.l.queue.depth",
            "s:14: flow.f.tcp.congestion_control.alfa",
            "s:14: flow.f.tcp.receive_window",
        ];
        assert_eq!(heads, expected, "{lines:#?}");
        assert!(lines[2].ends_with("unknown key; did you mean \"delay\"?"), "{}", lines[2]);
    }

    #[test]
    fn a_misspelt_table_is_no_missing_table() {
        let lines = told(&GOOD.replace("[[flow]]", "[[flows]]"));
        assert_eq!(lines, ["s:8: flows: unknown key; did you mean \"flow\"?"]);
        let kind = |text: &str| Scenario::parse("s", text, &[]).unwrap_err().kind;
        let misspelt = kind(&GOOD.replace("[[flow]]", "[[flows]]"));
        assert_eq!(misspelt, ErrorKind::UnknownKey);
        assert_eq!(kind(&GOOD.replace("delay = \"1ms\"", "")), ErrorKind::MissingKey);
        assert_eq!(kind(&GOOD.replace("\"1ms\"", "1")), ErrorKind::Other);
    }

    #[test]
    fn each_broken_flow_is_told() {
        let second = "[[flow]]\nname = \"g\"\nfrom = \"a\"\nto = \"q\"\nbytes = \"10MiB\"\n";
        let lines = told(&(GOOD.replace("from = \"a\"", "from = \"c\"") + second));
        let expected = [
            "s:10: flow.f.from: there is no node \"c\"; did you mean \"a\"?",
            "s:16: flow.g.to: there is no node \"q\"; did you mean \"a\"?",
            "s:17: flow.g.bytes: \"10MiB\" is not a number of bytes; write \"10485760B\"",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn each_broken_table_of_a_network_is_told() {
        let broken = "[[topology]]\nkind = \"leaf_spine\"\nspines = 0\n[[wifi]]\nname = \"w\"\nstandard = \"ag\"\n\
                      [[cell]]\nname = \"c\"\n";
        let lines = told(&(GOOD.replace("\"1Mbps\"", "\"1Mbp\"") + broken));
        let keys = ["link.l.rate", "topology[0].spines", "wifi[0].ap", "wifi[0].standard", "cell[0].station"];
        assert_eq!(lines.len(), keys.len(), "{lines:#?}");
        assert!(lines.iter().zip(keys).all(|(line, key)| line.contains(key)), "{lines:#?}");
    }

    #[test]
    fn each_broken_source_of_traffic_is_told() {
        let source = "[[traffic]]\nname = \"t\"\nfrom = \"a\"\nto = \"q\"\n";
        let lines = told(&(GOOD.replace("from = \"a\"", "from = \"c\"") + source));
        assert_eq!(lines.len(), 2, "{lines:#?}");
        assert!(lines[0].contains("flow.f.from") && lines[1].contains("traffic.t"), "{lines:#?}");
    }

    #[test]
    fn no_mistake_follows_from_another() {
        let (links, flows) = GOOD.split_at(GOOD.find("[[flow]]").unwrap());
        let topology = "[topology]\nkind = \"fat_tree\"\nk = 4\n";
        for text in [format!("duration = \"1s\"\n{flows}"), format!("{links}{topology}{flows}")] {
            let lines = told(&text);
            assert_eq!(lines.len(), 1, "{lines:#?}");
        }
        let lines = told(
            &(GOOD.replace("\"1Mbps\"", "{ kind = \"wifi\", medium = \"w\" }")
                + &GOOD[GOOD.find("[[link]]").unwrap()..GOOD.find("[[flow]]").unwrap()]
                    .replace("\"l\"", "\"m\"")
                    .replace("\"1Mbps\"", "{ kind = \"wifi\", medium = \"v\" }")),
        );
        assert_eq!(lines.len(), 2, "{lines:#?}");
    }

    #[test]
    fn a_broken_duration_gives_traffic_no_mistake() {
        let source =
            "[[traffic]]\nname = \"t\"\nfrom = \"a\"\nto = \"b\"\nload = \"6Mbps\"\nsize = \"9kB\"\n";
        let lines = told(&(GOOD.replace("\"1s\"", "\"1p\"") + source));
        assert_eq!(lines.len(), 1, "{lines:#?}");
    }

    #[test]
    fn each_broken_link_is_told() {
        let second = "[[link]]\nname = \"m\"\nends = [\"b\", \"c\"]\nrate = \"1Mbps\"\n";
        let lines = told(&(GOOD.replace("\"1Mbps\"", "\"1Mbp\"") + second));
        assert_eq!(lines.len(), 2, "{lines:#?}");
        assert!(lines[0].starts_with("s:5: link.l.rate") && lines[1].contains("link.m.delay: is missing"));
    }
}
