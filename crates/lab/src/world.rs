//! A scenario come alive: the event loop, and what is left when it ends.

use crate::audit::{AuditedLink, Auditor, Violation};
use crate::outcome::{Drops, EngineCost, Fairness, FlowOutcome, LinkOutcome, Outcome, jain};
use crate::pcap::FlowWire;
use crate::recorder::{PacketLog, Recorder, Recording, TraceMode, WindowLog};
use crate::scenario::{Direction, FlowKind, Loss, Scenario};
use crate::{ScenarioError, error::Origin};
use cc::{AnyController, FlowInfo};
use engine::{Agenda, Next, Stream};
use net::impairment::{Bernoulli, GilbertElliott, Impairment, List};
use net::qdisc::{DropTail, Qdisc};
use net::{Arrival, Kind, LinkId, LinkSpec, Network, NodeId, Packet, Reason, Topology};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::sync::Arc;
use transport::{
    BlockPool, Blocks, Options, Receiver, ReceiverStats, Sender, Setup, Timer, UdpSource, WindowRow, Wire,
};
use units::{Limit, Span, Time};

/// How a run is to be made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Seed; the scenario's own if none.
    pub seed: Option<u64>,
    /// What to write down.
    pub recording: Recording,
    /// Give every hop an event of its own, where otherwise hops that cannot interfere are computed at once: for
    /// tests; the results are the same.
    pub unfolded: bool,
}

/// A run in progress.
pub struct Run(Inner);

/// Three ways to run, so that what is off costs nothing.
enum Inner {
    Plain(Box<World<false, false>>),
    Windows(Box<World<true, false>>),
    Full(Box<World<true, true>>),
}

macro_rules! each {
    ($run:expr, $world:ident => $what:expr) => {
        match $run {
            Inner::Plain($world) => $what,
            Inner::Windows($world) => $what,
            Inner::Full($world) => $what,
        }
    };
}

impl Run {
    /// Builds the world of a scenario. Fails if a flow has no path.
    pub fn new(scenario: &Scenario, settings: Settings) -> Result<Run, ScenarioError> {
        let r = settings.recording;
        let inner = if r.packets || r.audit || r.fingerprint {
            Inner::Full(Box::new(World::build(scenario, settings)?))
        } else if r.trace != TraceMode::Off {
            Inner::Windows(Box::new(World::build(scenario, settings)?))
        } else {
            Inner::Plain(Box::new(World::build(scenario, settings)?))
        };
        Ok(Run(inner))
    }

    /// Processes up to `events` events; whether the run has ended.
    pub fn advance(&mut self, events: u64) -> bool {
        each!(&mut self.0, world => world.advance(events))
    }

    /// Runs to the end.
    pub fn finish(&mut self) {
        while !self.advance(u64::MAX) {}
    }

    /// Simulated time so far over the whole, 0 to 1.
    pub fn progress(&self) -> f64 {
        each!(&self.0, world => world.agenda.now().seconds() / world.end.seconds())
    }

    /// The result. Call when the run has ended.
    pub fn outcome(&mut self) -> Outcome {
        each!(&mut self.0, world => world.outcome())
    }

    /// What the run cost so far, and the goodput of all TCP flows together, bit/s: the outcome without its lists.
    pub fn cost(&self) -> (EngineCost, f64) {
        each!(&self.0, world => world.cost())
    }

    /// The window trace.
    pub fn windows(&self) -> &WindowLog {
        each!(&self.0, world => &world.recorder.windows)
    }

    /// The packet events in order. Call when the run has ended.
    pub fn packets(&mut self) -> &PacketLog {
        each!(&mut self.0, world => {
            let end = world.end;
            world.recorder.packets.settle(end);
            &world.recorder.packets
        })
    }

