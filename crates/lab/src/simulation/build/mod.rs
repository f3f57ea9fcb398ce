//! Builds a simulation from a scenario in six steps: number the flows and lay out nodes and paths; add links; add
//! satellites, radio and warm-up; add flows; create the recorder; set the first timers. The order determines the
//! numbers, and the numbers determine the order of ties.

mod audited_apps;
mod flows;
pub(super) mod links;
mod media;
pub(super) mod plan;
mod resolved;
mod seed;

use super::Settings;
use super::datagrams::DatagramPool;
use super::endpoints::{Endpoints, TimerOwner};
use super::event_loop::{Simulation, Warmup};
use super::per_flow::PerFlow;
use super::recorder::{AUDITS, Recorder};
use super::satellites::ConstellationSchedule;
use crate::audit::{AuditedLink, Auditor, RadioAuditor};
use crate::error::ScenarioError;
use crate::scenario::paths::{FlowPath, radio_names};
use crate::scenario::{Direction, Scenario};
#[cfg(not(target_family = "wasm"))]
pub(super) use audited_apps::audited as audited_app;
use engine::EventQueue;
use flows::{Flows, add_flows};
use links::add_links;
use net::radio::Radio;
use net::{LinkId, Network, Packet};
use plan::{BuildPlan, Layout};
pub use resolved::{ResolvedFlow, ResolvedLink, ResolvedNetwork, ResolvedTraffic};
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use transport::{AckOptionPool, FlowTimer};
use units::{Span, Time};

/// What a run has beside links and flows, and whose the timers behind those of the flows are.
struct Media {
    timers: Vec<TimerOwner>,
    satellites: Option<ConstellationSchedule>,
    warmup: Option<Warmup>,
}

/// Adds satellites, radio and warm-up to the network, with their timers.
fn add_media(
    plan: &BuildPlan<'_>,
    layout: &mut Layout<'_>,
    network: &mut Network,
    event_queue: &mut EventQueue<Packet>,
    watched: bool,
) -> Media {
    let schedule = layout
        .satellites
        .as_ref()
        .map(|s| s.plan(&satellite_ends(layout), plan.controlled_flows(), plan.end));
    if let Some(satellites) = layout.satellites.take() {
        network.set_satellites(satellites.network);
    }
    event_queue.add_timers(1);
    let mut timers = vec![TimerOwner::Satellites];
    if let Some(scene) = &plan.scenario.radio {
        timers.push(TimerOwner::Radio);
        let mut radio = Radio::new(scene.config(plan.seed, plan.end), event_queue.add_timers(1), plan.end);
        if watched {
            radio.watch();
        }
        radio.start(event_queue);
        network.radio = Some(Box::new(radio));
    }
    let warmup = (plan.scenario.warmup > Span::ZERO).then(|| {
        timers.push(TimerOwner::Warmup);
        let end = Time::ZERO + plan.scenario.warmup;
        network.links.set_warmup(end);
        // It comes up when all that happens up to the end of the warm-up has happened.
        let timer = event_queue.add_timers(1);
        event_queue.set_timer(timer, end + Span::from_ps(1));
        Warmup { duration: plan.scenario.warmup, account: None }
    });
    if plan.scenario.delays {
        network.links.record_sojourns();
    }
    Media { timers, satellites: schedule, warmup }
}

/// Of each flow the nodes where its data enters and leaves the satellite network; its own nodes if it does not use it.
fn satellite_ends(layout: &Layout<'_>) -> Vec<[usize; 2]> {
    let data = layout.paths.iter().step_by(2).zip(&layout.ends);
    data.map(|(path, ends)| path.satellite_ends().unwrap_or(ends.map(|node| node.0 as usize))).collect()
}

/// The recorder, with the auditors that are asked for.
fn recorder<const WINDOWS: bool, const PACKETS: bool>(
    plan: &BuildPlan<'_>,
    layout: &Layout<'_>,
    flows: &Flows,
    audited: Vec<AuditedLink>,
) -> Recorder<WINDOWS, PACKETS> {
    let recording = plan.settings.recording;
    let windows: Vec<u32> = flows.senders.iter().map(|sender| sender.options().window).collect();
    let audits = AUDITS && recording.audit;
    let mut auditor = audits.then(|| Auditor::new(audited, &layout.ends, &windows));
    for (number, pair) in layout.paths.chunks_exact(2).enumerate() {
        if let (Some(auditor), true) = (&mut auditor, pair.iter().any(FlowPath::has_radio)) {
            auditor.expect_radio_hop(number as u32);
        }
    }
    if let Some(auditor) = &mut auditor {
        audited_apps::add(plan, layout, flows, auditor);
    }
    let mut recorder = Recorder::new(recording, &flows.probes, auditor, plan.end);
    if let (Some(scene), true) = (&plan.scenario.radio, audits) {
        let config = scene.config(plan.seed, plan.end);
        recorder.radio_auditor = Some(RadioAuditor::new(config.nodes, config.propagation));
    }
    recorder
}

