//! A scenario come alive: the event loop.

mod build;
pub(crate) mod event_order;
mod memory;
mod outcome;
mod queue;
pub(crate) mod recorder;
mod results;
mod satellites;
mod warmup;

pub use outcome::{
    EngineCost, Fairness, FlowOutcome, HandoffOutcome, LinkOutcome, Outcome, SatelliteOutcome, to_json,
};
pub use recorder::{PacketLog, RadioLog, Recording, TraceMode, WindowLog};

use crate::audit::Violation;
use crate::capture::Captures;
use crate::error::ScenarioError;
use crate::scenario::Scenario;
use engine::{EventQueue, Next};
use net::radio::RadioOutput;
use net::{Arrival, LinkId, Network, NodeId, Packet, PacketKind, Topology};
use recorder::Recorder;
use rustix::time::{ClockId, clock_gettime};
use satellites::{ConstellationSchedule, SatelliteEvent};
use std::sync::atomic::AtomicBool;
use transport::{
    BlockPool, Blocks, FlowContext, FlowTimer, Receiver, ReceiverStats, Sender, UdpSource, WindowRow,
};
use units::{Span, Time};

/// How a run is to be made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Seed; the scenario's own if none.
    pub seed: Option<u64>,
    /// What to write down.
    pub recording: Recording,
    /// Give every hop an event of its own, where otherwise hops that cannot interfere are computed at once: for
    /// tests; the results are the same, but for ties between links (docs/adr/0002-ties.md).
    pub unfused: bool,
}

/// A run in progress.
pub struct Run {
    inner: Inner,
    /// Calls of [`Run::check_memory`].
    looks: u32,
}

/// Three ways to run, so that what is off costs nothing.
enum Inner {
    Plain(Box<Simulation<false, false>>),
    Windows(Box<Simulation<true, false>>),
    Full(Box<Simulation<true, true>>),
}

macro_rules! each {
    ($run:expr, $simulation:ident => $what:expr) => {
        match $run {
            Inner::Plain($simulation) => $what,
            Inner::Windows($simulation) => $what,
            Inner::Full($simulation) => $what,
        }
    };
}

impl Run {
    /// Sets up the run of a scenario. Fails if a controller in a file cannot be loaded or misses something.
    pub fn new(scenario: &Scenario, settings: Settings) -> Result<Run, ScenarioError> {
        Run::stoppable(scenario, settings, &AtomicBool::new(false))
    }

    /// The same. With many satellites over long times it takes long: it ends soon when `stop` is set, and the run is then of
    /// no use.
    pub fn stoppable(
        scenario: &Scenario,
        settings: Settings,
        stop: &AtomicBool,
    ) -> Result<Run, ScenarioError> {
        let loaded = scenario.loaded()?;
        let drawn = loaded.drawn(settings.seed.unwrap_or(scenario.seed));
        let scenario = &*drawn;
        let r = settings.recording;
        let inner = if r.packets || r.captures || r.audit || r.fingerprint || r.radio {
            Inner::Full(Box::new(Simulation::build(scenario, settings, stop)?))
        } else if r.trace != TraceMode::Off {
            Inner::Windows(Box::new(Simulation::build(scenario, settings, stop)?))
        } else {
            Inner::Plain(Box::new(Simulation::build(scenario, settings, stop)?))
        };
        Ok(Run { inner, looks: 0 })
    }

    /// Processes up to `events` events; whether the run has ended.
    pub fn advance(&mut self, events: u64) -> bool {
        each!(&mut self.inner, simulation => simulation.advance(events))
    }

    /// Runs to the end.
    pub fn finish(&mut self) {
        while !self.advance(u64::MAX) {}
    }

