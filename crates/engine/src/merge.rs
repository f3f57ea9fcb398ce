//! Items with times in one total order.

use crate::heap::Heap;
use crate::lanes::{LaneHint, Lanes, MAX_LANES};
use crate::{EMPTY, FIRST_LANE, Key, PLACE_BITS, time_of};
use core::hint::select_unpredictable;
use units::Time;

/// Items in the order of their times; items of one time in the order in which they were added.
///
/// The leaves of a winner tree are the heads of the lanes, and the earlier of the first overflow item and a key of the owner.
/// The root of the tree is the first key. Adding an item to a lane that is not empty does not change the tree.
#[derive(Clone)]
pub struct Merge<T> {
    lanes: Lanes<T>,
    /// Items that fit into no lane (only tests reach this case): a heap of keys over a slab.
    overflow: Heap,
    overflow_items: Vec<Option<T>>,
    free: Vec<u32>,
    /// The key of the owner.
    other: Key,
    /// Winner tree: `tree[1]` is the least key, leaves start at `leaves`, a power of two.
    tree: Box<[Key; TREE]>,
    leaves: usize,
    pub(crate) order: u64,
    last_lane: usize,
}

/// Leaf of the earlier of the owner's key and the first overflow item, and leaf of the first lane.
const OTHERS: usize = 0;
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
    pub fn new(lanes: usize) -> Merge<T> {
        let lanes = Lanes::new(lanes);
        let leaves = (LANES + lanes.count()).next_power_of_two();
        Merge {
            lanes,
            overflow: Heap::default(),
            overflow_items: Vec::new(),
            free: Vec::new(),
            other: EMPTY,
            tree: Box::new([EMPTY; TREE]),
            leaves,
            order: 0,
            last_lane: 0,
        }
    }

    /// Adds a copy of `item` at `at`. `edit` changes the copy in place.
    #[inline(always)] // otherwise the item is copied twice
    pub fn push(&mut self, at: Time, item: &T, hint: &mut LaneHint, edit: impl FnOnce(&mut T)) {
        let before = self.lanes.count();
        let lane = self.lanes.choose(at, hint);
        if lane == usize::MAX {
            let mut item = *item;
            edit(&mut item);
            return self.push_overflow(at, item);
        }
        if lane >= before {
            self.rebuild();
        }
        let order = self.order;
        self.order += 1;
        let (item, head) = self.lanes.push(lane, at, order, item);
        edit(item);
        if let Some(key) = head {
            self.update(LANES + lane, key);
        }
    }

    #[cold]
    fn push_overflow(&mut self, at: Time, item: T) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.overflow_items.push(None);
            self.overflow_items.len() as u32 - 1
        });
        self.overflow_items[slot as usize] = Some(item);
        self.overflow.push(crate::key(at, self.order, slot));
        self.order += 1;
        self.update_others();
    }

    /// The time of the first item; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn first_at(&self) -> Time {
        time_of(self.first())
    }

    /// Removes the first item if its time is at most `until`, and returns it with its time.
    #[inline]
    pub fn pop(&mut self, until: Time) -> Option<(Time, T)> {
        let first = self.first();
        let at = time_of(first);
        if at > until || first == EMPTY {
            return None;
        }
        let item = match Merge::<T>::lane_of(first) {
            Some(lane) => *self.pop_lane(lane),
            None => self.pop_overflow(first)?,
        };
        Some((at, item))
    }

    /// The first key.
    #[inline]
    pub(crate) fn first(&self) -> Key {
        self.tree[1]
    }

    /// The number of the lane whose head has this key, if it is one.
    #[inline]
    pub(crate) fn lane_of(key: Key) -> Option<usize> {
        let place = key as u32 & ((1 << PLACE_BITS) - 1);
        (place >= FIRST_LANE).then(|| (place - FIRST_LANE) as usize)
    }

    /// Removes the head of a lane that is not empty; it stays where it is until the next push.
    #[inline]
    pub(crate) fn pop_lane(&mut self, lane: usize) -> &T {
        self.last_lane = lane;
        let (index, next) = self.lanes.pop(lane);
        self.update(LANES + lane, next);
        self.lanes.item(lane, index)
    }

    /// Removes the first overflow item, whose key is `first`.
    #[cold]
    pub(crate) fn pop_overflow(&mut self, first: Key) -> Option<T> {
        let slot = first as u32 & ((1 << PLACE_BITS) - 1);
        self.overflow.pop();
        self.free.push(slot);
        let item = self.overflow_items[slot as usize].take();
        self.update_others();
        item
    }

    /// Sets the key of the owner.
    #[inline]
    pub(crate) fn set_other(&mut self, key: Key) {
        self.other = key;
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
    pub fn iter(&self) -> impl Iterator<Item = (Time, &T)> {
        let overflow_items = self.overflow_items.iter().flatten().map(|item| (Time::NEVER, item));
        self.lanes.iter().map(|(key, item)| (time_of(key), item)).chain(overflow_items)
    }

    #[inline]
    fn update_others(&mut self) {
        self.update(OTHERS, self.other.min(self.overflow.first()));
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
