//! Scripted losses of listed packets, for tests.

use crate::packet::{Packet, PacketKind};

/// Drops the data packets of one flow at the listed positions: the n-th that arrives at the link, counted from 0.
/// ACKs are not dropped.
#[derive(Clone, Debug)]
pub struct Scripted {
    flow: u32,
    packets: Vec<u64>,
    seen: u64,
}

impl Scripted {
    /// Drops `packets` (in any order) of `flow`.
    pub fn new(flow: u32, mut packets: Vec<u64>) -> Scripted {
        packets.sort_unstable();
        Scripted { flow, packets, seen: 0 }
    }
    /// Whether to drop `packet`. Counts the packets of the flow.
    pub fn drops(&mut self, packet: &Packet) -> bool {
        if packet.flow != self.flow || packet.kind == PacketKind::Ack {
            return false;
        }
        self.seen += 1;
        self.packets.binary_search(&(self.seen - 1)).is_ok()
    }
}
