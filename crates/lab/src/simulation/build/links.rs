//! Adds the links, each with its queue, impairment and router.

use super::media::Media;
use super::plan::{BuildPlan, Layout, named_stream};
use crate::audit::{AccessRules, Airtimes, AuditedLink, AuditedMedium, CellRules, EdcaRules};
use crate::scenario::paths::FlowPath;
use crate::scenario::{Direction, FlowKind, Loss, Queue, RateVariation, WifiQueue};
use crate::simulation::recorder::AUDITS;
use engine::Stream;
use net::cellular::Handover;
use net::impairment::{BuildContext, Delay, Impairment, OnDemand};
use net::qdisc::Qdisc;
use net::wifi::Access;
use net::{LinkId, LinkSpec, Network, RateSteps, TokenBucket, TraceCursor, Transmitter};
use units::{Limit, Rate, Span, Time};

/// The network with its links, and what the auditor is to know of each if the run is audited.
pub(super) fn add_links(
    plan: &BuildPlan<'_>,
    layout: &Layout<'_>,
    directions: &[&Direction],
) -> (Network, Vec<Span>, Vec<AuditedLink>) {
    let topology = &layout.topology;
    let hops = layout.paths.iter().map(|path| path.links().count() + 3).sum();
    let mut network = Network::new(plan.end, directions.len(), hops, !plan.settings.unfused);
    let round_trips = longest_round_trips(layout, directions);
    let mut audited = Vec::new();
    let mut media = Media::default();
    for (i, (direction, rtt)) in directions.iter().zip(&round_trips).enumerate() {
        let (link, rtt) = (LinkId(i as u32), *rtt);
        let prepared = plan.scenario.prepared.links.get(&link.0);
        let served = plan.scenario.prepared.serves(link.0);
        let scheduled = is_scheduled(direction) || served || layout.limits_local(link);
        let stream = |purpose: &str| named_stream(plan.seed, topology, link, purpose);
        let (rate, delay) = (direction.mean_rate(plan.end), direction.delay);
        let qdisc = match scheduled {
            true => Qdisc::Unlimited, // replaced by its scheduler
            false => direction.queue.at_arrival(rate, delay, rtt, &stream),
        };
        // Each random process has its own stream of random numbers. The first has the same name as if it were the only one.
        let mut impairments = Vec::new();
        let mut used: Vec<&str> = Vec::new();
        for loss in &direction.losses {
            let kind = loss.kind().stream;
            used.push(kind);
            let count = used.iter().filter(|other| **other == kind).count();
            let name = if count <= 1 { kind.to_string() } else { format!("{kind} {count}") };
            let flow = |name: &str| flow_of(plan, name);
            impairments.extend(loss.build(&BuildContext { flow: &flow, stream: &|| stream(&name) }));
        }
        if let Some(prepared) = prepared {
            if prepared.delayed {
                impairments.push(Impairment::Delay(Delay::none()));
            }
            impairments.push(Impairment::OnDemand(OnDemand::new(prepared.reorders)));
        }
        let spec =
            LinkSpec { rate: direction.rate, delay, qdisc, impairments, router: direction.router.clone() };
        network.add_link(spec);
        let mut queues = 1;
        if let Some((transmitter, categories)) = media.add(plan, layout, &mut network, link, direction) {
            let scheduler =
                categories.queues(&stream, |stream| direction.queue.at_departure(rate, rtt, stream));
            queues = categories.count();
            network.set_scheduler(link, scheduler, transmitter);
        } else if scheduled {
            let scheduler = direction.queue.at_departure(rate, rtt, &stream);
            let steps = || stream("rate");
            let transmitter = match served && direction.variation.is_none() {
                true => Transmitter::Changing(vec![(Time::ZERO, rate)]),
                false => transmitter(direction, rate, plan.end, steps),
            };
            network.set_scheduler(link, scheduler, transmitter);
        }
        if AUDITS && plan.settings.recording.audit {
            audited.push(audited_link(plan, layout, link, direction, rtt, queues));
        }
    }
    (network, round_trips, audited)
}

/// Whether the queue of a direction is asked at each departure.
fn is_scheduled(direction: &Direction) -> bool {
    direction.queue.is_scheduled() || direction.variation.is_some()
}

/// The transmitter of a scheduled link of mean rate `rate` until `end`. `stream` is called only if it needs random numbers.
fn transmitter(direction: &Direction, rate: Rate, end: Time, stream: impl FnOnce() -> Stream) -> Transmitter {
    match &direction.variation {
        None => Transmitter::Constant(rate),
        Some(RateVariation::Steps(steps)) => Transmitter::Steps(steps.clone()),
        Some(RateVariation::RandomSteps { interval, min, max }) => {
            Transmitter::Steps(random_steps(*interval, [*min, *max], end, stream()))
        }
        Some(RateVariation::Trace(trace)) => Transmitter::Trace(TraceCursor::new(trace.clone())),
        Some(RateVariation::Shaper { line, burst }) => {
            Transmitter::Shaper(*line, TokenBucket::new(rate, *burst))
        }
        // The medium takes the place of this one.
        Some(RateVariation::Wifi(_) | RateVariation::Cellular(_) | RateVariation::Grants(_)) => {
            Transmitter::Constant(rate)
        }
    }
}

