//! A turn of a medium: the queues that it asks, the packets that leave it, and how much of it each link uses.

use crate::qdisc::scheduled::Waiting;
use units::{Span, Time};

/// The queues of links.
pub(crate) trait Queues {
    /// Number of packets of link `link` that wait.
    fn waiting(&self, link: u32) -> u64;
    /// Their bytes.
    fn bytes(&self, link: u32) -> u64;
    /// Takes the next packet of link `link`.
    fn next(&mut self, link: u32) -> Option<Waiting>;
}

/// A packet that leaves the receiver of a medium: delivered, or lost after its attempts.
#[derive(Clone, Debug)]
pub(crate) struct Released {
    pub packet: Waiting,
    pub delivered: bool,
}

/// What a medium has done in a turn.
#[derive(Default)]
pub(crate) struct Turn {
    /// Packets that leave receivers, with their link and the time at which they leave.
    pub released: Vec<(u32, Time, Released)>,
    /// Links that used the medium, and for how long they count as busy.
    pub usage: Vec<(u32, Span)>,
}
