//! Queue disciplines that decide at each departure which packet leaves next, and which are dropped or marked before it.
//!
//! A link with such a discipline has one event more for each packet: the end of the transmission before it.

mod categories;
mod codel;
mod docsis_pie;
mod dualpi2;
mod fair;
mod tail;

pub use categories::CategoryQueues;
pub use codel::{CODEL, Codel, CodelConfig};
pub use docsis_pie::{DOCSIS_PIE, DocsisPie, DocsisPieConfig};
pub use dualpi2::{DUALPI2, DualPi2, DualPi2Config, DualPi2Scheduler, LowLatency};
pub use fair::{FQ_CODEL, FQ_PIE, FairConfig, FairQueue, PerFlow};
pub use tail::TailDrop;

use crate::impairment::Effect;
use crate::packet::{Ecn, Packet};
use crate::rule::Rule;
use std::sync::Arc;
use units::{Span, Time};

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The packet.
    pub packet: Packet,
    /// When it arrived at the queue.
    pub arrived: Time,
    /// What impairments do to it after its transmission.
    pub(crate) effect: Effect,
    /// The codepoint of a packet before the discipline marked it (CE).
    pub marked: Option<Ecn>,
}

impl Waiting {
    /// Time since its arrival.
    pub fn sojourn(&self, now: Time) -> Span {
        now.since(self.arrived)
    }
    /// Sets the CE mark if the packet is ECN-capable. Returns whether it is.
    pub(crate) fn mark(&mut self) -> bool {
        let capable = self.packet.ecn.capable();
        if capable {
            let before = std::mem::replace(&mut self.packet.ecn, Ecn::Ce);
            self.marked = self.marked.or(Some(before));
        }
        capable
    }
    /// Takes back the mark of the discipline.
    pub(crate) fn unmark(&mut self) {
        if let Some(before) = self.marked.take() {
            self.packet.ecn = before;
        }
    }
}

/// Where a discipline has dropped or marked a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point {
    /// It refused the packet at its arrival.
    Arrival,
    /// It dropped the packet at the arrival of another one, together with `others`.
    Limit { others: u32 },
    /// It dropped the packet at a departure, and `later` others after it.
    Departure { later: u32 },
    /// It marked the packet that departs.
    Mark,
}

/// A discipline that decides at departures.
pub(crate) trait Scheduled {
    /// Offers a packet at its arrival, to a transmitter that is `idle` or not. Returns whether the queue has accepted it.
    /// `drops` receives packets that were accepted before and are dropped now; the packet itself can be among them.
    fn enqueue(&mut self, packet: Waiting, idle: bool, drops: &mut Vec<Waiting>) -> bool;

    /// Removes the packet whose transmission starts now. `drops` receives the packets that are dropped before it.
    fn dequeue(&mut self, now: Time, drops: &mut Vec<Waiting>) -> Option<Waiting>;

    /// Bytes of the packets that wait.
    fn bytes(&self) -> u64;

    /// Removes all packets, for a discipline that takes its place.
    fn drain(&mut self) -> Vec<Waiting>;

    /// Why it has just dropped or marked `packet` at this `point`.
    fn rule(&self, packet: &Waiting, now: Time, point: Point) -> Option<Rule>;

    /// Why it has marked `packet` at its arrival, if it has.
    fn mark_at_arrival(&self, _packet: &Waiting) -> Option<Rule> {
        None
    }

    /// Records the waiting times of low-latency packets that arrive from `from` on, if there is a queue for them.
    fn record_sojourns(&mut self, _from: Time) {}

    /// What the low-latency queue has done, if there is one.
    fn low_latency(&self) -> Option<LowLatency> {
        None
    }
}

