//! Items with times in one total order.

use crate::calendar::Calendar;
use crate::lanes::{LaneHint, Lanes, MAX_LANES};
use crate::{EMPTY, Key, OTHERS, Tie, key, time_of};
use core::hint::select_unpredictable;
use units::Time;

/// Items in the order of their times, and of their ties; among them the first timer.
///
/// The leaves of a winner tree are the heads of the lanes, and the earlier of the first overflow item and the first timer.
/// The root of the tree is the first key. Adding an item to a lane that is not empty does not change the tree.
#[derive(Clone)]
pub(crate) struct Merge<T> {
    lanes: Lanes<T>,
    /// Items that fit into no lane, where many links have a backlog.
    overflow: Calendar<T>,
    timer: Key,
    /// Winner tree: node 1 has the least key, leaves start at `leaves`, a power of two. The first leaf is not a lane.
    tree: Box<Tree>,
    leaves: usize,
    last_lane: usize,
    /// A lane that has become empty and whose leaf still has the key of its last item: often the next item goes there, and the
    /// tree changes once. [`NONE`] if there is none.
    emptied: usize,
}

const NONE: usize = usize::MAX;
/// The first leaf of a lane.
const LANES: usize = 1;
/// Nodes of a tree with the maximum number of lanes. An index is taken modulo this power of two, which needs no check.
const TREE: usize = 2 * (LANES + MAX_LANES).next_power_of_two();

/// The nodes of the winner tree: the halves of their keys lie apart, so that an address needs no multiplication.
#[derive(Clone)]
struct Tree {
    high: [u64; TREE],
    low: [u64; TREE],
}

impl Tree {
    fn empty() -> Box<Tree> {
        Box::new(Tree { high: [u64::MAX; TREE], low: [u64::MAX; TREE] })
    }

    #[inline]
    fn key(&self, node: usize) -> Key {
        (self.high[node % TREE] as Key) << 64 | self.low[node % TREE] as Key
    }

    /// Sets the key of a leaf and recomputes the winners above it. Which key is the smaller one cannot be predicted, so both
    /// halves are selected without a branch. (A comparison of whole keys becomes their minimum, and that a branch.)
    #[inline]
    fn set(&mut self, leaf: usize, key: Key) {
        let mut at = leaf % TREE;
        let (mut high, mut low) = ((key >> 64) as u64, key as u64);
        (self.high[at], self.low[at]) = (high, low);
        while at > 1 {
            let other = (at ^ 1) % TREE;
            let (other_high, other_low) = (self.high[other], self.low[other]);
            if other_high == high {
                low = lower_of_equal(low, other_low);
            } else {
                let less = other_high < high;
                high = select_unpredictable(less, other_high, high);
                low = select_unpredictable(less, other_low, low);
            }
            at /= 2;
            (self.high[at], self.low[at]) = (high, low);
        }
    }
}

/// The lower half of the smaller of two keys with one time. That this is cold tells the compiler that times seldom are equal.
#[cold]
#[inline(always)]
fn lower_of_equal(a: u64, b: u64) -> u64 {
    a.min(b)
}

impl<T: Copy> Merge<T> {
    /// No items and no timer.
    pub(crate) fn new() -> Merge<T> {
        let lanes = Lanes::new();
        let leaves = (LANES + lanes.count()).next_power_of_two();
        Merge {
            lanes,
            overflow: Calendar::new(),
            timer: EMPTY,
            tree: Tree::empty(),
            leaves,
            last_lane: 0,
            emptied: NONE,
        }
    }

    /// Adds a copy of `item` at `at`. `edit` changes the copy in place.
    #[inline(always)] // otherwise the item is copied twice
    pub(crate) fn push(
        &mut self,
        at: Time,
        tie: Tie,
        item: &T,
        hint: &mut LaneHint,
        edit: impl FnOnce(&mut T),
    ) {
        let before = self.lanes.count();
        let lane = self.lanes.choose(at, tie, hint);
        if lane == OTHERS {
            let mut item = *item;
            edit(&mut item);
            return self.push_overflow(at, tie, item);
        }
        if lane >= before {
            self.rebuild();
        }
        let (item, head) = self.lanes.push(lane, at, tie, item);
        edit(item);
        if let Some(key) = head {
            if self.emptied == lane {
                self.emptied = NONE;
            }
            self.update(LANES + lane, key);
        }
    }

