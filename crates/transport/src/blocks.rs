//! The options of ACKs, stored outside the packets: SACK blocks (RFC 2018) and the router reply.

use net::RouterReply;

/// Segments `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First segment.
    pub start: u32,
    /// One past the last.
    pub end: u32,
}

/// Most blocks that an ACK carries.
pub const MAX_BLOCKS: usize = 4;

/// The blocks of one ACK, the most recent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    list: [Block; MAX_BLOCKS],
    count: u8,
    limit: u8,
}

impl Blocks {
    /// No blocks.
    pub const NONE: Blocks =
        Blocks { list: [Block { start: 0, end: 0 }; MAX_BLOCKS], count: 0, limit: MAX_BLOCKS as u8 };

    /// No blocks yet, and room for `limit`.
    pub fn limited(limit: u32) -> Blocks {
        Blocks { limit: limit.min(MAX_BLOCKS as u32) as u8, ..Blocks::NONE }
    }

    /// Adds a block. Returns whether there was room for it.
    pub fn push(&mut self, block: Block) -> bool {
        let room = self.count < self.limit;
        if room {
            self.list[self.count as usize] = block;
            self.count += 1;
        }
        room
    }
    /// Keeps the first `most` blocks.
    pub fn truncate(&mut self, most: u32) {
        self.count = self.count.min(most.min(MAX_BLOCKS as u32) as u8);
    }
    /// The blocks.
    pub fn as_slice(&self) -> &[Block] {
        &self.list[..self.count as usize]
    }
}

/// The options of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckOptions {
    /// SACK blocks.
    pub blocks: Blocks,
    /// The router feedback of the data packet that the ACK acknowledges.
    pub reply: RouterReply,
}

impl AckOptions {
    /// No options.
    pub const NONE: AckOptions = AckOptions { blocks: Blocks::NONE, reply: RouterReply::None };

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.blocks.count == 0 && self.reply == RouterReply::None
    }
}

/// The options of the ACKs in flight. An ACK carries the index of its options ([`net::Packet::options`]).
#[derive(Clone, Debug, Default)]
pub struct AckOptionPool {
    slots: Vec<AckOptions>,
    free: Vec<u32>,
}

impl AckOptionPool {
    /// Stores options and returns their index.
    pub fn put(&mut self, options: &AckOptions) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(AckOptions::NONE);
            self.slots.len() as u32 - 1
        });
        self.slots[place as usize] = *options;
        place
    }
    /// Returns the options at `place`, which remain stored.
    pub fn get(&self, place: u32) -> AckOptions {
        self.slots[place as usize]
    }
    /// Returns the options at `place` and frees the index.
    pub fn take(&mut self, place: u32) -> AckOptions {
        self.free.push(place);
        self.slots[place as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_a_limit() {
        let mut blocks = Blocks::limited(2);
        let block = Block { start: 1, end: 2 };
        assert!(blocks.push(block) && blocks.push(block) && !blocks.push(block));
        assert_eq!(blocks.as_slice(), [block, block]);
        assert_eq!(Blocks::limited(9).limit as usize, MAX_BLOCKS);
    }

    #[test]
    fn places_of_options_are_used_again() {
        let mut pool = AckOptionPool::default();
        let reply = RouterReply::Feedback(7);
        let with_reply = AckOptions { reply, ..AckOptions::NONE };
        assert!(AckOptions::NONE.is_empty() && !with_reply.is_empty());
        let (first, second) = (pool.put(&AckOptions::NONE), pool.put(&with_reply));
        assert_eq!((first, second), (0, 1));
        assert_eq!(pool.get(second), with_reply);
        assert_eq!(pool.take(second), with_reply);
        assert_eq!(pool.put(&with_reply), second);
        assert_eq!(pool.put(&with_reply), 2);
    }
}
