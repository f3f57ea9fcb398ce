//! SACK-based loss recovery. RFC 6675.
//!
//! Differences from the RFC: the scoreboard is kept after a timeout, which the RFC permits, and the unreported
//! segments are retransmitted in order; the duplicate-ACK counter counts ACKs that report new data.

use super::{DUP_THRESH, LossRecovery};
use crate::blocks::AckOptions;
use crate::connection::Connection;
use crate::context::FlowContext;
use crate::recovery_state::{RecoveryState, Sack};
use cc::Phase;
use net::Packet;

#[derive(Clone)]
pub(crate) struct Rfc6675;

/// The state of a SACK recovery, to be changed.
pub(super) fn board(s: &mut Connection) -> &mut Sack {
    match &mut s.recovery_state {
        RecoveryState::Sack1(sack) | RecoveryState::Rfc6675(sack) => sack,
        _ => unreachable!("the recovery state is that of SACK recovery"),
    }
}

impl Sack {
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
}

impl LossRecovery for Rfc6675 {
    fn on_ack<W: FlowContext>(s: &mut Connection, context: &mut W, packet: &Packet, options: &AckOptions) {
        board(s).prior_in_flight = Self::in_flight(s);
        let (una, high) = (s.una.max(packet.seq), s.high);
        let mut news = false;
        for block in options.blocks.as_slice() {
            news |= board(s).board.add(*block, una, high);
        }
        if packet.seq > s.una {
            let progress = s.new_ack(context, packet);
            let una = s.una;
            board(s).board.advance(una);
            if board(s).recovering {
                s.notify(context, packet, progress, Phase::Recovery);
                if s.una > s.recover {
                    board(s).recovering = false;
                    s.leave_recovery(context.now());
                }
            } else {
                s.grow(context, packet, progress);
            }
        } else if packet.seq == s.una && news {
            s.dupacks += 1;
            s.notify_duplicate(context, packet);
        }
        let una = s.una;
        let lost = s.dupacks >= DUP_THRESH || una < board(s).board.lost_below();
        if lost && s.phase == Phase::Open && una < s.high {
            enter(s, context);
        }
        Self::send(s, context, s.options.max_burst);
    }

    fn forget_repair(s: &mut Connection) {
        board(s).end_repair();
    }

    /// A segment may be sent while the window exceeds the pipe.
    fn next_segment(s: &Connection, window: u32) -> Option<u32> {
        let sack = s.recovery_state.scoreboard()?;
        if sack.pipe(s.una, s.next, s.high) >= window {
            return None;
        }
        if sack.recovering {
            let new_data = s.next < s.limit && s.next - s.una < s.options.window;
            return sack.next_seg(s.una, s.high, new_data);
        }
        let seq = sack.board.next_hole(s.next);
        (seq < s.limit && seq - s.una < s.options.window).then_some(seq)
    }

    fn note_sent(s: &mut Connection, seq: u32) {
        let retransmission = seq < s.high;
        let sack = board(s);
        if retransmission && sack.recovering {
            // The rescue retransmission, which is above all reports, does not move HighRxt.
            match sack.board.highest() {
                Some(top) if seq < top => sack.mark_retransmitted(seq),
                _ => sack.rescued = true,
            }
        }
    }

    fn in_flight(s: &Connection) -> u32 {
        s.recovery_state.scoreboard().map_or(0, |sack| sack.pipe(s.una, s.next, s.high))
    }
}

fn enter<W: FlowContext>(s: &mut Connection, context: &mut W) {
    let una = s.una;
    s.enter_recovery(context, una);
    s.next = s.high;
    let sack = board(s);
    sack.recovering = true;
    sack.rescued = false;
    sack.retransmitted_to = una + 1;
    s.reset_timer(context, false);
    s.output(context, una);
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
