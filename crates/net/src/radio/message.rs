//! The messages of routing protocols.

use units::{Span, Time};

/// A message of a routing protocol.
#[derive(Clone, Debug)]
pub(crate) enum RoutingMessage {
    /// Route request of AODV.
    Request(Request),
    /// Route reply of AODV, or a hello.
    Reply(Reply),
    /// Route error of AODV: unreachable destinations with their sequence numbers.
    Error(Vec<(u32, u32)>),
}

/// A route request of AODV (RFC 3561 section 5.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// The originator, the number of its request, its sequence number.
    pub source: u32,
    pub id: u32,
    pub source_seq: u32,
    /// The destination, and its last known sequence number.
    pub target: u32,
    pub target_seq: Option<u32>,
    /// Hops from the originator to the receiver of this message.
    pub hops: u16,
    /// When the request was originated.
    pub asked: Time,
}

/// A route reply of AODV (RFC 3561 section 5.2), or a hello.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    /// The originator of the request.
    pub source: u32,
    /// The destination, its sequence number, and hops to it from the receiver of this message.
    pub target: u32,
    pub target_seq: u32,
    pub hops: u16,
    /// Lifetime of the route.
    pub lifetime: Span,
    /// When the request was originated.
    pub asked: Time,
    pub hello: bool,
}
