//! SACK as in ns-2's Sack1 agent (Fall and Floyd 1996): a pipe counter; retransmissions first, then new data.

use super::DUP_THRESH;
use super::sack::{board, note_in_flight};
use super::state::Sack;
use crate::blocks::Block;
use crate::context::{FlowContext, FlowTimer};
use crate::sender::Sender;
use cc::Controller;
use net::Packet;

pub(crate) fn on_ack<W: FlowContext>(s: &mut Sender, context: &mut W, packet: &Packet, blocks: &[Block]) {
    note_in_flight(s);
    if !board(s).recovering {
        if packet.seq > s.una {
            let progress = s.new_ack(context, packet);
            board(s).forget();
            board(s).timed_out = false;
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
            s.send_much(context, s.options.max_burst);
        }
        return;
    }
    board(s).pipe -= 1;
    if packet.seq > s.recover && packet.seq > s.una {
        s.recover = 0;
        board(s).recovering = false;
        let progress = s.new_ack(context, packet);
        board(s).forget();
        board(s).timed_out = false;
        s.notify_without_growth(context, packet, progress);
        s.leave_recovery(context.now());
    } else if packet.seq > s.una {
        let acked = packet.seq - s.una;
        let rate = s.delivered(context.now(), packet.seq);
        s.una = packet.seq;
        s.next = s.next.max(s.una);
        report(s, blocks);
        board(s).pipe -= 1; // the retransmission left the network, as the original had before
        context.set_timer(FlowTimer::Retransmit, context.now() + s.rtt.rto(&s.options));
        s.rtt.end_backoff();
        s.notify_without_growth(context, packet, crate::sender::Progress { acked, dupacks: s.dupacks, rate });
    } else if !board(s).timed_out && report(s, blocks) {
        s.dupacks += (s.dupacks > 0) as u32;
        s.notify_duplicate(context, packet);
    }
    s.send_much(context, s.options.max_burst);
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

impl Sack {
    /// The first hole below a reported segment that is not retransmitted yet.
    fn next_retransmission(&self, una: u32) -> Option<u32> {
        let hole = self.board.next_hole(self.retransmitted_to.max(una));
        self.board.highest().filter(|top| hole < *top).map(|_| hole)
    }
}

/// Sends while the pipe (in recovery) or the window permits it.
pub(crate) fn send<W: FlowContext>(s: &mut Sender, context: &mut W, burst: u32) {
    let window = s.window();
    let mut packets = 0;
    while s.una < s.limit {
        let recovering = board(s).recovering;
        let room =
            if recovering { board(s).pipe < s.controller.cwnd() as i64 } else { s.next - s.una < window };
        if !room {
            break;
        }
        let una = s.una;
        let seq = match board(s).next_retransmission(una) {
            Some(hole) if s.recover > 0 && hole - una < s.options.window => {
                board(s).mark_retransmitted(hole);
                hole
            }
            Some(_) => break,
            None => {
                let bound = if recovering { s.options.window } else { window };
                if s.next - una >= bound || s.next >= s.limit {
                    break;
                }
                s.next
            }
        };
        if !s.may_leave(context) {
            break;
        }
        s.next = s.next.max(seq + 1);
        board(s).pipe += 1;
        s.output(context, seq);
        packets += 1;
        if packets == burst {
            break;
        }
    }
}
