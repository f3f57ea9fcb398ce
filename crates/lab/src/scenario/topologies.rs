//! Reads `[[topology]]`, which stands for many links: leaf-spine and fat-tree networks.

use super::document::TomlItem;
use super::model::{Direction, Duplex};
use super::queue::read_queue;
use super::rate::{read_delay_key, read_rate_key};
use super::table::TableReader;
use crate::error::{ScenarioError, nearest};
use net::qdisc::Queue;
use units::{Rate, Span};

type Result<T> = std::result::Result<T, ScenarioError>;

/// Most links of a topology.
const MOST_LINKS: u64 = 1_000_000;

/// The links of all topologies.
pub(super) fn read_all(items: &[TomlItem]) -> Result<Vec<Duplex>> {
    let mut links = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let table = TableReader::new(format!("topology[{index}]"), item)?;
        links.extend(read_links(&table)?);
        table.finish()?;
    }
    Ok(links)
}

fn read_links(table: &TableReader<'_>) -> Result<Vec<Duplex>> {
    let kind = table.need("kind", table.text("kind")?, "such as kind = \"leaf_spine\"")?;
    let prefix = table.text("prefix")?.unwrap_or_default().to_string();
    let rate = |key: &'static str| table.need(key, read_rate_key(table, key)?, "such as \"10Gbps\"");
    let (host, fabric) = (rate("host_rate")?, rate("fabric_rate")?);
    let delay =
        table.need("delay", read_delay_key(table, "delay")?, "of each link, such as delay = \"1us\"")?;
    let queue = read_queue(table)?.unwrap_or_default();
    let count = |key: &'static str| -> Result<u64> {
        table.need(key, table.integer(key, 1, 100_000)?, &format!("a number, such as {key} = 4"))
    };
    let pairs = match kind {
        "leaf_spine" => leaf_spine(count("leaves")?, count("spines")?, count("hosts")?),
        "fat_tree" => {
            let k = count("k")?;
            if k % 2 == 1 || k > 100 {
                return Err(table.error("k", "must be an even number up to 100"));
            }
            fat_tree(k)
        }
        other => {
            let message =
                format!("unknown topology \"{other}\"; {}", nearest(other, ["leaf_spine", "fat_tree"]));
            return Err(table.error("kind", message));
        }
    };
    let Some(pairs) = pairs else {
        return Err(table.error("kind", format!("has more than {MOST_LINKS} links; make it smaller")));
    };
    Ok(pairs
        .into_iter()
        .map(|(a, b)| {
            let rate = if a.starts_with('h') { host } else { fabric };
            duplex([format!("{prefix}{a}"), format!("{prefix}{b}")], rate, delay, &queue)
        })
        .collect())
}

fn duplex(ends: [String; 2], rate: Rate, delay: Span, queue: &Queue) -> Duplex {
    let direction =
        Direction { rate, delay, queue: queue.clone(), losses: Vec::new(), router: None, variation: None };
    Duplex { name: None, ends, directions: [direction.clone(), direction] }
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
