//! From a scenario to a simulation: nodes and routes, links, senders and receivers, in a fixed order.

use super::{FlowSchedule, Settings, Simulation, Warmup, satellites};
use crate::audit::RadioAuditor;
use crate::audit::{AuditedLink, Auditor};
use crate::error::ScenarioError;
use crate::scenario::paths::{FlowPath, flow_paths, lay_out, radio_names};
use crate::scenario::{Direction, FlowKind, Loss, Scenario};
use crate::simulation::recorder::Recorder;
use engine::{EventQueue, Stream};
use net::impairment::{Bernoulli, GilbertElliott, Impairment, List};
use net::radio::Radio;
use net::{LinkId, LinkSpec, Network, NodeId};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use transport::{BlockPool, FlowTimer, Options, Receiver, ReceiverStats, Sender, Setup, UdpSource};
use units::{Span, Time};

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    pub(super) fn build(
        scenario: &Scenario,
        settings: Settings,
        stop: &AtomicBool,
    ) -> Result<Self, ScenarioError> {
        let seed = settings.seed.unwrap_or(scenario.seed);
        let end = Time::ZERO + scenario.duration;
        let radio_nodes = radio_names(scenario.radio.as_deref());
        let (topology, nodes, mut layout) = match (&scenario.satellites, &scenario.radio) {
            (Some(satellites), _) => {
                let (topology, nodes, layout) = satellites::lay_out(scenario, satellites, seed, stop);
                (topology, nodes, Some(layout))
            }
            _ => {
                let (topology, nodes) = lay_out(&scenario.links, &radio_nodes);
                (topology, nodes, None)
            }
        };
        // TCP flows first, UDP flows after them.
        let is_tcp = |i: &usize| matches!(scenario.flows[*i].kind, FlowKind::Tcp(_));
        let all = || 0..scenario.flows.len();
        let numbered: Vec<usize> = all().filter(is_tcp).chain(all().filter(|i| !is_tcp(i))).collect();
        let mut order = vec![0u32; numbered.len()];
        for (number, index) in numbered.iter().enumerate() {
            order[*index] = number as u32;
        }
        let ends: Vec<[NodeId; 2]> = numbered
            .iter()
            .map(|i| [nodes[scenario.flows[*i].from.as_str()], nodes[scenario.flows[*i].to.as_str()]])
            .collect();
        let pairs: Vec<(NodeId, NodeId)> = ends.iter().flat_map(|[a, b]| [(*a, *b), (*b, *a)]).collect();
        // Over moving links paths are found hop by hop.
        let routes: Vec<FlowPath> = match &layout {
            Some(_) => Vec::new(),
            None => flow_paths(&topology, radio_nodes.len(), &pairs)
                .unwrap_or_else(|| unreachable!("a scenario's flows have paths")),
        };

        let moving =
            layout.as_mut().map_or(Vec::new(), |satellites| std::mem::take(&mut satellites.directions));
        let directions: Vec<&Direction> =
            scenario.links.iter().flat_map(|l| &l.directions).chain(&moving).collect();
        let hops = routes.iter().map(|route| route.links().count() + 3).sum();
        let mut network = Network::new(end, directions.len(), hops);
        if settings.unfused {
            network.unfuse();
        }
        let delay_of = |route: &FlowPath| {
            route.links().fold(Span::ZERO, |sum, link| sum + directions[link.0 as usize].delay)
        };
        let usual = layout.as_ref().map_or(Span::ZERO, |satellites| satellites.round_trip(&pairs));
        let mut round_trip = vec![usual; directions.len()];
        for pair in routes.chunks_exact(2) {
            let both = delay_of(&pair[0]) + delay_of(&pair[1]);
            for link in pair.iter().flat_map(FlowPath::links) {
                let longest = &mut round_trip[link.0 as usize];
                *longest = both.max(*longest);
            }
        }
        let mut audited = Vec::new();
        for (i, direction) in directions.iter().enumerate() {
            let link = LinkId(i as u32);
            // Without a flow over it, a link's own two directions make its round trip.
            let own = || direction.delay + directions.get(i ^ 1).map_or(Span::ZERO, |back| back.delay);
            let rtt = if round_trip[i] == Span::ZERO { own() } else { round_trip[i] };
            let stream = |purpose: &str| {
                // Parallel links have one name: the later ones add their number.
                let twin = (0..i).any(|other| topology.ends(LinkId(other as u32)) == topology.ends(link));
                let number = if twin { format!("#{i}") } else { String::new() };
                Stream::new(seed, purpose, &format!("{}{number}", topology.link_name(link)))
            };
            let limit = direction.queue.limit(direction.rate, rtt);
            let qdisc = direction.queue.build(direction.rate, direction.delay, rtt, || stream("red"));
            let impairment = impairment(scenario, &direction.loss, &order, || stream("loss"));
            let router = direction.router.clone();
            let (rate, delay) = (direction.rate, direction.delay);
            network.add_link(LinkSpec { rate, delay, qdisc, impairment, router });
            if settings.recording.audit {
                let (from, to) = topology.ends(link);
                let name = topology.link_name(link);
                let known = match &layout {
                    Some(satellites) => satellites.audited(i as u32, name, from, to, end),
                    None => AuditedLink {
                        name,
                        from: from.0..from.0 + 1,
                        to: to.0..to.0 + 1,
                        delay: (direction.delay, direction.delay),
                        ..AuditedLink::default()
                    },
                };
                let limit_before = direction.queue.limits_before();
                audited.push(AuditedLink { rate: direction.rate, limit, limit_before, ..known });
            }
        }
        let tcp = numbered.iter().filter(|i| is_tcp(i)).count();
        let plan = layout.as_ref().map(|satellites| satellites.plan(&ends, tcp, end));
        if let Some(satellites) = layout {
            network.set_satellites(satellites.network);
        }

        let mut event_queue = EventQueue::new();
        event_queue.add_timers(numbered.len() as u32 * FlowTimer::COUNT + 1);
        if let Some(scene) = &scenario.radio {
            let timer = event_queue.add_timers(1);
            let mut radio = Radio::new(scene.config(seed, end), timer, end);
            if PACKETS {
                radio.watch();
            }
            radio.start(&mut event_queue);
            network.set_radio(radio);
        }
        let warmup = (scenario.warmup > Span::ZERO).then(|| {
            let timer = event_queue.add_timers(1);
            let end = Time::ZERO + scenario.warmup;
            network.set_warmup(end);
            // It comes up when all that happens up to the end of the warm-up has happened.
            event_queue.set_timer(timer, end + Span::from_ps(1));
            Warmup { timer, duration: scenario.warmup, outcome: None }
        });
        let mut simulation = FlowEndpoints {
            senders: engine::large_vec(numbered.len()),
            receivers: engine::large_vec(numbered.len()),
            ..FlowEndpoints::default()
        };
        let counters = ReceiverStats { delays: scenario.delays.then(Vec::new), ..ReceiverStats::default() };
        let mut probes = Vec::new();
        let mut shared: Vec<Arc<Options>> = Vec::new();
        for (number, index) in numbered.iter().enumerate() {
            let flow = &scenario.flows[*index];
            let number = number as u32;
            let mut path = |of: usize| match routes.get(2 * number as usize + of) {
                Some(FlowPath { before, radio: Some(ends), after }) => {
                    network.add_radio_route(before, *ends, after)
                }
                Some(FlowPath { before, .. }) => network.add_route(before),
                None => {
                    let (from, to) = pairs[2 * number as usize + of];
                    network.add_path(from.0 as usize, to.0 as usize)
                }
            };
            let (forward, back) = (path(0), path(1));
            let stop = flow.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop);
            let mut start = Time::ZERO + flow.start;
            if flow.start_jitter > Span::ZERO {
                let part = Stream::new(seed, "start", &flow.name).uniform();
                start += Span::from_ps((part * flow.start_jitter.ps() as f64) as u64);
            }
            let mut timing = FlowSchedule { start, stop, started: false, segments: None, short: 0 };
            match &flow.kind {
                FlowKind::Tcp(tcp) => {
                    let options = shared.iter().find(|o| ***o == tcp.options).cloned().unwrap_or_else(|| {
                        shared.push(Arc::new(tcp.options.clone()));
                        shared[shared.len() - 1].clone()
                    });
                    let info = tcp.flow_info(Stream::new(seed, "controller", &flow.name).bits());
                    let controller = tcp.control.make(&info);
                    let packet = options.packet as u64;
                    let segments = flow.bytes.map(|bytes| bytes.div_ceil(packet) as u32);
                    timing.segments = segments;
                    timing.short = flow.bytes.map_or(0, |bytes| bytes.div_ceil(packet) * packet - bytes);
                    let tick = options.clock_tick.ps();
                    let clock_phase = options.clock_phase.unwrap_or_else(|| {
                        Span::from_ps(
                            (Stream::new(seed, "clock phase", &flow.name).uniform() * tick as f64) as u64,
                        )
                    });
                    let quick_start_path = options.requests_quick_start()
                        && routes
                            .get(2 * number as usize)
                            .is_some_and(|path| answers_quick_start(path, &directions));
                    let setup =
                        Setup { flow: number, route: forward, segments, clock_phase, quick_start_path };
                    let mut receiver = Receiver::new(number, back, options.clone());
                    receiver.stats = counters.clone();
                    simulation.receivers.push(receiver);
                    simulation.senders.push(Sender::new(setup, options, controller));
                    let mut names = tcp.control.probes();
                    if plan.is_some() {
                        names.push(Recorder::<WINDOWS, PACKETS>::HANDOFF.into());
                    }
                    probes.push(names);
                }
                FlowKind::Udp { packet, schedule, jitter } => {
                    let schedule = schedule.iter().map(|(at, rate)| (Time::ZERO + *at, *rate)).collect();
                    let mut source = UdpSource::new(number, forward, *packet, schedule, stop);
                    if *jitter > 0.0 {
                        source = source.with_jitter(*jitter, Stream::new(seed, "gaps", &flow.name));
                    }
                    simulation.udp.push((source, counters.clone()));
                }
            }
            simulation.names.push(flow.name.clone());
            simulation.schedules.push(timing);
        }
        let base = |number: usize, index: &usize| {
            let path = routes.get(2 * number).filter(|path| path.radio.is_none())?;
            let size = match &scenario.flows[*index].kind {
                FlowKind::Tcp(tcp) => tcp.options.packet + tcp.options.header,
                FlowKind::Udp { packet, .. } => *packet,
            };
            let over = path.links().map(|link| directions[link.0 as usize]);
            Some(over.fold(Span::ZERO, |sum, d| sum + d.delay + d.rate.time_for(size as u64)))
        };
        let bases = numbered.iter().enumerate().map(|(number, index)| base(number, index)).collect();
        network.reroute(Time::ZERO);
        if let Some((first, _)) = plan.as_ref().and_then(|satellites| satellites.events.first()) {
            event_queue.set_timer(numbered.len() as u32 * FlowTimer::COUNT, *first);
        }
        // In the order of the file: flows that start at one instant start in that order.
        for number in &order {
            let start = simulation.schedules[*number as usize].start;
            event_queue.set_timer(number * FlowTimer::COUNT + FlowTimer::Application as u32, start);
        }
        let windows: Vec<u32> = simulation.senders.iter().map(|sender| sender.options().window).collect();
        let mut auditor = settings.recording.audit.then(|| Auditor::new(audited, &ends, &windows));
        for (number, pair) in routes.chunks_exact(2).enumerate() {
            if let (Some(auditor), true) = (&mut auditor, pair.iter().any(|path| path.radio.is_some())) {
                auditor.has_radio_hop(number as u32);
            }
        }
        let mut recorder = Recorder::new(settings.recording, &probes, auditor, end);
        if let (Some(scene), true) = (&scenario.radio, settings.recording.audit) {
            let config = scene.config(seed, end);
            recorder.air = Some(RadioAuditor::new(config.nodes, config.propagation));
        }
        Ok(Simulation {
            title: scenario.title.clone(),
            seed,
            duration: scenario.duration,
            end,
            event_queue,
            network,
            recorder,
            blocks: BlockPool::default(),
            senders: simulation.senders,
            receivers: simulation.receivers,
            udp: simulation.udp,
            schedules: simulation.schedules,
            names: simulation.names,
            ends,
            topology,
            has_external: scenario.has_external(),
            bases,
            given_names: scenario.links.iter().map(|link| link.name.clone()).collect(),
            crowded: order.len() > 1000 && plan.is_none() && scenario.radio.is_none(),
            first_links: routes
                .chunks_exact(2)
                .map(|pair| {
                    [&pair[0], &pair[1]].map(|path| path.before.first().map_or(LinkId(0), |link| *link))
                })
                .collect(),
            order,
            satellites: plan,
            warmup,
            cpu: 0,
            wall: 0,
        })
    }
}

