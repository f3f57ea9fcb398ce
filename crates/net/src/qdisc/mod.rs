//! Queue disciplines, one file each.
//!
//! A discipline in this folder decides at the arrival of a packet and serves first in, first out, so the start of the
//! transmission is known at the arrival. Those in `scheduled` decide at each departure.

mod discipline;
mod droptail;
mod fifo;
mod offer;
mod pie;
mod queue;
mod red;
pub mod scheduled;

pub use discipline::{Discipline, LinkInfo};
pub use droptail::{DROPTAIL, DropTail};
pub use offer::{Admission, Offer};
pub use pie::{Pie, PieConfig};
pub use queue::Queue;
pub use red::{Red, RedConfig};

use crate::rule::Rule;

/// A discipline that decides at the arrival of a packet.
pub(crate) trait AtArrival {
    /// Decides on a packet; `ect` is true if it is ECN-capable.
    fn admit(&mut self, offer: &Offer, ect: bool) -> Admission;

    /// Accepts a packet that it has just refused: a change of the scenario keeps it.
    fn accept(&mut self, offer: &Offer);

    /// Why it has just marked a packet of `size` bytes, or `dropped` it.
    fn rule(&self, size: u32, dropped: bool) -> Option<Rule>;
}

/// The disciplines that decide at arrivals, each with its descriptions.
macro_rules! disciplines {
    ($($(#[$doc:meta])* $name:ident($queue:ty): [$($discipline:path),*];)*) => {
        /// The queue of a link.
        #[derive(Clone, Debug, Default)]
        pub enum Qdisc {
            /// Accepts every packet.
            #[default]
            Unlimited,
            $($(#[$doc])* $name($queue),)*
        }

        impl Qdisc {
            /// Decides on a packet; `ect` is true if it is ECN-capable.
            #[inline(always)] // or a packet pays a call for it
            pub fn admit(&mut self, offer: &Offer, ect: bool) -> Admission {
                match self {
                    Qdisc::Unlimited => Admission::Take,
                    $(Qdisc::$name(queue) => queue.admit(offer, ect),)*
                }
            }

            /// Accepts a packet that it has just refused.
            #[cold]
            pub(crate) fn accept(&mut self, offer: &Offer) {
                match self {
                    Qdisc::Unlimited => {}
                    $(Qdisc::$name(queue) => queue.accept(offer),)*
                }
            }

            /// Why it has just marked a packet of `size` bytes, or `dropped` it.
            pub(crate) fn rule(&self, size: u32, dropped: bool) -> Option<Rule> {
                match self {
                    Qdisc::Unlimited => None,
                    $(Qdisc::$name(queue) => queue.rule(size, dropped),)*
                }
            }
        }

        const AT_ARRIVAL: &[&Discipline] = &[$($(&$discipline,)*)*];
    };
}

disciplines! {
    /// Drops packets above its limit.
    DropTail(DropTail): [droptail::DROPTAIL];
    /// Marks or drops packets before the queue is full.
    Red(Box<Red>): [red::RED];
    /// Drops at arrival with a probability set from the delay.
    Pie(Box<Pie>): [pie::PIE];
}

const AT_DEPARTURE: &[&Discipline] = &[
    &scheduled::CODEL,
    &scheduled::DOCSIS_PIE,
    &scheduled::FQ_CODEL,
    &scheduled::FQ_PIE,
    &scheduled::DUALPI2,
];

/// All disciplines.
pub fn disciplines() -> impl Iterator<Item = &'static Discipline> + Clone {
    AT_ARRIVAL.iter().chain(AT_DEPARTURE).copied()
}
