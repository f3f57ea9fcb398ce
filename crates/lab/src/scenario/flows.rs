//! Reads `[[flow]]`.

use super::document::{TomlItem, TomlValue};
use super::model::{Flow, FlowKind};
use super::nodes::{Nodes, check_ends};
use super::rate::FASTEST;
use super::table::{TableReader, pair, quantity};
use super::transports::{Defaults, read_transport};
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
    reader.finish()?;
    Ok(Flow { name, from, to, start, start_jitter, stop, bytes, writes, kind })
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
    let mut last = None;
    for item in udp.list("schedule")?.unwrap_or(&[]) {
        let path = udp.path("schedule");
        let TomlValue::List(pair) = &item.value else {
            return Err(ScenarioError::new(
                &item.origin,
                &path,
                "must be pairs, such as [[\"0s\", \"1Mbps\"], [\"30s\", \"2Mbps\"]]",
            ));
        };
        let [at, rate] = &pair[..] else {
            return Err(ScenarioError::new(&item.origin, &path, "each step is a time and a rate"));
        };
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
        return Err(udp.missing("rate", "give a rate such as \"20kbps\", or a schedule"));
    }
    let jitter = udp.number("jitter", 0.0, 1.0)?.unwrap_or(0.0);
    udp.finish()?;
    Ok(FlowKind::Udp { packet, schedule, jitter })
}
