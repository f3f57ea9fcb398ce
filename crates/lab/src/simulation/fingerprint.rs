//! A hash of every event of a run, for comparisons of runs.

use net::radio::RadioEvent;
use net::{PacketEvent, PacketStep};

/// The events so far, hashed.
///
/// Each link has one hash for each kind of step, over the events in the order of their time. Thus the fingerprint depends on
/// what happens and when, not on the order in which the links are computed.
#[derive(Clone, Default)]
pub(crate) struct Fingerprint {
    links: Vec<[u128; KINDS]>,
    radio: blake3::Hasher,
}

/// Enqueued or dropped before the queue; departed; dropped later; delivered.
const KINDS: usize = 4;
/// The prime and the offset basis of FNV for 128 bits.
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;

/// An event as the packet log has it.
pub(crate) struct EventCodes {
    /// The code of its step.
    pub step: u8,
    /// The code of the reason of a drop.
    pub reason: u8,
    /// The number of its packet.
    pub seq: i64,
}

impl Fingerprint {
    /// Adds an event.
    pub fn add(&mut self, event: &PacketEvent, codes: EventCodes) {
        let EventCodes { step, reason, seq } = codes;
        let (packet, link) = (&event.packet, event.link.0 as usize);
        if link >= self.links.len() {
            self.links.resize(link + 1, [BASIS; KINDS]);
        }
        let kind = match event.step {
            PacketStep::Enqueue => 0,
            PacketStep::Drop(reason) if !reason.after_queue() => 0,
            PacketStep::Depart => 1,
            PacketStep::Drop(_) => 2,
            PacketStep::Deliver => 3,
        };
        let codes =
            (step as u64) | (reason as u64) << 8 | (packet.kind as u64) << 16 | (packet.size as u64) << 32;
        let hash = &mut self.links[link][kind];
        for word in [event.at.ps(), seq as u64, packet.flow as u64, packet.sent.ps(), codes] {
            *hash = (*hash ^ word as u128).wrapping_mul(PRIME);
        }
    }

    /// Adds a step of the radio network.
    pub fn add_radio(&mut self, event: &RadioEvent) {
        self.radio.update(format!("{event:?}").as_bytes());
    }

    /// In hexadecimal.
    pub fn hex(&self) -> String {
        let mut all = self.radio.clone();
        for hash in self.links.iter().flatten() {
            all.update(&hash.to_le_bytes());
        }
        all.finalize().to_hex().to_string()
    }
}
