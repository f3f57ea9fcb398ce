//! Items in flight that fit into no lane, in the order of their times: a calendar.
//!
//! Time is divided into intervals of one length. The items of each later interval are in a list, in no order; those of the
//! present one are in a heap. An addition and a removal cost nearly the same for any number of items, unless many have one
//! time: where thousands of links have a backlog, a heap of all items would need a comparison for each power of two. See
//! docs/adr/0001.

use crate::{Key, time_of};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Lists of intervals at the start, a power of two, and the most of them.
const FIRST_LISTS: usize = 1 << 13;
const MOST_LISTS: usize = 1 << 19;
/// The length of an interval at the start: 2^22 ps, some 4 us.
const FIRST_SHIFT: u32 = 22;
/// Items of an interval above which intervals become shorter.
const MANY: usize = 48;
/// Items below which there are fewer lists. Below [`MANY`], or the two would alternate.
const FEW: usize = MANY / 2;
/// The end of a list.
const NONE: u32 = u32::MAX;

/// Items by time. Of items with one key the first that was added comes first.
#[derive(Clone)]
pub(crate) struct Calendar<T> {
    slots: Vec<Slot<T>>,
    /// The first of the free slots, which are a list.
    free: u32,
    /// The items before the end of the present interval.
    present: BinaryHeap<Reverse<Present>>,
    /// The first items of the lists of intervals, by the number of the interval modulo that of lists, a power of two.
    lists: Vec<u32>,
    /// Which lists have items.
    used: Vec<u64>,
    /// Number of items in lists.
    listed: usize,
    /// The number of the interval after the present one: time divided by 2^`shift` ps.
    next: u64,
    shift: u32,
    /// Items of the present interval above which intervals become shorter.
    many: usize,
    /// Items after the last list.
    later: BTreeMap<(Key, u64), T>,
    added: u64,
}

#[derive(Clone)]
struct Slot<T> {
    key: Key,
    /// Its number among the items that were added.
    number: u64,
    item: T,
    /// The slot after it in its list, or [`NONE`].
    link: u32,
}

/// An item of the present interval. Items are in the order of their keys and numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Present {
    key: Key,
    number: u64,
    slot: u32,
}

impl<T: Copy> Calendar<T> {
    pub fn new() -> Calendar<T> {
        Calendar {
            slots: Vec::new(),
            free: NONE,
            present: BinaryHeap::new(),
            lists: Vec::new(), // until the first item: few runs have one
            used: Vec::new(),
            listed: 0,
            next: 0,
            shift: FIRST_SHIFT,
            many: MANY,
            later: BTreeMap::new(),
            added: 0,
        }
    }

    /// Adds an item.
    pub fn push(&mut self, key: Key, item: T) {
        if self.lists.len() != FIRST_LISTS && self.present.is_empty() {
            self.divide(FIRST_SHIFT, FIRST_LISTS); // there is no item
        }
        let number = self.added;
        self.added += 1;
        let interval = self.interval(key);
        if interval >= self.next {
            self.add_later(Slot { key, number, item, link: NONE }, interval);
        } else {
            let slot = self.place(Slot { key, number, item, link: NONE });
            self.present.push(Reverse(Present { key, number, slot }));
            if self.present.len() > 2 * self.many {
                self.shorten();
            }
        }
        if self.present.is_empty() {
            self.advance();
        }
    }

    /// The first key.
    #[inline]
    pub fn first(&self) -> Option<Key> {
        self.present.peek().map(|Reverse(item)| item.key)
    }

    /// Removes the first item.
    pub fn pop(&mut self) -> Option<T> {
        let Reverse(Present { slot, .. }) = self.present.pop()?;
        let item = self.release(slot);
        if self.present.is_empty() {
            self.advance();
        }
        Some(item)
    }

    /// About the item `places` behind the first one, if it is in the present interval. Use it for prefetching only.
    #[inline]
    pub fn ahead(&self, places: usize) -> Option<&T> {
        self.present.as_slice().get(places).map(|Reverse(item)| &self.slots[item.slot as usize].item)
    }

    /// Prefetches the item that [`Calendar::ahead`] reads.
    #[inline]
    pub fn prefetch(&self, places: usize) {
        if let Some(Reverse(item)) = self.present.as_slice().get(places) {
            crate::prefetch(&self.slots, item.slot as usize);
        }
    }

