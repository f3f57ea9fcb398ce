//! The description of a queue discipline.

use super::Qdisc;
use super::scheduled::Scheduler;
use engine::Stream;
use params::{Form, Key, Mistake, Model, Unit, Values, key};
use units::{Rate, Span};

/// A queue discipline: its keys, and how a queue is built from their values.
#[derive(Debug)]
pub struct Discipline {
    /// Its keys; one is `limit`.
    pub model: Model,
    /// Its name in diagrams.
    pub title: &'static str,
    /// Builds the queue of a link with a constant rate, whose departures are known at the arrivals; none if the discipline
    /// decides at departures.
    pub at_arrival: Option<fn(&Values, &LinkInfo<'_>) -> Qdisc>,
    /// Builds the queue of a link that is asked at each departure; none if the discipline decides at arrivals only.
    pub at_departure: Option<fn(&Values, &LinkInfo<'_>) -> Scheduler>,
    /// Checks values that depend on each other, and sets those that follow from others.
    pub check: fn(&mut Values) -> Result<(), Mistake>,
    /// The key with the bytes of a packet that a limit in bandwidth-delay products counts; none: it counts bytes.
    pub packet_key: Option<&'static str>,
    /// The limit applies to the queue before the arrival of a packet, without that packet.
    pub limits_before: bool,
    /// It accepts a packet above the limit before it drops others.
    pub exceeds_limit: bool,
    /// It marks ECN-capable packets; a discipline with the key `ecn` marks them if the key is true.
    pub marks: bool,
    /// Packets of a flow leave in the order of their arrival.
    pub keeps_flow_order: bool,
    /// The name of its stream of random numbers.
    pub stream: &'static str,
}

impl Discipline {
    /// What most disciplines have in common.
    pub const PLAIN: Discipline = Discipline {
        model: params::model!("queue", "", "", "", []),
        title: "",
        at_arrival: None,
        at_departure: None,
        check: |_| Ok(()),
        packet_key: None,
        limits_before: false,
        exceeds_limit: false,
        marks: false,
        keeps_flow_order: true,
        stream: "aqm",
    };

    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        self.model.table.name
    }
}

/// The key `limit` with a default.
pub(super) const fn limit(default: &'static str) -> Key {
    key(
        "limit",
        Form::Quantity(Unit::Limit, "50p"),
        default,
        "packets, bytes or bandwidth-delay products that may wait, without the packet in transmission",
    )
}

/// The key `ecn` with a default.
pub(super) const fn ecn(default: &'static str) -> Key {
    key("ecn", Form::Switch, default, "ECN-capable packets are marked instead of dropped")
}

/// What a queue is built for: a link.
pub struct LinkInfo<'a> {
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Span,
    /// Packets that may wait.
    pub packets: u64,
    /// Bytes that may wait.
    pub bytes: u64,
    /// The stream of random numbers of the queue.
    pub stream: &'a dyn Fn() -> Stream,
}
