//! Satellites in a world: the links that they have, the moments at which ways change, who is under hand-off when.

use crate::audit::AuditedLink;
use crate::outcome::SatelliteOutcome;
use crate::satellites::{Satellites, Transmitter};
use crate::scenario::{Direction, Loss, Scenario};
use net::{Ends, NodeId, SkyNetwork, Topology};
use orbit::{Graph, IslKind, Timeline};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use units::{Span, Time};

/// The node of a transmitter whose far end changes.
const ANYBODY: &str = "*";

/// What happens to the sky's network at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SkyEvent {
    /// Ways are computed anew.
    Reroute,
    /// A flow comes under hand-off (or it is over).
    Hint { flow: u32, begins: bool },
}

/// What is going to happen, in order.
pub(super) struct SkyPlan {
    pub events: Vec<(Time, SkyEvent)>,
    pub next: usize,
    pub outcome: SatelliteOutcome,
}

/// A sky laid out beneath a topology: its nodes come first, with the numbers that they have there.
pub(super) struct SkyLayout<'a> {
    satellites: &'a Arc<Satellites>,
    line: Timeline,
    /// What each link joins: the scenario's own (two each), then those of the sky.
    ends: Vec<Ends>,
    wire_delays: Vec<f64>,
    /// The sky's links.
    pub directions: Vec<Direction>,
}

/// Satellites, terminals and wired nodes with all links; the nodes by name.
pub(super) fn lay_out<'a>(
    scenario: &'a Scenario,
    satellites: &'a Arc<Satellites>,
    seed: u64,
) -> (Topology, BTreeMap<&'a str, NodeId>, SkyLayout<'a>) {
    let sky = &satellites.sky;
    let mut topology = Topology::default();
    let mut nodes: BTreeMap<&str, NodeId> = BTreeMap::new();
    for node in 0..sky.nodes() {
        nodes.insert(sky.name(node), topology.add_node(sky.name(node)));
    }
    let mut layout = SkyLayout {
        satellites,
        line: satellites.timeline(Time::ZERO + scenario.duration, seed),
        ends: Vec::new(),
        wire_delays: Vec::new(),
        directions: Vec::new(),
    };
    for link in &scenario.links {
        let [a, b] =
            link.ends.each_ref().map(|name| *nodes.entry(name).or_insert_with(|| topology.add_node(name)));
        for ([from, to], direction) in [[a, b], [b, a]].into_iter().zip(&link.directions) {
            topology.add_link(from, to, direction.delay);
            layout.ends.push(Ends::Wire { from: from.0 as usize, to: to.0 as usize });
            layout.wire_delays.push(direction.delay.seconds());
        }
    }
    let anybody = topology.add_node(ANYBODY);
    let node = |number: usize| NodeId(number as u32);
    let mut add = |from: NodeId, to: NodeId, ends: Ends, transmitter: &Transmitter| {
        topology.add_link(from, to, Span::ZERO);
        layout.ends.push(ends);
        layout.wire_delays.push(0.0);
        let (rate, queue) = (transmitter.rate, transmitter.queue.clone());
        layout.directions.push(Direction { rate, delay: Span::ZERO, queue, loss: Loss::None });
    };
    for (number, isl) in sky.constellation.isls.iter().enumerate() {
        let far = if isl.kind == IslKind::CrossSeam { anybody } else { node(isl.b) };
        add(node(isl.a), far, Ends::Isl { number, back: false }, &satellites.isl);
        add(far, node(isl.a), Ends::Isl { number, back: true }, &satellites.isl);
    }
    for satellite in 0..sky.constellation.len() {
        add(node(satellite), anybody, Ends::Down { satellite }, &satellites.down);
    }
    for terminal in 0..sky.terminals.len() {
        let own = node(sky.constellation.len() + terminal);
        add(own, anybody, Ends::Up { terminal }, &satellites.up);
    }
    (topology, nodes, layout)
}

