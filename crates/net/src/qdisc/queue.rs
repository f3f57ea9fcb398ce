//! The queue that a link of a scenario has.

use super::Qdisc;
use super::discipline::{Discipline, LinkInfo};
use super::droptail::DROPTAIL;
use super::scheduled::{Scheduler, TailDrop};
use engine::Stream;
use params::{Key, Mistake, Value, Values};
use std::fmt;
use units::{Limit, Rate, Span};

/// The queue of a link: a discipline with its values, or a queue without a limit.
#[derive(Clone, Default)]
pub struct Queue {
    discipline: Option<&'static Discipline>,
    values: Values,
}

impl Queue {
    /// No packet is dropped.
    pub const UNLIMITED: Queue = Queue { discipline: None, values: Values::NONE };

    /// A queue with these values. Fails if they do not go together.
    pub fn new(discipline: &'static Discipline, mut values: Values) -> Result<Queue, Mistake> {
        (discipline.check)(&mut values)?;
        Ok(Queue { discipline: Some(discipline), values })
    }

    /// A queue with the values that `given` names, and the defaults of the others. Fails if they do not go together.
    pub fn with(
        discipline: &'static Discipline,
        assignments: &[(&'static str, Value)],
    ) -> Result<Queue, Mistake> {
        let value =
            |key: &Key| assignments.iter().find(|(name, _)| *name == key.name).map(|entry| entry.1.clone());
        let Ok(values) =
            Values::new(&discipline.model.table, 0, |key| Ok::<_, std::convert::Infallible>(value(key)));
        Queue::new(discipline, values)
    }

    /// A drop-tail queue with this limit.
    pub fn droptail(limit: Limit) -> Queue {
        Queue::with(&DROPTAIL, &[("limit", Value::Limit(limit))])
            .unwrap_or_else(|_| unreachable!("every limit is permitted"))
    }

    /// Its name and limit in diagrams.
    pub fn label(&self) -> String {
        let Some(discipline) = self.discipline else { return "unlimited".into() };
        let limit: Limit = self.values.read("limit");
        format!("{} {limit}{}", discipline.title, if self.has_ecn() { ", ECN" } else { "" })
    }

    fn has_ecn(&self) -> bool {
        self.values.optional("ecn") == Some(true)
    }

    /// Whether it marks ECN-capable packets.
    pub fn marks(&self) -> bool {
        self.has_ecn() || self.discipline.is_some_and(|discipline| discipline.marks)
    }

    /// The limit in packets or bytes on a link of rate `rate`; `rtt` is the longest round-trip time of its flows.
    pub fn limit(&self, rate: Rate, rtt: Span) -> Option<Limit> {
        let packet: Option<u64> = self.discipline?.packet_key.map(|key| self.values.read(key));
        Some(match self.values.read("limit") {
            Limit::Bdp(n) => {
                let bytes = (n * rate.bytes_in(rtt) as f64) as u64;
                packet.map_or(Limit::Bytes(bytes), |packet| Limit::Packets(bytes / packet))
            }
            Limit::Time(span) => {
                let bytes = rate.bytes_in(span);
                packet.map_or(Limit::Bytes(bytes), |packet| Limit::Packets(bytes / packet))
            }
            fixed => fixed,
        })
    }

    fn link_info<'a>(
        &self,
        rate: Rate,
        delay: Span,
        rtt: Span,
        stream: &'a dyn Fn() -> Stream,
    ) -> LinkInfo<'a> {
        let (packets, bytes) = match self.limit(rate, rtt) {
            Some(Limit::Packets(n)) => (n, u64::MAX),
            Some(Limit::Bytes(n)) => (u64::MAX, n),
            _ => (u64::MAX, u64::MAX),
        };
        LinkInfo { rate, delay, packets, bytes, stream }
    }

    /// The queue of a link with a constant rate. `stream` gives the stream with a name.
    pub fn at_arrival(&self, rate: Rate, delay: Span, rtt: Span, stream: &dyn Fn(&str) -> Stream) -> Qdisc {
        let Some(discipline) = self.discipline else { return Qdisc::Unlimited };
        let stream = || stream(discipline.stream);
        let link = self.link_info(rate, delay, rtt, &stream);
        discipline.at_arrival.map_or(Qdisc::Unlimited, |build| build(&self.values, &link))
    }

    /// The queue of a link that is asked at each departure; drop-tail if the discipline decides at arrivals only.
    pub fn at_departure(&self, rate: Rate, rtt: Span, stream: &dyn Fn(&str) -> Stream) -> Scheduler {
        let discipline = self.discipline;
        let stream = || stream(discipline.map_or("", |discipline| discipline.stream));
        let link = self.link_info(rate, Span::ZERO, rtt, &stream);
        match discipline.and_then(|discipline| discipline.at_departure) {
            Some(build) => build(&self.values, &link),
            None => Scheduler::TailDrop(TailDrop::new(link.packets, link.bytes)),
        }
    }

    /// Whether it decides at departures only.
    pub fn is_scheduled(&self) -> bool {
        self.discipline.is_some_and(|discipline| discipline.at_arrival.is_none())
    }

    /// Whether it decides at arrivals only.
    pub fn needs_constant_rate(&self) -> bool {
        self.discipline.is_some_and(|discipline| discipline.at_departure.is_none())
    }

    /// Whether at one instant departures precede arrivals in any case.
    pub fn departures_first(&self) -> bool {
        self.values.optional("departures_first") == Some(true)
    }

    /// See [`Discipline::limits_before`].
    pub fn limits_before(&self) -> bool {
        self.discipline.is_some_and(|discipline| discipline.limits_before)
    }

    /// See [`Discipline::exceeds_limit`].
    pub fn exceeds_limit(&self) -> bool {
        self.discipline.is_some_and(|discipline| discipline.exceeds_limit)
    }

    /// See [`Discipline::keeps_flow_order`].
    pub fn keeps_flow_order(&self) -> bool {
        self.discipline.is_none_or(|discipline| discipline.keeps_flow_order)
    }
}

impl PartialEq for Queue {
    fn eq(&self, other: &Queue) -> bool {
        let name = |queue: &Queue| queue.discipline.map(Discipline::name);
        name(self) == name(other) && self.values == other.values
    }
}

/// What decides results; it is part of the identity of a run.
impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.discipline.map_or("unlimited", Discipline::name), self.values)
    }
}
