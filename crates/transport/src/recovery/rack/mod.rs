//! RACK-TLP loss detection (RFC 8985) with proportional rate reduction (RFC 9937), F-RTO (RFC 5682) and undo by DSACK and
//! timestamps (RFC 3708, 4015), in the order and with the constants of Linux 6.18. docs/specs/linux-sender.md has the
//! rules; recordings of a kernel hold this code to them (validation/linux).
//!
//! One ACK is processed in this order: SACK blocks, cumulative part, round-trip sample, reordering window, tail loss
//! probe, state, timer, window, retransmissions, new data.

mod acknowledge;
mod detection;
mod pipe_ack;
mod prr;
mod reduction;
mod reordering;
mod segments;
mod send;
mod state;
mod states;
mod timers;
mod validation;

use crate::blocks::{AckOptions, Block};
use crate::context::FlowContext;
use crate::recovery::{LossRecovery, RecoveryState};
use crate::sender::Sender;
use cc::{Ack, Controller, EcnResponse};
use net::Packet;
use reordering::Reordering;
use segments::Segments;
use units::{Span, Time};

pub(crate) use state::Rack;
pub use state::{Snapshot, State};

/// What to send after an ACK besides new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resend {
    Nothing,
    /// F-RTO: new data first; if there is none, lost segments.
    NewData,
    Lost,
}

/// What an ACK says, and what it caused so far.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    now: Time,
    prior_una: u32,
    prior_in_flight: u32,
    /// One past the highest segment that SACK had reported.
    prior_highest: u32,
    prior_delivered: u64,
    prior_lost: u64,
    /// It acknowledges new data cumulatively.
    advanced: bool,
    /// It reports new data by SACK.
    sacked: bool,
    /// It acknowledges or reports a segment below `high_seq` that was never retransmitted.
    original: bool,
    /// It carries a DSACK block.
    dsack: bool,
    /// That block reports the tail loss probe as a duplicate.
    dsack_of_probe: bool,
    /// It is a duplicate ACK (RFC 5681).
    duplicate: bool,
    ece: bool,
    /// The timestamp echo.
    echo: Option<Time>,
    /// The retransmission timer or the probe timer must be set again.
    rearm: bool,
    /// The round-trip time of the first segment that SACK reports.
    sack_first: Option<Span>,
    /// A retransmission was found lost.
    lost_retransmission: bool,
    /// The round-trip sample for the controller.
    rtt: Option<Span>,
}

impl Rack {
    /// Whether the application, and not the window, limits what is in flight.
    pub(crate) fn application_limited(&self, s: &Sender) -> bool {
        let segments = &self.segments;
        segments.next >= s.limit
            && segments.in_flight() < s.cwnd()
            && segments.lost_out <= segments.retrans_out
    }

    /// Processes an ACK. The order of the steps decides what is sent.
    fn ack<W: FlowContext>(&mut self, s: &mut Sender, context: &mut W, packet: &Packet, blocks: &[Block]) {
        let now = context.now();
        let mut a = self.arrival(s, now, packet);
        let old = packet.seq < self.segments.una;
        let nothing_outstanding = self.segments.packets_out() == 0;
        if !blocks.is_empty() && s.options.sack {
            self.process_blocks(s, &mut a, packet.seq, blocks);
        }
        if old && !a.sacked && !a.dsack {
            return;
        }
        let rtt = self.advance(s, &mut a, packet.seq);
        if let Some(rtt) = rtt {
            s.rtt.sample(&s.options, rtt, self.segments.una, self.segments.next);
        }
        if let Some(pipe_ack) = &mut self.pipe_ack {
            let Segments { una, next, delivered, .. } = self.segments;
            pipe_ack.on_ack(now, una, next, delivered, s.rtt.smoothed(&s.options));
        }
        if nothing_outstanding {
            if a.dsack {
                self.change_state(s, context, &mut a);
            }
            self.check_probe(s, &a, packet.seq);
            self.notify(s, packet, &a);
            return;
        }
        self.adapt_reordering_window(s, &a);
        if !old {
            self.check_probe(s, &a, packet.seq);
        }
        let dubious = a.sacked || a.dsack || a.ece || a.duplicate || self.state != State::Open;
        let resend = if dubious { self.change_state(s, context, &mut a) } else { Resend::Nothing };
        self.rearm = a.rearm;
        self.notify(s, packet, &a);
        if !old && self.state.reducing() {
            let lost = self.segments.lost > a.prior_lost;
            let delivered = (self.segments.delivered - a.prior_delivered) as u32;
            self.reduce(s, delivered, lost, a.advanced);
        }
        self.resend(s, context, resend);
    }

