//! Curves of a run for a screen: of each pixel column the first, least, greatest and last value.

use super::media;
use super::series::{Curves, Series};
use crate::simulation::decimator::{Decimator, Range};
use crate::simulation::overview::{FlowOverview, Overview};
use crate::simulation::{Logs, PacketLog, Run, Shape, TraceMode, WindowLog};

/// Bins of the goodput in the interval shown; a bin is never shorter than two round-trip times.
const GOODPUT_BINS: f64 = 120.0;
/// Most drops that a curve lists for each pixel column.
const DROPS_PER_COLUMN: usize = 4;

impl Run {
    /// The curves from `from` to `to`, s, for a screen of `columns` pixel columns; they end at the simulated time so far.
    /// Windows, round-trip times and internal values need a window trace, goodput needs one with every ACK, queues and
    /// drops need packet events. With [`crate::Recording::bounded`], an interval whose rows are not recorded, or not yet,
    /// has the thinned curves of the whole run.
    pub fn curves(&self, from: f64, to: f64, columns: usize) -> Curves {
        let mut curves = Curves::default();
        let range = Range { from, to: to.min(self.now().seconds()), columns: columns.max(1) };
        let shape = self.shape();
        let Shape { flows, links, segment_bytes, .. } = &shape;
        let rows = match self.overview() {
            Some(overview) if range.from < range.to => {
                percentiles(&mut curves, overview, range);
                for (number, (delay, name)) in overview.delays.iter().zip(flows).enumerate() {
                    curves.of_flow(("delay", "s"), number as u32, name, &delay.thinned(range).finish());
                }
                let ([begin, end], _) = self.recorded();
                let within = self.recording().packets_within;
                let complete = self.has_ended() || within.is_some_and(|(_, until)| self.now() > until);
                let rows = complete && begin <= range.from && range.to <= end;
                if !rows {
                    from_overview(&mut curves, overview, range, [flows, links], segment_bytes);
                    media::from_overview(&mut curves, &shape, overview, range);
                }
                rows
            }
            _ => true,
        };
        if !rows {
            return curves;
        }
        if range.from < range.to {
            windows(&mut curves, [&self.logs().held, &self.logs().windows], range, flows);
            if self.recording().trace == TraceMode::EveryAck {
                goodput(&mut curves, self.logs(), range, flows, segment_bytes);
            }
        }
        if let Some(range) =
            self.recorded_packets(range.from, range.to).map(|(from, to)| Range { from, to, ..range })
        {
            queues(&mut curves, &self.logs().packets, range, links);
            media::from_log(&mut curves, &shape, &self.logs().transmissions, range);
        }
        curves
    }

    /// The part of an interval, s, in which packet events are recorded; none if there is no such part.
    pub(super) fn recorded_packets(&self, from: f64, to: f64) -> Option<(f64, f64)> {
        let ([begin, end], _) = self.recorded();
        let part = (from.max(begin), to.min(end));
        (self.recording().packets && part.0 < part.1).then_some(part)
    }
}

/// The curves of an interval from those of the whole run.
fn from_overview(
    curves: &mut Curves,
    overview: &Overview,
    range: Range,
    [flows, links]: [&[String]; 2],
    segment_bytes: &[Option<u32>],
) {
    for (number, (flow, name)) in overview.flows.iter().zip(flows).enumerate() {
        let columns_of_flow = [
            (("cwnd", "segments"), &flow.cwnd),
            (("ssthresh", "segments"), &flow.ssthresh),
            (("in_flight", "segments"), &flow.in_flight),
            (("rtt", "s"), &flow.rtt),
        ];
        for (kind, curve) in columns_of_flow {
            curves.of_flow(kind, number as u32, name, &curve.thinned(range).finish());
        }
        for (name, curve) in &flow.internals {
            curves.of_flow(("internal", ""), number as u32, name, &curve.thinned(range).finish());
        }
        if let Some(bytes) = segment_bytes[number] {
            let points = acked_rate(overview.range, flow, range, bytes);
            curves.of_flow(("goodput", "bit/s"), number as u32, name, &points);
        }
    }
    for link in &overview.links {
        let name = &links[link.link as usize];
        curves.of_link(("queue", "packets"), link.link, name, &link.queue.thinned(range).finish());
        let drops: Vec<(f64, f64)> =
            link.drops.iter().copied().filter(|drop| (range.from..=range.to).contains(&drop.0)).collect();
        curves.of_link(("drops", ""), link.link, name, &drops);
    }
}

