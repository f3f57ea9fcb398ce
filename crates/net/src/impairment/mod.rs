//! Impairments, one file for each: what happens to packets on a link besides its queue.

mod bernoulli;
mod gilbert_elliott;
mod jitter;
mod on_demand;
mod outage;
mod scripted;

pub use bernoulli::Bernoulli;
pub use gilbert_elliott::GilbertElliott;
pub use jitter::{Distribution, Jitter};
pub use on_demand::{OnDemand, PacketsOf};
pub use outage::Outages;
pub use scripted::{Action, Scripted, Selection, Transmissions};

use crate::model::Model;
use crate::packet::{Packet, PacketKind};
use crate::rule::{LossProcess, Rule};
use crate::tap::DropReason;
use crate::transmitter::{Steps, TokenBucket};
use units::{Span, Time};

/// Something that happens to packets on a link besides its queue. A link can have several, which act independently.
#[derive(Clone, Debug)]
pub enum Impairment {
    /// Independent losses.
    Bernoulli(Bernoulli),
    /// Losses in bursts.
    GilbertElliott(GilbertElliott),
    /// Listed packets are dropped, marked, delayed or duplicated.
    Scripted(Scripted),
    /// Packets that arrive during an outage are dropped.
    Blackout(Outages),
    /// No transmission begins during an outage; packets wait.
    Stall(Outages),
    /// Packets without tokens are dropped before the queue.
    Policer(TokenBucket),
    /// Packets arrive later.
    Jitter(Jitter),
    /// Packets arrive later by a time that changes at given times; with true, none arrives before the one in front of it.
    Delay(Steps<Span>, bool),
    /// Copies follow packets at random, with the loss process as the draw.
    Duplicate(Bernoulli),
    /// Changes of the scenario drop or keep the next packets.
    OnDemand(OnDemand),
}

/// What impairments do to a packet that is not dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effect {
    /// Additional propagation delay that lets others overtake.
    pub delay: Span,
    /// Additional propagation delay within the order of the packets.
    pub jitter: Span,
    /// The packet arrives after those in front of it, apart from `delay`.
    pub ordered: bool,
    /// A CE mark.
    pub mark: bool,
    /// A copy follows.
    pub duplicate: bool,
}

impl Effect {
    /// Whether the packet arrives in another way than the others.
    pub fn displaces(&self) -> bool {
        self.duplicate || self.ordered || self.delay > Span::ZERO
    }
}

impl Impairment {
    /// Processes a packet that arrives at the link. Returns the reason if it is dropped.
    #[inline]
    pub(crate) fn before(&mut self, now: Time, packet: &Packet, effect: &mut Effect) -> Option<DropReason> {
        match self {
            Impairment::Scripted(scripted) => match scripted.action(packet)? {
                Action::Drop => return Some(DropReason::List),
                Action::Mark => effect.mark = packet.ecn.capable(),
                Action::Delay(by) => effect.delay = effect.delay + by,
                Action::Duplicate => effect.duplicate = packet.kind != PacketKind::Ack,
            },
            Impairment::Policer(bucket) => {
                return (!bucket.police(now, packet.size)).then_some(DropReason::Policer);
            }
            Impairment::Jitter(jitter) if jitter.ordered() => {
                (effect.jitter, effect.ordered) = (effect.jitter + jitter.delay(), true);
            }
            Impairment::Jitter(jitter) => effect.delay = effect.delay + jitter.delay(),
            Impairment::Delay(steps, true) => {
                (effect.jitter, effect.ordered) = (effect.jitter + steps.at(now).0, true);
            }
            Impairment::Delay(steps, false) => effect.delay = effect.delay + steps.at(now).0,
            Impairment::Duplicate(draw) => {
                effect.duplicate |= draw.loses() && packet.kind != PacketKind::Ack;
            }
            Impairment::Blackout(outages) => return outages.end(now).map(|_| DropReason::List),
            Impairment::OnDemand(wanted) => return wanted.drops(now, packet).then_some(DropReason::List),
            _ => {}
        }
        None
    }

