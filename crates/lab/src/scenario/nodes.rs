//! The nodes that a scenario names, and which of them are connected.

use super::model::{RadioNetwork, Satellites};
use super::paths::radio_names;
use super::reading::Result;
use super::table::TableReader;
use crate::error::nearest;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The nodes that links name, each with the number of its connected component.
pub(crate) struct Nodes {
    parts: BTreeMap<String, usize>,
}

impl Nodes {
    /// The nodes at the ends of links, the terminals and the radio nodes.
    pub(super) fn new(
        links: &[Cow<'_, [String; 2]>],
        satellites: Option<&Satellites>,
        radio: Option<&RadioNetwork>,
    ) -> Nodes {
        let radios = radio_names(radio);
        let mut parts = BTreeMap::new();
        let terminals = satellites.iter().flat_map(|s| &s.system.terminals).map(|t| t.name.as_str());
        let terminals: Vec<&str> = terminals.collect();
        let wired = links.iter().flat_map(|ends| ends.iter()).map(String::as_str);
        for name in terminals.iter().copied().chain(radios.iter().map(String::as_str)).chain(wired) {
            let number = parts.len();
            parts.entry(name).or_insert(number);
        }
        // Every link merges two components; the lower number represents both (union-find with path halving).
        let mut lower: Vec<usize> = (0..parts.len()).collect();
        fn find(lower: &mut [usize], mut part: usize) -> usize {
            while lower[part] != part {
                lower[part] = lower[lower[part]];
                part = lower[part];
            }
            part
        }
        // The satellites connect all terminals; the radio channel connects all radio nodes.
        let terminal_pairs = terminals.windows(2).map(|pair| [pair[0], pair[1]]);
        let radio_pairs = radios.windows(2).map(|pair| [pair[0].as_str(), pair[1].as_str()]);
        let wired = links.iter().map(|ends| ends.each_ref().map(String::as_str));
        for ends in wired.chain(terminal_pairs).chain(radio_pairs) {
            let [a, b] = ends.map(|name| find(&mut lower, parts[name]));
            lower[a.max(b)] = a.min(b);
        }
        let parts =
            parts.into_iter().map(|(name, part)| (name.to_string(), find(&mut lower, part))).collect();
        Nodes { parts }
    }
}

/// Checks that a flow can run between two nodes.
pub(crate) fn check_ends(reader: &TableReader<'_>, nodes: &Nodes, from: &str, to: &str) -> Result<()> {
    let mut named = Ok(());
    for (key, node) in [("from", from), ("to", to)] {
        if !nodes.parts.contains_key(node) {
            let remark = nearest(node, nodes.parts.keys().map(String::as_str));
            named = Err(reader.error(key, format!("there is no node \"{node}\"; {remark}")));
        }
    }
    named?;
    if from == to {
        return Err(reader.error("to", "a flow needs two different nodes"));
    }
    if nodes.parts[from] != nodes.parts[to] {
        return Err(reader.error("to", format!("there is no path from \"{from}\" to \"{to}\"")));
    }
    Ok(())
}
