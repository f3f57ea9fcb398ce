//! SACK-based loss recovery. RFC 6675.
//!
//! Differences from the RFC: the scoreboard is kept after a timeout, which the RFC permits, and the unreported
//! segments are retransmitted in order; the duplicate-ACK counter counts ACKs that report new data.

use crate::blocks::AckOptions;
use crate::connection::{Connection, DUP_THRESH, LossRecovery};
use crate::context::FlowContext;
use crate::options::Options;
use crate::ranges::SegmentRanges;
use cc::{Phase, Signals};
use net::Packet;

#[derive(Clone, Debug, Default)]
pub(crate) struct Rfc6675 {
    board: SegmentRanges,
    recovering: bool,
    /// Segments in flight before the ACK that is processed.
    prior_in_flight: u32,
    /// One past the highest segment retransmitted in this recovery (HighRxt).
    retransmitted_to: u32,
    /// Whether this recovery has sent its rescue retransmission.
    rescued: bool,
}

impl Rfc6675 {
    fn unreported(&self, from: u32, to: u32) -> u32 {
        to.saturating_sub(from) - self.board.count(from, to)
    }

    /// The estimated number of segments in the network (RFC 6675 section 4, SetPipe).
    fn pipe(&self, una: u32, next: u32, high: u32) -> u32 {
        if !self.recovering {
            return self.unreported(una, next);
        }
        let lost_below = self.board.lost_below().max(una);
        self.unreported(lost_below, high) + self.unreported(una, self.retransmitted_to.max(una))
    }

    /// What to send next in recovery (RFC 6675 section 4, NextSeg); new data is `high`.
    fn next_seg(&self, una: u32, high: u32, new_data: bool) -> Option<u32> {
        let hole = self.board.next_hole(self.retransmitted_to.max(una));
        let below_report = self.board.highest().is_some_and(|top| hole < top);
        if below_report && (hole < self.board.lost_below() || !new_data) {
            return Some(hole);
        }
        if new_data {
            return Some(high);
        }
        // The rescue retransmission.
        let last = (una..high).rev().find(|seq| !self.board.has(*seq));
        last.filter(|seq| *seq >= self.retransmitted_to && !self.rescued)
    }

    /// Begins recovery.
    fn enter<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        let una = c.una;
        c.enter_recovery(self, context, una);
        c.next = c.high;
        self.recovering = true;
        self.rescued = false;
        self.retransmitted_to = una + 1;
        c.reset_timer(context, false);
        c.output(self, context, una);
    }
}

impl LossRecovery for Rfc6675 {
    fn new(_options: &Options, _needs: Signals) -> Rfc6675 {
        Rfc6675::default()
    }

    fn on_ack<W: FlowContext>(
        &mut self,
        c: &mut Connection,
        context: &mut W,
        packet: &Packet,
        options: &AckOptions,
    ) {
        self.prior_in_flight = self.in_flight(c);
        let (una, high) = (c.una.max(packet.seq), c.high);
        let mut news = false;
        for block in options.blocks.as_slice() {
            news |= self.board.add(*block, una, high);
        }
        if packet.seq > c.una {
            let progress = c.new_ack(self, context, packet);
            let una = c.una;
            self.board.advance(una);
            if self.recovering {
                c.notify(self, context, packet, progress, Phase::Recovery);
                if c.una > c.recover {
                    self.recovering = false;
                    c.leave_recovery(context.now());
                }
            } else {
                c.grow(self, context, packet, progress);
            }
        } else if packet.seq == c.una && news {
            c.dupacks += 1;
            c.notify_duplicate(self, context, packet);
        }
        let una = c.una;
        let lost = c.dupacks >= DUP_THRESH || una < self.board.lost_below();
        if lost && c.phase == Phase::Open && una < c.high {
            self.enter(c, context);
        }
        self.send(c, context, c.options.max_burst);
    }

    fn forget_repair(&mut self) {
        self.retransmitted_to = 0;
        self.recovering = false;
    }

