//! The record of an ACK frame between its processing by the stack and by the controller.

use units::{Span, Time};

/// An ACK frame that the stack has processed and the controller has not.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingAck {
    pub now: Time,
    /// Packets that it newly acknowledges; the newest of them, and when it was sent.
    pub newly: u32,
    pub newest: u64,
    pub newest_sent: Time,
    /// Whole segments that it acknowledges.
    pub segments: u32,
    pub ce: u64,
    pub rtt: Option<Span>,
    /// Bytes in flight before it.
    pub prior: u64,
    /// The losses counted before it.
    pub lost_before: u64,
}

impl PendingAck {
    /// Its segments that were marked.
    pub fn marked(&self) -> u32 {
        (self.ce.min(u64::from(self.newly)) as u32).min(self.segments)
    }
}
