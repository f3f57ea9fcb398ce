//! RACK-TLP loss detection (RFC 8985) with proportional rate reduction (RFC 9937), F-RTO (RFC 5682) and undo by DSACK and
//! timestamps (RFC 3708, 4015), in the order and with the constants of Linux 6.18. docs/specs/linux-sender.md has the
//! rules; recordings of a kernel hold this code to them (validation/linux).
//!
//! One ACK is processed in this order: SACK blocks, cumulative part, round-trip sample, reordering window, tail loss
//! probe, state, timer, window, retransmissions, new data.

mod accurate;
mod acknowledge;
mod detection;
#[cfg(test)]
mod events;
mod pipe_ack;
mod prr;
mod reduction;
mod reordering;
mod scoreboard;
mod segments;
mod send;
mod snapshot;
mod states;
#[cfg(test)]
mod tests;
mod timer;
mod timers;
mod validation;
mod window_rules;
mod window_use;

use crate::blocks::AckOptions;
use crate::connection::{Connection, LossRecovery};
use crate::context::FlowContext;
use crate::options::Options;
use crate::start::{CarefulResume, PathObserver};
use cc::{Ack, Controller, EcnResponse, Phase, Sample, SenderState, Signals};
use net::Packet;
use prr::{Reduction, Undo};
use reordering::Reordering;
use scoreboard::Scoreboard;
pub use snapshot::{Snapshot, State};
use timer::{Pending, Probe, Timer};
use units::{Span, Time};
use window_use::WindowValidation;

/// The state of the recovery.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    board: Scoreboard,
    state: State,
    /// `next` when the state was entered; most states end when it is acknowledged.
    high_seq: u32,
    reduction: Reduction,
    undo: Undo,
    /// F-RTO is in progress.
    frto: bool,
    /// Retransmission timeouts since the last new ACK.
    timeouts: u32,
    probe: Option<Probe>,
    timer: Timer,
    /// The ACK that is processed restarts the timer.
    rearm: bool,
    validation: WindowValidation,
    last_sent: Time,
    /// Segments outstanding after the last event.
    outstanding: u32,
    /// ECN echoes of a window of one segment in a row, and until when they hold the next segment.
    echoes_at_one: u32,
    held_until: Time,
}

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
    /// `next` when the state was entered.
    high_seq: u32,
    probe: Option<Probe>,
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
    /// The end and the number of segments of that block, if all of those that are outstanding were retransmitted.
    duplicates: Option<(u32, u32)>,
    /// It is a duplicate ACK (RFC 5681).
    duplicate: bool,
    /// The transport reduces the window because of its ECN echo. With accurate feedback it is true until the marks are counted.
    ece: bool,
    /// The timestamp echo, exact; the clock of the timestamps rounds it ([`Options::stamp`](crate::Options::stamp)).
    echo: Option<Time>,
    /// The retransmission timer or the probe timer must be set again.
    rearm: bool,
    /// The round-trip time of the first segment that SACK reports.
    sack_first: Option<Span>,
    /// A retransmission was found lost.
    lost_retransmission: bool,
    /// The round-trip sample for the controller.
    rtt: Option<Span>,
    /// The same without the resolution of the timestamps, if it is from one.
    exact_rtt: Option<Span>,
}

impl Arrival {
    #[inline(always)] // or the values are copied
    fn new(rack: &Rack, c: &Connection, now: Time, packet: &Packet) -> Arrival {
        let segments = &rack.board.segments;
        Arrival {
            now,
            high_seq: rack.high_seq,
            probe: rack.probe,
            prior_una: c.una,
            prior_in_flight: segments.in_flight(c.outstanding()),
            prior_highest: segments.highest_sacked(c.una),
            prior_delivered: segments.delivered,
            prior_lost: segments.lost,
            advanced: false,
            sacked: false,
            original: false,
            dsack: false,
            dsack_of_probe: false,
            duplicates: None,
            duplicate: false,
            ece: !packet.ece.is_none()
                && c.options.ecn
                && (packet.ece.ace().is_some() || c.controller.ecn_response() == EcnResponse::Reduce),
            echo: c.options.timestamps.then_some(packet.echo),
            rearm: false,
            sack_first: None,
            lost_retransmission: false,
            rtt: None,
            exact_rtt: None,
        }
    }
}