    /// Looks, once in a few calls, whether the memory lasts: for the run so far, and for what it records. Fails with what takes
    /// it and what to do. For callers that go on with [`Run::advance`] some ten thousand events at a time.
    pub fn check_memory(&mut self) -> Result<(), String> {
        self.looks += 1;
        if !self.looks.is_multiple_of(4) {
            return Ok(());
        }
        let needs = each!(&self.inner, simulation => simulation.memory_needs());
        let all: u64 = needs.iter().map(|need| need.1).sum();
        if all < memory::SMALL {
            return Ok(());
        }
        let Some(free) = memory::available() else { return Ok(()) };
        if all + memory::RESERVE < free {
            return Ok(());
        }
        let (what, most, remedy) = needs.into_iter().max_by_key(|need| need.1).unwrap_or_default();
        let (progress, most, free) = (100.0 * self.progress(), memory::told(most), memory::told(free));
        Err(format!(
            "out of memory at {progress:.0} % of the run: {what} {most} more, {free} are free; {remedy}"
        ))
    }

    /// The first controller that could not go on, with its flow's name; only guests fail. A run with such a one is to
    /// be given up.
    pub fn failure(&self) -> Option<(&str, &cc::Failure)> {
        each!(&self.inner, simulation => simulation.failure())
    }

    /// Whether any controller is a guest: then one may fail, and an event may take long.
    pub fn has_external(&self) -> bool {
        each!(&self.inner, simulation => simulation.has_external)
    }

    /// Simulated time so far over the whole, 0 to 1.
    pub fn progress(&self) -> f64 {
        each!(&self.inner, simulation => simulation.event_queue.now().seconds() / simulation.end.seconds())
    }

    /// The result. Call when the run has ended.
    pub fn outcome(&mut self) -> Outcome {
        let mut outcome = each!(&mut self.inner, simulation => simulation.outcome());
        outcome.links.retain(|link| !link.unused);
        outcome
    }

    /// What the run cost so far, and the goodput of all TCP flows together, bit/s: the outcome without its lists.
    pub fn cost(&self) -> (EngineCost, f64) {
        each!(&self.inner, simulation => simulation.cost())
    }

    /// The window trace.
    pub fn windows(&self) -> &WindowLog {
        each!(&self.inner, simulation => &simulation.recorder.windows)
    }

    /// The packet events so far, in order; all of them when the run has ended.
    pub fn packets(&self) -> &PacketLog {
        each!(&self.inner, simulation => &simulation.recorder.packets)
    }

    /// Every step of the radio, in order.
    pub fn radio_log(&self) -> &RadioLog {
        each!(&self.inner, simulation => &simulation.recorder.radio_log)
    }

    /// What the auditor found, the first of it, and how much there is. Call once, when the run has ended.
    pub fn audit(&mut self) -> (Vec<Violation>, u64) {
        each!(&mut self.inner, simulation => {
            let accounts = simulation.network.account(&simulation.event_queue, simulation.duration);
            let end = simulation.end;
            let wired = simulation.recorder.auditor.take().map(|auditor| auditor.close(end, &accounts));
            let air = simulation.recorder.air.take();
            let air = air.zip(simulation.network.radio()).map(|(auditor, radio)| auditor.close(end, radio));
            let (mut found, mut count) = wired.unwrap_or_default();
            if let Some((more, number)) = air {
                found.extend(more);
                count += number;
            }
            (found, count)
        })
    }

    /// A hash of every packet event, in hexadecimal.
    pub fn fingerprint(&self) -> String {
        each!(&self.inner, simulation => simulation.recorder.hasher.finalize().to_hex().to_string())
    }

    /// Names of the links, by number.
    pub fn link_names(&self) -> Vec<String> {
        each!(&self.inner, simulation => simulation.link_names())
    }

    /// Names of the flows, by the numbers in the logs.
    pub fn flow_names(&self) -> Vec<String> {
        each!(&self.inner, simulation => simulation.names.clone())
    }

    /// Adds a capture at the node or the link of this name (`a->b`; `a-b` for both directions), at all sending hosts if it
    /// is empty. Call before the run, which records captures. Fails with what there is.
    pub fn capture(&mut self, place: &str) -> Result<(), String> {
        each!(&mut self.inner, simulation => {
            let names = simulation.link_names();
            let Simulation { topology, recorder, ends, senders, given_names, .. } = &mut **simulation;
            let options: Vec<_> = senders.iter().map(Sender::options).collect();
            let captures = recorder.captures.get_or_insert_with(|| Captures::new(topology, ends, &options));
            captures.add(topology, &names, given_names, place)
        })
    }

