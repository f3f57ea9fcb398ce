//! Positions of the nodes of any network: links of about equal length, and none through a node that is not its end.
//!
//! A stress layout (each node where its distances on the paths ask for it) from fixed starts, in which nodes then give way to
//! links and to each other.

use std::collections::VecDeque;

/// Column and row.
type Point = [f64; 2];

/// Column, row and the number of rows of the column.
type InColumn = [f64; 3];

/// A link comes no nearer to a node that is not its end, in columns and rows.
const CLEARANCE: f64 = 0.3;

/// What nodes and links make way for, so that the clearance is left where several push.
const ROOM: f64 = 1.2 * CLEARANCE;

/// Two nodes come no nearer to each other.
const GAP: f64 = 0.7;

/// Pairs of nodes, and of a node and a link, that all rounds visit.
const MOST_VISITS: usize = 8_000_000;

/// Up to this number of nodes, a circle is one more layout: with links between all nodes there is no other.
const MOST_ON_CIRCLE: usize = 24;

/// Rounds of each start: those of the stress layout, then those in which nodes give way.
const ROUNDS: [usize; 2] = [120, 120];

/// A layout whose nodes are all this near to places with whole numbers is moved there.
const NEAR_WHOLE: f64 = 0.36;

/// What is wrong with a layout: links too near to a node that is not their end, then links that cross.
pub(super) type Faults = (usize, usize);

/// A network: its links, once each, and the flows' ends, as numbers of nodes.
pub(super) struct Drawing<'a> {
    pub near: &'a [Vec<usize>],
    pub links: Vec<[usize; 2]>,
    pub flows: Vec<[usize; 2]>,
}

