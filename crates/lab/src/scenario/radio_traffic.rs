//! Reads `traffic` of `[radio]`: the flows of the CMU generator.

use super::cbrgen::cbrgen;
use super::model::{Flow, FlowKind, RadioNetwork};
use super::reading::Result;
use super::table::TableReader;
use super::transports::Defaults;
use params::Form::{Bytes, Integer, Number, Word};
use params::{Table, key};
use units::{Rate, Span};

/// A generator of flows between radio nodes.
pub(super) static RADIO_TRAFFIC: Table = Table::new(
    "radio_traffic",
    "`traffic` of a radio network",
    &[&[
        key("kind", Word(&["cbrgen", "none"]), "", "the CMU traffic generator"),
        key(
            "type",
            Word(&["cbr", "tcp"]),
            "\"cbr\"",
            "constant bit rate over UDP, or TCP flows with the options of `[tcp]`",
        ),
        key("seed", Integer(1, 4_294_944_442), "1", "seed of the generator"),
        key(
            "connections",
            Integer(1, 1_000_000),
            "none; needed with `kind = \"cbrgen\"`",
            "largest number of flows",
        ),
        key("packet", Bytes(1, 65_000), "\"512B\"", "size of a packet"),
        key("rate", Number(1e-3, 1e6), "4", "packets a second"),
    ]],
);

/// The traffic of the CMU generator: flows to the next node and the one after it, started at random.
pub(super) fn read_traffic(
    defaults: Defaults<'_>,
    table: &TableReader<'_>,
    nodes: Result<usize>,
    duration: Result<Span>,
) -> Result<Vec<Flow>> {
    let Some(inner) = table.table("traffic")? else { return Ok(Vec::new()) };
    let values = inner.values(&RADIO_TRAFFIC, 0)?;
    if values.read::<&str>("kind") == "none" {
        let others = ["type", "seed", "connections", "packet", "rate"];
        return inner.refuse(&others, "kind = \"none\"").map(|()| Vec::new());
    }
    let connections: Option<usize> = values.read("connections");
    let remedy = "give the maximum number, such as connections = 40";
    let connections = inner.need("connections", connections, remedy)?;
    let (packet, rate): (u32, f64) = (values.read("packet"), values.read("rate"));
    let stream = if values.read::<&str>("type") == "tcp" {
        defaults.read_tcp(None, false)?
    } else {
        let rate = Rate::from_bps(((rate * packet as f64 * 8.0) as u64).max(1));
        FlowKind::Udp { packet, schedule: vec![(Span::ZERO, rate)], period: None, jitter: 0.5 }
    };
    let (nodes, duration) = (nodes?, duration?);
    if nodes < 2 {
        return Err(table.error("nodes", "traffic needs at least two nodes"));
    }
    let pairs = cbrgen(values.read("seed"), nodes, connections);
    let flows = pairs.into_iter().enumerate().map(|(number, (from, to, start))| {
        let [from, to] = [from, to].map(RadioNetwork::name);
        let flow = Flow::new(format!("g{number}"), from, to, stream.clone());
        Flow { start: Span::from_seconds(start), ..flow }
    });
    Ok(flows.filter(|flow| flow.start < duration).collect())
}
