//! Timers. Each has at most one deadline, and moving the deadline is cheap.

use crate::heap::Heap;
use crate::{EMPTY, Key, time_of};
use units::Time;

/// One timer: its deadline, and the time of its entry in the heap.
#[derive(Clone, Copy)]
struct Timer {
    due: Time,
    /// Time of the valid heap entry; `NEVER` if there is none. Never later than `due`.
    entry: Time,
}

/// Deadlines outside the heap are kept unsorted in intervals of 2^33 ps (8.6 ms).
const INTERVAL_BITS: u32 = 33;
/// Number of lists of far entries. Entries whose intervals differ by a multiple of this number share a list; an entry
/// of a later interval stays in the list until its interval is next.
const PLACES: usize = 1024;
/// If the heap is empty and at most this many far entries exist, the next interval is found by a scan over them.
const FEW: usize = 64;
/// At most this many timers are all in the heap.
const SMALL: usize = 256;
/// Bits of the key of an entry that have the number of its timer.
const NUMBER_BITS: u32 = 27;
/// The timer number that stands for the end of the near interval.
const BORDER: u32 = (1 << NUMBER_BITS) - 1;
/// The largest number of timers of a run.
pub const MOST_TIMERS: u32 = BORDER;

/// Sort key of an entry: time in picoseconds (64 bits), order in which entries were made (37 bits, then from zero again),
/// number (27 bits).
#[inline]
fn key(at: Time, order: u64, number: u32) -> Key {
    debug_assert!(number <= BORDER);
    (at.ps() as u128) << 64 | ((order << NUMBER_BITS) | number as u64) as u128
}

#[inline]
fn number_of(key: Key) -> u32 {
    key as u32 & BORDER
}

#[inline]
fn interval_of(key: Key) -> u64 {
    time_of(key).ps() >> INTERVAL_BITS
}

/// A set of timers, numbered from 0.
///
/// Moving a deadline to a later time costs one store: the heap entry keeps its time, and is moved when it becomes the
/// first. A retransmission timer that every ACK moves to a later time is therefore processed about once a round-trip
/// time. Entries of the current interval are in a heap, later entries are in unsorted lists: with 100,000 flows the
/// heap stays small.
#[derive(Clone)]
pub(crate) struct Timers {
    heap: Heap,
    far: Vec<Vec<Key>>,
    /// One bit for each list of `far`: whether it has entries.
    occupied: [u64; PLACES / 64],
    far_count: usize,
    /// The first interval that is not in the heap; none with few timers.
    border: u64,
    timers: Vec<Timer>,
    /// Entries made so far.
    order: u64,
}

impl Default for Timers {
    fn default() -> Timers {
        Timers {
            heap: Heap::default(),
            far: Vec::new(),
            occupied: [0; PLACES / 64],
            far_count: 0,
            border: u64::MAX,
            timers: Vec::new(),
            order: 0,
        }
    }
}

impl Timers {
    pub(crate) fn add(&mut self, count: u32) -> u32 {
        let first = self.timers.len() as u32;
        assert!(self.timers.len() as u64 + u64::from(count) <= u64::from(MOST_TIMERS), "too many timers");
        if self.timers.is_empty() {
            self.timers = crate::large_vec(count as usize);
        }
        self.timers
            .resize(self.timers.len() + count as usize, Timer { due: Time::NEVER, entry: Time::NEVER });
        if self.timers.len() > SMALL && self.border == u64::MAX {
            self.far = vec![Vec::new(); PLACES];
            let soonest = self.heap.first();
            self.border = if soonest == EMPTY { 1 } else { interval_of(soonest) + 1 };
        }
        first
    }

    #[inline]
    pub(crate) fn due(&self, id: u32) -> Time {
        self.timers[id as usize].due
    }

    /// Sets the deadline of timer `id`. Returns true if the first entry may have changed.
    #[inline]
    pub(crate) fn set(&mut self, id: u32, at: Time) -> bool {
        let timer = &mut self.timers[id as usize];
        timer.due = at;
        if at >= timer.entry {
            return false;
        }
        timer.entry = at; // the previous entry, which is later, is stale from now on
        self.enter(at, id);
        true
    }

    #[inline]
    fn enter(&mut self, at: Time, id: u32) {
        let key = key(at, self.order, id);
        self.order += 1;
        let stretch = interval_of(key);
        if stretch < self.border {
            self.heap.push(key);
        } else {
            self.insert_far(key, stretch as usize % PLACES);
        }
    }

    #[inline(never)] // seldom: keeps the callers short
    fn insert_far(&mut self, key: Key, place: usize) {
        self.far[place].push(key);
        self.occupied[place / 64] |= 1 << (place % 64);
        self.far_count += 1;
    }

    /// The first entry, or the border if the border is earlier.
    #[inline]
    pub(crate) fn first(&self) -> Key {
        let near = self.heap.first();
        if self.far_count == 0 {
            return near;
        }
        near.min(key(Time::from_ps(self.border << INTERVAL_BITS), 0, BORDER))
    }

    /// Whether `first` is the border.
    #[inline]
    pub(crate) fn at_border(first: Key) -> bool {
        number_of(first) == BORDER && first != EMPTY
    }

    /// Removes the first entry, which must not be the border. Returns the timer if its deadline is reached, `None` if
    /// the entry was stale or before the deadline.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let first = self.first();
        debug_assert_ne!(first, EMPTY);
        let id = number_of(first);
        for soon in self.heap.next_few() {
            crate::prefetch(&self.timers, number_of(*soon) as usize);
        }
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
        self.heap.pop();
        let due = self.timers[id as usize].due;
        if due != Time::NEVER {
            self.enter(due, id);
        }
        None
    }

    /// Moves the entries of the next interval into the heap.
    pub(crate) fn cross_border(&mut self) {
        if self.heap.first() == EMPTY && self.far_count <= FEW {
            // The heap is empty: continue with the interval of the earliest far entry.
            self.border = self.earliest_interval().unwrap_or(self.border);
        }
        let place = self.border as usize % PLACES;
        let mut entries = std::mem::take(&mut self.far[place]);
        let before = entries.len();
        let border = self.border;
        let heap = &mut self.heap;
        entries.retain(|key| {
            let later = interval_of(*key) != border;
            if !later {
                heap.push(*key);
            }
            later
        });
        self.far_count -= before - entries.len();
        self.occupied[place / 64] &= !((entries.is_empty() as u64) << (place % 64));
        self.far[place] = entries;
        self.border += 1;
    }

    /// The interval of the earliest far entry: the lists are searched in the order of their next intervals, and an entry of
    /// such an interval is the earliest.
    #[inline(never)]
    fn earliest_interval(&self) -> Option<u64> {
        let begin = self.border as usize % PLACES;
        let mut earliest = None;
        for step in 0..=self.occupied.len() {
            let word = (begin / 64 + step) % self.occupied.len();
            let mut left = self.occupied[word];
            if step == 0 {
                left &= u64::MAX << (begin % 64);
            } else if step == self.occupied.len() {
                left &= !(u64::MAX << (begin % 64));
            }
            while left != 0 {
                let place = word * 64 + left.trailing_zeros() as usize;
                let first = self.far[place].iter().map(|key| interval_of(*key)).min();
                if first == Some(self.border + (place.wrapping_sub(begin) % PLACES) as u64) {
                    return first;
                }
                earliest = [earliest, first].into_iter().flatten().min();
                left &= left - 1;
            }
        }
        earliest
    }

    #[inline]
    pub(crate) fn prefetch(&self, id: u32) {
        crate::prefetch(&self.timers, id as usize);
    }
}