impl Drawing<'_> {
    /// The layout with the fewest faults, from (0, 0), with the faults. `columns`: one more start. `None` for so many nodes that
    /// it would take long.
    pub(super) fn place(&self, columns: &[InColumn]) -> Option<(Faults, Vec<Point>)> {
        let count = self.near.len();
        let visits = count * (count + self.links.len());
        let rounds = MOST_VISITS / visits.max(1) / 3;
        if rounds < 30 {
            return None;
        }
        let rounds = ROUNDS.map(|limit| limit.min(rounds / 2));
        let order = self.depth_first();
        let far: Vec<Vec<f64>> = (0..count).map(|from| self.distances(from)).collect();
        let apart = |(node, [x, y]): (usize, &Point)| {
            let [a, b] = on_circle(order[node], count);
            [x + 0.1 * a, y + 0.1 * b] // no two nodes at one place, nor all on a line
        };
        let starts = [
            order.iter().map(|&at| on_circle(at, count).map(|c| c * count as f64 / 6.0)).collect(),
            pivots(&far).iter().enumerate().map(apart).collect(),
            columns.iter().map(centred).collect::<Vec<_>>().iter().enumerate().map(apart).collect(),
        ];
        let circle = (count <= MOST_ON_CIRCLE).then(|| {
            let radius = count as f64 / std::f64::consts::TAU;
            order.iter().map(|&at| on_circle(at, count).map(|c| c * radius)).collect()
        });
        let layouts = starts.into_iter().flat_map(|mut places: Vec<Point>| {
            (0..rounds[0]).for_each(|_| relax(&mut places, &far, 1.0));
            self.scale(&mut places);
            for round in 0..rounds[1] {
                relax(&mut places, &far, 0.2 * (1.0 - round as f64 / rounds[1] as f64));
                self.give_way(&mut places);
            }
            let turned = self.turn(&places);
            [(0, whole(&turned)), (1, Some(turned))]
        });
        let measured = layouts
            .chain([(2, circle)])
            .filter_map(|(rank, places)| places.map(|places| ((self.faults(&places), rank), places)));
        let ((faults, _), places) = measured.min_by_key(|(worth, _)| *worth)?;
        let least = [0, 1].map(|axis| places.iter().map(|at| at[axis]).fold(f64::INFINITY, f64::min));
        Some((faults, places.iter().map(|[x, y]| [x - least[0], y - least[1]]).collect()))
    }

    /// The number of nodes that links run through in a layout by columns, whose rows are next to each other in the middle
    /// (pictures of `check --plot`) or fill the height (the page).
    pub(super) fn crossed(&self, places: &[InColumn]) -> usize {
        let tallest = places.iter().fold(0.0_f64, |rows, at| rows.max(at[2]));
        let filled = |&[column, row, rows]: &InColumn| [column, (row + 0.5) / rows * tallest];
        let ways: [Vec<Point>; 2] =
            [places.iter().map(centred).collect(), places.iter().map(filled).collect()];
        let all = self.links.iter().flat_map(|&[a, b]| (0..places.len()).map(move |node| [a, b, node]));
        let through = |places: &[Point], [a, b, node]: [usize; 3]| {
            let ([ax, ay], [bx, by], [x, y]) = (places[a], places[b], places[node]);
            let inside = (x - ax) * (x - bx) <= 0.0;
            let at = if ax == bx {
                y.clamp(ay.min(by), ay.max(by))
            } else {
                ay + (by - ay) * (x - ax) / (bx - ax)
            };
            inside && (y - at).abs() < CLEARANCE
        };
        all.filter(|&[a, b, node]| node != a && node != b)
            .filter(|&pair| ways.iter().any(|places| through(places, pair)))
            .count()
    }

    /// The place of each node in a walk in which a node's neighbours follow it.
    fn depth_first(&self) -> Vec<usize> {
        let mut order = vec![usize::MAX; self.near.len()];
        let mut next = 0;
        for start in 0..order.len() {
            let mut waiting = vec![start];
            while let Some(node) = waiting.pop() {
                if order[node] == usize::MAX {
                    order[node] = next;
                    next += 1;
                    let further =
                        self.near[node].iter().rev().copied().filter(|&other| order[other] == usize::MAX);
                    let (leaves, others): (Vec<_>, Vec<_>) =
                        further.partition(|&other| self.near[other].len() == 1);
                    waiting.extend(others.into_iter().chain(leaves)); // the last is the next
                }
            }
        }
        order
    }

    /// The number of links to each node; without a path, more than to any other.
    fn distances(&self, from: usize) -> Vec<f64> {
        let mut far = vec![f64::NAN; self.near.len()];
        far[from] = 0.0;
        let mut waiting = VecDeque::from([from]);
        let mut last = 0.0;
        while let Some(node) = waiting.pop_front() {
            last = far[node];
            for &other in &self.near[node] {
                if far[other].is_nan() {
                    far[other] = last + 1.0;
                    waiting.push_back(other);
                }
            }
        }
        far.iter().map(|&d| if d.is_nan() { last + 2.0 } else { d }).collect()
    }

    /// Makes the mean length of links 1.
    fn scale(&self, places: &mut [Point]) {
        let sum: f64 = self.links.iter().map(|&[a, b]| length(between(places[a], places[b]))).sum();
        let factor = if sum > 0.0 { self.links.len() as f64 / sum } else { 1.0 };
        places.iter_mut().for_each(|at| *at = at.map(|c| c * factor));
    }

    /// Moves nodes away from links and from nodes that are too near.
    fn give_way(&self, places: &mut [Point]) {
        for a in 0..places.len() {
            for b in 0..a {
                let way = between(places[a], places[b]);
                if square(way) < GAP * GAP {
                    let far = length(way);
                    let push = (GAP - far) / 2.0 / far.max(1e-9);
                    for axis in [0, 1] {
                        places[a][axis] -= way[axis] * push;
                        places[b][axis] += way[axis] * push;
                    }
                }
            }
        }
        for &[a, b] in &self.links {
            for node in 0..places.len() {
                if node == a || node == b {
                    continue;
                }
                let (along, way) = to_link(places[node], places[a], places[b]);
                if square(way) < ROOM * ROOM {
                    let far = length(way);
                    let push = (ROOM - far) / 2.0;
                    let aside = if far > 1e-9 {
                        way.map(|c| c / far)
                    } else {
                        let [x, y] = between(places[a], places[b]);
                        let side = if node % 2 == 0 { 1.0 } else { -1.0 } / length([x, y]).max(1e-9);
                        [-y * side, x * side]
                    };
                    for axis in [0, 1] {
                        places[node][axis] -= aside[axis] * push;
                        places[a][axis] += aside[axis] * push * (1.0 - along);
                        places[b][axis] += aside[axis] * push * along;
                    }
                }
            }
        }
    }

    /// The layout turned: links along rows and columns, then data from left to right and wider than high.
    fn turn(&self, places: &[Point]) -> Vec<Point> {
        let angles = self
            .links
            .iter()
            .map(|&[a, b]| between(places[a], places[b]))
            .map(|[x, y]| 4.0 * libm::atan2(y, x));
        let [cos, sin] =
            angles.fold([0.0, 0.0], |[c, s], angle| [c + libm::cos(angle), s + libm::sin(angle)]);
        let back = -libm::atan2(sin, cos) / 4.0;
        let quarter = std::f64::consts::FRAC_PI_2;
        let turned = (0..4).map(|step| {
            let angle = back + quarter * f64::from(step);
            let (cos, sin) = (libm::cos(angle), libm::sin(angle));
            places.iter().map(|[x, y]| [x * cos - y * sin, x * sin + y * cos]).collect::<Vec<Point>>()
        });
        let worth = |places: &[Point]| {
            let ways = self.flows.iter().map(|&[from, to]| between(places[from], places[to]));
            let [right, all] = ways.fold([0.0, 1e-9], |[x, all], way| [x + way[0], all + length(way)]);
            let [width, height] = size(places);
            right / all + (width - height) / (width + height).max(1e-9)
        };
        let best =
            turned.map(|places| (worth(&places), places)).fold(None, |best: Option<(f64, _)>, next| {
                if best.as_ref().is_none_or(|(worth, _)| next.0 > worth + 1e-6) { Some(next) } else { best }
            });
        best.map_or_else(Vec::new, |(_, places)| places)
    }

    fn faults(&self, places: &[Point]) -> Faults {
        let mut near = 0;
        for &[a, b] in &self.links {
            let others = (0..places.len()).filter(|&node| node != a && node != b);
            near += others
                .filter(|&node| square(to_link(places[node], places[a], places[b]).1) < CLEARANCE * CLEARANCE)
                .count();
        }
        let crossing = self.links.iter().enumerate().map(|(first, &[a, b])| {
            let later =
                self.links[first + 1..].iter().filter(|[c, d]| a != *c && a != *d && b != *c && b != *d);
            later.filter(|&&[c, d]| cross([places[a], places[b]], [places[c], places[d]])).count()
        });
        (near, crossing.sum())
    }
}

