//! Nodes, links between them, and the shortest paths.
//!
//! A route has the fewest links; of those the smallest delay; of those the links that were added first. Nodes with a
//! single neighbour are removed (peeled) first, repeatedly, so a path consists of a part up to the remaining core, a
//! search in the core, and a part down: 100,000 sources behind one bottleneck cost 100,000 parts up and one search.

use crate::ids::{LinkId, NodeId};
use std::collections::BTreeMap;
use std::fmt;
use units::Span;

/// A link's two ends: one direction.
#[derive(Clone, Copy, Debug)]
struct Edge {
    from: NodeId,
    to: NodeId,
    delay: Span,
}

/// A path: its links in order.
pub type Route = Vec<LinkId>;

/// There is no path between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteError {
    /// Where it should begin.
    pub from: NodeId,
    /// Where it should end.
    pub to: NodeId,
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no path from node {} to node {}", self.from.0, self.to.0)
    }
}

/// The graph of nodes and links.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    names: Vec<Box<str>>,
    edges: Vec<Edge>,
}

/// Links grouped by node, in the order in which they were added.
struct ByNode {
    first: Vec<u32>,
    links: Vec<LinkId>,
}

impl ByNode {
    fn new(nodes: usize, keys: impl Iterator<Item = NodeId> + Clone) -> ByNode {
        let mut first = vec![0u32; nodes + 1];
        for key in keys.clone() {
            first[key.0 as usize + 1] += 1;
        }
        for v in 0..nodes {
            first[v + 1] += first[v];
        }
        let mut next = first.clone();
        let mut links = vec![LinkId(0); first[nodes] as usize];
        for (i, key) in keys.enumerate() {
            let place = &mut next[key.0 as usize];
            links[*place as usize] = LinkId(i as u32);
            *place += 1;
        }
        ByNode { first, links }
    }

    fn of(&self, node: usize) -> &[LinkId] {
        &self.links[self.first[node] as usize..self.first[node + 1] as usize]
    }
}

/// The peeled graph, made once per set of routes.
struct Peeled {
    /// For a node outside the core: the link up to its only neighbour, and the one down.
    up: Vec<Option<(LinkId, LinkId)>>,
    /// Outgoing links.
    out: ByNode,
}

