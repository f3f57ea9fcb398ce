//! The numbers of nodes and links, the paths of flows, and the routers that those paths need.

use super::document::TomlItem;
use super::model::{Duplex, Flow, FlowKind, RadioNetwork};
use crate::error::{Origin, ScenarioError};
use net::{LinkId, NodeId, Route, RouterConfig, Topology};
use std::collections::BTreeMap;

/// Numbers the radio nodes, then the other nodes in the order in which links name them, and adds the links between
/// them.
pub(crate) fn lay_out<'a>(
    links: &'a [Duplex],
    radio_names: &'a [String],
) -> (Topology, BTreeMap<&'a str, NodeId>) {
    let mut topology = Topology::default();
    let mut nodes: BTreeMap<&str, NodeId> = BTreeMap::new();
    for name in radio_names {
        nodes.insert(name, topology.add_node(name));
    }
    for link in links {
        let ends =
            link.ends.each_ref().map(|name| *nodes.entry(name).or_insert_with(|| topology.add_node(name)));
        topology.add_link(ends[0], ends[1], link.directions[0].delay);
        topology.add_link(ends[1], ends[0], link.directions[1].delay);
    }
    (topology, nodes)
}

/// The names of `nodes` radio nodes.
pub(crate) fn radio_names(radio: Option<&RadioNetwork>) -> Vec<String> {
    (0..radio.map_or(0, |radio| radio.nodes)).map(RadioNetwork::name).collect()
}

/// A path from node to node: links, then the radio channel between two radio nodes, then links.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowPath {
    pub before: Route,
    pub radio: Option<[u32; 2]>,
    pub after: Route,
}

impl FlowPath {
    /// A path over links only.
    pub fn wired(route: Route) -> FlowPath {
        FlowPath { before: route, ..FlowPath::default() }
    }
    /// All its links.
    pub fn links(&self) -> impl Iterator<Item = &LinkId> {
        self.before.iter().chain(&self.after)
    }
}

/// The path between each pair of nodes; `None` if a pair has none. The first `radios` nodes are radio nodes. A wired
/// node reaches the radio channel through the gateway with the fewest links; between radio nodes packets use the
/// radio channel.
pub(crate) fn flow_paths(
    topology: &Topology,
    radios: usize,
    pairs: &[(NodeId, NodeId)],
) -> Option<Vec<FlowPath>> {
    if radios == 0 {
        return Some(topology.routes(pairs).ok()?.into_iter().map(FlowPath::wired).collect());
    }
    let is_radio = |node: NodeId| (node.0 as usize) < radios;
    let links = (0..topology.links() as u32).map(|link| topology.ends(LinkId(link)));
    let mut gateways: Vec<NodeId> = links.flat_map(|(a, b)| [a, b]).filter(|n| is_radio(*n)).collect();
    gateways.sort_unstable();
    gateways.dedup();
    let links_between =
        |from: NodeId, to: NodeId| topology.routes(&[(from, to)]).ok().and_then(|mut r| r.pop());
    // Path to or from the nearest gateway.
    let nearest = |wired: NodeId, leaving: bool| {
        let routes = gateways.iter().filter_map(|gateway| {
            let route = if leaving { links_between(wired, *gateway) } else { links_between(*gateway, wired) };
            route.map(|route| (*gateway, route))
        });
        routes.min_by_key(|(_, route)| route.len())
    };
    let path = |&(from, to): &(NodeId, NodeId)| -> Option<FlowPath> {
        if is_radio(from) && is_radio(to) {
            return Some(FlowPath { radio: Some([from.0, to.0]), ..FlowPath::default() });
        }
        // A path over links only, unless a radio node on it would have to forward packets from link to link.
        if let Some(route) = links_between(from, to) {
            return Some(FlowPath::wired(route));
        }
        if is_radio(to) {
            let (gateway, before) = nearest(from, true)?;
            return Some(FlowPath { before, radio: Some([gateway.0, to.0]), after: Route::new() });
        }
        if is_radio(from) {
            let (gateway, after) = nearest(to, false)?;
            return Some(FlowPath { before: Route::new(), radio: Some([from.0, gateway.0]), after });
        }
        let ((first, before), (second, after)) = (nearest(from, true)?, nearest(to, false)?);
        Some(FlowPath { before, radio: Some([first.0, second.0]), after })
    };
    pairs.iter().map(path).collect()
}

/// The routers of a network, for the checks of controllers that need them.
pub(crate) struct Routers<'a> {
    links: &'a [Duplex],
    radio_names: Vec<String>,
    /// Whether links move, so that paths change during the run and any router can be on a path.
    satellites: bool,
}

impl<'a> Routers<'a> {
    pub fn new(links: &'a [Duplex], radio: Option<&RadioNetwork>, satellites: bool) -> Routers<'a> {
        Routers { links, radio_names: radio_names(radio), satellites }
    }

    /// The first TCP flow whose controller needs routers that the path of its data does not have, with a message.
    pub fn missing<'f>(&self, flows: impl IntoIterator<Item = &'f Flow>) -> Option<(&'f Flow, String)> {
        let directions: Vec<_> = self.links.iter().flat_map(|link| &link.directions).collect();
        let mut layout = None;
        flows.into_iter().find_map(|flow| {
            let FlowKind::Tcp(tcp) = &flow.kind else { return None };
            tcp.missing_router(std::iter::empty)?;
            let on_path: Vec<&RouterConfig> = if self.satellites {
                directions.iter().filter_map(|direction| direction.router.as_ref()).collect()
            } else {
                let (topology, nodes) = layout.get_or_insert_with(|| lay_out(self.links, &self.radio_names));
                let pair = (nodes[flow.from.as_str()], nodes[flow.to.as_str()]);
                let paths = flow_paths(topology, self.radio_names.len(), &[pair])?;
                let links = paths[0].links();
                links.filter_map(|link| directions[link.0 as usize].router.as_ref()).collect()
            };
            let lacks = tcp.missing_router(|| on_path.iter().copied())?;
            Some((flow, format!("{} needs routers {lacks}", tcp.control.name())))
        })
    }

    /// Fails if a controller needs routers that its path does not have. Flows after those of `flow_items` are
    /// generated, with the options of `defaults`, the table `[tcp]`.
    pub fn check(
        &self,
        flow_items: &[TomlItem],
        defaults: Option<&TomlItem>,
        flows: &[Flow],
    ) -> Result<(), ScenarioError> {
        let Some((flow, message)) = self.missing(flows) else { return Ok(()) };
        let number = flows.iter().position(|other| std::ptr::eq(other, flow));
        let own = number.and_then(|n| flow_items.get(n));
        let key = own.map_or("tcp.congestion_control".into(), |_| {
            format!("flow.{}.tcp.congestion_control", flow.name)
        });
        let origin = own.or(defaults).map(|item| item.origin.clone());
        Err(ScenarioError::new(&origin.unwrap_or_else(|| Origin::Set(key.as_str().into())), &key, message)
            .unmet())
    }
}
