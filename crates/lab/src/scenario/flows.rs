//! Reads `[[flow]]`.

use super::count::COUNT;
use super::document::TomlItem;
use super::links::arrival_queues;
use super::model::{Direction, Duplex, Flow, FlowKind};
use super::nodes::{Nodes, check_ends};
use super::table::TableReader;
use super::transports::{Defaults, read_transport};
use super::udp::read_udp;
use crate::error::ScenarioError;
use net::wifi::Access;
use params::Form::{self, AtLeast, List, Quantity, Row, Text, Word};
use params::{Key, Table, Unit, key};
use units::Span;

type Result<T> = std::result::Result<T, ScenarioError>;

/// A flow.
pub(super) static FLOW: Table = Table::new(
    "flow",
    "`[[flow]]`",
    &[&[
        key("name", Text, "`flow0`, `flow1`, ...", "name of the flow"),
        COUNT,
        key("from", Text, "", "node that sends data"),
        key("to", Text, "", "node that receives data"),
        key("start", Quantity(Unit::Time, "1s"), "\"0s\"", "start time"),
        key(
            "start_jitter",
            Quantity(Unit::Time, "1s"),
            "\"0s\"",
            "upper bound of a random time that is added to the start",
        ),
        key("stop", Quantity(Unit::Time, "50s"), "none", "time at which the application has no more data"),
        key("bytes", AtLeast(Unit::Size, "10MB", "1B"), "unlimited", "payload to transfer; TCP and QUIC"),
        key("tcp", Form::Table("tcp"), "`[tcp]`", "options of this flow"),
        key(
            "quic",
            Form::Table("quic"),
            "none",
            "makes it a QUIC flow, with these options after those of `[quic]`",
        ),
        key(
            "writes",
            List(&WRITE, "[[\"0s\", \"10kB\"], [\"2s\", \"5kB\"]]"),
            "all data at the start",
            "TCP and QUIC: when the application writes, since the start, and how many bytes, of TCP in whole segments",
        ),
        key("udp", Form::Table("udp"), "none", "makes it a UDP flow"),
        ACCESS,
    ]],
);

/// The access category of a flow or of traffic.
pub(super) const ACCESS: Key = key(
    "access",
    Word(Access::NAMES),
    "that of the link",
    "access category of the packets on Wi-Fi links: background, best effort, video, voice",
);

const WRITE: Form =
    Row(&[Quantity(Unit::Time, "2s"), AtLeast(Unit::Size, "10kB", "1B")], "[\"2s\", \"10kB\"]");

pub(super) fn read_flow(
    index: usize,
    item: &TomlItem,
    defaults: Defaults<'_>,
    nodes: &Nodes,
) -> Result<Flow> {
    let (reader, name) = TableReader::named("flow", index, item, || format!("flow{index}"))?;
    // Before the values, so that a wrong value does not hide a node that does not exist.
    if let (Some(from), Some(to)) = (reader.text("from")?, reader.text("to")?) {
        check_ends(&reader, nodes, from, to)?;
    }
    let values = reader.values(&FLOW, 0)?;
    let (from, to) = (values.read("from"), values.read("to"));
    let (start, start_jitter): (Span, Span) = (values.read("start"), values.read("start_jitter"));
    let stop: Option<Span> = values.read("stop");
    if stop.is_some_and(|stop| stop <= start + start_jitter) {
        return Err(reader.error("stop", "must be later than the start and its jitter"));
    }
    let bytes: Option<u64> = values.read("bytes");
    let writes: Vec<(Span, u64)> = values.optional("writes").unwrap_or_default();
    if let Some(before) = writes.windows(2).position(|pair| pair[0].0 > pair[1].0) {
        return Err(reader.element_error("writes", before + 1, "must come in the order of time"));
    }
    if !writes.is_empty() && bytes.is_some() {
        return Err(reader.error("writes", "a flow has either bytes or writes"));
    }
    let kind = match reader.table("udp")? {
        Some(_) if reader.has("tcp") || reader.has("quic") => {
            return Err(reader.error("udp", "a flow is one of tcp, quic and udp"));
        }
        Some(udp) => read_udp(&udp)?,
        None => read_transport(&reader, defaults)?,
    };
    check_data(&reader, &kind, bytes, !writes.is_empty())?;
    let access = values.read("access");
    Ok(Flow { name, from, to, start, start_jitter, stop, bytes, writes, access, kind })
}

/// Fails if senders at `nodes`, which limit their packets in the queues there, have queues that are not asked at departures,
/// modems, or a first hop that is no link. `path` and `item` are those of the flow or the traffic source.
pub(super) fn check_small_queues(
    (path, item): (String, &TomlItem),
    nodes: &[String],
    links: &[Duplex],
    only_links: bool,
) -> Result<()> {
    // A modem takes packets from its host at once.
    let is_modem = |direction: &Direction| direction.has_medium() && direction.wifi().is_none();
    let refused = |direction: &Direction| {
        direction.queue.needs_constant_rate() || direction.router.is_some() || is_modem(direction)
    };
    let first = |link: &Duplex| {
        let mut ends = link.ends.iter().zip(&link.directions);
        ends.any(|(from, direction)| nodes.contains(from) && refused(direction))
    };
    let message = if !only_links {
        "small_queues is for paths of links alone".into()
    } else if links.iter().any(first) {
        let queues = arrival_queues(", ");
        format!("small_queues needs hosts whose links are wires or Wi-Fi without {queues} and routers")
    } else {
        return Ok(());
    };
    Err(TableReader::new(path, item)?.error("tcp", message))
}

/// Fails if a flow of this kind cannot have this data.
fn check_data(reader: &TableReader<'_>, kind: &FlowKind, bytes: Option<u64>, writes: bool) -> Result<()> {
    let refused = match kind {
        FlowKind::Udp { .. } if bytes.is_some() => {
            Some(("bytes", "is for tcp and quic; give a udp flow a stop time"))
        }
        FlowKind::Udp { .. } if writes => {
            Some(("writes", "is for tcp and quic; give a udp flow a schedule of rates"))
        }
        FlowKind::Tcp(tcp)
            if bytes.is_some_and(|n| n.div_ceil(tcp.options.packet as u64) >= u32::MAX as u64) =>
        {
            Some(("bytes", "more than 4 billion segments"))
        }
        _ => None,
    };
    refused.map_or(Ok(()), |(key, message)| Err(reader.error(key, message)))
}
