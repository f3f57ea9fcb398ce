//! NewReno (RFC 6582): fast recovery stays until everything sent before it is acknowledged; each partial ACK
//! retransmits the next hole.

use super::{DUP_THRESH, reno};
use crate::context::{Timer, Wire};
use crate::options::Dialect;
use crate::sender::{LastCut, Machine, Progress, Sender};
use cc::{Controller, Phase};
use net::Packet;

pub(crate) fn on_ack<W: Wire>(s: &mut Sender, wire: &mut W, packet: &Packet) {
    if packet.seq > s.una {
        if packet.seq > s.recover || s.last_cut != LastCut::DupAck {
            full_ack(s, wire, packet);
        } else {
            partial_ack(s, wire, packet);
        }
    } else if packet.seq == s.una {
        s.dupacks += 1;
        s.tell_duplicate(wire, packet);
        if s.dupacks == DUP_THRESH {
            if s.may_recover() {
                reno::fast_retransmit(s, wire);
            }
        } else if s.dupacks > DUP_THRESH {
            s.dupwnd += (s.last_cut == LastCut::DupAck) as u32;
        } else if s.options.limited_transmit {
            s.send_one(wire);
        }
    }
    if s.dupacks == 0 {
        s.send_much(wire, s.options.max_burst);
    } else if s.dupacks >= DUP_THRESH {
        // ns-2 sends at most two packets an ACK in recovery.
        let burst = if s.options.dialect == Dialect::Ns2 { 2 } else { s.options.max_burst };
        s.send_much(wire, burst);
    }
}

fn full_ack<W: Wire>(s: &mut Sender, wire: &mut W, packet: &Packet) {
    let recovering = s.dupwnd > 0 || s.phase() == Phase::Recovery;
    if recovering {
        s.dupwnd = 0;
        s.leave_recovery(wire.now());
    }
    s.machine = Machine::NewReno { partial: false };
    let progress = s.new_ack(wire, packet);
    if recovering && s.options.dialect == Dialect::Linux {
        // RFC 6582 section 3.2 step 3: no burst if little is in flight.
        let flight = (s.next - s.una).max(1) as f64;
        s.controller.set_window(s.controller.ssthresh().min(flight + 1.0));
        s.hold(wire, packet, progress);
    } else {
        s.grow(wire, packet, progress);
    }
}

fn partial_ack<W: Wire>(s: &mut Sender, wire: &mut W, packet: &Packet) {
    let acked = packet.seq - s.una;
    let first = !matches!(s.machine, Machine::NewReno { partial: true });
    if !s.options.partial_deflation {
        s.dupwnd = 0;
    }
    if first || !s.options.impatient {
        s.machine = Machine::NewReno { partial: true };
        wire.set_timer(Timer::Retransmit, wire.now() + s.rtt.rto(&s.options));
    }
    if s.options.partial_deflation {
        if s.dupwnd > acked {
            s.dupwnd -= acked - 1;
        } else {
            s.controller.set_window((s.controller.cwnd() - (acked - s.dupwnd) as f64).max(1.0));
            s.dupwnd = 1; // still inflated: that tells recovery
        }
    }
    let rate = s.delivered(wire.now(), packet.seq);
    s.una = packet.seq;
    s.next = s.next.max(s.una);
    s.drop_timing(s.una - 1);
    s.hold(wire, packet, Progress { acked, dupacks: s.dupacks, rate });
    let una = s.una;
    s.output(wire, una);
}
