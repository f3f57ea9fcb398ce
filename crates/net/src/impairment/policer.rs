//! A token bucket that drops packets.

use super::kind::Kind;
use super::{Effect, Impair, Impairment};
use crate::packet::Packet;
use crate::rule::Rule;
use crate::tap::DropReason;
use crate::transmitter::TokenBucket;
use units::{Rate, Time};

/// Packets without tokens are dropped.
pub(super) const POLICER: Kind = Kind {
    model: params::model!(
        "loss",
        "policer",
        "drops packets for which a token bucket has no tokens, before the queue",
        "RFC 2697",
        [TokenBucket::KEYS]
    ),
    check: TokenBucket::check,
    build: |values, _| {
        Some(Impairment::Policer(Policer(TokenBucket::new(values.read("rate"), values.read("burst")))))
    },
    label: |values| format!("policer {}, {} B", values.read::<Rate>("rate"), values.read::<u64>("burst")),
    ..Kind::PLAIN
};

/// Packets without tokens are dropped before the queue.
#[derive(Clone, Debug)]
pub struct Policer(TokenBucket);

impl Impair for Policer {
    #[inline]
    fn before(&mut self, now: Time, packet: &Packet, _effect: &mut Effect) -> Option<DropReason> {
        (!self.0.police(now, packet.size)).then_some(DropReason::Policer)
    }

    fn rule(&self, now: Time, packet: &Packet, reason: DropReason) -> Option<Rule> {
        let (tokens, size) = (self.0.tokens(now), packet.size);
        let is_cause = reason == DropReason::Policer && tokens < size as u64;
        is_cause.then_some(Rule::Policer { tokens, size })
    }
}
