//! The numbers of nodes and links, the paths of flows, and the routers that those paths need.

use super::document::TomlItem;
use super::key::key_text;
use super::model::{Duplex, Flow, FlowKind, RadioNetwork};
use super::reading::Reading;
use crate::error::{Origin, ScenarioError};
use net::{LinkId, NodeId, PathSegment, Route, RouterConfig, Topology};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;
use std::ops::Range;

/// Numbers the radio nodes, then the other nodes in the order in which links name them, and adds the links between
/// them.
pub(crate) fn lay_out<'a>(links: &'a [Duplex], radio_names: &'a [String]) -> (Topology, NodeNumbers<'a>) {
    let mut topology = Topology::default();
    let mut nodes = NodeNumbers::default();
    for name in radio_names {
        nodes.add(name, &mut topology);
    }
    for link in links {
        let ends = link.ends.each_ref().map(|name| nodes.get_or_add(name, &mut topology));
        topology.add_link(ends[0], ends[1], link.directions[0].delay);
        topology.add_link(ends[1], ends[0], link.directions[1].delay);
    }
    (topology, nodes)
}

/// The numbers of nodes by name. The first eight bytes of a name are compared as a number first.
#[derive(Debug, Default)]
pub(crate) struct NodeNumbers<'a>(BTreeMap<(u64, &'a str), NodeId>);

impl<'a> NodeNumbers<'a> {
    fn key(name: &str) -> (u64, &str) {
        let start = name.bytes().take(8).fold(0, |number, byte| number << 8 | byte as u64);
        (start, name)
    }

    /// Adds a node to the topology. A later node of the same name replaces an earlier one.
    pub fn add(&mut self, name: &'a str, topology: &mut Topology) {
        self.0.insert(Self::key(name), topology.add_node(name));
    }

    /// The number of a node, which is added to the topology if it is not known.
    pub fn get_or_add(&mut self, name: &'a str, topology: &mut Topology) -> NodeId {
        *self.0.entry(Self::key(name)).or_insert_with(|| topology.add_node(name))
    }

    /// The number of a node that is known.
    pub fn of(&self, name: &str) -> NodeId {
        self.0[&Self::key(name)]
    }
}

/// The names of `nodes` radio nodes.
pub(crate) fn radio_names(radio: Option<&RadioNetwork>) -> Vec<String> {
    (0..radio.map_or(0, |radio| radio.nodes)).map(RadioNetwork::name).collect()
}

/// A path from node to node.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowPath {
    pub segments: SmallVec<[PathSegment; 1]>,
}

impl FlowPath {
    /// The links that are known before the run: all of them unless the path uses satellites.
    pub fn links(&self) -> impl Iterator<Item = &LinkId> {
        self.segments.iter().flat_map(|segment| match segment {
            PathSegment::Links(links) => &links[..],
            _ => &[],
        })
    }
    /// Whether it goes over links only.
    pub fn is_wired(&self) -> bool {
        self.segments.iter().all(|segment| matches!(segment, PathSegment::Links(_)))
    }
    /// Whether a part of it goes over the radio channel.
    pub fn has_radio(&self) -> bool {
        self.segments.iter().any(|segment| matches!(segment, PathSegment::Radio { .. }))
    }
    /// The nodes where it enters and leaves the satellite network, if it uses satellites.
    pub fn satellite_ends(&self) -> Option<[usize; 2]> {
        self.segments.iter().find_map(|segment| match *segment {
            PathSegment::Satellites { from, to } => Some([from, to]),
            _ => None,
        })
    }
}

/// The nodes between which paths are wanted, with the kinds of nodes.
pub(crate) struct PathNodes<'a> {
    pub topology: &'a Topology,
    /// The radio nodes, in the order of their numbers in the radio network.
    pub radio: Range<u32>,
    /// The terminals of satellites.
    pub terminals: Range<u32>,
    /// With ECMP the seed of its hash.
    pub ecmp: Option<u64>,
}