    /// What the auditor found, the first of it, and how much there is. Call once, when the run has ended.
    pub fn audit(&mut self) -> (Vec<Violation>, u64) {
        each!(&mut self.0, world => {
            let accounts = world.network.account(&world.agenda, world.duration);
            let end = world.end;
            world.recorder.auditor.take().map_or((Vec::new(), 0), |auditor| auditor.close(end, &accounts))
        })
    }

    /// A hash of every packet event, in hexadecimal.
    pub fn fingerprint(&self) -> String {
        each!(&self.0, world => world.recorder.hasher.finalize().to_hex().to_string())
    }

    /// Names of the links, by number.
    pub fn link_names(&self) -> Vec<String> {
        each!(&self.0, world => world.link_names())
    }

    /// Names of the flows, by the numbers in the logs.
    pub fn flow_names(&self) -> Vec<String> {
        each!(&self.0, world => world.names.clone())
    }

    /// The nodes at the ends of each flow (names), by the numbers in the logs.
    pub fn flow_ends(&self) -> Vec<[String; 2]> {
        each!(&self.0, world => world.ends.iter().map(|ends| ends.map(|n| world.topology.node_name(n).to_string())).collect())
    }

    /// What each flow's packets look like, by the numbers in the logs.
    pub(crate) fn flow_wire(&self) -> Vec<FlowWire> {
        each!(&self.0, world => {
            let tcp = world.senders.iter().map(|s| FlowWire { tcp: true, syn: s.options().syn, payload: s.options().packet });
            let udp = world.udp.iter().map(|_| FlowWire { tcp: false, syn: false, payload: 0 });
            tcp.chain(udp).collect()
        })
    }

    /// The nodes at the ends of each link (names), by number.
    pub fn link_ends(&self) -> Vec<[String; 2]> {
        each!(&self.0, world => world.links().map(|l| {
            let (from, to) = world.topology.ends(l);
            [from, to].map(|n| world.topology.node_name(n).to_string())
        }).collect())
    }
}

/// Everything that moves.
struct World<const WINDOWS: bool, const PACKETS: bool> {
    title: String,
    seed: u64,
    duration: Span,
    end: Time,
    agenda: Agenda<Packet>,
    network: Network,
    topology: Topology,
    recorder: Recorder<WINDOWS, PACKETS>,
    blocks: BlockPool,
    /// TCP flows have the first numbers, UDP flows follow.
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    udp: Vec<(UdpSource, ReceiverStats)>,
    plans: Vec<Plan>,
    names: Vec<String>,
    ends: Vec<[NodeId; 2]>,
    /// Whether memory should be asked for ahead.
    crowded: bool,
    /// Of each flow: the first link of its data and of its ACKs.
    first_links: Vec<[LinkId; 2]>,
    /// The scenario's order: numbers of flows.
    order: Vec<u32>,
    cpu: Span,
    wall: Span,
}

/// When a flow starts and stops, and how much of its last segment is payload.
#[derive(Clone, Copy)]
struct Plan {
    start: Time,
    stop: Time,
    started: bool,
    /// Bytes by which the last segment falls short of a full one.
    short: u64,
}

/// The world as one flow's state machines see it.
struct Port<'a, const WINDOWS: bool, const PACKETS: bool> {
    agenda: &'a mut Agenda<Packet>,
    network: &'a mut Network,
    recorder: &'a mut Recorder<WINDOWS, PACKETS>,
    blocks: &'a mut BlockPool,
    flow: u32,
}