/// What is being built for each flow.
#[derive(Default)]
struct FlowEndpoints {
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    udp: Vec<(UdpSource, ReceiverStats)>,
    schedules: Vec<FlowSchedule>,
    names: Vec<String>,
}

/// Whether every router of a path answers Quick-Start requests; the first link is the host's own.
fn answers_quick_start(path: &FlowPath, directions: &[&Direction]) -> bool {
    path.radio.is_none()
        && path
            .links()
            .skip(1)
            .all(|link| matches!(directions[link.0 as usize].router, Some(net::RouterConfig::QuickStart(_))))
}

fn impairment(
    scenario: &Scenario,
    loss: &Loss,
    order: &[u32],
    stream: impl FnOnce() -> Stream,
) -> Impairment {
    match loss {
        Loss::None => Impairment::None,
        Loss::Bernoulli { rate } => Impairment::Bernoulli(Bernoulli::new(*rate, stream())),
        Loss::GilbertElliott { p, r, loss_good, loss_bad } => {
            Impairment::GilbertElliott(GilbertElliott::new(*p, *r, *loss_good, *loss_bad, stream()))
        }
        Loss::List { flow, packets } => {
            let index = scenario.flows.iter().position(|f| f.name == *flow);
            index.map_or(Impairment::None, |i| Impairment::List(List::new(order[i], packets.clone())))
        }
    }
}