impl SkyLayout<'_> {
    /// Twice the longest way of the pairs at the start; without a way, as round the Earth.
    pub fn round_trip(&self, pairs: &[(NodeId, NodeId)]) -> Span {
        let graph = self.graph();
        let delays = pairs.iter().map(|(a, b)| graph.path(a.0 as usize, b.0 as usize).map(|path| path.delay));
        let longest = delays.map(|delay| delay.unwrap_or(0.1)).fold(0.0, f64::max);
        Span::from_seconds(2.0 * longest)
    }

    fn graph(&self) -> Graph {
        let mut graph = Graph::new(&self.satellites.sky, &self.line, Time::ZERO);
        let wired = self.ends.iter().zip(&self.wire_delays).filter_map(|(ends, delay)| match *ends {
            Ends::Wire { from, to } if from < to => Some((from, to, *delay)),
            _ => None,
        });
        let wired: Vec<_> = wired.collect();
        for _ in self.satellites.sky.nodes()..self.nodes() {
            graph.add_node();
        }
        wired.into_iter().for_each(|(from, to, delay)| graph.add(from, to, delay));
        graph
    }

    /// Satellites, terminals and wired nodes.
    fn nodes(&self) -> usize {
        let wired = self.ends.iter().filter_map(|ends| match *ends {
            Ends::Wire { from, .. } => Some(from + 1),
            _ => None,
        });
        wired.fold(self.satellites.sky.nodes(), usize::max)
    }

    /// The terminal of a node on the ground: itself, or the nearest over wires.
    fn terminal_of(&self, node: usize) -> Option<usize> {
        let satellites = self.satellites.sky.constellation.len();
        let mut near = vec![node];
        let mut at = 0;
        while at < near.len() {
            let here = near[at];
            if (satellites..self.satellites.sky.nodes()).contains(&here) {
                return Some(here - satellites);
            }
            for ends in &self.ends {
                if let Ends::Wire { from, to } = *ends
                    && from == here
                    && !near.contains(&to)
                {
                    near.push(to);
                }
            }
            at += 1;
        }
        None
    }

    /// What is going to happen to flows between these ends, of which the first `tcp` listen.
    pub fn plan(&self, ends: &[[NodeId; 2]], tcp: usize, until: Time) -> SkyPlan {
        let satellites = self.satellites;
        let mut events: Vec<(Time, SkyEvent)> = match satellites.recompute {
            None => self.line.changes().into_iter().map(|at| (at, SkyEvent::Reroute)).collect(),
            Some(every) => {
                let times = std::iter::successors(Some(Time::ZERO + every), |at| Some(*at + every));
                times.take_while(|at| *at <= until).map(|at| (at, SkyEvent::Reroute)).collect()
            }
        };
        for (flow, pair) in ends.iter().enumerate().take(tcp) {
            let terminals = pair.iter().filter_map(|node| self.terminal_of(node.0 as usize));
            let mut spans: Vec<(Time, Time)> =
                terminals.flat_map(|terminal| satellites.under_handoff(&self.line, terminal)).collect();
            spans.sort_unstable();
            let flow = flow as u32;
            let mut last = None;
            for (from, to) in spans {
                // Both ends may be under hand-off at once.
                if last.is_none_or(|last| from > last) {
                    events.push((from, SkyEvent::Hint { flow, begins: true }));
                    events.push((to, SkyEvent::Hint { flow, begins: false }));
                    last = Some(to);
                } else if last.is_some_and(|last| to > last) {
                    if let Some(end) = events.last_mut() {
                        end.0 = to;
                    }
                    last = Some(to);
                }
            }
        }
        events.sort_unstable();
        SkyPlan { events, next: 0, outcome: SatelliteOutcome { handoffs: satellites.handoffs(&self.line) } }
    }

    /// Between which times of flight a packet on a link must stay, and between which nodes it may go.
    pub fn audited(&self, link: usize, name: String, from: NodeId, to: NodeId) -> AuditedLink {
        let sky = &self.satellites.sky;
        let satellites = 0..sky.constellation.len() as u32;
        let terminals = satellites.end..sky.nodes() as u32;
        let radii = satellites.clone().map(|s| sky.position(s as usize, 0.0).norm());
        let (low, high) = radii.fold((f64::MAX, 0.0), |(low, high), r| (r.min(low), r.max(high)));
        let flight = |km: f64| Span::from_seconds(km / orbit::LIGHT_KM_S);
        let reach = |radius: f64, earth: f64| 1.05 * (radius * radius - earth * earth).max(0.0).sqrt();
        let one = |node: NodeId| node.0..node.0 + 1;
        let changing =
            |node: NodeId, all: &Range<u32>| if node.0 >= terminals.end { all.clone() } else { one(node) };
        let (from, to, delay) = match self.ends[link] {
            Ends::Wire { .. } => {
                let delay = Span::from_seconds(self.wire_delays[link]);
                (one(from), one(to), (delay, delay))
            }
            Ends::Isl { .. } => {
                let longest = 2.0 * reach(high, orbit::EARTH_KM + orbit::ATMOSPHERE_KM);
                (changing(from, &satellites), changing(to, &satellites), (Span::ZERO, flight(longest)))
            }
            Ends::Up { .. } | Ends::Down { .. } => {
                let delay = (flight(0.95 * (low - orbit::EARTH_KM)), flight(reach(high, orbit::EARTH_KM)));
                let down = matches!(self.ends[link], Ends::Down { .. });
                (one(from), if down { terminals.clone() } else { satellites.clone() }, delay)
            }
        };
        let wired = matches!(self.ends[link], Ends::Wire { .. });
        AuditedLink {
            name,
            from,
            to,
            delay,
            header: if wired { 0 } else { self.satellites.header },
            pauses: !wired && self.satellites.pause > Span::ZERO,
            ..AuditedLink::default()
        }
    }

    /// What the network needs to know.
    pub fn network(self) -> SkyNetwork {
        let nodes = self.nodes();
        SkyNetwork {
            sky: self.satellites.sky.clone(),
            line: self.line,
            header: self.satellites.header,
            loss: self.satellites.loss,
            pause: self.satellites.pause,
            ends: self.ends,
            wire_delays: self.wire_delays,
            nodes,
        }
    }
}
