//! Reno (RFC 2581): the third duplicate ACK retransmits and halves; each further one lets a new segment go;
//! the first new ACK ends it.

use super::DUP_THRESH;
use crate::context::Wire;
use crate::sender::{LastCut, Sender};
use net::Packet;

pub(crate) fn on_ack<W: Wire>(s: &mut Sender, wire: &mut W, packet: &Packet) {
    if packet.seq > s.una {
        s.leave_recovery(wire.now());
        s.dupwnd = 0;
        let progress = s.new_ack(wire, packet);
        s.grow(wire, packet, progress);
    } else if packet.seq == s.una {
        s.dupacks += 1;
        s.tell_duplicate(wire, packet);
        if s.dupacks == DUP_THRESH {
            if s.may_recover() || s.last_cut == LastCut::DupAck {
                fast_retransmit(s, wire);
            }
        } else if s.dupacks > DUP_THRESH {
            s.dupwnd += (s.last_cut == LastCut::DupAck) as u32;
        } else if s.options.limited_transmit {
            s.send_one(wire);
        }
    }
    if s.dupacks == 0 || s.dupacks >= DUP_THRESH {
        s.send_much(wire, s.options.max_burst);
    }
}

/// Retransmits the first unacknowledged segment and halves; the window is inflated by what has left.
pub(crate) fn fast_retransmit<W: Wire>(s: &mut Sender, wire: &mut W) {
    let una = s.una;
    s.enter_recovery(wire, una);
    s.reset_timer(wire, false);
    s.output(wire, una);
    s.dupwnd = DUP_THRESH;
}