    /// Every item with its key, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        let listed = self.lists.iter().flat_map(|first| self.slots_of(*first));
        let slots = self.present.iter().map(|Reverse(item)| item.slot).chain(listed);
        let held = slots.map(|slot| &self.slots[slot as usize]).map(|slot| (slot.key, &slot.item));
        held.chain(self.later.iter().map(|((key, _), item)| (*key, item)))
    }

    /// Bytes that the next reallocation of the slots takes if many more items are added.
    pub fn growth(&self) -> usize {
        let soon = self.free == NONE && 4 * self.slots.len() >= 3 * self.slots.capacity();
        if soon { 2 * size_of::<Slot<T>>() * self.slots.capacity() } else { 0 }
    }

    #[inline]
    fn interval(&self, key: Key) -> u64 {
        time_of(key).ps() >> self.shift
    }

    fn slots_of(&self, first: u32) -> impl Iterator<Item = u32> {
        let some = |slot: u32| (slot != NONE).then_some(slot);
        std::iter::successors(some(first), move |slot| some(self.slots[*slot as usize].link))
    }

    #[inline]
    fn place(&mut self, slot: Slot<T>) -> u32 {
        if self.free == NONE {
            self.slots.push(slot);
            return (self.slots.len() - 1) as u32;
        }
        let number = self.free;
        let place = &mut self.slots[number as usize];
        self.free = place.link;
        *place = slot;
        number
    }

    /// Frees a slot; returns its item.
    #[inline]
    fn release(&mut self, slot: u32) -> T {
        let place = &mut self.slots[slot as usize];
        place.link = std::mem::replace(&mut self.free, slot);
        place.item
    }

    /// Puts an item into the list of an interval after the present one, or behind all lists.
    #[inline]
    fn add_later(&mut self, slot: Slot<T>, interval: u64) {
        if interval >= self.next.saturating_add(self.lists.len() as u64) {
            self.later.insert((slot.key, slot.number), slot.item);
            return;
        }
        let slot = self.place(slot);
        self.list(interval, slot);
    }

    /// Puts a slot into the list of an interval after the present one.
    #[inline]
    fn list(&mut self, interval: u64, slot: u32) {
        let list = interval as usize & (self.lists.len() - 1);
        self.slots[slot as usize].link = std::mem::replace(&mut self.lists[list], slot);
        self.used[list / 64] |= 1 << (list % 64);
        self.listed += 1;
    }

    /// Makes the next interval that has items the present one, if there is one.
    fn advance(&mut self) {
        let later = self.later.first_key_value().map(|((key, _), _)| self.interval(*key));
        let Some(interval) = self.first_listed().into_iter().chain(later).min() else { return };
        self.next = interval; // whose items become the present ones below
        // Items that were behind all lists may not be so any more.
        while let Some(entry) = self.later.first_entry() {
            let (key, number) = *entry.key();
            let of_item = time_of(key).ps() >> self.shift;
            if of_item >= self.next + self.lists.len() as u64 {
                break;
            }
            let item = entry.remove();
            self.add_later(Slot { key, number, item, link: NONE }, of_item);
        }
        self.next = interval + 1;
        self.take_list(interval);
        let (lists, items) = (self.lists.len(), self.present.len() + self.listed + self.later.len());
        if self.present.len() > self.many {
            self.shorten();
        } else if self.later.len() > 2 * (self.listed + MANY) {
            self.lengthen();
        } else if lists > FIRST_LISTS && items < FEW {
            self.divide(self.shift + 2, lists / 4);
        } else if self.present.len() <= MANY {
            self.many = MANY;
        }
    }

    /// The first interval whose list has items.
    fn first_listed(&self) -> Option<u64> {
        if self.listed == 0 {
            return None;
        }
        let (lists, words) = (self.lists.len(), self.used.len());
        let first = self.next as usize & (lists - 1);
        let (word, bit) = (first / 64, first % 64);
        let masked = |step: usize| {
            let bits = self.used[(word + step) & (words - 1)];
            // The word of the next interval has its own lists first, and those before it last.
            match step {
                0 => bits >> bit << bit,
                _ if step == words => bits & !(!0 << bit),
                _ => bits,
            }
        };
        let step = (0..=words).find(|step| masked(*step) != 0)?;
        let list = ((word + step) & (words - 1)) * 64 + masked(step).trailing_zeros() as usize;
        Some(self.next + (list.wrapping_sub(first) & (lists - 1)) as u64)
    }

    /// The items of an interval become the present ones.
    fn take_list(&mut self, interval: u64) {
        let list = interval as usize & (self.lists.len() - 1);
        let mut slot = std::mem::replace(&mut self.lists[list], NONE);
        self.used[list / 64] &= !(1 << (list % 64));
        while slot != NONE {
            let Slot { key, number, link, .. } = self.slots[slot as usize];
            self.present.push(Reverse(Present { key, number, slot }));
            self.listed -= 1;
            slot = link;
        }
    }

    /// The present interval has many items: intervals become a quarter as long, and four times as many, if that divides them.
    #[cold]
    fn shorten(&mut self) {
        let first = self.first().map_or(0, |key| time_of(key).ps());
        let last = self.present.iter().map(|Reverse(item)| time_of(item.key).ps()).max().unwrap_or(first);
        let divides = self.shift >= 2 && (last - first) >> (self.shift - 2) > 0;
        if divides && 4 * self.lists.len() <= MOST_LISTS {
            self.divide(self.shift - 2, 4 * self.lists.len());
        } else {
            self.many *= 2; // until an interval has few items again
        }
    }

    /// Most items are behind all lists: there are four times as many lists, or intervals are four times as long.
    #[cold]
    fn lengthen(&mut self) {
        let lists = 4 * self.lists.len();
        if self.listed + self.later.len() > lists && lists <= MOST_LISTS {
            self.divide(self.shift, lists);
        } else {
            self.divide(self.shift + 2, self.lists.len());
        }
    }

    /// Divides time anew.
    fn divide(&mut self, shift: u32, lists: usize) {
        let mut items: Vec<u32> = self.lists.iter().flat_map(|first| self.slots_of(*first)).collect();
        items.extend(self.present.drain().map(|Reverse(item)| item.slot));
        self.lists = vec![NONE; lists];
        self.used = vec![0; lists / 64];
        (self.listed, self.shift, self.many) = (0, shift, MANY);
        self.next = items.iter().map(|slot| self.interval(self.slots[*slot as usize].key)).min().unwrap_or(0);
        for slot in items {
            let Slot { key, number, .. } = self.slots[slot as usize];
            let interval = self.interval(key);
            if interval < self.next + lists as u64 {
                self.list(interval, slot);
            } else {
                let item = self.release(slot);
                self.later.insert((key, number), item);
            }
        }
        if self.listed > 0 {
            self.advance();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OTHERS, Tie, key};
    use proptest::prelude::*;
    use units::Time;

    /// Additions of items some time after the last removal, and removals, beside a map.
    fn agrees(spread: u64, steps: &[(bool, u64)]) {
        let mut calendar = Calendar::new();
        let mut map = BTreeMap::new();
        let mut now = 0;
        for (number, (add, after)) in steps.iter().enumerate() {
            if *add {
                let key = key(Time::from_ps(now + after % spread), Tie::counted(after % 7), OTHERS);
                calendar.push(key, number);
                map.insert((key, number), number);
            } else {
                let first = map.pop_first();
                now = first.map_or(now, |((key, _), _)| time_of(key).ps());
                assert_eq!(calendar.pop(), first.map(|(_, item)| item));
            }
            assert_eq!(calendar.first(), map.first_key_value().map(|((key, _), _)| *key));
        }
        let mut held: Vec<usize> = calendar.iter().map(|(_, item)| *item).collect();
        held.sort_unstable();
        let mut expected: Vec<usize> = map.into_values().collect();
        expected.sort_unstable();
        assert_eq!(held, expected);
        while calendar.pop().is_some() {}
        assert_eq!(calendar.iter().count(), 0);
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_the_keys(
            spread in prop::sample::select(&[1, 1000, 1 << 20, 1 << 24, 1 << 34, 1 << 44][..]),
            steps in prop::collection::vec((any::<bool>(), any::<u64>()), 0..400),
        ) {
            agrees(spread, &steps);
        }
    }

    #[test]
    fn intervals_and_lists_follow_the_items() {
        let fill = |calendar: &mut Calendar<u64>, from: u64, step: u64, count: u64| {
            for number in 0..count {
                calendar.push(key(Time::from_ps(from + number * step), Tie::counted(number), OTHERS), number);
            }
        };
        let mut calendar = Calendar::new();
        fill(&mut calendar, 0, 1000, 100_000); // 4,000 in each of the first intervals
        assert!(calendar.shift < FIRST_SHIFT && calendar.lists.len() > FIRST_LISTS);
        assert!(calendar.present.len() <= 4 * MANY, "{}", calendar.present.len());
        while calendar.pop().is_some() {}
        fill(&mut calendar, 1 << 40, 1, 1);
        assert_eq!((calendar.shift, calendar.lists.len()), (FIRST_SHIFT, FIRST_LISTS), "it was empty");
        fill(&mut calendar, 1 << 40, 1 << 34, 1000); // 17 ms apart, 17 s in all
        for _ in 0..500 {
            assert!(calendar.pop().is_some());
        }
        assert!(calendar.shift > FIRST_SHIFT, "most were behind all lists");
        // Items of one time are not divided, and the bound returns.
        let mut calendar = Calendar::new();
        fill(&mut calendar, 0, 0, 10_000);
        assert!(calendar.many > 1000 && calendar.lists.len() == FIRST_LISTS);
        fill(&mut calendar, 1 << 30, 1 << 30, 10);
        for _ in 0..10_000 {
            assert!(calendar.pop().is_some());
        }
        assert_eq!(calendar.many, MANY);
    }

    #[test]
    fn many_items_at_any_distance_divide_time_anew() {
        let mut random = 1u64;
        for spread in [1, 1 << 10, 1 << 22, 1 << 30, 1 << 36, 1 << 42] {
            let mut draw = || {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                random >> 12
            };
            let fill = (0..4000).map(|_| (true, draw())).collect::<Vec<_>>();
            let change = (0..40_000).map(|n| (n % 2 == 0, draw())).collect::<Vec<_>>();
            agrees(spread, &[fill, change].concat());
        }
    }
}
