//! The neighbours of each node: lists that are computed over a grid, and recomputed as nodes move.
//!
//! The cost of a transmission depends on the number of neighbours, and not on the number of nodes.

use super::mobility::{Trajectory, TrajectoryCursor};
use std::collections::BTreeMap;
use units::{Span, Time};

/// The nodes on the plane.
#[derive(Clone)]
pub(super) struct RadioMedium {
    cursors: Vec<TrajectoryCursor>,
    /// The distance beyond which no node senses a signal, m.
    reach: f64,
    /// The distance by which two nodes may approach each other before the lists must be recomputed, m.
    slack: f64,
    /// The lifetime of a list.
    lasts: Span,
    /// The time at which the current lists expire.
    until: Time,
    /// Number of the current grid.
    epoch: u32,
    /// The position of each node when the grid was computed, and the nodes in each cell.
    places: Vec<[f64; 2]>,
    cells: BTreeMap<(i64, i64), Vec<u32>>,
    lists: Vec<Vec<u32>>,
    creations: Vec<u32>,
}

/// Slack over reach.
const SLACK: f64 = 0.1;

impl RadioMedium {
    pub fn new(paths: Vec<Trajectory>, reach: f64) -> RadioMedium {
        let cursors: Vec<TrajectoryCursor> = paths.into_iter().map(TrajectoryCursor::new).collect();
        let fastest = cursors.iter().map(TrajectoryCursor::top_speed).fold(0.0, f64::max);
        let slack = SLACK * reach;
        let lasts = if fastest > 0.0 { slack / (2.0 * fastest) } else { f64::INFINITY };
        let count = cursors.len();
        RadioMedium {
            cursors,
            reach,
            slack,
            lasts: Span::from_seconds(lasts.min(1e6)),
            until: Time::ZERO,
            epoch: 0,
            places: Vec::new(),
            cells: BTreeMap::new(),
            lists: vec![Vec::new(); count],
            creations: vec![0; count],
        }
    }

    /// The position of a node at time `now`, which is not before that of the last call, m.
    #[inline]
    pub fn place(&mut self, node: u32, now: Time) -> [f64; 2] {
        self.cursors[node as usize].at(now)
    }

    /// The nodes within a distance of `node` now, in the order of their numbers, with the squares of their distances,
    /// m². The square of the distance is at most that of the reach.
    #[inline]
    pub fn within(&mut self, node: u32, now: Time, square: f64, near: &mut Vec<(u32, f64)>) {
        if now >= self.until {
            self.make_grid(now);
        }
        if self.creations[node as usize] != self.epoch {
            self.make_list(node);
        }
        let [x, y] = self.place(node, now);
        let list = &self.lists[node as usize];
        near.clear();
        near.resize(list.len(), (0, 0.0));
        // Whether a node is near enough cannot be predicted: each is written, and the next overwrites one that is not.
        let mut count = 0;
        for &other in list {
            let [ox, oy] = self.cursors[other as usize].at(now);
            let (dx, dy) = (ox - x, oy - y);
            let distance = dx * dx + dy * dy;
            near[count] = (other, distance);
            count += usize::from(distance <= square);
        }
        near.truncate(count);
    }

    fn cell(&self, place: [f64; 2]) -> (i64, i64) {
        let side = self.reach + self.slack;
        ((place[0] / side).floor() as i64, (place[1] / side).floor() as i64)
    }

    #[cold]
    fn make_grid(&mut self, now: Time) {
        self.epoch += 1;
        self.until = now + self.lasts;
        self.places = self.cursors.iter_mut().map(|walker| walker.at(now)).collect();
        self.cells.clear();
        for node in 0..self.places.len() {
            let cell = self.cell(self.places[node]);
            self.cells.entry(cell).or_default().push(node as u32);
        }
    }

    #[cold]
    fn make_list(&mut self, node: u32) {
        let here = self.places[node as usize];
        let (x, y) = self.cell(here);
        let side = self.reach + self.slack;
        let mut list = std::mem::take(&mut self.lists[node as usize]);
        list.clear();
        for cell in (x - 1..=x + 1).flat_map(|x| (y - 1..=y + 1).map(move |y| (x, y))) {
            for &other in self.cells.get(&cell).into_iter().flatten() {
                let place = self.places[other as usize];
                let (dx, dy) = (place[0] - here[0], place[1] - here[1]);
                if other != node && dx * dx + dy * dy <= side * side {
                    list.push(other);
                }
            }
        }
        list.sort_unstable();
        self.lists[node as usize] = list;
        self.creations[node as usize] = self.epoch;
    }
}

#[cfg(test)]
mod tests {
    use super::super::mobility::{RandomWaypoint, Start};
    use super::*;
    use engine::Stream;

    #[test]
    fn nobody_in_reach_is_ever_missing() {
        let model = RandomWaypoint {
            area: [3000.0, 2000.0],
            speed: [1.0, 40.0],
            pause: Span::ZERO,
            start: Start::Steady,
        };
        let mut stream = Stream::new(1, "mobility", "test");
        let end = Time::ZERO + Span::from_seconds(60.0);
        let paths: Vec<Trajectory> = (0..80).map(|_| model.trajectory(&mut stream, end)).collect();
        let mut medium = RadioMedium::new(paths.clone(), 550.0);
        for step in 0..300u64 {
            let (now, node) = (Time::ZERO + Span::from_ms(200 * step), (step * 7 % 80) as u32);
            let mut near = Vec::new();
            medium.within(node, now, 550.0 * 550.0, &mut near);
            let list: Vec<u32> = near.iter().map(|(other, _)| *other).collect();
            let here = paths[node as usize].at(now);
            let near = |k: &u32| {
                let place = paths[*k as usize].at(now);
                let (dx, dy) = (place[0] - here[0], place[1] - here[1]);
                *k != node && dx * dx + dy * dy <= 550.0 * 550.0
            };
            assert_eq!((0..80).filter(near).collect::<Vec<u32>>(), list, "at {now:?}");
            assert!(medium.lists[node as usize].len() < 79, "a list contains all nodes");
        }
    }
}
