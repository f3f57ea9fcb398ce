//! The fast retransmit of the UCLA Westwood module for ns-2 (version 1.3, 2002), which papers that cite Westwood used
//! at that time: Reno's receive path without its safeguards.
//!
//! Differences from `reno`: every third duplicate ACK retransmits and reduces the window, also for a segment that was
//! sent before the last reduction; the window is not inflated in recovery; there is no recovery phase, so each new
//! ACK, partial or not, grows the window; there is no limited transmit; the sender does not respond to ECN echoes.
//! The controller sets the window and the threshold after a loss: `westwood` with `filter = "type1"`, `tau = 1`,
//! `fr_a = true`. With `clock_rtt = true` the round-trip times are those of the module.

use crate::blocks::AckOptions;
use crate::connection::{Connection, DUP_THRESH, LossRecovery};
use crate::context::FlowContext;
use crate::options::Options;
use cc::{Cause, Signals};
use net::Packet;

#[derive(Clone, Debug)]
pub(crate) struct WestwoodModule;

impl LossRecovery for WestwoodModule {
    fn new(_options: &Options, _needs: Signals) -> WestwoodModule {
        WestwoodModule
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
            if c.dupacks == DUP_THRESH {
                let una = c.una;
                c.recover = c.high - 1;
                c.reduce_cwnd(context, self.in_flight(c), una, Cause::FastRetransmit);
                c.reset_timer(context, false);
                c.output(self, context, una);
            }
        }
        if c.dupacks == 0 || c.dupacks >= DUP_THRESH {
            self.send(c, context, c.options.max_burst);
        }
    }

    fn allowance(&self, c: &Connection) -> u32 {
        c.window()
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
