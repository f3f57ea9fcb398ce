//! Radio nodes in a world: which part of a flow's way goes over links and which by radio.

use crate::ScenarioError;
use crate::error::Origin;
use net::{NodeId, Route, Topology};

/// A way from node to node: links, then the air between two radio nodes, then links.
#[derive(Clone, Debug, Default)]
pub(super) struct Journey {
    pub before: Route,
    pub air: Option<[u32; 2]>,
    pub after: Route,
}

impl Journey {
    /// Over links alone.
    pub fn wired(route: Route) -> Journey {
        Journey { before: route, ..Journey::default() }
    }
    /// All its links.
    pub fn links(&self) -> impl Iterator<Item = &net::LinkId> {
        self.before.iter().chain(&self.after)
    }
}

/// The ways between pairs of nodes. A wired node reaches the air at the gateway that is the fewest links away; between
/// radio nodes everything goes by radio.
pub(super) fn journeys(
    topology: &Topology,
    radios: usize,
    pairs: &[(NodeId, NodeId)],
) -> Result<Vec<Journey>, ScenarioError> {
    let is_radio = |node: NodeId| (node.0 as usize) < radios;
    let links = (0..topology.links() as u32).map(|link| topology.ends(net::LinkId(link)));
    let mut gateways: Vec<NodeId> = links.flat_map(|(a, b)| [a, b]).filter(|n| is_radio(*n)).collect();
    gateways.sort_unstable();
    gateways.dedup();
    let wire = |from: NodeId, to: NodeId| topology.routes(&[(from, to)]).ok().and_then(|mut r| r.pop());
    // To or from the nearest gateway.
    let nearest = |wired: NodeId, leaving: bool| {
        let ways = gateways.iter().filter_map(|gateway| {
            let route = if leaving { wire(wired, *gateway) } else { wire(*gateway, wired) };
            route.map(|route| (*gateway, route))
        });
        ways.min_by_key(|(_, route)| route.len())
    };
    let journey = |&(from, to): &(NodeId, NodeId)| -> Option<Journey> {
        if is_radio(from) && is_radio(to) {
            return Some(Journey { air: Some([from.0, to.0]), ..Journey::default() });
        }
        // Wires all the way, unless a radio node in the middle would have to pass packets on by wire to another.
        if let Some(route) = wire(from, to) {
            return Some(Journey::wired(route));
        }
        if is_radio(to) {
            let (gateway, before) = nearest(from, true)?;
            return Some(Journey { before, air: Some([gateway.0, to.0]), after: Route::new() });
        }
        if is_radio(from) {
            let (gateway, after) = nearest(to, false)?;
            return Some(Journey { before: Route::new(), air: Some([from.0, gateway.0]), after });
        }
        let ((first, before), (second, after)) = (nearest(from, true)?, nearest(to, false)?);
        Some(Journey { before, air: Some([first.0, second.0]), after })
    };
    let found = pairs.iter().map(|pair| {
        journey(pair).ok_or_else(|| {
            let (from, to) = (topology.node_name(pair.0), topology.node_name(pair.1));
            let origin = Origin::Line { file: "scenario".into(), line: 1 };
            ScenarioError::new(&origin, "link", format!("no path from \"{from}\" to \"{to}\""))
        })
    });
    found.collect()
}
