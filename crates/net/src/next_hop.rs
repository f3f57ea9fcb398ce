//! The next hops of which routes consist.

use crate::ids::LinkId;
use crate::packet::Packet;
use units::Time;

/// A part of the path of a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum PathSegment {
    /// Over these links in order.
    Links(Vec<LinkId>),
    /// Over the radio channel between two radio nodes.
    Radio {
        /// Number of the radio node where the packet is sent.
        from: u32,
        /// Number of the radio node that receives it.
        to: u32,
    },
    /// Over satellites and the fixed links around them, by routing tables.
    Satellites {
        /// Node where the packet enters.
        from: usize,
        /// Node where it leaves.
        to: usize,
    },
}

/// The next hop of a packet at the end of a link, or at its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextHop {
    /// A link.
    Link(u32),
    /// The packet is at its destination.
    Deliver,
    /// The node looks up the next link in its routing table.
    Lookup,
    /// Radio path of this number, see [`crate::radio::Radio::add_path`].
    Radio(u32),
    /// Entry of this number into the satellite network, see `Tables::add`.
    Satellites(u32),
    /// No packet: the next transmission of this scheduled link can start.
    Service(u32),
    /// No packet: the next turn of this medium.
    Medium(u32),
}

/// A next hop in four bytes: every packet reads one at every hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop(u32);

/// Of a link: its arrivals are computed with the departures from the link before it.
const FUSED: u32 = 1 << 30;
const NUMBER: u32 = FUSED - 1;
const RADIO: u32 = 1 << 31;
const SATELLITES: u32 = 3 << 30;
const SERVICE: u32 = 7 << 29;
const MEDIUM: u32 = 15 << 28;
const DELIVER_AHEAD: u32 = u32::MAX - 2;
const LOOKUP: u32 = u32::MAX - 1;
const DELIVER: u32 = u32::MAX;

impl Hop {
    pub const DELIVER: Hop = Hop(DELIVER);
    /// The destination processes the packet before its time, if it can.
    pub const DELIVER_AHEAD: Hop = Hop(DELIVER_AHEAD);
    pub const LOOKUP: Hop = Hop(LOOKUP);

    pub fn link(number: u32) -> Hop {
        Hop(number)
    }
    pub fn radio(path: u32) -> Hop {
        Hop(RADIO + path)
    }
    pub fn satellites(entry: u32) -> Hop {
        Hop(SATELLITES + entry)
    }

    pub fn service(link: u32) -> Hop {
        Hop(SERVICE + link)
    }
    pub fn medium(number: u32) -> Hop {
        Hop(MEDIUM + number)
    }
    /// The same link, computed with the one before it.
    pub fn fused(self) -> Hop {
        Hop(self.0 | FUSED)
    }
    /// Whether it is a link that is computed with the one before it.
    #[inline]
    pub fn is_fused(self) -> bool {
        self.0 & (RADIO | FUSED) == FUSED
    }

    /// The number of the scheduled link whose next transmission can start; none if it is another hop.
    #[inline]
    pub fn as_service(self) -> Option<u32> {
        (self.0 >= SERVICE && self.0 < MEDIUM).then(|| self.0 - SERVICE)
    }

    /// The number of the link; none if it is another hop.
    #[inline]
    pub fn as_link(self) -> Option<u32> {
        (self.0 < RADIO).then_some(self.0 & NUMBER)
    }
    /// The number of the link; greater than all of them if it is another hop.
    #[inline]
    pub fn index(self) -> usize {
        (self.0 & !FUSED) as usize
    }
    pub fn decode(self) -> NextHop {
        match self.0 {
            DELIVER | DELIVER_AHEAD => NextHop::Deliver,
            LOOKUP => NextHop::Lookup,
            hop if hop >= MEDIUM => NextHop::Medium(hop - MEDIUM),
            hop if hop >= SERVICE => NextHop::Service(hop - SERVICE),
            hop if hop >= SATELLITES => NextHop::Satellites(hop - SATELLITES),
            hop if hop >= RADIO => NextHop::Radio(hop - RADIO),
            link => NextHop::Link(link & NUMBER),
        }
    }
}

/// Where and when a link accepts a packet.
#[derive(Clone, Copy)]
pub(crate) struct LinkEntry {
    pub at: Time,
    /// The index of the link in the routes.
    pub route: u32,
    /// The number of the link.
    pub id: u32,
}

/// Where and when the transmission of a packet over a link starts.
#[derive(Clone, Copy)]
pub(crate) struct TransmissionStart {
    /// The index of the link in the routes.
    pub route: u32,
    /// The number of the link.
    pub id: u32,
    pub start: Time,
}

/// The last link of a packet that will reach its destination.
#[derive(Clone, Copy, Default)]
pub(crate) struct LastHop {
    /// Its index in the route.
    pub route: u32,
    /// Start of the transmission.
    pub began: Time,
}

impl LastHop {
    /// The packet as it arrives over this hop.
    #[inline]
    pub fn applied_to(&self, packet: &Packet) -> Packet {
        Packet { began: self.began, route: self.route, ..*packet }
    }
}

/// The links from which the packets of a link come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upstream {
    /// No route uses the link yet.
    Unknown,
    /// All packets come from this link.
    Link(LinkId),
    /// Packets come from several links, or from a source.
    Several,
}

/// Adds the route entries of a new port over `link`: for each destination the link, then the entry for a lookup.
/// Returns the index of the first.
pub(crate) fn places(routes: &mut Vec<Hop>, rows: u32, link: u32) -> u32 {
    let first = routes.len() as u32;
    for _ in 0..rows {
        routes.extend([Hop::link(link), Hop::LOOKUP]);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_hold_every_next_hop() {
        for (hop, expected) in [
            (Hop::link(0), NextHop::Link(0)),
            (Hop::link(5_000_000), NextHop::Link(5_000_000)),
            (Hop::radio(0), NextHop::Radio(0)),
            (Hop::radio(2_000_000), NextHop::Radio(2_000_000)),
            (Hop::satellites(0), NextHop::Satellites(0)),
            (Hop::satellites(2_000_000), NextHop::Satellites(2_000_000)),
            (Hop::service(0), NextHop::Service(0)),
            (Hop::service(5_000_000), NextHop::Service(5_000_000)),
            (Hop::medium(0), NextHop::Medium(0)),
            (Hop::medium(1_000_000), NextHop::Medium(1_000_000)),
            (Hop::LOOKUP, NextHop::Lookup),
            (Hop::DELIVER_AHEAD, NextHop::Deliver),
            (Hop::DELIVER, NextHop::Deliver),
            (Hop::link(5).fused(), NextHop::Link(5)),
        ] {
            assert_eq!(hop.decode(), expected);
            assert_eq!(hop.as_link().is_some(), matches!(expected, NextHop::Link(_)));
        }
    }
}