impl Topology {
    /// Adds a node and returns its number. Names need not be unique.
    pub fn add_node(&mut self, name: &str) -> NodeId {
        self.names.push(name.into());
        NodeId(self.names.len() as u32 - 1)
    }
    /// Adds one direction of a link and returns its number.
    pub fn add_link(&mut self, from: NodeId, to: NodeId, delay: Span) -> LinkId {
        self.edges.push(Edge { from, to, delay });
        LinkId(self.edges.len() as u32 - 1)
    }
    /// A node's name.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.names[node.0 as usize]
    }
    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.names.len()
    }
    /// The number of links, each direction by itself.
    pub fn links(&self) -> usize {
        self.edges.len()
    }
    /// The numbers of the links.
    pub fn link_ids(&self) -> impl Iterator<Item = LinkId> + use<> {
        (0..self.links() as u32).map(LinkId)
    }
    /// The ends of a link.
    pub fn ends(&self, link: LinkId) -> (NodeId, NodeId) {
        let edge = self.edges[link.0 as usize];
        (edge.from, edge.to)
    }
    /// A link's name in output: `from->to`.
    pub fn link_name(&self, link: LinkId) -> String {
        let (from, to) = self.ends(link);
        format!("{}->{}", self.node_name(from), self.node_name(to))
    }
    /// The names of all links in output; of parallel links the second one is `from->to#2`.
    pub fn link_names(&self) -> Vec<String> {
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        let mut unique = |name: String| {
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            if *count > 1 { format!("{name}#{count}") } else { name }
        };
        self.link_ids().map(|link| unique(self.link_name(link))).collect()
    }

    /// The shortest path for each pair, in the order of `pairs`. Fails on the first pair without a path.
    pub fn routes(&self, pairs: &[(NodeId, NodeId)]) -> Result<Vec<Route>, RouteError> {
        let peeled = self.peel();
        let mut trees = BTreeMap::new();
        pairs.iter().map(|&(from, to)| self.route(&peeled, &mut trees, from, to)).collect()
    }

    /// A path with the fewest links for each pair: at each node with several next links of such paths, the pair chooses one
    /// by a hash of its flow, of the node and of `seed`, for all its packets (ECMP). Pairs `2n` and `2n + 1` are the two
    /// directions of flow `n`. Fails on the first pair without a path.
    pub fn ecmp_routes(&self, pairs: &[(NodeId, NodeId)], seed: u64) -> Result<Vec<Route>, RouteError> {
        let n = self.names.len();
        let out = ByNode::new(n, self.edges.iter().map(|edge| edge.from));
        let into = ByNode::new(n, self.edges.iter().map(|edge| edge.to));
        let mut distances: BTreeMap<NodeId, Vec<u32>> = BTreeMap::new();
        let mut routes = Vec::with_capacity(pairs.len());
        for (number, &(from, to)) in pairs.iter().enumerate() {
            let distance = distances.entry(to).or_insert_with(|| self.distances(&into, to));
            if distance[from.0 as usize] == u32::MAX {
                return Err(RouteError { from, to });
            }
            let flow = (number as u64 / 2) | (number as u64 % 2) << 63;
            let (mut route, mut at) = (Route::new(), from);
            while at != to {
                let left = distance[at.0 as usize] - 1;
                let nearer = |link: &&LinkId| distance[self.edges[link.0 as usize].to.0 as usize] == left;
                let ways = out.of(at.0 as usize).iter().filter(nearer).count();
                let way = ecmp_way(flow, at.0 as u64, ways as u64, seed) as usize;
                let link = out.of(at.0 as usize).iter().filter(nearer).nth(way);
                let link = *link.ok_or(RouteError { from, to })?;
                route.push(link);
                at = self.edges[link.0 as usize].to;
            }
            routes.push(route);
        }
        Ok(routes)
    }

    /// The number of links from each node to `to`; `u32::MAX` if there is no path.
    fn distances(&self, into: &ByNode, to: NodeId) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.names.len()];
        distance[to.0 as usize] = 0;
        let mut open = std::collections::VecDeque::from([to]);
        while let Some(node) = open.pop_front() {
            for link in into.of(node.0 as usize) {
                let from = self.edges[link.0 as usize].from;
                if distance[from.0 as usize] == u32::MAX {
                    distance[from.0 as usize] = distance[node.0 as usize] + 1;
                    open.push_back(from);
                }
            }
        }
        distance
    }

    fn peel(&self) -> Peeled {
        let n = self.names.len();
        let out = ByNode::new(n, self.edges.iter().map(|edge| edge.from));
        let into = ByNode::new(n, self.edges.iter().map(|edge| edge.to));
        let mut up: Vec<Option<(LinkId, LinkId)>> = vec![None; n];
        // Links to nodes that are not peeled: a leaf has one, and one back.
        let mut degree: Vec<usize> = (0..n).map(|v| out.of(v).len()).collect();
        let mut leaves: Vec<usize> = (0..n).filter(|&v| degree[v] == 1).collect();
        while let Some(v) = leaves.pop() {
            let standing = |node: NodeId| up[node.0 as usize].is_none();
            let climb = out.of(v).iter().copied().find(|l| standing(self.ends(*l).1));
            let mut down = into.of(v).iter().copied().filter(|l| standing(self.ends(*l).0));
            let (Some(climb), Some(descend), None, 1) = (climb, down.next(), down.next(), degree[v]) else {
                continue;
            };
            let parent = self.ends(climb).1;
            if self.ends(descend).0 != parent {
                continue;
            }
            up[v] = Some((climb, descend));
            degree[v] = 0;
            degree[parent.0 as usize] -= 1;
            if degree[parent.0 as usize] == 1 {
                leaves.push(parent.0 as usize);
            }
        }
        Peeled { up, out }
    }

    fn route(
        &self,
        peeled: &Peeled,
        trees: &mut BTreeMap<NodeId, Vec<Option<LinkId>>>,
        from: NodeId,
        to: NodeId,
    ) -> Result<Route, RouteError> {
        let climb = |mut v: NodeId| {
            let mut path = Vec::new();
            while let Some((up, down)) = peeled.up[v.0 as usize] {
                path.push((v, up, down));
                v = self.edges[up.0 as usize].to;
            }
            (path, v)
        };
        let (mut ups, mut top) = climb(from);
        let (mut downs, mut bottom) = climb(to);
        // Both may hang on the same tree: drop the shared part above their meeting point.
        if top == bottom {
            while let (Some(a), Some(b)) = (ups.last(), downs.last())
                && a.0 == b.0
            {
                (top, bottom) = (a.0, a.0);
                ups.pop();
                downs.pop();
            }
        }
        let mut route = Route::with_capacity(ups.len() + downs.len() + 1);
        route.extend(ups.iter().map(|step| step.1));
        if top != bottom {
            let tree = trees.entry(top).or_insert_with(|| self.search(peeled, top));
            let climbed = route.len();
            let mut at = bottom;
            while at != top {
                let link = tree[at.0 as usize].ok_or(RouteError { from, to })?;
                route.push(link);
                at = self.edges[link.0 as usize].from;
            }
            route[climbed..].reverse();
        }
        route.extend(downs.iter().rev().map(|step| step.2));
        Ok(route)
    }

    /// Shortest paths in the core from `root`: the link by which each node is reached.
    fn search(&self, peeled: &Peeled, root: NodeId) -> Vec<Option<LinkId>> {
        let n = self.names.len();
        let mut by: Vec<Option<LinkId>> = vec![None; n];
        let mut best = vec![(u32::MAX, Span::from_ps(u64::MAX)); n];
        best[root.0 as usize] = (0, Span::ZERO);
        let mut open = std::collections::BTreeSet::from([(0u32, Span::ZERO, root)]);
        while let Some((hops, delay, v)) = open.pop_first() {
            for &link in peeled.out.of(v.0 as usize) {
                if peeled.up[self.ends(link).1.0 as usize].is_some() {
                    continue; // not of the core
                }
                let edge = self.edges[link.0 as usize];
                let (w, candidate) = (edge.to.0 as usize, (hops + 1, delay + edge.delay));
                if candidate < best[w] {
                    open.remove(&(best[w].0, best[w].1, edge.to));
                    best[w] = candidate;
                    by[w] = Some(link);
                    open.insert((candidate.0, candidate.1, edge.to));
                }
            }
        }
        by
    }
}

