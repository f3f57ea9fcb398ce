//! RACK-TLP loss detection (RFC 8985) with proportional rate reduction (RFC 9937), F-RTO (RFC 5682) and undo by DSACK and
//! timestamps (RFC 3708, 4015), in the order and with the constants of Linux 6.18. docs/specs/linux-sender.md has the
//! rules; recordings of a kernel hold this code to them (validation/linux).
//!
//! One ACK is processed in this order: SACK blocks, cumulative part, round-trip sample, reordering window, tail loss
//! probe, state, timer, window, retransmissions, new data.

mod acknowledge;
mod detection;
#[cfg(test)]
mod events;
mod reduction;
mod send;
mod states;
mod timers;
mod validation;

use crate::blocks::{AckOptions, Block};
use crate::connection::Connection;
use crate::context::FlowContext;
use crate::recovery::LossRecovery;
use crate::recovery_state::RecoveryState;
use crate::recovery_state::rack::{Probe, Rack, Reordering, Scoreboard, State};
use cc::{Ack, Controller, EcnResponse, Sample, SenderState, Signals};
use net::Packet;
use units::{Span, Time};

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
    fn new(rack: &Rack, s: &Connection, now: Time, packet: &Packet) -> Arrival {
        let segments = &rack.board.segments;
        Arrival {
            now,
            high_seq: rack.high_seq,
            probe: rack.probe,
            prior_una: segments.una,
            prior_in_flight: segments.in_flight(),
            prior_highest: segments.highest_sacked(),
            prior_delivered: segments.delivered,
            prior_lost: segments.lost,
            advanced: false,
            sacked: false,
            original: false,
            dsack: false,
            dsack_of_probe: false,
            duplicates: None,
            duplicate: false,
            ece: packet.ece && s.options.ecn && s.controller.ecn_response() == EcnResponse::Reduce,
            echo: s.options.timestamps.then_some(packet.echo),
            rearm: false,
            sack_first: None,
            lost_retransmission: false,
            rtt: None,
            exact_rtt: None,
        }
    }
}

impl Scoreboard {
    /// Whether the application, and not the window, limits what is in flight.
    pub(crate) fn application_limited(&self, s: &Connection) -> bool {
        let segments = &self.segments;
        segments.next >= s.limit
            && segments.in_flight() < s.cwnd()
            && segments.lost_out <= segments.retrans_out
    }

    /// Notifies the controller of the segments that were marked as lost, if it needs them.
    #[inline]
    pub(super) fn notify_losses(&mut self, s: &mut Connection, now: Time) {
        if !self.segments.records_losses() {
            return;
        }
        let lost = self.segments.take_losses();
        if !lost.is_empty() {
            s.reports.losses(&mut s.controller, now, &lost, [self.segments.lost, self.segments.delivered]);
        }
    }

    /// Whether the receiver has discarded a reported segment: the oldest outstanding one is reported.
    fn reneged(&self) -> bool {
        self.segments.packets_out() > 0 && self.segments.get(self.segments.una).reported()
    }
}

impl Rack {
    /// Processes an ACK. The order of the steps decides what is sent.
    fn ack<W: FlowContext>(
        &mut self,
        s: &mut Connection,
        context: &mut W,
        packet: &Packet,
        blocks: &[Block],
    ) {
        let now = context.now();
        let mut a = Arrival::new(self, s, now, packet);
        let old = packet.seq < self.board.segments.una;
        let nothing_outstanding = self.board.segments.packets_out() == 0;
        if !blocks.is_empty() && s.options.sack {
            self.board.process_blocks(s, &mut a, packet.seq, blocks);
            if let Some((end, count)) = a.duplicates {
                self.undo.dsack(end, count);
            }
        }
        if old && !a.sacked && !a.dsack {
            return;
        }
        let rtt = self.board.advance(s, &mut a, packet.seq);
        if a.advanced {
            self.timeouts = 0;
        }
        if let Some(rtt) = rtt {
            s.rtt.sample(&s.options, rtt, self.board.segments.una, self.board.segments.next);
        }
        if self.validation.pipe_ack.is_some() {
            self.validation.measure(s, &self.board.segments, now);
        }
        if nothing_outstanding {
            if a.dsack {
                self.change_state(s, context, &mut a);
            }
            self.check_probe(s, &a, packet.seq);
            self.notify(s, packet, &a);
            return;
        }
        if s.reports.has(Signals::SAMPLES) {
            self.notify_sample(s, packet, &a);
        }
        self.board.adapt_reordering_window(s, &a);
        if !old && self.probe.is_some() {
            self.check_probe(s, &a, packet.seq);
        }
        let dubious = a.sacked || a.dsack || a.ece || a.duplicate || self.state != State::Open;
        let resend = if dubious { self.change_state(s, context, &mut a) } else { Resend::Nothing };
        self.rearm = a.rearm;
        let reducing = self.state.reducing();
        self.notify(s, packet, &a);
        if !old && reducing {
            let lost = self.board.segments.lost > a.prior_lost;
            let delivered = (self.board.segments.delivered - a.prior_delivered) as u32;
            self.reduce(s, delivered, lost, a.advanced);
        }
        self.resend(s, context, resend);
    }

