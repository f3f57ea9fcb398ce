//! What is seen of one run, of a stack or of the reference, and the numbers that are compared.

use super::case::{Case, RunOptions, StackEnds};
use super::situations::{Metric, Situation};
use crate::network::{Driver, Limits, Network, PortCounts};
use crate::{Run, Scenario, Settings};
use lab::RunAccount;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use units::{Span, Time};

/// What is seen of one run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecord {
    /// The seed.
    pub seed: u64,
    /// Time between two points of the curves, s.
    pub step_s: f64,
    /// Of each judged flow, its start, s.
    pub start_s: Vec<f64>,
    /// Of each judged flow, payload delivered at the end of each step, bytes.
    pub delivered: Vec<Vec<u64>>,
    /// Of the flow beside the stack's, payload delivered, bytes; `None` without one.
    pub rival_bytes: Option<u64>,
    /// Packets that the bottleneck dropped, at the end of each step.
    pub drops: Vec<u64>,
    /// Packets that the bottleneck delivered, dropped and marked.
    pub packets: [u64; 3],
    /// Of the first flow: bytes on the wire that arrived.
    pub wire_bytes: u64,
    /// Of the first flow: mean delay, 95th percentile, and that of an empty path, s.
    pub delay_s: [Option<f64>; 3],
    /// When the application writes, since the start of the run, s, and how many bytes it has written then.
    pub writes: Vec<(f64, u64)>,
    /// Bytes of the transfer.
    pub bytes: Option<u64>,
    /// What the stack said of itself: time, s, and words.
    pub said: Vec<(f64, String)>,
    /// Of a stack: what tells whether its adapter or its application limits it.
    pub audit: Option<AdapterAudit>,
}

/// What tells whether an adapter or its application limits a stack.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AdapterAudit {
    /// Part of the time in which the stack said that the application limits it; `None` if it does not say.
    pub app_limited: Option<f64>,
    /// Mean datagram of the source with at least 100 bytes, bytes.
    pub mean_datagram: f64,
    /// Largest datagram of the source that was not above the MTU, bytes.
    pub largest_datagram: f64,
    /// Datagrams above the MTU, which the network dropped.
    pub too_long: u64,
    /// Datagrams of the source.
    pub sent: u64,
    /// Steps of the driver.
    pub steps: u64,
    /// Whether the payload was counted by the stack; otherwise the bytes of the datagrams stand for it.
    pub counts_payload: bool,
}

/// Puts one point of each curve into a record.
struct Curves<'a> {
    record: &'a mut RunRecord,
}

impl Curves<'_> {
    fn add(&mut self, delivered: impl Iterator<Item = u64>, account: &RunAccount) {
        for (curve, bytes) in self.record.delivered.iter_mut().zip(delivered) {
            curve.push(bytes);
        }
        self.record.drops.push(account.links[0].dropped.iter().sum());
    }
}

/// The times at which curves have points: every `step` after zero, to the end.
fn points(step: Span, end: Time) -> impl Iterator<Item = Time> {
    let count = end.ns() / step.ns();
    (1..=count).map(move |n| Time::from_ns(n * step.ns()))
}

impl RunRecord {
    fn begin(situation: &Situation, scenario: &Scenario, seed: u64) -> RunRecord {
        let resolved = scenario.resolve();
        let flows = situation.flows.len();
        let first = &scenario.flows[0];
        let mut written = 0;
        let writes = first.writes.iter().map(|(at, bytes)| {
            written += bytes;
            ((first.start + *at).seconds(), written)
        });
        RunRecord {
            seed,
            step_s: situation.step.seconds(),
            start_s: resolved.flows.iter().take(flows).map(|flow| flow.start_s).collect(),
            delivered: vec![Vec::new(); flows],
            writes: writes.collect(),
            bytes: first.bytes,
            ..RunRecord::default()
        }
    }

