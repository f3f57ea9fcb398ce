//! Deadlines that change often. An update costs one store in most cases, and the search for the first deadline costs a
//! few short scans.
//!
//! While the medium is busy, every frame that a waiting station senses postpones the backoff deadline of the station.
//! Each deadline is an entry of an array. Two more arrays contain lower bounds: one bound for each group of 16
//! deadlines, and one for each group of 16 such groups. A postponed deadline does not change the bounds.
//! [`DeadlineTable::first`] corrects them. Deadlines at the same time come in the order of their indices.

use units::Time;

/// Deadlines by place.
#[derive(Clone, Debug, Default)]
pub(super) struct DeadlineTable {
    /// Picoseconds; `NEVER` for none.
    at: Vec<[u64; GROUP]>,
    /// Not later than the first of each group.
    groups: Vec<[u64; GROUP]>,
    /// Not later than the first of each group of groups.
    tops: Vec<u64>,
}

const GROUP: usize = 16;
const NEVER: u64 = u64::MAX;

impl DeadlineTable {
    pub fn new(places: usize) -> DeadlineTable {
        let tops = places.div_ceil(GROUP * GROUP).max(1);
        let never = [NEVER; GROUP];
        DeadlineTable { at: vec![never; tops * GROUP], groups: vec![never; tops], tops: vec![NEVER; tops] }
    }

    #[inline]
    pub fn set(&mut self, place: usize, at: Time) {
        let at = at.ps();
        let number = place / GROUP;
        self.at[number][place % GROUP] = at;
        let group = &mut self.groups[number / GROUP][number % GROUP];
        if at < *group {
            *group = at;
            let top = &mut self.tops[number / GROUP];
            *top = at.min(*top);
        }
    }

    /// Removes the deadline of a place.
    #[inline]
    pub fn remove(&mut self, place: usize) {
        self.at[place / GROUP][place % GROUP] = NEVER;
    }

    /// No deadline comes before this.
    pub fn bound(&self) -> Time {
        Time::from_ps(self.first_top().1)
    }

    fn first_top(&self) -> (usize, u64) {
        self.tops.iter().copied().enumerate().reduce(earlier).unwrap_or((0, NEVER))
    }

    /// The first deadline and its place; none if there is none.
    #[inline]
    pub fn first(&mut self) -> Option<(Time, usize)> {
        loop {
            let (top, bound) = self.first_top();
            if bound == NEVER {
                return None;
            }
            let (place, earliest) = self.first_within(top);
            self.tops[top] = earliest;
            if earliest == bound || self.first_top().0 == top {
                return (earliest != NEVER).then_some((Time::from_ps(earliest), place));
            }
        }
    }

    /// The first deadline of the groups of `top`, and its place. Corrects their bounds.
    #[inline]
    fn first_within(&mut self, top: usize) -> (usize, u64) {
        loop {
            let (group, bound) = first_of(&self.groups[top]);
            let number = top * GROUP + group;
            let (place, earliest) = first_of(&self.at[number]);
            if earliest == bound {
                return (number * GROUP + place, earliest);
            }
            self.groups[top][group] = earliest;
        }
    }
}

#[inline]
fn earlier(a: (usize, u64), b: (usize, u64)) -> (usize, u64) {
    if b.1 < a.1 { b } else { a }
}

/// The first deadline of a group, and its index in it. Four comparisons depend on each other, not 16.
#[inline]
fn first_of(group: &[u64; GROUP]) -> (usize, u64) {
    let pairs: [_; GROUP / 2] =
        std::array::from_fn(|i| earlier((2 * i, group[2 * i]), (2 * i + 1, group[2 * i + 1])));
    let fours: [_; GROUP / 4] = std::array::from_fn(|i| earlier(pairs[2 * i], pairs[2 * i + 1]));
    earlier(earlier(fours[0], fours[1]), earlier(fours[2], fours[3]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Stream;

    #[test]
    fn the_first_is_always_the_first() {
        let places = 700;
        let mut deadlines = DeadlineTable::new(places);
        let mut plain = vec![NEVER; places];
        let mut stream = Stream::new(1, "deadlines", "test");
        assert_eq!(deadlines.first(), None);
        for _ in 0..20_000 {
            let place = (stream.uniform() * places as f64) as usize;
            let at = if stream.uniform() < 0.3 { NEVER } else { (stream.uniform() * 50.0) as u64 };
            if at == NEVER {
                deadlines.remove(place);
            } else {
                deadlines.set(place, Time::from_ps(at));
            }
            plain[place] = at;
            let expected = plain.iter().copied().enumerate().reduce(earlier).unwrap();
            let earliest = deadlines.first().map_or((0, NEVER), |(at, place)| (place, at.ps()));
            assert_eq!(earliest, if expected.1 == NEVER { (0, NEVER) } else { expected });
        }
    }
}
