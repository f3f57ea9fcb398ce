//! SACK blocks (RFC 2018), kept beside the packets that carry them.

/// Segments `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First segment.
    pub start: u32,
    /// One past the last.
    pub end: u32,
}

/// Most blocks that an ACK carries.
pub const MAX_BLOCKS: usize = 3;

/// The blocks of one ACK, the most recent first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    list: [Block; MAX_BLOCKS],
    count: u8,
}

impl Blocks {
    /// No blocks.
    pub const NONE: Blocks = Blocks { list: [Block { start: 0, end: 0 }; MAX_BLOCKS], count: 0 };

    /// Adds one; whether there was room.
    pub fn push(&mut self, block: Block) -> bool {
        let room = (self.count as usize) < MAX_BLOCKS;
        if room {
            self.list[self.count as usize] = block;
            self.count += 1;
        }
        room
    }
    /// The blocks.
    pub fn as_slice(&self) -> &[Block] {
        &self.list[..self.count as usize]
    }
}

/// Where the blocks of ACKs in flight lie; an ACK carries the place.
#[derive(Debug, Default)]
pub struct BlockPool {
    slots: Vec<Blocks>,
    free: Vec<u32>,
}

impl BlockPool {
    /// Stores blocks; their place.
    pub fn put(&mut self, blocks: &Blocks) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Blocks::NONE);
            self.slots.len() as u32 - 1
        });
        self.slots[place as usize] = *blocks;
        place
    }
    /// Looks at blocks that stay where they are.
    pub fn get(&self, place: u32) -> Blocks {
        self.slots[place as usize]
    }
    /// Takes blocks out; the place is free again.
    pub fn take(&mut self, place: u32) -> Blocks {
        self.free.push(place);
        self.slots[place as usize]
    }
}
