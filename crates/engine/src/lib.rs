//! The engine: the simulated clock, the total order of events, and named random streams. It does not depend on
//! packets.
//!
//! # The order of events
//! The engine processes events in the order of their time. At one time, timers come first, in the order in which they were
//! set; if a timer moves to a later time, its position in this order is set when its earlier heap entry reaches the head of
//! the heap. Items follow in the order of their [`Tie`]. The rule uses integers only and gives the same order on every
//! machine. docs/adr/0002-ties.md has the reasons.
#![deny(unsafe_code)]

mod calendar;
mod event_queue;
mod heap;
mod lanes;
mod memory;
mod merge;
mod random;
mod tie;
mod timers;

pub use event_queue::{EventQueue, Next};
pub use lanes::LaneHint;
pub use memory::{large_copy, large_vec, prefetch, prefetch_item};
pub use random::Stream;
pub use tie::Tie;
pub use timers::MOST_TIMERS;

/// Sort key of an item in one integer: time in picoseconds (64 bits), tie (56 bits), place (8 bits).
pub(crate) type Key = u128;

/// Number of key bits that give the place of the item: its lane, or [`OTHERS`].
pub(crate) const PLACE_BITS: u32 = 8;
/// The place of what is in no lane.
pub(crate) const OTHERS: usize = (1 << PLACE_BITS) - 1;
/// The key of an empty place. It sorts after every event.
pub(crate) const EMPTY: Key = Key::MAX;

#[inline]
pub(crate) fn key(at: units::Time, tie: Tie, place: usize) -> Key {
    (at.ps() as u128) << 64 | (tie.0 << PLACE_BITS | place as u64) as u128
}

#[inline]
pub(crate) fn time_of(key: Key) -> units::Time {
    units::Time::from_ps((key >> 64) as u64)
}
