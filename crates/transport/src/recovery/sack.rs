//! SACK-based loss recovery. RFC 6675.
//!
//! Differences from the RFC: the scoreboard is kept after a timeout, which the RFC permits, and the unreported
//! segments are retransmitted in order; the duplicate-ACK counter counts ACKs that report new data.

use super::DUP_THRESH;
use super::state::{RecoveryState, Sack};
use crate::blocks::Block;
use crate::context::FlowContext;
use crate::options::StackProfile;
use crate::sender::Sender;
use cc::Phase;
use net::Packet;

pub(crate) fn board(s: &mut Sender) -> &mut Sack {
    match &mut s.recovery_state {
        RecoveryState::Sack(sack) => sack,
        _ => unreachable!("the recovery state is that of SACK recovery"),
    }
}

impl Sack {
    pub fn forget(&mut self) {
        self.board.clear();
        self.retransmitted_to = 0;
    }

    pub fn mark_retransmitted(&mut self, seq: u32) {
        self.retransmitted_to = self.retransmitted_to.max(seq + 1);
    }

    pub fn on_timeout(&mut self, stack: StackProfile) {
        if stack == StackProfile::Ns2 {
            self.board.clear();
        }
        self.retransmitted_to = 0;
        self.recovering = false;
        self.timed_out = true;
    }

    pub fn in_flight(&self, s: &Sender) -> u32 {
        if s.options.stack == StackProfile::Ns2 {
            if self.recovering { self.pipe.max(0) as u32 } else { s.next.saturating_sub(s.una) }
        } else {
            self.pipe(s.una, s.next, s.high)
        }
    }

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
    /// The rescue retransmission does not move HighRxt.
    fn next_segment(&mut self, una: u32, high: u32, new_data: bool) -> Option<u32> {
        let hole = self.board.next_hole(self.retransmitted_to.max(una));
        let below_report = self.board.highest().is_some_and(|top| hole < top);
        if below_report && hole < self.board.lost_below() {
            self.mark_retransmitted(hole);
            return Some(hole);
        }
        if new_data {
            return Some(high);
        }
        if below_report {
            self.mark_retransmitted(hole);
            return Some(hole);
        }
        let last =
            (una..high).rev().find(|seq| !self.board.has(*seq)).filter(|seq| *seq >= self.retransmitted_to);
        if self.rescued || last.is_none() {
            return None;
        }
        self.rescued = true;
        last
    }
}

/// Keeps the number of segments in flight before an ACK is processed, for the controller.
pub(crate) fn note_in_flight(s: &mut Sender) {
    let in_flight = s.in_flight();
    board(s).prior_in_flight = in_flight;
}

pub(crate) fn on_ack<W: FlowContext>(s: &mut Sender, context: &mut W, packet: &Packet, blocks: &[Block]) {
    note_in_flight(s);
    let (una, high) = (s.una.max(packet.seq), s.high);
    let mut news = false;
    for block in blocks {
        news |= board(s).board.add(*block, una, high);
    }
    if packet.seq > s.una {
        let progress = s.new_ack(context, packet);
        let una = s.una;
        board(s).board.advance(una);
        if board(s).recovering {
            s.notify_without_growth(context, packet, progress);
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
    if lost && s.phase() == Phase::Open && una < s.high {
        enter(s, context);
    }
    s.send_much(context, s.options.max_burst);
}

fn enter<W: FlowContext>(s: &mut Sender, context: &mut W) {
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

/// Sends while the window exceeds the pipe.
pub(crate) fn send<W: FlowContext>(s: &mut Sender, context: &mut W, burst: u32) {
    let mut packets = 0;
    loop {
        let (una, next, high) = (s.una, s.next, s.high);
        let window = s.window();
        if board(s).pipe(una, next, high) >= window {
            break;
        }
        if !s.may_leave(context) {
            break;
        }
        let seq = if board(s).recovering {
            let new_data = next < s.limit && next - una < s.options.window;
            match board(s).next_segment(una, high, new_data) {
                Some(seq) => seq,
                None => break,
            }
        } else {
            let seq = board(s).board.next_hole(next);
            if seq >= s.limit || seq - una >= s.options.window {
                break;
            }
            seq
        };
        s.next = s.next.max(seq + 1);
        s.output(context, seq);
        packets += 1;
        if packets == burst {
            break;
        }
    }
}
