//! Items in flight, kept in a few first-in-first-out lanes; only each lane's head is in the global order.
//!
//! A link delivers in order, so each link could have a queue of its own. Then every link would have an entry in the
//! structure that finds the next event. Links with the same rate and delay that are mostly idle produce arrival times
//! that do not decrease from push to push, so they can share one queue. An item goes into the lane whose last item is
//! the latest of those that are not later than the item. If no lane fits, a new lane is added. The number of lanes is
//! at most the number of links with a backlog at the same time, plus the number of kinds of idle links: a few. Memory
//! accesses within a lane are sequential. docs/adr/0001 has the measurement behind this choice.

use crate::{EMPTY, Key, OTHERS, Tie, key};
use units::Time;

/// The lane that the last item of a source went into. A wrong hint costs a search and does not change the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneHint {
    lane: u8,
    repeats: bool,
}

impl LaneHint {
    /// The initial hint: sources with the same `class` start with the same lane.
    pub fn new(class: usize) -> LaneHint {
        LaneHint { lane: (class % FIRST_LANES) as u8, repeats: false }
    }

    /// Sets whether the next item of the source has the time and the tie of the last one, which it must follow.
    #[inline]
    pub fn set_repeats(&mut self, repeats: bool) {
        self.repeats = repeats;
    }
}

#[derive(Clone, Copy)]
struct Entry<T> {
    key: Key,
    item: T,
}

#[derive(Clone)]
struct Lane<T> {
    ring: Vec<Entry<T>>,
    head: usize,
    len: usize,
}

/// Lanes from the start.
const FIRST_LANES: usize = 3;
/// More lanes cost a longer search than the calendar (docs/adr/0001).
pub(crate) const MAX_LANES: usize = 63;
/// Numbers of lanes, and [`OTHERS`].
const PLACES: usize = OTHERS + 1;
/// Of so many items of sources whose last item fitted into no lane one looks for a lane.
const SEARCHES: u32 = 8;
/// A ring of this many items does not fit into the L1 and L2 caches.
const LARGE: usize = 4096;

/// The lanes, with the time of each one's last item.
#[derive(Clone)]
pub(crate) struct Lanes<T> {
    lanes: Vec<Lane<T>>,
    /// Time of the last item of each lane; zero when empty, the latest time for places without a lane.
    tails: Box<[u64; PLACES]>,
    /// Items that [`Lanes::choose`] has given no lane without a search.
    unsearched: u32,
}

impl<T: Copy> Lanes<T> {
    pub(crate) fn new() -> Lanes<T> {
        let mut lanes = Lanes { lanes: Vec::new(), tails: Box::new([u64::MAX; PLACES]), unsearched: 0 };
        for _ in 0..FIRST_LANES {
            lanes.open();
        }
        lanes
    }

    fn open(&mut self) {
        self.tails[self.lanes.len()] = 0;
        self.lanes.push(Lane { ring: Vec::new(), head: 0, len: 0 });
    }

    pub(crate) fn count(&self) -> usize {
        self.lanes.len()
    }

    /// Bytes that the next growth of a lane allocates: the largest over the lanes that are at least three quarters
    /// full.
    pub(crate) fn growth(&self) -> usize {
        let soon = self.lanes.iter().filter(|lane| 4 * lane.len >= 3 * lane.ring.len());
        2 * size_of::<Entry<T>>() * soon.map(|lane| lane.ring.len()).max().unwrap_or(0)
    }

    /// The lane for an item at `at`: the hinted one if it fits, else the best fit, else a new one. Of items with one tie that
    /// in the lane with the smaller number comes first, so an item that repeats the tie of the last one goes into no lane
    /// before that of the last one.
    #[inline]
    pub(crate) fn choose(&mut self, at: Time, tie: Tie, hint: &mut LaneHint) -> usize {
        let hinted = hint.lane as usize;
        if self.tails[hinted] < at.ps() {
            return hinted;
        }
        self.search(at, tie, hint)
    }