/// The goodput of a flow in bins of whole columns of the run's curves.
fn acked_rate(whole: Range, flow: &FlowOverview, range: Range, bytes: u32) -> Vec<(f64, f64)> {
    let column = (whole.to - whole.from) / whole.columns as f64;
    let bin = ((range.to - range.from) / GOODPUT_BINS).max(2.0 * flow.mean_rtt());
    let columns = ((bin / column).ceil() as usize).max(1);
    let width = columns as f64 * column;
    if !flow.has_acked() {
        return Vec::new();
    }
    let first = (range.from / column).ceil() as usize;
    let bins = ((range.to - first as f64 * column) / width + 1e-9) as usize;
    if bins == 0 {
        // Shorter than a bin: the rate of the columns that it touches.
        let (first, last) = ((range.from / column) as usize, (range.to / column).ceil() as usize);
        let acked: f64 = flow.acked.iter().take(last).skip(first).sum();
        let rate = acked * bytes as f64 * 8.0 / ((last - first).max(1) as f64 * column);
        return vec![(range.from, rate), (range.to, rate)];
    }
    let acked = |column: usize| flow.acked.get(column).copied().unwrap_or(0.0);
    let value = |bin: usize| (0..columns).map(|i| acked(first + bin * columns + i)).sum::<f64>();
    let mut points: Vec<(f64, f64)> = (0..bins)
        .map(|bin| ((first + bin * columns) as f64 * column, value(bin) * bytes as f64 * 8.0 / width))
        .collect();
    if let Some(&(at, value)) = points.last() {
        points.push((at + width, value));
    }
    points
}

/// The distribution of the windows over all flows.
fn percentiles(curves: &mut Curves, overview: &Overview, range: Range) {
    for (place, name) in ["10th percentile", "median", "90th percentile"].into_iter().enumerate() {
        let mut curve = Decimator::new(range, true);
        overview.percentiles.iter().for_each(|(at, values)| curve.push(*at, values[place]));
        curves.add(Series::new("percentile", "segments", name), &curve.finish());
    }
}

/// The curves of a trace; the first log has the last row of each flow before the other begins.
fn windows(curves: &mut Curves, logs: [&WindowLog; 2], range: Range, flows: &[String]) {
    const PANELS: [(&str, &str, bool); 4] = [
        ("cwnd", "segments", true),
        ("ssthresh", "segments", true),
        ("in_flight", "segments", true),
        ("rtt", "s", false),
    ];
    for (panel, unit, steps) in PANELS {
        let columns = logs.map(|log| match panel {
            "cwnd" => &log.cwnd,
            "ssthresh" => &log.ssthresh,
            "in_flight" => &log.in_flight,
            _ => &log.rtt_s,
        });
        for (flow, points) in by_flow(logs, columns, range, steps, flows.len()) {
            curves.of_flow((panel, unit), flow, &flows[flow as usize], &points);
        }
    }
    for (place, (name, _)) in logs[1].internals.iter().enumerate() {
        let columns = logs.map(|log| &log.internals[place].1);
        for (flow, points) in by_flow(logs, columns, range, true, flows.len()) {
            curves.of_flow(("internal", ""), flow, name, &points);
        }
    }
}

/// The thinned points of a column, for each flow that has any.
fn by_flow(
    logs: [&WindowLog; 2],
    columns: [&Vec<f64>; 2],
    range: Range,
    steps: bool,
    flows: usize,
) -> Vec<(u32, Vec<(f64, f64)>)> {
    let mut each = vec![Decimator::new(range, steps); flows];
    for (log, column) in logs.into_iter().zip(columns) {
        for ((at, flow), value) in log.time_s.iter().zip(&log.flow).zip(column) {
            if *at > range.to {
                break;
            }
            each[*flow as usize].push(*at, *value);
        }
    }
    let finished = each.into_iter().map(Decimator::finish).enumerate();
    finished.filter(|(_, points)| !points.is_empty()).map(|(flow, points)| (flow as u32, points)).collect()
}

