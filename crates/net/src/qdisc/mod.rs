//! Queue disciplines, one file each.
//!
//! A discipline here decides on arrival and serves first in, first out, so the time at which a packet's
//! transmission starts is known when it arrives.

mod droptail;

pub use droptail::DropTail;

use units::Time;

/// The queue of a link.
#[derive(Clone, Debug, Default)]
pub enum Qdisc {
    /// Takes everything.
    #[default]
    Unlimited,
    /// Refuses what does not fit.
    DropTail(DropTail),
}

impl Qdisc {
    /// Whether a packet of `size` bytes that arrives `now` and would start transmission at `start` is taken.
    #[inline]
    pub fn admit(&mut self, now: Time, start: Time, size: u32) -> bool {
        match self {
            Qdisc::Unlimited => true,
            Qdisc::DropTail(queue) => queue.admit(now, start, size),
        }
    }
}

/// Names and parameters for lists: (name, parameters, source).
pub const QDISCS: &[(&str, &str, &str)] = &[(
    "droptail",
    "limit: what may wait, the packet in transmission not included: \"50p\", \"64kB\" or \"1bdp\"; no default",
    "first in, first out; ns-2's limit_ q is \"(q-1)p\"",
)];
