//! Flows whose ends are outside the simulation: their datagrams enter and leave the network while it runs, from a stack in
//! virtual time, or in real time between two network namespaces or UDP sockets.

use super::account::{ArrivalAccount, PortAccount};
use crate::scenario::Ends;
use net::{DropReason, Ecn, SojournTimes};
use std::fmt;
use transport::ReceiverStats;
use units::{Span, Time};

/// One of the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowEnd {
    /// The node `from`.
    Source,
    /// The node `to`.
    Destination,
}

impl FlowEnd {
    /// The other end.
    pub const fn other(self) -> FlowEnd {
        match self {
            FlowEnd::Source => FlowEnd::Destination,
            FlowEnd::Destination => FlowEnd::Source,
        }
    }
}

/// A datagram that has reached an end of an attached flow. The bytes are valid until the next call of the run.
#[derive(Clone, Copy, Debug)]
pub struct DeliveredDatagram<'a> {
    /// Number of the flow, as in [`crate::Shape`].
    pub flow: u32,
    /// The end that it has reached.
    pub end: FlowEnd,
    /// What was given to [`crate::Run::inject`].
    pub bytes: &'a [u8],
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its number among those that the other end has sent, from 0. A copy that a link made has the number of the original.
    pub number: u64,
    /// When it was sent.
    pub sent: Time,
    /// When it has arrived.
    pub at: Time,
}

/// Why a datagram cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectError {
    /// The ends of the flow are not outside the simulation.
    NotAttached,
    /// The run has ended.
    Ended,
    /// More bytes than an IP packet can have: the largest number.
    TooLong(usize),
}

impl fmt::Display for InjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InjectError::NotAttached => {
                f.write_str("the ends of this flow are inside the simulation; attach it first")
            }
            InjectError::Ended => f.write_str("the run has ended; send before its end"),
            InjectError::TooLong(most) => write!(f, "a datagram has at most {most} bytes here"),
        }
    }
}

impl std::error::Error for InjectError {}

/// What the scenario says of the application of an attached flow. The network enforces nothing of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// When it starts.
    pub start: Time,
    /// When it stops offering data.
    pub stop: Option<Time>,
    /// How much it has to send; `None` for a flow without end.
    pub bytes: Option<u64>,
    /// When it writes, and how many bytes; empty: all data is there at the start.
    pub writes: Vec<(Time, u64)>,
}

/// A datagram with fewer bytes carries no data of a bulk transfer.
pub const SMALL: usize = 100;

/// Most bytes of an IP packet.
pub(super) const MOST_BYTES: usize = 65_535;

/// A datagram that waits to be received by its end.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub flow: u32,
    pub end: FlowEnd,
    /// The place of its bytes in the pool.
    pub slot: u32,
    pub ecn: Ecn,
    pub number: u64,
    pub sent: Time,
    pub at: Time,
}

/// A flow with ends outside.
#[derive(Clone)]
pub(super) struct AttachedFlow {
    pub flow: u32,
    /// Routes from the source and from the destination.
    pub routes: [u32; 2],
    pub ends: Ends,
    pub application: Application,
    /// What the source and the destination have sent, and what became of it.
    pub ports: [AttachedPort; 2],
}

/// The datagrams that one end has sent.
#[derive(Clone)]
pub(super) struct AttachedPort {
    pub sent: u64,
    pub sent_bytes: u64,
    pub accepted: u64,
    pub too_long: u64,
    /// Bytes of the largest datagram that was not too long.
    pub largest: u32,
    /// Datagrams of less than [`SMALL`] bytes, and their bytes.
    pub small: [u64; 2],
    pub marked: u64,
    pub dropped: [u64; DropReason::ALL.len()],
    /// Those that have reached the other end.
    pub stats: ReceiverStats,
    pub delays: SojournTimes,
    /// The delay of a datagram of the largest size on an empty path; `None` if the path changes.
    pub base_delay: Option<Span>,
}

impl AttachedPort {
    pub fn new(stats: ReceiverStats, base_delay: Option<Span>) -> AttachedPort {
        AttachedPort {
            sent: 0,
            sent_bytes: 0,
            accepted: 0,
            too_long: 0,
            largest: 0,
            small: [0; 2],
            marked: 0,
            dropped: [0; DropReason::ALL.len()],
            stats,
            delays: SojournTimes::default(),
            base_delay,
        }
    }

    pub fn account(&self, header: u32) -> PortAccount {
        PortAccount {
            sent: self.sent,
            sent_bytes: self.sent_bytes,
            accepted: self.accepted,
            too_long: self.too_long,
            marked: self.marked,
            dropped: self.dropped,
            received: self.stats.distinct_packets(),
            received_bytes: self.stats.distinct_bytes() - self.stats.distinct_packets() * header as u64,
            duplicates: self.stats.duplicates,
            arrivals: ArrivalAccount::of(&self.stats),
            delays: self.delays.clone(),
        }
    }
}

/// What is not counted, but known, of the datagrams that an end sends.
#[derive(Clone, Copy, Debug)]
pub struct PortFacts {
    /// The delay of a datagram of the largest size on an empty path; `None` if the path changes.
    pub base_delay: Option<Span>,
    /// Bytes of the largest datagram so far that was not above the MTU.
    pub largest: u32,
    /// Datagrams of less than 100 bytes so far, and their bytes: acknowledgements alone.
    pub small: [u64; 2],
}
