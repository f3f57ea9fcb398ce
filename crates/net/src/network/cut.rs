//! Networks of which several threads advance a part each.
//!
//! Each part has a copy of the whole network and uses those links in it that begin in the part. A packet that leaves the last
//! link of one part for another is [`super::Arrival::Ahead`], as for a receiver before its time; the caller moves it.

use super::Network;
use crate::ids::LinkId;
use crate::impairment::{Impair, Impairment};
use crate::next_hop::{Hop, LinkEntry};
use crate::packet::Packet;
use crate::tap::Tap;
use engine::{EventQueue, Tie};
use units::{Span, Time};

/// The links over which packets leave a part of a network, and the hops behind them.
#[derive(Debug)]
pub struct Cut {
    /// Places in the routes, and the hops that were there.
    hops: Vec<(u32, Hop)>,
}

impl Cut {
    /// Cuts the network behind the links for which `leaves` is true. Call it after [`Network::complete_routes`].
    pub fn new(network: &mut Network, leaves: impl Fn(LinkId) -> bool) -> Cut {
        let routes = &mut network.routes;
        let ends_here = |place: &usize| routes[place - 1].as_link().is_some_and(|link| leaves(LinkId(link)));
        let places: Vec<usize> = (1..routes.len()).filter(ends_here).collect();
        let replace = |place| (place as u32, std::mem::replace(&mut routes[place], Hop::DELIVER_AHEAD));
        Cut { hops: places.into_iter().map(replace).collect() }
    }

    /// Joins the network again.
    pub fn join(self, network: &mut Network) {
        for (place, hop) in self.hops {
            network.routes[place as usize] = hop;
        }
    }
}

/// Whether a network has so many links that two of them can have one number in the order of arrivals ([`Tie::scheduled`]), in which
/// parts could then disagree.
pub fn has_too_many_links(network: &Network) -> bool {
    network.links.states.len() >= Tie::SOURCES
}

/// Whether a network can be cut: each of its routes is a list of links, which are not served in turns and count for the whole
/// run, and no sender sees the queue of its host.
pub fn can_be_cut(network: &Network) -> bool {
    network.tables.is_none()
        && network.radio.is_none()
        && network.media.is_empty()
        && network.links.sojourns.is_none()
        && network.links.beyond.is_empty()
        && network.links.local.is_empty()
        && !network.links.ingress.iter().any(|ingress| ingress.impairments.iter().any(Impair::serves_changes))
}

/// The least time from the event in which a packet enters `link` to its arrival at the far end; none if the network cannot be
/// cut there, because packets arrive at once or in another order.
pub fn lookahead(network: &Network, link: LinkId) -> Option<Span> {
    let state = network.links.states[link.0 as usize];
    let ingress = network.links.ingress.get(state.ingress as usize);
    let displaces = ingress.is_some_and(|ingress| ingress.impairments.iter().any(Impairment::displaces));
    (state.delay > Span::ZERO && !displaces).then_some(state.delay)
}

/// The links of the route that begins at `route`.
pub fn route_links(network: &Network, route: u32) -> impl Iterator<Item = LinkId> {
    network.routes[route as usize..].iter().map_while(|hop| hop.as_link().map(LinkId))
}

/// The link over which the last packet that was [`super::Arrival::Ahead`] arrives.
#[inline]
pub fn last_link(network: &Network) -> Option<LinkId> {
    network.routes[network.early.last_hop.route as usize].as_link().map(LinkId)
}

/// The last packet that was [`super::Arrival::Ahead`] as it arrives.
#[inline]
pub fn as_it_arrives(network: &Network, packet: &Packet) -> Packet {
    network.early.last_hop.applied_to(packet)
}

/// Schedules the arrival at `at` of a packet that has left another part over `link`; computes its passage over fused links at
/// once, as that part would have done.
pub fn arrives_from<T: Tap>(
    network: &mut Network,
    event_queue: &mut EventQueue<Packet>,
    tap: &mut T,
    link: LinkId,
    at: Time,
    packet: &Packet,
) {
    let next = packet.route + 1;
    let hop = network.routes[next as usize];
    if hop.is_fused() && at <= network.links.horizon {
        let entry = LinkEntry { at, route: next, id: hop.index() as u32 };
        let arrival = network.pass(event_queue, tap, entry, packet);
        return network.early.keep(arrival, packet);
    }
    network.links.note_repetition(link.0, at);
    let hint = &mut network.links.states[link.0 as usize].hint;
    event_queue.push(at, Tie::scheduled(at, packet.began, link.0 + 1), packet, hint, |_| {});
}

/// Exchanges the state of a link between two copies of a network.
pub fn exchange_link(network: &mut Network, other: &mut Network, link: LinkId) {
    let number = link.0 as usize;
    std::mem::swap(&mut network.links.states[number], &mut other.links.states[number]);
    let ingress = network.links.states[number].ingress as usize;
    if let (Some(state), Some(other_state)) =
        (network.links.ingress.get_mut(ingress), other.links.ingress.get_mut(ingress))
    {
        std::mem::swap(state, other_state);
    }
    let [first, second] = [&mut *network, &mut *other].map(|each| each.links.unsent.remove(&link.0));
    network.links.unsent.extend(second.map(|unsent| (link.0, unsent)));
    other.links.unsent.extend(first.map(|unsent| (link.0, unsent)));
}

/// Packets that the links have accepted so far: the packet-hops of the network.
pub fn packet_hops(network: &Network) -> u64 {
    network.links.states.iter().map(|link| link.accepted).sum()
}

/// The number of packets on each link, apart from those that wait in its queue.
pub fn in_flight(network: &Network, event_queue: &EventQueue<Packet>) -> Vec<u64> {
    let mut counts = vec![0u64; network.links.states.len()];
    let events = event_queue.in_flight().map(|(_, packet)| packet);
    for packet in events.chain(network.early.held.iter().map(|(_, packet)| packet)) {
        // A packet that was just received by radio is on no link.
        if let Some(count) = counts.get_mut(network.routes[packet.route as usize].index()) {
            *count += 1;
        }
    }
    counts
}

/// Adds packets on the links that [`Network::account`] is to count, as other parts have them.
pub fn set_elsewhere(network: &mut Network, in_flight: Vec<u64>) {
    network.elsewhere = in_flight;
}