impl Rack {
    /// Processes an ACK. The order of the steps decides what is sent.
    fn ack<W: FlowContext>(
        &mut self,
        c: &mut Connection,
        context: &mut W,
        packet: &Packet,
        options: &AckOptions,
    ) {
        let (now, blocks) = (context.now(), options.blocks.as_slice());
        let mut a = Arrival::new(self, c, now, packet);
        let old = packet.seq < c.una;
        let nothing_outstanding = c.outstanding() == 0;
        if !blocks.is_empty() && c.options.sack {
            self.board.process_blocks(c, &mut a, packet.seq, blocks);
            if let Some((end, count)) = a.duplicates {
                self.undo.dsack(end, count);
            }
        }
        if old && !a.sacked && !a.dsack {
            return;
        }
        let rtt = self.board.advance(c, &mut a, packet.seq);
        if a.advanced {
            self.timeouts = 0;
        }
        if a.ece && packet.ece.ace().is_some() {
            self.count_ce(c, &mut a, packet, options.reply);
        }
        if let Some(rtt) = rtt {
            c.rtt.sample(&c.options, rtt, c.una, c.next);
        }
        if !self.validation.plain {
            self.validation.measure(c, self.board.segments.delivered, now);
        }
        if nothing_outstanding {
            if a.dsack {
                self.change_state(c, context, &mut a);
            }
            self.check_probe(c, &a, packet.seq);
            self.notify(c, packet, &a);
            return;
        }
        if c.reports.has(Signals::SAMPLES) {
            self.notify_sample(c, packet, &a);
        }
        self.board.adapt_reordering_window(c, &a);
        if !old && self.probe.is_some() {
            self.check_probe(c, &a, packet.seq);
        }
        let dubious = a.sacked || a.dsack || a.ece || a.duplicate || self.state != State::Open;
        let resend = if dubious { self.change_state(c, context, &mut a) } else { Resend::Nothing };
        self.rearm = a.rearm;
        let reducing = self.state.reducing();
        self.notify(c, packet, &a);
        if !old && reducing {
            let lost = self.board.segments.lost > a.prior_lost;
            let delivered = (self.board.segments.delivered - a.prior_delivered) as u32;
            self.reduce(c, delivered, lost, a.advanced);
        }
        self.resend(c, context, resend);
    }

    /// Passes the measurements of the ACK to the controller, before anything follows from them.
    #[cold]
    fn notify_sample(&mut self, c: &mut Connection, packet: &Packet, a: &Arrival) {
        let segments = &self.board.segments;
        let delivered = (segments.delivered - a.prior_delivered) as u32;
        let (ece, ce) = if packet.ece.is_none() { (false, 0) } else { self.marks(c, packet, delivered) };
        let sample = Sample {
            now: a.now,
            newly_acked: c.una - a.prior_una,
            newly_delivered: delivered,
            rtt: a.rtt,
            ece,
            acked_through: (c.una as u64).wrapping_sub(1),
            next: c.next as u64,
            in_flight: segments.in_flight(c.outstanding()) as f64,
            prior_in_flight: a.prior_in_flight as f64,
            since_sent: c.reports.since_sent(segments.delivered),
            sacked: segments.sacked_out,
            phase: self.state.phase(),
            disorder: self.state == State::Disorder,
            ce,
        };
        c.controller.on_sample(&sample);
    }

    /// Notifies the controller of the ACK.
    fn notify(&mut self, c: &mut Connection, packet: &Packet, a: &Arrival) {
        self.board.notify_losses(c, a.now); // before anything is retransmitted
        let segments = &self.board.segments;
        let delivered = (segments.delivered - a.prior_delivered) as u32;
        let (mut ece, mut ce) = (false, 0);
        if !packet.ece.is_none() {
            (ece, ce) = self.marks(c, packet, delivered);
            if packet.ece.is_ece() {
                self.board.ce_total += u64::from(ce);
            }
        }
        let segments = &self.board.segments;
        let progress = a.advanced || self.board.reordering.degree() > Reordering::LEAST && a.sacked;
        c.sample = a.rtt;
        if let Some(rtt) = a.rtt {
            c.stats.count_rtt(a.exact_rtt.unwrap_or(rtt));
        }
        let rate = c.reports.sample(
            a.now,
            self.board.min_rtt.map(|(rtt, _)| rtt),
            segments.delivered,
            segments.lost,
        );
        let ack = Ack {
            now: a.now,
            newly_acked: c.una - a.prior_una,
            newly_delivered: delivered,
            newly_lost: (segments.lost - a.prior_lost) as u32,
            delivered_total: segments.delivered,
            lost_total: segments.lost,
            dupacks: c.dupacks,
            acked_through: (c.una as u64).wrapping_sub(1),
            next: c.next as u64,
            in_flight: segments.in_flight(c.outstanding()) as f64,
            prior_in_flight: a.prior_in_flight as f64,
            rtt: a.rtt,
            receiver_time: c.reports.receiver_time(&c.options, packet),
            ece,
            ce,
            rate,
            sender: SenderState {
                srtt: c.rtt.smoothed(&c.options),
                min_rtt: self.board.min_rtt.map(|(rtt, _)| rtt),
                sacked: segments.sacked_out,
                lost_out: segments.lost_out,
                retransmitted_out: segments.retrans_out,
                ce_total: self.board.ce_total,
                disorder: self.state == State::Disorder,
            },
            phase: self.state.phase(),
            may_grow: progress && !self.state.reducing(),
            paced: c.paced,
            pacing_wait: c.pacer.wait(a.now),
            window_limited: self.validation.window_limited(c),
        };
        c.controller.on_ack(&ack);
        if !self.validation.plain {
            self.validation.after_ack(c, &ack);
        }
        if c.reports.has_rate() && c.controller.limits_application() {
            c.reports.application_limits(segments.in_flight(c.outstanding()));
        }
        if c.controller.reduce_now() && self.state < State::Cwr {
            self.reduce_for_controller(c, a.now);
        }
    }
}

