//! Satellites in a simulation: their links, the times of path changes, and the hand-offs of flows.

use super::outcome::{HandoffOutcome, SatelliteOutcome};
use crate::audit::AuditedLink;
use crate::scenario::paths::NodeNumbers;
use crate::scenario::{Direction, Satellites, Scenario};
use net::{Ends, HandoffLoss, NodeId, SatelliteNetwork, Topology};
use orbit::{Graph, IslKind, Timeline};
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use units::{Span, Time};

/// The name of the far end of a transmitter to or from the ground.
const ANYBODY: &str = "*";

/// The name of the far end of a link across the seam.
const SEAM: &str = "seam";

/// Events of the satellite network. Events at the same time are processed in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SatelliteEvent {
    /// Paths are recomputed.
    Reroute,
    /// A hand-off of a flow begins.
    Begins(u32),
    /// The hand-off of a flow ends.
    Ends(u32),
}

/// The future satellite events, in the order of time.
#[derive(Clone)]
pub(super) struct ConstellationSchedule {
    pub events: Vec<(Time, SatelliteEvent)>,
    pub next: usize,
    pub outcome: SatelliteOutcome,
}

/// A satellite system in a topology: its nodes come first and keep their numbers.
pub(super) struct SatelliteLayout<'a> {
    satellites: &'a Arc<Satellites>,
    pub network: SatelliteNetwork,
    /// The satellite links.
    pub directions: Vec<Direction>,
    radii: OnceCell<(f64, f64)>,
}

/// Builds satellites, terminals and wired nodes with all links, and a map of the nodes by name.
pub(super) fn lay_out<'a>(
    scenario: &'a Scenario,
    satellites: &'a Arc<Satellites>,
    radio_nodes: &'a [String],
    seed: u64,
    stop: &AtomicBool,
) -> (Topology, NodeNumbers<'a>, SatelliteLayout<'a>) {
    let system = &satellites.system;
    let mut topology = Topology::default();
    let mut nodes = NodeNumbers::default();
    for node in 0..system.nodes() {
        nodes.add(system.name(node), &mut topology);
    }
    for name in radio_nodes {
        nodes.add(name, &mut topology);
    }
    let mut fixed_links = Vec::new();
    for link in &scenario.links {
        let [a, b] = link.ends.each_ref().map(|name| nodes.get_or_add(name, &mut topology));
        for ([from, to], direction) in [[a, b], [b, a]].into_iter().zip(&link.directions) {
            topology.add_link(from, to, direction.delay);
            fixed_links.push((from.0 as usize, to.0 as usize, direction.delay.seconds()));
        }
    }
    let grounded = topology.nodes();
    let [anybody, seam] = [ANYBODY, SEAM].map(|name| topology.add_node(name));
    let node = |number: usize| NodeId(number as u32);
    let mut directions = Vec::new();
    let mut add = |from: NodeId, to: NodeId, transmitter: &Direction| {
        topology.add_link(from, to, transmitter.delay);
        directions.push(transmitter.clone());
    };
    // In the order of `orbit::Graph`.
    for isl in &system.constellation.isls {
        let far = if isl.kind == IslKind::CrossSeam { seam } else { node(isl.b) };
        add(node(isl.a), far, &satellites.isl);
        add(far, node(isl.a), &satellites.isl);
    }
    for satellite in 0..system.constellation.len() {
        add(node(satellite), anybody, &satellites.down);
    }
    for terminal in 0..system.terminals.len() {
        add(node(system.constellation.len() + terminal), anybody, &satellites.up);
    }
    let network = SatelliteNetwork {
        system: system.clone(),
        line: satellites.timeline(Time::ZERO + scenario.duration, seed, stop),
        header: satellites.header,
        loss: satellites.loss,
        pause: satellites.pause,
        fixed_links,
        nodes: grounded,
    };
    (topology, nodes, SatelliteLayout { satellites, network, directions, radii: OnceCell::new() })
}

