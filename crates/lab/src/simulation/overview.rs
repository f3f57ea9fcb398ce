//! Thinned curves of a whole run, kept while it is computed, in a memory that does not grow with its duration.

use super::decimator::{Decimator, Range};
use net::{PacketEvent, PacketStep, Transmission};
use std::collections::BTreeMap;
use transport::WindowRow;

/// Columns of the duration at the start; halved when the points need more memory than [`MOST_POINTS`] of them.
const COLUMNS: usize = 4096;
/// Most points of all curves, 16 bytes each.
const MOST_POINTS: usize = 600_000;
/// Flows with curves of their own.
const MOST_FLOWS: usize = 256;
/// Links with curves of their own.
const MOST_LINKS: usize = 256;
/// A link has a curve from the time on when it holds more packets than the one in transmission.
const QUEUED: i64 = 2;
/// Times at which the distribution over the flows is taken.
const SAMPLES: usize = 512;
/// Least number of flows with a distribution.
const MANY_FLOWS: usize = 8;
/// Most drops that a link lists for each column.
const DROPS_PER_COLUMN: usize = 4;

/// The curves of a flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowOverview {
    pub cwnd: Decimator,
    pub ssthresh: Decimator,
    pub in_flight: Decimator,
    pub rtt: Decimator,
    /// Names and curves of the internal values.
    pub internals: Vec<(String, Decimator)>,
    /// Segments acknowledged in each column.
    pub acked: Vec<f64>,
    highest: i64,
    rtt_s: f64,
    samples: u64,
}

impl FlowOverview {
    fn new(range: Range, internals: &[String]) -> FlowOverview {
        let curve = Decimator::new(range, true);
        let internals = internals.iter().map(|name| (name.clone(), curve.clone())).collect();
        FlowOverview {
            cwnd: curve.clone(),
            ssthresh: curve.clone(),
            in_flight: curve,
            rtt: Decimator::new(range, false),
            internals,
            acked: Vec::new(),
            highest: -1,
            rtt_s: 0.0,
            samples: 0,
        }
    }

    /// The mean round-trip time, s; zero without a sample.
    pub fn mean_rtt(&self) -> f64 {
        self.rtt_s / self.samples.max(1) as f64
    }

    /// Whether any data has been acknowledged.
    pub fn has_acked(&self) -> bool {
        self.highest >= 0
    }

    fn push(&mut self, range: Range, at: f64, row: &WindowRow) {
        self.cwnd.push(at, row.cwnd);
        self.ssthresh.push(at, row.ssthresh);
        self.in_flight.push(at, row.in_flight as f64);
        if let Some(rtt) = row.rtt.map(|rtt| rtt.seconds()) {
            self.rtt.push(at, rtt);
            self.rtt_s += rtt;
            self.samples += 1;
        }
        if row.highest_ack > self.highest {
            let column = range.column(at);
            if column >= self.acked.len() {
                self.acked.resize(column + 1, 0.0);
            }
            self.acked[column] += (row.highest_ack - self.highest) as f64;
            self.highest = row.highest_ack;
        }
    }

    fn each(&mut self) -> impl Iterator<Item = &mut Decimator> {
        let series = [&mut self.cwnd, &mut self.ssthresh, &mut self.in_flight, &mut self.rtt];
        series.into_iter().chain(self.internals.iter_mut().map(|internal| &mut internal.1))
    }
}

/// The queue of a link, and its drops.
#[derive(Clone, Debug)]
pub(crate) struct LinkOverview {
    /// Number of the link.
    pub link: u32,
    /// Packets that it holds.
    pub queue: Decimator,
    /// Times of drops and the numbers of their flows: at most some of each column.
    pub drops: Vec<(f64, f64)>,
    column: usize,
    listed: usize,
}

/// How much of its medium a link uses, and how much its transmissions carry.
#[derive(Clone, Debug)]
pub(crate) struct LinkUse {
    /// In each column the time that it used the medium, as if alone, s.
    pub used: Vec<f64>,
    /// Packets of each transmission.
    pub packets: Decimator,
}