/// Two dimensions of distances: each the difference of those to two nodes that are far from each other.
fn pivots(far: &[Vec<f64>]) -> Vec<Point> {
    let last = |worth: &dyn Fn(usize) -> f64| {
        (0..far.len()).fold(0, |best, node| if worth(node) > worth(best) { node } else { best })
    };
    let a = last(&|node| far[0][node]);
    let b = last(&|node| far[a][node]);
    let c = last(&|node| far[a][node].min(far[b][node]));
    let d = last(&|node| far[c][node] - (far[a][node] - far[b][node]).abs());
    (0..far.len())
        .map(|node| [(far[a][node] - far[b][node]) / 2.0, (far[c][node] - far[d][node]) / 2.0])
        .collect()
}

/// One step towards the distances of `far`: each node goes `part` of the way to the mean of where the others want it.
fn relax(places: &mut [Point], far: &[Vec<f64>], part: f64) {
    for node in 0..places.len() {
        let (mut sum, mut weights) = ([0.0, 0.0], 0.0);
        for (other, &at) in places.iter().enumerate() {
            if other == node {
                continue;
            }
            let way = between(at, places[node]);
            let nearness = 1.0 / far[node][other];
            let weight = nearness * nearness;
            let stretch = nearness / length(way).max(1e-9); // times the weight
            weights += weight;
            sum[0] += weight * at[0] + way[0] * stretch;
            sum[1] += weight * at[1] + way[1] * stretch;
        }
        if weights > 0.0 {
            for axis in [0, 1] {
                places[node][axis] += part * (sum[axis] / weights - places[node][axis]);
            }
        }
    }
}

/// The layout at whole numbers, if all nodes are near them.
fn whole(places: &[Point]) -> Option<Vec<Point>> {
    let turn = std::f64::consts::TAU;
    let shift = [0, 1].map(|axis| {
        let [cos, sin] = places
            .iter()
            .map(|at| turn * at[axis])
            .fold([0.0, 0.0], |[c, s], angle| [c + libm::cos(angle), s + libm::sin(angle)]);
        libm::atan2(sin, cos) / turn
    });
    let moved: Vec<Point> =
        places.iter().map(|[x, y]| [(x - shift[0]).round(), (y - shift[1]).round()]).collect();
    let near = moved
        .iter()
        .zip(places)
        .all(|(to, at)| (0..2).all(|axis| (to[axis] + shift[axis] - at[axis]).abs() < NEAR_WHOLE));
    near.then_some(moved)
}

/// The place of a node of a column whose middle is at 0.
fn centred(&[column, row, rows]: &InColumn) -> Point {
    [column, row - (rows - 1.0) / 2.0]
}

fn between(from: Point, to: Point) -> Point {
    [to[0] - from[0], to[1] - from[1]]
}

fn square([x, y]: Point) -> f64 {
    x * x + y * y
}

fn length(way: Point) -> f64 {
    square(way).sqrt()
}

fn size(places: &[Point]) -> Point {
    [0, 1].map(|axis| {
        let all = places.iter().map(|at| at[axis]);
        all.clone().fold(f64::NEG_INFINITY, f64::max) - all.fold(f64::INFINITY, f64::min)
    })
}

fn on_circle(at: usize, count: usize) -> Point {
    let angle = std::f64::consts::TAU * at as f64 / count as f64;
    [libm::cos(angle), libm::sin(angle)]
}

/// The nearest point of a link: its place from 0 (at `a`) to 1, and the way there.
fn to_link(node: Point, a: Point, b: Point) -> (f64, Point) {
    let [x, y] = between(a, b);
    let [dx, dy] = between(a, node);
    let along = ((dx * x + dy * y) / square([x, y]).max(1e-9)).clamp(0.0, 1.0);
    (along, [a[0] + along * x - node[0], a[1] + along * y - node[1]])
}

fn cross([a, b]: [Point; 2], [c, d]: [Point; 2]) -> bool {
    let side = |p: Point, q: Point, r: Point| {
        let ([x, y], [u, v]) = (between(p, q), between(p, r));
        x * v - y * u
    };
    side(a, b, c) * side(a, b, d) < 0.0 && side(c, d, a) * side(c, d, b) < 0.0
}