    /// The captures as pcapng files, in the order in which they were added. Call once, when the run has ended.
    pub fn captured(&mut self) -> Vec<Vec<u8>> {
        each!(&mut self.inner, simulation => simulation.recorder.captures.take().map(Captures::files).unwrap_or_default())
    }
}

/// Everything that moves.
struct Simulation<const WINDOWS: bool, const PACKETS: bool> {
    title: String,
    seed: u64,
    duration: Span,
    end: Time,
    event_queue: EventQueue<Packet>,
    network: Network,
    topology: Topology,
    recorder: Recorder<WINDOWS, PACKETS>,
    blocks: BlockPool,
    /// TCP flows have the first numbers, UDP flows follow.
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    udp: Vec<(UdpSource, ReceiverStats)>,
    schedules: Vec<FlowSchedule>,
    names: Vec<String>,
    ends: Vec<[NodeId; 2]>,
    /// Of each flow what a full packet takes on an empty path, if that is one path.
    bases: Vec<Option<Span>>,
    /// Names of links in the scenario, each of both directions.
    given_names: Vec<Option<String>>,
    /// Whether memory should be asked for ahead.
    crowded: bool,
    has_external: bool,
    /// Of each flow: the first link of its data and of its ACKs.
    first_links: Vec<[LinkId; 2]>,
    /// The scenario's order: numbers of flows.
    order: Vec<u32>,
    /// What is going to happen in the satellites, if there is one.
    satellites: Option<ConstellationSchedule>,
    warmup: Option<Warmup>,
    /// What the event loop took so far, ns.
    cpu: u64,
    wall: u64,
}

/// The beginning of a run, which its outcome leaves out.
struct Warmup {
    timer: u32,
    duration: Span,
    /// What had happened when it ended.
    outcome: Option<Box<Outcome>>,
}

/// When a flow starts and stops, and how much of its last segment is payload.
#[derive(Clone, Copy)]
struct FlowSchedule {
    start: Time,
    stop: Time,
    started: bool,
    /// Segments of the whole file; none for a flow without end.
    segments: Option<u32>,
    /// Bytes by which the last of them falls short of a full one.
    short: u64,
}

/// The simulation as one flow's state machines see it.
struct SimulationContext<'a, const WINDOWS: bool, const PACKETS: bool> {
    event_queue: &'a mut EventQueue<Packet>,
    network: &'a mut Network,
    recorder: &'a mut Recorder<WINDOWS, PACKETS>,
    blocks: &'a mut BlockPool,
    flow: u32,
}

impl<const WINDOWS: bool, const PACKETS: bool> FlowContext for SimulationContext<'_, WINDOWS, PACKETS> {
    const WINDOWS: bool = WINDOWS;
    const SENDS: bool = PACKETS;

    #[inline]
    fn now(&self) -> Time {
        self.event_queue.now()
    }
    #[inline]
    fn send(&mut self, mut packet: Packet, blocks: &Blocks) {
        if !blocks.as_slice().is_empty() {
            packet.blocks = self.blocks.put(blocks);
        }
        if PACKETS {
            self.recorder.sends(&mut packet, blocks);
        }
        if !self.network.send(self.event_queue, self.recorder, &packet) && packet.has_blocks() {
            self.blocks.take(packet.blocks);
        }
    }
    #[inline]
    fn set_timer(&mut self, timer: FlowTimer, at: Time) {
        self.event_queue.set_timer(self.flow * FlowTimer::COUNT + timer as u32, at);
    }
    #[inline]
    fn timer(&self, timer: FlowTimer) -> Time {
        self.event_queue.timer(self.flow * FlowTimer::COUNT + timer as u32)
    }
    #[inline]
    fn window(&mut self, row: &WindowRow) {
        self.recorder.window(self.event_queue.now(), row);
    }
    #[inline]
    fn sending(&mut self, in_flight: u32, window: u32) {
        self.recorder.sending(self.event_queue.now(), self.flow, in_flight, window);
    }
}

