//! Adds the flows: routes, senders and receivers, sources and sinks.

use super::links::copies;
use super::plan::{BuildPlan, Layout};
use crate::scenario::paths::FlowPath;
use crate::scenario::{CongestionControl, Direction, Flow, FlowKind, QuicFlow, TcpFlow};
use crate::simulation::attached::{Application, AttachedFlow, AttachedPort};
use crate::simulation::endpoints::{Endpoints, FlowSchedule, PathFacts, QuicSetup};
use crate::simulation::planned_start::PlannedStart;
use crate::simulation::probes::HANDOFF;
use crate::simulation::quic::QuicEndpoints;
use engine::Stream;
use net::Network;
use std::sync::Arc;
use transport::start::SavedFrom;
use transport::{
    ArrivalDetail, FlowTimer, Options, PacketNumbers, Receiver, ReceiverStats, Sender, Setup, UdpSource,
};
use units::{Span, Time};

/// The flows of a simulation, by number.
pub(super) struct Flows {
    pub endpoints: Vec<Endpoints>,
    pub senders: Vec<Sender>,
    pub receivers: Vec<Receiver>,
    pub quic: Vec<QuicEndpoints>,
    pub udp: Vec<(UdpSource, ReceiverStats)>,
    pub attached: Vec<AttachedFlow>,
    /// Routes of the data and, for TCP, of the acknowledgements of TCP and UDP flows.
    pub receiving: Vec<(u32, Option<u32>)>,
    pub schedules: Vec<FlowSchedule>,
    /// Those that start with saved values or a jump.
    pub starts: Vec<PlannedStart>,
    pub names: Vec<String>,
    pub paths: Vec<PathFacts>,
    /// For each TCP and QUIC flow, the names of the internal values in the trace.
    pub probes: Vec<Vec<String>>,
    /// Options that several flows share, each with the address of the first flow's.
    shared: Vec<(*const Options, Arc<Options>)>,
}

/// Adds every flow, with its routes.
pub(super) fn add_flows(
    plan: &BuildPlan<'_>,
    layout: &Layout<'_>,
    directions: &[&Direction],
    network: &mut Network,
) -> Flows {
    let count = plan.numbered.len();
    let mut flows = Flows {
        endpoints: Vec::with_capacity(count),
        senders: engine::large_vec(count),
        receivers: engine::large_vec(count),
        quic: Vec::new(),
        udp: Vec::new(),
        attached: Vec::new(),
        receiving: Vec::new(),
        schedules: Vec::with_capacity(count),
        starts: Vec::new(),
        names: Vec::with_capacity(count),
        paths: Vec::with_capacity(count),
        probes: Vec::with_capacity(count),
        shared: Vec::new(),
    };
    for (number, index) in plan.numbered.iter().enumerate() {
        let flow = &plan.scenario.flows[*index];
        let routes = [2 * number, 2 * number + 1].map(|pair| network.add_route(&layout.paths[pair].segments));
        let path = &layout.paths[2 * number];
        flows.paths.push(path_facts(flow, path, directions));
        flows.names.push(flow.name.clone());
        flows.schedules.push(schedule(plan, flow));
        let copied = copies_arrive(path, directions);
        match &flow.kind {
            FlowKind::Tcp(tcp) => {
                let answered = answers_quick_start(path, directions);
                flows.add_tcp(plan, number as u32, flow, tcp, routes, answered);
                if tcp.options.small_queues
                    && let Some(first) = path.links().next()
                {
                    let timer = number as u32 * FlowTimer::COUNT + FlowTimer::Pace as u32;
                    network.links.limit_local(number as u32, *first, timer);
                }
            }
            FlowKind::Quic(quic) => flows.add_quic(plan, number as u32, flow, quic, routes, copied),
            FlowKind::Udp { .. } => flows.add_udp(plan, number as u32, flow, routes[0], copied),
            FlowKind::Attached(ends) => {
                let paths = [path, &layout.paths[2 * number + 1]];
                let ports = paths.map(|path| {
                    let base_delay = path_facts(flow, path, directions).empty;
                    AttachedPort::new(counters(plan, copies_arrive(path, directions)), base_delay)
                });
                flows.endpoints.push(Endpoints::Attached(flows.attached.len()));
                let start = flows.schedules[number].start;
                let application = Application {
                    start,
                    stop: flow.stop.map(|stop| Time::ZERO + stop),
                    bytes: flow.bytes,
                    writes: flow.writes.iter().map(|(at, bytes)| (start + *at, *bytes)).collect(),
                };
                let attached = AttachedFlow { flow: number as u32, routes, ends: *ends, application, ports };
                flows.attached.push(attached);
            }
        }
    }
    flows.plan_starts(plan);
    flows
}

