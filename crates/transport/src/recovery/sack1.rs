//! SACK as in ns-2's Sack1 agent (Fall and Floyd 1996): a pipe counter; retransmissions first, then new data.

use crate::blocks::{AckOptions, Block};
use crate::connection::{Connection, DUP_THRESH, LossRecovery, Progress};
use crate::context::{FlowContext, FlowTimer};
use crate::options::Options;
use crate::ranges::SegmentRanges;
use cc::{Phase, Signals};
use net::Packet;

#[derive(Clone, Debug, Default)]
pub(crate) struct Sack1 {
    board: SegmentRanges,
    recovering: bool,
    /// The estimated number of segments in the network.
    pipe: i64,
    /// Segments in flight before the ACK that is processed.
    prior_in_flight: u32,
    /// One past the highest segment retransmitted in this recovery.
    retransmitted_to: u32,
    /// No new data was acknowledged since a timeout.
    timed_out: bool,
}

impl Sack1 {
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

    /// Processes an ACK in recovery.
    fn repair<W: FlowContext>(
        &mut self,
        c: &mut Connection,
        context: &mut W,
        packet: &Packet,
        blocks: &[Block],
    ) {
        self.pipe -= 1;
        if packet.seq > c.recover && packet.seq > c.una {
            c.recover = 0;
            self.recovering = false;
            let progress = c.new_ack(self, context, packet);
            self.forget();
            c.notify(self, context, packet, progress, Phase::Recovery);
            c.leave_recovery(context.now());
        } else if packet.seq > c.una {
            let acked = packet.seq - c.una;
            c.reports.delivered_below(c.una, packet.seq, context.now());
            c.una = packet.seq;
            c.next = c.next.max(c.una);
            self.report(c, blocks);
            self.pipe -= 1; // the retransmission left the network, as the original had before
            context.set_timer(FlowTimer::Retransmit, context.now() + c.rtt.rto());
            c.rtt.end_backoff(&c.options);
            c.notify(self, context, packet, Progress { acked, dupacks: c.dupacks }, Phase::Recovery);
        } else if !self.timed_out && self.report(c, blocks) {
            c.dupacks += (c.dupacks > 0) as u32;
            c.notify_duplicate(self, context, packet);
        }
    }

    /// Adds the blocks to the scoreboard. Returns whether they report new data.
    fn report(&mut self, c: &mut Connection, blocks: &[Block]) -> bool {
        let (una, high) = (c.una, c.high);
        let mut news = self.board.advance(una);
        for block in blocks {
            news |= self.board.add(*block, una, high);
        }
        news
    }

    /// Begins recovery.
    fn fast_retransmit<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        let una = c.una;
        c.enter_recovery(self, context, una);
        c.reset_timer(context, false);
        let pipe = (c.high - una) as i64 - DUP_THRESH as i64;
        self.pipe = pipe;
        self.recovering = true;
        self.retransmitted_to = self.retransmitted_to.max(una + 1);
        c.output(self, context, una);
    }
}

impl LossRecovery for Sack1 {
    fn new(_options: &Options, _needs: Signals) -> Sack1 {
        Sack1::default()
    }

    fn on_ack<W: FlowContext>(
        &mut self,
        c: &mut Connection,
        context: &mut W,
        packet: &Packet,
        options: &AckOptions,
    ) {
        self.prior_in_flight = self.in_flight(c);
        let blocks = options.blocks.as_slice();
        if self.recovering {
            self.repair(c, context, packet, blocks);
            return self.send(c, context, c.options.max_burst);
        }
        if packet.seq > c.una {
            let progress = c.new_ack(self, context, packet);
            self.forget();
            c.grow(self, context, packet, progress);
        } else if packet.seq == c.una && !self.timed_out && self.report(c, blocks) {
            // Only an ACK that reports something new counts as a duplicate.
            c.dupacks += 1;
            c.notify_duplicate(self, context, packet);
            if c.dupacks == DUP_THRESH {
                if c.may_recover() {
                    self.fast_retransmit(c, context);
                }
            } else if c.dupacks < DUP_THRESH && c.options.limited_transmit {
                c.send_one(self, context);
            }
        }
        if c.dupacks == 0 {
            self.send(c, context, c.options.max_burst);
        }
    }

    fn forget_repair(&mut self) {
        self.board.clear();
        self.retransmitted_to = 0;
        self.recovering = false;
        self.timed_out = true;
    }

    /// A segment may be sent while the pipe (in recovery) or the window permits it.
    fn next_segment(&self, c: &Connection, window: u32) -> Option<u32> {
        let room = if self.recovering { self.pipe < c.cwnd() as i64 } else { c.next - c.una < window };
        if !room || c.una >= c.limit {
            return None;
        }
        match self.next_retransmission(c.una) {
            Some(hole) => (c.recover > 0 && hole - c.una < c.options.window).then_some(hole),
            None => {
                let bound = if self.recovering { c.options.window } else { window };
                (c.next - c.una < bound && c.next < c.limit).then_some(c.next)
            }
        }
    }

    fn note_sent(&mut self, c: &Connection, seq: u32) {
        if self.next_retransmission(c.una) == Some(seq) {
            self.retransmitted_to = self.retransmitted_to.max(seq + 1);
        }
        self.pipe += 1;
    }

    fn in_flight(&self, c: &Connection) -> u32 {
        if self.recovering { self.pipe.max(0) as u32 } else { c.next.saturating_sub(c.una) }
    }

    fn in_flight_before(&self, _c: &Connection, _acked: u32) -> u32 {
        self.prior_in_flight
    }

    fn reported(&self, seq: u32) -> bool {
        self.board.has(seq)
    }

    /// The pipe counts retransmissions too, and only the window bounds it; new data stays within the receiver's window.
    fn allowance(&self, c: &Connection) -> u32 {
        if self.recovering { c.cwnd().max(c.window()) } else { c.window_with_limited_transmit() }
    }
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
