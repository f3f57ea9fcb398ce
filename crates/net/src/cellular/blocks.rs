//! Bytes of transport blocks by MCS and number of resource blocks.

use super::config::CellOptions;
use super::lte::lte_bits;
use super::modulation::{Coding, Modulation};
use super::nr::nr_bits;

/// The largest numbers of resource blocks.
const LTE_BLOCKS: u32 = 110;
const NR_BLOCKS: u32 = 275;

/// Bytes of transport blocks of a number of layers and symbols.
#[derive(Clone, Debug)]
pub struct BlockSizes {
    layers: u32,
    symbols: u32,
    /// The largest number of resource blocks.
    largest: u32,
    /// By MCS, and by number of resource blocks from 1 on.
    bytes: Vec<u32>,
}

impl BlockSizes {
    /// The sizes on `layers` layers in slots of `symbols` symbols.
    pub fn new(options: &CellOptions, modulation: &Modulation, layers: u32, symbols: u32) -> BlockSizes {
        let largest = if options.is_nr() { NR_BLOCKS } else { LTE_BLOCKS };
        let mut bytes = Vec::new();
        for mcs in 0.. {
            let Some(coding) = modulation.coding(mcs) else { break };
            bytes.extend(
                (1..=largest)
                    .map(|blocks| BlockSizes::block_bytes(options, mcs, coding, blocks, layers, symbols)),
            );
        }
        BlockSizes { layers, symbols, largest, bytes }
    }

    /// Bytes of one transport block by an MCS with its coding.
    pub fn block_bytes(
        options: &CellOptions,
        mcs: u8,
        coding: Coding,
        blocks: u32,
        layers: u32,
        symbols: u32,
    ) -> u32 {
        match options.is_nr() {
            true => nr_bits(coding, blocks, layers, symbols) / 8,
            false => layers * lte_bits(mcs, blocks) / 8,
        }
    }

    /// Whether they are those of so many layers and symbols.
    pub fn are_of(&self, layers: u32, symbols: u32) -> bool {
        (self.layers, self.symbols) == (layers, symbols)
    }

    /// Bytes of a transport block of `blocks` resource blocks, at least 1.
    pub fn bytes(&self, mcs: u8, blocks: u32) -> u32 {
        self.bytes[mcs as usize * self.largest as usize + blocks as usize - 1]
    }

    /// The smallest number of resource blocks, up to `limit`, that carries `bytes`; `limit` if none does.
    pub fn blocks_for(&self, mcs: u8, bytes: u32, limit: u32) -> u32 {
        let first = mcs as usize * self.largest as usize;
        let sizes = &self.bytes[first..first + limit as usize];
        (sizes.partition_point(|size| *size < bytes) as u32 + 1).min(limit)
    }
}
