//! The positions of nodes in drawings of a network: columns along the paths of the flows, rows by those of the neighbours, or
//! free places where links would run through nodes.

mod free;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use free::Drawing;

/// Nodes that the search for paths visits. The ends of further flows are beside their only neighbour.
const MOST_VISITS: usize = 10_000_000;

/// Passes over the columns that order their rows.
const PASSES: usize = 6;

/// The position of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePosition {
    /// Its name.
    pub node: String,
    /// Its column, from 0: data leaves at the left. A whole number where the flows' paths are the columns.
    pub column: f64,
    /// Its row in the column, from 0 at the top.
    pub row: f64,
    /// The number of rows of the column.
    pub rows: f64,
}

/// The position of each node that `links` name, in their order. `flows` are the ends of flows: a node's column is its place on
/// the paths with the fewest links, and reverse flows run from right to left. If a link would run through a node that is not
/// its end, as the link that closes a ring would, the nodes are placed freely, with links of about equal length.
pub fn layout(links: &[[String; 2]], flows: &[[String; 2]]) -> Vec<NodePosition> {
    let mut graph = Graph::default();
    let mut pairs = BTreeSet::new();
    for ends in links {
        let [a, b] = ends.each_ref().map(|name| graph.add(name));
        graph.near[a].push(b);
        graph.near[b].push(a);
        pairs.insert([a.min(b), a.max(b)]);
    }
    for near in &mut graph.near {
        near.sort_unstable(); // a second link between two nodes changes nothing
        near.dedup();
    }
    let columns = graph.columns(flows, MOST_VISITS);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); columns.iter().max().map_or(0, |last| last + 1)];
    columns.iter().enumerate().for_each(|(node, &column)| rows[column].push(node));
    graph.order(&mut rows);
    let mut places = vec![[0.0; 3]; columns.len()];
    for (column, nodes) in rows.iter().enumerate() {
        for (row, &node) in nodes.iter().enumerate() {
            places[node] = [column as f64, row as f64, nodes.len() as f64];
        }
    }
    let number = |name: &String| graph.numbers.get(name.as_str()).copied();
    let drawing = Drawing {
        near: &graph.near,
        links: pairs.into_iter().filter(|[a, b]| a != b).collect(),
        flows: flows.iter().filter_map(|[from, to]| Some([number(from)?, number(to)?])).collect(),
    };
    let crossed = drawing.crossed(&places);
    if crossed > 0
        && let Some((faults, free)) = drawing.place(&places)
        && faults.0 < crossed
    {
        let rows = free.iter().fold(0.0_f64, |last, at| last.max(at[1])) + 1.0;
        places = free.into_iter().map(|[x, y]| [x, y, rows]).collect();
    }
    let named = graph.names.into_iter().zip(places);
    named.map(|(node, [column, row, rows])| NodePosition { node: node.into(), column, row, rows }).collect()
}

