//! Scripted impairments: listed packets of a flow are dropped, marked, delayed or duplicated.

use super::kind::{Kind, Permits};
use super::{Effect, Impair, Impairment};
use crate::packet::{Packet, PacketKind};
use crate::rule::Rule;
use crate::tap::DropReason;
use params::{Form, Mistake, Unit, Values, key};
use units::{Span, Time};

const NUMBER: Form = Form::Integer(0, u32::MAX as u64);

/// Listed packets.
pub(super) const SCRIPTED: Kind = Kind {
    model: params::model!(
        "loss",
        "scripted",
        "drops (before the queue), marks, delays or duplicates listed packets of a flow at this link",
        "",
        [&[
            key("flow", Form::Text, "", "name of the flow"),
            key(
                "action",
                Form::Word(&["drop", "mark", "delay", "duplicate"]),
                "\"drop\"",
                "what happens to the packets: dropped before the queue, marked (CE) if they are ECN-capable, delayed, or followed by a copy (data only)",
            ),
            key(
                "by",
                Form::Quantity(Unit::Time, "45ms"),
                "none",
                "additional delay, with `action = \"delay\"`"
            ),
            key(
                "packets",
                Form::List(&Form::Integer(0, i64::MAX as u64), "[14, 26]"),
                "none",
                "positions of its data packets by arrival at the link, from 0, the SYN included",
            ),
            key(
                "segments",
                Form::List(&Form::List(&NUMBER, "[300, 2]"), "[[300, 2]]"),
                "none",
                "numbers of its data segments, from 0 without the SYN, each with the number of its transmissions, from the first one on, or with the first and the last of them (the original is 1): `[300, 2, 2]` is the second alone",
            ),
            key(
                "acks",
                Form::List(&Form::Integer(0, i64::MAX as u64), "[3, 4]"),
                "none",
                "positions of its ACKs by arrival at the link, from 0, the ACK of the SYN included",
            ),
        ]]
    ),
    check: |values| Selection::read(values).and(ScriptedAction::read(values)).map(|_| ()),
    build: |values, context| {
        let (flow, syn) = (context.flow)(&values.read::<String>("flow"))?;
        let (mut selection, action) = (Selection::read(values).ok()?, ScriptedAction::read(values).ok()?);
        for segment in &mut selection.segments {
            segment.seq = segment.seq.saturating_add(syn);
        }
        Some(Impairment::Scripted(Scripted::new(flow, selection, action)))
    },
    label: |values| {
        let selection = Selection::read(values).unwrap_or_default();
        let transmissions: u64 = selection.segments.iter().map(|s| (s.last - s.first) as u64 + 1).sum();
        let listed = (selection.packets.len() + selection.acks.len()) as u64 + transmissions;
        let what = match values.read("action") {
            "drop" => "losses",
            "mark" => "marks",
            "delay" => "delays",
            _ => "duplicates",
        };
        format!("{listed} scripted {what}")
    },
    permits: |values| Permits {
        delay: values.optional("by").unwrap_or(Span::ZERO),
        copies: values.read::<&str>("action") == "duplicate",
        ..Permits::NOTHING
    },
    ..Kind::PLAIN
};

/// What happens to a listed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptedAction {
    /// It is dropped before the queue.
    Drop,
    /// It is marked (CE) if it is ECN-capable.
    Mark,
    /// It arrives later by this time; others overtake it.
    Delay(Span),
    /// A copy follows it. ACKs are not duplicated.
    Duplicate,
}

impl ScriptedAction {
    /// The action that the values of a table name. Fails if `by` does not go with it.
    fn read(values: &Values) -> Result<ScriptedAction, Mistake> {
        let by: Option<Span> = values.optional("by");
        let action = match (values.read("action"), by) {
            ("delay", Some(by)) => return Ok(ScriptedAction::Delay(by)),
            ("delay", None) => {
                return Err(("by", "is missing: the additional delay, such as by = \"45ms\"".into()));
            }
            (_, Some(_)) => return Err(("by", "is for action = \"delay\" only".into())),
            ("drop", None) => ScriptedAction::Drop,
            ("mark", None) => ScriptedAction::Mark,
            _ => ScriptedAction::Duplicate,
        };
        Ok(action)
    }
}