impl<const WINDOWS: bool, const PACKETS: bool> Wire for Port<'_, WINDOWS, PACKETS> {
    const WINDOWS: bool = WINDOWS;
    const SENDS: bool = PACKETS;

    #[inline]
    fn now(&self) -> Time {
        self.agenda.now()
    }
    #[inline]
    fn send(&mut self, mut packet: Packet, blocks: &Blocks) {
        if !blocks.as_slice().is_empty() {
            packet.blocks = self.blocks.put(blocks);
        }
        if !self.network.send(self.agenda, self.recorder, &packet) && packet.blocks != Packet::NO_BLOCKS {
            self.blocks.take(packet.blocks);
        }
    }
    #[inline]
    fn set_timer(&mut self, timer: Timer, at: Time) {
        self.agenda.set_timer(self.flow * Timer::COUNT + timer as u32, at);
    }
    #[inline]
    fn timer(&self, timer: Timer) -> Time {
        self.agenda.timer(self.flow * Timer::COUNT + timer as u32)
    }
    #[inline]
    fn window(&mut self, row: &WindowRow) {
        self.recorder.window(self.agenda.now(), row);
    }
    #[inline]
    fn sending(&mut self, in_flight: u32, window: u32) {
        self.recorder.sending(self.agenda.now(), self.flow, in_flight, window);
    }
}

/// The port of flow `$flow`, borrowing the parts of the world that state machines touch.
macro_rules! port {
    ($world:ident, $flow:expr) => {
        Port {
            agenda: &mut $world.agenda,
            network: &mut $world.network,
            recorder: &mut $world.recorder,
            blocks: &mut $world.blocks,
            flow: $flow,
        }
    };
}