/// The nodes by number, with the numbers of their neighbours.
#[derive(Default)]
struct Graph<'a> {
    names: Vec<&'a str>,
    numbers: BTreeMap<&'a str, usize>,
    near: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    /// The number of a node, which is added if it is new.
    fn add(&mut self, name: &'a str) -> usize {
        let Graph { names, numbers, near } = self;
        *numbers.entry(name).or_insert_with(|| {
            names.push(name);
            near.push(Vec::new());
            names.len() - 1
        })
    }

    /// The path with the fewest links; empty if there is none. Adds the number of nodes that it visits to `visits`.
    fn path(&self, from: usize, to: usize, visits: &mut usize) -> Vec<usize> {
        let mut before = vec![usize::MAX; self.names.len()];
        before[to] = to;
        let mut waiting = VecDeque::from([to]);
        while let Some(node) = waiting.pop_front().filter(|&node| node != from) {
            for &other in &self.near[node] {
                if before[other] == usize::MAX {
                    before[other] = node;
                    waiting.push_back(other);
                    *visits += 1;
                }
            }
        }
        if before[from] == usize::MAX {
            return Vec::new();
        }
        let steps = std::iter::successors(Some(from), |&node| (node != to).then(|| before[node]));
        steps.collect()
    }

    /// The column of each node. The search for paths ends after about `limit` visits.
    fn columns(&self, flows: &[[String; 2]], limit: usize) -> Vec<usize> {
        let mut column: Vec<Option<i64>> = vec![None; self.names.len()];
        let number = |name: &String| self.numbers.get(name.as_str()).copied();
        let (mut seen, mut visits) = (BTreeSet::new(), 0);
        for [from, to] in flows {
            let Some(pair) = number(from).zip(number(to)).filter(|pair| seen.insert(*pair)) else { continue };
            if visits <= limit {
                place_path(&mut column, &self.path(pair.0, pair.1, &mut visits));
                continue;
            }
            for (end, side) in [(pair.0, -1), (pair.1, 1)] {
                if let [router] = self.near[end][..]
                    && column[end].is_none()
                {
                    column[end] = column[router].map(|at| at + side);
                }
            }
        }
        // Nodes on no path: one column after a neighbour.
        let mut waiting: VecDeque<usize> = (0..column.len()).filter(|&node| column[node].is_some()).collect();
        for start in 0..column.len() {
            if waiting.is_empty() && column[start].is_none() {
                column[start] = Some(0);
                waiting.push_back(start);
            }
            while let Some(node) = waiting.pop_front() {
                let next = column[node].map(|at| at + 1);
                for &other in &self.near[node] {
                    if column[other].is_none() {
                        column[other] = next;
                        waiting.push_back(other);
                    }
                }
            }
        }
        let least = column.iter().flatten().min().copied().unwrap_or(0);
        column.into_iter().map(|at| (at.unwrap_or(0) - least) as usize).collect()
    }

    /// Orders the rows of each column by the mean height of the neighbours.
    fn order(&self, columns: &mut [Vec<usize>]) {
        let mut height = vec![0.0; self.names.len()];
        let settle = |column: &[usize], height: &mut [f64]| {
            for (row, &node) in column.iter().enumerate() {
                height[node] = (row as f64 + 0.5) / column.len() as f64;
            }
        };
        columns.iter().for_each(|column| settle(column, &mut height));
        for pass in 0..PASSES {
            for index in 0..columns.len() {
                let last = columns.len() - 1;
                let column = &mut columns[if pass % 2 == 0 { index } else { last - index }];
                let mean = |node: usize| {
                    let near = &self.near[node];
                    near.iter().map(|&other| height[other]).sum::<f64>() / near.len().max(1) as f64
                };
                let mut means: Vec<(f64, usize)> = column.iter().map(|&node| (mean(node), node)).collect();
                means.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                *column = means.into_iter().map(|(_, node)| node).collect();
                settle(column, &mut height);
            }
        }
    }
}