    fn arrival(&self, s: &Sender, now: Time, packet: &Packet) -> Arrival {
        Arrival {
            now,
            prior_una: self.segments.una,
            prior_in_flight: self.segments.in_flight(),
            prior_highest: self.segments.highest_sacked(),
            prior_delivered: self.segments.delivered,
            prior_lost: self.segments.lost,
            advanced: false,
            sacked: false,
            original: false,
            dsack: false,
            dsack_of_probe: false,
            duplicate: false,
            ece: packet.ece && s.options.ecn && s.controller.ecn_response() == EcnResponse::Reduce,
            echo: s.options.timestamps.then_some(packet.echo),
            rearm: false,
            sack_first: None,
            lost_retransmission: false,
            rtt: None,
        }
    }

    /// Tells the controller which segments were marked as lost, if it asks for them.
    #[inline]
    pub(super) fn tell_losses(&mut self, s: &mut Sender, now: Time) {
        if !self.segments.records_losses() {
            return;
        }
        let lost = self.segments.take_losses();
        if !lost.is_empty() {
            s.tell_losses(now, &lost, self.segments.lost, self.segments.delivered);
        }
    }

    /// Passes the ACK to the controller.
    fn notify(&mut self, s: &mut Sender, packet: &Packet, a: &Arrival) {
        self.tell_losses(s, a.now); // before anything is retransmitted
        let segments = &self.segments;
        let delivered = (segments.delivered - a.prior_delivered) as u32;
        let progress = a.advanced || self.reordering.degree() > Reordering::LEAST && a.sacked;
        s.count_rtt(a.rtt);
        let rate = s.rate_sample(a.now, self.min_rtt.map(|(rtt, _)| rtt), segments.delivered, segments.lost);
        let ack = Ack {
            now: a.now,
            newly_acked: segments.una - a.prior_una,
            delivered,
            newly_lost: (segments.lost - a.prior_lost) as u32,
            delivered_total: segments.delivered,
            lost_total: segments.lost,
            dupacks: s.dupacks,
            acked_through: (segments.una as u64).wrapping_sub(1),
            next: segments.next as u64,
            in_flight: segments.in_flight() as f64,
            prior_in_flight: a.prior_in_flight as f64,
            rtt: a.rtt,
            receiver_time: s.receiver_time(packet),
            ece: packet.ece && s.options.ecn,
            rate,
            phase: self.state.phase(),
            may_grow: progress && !self.state.reducing(),
            paced: s.paces(),
            pacing_wait: s.pacing_wait(a.now),
            window_limited: self.window_limited(s),
        };
        s.controller.on_ack(&ack);
        if s.controller.limits_application() {
            s.rate_limited(segments.in_flight());
        }
    }
}

/// Calls `event` with the recovery taken out of its sender.
#[inline]
fn with<W: FlowContext>(s: &mut Sender, context: &mut W, event: impl FnOnce(&mut Rack, &mut Sender, &mut W)) {
    let RecoveryState::Rack(slot) = &mut s.recovery_state else { unreachable!("the recovery is rack") };
    let mut rack = slot.take().expect("the recovery is at rest between events");
    event(&mut rack, s, context);
    (s.una, s.next, s.high) = (rack.segments.una, rack.segments.next, rack.segments.next);
    s.set_phase(rack.state.phase());
    if s.finished(s.una) {
        s.complete(context);
    } else {
        rack.apply_timer(context);
    }
    s.recovery_state = RecoveryState::Rack(Some(rack));
}

impl LossRecovery for Rack {
    #[inline(never)] // keeps the path of the other recoveries short
    fn on_ack<W: FlowContext>(s: &mut Sender, context: &mut W, packet: &Packet, options: &AckOptions) {
        with(s, context, |rack, s, context| {
            if s.handshake_pending() {
                rack.complete_handshake(s, context, packet);
            } else {
                rack.ack(s, context, packet, options.blocks.as_slice());
            }
            rack.send_new(s, context);
            if rack.rearm {
                rack.arm_after_ack(s, context);
            }
        });
    }

    #[inline(never)]
    fn on_timer<W: FlowContext>(s: &mut Sender, context: &mut W) {
        with(s, context, |rack, s, context| rack.expire(s, context));
    }

    #[inline(never)]
    fn on_write<W: FlowContext>(s: &mut Sender, context: &mut W) {
        with(s, context, |rack, s, context| {
            rack.restart_after_idle(s, context.now());
            rack.send_new(s, context);
        });
    }

    /// Sends what window, pacing and receiver permit: lost segments first.
    #[inline(never)]
    fn send<W: FlowContext>(s: &mut Sender, context: &mut W, _burst: u32) {
        with(s, context, |rack, s, context| {
            if rack.segments.lost_out > rack.segments.retrans_out {
                rack.send_lost(s, context);
            }
            rack.send_new(s, context);
        });
    }

    fn in_flight(s: &Sender) -> u32 {
        match &s.recovery_state {
            RecoveryState::Rack(Some(rack)) => rack.pipe(),
            _ => s.next.saturating_sub(s.una),
        }
    }
}