impl<const WINDOWS: bool, const PACKETS: bool> World<WINDOWS, PACKETS> {
    fn build(scenario: &Scenario, settings: Settings) -> Result<Self, ScenarioError> {
        let seed = settings.seed.unwrap_or(scenario.seed);
        let end = Time::ZERO + scenario.duration;
        let (topology, nodes) = lay_out(scenario);
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
        let routes = topology.routes(&pairs).map_err(|error| {
            let (from, to) = (topology.node_name(error.from), topology.node_name(error.to));
            let origin = Origin::Line { file: "scenario".into(), line: 1 };
            ScenarioError::new(&origin, "link", format!("no path from \"{from}\" to \"{to}\""))
        })?;

        let directions: Vec<&Direction> = scenario.links.iter().flat_map(|l| &l.directions).collect();
        let hops = routes.iter().map(|route| route.len() + 1).sum();
        let mut network = Network::new(end, directions.len(), hops);
        if settings.unfolded {
            network.unfold();
        }
        let delay_of = |route: &Vec<LinkId>| {
            route.iter().fold(Span::ZERO, |sum, link| sum + directions[link.0 as usize].delay)
        };
        let mut round_trip = vec![Span::ZERO; directions.len()];
        for pair in routes.chunks_exact(2) {
            let both = delay_of(&pair[0]) + delay_of(&pair[1]);
            for link in pair.iter().flatten() {
                let longest = &mut round_trip[link.0 as usize];
                *longest = both.max(*longest);
            }
        }
        let mut audited = Vec::new();
        for (i, direction) in directions.iter().enumerate() {
            let link = LinkId(i as u32);
            // Without a flow over it, a link's own two directions make its round trip.
            let own = direction.delay + directions[i ^ 1].delay;
            let rtt = if round_trip[i] == Span::ZERO { own } else { round_trip[i] };
            let limit = direction.limit.map(|limit| match limit {
                Limit::Bdp(n) => Limit::Bytes((n * direction.rate.bytes_in(rtt) as f64) as u64),
                fixed => fixed,
            });
            let qdisc = match limit {
                None | Some(Limit::Bdp(_)) => Qdisc::Unlimited,
                Some(Limit::Packets(n)) => Qdisc::DropTail(DropTail::packets(n)),
                Some(Limit::Bytes(n)) => Qdisc::DropTail(DropTail::bytes(n)),
            };
            let impairment = impairment(scenario, &direction.loss, &order, || {
                Stream::new(seed, "loss", &topology.link_name(link))
            });
            network.add_link(LinkSpec { rate: direction.rate, delay: direction.delay, qdisc, impairment });
            if settings.recording.audit {
                let (from, to) = topology.ends(link);
                audited.push(AuditedLink {
                    name: topology.link_name(link),
                    from,
                    to,
                    rate: direction.rate,
                    delay: direction.delay,
                    limit,
                });
            }
        }

        let mut agenda = Agenda::new();
        agenda.add_timers(numbered.len() as u32 * Timer::COUNT);
        let mut world = Parts {
            senders: engine::large_vec(numbered.len()),
            receivers: engine::large_vec(numbered.len()),
            ..Parts::default()
        };
        let mut probes = Vec::new();
        let mut shared: Vec<Arc<Options>> = Vec::new();
        for (number, index) in numbered.iter().enumerate() {
            let flow = &scenario.flows[*index];
            let number = number as u32;
            let forward = network.add_route(&routes[2 * number as usize]);
            let back = network.add_route(&routes[2 * number as usize + 1]);
            let stop = flow.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop);
            let mut plan = Plan { start: Time::ZERO + flow.start, stop, started: false, short: 0 };
            match &flow.kind {
                FlowKind::Tcp(tcp) => {
                    let options = shared.iter().find(|o| ***o == tcp.options).cloned().unwrap_or_else(|| {
                        shared.push(Arc::new(tcp.options.clone()));
                        shared[shared.len() - 1].clone()
                    });
                    let info = flow_info(&options);
                    let controller = AnyController::new(tcp.control, &tcp.params, &info)
                        .unwrap_or_else(|| unreachable!("the scenario names registered controllers only"));
                    let packet = options.packet as u64;
                    let segments = flow.bytes.map(|bytes| bytes.div_ceil(packet) as u32);
                    plan.short = flow.bytes.map_or(0, |bytes| bytes.div_ceil(packet) * packet - bytes);
                    let tick = options.clock_tick.ps();
                    let clock_phase = options.clock_phase.unwrap_or_else(|| {
                        Span::from_ps(
                            (Stream::new(seed, "clock phase", &flow.name).uniform() * tick as f64) as u64,
                        )
                    });
                    let setup = Setup { flow: number, route: forward, segments, clock_phase };
                    world.receivers.push(Receiver::new(number, back, options.clone()));
                    world.senders.push(Sender::new(setup, options, controller));
                    probes.push(
                        cc::CONTROLLERS.iter().find(|d| d.name == tcp.control).map_or(&[][..], |d| d.probes),
                    );
                }
                FlowKind::Udp { packet, schedule } => {
                    let schedule = schedule.iter().map(|(at, rate)| (Time::ZERO + *at, *rate)).collect();
                    world.udp.push((
                        UdpSource::new(number, forward, *packet, schedule, stop),
                        ReceiverStats::default(),
                    ));
                }
            }
            world.names.push(flow.name.clone());
            world.plans.push(plan);
        }
        // In the order of the file: flows that start at one instant start in that order.
        for number in &order {
            let start = world.plans[*number as usize].start;
            agenda.set_timer(number * Timer::COUNT + Timer::Application as u32, start);
        }
        let destinations =
            ends.iter().enumerate().flat_map(|(n, [a, b])| [((n as u32, false), *b), ((n as u32, true), *a)]);
        let auditor = settings.recording.audit.then(|| Auditor::new(audited, destinations));
        Ok(World {
            title: scenario.title.clone(),
            seed,
            duration: scenario.duration,
            end,
            agenda,
            network,
            recorder: Recorder::new(settings.recording, &probes, auditor),
            blocks: BlockPool::default(),
            senders: world.senders,
            receivers: world.receivers,
            udp: world.udp,
            plans: world.plans,
            names: world.names,
            ends,
            topology,
            crowded: order.len() > 1000,
            first_links: routes.chunks_exact(2).map(|pair| [pair[0][0], pair[1][0]]).collect(),
            order,
            cpu: Span::ZERO,
            wall: Span::ZERO,
        })
    }

    fn advance(&mut self, events: u64) -> bool {
        let (cpu, wall) = (cpu_time(), wall_time());
        let until = self.agenda.events().saturating_add(events);
        let mut ended = false;
        while self.agenda.events() < until {
            match self.agenda.pop(self.end) {
                Next::Item(packet) => {
                    if self.crowded {
                        self.look_ahead();
                    }
                    self.arrive(&packet);
                }
                Next::Timer(id) => self.fire(id),
                Next::Nothing => {
                    ended = true;
                    break;
                }
            }
        }
        self.cpu = self.cpu + (cpu_time() - cpu);
        self.wall = self.wall + (wall_time() - wall);
        ended
    }

    /// With more flows than the caches hold, memory is asked for some events before it is needed.
    #[inline]
    fn look_ahead(&self) {
        self.agenda.prefetch_ahead(24);
        if let Some(packet) = self.agenda.ahead(16) {
            self.network.prefetch_route(packet);
        }
        if let Some(packet) = self.agenda.ahead(10)
            && self.network.prefetch_link(packet)
        {
            let flow = packet.flow as usize;
            match packet.kind {
                Kind::Data => {
                    engine::prefetch_item(&self.receivers[flow], size_of::<Receiver>());
                    self.network.prefetch_first_link(self.first_links[flow][1]);
                }
                Kind::Ack => {
                    self.senders[flow].prefetch();
                    self.agenda.prefetch_timer(packet.flow * Timer::COUNT);
                    self.network.prefetch_first_link(self.first_links[flow][0]);
                }
                Kind::Udp => {}
            }
        }
    }

    #[inline]
    fn arrive(&mut self, packet: &Packet) {
        match self.network.arrive(&mut self.agenda, &mut self.recorder, packet) {
            Arrival::Forwarded => {}
            Arrival::Dropped => {
                if packet.blocks != Packet::NO_BLOCKS {
                    self.blocks.take(packet.blocks);
                }
            }
            Arrival::Delivered => {
                let flow = packet.flow as usize;
                match packet.kind {
                    Kind::Data => self.receivers[flow].on_data(&mut port!(self, packet.flow), packet),
                    Kind::Ack => {
                        let blocks = match packet.blocks {
                            Packet::NO_BLOCKS => Blocks::NONE,
                            place => self.blocks.take(place),
                        };
                        self.senders[flow].on_ack(&mut port!(self, packet.flow), packet, blocks.as_slice());
                    }
                    Kind::Udp => {
                        let now = self.agenda.now();
                        self.udp[flow - self.senders.len()].1.arrived(packet, now);
                    }
                }
            }
        }
    }

    fn fire(&mut self, id: u32) {
        self.network.timer_event();
        let flow = id / Timer::COUNT;
        let index = flow as usize;
        match Timer::from_number(id % Timer::COUNT) {
            Timer::Retransmit => self.senders[index].on_retransmit_timer(&mut port!(self, flow)),
            Timer::AckDelay => self.receivers[index].on_ack_delay(&mut port!(self, flow)),
            Timer::Pace => self.senders[index].on_pace_timer(&mut port!(self, flow)),
            Timer::Wake => self.senders[index].on_wake_timer(&mut port!(self, flow)),
            Timer::Application => self.application(flow),
        }
    }

    /// A flow starts or stops, or a UDP source sends.
    fn application(&mut self, flow: u32) {
        let index = flow as usize;
        if let Some(udp) = index.checked_sub(self.senders.len()) {
            self.udp[udp].0.on_timer(&mut port!(self, flow));
            return;
        }
        let plan = &mut self.plans[index];
        if plan.started {
            self.senders[index].on_stop(&mut port!(self, flow));
            return;
        }
        plan.started = true;
        let stop = plan.stop;
        self.senders[index].on_start(&mut port!(self, flow));
        if stop != Time::NEVER {
            self.agenda.set_timer(flow * Timer::COUNT + Timer::Application as u32, stop);
        }
    }

    fn links(&self) -> impl Iterator<Item = LinkId> + use<WINDOWS, PACKETS> {
        (0..self.topology.links() as u32).map(LinkId)
    }

    fn link_names(&self) -> Vec<String> {
        self.links().map(|link| self.topology.link_name(link)).collect()
    }

    fn cost(&self) -> (EngineCost, f64) {
        let hops = self.network.account(&self.agenda, self.duration).iter().map(|a| a.delivered).sum();
        let cost = EngineCost {
            events: self.agenda.events(),
            packet_hops: hops,
            cpu_s: self.cpu.seconds(),
            wall_s: self.wall.seconds(),
        };
        let bytes: u64 = (0..self.senders.len()).map(|n| self.delivered_bytes(n)).sum();
        (cost, bytes as f64 * 8.0 / self.duration.seconds())
    }

    /// Payload delivered in order, once, by a TCP flow.
    fn delivered_bytes(&self, number: usize) -> u64 {
        let (sender, received) = (&self.senders[number], self.receivers[number].in_order());
        let in_order = (received - (sender.options().syn && received > 0) as u32) as u64;
        let complete = sender.segments_offered().is_some_and(|n| in_order >= n as u64);
        in_order * sender.options().packet as u64 - if complete { self.plans[number].short } else { 0 }
    }

    fn outcome(&mut self) -> Outcome {
        let duration = self.duration.seconds();
        let accounts = self.network.account(&self.agenda, self.duration);
        let flows: Vec<FlowOutcome> =
            self.order.clone().iter().map(|number| self.flow_outcome(*number as usize)).collect();
        let goodputs = |kind: &str| -> Vec<f64> {
            flows.iter().filter(|f| f.kind == kind).map(|f| f.goodput_bps).collect()
        };
        let compared = if self.senders.is_empty() { goodputs("udp") } else { goodputs("tcp") };
        let links: Vec<LinkOutcome> = self
            .link_names()
            .into_iter()
            .zip(&accounts)
            .map(|(name, a)| LinkOutcome {
                name,
                delivered_packets: a.delivered,
                dropped_packets: Drops {
                    queue: a.dropped[Reason::Queue as usize],
                    loss: a.dropped[Reason::Loss as usize],
                    list: a.dropped[Reason::List as usize],
                },
                marked_packets: a.marked,
                utilisation: a.utilisation,
                mean_queue_packets: a.mean_queue_packets,
                mean_sojourn_s: a.mean_sojourn_s,
            })
            .collect();
        Outcome {
            title: self.title.clone(),
            seed: self.seed,
            duration_s: duration,
            version: crate::VERSION,
            flows,
            radio: None,
            satellite: None,
            fairness: Fairness { jain: jain(&compared) },
            engine: self.cost().0,
            links,
        }
    }

    fn flow_outcome(&mut self, number: usize) -> FlowOutcome {
        let duration = self.duration.seconds();
        let rate = |bytes: u64| bytes as f64 * 8.0 / duration;
        if let Some(index) = number.checked_sub(self.senders.len()) {
            let (source, stats) = &self.udp[index];
            let sent = source.sent() as u64;
            return FlowOutcome {
                kind: "udp",
                goodput_bps: rate(stats.wire_bytes),
                delivered_bytes: stats.wire_bytes,
                sent_packets: sent,
                delivery_ratio: (sent > 0).then(|| stats.packets as f64 / sent as f64),
                ..arrivals(self.names[number].clone(), stats, duration)
            };
        }
        let (end, plan, delivered) = (self.end, self.plans[number], self.delivered_bytes(number));
        let sender = &mut self.senders[number];
        if plan.started {
            sender.finish(end);
        }
        let (options, stats) = (sender.options(), &sender.stats);
        let active = end.since(plan.start).seconds();
        let mean = |area: f64| (plan.started && active > 0.0 && area.is_finite()).then(|| area / active);
        let finite = |x: f64| x.is_finite().then_some(x);
        let (cwnd, ssthresh) = sender.shown_window();
        let receiver = &self.receivers[number];
        let arrived = &receiver.stats;
        FlowOutcome {
            kind: "tcp",
            control: Some(sender.controller().name()),
            recovery: Some(options.recovery.name()),
            goodput_bps: rate(delivered),
            delivered_bytes: delivered,
            sent_packets: stats.sent as u64,
            acked_packets: Some(sender.acked_segments() as u64),
            retransmitted_packets: Some(stats.retransmitted as u64),
            timeouts: Some(stats.timeouts as u64),
            window_cuts: Some(stats.cuts as u64),
            mean_cwnd: mean(stats.cwnd_area),
            mean_ssthresh: mean(stats.ssthresh_area),
            final_cwnd: finite(cwnd),
            final_ssthresh: finite(ssthresh),
            mean_rtt_s: (stats.rtt_count > 0).then(|| stats.rtt_sum / stats.rtt_count as f64),
            min_rtt_s: (stats.rtt_count > 0).then(|| stats.rtt_min.seconds()),
            delivery_ratio: (stats.sent > 0)
                .then(|| (arrived.packets - arrived.duplicates) as f64 / stats.sent as f64),
            completion_s: sender
                .completed()
                .filter(|_| sender.segments_offered().is_some())
                .map(|at| at.since(plan.start).seconds()),
            ..arrivals(self.names[number].clone(), arrived, duration)
        }
    }
}

