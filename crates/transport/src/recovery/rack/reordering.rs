//! What RACK knows: the newest delivered segment, and how much reordering the path has (RFC 8985 section 6.2).

use super::segments::Segment;
use units::{Span, Time};

/// RACK's most recently sent delivered segment.
#[derive(Clone, Debug, Default)]
pub(super) struct Detection {
    /// When it was sent, and its number; zeros before the first delivery.
    newest: (Time, u32),
    /// The round-trip time of the last delivered segment.
    pub(super) rtt: Span,
    /// Segments delivered when the newest segment of the current ACK was sent, and when that was.
    pub(super) round: Option<(Time, u32)>,
    /// A segment was delivered since the last detection.
    pub(super) pending: bool,
}

impl Detection {
    /// Segment `seq` is delivered. A retransmission that is "delivered" sooner than any round trip is not counted: the
    /// original arrived.
    pub(super) fn delivered(&mut self, now: Time, seq: u32, segment: Segment, min_rtt: Option<Span>) {
        if self.round.is_none_or(|(sent, _)| sent <= segment.sent) {
            self.round = Some((segment.sent, segment.delivered));
        }
        let rtt = now.since(segment.sent);
        if segment.ever_retransmitted() && min_rtt.is_some_and(|least| rtt < least) {
            return;
        }
        self.pending = true;
        self.rtt = rtt;
        self.newest = self.newest.max((segment.sent, seq));
    }

    /// The time until a segment sent at `sent` counts as lost: zero if it does now.
    pub(super) fn time_left(&self, now: Time, sent: Time, window: Span) -> Span {
        let (due, age) = (self.rtt + window, now.since(sent));
        if due > age { Span::from_ps(due.ps() - age.ps()) } else { Span::ZERO }
    }

    /// Whether the segment was sent before the newest delivered one.
    pub(super) fn sent_before(&self, seq: u32, segment: Segment) -> bool {
        self.newest > (segment.sent, seq)
    }
}

/// How much reordering the path has, and the window that follows from it (RFC 8985 section 6.2).
#[derive(Clone, Debug)]
pub(super) struct Reordering {
    pub(super) degree: u32,
    pub(super) seen: u32,
    /// Multiples of a quarter of the smallest round-trip time.
    pub(super) steps: u32,
    /// Recoveries until the multiples fall back to one.
    pub(super) persist: u32,
    pub(super) dsack_seen: bool,
    pub(super) last_adjusted: u64,
}

impl Default for Reordering {
    fn default() -> Reordering {
        Reordering {
            degree: Reordering::LEAST,
            seen: 0,
            steps: 1,
            persist: 0,
            dsack_seen: false,
            last_adjusted: 0,
        }
    }
}

impl Reordering {
    /// Degree without reordering: three reported segments indicate a loss.
    pub(super) const LEAST: u32 = 3;
    pub(super) const MOST: u32 = 300;
    /// Recoveries for which an adapted window persists.
    pub(super) const PERSISTENCE: u32 = 16;

    pub(super) fn degree(&self) -> u32 {
        self.degree
    }
    pub(super) fn seen(&self) -> u32 {
        self.seen
    }
    /// Segment `seq` arrived after one below `highest`.
    pub(super) fn see(&mut self, highest: u32, seq: u32) {
        if seq < highest {
            self.see_degree(self.degree.max(highest - seq));
        }
    }
    pub(super) fn see_degree(&mut self, degree: u32) {
        self.degree = degree.min(Reordering::MOST);
        self.seen += 1;
    }
    pub(super) fn dsack(&mut self) {
        self.dsack_seen = true;
    }
    /// A timeout after many reports: the degree was overestimated.
    pub(super) fn distrust(&mut self) {
        self.degree = self.degree.min(Reordering::LEAST);
    }
    /// A recovery was undone.
    pub(super) fn recovery_undone(&mut self) {
        self.persist = (self.persist + 1).min(Reordering::PERSISTENCE);
    }
    /// A recovery ended that was not undone.
    pub(super) fn recovery_ended(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }
}