    #[cold]
    fn search(&mut self, at: Time, tie: Tie, hint: &mut LaneHint) -> usize {
        let fits = |lane: usize, tail: u64| {
            tail < at.ps() || tail == at.ps() && self.lanes[lane].last() <= key(at, tie, lane)
        };
        let hinted = hint.lane as usize;
        if hinted == OTHERS {
            // Most items of such a source fit into no lane, and one that repeats the last one must follow it.
            self.unsearched = self.unsearched.wrapping_add(1);
            if hint.repeats || !self.unsearched.is_multiple_of(SEARCHES) {
                return OTHERS;
            }
        } else if fits(hinted, self.tails[hinted]) {
            return hinted;
        }
        let mut best = None;
        let lanes = self.tails[..self.lanes.len()].iter().enumerate();
        for (lane, &tail) in lanes.skip(if hint.repeats { hinted } else { 0 }) {
            if fits(lane, tail) && best.is_none_or(|(_, latest)| tail > latest) {
                best = Some((lane, tail));
            }
        }
        let lane = match best {
            Some((lane, _)) => lane,
            None if self.lanes.len() < MAX_LANES => {
                self.open();
                self.lanes.len() - 1
            }
            None => OTHERS,
        };
        hint.lane = lane as u8;
        lane
    }

    /// Adds an item at the end of `lane`. Returns a reference to it, and its key if it is now the head of the lane.
    #[inline(always)]
    pub(crate) fn push(&mut self, number: usize, at: Time, tie: Tie, item: &T) -> (&mut T, Option<Key>) {
        debug_assert!(self.tails[number] <= at.ps());
        let lane = &mut self.lanes[number];
        self.tails[number] = at.ps();
        if lane.len == lane.ring.len() {
            lane.grow(Entry { key: EMPTY, item: *item });
        }
        let key = key(at, tie, number);
        let mask = lane.ring.len() - 1;
        let index = (lane.head + lane.len) & mask;
        if mask >= LARGE {
            crate::prefetch(&lane.ring, (index + 8) & mask); // the next stores would miss the cache
        }
        lane.len += 1;
        let head = (lane.len == 1).then_some(key);
        let entry = &mut lane.ring[index];
        entry.key = key;
        entry.item = *item;
        (&mut entry.item, head)
    }

    /// Removes the head of `lane`. Returns its index, where it stays until the next push, and the key of the next item, or
    /// `EMPTY`.
    #[inline]
    pub(crate) fn pop(&mut self, lane: usize) -> (usize, Key) {
        let number = lane;
        let lane = &mut self.lanes[lane];
        debug_assert!(lane.len > 0);
        let index = lane.head;
        lane.head = (lane.head + 1) & (lane.ring.len() - 1);
        lane.len -= 1;
        if lane.len == 0 {
            self.tails[number] = 0;
            return (index, EMPTY);
        }
        (index, lane.ring[lane.head].key)
    }

    /// The item at an index of the ring of `lane`.
    #[inline]
    pub(crate) fn item(&self, lane: usize, index: usize) -> &T {
        &self.lanes[lane].ring[index].item
    }

    /// The item `ahead` places behind the head of `lane`; `None` if the lane is shorter.
    #[inline]
    pub(crate) fn peek(&self, lane: usize, ahead: usize) -> Option<&T> {
        let lane = &self.lanes[lane];
        (ahead < lane.len).then(|| &lane.ring[(lane.head + ahead) & (lane.ring.len() - 1)].item)
    }

    #[inline]
    pub(crate) fn prefetch(&self, lane: usize, ahead: usize) {
        let lane = &self.lanes[lane];
        crate::prefetch(&lane.ring, (lane.head + ahead) & lane.ring.len().wrapping_sub(1));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.lanes.iter().flat_map(|lane| {
            (0..lane.len).map(|i| {
                let entry = &lane.ring[(lane.head + i) & (lane.ring.len() - 1)];
                (entry.key, &entry.item)
            })
        })
    }
}

impl<T: Copy> Lane<T> {
    /// The key of the last item; zero if there is none.
    fn last(&self) -> Key {
        match self.len {
            0 => 0,
            len => self.ring[(self.head + len - 1) & (self.ring.len() - 1)].key,
        }
    }

    #[cold]
    fn grow(&mut self, filler: Entry<T>) {
        let mut ring = crate::large_vec((self.ring.len() * 2).max(16));
        ring.extend((0..self.len).map(|i| self.ring[(self.head + i) & (self.ring.len() - 1)]));
        ring.resize((self.ring.len() * 2).max(16), filler);
        self.ring = ring;
        self.head = 0;
    }
}
