//! Reads `[[flow]]`.

use super::app::read_app;
use super::count::COUNT;
use super::links::arrival_queues;
use super::model::{Direction, Duplex, Flow, FlowKind};
use super::nodes::{Nodes, check_ends};
use super::reading::Result;
use super::table::{NamedTable, TableReader};
use super::transports::{Defaults, read_transport};
use super::udp::read_udp;
use net::wifi::Access;
use params::Form::{self, AtLeast, List, Quantity, Row, Text, Word};
use params::{Key, Table, Unit, Values, key};
use std::sync::Arc;
use units::Span;

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
        key(
            "app",
            Form::Application,
            "all data at the start",
            "TCP and QUIC: what the application does: a rate at which it writes, or a table with `kind`",
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

/// Reads the flow of a table.
pub(super) fn read_flow(
    NamedTable { reader, name }: &NamedTable<'_>,
    defaults: Defaults<'_>,
    nodes: Result<&Nodes>,
) -> Result<Flow> {
    // Before the values, so that a wrong value does not hide a node that does not exist.
    let mut fits = match (reader.text("from"), reader.text("to"), nodes) {
        (Ok(Some(from)), Ok(Some(to)), Ok(nodes)) => check_ends(reader, nodes, from, to),
        (_, _, nodes) => nodes.map(|_| ()),
    };
    let values = reader.values(&FLOW, 0);
    let kind = read_kind(reader, defaults);
    let app = read_app(reader, kind.as_ref().ok());
    let values = values?;
    fits = check_times(reader, &values).and(fits);
    let flow = Flow {
        start: values.read("start"),
        start_jitter: values.read("start_jitter"),
        stop: values.read("stop"),
        bytes: values.read("bytes"),
        writes: values.optional("writes").unwrap_or_default(),
        access: values.read("access"),
        app: app?.map(Arc::new),
        ..Flow::new(name.clone()?, values.read("from"), values.read("to"), kind?)
    };
    let flow = flow.with_short_segments();
    check_data(reader, &flow).and(fits).map(|()| flow)
}

/// Reports times of a flow that do not go together.
fn check_times(reader: &TableReader<'_>, values: &Values) -> Result<()> {
    let start = values.read::<Span>("start") + values.read("start_jitter");
    let writes: Vec<(Span, u64)> = values.optional("writes").unwrap_or_default();
    let mut fits = Ok(());
    if values.read::<Option<Span>>("stop").is_some_and(|stop| stop <= start) {
        fits = Err(reader.error("stop", "must be later than the start and its jitter"));
    }
    if let Some(before) = writes.windows(2).position(|pair| pair[0].0 > pair[1].0) {
        fits = Err(reader.element_error("writes", before + 1, "must come in the order of time"));
    }
    let sources: Vec<&str> = ["bytes", "writes", "app"].into_iter().filter(|key| reader.has(key)).collect();
    if let [_, other, ..] = sources[..] {
        fits = Err(reader.error(other, "a flow has one of bytes, writes and app"));
    }
    fits
}

impl Flow {
    /// A flow whose application writes messages ends each with a short segment, unless its options say otherwise.
    fn with_short_segments(mut self) -> Flow {
        if self.app.is_some() {
            self.kind = self.kind.with_short_segments();
        }
        self
    }

    /// The number of connections of its application, each of which is a flow.
    pub(super) fn connections(&self) -> u32 {
        self.app.as_ref().map_or(1, |app| app.connections())
    }

    /// The flows of the connections of its application.
    pub(super) fn into_connections(self) -> Vec<Flow> {
        let count = self.connections();
        if count == 1 {
            return vec![self];
        }
        let connection = |number: u32| {
            let connection = if self.shares_connections() { number } else { 0 };
            Flow { name: format!("{}/{number}", self.name), connection, ..self.clone() }
        };
        (0..count).map(connection).collect()
    }

    /// Whether it is one of several connections of one application.
    pub(crate) fn shares_connections(&self) -> bool {
        self.app.as_ref().is_some_and(|app| app.shares_connections())
    }
}

/// Reads the transport of a flow.
fn read_kind(reader: &TableReader<'_>, defaults: Defaults<'_>) -> Result<FlowKind> {
    let Some(udp) = reader.table("udp")? else { return read_transport(reader, defaults) };
    let kind = read_udp(&udp);
    if reader.has("tcp") || reader.has("quic") {
        return Err(reader.error("udp", "a flow is one of tcp, quic and udp"));
    }
    kind
}

/// Why senders at `nodes` cannot limit their packets in the queues there, if they cannot: the queues are not asked at
/// departures, are those of modems, or the first hop is no link.
pub(super) fn small_queues_refusal(nodes: &[String], links: &[Duplex], only_links: bool) -> Option<String> {
    // A modem takes packets from its host at once.
    let is_modem = |direction: &Direction| direction.has_medium() && direction.wifi().is_none();
    let refused = |direction: &Direction| {
        direction.queue.needs_constant_rate() || direction.router.is_some() || is_modem(direction)
    };
    let first = |link: &Duplex| {
        let mut ends = link.ends.iter().zip(&link.directions);
        ends.any(|(from, direction)| nodes.contains(from) && refused(direction))
    };
    if !only_links {
        Some("small_queues is for paths of links alone".into())
    } else if links.iter().any(first) {
        let queues = arrival_queues(", ");
        Some(format!("small_queues needs hosts whose links are wires or Wi-Fi without {queues} and routers"))
    } else {
        None
    }
}

/// Fails if a flow of this kind cannot have this data.
fn check_data(reader: &TableReader<'_>, flow: &Flow) -> Result<()> {
    let segments = |packet: u32| flow.bytes.map_or(0, |bytes| bytes.div_ceil(packet as u64));
    match &flow.kind {
        FlowKind::Tcp(tcp) if flow.app.is_some() && !tcp.options.short_segments => Err(reader.error(
            "app",
            "counts the bytes of its messages, which end with short segments; the flow has short_segments = false: leave it out",
        )),
        FlowKind::Udp { .. } if flow.bytes.is_some() => {
            Err(reader.error("bytes", "is for tcp and quic; give a udp flow a stop time"))
        }
        FlowKind::Udp { .. } if flow.app.is_some() => {
            Err(reader.error("app", "is for tcp and quic; a udp flow has a rate or a schedule"))
        }
        FlowKind::Udp { .. } if !flow.writes.is_empty() => {
            Err(reader.error("writes", "is for tcp and quic; give a udp flow a schedule of rates"))
        }
        FlowKind::Tcp(tcp) if segments(tcp.options.packet) >= u32::MAX as u64 => {
            Err(reader.error("bytes", "more than 4 billion segments"))
        }
        _ => Ok(()),
    }
}
