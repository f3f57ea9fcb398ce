//! Shortest paths by propagation delay over the links that are up at a moment.

use crate::sky::Sky;
use crate::timeline::Timeline;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Time;

/// Nodes and the links between them at a moment: satellites, terminals, and any further nodes that are added.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Of each node its neighbours with the delay to them, s.
    neighbours: Vec<Vec<(usize, f64)>>,
}

/// A shortest path.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// From end to end.
    pub nodes: Vec<usize>,
    /// Propagation delay, s.
    pub delay: f64,
}

/// A delay as a key: delays are positive, so their bits are ordered as they are.
fn key(delay: f64) -> u64 {
    delay.to_bits()
}

impl Graph {
    /// The links of `sky` that are up at `at` after what happens then, with the delays of that moment.
    pub fn new(sky: &Sky, line: &Timeline, at: Time) -> Graph {
        let (t, satellites) = (at.seconds(), sky.constellation.len());
        let mut graph = Graph { neighbours: vec![Vec::new(); sky.nodes()] };
        let positions: Vec<_> = (0..sky.nodes()).map(|node| sky.position(node, t)).collect();
        let delay = |a: usize, b: usize| positions[a].distance(positions[b]) / crate::LIGHT_KM_S;
        let isls = &sky.constellation.isls;
        for (isl, far) in isls.iter().zip(line.isls_at(at, isls.len())) {
            if let Some(far) = far {
                graph.add(isl.a, far, delay(isl.a, far));
            }
        }
        for terminal in 0..sky.terminals.len() {
            if let Some(satellite) = line.attached(terminal, at).0 {
                graph.add(satellites + terminal, satellite, delay(satellites + terminal, satellite));
            }
        }
        graph
    }

    /// Adds a node; its number.
    pub fn add_node(&mut self) -> usize {
        self.neighbours.push(Vec::new());
        self.neighbours.len() - 1
    }

    /// Adds a link both ways.
    pub fn add(&mut self, a: usize, b: usize, delay: f64) {
        self.neighbours[a].push((b, delay));
        self.neighbours[b].push((a, delay));
    }

    /// From every node the next one on the way to `target`, and the delay of the way. Of two ways that take equally long,
    /// the one over the node with the lower number.
    pub fn towards(&self, target: usize) -> Vec<Option<(usize, f64)>> {
        let mut next: Vec<Option<(usize, f64)>> = vec![None; self.neighbours.len()];
        let mut open = BinaryHeap::from([Reverse((key(0.0), target, target))]);
        while let Some(Reverse((bits, node, via))) = open.pop() {
            if next[node].is_some() {
                continue;
            }
            let delay = f64::from_bits(bits);
            next[node] = Some((via, delay));
            for &(other, more) in &self.neighbours[node] {
                if next[other].is_none() {
                    open.push(Reverse((key(delay + more), other, node)));
                }
            }
        }
        next
    }

    /// The shortest path, if there is one.
    pub fn path(&self, from: usize, to: usize) -> Option<Path> {
        let next = self.towards(to);
        let mut nodes = vec![from];
        while nodes[nodes.len() - 1] != to {
            nodes.push(next[nodes[nodes.len() - 1]]?.0);
        }
        Some(Path { nodes, delay: next[from]?.1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Constellation, Rule, Rules, Terminal, Walker};
    use units::Span;

    #[test]
    fn published_path() {
        let terminal = |lat, lon| Terminal { name: String::new(), lat, lon };
        let sky = Sky {
            constellation: Constellation::walker(&Walker::iridium(), false),
            terminals: vec![terminal(37.9, -122.3), terminal(42.3, -71.1)],
            epoch: 0.0,
        };
        let rules = Rules {
            mask: 8.2,
            isl_latitude: 60.0,
            cross_seam_longitude: 10.0,
            rule: Rule::Ns2,
            check: Span::from_ms(10_000),
            jitter: Span::ZERO,
        };
        let line = Timeline::new(&sky, &rules, Time::ZERO, |_| 0.0);
        let mut graph = Graph::new(&sky, &line, Time::ZERO);
        let path = graph.path(66, 67).unwrap();
        assert_eq!(path.nodes, [66, 26, 37, 48, 67]);
        assert!((path.delay - 0.033881832).abs() < 1e-9);
        let wired = graph.add_node();
        graph.add(wired, 67, 0.001);
        let longer = graph.path(66, wired).unwrap();
        assert_eq!(longer.nodes.last(), Some(&wired));
        assert!((longer.delay - path.delay - 0.001).abs() < 1e-12);
        let alone = graph.add_node();
        assert_eq!(graph.path(66, alone), None);
    }
}
