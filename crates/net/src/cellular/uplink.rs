//! The buffer status of a terminal as the base station has it: scheduling requests and buffer reports.

use std::collections::VecDeque;
use units::Time;

/// The reported buffer of one terminal. Bytes are counted from the start of the run, with headers.
#[derive(Clone, Debug)]
pub struct BufferStatus {
    /// The terminal's first opportunity for a request, slots.
    pub offset: u64,
    /// Bytes that were sent and arrived, or are in flight.
    sent: u64,
    /// Bytes that were sent or are reported to wait.
    reported: u64,
    /// The next values of `reported`, with the slots from which grants follow them.
    reports: VecDeque<(u64, u64)>,
    /// Since when the terminal waits for a grant.
    waiting_since: Option<Time>,
}

impl BufferStatus {
    pub fn new(offset: u64) -> BufferStatus {
        BufferStatus { offset, sent: 0, reported: 0, reports: VecDeque::new(), waiting_since: None }
    }

    /// Whether nothing is reported that was not granted.
    pub fn is_empty(&self) -> bool {
        self.reported <= self.sent && self.reports.is_empty()
    }

    /// Bytes that can be granted in `slot`.
    pub fn grantable(&mut self, slot: u64) -> u64 {
        while let Some((_, reported)) = self.reports.front().filter(|(from, _)| *from <= slot) {
            self.reported = *reported;
            self.reports.pop_front();
        }
        self.reported.saturating_sub(self.sent)
    }

    /// The first slot from `slot` on with something to grant.
    pub fn next(&self, slot: u64) -> Option<u64> {
        if self.reported > self.sent {
            Some(slot)
        } else {
            self.reports.front().map(|(from, _)| (*from).max(slot))
        }
    }

    /// A request, or a report, says that `bytes` wait besides what was sent; grants follow it from slot `from` on.
    pub fn report(&mut self, bytes: u64, from: u64) {
        self.reports.push_back((from, self.sent + bytes));
    }

    /// The terminal waits for a grant since `now`.
    pub fn wait_for_grant(&mut self, now: Time) {
        self.waiting_since.get_or_insert(now);
    }

    /// A block with `bytes` is sent. Returns since when the terminal has waited for it, if it had to send a request.
    pub fn sent(&mut self, bytes: u64) -> Option<Time> {
        self.sent += bytes;
        self.waiting_since.take()
    }

    /// `bytes` that were sent are to be sent again.
    pub fn returned(&mut self, bytes: u64) {
        self.sent = self.sent.saturating_sub(bytes);
    }

    /// Nothing waits any more, or the base station is another one.
    pub fn clear(&mut self) {
        self.reported = self.sent;
        self.reports.clear();
        self.waiting_since = None;
    }
}