fn schedule(plan: &BuildPlan<'_>, flow: &Flow) -> FlowSchedule {
    let mut start = Time::ZERO + flow.start;
    if flow.start_jitter > Span::ZERO {
        let part = Stream::new(plan.seed, "start", &flow.name).uniform();
        start += Span::from_ps((part * flow.start_jitter.ps() as f64) as u64);
    }
    let stop = flow.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop);
    let (mut segments, mut short) = (None, 0);
    if let (FlowKind::Tcp(tcp), Some(bytes)) = (&flow.kind, flow.bytes) {
        let mss = tcp.options.packet as u64;
        segments = Some(bytes.div_ceil(mss) as u32);
        short = bytes.div_ceil(mss) * mss - bytes;
    }
    let writes = (!flow.writes.is_empty()).then(|| writes(flow, start));
    if let Some(writes) = &writes {
        segments = Some(writes.iter().fold(0u32, |sum, write| sum.saturating_add(write.1)));
    }
    FlowSchedule { start, stop, started: false, segments, writes, short }
}

/// The writes of an application in whole segments, of QUIC in bytes, the last one first.
fn writes(flow: &Flow, start: Time) -> Vec<(Time, u32)> {
    let mss = if let FlowKind::Tcp(tcp) = &flow.kind { tcp.options.packet as u64 } else { 1 };
    let segments = |bytes: u64| bytes.div_ceil(mss).min(u32::MAX as u64) as u32;
    flow.writes.iter().rev().map(|(at, bytes)| (start + *at, segments(*bytes))).collect()
}

fn path_facts(flow: &Flow, path: &FlowPath, directions: &[&Direction]) -> PathFacts {
    if !path.is_wired() {
        return PathFacts::default();
    }
    let size = flow.kind.full_packet();
    let over = || path.links().map(|link| directions[link.0 as usize]);
    let delay = over().fold(Span::ZERO, |sum, d| sum + d.delay + d.rate.time_for(size as u64));
    PathFacts { empty: Some(delay), links: over().count() as u32 }
}

/// Whether copies of packets can arrive over a path: from links that send them, or by radio, where routers repeat packets
/// whose acknowledgement is lost.
fn copies_arrive(path: &FlowPath, directions: &[&Direction]) -> bool {
    if path.is_wired() {
        return path.links().any(|link| copies(&directions[link.0 as usize].losses));
    }
    path.has_radio() || directions.iter().any(|direction| copies(&direction.losses))
}

/// Whether every router of a path processes Quick-Start requests; the first link is the host's own.
fn answers_quick_start(path: &FlowPath, directions: &[&Direction]) -> bool {
    path.is_wired()
        && path
            .links()
            .skip(1)
            .all(|link| matches!(directions[link.0 as usize].router, Some(net::RouterConfig::QuickStart(_))))
}

impl Flows {
    fn add_tcp(
        &mut self,
        plan: &BuildPlan<'_>,
        number: u32,
        flow: &Flow,
        tcp: &TcpFlow,
        [forward, back]: [u32; 2],
        quick_start_answered: bool,
    ) {
        let options = self.shared_options(&tcp.options);
        let hops = self.paths[number as usize].links;
        let info = tcp.flow_info(Stream::new(plan.seed, "controller", &flow.name).bits(), hops);
        let controller = tcp.control.make(&info);
        let tick = options.clock_tick.ps() as f64;
        let phase = || Stream::new(plan.seed, "clock phase", &flow.name).uniform() * tick;
        let setup = Setup {
            flow: number,
            route: forward,
            segments: self.schedules[number as usize].segments,
            clock_phase: options.clock_phase.unwrap_or_else(|| Span::from_ps(phase() as u64)),
            quick_start_path: options.requests_quick_start() && quick_start_answered,
        };
        let mut receiver = Receiver::new(number, back, options.clone());
        receiver.stats = counters(plan, false); // it finds duplicates by itself
        self.endpoints.push(Endpoints::Tcp(self.senders.len()));
        self.receiving.push((forward, Some(back)));
        self.receivers.push(receiver);
        let mut sender = Sender::new(setup, options, controller);
        if let Some(needs) = plan.scenario.prepared.signals.get(&plan.numbered[number as usize]) {
            sender.prepare(*needs);
        }
        if self.schedules[number as usize].writes.is_some() {
            sender.write_in_portions();
        }
        self.senders.push(sender);
        self.add_probes(plan, &tcp.control);
    }