    /// Passes the measurements of the ACK to the controller, before anything follows from them.
    #[cold]
    fn notify_sample(&mut self, s: &mut Connection, packet: &Packet, a: &Arrival) {
        let segments = &self.board.segments;
        let sample = Sample {
            now: a.now,
            newly_acked: segments.una - a.prior_una,
            newly_delivered: (segments.delivered - a.prior_delivered) as u32,
            rtt: a.rtt,
            ece: packet.ece && s.options.ecn,
            acked_through: (segments.una as u64).wrapping_sub(1),
            next: segments.next as u64,
            in_flight: segments.in_flight() as f64,
            prior_in_flight: a.prior_in_flight as f64,
            since_sent: s.reports.since_sent(segments.delivered),
            sacked: segments.sacked_out,
            phase: self.state.phase(),
            disorder: self.state == State::Disorder,
        };
        s.controller.on_sample(&sample);
    }

    /// Notifies the controller of the ACK.
    fn notify(&mut self, s: &mut Connection, packet: &Packet, a: &Arrival) {
        self.board.notify_losses(s, a.now); // before anything is retransmitted
        let segments = &self.board.segments;
        let delivered = (segments.delivered - a.prior_delivered) as u32;
        if packet.ece && s.options.ecn {
            self.board.ce_total += u64::from(delivered);
        }
        let progress = a.advanced || self.board.reordering.degree() > Reordering::LEAST && a.sacked;
        s.sample = a.rtt;
        if let Some(rtt) = a.rtt {
            s.stats.count_rtt(a.exact_rtt.unwrap_or(rtt));
        }
        let rate = s.reports.sample(
            a.now,
            self.board.min_rtt.map(|(rtt, _)| rtt),
            segments.delivered,
            segments.lost,
        );
        let ack = Ack {
            now: a.now,
            newly_acked: segments.una - a.prior_una,
            newly_delivered: delivered,
            newly_lost: (segments.lost - a.prior_lost) as u32,
            delivered_total: segments.delivered,
            lost_total: segments.lost,
            dupacks: s.dupacks,
            acked_through: (segments.una as u64).wrapping_sub(1),
            next: segments.next as u64,
            in_flight: segments.in_flight() as f64,
            prior_in_flight: a.prior_in_flight as f64,
            rtt: a.rtt,
            receiver_time: s.reports.receiver_time(&s.options, packet),
            ece: packet.ece && s.options.ecn,
            rate,
            sender: SenderState {
                srtt: s.rtt.smoothed(&s.options),
                min_rtt: self.board.min_rtt.map(|(rtt, _)| rtt),
                sacked: segments.sacked_out,
                lost_out: segments.lost_out,
                retransmitted_out: segments.retrans_out,
                ce_total: self.board.ce_total,
                disorder: self.state == State::Disorder,
            },
            phase: self.state.phase(),
            may_grow: progress && !self.state.reducing(),
            paced: s.paced,
            pacing_wait: s.pacer.wait(a.now),
            window_limited: self.validation.window_limited(s),
        };
        s.controller.on_ack(&ack);
        if s.controller.limits_application() {
            s.reports.application_limits(segments.in_flight());
        }
        if s.controller.reduce_now() && self.state < State::Cwr {
            self.reduce_for_controller(s, a.now);
        }
    }
}