impl SatelliteLayout<'_> {
    /// The numbers of the terminals among the nodes.
    pub fn terminals(&self) -> Range<u32> {
        let system = &self.network.system;
        system.constellation.len() as u32..system.nodes() as u32
    }

    /// Twice the delay of the longest path of the pairs at the start; for a pair without a path 0.1 s per direction.
    pub fn round_trip(&self, pairs: &[(NodeId, NodeId)]) -> Span {
        let graph = self.network.graph(Time::ZERO);
        let delays = pairs.iter().map(|(a, b)| graph.path(a.0 as usize, b.0 as usize).map(|path| path.delay));
        let longest = delays.map(|delay| delay.unwrap_or(0.1)).fold(0.0, f64::max);
        Span::from_seconds(if longest > 0.0 { 2.0 * longest } else { 0.2 })
    }

    /// The terminals over which the data of a flow leaves and reaches the ground; empty for a flow over fixed links
    /// only.
    fn terminals_of(&self, graph: &Graph, [from, to]: [usize; 2]) -> Vec<usize> {
        let satellites = self.network.system.constellation.len();
        let on_path: Vec<usize> = match graph.path(from, to) {
            Some(path) if path.nodes.iter().all(|node| *node >= satellites) => Vec::new(),
            Some(path) => path.nodes,
            // No path at the start: the terminals next to its ends.
            None => [from, to].into_iter().filter_map(|node| self.nearest_terminal(node)).collect(),
        };
        let terminals = satellites..self.network.system.nodes();
        on_path.into_iter().filter(|node| terminals.contains(node)).map(|node| node - satellites).collect()
    }

    /// The terminal for a node: `node` itself, or the first terminal that is reached over fixed links.
    fn nearest_terminal(&self, node: usize) -> Option<usize> {
        let terminals = self.network.system.constellation.len()..self.network.system.nodes();
        let mut near = vec![node];
        let mut at = 0;
        while at < near.len() {
            if terminals.contains(&near[at]) {
                return Some(near[at]);
            }
            for &(from, to, _) in &self.network.fixed_links {
                if from == near[at] && !near.contains(&to) {
                    near.push(to);
                }
            }
            at += 1;
        }
        None
    }

    /// The satellite events for flows between these ends. The first `tcp` flows receive hand-off events.
    pub fn plan(&self, ends: &[[usize; 2]], tcp: usize, until: Time) -> ConstellationSchedule {
        let (satellites, line) = (self.satellites, &self.network.line);
        let mut events: Vec<(Time, SatelliteEvent)> =
            line.changes().into_iter().map(|at| (at, SatelliteEvent::Reroute)).collect();
        if let Some(interval) = satellites.recompute {
            let times = std::iter::successors(Some(Time::ZERO + interval), |at| Some(*at + interval));
            events.extend(times.take_while(|at| *at <= until).map(|at| (at, SatelliteEvent::Reroute)));
        }
        let graph = self.network.graph(Time::ZERO);
        for (flow, pair) in ends.iter().enumerate().take(tcp) {
            let terminals = self.terminals_of(&graph, *pair).into_iter();
            let mut spans: Vec<(Time, Time)> =
                terminals.flat_map(|terminal| satellites.under_handoff(line, terminal)).collect();
            spans.sort_unstable();
            // Hand-offs of both ends can overlap: merge them.
            let mut apart: Vec<(Time, Time)> = Vec::new();
            for (from, to) in spans {
                match apart.last_mut() {
                    Some(last) if from <= last.1 => last.1 = last.1.max(to),
                    _ => apart.push((from, to)),
                }
            }
            for (from, to) in apart {
                events.push((from, SatelliteEvent::Begins(flow as u32)));
                events.push((to, SatelliteEvent::Ends(flow as u32)));
            }
        }
        events.sort_unstable();
        events.dedup();
        ConstellationSchedule {
            events,
            next: 0,
            outcome: SatelliteOutcome { handoffs: satellites.handoffs(line) },
        }
    }

    /// The smallest and the largest distance of a satellite from the Earth's centre, km, sampled every five minutes.
    fn radii(&self, until: Time) -> (f64, f64) {
        let system = &self.network.system;
        let looks = (0..=until.seconds() as u64 / 300).map(|i| 300.0 * i as f64);
        let radii =
            looks.flat_map(|t| (0..system.constellation.len()).map(move |s| system.position(s, t).norm()));
        radii.fold((f64::MAX, 0.0), |(low, high), r| (r.min(low), r.max(high)))
    }

    /// The bounds of the propagation delay and the possible end nodes of a link, for the auditor.
    pub fn audited(&self, link: u32, name: String, from: NodeId, to: NodeId, until: Time) -> AuditedLink {
        let system = &self.network.system;
        let satellites = 0..system.constellation.len() as u32;
        let terminals = satellites.end..system.nodes() as u32;
        let node_range = |node: NodeId| node.0..node.0 + 1;
        let ends = self.network.ends(link);
        if let Some((_, _, delay)) = self.network.fixed_links.get(link as usize) {
            let delay = Span::from_seconds(*delay);
            return AuditedLink {
                name,
                from: node_range(from),
                to: node_range(to),
                delay: (delay, delay),
                ..AuditedLink::default()
            };
        }
        let (low, high) = *self.radii.get_or_init(|| self.radii(until));
        let earth = system.constellation.earth;
        let flight = |km: f64| Span::from_seconds(km / earth.light());
        let reach = |radius: f64, above: f64| 1.05 * (radius * radius - above * above).max(0.0).sqrt();
        let either = |node: NodeId, all: &Range<u32>| {
            if (node.0 as usize) < self.network.nodes { node_range(node) } else { all.clone() }
        };
        let (to, delay) = match ends {
            Ends::Down { .. } | Ends::Up { .. } => {
                let least = flight(0.95 * (low - earth.equatorial_radius()));
                let delay = (least, flight(reach(high, earth.polar_radius())));
                (if matches!(ends, Ends::Down { .. }) { terminals } else { satellites.clone() }, delay)
            }
            _ => {
                let longest = 2.0 * reach(high, earth.polar_radius() + orbit::ATMOSPHERE_KM);
                (either(to, &satellites), (Span::ZERO, flight(longest)))
            }
        };
        AuditedLink {
            name,
            from: either(from, &satellites),
            to,
            delay,
            header: self.satellites.header,
            pause: self.satellites.pause,
            waits: self.satellites.loss == HandoffLoss::Lossless,
            ..AuditedLink::default()
        }
    }
}

