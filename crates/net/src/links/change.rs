//! Changes of a link in the middle of a run. The parts that can change have a place from the start of the run: a link whose
//! rate, delay or queue changes is served at each departure ([`crate::Network::set_scheduler`]), so what waits obeys the new value;
//! a link that drops packets on demand, keeps them or leaves them unmarked has impairments ([`Impairment::OnDemand`]).

use super::Links;
use crate::ids::LinkId;
use crate::impairment::{Impair, Impairment, OnDemand};
use crate::link::IngressState;
use crate::packet::Packet;
use crate::qdisc::scheduled::Scheduler;
use crate::tap::{DropReason, Tap};
use crate::transmitter::Transmitter;
use engine::EventQueue;
use units::{Rate, Span};

/// A part of a link that cannot change in this run: the run was not built for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPrepared;

impl Links {
    fn ingress_of(&mut self, link: LinkId) -> Result<&mut IngressState, NotPrepared> {
        self.ingress.get_mut(self.states[link.0 as usize].ingress as usize).ok_or(NotPrepared)
    }

    /// The propagation delay of a link.
    pub fn delay(&self, link: LinkId) -> Span {
        self.states[link.0 as usize].delay
    }

    /// The rate of a link at the start of the run.
    pub fn rate(&self, link: LinkId) -> Rate {
        self.rates[link.0 as usize]
    }

    /// Sets the rate of a link whose transmitter is [`Transmitter::Changing`]. A packet in transmission leaves at the old rate.
    pub fn change_rate(
        &mut self,
        event_queue: &EventQueue<Packet>,
        link: LinkId,
        rate: Rate,
    ) -> Result<(), NotPrepared> {
        let from = event_queue.now().max(self.states[link.0 as usize].free_at);
        let service = self.ingress_of(link)?.service.as_mut().ok_or(NotPrepared)?;
        let Transmitter::Changing(rates) = &mut service.transmitter else { return Err(NotPrepared) };
        rates.retain(|(at, _)| *at < from);
        rates.push((from, rate));
        Ok(())
    }

    /// Sets the propagation delay of a link that has an [`Impairment::Delay`] for it. Packets that have left the transmitter
    /// arrive as they would have; with `ordered`, the others do not overtake them.
    pub fn change_delay(&mut self, link: LinkId, delay: Span, ordered: bool) -> Result<(), NotPrepared> {
        let ingress = self.ingress_of(link)?;
        if ingress.service.is_none() || !(ordered || ingress.reorders()) {
            return Err(NotPrepared);
        }
        let place = ingress.impairments.iter_mut().rev().find_map(|impairment| match impairment {
            Impairment::Delay(delay) => Some(delay),
            _ => None,
        });
        place.ok_or(NotPrepared)?.set_ordered(ordered);
        self.states[link.0 as usize].delay = delay;
        Ok(())
    }

    /// Replaces the queue of a link that is served at each departure. The waiting packets are offered to the new queue in the
    /// order of their arrival; those that it does not accept are dropped.
    pub fn change_queue<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        link: LinkId,
        scheduler: Scheduler,
    ) -> Result<(), NotPrepared> {
        let now = event_queue.now();
        let mut service = self.ingress_of(link)?.service.take().ok_or(NotPrepared)?;
        let front = std::mem::take(&mut service.front);
        let waiting = service.scheduler.drain();
        service.set_scheduler(scheduler);
        if let Some(sojourns) = &self.sojourns {
            service.scheduler.record_sojourns(sojourns.from());
        }
        let ingress = self.ingress_of(link)?;
        for (packet, is_kept) in
            front.into_iter().map(|p| (p, true)).chain(waiting.into_iter().map(|p| (p, false)))
        {
            let accepted = service.scheduler.enqueue(packet, is_kept, &mut service.drops)
                // A queue in front of an idle transmitter takes a packet in any case.
                || ingress.keeps(&packet.packet, DropReason::Aqm)
                    && service.scheduler.enqueue(packet, true, &mut service.drops);
            if !accepted {
                service.drops.push(packet);
            }
        }
        if !service.drops.is_empty() {
            self.discard(tap, &mut service, link.0, now, true);
            self.local.wake(event_queue);
        }
        self.ingress_of(link)?.service = Some(service);
        Ok(())
    }

    /// Replaces the impairments of a link, except for those that changes need.
    pub fn change_impairments(
        &mut self,
        link: LinkId,
        impairments: Vec<Impairment>,
    ) -> Result<(), NotPrepared> {
        let present = &mut self.ingress_of(link)?.impairments;
        if !present.iter().any(|i| matches!(i, Impairment::OnDemand(_))) {
            return Err(NotPrepared);
        }
        let first = present.iter().position(Impair::serves_changes).unwrap_or(present.len());
        present.splice(..first, impairments);
        Ok(())
    }

    /// Has a link drop packets, keep packets that it would drop, or leave packets unmarked.
    pub fn on_demand(&mut self, link: LinkId, demand: impl FnOnce(&mut OnDemand)) -> Result<(), NotPrepared> {
        let present = &mut self.ingress_of(link)?.impairments;
        let on_demand = present.iter_mut().find_map(|impairment| match impairment {
            Impairment::OnDemand(on_demand) => Some(on_demand),
            _ => None,
        });
        demand(on_demand.ok_or(NotPrepared)?);
        Ok(())
    }
}

impl IngressState {
    /// Whether a change keeps `packet`, which is about to be dropped. Each demand keeps one packet.
    #[cold]
    pub(crate) fn keeps(&mut self, packet: &Packet, reason: DropReason) -> bool {
        reason != DropReason::Handoff
            && self.impairments.iter_mut().any(|impairment| match impairment {
                Impairment::OnDemand(on_demand) => on_demand.keep(packet),
                _ => false,
            })
    }

    /// Whether a change leaves `packet` unmarked, which is about to be marked. Each demand is for one packet.
    #[cold]
    pub(crate) fn unmarks(&mut self, packet: &Packet) -> bool {
        self.impairments.iter_mut().any(|impairment| match impairment {
            Impairment::OnDemand(on_demand) => on_demand.unmark(packet),
            _ => false,
        })
    }
}
