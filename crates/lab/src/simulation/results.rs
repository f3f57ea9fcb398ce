//! The outcome of a finished simulation.

use super::account::{FlowAccount, LinkCounters, RadioAccount, RunAccount};
use super::apps::{AppFacts, AppOutcome};
use super::drops::{Drops, MAC_DROPS};
use super::endpoints::Endpoints;
use super::event_loop::Simulation;
use super::flow_outcome::{FlowFacts, delivered_bytes};
use super::media_outcome::{CellLinkOutcome, CellOutcome, GrantsOutcome, WifiLinkOutcome, WifiOutcome};
use super::memory;
use super::outcome::{
    EngineCost, Fairness, FlowOutcome, LinkDelayOutcome, LinkOutcome, LowLatencyOutcome, Outcome,
    RadioOutcome, compared_goodputs, jain,
};
use net::radio::PacketFate;
use net::wifi::Access;
use net::{LinkAccount, MediumKind};
use std::collections::BTreeMap;
use units::{Span, Time};

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
        if self.datagrams.stored_bytes() >= memory::SMALL {
            needs.push((
                "datagrams in flight, and those that wait to be received, can take".into(),
                self.datagrams.stored_bytes(), // a growing pool is copied
                "send less, or receive what has arrived",
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
        let flows = self.senders.iter().zip(self.receivers.iter()).zip(self.schedules.iter());
        let tcp: u64 =
            flows.map(|((sender, receiver), schedule)| delivered_bytes(sender, receiver, schedule)).sum();
        let bytes = tcp + self.quic.iter().map(|flow| flow.delivered_bytes()).sum::<u64>();
        (cost, bytes as f64 * 8.0 / self.duration.seconds())
    }

    /// The outcome of the whole run, without its warm-up.
    pub(super) fn outcome(&mut self) -> Outcome {
        let whole = self.account(self.duration);
        let early = self.warmup.as_ref().and_then(|warmup| warmup.account.as_deref());
        self.outcome_of(self.duration, &whole, early)
    }

    /// Stores the account of the warm-up at its end.
    pub(super) fn end_warmup(&mut self) {
        let Some(duration) = self.warmup.as_ref().map(|warmup| warmup.duration) else { return };
        let account = self.account(duration);
        self.network.end_warmup();
        if let Some(warmup) = &mut self.warmup {
            warmup.account = Some(Box::new(account));
        }
    }

    /// What the first `span` of the run has counted.
    pub(super) fn account(&mut self, span: Span) -> RunAccount {
        self.apply_payload_changes();
        let seconds = span.seconds();
        let flows =
            self.order.clone().iter().map(|number| self.flow_account(*number as usize, span)).collect();
        let mut links: Vec<LinkCounters> = self
            .network
            .account(&self.event_queue, span)
            .map(|account| LinkCounters::of(&account, seconds))
            .collect();
        let (mut wifi, mut cells) = (Vec::new(), Vec::new());
        for medium in &self.network.media {
            match &medium.kind {
                MediumKind::Wifi(channel) => {
                    for (link, _, account) in channel.directions() {
                        links[link as usize].wifi.push(account.clone());
                    }
                    wifi.push(*channel.account());
                }
                MediumKind::Grants(grants) => {
                    let (link, account) = grants.account();
                    links[link as usize].grants = Some(account.clone());
                }
                MediumKind::Cell(cell) => {
                    for (link, _, account) in cell.directions() {
                        links[link as usize].cell = Some(account);
                    }
                    cells.push(cell.account().clone());
                }
            }
        }
        let radio = self.network.radio.as_deref().map(RadioAccount::of);
        RunAccount { seconds, flows, links, wifi, cells, radio }
    }

    /// The outcome of the first `span` of the run, which has counted `whole` in it, after what `early` has counted.
    pub(super) fn outcome_of(&self, span: Span, whole: &RunAccount, early: Option<&RunAccount>) -> Outcome {
        let late = early.map(|early| whole - early);
        let account = late.as_ref().unwrap_or(whole);
        let seconds = account.seconds;
        let numbers = self.order.iter().zip(&account.flows);
        let counted = self.app_facts(span, early);
        let flows: Vec<FlowOutcome> = numbers
            .map(|(number, account)| {
                let (number, facts) = (*number as usize, self.flow_facts(*number as usize));
                let outcome =
                    FlowOutcome::new(&self.names[number], &self.paths[number], account, facts, seconds);
                let bytes = self.schedules[number].bytes;
                let changes = counted.changes;
                FlowOutcome {
                    app: self.app_outcome(number as u32, &counted),
                    transfer_bytes: (bytes != u64::MAX).then_some(bytes),
                    ideal_s: outcome.ideal_s.filter(|_| !changes),
                    slowdown: outcome.slowdown.filter(|_| !changes),
                    ..outcome
                }
            })
            .collect();
        let compared = compared_goodputs(&flows);
        let has = |kind: &str| flows.iter().any(|flow| flow.kind == kind);
        let substrate = match () {
            () if has("tcp") => "tcp",
            () if has("quic") => "quic",
            () if has("attached") => "attached",
            () => "tcp",
        };
        let facts = self.network.account(&self.event_queue, span);
        let links = self.topology.link_names().into_iter().zip(facts).zip(&account.links);
        let mut links: Vec<LinkOutcome> = links
            .map(|((name, facts), counters)| {
                let unused = self.satellites.is_some() && facts.offered == 0;
                link_outcome(name, &facts, counters, unused)
            })
            .collect();
        let (wifi, cell) = self.media_outcomes(account, &mut links);
        Outcome {
            title: self.title.clone(),
            seed: self.seed,
            duration_s: whole.seconds,
            warmup_s: early.map(|early| early.seconds),
            version: crate::VERSION,
            substrate,
            flows,
            radio: whole
                .radio
                .as_ref()
                .zip(account.radio.as_ref())
                .map(|(all, late)| radio_outcome(all, late)),
            wifi,
            cell,
            satellite: self.satellites.as_ref().map(|satellites| satellites.outcome.clone()),
            fairness: Fairness { jain: jain(&compared) },
            engine: self.cost().0,
            links,
        }
    }

    /// The part of the first `span` of the run, after what `early` has counted, in which messages of applications count.
    fn app_facts(&self, span: Span, early: Option<&RunAccount>) -> AppFacts {
        let begin = early.map_or(Time::ZERO, |early| Time::ZERO + Span::from_seconds(early.seconds));
        let end = Time::ZERO + span;
        let counted = [begin, Time::from_ps(end.ps().saturating_sub(self.cooldown.ps()))];
        AppFacts { counted, end, changes: !self.changes.is_empty() }
    }

    /// Has the auditor compare the outcome of each application with its events; at the end of the run.
    pub(super) fn close_applications(&mut self) {
        self.audit_applications();
        let facts = self.app_facts(self.duration, self.warmup.as_ref().and_then(|w| w.account.as_deref()));
        if let Some(auditor) = self.recorder.auditor() {
            for (number, app) in self.apps.apps.iter().enumerate() {
                auditor.close_application(number, self.end, &app.audited(&facts));
            }
        }
    }

    /// What the application of a flow has done; that of several connections stands at the first.
    fn app_outcome(&self, flow: u32, counted: &AppFacts) -> Option<Box<AppOutcome>> {
        let place = self.apps.place(flow).filter(|place| place.connection == 0)?;
        Some(Box::new(self.apps.apps[place.app as usize].outcome(counted)))
    }

    /// What a flow has counted in the first `span` of the run.
    fn flow_account(&mut self, number: usize, span: Span) -> FlowAccount {
        let schedule = &self.schedules[number];
        match self.endpoints[number] {
            Endpoints::Tcp(index) => {
                FlowAccount::of_tcp(&mut self.senders[index], &self.receivers[index], schedule, span)
            }
            Endpoints::Quic(index) => self.quic[index].account(schedule, span),
            Endpoints::Udp(index) => {
                let (source, stats) = &self.udp[index];
                FlowAccount::of_udp(source, stats, schedule, span)
            }
            Endpoints::Attached(index) => FlowAccount::of_attached(&self.attached[index], schedule, span),
        }
    }

    /// What the outcome of a flow says besides its account.
    fn flow_facts(&self, number: usize) -> FlowFacts {
        let schedule = &self.schedules[number];
        match self.endpoints[number] {
            Endpoints::Tcp(index) => {
                FlowFacts::of_tcp(&self.senders[index], &self.receivers[index], schedule)
            }
            Endpoints::Quic(index) => self.quic[index].facts(schedule),
            Endpoints::Udp(index) => FlowFacts::of_datagrams("udp", &self.udp[index].1),
            Endpoints::Attached(index) => {
                FlowFacts::of_datagrams("attached", &self.attached[index].ports[0].stats)
            }
        }
    }

    /// The outcomes of the media; those of their directions go into the outcomes of the links.
    fn media_outcomes(
        &self,
        account: &RunAccount,
        links: &mut [LinkOutcome],
    ) -> (Vec<WifiOutcome>, Vec<CellOutcome>) {
        let seconds = account.seconds;
        let (mut channels, mut cells) = (account.wifi.iter(), account.cells.iter());
        let (mut wifi, mut cell_outcomes) = (Vec::new(), Vec::new());
        for medium in &self.network.media {
            match &medium.kind {
                MediumKind::Wifi(channel) => {
                    let mut categories: BTreeMap<u32, Vec<Access>> = BTreeMap::new();
                    for (link, access, _) in channel.directions() {
                        categories.entry(link).or_default().push(access);
                    }
                    for (link, categories) in categories {
                        let accounts = &account.links[link as usize].wifi;
                        let accounts = categories.into_iter().zip(accounts.iter().cloned()).collect();
                        let outcome = WifiLinkOutcome::new(accounts, seconds);
                        links[link as usize].wifi = Some(Box::new(outcome));
                    }
                    let account = channels.next();
                    wifi.extend(
                        account.map(|account| WifiOutcome::new(channel.name().into(), account, seconds)),
                    );
                }
                MediumKind::Grants(grants) => {
                    let link = grants.account().0 as usize;
                    let account = account.links[link].grants.as_ref();
                    links[link].grants = account.map(|account| Box::new(GrantsOutcome::new(account)));
                }
                MediumKind::Cell(cell) => {
                    for (link, up, _) in cell.directions() {
                        let (link, share) = (link as usize, cell.shares()[usize::from(up)]);
                        let account = account.links[link].cell.as_ref();
                        let outcome = account.map(|account| CellLinkOutcome::new(account, share, seconds));
                        links[link].cell = outcome.map(Box::new);
                    }
                    let account = cells.next();
                    cell_outcomes.extend(account.map(|account| {
                        CellOutcome::new(cell.name().into(), cell.shares(), account, seconds)
                    }));
                }
            }
        }
        (wifi, cell_outcomes)
    }
}

/// The outcome of a link that has counted `counters`. `facts`: its account of the whole run.
fn link_outcome(name: String, facts: &LinkAccount, counters: &LinkCounters, unused: bool) -> LinkOutcome {
    let queue_drops = counters.queue_drops();
    let ended = queue_drops + counters.transmitted;
    let p99_sojourn_s = facts.low_latency.as_ref().and_then(|low| low.p99_wait_s());
    LinkOutcome {
        name,
        delivered_packets: counters.delivered,
        dropped_packets: Drops(counters.dropped),
        queue_drops,
        drop_rate: (ended > 0).then(|| queue_drops as f64 / ended as f64),
        marked_packets: counters.marked,
        utilisation: counters.utilisation.value().unwrap_or(0.0).clamp(0.0, 1.0), // a difference is rounded
        mean_queue_packets: counters.queue.value().unwrap_or(0.0),
        mean_sojourn_s: counters.sojourn.value(),
        p95_sojourn_s: facts.p95_sojourn_s,
        delay: facts.delays_s.map(|[p50_s, p95_s, p99_s]| LinkDelayOutcome { p50_s, p95_s, p99_s }),
        wifi: None,
        cell: None,
        grants: None,
        low_latency: counters.low_latency.as_ref().map(|low| LowLatencyOutcome {
            sent_packets: low.sent,
            marked_packets: low.marked,
            mean_sojourn_s: low.sojourn.value(),
            p99_sojourn_s,
        }),
        transmitted_packets: counters.transmitted,
        unused,
    }
}

/// The outcome of a radio network that has counted `whole` in the whole run and `account` in the part of the outcome.
fn radio_outcome(whole: &RadioAccount, account: &RadioAccount) -> RadioOutcome {
    let ratio = |a: u64, b: u64| (b > 0).then(|| a as f64 / b as f64);
    // Packets that were in the radio network at the end of the warm-up can still arrive.
    let offered = whole.offered - (whole.ended() - account.ended());
    RadioOutcome {
        offered_packets: account.offered,
        received_packets: account.received,
        delivery_ratio: ratio(account.received, offered),
        routing_packets: account.routing,
        routing_load: ratio(account.routing, account.received),
        mean_hops: account.hops.value(),
        mac_drops: MAC_DROPS.iter().map(|(name, _)| *name).zip(account.mac_drops).collect(),
        dropped_packets: PacketFate::DROPS.iter().map(|fate| fate.name()).zip(account.dropped).collect(),
    }
}
