//! Reno (RFC 2581): the third duplicate ACK retransmits and halves the window; each further duplicate ACK permits one
//! new segment; the first new ACK ends recovery.

use super::{DUP_THRESH, LossRecovery};
use crate::blocks::AckOptions;
use crate::context::FlowContext;
use crate::sender::{LastReduction, Sender};
use net::Packet;

pub(crate) struct Reno;

impl LossRecovery for Reno {
    fn on_ack<W: FlowContext>(s: &mut Sender, context: &mut W, packet: &Packet, _options: &AckOptions) {
        if packet.seq > s.una {
            s.leave_recovery(context.now());
            s.dupwnd = 0;
            let progress = s.new_ack(context, packet);
            s.grow(context, packet, progress);
        } else if packet.seq == s.una {
            s.dupacks += 1;
            s.notify_duplicate(context, packet);
            if s.dupacks == DUP_THRESH {
                if s.may_recover() || s.last_reduction == LastReduction::DupAck {
                    fast_retransmit(s, context);
                }
            } else if s.dupacks > DUP_THRESH {
                s.dupwnd += (s.last_reduction == LastReduction::DupAck) as u32;
            } else if s.options.limited_transmit {
                s.send_one(context);
            }
        }
        if s.dupacks == 0 || s.dupacks >= DUP_THRESH {
            Self::send(s, context, s.options.max_burst);
        }
    }
}

/// Retransmits the first unacknowledged segment, halves the window, and inflates it by the segments that left the
/// network.
pub(crate) fn fast_retransmit<W: FlowContext>(s: &mut Sender, context: &mut W) {
    let una = s.una;
    s.enter_recovery(context, una);
    s.reset_timer(context, false);
    s.output(context, una);
    s.dupwnd = DUP_THRESH;
}
