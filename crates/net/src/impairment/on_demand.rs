//! Packets that a change of the scenario drops, keeps or leaves unmarked: the next ones of a link.

use super::{Effect, Impair};
use crate::packet::{Packet, PacketKind};
use crate::rule::Rule;
use crate::tap::DropReason;
use units::Time;

/// Which packets are meant; each property that is `None` can have any value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketsOf {
    /// Number of the flow.
    pub flow: Option<u32>,
    /// Number of the packet; of an ACK that of the segment it acknowledges.
    pub number: Option<u32>,
}

impl PacketsOf {
    fn has(&self, packet: &Packet) -> bool {
        let number = if packet.kind == PacketKind::Ack { packet.seq.wrapping_sub(1) } else { packet.seq };
        self.flow.is_none_or(|flow| flow == packet.flow) && self.number.is_none_or(|wanted| wanted == number)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Demand {
    packets: PacketsOf,
    left: u32,
}

impl Demand {
    /// Whether it means `packet`; then it has one packet less left.
    fn takes(&mut self, packet: &Packet) -> bool {
        let meant = self.left > 0 && self.packets.has(packet);
        self.left -= meant as u32;
        meant
    }
}

/// The packets that a link drops, keeps although it would drop them, or does not mark. None at the start of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnDemand {
    /// Changes of the link's delay let packets overtake each other.
    reorders: bool,
    drops: Vec<Demand>,
    kept: Vec<Demand>,
    unmarked: Vec<Demand>,
    /// The end of a blackout.
    dark_until: Time,
    /// The last packet that was dropped: when, its flow and number.
    last: Option<(Time, u32, u32)>,
}

impl OnDemand {
    /// Nothing is asked for yet. `reorders`: changes of the link's delay let packets overtake each other.
    pub fn new(reorders: bool) -> OnDemand {
        OnDemand { reorders, ..OnDemand::default() }
    }

    /// The next `count` of these packets that arrive are dropped.
    pub fn drop_next(&mut self, packets: PacketsOf, count: u32) {
        self.drops.push(Demand { packets, left: count });
    }

    /// The next `count` of these packets that would be dropped are not. One that its queue drops after it has accepted it
    /// leaves the queue at once.
    pub fn keep_next(&mut self, packets: PacketsOf, count: u32) {
        self.kept.push(Demand { packets, left: count });
    }

    /// The next `count` of these packets that would be marked are not.
    pub fn unmark_next(&mut self, packets: PacketsOf, count: u32) {
        self.unmarked.push(Demand { packets, left: count });
    }

    /// Packets that arrive before `end` are dropped.
    pub fn black_out(&mut self, end: Time) {
        self.dark_until = self.dark_until.max(end);
    }

    /// Whether `packet`, which arrives at `now`, is dropped.
    fn drops(&mut self, now: Time, packet: &Packet) -> bool {
        let dropped = now < self.dark_until || self.drops.iter_mut().any(|demand| demand.takes(packet));
        if dropped {
            self.last = Some((now, packet.flow, packet.seq));
        }
        dropped
    }

    /// Whether it has just dropped `packet`.
    fn dropped(&self, now: Time, packet: &Packet) -> bool {
        self.last == Some((now, packet.flow, packet.seq))
    }

    pub(crate) fn keep(&mut self, packet: &Packet) -> bool {
        self.kept.iter_mut().any(|demand| demand.takes(packet))
    }

    pub(crate) fn unmark(&mut self, packet: &Packet) -> bool {
        self.unmarked.iter_mut().any(|demand| demand.takes(packet))
    }
}

impl Impair for OnDemand {
    #[inline]
    fn before(&mut self, now: Time, packet: &Packet, _effect: &mut Effect) -> Option<DropReason> {
        self.drops(now, packet).then_some(DropReason::List)
    }

    fn rule(&self, now: Time, packet: &Packet, reason: DropReason) -> Option<Rule> {
        (reason == DropReason::List && self.dropped(now, packet)).then_some(Rule::Change)
    }

    fn serves_changes(&self) -> bool {
        true
    }

    fn reorders(&self) -> bool {
        self.reorders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_name_a_flow_or_mean_every_packet() {
        let at = Time::from_ps;
        let packet = |flow| Packet::new(PacketKind::Data, flow, 0, 7, 1000, at(0));
        let mut on_demand = OnDemand::default();
        assert!(!on_demand.drops(at(1), &packet(0)) && !on_demand.keep(&packet(0)));
        on_demand.drop_next(PacketsOf { flow: Some(1), number: None }, 2);
        let dropped = [0, 1, 1, 1].map(|flow| on_demand.drops(at(2), &packet(flow)));
        assert_eq!(dropped, [false, true, true, false]);
        assert!(on_demand.dropped(at(2), &packet(1)) && !on_demand.dropped(at(2), &packet(0)));
        on_demand.keep_next(PacketsOf { flow: None, number: Some(7) }, 1);
        assert!(on_demand.keep(&packet(5)) && !on_demand.keep(&packet(5)));
        on_demand.unmark_next(PacketsOf::default(), 1);
        assert!(on_demand.unmark(&packet(5)) && !on_demand.unmark(&packet(5)));
        on_demand.black_out(at(10));
        assert!(on_demand.drops(at(9), &packet(3)) && !on_demand.drops(at(10), &packet(3)));
    }
}
