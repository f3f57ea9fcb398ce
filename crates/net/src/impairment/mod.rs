//! Impairments, one file for each: what happens to packets on a link besides its queue.

mod bernoulli;
mod delay;
mod duplicate;
mod gilbert_elliott;
mod jitter;
mod kind;
mod on_demand;
mod outage;
mod policer;
mod scripted;

pub use bernoulli::Bernoulli;
pub use delay::Delay;
pub use duplicate::Duplicate;
pub use gilbert_elliott::GilbertElliott;
pub use jitter::Jitter;
pub use kind::{BuildContext, Kind, Loss, Permits};
pub use on_demand::{OnDemand, PacketsOf};
pub use outage::{Blackout, Stall};
pub use policer::Policer;
pub use scripted::Scripted;

use crate::packet::Packet;
use crate::rule::Rule;
use crate::tap::DropReason;
use units::{Span, Time};

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
    /// The packet arrives later; `ordered`: not before those in front of it.
    #[inline]
    pub fn add_delay(&mut self, delay: Span, ordered: bool) {
        if ordered {
            (self.jitter, self.ordered) = (self.jitter + delay, true);
        } else {
            self.delay = self.delay + delay;
        }
    }

    /// Whether the packet arrives in another way than the others.
    pub fn displaces(&self) -> bool {
        self.duplicate || self.ordered || self.delay > Span::ZERO
    }
}

/// What an impairment does; each does some of it.
pub(crate) trait Impair {
    /// Processes a packet that arrives at the link. Returns the reason if it is dropped.
    #[inline]
    fn before(&mut self, _now: Time, _packet: &Packet, _effect: &mut Effect) -> Option<DropReason> {
        None
    }

    /// Whether it loses the next packet after the queue, so that the packet has used the link.
    #[inline]
    fn after(&mut self) -> bool {
        false
    }

    /// Why it has dropped `packet` for this reason at `now`, if it was this impairment.
    fn rule(&self, _now: Time, _packet: &Packet, _reason: DropReason) -> Option<Rule> {
        None
    }

    /// The time at which a transmission may begin that would begin at `start`, if it may not begin then.
    #[inline]
    fn stalled_until(&self, _start: Time) -> Option<Time> {
        None
    }

    /// Whether it is there for changes of the scenario, after those that the scenario names.
    fn serves_changes(&self) -> bool {
        false
    }

    /// Whether packets can overtake each other.
    fn reorders(&self) -> bool {
        false
    }

    /// Whether a packet can arrive at another time than the link's delay after its departure, or twice.
    fn displaces(&self) -> bool {
        false
    }
}

/// The impairments, each with its descriptions.
macro_rules! impairments {
    ($($(#[$doc:meta])* $name:ident: [$($kind:path),*];)*) => {
        /// Something that happens to packets on a link besides its queue. A link can have several, which act independently.
        #[derive(Clone, Debug)]
        pub enum Impairment {
            $($(#[$doc])* $name($name),)*
        }

        impl Impair for Impairment {
            #[inline]
            fn before(&mut self, now: Time, packet: &Packet, effect: &mut Effect) -> Option<DropReason> {
                match self { $(Impairment::$name(impairment) => impairment.before(now, packet, effect),)* }
            }
            #[inline]
            fn after(&mut self) -> bool {
                match self { $(Impairment::$name(impairment) => impairment.after(),)* }
            }
            fn rule(&self, now: Time, packet: &Packet, reason: DropReason) -> Option<Rule> {
                match self { $(Impairment::$name(impairment) => impairment.rule(now, packet, reason),)* }
            }
            #[inline]
            fn stalled_until(&self, start: Time) -> Option<Time> {
                match self { $(Impairment::$name(impairment) => impairment.stalled_until(start),)* }
            }
            fn serves_changes(&self) -> bool {
                match self { $(Impairment::$name(impairment) => impairment.serves_changes(),)* }
            }
            fn reorders(&self) -> bool {
                match self { $(Impairment::$name(impairment) => impairment.reorders(),)* }
            }
            fn displaces(&self) -> bool {
                match self { $(Impairment::$name(impairment) => impairment.displaces(),)* }
            }
        }

        /// All kinds of impairments.
        pub const KINDS: &[&Kind] = &[&kind::NONE, $($(&$kind,)*)*];
    };
}

impairments! {
    /// Independent losses.
    Bernoulli: [bernoulli::BERNOULLI];
    /// Losses in bursts.
    GilbertElliott: [gilbert_elliott::GILBERT_ELLIOTT];
    /// Listed packets are dropped, marked, delayed or duplicated.
    Scripted: [scripted::SCRIPTED];
    /// Packets that arrive during an outage are dropped.
    Blackout: [outage::BLACKOUT];
    /// No transmission begins during an outage; packets wait.
    Stall: [outage::STALL];
    /// Packets without tokens are dropped before the queue.
    Policer: [policer::POLICER];
    /// Packets arrive later.
    Jitter: [jitter::JITTER, jitter::REORDER];
    /// Packets arrive later by a time that changes at given times.
    Delay: [delay::DELAY];
    /// Copies follow packets at random.
    Duplicate: [duplicate::DUPLICATE];
    /// Changes of the scenario drop or keep the next packets.
    OnDemand: [];
}