/// The use of a medium by a transmission.
pub(crate) struct MediumUse {
    /// When it begins, s.
    pub begin: f64,
    /// When it ends, s.
    pub end: f64,
    /// The part of the medium that it takes.
    pub share: f64,
    /// Its packets.
    pub packets: u32,
}

impl LinkUse {
    pub fn new(range: Range) -> LinkUse {
        LinkUse { used: Vec::new(), packets: Decimator::new(range, false) }
    }

    /// Adds a transmission.
    pub fn add(&mut self, range: Range, medium_use: &MediumUse) {
        let MediumUse { begin, end, share, packets } = *medium_use;
        let width = (range.to - range.from) / range.columns as f64;
        self.used.resize(range.columns, 0.0);
        for column in range.column(begin.max(range.from))..=range.column(end.min(range.to)) {
            let from = range.from + column as f64 * width;
            self.used[column] += share * (end.min(from + width) - begin.max(from)).max(0.0);
        }
        if packets > 0 {
            self.packets.push(begin, packets as f64);
        }
    }
}

/// Thinned curves of a run from its start to its end.
#[derive(Clone, Debug)]
pub(crate) struct Overview {
    /// The duration and its columns.
    pub range: Range,
    /// Of the first flows, by number.
    pub flows: Vec<FlowOverview>,
    /// One-way delays of data at their arrivals, of the first flows, those without a window included.
    pub delays: Vec<Decimator>,
    /// Of the links that had a queue or a drop.
    pub links: Vec<LinkOverview>,
    /// Of the links that share a medium, by number.
    pub uses: BTreeMap<u32, LinkUse>,
    /// With many flows: times, and the 10th, 50th and 90th percentile of their windows.
    pub percentiles: Vec<(f64, [f64; 3])>,
    /// Packets held by each link, and the place of its curves.
    held: Vec<(i64, Option<u32>)>,
    /// The window of each flow; NaN before its first row.
    windows: Vec<f64>,
    next_sample: usize,
}

impl Overview {
    /// An empty record of a run until `end_s`. `internals` has the names of the internal values of each flow.
    pub fn new(end_s: f64, internals: &[Vec<String>]) -> Overview {
        let range = Range { from: 0.0, to: end_s.max(f64::MIN_POSITIVE), columns: COLUMNS };
        Overview {
            range,
            flows: internals.iter().take(MOST_FLOWS).map(|names| FlowOverview::new(range, names)).collect(),
            delays: Vec::new(),
            links: Vec::new(),
            uses: BTreeMap::new(),
            percentiles: Vec::new(),
            held: Vec::new(),
            windows: vec![f64::NAN; internals.len()],
            next_sample: 1,
        }
    }

    /// Adds a row of a window, with the internal values of its flow.
    pub fn window(&mut self, at: f64, row: &WindowRow, internals: &[f64]) {
        self.reach(at);
        self.windows[row.flow as usize] = row.cwnd;
        let Some(flow) = self.flows.get_mut(row.flow as usize) else { return };
        flow.push(self.range, at, row);
        for ((_, curve), value) in flow.internals.iter_mut().zip(internals) {
            curve.push(at, *value);
        }
    }

    /// Adds the arrival of a data packet that was under way for `delay` seconds.
    pub fn arrival(&mut self, flow: u32, at: f64, delay: f64) {
        let flow = flow as usize;
        if flow >= MOST_FLOWS {
            return;
        }
        if flow >= self.delays.len() {
            self.delays.resize(flow + 1, Decimator::new(self.range, false));
        }
        self.delays[flow].push(at, delay);
    }