    /// A segment may be sent while the window exceeds the pipe.
    fn next_segment(&self, c: &Connection, window: u32) -> Option<u32> {
        if self.pipe(c.una, c.next, c.high) >= window {
            return None;
        }
        if self.recovering {
            let new_data = c.next < c.limit && c.next - c.una < c.options.window;
            return self.next_seg(c.una, c.high, new_data);
        }
        let seq = self.board.next_hole(c.next);
        (seq < c.limit && seq - c.una < c.options.window).then_some(seq)
    }

    fn note_sent(&mut self, c: &Connection, seq: u32) {
        let retransmission = seq < c.high;
        if retransmission && self.recovering {
            // The rescue retransmission, which is above all reports, does not move HighRxt.
            match self.board.highest() {
                Some(top) if seq < top => self.retransmitted_to = self.retransmitted_to.max(seq + 1),
                _ => self.rescued = true,
            }
        }
    }

    fn in_flight(&self, c: &Connection) -> u32 {
        self.pipe(c.una, c.next, c.high)
    }

    fn in_flight_before(&self, _c: &Connection, _acked: u32) -> u32 {
        self.prior_in_flight
    }

    fn reported(&self, seq: u32) -> bool {
        self.board.has(seq)
    }

    /// Only the window bounds a pipe; new data stays within the receiver's window.
    fn allowance(&self, c: &Connection) -> u32 {
        if self.recovering { c.cwnd().max(c.window()) } else { c.window_with_limited_transmit() }
    }
}

#[cfg(test)]
mod tests {
    use crate::options::{Options, Recovery};
    use crate::testing::{Driver, block};
    use units::Span;

    #[test]
    fn sack_of_rfc_6675() {
        // Window 10; 0, 1 and 5 are lost.
        let options = Options { recovery: Recovery::Sack, timestamps: false, ..Options::linux() };
        let mut d = Driver::new(options, 10.0);
        assert_eq!(d.ack(0, &[block(2, 3)]), [10]); // one reported: the pipe has room for a new one
        assert_eq!(d.ack(0, &[block(2, 4)]), [11]);
        // The third: 0 and 1 are lost. Window 5; pipe: 5 and 6 to 11 unreported above the lost ones, and 0 again: 8.
        assert_eq!(d.ack(0, &[block(2, 5)]), [0]);
        assert_eq!(d.cwnd(), 5.0);
        assert!(d.ack(0, &[block(6, 7), block(2, 5)]).is_empty());
        assert!(d.ack(0, &[block(6, 8), block(2, 5)]).is_empty());
        // Three reported above 5: it is lost too, which takes it out of the pipe: 8 to 11 less 8, and 0.
        assert_eq!(d.ack(0, &[block(6, 9), block(2, 5)]), [1]);
        assert_eq!(d.ack(0, &[block(6, 10), block(2, 5)]), [5]);
        // All but the last two that were sent before the recovery are there: two in the pipe, room for three.
        assert_eq!(d.ack(10, &[]), [12, 13, 14]);
        assert_eq!(d.sender.phase(), cc::Phase::Recovery);
        d.ack(12, &[]);
        assert_eq!(d.cwnd(), 5.0);
        assert_eq!(d.sender.phase(), cc::Phase::Open);
    }

    #[test]
    fn timeout_goes_back_and_keeps_reports() {
        let options = Options { recovery: Recovery::Sack, timestamps: false, ..Options::linux() };
        let mut d = Driver::new(options, 4.0);
        d.ack(0, &[block(2, 3)]);
        d.sent();
        d.context.now += Span::from_ms(1000);
        d.sender.on_retransmit_timer(&mut d.context);
        assert_eq!(d.sent(), [0]);
        assert_eq!(d.cwnd(), 1.0);
        assert_eq!(d.ack(1, &[block(2, 3)]), [1, 3]); // 2 was reported: it is passed over
    }
}
