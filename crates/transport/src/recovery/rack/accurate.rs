//! Accurate ECN feedback (RFC 9768): the CE packets that an ACK reports.

use super::{Arrival, Rack};
use crate::accurate_ecn::{Report, ce_packets};
use crate::change::WindowCause;
use crate::connection::Connection;
use cc::{Controller, EcnResponse};
use net::{Packet, RouterReply};

impl Rack {
    /// Counts the CE packets that the ACK reports after its blocks and its cumulative part are processed. An ACK that is older
    /// than another one, or acknowledges nothing new, reports none; the next one does.
    #[cold]
    pub(super) fn count_ce(
        &mut self,
        c: &mut Connection,
        a: &mut Arrival,
        packet: &Packet,
        reply: RouterReply,
    ) {
        self.board.ce = 0;
        a.ece = false;
        let Some(ace) = packet.ece.ace() else { return };
        if packet.seq < a.prior_una || !(a.advanced || a.sacked) {
            return;
        }
        let ce_bytes = match reply {
            RouterReply::EcnBytes { ect, ce, .. } => match self.board.ecn_bytes.take(ect, ce) {
                None => return,
                growth => growth,
            },
            _ => None,
        };
        let mut delivered = (self.board.segments.delivered - a.prior_delivered) as u32;
        if !c.options.sack {
            delivered = delivered.max(c.una - a.prior_una); // duplicate ACKs have counted some of them
        }
        self.board.ce =
            ce_packets(&Report { ace, delivered, ce_bytes }, self.board.ce_total, c.options.packet);
        self.board.ce_total += u64::from(self.board.ce);
        if self.board.ce == 0 {
            return;
        }
        a.ece = c.controller.ecn_response() == EcnResponse::Reduce;
        if !a.ece {
            c.cause = Some(WindowCause::Ecn); // if the controller reduces its window
        }
    }

    /// The ECN echo of an ACK with one, and the CE packets or marked segments among the `delivered` ones that it stands for.
    #[cold]
    pub(super) fn marks(&self, c: &Connection, packet: &Packet, delivered: u32) -> (bool, u32) {
        match packet.ece.ace() {
            _ if !c.options.ecn => (false, 0),
            Some(_) => (self.board.ce > 0, self.board.ce),
            None => (true, delivered),
        }
    }
}
