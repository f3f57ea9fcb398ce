//! A value for each flow, which a part of a run on several threads has for its own flows alone.

use std::ops::{Index, IndexMut};

/// Values by the numbers of flows, from 0 on.
#[derive(Debug)]
pub(super) struct PerFlow<T> {
    items: Vec<T>,
    /// Where the value of each flow is, after a division; [`ELSEWHERE`] if another part has it. None: at its number.
    places: Option<Box<[u32]>>,
}

/// The place of a value that another part has.
const ELSEWHERE: u32 = u32::MAX;
/// In how many steps a division gives the memory back that it has moved.
const STEPS: usize = 16;

impl<T> PerFlow<T> {
    pub fn new(items: Vec<T>) -> PerFlow<T> {
        PerFlow { items, places: None }
    }

    /// Number of flows, those of other parts included.
    #[inline]
    pub fn len(&self) -> usize {
        self.places.as_ref().map_or(self.items.len(), |places| places.len())
    }

    #[inline]
    fn place(&self, flow: usize) -> usize {
        match &self.places {
            None => flow,
            Some(places) => places.get(flow).map_or(usize::MAX, |place| *place as usize),
        }
    }

    /// The value of a flow; `None` beyond the last one, and of a flow of another part.
    #[inline]
    pub fn get(&self, flow: usize) -> Option<&T> {
        self.items.get(self.place(flow))
    }

    #[inline]
    pub fn get_mut(&mut self, flow: usize) -> Option<&mut T> {
        let place = self.place(flow);
        self.items.get_mut(place)
    }

    /// The values in the order of the flows. None must be elsewhere.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map(|flow| &self[flow])
    }

    /// Moves the values into as many parts; `of` is the part of each flow. The memory in use grows by a small part meanwhile.
    pub fn divide(&mut self, parts: usize, of: impl Fn(usize) -> usize) -> Vec<PerFlow<T>> {
        debug_assert!(self.places.is_none(), "a division of a part");
        let flows = self.items.len();
        let divided = || PerFlow { items: Vec::new(), places: Some(vec![ELSEWHERE; flows].into()) };
        let mut parts: Vec<PerFlow<T>> = (0..parts).map(|_| divided()).collect();
        let mut counts = vec![0; parts.len()];
        (0..flows).for_each(|flow| counts[of(flow)] += 1);
        for (part, count) in parts.iter_mut().zip(counts) {
            part.items = engine::large_vec(count);
        }
        let step = flows.div_ceil(STEPS).max(1);
        while let Some(item) = self.items.pop() {
            let flow = self.items.len();
            let part = &mut parts[of(flow)];
            if let Some(places) = &mut part.places {
                places[flow] = part.items.len() as u32;
            }
            part.items.push(item);
            if flow.is_multiple_of(step) {
                self.items.shrink_to_fit();
            }
        }
        parts
    }

    /// Moves the values of another part to these.
    pub fn join(&mut self, other: PerFlow<T>) {
        let before = self.items.len() as u32;
        self.items.extend(other.items);
        let (Some(places), Some(others)) = (&mut self.places, other.places) else { return };
        for (place, other) in places.iter_mut().zip(others) {
            if other != ELSEWHERE {
                *place = before + other;
            }
        }
    }
}

impl<T: Clone> PerFlow<T> {
    /// A copy, in huge pages if it is large.
    pub fn copy(&self) -> PerFlow<T> {
        PerFlow { items: engine::large_copy(&self.items), places: self.places.clone() }
    }
}

impl<T> Index<usize> for PerFlow<T> {
    type Output = T;

    #[inline]
    fn index(&self, flow: usize) -> &T {
        &self.items[self.place(flow)]
    }
}

impl<T> IndexMut<usize> for PerFlow<T> {
    #[inline]
    fn index_mut(&mut self, flow: usize) -> &mut T {
        let place = self.place(flow);
        &mut self.items[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_their_own_values_and_together_all() {
        let mut all = PerFlow::new((0..100).map(|n| format!("{n}")).collect());
        let mut parts = all.divide(3, |flow| flow % 3);
        for (number, part) in parts.iter().enumerate() {
            assert_eq!(part.len(), 100);
            for flow in 0..101 {
                let expected = (flow < 100 && flow % 3 == number).then(|| format!("{flow}"));
                assert_eq!(part.get(flow), expected.as_ref());
            }
        }
        parts[1][7].push('x');
        let mut first = parts.remove(0);
        parts.into_iter().for_each(|part| first.join(part));
        let joined: Vec<&str> = first.iter().map(String::as_str).collect();
        let expected: Vec<String> =
            (0..100).map(|n| if n == 7 { "7x".into() } else { format!("{n}") }).collect();
        assert_eq!(joined, expected);
    }
}
