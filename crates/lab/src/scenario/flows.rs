//! Reads `[[flow]]`.

use super::document::{TomlItem, TomlValue};
use super::model::{Direction, Duplex, Flow, FlowKind};
use super::nodes::{Nodes, check_ends};
use super::rate::FASTEST;
use super::table::{TableReader, pair, quantity};
use super::transports::{Defaults, read_transport};
use super::wifi::read_access;
use crate::error::ScenarioError;
use units::{ByteCount, Rate, Span};

type Result<T> = std::result::Result<T, ScenarioError>;

pub(super) fn read_flow(
    index: usize,
    item: &TomlItem,
    defaults: Defaults<'_>,
    nodes: &Nodes,
) -> Result<Flow> {
    let plain = TableReader::new(format!("flow[{index}]"), item)?;
    let name = plain.text("name")?.map_or(format!("flow{index}"), str::to_string);
    let reader = TableReader::new(format!("flow.{name}"), item)?;
    reader.text("name")?;
    let node = |key: &'static str| reader.need(key, reader.text(key)?, "name a node");
    let (from, to) = (node("from")?.to_string(), node("to")?.to_string());
    check_ends(&reader, nodes, &from, &to)?;
    let start: Span = reader.quantity("start", "0s")?.unwrap_or(Span::ZERO);
    let start_jitter: Span = reader.quantity("start_jitter", "1s")?.unwrap_or(Span::ZERO);
    let stop: Option<Span> = reader.quantity("stop", "150s")?;
    if stop.is_some_and(|stop| stop <= start + start_jitter) {
        return Err(reader.error("stop", "must be later than the start and its jitter"));
    }
    let bytes = read_bytes(&reader)?;
    let writes = read_writes(&reader)?;
    if !writes.is_empty() && bytes.is_some() {
        return Err(reader.error("writes", "a flow has either bytes or writes"));
    }
    let kind = match reader.table("udp")? {
        Some(_) if reader.get("tcp").or(reader.get("quic")).is_some() => {
            return Err(reader.error("udp", "a flow is one of tcp, quic and udp"));
        }
        Some(udp) => read_udp(udp)?,
        None => read_transport(&reader, defaults)?,
    };
    check_data(&reader, &kind, bytes, !writes.is_empty())?;
    let access = read_access(&reader)?;
    reader.finish()?;
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
        "small_queues is for paths of links alone"
    } else if links.iter().any(first) {
        "small_queues needs hosts whose links are wires or Wi-Fi without RED, PIE and routers"
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

fn read_bytes(reader: &TableReader<'_>) -> Result<Option<u64>> {
    match reader.quantity("bytes", "10MB")? {
        Some(ByteCount(0)) => Err(reader.error("bytes", "must be more than zero")),
        bytes => Ok(bytes.map(|ByteCount(n)| n)),
    }
}

/// Reads `writes`: pairs of a time since the start and a number of bytes.
fn read_writes(reader: &TableReader<'_>) -> Result<Vec<(Span, u64)>> {
    let path = reader.path("writes");
    let example =
        "must be pairs of a time and a number of bytes, such as [[\"0s\", \"10kB\"], [\"2s\", \"5kB\"]]";
    let mut writes: Vec<(Span, u64)> = Vec::new();
    for item in reader.list("writes")?.unwrap_or(&[]) {
        let refuse = |message: &str| ScenarioError::new(&item.origin, &path, message);
        let [at, bytes] = pair(item, &path, example)?;
        let at: Span = quantity(at, &path, "2s")?;
        let ByteCount(bytes @ 1..) = quantity(bytes, &path, "10kB")? else {
            return Err(refuse(example));
        };
        if writes.last().is_some_and(|last| at < last.0) {
            return Err(refuse("must come in the order of time"));
        }
        writes.push((at, bytes));
    }
    Ok(writes)
}

fn read_udp(udp: TableReader<'_>) -> Result<FlowKind> {
    let packet = udp.bytes("packet", 1, 65_535)?.unwrap_or(1000) as u32;
    let rate: Option<Rate> = udp.quantity("rate", "20kbps")?;
    let mut schedule: Vec<(Span, Rate)> = rate.map(|rate| (Span::ZERO, rate)).into_iter().collect();
    let bursts = read_bursts(&udp)?;
    let square = read_square(&udp)?;
    let period = square.map(|(period, ..)| period);
    let forms = ["schedule", "bursts", "period"].into_iter().filter(|key| udp.get(key).is_some());
    if let [_, other, ..] = forms.collect::<Vec<_>>()[..] {
        return Err(udp.error(other, "a source has one of schedule, bursts and period"));
    }
    if let Some((_, burst, peak)) = square {
        schedule = vec![(Span::ZERO, peak), (burst, rate.unwrap_or(Rate::from_bps(0)))];
    }
    if !bursts.is_empty() {
        schedule = steps_of(&bursts, rate.unwrap_or(Rate::from_bps(0)));
    }
    let example = "must be pairs, such as [[\"0s\", \"1Mbps\"], [\"30s\", \"2Mbps\"]]";
    let mut last = None;
    for item in udp.list("schedule")?.unwrap_or(&[]) {
        let path = udp.path("schedule");
        let [at, rate] = pair(item, &path, example)?;
        let step: (Span, Rate) = (quantity(at, &path, "30s")?, quantity(rate, &path, "2Mbps")?);
        if last.is_some_and(|last| step.0 <= last) {
            return Err(ScenarioError::new(&item.origin, &path, "steps must come in the order of time"));
        }
        last = Some(step.0);
        if step.0 == Span::ZERO {
            schedule.clear(); // it replaces the plain rate
        }
        schedule.push(step);
    }
    if let Some((_, rate)) = schedule.iter().find(|(_, rate)| *rate > FASTEST) {
        return Err(udp.error("rate", format!("{rate} is more than {FASTEST}")));
    }
    if schedule.is_empty() {
        let message = "give a rate such as \"20kbps\", a schedule, bursts, or a period";
        return Err(udp.missing("rate", message));
    }
    let jitter = udp.number("jitter", 0.0, 1.0)?.unwrap_or(0.0);
    udp.finish()?;
    Ok(FlowKind::Udp { packet, schedule, period, jitter })
}

/// Reads `bursts`: start, length and rate of each.
fn read_bursts(udp: &TableReader<'_>) -> Result<Vec<(Span, Span, Rate)>> {
    let path = udp.path("bursts");
    let example = "must be lists of start, length and rate, such as [[\"4.5s\", \"120ms\", \"30Mbps\"]]";
    let items = udp.list("bursts")?;
    if items.is_some_and(<[_]>::is_empty) {
        return Err(udp.error("bursts", example));
    }
    let read = |item: &TomlItem| {
        let refuse = || ScenarioError::new(&item.origin, &path, example);
        let TomlValue::List(entries) = &item.value else { return Err(refuse()) };
        let [start, length, rate] = &entries[..] else { return Err(refuse()) };
        let burst: (Span, Span, Rate) = (
            quantity(start, &path, "4.5s")?,
            quantity(length, &path, "120ms")?,
            quantity(rate, &path, "30Mbps")?,
        );
        if burst.1 == Span::ZERO {
            return Err(ScenarioError::new(&item.origin, &path, "the length must be more than zero"));
        }
        Ok(burst)
    };
    items.unwrap_or(&[]).iter().map(read).collect()
}

/// The rate in steps: `base`, and while bursts last the sum of their rates more.
fn steps_of(bursts: &[(Span, Span, Rate)], base: Rate) -> Vec<(Span, Rate)> {
    let ends = bursts.iter().flat_map(|(start, length, _)| [*start, *start + *length]);
    let mut times: Vec<Span> = std::iter::once(Span::ZERO).chain(ends).collect();
    times.sort();
    times.dedup();
    let rate_at = |at: Span| {
        let lasting = bursts.iter().filter(|(start, length, _)| (*start..*start + *length).contains(&at));
        lasting.fold(base.bps(), |sum, (.., rate)| sum.saturating_add(rate.bps()))
    };
    times.into_iter().map(|at| (at, Rate::from_bps(rate_at(at)))).collect()
}

/// Reads `period`, `burst` and `peak`.
fn read_square(udp: &TableReader<'_>) -> Result<Option<(Span, Span, Rate)>> {
    let period: Option<Span> = udp.quantity("period", "1s")?;
    let burst: Option<Span> = udp.quantity("burst", "30ms")?;
    let peak: Option<Rate> = udp.quantity("peak", "30Mbps")?;
    let Some(period) = period else {
        let alone = ["burst", "peak"].into_iter().find(|key| udp.get(key).is_some());
        return alone.map_or(Ok(None), |key| Err(udp.error(key, "needs a period, such as period = \"1s\"")));
    };
    let burst = udp.need("burst", burst, "the length of a burst, such as burst = \"30ms\"")?;
    let peak = udp.need("peak", peak, "the rate in a burst, such as peak = \"30Mbps\"")?;
    if burst == Span::ZERO || burst >= period {
        return Err(
            udp.error("burst", format!("must be more than zero and less than the period of {period}"))
        );
    }
    Ok(Some((period, burst, peak)))
}
