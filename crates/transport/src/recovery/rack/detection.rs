//! Loss detection by time of sending (RFC 8985 section 6), and without SACK by duplicate ACKs (RFC 6582).

use super::reordering::Reordering;
use super::scoreboard::Scoreboard;
use super::snapshot::State;
use super::{Arrival, Rack};
use crate::connection::Connection;
use crate::context::FlowContext;
use crate::options::ReorderingWindow;
use units::{Span, Time};

impl Scoreboard {
    /// Widens the reordering window by a DSACK, at most once a round trip: the newest segment of this ACK must have been
    /// sent after the last change.
    pub(super) fn adapt_reordering_window(&mut self, c: &Connection, a: &Arrival) {
        let round = self.detection.round.take();
        if self.segments.delivered == a.prior_delivered
            || c.options.reordering_window != ReorderingWindow::Adaptive
        {
            return;
        }
        let Some((_, sent_at)) = round else { return };
        let r = &mut self.reordering;
        if (sent_at.wrapping_sub(r.last_adjusted as u32) as i32) < 0 {
            r.dsack_seen = false;
        }
        if r.dsack_seen {
            r.steps = (r.steps + 1).min(255);
            r.dsack_seen = false;
            r.last_adjusted = self.segments.delivered;
            r.persist = Reordering::PERSISTENCE;
        } else if r.persist == 0 {
            r.steps = 1;
        }
    }

    /// How much later than its round-trip time a segment may be delivered before it counts as lost.
    fn reordering_window(&self, c: &Connection, state: State) -> Span {
        let Some((min_rtt, _)) = self.min_rtt else { return Span::ZERO };
        let repairing = matches!(state, State::Recovery | State::Loss);
        let r = &self.reordering;
        let none = c.options.reordering_window == ReorderingWindow::None;
        if none || (r.seen == 0 && (repairing || self.segments.sacked_out >= r.degree)) {
            return Span::ZERO;
        }
        let window = Span::from_ps(min_rtt.ps() / 4 * r.steps as u64);
        c.rtt.smoothed(&c.options).map_or(Span::ZERO, |srtt| window.min(srtt))
    }

    /// Marks the segments that are lost at `now`. Returns the longest time until another one will be.
    pub(super) fn detect(&mut self, c: &Connection, state: State, now: Time) -> Span {
        let window = self.reordering_window(c, state);
        let mut wait = Span::ZERO;
        let mut next = self.segments.oldest();
        while let Some(seq) = next {
            let segment = self.segments.get(seq);
            if !self.detection.sent_before(seq, segment) {
                break;
            }
            next = self.segments.sent_after(seq);
            let left = self.detection.time_left(now, segment.sent, window);
            if left == Span::ZERO {
                self.segments.mark_lost(seq);
            } else {
                wait = wait.max(left);
            }
        }
        wait
    }

    /// Without SACK: the oldest segment is lost at the third duplicate ACK, and in recovery at each partial ACK.
    fn mark_by_duplicates(&mut self, c: &Connection, state: State, advanced: bool) {
        let repairing = matches!(state, State::Recovery | State::Loss);
        let by_duplicates = !repairing && self.segments.sacked_out >= self.reordering.degree;
        if by_duplicates || (state == State::Recovery && advanced) {
            let una = c.una;
            if !self.segments.get(una).given_up() {
                self.segments.mark_lost(una);
            }
        }
    }

    /// Gives up the oldest segment and every other one that is older than its round-trip time.
    pub(super) fn mark_for_rto(&mut self, c: &Connection, now: Time) {
        let una = c.una;
        if self.segments.get(una).reported() {
            self.segments.forget_all_reports(c.numbers());
        }
        if !c.options.sack {
            self.segments.sacked_out = 0;
        }
        for seq in una..c.next {
            let sent = self.segments.get(seq).sent;
            if seq == una || self.detection.time_left(now, sent, Span::ZERO) == Span::ZERO {
                self.segments.mark_lost(seq);
            }
        }
    }
}

impl Rack {
    /// Detects losses after an ACK, and sets the reordering timer if a segment may become lost later.
    pub(super) fn identify_losses<W: FlowContext>(
        &mut self,
        c: &Connection,
        context: &mut W,
        a: &mut Arrival,
    ) {
        if c.outstanding() == 0 {
            return;
        }
        if !c.options.sack {
            return self.board.mark_by_duplicates(c, self.state, a.advanced);
        }
        if !std::mem::take(&mut self.board.detection.pending) {
            return;
        }
        let retransmissions = self.board.segments.retrans_out;
        let wait = self.board.detect(c, self.state, a.now);
        a.lost_retransmission |= self.board.segments.retrans_out < retransmissions;
        if wait > Span::ZERO {
            self.timer.arm_reordering(c, context, wait);
            a.rearm = false;
        }
    }
}
