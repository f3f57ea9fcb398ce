//! The scoreboard: the segments, and the properties of the path that follow from their deliveries.

use super::reordering::{Detection, Reordering};
use super::segments::Segments;
use crate::accurate_ecn::ByteCounters;
use crate::blocks::Block;
use crate::connection::Connection;
use units::{Span, Time};

/// The smallest round-trip time is that of this many seconds, as in Linux.
const MIN_RTT_WINDOW: Span = Span::from_ms(300_000);

/// The segments, and the properties of the path that follow from their deliveries.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    pub(super) segments: Segments,
    pub(super) detection: Detection,
    pub(super) reordering: Reordering,
    pub(super) min_rtt: Option<(Span, Time)>,
    /// Segments reported as duplicates.
    pub(super) dsacks: u64,
    /// Segments that ACKs with an ECN echo delivered; with accurate feedback the CE packets that the receiver has counted.
    pub(super) ce_total: u64,
    /// With accurate feedback: CE packets that the present ACK reports, and the receiver's counters of bytes.
    pub(super) ce: u32,
    pub(super) ecn_bytes: ByteCounters,
    /// Reused memory for the newly reported parts of SACK blocks.
    pub(super) parts: Vec<Block>,
}

impl Scoreboard {
    /// A round-trip sample.
    pub(super) fn update_min_rtt(&mut self, now: Time, rtt: Span) {
        let keep = self.min_rtt.is_some_and(|(least, at)| least < rtt && now.since(at) < MIN_RTT_WINDOW);
        if !keep {
            self.min_rtt = Some((rtt, now));
        }
    }

    /// Whether the application, and not the window, limits what is in flight.
    pub(super) fn application_limited(&self, c: &Connection) -> bool {
        let segments = &self.segments;
        c.lacks_data()
            && segments.in_flight(c.outstanding()) < c.cwnd()
            && segments.lost_out <= segments.retrans_out
    }

    /// Notifies the controller of the segments that were marked as lost, if it needs them.
    #[inline]
    pub(super) fn notify_losses(&mut self, c: &mut Connection, now: Time) {
        if !self.segments.records_losses() {
            return;
        }
        let lost = self.segments.take_losses();
        if !lost.is_empty() {
            c.reports.losses(&mut c.controller, now, &lost, [self.segments.lost, self.segments.delivered]);
        }
    }

    /// Whether the receiver has discarded a reported segment: the oldest outstanding one is reported.
    pub(super) fn reneged(&self, c: &Connection) -> bool {
        c.outstanding() > 0 && self.segments.get(c.una).reported()
    }
}
