//! Segments as sorted ranges: those that arrived beyond the next one expected at the receiver, and those that SACK reports
//! to the sender (RFC 2018).

use crate::blocks::Block;
use smallvec::SmallVec;

/// Segments above the cumulative ACK that have arrived.
#[derive(Clone, Debug, Default)]
pub struct SegmentRanges {
    /// Sorted, disjoint, not adjacent. Up to two are stored in place.
    ranges: SmallVec<[Block; 2]>,
}

impl SegmentRanges {
    /// Removes all ranges.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }
    /// Removes segments below `una`, which are acknowledged cumulatively. Returns whether it removed any.
    pub fn advance(&mut self, una: u32) -> bool {
        let below = self.ranges.partition_point(|r| r.end <= una);
        self.ranges.drain(..below);
        let Some(first) = self.ranges.first_mut() else { return below > 0 };
        let cut = first.start < una;
        first.start = first.start.max(una);
        below > 0 || cut
    }
    /// Adds the part of `block` within `una..high`. Returns whether it has a new segment.
    pub fn add(&mut self, block: Block, una: u32, high: u32) -> bool {
        let (start, end) = (block.start.max(una), block.end.min(high));
        if start >= end {
            return false;
        }
        if let Some(newest) =
            self.ranges.last_mut().filter(|newest| newest.start <= start && start <= newest.end)
        {
            let grows = newest.end < end; // data mostly arrives in order after a hole
            newest.end = newest.end.max(end);
            return grows;
        }
        let first = self.ranges.partition_point(|r| r.end < start);
        let last = self.ranges.partition_point(|r| r.start <= end);
        if first == last {
            self.ranges.insert(first, Block { start, end });
            return true;
        }
        let merged =
            Block { start: start.min(self.ranges[first].start), end: end.max(self.ranges[last - 1].end) };
        let before = std::mem::replace(&mut self.ranges[first], merged);
        if last - first == 1 {
            return before != merged;
        }
        self.ranges.drain(first + 1..last);
        true
    }
    /// As [`SegmentRanges::add`], but appends to `parts` the ranges of segments that are newly reported, in order.
    pub fn add_parts(&mut self, block: Block, una: u32, high: u32, parts: &mut Vec<Block>) {
        let mut start = block.start.max(una);
        let end = block.end.min(high);
        let first = self.ranges.partition_point(|r| r.end <= start);
        if self.ranges.get(first).is_some_and(|known| known.start <= start && end <= known.end) {
            return; // ACKs repeat blocks
        }
        for known in &self.ranges[first..] {
            if start >= end || known.start >= end {
                break;
            }
            if start < known.start {
                parts.push(Block { start, end: known.start });
            }
            start = known.end;
        }
        if start < end {
            parts.push(Block { start, end });
        }
        self.add(block, una, high);
    }
    /// Number of segments.
    pub fn total(&self) -> u32 {
        self.ranges.iter().map(|r| r.end - r.start).sum()
    }
    /// Number of segments in `from..to`.
    pub fn count(&self, from: u32, to: u32) -> u32 {
        self.ranges.iter().map(|r| r.end.min(to).saturating_sub(r.start.max(from))).sum()
    }
    /// Whether there is no range.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
    /// Whether `seq` is in a range.
    pub fn has(&self, seq: u32) -> bool {
        self.range_of(seq).is_some()
    }
    /// The range that contains `seq`.
    pub fn range_of(&self, seq: u32) -> Option<Block> {
        let range = self.ranges.get(self.ranges.partition_point(|r| r.end <= seq));
        range.filter(|r| r.start <= seq).copied()
    }
    /// The first segment from `seq` on that is in no range.
    pub fn next_hole(&self, seq: u32) -> u32 {
        self.range_of(seq).map_or(seq, |range| range.end)
    }
    /// One past the highest segment.
    pub fn highest(&self) -> Option<u32> {
        self.ranges.last().map(|r| r.end)
    }
    /// Segments below this number are lost by RFC 6675: three reported ranges, or more than two reported segments,
    /// are above them.
    pub fn lost_below(&self) -> u32 {
        let by_ranges = self.ranges.iter().rev().nth(2).map(|r| r.start);
        let mut above = 0;
        // The third reported segment from the top: holes below it have three above them.
        let by_count = self.ranges.iter().rev().find_map(|r| {
            above += r.end - r.start;
            (above > 2).then(|| r.start + above - 3)
        });
        by_ranges.into_iter().chain(by_count).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(blocks: &[(u32, u32)]) -> SegmentRanges {
        let mut board = SegmentRanges::default();
        for &(start, end) in blocks {
            board.add(Block { start, end }, 0, u32::MAX);
        }
        board
    }

    #[test]
    fn ranges_merge_and_report_what_is_new() {
        let mut b = board(&[(5, 7), (9, 11)]);
        assert!(!b.add(Block { start: 5, end: 7 }, 0, 100));
        assert!(b.add(Block { start: 7, end: 9 }, 0, 100));
        assert_eq!((b.total(), b.next_hole(5), b.next_hole(4), b.highest()), (6, 11, 4, Some(11)));
        assert!(!b.add(Block { start: 2, end: 4 }, 4, 100)); // below the cumulative ACK
        assert!(b.add(Block { start: 50, end: 60 }, 4, 55)); // what was never sent does not count
        assert_eq!((b.total(), b.count(6, 52)), (11, 7));
        assert!(b.advance(8));
        assert!(!b.advance(8));
        assert_eq!((b.total(), b.has(8), b.has(7)), (8, true, false));
    }

    #[test]
    fn loss_by_rfc_6675() {
        // One range: lost below when more than two segments are above.
        assert_eq!(board(&[(5, 7)]).lost_below(), 0);
        assert_eq!(board(&[(5, 8)]).lost_below(), 5);
        assert_eq!(board(&[(5, 7), (9, 10)]).lost_below(), 5);
        assert_eq!(board(&[(5, 7), (9, 11)]).lost_below(), 6); // no hole between 5 and 6: same holes
        assert_eq!(board(&[(3, 4), (5, 6), (7, 8)]).lost_below(), 3);
        assert_eq!(board(&[(3, 4), (5, 6), (7, 20)]).lost_below(), 17); // 4 and 6 have 14 and more above
    }

    #[test]
    fn random_blocks_have_the_segments_of_a_set() {
        let mut random = 1u64;
        let mut below = |n: u32| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as u32 % n
        };
        for _ in 0..2000 {
            let (mut ranges, mut set, mut una) =
                (SegmentRanges::default(), std::collections::BTreeSet::new(), 0);
            for _ in 0..20 {
                if below(8) == 0 {
                    una += below(4);
                    set.retain(|seq| *seq >= una);
                    ranges.advance(una);
                }
                let start = below(40);
                let block = Block { start, end: start + below(6) };
                let before = set.len();
                set.extend(block.start.max(una)..block.end.min(36));
                assert_eq!(ranges.add(block, una, 36), set.len() > before);
                assert_eq!(ranges.total() as usize, set.len());
                assert!((0..40).all(|seq| ranges.has(seq) == set.contains(&seq)));
            }
        }
    }
}
