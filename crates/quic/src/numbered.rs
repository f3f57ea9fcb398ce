//! Items with consecutive numbers, of which the oldest are forgotten.

use std::collections::VecDeque;

/// Items by number, from the oldest that is not forgotten on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbered<T> {
    /// The number of the first item.
    first: u64,
    items: VecDeque<T>,
}

impl<T: Default> Numbered<T> {
    /// The number after the last item.
    pub fn next(&self) -> u64 {
        self.first + self.items.len() as u64
    }
    /// Appends an item and returns its number.
    pub fn push(&mut self, item: T) -> u64 {
        self.items.push_back(item);
        self.next() - 1
    }
    /// The position of item `number`; `None` if it is forgotten.
    fn position(&self, number: u64) -> Option<usize> {
        number.checked_sub(self.first).map(|position| position as usize)
    }
    /// Item `number`; `None` if it is forgotten or does not exist yet.
    pub fn get(&self, number: u64) -> Option<&T> {
        self.items.get(self.position(number)?)
    }
    /// Item `number`, to be changed; `None` if it is forgotten or does not exist yet.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let position = self.position(number)?;
        self.items.get_mut(position)
    }
    /// Item `number`, to be changed; it and all before it are created if they do not exist. `None` if it is forgotten.
    pub fn get_or_insert(&mut self, number: u64) -> Option<&mut T> {
        let position = self.position(number)?;
        if position >= self.items.len() {
            self.items.resize_with(position + 1, T::default);
        }
        self.items.get_mut(position)
    }
    /// Forgets the oldest items for which `is_over` holds, up to the first for which it does not; gets number and item.
    /// Returns the number of the oldest item that stays.
    pub fn forget_while(&mut self, is_over: impl Fn(u64, &T) -> bool) -> u64 {
        while self.items.front().is_some_and(|item| is_over(self.first, item)) {
            self.items.pop_front();
            self.first += 1;
        }
        self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_reached_by_number_until_they_are_forgotten() {
        let mut items = Numbered::default();
        assert_eq!((items.push(7), items.push(0), items.push(9)), (0, 1, 2));
        assert_eq!(items.get_or_insert(4).copied(), Some(0));
        *items.get_mut(3).unwrap() = 5;
        assert_eq!((items.next(), items.get(3), items.get(5)), (5, Some(&5), None));
        assert_eq!(items.forget_while(|_, item| *item > 0), 1);
        assert_eq!(items.forget_while(|number, _| number < 3), 3);
        assert!(items.get(2).is_none() && items.get_mut(2).is_none() && items.get_or_insert(2).is_none());
        assert_eq!((items.next(), items.push(6), items.get(3)), (5, 5, Some(&5)));
    }
}
