//! Vegas's retransmission (Brakmo and Peterson 1995, section 3.1; ns-2's reading): a duplicate ACK, and the
//! first two new ACKs after a retransmission, look at the age of the first unacknowledged segment.

use super::DUP_THRESH;
use crate::context::Wire;
use crate::sender::Machine;
use crate::sender::{LastCut, Sender};
use cc::Controller;
use net::Packet;
use units::Time;

/// What the fine clock remembers.
#[derive(Clone, Debug, Default)]
pub(crate) struct VegasClock {
    /// New ACKs at which the next segment's age is still looked at.
    worried: u32,
}

/// Whether the first unacknowledged segment is older than the controller's fine timeout.
fn expired(s: &Sender, now: Time) -> bool {
    let Some(timeout) = s.controller.fine_timeout() else { return false };
    // ns-2 takes a segment that was never sent for a very old one.
    s.una >= s.high || now.since(s.segments.get(s.una).sent) >= timeout
}

fn clock(s: &mut Sender) -> &mut VegasClock {
    match &mut s.machine {
        Machine::Vegas(clock) => clock,
        _ => unreachable!("Vegas's recovery runs on its own machine"),
    }
}

pub(crate) fn on_ack<W: Wire>(s: &mut Sender, wire: &mut W, packet: &Packet) {
    let now = wire.now();
    if packet.seq > s.una {
        if s.una == 1 && !s.opened() {
            s.open_late();
        }
        let progress = s.new_ack(wire, packet);
        s.leave_recovery(now);
        s.tell_growth(wire, packet, progress);
        if clock(s).worried > 0 && s.completed().is_none() {
            clock(s).worried -= 1;
            if expired(s, now) && s.una < s.limit {
                s.dupacks = DUP_THRESH;
                let una = s.una;
                s.output(wire, una);
            } else {
                clock(s).worried = 0;
            }
        }
    } else if packet.seq == s.una {
        s.dupacks += 1;
        if expired(s, now) || s.dupacks == DUP_THRESH {
            if s.may_recover() || s.last_cut != LastCut::Timeout {
                retransmit(s, wire);
            }
        } else if s.dupacks > DUP_THRESH {
            s.tell_duplicate(wire, packet);
        }
    }
    if s.dupacks == 0 || s.dupacks >= DUP_THRESH {
        s.send_much(wire, s.options.max_burst);
    }
}

fn retransmit<W: Wire>(s: &mut Sender, wire: &mut W) {
    let una = s.una;
    let first = s.segments.get(una).transmits == 1;
    clock(s).worried = (s.next - una + 1).min(2);
    s.enter_recovery(wire, una);
    s.reset_timer(wire, true);
    s.output(wire, una);
    if first {
        s.dupacks = DUP_THRESH;
    }
}
