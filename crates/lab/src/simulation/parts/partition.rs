//! Division of a graph into connected parts with about equal work and little traffic between them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use units::Span;

/// A network as the partition sees it.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkGraph {
    /// The work at each node, in any unit.
    pub work: Vec<f64>,
    pub edges: Vec<WorkEdge>,
}

/// A connection of two nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkEdge {
    pub ends: [usize; 2],
    /// Work that moves from one part to another if the edge is cut.
    pub traffic: f64,
    /// The smaller of the delays of both directions; none if the edge cannot be cut.
    pub delay: Option<Span>,
}

/// The cost of a message for each of both parts, in the unit of the work.
const MESSAGE: f64 = 0.3;
/// Delays of which each is tried as the least of an edge that is cut.
const MOST_DELAYS: usize = 16;
/// Passes over all groups that improve the parts.
const PASSES: usize = 20;

/// Divides the graph into `parts`: for each node the number of its part. Edges with a small delay are cut only if the others
/// do not suffice for parts with at most `limit` times the mean work. Fails with the share of the largest group of nodes that
/// stay together.
pub(super) fn partition(graph: &WorkGraph, parts: usize, limit: f64) -> Result<Vec<u16>, f64> {
    let mut delays: Vec<Span> = graph.edges.iter().filter_map(|edge| edge.delay).collect();
    delays.sort_unstable();
    delays.dedup();
    let total: f64 = graph.work.iter().sum();
    let limit = limit * total / parts as f64;
    let mut largest = 1.0;
    // Of very many delays some.
    let step = delays.len().div_ceil(MOST_DELAYS);
    for least in delays.into_iter().rev().step_by(step.max(1)) {
        let groups = Groups::new(graph, least, limit);
        largest = groups.work.iter().fold(0.0, |a: f64, b| a.max(*b)) / total;
        if largest * total > limit {
            continue;
        }
        let mut assigned = groups.grow(parts, total);
        groups.improve(&mut assigned, parts, limit);
        let work = groups.work_of(&assigned, parts);
        if work.iter().all(|work| *work > 0.0 && *work <= limit) {
            return Ok(groups.of.iter().map(|group| assigned[*group]).collect());
        }
    }
    Err(largest)
}

/// Assigns the nodes to `parts` in turn, so that nearly all traffic is between parts. Edges that cannot be cut stay whole.
pub(super) fn scatter(graph: &WorkGraph, parts: usize) -> Vec<u16> {
    let groups = Groups::new(graph, Span::from_ps(1), 0.0);
    groups.of.iter().map(|group| (group % parts) as u16).collect()
}

/// Groups of nodes that stay together.
struct Groups {
    /// The group of each node.
    of: Vec<usize>,
    work: Vec<f64>,
    /// For each group its neighbours, with the traffic.
    neighbours: Vec<Vec<(usize, f64)>>,
}

const NONE: u16 = u16::MAX;

impl Groups {
    /// Joins the ends of each edge whose delay is less than `least`, and nodes with one neighbour with this neighbour if the
    /// work permits.
    fn new(graph: &WorkGraph, least: Span, limit: f64) -> Groups {
        let mut sets = Sets { parent: (0..graph.work.len()).collect(), work: graph.work.clone() };
        let (cut, uncut): (Vec<WorkEdge>, Vec<WorkEdge>) =
            graph.edges.iter().partition(|edge| edge.delay.is_some_and(|delay| delay >= least));
        uncut.iter().for_each(|edge| sets.join(edge.ends));
        let mut degree = vec![0; graph.work.len()];
        let ends = |sets: &mut Sets, edge: &WorkEdge| edge.ends.map(|node| sets.root(node));
        let pairs: BTreeSet<[usize; 2]> = cut
            .iter()
            .map(|edge| {
                let mut pair = ends(&mut sets, edge);
                pair.sort_unstable();
                pair
            })
            .filter(|[a, b]| a != b)
            .collect();
        pairs.iter().flatten().for_each(|node| degree[*node] += 1);
        for pair in pairs.iter().filter(|pair| pair.iter().any(|node| degree[*node] == 1)) {
            let work: f64 = pair.map(|node| sets.root(node)).iter().map(|root| sets.work[*root]).sum();
            if work <= 0.5 * limit {
                sets.join(*pair);
            }
        }
        sets.groups(&cut)
    }

