//! Reads `[[topology]]`, which stands for many links: leaf-spine and fat-tree networks.

use super::document::TomlItem;
use super::links::check_queue;
use super::model::{Direction, Duplex};
use super::queue::read_queue;
use super::reading::{Reading, Result, all};
use super::router::read_router;
use super::table::TableReader;
use params::Form::{self, Integer, Text, Word};
use params::{Table, key};
use units::{Rate, Span};

/// Most links of a topology.
const MOST_LINKS: u64 = 1_000_000;

/// The links of all topologies.
pub(super) fn read_all(reading: &Reading, items: &[TomlItem]) -> Result<Vec<Duplex>> {
    let table = |index| TableReader::new(reading, format!("topology[{index}]"), &items[index]);
    let links = all((0..items.len()).map(|index| read_links(&table(index)?)))?;
    Ok(links.into_iter().flatten().collect())
}

/// A network that stands for many links.
pub(super) static TOPOLOGY: Table = Table::new(
    "topology",
    "`[[topology]]`",
    &[&[
        key(
            "kind",
            Word(&["leaf_spine", "fat_tree"]),
            "",
            "hosts h0, h1, ..., then leaves l and spines s, or edges e, aggregations a and cores c",
        ),
        key("prefix", Text, "\"\"", "begin of the names of its nodes"),
        key("leaves", Integer(1, 100_000), "none; needed with `\"leaf_spine\"`", "leaf switches"),
        key("spines", Integer(1, 100_000), "none; needed with `\"leaf_spine\"`", "spine switches"),
        key("hosts", Integer(1, 100_000), "none; needed with `\"leaf_spine\"`", "hosts of each leaf"),
        key(
            "k",
            Integer(1, 100_000),
            "none; needed with `\"fat_tree\"`",
            "ports of a switch, an even number",
        ),
        key("host_rate", Form::rate("10Gbps"), "", "rate of the links of hosts"),
        key("fabric_rate", Form::rate("40Gbps"), "", "rate of the other links"),
        key("delay", Form::delay("1us"), "", "propagation delay of each link"),
        key("queue", Form::Queue, "unlimited", "queue of each link"),
        key("router", Form::Router, "none", "router in front of each link that writes feedback into packets"),
    ]],
);

fn read_links(table: &TableReader<'_>) -> Result<Vec<Duplex>> {
    let values = table.values(&TOPOLOGY, 0);
    let (queue, router) = (read_queue(table), read_router(table));
    let (values, queue, router) = (values?, queue?, router?);
    let (host, fabric): (Rate, Rate) = (values.read("host_rate"), values.read("fabric_rate"));
    let (delay, prefix): (Span, String) = (values.read("delay"), values.read("prefix"));
    let of_link = Direction {
        rate: host,
        delay,
        queue: queue.unwrap_or_default(),
        losses: Vec::new(),
        router,
        variation: None,
    };
    check_queue(table, &of_link)?;
    let count = |key: &'static str| -> Result<u64> {
        table.need(key, values.read(key), &format!("a number, such as {key} = 4"))
    };
    let pairs = if values.read::<&str>("kind") == "leaf_spine" {
        table.refuse(&["k"], "kind = \"leaf_spine\"")?;
        leaf_spine(count("leaves")?, count("spines")?, count("hosts")?)
    } else {
        let k = count("k")?;
        if k % 2 == 1 || k > 100 {
            return Err(table.error("k", "must be an even number up to 100"));
        }
        table.refuse(&["leaves", "spines", "hosts"], "kind = \"fat_tree\"")?;
        fat_tree(k)
    };
    let Some(pairs) = pairs else {
        return Err(table.error("kind", format!("has more than {MOST_LINKS} links; make it smaller")));
    };
    Ok(pairs
        .into_iter()
        .map(|(a, b)| {
            let rate = if a.starts_with('h') { host } else { fabric };
            let direction = Direction { rate, ..of_link.clone() };
            let ends = [format!("{prefix}{a}"), format!("{prefix}{b}")];
            Duplex { name: None, ends, directions: [direction.clone(), direction] }
        })
        .collect())
}

/// Hosts `h`, leaves `l`, spines `s`; `hosts` for each leaf. None if there are too many links.
fn leaf_spine(leaves: u64, spines: u64, hosts: u64) -> Option<Vec<(String, String)>> {
    if leaves * (spines + hosts) > MOST_LINKS {
        return None;
    }
    let down = (0..leaves).flat_map(|leaf| {
        (0..hosts).map(move |host| (format!("h{}", leaf * hosts + host), format!("l{leaf}")))
    });
    let up =
        (0..leaves).flat_map(|leaf| (0..spines).map(move |spine| (format!("l{leaf}"), format!("s{spine}"))));
    Some(down.chain(up).collect())
}

/// A fat tree of switches with `k` ports (Al-Fares et al. 2008): hosts `h`, edges `e`, aggregations `a`, cores `c`.
fn fat_tree(k: u64) -> Option<Vec<(String, String)>> {
    let half = k / 2;
    let mut links = Vec::new();
    for edge in 0..k * half {
        links.extend((0..half).map(|host| (format!("h{}", edge * half + host), format!("e{edge}"))));
    }
    for pod in 0..k {
        for edge in 0..half {
            let of_pod = |up: u64| (format!("e{}", pod * half + edge), format!("a{}", pod * half + up));
            links.extend((0..half).map(of_pod));
        }
        for up in 0..half {
            let core = |core: u64| (format!("a{}", pod * half + up), format!("c{}", up * half + core));
            links.extend((0..half).map(core));
        }
    }
    (links.len() as u64 <= MOST_LINKS).then_some(links)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_topologies() {
        assert_eq!(fat_tree(4).unwrap().len(), 48);
        assert_eq!(fat_tree(8).unwrap().len(), 384);
        assert_eq!(leaf_spine(4, 2, 8).unwrap().len(), 40);
        assert!(leaf_spine(100_000, 100_000, 1).is_none());
    }
}