    fn finish(&mut self, situation: &Situation, outcome: &crate::Outcome) {
        let (link, flow) = (&outcome.links[0], &outcome.flows[0]);
        let dropped: u64 = net::DropReason::ALL.iter().map(|reason| link.dropped_packets[*reason]).sum();
        self.packets = [link.delivered_packets, dropped, link.marked_packets];
        self.wire_bytes = (flow.throughput_bps * outcome.duration_s / 8.0).round() as u64;
        self.delay_s = [flow.mean_delay_s, flow.p95_delay_s, flow.base_delay_s];
        self.rival_bytes = outcome.flows.get(situation.flows.len()).map(|rival| rival.delivered_bytes);
    }

    /// Runs a scenario whose flows are all simulated.
    pub(super) fn of_simulation(
        situation: &Situation,
        scenario: &Scenario,
        seed: u64,
    ) -> Result<RunRecord, String> {
        let settings = Settings { seed: Some(seed), ..Settings::default() };
        let mut run = Run::new(scenario, settings).map_err(|error| error.to_string())?;
        let mut record = RunRecord::begin(situation, scenario, seed);
        for at in points(situation.step, run.end()) {
            run.advance_to(at);
            let account = run.account(at);
            let delivered = account.flows.iter().map(|flow| flow.delivered_bytes);
            Curves { record: &mut record }.add(delivered, &account);
        }
        run.finish();
        record.finish(situation, &run.outcome());
        Ok(record)
    }

    /// Runs a stack in a scenario. The message of an error names the time and the call.
    pub(super) fn of_stack(
        situation: &Situation,
        scenario: &Scenario,
        options: &RunOptions<'_>,
        case: &Case,
        make: &(dyn Fn(&Case) -> Result<StackEnds, String> + Sync),
    ) -> Result<RunRecord, String> {
        let mut open =
            Network::open(scenario).header(options.stack.header).mtu(options.stack.mtu).seed(case.seed);
        for flow in situation.flows {
            open = open.attach(flow);
        }
        let mut network = open.start().map_err(|error| error.to_string())?;
        let mut record = RunRecord::begin(situation, scenario, case.seed);
        let mut stacks = Vec::new();
        for flow in situation.flows {
            let application = network.application(flow).unwrap_or_else(|| unreachable!("an attached flow"));
            let case = Case { flow: flow.to_string(), application, ..case.clone() };
            let made = catch_unwind(AssertUnwindSafe(|| make(&case)));
            stacks.push(made.map_err(|panic| format!("panicked when it was made: {}", words_of(&*panic)))??);
        }
        let end = network.end();
        let mut place = 0;
        let times: Vec<Time> = points(situation.step, end).collect();
        let driven = catch_unwind(AssertUnwindSafe(|| {
            let mut driver =
                Driver::new(&mut network).granularity(options.stack.granularity).limits(Limits::default());
            for (number, ends) in stacks.iter_mut().enumerate() {
                let ports = [2 * number as u32, 2 * number as u32 + 1].map(crate::network::Port::numbered);
                driver = match ends {
                    StackEnds::Both(both) => driver.endpoint(ports, &mut **both),
                    StackEnds::Each(each) => {
                        let [source, destination] = each;
                        driver.endpoint([ports[0]], &mut **source).endpoint([ports[1]], &mut **destination)
                    }
                };
            }
            let record = &mut record;
            let look = |network: &mut Network| {
                while let Some(at) = times.get(place).filter(|at| **at <= network.now()) {
                    let account = network.account(*at);
                    let delivered = delivered(network, situation.flows.len());
                    Curves { record }.add(delivered.into_iter().map(|(bytes, _)| bytes), &account);
                    place += 1;
                }
            };
            driver.observe(situation.step, look).stop(options.stop).run()
        }));
        let now_s = network.now().seconds();
        let driven = match driven {
            Ok(Ok(driven)) => driven,
            Ok(Err(error)) => return Err(error.to_string()),
            Err(panic) => return Err(format!("panicked at {now_s:.6} s: {}", words_of(&*panic))),
        };
        // A stack that finished early leaves the curves flat from that time on.
        let last = delivered(&network, situation.flows.len());
        for (curve, (bytes, _)) in record.delivered.iter_mut().zip(&last) {
            curve.resize(times.len(), *bytes);
            if let Some(point) = curve.last_mut() {
                *point = (*point).max(*bytes);
            }
        }
        let drops = driven.outcome.links[0].dropped_packets;
        let dropped = net::DropReason::ALL.iter().map(|reason| drops[*reason]).sum();
        record.drops.resize(times.len(), dropped);
        record.finish(situation, &driven.outcome);
        let counts = network.counts(crate::network::Port::numbered(0)).map_err(|error| error.to_string())?;
        if counts.sent == 0 {
            return Err(format!("no datagram in {} s", end.seconds()));
        }
        record.audit = Some(AdapterAudit {
            app_limited: app_limited(&network, end),
            mean_datagram: mean_datagram(&counts),
            largest_datagram: counts.largest.into(),
            too_long: counts.too_long,
            sent: counts.sent,
            steps: driven.steps,
            counts_payload: last[0].1,
        });
        record.said = said(&network);
        Ok(record)
    }