    #[inline(never)] // keeps the path without it short
    fn push_overflow(&mut self, at: Time, tie: Tie, item: T) {
        let key = key(at, tie, OTHERS);
        self.overflow.push(key, item);
        if self.overflow.first() == Some(key) {
            self.update_others();
        }
    }

    /// The first key.
    #[inline]
    pub(crate) fn first(&mut self) -> Key {
        if self.emptied != NONE {
            self.update(LANES + self.emptied, EMPTY);
            self.emptied = NONE;
        }
        self.tree.key(1)
    }

    /// The first key, without a change of the tree: slower than [`Merge::first`].
    pub(crate) fn peek(&self) -> Key {
        let stale = self.emptied.saturating_add(LANES);
        let leaves = (0..self.leaves).filter(|leaf| *leaf != stale);
        leaves.map(|leaf| self.tree.key(self.leaves + leaf)).min().unwrap_or(EMPTY)
    }

    /// The number of the lane whose head has this key, if it is one.
    #[inline]
    pub(crate) fn lane_of(key: Key) -> Option<usize> {
        let place = key as usize & OTHERS;
        (place != OTHERS).then_some(place)
    }

    /// Removes the head of a lane that is not empty; it stays where it is until the next push.
    #[inline]
    pub(crate) fn pop_lane(&mut self, lane: usize) -> &T {
        self.last_lane = lane;
        let (index, next) = self.lanes.pop(lane);
        if next == EMPTY {
            self.emptied = lane;
        } else {
            self.update(LANES + lane, next);
        }
        self.lanes.item(lane, index)
    }

    /// Removes the first overflow item.
    #[inline(never)] // keeps the path without it short
    pub(crate) fn pop_overflow(&mut self) -> Option<T> {
        self.last_lane = OTHERS;
        let first = self.overflow.pop();
        self.update_others();
        first
    }

    /// The key of the first timer.
    #[inline]
    pub(crate) fn timer(&self) -> Key {
        self.timer
    }

    /// Sets the time of the first timer, which comes before the items of that time; none for [`Time::NEVER`].
    #[inline]
    pub(crate) fn set_timer(&mut self, at: Time) {
        self.timer = if at == Time::NEVER { EMPTY } else { key(at, Tie::counted(0), OTHERS) };
        self.update_others();
    }

    /// The item `places` behind the head of the lane of the last item, if any. Use it for prefetching only.
    #[inline]
    pub(crate) fn ahead(&self, places: usize) -> Option<&T> {
        if self.last_lane == OTHERS {
            self.overflow.ahead(places)
        } else {
            self.lanes.peek(self.last_lane, places)
        }
    }

    /// Prefetches the item that [`Merge::ahead`] reads.
    #[inline]
    pub(crate) fn prefetch_ahead(&self, places: usize) {
        if self.last_lane == OTHERS {
            self.overflow.prefetch(places);
        } else {
            self.lanes.prefetch(self.last_lane, places);
        }
    }

    /// Bytes that the next reallocation of a lane takes if many more items are added.
    pub(crate) fn growth(&self) -> usize {
        self.lanes.growth().max(self.overflow.growth())
    }

    /// Every item with its time, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Time, &T)> {
        self.lanes.iter().chain(self.overflow.iter()).map(|(key, item)| (time_of(key), item))
    }

    #[inline]
    fn update_others(&mut self) {
        self.update(0, self.timer.min(self.overflow.first().unwrap_or(EMPTY)));
    }

    #[inline]
    fn update(&mut self, leaf: usize, key: Key) {
        self.tree.set(self.leaves + leaf, key);
    }

    #[cold]
    fn rebuild(&mut self) {
        let leaves = (LANES + self.lanes.count()).next_power_of_two();
        if self.leaves == leaves {
            return;
        }
        let old: Vec<Key> = (self.leaves..2 * self.leaves).map(|leaf| self.tree.key(leaf)).collect();
        self.tree = Tree::empty();
        self.leaves = leaves;
        for (leaf, key) in old.into_iter().enumerate() {
            self.update(leaf, key);
        }
    }
}
