//! SACK as in ns-2's Sack1 agent (Fall and Floyd 1996): a pipe counter; retransmissions first, then new data.

use super::state::{Sack, board};
use super::{DUP_THRESH, LossRecovery};
use crate::blocks::{AckOptions, Block};
use crate::context::{FlowContext, FlowTimer};
use crate::sender::{Progress, Sender};
use net::Packet;

pub(crate) struct Sack1;

impl Sack {
    fn forget(&mut self) {
        self.board.clear();
        self.retransmitted_to = 0;
        self.timed_out = false;
    }

    /// The first hole below a reported segment that is not retransmitted yet.
    fn next_retransmission(&self, una: u32) -> Option<u32> {
        let hole = self.board.next_hole(self.retransmitted_to.max(una));
        self.board.highest().filter(|top| hole < *top).map(|_| hole)
    }
}

impl LossRecovery for Sack1 {
    fn on_ack<W: FlowContext>(s: &mut Sender, context: &mut W, packet: &Packet, options: &AckOptions) {
        board(s).prior_in_flight = Self::in_flight(s);
        let blocks = options.blocks.as_slice();
        if board(s).recovering {
            repair(s, context, packet, blocks);
            return Self::send(s, context, s.options.max_burst);
        }
        if packet.seq > s.una {
            let progress = s.new_ack(context, packet);
            board(s).forget();
            s.grow(context, packet, progress);
        } else if packet.seq == s.una && !board(s).timed_out && report(s, blocks) {
            // Only an ACK that reports something new counts as a duplicate.
            s.dupacks += 1;
            s.notify_duplicate(context, packet);
            if s.dupacks == DUP_THRESH {
                if s.may_recover() {
                    fast_retransmit(s, context);
                }
            } else if s.dupacks < DUP_THRESH && s.options.limited_transmit {
                s.send_one(context);
            }
        }
        if s.dupacks == 0 {
            Self::send(s, context, s.options.max_burst);
        }
    }

    fn forget_repair(s: &mut Sender) {
        let sack = board(s);
        sack.board.clear();
        sack.end_repair();
    }

    /// A segment may be sent while the pipe (in recovery) or the window permits it.
    fn next_segment(s: &Sender, window: u32) -> Option<u32> {
        let sack = s.recovery_state.scoreboard()?;
        let room = if sack.recovering { sack.pipe < s.cwnd() as i64 } else { s.next - s.una < window };
        if !room || s.una >= s.limit {
            return None;
        }
        match sack.next_retransmission(s.una) {
            Some(hole) => (s.recover > 0 && hole - s.una < s.options.window).then_some(hole),
            None => {
                let bound = if sack.recovering { s.options.window } else { window };
                (s.next - s.una < bound && s.next < s.limit).then_some(s.next)
            }
        }
    }

    fn note_sent(s: &mut Sender, seq: u32) {
        let una = s.una;
        let sack = board(s);
        if sack.next_retransmission(una) == Some(seq) {
            sack.mark_retransmitted(seq);
        }
        sack.pipe += 1;
    }

    fn in_flight(s: &Sender) -> u32 {
        match s.recovery_state.scoreboard() {
            Some(sack) if sack.recovering => sack.pipe.max(0) as u32,
            _ => s.next.saturating_sub(s.una),
        }
    }
}

/// Processes an ACK in recovery.
fn repair<W: FlowContext>(s: &mut Sender, context: &mut W, packet: &Packet, blocks: &[Block]) {
    board(s).pipe -= 1;
    if packet.seq > s.recover && packet.seq > s.una {
        s.recover = 0;
        board(s).recovering = false;
        let progress = s.new_ack(context, packet);
        board(s).forget();
        s.notify_without_growth(context, packet, progress);
        s.leave_recovery(context.now());
    } else if packet.seq > s.una {
        let acked = packet.seq - s.una;
        s.note_delivery(context.now(), packet.seq);
        s.una = packet.seq;
        s.next = s.next.max(s.una);
        report(s, blocks);
        board(s).pipe -= 1; // the retransmission left the network, as the original had before
        context.set_timer(FlowTimer::Retransmit, context.now() + s.rtt.rto());
        s.rtt.end_backoff(&s.options);
        s.notify_without_growth(context, packet, Progress { acked, dupacks: s.dupacks });
    } else if !board(s).timed_out && report(s, blocks) {
        s.dupacks += (s.dupacks > 0) as u32;
        s.notify_duplicate(context, packet);
    }
}

/// Adds the blocks to the scoreboard. Returns whether they report new data.
fn report(s: &mut Sender, blocks: &[Block]) -> bool {
    let (una, high) = (s.una, s.high);
    let sack = board(s);
    let mut news = sack.board.advance(una);
    for block in blocks {
        news |= sack.board.add(*block, una, high);
    }
    news
}

fn fast_retransmit<W: FlowContext>(s: &mut Sender, context: &mut W) {
    let una = s.una;
    s.enter_recovery(context, una);
    s.reset_timer(context, false);
    let pipe = (s.high - una) as i64 - DUP_THRESH as i64;
    let sack = board(s);
    sack.pipe = pipe;
    sack.recovering = true;
    sack.mark_retransmitted(una);
    s.output(context, una);
}