impl LossRecovery for Rack {
    fn new(options: &Options, needs: Signals) -> Rack {
        let mut board = Scoreboard::default();
        board.segments.record_losses(needs.has(Signals::LOSSES));
        Rack {
            board,
            state: State::Open,
            high_seq: 0,
            reduction: Reduction::default(),
            undo: Undo::new(options),
            frto: false,
            timeouts: 0,
            probe: None,
            timer: Timer { pending: Pending::None, deadline: Time::NEVER },
            rearm: false,
            validation: WindowValidation::new(options),
            last_sent: Time::ZERO,
            outstanding: 0,
            echoes_at_one: 0,
            held_until: Time::ZERO,
        }
    }

    #[inline(never)] // keeps the path of the other recoveries short
    fn on_ack<W: FlowContext>(
        &mut self,
        c: &mut Connection,
        context: &mut W,
        packet: &Packet,
        options: &AckOptions,
    ) {
        if c.handshake_pending() {
            self.complete_handshake(c, context, packet);
        } else {
            self.ack(c, context, packet, options);
        }
        self.send_new(c, context);
        if self.rearm {
            self.arm_after_ack(c, context);
        }
        self.end_event(c, context);
    }

    #[inline(never)]
    fn on_timer<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        self.expire(c, context);
        self.end_event(c, context);
    }

    #[inline(never)]
    fn on_write<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        self.restart_after_idle(c, context.now());
        self.send_new(c, context);
        self.end_event(c, context);
    }

    /// Sends what window, pacing and receiver permit: lost segments first.
    #[inline(never)]
    fn send<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W, _burst: u32) {
        if self.board.segments.lost_out > self.board.segments.retrans_out {
            self.send_lost(c, context);
        }
        self.send_new(c, context);
        self.end_event(c, context);
    }

    #[inline]
    fn in_flight(&self, c: &Connection) -> u32 {
        self.board.segments.in_flight(c.outstanding())
    }

    /// Those after the last event.
    fn outstanding_for_pacing(&self, _c: &Connection) -> u32 {
        self.outstanding
    }

    fn phase(&self, _c: &Connection) -> Phase {
        self.state.phase()
    }

    fn min_rtt(&self) -> Option<Span> {
        self.board.min_rtt.map(|(rtt, _)| rtt)
    }

    fn change_needs(&mut self, needs: Signals) {
        self.board.segments.record_losses(needs.has(Signals::LOSSES));
    }

    /// As in Linux: only when the application writes again.
    fn before_write(&self, c: &mut Connection) {
        if c.reports.has_rate() && self.board.application_limited(c) {
            c.reports.application_limits(self.in_flight(c));
        }
    }

    fn note_application_limit(&self, _c: &mut Connection) {}
}

impl Rack {
    /// The end of an event: sets the engine's timer.
    #[inline]
    fn end_event<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        self.outstanding = c.outstanding();
        if !c.complete(context) {
            self.timer.apply(context);
        }
    }

    /// The flow starts with saved values or a jump.
    pub(crate) fn begin_start(&mut self, start: CarefulResume) {
        self.validation.rules_mut().window.resume = Some(start);
    }

    /// A later flow may use what this one observes of the path.
    pub(crate) fn observe_path(&mut self) {
        self.validation.rules_mut().window.observer = Some(PathObserver::default());
    }

    /// What the flow has observed of its path, and how it has started.
    pub(crate) fn start(&self) -> (Option<&PathObserver>, Option<&CarefulResume>) {
        let rules = self.validation.rules.as_ref();
        let rules = rules.map(|rules| &rules.window);
        (rules.and_then(|r| r.observer.as_ref()), rules.and_then(|r| r.resume.as_ref()))
    }

    /// The counts that Linux shows in `TCP_INFO`.
    pub(crate) fn snapshot(&self, c: &Connection) -> Snapshot {
        let Scoreboard { segments, reordering, .. } = &self.board;
        Snapshot {
            state: self.state,
            packets_out: c.outstanding(),
            sacked_out: segments.sacked_out,
            lost_out: segments.lost_out,
            retrans_out: segments.retrans_out,
            delivered: segments.delivered,
            reordering: reordering.degree(),
            reordering_seen: reordering.seen(),
            dsacks: self.board.dsacks,
            delivered_ce: self.board.ce_total,
            min_rtt: self.board.min_rtt.map(|(rtt, _)| rtt),
            timer_is_silent: self.timer.pending == Pending::Probe && self.probe.is_some(),
        }
    }
}
