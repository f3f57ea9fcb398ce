//! Tahoe (Jacobson 1988): the third duplicate ACK sets the window to one segment and restarts at the lost segment.

use crate::blocks::AckOptions;
use crate::connection::{Connection, DUP_THRESH, LastReduction, LossRecovery};
use crate::context::FlowContext;
use crate::options::Options;
use cc::{Cause, Controller, Signals};
use net::Packet;

#[derive(Clone, Debug)]
pub(crate) struct Tahoe;

impl LossRecovery for Tahoe {
    fn new(_options: &Options, _needs: Signals) -> Tahoe {
        Tahoe
    }

    fn on_ack<W: FlowContext>(
        &mut self,
        c: &mut Connection,
        context: &mut W,
        packet: &Packet,
        _options: &AckOptions,
    ) {
        if packet.seq > c.una {
            let progress = c.new_ack(self, context, packet);
            c.grow(self, context, packet, progress);
        } else if packet.seq == c.una {
            c.dupacks += 1;
            c.notify_duplicate(self, context, packet);
            if c.dupacks == DUP_THRESH && c.may_recover() {
                let una = c.una;
                c.reduce_cwnd(context, self.in_flight(c), una, Cause::FastRetransmit);
                // Transmission restarts at the lost segment.
                (c.recover, c.last_reduction, c.next) = (c.high - 1, LastReduction::DupAck, una);
                c.controller.set_window(1.0);
                c.reset_timer(context, false);
            } else if c.dupacks < DUP_THRESH && c.options.limited_transmit {
                c.send_one(self, context);
            }
        }
        self.send(c, context, c.options.max_burst);
    }
}

#[cfg(test)]
mod tests {
    use crate::options::{Options, Recovery};
    use crate::testing::Driver;

    fn driver(limited_transmit: bool) -> Driver {
        let options = Options { recovery: Recovery::Tahoe, timestamps: false, ..Options::linux() };
        let options = Options { initial_ssthresh: 8.0, limited_transmit, ..options };
        Driver::with(options, "reno", 8.0, None)
    }

    #[test]
    fn the_third_duplicate_restarts_slow_start_at_the_lost_segment() {
        let mut d = driver(false);
        assert!(d.ack(0, &[]).is_empty());
        assert!(d.ack(0, &[]).is_empty());
        assert_eq!(d.ack(0, &[]), [0]);
        assert_eq!((d.cwnd(), d.ssthresh()), (1.0, 4.0));
        assert!(d.ack(0, &[]).is_empty()); // further ones do nothing
        assert_eq!(d.ack(1, &[]), [1, 2]); // slow start from the lost segment on
        assert_eq!(d.ack(8, &[]), [8, 9, 10, 11, 12]); // the others had arrived: above the threshold by one
        assert_eq!(d.sender.stats().cwnd_reductions, 1);
    }

    #[test]
    fn limited_transmit_sends_on_the_first_two_duplicates() {
        let mut d = driver(true);
        assert_eq!(d.ack(0, &[]), [8]);
        assert_eq!(d.ack(0, &[]), [9]);
        assert_eq!(d.ack(0, &[]), [0]);
        assert!(d.ack(0, &[]).is_empty());
    }

    #[test]
    fn segments_sent_before_a_reduction_cause_no_other_one() {
        let mut d = driver(false);
        (0..3).for_each(|_| drop(d.ack(0, &[])));
        d.ack(2, &[]);
        (0..3).for_each(|_| drop(d.ack(2, &[])));
        assert_eq!(d.sender.stats().cwnd_reductions, 1);
        d.ack(8, &[]);
        d.ack(9, &[]);
        assert_eq!((0..3).map(|_| d.ack(9, &[])).last(), Some(vec![9]));
        assert_eq!(d.sender.stats().cwnd_reductions, 2);
    }
}