    /// Parts that grow from one group each, by the neighbour with the largest share of its traffic to the part; of equal ones
    /// the first.
    fn grow(&self, parts: usize, total: f64) -> Vec<u16> {
        let all = |group: usize| self.neighbours[group].iter().map(|(_, traffic)| traffic).sum::<f64>();
        let all: Vec<f64> = (0..self.work.len()).map(all).collect();
        let mut assigned = vec![NONE; self.work.len()];
        let mut left = total;
        for part in 0..parts as u16 {
            let share = left / (parts - part as usize) as f64;
            let (mut work, mut inside) = (0.0, vec![0.0; self.work.len()]);
            // Shares of neighbours so far; those that have grown since are in it twice.
            let mut next = BinaryHeap::new();
            let mut first = 0;
            loop {
                while first < assigned.len() && assigned[first] != NONE {
                    first += 1;
                }
                let neighbour = std::iter::from_fn(|| next.pop())
                    .map(|(_, Reverse(group)): (u64, Reverse<usize>)| group)
                    .find(|group| assigned[*group] == NONE);
                let Some(group) = neighbour.or((first < assigned.len()).then_some(first)) else { break };
                let after = work + self.work[group];
                if work > 0.0 && after - share > share - work && (part as usize) < parts - 1 {
                    break;
                }
                (assigned[group], work) = (part, after);
                for (other, traffic) in &self.neighbours[group] {
                    inside[*other] += traffic;
                    // The order of the bits of positive numbers is that of the numbers.
                    next.push(((inside[*other] / all[*other]).to_bits(), Reverse(*other)));
                }
            }
            left -= work;
        }
        assigned
    }