impl Satellites {
    /// The timeline of all links up to `until`. It is incomplete if `stop` is set.
    pub fn timeline(&self, until: Time, seed: u64, stop: &AtomicBool) -> Timeline {
        let mut streams: Vec<Option<engine::Stream>> = vec![None; self.system.nodes()];
        Timeline::new(&self.system, &self.rules, until, stop, |node| {
            let stream = streams[node]
                .get_or_insert_with(|| engine::Stream::new(seed, "handoff check", self.system.name(node)));
            2.0 * stream.uniform() - 1.0
        })
    }

    /// All hand-offs, that is changes of a terminal's satellite after the first, in the order of time.
    pub(crate) fn handoffs(&self, line: &Timeline) -> Vec<HandoffOutcome> {
        let name = |satellite: Option<usize>| satellite.map(|s| self.system.name(s).to_string());
        let each = line.handoffs().into_iter().map(|handoff| HandoffOutcome {
            terminal: self.system.terminals[handoff.terminal].name.clone(),
            time_s: handoff.at.seconds(),
            from: name(handoff.from),
            to: name(handoff.to),
        });
        each.collect()
    }

    /// The hand-off periods of a terminal's flows, (from, until); they can overlap.
    pub fn under_handoff(&self, line: &Timeline, terminal: usize) -> Vec<(Time, Time)> {
        let list = &line.attachments[terminal];
        let mut spans = Vec::new();
        for (i, attachment) in list.iter().enumerate() {
            let (from, until) = match attachment.satellite {
                None => (attachment.at, list.get(i + 1).map_or(Time::NEVER, |next| next.at)),
                Some(_) if i > 0 => (attachment.at, attachment.at),
                Some(_) => continue,
            };
            let from = Time::ZERO + Span::from_ps(from.ps().saturating_sub(self.guard_before.ps()));
            let until = if until == Time::NEVER { until } else { until + self.guard_after };
            spans.push((from, until));
        }
        spans
    }
}
