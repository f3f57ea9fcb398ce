//! Timers: each has at most one deadline, moved cheaply.

use crate::heap::Heap;
use crate::{EMPTY, Key, PLACE_BITS, key, time_of};
use units::Time;

/// One timer: the deadline that holds, and the entry of it in the heap.
#[derive(Clone, Copy)]
struct Timer {
    due: Time,
    /// Time of the live heap entry; `NEVER` if none. Not later than `due`.
    entry: Time,
}

/// A set of timers with small integer names.
///
/// Moving a deadline to later costs one store: the entry in the heap stays, comes up early, and is moved on
/// then. So a retransmission timer that every ACK pushes back touches the heap about once a round trip.
#[derive(Default)]
pub struct Timers {
    heap: Heap,
    timers: Vec<Timer>,
}

impl Timers {
    pub(crate) fn add(&mut self, count: u32) -> u32 {
        let first = self.timers.len() as u32;
        assert!((self.timers.len() + count as usize) < 1 << PLACE_BITS, "too many timers");
        self.timers.resize(self.timers.len() + count as usize, Timer { due: Time::NEVER, entry: Time::NEVER });
        first
    }

    #[inline]
    pub(crate) fn due(&self, id: u32) -> Time {
        self.timers[id as usize].due
    }

    /// True when a new entry went into the heap.
    #[inline]
    pub(crate) fn set(&mut self, id: u32, at: Time, order: &mut u64) -> bool {
        let timer = &mut self.timers[id as usize];
        timer.due = at;
        if at >= timer.entry {
            return false;
        }
        timer.entry = at; // an older, later entry is stale from here on
        self.heap.push(key(at, *order, id));
        *order += 1;
        true
    }

    #[inline]
    pub(crate) fn first(&self) -> Key {
        self.heap.first()
    }

    /// Takes the first entry off; the timer if its deadline has come, none if the entry was stale or early.
    pub(crate) fn pop(&mut self, order: &mut u64) -> Option<u32> {
        let first = self.heap.first();
        debug_assert_ne!(first, EMPTY);
        let id = (first as u32) & ((1 << PLACE_BITS) - 1);
        let at = time_of(first);
        let timer = &mut self.timers[id as usize];
        if timer.entry != at {
            self.heap.pop();
            return None;
        }
        if timer.due == at {
            *timer = Timer { due: Time::NEVER, entry: Time::NEVER };
            self.heap.pop();
            return Some(id);
        }
        timer.entry = timer.due;
        if timer.due == Time::NEVER {
            self.heap.pop();
        } else {
            let moved = key(timer.due, *order, id);
            *order += 1;
            self.heap.replace_first(moved);
        }
        None
    }

    /// Entries in the heap, stale ones included.
    pub fn entries(&self) -> usize {
        self.heap.len()
    }
}