/// What a sink's counters say: throughput, delay, gaps, jitter.
fn arrivals(name: String, stats: &ReceiverStats, duration: f64) -> FlowOutcome {
    let n = stats.packets as f64;
    let some = stats.packets > 0;
    FlowOutcome {
        name,
        throughput_bps: stats.wire_bytes as f64 * 8.0 / duration,
        mean_delay_s: some.then(|| stats.delay_sum / n),
        mean_gap_s: (stats.packets > 1).then(|| stats.last_at.since(stats.first_at).seconds() / (n - 1.0)),
        jitter1_s: some.then(|| (stats.last_delay.seconds() - stats.first_delay.seconds()) / n),
        jitter2_s: some.then(|| stats.jitter_sum / n),
        ..FlowOutcome::default()
    }
}

/// What is being built for each flow.
#[derive(Default)]
struct Parts {
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    udp: Vec<(UdpSource, ReceiverStats)>,
    plans: Vec<Plan>,
    names: Vec<String>,
}

/// Nodes in the order in which links name them, and the links between them.
fn lay_out(scenario: &Scenario) -> (Topology, BTreeMap<&str, NodeId>) {
    let mut topology = Topology::default();
    let mut nodes: BTreeMap<&str, NodeId> = BTreeMap::new();
    for link in &scenario.links {
        let ends =
            link.ends.each_ref().map(|name| *nodes.entry(name).or_insert_with(|| topology.add_node(name)));
        topology.add_link(ends[0], ends[1], link.directions[0].delay);
        topology.add_link(ends[1], ends[0], link.directions[1].delay);
    }
    (topology, nodes)
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

fn flow_info(options: &Options) -> FlowInfo {
    FlowInfo {
        initial_window: if options.delay_growth { 1.0 } else { options.initial_window },
        initial_ssthresh: options.initial_ssthresh,
        max_window: if options.max_cwnd > 0.0 { options.max_cwnd } else { f64::INFINITY },
        arithmetic: options.arithmetic(),
        fine_clock: options.recovery == transport::Recovery::Reno,
    }
}

fn cpu_time() -> Span {
    clock(ClockId::ThreadCPUTime)
}

fn wall_time() -> Span {
    clock(ClockId::Monotonic)
}

fn clock(id: ClockId) -> Span {
    let t = clock_gettime(id);
    Span::from_ps(t.tv_sec as u64 * units::PS_PER_S + t.tv_nsec as u64 * 1000)
}
