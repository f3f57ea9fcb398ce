//! The short segments of a sender: the ends of messages that are no multiple of a full segment.

use std::collections::VecDeque;

/// The segments that carry less than a full one. Segments are counted by numbers everywhere else, so this is the only place
/// that knows their sizes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShortSegments {
    /// Number of each, and the bytes that it has less than a full segment, in the order of the numbers.
    outstanding: VecDeque<(u32, u32)>,
    /// Bytes that the segments before the first of them have less than full segments.
    before: u64,
}

impl ShortSegments {
    /// Segment `seq` has `missing` bytes less than a full one. Everything below `una` is acknowledged.
    pub fn add(&mut self, una: u32, seq: u32, missing: u32) {
        while let Some(&(first, bytes)) = self.outstanding.front()
            && first < una
        {
            self.before += u64::from(bytes);
            self.outstanding.pop_front();
        }
        self.outstanding.push_back((seq, missing));
    }

    /// The bytes that segment `seq`, which is not acknowledged, has less than a full one.
    pub fn missing(&self, seq: u32) -> u32 {
        let place = self.outstanding.binary_search_by_key(&seq, |(number, _)| *number);
        place.map_or(0, |place| self.outstanding[place].1)
    }

    /// The bytes that the segments below `seq` have less than full ones. Everything below the lowest number that counts is
    /// acknowledged.
    pub fn missing_below(&self, seq: u32) -> u64 {
        let below = self.outstanding.iter().take_while(|(number, _)| *number < seq);
        self.before + below.map(|(_, bytes)| u64::from(*bytes)).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_remain_until_they_are_acknowledged() {
        let mut short = ShortSegments::default();
        short.add(1, 3, 100);
        short.add(1, 5, 1000);
        assert_eq!([2, 3, 4, 5, 6].map(|seq| short.missing(seq)), [0, 100, 0, 1000, 0]);
        assert_eq!([3, 4, 5, 6].map(|seq| short.missing_below(seq)), [0, 100, 100, 1100]);
        short.add(5, 9, 1);
        assert_eq!(short.outstanding.len(), 2);
        assert_eq!([5, 6, 10].map(|seq| short.missing_below(seq)), [100, 1100, 1101]);
    }
}