/// Rates between two bounds, one for each interval until `end`.
fn random_steps(interval: Span, [min, max]: [Rate; 2], end: Time, mut stream: Stream) -> RateSteps {
    let times = std::iter::successors(Some(Time::ZERO), |at| Some(*at + interval));
    let width = (max.bps() - min.bps()) as f64;
    let mut rate = || Rate::from_bps(min.bps() + (stream.uniform() * width) as u64);
    let steps = times.take_while(|at| *at <= end).map(|at| (at, rate())).collect();
    RateSteps { steps, period: Span::ZERO }
}

/// For each link, the longest round-trip propagation delay of the flows over it; without a flow, that of its own two
/// directions.
pub(super) fn longest_round_trips(layout: &Layout<'_>, directions: &[&Direction]) -> Vec<Span> {
    let delay_of =
        |path: &FlowPath| path.links().fold(Span::ZERO, |sum, link| sum + directions[link.0 as usize].delay);
    let moving = layout.satellites.as_ref().map_or(Span::ZERO, |s| s.round_trip(&layout.pairs));
    let mut round_trips = vec![moving; directions.len()];
    for pair in layout.paths.chunks_exact(2) {
        let both = delay_of(&pair[0]) + delay_of(&pair[1]);
        for link in pair.iter().flat_map(FlowPath::links) {
            let longest = &mut round_trips[link.0 as usize];
            *longest = both.max(*longest);
        }
    }
    for (i, longest) in round_trips.iter_mut().enumerate().filter(|(_, longest)| **longest == Span::ZERO) {
        let back = directions.get(i ^ 1).map_or(Span::ZERO, |back| back.delay);
        *longest = directions[i].delay + back;
    }
    round_trips
}

fn audited_link(
    plan: &BuildPlan<'_>,
    layout: &Layout<'_>,
    link: LinkId,
    direction: &Direction,
    rtt: Span,
    queues: u64,
) -> AuditedLink {
    let (from, to) = layout.topology.ends(link);
    let name = layout.topology.link_name(link);
    let place = match &layout.satellites {
        Some(satellites) => satellites.audited(link.0, name, from, to, plan.end),
        None => AuditedLink {
            name,
            from: from.0..from.0 + 1,
            to: to.0..to.0 + 1,
            delay: (direction.delay, direction.delay),
            ..AuditedLink::default()
        },
    };
    let rate = direction.mean_rate(plan.end);
    let served = plan.scenario.prepared.serves(link.0);
    let limit_before = direction.queue.limits_before();
    let mut limit = audited_limit(&direction.queue, rate, rtt);
    if let Some(set) = direction.wifi().and_then(|rate| plan.scenario.wifi_set(rate)) {
        // Packets of an A-MPDU have left the queue, and depart when the receiver releases them.
        let aggregated = set.phy.window * set.phy.amsdu + 2;
        let shared = matches!(set.queue, WifiQueue::Shared(_));
        limit = limit.filter(|_| !shared).map(|limit| several(longer(limit, aggregated), queues));
    }
    if direction.has_medium() && direction.wifi().is_none() {
        limit = None; // packets in transport blocks and grants have left the queue, and depart later
    }
    let mut link = AuditedLink {
        rate,
        limit,
        limit_before,
        scheduled: is_scheduled(direction) || served || layout.limits_local(link),
        keeps_flow_order: direction.queue.keeps_flow_order(),
        varies: direction.variation.is_some() || served,
        medium: audited_medium(plan, layout, link, direction),
        ..place
    };
    permit_losses(&mut link, &direction.losses);
    link
}

