//! Tahoe (Jacobson 1988): the third duplicate ACK sets the window to one segment and restarts at the lost segment.

use super::{DUP_THRESH, LossRecovery};
use crate::blocks::AckOptions;
use crate::context::FlowContext;
use crate::sender::Sender;
use cc::{Cause, Controller};
use net::Packet;

pub(crate) struct Tahoe;

impl LossRecovery for Tahoe {
    fn on_ack<W: FlowContext>(s: &mut Sender, context: &mut W, packet: &Packet, _options: &AckOptions) {
        if packet.seq > s.una {
            let progress = s.new_ack(context, packet);
            s.grow(context, packet, progress);
        } else if packet.seq == s.una {
            s.dupacks += 1;
            s.notify_duplicate(context, packet);
            if s.dupacks == DUP_THRESH && s.may_recover() {
                let una = s.una;
                s.reduce_cwnd(context, una, Cause::FastRetransmit);
                s.restart_from(una);
                s.controller.set_window(1.0);
                s.reset_timer(context, false);
            } else if s.dupacks < DUP_THRESH && s.options.limited_transmit {
                s.send_one(context);
            }
        }
        Self::send(s, context, s.options.max_burst);
    }
}
