//! A delay that changes at given times.

use super::kind::{Kind, Loss, Permits};
use super::{Effect, Impair, Impairment};
use crate::packet::Packet;
use crate::rates::REPEAT;
use crate::tap::DropReason;
use crate::transmitter::Steps;
use params::{Form, Key, Unit, Value, Values, key};
use units::{Span, Time};

const STEP: Form = Form::Row(&[Form::Quantity(Unit::Time, "5s"), Form::delay("5ms")], "[\"5s\", \"5ms\"]");

/// Whether packets keep their order.
pub(super) const ORDER: Key =
    key("order", Form::Switch, "true", "no packet arrives before the one in front of it");

/// A delay in steps.
pub(super) const DELAY: Kind = Kind {
    model: params::model!(
        "loss",
        "delay",
        "delays packets after their transmission by a time that changes at given times",
        "",
        [
            &[key(
                "steps",
                Form::List(&STEP, "[[\"0s\", \"20ms\"], [\"5s\", \"5ms\"]]"),
                "",
                "times from the start, and the additional delay of the packets that arrive at the link from there on",
            )],
            REPEAT,
            &[ORDER],
        ]
    ),
    check: |values| Steps::<Span>::read(values).map(|_| ()),
    build: |values, _| {
        let steps = Steps::read(values).ok()?;
        Some(Impairment::Delay(Delay { steps, ordered: values.read("order") }))
    },
    label: |values| format!("{} steps of delay", values.read::<Vec<(Span, Span)>>("steps").len()),
    permits: |values| {
        let steps: Vec<(Span, Span)> = values.read("steps");
        let delay = steps.into_iter().map(|step| step.1).max().unwrap_or(Span::ZERO);
        Permits { delay, ..Permits::NOTHING }
    },
    ..Kind::PLAIN
};

impl Loss {
    /// A delay in steps, in which packets keep their order or not.
    pub fn delay(delays: Steps<Span>, ordered: bool) -> Loss {
        let step = |(at, delay): (Time, Span)| {
            Value::List(vec![Value::Time(at.since(Time::ZERO)), Value::Time(delay)])
        };
        let mut values = Values::of_defaults(&DELAY.model.table, 0);
        values.set("steps", Value::List(delays.steps.into_iter().map(step).collect()));
        if delays.period > Span::ZERO {
            values.set("repeat", Value::Time(delays.period));
        }
        values.set("order", Value::Switch(ordered));
        Loss { kind: &DELAY, values }
    }
}

/// Packets arrive later by a time that changes at given times.
#[derive(Clone, Debug)]
pub struct Delay {
    steps: Steps<Span>,
    /// No packet arrives before the one in front of it.
    ordered: bool,
}

impl Delay {
    /// From now on packets keep their order, or not.
    pub(crate) fn set_ordered(&mut self, ordered: bool) {
        self.ordered = ordered;
    }

    /// No delay: a place for a delay that changes, which keeps the order of the packets.
    pub fn none() -> Delay {
        Delay { steps: Steps { steps: vec![(Time::ZERO, Span::ZERO)], period: Span::ZERO }, ordered: true }
    }
}

impl Impair for Delay {
    #[inline]
    fn before(&mut self, now: Time, _packet: &Packet, effect: &mut Effect) -> Option<DropReason> {
        effect.add_delay(self.steps.at(now).0, self.ordered);
        None
    }

    fn serves_changes(&self) -> bool {
        // A delay that changes needs a place for the order of the packets; it has one step.
        self.steps.steps == [(Time::ZERO, Span::ZERO)]
    }

    fn reorders(&self) -> bool {
        !self.ordered
    }

    fn displaces(&self) -> bool {
        true
    }
}