/// The medium of a direction, as the auditor knows it: Wi-Fi channels first, then two ways for each cell, then grants.
fn audited_medium(
    plan: &BuildPlan<'_>,
    layout: &Layout<'_>,
    link: LinkId,
    direction: &Direction,
) -> Option<AuditedMedium> {
    let (sets, cells) = (&plan.scenario.wifi, &plan.scenario.cells);
    let from = layout.topology.node_name(layout.topology.ends(link).0);
    let mut medium = AuditedMedium {
        number: (sets.len() + 2 * cells.len()) as u32 + link.0,
        peak: Some(direction.rate),
        slot: Span::ZERO,
        ahead: Span::ZERO,
        rules: AccessRules::Unchecked,
    };
    match direction.variation.as_ref()? {
        RateVariation::Wifi(rate) => {
            let set = plan.scenario.wifi_set(rate)?;
            medium.number = sets.iter().position(|other| other.channel == set.channel)? as u32;
            let category = |access: usize| set.category(Access::ALL[access].0, from == set.ap);
            let aifs = |access| Span::from_ps((16 + 9 * category(access).aifsn as u64) * 1_000_000);
            medium.rules = AccessRules::Edca(EdcaRules {
                node: layout.topology.ends(link).0.0,
                aifs: std::array::from_fn(aifs),
                txop: std::array::from_fn(|access| category(access).txop),
                airtimes: Airtimes::new(&set.phy_of(rate)),
                attempts: set.options.retry_limit + 1,
                rts_threshold: set.options.rts_threshold,
                eifs: set.options.eifs,
            });
        }
        RateVariation::Cellular(user) => {
            let both = &plan.scenario.links[link.0 as usize / 2].directions;
            let handovers: Vec<&Handover> =
                both.iter().filter_map(|direction| direction.cellular()?.handover.as_ref()).collect();
            if handovers.iter().any(|handover| handover.mode == "seamless") {
                medium.peak = None; // what such a handover loses leaves without a transmission, at its time
            }
            let cell = cells.iter().position(|cell| Some(&cell.name) == user.medium.as_ref())?;
            let options = &cells[cell];
            medium.number = (sets.len() + 2 * cell + usize::from(from != options.station)) as u32;
            medium.slot = options.slot();
            medium.ahead = medium.slot * options.pattern().map_or(1, |slots| slots.len()) as u64;
            let interruption =
                |handover: &Handover, at: &Span| (Time::ZERO + *at, Time::ZERO + *at + handover.interruption);
            medium.rules = AccessRules::Cell(CellRules {
                blocks: options.resource_blocks().ok()?.steps,
                pattern: (options.pattern().ok()?.iter())
                    .map(|symbols| symbols[usize::from(from != options.station)] > 0)
                    .collect(),
                harq_rtt: options.harq_rtt,
                attempts: options.attempts,
                processes: if options.is_nr() { 16 } else { 8 },
                interruptions: handovers
                    .iter()
                    .flat_map(|handover| handover.at.iter().map(|at| interruption(handover, at)))
                    .collect(),
            });
        }
        RateVariation::Grants(options) => medium.ahead = options.ahead(),
        _ => return None,
    }
    Some(medium)
}

/// What impairments permit on a link: a delay is added to that of the link, and during a stall the transmitter pauses.
pub(in crate::simulation) fn permit_losses(link: &mut AuditedLink, losses: &[Loss]) {
    for permits in losses.iter().map(Loss::permits) {
        link.delay.1 = link.delay.1 + permits.delay;
        link.pause = link.pause + permits.pause;
        link.copies |= permits.copies;
    }
}

/// The number of a flow of this run, and how many segments come before its data.
pub(super) fn flow_of(plan: &BuildPlan<'_>, name: &str) -> Option<(u32, u32)> {
    let index = plan.scenario.flows.iter().position(|flow| flow.name == name)?;
    let syn = match &plan.scenario.flows[index].kind {
        FlowKind::Tcp(tcp) => tcp.options.syn as u32,
        FlowKind::Quic(_) | FlowKind::Udp { .. } | FlowKind::Attached(_) => 0,
    };
    Some((plan.order[index], syn))
}

/// The largest number of packets or bytes that wait in a queue.
pub(in crate::simulation) fn audited_limit(queue: &Queue, rate: Rate, rtt: Span) -> Option<Limit> {
    // A fair queue accepts a packet before it drops others.
    match (queue.exceeds_limit(), queue.limit(rate, rtt)) {
        (true, Some(Limit::Packets(n))) => Some(Limit::Packets(n + 1)),
        (true, _) => None,
        (false, limit) => limit,
    }
}

/// The limit of `queues` queues together.
fn several(limit: Limit, queues: u64) -> Limit {
    match limit {
        Limit::Packets(packets) => Limit::Packets(packets.saturating_mul(queues)),
        Limit::Bytes(bytes) => Limit::Bytes(bytes.saturating_mul(queues)),
        Limit::Bdp(_) | Limit::Time(_) => limit,
    }
}

/// A limit with room for `count` packets more.
pub(in crate::simulation) fn longer(limit: Limit, count: u32) -> Limit {
    match limit {
        Limit::Packets(packets) => Limit::Packets(packets + count as u64),
        Limit::Bytes(bytes) => Limit::Bytes(bytes + 65_535 * count as u64),
        Limit::Bdp(_) | Limit::Time(_) => limit,
    }
}

/// Whether a link sends copies of packets.
pub(super) fn copies(losses: &[Loss]) -> bool {
    losses.iter().any(|loss| loss.permits().copies)
}
