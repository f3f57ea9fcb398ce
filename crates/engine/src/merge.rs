//! Items with times in one total order.

use crate::lanes::{LaneHint, Lanes, MAX_LANES};
use crate::{EMPTY, Key, OTHERS, Tie, key, time_of};
use core::hint::select_unpredictable;
use std::collections::BTreeMap;
use units::Time;

/// Items in the order of their times, and of their ties; items with equal ones in any order.
///
/// The leaves of a winner tree are the heads of the lanes, and the earlier of the first overflow item and a key of the owner.
/// The root of the tree is the first key. Adding an item to a lane that is not empty does not change the tree.
#[derive(Clone)]
pub(crate) struct Merge<T> {
    lanes: Lanes<T>,
    /// Items that fit into no lane (only tests reach this case), with a number that makes keys different.
    overflow: BTreeMap<(Key, u64), T>,
    overflowed: u64,
    /// The key of the owner.
    owner: Key,
    /// Winner tree: `tree[1]` is the least key, leaves start at `leaves`, a power of two. The first leaf is not a lane.
    tree: Box<[Key; TREE]>,
    leaves: usize,
    last_lane: usize,
}

/// The first leaf of a lane.
const LANES: usize = 1;
/// Nodes of a tree with the maximum number of lanes. An index is taken modulo this power of two, which needs no check.
const TREE: usize = 2 * (LANES + MAX_LANES).next_power_of_two();

/// The smaller key. Which one it is cannot be predicted, so both halves are selected without a branch.
#[inline]
fn earlier(a: Key, b: Key) -> Key {
    let halves = |key: Key| ((key >> 64) as u64, key as u64);
    let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
    let less = b < a;
    let high = select_unpredictable(less, b_high, a_high);
    let low = select_unpredictable(less, b_low, a_low);
    (high as Key) << 64 | low as Key
}

impl<T: Copy> Merge<T> {
    /// No items. `lanes` lanes are there from the start; more are added when they are needed.
    pub(crate) fn new(lanes: usize) -> Merge<T> {
        let lanes = Lanes::new(lanes);
        let leaves = (LANES + lanes.count()).next_power_of_two();
        Merge {
            lanes,
            overflow: BTreeMap::new(),
            overflowed: 0,
            owner: EMPTY,
            tree: Box::new([EMPTY; TREE]),
            leaves,
            last_lane: 0,
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
        if lane == usize::MAX {
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
            self.update(LANES + lane, key);
        }
    }

    #[cold]
    fn push_overflow(&mut self, at: Time, tie: Tie, item: T) {
        self.overflow.insert((key(at, tie, OTHERS), self.overflowed), item);
        self.overflowed += 1;
        self.update_others();
    }

    /// The first key.
    #[inline]
    pub(crate) fn first(&self) -> Key {
        self.tree[1]
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
        self.update(LANES + lane, next);
        self.lanes.item(lane, index)
    }

    /// Removes the first overflow item.
    #[cold]
    pub(crate) fn pop_overflow(&mut self) -> Option<T> {
        let first = self.overflow.pop_first();
        self.update_others();
        first.map(|(_, item)| item)
    }

    /// The key of the owner.
    #[inline]
    pub(crate) fn owner(&self) -> Key {
        self.owner
    }

    /// Sets the key of the owner: at `at`, before the items of that time; none for [`Time::NEVER`].
    #[inline]
    pub(crate) fn set_owner(&mut self, at: Time) {
        self.owner = if at == Time::NEVER { EMPTY } else { key(at, Tie::counted(0), OTHERS) };
        self.update_others();
    }

    /// The item `places` behind the head of the lane of the last item, if any. Use it for prefetching only.
    #[inline]
    pub(crate) fn ahead(&self, places: usize) -> Option<&T> {
        self.lanes.peek(self.last_lane, places)
    }

    /// Prefetches the item that [`Merge::ahead`] reads.
    #[inline]
    pub(crate) fn prefetch_ahead(&self, places: usize) {
        self.lanes.prefetch(self.last_lane, places);
    }

    /// Bytes that the next reallocation of a lane takes if many more items are added.
    pub(crate) fn growth(&self) -> usize {
        self.lanes.growth()
    }

    /// Every item with its time, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Time, &T)> {
        let overflow = self.overflow.iter().map(|((key, _), item)| (*key, item));
        self.lanes.iter().chain(overflow).map(|(key, item)| (time_of(key), item))
    }

    #[inline]
    fn update_others(&mut self) {
        let overflow = self.overflow.first_key_value().map_or(EMPTY, |((key, _), _)| *key);
        self.update(0, self.owner.min(overflow));
    }

    /// Sets the key of a leaf and recomputes the winners above it, without branches that cannot be predicted.
    #[inline]
    fn update(&mut self, leaf: usize, key: Key) {
        let tree = &mut *self.tree;
        let mut at = self.leaves + leaf;
        let mut winner = key;
        tree[at % TREE] = winner;
        while at > 1 {
            let other = tree[(at ^ 1) % TREE];
            winner = earlier(winner, other);
            at /= 2;
            tree[at % TREE] = winner;
        }
    }

    #[cold]
    fn rebuild(&mut self) {
        let leaves = (LANES + self.lanes.count()).next_power_of_two();
        if self.leaves == leaves {
            return;
        }
        let old = self.tree[self.leaves..2 * self.leaves].to_vec();
        *self.tree = [EMPTY; TREE];
        self.leaves = leaves;
        for (leaf, key) in old.into_iter().enumerate() {
            self.update(leaf, key);
        }
    }
}