/// Sets the first timers. Flows that start at one instant start in the order of the file.
fn set_first_timers(
    plan: &BuildPlan<'_>,
    flows: &Flows,
    media: &Media,
    event_queue: &mut EventQueue<Packet>,
) {
    if let Some((first, _)) = media.satellites.as_ref().and_then(|schedule| schedule.events.first()) {
        event_queue.set_timer(plan.numbered.len() as u32 * FlowTimer::COUNT, *first);
    }
    let attached = |number: &&u32| matches!(flows.endpoints[**number as usize], Endpoints::Attached(_));
    for number in plan.order.iter().filter(|number| !attached(number)) {
        let start = flows.schedules[*number as usize].start;
        event_queue.set_timer(number * FlowTimer::COUNT + FlowTimer::Application as u32, start);
    }
}

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    pub(super) fn build(
        scenario: &Scenario,
        settings: Settings,
        stop: &AtomicBool,
    ) -> Result<Self, ScenarioError> {
        let plan = BuildPlan::new(scenario, settings);
        let radio_nodes = radio_names(scenario.radio.as_deref());
        let mut layout = Layout::new(&plan, &radio_nodes, stop);
        let moving = layout.satellites.as_mut().map_or(Vec::new(), |s| std::mem::take(&mut s.directions));
        let directions: Vec<&Direction> =
            scenario.links.iter().flat_map(|link| &link.directions).chain(&moving).collect();
        let (mut network, round_trips, audited) = add_links(&plan, &layout, &directions);
        let mut event_queue = EventQueue::new();
        event_queue.add_timers(plan.numbered.len() as u32 * FlowTimer::COUNT);
        let media = add_media(&plan, &mut layout, &mut network, &mut event_queue, PACKETS);
        let mut flows = add_flows(&plan, &layout, &directions, &mut network);
        if AUDITS && plan.settings.recording.audit {
            flows.apps.audit();
        }
        network.reroute(Time::ZERO);
        network.complete_routes(flows.receiving.iter().copied());
        let recorder = recorder(&plan, &layout, &flows, audited);
        set_first_timers(&plan, &flows, &media, &mut event_queue);
        let first_link = |path: &FlowPath| path.links().next().map_or(LinkId(0), |link| *link);
        let first_links =
            layout.paths.chunks_exact(2).map(|pair| [first_link(&pair[0]), first_link(&pair[1])]).collect();
        Ok(Simulation {
            title: scenario.title.clone(),
            seed: plan.seed,
            duration: scenario.duration,
            end: plan.end,
            cooldown: scenario.cooldown,
            event_queue,
            network,
            recorder,
            ack_options: AckOptionPool::default(),
            endpoints: flows.endpoints.into(),
            senders: PerFlow::new(flows.senders),
            receivers: PerFlow::new(flows.receivers),
            receiving: Vec::new(),
            quic: flows.quic,
            udp: flows.udp,
            attached: flows.attached,
            apps: flows.apps,
            datagrams: DatagramPool::default(),
            outbox: VecDeque::new(),
            lent: None,
            steps: 0,
            schedules: PerFlow::new(flows.schedules),
            starts: flows.starts,
            names: flows.names.into(),
            ends: layout.ends.into(),
            topology: layout.topology.into(),
            has_external: scenario.has_external(),
            paths: flows.paths.into(),
            given_names: scenario.links.iter().map(|link| link.name.clone()).collect(),
            crowded: plan.order.len() > 1000 && media.satellites.is_none() && scenario.radio.is_none(),
            first_links,
            routes: flows.receiving,
            order: plan.order.into(),
            network_timers: media.timers,
            satellites: media.satellites,
            warmup: media.warmup,
            changes: scenario.changes.clone(),
            next_change: 0,
            prepared: scenario.prepared.clone().into(),
            round_trips: round_trips.into(),
            reached: Time::ZERO,
            border: None,
            other_events: 0,
            cpu: 0,
            wall: 0,
        })
    }
}