/// Which of `ways` equal next links a flow takes at a node.
fn ecmp_way(flow: u64, node: u64, ways: u64, seed: u64) -> u64 {
    ((mix(flow ^ mix(node ^ mix(seed))) as u128 * ways as u128) >> 64) as u64
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_spread_over_equal_paths() {
        let ways: Vec<u64> = (0..10).map(|flow| ecmp_way(flow, 0, 4, 1)).collect();
        assert_eq!(ways, [2, 1, 0, 3, 1, 0, 2, 3, 0, 1]);
        let mut load = [0; 4];
        (0..64).for_each(|flow| load[ecmp_way(flow, 0, 4, 1) as usize] += 1);
        assert_eq!(load.iter().max(), Some(&18));
        // Two leaves, four spines: 0 and 1 are leaves, 2 to 5 spines, 6 and 7 hosts.
        let links: Vec<(u32, u32, u64)> =
            (2..6).flat_map(|spine| [(0, spine, 1), (1, spine, 1)]).chain([(6, 0, 1), (7, 1, 1)]).collect();
        let t = graph(8, &links);
        let pairs: Vec<(NodeId, NodeId)> =
            (0..200).flat_map(|_| [(NodeId(6), NodeId(7)), (NodeId(7), NodeId(6))]).collect();
        let routes = t.ecmp_routes(&pairs, 1).unwrap();
        assert!(routes.iter().all(|route| route.len() == 4));
        let spines: std::collections::BTreeSet<u32> =
            routes.iter().map(|route| t.ends(route[1]).1.0).collect();
        assert_eq!(spines.len(), 4);
        assert_eq!(routes, t.ecmp_routes(&pairs, 1).unwrap());
        assert!(t.ecmp_routes(&[(NodeId(6), NodeId(6))], 1).unwrap()[0].is_empty());
    }

    fn graph(n: usize, links: &[(u32, u32, u64)]) -> Topology {
        let mut t = Topology::default();
        for i in 0..n {
            t.add_node(&format!("n{i}"));
        }
        for &(a, b, ms) in links {
            t.add_link(NodeId(a), NodeId(b), Span::from_ms(ms));
            t.add_link(NodeId(b), NodeId(a), Span::from_ms(ms));
        }
        t
    }

    fn names(t: &Topology, from: u32, to: u32) -> Vec<String> {
        let routes = t.routes(&[(NodeId(from), NodeId(to))]).unwrap();
        routes[0].iter().map(|l| t.link_name(*l)).collect()
    }

    #[test]
    fn trees_and_meeting_points() {
        // 0-1-2, 1-3, 3-4, 3-5: a tree; everything peels.
        let t = graph(6, &[(0, 1, 1), (1, 2, 1), (1, 3, 1), (3, 4, 1), (3, 5, 1)]);
        assert_eq!(names(&t, 0, 5), ["n0->n1", "n1->n3", "n3->n5"]);
        assert_eq!(names(&t, 4, 5), ["n4->n3", "n3->n5"]);
        assert_eq!(names(&t, 4, 3), ["n4->n3"]);
        assert_eq!(names(&t, 2, 0), ["n2->n1", "n1->n0"]);
    }

    #[test]
    fn fewest_links_then_least_delay_then_first_named() {
        // A square 0-1-2-3 with a slow and a fast way round, and a long path through 4-5.
        let t = graph(6, &[(0, 1, 5), (1, 2, 5), (0, 3, 1), (3, 2, 1), (0, 4, 0), (4, 5, 0), (5, 2, 0)]);
        assert_eq!(names(&t, 0, 2), ["n0->n3", "n3->n2"]);
        let t = graph(4, &[(0, 1, 1), (1, 2, 1), (0, 3, 1), (3, 2, 1)]);
        assert_eq!(names(&t, 0, 2), ["n0->n1", "n1->n2"]);
    }

    #[test]
    fn parallel_links_take_the_faster() {
        let t = graph(3, &[(0, 1, 9), (0, 1, 2), (1, 2, 1)]);
        let routes = t.routes(&[(NodeId(0), NodeId(2))]).unwrap();
        assert_eq!(routes[0], [LinkId(2), LinkId(4)]);
    }

    #[test]
    fn no_path_is_told() {
        let t = graph(4, &[(0, 1, 1), (2, 3, 1)]);
        assert_eq!(t.routes(&[(NodeId(0), NodeId(3))]), Err(RouteError { from: NodeId(0), to: NodeId(3) }));
    }
}