    /// Notes the flows that start with saved values or a jump, and lets those observe their paths whose values they use.
    fn plan_starts(&mut self, plan: &BuildPlan<'_>) {
        for (number, index) in plan.numbered.iter().enumerate() {
            let kind = &plan.scenario.flows[*index].kind;
            let (packet, initial) = (kind.segment(), kind.initial_window());
            let Some(options) = kind.start().and_then(|start| start.options(packet)) else { continue };
            let (mut source, mut scale) = (None, 1.0);
            if let Some(transport::start::Resume { from: SavedFrom::Flow(name), .. }) = &options.resume {
                source = self.names.iter().position(|other| other == name).map(|flow| flow as u32);
            }
            if let Some(flow) = source {
                let earlier = &plan.scenario.flows[plan.numbered[flow as usize]];
                scale = f64::from(earlier.kind.segment()) / f64::from(packet);
                match self.endpoints[flow as usize] {
                    Endpoints::Tcp(index) => self.senders[index].observe_path(),
                    Endpoints::Quic(index) => self.quic[index].observe_path(),
                    Endpoints::Udp(_) | Endpoints::Attached(_) => {}
                }
            }
            let flow = number as u32;
            self.starts.push(PlannedStart { flow, options, initial, source, scale, used: false });
        }
    }

    /// Adds the columns of the internal values of a flow's controller.
    fn add_probes(&mut self, plan: &BuildPlan<'_>, control: &CongestionControl) {
        let mut probes = control.probes();
        if plan.scenario.satellites.is_some() {
            probes.push(HANDOFF.into());
        }
        self.probes.push(probes);
    }

    /// The options, shared with the earlier flows that have the same.
    fn shared_options(&mut self, options: &Options) -> Arc<Options> {
        let same = self
            .shared
            .iter()
            .find(|(address, shared)| std::ptr::eq(*address, options) || **shared == *options);
        if let Some((_, shared)) = same {
            return shared.clone();
        }
        let new = Arc::new(options.clone());
        self.shared.push((options, new.clone()));
        new
    }

    fn add_quic(
        &mut self,
        plan: &BuildPlan<'_>,
        number: u32,
        flow: &Flow,
        quic: &Arc<QuicFlow>,
        routes: [u32; 2],
        copied: bool,
    ) {
        let seeds = ["quic", "controller"].map(|name| Stream::new(plan.seed, name, &flow.name).bits());
        let written = flow.writes.iter().map(|(_, bytes)| bytes).sum();
        let bytes = if flow.writes.is_empty() { flow.bytes } else { Some(written) };
        let setup = QuicSetup {
            flow: number,
            options: quic.clone(),
            routes,
            bytes,
            written: !flow.writes.is_empty(),
            qlog: plan.settings.recording.qlog.then(|| flow.name.clone()),
            counters: counters(plan, copied),
        };
        self.endpoints.push(Endpoints::Quic(self.quic.len()));
        self.quic.push(QuicEndpoints::new(setup, seeds, self.paths[number as usize].links));
        self.add_probes(plan, &quic.control);
    }

    fn add_udp(&mut self, plan: &BuildPlan<'_>, number: u32, flow: &Flow, route: u32, copied: bool) {
        let FlowKind::Udp { packet, schedule, period, jitter } = &flow.kind else { return };
        let times = &self.schedules[number as usize];
        let mut source = UdpSource::new(number, route, *packet, schedule.clone(), times.stop);
        if let Some(period) = period {
            source = source.repeating(times.start, *period);
        }
        if *jitter > 0.0 {
            source = source.with_jitter(*jitter, Stream::new(plan.seed, "gaps", &flow.name));
        }
        self.endpoints.push(Endpoints::Udp(self.udp.len()));
        self.receiving.push((route, None));
        self.udp.push((source, counters(plan, copied)));
    }
}

/// The counters of a receiver or a sink. They record the delay of every packet if the scenario has delay quantiles, its
/// number if it is to be compared with those before (`copied`).
fn counters(plan: &BuildPlan<'_>, copied: bool) -> ReceiverStats {
    let detail = ArrivalDetail {
        delays: plan.scenario.delays.then(Vec::new),
        numbers: copied.then(PacketNumbers::default),
        warmup_end: (plan.scenario.warmup > Span::ZERO).then(|| Time::ZERO + plan.scenario.warmup),
    };
    let records = detail.delays.is_some() || detail.numbers.is_some() || detail.warmup_end.is_some();
    ReceiverStats { detail: records.then(|| Box::new(detail)), ..ReceiverStats::default() }
}