impl PathNodes<'_> {
    /// The path between each pair of nodes; `None` if a pair has none. A wired node reaches the radio channel through the
    /// gateway with the fewest links, or, behind satellites, through that with the fewest links to a terminal. Between
    /// radio nodes packets use the radio channel.
    pub fn paths(&self, pairs: &[(NodeId, NodeId)]) -> Option<Vec<FlowPath>> {
        if self.radio.is_empty() && self.terminals.is_empty() {
            let routes = match self.ecmp {
                Some(seed) => self.topology.ecmp_routes(pairs, seed),
                None => self.topology.routes(pairs),
            };
            let routes = routes.ok()?.into_iter();
            return Some(
                routes.map(|route| FlowPath { segments: smallvec![PathSegment::Links(route)] }).collect(),
            );
        }
        if self.radio.is_empty() {
            let over =
                |&(from, to): &(NodeId, NodeId)| FlowPath { segments: smallvec![over_satellites(from, to)] };
            return Some(pairs.iter().map(over).collect());
        }
        let gateways = self.gateways();
        let mut by_ends: BTreeMap<(NodeId, NodeId), FlowPath> = BTreeMap::new();
        let path = |pair: &(NodeId, NodeId)| {
            if let Some(path) = by_ends.get(pair) {
                return Some(path.clone());
            }
            let path = FlowPath { segments: self.path(&gateways, pair.0, pair.1)?.into() };
            by_ends.insert(*pair, path.clone());
            Some(path)
        };
        pairs.iter().map(path).collect()
    }

    /// The radio nodes with links.
    fn gateways(&self) -> Vec<NodeId> {
        let links = self.topology.link_ids().map(|link| self.topology.ends(link));
        let mut gateways: Vec<NodeId> =
            links.flat_map(|(a, b)| [a, b]).filter(|n| self.is_radio(*n)).collect();
        gateways.sort_unstable();
        gateways.dedup();
        gateways
    }

    fn is_radio(&self, node: NodeId) -> bool {
        self.radio.contains(&node.0)
    }

    fn over_radio(&self, from: NodeId, to: NodeId) -> PathSegment {
        PathSegment::Radio { from: from.0 - self.radio.start, to: to.0 - self.radio.start }
    }

    fn links_between(&self, from: NodeId, to: NodeId) -> Option<Route> {
        self.topology.routes(&[(from, to)]).ok()?.pop()
    }

    /// Links from `node` to the nearest terminal.
    fn links_to_terminal(&self, node: NodeId) -> Option<usize> {
        let terminals = self.terminals.clone().map(NodeId);
        terminals.filter_map(|terminal| Some(self.links_between(node, terminal)?.len())).min()
    }

    /// A path without radio, and its number of links on the ground. With satellites the routing tables serve fixed
    /// links too.
    fn without_radio(&self, from: NodeId, to: NodeId) -> Option<(PathSegment, usize)> {
        let route = self.links_between(from, to);
        if self.terminals.is_empty() {
            let route = route?;
            let links = route.len();
            return Some((PathSegment::Links(route), links));
        }
        let links = match route {
            Some(route) => route.len(),
            None => self.links_to_terminal(from)? + self.links_to_terminal(to)?,
        };
        Some((over_satellites(from, to), links))
    }

    /// The path between a node and the nearest gateway, in the direction that `path` gives.
    fn nearest(
        &self,
        gateways: &[NodeId],
        path: impl Fn(NodeId) -> Option<(PathSegment, usize)>,
    ) -> Option<(NodeId, PathSegment)> {
        let reachable = gateways.iter().filter_map(|gateway| Some((*gateway, path(*gateway)?)));
        let (gateway, (segment, _)) = reachable.min_by_key(|(_, (_, links))| *links)?;
        Some((gateway, segment))
    }

    fn path(&self, gateways: &[NodeId], from: NodeId, to: NodeId) -> Option<Vec<PathSegment>> {
        if self.is_radio(from) && self.is_radio(to) {
            return Some(vec![self.over_radio(from, to)]);
        }
        // A path over links only, unless a radio node on it would have to forward packets from link to link.
        if let Some((segment, _)) = self.without_radio(from, to) {
            return Some(vec![segment]);
        }
        let mut segments = Vec::new();
        let mut first = from;
        if !self.is_radio(from) {
            let (gateway, segment) = self.nearest(gateways, |gateway| self.without_radio(from, gateway))?;
            segments.push(segment);
            first = gateway;
        }
        if self.is_radio(to) {
            segments.push(self.over_radio(first, to));
            return Some(segments);
        }
        let (second, segment) = self.nearest(gateways, |gateway| self.without_radio(gateway, to))?;
        segments.extend([self.over_radio(first, second), segment]);
        Some(segments)
    }
}

fn over_satellites(from: NodeId, to: NodeId) -> PathSegment {
    PathSegment::Satellites { from: from.0 as usize, to: to.0 as usize }
}

/// The routers of a network, for the checks of controllers that need them.
pub(crate) struct Routers<'a> {
    links: &'a [Duplex],
    radio_names: Vec<String>,
    /// Whether links move, so that paths change during the run and any router can be on a path.
    satellites: bool,
}

/// Gives advice on the TCP option `key` of a flow with its number.
fn advise_flow(
    reading: &Reading,
    flow_items: &[TomlItem],
    (number, flow): (usize, &Flow),
    key: &str,
    message: &str,
) {
    let key = key_text(["flow", &flow.name, "tcp", key]);
    let origin = flow_items.get(number).map(|item| item.origin.clone());
    let origin = origin.unwrap_or_else(|| Origin::command_line(&key));
    reading.advise(&ScenarioError::new(&origin, &key, message));
}

