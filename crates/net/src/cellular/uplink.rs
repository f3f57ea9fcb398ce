//! What the base station knows of the queue of a terminal: scheduling requests and buffer reports.

use std::collections::VecDeque;
use units::Time;

/// The knowledge about one terminal. Bytes are counted from the start of the run, with headers.
#[derive(Clone, Debug)]
pub struct Backlog {
    /// The terminal's first opportunity for a request, slots.
    pub offset: u64,
    /// Bytes that were sent and arrived, or are in flight.
    sent: u64,
    /// Bytes that were sent or are known to wait.
    known: u64,
    /// The next values of `known`, with the slots from which grants follow them.
    reports: VecDeque<(u64, u64)>,
    /// Since when the terminal waits for a grant.
    wanted: Option<Time>,
}

impl Backlog {
    pub fn new(offset: u64) -> Backlog {
        Backlog { offset, sent: 0, known: 0, reports: VecDeque::new(), wanted: None }
    }

    /// Whether the base station knows of nothing to grant.
    pub fn is_unknown(&self) -> bool {
        self.known <= self.sent && self.reports.is_empty()
    }

    /// Bytes that can be granted in `slot`.
    pub fn grantable(&mut self, slot: u64) -> u64 {
        while let Some((_, known)) = self.reports.front().filter(|(from, _)| *from <= slot) {
            self.known = *known;
            self.reports.pop_front();
        }
        self.known.saturating_sub(self.sent)
    }

    /// The first slot from `slot` on with something to grant.
    pub fn next(&self, slot: u64) -> Option<u64> {
        if self.known > self.sent {
            Some(slot)
        } else {
            self.reports.front().map(|(from, _)| (*from).max(slot))
        }
    }

    /// A request, or a report, says that `bytes` wait besides what was sent; grants follow it from slot `from` on.
    pub fn report(&mut self, bytes: u64, from: u64) {
        self.reports.push_back((from, self.sent + bytes));
    }

    /// The terminal needs a request since `now`.
    pub fn want(&mut self, now: Time) {
        self.wanted.get_or_insert(now);
    }

    /// A block with `bytes` is sent. Returns since when the terminal has waited for it, if it had to ask.
    pub fn sent(&mut self, bytes: u64) -> Option<Time> {
        self.sent += bytes;
        self.wanted.take()
    }

    /// `bytes` that were sent are to be sent again.
    pub fn returned(&mut self, bytes: u64) {
        self.sent = self.sent.saturating_sub(bytes);
    }

    /// Nothing waits any more, or the base station is another one.
    pub fn forget(&mut self) {
        self.known = self.sent;
        self.reports.clear();
        self.wanted = None;
    }
}
