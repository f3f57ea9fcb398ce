//! The pending events of a run: items in flight and timers in one total order.

use crate::lanes::LaneHint;
use crate::merge::Merge;
use crate::timers::Timers;
use crate::{EMPTY, Key, Tie, time_of};
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

/// The pending events of a run: the items, and among them the first timer.
#[derive(Clone)]
pub struct EventQueue<T> {
    items: Merge<T>,
    timers: Timers,
    now: Time,
    events: u64,
}

impl<T: Copy> Default for EventQueue<T> {
    fn default() -> Self {
        EventQueue::new()
    }
}

impl<T: Copy> EventQueue<T> {
    /// An empty event queue at time zero.
    pub fn new() -> EventQueue<T> {
        EventQueue { items: Merge::new(), timers: Timers::default(), now: Time::ZERO, events: 0 }
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
    pub fn push(&mut self, at: Time, tie: Tie, item: &T, hint: &mut LaneHint, edit: impl FnOnce(&mut T)) {
        debug_assert!(at >= self.now, "an event in the past");
        self.items.push(at, tie, item, hint, edit);
    }

    /// Sets the deadline of timer `id` to `at`, earlier or later than before. `Time::NEVER` stops the timer.
    #[inline]
    pub fn set_timer(&mut self, id: u32, at: Time) {
        debug_assert!(at >= self.now, "a deadline in the past");
        if self.timers.set(id, at) {
            self.items.set_timer(time_of(self.timers.first()));
        }
    }

    /// The deadline of timer `id`; `Time::NEVER` if the timer is not set.
    #[inline]
    pub fn timer(&self, id: u32) -> Time {
        self.timers.due(id)
    }

    /// Removes the next event with a time of at most `horizon` and sets the clock to its time.
    #[inline(always)] // or each event pays a call for it
    pub fn pop(&mut self, horizon: Time) -> Next<T> {
        loop {
            let first = self.items.first();
            let at = time_of(first);
            if at > horizon || first == EMPTY {
                return Next::Nothing;
            }
            if let Some(lane) = Merge::<T>::lane_of(first) {
                self.now = at;
                self.events += 1;
                return Next::Item(*self.items.pop_lane(lane));
            }
            if let Some(next) = self.pop_other(first) {
                return next;
            }
        }
    }

    /// Processes a first key that is in no lane: a timer entry, the border of the near timers, or an overflow item.
    fn pop_other(&mut self, first: Key) -> Option<Next<T>> {
        let timer = first == self.items.timer();
        if timer && Timers::at_border(self.timers.first()) {
            self.timers.cross_border();
            self.items.set_timer(time_of(self.timers.first()));
            return None;
        }
        self.now = time_of(first);
        self.events += 1;
        if !timer {
            return self.items.pop_overflow().map(Next::Item);
        }
        let next = self.timers.pop().map(Next::Timer);
        self.items.set_timer(time_of(self.timers.first()));
        next
    }

    /// Sets the clock to `at` for an event that the caller keeps outside this queue, if every event in the queue is
    /// later than `at`. Returns whether it did.
    #[inline]
    pub fn pass(&mut self, at: Time) -> bool {
        debug_assert!(at >= self.now, "an event in the past");
        let free = time_of(self.items.first()) > at;
        if free {
            self.now = at;
            self.events += 1;
        }
        free
    }

    /// Sets the clock to `at`, which no event in the queue precedes; the clock never goes back.
    pub fn wait_until(&mut self, at: Time) {
        debug_assert!(at <= self.now || time_of(self.items.peek()) >= at, "an event before the new time");
        self.now = self.now.max(at);
    }

    /// A time before which there is no event: that of the next one, or an earlier entry of a timer that has moved.
    /// [`Time::NEVER`] if there is no event.
    pub fn next_at(&self) -> Time {
        let first = self.items.peek();
        if first == EMPTY { Time::NEVER } else { time_of(first).max(self.now) }
    }

    /// The item `places` behind the head of the lane of the last item, if any. Use it for prefetching only.
    #[inline]
    pub fn ahead(&self, places: usize) -> Option<&T> {
        self.items.ahead(places)
    }

    /// Prefetches the item that [`EventQueue::ahead`] reads.
    #[inline]
    pub fn prefetch_ahead(&self, places: usize) {
        self.items.prefetch_ahead(places);
    }

    /// Prefetches timer `id`.
    #[inline]
    pub fn prefetch_timer(&self, id: u32) {
        self.timers.prefetch(id);
    }

    /// Bytes that the next reallocation of a lane takes if many more items are added.
    pub fn growth(&self) -> usize {
        self.items.growth()
    }

    /// Every item in flight with its time, in no particular order.
    pub fn in_flight(&self) -> impl Iterator<Item = (Time, &T)> {
        self.items.iter()
    }
}