/// The context of flow `$flow`, borrowing the parts of the simulation that state machines touch.
macro_rules! flow_context {
    ($simulation:ident, $flow:expr) => {
        SimulationContext {
            event_queue: &mut $simulation.event_queue,
            network: &mut $simulation.network,
            recorder: &mut $simulation.recorder,
            blocks: &mut $simulation.blocks,
            flow: $flow,
        }
    };
}

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    fn advance(&mut self, events: u64) -> bool {
        let (cpu, wall) = (cpu_time(), wall_time());
        let until = self.event_queue.events().saturating_add(events);
        let mut ended = false;
        while self.event_queue.events() < until {
            let next = self.event_queue.pop(self.end);
            if PACKETS {
                self.recorder.reach(self.event_queue.now());
            }
            match next {
                Next::Item(packet) => {
                    if self.crowded {
                        self.look_ahead();
                    }
                    self.arrive(&packet);
                }
                Next::Timer(id) => self.fire(id),
                Next::Nothing => {
                    if PACKETS {
                        self.recorder.finish(self.end);
                    }
                    ended = true;
                    break;
                }
            }
        }
        self.cpu += cpu_time() - cpu;
        self.wall += wall_time() - wall;
        ended
    }

    fn failure(&self) -> Option<(&str, &cc::Failure)> {
        if !self.has_external {
            return None;
        }
        let each = self.names.iter().zip(&self.senders);
        let failed = each.filter_map(|(name, sender)| Some((name.as_str(), sender.controller().failure()?)));
        failed.min_by_key(|(_, failure)| failure.at)
    }

    /// With more flows than the caches hold, memory is asked for some events before it is needed.
    #[inline]
    fn look_ahead(&self) {
        self.event_queue.prefetch_ahead(24);
        if let Some(packet) = self.event_queue.ahead(16) {
            self.network.prefetch_route(packet);
        }
        if let Some(packet) = self.event_queue.ahead(10)
            && self.network.prefetch_link(packet)
        {
            let flow = packet.flow as usize;
            match packet.kind {
                PacketKind::Data => {
                    engine::prefetch_item(&self.receivers[flow], size_of::<Receiver>());
                    self.network.prefetch_first_link(self.first_links[flow][1]);
                }
                PacketKind::Ack => {
                    self.senders[flow].prefetch();
                    self.event_queue.prefetch_timer(packet.flow * FlowTimer::COUNT);
                    self.network.prefetch_first_link(self.first_links[flow][0]);
                }
                PacketKind::Udp => {}
            }
        }
    }

    #[inline]
    fn arrive(&mut self, packet: &Packet) {
        match self.network.arrive(&mut self.event_queue, &mut self.recorder, packet) {
            Arrival::Forwarded => {}
            Arrival::Dropped => {
                if packet.has_blocks() {
                    self.blocks.take(packet.blocks);
                }
            }
            Arrival::Delivered => {
                if PACKETS {
                    self.recorder.arrived(packet);
                }
                let flow = packet.flow as usize;
                match packet.kind {
                    PacketKind::Data => {
                        self.receivers[flow].on_data(&mut flow_context!(self, packet.flow), packet)
                    }
                    PacketKind::Ack => {
                        let blocks = match packet.blocks {
                            Packet::NO_BLOCKS => Blocks::NONE,
                            place => self.blocks.take(place),
                        };
                        self.senders[flow].on_ack(
                            &mut flow_context!(self, packet.flow),
                            packet,
                            blocks.as_slice(),
                        );
                    }
                    PacketKind::Udp => {
                        let now = self.event_queue.now();
                        self.udp[flow - self.senders.len()].1.arrived(packet, now);
                    }
                }
            }
        }
    }

    fn fire(&mut self, id: u32) {
        self.network.timer_event();
        let flow = id / FlowTimer::COUNT;
        let index = flow as usize;
        if index >= self.schedules.len() {
            return self.network_event(id);
        }
        match FlowTimer::from_number(id % FlowTimer::COUNT) {
            FlowTimer::Retransmit => self.senders[index].on_retransmit_timer(&mut flow_context!(self, flow)),
            FlowTimer::AckDelay => self.receivers[index].on_ack_delay(&mut flow_context!(self, flow)),
            FlowTimer::Pace => self.senders[index].on_pace_timer(&mut flow_context!(self, flow)),
            FlowTimer::Wake => self.senders[index].on_wake_timer(&mut flow_context!(self, flow)),
            FlowTimer::Application => self.application(flow),
        }
    }

    /// The timer after all flows' is the satellites's, the one behind it is the radio's.
    #[cold]
    fn network_event(&mut self, id: u32) {
        if id == self.schedules.len() as u32 * FlowTimer::COUNT {
            return self.sky_event();
        }
        if self.warmup.as_ref().is_some_and(|warmup| warmup.timer == id) {
            return self.end_warmup();
        }
        let Some(radio) = self.network.radio() else { return };
        radio.on_timer(&mut self.event_queue);
        if PACKETS {
            let events = radio.events();
            self.recorder.radio(&events);
        }
        while let Some(handed) = self.network.radio().and_then(net::radio::Radio::poll_output) {
            match handed {
                // Copies of the packet may still be about: their blocks stay until they are gone.
                RadioOutput::Delivered(mut packet, path) => {
                    if packet.has_blocks() {
                        let blocks = self.blocks.get(packet.blocks);
                        packet.blocks = self.blocks.put(&blocks);
                        if PACKETS {
                            self.recorder.sends_blocks(packet.blocks, &blocks);
                        }
                    }
                    self.network.land(&mut self.event_queue, &packet, path);
                }
                RadioOutput::Gone(packet) => {
                    if packet.has_blocks() {
                        self.blocks.take(packet.blocks);
                    }
                }
            }
        }
    }

    /// Paths change, or a flow comes under hand-off.
    #[cold]
    fn sky_event(&mut self) {
        let now = self.event_queue.now();
        loop {
            let Some(satellites) = &mut self.satellites else { return };
            let timer = self.schedules.len() as u32 * FlowTimer::COUNT;
            let Some(&(at, event)) = satellites.events.get(satellites.next) else {
                return self.event_queue.set_timer(timer, Time::NEVER);
            };
            if at > now {
                return self.event_queue.set_timer(timer, at);
            }
            satellites.next += 1;
            match event {
                SatelliteEvent::Reroute => self.network.reroute(now),
                SatelliteEvent::Begins(flow) => {
                    self.senders[flow as usize].on_handoff(&mut flow_context!(self, flow), true)
                }
                SatelliteEvent::Ends(flow) => {
                    self.senders[flow as usize].on_handoff(&mut flow_context!(self, flow), false)
                }
            }
        }
    }

    /// A flow starts or stops, or a UDP source sends.
    fn application(&mut self, flow: u32) {
        let index = flow as usize;
        if let Some(udp) = index.checked_sub(self.senders.len()) {
            self.udp[udp].0.on_timer(&mut flow_context!(self, flow));
            return;
        }
        let plan = &mut self.schedules[index];
        if plan.started {
            self.senders[index].on_stop(&mut flow_context!(self, flow));
            return;
        }
        plan.started = true;
        let stop = plan.stop;
        self.senders[index].on_start(&mut flow_context!(self, flow));
        if stop != Time::NEVER {
            self.event_queue.set_timer(flow * FlowTimer::COUNT + FlowTimer::Application as u32, stop);
        }
    }
}

/// CPU time of this thread, ns.
pub(crate) fn cpu_time() -> u64 {
    clock(ClockId::ThreadCPUTime)
}

/// Elapsed time, ns since some moment.
fn wall_time() -> u64 {
    clock(ClockId::Monotonic)
}

fn clock(id: ClockId) -> u64 {
    let t = clock_gettime(id);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
