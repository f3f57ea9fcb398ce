//! The outcome of a finished simulation.

use super::endpoints::Endpoints;
use super::event_loop::Simulation;
use super::flow_outcome::{FlowFacts, attached_outcome, delivered_bytes, tcp_outcome, udp_outcome};
use crate::simulation::media_outcome::{
    CellLinkOutcome, CellOutcome, GrantsOutcome, WifiLinkOutcome, WifiOutcome,
};
use crate::simulation::memory;
use crate::simulation::outcome::{
    Drops, EngineCost, Fairness, FlowOutcome, LinkDelayOutcome, LinkOutcome, LowLatencyOutcome, MAC_DROPS,
    Outcome, RadioOutcome, compared_goodputs, jain,
};
use net::radio::{PacketFate, Radio};
use net::{LinkAccount, MediumKind, Network};
use std::collections::BTreeMap;
use units::Span;

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    /// The memory that the run needs soon, or at its end: description, bytes, remedy.
    pub(super) fn memory_needs(&self) -> Vec<(String, u64, &'static str)> {
        let mut needs = self.recorder.memory_needs();
        let growth = (self.event_queue.growth() + self.network.early.growth()) as u64;
        if growth >= memory::SMALL && self.border.is_none() {
            let accounts = self.network.account(&self.event_queue, self.duration);
            let links = self.topology.link_names().into_iter().zip(accounts.map(|account| account.in_flight));
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
        let hops = wired + self.network.radio.as_ref().map_or(0, |radio| radio.counts().hops);
        let cost = EngineCost {
            events: self.event_queue.events() + self.other_events,
            packet_hops: hops,
            cpu_s: self.cpu as f64 / 1e9,
            wall_s: self.wall as f64 / 1e9,
        };
        let flows = self.senders.iter().zip(&self.receivers).zip(&self.schedules);
        let tcp: u64 =
            flows.map(|((sender, receiver), schedule)| delivered_bytes(sender, receiver, schedule)).sum();
        let bytes = tcp + self.quic.iter().map(|flow| flow.delivered_bytes()).sum::<u64>();
        (cost, bytes as f64 * 8.0 / self.duration.seconds())
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
    pub(super) fn outcome_at(&mut self, span: Span) -> Outcome {
        let duration = span.seconds();
        let flows: Vec<FlowOutcome> =
            self.order.clone().iter().map(|number| self.flow_outcome(*number as usize, span)).collect();
        let compared = compared_goodputs(&flows);
        let has = |kind: &str| flows.iter().any(|flow| flow.kind == kind);
        let substrate = if has("quic") && !has("tcp") { "quic" } else { "tcp" };
        let accounts = self.network.account(&self.event_queue, span);
        let links = self.topology.link_names().into_iter().zip(accounts);
        let mut links: Vec<LinkOutcome> = links
            .map(|(name, account)| {
                let unused = self.satellites.is_some() && account.offered == 0;
                link_outcome(name, &account, unused)
            })
            .collect();
        let (wifi, cell) = media_outcomes(&self.network, &mut links, duration);
        Outcome {
            title: self.title.clone(),
            seed: self.seed,
            duration_s: duration,
            warmup_s: None,
            version: crate::VERSION,
            substrate,
            flows,
            radio: self.network.radio.as_deref().map(radio_outcome),
            wifi,
            cell,
            satellite: self.satellites.as_ref().map(|satellites| satellites.outcome.clone()),
            fairness: Fairness { jain: jain(&compared) },
            engine: self.cost().0,
            links,
        }
    }

    /// The outcome of a flow over the first `span` of the run.
    fn flow_outcome(&mut self, number: usize, span: Span) -> FlowOutcome {
        let facts = FlowFacts {
            name: &self.names[number],
            empty_delay: self.paths[number].empty,
            schedule: &self.schedules[number],
            span,
        };
        match self.endpoints[number] {
            Endpoints::Tcp(index) => tcp_outcome(&mut self.senders[index], &self.receivers[index], &facts),
            Endpoints::Quic(index) => self.quic[index].outcome(&facts),
            Endpoints::Udp(index) => udp_outcome(&self.udp[index], &facts),
            Endpoints::Attached(index) => attached_outcome(&self.attached[index], &facts),
        }
    }
}

/// The outcomes of the media; those of their directions go into the outcomes of the links.
fn media_outcomes(
    network: &Network,
    links: &mut [LinkOutcome],
    duration: f64,
) -> (Vec<WifiOutcome>, Vec<CellOutcome>) {
    let (mut channels, mut cells) = (Vec::new(), Vec::new());
    for medium in &network.media {
        match &medium.kind {
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

fn link_outcome(name: String, account: &LinkAccount, unused: bool) -> LinkOutcome {
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
        unused,
    };
    link.set_drop_rate();
    link
}

fn radio_outcome(radio: &Radio) -> RadioOutcome {
    let counts = radio.counts();
    let ratio = |a: u64, b: u64| (b > 0).then(|| a as f64 / b as f64);
    let drops = |list: &[u64]| -> BTreeMap<&'static str, u64> {
        PacketFate::DROPS.iter().zip(list).map(|(fate, n)| (fate.name(), *n)).collect()
    };
    let mac = [counts.retries_exhausted, counts.collisions, counts.busy, counts.duplicates];
    RadioOutcome {
        offered_packets: counts.offered,
        received_packets: counts.received,
        delivery_ratio: ratio(counts.received, counts.offered),
        routing_packets: counts.routing,
        routing_load: ratio(counts.routing, counts.received),
        mean_hops: ratio(counts.received_hops, counts.received),
        mac_drops: MAC_DROPS.iter().map(|(name, _)| *name).zip(mac).collect(),
        dropped_packets: drops(&counts.dropped_data),
    }
}
