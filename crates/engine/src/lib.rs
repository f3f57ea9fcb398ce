//! The engine: a virtual clock, the order of events, and named random streams. Has never heard of packets.
//!
//! # The order of events
//! Events happen in the order of their time; events at one instant happen in the order in which they were
//! scheduled. A timer that was moved to a later time counts as scheduled when its earlier entry came up.
//! The rule uses integers only and is the same on every machine.
#![deny(unsafe_code)]

mod event_queue;
mod heap;
mod lanes;
mod memory;
mod random;
mod timers;

pub use event_queue::{EventQueue, Next};
pub use lanes::LaneHint;
pub use memory::{large_vec, prefetch, prefetch_item};
pub use random::Stream;

/// Time and order of an event in one integer: picoseconds (64 bits), order of scheduling (40), place (24).
pub(crate) type Key = u128;

/// Bits of a key that say where the event lies (which lane or which timer).
pub(crate) const PLACE_BITS: u32 = 24;
/// Places from here on are lanes; below lie timers, or what no lane would take.
pub(crate) const FIRST_LANE: u32 = (1 << PLACE_BITS) - 256;
/// The key of an empty place: after every event.
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
