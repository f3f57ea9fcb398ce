//! The engine: the simulated clock, the total order of events, and named random streams. It does not depend on
//! packets.
//!
//! # The order of events
//! The engine processes events in the order of their time. It processes events with the same time in the order in
//! which they were scheduled. If a timer moves to a later time, its position in this order is set when its earlier
//! heap entry reaches the head of the heap. The rule uses integers only and gives the same order on every machine.
#![deny(unsafe_code)]

mod event_queue;
mod heap;
mod lanes;
mod memory;
mod merge;
mod random;
mod timers;

pub use event_queue::{EventQueue, Next};
pub use lanes::LaneHint;
pub use memory::{large_vec, prefetch, prefetch_item};
pub use merge::Merge;
pub use random::Stream;

/// Sort key of an event in one integer: time in picoseconds (64 bits), scheduling order (40 bits), place (24 bits).
pub(crate) type Key = u128;

/// Number of key bits that give the place of the event: which lane or which timer.
pub(crate) const PLACE_BITS: u32 = 24;
/// Place numbers from this one on are lanes. Lower numbers are timers, or slots of items that fit into no lane.
pub(crate) const FIRST_LANE: u32 = (1 << PLACE_BITS) - 256;
/// The key of an empty place. It sorts after every event.
pub(crate) const EMPTY: Key = Key::MAX;

#[inline]
pub(crate) fn key(at: units::Time, order: u64, place: u32) -> Key {
    debug_assert!(place < 1 << PLACE_BITS && order < 1 << 40);
    (at.ps() as u128) << 64 | ((order << PLACE_BITS) | place as u64) as u128
}

#[inline]
pub(crate) fn time_of(key: Key) -> units::Time {
    units::Time::from_ps((key >> 64) as u64)
}
