//! Tahoe (Jacobson 1988): the third duplicate ACK restarts from one segment at the lost one.

use super::DUP_THRESH;
use crate::context::Wire;
use crate::sender::Sender;
use cc::{Cause, Controller};
use net::Packet;

pub(crate) fn on_ack<W: Wire>(s: &mut Sender, wire: &mut W, packet: &Packet) {
    if packet.seq > s.una {
        let progress = s.new_ack(wire, packet);
        s.grow(wire, packet, progress);
    } else if packet.seq == s.una {
        s.dupacks += 1;
        s.tell_duplicate(wire, packet);
        if s.dupacks == DUP_THRESH && s.may_recover() {
            let una = s.una;
            s.cut(wire, una, Cause::FastRetransmit);
            s.restart_from(una);
            s.controller.set_window(1.0);
            s.reset_timer(wire, false);
        } else if s.dupacks < DUP_THRESH && s.options.limited_transmit {
            s.send_one(wire);
        }
    }
    s.send_much(wire, s.options.max_burst);
}
