//! Counters of a cell and of its users.

use crate::counters::counters;
use units::Span;

/// Number of modulation and coding schemes.
pub const SCHEMES: usize = 29;
/// Attempts that are counted apart; the last place counts the blocks that were given up.
pub const ATTEMPTS: usize = 9;

counters! {
    /// What one direction of a link of a cell has done.
    #[derive(Clone, Debug, Default)]
    pub struct UserAccount {
        /// Transport blocks, without repetitions.
        blocks: u64,
        /// Those whose first attempt failed.
        first_failures: u64,
        /// Blocks that arrived in attempt 1 to 8, and those that were given up.
        attempts: [u64; ATTEMPTS],
        /// Blocks by MCS.
        mcs: [u64; SCHEMES],
        /// Sum of the CQI of blocks.
        cqi: u64,
        /// Time of the resource blocks that it used, repetitions included: a slot of the whole cell is a slot.
        used: Span,
        /// Packets delivered.
        delivered: u64,
        /// Packets lost after their last attempt, or at a handover.
        lost: u64,
        /// Time that complete packets waited behind others.
        held_back: Span,
        /// Scheduling requests.
        requests: u64,
        /// Time from the need of a request to the first block after it.
        grant_wait: Span,
        /// Handovers.
        handovers: u64,
    }
}

counters! {
    /// What a cell has done.
    #[derive(Clone, Debug, Default)]
    pub struct CellAccount {
        /// Slots in which a block was sent.
        slots: u64,
        /// Time of the resource blocks that were used, down and up.
        used: [Span; 2],
    }
}