/// Calls `event` with the recovery taken out of its sender.
#[inline]
fn with<W: FlowContext>(
    s: &mut Connection,
    context: &mut W,
    event: impl FnOnce(&mut Rack, &mut Connection, &mut W),
) {
    let RecoveryState::Rack(slot) = &mut s.recovery_state else { unreachable!("the recovery is rack") };
    let mut rack = slot.take().expect("the recovery is at rest between events");
    event(&mut rack, s, context);
    (s.una, s.next, s.high) = (rack.board.segments.una, rack.board.segments.next, rack.board.segments.next);
    s.phase = rack.state.phase();
    if !s.complete(context) {
        rack.timer.apply(context);
    }
    s.recovery_state = RecoveryState::Rack(Some(rack));
}

impl LossRecovery for Rack {
    #[inline(never)] // keeps the path of the other recoveries short
    fn on_ack<W: FlowContext>(s: &mut Connection, context: &mut W, packet: &Packet, options: &AckOptions) {
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
    fn on_timer<W: FlowContext>(s: &mut Connection, context: &mut W) {
        with(s, context, |rack, s, context| rack.expire(s, context));
    }

    #[inline(never)]
    fn on_write<W: FlowContext>(s: &mut Connection, context: &mut W) {
        with(s, context, |rack, s, context| {
            rack.restart_after_idle(s, context.now());
            rack.send_new(s, context);
        });
    }

    /// Sends what window, pacing and receiver permit: lost segments first.
    #[inline(never)]
    fn send<W: FlowContext>(s: &mut Connection, context: &mut W, _burst: u32) {
        with(s, context, |rack, s, context| {
            if rack.board.segments.lost_out > rack.board.segments.retrans_out {
                rack.send_lost(s, context);
            }
            rack.send_new(s, context);
        });
    }

    /// The pipe, between events. During one the recovery is out of its sender, whose own numbers do not tell the pipe; the
    /// steps of an event take it from their scoreboard.
    fn in_flight(s: &Connection) -> u32 {
        match &s.recovery_state {
            RecoveryState::Rack(Some(rack)) => rack.board.segments.in_flight(),
            _ => unreachable!("the pipe was read from the sender during an event of its recovery"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::State;
    use crate::context::FlowTimer;
    use crate::options::{Options, UndoBy, Validation};
    use crate::recovery::RecoveryState;
    use crate::testing::{Driver, block, ms, sender};
    use net::{Packet, PacketKind};
    use units::{Span, Time};

    fn driver(controller: &str, segments: Option<u32>) -> Driver {
        let options = Options { timestamps: false, sack_blocks: 4, ..Options::linux() };
        let mut d = Driver::with(options, controller, 10.0, segments);
        assert_eq!(d.sent().len(), segments.map_or(10, |n| n.min(10)) as usize);
        d
    }

    /// After a handshake of 100 ms `segments` segments, 1 and up, are sent; segment 0 is the SYN.
    fn connected(options: Options, segments: u32) -> Driver {
        let mut d = Driver::start(sender(&options, "reno", Some(segments)));
        assert_eq!(d.sent(), [0]);
        let sent = d.ack_at(100, 1, &[]);
        assert_eq!(sent, (1..=segments.min(10)).collect::<Vec<_>>());
        d
    }

    fn without_timestamps() -> Options {
        Options { timestamps: false, sack_blocks: 4, ..Options::linux() }
    }

    /// State, then packets out, sacked, lost, and in retransmission.
    fn counts(d: &Driver) -> (State, [u32; 4]) {
        let s = d.sender.snapshot().unwrap();
        (s.state, [s.packets_out, s.sacked_out, s.lost_out, s.retrans_out])
    }

    #[test]
    fn prr_after_four_losses() {
        // The vector of docs/specs/linux-sender.md section 5: 0 to 3 are lost, 20 segments in all.
        let mut d = driver("cubic", Some(20));
        assert_eq!(d.ack_at(10, 0, &[block(4, 5)]), [10]);
        assert_eq!(d.ack_at(11, 0, &[block(4, 6)]), [11]);
        assert_eq!(counts(&d), (State::Disorder, [12, 2, 0, 0]));
        assert_eq!(d.ack_at(12, 0, &[block(4, 7)]), [0]);
        assert_eq!(counts(&d), (State::Recovery, [12, 3, 4, 1]));
        assert_eq!(d.ssthresh(), 7.0);
        for (end, again) in [(8, 1), (9, 2), (10, 3)] {
            assert_eq!(d.ack_at(5 + end as u64, 0, &[block(4, end)]), [again]);
        }
        assert_eq!(d.ack_at(20, 0, &[block(4, 11)]), [12]);
        assert_eq!(d.ack_at(21, 0, &[block(4, 12)]), [13]);
        assert_eq!(d.ack_at(22, 1, &[block(4, 12)]), [14, 15]);
        assert_eq!(d.ack_at(25, 1, &[block(2, 12)]), [1, 16]); // the repetition of 1 was passed over: lost again
        assert_eq!(d.ack_at(30, 1, &[block(2, 13)]), [17]);
        assert_eq!(d.ack_at(31, 1, &[block(2, 14)]), [18]);
        assert_eq!(d.sender.snapshot().unwrap().delivered, 13);
        assert_eq!(d.sender.stats().retransmitted, 5);
    }

    #[test]
    fn a_dsack_for_the_only_retransmission_undoes_the_reduction() {
        let mut d = driver("reno", Some(10));
        assert_eq!(d.ack_at(100, 0, &[block(1, 4)]), [0]);
        assert_eq!((d.cwnd(), d.ssthresh()), (8.0, 5.0));
        assert!(d.ack_at(100, 4, &[]).is_empty());
        assert_eq!(d.cwnd(), 7.0);
        assert!(d.ack_at(110, 4, &[block(0, 1)]).is_empty());
        assert_eq!((d.cwnd(), d.ssthresh()), (10.0, f64::INFINITY));
        assert_eq!(counts(&d), (State::Open, [6, 0, 0, 0]));
        assert_eq!(d.sender.snapshot().unwrap().dsacks, 1);
    }

    #[test]
    fn one_report_sets_the_reordering_timer() {
        let mut d = driver("reno", None);
        assert_eq!(d.ack_at(100, 0, &[block(1, 2)]), [10]);
        let (timer, at, sent) = d.fire();
        assert_eq!((timer, at, sent), (FlowTimer::Retransmit, ms(127), vec![0]));
        assert_eq!((d.cwnd(), d.ssthresh(), d.sender.in_flight()), (10.0, 5.0, 10));
        assert_eq!(counts(&d), (State::Recovery, [11, 1, 1, 1]));
    }

    #[test]
    fn silence_brings_a_probe_then_a_timeout() {
        let mut d = connected(without_timestamps(), 10);
        let (_, at, sent) = d.fire();
        assert_eq!((at, sent), (ms(302), vec![10])); // two round trips and 2 ms; the last segment again
        assert_eq!((d.cwnd(), counts(&d).0), (10.0, State::Open));
        let (_, at, sent) = d.fire();
        assert_eq!((at, sent), (ms(602), vec![1])); // the timeout of 300 ms counts from the probe
        assert_eq!((d.cwnd(), d.ssthresh(), d.sender.rto()), (1.0, 5.0, Span::from_ms(600)));
        assert_eq!(counts(&d), (State::Loss, [10, 0, 10, 1]));
        assert_eq!((d.sender.stats().timeouts, d.sender.backoff()), (1, 1));
        let (_, at, sent) = d.fire();
        assert_eq!((at, sent), (ms(1202), vec![1]));
        assert_eq!((d.sender.stats().timeouts, d.ssthresh()), (2, 5.0)); // reduced once
    }

    #[test]
    fn frto_undoes_a_timeout_when_an_original_arrives() {
        let options = Options { tail_loss_probe: false, ..without_timestamps() };
        let mut d = connected(options, 40);
        let (_, at, sent) = d.fire();
        assert_eq!((at, sent), (ms(400), vec![1]));
        // Segment 2 was sent once: its ACK shows that the timeout was spurious.
        assert_eq!(d.ack_at(410, 3, &[]).len(), 4);
        assert_eq!((d.cwnd(), d.ssthresh()), (12.0, f64::INFINITY));
        assert_eq!(counts(&d), (State::Open, [12, 0, 0, 0]));
        // Without it the window stays reduced.
        let undo = UndoBy { dsack: true, timestamps: true, frto: false };
        let mut d = connected(Options { undo, tail_loss_probe: false, ..without_timestamps() }, 40);
        d.fire();
        d.ack_at(410, 3, &[]);
        assert_eq!((d.ssthresh(), counts(&d).0), (5.0, State::Loss));
    }

    #[test]
    fn frto_sends_new_data_first_and_gives_up_on_a_report() {
        let mut d = connected(Options { tail_loss_probe: false, ..without_timestamps() }, 40);
        d.fire();
        assert_eq!(d.ack_at(500, 2, &[]), [11, 12]); // the retransmission only: two new segments
        assert_eq!(counts(&d).0, State::Loss);
        let sent = d.ack_at(600, 2, &[block(11, 12)]);
        assert_eq!(sent.first(), Some(&2)); // the new data arrived before the old: the loss was real
        assert_eq!(d.ssthresh(), 5.0);
    }

    #[test]
    fn an_echo_older_than_the_retransmission_undoes() {
        let mut d = connected(Options::linux(), 40);
        let sack = |at: u64, next: u32, echo: u64| {
            let packet = Packet::new(PacketKind::Ack, 0, 0, next, 52, ms(at));
            (ms(at), Packet { echo: ms(echo), ..packet })
        };
        let (at, packet) = sack(200, 1, 100);
        assert_eq!(d.ack_with(at, packet, &[block(2, 5)]).first(), Some(&1));
        assert_eq!(counts(&d).0, State::Recovery);
        let (at, packet) = sack(210, 5, 100); // the original of 1 arrived
        d.ack_with(at, packet, &[]);
        assert_eq!((counts(&d).0, d.ssthresh()), (State::Open, f64::INFINITY));
        assert!(d.cwnd() >= 10.0);
        assert!(d.sender.snapshot().unwrap().reordering_seen > 0);
    }

    #[test]
    fn a_probe_that_repaired_a_loss_reduces_the_window() {
        let mut d = connected(without_timestamps(), 10);
        assert!(d.ack_at(200, 10, &[]).is_empty()); // segment 10 is lost
        let cwnd = d.cwnd();
        let (_, at, sent) = d.fire();
        assert_eq!(sent, [10]);
        assert!(at <= ms(500), "{at:?}");
        d.sender.on_write(&mut d.context, 3, true);
        assert_eq!(d.sent(), [11, 12, 13]);
        d.ack_at(600, 11, &[]); // undecided
        assert!(d.cwnd() > cwnd);
        let cwnd = d.cwnd();
        d.ack_at(610, 12, &[]);
        assert_eq!((d.cwnd(), d.ssthresh()), ((cwnd / 2.0).floor(), (cwnd / 2.0).floor()));
        assert_eq!(counts(&d).0, State::Open);
        // A DSACK for the probe says that nothing was lost.
        let mut d = connected(without_timestamps(), 10);
        d.ack_at(200, 10, &[]);
        d.fire();
        d.ack_at(600, 11, &[]);
        d.ack_at(610, 11, &[block(10, 11)]);
        assert_eq!((d.ssthresh(), d.sender.stats().cwnd_reductions), (f64::INFINITY, 0));
    }

    #[test]
    fn a_probe_with_new_data_waits_for_the_pacer() {
        let options = Options { pacing: true, pacing_gain: [0.01, 0.01], ..without_timestamps() };
        let mut d = Driver::start(sender(&options, "reno", None));
        d.ack_at(100, 1, &[]);
        // The pacer permits one segment in a whole second; the probe is due after 300 ms.
        let (timer, at, sent) = d.fire();
        assert_eq!((timer, sent), (FlowTimer::Retransmit, vec![]));
        assert!(at < ms(500), "{at:?}");
        let paced = d.context.timer_of(FlowTimer::Pace);
        assert!(paced > ms(900), "{paced:?}");
    }

    #[test]
    fn an_ecn_echo_reduces_the_window_over_a_round_trip() {
        let options = Options { ecn: true, ..without_timestamps() };
        let mut d = connected(options, 100);
        let echo = |d: &mut Driver, at: u64, next: u32| {
            let packet = Packet { ece: true, ..Packet::new(PacketKind::Ack, 0, 0, next, 52, ms(at)) };
            d.ack_with(ms(at), packet, &[])
        };
        assert_eq!(echo(&mut d, 200, 2).len(), 1);
        assert_eq!((counts(&d).0, d.ssthresh()), (State::Cwr, 5.0));
        assert!(d.context.sent.iter().all(|(packet, _)| !packet.cwr));
        for next in 3..=11 {
            echo(&mut d, 200, next);
        }
        assert_eq!((d.cwnd(), d.sender.stats().cwnd_reductions), (5.0, 1));
        d.ack_at(300, 12, &[]);
        assert_eq!((counts(&d).0, d.cwnd()), (State::Open, 5.0));
    }

    #[test]
    fn without_sack_duplicates_count_as_arrivals() {
        let options = Options { sack: false, ..without_timestamps() };
        let mut d = connected(options, 100);
        assert_eq!(d.ack_at(200, 1, &[]), [11]); // limited transmit
        assert_eq!(d.ack_at(200, 1, &[]), [12]);
        assert_eq!(d.ack_at(200, 1, &[]), [1]);
        assert_eq!(counts(&d), (State::Recovery, [12, 3, 1, 1]));
        assert!(d.ack_at(300, 4, &[]).is_empty()); // partial: 4 is the next hole, and the window is still full
        assert_eq!(counts(&d), (State::Recovery, [9, 1, 1, 0]));
        assert_eq!(d.ack_at(301, 4, &[]), [4]);
        d.ack_at(400, 13, &[]);
        assert_eq!(d.ssthresh(), 5.0);
        d.ack_at(500, 14, &[]);
        assert_eq!((counts(&d).0, d.cwnd()), (State::Open, 5.0));
    }

    #[test]
    fn an_unused_window_shrinks_after_a_timeout() {
        // Linux: once, halfway from 40 to the initial window of 10. Otherwise five segments let the window grow by five.
        for (validation, expected) in [(Validation::Linux, 25.0), (Validation::None, 45.0)] {
            let options = Options { validation, ..without_timestamps() };
            let mut d = Driver::start({
                let mut sender = sender(&options, "reno", None);
                sender.write_in_portions();
                sender
            });
            d.ack_at(100, 1, &[]);
            d.sender.on_write(&mut d.context, 30, false);
            (2..=31).for_each(|next| drop(d.ack_at(200, next, &[])));
            assert_eq!(d.cwnd(), 40.0);
            for at in (300..=700).step_by(100) {
                d.context.now = Time::ZERO + Span::from_ms(at);
                d.sender.on_write(&mut d.context, 1, false);
                let next = 31 + (at / 100 - 2) as u32;
                d.ack_at(at + 50, next, &[]);
            }
            assert_eq!(d.cwnd(), expected, "{validation:?}");
        }
    }

    #[test]
    fn a_threshold_that_slow_start_lowers_is_the_target_of_the_reduction() {
        use cc::Controller;
        let mut d = driver("reno", Some(10));
        d.ack_at(100, 0, &[block(1, 4)]);
        assert_eq!((d.cwnd(), d.ssthresh()), (8.0, 5.0));
        // What HyStart does: the window is below the threshold, and becomes the threshold.
        d.sender.connection.controller.set_window(4.0);
        d.sender.connection.controller.set_ssthresh(4.0);
        d.ack_at(100, 0, &[block(1, 5)]);
        d.ack_at(200, 10, &[]);
        // The window of 4 grows by one with the six segments of this ACK.
        assert_eq!((d.cwnd(), d.ssthresh()), (5.0, 4.0));
        assert_eq!(d.sender.phase(), cc::Phase::Open);
    }

    #[test]
    #[should_panic(expected = "during an event")]
    fn the_pipe_is_not_guessed_while_the_recovery_is_out_of_its_sender() {
        let mut d = driver("reno", None);
        assert_eq!(d.sender.in_flight(), 10);
        d.sender.connection.recovery_state = RecoveryState::Rack(None);
        d.sender.in_flight();
    }
}
