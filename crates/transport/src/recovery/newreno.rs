//! NewReno (RFC 6582): fast recovery lasts until everything sent before it is acknowledged; each partial ACK
//! retransmits the first unacknowledged segment.

use crate::blocks::AckOptions;
use crate::connection::{Connection, DUP_THRESH, LastReduction, LossRecovery, Progress};
use crate::context::{FlowContext, FlowTimer};
use crate::options::{Options, StackProfile};
use cc::{Controller, Phase, Signals};
use net::Packet;

#[derive(Clone, Debug, Default)]
pub(crate) struct NewReno {
    /// A partial ACK has come in this recovery.
    partial: bool,
}

impl LossRecovery for NewReno {
    fn new(_options: &Options, _needs: Signals) -> NewReno {
        NewReno::default()
    }

    fn on_ack<W: FlowContext>(
        &mut self,
        c: &mut Connection,
        context: &mut W,
        packet: &Packet,
        _options: &AckOptions,
    ) {
        if packet.seq > c.una {
            if packet.seq > c.recover || c.last_reduction != LastReduction::DupAck {
                self.full_ack(c, context, packet);
            } else {
                self.partial_ack(c, context, packet);
            }
        } else if packet.seq == c.una {
            c.dupacks += 1;
            c.notify_duplicate(self, context, packet);
            if c.dupacks == DUP_THRESH {
                if c.may_recover() {
                    c.fast_retransmit(self, context);
                }
            } else if c.dupacks > DUP_THRESH {
                c.dupwnd += (c.last_reduction == LastReduction::DupAck) as u32;
            } else if c.options.limited_transmit {
                c.send_one(self, context);
            }
        }
        if c.dupacks == 0 {
            self.send(c, context, c.options.max_burst);
        } else if c.dupacks >= DUP_THRESH {
            // ns-2 sends at most two packets per ACK in recovery.
            let burst = if c.options.stack == StackProfile::Ns2 { 2 } else { c.options.max_burst };
            self.send(c, context, burst);
        }
    }

    fn forget_repair(&mut self) {
        self.partial = false;
    }
}

impl NewReno {
    fn full_ack<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W, packet: &Packet) {
        let recovering = c.dupwnd > 0 || c.phase == Phase::Recovery;
        if recovering {
            c.dupwnd = 0;
            c.leave_recovery(context.now());
        }
        self.partial = false;
        let progress = c.new_ack(self, context, packet);
        if recovering && c.options.stack == StackProfile::Linux {
            // RFC 6582 section 3.2 step 3: the window is limited so that no burst follows if little data is in flight.
            let flight = (c.next - c.una).max(1) as f64;
            c.controller.set_window(c.controller.ssthresh().min(flight + 1.0));
            c.notify(self, context, packet, progress, Phase::Recovery);
        } else {
            c.grow(self, context, packet, progress);
        }
    }

    fn partial_ack<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W, packet: &Packet) {
        let acked = packet.seq - c.una;
        let first = !self.partial;
        if !c.options.partial_deflation {
            c.dupwnd = 0;
        }
        if first || !c.options.impatient {
            self.partial = true;
            context.set_timer(FlowTimer::Retransmit, context.now() + c.rtt.rto());
        }
        if c.options.partial_deflation {
            if c.dupwnd > acked {
                c.dupwnd -= acked - 1;
            } else {
                c.controller.set_window((c.controller.cwnd() - (acked - c.dupwnd) as f64).max(1.0));
                c.dupwnd = 1; // a non-zero inflation marks fast recovery
            }
        }
        c.reports.delivered_below(c.una, packet.seq, context.now());
        c.una = packet.seq;
        c.next = c.next.max(c.una);
        c.drop_timing(c.una - 1);
        c.notify(self, context, packet, Progress { acked, dupacks: c.dupacks }, Phase::Recovery);
        let una = c.una;
        c.output(self, context, una);
    }
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