    /// The number that is compared; `None` if the run has none.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        let between = |flow: usize, from: f64, to: f64| {
            Some((self.at(flow, to)? - self.at(flow, from)?) * 8.0 / (to - from))
        };
        let end = self.step_s * self.delivered.first()?.len() as f64;
        let queueing = |place: usize| Some((self.delay_s[place]? - self.delay_s[2]?).max(0.0));
        let [delivered, dropped, marked] = self.packets.map(|count| count as f64);
        let ratio = |part: f64, whole: f64| (whole > 0.0).then_some(part / whole);
        match metric {
            Metric::Goodput => between(0, *self.start_s.first()?, end),
            Metric::GoodputFirst => between(0, *self.start_s.first()?, 10.0),
            Metric::GoodputSecond => between(0, 10.0, 20.0),
            Metric::GoodputThird => between(0, 20.0, 30.0),
            Metric::MeanQueueing => queueing(0),
            Metric::P95Queueing => queueing(1),
            Metric::LossRate => ratio(dropped, delivered + dropped),
            Metric::MarkRate => ratio(marked, delivered),
            Metric::WireOverPayload => ratio(self.wire_bytes as f64, self.at(0, end)?),
            Metric::Completion => {
                let bytes = self.bytes?;
                Some(self.reaches(bytes).map_or(end, |at| at - self.start_s[0]))
            }
            Metric::Lateness => {
                let mut late: Vec<f64> = self.late_writes(end);
                late.sort_by(f64::total_cmp);
                late.get((0.95 * late.len() as f64).ceil().max(1.0) as usize - 1).copied()
            }
            Metric::Recovery => self.time_to(0.8 * between(0, 5.0, 10.0)?, 12.0, 0.2),
            Metric::TimeTo90 => self.time_to(0.9 * between(0, 5.0, 10.0)?, 20.0, 0.2),
            Metric::Share => {
                let (own, rival) = (self.at(0, end)?, self.rival_bytes? as f64);
                ratio(own, own + rival)
            }
            Metric::Jain => self.jain(20.0, end),
            Metric::TimeToFair => {
                let start = *self.start_s.get(1)?;
                let from = |second: u32| start + f64::from(second);
                let fair = |second: &u32| {
                    self.jain(from(*second), from(*second) + 1.0).is_some_and(|index| index >= 0.9)
                };
                let last = (end - start).floor() as u32;
                Some((0..last).find(fair).map_or(end - start, |second| f64::from(second) + 1.0))
            }
        }
    }

    /// Payload of a flow at a time, between two points of its curve.
    pub(super) fn at(&self, flow: usize, time: f64) -> Option<f64> {
        let curve = self.delivered.get(flow)?;
        let place = time / self.step_s;
        let point = |n: usize| if n == 0 { 0.0 } else { curve[n.min(curve.len()) - 1] as f64 };
        let (before, part) = (place.floor(), place - place.floor());
        let (low, high) = (point(before as usize), point(before as usize + 1));
        Some(low + part * (high - low))
    }

    /// The time at which the first flow has so many bytes.
    fn reaches(&self, bytes: u64) -> Option<f64> {
        let place = self.delivered[0].iter().position(|delivered| *delivered >= bytes)?;
        Some((place + 1) as f64 * self.step_s)
    }

    /// Of each write that could arrive before the end, the time until its last byte was delivered.
    fn late_writes(&self, end: f64) -> Vec<f64> {
        let each = self.writes.iter().filter(|(at, _)| *at < end - 0.5);
        each.map(|(at, bytes)| self.reaches(*bytes).unwrap_or(end) - at).collect()
    }

    /// The time after `from` at which the rate of the first flow over `window` seconds is at least `rate`.
    fn time_to(&self, rate: f64, from: f64, window: f64) -> Option<f64> {
        let end = self.step_s * self.delivered[0].len() as f64;
        let count = ((end - from) / self.step_s).floor() as usize;
        let reached = (1..=count).map(|n| n as f64 * self.step_s).find(|after| {
            let to = from + after;
            let begin = (to - window).max(from);
            let bytes = self.at(0, to).unwrap_or(0.0) - self.at(0, begin).unwrap_or(0.0);
            *after >= window && bytes * 8.0 / (to - begin) >= rate
        });
        Some(reached.unwrap_or(end - from))
    }

    /// Jain's index of the first two flows in an interval.
    fn jain(&self, from: f64, to: f64) -> Option<f64> {
        let rates: Vec<f64> =
            (0..2).map(|flow| Some(self.at(flow, to)? - self.at(flow, from)?)).collect::<Option<_>>()?;
        let (sum, squares): (f64, f64) = (rates.iter().sum(), rates.iter().map(|rate| rate * rate).sum());
        (squares > 0.0).then(|| sum * sum / (2.0 * squares))
    }
}

