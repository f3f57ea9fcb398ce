//! Curves of a run for a screen: of each pixel column the first, least, greatest and last value.

use crate::simulation::{PacketLog, Run, TraceMode, WindowLog};
use serde::Serialize;
use units::Time;

/// Bins of the goodput in the interval shown; a bin is never shorter than two round-trip times.
const GOODPUT_BINS: f64 = 120.0;
/// Most drops that a curve lists for each pixel column.
const DROPS_PER_COLUMN: usize = 4;

/// One curve.
#[derive(Debug, Serialize)]
pub struct Series {
    /// What it shows: `cwnd`, `ssthresh`, `in_flight`, `rtt`, `goodput`, `internal`, `queue` or `drops`.
    pub panel: &'static str,
    /// Number of the flow; none for a link.
    pub flow: Option<u32>,
    /// Number of the link; none for a flow.
    pub link: Option<u32>,
    /// Name of the flow, of the link, or of the internal value.
    pub name: String,
    /// Unit of the values: `segments`, `s`, `bit/s`, `packets`, or empty.
    pub unit: &'static str,
    /// Where its times begin in [`Curves::data`]; the values follow the times.
    pub start: usize,
    /// Number of points.
    pub points: usize,
}

/// Curves over an interval, and their points.
#[derive(Debug, Default)]
pub struct Curves {
    /// The curves.
    pub series: Vec<Series>,
    /// For each curve its times (s), then its values.
    pub data: Vec<f64>,
}

impl Curves {
    fn add(&mut self, mut series: Series, points: &[(f64, f64)]) {
        if points.is_empty() {
            return;
        }
        (series.start, series.points) = (self.data.len(), points.len());
        self.data.extend(points.iter().map(|point| point.0));
        self.data.extend(points.iter().map(|point| point.1));
        self.series.push(series);
    }

    fn of_flow(&mut self, kind: (&'static str, &'static str), flow: u32, name: &str, points: &[(f64, f64)]) {
        let (panel, unit) = kind;
        let series =
            Series { panel, flow: Some(flow), link: None, name: name.into(), unit, start: 0, points: 0 };
        self.add(series, points);
    }

    fn of_link(&mut self, kind: (&'static str, &'static str), link: u32, name: &str, points: &[(f64, f64)]) {
        let (panel, unit) = kind;
        let series =
            Series { panel, flow: None, link: Some(link), name: name.into(), unit, start: 0, points: 0 };
        self.add(series, points);
    }
}

/// The interval shown, and the number of pixel columns.
#[derive(Clone, Copy, Debug)]
struct Range {
    from: f64,
    to: f64,
    columns: usize,
}

impl Range {
    fn column(self, at: f64) -> usize {
        let part = (at - self.from) / (self.to - self.from);
        ((part * self.columns as f64) as usize).min(self.columns - 1)
    }
}

/// Thins a curve whose points come in the order of time.
#[derive(Clone, Debug)]
struct Decimator {
    range: Range,
    /// Whether the value holds until the next point, so that the one before the interval counts.
    steps: bool,
    column: usize,
    /// First, least, greatest and last point of the present column.
    bucket: Option<[(f64, f64); 4]>,
    before: Option<f64>,
    points: Vec<(f64, f64)>,
}

impl Decimator {
    fn new(range: Range, steps: bool) -> Decimator {
        Decimator { range, steps, column: 0, bucket: None, before: None, points: Vec::new() }
    }

    fn push(&mut self, at: f64, value: f64) {
        if !value.is_finite() || at > self.range.to {
            return;
        }
        if at < self.range.from {
            self.before = Some(value);
            return;
        }
        if let Some(value) = self.before.take().filter(|_| self.steps) {
            self.points.push((self.range.from, value));
        }
        let column = self.range.column(at);
        let point = (at, value);
        match &mut self.bucket {
            Some(bucket) if self.column == column => {
                if value < bucket[1].1 {
                    bucket[1] = point;
                }
                if value > bucket[2].1 {
                    bucket[2] = point;
                }
                bucket[3] = point;
            }
            _ => {
                self.flush();
                (self.column, self.bucket) = (column, Some([point; 4]));
            }
        }
    }

    fn flush(&mut self) {
        let Some([first, mut a, mut b, last]) = self.bucket.take() else { return };
        if a.0 > b.0 {
            (a, b) = (b, a);
        }
        for point in [first, a, b, last] {
            if self.points.last() != Some(&point) {
                self.points.push(point);
            }
        }
    }

    fn finish(mut self) -> Vec<(f64, f64)> {
        self.flush();
        if let (Some(value), true) = (self.before, self.steps) {
            self.points.push((self.range.from, value)); // no change within the interval
        }
        if self.steps
            && let Some(&(at, value)) = self.points.last()
            && at < self.range.to
        {
            self.points.push((self.range.to, value));
        }
        self.points
    }
}

