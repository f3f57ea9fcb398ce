//! Deadlines that change often. An update costs one store in most cases, and the search for the first deadline costs a
//! few short scans.
//!
//! While the medium is busy, every frame that a waiting station senses postpones the backoff deadline of the station.
//! Each deadline is an entry of an array. Two more arrays contain lower bounds: one bound for each group of 16
//! deadlines, and one for each group of 16 such groups. A postponed deadline does not change the bounds.
//! [`Deadlines::first`] corrects them. Deadlines at the same time come in the order of their indices.

use units::Time;

/// Deadlines by place.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadlines {
    /// Picoseconds; `NEVER` for none. The length is a multiple of a group.
    at: Vec<u64>,
    /// Not later than the first of each group.
    groups: Vec<u64>,
    /// Not later than the first of each group of groups.
    tops: Vec<u64>,
}

const GROUP: usize = 16;
const NEVER: u64 = u64::MAX;

impl Deadlines {
    pub fn new(places: usize) -> Deadlines {
        let tops = places.div_ceil(GROUP * GROUP).max(1);
        let (groups, at) = (tops * GROUP, tops * GROUP * GROUP);
        Deadlines { at: vec![NEVER; at], groups: vec![NEVER; groups], tops: vec![NEVER; tops] }
    }

    #[inline]
    pub fn set(&mut self, place: usize, at: Time) {
        let at = at.ps();
        self.at[place] = at;
        let group = &mut self.groups[place / GROUP];
        if at < *group {
            *group = at;
            let top = &mut self.tops[place / (GROUP * GROUP)];
            *top = at.min(*top);
        }
    }

    /// No deadline comes before this.
    pub fn bound(&self) -> Time {
        Time::from_ps(least(&self.tops).1)
    }

    /// The first deadline and its place; none if there is none.
    #[inline]
    pub fn first(&mut self) -> Option<(Time, usize)> {
        loop {
            let (top, bound) = least(&self.tops);
            if bound == NEVER {
                return None;
            }
            let begin = top * GROUP;
            let (group, second) = least(&self.groups[begin..begin + GROUP]);
            if second != bound {
                self.tops[top] = second;
                continue;
            }
            let begin = (begin + group) * GROUP;
            let (place, found) = least(&self.at[begin..begin + GROUP]);
            if found == second {
                return Some((Time::from_ps(found), begin + place));
            }
            self.groups[begin / GROUP] = found;
        }
    }
}

#[inline]
fn least(values: &[u64]) -> (usize, u64) {
    let mut best = (0, NEVER);
    for (place, &value) in values.iter().enumerate() {
        if value < best.1 {
            best = (place, value);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Stream;

    #[test]
    fn the_first_is_always_the_first() {
        let places = 700;
        let mut deadlines = Deadlines::new(places);
        let mut plain = vec![NEVER; places];
        let mut stream = Stream::new(1, "deadlines", "test");
        assert_eq!(deadlines.first(), None);
        for _ in 0..20_000 {
            let place = (stream.uniform() * places as f64) as usize;
            let at = if stream.uniform() < 0.3 { NEVER } else { (stream.uniform() * 50.0) as u64 };
            plain[place] = at;
            deadlines.set(place, Time::from_ps(at));
            let expected = least(&plain);
            let found = deadlines.first().map_or((0, NEVER), |(at, place)| (place, at.ps()));
            assert_eq!(found.1, expected.1);
            assert_eq!(plain[found.0], found.1);
        }
    }
}
