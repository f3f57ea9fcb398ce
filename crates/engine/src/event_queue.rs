//! The pending events of a run: items in flight and timers in one total order.

use crate::heap::Heap;
use crate::lanes::{LaneHint, Lanes, MAX_LANES};
use crate::timers::Timers;
use crate::{EMPTY, FIRST_LANE, Key, PLACE_BITS, time_of};
use core::hint::select_unpredictable;
use units::Time;

/// The result of [`EventQueue::pop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// An item in flight has arrived.
    Item(T),
    /// A timer has expired: its number.
    Timer(u32),
    /// No event is left up to the horizon.
    Nothing,
}

/// The pending events of a run.
///
/// The leaves of a winner tree are the heads of the lanes, and the earlier of the first timer and the first overflow
/// item. The root of the tree is the next event. Adding an item to a lane that is not empty does not change the tree.
#[derive(Clone)]
pub struct EventQueue<T> {
    lanes: Lanes<T>,
    timers: Timers,
    /// Items that fit into no lane (only tests reach this case): a heap of keys over a slab.
    overflow: Heap,
    overflow_items: Vec<Option<T>>,
    free: Vec<u32>,
    /// Winner tree: `tree[1]` is the least key, leaves start at `leaves`, a power of two.
    tree: Box<[Key; TREE]>,
    leaves: usize,
    order: u64,
    now: Time,
    events: u64,
    last_lane: usize,
}

/// Leaf of the earlier of the first timer and the first overflow item, and leaf of the first lane.
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

impl<T: Copy> Default for EventQueue<T> {
    fn default() -> Self {
        EventQueue::new()
    }
}

impl<T: Copy> EventQueue<T> {
    /// An empty event queue at time zero.
    pub fn new() -> EventQueue<T> {
        let lanes = Lanes::new();
        let leaves = (LANES + lanes.count()).next_power_of_two();
        EventQueue {
            lanes,
            timers: Timers::default(),
            overflow: Heap::default(),
            overflow_items: Vec::new(),
            free: Vec::new(),
            tree: Box::new([EMPTY; TREE]),
            leaves,
            order: 0,
            now: Time::ZERO,
            events: 0,
            last_lane: 0,
        }
    }

    /// The time of the last event.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Number of events so far: items that arrived and timer entries that were processed, including entries before
    /// the deadline.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Adds `count` timers with consecutive numbers. Returns the first number.
    pub fn add_timers(&mut self, count: u32) -> u32 {
        self.timers.add(count)
    }

    /// Schedules a copy of `item` at `at`, which must not be in the past. `edit` changes the copy in place.
    #[inline(always)] // otherwise the item is copied twice
    pub fn push(&mut self, at: Time, item: &T, hint: &mut LaneHint, edit: impl FnOnce(&mut T)) {
        debug_assert!(at >= self.now, "an event in the past");
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

    /// Sets the deadline of timer `id` to `at`, earlier or later than before. `Time::NEVER` stops the timer.
    #[inline]
    pub fn set_timer(&mut self, id: u32, at: Time) {
        debug_assert!(at >= self.now, "a deadline in the past");
        if self.timers.set(id, at, &mut self.order) {
            self.update_others();
        }
    }

    /// The deadline of timer `id`; `Time::NEVER` if the timer is not set.
    #[inline]
    pub fn timer(&self, id: u32) -> Time {
        self.timers.due(id)
    }

    /// Removes the next event with a time of at most `horizon` and sets the clock to its time.
    #[inline]
    pub fn pop(&mut self, horizon: Time) -> Next<T> {
        loop {
            let first = self.tree[1];
            let at = time_of(first);
            if at > horizon || first == EMPTY {
                return Next::Nothing;
            }
            let place = first as u32 & ((1 << PLACE_BITS) - 1);
            if place >= FIRST_LANE {
                let lane = (place - FIRST_LANE) as usize;
                self.now = at;
                self.events += 1;
                self.last_lane = lane;
                let (index, next) = self.lanes.pop(lane);
                self.update(LANES + lane, next);
                return Next::Item(*self.lanes.item(lane, index));
            }
            if let Some(next) = self.pop_other(first, place) {
                return next;
            }
        }
    }

    /// Processes a first key that is in no lane: a timer entry, the border of the near timers, or an overflow item.
    fn pop_other(&mut self, first: Key, place: u32) -> Option<Next<T>> {
        let timer = first == self.timers.first();
        if timer && Timers::at_border(first) {
            self.timers.cross_border();
            self.update_others();
            return None;
        }
        self.now = time_of(first);
        self.events += 1;
        let next = if timer {
            self.timers.pop(&mut self.order).map(Next::Timer)
        } else {
            self.overflow.pop();
            self.free.push(place);
            self.overflow_items[place as usize].take().map(Next::Item)
        };
        self.update_others();
        next
    }

    /// Sets the clock to `at` for an event that the caller keeps outside this queue, if every event in the queue is
    /// later than `at`. Returns whether it did.
    #[inline]
    pub fn pass(&mut self, at: Time) -> bool {
        debug_assert!(at >= self.now, "an event in the past");
        let free = time_of(self.tree[1]) > at;
        if free {
            self.now = at;
            self.events += 1;
        }
        free
    }

    /// Sets the clock to `at`, which no event in the queue precedes; the clock never goes back.
    pub fn wait_until(&mut self, at: Time) {
        debug_assert!(at <= self.now || time_of(self.tree[1]) >= at, "an event before the new time");
        self.now = self.now.max(at);
    }

    /// A time before which there is no event: that of the next one, or an earlier entry of a timer that has moved.
    /// [`Time::NEVER`] if there is no event.
    pub fn next_at(&self) -> Time {
        if self.tree[1] == EMPTY { Time::NEVER } else { time_of(self.tree[1]).max(self.now) }
    }

    /// The item `places` behind the head of the lane of the last item, if any. Use it for prefetching only.
    #[inline]
    pub fn ahead(&self, places: usize) -> Option<&T> {
        self.lanes.peek(self.last_lane, places)
    }

    /// Prefetches the item that [`EventQueue::ahead`] reads.
    #[inline]
    pub fn prefetch_ahead(&self, places: usize) {
        self.lanes.prefetch(self.last_lane, places);
    }

    /// Prefetches timer `id`.
    #[inline]
    pub fn prefetch_timer(&self, id: u32) {
        self.timers.prefetch(id);
    }

    /// Bytes that the next reallocation of a lane takes if many more items are added.
    pub fn growth(&self) -> usize {
        self.lanes.growth()
    }

    /// Every item in flight with its time, in no particular order.
    pub fn in_flight(&self) -> impl Iterator<Item = (Time, &T)> {
        let overflow_items = self.overflow_items.iter().flatten().map(|item| (Time::NEVER, item));
        self.lanes.iter().map(|(key, item)| (time_of(key), item)).chain(overflow_items)
    }

    #[inline]
    fn update_others(&mut self) {
        self.update(OTHERS, self.timers.first().min(self.overflow.first()));
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
