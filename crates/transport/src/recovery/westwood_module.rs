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
use crate::context::FlowContext;
use crate::sender::Sender;
use cc::Cause;
use net::Packet;

pub(crate) struct WestwoodModule;

impl LossRecovery for WestwoodModule {
    fn on_ack<W: FlowContext>(s: &mut Sender, context: &mut W, packet: &Packet, _options: &AckOptions) {
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

    fn beyond_window(_s: &Sender) -> u32 {
        0
    }
}
