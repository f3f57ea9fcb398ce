//! SACK as in ns-2's Sack1 agent (Fall and Floyd 1996): a pipe counter; retransmissions first, then new data.

use super::rfc6675::board;
use super::{DUP_THRESH, LossRecovery};
use crate::blocks::{AckOptions, Block};
use crate::connection::{Connection, Progress};
use crate::context::{FlowContext, FlowTimer};
use crate::recovery_state::Sack;
use cc::Phase;
use net::Packet;

#[derive(Clone)]
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
    fn on_ack<W: FlowContext>(s: &mut Connection, context: &mut W, packet: &Packet, options: &AckOptions) {
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

    fn forget_repair(s: &mut Connection) {
        let sack = board(s);
        sack.board.clear();
        sack.end_repair();
    }

    /// A segment may be sent while the pipe (in recovery) or the window permits it.
    fn next_segment(s: &Connection, window: u32) -> Option<u32> {
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

    fn note_sent(s: &mut Connection, seq: u32) {
        let una = s.una;
        let sack = board(s);
        if sack.next_retransmission(una) == Some(seq) {
            sack.mark_retransmitted(seq);
        }
        sack.pipe += 1;
    }

    fn in_flight(s: &Connection) -> u32 {
        match s.recovery_state.scoreboard() {
            Some(sack) if sack.recovering => sack.pipe.max(0) as u32,
            _ => s.next.saturating_sub(s.una),
        }
    }
}

/// Processes an ACK in recovery.
fn repair<W: FlowContext>(s: &mut Connection, context: &mut W, packet: &Packet, blocks: &[Block]) {
    board(s).pipe -= 1;
    if packet.seq > s.recover && packet.seq > s.una {
        s.recover = 0;
        board(s).recovering = false;
        let progress = s.new_ack(context, packet);
        board(s).forget();
        s.notify(context, packet, progress, Phase::Recovery);
        s.leave_recovery(context.now());
    } else if packet.seq > s.una {
        let acked = packet.seq - s.una;
        s.reports.delivered_below(s.una, packet.seq, context.now());
        s.una = packet.seq;
        s.next = s.next.max(s.una);
        report(s, blocks);
        board(s).pipe -= 1; // the retransmission left the network, as the original had before
        context.set_timer(FlowTimer::Retransmit, context.now() + s.rtt.rto());
        s.rtt.end_backoff(&s.options);
        s.notify(context, packet, Progress { acked, dupacks: s.dupacks }, Phase::Recovery);
    } else if !board(s).timed_out && report(s, blocks) {
        s.dupacks += (s.dupacks > 0) as u32;
        s.notify_duplicate(context, packet);
    }
}

/// Adds the blocks to the scoreboard. Returns whether they report new data.
fn report(s: &mut Connection, blocks: &[Block]) -> bool {
    let (una, high) = (s.una, s.high);
    let sack = board(s);
    let mut news = sack.board.advance(una);
    for block in blocks {
        news |= sack.board.add(*block, una, high);
    }
    news
}

fn fast_retransmit<W: FlowContext>(s: &mut Connection, context: &mut W) {
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

#[cfg(test)]
mod tests {
    use crate::options::{Options, Recovery};
    use crate::testing::{Driver, block};

    /// Segments 1 to 8 are outstanding with a window of 8.
    fn driver(options: Options) -> Driver {
        let options = Options { recovery: Recovery::Sack, ..options };
        let mut d = Driver::new(options, 8.0);
        assert_eq!(d.ack(1, &[]), [8]);
        d
    }

    #[test]
    fn the_pipe_limits_what_recovery_sends() {
        let mut d = driver(Options::ns2());
        assert!(d.ack(1, &[block(2, 3)]).is_empty());
        assert!(d.ack(1, &[block(2, 4)]).is_empty());
        assert_eq!(d.ack(1, &[block(2, 5)]), [1]); // pipe 8 - 3, window 4
        assert_eq!((d.cwnd(), d.sender.in_flight()), (4.0625, 5));
        assert!(d.ack(1, &[block(2, 6)]).is_empty()); // pipe 4
        assert_eq!(d.ack(1, &[block(7, 8), block(2, 6)]), [6]); // 3: the hole first
        assert_eq!(d.ack(1, &[block(7, 9), block(2, 6)]), [9]);
        assert_eq!(d.sender.in_flight(), 4);
        assert_eq!(d.ack(6, &[block(7, 9)]), [10, 11]); // a partial ACK takes two out of the pipe
        assert_eq!(d.ack(9, &[]), [12]); // above the recovery point: the window of 4
        assert_eq!(d.sender.phase(), cc::Phase::Open);
    }

    #[test]
    fn an_ack_without_news_is_no_duplicate() {
        let mut d = driver(Options::ns2());
        for _ in 0..5 {
            assert!(d.ack(1, &[block(2, 3)]).is_empty());
        }
        assert_eq!(d.sender.stats().cwnd_reductions, 0);
    }

    #[test]
    fn after_a_timeout_reports_do_not_count_until_new_data_is_acknowledged() {
        let mut d = driver(Options::ns2());
        d.ack(1, &[block(2, 4)]);
        let (_, _, sent) = d.fire();
        assert_eq!(sent, [1]);
        for end in 5..9 {
            assert!(d.ack(1, &[block(2, end)]).is_empty());
        }
        assert_eq!(d.sender.stats().cwnd_reductions, 1);
        assert_eq!(d.ack(2, &[]), [2, 3]); // the reports were forgotten
    }

    #[test]
    fn limited_transmit_sends_on_the_first_two_duplicates() {
        let options = Options { recovery: Recovery::Sack, initial_ssthresh: 8.0, ..Options::ns2() };
        let mut d = Driver::with(options, "reno", 8.0, None);
        d.ack(1, &[]);
        assert_eq!(d.ack(1, &[block(2, 3)]), [9]);
        assert_eq!(d.ack(1, &[block(2, 4)]), [10]);
        assert_eq!(d.ack(1, &[block(2, 5)]), [1]);
    }

    #[test]
    fn a_hole_that_the_pacer_refuses_is_sent_later() {
        let options = Options { recovery: Recovery::Sack, pacing: true, ..Options::ns2() };
        let mut d = Driver::new(options, 8.0);
        d.sent();
        d.ack_at(100, 1, &[]);
        while d.context.first_timer().is_some_and(|(timer, _)| timer == crate::FlowTimer::Pace) {
            d.fire();
        }
        let now = d.context.now;
        for n in 0..8 {
            d.context.now = now;
            d.ack(1, &[block(4, 5 + n.min(4))]);
        }
        let mut sent = Vec::new();
        while let Some((crate::FlowTimer::Pace, _)) = d.context.first_timer() {
            sent.extend(d.fire().2);
        }
        assert!(sent.contains(&2) && sent.contains(&3), "{sent:?}");
    }
}
