//! A 4-ary min-heap of keys. A step touches few cache lines; once the heap has grown, no step allocates.

use crate::{EMPTY, Key};

#[derive(Clone, Default)]
pub(crate) struct Heap {
    keys: Vec<Key>,
}

impl Heap {
    #[inline]
    pub fn first(&self) -> Key {
        self.keys.first().copied().unwrap_or(EMPTY)
    }

    /// The four children of the first key. The next key after the first is one of them.
    pub fn next_few(&self) -> &[Key] {
        &self.keys[self.keys.len().min(1)..self.keys.len().min(5)]
    }

    pub fn push(&mut self, key: Key) {
        let mut at = self.keys.len();
        self.keys.push(key);
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.keys[parent] <= key {
                break;
            }
            self.keys[at] = self.keys[parent];
            at = parent;
        }
        self.keys[at] = key;
    }

    pub fn pop(&mut self) -> Key {
        let first = self.first();
        if let Some(last) = self.keys.pop()
            && !self.keys.is_empty()
        {
            self.sift_down(last);
        }
        first
    }

    fn sift_down(&mut self, key: Key) {
        let keys = &mut self.keys[..];
        let mut at = 0;
        loop {
            let child = 4 * at + 1;
            if child >= keys.len() {
                break;
            }
            let end = (child + 4).min(keys.len());
            let mut least = child;
            for other in child + 1..end {
                if keys[other] < keys[least] {
                    least = other;
                }
            }
            if keys[least] >= key {
                break;
            }
            keys[at] = keys[least];
            at = least;
        }
        keys[at] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_keys_in_order() {
        let mut heap = Heap::default();
        let mut x = 12345u64;
        let mut expected = Vec::new();
        for _ in 0..2000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            heap.push((x >> 40) as Key);
            expected.push((x >> 40) as Key);
        }
        expected.sort_unstable();
        let got: Vec<Key> = (0..2000).map(|_| heap.pop()).collect();
        assert_eq!(got, expected);
        assert_eq!(heap.pop(), EMPTY);
    }
}