    /// Moves groups to neighbouring parts as long as this reduces the sum of the squares of the costs of both parts: the cost of
    /// a part is its work and that of its messages.
    fn improve(&self, assigned: &mut [u16], parts: usize, limit: f64) {
        let mut work = self.work_of(assigned, parts);
        let mut costs = work.clone();
        for (group, neighbours) in self.neighbours.iter().enumerate() {
            let outside = neighbours.iter().filter(|(other, _)| assigned[*other] != assigned[group]);
            costs[assigned[group] as usize] += MESSAGE * outside.map(|(_, traffic)| traffic).sum::<f64>();
        }
        for _ in 0..PASSES {
            let mut moved = false;
            for group in 0..self.work.len() {
                let (from, mut traffic) = (assigned[group] as usize, vec![0.0; parts]);
                for (other, amount) in &self.neighbours[group] {
                    traffic[assigned[*other] as usize] += amount;
                }
                let all: f64 = traffic.iter().sum();
                // The costs of both parts after a move.
                let after = |to: usize| {
                    let leaves = self.work[group] + MESSAGE * (all - 2.0 * traffic[from]);
                    let comes = self.work[group] + MESSAGE * (all - 2.0 * traffic[to]);
                    [costs[from] - leaves, costs[to] + comes]
                };
                let fits = |to: usize| work[from] > self.work[group] && work[to] + self.work[group] <= limit;
                let gain = |to: usize| {
                    let [a, b] = after(to);
                    costs[from] * costs[from] + costs[to] * costs[to] - a * a - b * b
                };
                let others = (0..parts).filter(|to| *to != from && traffic[*to] > 0.0 && fits(*to));
                let best = others.map(|to| (to, gain(to))).max_by(|a, b| a.1.total_cmp(&b.1));
                if let Some((to, gain)) = best
                    && gain > 1e-9 * costs[from] * costs[from]
                {
                    [costs[from], costs[to]] = after(to);
                    work[from] -= self.work[group];
                    work[to] += self.work[group];
                    assigned[group] = to as u16;
                    moved = true;
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn work_of(&self, assigned: &[u16], parts: usize) -> Vec<f64> {
        let mut work = vec![0.0; parts];
        for (group, part) in assigned.iter().enumerate() {
            work[*part as usize] += self.work[group];
        }
        work
    }
}

/// Disjoint sets of nodes.
struct Sets {
    parent: Vec<usize>,
    /// Of each root.
    work: Vec<f64>,
}

impl Sets {
    fn root(&mut self, mut node: usize) -> usize {
        while self.parent[node] != node {
            self.parent[node] = self.parent[self.parent[node]];
            node = self.parent[node];
        }
        node
    }

    fn join(&mut self, [a, b]: [usize; 2]) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.parent[a.max(b)] = a.min(b);
            self.work[a.min(b)] += self.work[a.max(b)];
        }
    }

    /// The sets as groups, in the order of their first nodes, with the traffic over `edges` between them.
    fn groups(mut self, edges: &[WorkEdge]) -> Groups {
        let nodes = self.parent.len();
        let (mut number, mut work) = (vec![usize::MAX; nodes], Vec::new());
        let of: Vec<usize> = (0..nodes)
            .map(|node| {
                let root = self.root(node);
                if number[root] == usize::MAX {
                    number[root] = work.len();
                    work.push(self.work[root]);
                }
                number[root]
            })
            .collect();
        let mut neighbours = vec![Vec::new(); work.len()];
        for edge in edges {
            let [a, b] = edge.ends.map(|node| of[node]);
            if a != b {
                neighbours[a].push((b, edge.traffic));
                neighbours[b].push((a, edge.traffic));
            }
        }
        Groups { of, work, neighbours }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(a: usize, b: usize, traffic: f64, delay_us: u64) -> WorkEdge {
        let delay = (delay_us > 0).then(|| Span::from_ps(delay_us * 1_000_000));
        WorkEdge { ends: [a, b], traffic, delay }
    }

    #[test]
    fn a_dumbbell_is_cut_at_its_long_link() {
        // Hosts 0 to 3 at router 4, hosts 6 to 9 at router 5.
        let edges = (0..4).flat_map(|host| [edge(host, 4, 1.0, 10), edge(host + 6, 5, 1.0, 10)]);
        let graph = WorkGraph { work: vec![1.0; 10], edges: edges.chain([edge(4, 5, 4.0, 1000)]).collect() };
        assert_eq!(partition(&graph, 2, 1.25).unwrap(), [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn nodes_without_a_delay_between_them_stay_together() {
        let edges = vec![edge(0, 1, 1.0, 0), edge(1, 2, 9.0, 5), edge(2, 3, 1.0, 0)];
        let graph = WorkGraph { work: vec![1.0; 4], edges };
        assert_eq!(partition(&graph, 2, 1.25).unwrap(), [0, 0, 1, 1]);
        let graph = WorkGraph { work: vec![1.0, 5.0, 1.0, 1.0], ..graph };
        assert_eq!(partition(&graph, 2, 1.25), Err(0.75));
    }

    #[test]
    fn a_ring_becomes_four_arcs() {
        let edges = (0..40).map(|node| edge(node, (node + 1) % 40, 1.0, 7)).collect();
        let graph = WorkGraph { work: vec![1.0; 40], edges };
        let of = partition(&graph, 4, 1.25).unwrap();
        let cuts = (0..40).filter(|node| of[*node] != of[(node + 1) % 40]).count();
        assert_eq!(cuts, 4, "{of:?}");
        assert!((0..4).all(|part| (8..=12).contains(&of.iter().filter(|p| **p == part).count())));
    }
}