impl Run {
    /// The curves from `from` to `to`, s, for a screen of `columns` pixel columns; they end at the simulated time so far.
    /// Windows, round-trip times and internal values need a window trace, goodput needs one with every ACK, queues and
    /// drops need packet events.
    pub fn curves(&self, from: f64, to: f64, columns: usize) -> Curves {
        let mut curves = Curves::default();
        let range = Range { from, to: to.min(self.now().seconds()), columns: columns.max(1) };
        let flows = self.flow_names();
        if range.from < range.to {
            windows(&mut curves, self.windows(), range, &flows);
            if self.recording().trace == TraceMode::EveryAck {
                goodput(&mut curves, self, range, &flows);
            }
        }
        if let Some(range) =
            self.recorded_packets(range.from, range.to).map(|(from, to)| Range { from, to, ..range })
        {
            queues(&mut curves, self.packets(), range, &self.link_names());
        }
        curves
    }

    /// The part of an interval, s, in which packet events are recorded; none if there is no such part.
    pub(super) fn recorded_packets(&self, from: f64, to: f64) -> Option<(f64, f64)> {
        let recording = self.recording();
        let (begin, end) = recording.packets_within.unwrap_or((Time::ZERO, Time::NEVER));
        let part = (from.max(begin.seconds()), to.min(end.seconds()).min(self.now().seconds()));
        (recording.packets && part.0 < part.1).then_some(part)
    }
}

fn windows(curves: &mut Curves, log: &WindowLog, range: Range, flows: &[String]) {
    const PANELS: [(&str, &str, bool); 4] = [
        ("cwnd", "segments", true),
        ("ssthresh", "segments", true),
        ("in_flight", "segments", true),
        ("rtt", "s", false),
    ];
    for (panel, unit, steps) in PANELS {
        let column = match panel {
            "cwnd" => &log.cwnd,
            "ssthresh" => &log.ssthresh,
            "in_flight" => &log.in_flight,
            _ => &log.rtt_s,
        };
        for (flow, points) in by_flow(log, column, range, steps, flows.len()) {
            curves.of_flow((panel, unit), flow, &flows[flow as usize], &points);
        }
    }
    for (name, column) in &log.internals {
        for (flow, points) in by_flow(log, column, range, true, flows.len()) {
            curves.of_flow(("internal", ""), flow, name, &points);
        }
    }
}

/// The thinned points of a column, for each flow that has any.
fn by_flow(
    log: &WindowLog,
    column: &[f64],
    range: Range,
    steps: bool,
    flows: usize,
) -> Vec<(u32, Vec<(f64, f64)>)> {
    let mut each = vec![Decimator::new(range, steps); flows];
    for ((at, flow), value) in log.time_s.iter().zip(&log.flow).zip(column) {
        if *at > range.to {
            break;
        }
        each[*flow as usize].push(*at, *value);
    }
    let finished = each.into_iter().map(Decimator::finish).enumerate();
    finished.filter(|(_, points)| !points.is_empty()).map(|(flow, points)| (flow as u32, points)).collect()
}

/// The rate at which data is acknowledged, in bins. Each bin has a point at its begin, and the last one at its end.
fn goodput(curves: &mut Curves, run: &Run, range: Range, flows: &[String]) {
    let log = run.windows();
    for (flow, name) in flows.iter().enumerate() {
        let Some(bytes) = run.segment_bytes(flow as u32) else { continue };
        let rows = || {
            let each = log.time_s.iter().zip(&log.flow).zip(log.ack.iter().zip(&log.rtt_s));
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
    let held = |link| log.held.get(link).copied().unwrap_or(0);
    let mut each: Vec<(i64, Decimator)> =
        (0..links.len()).map(|link| (held(link), Decimator::new(range, true))).collect();
    for (held, curve) in each.iter_mut().filter(|(held, _)| *held > 0) {
        curve.push(f64::NEG_INFINITY, *held as f64);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn thinned(range: Range, values: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
        let mut decimator = Decimator::new(range, true);
        values.for_each(|(at, value)| decimator.push(at, value));
        decimator.finish()
    }

    #[test]
    fn extremes_of_each_column_survive() {
        let range = Range { from: 2.0, to: 8.0, columns: 30 };
        let value = |i: u32| cc::detmath::cos(i as f64 * 0.7311) * i as f64;
        let all: Vec<(f64, f64)> = (0..100_000).map(|i| (i as f64 / 10_000.0, value(i))).collect();
        let points = thinned(range, all.iter().copied());
        assert!(points.len() <= 4 * 30 + 2, "{}", points.len());
        assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        for column in 0..30 {
            let within = |points: &[(f64, f64)]| {
                let found = points.iter().filter(|point| {
                    (range.from..range.to).contains(&point.0) && range.column(point.0) == column
                });
                found.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), p| (a.min(p.1), b.max(p.1)))
            };
            // The point that holds from before the interval is an addition to the first column.
            let (found, expected) = (within(&points), within(&all));
            assert!(column == 0 || found == expected, "column {column}: {found:?} {expected:?}");
        }
    }

    #[test]
    fn a_value_holds_over_the_interval() {
        let range = Range { from: 2.0, to: 8.0, columns: 10 };
        assert_eq!(thinned(range, [(1.0, 5.0)].into_iter()), [(2.0, 5.0), (8.0, 5.0)]);
        assert_eq!(
            thinned(range, [(1.0, 5.0), (3.0, 7.0), (9.0, 9.0)].into_iter()),
            [(2.0, 5.0), (3.0, 7.0), (8.0, 7.0)]
        );
        assert!(thinned(range, std::iter::empty()).is_empty());
    }
}
