//! Tahoe (Jacobson 1988): the third duplicate ACK sets the window to one segment and restarts at the lost segment.

use super::{DUP_THRESH, LossRecovery};
use crate::blocks::AckOptions;
use crate::connection::{Connection, LastReduction};
use crate::context::FlowContext;
use cc::{Cause, Controller};
use net::Packet;

#[derive(Clone)]
pub(crate) struct Tahoe;

impl LossRecovery for Tahoe {
    fn on_ack<W: FlowContext>(s: &mut Connection, context: &mut W, packet: &Packet, _options: &AckOptions) {
        if packet.seq > s.una {
            let progress = s.new_ack(context, packet);
            s.grow(context, packet, progress);
        } else if packet.seq == s.una {
            s.dupacks += 1;
            s.notify_duplicate(context, packet);
            if s.dupacks == DUP_THRESH && s.may_recover() {
                let una = s.una;
                s.reduce_cwnd(context, una, Cause::FastRetransmit);
                // Transmission restarts at the lost segment.
                (s.recover, s.last_reduction, s.next) = (s.high - 1, LastReduction::DupAck, una);
                s.controller.set_window(1.0);
                s.reset_timer(context, false);
            } else if s.dupacks < DUP_THRESH && s.options.limited_transmit {
                s.send_one(context);
            }
        }
        Self::send(s, context, s.options.max_burst);
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