/// Places a path beside those before it: through the columns of its nodes that have one.
fn place_path(column: &mut [Option<i64>], path: &[usize]) {
    let placed: Vec<(i64, i64)> =
        path.iter().enumerate().filter_map(|(i, &node)| Some((i as i64, column[node]?))).collect();
    let (first, at) = placed.first().copied().unwrap_or((0, 0));
    let (last, to) = placed.last().copied().unwrap_or((0, 0));
    let step = if to < at { -1 } else { 1 };
    for (i, &node) in path.iter().enumerate() {
        let i = i as i64;
        let next = if i <= last { at + step * (i - first) } else { to + step * (i - last) };
        column[node].get_or_insert(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs such as "a-b c-d".
    fn pairs(text: &str) -> Vec<[String; 2]> {
        text.split_whitespace()
            .map(|pair| pair.split_once('-').unwrap())
            .map(|(a, b)| [a.into(), b.into()])
            .collect()
    }

    fn drawn(links: &str, flows: &str) -> BTreeMap<String, (usize, usize)> {
        let positions = layout(&pairs(links), &pairs(flows));
        positions.into_iter().map(|place| (place.node, (place.column as usize, place.row as usize))).collect()
    }

    /// The places as in pictures: a column's middle is at 0, or, where `filled`, its rows fill the height.
    fn pictured(links: &str, flows: &str, filled: bool) -> BTreeMap<String, [f64; 2]> {
        let positions = layout(&pairs(links), &pairs(flows));
        let tallest = positions.iter().fold(0.0_f64, |rows, place| rows.max(place.rows));
        let row = |place: &NodePosition| {
            if filled {
                (place.row + 0.5) / place.rows * tallest
            } else {
                place.row - (place.rows - 1.0) / 2.0
            }
        };
        positions.iter().map(|place| (place.node.clone(), [place.column, row(place)])).collect()
    }

    /// Links that pass through half the box of a node that is not their end, and nodes within a box of another.
    fn mistaken(links: &str, flows: &str) -> Vec<String> {
        const HALF_BOX: f64 = 0.15;
        let mut all = Vec::new();
        for filled in [false, true] {
            let places = pictured(links, flows, filled);
            for [a, b] in pairs(links) {
                for (node, &at) in places.iter().filter(|(node, _)| **node != a && **node != b) {
                    let steps = (0..=200).map(|step| f64::from(step) / 200.0);
                    let on =
                        steps.map(|t| [0, 1].map(|axis| places[&a][axis] * (1.0 - t) + places[&b][axis] * t));
                    if on
                        .into_iter()
                        .any(|[x, y]| (x - at[0]).abs() < HALF_BOX && (y - at[1]).abs() < HALF_BOX)
                    {
                        all.push(format!("{a}-{b} through {node}"));
                    }
                }
            }
            for (node, [x, y]) in &places {
                let near =
                    |[u, v]: [f64; 2]| (x - u).abs() < 2.0 * HALF_BOX && (y - v).abs() < 2.0 * HALF_BOX;
                all.extend(
                    places
                        .iter()
                        .filter(|(other, at)| node < *other && near(**at))
                        .map(|(other, _)| format!("{node} on {other}")),
                );
            }
        }
        all
    }

    fn ring(count: usize) -> [String; 2] {
        let link = |i: usize| format!("c{i}-c{} c{i}-h{i} ", (i + 1) % count);
        let flow = |i: usize| format!("h{i}-h{} ", (i + count / 2) % count);
        [(0..count).map(link).collect(), (0..count).map(flow).collect()]
    }

    #[test]
    fn no_link_runs_through_another_node() {
        let star: String = (0..8).map(|i| format!("hub-s{i} ")).collect();
        let round: String = (0..8).map(|i| format!("s{i}-s{} ", (i + 1) % 8)).collect();
        let square = (0..16).map(|i| {
            let right = if i % 4 < 3 { format!("g{i}-g{} ", i + 1) } else { String::new() };
            right + &if i < 12 { format!("g{i}-g{} ", i + 4) } else { String::new() }
        });
        let leaves = (0..6).map(|leaf| {
            let spines: String = (0..4).map(|spine| format!("leaf{leaf}-spine{spine} ")).collect();
            spines + &format!("leaf{leaf}-a{leaf} leaf{leaf}-b{leaf} ")
        });
        let servers: String = (0..6).map(|leaf| format!("a{leaf}-b{} ", (leaf + 1) % 6)).collect();
        let mesh: String = (0..9).flat_map(|a| (0..a).map(move |b| format!("m{a}-m{b} "))).collect();
        let networks = [
            ring(15),
            ring(5),
            [star.clone(), String::new()],
            [star, round],
            [square.collect(), "g0-g15 g12-g3".into()],
            [leaves.collect(), servers],
            [mesh, "m0-m1".into()],
        ];
        for [links, flows] in networks {
            assert_eq!(mistaken(&links, &flows), [""; 0], "{links}; flows {flows}");
        }
    }

    #[test]
    fn columns_stay_where_no_link_runs_through_a_node() {
        let dumbbell: String = (0..40).map(|i| format!("s{i}-r1 r2-d{i} ")).collect();
        let flows: String = (0..40).map(|i| format!("s{i}-d{i} ")).collect();
        for (links, flows) in [(format!("r1-r2 {dumbbell}"), flows), ("a-b b-c c-d".into(), "a-d".into())] {
            let positions = layout(&pairs(&links), &pairs(&flows));
            assert!(positions.iter().all(|place| place.column.fract() == 0.0 && place.row.fract() == 0.0));
            assert_eq!(positions.iter().fold(0.0_f64, |last, place| last.max(place.column)), 3.0);
        }
        let [links, flows] = ring(15);
        assert!(layout(&pairs(&links), &pairs(&flows)).iter().any(|place| place.column.fract() != 0.0));
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..<_>::default() })]
        #[test]
        fn no_link_of_a_tree_runs_through_another_node(
            above in proptest::collection::vec(1..6_usize, 2..25),
            ends in proptest::collection::vec((0..25_usize, 0..25_usize), 0..6),
        ) {
            let link = |(i, back): (usize, &usize)| format!("t{}-t{} ", (i + 1).saturating_sub(*back), i + 1);
            let links: String = above.iter().enumerate().map(link).collect();
            let flows: String = ends.iter().filter(|(a, b)| a != b).map(|(a, b)| format!("t{a}-t{b} ")).collect();
            proptest::prop_assert_eq!(mistaken(&links, &flows), [""; 0], "{}; flows {}", links, flows);
        }
    }

    #[test]
    fn data_runs_from_left_to_right_and_that_of_reverse_flows_back() {
        let links = "r1-r2 s1-r1 s2-r1 r2-d1 r2-d2";
        for flows in ["s1-d1 s2-d2", "s1-d1 d2-s2"] {
            let places = drawn(links, flows);
            let columns = ["s1", "s2", "r1", "r2", "d1", "d2"].map(|node| places[node].0);
            assert_eq!(columns, [0, 0, 1, 2, 3, 3], "{flows}");
        }
    }

    #[test]
    fn rows_follow_the_neighbours() {
        let links = "b1-c b2-c a1-b2 a2-b1";
        let places = drawn(links, "a1-c a2-c");
        assert_eq!((places["a1"].1, places["a2"].1), (places["b2"].1, places["b1"].1));
        assert_ne!(places["a1"].1, places["a2"].1);
        let back = "c-b1 c-b2 b2-a1 b1-a2";
        assert_eq!(drawn(&format!("{links} {back}"), "a1-c a2-c"), places, "both directions of each link");
    }

    #[test]
    fn the_ends_of_many_flows_are_on_their_sides() {
        let names = |count: usize| (0..count).map(|n| (format!("s{n}"), format!("d{n}")));
        let mut graph = Graph::default();
        for (s, d) in [("s0", "d0"), ("s1", "d1"), ("s2", "d2")] {
            for [a, b] in [[s, "r1"], ["r1", "r2"], ["r2", d]] {
                let [a, b] = [graph.add(a), graph.add(b)];
                graph.near[a].push(b);
                graph.near[b].push(a);
            }
        }
        graph.near.iter_mut().for_each(|near| (near.sort_unstable(), near.dedup()).1);
        let flows: Vec<[String; 2]> = names(3).map(|(s, d)| [s, d]).collect();
        for limit in [0, 1000] {
            let columns = graph.columns(&flows, limit);
            let of = |name: &str| columns[graph.numbers[name]];
            assert_eq!(
                ["s0", "s1", "s2", "r1", "r2", "d0", "d1", "d2"].map(of),
                [0, 0, 0, 1, 2, 3, 3, 3],
                "{limit}"
            );
        }
    }

    #[test]
    fn nodes_without_flows_have_a_place_too() {
        let places = drawn("a-b b-c b-x y-z", "c-a no-node a-z");
        assert_eq!(["c", "b", "a", "x"].map(|node| places[node].0), [0, 1, 2, 2]);
        assert_eq!(places["z"].0, places["y"].0 + 1);
        assert!(layout(&[], &pairs("a-b")).is_empty());
    }
}
