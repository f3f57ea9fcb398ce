//! Scripted impairments: listed packets of a flow are dropped, marked, delayed or duplicated.

use crate::packet::Packet;
use units::Span;

/// What happens to a listed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is dropped before the queue.
    Drop,
    /// It is marked (CE) if it is ECN-capable.
    Mark,
    /// It arrives later by this time; others overtake it.
    Delay(Span),
    /// A copy follows it. ACKs are not duplicated.
    Duplicate,
}

/// Transmissions of one segment, as they arrive at the link: from number `first` to number `last`; the original is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transmissions {
    /// Number of the packet in its flow.
    pub seq: u32,
    /// The first transmission listed.
    pub first: u32,
    /// The last transmission listed.
    pub last: u32,
}

/// The packets of one flow that a script lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Data packets by the order of their arrival at the link, from 0, the SYN included.
    pub packets: Vec<u64>,
    /// Transmissions of data segments.
    pub segments: Vec<Transmissions>,
    /// ACKs, or datagrams of the reverse direction, by the order of their arrival at the link, from 0, the ACK of the SYN
    /// included.
    pub acks: Vec<u64>,
}

/// Applies an action to the listed packets of a flow.
#[derive(Clone, Debug)]
pub struct Scripted {
    flow: u32,
    selection: Selection,
    action: Action,
    seen: u64,
    seen_acks: u64,
    /// Arrivals of each segment of the selection.
    seen_segments: Vec<u32>,
}

impl Scripted {
    /// Applies `action` to the packets of `flow` that `selection` lists, in any order.
    pub fn new(flow: u32, mut selection: Selection, action: Action) -> Scripted {
        selection.packets.sort_unstable();
        selection.acks.sort_unstable();
        let seen_segments = vec![0; selection.segments.len()];
        Scripted { flow, selection, action, seen: 0, seen_acks: 0, seen_segments }
    }

    /// Whether it delays or duplicates packets, which then do not leave the link in the order of their arrival.
    pub fn displaces(&self) -> bool {
        matches!(self.action, Action::Delay(_) | Action::Duplicate)
    }

    /// Whether it lists `packet`, the last packet of its flow that it counted, for `action`.
    pub(crate) fn listed(&self, packet: &Packet, action: Action) -> bool {
        if packet.flow != self.flow || self.action != action {
            return false;
        }
        if packet.kind.is_reverse() {
            return self.seen_acks > 0 && self.selection.acks.binary_search(&(self.seen_acks - 1)).is_ok();
        }
        let by_order = self.seen > 0 && self.selection.packets.binary_search(&(self.seen - 1)).is_ok();
        let mut segments = self.selection.segments.iter().zip(&self.seen_segments);
        by_order
            || segments
                .any(|(listed, seen)| listed.seq == packet.seq && (listed.first..=listed.last).contains(seen))
    }

    /// The action for `packet`, if it is listed. Counts the packets of the flow.
    pub fn action(&mut self, packet: &Packet) -> Option<Action> {
        if packet.flow != self.flow {
            return None;
        }
        let listed = if packet.kind.is_reverse() {
            self.seen_acks += 1;
            self.selection.acks.binary_search(&(self.seen_acks - 1)).is_ok()
        } else {
            self.seen += 1;
            let by_order = self.selection.packets.binary_search(&(self.seen - 1)).is_ok();
            let mut by_segment = false;
            for (listed, seen) in self.selection.segments.iter().zip(&mut self.seen_segments) {
                if listed.seq == packet.seq {
                    *seen += 1;
                    by_segment |= (listed.first..=listed.last).contains(seen);
                }
            }
            by_order || by_segment
        };
        listed.then_some(self.action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketKind;
    use units::Time;

    fn packet(kind: PacketKind, flow: u32, seq: u32) -> Packet {
        Packet::new(kind, flow, 0, seq, 1500, Time::ZERO)
    }

    fn listed(seq: u32, first: u32, last: u32) -> Transmissions {
        Transmissions { seq, first, last }
    }

    #[test]
    fn selects_by_order_and_by_transmission() {
        let selection = Selection {
            packets: vec![3, 1],
            segments: vec![listed(7, 1, 2), listed(9, 2, 2)],
            acks: vec![0],
        };
        let mut script = Scripted::new(4, selection, Action::Drop);
        let mut data = |flow, seq| script.action(&packet(PacketKind::Data, flow, seq)).is_some();
        assert_eq!(
            [data(4, 0), data(4, 0), data(5, 0), data(4, 0), data(4, 0), data(4, 0)],
            [false, true, false, false, true, false]
        );
        assert_eq!([data(4, 7), data(4, 8), data(4, 7), data(4, 7)], [true, false, true, false]);
        assert_eq!([data(4, 9), data(4, 9), data(4, 9)], [false, true, false]);
        let mut ack = || script.action(&packet(PacketKind::Ack, 4, 1)).is_some();
        assert_eq!([ack(), ack()], [true, false]);
        let mut reverse = |kind| script.action(&packet(kind, 4, 9)).is_some();
        assert!(!reverse(PacketKind::ReverseDatagram), "it is the third packet of the reverse direction");
    }
}