    /// Whether it loses the next packet after the queue, so that the packet has used the link.
    #[inline]
    pub fn after(&mut self) -> bool {
        match self {
            Impairment::Bernoulli(b) => b.loses(),
            Impairment::GilbertElliott(g) => g.loses(),
            _ => false,
        }
    }

    /// Why it has dropped `packet` for this reason at `now`, if it was this impairment.
    pub(crate) fn rule(&self, now: Time, packet: &Packet, reason: DropReason) -> Option<Rule> {
        match (reason, self) {
            (DropReason::List, Impairment::Scripted(scripted)) => {
                scripted.listed(packet, Action::Drop).then_some(Rule::Script)
            }
            (DropReason::List, Impairment::Blackout(outages)) => {
                outages.end(now).map(|until| Rule::Blackout { until })
            }
            (DropReason::List, Impairment::OnDemand(wanted)) => {
                wanted.dropped(now, packet).then_some(Rule::Change)
            }
            (DropReason::Policer, Impairment::Policer(bucket)) => {
                let (tokens, size) = (bucket.tokens(now), packet.size);
                (tokens < size as u64).then_some(Rule::Policer { tokens, size })
            }
            (DropReason::Loss, Impairment::Bernoulli(loss)) => {
                let process = LossProcess { name: "bernoulli", probability: loss.rate(), bad: None };
                Some(Rule::Loss(vec![process]))
            }
            (DropReason::Loss, Impairment::GilbertElliott(chain)) => {
                let (bad, probability) = chain.state();
                Some(Rule::Loss(vec![LossProcess { name: "gilbert_elliott", probability, bad: Some(bad) }]))
            }
            _ => None,
        }
    }

    /// The time at which a transmission may begin that would begin at `start`, if it may not begin then.
    #[inline]
    pub(crate) fn stalled_until(&self, start: Time) -> Option<Time> {
        match self {
            Impairment::Stall(outages) => outages.end(start),
            _ => None,
        }
    }

    /// Whether it is there for changes of the scenario, after those that the scenario names.
    pub(crate) fn serves_changes(&self) -> bool {
        // A delay that changes needs a place for the order of the packets; it has one step.
        let placeholder = |steps: &Steps<Span>| steps.steps == [(Time::ZERO, Span::ZERO)];
        match self {
            Impairment::OnDemand(_) => true,
            Impairment::Delay(steps, _) => placeholder(steps),
            _ => false,
        }
    }

    /// Whether packets can overtake each other.
    pub(crate) fn reorders(&self) -> bool {
        match self {
            Impairment::Scripted(scripted) => scripted.displaces(),
            Impairment::Jitter(jitter) => !jitter.ordered(),
            Impairment::Delay(_, ordered) => !ordered,
            Impairment::Duplicate(_) => true,
            Impairment::OnDemand(wanted) => wanted.reorders(),
            _ => false,
        }
    }
}

/// Descriptions of the impairments.
pub const IMPAIRMENTS: &[Model] = &[
    Model { name: "none", summary: "no loss", source: "" },
    Model { name: "bernoulli", summary: "independent losses, after the queue", source: "" },
    Model {
        name: "gilbert_elliott",
        summary: "losses in bursts, after the queue; starts in the good state",
        source: "Gilbert 1960, Elliott 1963",
    },
    Model {
        name: "scripted",
        summary: "drops (before the queue), marks, delays or duplicates listed packets of a flow at this link",
        source: "",
    },
    Model { name: "blackout", summary: "drops packets that arrive at given times", source: "" },
    Model {
        name: "policer",
        summary: "drops packets for which a token bucket has no tokens, before the queue",
        source: "RFC 2697",
    },
    Model { name: "jitter", summary: "delays packets after their transmission, at random", source: "" },
    Model {
        name: "delay",
        summary: "delays packets after their transmission by a time that changes at given times",
        source: "",
    },
    Model {
        name: "reorder",
        summary: "delays a part of the packets, so that others overtake them",
        source: "",
    },
    Model { name: "duplicate", summary: "sends copies of data packets at random", source: "" },
    Model { name: "stall", summary: "begins no transmission at given times; packets wait", source: "" },
];