/// The disciplines that decide at departures.
macro_rules! disciplines {
    ($($(#[$doc:meta])* $name:ident($queue:ty);)*) => {
        /// The discipline of a scheduled link.
        #[derive(Clone, Debug)]
        pub enum Scheduler {
            $($(#[$doc])* $name($queue),)*
        }

        impl Scheduler {
            /// Offers a packet at its arrival, to a transmitter that is `idle` or not. Returns whether the queue has accepted
            /// it. `drops` receives packets that were accepted before and are dropped now; the packet itself can be among
            /// them.
            #[inline(always)] // or a packet pays a call and a copy for it
            pub fn enqueue(&mut self, packet: Waiting, idle: bool, drops: &mut Vec<Waiting>) -> bool {
                match self {
                    $(Scheduler::$name(queue) => queue.enqueue(packet, idle, drops),)*
                }
            }

            /// Removes the packet whose transmission starts now. `drops` receives the packets that are dropped before it.
            #[inline(always)] // or a packet pays a call and a copy for it
            pub fn dequeue(&mut self, now: Time, drops: &mut Vec<Waiting>) -> Option<Waiting> {
                match self {
                    $(Scheduler::$name(queue) => queue.dequeue(now, drops),)*
                }
            }

            /// Removes all packets, in the order of their arrival, for a discipline that takes its place.
            pub(crate) fn drain(&mut self) -> Vec<Waiting> {
                let mut packets = match self {
                    $(Scheduler::$name(queue) => Scheduled::drain(queue),)*
                };
                packets.sort_by_key(|packet| packet.arrived);
                packets
            }

            /// Its rules, for what happens rarely.
            pub(crate) fn discipline(&self) -> &dyn Scheduled {
                match self {
                    $(Scheduler::$name(queue) => queue,)*
                }
            }

            /// The same, for queues among queues.
            fn discipline_mut(&mut self) -> &mut dyn Scheduled {
                match self {
                    $(Scheduler::$name(queue) => queue,)*
                }
            }

            /// Records the waiting times of low-latency packets that arrive from `from` on, if there is a queue for them.
            pub(crate) fn record_sojourns(&mut self, from: Time) {
                match self {
                    $(Scheduler::$name(queue) => queue.record_sojourns(from),)*
                }
            }

            /// What the low-latency queue has done, if there is one.
            pub fn low_latency(&self) -> Option<LowLatency> {
                self.discipline().low_latency()
            }
        }
    };
}

disciplines! {
    /// First in, first out, with a limit.
    TailDrop(TailDrop);
    /// CoDel (RFC 8289).
    Codel(Codel);
    /// PIE of cable modems (RFC 8034).
    DocsisPie(DocsisPie);
    /// One queue for each flow, served in deficit round robin (RFC 8290).
    Fair(FairQueue);
    /// A queue for classic and one for low-latency traffic (RFC 9332).
    DualPi2(DualPi2);
    /// One queue for each access category of a Wi-Fi link.
    Categories(CategoryQueues);
}

impl Scheduler {
    /// Queues for the access categories of a Wi-Fi link, if there are several; `places`: of each flow, by number, the place of
    /// its queue.
    pub fn for_categories(mut queues: Vec<Scheduler>, places: Arc<[u8]>) -> Scheduler {
        match (queues.len(), queues.pop()) {
            (1, Some(only)) => only,
            (_, last) => {
                queues.extend(last);
                Scheduler::Categories(CategoryQueues::new(queues, places))
            }
        }
    }

    /// Whether at one instant departures precede arrivals in any case.
    pub(crate) fn departures_first(&self) -> bool {
        matches!(self, Scheduler::TailDrop(queue) if queue.departures_first)
    }

    /// The place of the queue of a packet among those of the access categories; 0 without several.
    pub(crate) fn place(&self, packet: &Packet) -> usize {
        if let Scheduler::Categories(queues) = self { queues.place(packet) } else { 0 }
    }

    /// The queue of the access category at `place` is asked next.
    pub(crate) fn select(&mut self, place: usize) {
        if let Scheduler::Categories(queues) = self {
            queues.select(place);
        }
    }

    /// Whether packets wait in the queue of the access category at `place`.
    pub(crate) fn waits(&self, place: usize) -> bool {
        match self {
            Scheduler::Categories(queues) => queues.waits(place),
            _ => self.discipline().bytes() > 0,
        }
    }
}
