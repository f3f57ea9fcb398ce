//! Shortest paths by propagation delay over the links that are up at a time.

use crate::system::SatelliteSystem;
use crate::timeline::Timeline;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Time;

/// Nodes and directed, numbered links at a time: satellites, terminals, and other nodes that are added.
#[derive(Clone, Debug)]
pub struct Graph {
    /// For each node, the links that end there.
    incoming: Vec<Vec<Edge>>,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    from: usize,
    delay: f64,
    link: u32,
}

/// The next step from a node towards a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathStep {
    /// The next node.
    pub to: usize,
    /// The link to it.
    pub link: u32,
    /// Delay of the whole path, s.
    pub delay: f64,
}

/// A shortest path.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// From end to end.
    pub nodes: Vec<usize>,
    /// Propagation delay, s.
    pub delay: f64,
}

/// A delay as a sort key: delays are positive, so their bit patterns have the same order.
fn key(delay: f64) -> u64 {
    delay.to_bits()
}

impl Graph {
    /// The links of `system` that are up at `at`, after the changes of that time, with their delays.
    ///
    /// Links are numbered from `first`: for each link between satellites the direction from its first end and then
    /// the opposite one; then the transmitter of each satellite to its terminals; then that of each terminal.
    pub fn new(system: &SatelliteSystem, line: &Timeline, at: Time, first: u32) -> Graph {
        let (t, satellites) = (at.seconds(), system.constellation.len());
        let mut graph = Graph { incoming: vec![Vec::new(); system.nodes()] };
        let positions: Vec<_> = (0..system.nodes()).map(|node| system.position(node, t)).collect();
        let delay =
            |a: usize, b: usize| positions[a].distance(positions[b]) / system.constellation.earth.light();
        let isls = &system.constellation.isls;
        for (number, (isl, far)) in isls.iter().zip(line.isls_at(at, isls.len())).enumerate() {
            if let Some(far) = far {
                let (link, delay) = (first + 2 * number as u32, delay(isl.a, far));
                graph.add(isl.a, far, delay, link);
                graph.add(far, isl.a, delay, link + 1);
            }
        }
        let down = first + 2 * isls.len() as u32;
        for terminal in 0..system.terminals.len() {
            for satellite in line.usable(terminal, at) {
                let node = satellites + terminal;
                let delay = delay(node, satellite);
                graph.add(satellite, node, delay, down + satellite as u32);
                graph.add(node, satellite, delay, down + (satellites + terminal) as u32);
            }
        }
        graph
    }

    /// Adds a node and returns its number.
    pub fn add_node(&mut self) -> usize {
        self.incoming.push(Vec::new());
        self.incoming.len() - 1
    }

    /// Adds a link from node `from` to node `to` with a delay in s.
    pub fn add(&mut self, from: usize, to: usize, delay: f64, link: u32) {
        self.incoming[to].push(Edge { from, delay, link });
    }

    /// For every node, the next step on the shortest path to `target`; `None` for `target` and for nodes without a
    /// path. Of two paths with equal delay, the one over the node with the lower number.
    pub fn towards(&self, target: usize) -> Vec<Option<PathStep>> {
        let mut next: Vec<Option<PathStep>> = vec![None; self.incoming.len()];
        let mut reached = vec![false; self.incoming.len()];
        let mut open = BinaryHeap::from([Reverse((key(0.0), target, target, 0))]);
        while let Some(Reverse((bits, node, to, link))) = open.pop() {
            if std::mem::replace(&mut reached[node], true) {
                continue;
            }
            let delay = f64::from_bits(bits);
            if node != target {
                next[node] = Some(PathStep { to, link, delay });
            }
            for edge in self.incoming[node].iter().filter(|edge| !reached[edge.from]) {
                open.push(Reverse((key(delay + edge.delay), edge.from, node, edge.link)));
            }
        }
        next
    }

