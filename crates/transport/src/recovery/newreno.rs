//! NewReno (RFC 6582): fast recovery lasts until everything sent before it is acknowledged; each partial ACK
//! retransmits the first unacknowledged segment.

use super::{DUP_THRESH, LossRecovery, reno};
use crate::blocks::AckOptions;
use crate::connection::{Connection, LastReduction, Progress};
use crate::context::{FlowContext, FlowTimer};
use crate::options::StackProfile;
use crate::recovery_state::RecoveryState;
use cc::{Controller, Phase};
use net::Packet;

#[derive(Clone)]
pub(crate) struct NewReno;

impl LossRecovery for NewReno {
    fn on_ack<W: FlowContext>(s: &mut Connection, context: &mut W, packet: &Packet, _options: &AckOptions) {
        if packet.seq > s.una {
            if packet.seq > s.recover || s.last_reduction != LastReduction::DupAck {
                full_ack(s, context, packet);
            } else {
                partial_ack(s, context, packet);
            }
        } else if packet.seq == s.una {
            s.dupacks += 1;
            s.notify_duplicate(context, packet);
            if s.dupacks == DUP_THRESH {
                if s.may_recover() {
                    reno::fast_retransmit(s, context);
                }
            } else if s.dupacks > DUP_THRESH {
                s.dupwnd += (s.last_reduction == LastReduction::DupAck) as u32;
            } else if s.options.limited_transmit {
                s.send_one(context);
            }
        }
        if s.dupacks == 0 {
            Self::send(s, context, s.options.max_burst);
        } else if s.dupacks >= DUP_THRESH {
            // ns-2 sends at most two packets per ACK in recovery.
            let burst = if s.options.stack == StackProfile::Ns2 { 2 } else { s.options.max_burst };
            Self::send(s, context, burst);
        }
    }

    fn forget_repair(s: &mut Connection) {
        set_partial(s, false);
    }
}

/// Notes whether this recovery has had a partial ACK.
#[inline]
fn set_partial(s: &mut Connection, value: bool) {
    if let RecoveryState::NewReno { partial } = &mut s.recovery_state {
        *partial = value;
    }
}

fn full_ack<W: FlowContext>(s: &mut Connection, context: &mut W, packet: &Packet) {
    let recovering = s.dupwnd > 0 || s.phase == Phase::Recovery;
    if recovering {
        s.dupwnd = 0;
        s.leave_recovery(context.now());
    }
    set_partial(s, false);
    let progress = s.new_ack(context, packet);
    if recovering && s.options.stack == StackProfile::Linux {
        // RFC 6582 section 3.2 step 3: the window is limited so that no burst follows if little data is in flight.
        let flight = (s.next - s.una).max(1) as f64;
        s.controller.set_window(s.controller.ssthresh().min(flight + 1.0));
        s.notify(context, packet, progress, Phase::Recovery);
    } else {
        s.grow(context, packet, progress);
    }
}

fn partial_ack<W: FlowContext>(s: &mut Connection, context: &mut W, packet: &Packet) {
    let acked = packet.seq - s.una;
    let first = !matches!(s.recovery_state, RecoveryState::NewReno { partial: true });
    if !s.options.partial_deflation {
        s.dupwnd = 0;
    }
    if first || !s.options.impatient {
        set_partial(s, true);
        context.set_timer(FlowTimer::Retransmit, context.now() + s.rtt.rto());
    }
    if s.options.partial_deflation {
        if s.dupwnd > acked {
            s.dupwnd -= acked - 1;
        } else {
            s.controller.set_window((s.controller.cwnd() - (acked - s.dupwnd) as f64).max(1.0));
            s.dupwnd = 1; // a non-zero inflation marks fast recovery
        }
    }
    s.reports.delivered_below(s.una, packet.seq, context.now());
    s.una = packet.seq;
    s.next = s.next.max(s.una);
    s.drop_timing(s.una - 1);
    s.notify(context, packet, Progress { acked, dupacks: s.dupacks }, Phase::Recovery);
    let una = s.una;
    s.output(context, una);
}

#[cfg(test)]
mod tests {
    use crate::options::{Options, Recovery};
    use crate::testing::Driver;

    #[test]
    fn newreno_of_rfc_6582() {
        // Window 8: segments 0 to 7 in flight (11 to 18 in the RFC's example), 0 and 3 lost.
        let options = Options { recovery: Recovery::NewReno, ..Options::linux() };
        let mut d = Driver::new(Options { timestamps: false, ..options }, 8.0);
        assert_eq!(d.sent(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(d.ack(0, &[]).is_empty());
        assert!(d.ack(0, &[]).is_empty());
        assert_eq!(d.ack(0, &[]), [0]); // third duplicate: retransmit; ssthresh 4, inflated window 7
        assert_eq!((d.cwnd(), d.ssthresh()), (4.0, 4.0));
        assert!(d.ack(0, &[]).is_empty()); // 8
        assert_eq!(d.ack(0, &[]), [8]); // 9
        assert_eq!(d.ack(0, &[]), [9]); // 10
        assert_eq!(d.ack(3, &[]), [3, 10]); // partial: retransmit 3, 10 - 3 + 1 = 8, one more
        assert_eq!(d.ack(3, &[]), [11]);
        assert_eq!(d.ack(3, &[]), [12]);
        assert_eq!(d.ack(10, &[]), [13]); // full: flight 3, window min(4, 3 + 1)
        assert_eq!(d.cwnd(), 4.0);
    }
}
