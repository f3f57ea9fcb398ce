//! Adds the flows: routes, senders and receivers, sources and sinks.

use super::links::copies;
use super::plan::{BuildPlan, Layout};
use crate::scenario::paths::FlowPath;
use crate::scenario::{CongestionControl, Direction, Flow, FlowKind, QuicFlow, TcpFlow};
use crate::simulation::apps::{self, AppPlace, Apps};
use crate::simulation::attached::{Application, AttachedFlow, AttachedPort};
use crate::simulation::endpoints::{Endpoints, FlowSchedule, PathFacts, QuicSetup};
use crate::simulation::ideal::IdealPath;
use crate::simulation::planned_start::PlannedStart;
use crate::simulation::probes::HANDOFF;
use crate::simulation::quic::QuicEndpoints;
use engine::Stream;
use net::Network;
use std::collections::BTreeMap;
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
    pub apps: Apps,
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
        apps: Apps::default(),
        receiving: Vec::new(),
        schedules: Vec::with_capacity(count),
        starts: Vec::new(),
        names: Vec::with_capacity(count),
        paths: Vec::with_capacity(count),
        probes: Vec::with_capacity(count),
        shared: Vec::new(),
    };
    let (mut back_routes, mut ideal_paths) = (Vec::new(), BTreeMap::new());
    for (number, index) in plan.numbered.iter().enumerate() {
        let flow = &plan.scenario.flows[*index];
        let routes = [2 * number, 2 * number + 1].map(|pair| network.add_route(&layout.paths[pair].segments));
        back_routes.push(routes[1]);
        let path = &layout.paths[2 * number];
        let mut facts = path_facts(flow, path, directions);
        if flow.bytes.is_some() || flow.app.is_some() {
            let ideal = ideal_path(flow, [path, &layout.paths[2 * number + 1]], directions);
            facts.ideal =
                flow.bytes.zip(ideal.as_ref()).map_or(Span::ZERO, |(bytes, path)| path.transfer(bytes));
            if flow.app.is_some() {
                ideal_paths.insert(number as u32, ideal);
            }
        }
        flows.paths.push(facts);
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
    flows.add_apps(plan, &back_routes, ideal_paths);
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
        segments = Some(tcp.options.segments(bytes));
        if !tcp.options.short_segments {
            short = tcp.options.missing(bytes);
        }
    }
    let writes = (!flow.writes.is_empty())
        .then(|| flow.writes.iter().rev().map(|(at, bytes)| (start + *at, *bytes)).collect());
    if let (FlowKind::Tcp(tcp), true) = (&flow.kind, writes.is_some()) {
        let add = |sum: u32, (_, bytes): &(Span, u64)| sum.saturating_add(tcp.options.segments(*bytes));
        segments = Some(flow.writes.iter().fold(0, add));
    }
    FlowSchedule {
        start,
        stop,
        started: false,
        segments,
        writes,
        short,
        bytes: flow.bytes.unwrap_or(u64::MAX),
    }
}

fn path_facts(flow: &Flow, path: &FlowPath, directions: &[&Direction]) -> PathFacts {
    if !path.is_wired() {
        return PathFacts::default();
    }
    let size = flow.kind.full_packet();
    let over = || path.links().map(|link| directions[link.0 as usize]);
    let delay = over().fold(Span::ZERO, |sum, d| sum + d.delay + d.rate.time_for(size as u64));
    PathFacts { empty: Some(delay), links: over().count() as u32, ideal: Span::ZERO }
}

/// The empty path of a flow, there and back, if it is over wires whose rates do not vary.
pub(super) fn ideal_path(flow: &Flow, paths: [&FlowPath; 2], directions: &[&Direction]) -> Option<IdealPath> {
    let fixed = |path: &FlowPath| {
        path.is_wired() && path.links().all(|link| directions[link.0 as usize].variation.is_none())
    };
    if !paths.iter().all(|path| fixed(path)) {
        return None;
    }
    let [links, back] = paths.map(|path| {
        let direction = |link: &net::LinkId| directions[link.0 as usize];
        path.links().map(|link| (direction(link).rate, direction(link).delay)).collect()
    });
    let (mss, header) = (u64::from(flow.kind.segment()), u64::from(flow.kind.header()));
    let ack = match &flow.kind {
        FlowKind::Tcp(tcp) => u64::from(tcp.options.ack_size),
        _ => header,
    };
    Some(IdealPath { mss, header, ack, links, back })
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
        if flow.app.is_none() {
            self.receiving.push((forward, Some(back)));
        }
        self.receivers.push(receiver);
        let mut sender = Sender::new(setup, options, controller);
        if let Some(needs) = plan.scenario.prepared.signals.get(&plan.numbered[number as usize]) {
            sender.prepare(*needs);
        }
        if self.schedules[number as usize].writes.is_some() || flow.app.is_some() {
            sender.write_in_portions();
        } else if let Some(bytes) = flow.bytes {
            sender.has_bytes(bytes);
        }
        self.senders.push(sender);
        self.add_probes(plan, &tcp.control);
    }

    /// Adds the applications; `routes` has for each flow the route of its requests, `ideals` the empty path of those with an
    /// application.
    fn add_apps(
        &mut self,
        plan: &BuildPlan<'_>,
        routes: &[u32],
        mut ideals: BTreeMap<u32, Option<IdealPath>>,
    ) {
        for index in plan.numbered.iter() {
            let flow = &plan.scenario.flows[*index];
            let Some(app) = flow.app.as_ref().filter(|_| flow.connection == 0) else { continue };
            if matches!(flow.kind, FlowKind::Attached(_)) {
                continue;
            }
            let count = if flow.shares_connections() { app.connections() as usize } else { 1 };
            let numbers: Vec<u32> = plan.order[*index..*index + count].to_vec();
            let first = numbers[0] as usize;
            let place = apps::Place {
                flows: &numbers,
                name: &flow.name,
                seed: plan.seed,
                quic: matches!(flow.kind, FlowKind::Quic(_)),
                base_delay: self.paths[first].empty,
                ideal: ideals.remove(&numbers[0]).flatten(),
                start: self.schedules[first].start,
                stop: self.schedules[first].stop,
            };
            let header = flow.kind.header();
            let connections = numbers.iter().enumerate().map(|(connection, flow)| {
                (
                    *flow,
                    AppPlace { app: 0, connection: connection as u32, route: routes[*flow as usize], header },
                )
            });
            let mut app = apps::Application::new(app, place);
            if plan.settings.recording.packets {
                app.record_handovers();
            }
            self.apps.add(app, connections, plan.numbered.len());
        }
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
            written: !flow.writes.is_empty() || flow.app.is_some(),
            streams: flow.app.as_ref().map(|app| app.open_streams()),
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