/// The message of a panic.
fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
}

/// Mean of the datagrams that carry data, bytes.
fn mean_datagram(counts: &PortCounts) -> f64 {
    let [small, small_bytes] = counts.small;
    match counts.sent.saturating_sub(small) {
        0 => counts.sent_bytes as f64 / counts.sent.max(1) as f64,
        large => (counts.sent_bytes - small_bytes) as f64 / large as f64,
    }
}

/// Payload of each attached flow, and whether the stack counted it. Otherwise the bytes of its datagrams stand for it.
fn delivered(network: &Network, flows: usize) -> Vec<(u64, bool)> {
    let port = |number: usize| crate::network::Port::numbered(number as u32);
    let of_flow = |flow: usize| {
        let said = network.last_sample(port(2 * flow + 1)).and_then(|sample| sample.delivered_bytes);
        match said {
            Some(bytes) => (bytes, true),
            None => (network.counts(port(2 * flow)).map_or(0, |counts| counts.received_bytes), false),
        }
    };
    (0..flows).map(of_flow).collect()
}

/// Part of the time in which the source said that the application limits it.
fn app_limited(network: &Network, end: Time) -> Option<f64> {
    let rows = network.samples().iter().filter(|row| row.port.number() == 0);
    let rows: Vec<(Time, bool)> = rows.filter_map(|row| Some((row.at, row.sample.app_limited?))).collect();
    let begin = rows.first()?.0;
    let ends = rows.iter().skip(1).map(|row| row.0).chain([end]);
    let limited = rows.iter().zip(ends).filter(|((_, limited), _)| *limited);
    let limited: f64 = limited.map(|((at, _), until)| until.since(*at).seconds()).sum();
    Some(limited / end.since(begin).seconds().max(1e-9))
}

/// What the source said of its state, at most every 10 ms.
fn said(network: &Network) -> Vec<(f64, String)> {
    let mut rows: Vec<(f64, String)> = Vec::new();
    for row in network.samples().iter().filter(|row| row.port.number() == 0) {
        let at = row.at.seconds();
        if rows.last().is_some_and(|last| at < last.0 + 0.01) {
            continue;
        }
        let mut words = Vec::new();
        if let Some(state) = &row.sample.state {
            words.push(format!("state {state}"));
        }
        if let Some(cwnd) = row.sample.cwnd_bytes {
            words.push(format!("cwnd {:.1} kB", cwnd as f64 / 1e3));
        }
        if let Some(pacing) = row.sample.pacing_bps {
            words.push(format!("pacing {:.1} Mb/s", pacing as f64 / 1e6));
        }
        if !words.is_empty() {
            rows.push((at, words.join(", ")));
        }
    }
    rows
}
