//! The bytes of datagrams in flight. A packet of kind `Datagram` or `ReverseDatagram` carries the index of its bytes.

use net::PayloadChanges;

/// Bytes that several packets can share.
#[derive(Clone, Debug, Default)]
struct Slot {
    bytes: Vec<u8>,
    /// Packets that carry the index of this slot.
    packets: u32,
}

/// Bytes that a datagram takes, an empty one too.
fn slot_bytes(bytes: &[u8]) -> u64 {
    (bytes.len() + size_of::<Slot>()) as u64
}

/// The bytes of the datagrams in flight, by index.
#[derive(Clone, Debug, Default)]
pub(super) struct DatagramPool {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Bytes of the slots in use, with the slots.
    bytes: u64,
}

impl DatagramPool {
    /// Stores a copy of `bytes` for one packet. Returns its index.
    pub fn put(&mut self, bytes: &[u8]) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.bytes.clear();
        slot.bytes.extend_from_slice(bytes);
        slot.packets = 1;
        self.bytes += slot_bytes(bytes);
        index
    }

    /// The bytes at `index`.
    pub fn bytes(&self, index: u32) -> &[u8] {
        &self.slots[index as usize].bytes
    }

    /// Counts another packet with this index.
    pub fn retain(&mut self, index: u32) {
        self.slots[index as usize].packets += 1;
    }

    /// Removes a packet with this index; the last one frees it.
    pub fn release(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        debug_assert!(slot.packets > 0, "the bytes of a datagram are freed twice");
        slot.packets -= 1;
        if slot.packets == 0 {
            self.bytes -= slot_bytes(&slot.bytes);
            self.free.push(index);
        }
    }

    /// Bytes of the datagrams that are stored; copies share them.
    pub fn stored_bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets with stored bytes.
    pub fn packets(&self) -> u64 {
        self.slots.iter().map(|slot| slot.packets as u64).sum()
    }

    /// Processes what the network has done with datagrams. To be called before every change.
    #[inline]
    pub fn apply(&mut self, carried: &mut PayloadChanges) {
        carried.copied_datagrams.drain(..).for_each(|index| self.retain(index));
        carried.dropped_datagrams.drain(..).for_each(|index| self.release(index));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_until_their_last_packet_is_gone() {
        let mut pool = DatagramPool::default();
        let first = pool.put(&[1, 2]);
        let second = pool.put(&[3]);
        pool.retain(first);
        pool.release(first);
        assert_eq!((pool.bytes(first), pool.packets()), (&[1u8, 2][..], 2));
        pool.release(first);
        let third = pool.put(&[4, 5, 6]);
        assert_eq!((third, pool.bytes(third), pool.bytes(second)), (first, &[4u8, 5, 6][..], &[3u8][..]));
        // A copy can be dropped in the same step in which it was made.
        pool.apply(&mut PayloadChanges {
            copied_datagrams: vec![second],
            dropped_datagrams: vec![second, second],
            ..PayloadChanges::default()
        });
        assert_eq!(pool.packets(), 1);
    }
}
