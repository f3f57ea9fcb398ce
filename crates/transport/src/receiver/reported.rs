//! The SACK blocks that a Linux receiver reports.

use crate::blocks::{Block, Blocks, MAX_BLOCKS};

/// Blocks beyond the next segment expected, the most recently changed first. Of more than four the oldest are forgotten,
/// even if their segments are still out of order.
#[derive(Clone, Debug, Default)]
pub(super) struct ReportedBlocks {
    list: [Block; MAX_BLOCKS],
    count: usize,
}

impl ReportedBlocks {
    /// Extends the first block that contains or touches segment `seq`. Returns its place; without one, the number of blocks.
    pub(super) fn extend(&mut self, seq: u32) -> usize {
        let touched = |block: &Block| block.start <= seq + 1 && seq <= block.end;
        let place = self.as_slice().iter().position(touched).unwrap_or(self.count);
        if let Some(block) = self.list[..self.count].get_mut(place) {
            (block.start, block.end) = (block.start.min(seq), block.end.max(seq + 1));
        }
        place
    }

    /// Puts the block at `place`, which [`ReportedBlocks::extend`] returned for segment `seq`, before all others.
    pub(super) fn move_to_front(&mut self, place: usize, seq: u32) {
        if place < self.count {
            self.list[..=place].rotate_right(1);
            return self.merge_touching();
        }
        self.count = (self.count + 1).min(MAX_BLOCKS);
        self.list[..self.count].rotate_right(1);
        self.list[0] = Block { start: seq, end: seq + 1 };
    }

    /// Merges the blocks that touch the first one with it.
    fn merge_touching(&mut self) {
        let mut first = self.list[0];
        let mut kept = 1;
        for place in 1..self.count {
            let block = self.list[place];
            if block.start <= first.end && first.start <= block.end {
                (first.start, first.end) = (first.start.min(block.start), first.end.max(block.end));
            } else {
                self.list[kept] = block;
                kept += 1;
            }
        }
        (self.list[0], self.count) = (first, kept);
    }

    /// Removes the blocks that segments up to `next` cover.
    pub(super) fn remove_below(&mut self, next: u32) {
        let mut kept = 0;
        for place in 0..self.count {
            if self.list[place].start > next {
                self.list[kept] = self.list[place];
                kept += 1;
            }
        }
        self.count = kept;
    }

    /// Appends the blocks to those of an ACK, as many as have room.
    pub(super) fn push_to(&self, blocks: &mut Blocks) {
        for block in self.as_slice() {
            blocks.push(*block);
        }
    }

    fn as_slice(&self) -> &[Block] {
        &self.list[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::block;

    fn add(reported: &mut ReportedBlocks, seq: u32) -> usize {
        let place = reported.extend(seq);
        reported.move_to_front(place, seq);
        place
    }

    #[test]
    fn the_changed_block_is_first_and_of_five_the_oldest_is_forgotten() {
        let mut reported = ReportedBlocks::default();
        let places: Vec<_> = [2, 4, 6, 8, 10].into_iter().map(|seq| add(&mut reported, seq)).collect();
        assert_eq!(places, [0, 1, 2, 3, 4]);
        assert_eq!(reported.as_slice(), [block(10, 11), block(8, 9), block(6, 7), block(4, 5)]);
        // Segment 3 touches the block of 4; that of 2 is forgotten.
        assert_eq!(add(&mut reported, 3), 3);
        assert_eq!(reported.as_slice()[0], block(3, 5));
        // Segment 9 joins two blocks. The first that it touches counts.
        assert_eq!(add(&mut reported, 9), 1);
        assert_eq!(reported.as_slice(), [block(8, 11), block(3, 5), block(6, 7)]);
        reported.remove_below(5);
        assert_eq!(reported.as_slice(), [block(8, 11), block(6, 7)]);
        reported.remove_below(11);
        assert_eq!(reported.as_slice(), []);
    }
}
