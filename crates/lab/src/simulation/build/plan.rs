//! The first step: numbers of flows, nodes and paths.

use crate::scenario::paths::{FlowPath, PathNodes, lay_out};
use crate::scenario::{FlowKind, Scenario};
use crate::simulation::Settings;
use crate::simulation::satellites::{self, SatelliteLayout};
use engine::Stream;
use net::{LinkId, NodeId, Topology};
use std::sync::atomic::AtomicBool;
use units::Time;

/// The data that all steps use.
pub(super) struct BuildPlan<'a> {
    pub scenario: &'a Scenario,
    pub settings: Settings,
    pub seed: u64,
    pub end: Time,
    /// Indices of the flows in the scenario, by number: TCP flows, QUIC flows, UDP flows, attached flows.
    pub numbered: Vec<usize>,
    /// Numbers of the flows, in the order of the scenario.
    pub order: Vec<u32>,
}

impl<'a> BuildPlan<'a> {
    pub fn new(scenario: &'a Scenario, settings: Settings) -> BuildPlan<'a> {
        let mut numbered: Vec<usize> = (0..scenario.flows.len()).collect();
        numbered.sort_by_key(|index| match scenario.flows[*index].kind {
            FlowKind::Tcp(_) => 0,
            FlowKind::Quic(_) => 1,
            FlowKind::Udp { .. } => 2,
            FlowKind::Attached(_) => 3,
        });
        let mut order = vec![0u32; numbered.len()];
        for (number, index) in numbered.iter().enumerate() {
            order[*index] = number as u32;
        }
        let seed = settings.seed.unwrap_or(scenario.seed);
        BuildPlan { scenario, settings, seed, end: Time::ZERO + scenario.duration, numbered, order }
    }

    /// Number of the TCP and QUIC flows; they have the first numbers.
    pub fn controlled_flows(&self) -> usize {
        self.scenario.flows.iter().filter(|flow| flow.kind.control().is_some()).count()
    }
}

/// Nodes, and the paths of flows.
pub(super) struct Layout<'a> {
    pub topology: Topology,
    pub satellites: Option<SatelliteLayout<'a>>,
    /// For each flow, the source and the destination of its data.
    pub ends: Vec<[NodeId; 2]>,
    /// For each flow, source and destination of its data, then of its ACKs.
    pub pairs: Vec<(NodeId, NodeId)>,
    /// The path of each pair; empty with moving links, where each hop is looked up.
    pub paths: Vec<FlowPath>,
    /// Whether a link, by its number, is the first of a sender that limits its packets in the queue of its host.
    local: Vec<bool>,
}

impl<'a> Layout<'a> {
    /// Whether a link is the first of a sender that limits its packets in the queue of its host.
    pub fn limits_local(&self, link: LinkId) -> bool {
        self.local.get(link.0 as usize) == Some(&true)
    }

    pub fn new(plan: &BuildPlan<'a>, radio_nodes: &'a [String], stop: &AtomicBool) -> Layout<'a> {
        let scenario = plan.scenario;
        let (topology, nodes, satellites) = match &scenario.satellites {
            Some(constellation) => {
                let (topology, nodes, layout) =
                    satellites::lay_out(scenario, constellation, radio_nodes, plan.seed, stop);
                (topology, nodes, Some(layout))
            }
            None => {
                let (topology, nodes) = lay_out(&scenario.links, radio_nodes);
                (topology, nodes, None)
            }
        };
        let node = |name: &String| nodes.of(name);
        let flows = plan.numbered.iter().map(|index| &scenario.flows[*index]);
        let ends: Vec<[NodeId; 2]> = flows.map(|flow| [node(&flow.from), node(&flow.to)]).collect();
        let pairs: Vec<(NodeId, NodeId)> = ends.iter().flat_map(|[a, b]| [(*a, *b), (*b, *a)]).collect();
        let terminals = satellites.as_ref().map_or(0..0, SatelliteLayout::terminals);
        let radio = terminals.end..terminals.end + radio_nodes.len() as u32;
        let paths =
            PathNodes { topology: &topology, radio, terminals, ecmp: scenario.ecmp.then_some(plan.seed) }
                .paths(&pairs)
                .unwrap_or_else(|| unreachable!("a scenario's flows have paths"));
        let mut local = vec![false; 2 * scenario.links.len()];
        for (index, pair) in plan.numbered.iter().zip(paths.chunks_exact(2)) {
            if scenario.flows[*index].kind.limits_local()
                && let Some(first) = pair[0].links().next()
            {
                local[first.0 as usize] = true;
            }
        }
        Layout { topology, satellites, ends, pairs, paths, local }
    }
}

/// The random stream of a link for a purpose, of a run with this seed.
pub(in crate::simulation) fn named_stream(
    seed: u64,
    topology: &Topology,
    link: LinkId,
    purpose: &str,
) -> Stream {
    // Parallel links have the same name: the later ones add their number.
    let twin = (0..link.0).any(|other| topology.ends(LinkId(other)) == topology.ends(link));
    let number = if twin { format!("#{}", link.0) } else { String::new() };
    Stream::new(seed, purpose, &format!("{}{number}", topology.link_name(link)))
}
