//! The outcome of a finished simulation.

use super::endpoints::Endpoints;
use super::event_loop::Simulation;
use crate::simulation::media_outcome::{
    CellLinkOutcome, CellOutcome, GrantsOutcome, WifiLinkOutcome, WifiOutcome,
};
use crate::simulation::memory;
use crate::simulation::outcome::{
    Drops, EngineCost, Fairness, FlowOutcome, LinkDelayOutcome, LinkOutcome, LowLatencyOutcome, MAC_DROPS,
    Outcome, RadioOutcome, compared_goodputs, jain,
};
use net::radio::PacketFate;
use net::{LinkAccount, LinkId, MediumKind};
use std::collections::BTreeMap;
use transport::ReceiverStats;
use units::{Span, Time};

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    pub(super) fn links(&self) -> impl Iterator<Item = LinkId> + use<WINDOWS, PACKETS> {
        (0..self.topology.links() as u32).map(LinkId)
    }

    /// Names of the links; of parallel links the second one is `a->b#2`.
    pub(super) fn link_names(&self) -> Vec<String> {
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        let mut unique = |name: String| {
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            if *count > 1 { format!("{name}#{count}") } else { name }
        };
        self.links().map(|link| unique(self.topology.link_name(link))).collect()
    }

    /// The memory that the run needs soon, or at its end: description, bytes, remedy.
    pub(super) fn memory_needs(&self) -> Vec<(String, u64, &'static str)> {
        let mut needs = self.recorder.memory_needs();
        let growth = (self.event_queue.growth() + self.network.growth()) as u64;
        if growth >= memory::SMALL && self.border.is_none() {
            let accounts = self.network.account(&self.event_queue, self.duration);
            let links = self.link_names().into_iter().zip(accounts.map(|account| account.in_flight));
            let (link, packets) = links.max_by_key(|(_, packets)| *packets).unwrap_or_default();
            needs.push((
                format!("{link} holds {packets} packets and needs"),
                growth,
                "give its queue a limit",
            ));
        }
        needs
    }

    pub(super) fn cost(&self) -> (EngineCost, f64) {
        let wired: u64 = self.network.account(&self.event_queue, self.duration).map(|a| a.delivered).sum();
        let hops = wired + self.network.radio_hops();
        let cost = EngineCost {
            events: self.event_queue.events() + self.other_events,
            packet_hops: hops,
            cpu_s: self.cpu as f64 / 1e9,
            wall_s: self.wall as f64 / 1e9,
        };
        let tcp: u64 = (0..self.senders.len()).map(|n| self.delivered_bytes(n)).sum();
        let bytes = tcp + self.quic.iter().map(|flow| flow.delivered_bytes()).sum::<u64>();
        (cost, bytes as f64 * 8.0 / self.duration.seconds())
    }

    /// Payload of a TCP flow delivered in order, without duplicates, bytes.
    fn delivered_bytes(&self, number: usize) -> u64 {
        let (sender, received) = (&self.senders[number], self.receivers[number].in_order());
        let in_order = (received - (sender.options().syn && received > 0) as u32) as u64;
        let plan = &self.schedules[number];
        let complete = plan.segments.is_some_and(|n| in_order >= n as u64);
        in_order * sender.options().packet as u64 - if complete { plan.short } else { 0 }
    }

    /// The outcome of the whole run, without its warm-up.
    pub(super) fn outcome(&mut self) -> Outcome {
        let whole = self.outcome_at(self.duration);
        match self.warmup.as_ref().and_then(|warmup| warmup.outcome.as_ref()) {
            Some(early) => whole.without(early),
            None => whole,
        }
    }

    /// Stores the outcome of the warm-up at its end.
    pub(super) fn end_warmup(&mut self) {
        let Some(duration) = self.warmup.as_ref().map(|warmup| warmup.duration) else { return };
        let outcome = self.outcome_at(duration);
        self.network.end_warmup();
        if let Some(warmup) = &mut self.warmup {
            warmup.outcome = Some(Box::new(outcome));
        }
    }

    /// The outcome of the first `span` of the run.
    fn outcome_at(&mut self, span: Span) -> Outcome {
        let duration = span.seconds();
        let flows: Vec<FlowOutcome> =
            self.order.clone().iter().map(|number| self.flow_outcome(*number as usize, span)).collect();
        let compared = compared_goodputs(&flows);
        let has = |kind: &str| flows.iter().any(|flow| flow.kind == kind);
        let substrate = if has("quic") && !has("tcp") { "quic" } else { "tcp" };
        let accounts = self.network.account(&self.event_queue, span);
        let links = self.link_names().into_iter().zip(accounts);
        let mut links: Vec<LinkOutcome> =
            links.map(|(name, account)| self.link_outcome(name, &account)).collect();
        let (wifi, cell) = self.media_outcomes(&mut links, duration);
        Outcome {
            title: self.title.clone(),
            seed: self.seed,
            duration_s: duration,
            warmup_s: None,
            version: crate::VERSION,
            substrate,
            flows,
            radio: self.radio_outcome(),
            wifi,
            cell,
            satellite: self.satellites.as_ref().map(|satellites| satellites.outcome.clone()),
            fairness: Fairness { jain: jain(&compared) },
            engine: self.cost().0,
            links,
        }
    }

    /// The outcomes of the media; those of their directions go into the outcomes of the links.
    fn media_outcomes(
        &self,
        links: &mut [LinkOutcome],
        duration: f64,
    ) -> (Vec<WifiOutcome>, Vec<CellOutcome>) {
        let (mut channels, mut cells) = (Vec::new(), Vec::new());
        for medium in self.network.media() {
            match medium.kind() {
                MediumKind::Wifi(channel) => {
                    for (link, access, account) in channel.directions() {
                        let wifi = &mut links[link as usize].wifi;
                        let before = wifi.take().map(|wifi| wifi.accounts);
                        let accounts = before.into_iter().flatten().chain([(access, account.clone())]);
                        *wifi = Some(Box::new(WifiLinkOutcome::new(accounts.collect(), duration)));
                    }
                    let account = *channel.account();
                    channels.push(WifiOutcome::new(channel.name().into(), account, duration));
                }
                MediumKind::Grants(grants) => {
                    let (link, account) = grants.account();
                    links[link as usize].grants = Some(Box::new(GrantsOutcome::new(account.clone())));
                }
                MediumKind::Cell(cell) => {
                    for (link, up, account) in cell.directions() {
                        let outcome = CellLinkOutcome::new(account, cell.shares()[usize::from(up)], duration);
                        links[link as usize].cell = Some(Box::new(outcome));
                    }
                    let account = cell.account().clone();
                    cells.push(CellOutcome::new(cell.name().into(), cell.shares(), account, duration));
                }
            }
        }
        (channels, cells)
    }

    fn link_outcome(&self, name: String, account: &LinkAccount) -> LinkOutcome {
        let mut link = LinkOutcome {
            name,
            delivered_packets: account.delivered,
            dropped_packets: Drops(account.dropped),
            queue_drops: 0,
            drop_rate: None,
            marked_packets: account.marked,
            utilisation: account.utilisation,
            offered_s: account.offered_s,
            mean_queue_packets: account.mean_queue_packets,
            mean_sojourn_s: account.mean_sojourn_s,
            p95_sojourn_s: account.p95_sojourn_s,
            delay: account.delays_s.map(|[p50_s, p95_s, p99_s]| LinkDelayOutcome { p50_s, p95_s, p99_s }),
            wifi: None,
            cell: None,
            grants: None,
            low_latency: account.low_latency.as_ref().map(|low| LowLatencyOutcome {
                sent_packets: low.packets,
                marked_packets: low.marked,
                mean_sojourn_s: (low.packets > 0).then(|| low.mean_wait_s()),
                p99_sojourn_s: low.p99_wait_s(),
            }),
            transmitted_packets: account.transmitted,
            unused: self.satellites.is_some() && account.offered == 0,
        };
        link.set_drop_rate();
        link
    }

    fn radio_outcome(&mut self) -> Option<RadioOutcome> {
        let radio = self.network.radio()?;
        let counts = radio.counts();
        let ratio = |a: u64, b: u64| (b > 0).then(|| a as f64 / b as f64);
        let drops = |list: &[u64]| -> BTreeMap<&'static str, u64> {
            PacketFate::DROPS.iter().zip(list).map(|(fate, n)| (fate.name(), *n)).collect()
        };
        let mac = [counts.retries_exhausted, counts.collisions, counts.busy, counts.duplicates];
        Some(RadioOutcome {
            offered_packets: counts.offered,
            received_packets: counts.received,
            delivery_ratio: ratio(counts.received, counts.offered),
            routing_packets: counts.routing,
            routing_load: ratio(counts.routing, counts.received),
            mean_hops: ratio(counts.received_hops, counts.received),
            mac_drops: MAC_DROPS.iter().map(|(name, _)| *name).zip(mac).collect(),
            dropped_packets: drops(&counts.dropped_data),
        })
    }

    fn flow_outcome(&mut self, number: usize, span: Span) -> FlowOutcome {
        let duration = span.seconds();
        let rate = |bytes: u64| bytes as f64 * 8.0 / duration;
        if let Endpoints::Attached(index) = self.endpoints[number] {
            return self.attached_outcome(index, duration);
        }
        if let Endpoints::Quic(index) = self.endpoints[number] {
            return self.quic_outcome(number, index, span);
        }
        if let Endpoints::Udp(index) = self.endpoints[number] {
            let (source, stats) = &self.udp[index];
            let delivered = stats.distinct_bytes();
            return FlowOutcome {
                kind: "udp",
                goodput_bps: rate(delivered),
                delivered_bytes: delivered,
                ..arrivals(
                    self.names[number].clone(),
                    stats,
                    source.sent(),
                    self.paths[number].empty,
                    duration,
                )
            };
        }
        let (end, plan, delivered) =
            (Time::ZERO + span, &self.schedules[number], self.delivered_bytes(number));
        let sender = &mut self.senders[number];
        if plan.started {
            sender.finish(end);
        }
        let (options, stats) = (sender.options(), &sender.stats);
        let mean = |area: f64| (plan.started && area.is_finite()).then(|| area / duration);
        let finite = |x: f64| x.is_finite().then_some(x);
        let (cwnd, ssthresh) = sender.shown_window();
        let receiver = &self.receivers[number];
        let arrived = &receiver.stats;
        FlowOutcome {
            kind: "tcp",
            control: Some(sender.controller().name().into()),
            recovery: Some(options.recovery.name()),
            goodput_bps: rate(delivered),
            delivered_bytes: delivered,
            acked_packets: Some(sender.acked_segments() as u64),
            retransmitted_packets: Some(stats.retransmitted as u64),
            timeouts: Some(stats.timeouts as u64),
            window_cuts: Some(stats.cwnd_reductions as u64),
            mean_cwnd: mean(stats.cwnd_area),
            mean_ssthresh: mean(stats.ssthresh_area),
            final_cwnd: finite(cwnd),
            final_ssthresh: finite(ssthresh),
            mean_rtt_s: (stats.rtt_count > 0).then(|| stats.rtt_sum / stats.rtt_count as f64),
            min_rtt_s: (stats.rtt_count > 0).then(|| stats.rtt_min.seconds()),
            rtt_samples: stats.rtt_count as u64,
            limited_s: sender.limited_s(),
            completion_s: sender
                .completed()
                .filter(|_| plan.segments.is_some_and(|n| sender.acked_segments() >= n))
                .map(|at| at.since(plan.start).seconds()),
            ..arrivals(
                self.names[number].clone(),
                arrived,
                stats.sent as u64,
                self.paths[number].empty,
                duration,
            )
        }
    }
}

