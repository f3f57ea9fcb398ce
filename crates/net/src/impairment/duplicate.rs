//! Copies of data packets at random.

use super::bernoulli::Bernoulli;
use super::kind::{Kind, Permits, RATE};
use super::{Effect, Impair, Impairment};
use crate::packet::{Packet, PacketKind};
use crate::tap::DropReason;
use units::Time;

/// Copies of data packets.
pub(super) const DUPLICATE: Kind = Kind {
    model: params::model!("loss", "duplicate", "sends copies of data packets at random", "", [&[RATE]]),
    build: |values, context| {
        Some(Impairment::Duplicate(Duplicate(Bernoulli::new(values.read("rate"), (context.stream)()))))
    },
    label: |values| format!("{} % duplicates", 100.0 * values.read::<f64>("rate")),
    stream: "duplicate",
    permits: |_| Permits { copies: true, ..Permits::NOTHING },
    can_change: false,
    ..Kind::PLAIN
};

/// Copies follow packets at random, with the loss process as the draw.
#[derive(Clone, Debug)]
pub struct Duplicate(Bernoulli);

impl Impair for Duplicate {
    #[inline]
    fn before(&mut self, _now: Time, packet: &Packet, effect: &mut Effect) -> Option<DropReason> {
        effect.duplicate |= self.0.loses() && packet.kind != PacketKind::Ack;
        None
    }

    fn reorders(&self) -> bool {
        true
    }

    fn displaces(&self) -> bool {
        true
    }
}
