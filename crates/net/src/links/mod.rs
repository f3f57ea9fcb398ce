//! The links of a network: their queues, impairments and transmitters, and what they count. Which link comes next is decided by
//! the [`crate::Network`].

mod account;
mod admission;
mod change;
mod queue;
mod sending;

use crate::ids::LinkId;
use crate::impairment::{Effect, Impairment};
use crate::link::{Beyond, IngressState, Link, LinkSpec, NO_INGRESS, Router};
use crate::local::LocalQueues;
use crate::packet::Packet;
use crate::rule::{Rule, RuleEvent};
use crate::service::Unsent;
use crate::sojourn::Sojourns;
use crate::tap::{DropReason, Tap};
pub(crate) use account::carry_waited;
pub use change::NotPrepared;
use engine::{LaneHint, large_vec, prefetch};
pub(crate) use queue::TransmitterState;
use std::collections::BTreeMap;
use units::{Rate, Span, Time};

/// What packets carried that the links have copied or dropped and not yet reported otherwise: the owner of the bytes and the
/// options processes it before it stores or frees any.
#[derive(Clone, Debug, Default)]
pub struct PayloadChanges {
    /// Options of packets that were dropped after their queue had accepted them.
    pub dropped_options: Vec<u32>,
    /// The indices of the bytes of datagrams that were copied: the copies share the bytes. To be processed before
    /// `dropped_datagrams`.
    pub copied_datagrams: Vec<u32>,
    /// Those of datagrams that were dropped after their queue had accepted them.
    pub dropped_datagrams: Vec<u32>,
    /// Every datagram that a link has dropped, with the reason.
    pub datagram_drops: Vec<DatagramDrop>,
}

/// A datagram that a link has dropped.
#[derive(Clone, Copy, Debug)]
pub struct DatagramDrop {
    /// Number of its flow.
    pub flow: u32,
    /// Whether it was on the way from the destination of the flow to the source.
    pub reverse: bool,
    /// Why.
    pub reason: DropReason,
}

impl PayloadChanges {
    /// Notes a copy of a packet that will arrive.
    pub(crate) fn note_copy(&mut self, packet: &Packet) {
        if packet.kind.is_datagram() {
            self.copied_datagrams.push(packet.options);
        }
    }

    /// Notes why a packet is dropped.
    pub(crate) fn note_reason(&mut self, packet: &Packet, reason: DropReason) {
        if packet.kind.is_datagram() {
            let reverse = packet.kind.is_reverse();
            self.datagram_drops.push(DatagramDrop { flow: packet.flow, reverse, reason });
        }
    }

    /// Notes what a packet carried that was dropped after its queue had accepted it.
    pub(crate) fn note_drop(&mut self, packet: &Packet) {
        if packet.has_options() {
            self.dropped_options.push(packet.options);
        } else if packet.kind.is_datagram() {
            self.dropped_datagrams.push(packet.options);
        }
    }
}

/// All links, by number.
#[derive(Clone)]
pub struct Links {
    pub(crate) states: Vec<Link>,
    pub(crate) rates: Vec<Rate>,
    pub(crate) ingress: Vec<IngressState>,
    classes: Vec<(Rate, Span)>,
    pub(crate) horizon: Time,
    /// Counters include everything up to this time: the end of the warm-up during the warm-up, then the horizon.
    pub(crate) border: Time,
    /// Transmissions that end until then are counted at once: the border, or zero if waiting times are recorded.
    pub(crate) simple_until: Time,
    /// For each link, the counts for times after the warm-up; empty if there is no warm-up.
    pub(crate) beyond: Vec<Beyond>,
    /// Of links with a backlog at the end of the run, the packets whose transmission begins after it.
    pub(crate) unsent: BTreeMap<u32, Unsent>,
    /// How often the sum of waiting times of a link has passed 2^64 ps, see [`Links::add_waited`].
    pub(crate) waited_carries: BTreeMap<u32, u64>,
    /// Waiting times, if they are recorded.
    pub(crate) sojourns: Option<Box<Sojourns>>,
    /// Scheduling time of the current event, see [`crate::qdisc::Offer::cause`].
    pub(crate) cause: Time,
    /// The packet that is enqueued is a copy, to which no script applies.
    pub(crate) copying: bool,
    /// What the impairments of a link do to the packet that it accepts.
    pub(crate) effect: Effect,
    /// What packets carried that were copied or dropped.
    pub payload_changes: PayloadChanges,
    /// The senders that limit their packets in the queues of their hosts.
    pub local: LocalQueues,
}

impl Links {
    /// No links yet, for a run that ends at `horizon`, with capacity for `links`.
    pub(crate) fn new(horizon: Time, links: usize) -> Links {
        Links {
            states: large_vec(links),
            rates: Vec::new(),
            ingress: Vec::new(),
            classes: Vec::new(),
            horizon,
            border: horizon,
            simple_until: horizon,
            beyond: Vec::new(),
            unsent: BTreeMap::new(),
            waited_carries: BTreeMap::new(),
            sojourns: None,
            cause: Time::ZERO,
            copying: false,
            effect: Effect::default(),
            payload_changes: PayloadChanges::default(),
            local: LocalQueues::default(),
        }
    }

    /// Adds a link.
    pub(crate) fn add(&mut self, spec: LinkSpec) -> LinkId {
        let class = (spec.rate, spec.delay);
        let number = self.classes.iter().position(|c| *c == class).unwrap_or_else(|| {
            if self.classes.len() < 64 {
                self.classes.push(class);
            }
            self.classes.len() - 1
        });
        let mut link = Link::new(&spec, LaneHint::new(number));
        if spec.guarded() {
            link.ingress = self.ingress.len() as u32;
            let router = spec.router.map(|config| Box::new(Router::new(config, spec.rate)));
            let (qdisc, impairments) = (spec.qdisc, spec.impairments);
            self.ingress.push(IngressState { qdisc, impairments, router, ..IngressState::default() });
        }
        self.states.push(link);
        self.rates.push(spec.rate);
        LinkId(self.states.len() as u32 - 1)
    }

    /// The ingress state of a link, which it gets if it has none.
    pub(crate) fn ensure_ingress(&mut self, link: usize) -> &mut IngressState {
        let link = &mut self.states[link];
        if link.ingress == NO_INGRESS {
            link.ingress = self.ingress.len() as u32;
            self.ingress.push(IngressState::default());
        }
        &mut self.ingress[link.ingress as usize]
    }

    /// Whether a link has an impairment with this property.
    pub(crate) fn has_impairment(&self, link: u32, property: fn(&Impairment) -> bool) -> bool {
        let ingress = self.ingress.get(self.states[link as usize].ingress as usize);
        ingress.is_some_and(|ingress| ingress.impairments.iter().any(property))
    }

    /// Prefetches the state of a link.
    #[inline]
    pub fn prefetch(&self, link: LinkId) {
        prefetch(&self.states, link.0 as usize);
    }

    /// Marks the current event as a timer event, not an arrival.
    #[inline]
    pub fn timer_event(&mut self) {
        self.cause = Time::ZERO;
    }
}

/// Reports the rule by which link `id` drops (`dropped`) or marks a packet at `at`, to an observer that wants rules.
pub(crate) fn report<T: Tap>(
    tap: &mut T,
    id: u32,
    at: Time,
    dropped: bool,
    packet: &Packet,
    rule: impl FnOnce() -> Option<Rule>,
) {
    if tap.wants_rules()
        && let Some(rule) = rule()
    {
        tap.rule(RuleEvent { at, link: LinkId(id), packet: *packet, dropped, rule });
    }
}