    /// The shortest path, if there is one.
    pub fn path(&self, from: usize, to: usize) -> Option<Path> {
        let next = self.towards(to);
        let mut nodes = vec![from];
        while nodes[nodes.len() - 1] != to {
            nodes.push(next[nodes[nodes.len() - 1]]?.to);
        }
        Some(Path { nodes, delay: next[from].map_or(0.0, |step| step.delay) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Constellation, EarthModel, Rules, SelectionRule, Terminal, Walker};
    use units::Span;

    #[test]
    fn published_path() {
        let terminal = |lat, lon| Terminal { name: String::new(), lat, lon };
        let system = SatelliteSystem {
            constellation: Constellation::walker(&Walker::iridium(), false),
            terminals: vec![terminal(37.9, -122.3), terminal(42.3, -71.1)],
            epoch: 0.0,
        };
        let rules = Rules {
            mask: 8.2,
            isl_latitude: 60.0,
            cross_seam_longitude: 10.0,
            rule: SelectionRule::Ns2,
            check: Span::from_ms(10_000),
            jitter: Span::ZERO,
        };
        let line =
            Timeline::new(&system, &rules, Time::ZERO, &std::sync::atomic::AtomicBool::new(false), |_| 0.0);
        let mut graph = Graph::new(&system, &line, Time::ZERO, 0);
        let path = graph.path(66, 67).unwrap();
        assert_eq!(path.nodes, [66, 26, 37, 48, 67]);
        assert!((path.delay - 0.033881832).abs() < 1e-9);
        let wired = graph.add_node();
        // Two paths there, one back: the faster is taken.
        graph.add(67, wired, 0.2, 900);
        graph.add(67, wired, 0.001, 901);
        graph.add(wired, 67, 0.3, 902);
        let longer = graph.path(66, wired).unwrap();
        assert_eq!(longer.nodes.last(), Some(&wired));
        assert!((longer.delay - path.delay - 0.001).abs() < 1e-12);
        assert_eq!(graph.towards(wired)[67].map(|step| step.link), Some(901));
        assert!((graph.path(wired, 66).unwrap().delay - path.delay - 0.3).abs() < 1e-12);
        let alone = graph.add_node();
        assert_eq!(graph.path(66, alone), None);
    }

    /// Starlink's first shell, from London to New York for 600 s: one-way delays in ms, once a second.
    fn transatlantic(rule: SelectionRule) -> Vec<f64> {
        let terminal = |lat, lon| Terminal { name: String::new(), lat, lon };
        let walker = Walker {
            earth: EarthModel::Wgs84,
            altitude: 550.0,
            inclination: 53.0,
            planes: 72,
            per_plane: 22,
            plane_spacing: 5.0,
            phasing: 39.0 / 72.0,
            alternate: false,
            rounded: false,
            ..Walker::iridium()
        };
        let system = SatelliteSystem {
            constellation: Constellation::walker(&walker, false),
            terminals: vec![terminal(51.5, -0.1), terminal(40.7, -74.0)],
            epoch: 0.0,
        };
        let rules = Rules {
            mask: 25.0,
            isl_latitude: 90.0,
            cross_seam_longitude: 10.0,
            rule,
            check: Span::from_ms(5_000),
            jitter: Span::ZERO,
        };
        let until = Time::ZERO + Span::from_ms(600_000);
        let line = Timeline::new(&system, &rules, until, &std::sync::atomic::AtomicBool::new(false), |_| 0.0);
        let (london, new_york) = (system.constellation.len(), system.constellation.len() + 1);
        (0..=600)
            .map(|s| Time::ZERO + Span::from_ms(1000 * s))
            .map(|at| Graph::new(&system, &line, at, 0).path(london, new_york).unwrap().delay * 1e3)
            .collect()
    }

    #[test]
    fn with_every_visible_satellite_the_path_is_never_the_long_way_round() {
        let delays = transatlantic(SelectionRule::Every);
        let (least, largest) = delays.iter().fold((f64::MAX, 0.0f64), |(a, b), d| (a.min(*d), b.max(*d)));
        // 5,570 km apart: two rays at 25 degrees and the arc between their satellites take 20.7 ms.
        assert!(least >= 20.7 && largest <= 40.0, "{least} to {largest} ms");
        let highest = transatlantic(SelectionRule::Best).into_iter().fold(0.0, f64::max);
        assert!(highest > 100.0, "{highest}: ascending and descending satellites");
    }
}
