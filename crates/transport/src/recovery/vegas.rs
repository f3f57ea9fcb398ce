//! Vegas's retransmission (Brakmo and Peterson 1995, section 3.1; as in ns-2): at each duplicate ACK, and at the
//! first two new ACKs after a retransmission, the sender compares the age of the first unacknowledged segment with
//! the fine timeout.

use super::{DUP_THRESH, LossRecovery};
use crate::blocks::AckOptions;
use crate::connection::{Connection, LastReduction};
use crate::context::FlowContext;
use crate::recovery_state::{RecoveryState, VegasClock};
use cc::Controller;
use net::Packet;
use units::Time;

/// Whether the first unacknowledged segment is older than the controller's fine timeout.
fn expired(s: &Connection, now: Time) -> bool {
    let Some(timeout) = s.controller.fine_timeout() else { return false };
    // In ns-2 a segment that was never sent has expired.
    s.una >= s.high || now.since(s.segments.get(s.una).sent) >= timeout
}

fn clock(s: &mut Connection) -> &mut VegasClock {
    match &mut s.recovery_state {
        RecoveryState::Vegas(clock) => clock,
        _ => unreachable!("the recovery state is that of Vegas"),
    }
}

#[derive(Clone)]
pub(crate) struct Vegas;

impl LossRecovery for Vegas {
    fn on_ack<W: FlowContext>(s: &mut Connection, context: &mut W, packet: &Packet, _options: &AckOptions) {
        let now = context.now();
        if packet.seq > s.una {
            if s.una == 1 && !s.opened {
                s.open();
            }
            let progress = s.new_ack(context, packet);
            s.leave_recovery(now);
            s.notify_growth(context, packet, progress);
            if clock(s).checks_left > 0 && !s.done {
                clock(s).checks_left -= 1;
                if expired(s, now) && s.una < s.limit {
                    s.dupacks = DUP_THRESH;
                    let una = s.una;
                    s.output(context, una);
                } else {
                    clock(s).checks_left = 0;
                }
            }
        } else if packet.seq == s.una {
            s.dupacks += 1;
            if expired(s, now) || s.dupacks == DUP_THRESH {
                if s.may_recover() || s.last_reduction != LastReduction::Timeout {
                    retransmit(s, context);
                }
            } else if s.dupacks > DUP_THRESH {
                s.notify_duplicate(context, packet);
            }
        }
        if s.dupacks == 0 || s.dupacks >= DUP_THRESH {
            Self::send(s, context, s.options.max_burst);
        }
    }

    fn beyond_window(_s: &Connection) -> u32 {
        0
    }
}

fn retransmit<W: FlowContext>(s: &mut Connection, context: &mut W) {
    let una = s.una;
    let first = s.segments.get(una).transmits == 1;
    clock(s).checks_left = (s.next - una + 1).min(2);
    s.enter_recovery(context, una);
    s.reset_timer(context, true);
    s.output(context, una);
    if first {
        s.dupacks = DUP_THRESH;
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
