//! The ECN field of a datagram.

use quinn_proto::EcnCodepoint;

/// The ECN field of an IP packet (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport is not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable.
    Ect0,
    /// ECN-capable; the identifier of L4S (RFC 9331).
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// The codepoint that the stack processes. The stack uses ECT(0) only and stops ECN if the other end counts ECT(1), so
    /// an L4S connection has ECT(1) on the wire and ECT(0) in the stack and in its ACK frames.
    pub(crate) fn codepoint(self, l4s: bool) -> Option<EcnCodepoint> {
        match self {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 if l4s => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        }
    }
}
