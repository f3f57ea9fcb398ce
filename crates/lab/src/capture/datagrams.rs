//! The bytes of datagrams in captures.

use std::sync::Arc;

/// The bytes of datagrams: of those in flight by the index in the packet, and of those in events that are reported and not
/// yet processed, because an index can be reused before that.
#[derive(Clone, Default)]
pub(super) struct CapturedDatagrams {
    sent: Vec<Arc<[u8]>>,
    reported: Vec<Arc<[u8]>>,
    free: Vec<u32>,
}

impl CapturedDatagrams {
    /// Stores the bytes of a datagram that is sent; its packet carries `index`.
    pub fn record(&mut self, index: u32, bytes: &[u8]) {
        let index = index as usize;
        if index >= self.sent.len() {
            self.sent.resize_with(index + 1, Arc::default);
        }
        self.sent[index] = bytes.into();
    }

    /// Keeps the bytes of the datagram with `index` for an event. Returns the index for [`CapturedDatagrams::take`].
    pub fn report(&mut self, index: u32) -> u32 {
        let bytes = self.sent.get(index as usize).cloned().unwrap_or_default();
        let place = self.free.pop().unwrap_or_else(|| {
            self.reported.push(Arc::default());
            self.reported.len() as u32 - 1
        });
        self.reported[place as usize] = bytes;
        place
    }

    /// Returns the bytes that an event has kept.
    pub fn take(&mut self, place: u32) -> Arc<[u8]> {
        self.free.push(place);
        std::mem::take(&mut self.reported[place as usize])
    }
}
