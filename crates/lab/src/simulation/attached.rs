//! Flows whose ends are outside the simulation: their datagrams enter and leave the network while it runs, for example in
//! real time between two network namespaces or UDP sockets.

use net::Ecn;
use transport::ReceiverStats;
use units::Time;

/// The flows of a run whose ends are outside the simulation. They keep their name and their path; what their tables say
/// about their traffic is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachmentOptions {
    /// Only the first flow of the scenario; otherwise all flows.
    pub first_only: bool,
    /// Bytes that a datagram has on the wire besides those handed to [`crate::Run::inject`]: 0 for IP packets, 28 for UDP
    /// payload.
    pub header: u32,
}

/// One of the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// The node `from`.
    Source,
    /// The node `to`.
    Destination,
}

/// A datagram that has reached an end of an attached flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveredDatagram {
    /// Number of the flow, as in [`crate::Shape`].
    pub flow: u32,
    /// The end that it has reached.
    pub end: FlowEnd,
    /// What was given to [`crate::Run::inject`].
    pub bytes: Vec<u8>,
    /// Its ECN field.
    pub ecn: Ecn,
    /// When it was sent.
    pub sent: Time,
    /// When it has arrived.
    pub at: Time,
}

/// A flow with ends outside.
#[derive(Clone)]
pub(super) struct AttachedFlow {
    pub flow: u32,
    /// Routes from the source and from the destination.
    pub routes: [u32; 2],
    pub header: u32,
    /// Datagrams sent by the source and by the destination.
    pub sent: [u32; 2],
    /// Datagrams that have reached the destination.
    pub stats: ReceiverStats,
}