    /// Adds a packet event that changes the number of packets that its link holds by `change`.
    pub fn packet(&mut self, event: &PacketEvent, change: i64) {
        let at = event.at.seconds();
        self.reach(at);
        let dropped = matches!(event.step, PacketStep::Drop(_));
        if change == 0 && !dropped {
            return;
        }
        let link = event.link.0 as usize;
        if link >= self.held.len() {
            self.held.resize(link + 1, (0, None));
        }
        let (held, place) = &mut self.held[link];
        *held += change;
        if place.is_none() && (*held >= QUEUED || dropped) && self.links.len() < MOST_LINKS {
            *place = Some(self.links.len() as u32);
            let mut queue = Decimator::new(self.range, true);
            queue.push(0.0, 0.0);
            self.links.push(LinkOverview {
                link: event.link.0,
                queue,
                drops: Vec::new(),
                column: usize::MAX,
                listed: 0,
            });
        }
        let Some(overview) = place.and_then(|place| self.links.get_mut(place as usize)) else { return };
        if change != 0 {
            overview.queue.push(at, *held as f64);
        }
        if dropped {
            let column = self.range.column(at);
            overview.listed = if overview.column == column { overview.listed + 1 } else { 1 };
            overview.column = column;
            if overview.listed <= DROPS_PER_COLUMN {
                overview.drops.push((at, event.packet.flow as f64));
            }
        }
    }

    /// Adds a transmission on a medium.
    pub fn transmission(&mut self, transmission: &Transmission) {
        let link = transmission.link.0;
        if self.uses.len() >= MOST_LINKS && !self.uses.contains_key(&link) {
            return;
        }
        let medium_use = MediumUse {
            begin: transmission.begin.seconds(),
            end: transmission.end.seconds(),
            share: transmission.share(),
            packets: transmission.packets(),
        };
        let link_use = self.uses.entry(link).or_insert_with(|| LinkUse::new(self.range));
        link_use.add(self.range, &medium_use);
    }

    /// Takes the samples before a time.
    fn reach(&mut self, at: f64) {
        while at >= self.sample_time() {
            self.sample();
        }
    }

    fn sample_time(&self) -> f64 {
        self.range.to * self.next_sample as f64 / SAMPLES as f64
    }

    fn sample(&mut self) {
        let at = self.sample_time();
        self.next_sample += 1;
        if self.windows.len() >= MANY_FLOWS {
            let mut windows: Vec<f64> = self.windows.iter().copied().filter(|w| !w.is_nan()).collect();
            windows.sort_unstable_by(f64::total_cmp);
            if let Some(last) = windows.len().checked_sub(1) {
                self.percentiles.push((at, [1, 5, 9].map(|part| windows[last * part / 10])));
            }
        }
        while self.points() > MOST_POINTS && self.range.columns > 1 {
            self.halve();
        }
    }

    fn points(&self) -> usize {
        let flow = |flow: &FlowOverview| {
            let series = [&flow.cwnd, &flow.ssthresh, &flow.in_flight, &flow.rtt];
            series
                .into_iter()
                .chain(flow.internals.iter().map(|internal| &internal.1))
                .map(Decimator::len)
                .sum::<usize>()
        };
        let link = |link: &LinkOverview| link.queue.len() + link.drops.len();
        let delays = self.delays.iter().map(Decimator::len).sum::<usize>();
        let uses = self.uses.values().map(|of| of.packets.len() + of.used.len() / 2).sum::<usize>();
        let links = self.links.iter().map(link).sum::<usize>();
        self.flows.iter().map(flow).sum::<usize>() + delays + uses + links
    }

    /// Halves the number of columns.
    fn halve(&mut self) {
        self.range.columns /= 2;
        for flow in &mut self.flows {
            flow.each().for_each(|curve| *curve = curve.thinned(self.range));
            flow.acked = flow.acked.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
        for of_link in self.uses.values_mut() {
            of_link.packets = of_link.packets.thinned(self.range);
            of_link.used = of_link.used.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
        self.delays.iter_mut().for_each(|curve| *curve = curve.thinned(self.range));
        for link in &mut self.links {
            link.queue = link.queue.thinned(self.range);
            let (mut column, mut listed) = (usize::MAX, 0);
            link.drops.retain(|drop| {
                let series = self.range.column(drop.0);
                listed = if series == column { listed + 1 } else { 1 };
                column = series;
                listed <= DROPS_PER_COLUMN
            });
            (link.column, link.listed) = (column, listed);
        }
    }
}