/// Transmissions of one segment, as they arrive at the link: from number `first` to number `last`; the original is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentTransmissions {
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
    pub segments: Vec<SegmentTransmissions>,
    /// ACKs, or datagrams of the reverse direction, by the order of their arrival at the link, from 0, the ACK of the SYN
    /// included.
    pub acks: Vec<u64>,
}

impl Selection {
    /// The packets that the values of a table list. Fails if they list none.
    fn read(values: &Values) -> Result<Selection, Mistake> {
        if !["packets", "segments", "acks"].into_iter().any(|key| values.is_written(key)) {
            let message =
                "is missing: packet numbers from 0, such as packets = [14, 26]; or segments or acks";
            return Err(("packets", message.into()));
        }
        let rows: Vec<Vec<u32>> = values.optional("segments").unwrap_or_default();
        let segment = |row: &Vec<u32>| {
            let (seq, first, last) = match row[..] {
                [seq, last] => (seq, 1, last),
                [seq, first, last] => (seq, first, last),
                _ => return None,
            };
            (1..=last).contains(&first).then_some(SegmentTransmissions { seq, first, last })
        };
        let message = "must be a segment with the number of its transmissions, such as [[300, 2]], \
                       or with the first and the last of them, such as [[300, 2, 2]]";
        let segments = rows.iter().map(segment).collect::<Option<_>>();
        Ok(Selection {
            packets: values.optional("packets").unwrap_or_default(),
            segments: segments.ok_or_else(|| ("segments", message.to_string()))?,
            acks: values.optional("acks").unwrap_or_default(),
        })
    }
}

/// Applies an action to the listed packets of a flow.
#[derive(Clone, Debug)]
pub struct Scripted {
    flow: u32,
    selection: Selection,
    action: ScriptedAction,
    seen: u64,
    seen_acks: u64,
    /// Arrivals of each segment of the selection.
    seen_segments: Vec<u32>,
}

impl Scripted {
    /// Applies `action` to the packets of `flow` that `selection` lists, in any order.
    pub fn new(flow: u32, mut selection: Selection, action: ScriptedAction) -> Scripted {
        selection.packets.sort_unstable();
        selection.acks.sort_unstable();
        let seen_segments = vec![0; selection.segments.len()];
        Scripted { flow, selection, action, seen: 0, seen_acks: 0, seen_segments }
    }

    /// Whether it lists `packet`, the last packet of its flow that it counted, for `action`.
    fn listed(&self, packet: &Packet, action: ScriptedAction) -> bool {
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
    fn action(&mut self, packet: &Packet) -> Option<ScriptedAction> {
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

impl Impair for Scripted {
    #[inline]
    fn before(&mut self, _now: Time, packet: &Packet, effect: &mut Effect) -> Option<DropReason> {
        match self.action(packet)? {
            ScriptedAction::Drop => return Some(DropReason::List),
            ScriptedAction::Mark => effect.mark = packet.ecn.capable(),
            ScriptedAction::Delay(by) => effect.delay = effect.delay + by,
            ScriptedAction::Duplicate => effect.duplicate = packet.kind != PacketKind::Ack,
        }
        None
    }

    fn rule(&self, _now: Time, packet: &Packet, reason: DropReason) -> Option<Rule> {
        (reason == DropReason::List && self.listed(packet, ScriptedAction::Drop)).then_some(Rule::Script)
    }

    fn reorders(&self) -> bool {
        matches!(self.action, ScriptedAction::Delay(_) | ScriptedAction::Duplicate)
    }

    fn displaces(&self) -> bool {
        self.reorders()
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

    fn listed(seq: u32, first: u32, last: u32) -> SegmentTransmissions {
        SegmentTransmissions { seq, first, last }
    }

    #[test]
    fn selects_by_order_and_by_transmission() {
        let selection = Selection {
            packets: vec![3, 1],
            segments: vec![listed(7, 1, 2), listed(9, 2, 2)],
            acks: vec![0],
        };
        let mut script = Scripted::new(4, selection, ScriptedAction::Drop);
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
