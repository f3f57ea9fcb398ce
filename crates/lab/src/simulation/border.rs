//! The packets that leave a part of a run for another one.

use net::cut::{Cut, as_it_arrives, last_link};
use net::{LinkId, Network, Packet};
use std::sync::Arc;
use transport::{AckOptionPool, AckOptions};
use units::Time;

/// A packet on its way to another part.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub at: Time,
    pub link: LinkId,
    pub packet: Packet,
    /// Its options, if it has any.
    pub options: Option<Box<AckOptions>>,
}

/// What a part has for packets that leave it.
#[derive(Debug)]
pub(super) struct Border {
    pub part: usize,
    pub cut: Cut,
    /// For each link, the part in which it ends.
    pub ends: Arc<[u16]>,
    /// Messages to each part.
    pub outgoing: Vec<Vec<Message>>,
}

/// The border of a simulation that is a part of a run.
pub(super) type PartBorder = Box<Border>;

impl Border {
    /// Takes the packet that arrives at `at` if its link ends in another part. Returns whether it has taken it.
    #[inline(never)]
    pub fn takes(
        &mut self,
        network: &Network,
        options: &mut AckOptionPool,
        at: Time,
        packet: &Packet,
    ) -> bool {
        let Some(link) = last_link(network) else { return false };
        let part = self.ends[link.0 as usize] as usize;
        if part == self.part {
            return false;
        }
        let options = packet.has_options().then(|| Box::new(options.take(packet.options)));
        self.outgoing[part].push(Message { at, link, packet: as_it_arrives(network, packet), options });
        true
    }
}