impl<'a> Routers<'a> {
    pub fn new(links: &'a [Duplex], radio: Option<&RadioNetwork>, satellites: bool) -> Routers<'a> {
        Routers { links, radio_names: radio_names(radio), satellites }
    }

    /// The first TCP flow whose controller needs routers that the path of its data does not have, with a message.
    pub fn missing<'f>(&self, flows: impl IntoIterator<Item = &'f Flow>) -> Option<(&'f Flow, String)> {
        let needs = |flow: &'f Flow| match &flow.kind {
            FlowKind::Tcp(tcp) => tcp.missing_router(std::iter::empty).map(|_| (flow, tcp)),
            FlowKind::Quic(_) | FlowKind::Udp { .. } | FlowKind::Attached(_) => None,
        };
        let needy: Vec<_> = flows.into_iter().filter_map(needs).collect();
        if needy.is_empty() {
            return None;
        }
        let directions: Vec<_> = self.links.iter().flat_map(|link| &link.directions).collect();
        let router = |link: &LinkId| directions[link.0 as usize].router.as_ref();
        let routers_on_path: Vec<Vec<&RouterConfig>> = if self.satellites {
            let all: Vec<_> = directions.iter().filter_map(|direction| direction.router.as_ref()).collect();
            vec![all; needy.len()]
        } else {
            let (topology, nodes) = lay_out(self.links, &self.radio_names);
            let node = |name: &String| nodes.of(name);
            let pairs: Vec<_> = needy.iter().map(|(flow, _)| (node(&flow.from), node(&flow.to))).collect();
            let radio = 0..self.radio_names.len() as u32;
            let paths =
                PathNodes { topology: &topology, radio, terminals: 0..0, ecmp: None }.paths(&pairs)?;
            paths.iter().map(|path| path.links().filter_map(router).collect()).collect()
        };
        needy.into_iter().zip(routers_on_path).find_map(|((flow, tcp), on_path)| {
            let lacks = tcp.missing_router(|| on_path.iter().copied())?;
            Some((flow, format!("{} needs routers {lacks}", tcp.control.name())))
        })
    }

    /// Gives advice on requests of Quick-Start that no router can approve.
    fn advise_quick_start(&self, reading: &Reading, flow_items: &[TomlItem], flows: &[Flow]) {
        let requests =
            |flow: &Flow| matches!(&flow.kind, FlowKind::Tcp(tcp) if tcp.options.requests_quick_start());
        let mut routers =
            self.links.iter().flat_map(|link| &link.directions).filter_map(|one| one.router.as_ref());
        let Some(number) = flows.iter().position(requests) else {
            return;
        };
        if routers.any(|router| matches!(router, RouterConfig::QuickStart(_))) {
            return;
        }
        let message = "has no effect: no router approves requests; write router = { kind = \"quick_start\" } in the links \
                       of its path";
        advise_flow(reading, flow_items, (number, &flows[number]), "quick_start", message);
    }

    /// Gives advice on accurate ECN feedback where no queue marks packets. Queues of Wi-Fi and cells, of radio nodes and of
    /// satellites have keys of their own.
    pub fn advise_accurate_ecn(&self, reading: &Reading, flow_items: &[TomlItem], flows: &[Flow]) {
        let counts = |flow: &Flow| matches!(&flow.kind, FlowKind::Tcp(tcp) if tcp.options.has_accurate_ecn());
        let Some(number) = flows.iter().position(counts) else {
            return;
        };
        let mut directions = self.links.iter().flat_map(|link| &link.directions);
        let other_queues = self.satellites || !self.radio_names.is_empty();
        if other_queues || directions.any(|direction| direction.has_medium() || direction.queue.marks()) {
            return;
        }
        let message = "counts nothing: no queue marks packets; write queue = { kind = \"codel\", ecn = true }, or another queue \
                       with ecn, in a link of its path";
        advise_flow(reading, flow_items, (number, &flows[number]), "ecn_feedback", message);
    }

    /// Reports the first controller that needs routers that its path does not have. Flows after those of `flow_items` are
    /// generated, with the options of `defaults`, the table `[tcp]`.
    pub fn check(
        &self,
        reading: &Reading,
        flow_items: &[TomlItem],
        defaults: Option<&TomlItem>,
        flows: &[Flow],
    ) {
        self.advise_quick_start(reading, flow_items, flows);
        let Some((flow, message)) = self.missing(flows) else {
            return;
        };
        let number = flows.iter().position(|other| std::ptr::eq(other, flow));
        let item = number.and_then(|n| flow_items.get(n));
        let key = item.map_or("tcp.congestion_control".into(), |_| {
            key_text(["flow", &flow.name, "tcp", "congestion_control"])
        });
        let origin = item.or(defaults).map(|item| item.origin.clone());
        let origin = origin.unwrap_or_else(|| Origin::command_line(&key));
        reading.report(ScenarioError::new(&origin, &key, message).unmet());
    }
}
