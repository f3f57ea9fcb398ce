//! The ends of attached flows.

use lab::FlowEnd;

/// One end of an attached flow: the source or the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub(super) u32);

impl Port {
    /// Its number: 2 k for the source and 2 k + 1 for the destination of the k-th attached flow.
    pub const fn number(self) -> u32 {
        self.0
    }
    /// The port with a number; of a network that has none with it, every call fails.
    pub const fn numbered(number: u32) -> Port {
        Port(number)
    }
    /// The end of its flow.
    pub const fn end(self) -> FlowEnd {
        if self.0.is_multiple_of(2) { FlowEnd::Source } else { FlowEnd::Destination }
    }
    /// The other end of its flow.
    pub const fn peer(self) -> Port {
        Port(self.0 ^ 1)
    }
    pub(super) fn flow(self) -> usize {
        (self.0 / 2) as usize
    }
}
