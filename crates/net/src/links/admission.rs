//! What happens to a packet in front of the queue of a link and behind it: impairments, drops, marks.

use super::{Links, report};
use crate::ids::LinkId;
use crate::link::Accepted;
use crate::packet::{Ecn, Packet};
use crate::qdisc::{Admission, Offer};
use crate::rule::Rule;
use crate::tap::{DropReason, PacketEvent, PacketStep, Tap};
use units::Time;

impl Links {
    /// Passes the packet to the queue and the impairment of link `id`, which has an ingress state. Returns `None` if
    /// the packet is dropped.
    #[inline(always)] // or a packet pays a call for it
    pub(crate) fn admit<T: Tap>(
        &mut self,
        tap: &mut T,
        id: u32,
        now: Time,
        packet: &Packet,
    ) -> Option<Accepted> {
        let link = &mut self.states[id as usize];
        let ingress = &mut self.ingress[link.ingress as usize];
        let impaired = !ingress.impairments.is_empty();
        let (mut marked, mut refused) = (false, None);
        if impaired {
            let free = now.max(link.free_at);
            let resumed = ingress.after_stalls(free);
            if resumed > free {
                link.free_at = resumed;
            }
            refused = ingress.impair(now, packet, self.copying, &mut self.effect);
            refused = refused.filter(|reason| !ingress.keeps(packet, *reason));
            marked = refused.is_none() && self.effect.mark && !ingress.unmarks(packet);
            if T::PACKETS && marked {
                report(tap, id, now, false, packet, || Some(Rule::Script));
            }
        }
        if refused.is_none() {
            let offer = Offer { now, free_at: link.free_at, size: packet.size, cause: self.cause };
            match ingress.qdisc.admit(&offer, packet.ecn.capable()) {
                Admission::Take => {}
                Admission::Mark if impaired && ingress.unmarks(packet) => {}
                Admission::Mark => {
                    ingress.marked += 1;
                    marked = true;
                    if T::PACKETS {
                        report(tap, id, now, false, packet, || ingress.qdisc.rule(packet.size, false));
                    }
                }
                Admission::Refuse => refused = Some(DropReason::Queue),
            }
        }
        if let Some(reason) = refused {
            if reason != DropReason::Queue || !ingress.keeps(packet, reason) {
                self.drop_packet(tap, id, now, packet, reason);
                return None;
            }
            ingress.qdisc.accept(&Offer { now, free_at: link.free_at, size: packet.size, cause: self.cause });
        }
        let changed = marked | ingress.router.is_some();
        let lost = impaired && ingress.loses() && !ingress.keeps(packet, DropReason::Loss);
        let displaced = impaired && self.effect.displaces();
        Some(Accepted { marked, changed, lost, displaced })
    }

    /// The packet as link `id` forwards it: with a CE mark, or with the fields that the router has set.
    #[cold]
    pub(crate) fn rewritten(&mut self, id: u32, now: Time, packet: &Packet, marked: bool) -> Packet {
        let link = &self.states[id as usize];
        let mut packet = Packet { ecn: if marked { Ecn::Ce } else { packet.ecn }, ..*packet };
        if let Some(router) = &mut self.ingress[link.ingress as usize].router {
            router.process(now, link.free_at, &mut packet);
        }
        packet
    }

    /// Counts and reports a packet that is dropped before the queue of link `id` accepts it.
    #[cold]
    pub(crate) fn drop_packet<T: Tap>(
        &mut self,
        tap: &mut T,
        id: u32,
        now: Time,
        packet: &Packet,
        reason: DropReason,
    ) {
        let ingress = self.states[id as usize].ingress as usize;
        self.ingress[ingress].drops[reason as usize] += 1;
        self.payload_changes.note_reason(packet, reason);
        if T::PACKETS {
            report(tap, id, now, true, packet, || self.ingress[ingress].rule(now, packet, reason));
            let step = PacketStep::Drop(reason);
            tap.packet(&PacketEvent { at: now, link: LinkId(id), step, packet: *packet, node: None });
        }
    }

    #[cold]
    pub(crate) fn lose<T: Tap>(&mut self, tap: &mut T, id: u32, packet: &Packet, reason: DropReason) {
        let link = &self.states[id as usize];
        let (ingress, depart) = (&mut self.ingress[link.ingress as usize], link.free_at);
        if depart <= self.horizon {
            ingress.drops[reason as usize] += 1;
            self.payload_changes.note_reason(packet, reason);
            if let Some(beyond) = self.beyond.get_mut(id as usize)
                && depart > self.border
            {
                beyond.dropped[reason as usize] += 1;
            }
        } else {
            ingress.lost_later += 1;
        }
        if T::PACKETS {
            report(tap, id, depart, true, packet, || ingress.rule(depart, packet, reason));
            tap.packet(&PacketEvent {
                at: depart,
                link: LinkId(id),
                step: PacketStep::Drop(reason),
                packet: *packet,
                node: None,
            });
        }
    }
}
