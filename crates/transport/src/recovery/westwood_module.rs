//! The fast retransmit of the UCLA Westwood module for ns-2 (version 1.3, 2002), which papers that cite Westwood used
//! at that time: Reno's receive path without its safeguards.
//!
//! Differences from `reno`: every third duplicate ACK retransmits and reduces the window, also for a segment that was
//! sent before the last reduction; the window is not inflated in recovery; there is no recovery phase, so each new
//! ACK, partial or not, grows the window; there is no limited transmit; the sender does not respond to ECN echoes.
//! The controller sets the window and the threshold after a loss: `westwood` with `filter = "type1"`, `tau = 1`,
//! `fr_a = true`. With `clock_rtt = true` the round-trip times are those of the module.

use super::{DUP_THRESH, LossRecovery};
use crate::blocks::AckOptions;
use crate::connection::Connection;
use crate::context::FlowContext;
use cc::Cause;
use net::Packet;

#[derive(Clone)]
pub(crate) struct WestwoodModule;

impl LossRecovery for WestwoodModule {
    fn on_ack<W: FlowContext>(s: &mut Connection, context: &mut W, packet: &Packet, _options: &AckOptions) {
        if packet.seq > s.una {
            let progress = s.new_ack(context, packet);
            s.grow(context, packet, progress);
        } else if packet.seq == s.una {
            s.dupacks += 1;
            s.notify_duplicate(context, packet);
            if s.dupacks == DUP_THRESH {
                let una = s.una;
                s.recover = s.high - 1;
                s.reduce_cwnd(context, una, Cause::FastRetransmit);
                s.reset_timer(context, false);
                s.output(context, una);
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

#[cfg(test)]
mod tests {
    use crate::options::{Options, Recovery};
    use crate::testing::Driver;

    #[test]
    fn westwood_module_retransmits_at_every_third_duplicate_without_guard_or_inflation() {
        let options =
            Options { recovery: Recovery::WestwoodModule, limited_transmit: true, ..Options::ns2() };
        let mut d = Driver::new(options, 8.0);
        assert!(d.ack(0, &[]).is_empty()); // no limited transmit
        assert!(d.ack(0, &[]).is_empty());
        assert_eq!(d.ack(0, &[]), [0]);
        assert_eq!(d.cwnd(), 4.0);
        for _ in 0..3 {
            assert!(d.ack(0, &[]).is_empty()); // the fourth and later ones do nothing: no inflation
        }
        // A partial ACK lets the window grow, and three duplicates of it cut again: Reno would refuse both.
        assert!(d.ack(3, &[]).is_empty());
        assert_eq!(d.cwnd(), 4.25);
        assert_eq!(d.sender.phase(), cc::Phase::Open);
        d.ack(3, &[]);
        d.ack(3, &[]);
        assert_eq!(d.ack(3, &[]), [3]);
        assert_eq!(d.cwnd(), 2.125);
        assert_eq!(d.sender.stats().cwnd_reductions, 2);
    }
}
