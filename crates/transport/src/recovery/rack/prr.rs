//! Proportional rate reduction (RFC 9937 and 6937), and what is needed to undo a reduction.

use super::segments::Segments;
use super::timer::Probe;
use crate::options::{Options, ReductionKind};
use std::ops::Range;
use units::Time;

/// The reduction in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct Reduction {
    /// The window that it reduces, segments.
    pub(super) prior_cwnd: u32,
    /// The window after it, segments.
    pub(super) target: u32,
    /// The controller's threshold when it began.
    pub(super) ssthresh: f64,
    /// Segments in flight when it began.
    pub(super) flight: u32,
    pub(super) delivered: u32,
    pub(super) sent: u32,
}

impl Reduction {
    /// `count` segments were sent while the window is being reduced.
    pub(super) fn transmitted(&mut self, count: u32) {
        self.sent += count;
    }

    /// The number of segments that may be sent on an ACK that delivers `delivered` segments, with `flight` in flight.
    pub(super) fn allowance(&mut self, kind: ReductionKind, flight: u32, delivered: u32, safe: bool) -> u32 {
        self.delivered += delivered;
        let proportional = match kind {
            ReductionKind::Prr => self.prior_cwnd,
            _ => self.flight,
        };
        let unsent = self.delivered.saturating_sub(self.sent);
        let count = if flight > self.target {
            let share = (self.target as u64 * self.delivered as u64).div_ceil(proportional.max(1) as u64);
            (share as u32).saturating_sub(self.sent)
        } else {
            let room = self.target - flight;
            let limit = match kind {
                ReductionKind::Prr6937Ssrb => unsent.max(delivered) + 1,
                ReductionKind::Prr6937Crb => unsent,
                _ => unsent.max(delivered) + safe as u32,
            };
            room.min(limit)
        };
        count.max((self.sent == 0) as u32)
    }
}

/// What is needed to undo the last reduction (RFC 3708, 4015, 5682).
#[derive(Clone, Debug)]
pub(super) struct Undo {
    /// `una` when the window was reduced; `None`: there is nothing to undo.
    pub(super) marker: Option<u32>,
    /// Retransmissions of this episode that no DSACK has reported; -1: none was sent yet.
    pub(super) retransmissions: i64,
    /// The window before, segments.
    pub(super) prior_cwnd: u32,
    /// The threshold before; zero forbids restoring it.
    pub(super) prior_ssthresh: f64,
    /// When the first retransmission of this episode was sent.
    pub(super) first_retransmission: Option<Time>,
    /// Without SACK: recovery is complete, and waits for an ACK above `high_seq`.
    pub(super) complete: bool,
    by_dsack: bool,
    pub(super) by_timestamps: bool,
    pub(super) by_frto: bool,
}

impl Undo {
    pub(super) fn new(options: &Options) -> Undo {
        Undo {
            marker: None,
            retransmissions: 0,
            prior_cwnd: 0,
            prior_ssthresh: 0.0,
            first_retransmission: None,
            complete: false,
            by_dsack: options.undo.dsack,
            by_timestamps: options.undo.timestamps,
            by_frto: options.undo.frto,
        }
    }

    /// The window is reduced, with `una` as the oldest segment outstanding: remembers what an undo needs.
    pub(super) fn mark(&mut self, una: u32, segments: &Segments, probe: Option<Probe>) {
        self.marker = Some(una);
        self.complete = false;
        let probe = probe.is_some_and(|probe| probe.retransmission);
        self.retransmissions = match segments.retrans_out as i64 + probe as i64 {
            0 => -1,
            some => some,
        };
    }

    /// Clears the time of the first retransmission once no outstanding segment is retransmitted.
    pub(super) fn forget_first_retransmission(&mut self, segments: &Segments, outstanding: Range<u32>) {
        if !segments.any_retransmission(outstanding) {
            self.first_retransmission = None;
        }
    }

    /// Whether an ACK with this timestamp echo shows that the original of the first retransmission was only late.
    pub(super) fn original_was_late(&self, options: &Options, echo: Option<Time>) -> bool {
        match (self.first_retransmission, echo) {
            (None, _) => self.by_timestamps && !self.complete,
            (Some(first), Some(echo)) => self.by_timestamps && options.stamp(echo) < options.stamp(first),
            (Some(_), None) => false,
        }
    }

    /// Whether an ACK with this timestamp echo permits an undo.
    pub(super) fn is_possible(&self, options: &Options, echo: Option<Time>) -> bool {
        self.marker.is_some() && (self.all_duplicates() || self.original_was_late(options, echo))
    }

    pub(super) fn retransmitted(&mut self, now: Time) {
        self.first_retransmission.get_or_insert(now);
        self.retransmissions = self.retransmissions.max(0) + 1;
    }

    /// A DSACK reports `count` segments below `end`.
    pub(super) fn dsack(&mut self, end: u32, count: u32) {
        if self.retransmissions > 0 && self.marker.is_some_and(|marker| end > marker) {
            self.retransmissions = (self.retransmissions - count as i64).max(0);
        }
    }

    /// Every retransmission was reported as a duplicate.
    pub(super) fn all_duplicates(&self) -> bool {
        self.by_dsack && self.marker.is_some() && self.retransmissions == 0
    }
}
