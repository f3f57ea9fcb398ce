//! Items with times in one total order.

use crate::heap::Heap;
use crate::lanes::{LaneHint, Lanes, MAX_LANES};
use crate::{EMPTY, FIRST_LANE, Key, PLACE_BITS, time_of};
use core::hint::select_unpredictable;
use units::Time;

/// Items in the order of their times; items of one time in the order in which they were added.
///
/// The leaves of a winner tree are the heads of the lanes, and one more key: the first overflow item, or an earlier key that
/// the owner sets. The root of the tree is the first key. Adding an item to a lane that is not empty does not change the tree.
#[derive(Clone)]
pub struct Merge<T> {
    lanes: Lanes<T>,
    /// Items that fit into no lane (only tests reach this case): a heap of keys over a slab.
    overflow: Heap,
    overflow_items: Vec<Option<T>>,
    free: Vec<u32>,
    /// Winner tree: `tree[1]` is the least key, leaves start at `leaves`, a power of two.
    tree: Box<[Key; TREE]>,
    leaves: usize,
    order: u64,
    last_lane: usize,
}
