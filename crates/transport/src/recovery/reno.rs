//! Reno (RFC 2581): the third duplicate ACK retransmits and halves the window; each further duplicate ACK permits one
//! new segment; the first new ACK ends recovery.

use crate::blocks::AckOptions;
use crate::connection::{Connection, DUP_THRESH, LastReduction, LossRecovery};
use crate::context::FlowContext;
use crate::options::Options;
use cc::Signals;
use net::Packet;

#[derive(Clone, Debug)]
pub(crate) struct Reno;

impl LossRecovery for Reno {
    fn new(_options: &Options, _needs: Signals) -> Reno {
        Reno
    }

    fn on_ack<W: FlowContext>(
        &mut self,
        c: &mut Connection,
        context: &mut W,
        packet: &Packet,
        _options: &AckOptions,
    ) {
        if packet.seq > c.una {
            c.leave_recovery(context.now());
            c.dupwnd = 0;
            let progress = c.new_ack(self, context, packet);
            c.grow(self, context, packet, progress);
        } else if packet.seq == c.una {
            c.dupacks += 1;
            c.notify_duplicate(self, context, packet);
            if c.dupacks == DUP_THRESH {
                if c.may_recover() || c.last_reduction == LastReduction::DupAck {
                    c.fast_retransmit(self, context);
                }
            } else if c.dupacks > DUP_THRESH {
                c.dupwnd += (c.last_reduction == LastReduction::DupAck) as u32;
            } else if c.options.limited_transmit {
                c.send_one(self, context);
            }
        }
        if c.dupacks == 0 || c.dupacks >= DUP_THRESH {
            self.send(c, context, c.options.max_burst);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::options::{Options, Recovery};
    use crate::testing::Driver;

    fn driver(limited_transmit: bool) -> Driver {
        let options = Options { recovery: Recovery::Reno, timestamps: false, ..Options::linux() };
        let options = Options { initial_ssthresh: 8.0, limited_transmit, ..options };
        Driver::with(options, "reno", 8.0, None)
    }

    #[test]
    fn recovery_inflates_the_window_and_ends_at_the_first_new_ack() {
        let mut d = driver(false);
        assert!(d.ack(0, &[]).is_empty());
        assert!(d.ack(0, &[]).is_empty());
        assert_eq!(d.ack(0, &[]), [0]);
        assert_eq!((d.cwnd(), d.ssthresh()), (4.0, 4.0)); // with the inflation 7 of 8 outstanding
        assert_eq!(d.sender.phase(), cc::Phase::Recovery);
        assert!(d.ack(0, &[]).is_empty());
        assert_eq!(d.ack(0, &[]), [8]);
        assert_eq!(d.ack(0, &[]), [9]);
        assert_eq!(d.ack(8, &[]), [10, 11, 12, 13]); // eight acknowledged segments grow the window to 6
        assert_eq!(d.sender.phase(), cc::Phase::Open);
    }

    #[test]
    fn limited_transmit_sends_on_the_first_two_duplicates() {
        let mut d = driver(true);
        assert_eq!(d.ack(0, &[]), [8]);
        assert_eq!(d.ack(0, &[]), [9]);
        assert_eq!(d.ack(0, &[]), [0]);
    }

    #[test]
    fn a_timeout_goes_back_and_duplicates_of_older_segments_do_nothing() {
        let mut d = driver(false);
        d.sent();
        let (_, at, sent) = d.fire();
        assert_eq!((at, sent), (crate::testing::ms(1000), vec![0]));
        assert_eq!((d.cwnd(), d.ssthresh(), d.sender.phase()), (1.0, 4.0, cc::Phase::Loss));
        assert_eq!(d.ack(1, &[]), [1, 2]);
        assert!((0..4).all(|_| d.ack(1, &[]).is_empty()));
        assert_eq!((d.sender.stats().timeouts, d.sender.stats().cwnd_reductions), (1, 1));
        // The second timeout doubles the time.
        assert_eq!(d.sender.rto(), units::Span::from_ms(2000));
    }
}
