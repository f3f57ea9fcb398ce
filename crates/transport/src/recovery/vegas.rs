//! Vegas's retransmission (Brakmo and Peterson 1995, section 3.1; as in ns-2): at each duplicate ACK, and at the
//! first two new ACKs after a retransmission, the sender compares the age of the first unacknowledged segment with
//! the fine timeout.

use crate::blocks::AckOptions;
use crate::connection::{Connection, DUP_THRESH, LastReduction, LossRecovery};
use crate::context::FlowContext;
use crate::options::Options;
use cc::{Controller, Signals};
use net::Packet;
use units::Time;

#[derive(Clone, Debug, Default)]
pub(crate) struct Vegas {
    /// Number of new ACKs that still check the age of the next segment.
    checks_left: u32,
}

/// Whether the first unacknowledged segment is older than the controller's fine timeout.
fn expired(c: &Connection, now: Time) -> bool {
    let Some(timeout) = c.controller.fine_timeout() else { return false };
    // In ns-2 a segment that was never sent has expired.
    c.una >= c.high || now.since(c.segments.get(c.una).sent) >= timeout
}

impl LossRecovery for Vegas {
    fn new(_options: &Options, _needs: Signals) -> Vegas {
        Vegas::default()
    }

    fn on_ack<W: FlowContext>(
        &mut self,
        c: &mut Connection,
        context: &mut W,
        packet: &Packet,
        _options: &AckOptions,
    ) {
        let now = context.now();
        if packet.seq > c.una {
            if c.una == 1 && !c.opened {
                c.open();
            }
            let progress = c.new_ack(self, context, packet);
            c.leave_recovery(now);
            c.notify_growth(self, context, packet, progress);
            if self.checks_left > 0 && !c.done {
                self.checks_left -= 1;
                if expired(c, now) && c.una < c.limit {
                    c.dupacks = DUP_THRESH;
                    let una = c.una;
                    c.output(self, context, una);
                } else {
                    self.checks_left = 0;
                }
            }
        } else if packet.seq == c.una {
            c.dupacks += 1;
            if expired(c, now) || c.dupacks == DUP_THRESH {
                if c.may_recover() || c.last_reduction != LastReduction::Timeout {
                    self.retransmit(c, context);
                }
            } else if c.dupacks > DUP_THRESH {
                c.notify_duplicate(self, context, packet);
            }
        }
        if c.dupacks == 0 || c.dupacks >= DUP_THRESH {
            self.send(c, context, c.options.max_burst);
        }
    }

    fn allowance(&self, c: &Connection) -> u32 {
        c.window()
    }

    fn has_fine_clock(&self) -> bool {
        true
    }
}

impl Vegas {
    /// Retransmits the first unacknowledged segment.
    fn retransmit<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        let una = c.una;
        let first = c.segments.get(una).transmits == 1;
        self.checks_left = (c.next - una + 1).min(2);
        c.enter_recovery(self, context, una);
        c.reset_timer(context, true);
        c.output(self, context, una);
        if first {
            c.dupacks = DUP_THRESH;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::options::{Options, Recovery};
    use crate::testing::{Driver, ms};

    /// Eight segments sent at 0, and the first acknowledged after 100 ms.
    fn driver() -> Driver {
        let options =
            Options { recovery: Recovery::Reno, window: 8, initial_ssthresh: 2.0, ..Options::ns2() };
        let mut d = Driver::with(options, "vegas", 8.0, None);
        d.ack_at(100, 1, &[]);
        d
    }

    #[test]
    fn the_first_duplicate_retransmits_a_segment_older_than_the_fine_timeout() {
        let mut d = driver();
        assert!(d.ack_at(110, 1, &[]).is_empty()); // 110 ms old: younger than the timeout
        assert_eq!(d.sender.stats().cwnd_reductions, 0);
        assert_eq!(d.ack_at(900, 1, &[]).first(), Some(&1));
        assert_eq!((d.sender.stats().retransmitted, d.sender.stats().cwnd_reductions), (1, 1));
    }

    #[test]
    fn the_third_duplicate_retransmits_in_any_case() {
        let mut d = driver();
        assert!(d.ack_at(101, 1, &[]).is_empty());
        assert!(d.ack_at(102, 1, &[]).is_empty());
        assert_eq!(d.ack_at(103, 1, &[]).first(), Some(&1));
    }

    #[test]
    fn two_new_acks_after_a_retransmission_check_the_next_segment() {
        let mut d = driver();
        d.ack_at(900, 1, &[]);
        assert_eq!(d.ack_at(910, 2, &[]).first(), Some(&2)); // sent at 0, so it has expired too
        assert_eq!(d.ack_at(920, 3, &[]).first(), Some(&3));
        assert_ne!(d.ack_at(930, 4, &[]).first(), Some(&4)); // the third one does not check
        assert!(d.sender.stats().retransmitted >= 3);
        assert_eq!(d.context.now, ms(930));
    }
}