/// The values from the counters of a sink and the number of packets sent to it: delivery ratio, throughput, delay,
/// interarrival time, delay variation.
pub(super) fn arrivals(
    name: String,
    stats: &ReceiverStats,
    sent: u64,
    base: Option<Span>,
    duration: f64,
) -> FlowOutcome {
    let n = stats.packets as f64;
    let some = stats.packets > 0;
    let mut flow = FlowOutcome {
        name,
        sent_packets: sent,
        distinct_packets: [stats.distinct_packets(), stats.carried],
        wire_bytes: stats.wire_bytes,
        throughput_bps: stats.wire_bytes as f64 * 8.0 / duration,
        mean_delay_s: some.then(|| stats.delay_sum / n),
        mean_gap_s: (stats.packets > 1).then(|| stats.last_at.since(stats.first_at).seconds() / (n - 1.0)),
        jitter1_s: some.then(|| (stats.last_delay_s - stats.first_delay.seconds()) / n),
        jitter2_s: some.then(|| stats.jitter_sum / n),
        base_delay_s: base.map(Span::seconds),
        arrived_packets: stats.packets,
        delays: stats.detail.as_ref().and_then(|detail| detail.delays.clone()).unwrap_or_default(),
        ..FlowOutcome::default()
    };
    flow.set_delivery_ratio();
    flow.rank_delays();
    flow
}