/// The rate at which data is acknowledged, in bins. Each bin has a point at its begin, and the last one at its end.
fn goodput(curves: &mut Curves, logs: &Logs, range: Range, flows: &[String], segment_bytes: &[Option<u32>]) {
    for (flow, name) in flows.iter().enumerate() {
        let Some(bytes) = segment_bytes[flow] else { continue };
        let rows = || {
            let each = [&logs.held, &logs.windows]
                .into_iter()
                .flat_map(|log| log.time_s.iter().zip(&log.flow).zip(log.ack.iter().zip(&log.rtt_s)));
            each.filter(move |((_, of), _)| **of == flow as u32).map(|((at, _), row)| (*at, *row.0, *row.1))
        };
        let sampled: Vec<f64> = rows().map(|row| row.2).filter(|rtt| rtt.is_finite()).collect();
        let rtt = sampled.iter().sum::<f64>() / sampled.len().max(1) as f64;
        let bin = ((range.to - range.from) / GOODPUT_BINS).max(2.0 * rtt);
        // Only whole bins: a shorter one at the end would show a rate that is not there.
        let bins = ((range.to - range.from) / bin + 1e-9) as usize;
        let mut acked = vec![0.0; bins];
        let mut highest = -1;
        for (at, ack, _) in rows().take_while(|row| row.0 <= range.to) {
            let news = (ack - highest).max(0);
            highest = highest.max(ack);
            if at >= range.from
                && let Some(sum) = acked.get_mut(((at - range.from) / bin) as usize)
            {
                *sum += news as f64;
            }
        }
        let mut points: Vec<(f64, f64)> = acked
            .iter()
            .enumerate()
            .map(|(i, segments)| (range.from + i as f64 * bin, segments * bytes as f64 * 8.0 / bin))
            .collect();
        if let Some(&(at, value)) = points.last() {
            points.push((at + bin, value));
        }
        if highest >= 0 {
            curves.of_flow(("goodput", "bit/s"), flow as u32, name, &points);
        }
    }
}

/// The drops of a link.
#[derive(Clone, Debug, Default)]
struct Drops {
    /// The present pixel column, and the drops listed in it so far.
    column: usize,
    listed: usize,
    points: Vec<(f64, f64)>,
}

impl Drops {
    fn push(&mut self, column: usize, point: (f64, f64)) {
        self.listed = if self.column == column { self.listed + 1 } else { 1 };
        self.column = column;
        if self.listed <= DROPS_PER_COLUMN {
            self.points.push(point);
        }
    }
}

/// Packets held by each link, the packet in transmission included, and drops: a drop's value is the number of its flow.
fn queues(curves: &mut Curves, log: &PacketLog, range: Range, links: &[String]) {
    let mut each: Vec<(i64, Decimator)> = vec![(0, Decimator::new(range, true)); links.len()];
    for ((now, curve), held) in each.iter_mut().zip(&log.held) {
        if let Some(held) = *held {
            *now = held;
            curve.push(f64::NEG_INFINITY, held as f64);
        }
    }
    let mut drops = vec![Drops { column: usize::MAX, ..Drops::default() }; links.len()];
    for row in 0..log.time.len() {
        let (at, link) = (log.time[row].seconds(), log.link[row] as usize);
        if at > range.to {
            break;
        }
        let change = PacketLog::change(log.event[row], log.reason[row]);
        if change != 0 {
            let (held, curve) = &mut each[link];
            *held += change;
            curve.push(at, *held as f64);
        }
        if log.event[row] == PacketLog::DROP && at >= range.from {
            drops[link].push(range.column(at), (at, log.flow[row] as f64));
        }
    }
    for (link, ((_, curve), drops)) in each.into_iter().zip(drops).enumerate() {
        curves.of_link(("queue", "packets"), link as u32, &links[link], &curve.finish());
        curves.of_link(("drops", ""), link as u32, &links[link], &drops.points);
    }
}
