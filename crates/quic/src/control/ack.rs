//! ACK frames: what they acknowledge, samples, echoes, and the call of the controller.

use super::pending::PendingAck;
use super::{ControllerState, MIN_WINDOW};
use crate::config::Pacing;
use crate::frames::{AckFrame, Space};
use cc::{Ack, Cause, Controller, EcnResponse, Phase, Sample, SenderState, Signals};
use transport::WindowCause;
use units::{Span, Time};

impl ControllerState {
    /// A packet has arrived; the stack processes its frames next.
    pub(crate) fn on_packet_received(
        &mut self,
        now: Time,
        space: Space,
        frames: impl Iterator<Item = AckFrame>,
        clock: Option<Time>,
    ) {
        self.frames.clear();
        self.receiving = space;
        if self.handshake_rtt.is_none() {
            self.handshake_rtt = Some(now.since(self.opened));
        }
        if space == Space::Data {
            self.frames.extend(frames);
            self.receiver_time = clock;
        }
    }

    /// The stack reports a packet as acknowledged.
    pub(super) fn on_acked_bytes(&mut self, bytes: u64) {
        self.acked_bytes += bytes;
    }

    /// The stack has processed the acknowledged packets of an ACK frame, but not yet the losses that it shows.
    pub(super) fn on_end_acks(&mut self, now: Time, in_flight: u64, app_limited: bool) {
        self.flush_ack();
        let bytes = std::mem::take(&mut self.acked_bytes);
        let prior = self.in_flight.max(in_flight);
        self.in_flight = in_flight;
        if self.receiving != Space::Data {
            return;
        }
        if app_limited {
            self.limit_by_application();
        }
        while let Some(frame) = self.frames.pop_front() {
            let before = self.packets.acknowledged();
            self.pending = self.acknowledge(now, &frame, prior);
            if let Some(ack) = &mut self.pending {
                self.credit += bytes;
                ack.segments = (self.credit / self.packet) as u32;
                self.credit %= self.packet;
                let ack = *ack;
                if self.needs.has(Signals::SAMPLES) {
                    self.notify_sample(&ack);
                }
                if self.phase != Phase::Open && Some(ack.newest) > self.recover {
                    self.leave_recovery(now);
                }
            }
            if self.packets.acknowledged() > before {
                return;
            }
        }
        self.stats.unmatched_acks += 1;
    }

    /// The samples of what is in flight count as limited by the application.
    fn limit_by_application(&mut self) {
        let outstanding = self.packets.outstanding();
        if let Some(rate) = &mut self.rate {
            rate.on_app_limited(outstanding);
        }
    }

    /// Marks the packets of a frame as acknowledged. `None` if it acknowledges nothing new.
    fn acknowledge(&mut self, now: Time, frame: &AckFrame, prior: u64) -> Option<PendingAck> {
        let (mut newly, mut newest, mut top) = (0, None, None);
        let rate = &mut self.rate;
        let mut controller = self.needs.has(Signals::DELIVERIES).then_some(&mut self.controller);
        for (low, high) in &frame.ranges {
            self.packets.acknowledge(*low, *high, |number, packet| {
                top = top.max(Some(number));
                if !packet.elicits_ack {
                    return;
                }
                newly += 1;
                newest = newest.max(Some((number, packet.at)));
                if let Some(rate) = rate {
                    rate.on_segment(number as u32, now);
                }
                if let Some(controller) = &mut controller {
                    let (sent, rtt) = (packet.at, now.since(packet.at));
                    controller.on_delivered(&cc::Delivered { now, seq: number, sent, rtt });
                }
            });
        }
        let (number, sent) = newest?;
        let largest = frame.ranges[0].1;
        self.largest_acked = self.largest_acked.max(Some(largest.min(self.packets.next() - 1)));
        // An ACK that arrives out of order has an older count.
        let ce = frame.ecn.map_or(0, |counts| counts.ce.saturating_sub(self.ce_count));
        self.ce_count += ce;
        self.stats.ce_marks += ce;
        self.stats.ack_frames += 1;
        self.stats.acked_packets += newly as u64;
        self.stats.most_acked = self.stats.most_acked.max(newly as u64);
        self.change.acked = true;
        self.pto_count = 0;
        // RFC 9002 section 5.1: a sample only if the largest packet number is newly acknowledged.
        let rtt = (top == Some(largest)).then(|| now.since(sent));
        self.sample_rtt(rtt);
        Some(PendingAck {
            now,
            newly,
            newest: number,
            newest_sent: sent,
            segments: 0,
            ce,
            rtt,
            prior,
            lost_before: self.stats.lost_packets,
        })
    }

    /// Passes the measurements of an ACK to the controller, before anything follows from them.
    fn notify_sample(&mut self, ack: &PendingAck) {
        self.controller.on_sample(&Sample {
            now: ack.now,
            newly_acked: ack.segments,
            newly_delivered: ack.segments,
            rtt: ack.rtt,
            ece: self.ecn && ack.ce > 0,
            acked_through: self.largest_acked.unwrap_or(0),
            next: self.packets.next(),
            in_flight: self.in_flight().segments,
            prior_in_flight: ack.prior as f64 / self.packet as f64,
            since_sent: self.rate.as_ref().and_then(|rate| rate.since_sent()),
            sacked: 0,
            phase: self.phase,
            disorder: false,
            ce: if self.ecn { ack.marked() } else { 0 },
        });
    }

    fn sample_rtt(&mut self, rtt: Option<Span>) {
        self.sample = rtt;
        self.change.rtt = rtt;
        let Some(rtt) = rtt else { return };
        let seconds = rtt.seconds();
        self.srtt = Some(self.srtt.map_or(seconds, |srtt| srtt + (seconds - srtt) / 8.0));
        let stats = &mut self.stats;
        stats.rtt_min = if stats.rtt_count == 0 { rtt } else { stats.rtt_min.min(rtt) };
        stats.rtt_sum += seconds;
        stats.rtt_count += 1;
    }

    fn leave_recovery(&mut self, now: Time) {
        let phase = std::mem::replace(&mut self.phase, Phase::Open);
        if phase != Phase::Loss {
            self.controller.on_recovery_exit(now);
        }
    }

    /// Passes the pending ACK, if there is one, to the controller: the stack has found the losses that it shows.
    pub(crate) fn flush_ack(&mut self) {
        let Some(ack) = self.pending.take() else { return };
        let echo = self.ecn && ack.ce > 0;
        if echo && self.controller.ecn_response() == EcnResponse::Reduce {
            self.reduce(ack.now, Cause::Ecn, Some(ack.newest), Some(ack.newest_sent));
        } else if echo {
            self.cause = Some(WindowCause::Ecn); // if the controller reduces its window
        }
        self.qlog.state(ack.now, self.phase, &self.controller, self.cause);
        // With feedback per packet an ACK is about marked packets or about others, as in RFC 8257 section 3.2.
        let marked = ack.marked();
        if echo && self.needs.has(Signals::ECN_PER_PACKET) && marked < ack.segments {
            let unmarked = PendingAck { segments: ack.segments - marked, ce: 0, rtt: None, ..ack };
            self.notify(&unmarked, marked);
            self.notify(&PendingAck { segments: marked, ..ack }, 0);
        } else {
            self.notify(&ack, 0);
        }
        self.packets.trim();
    }

    /// Passes an ACK to the controller. `later`: segments of its frame that follow in another ACK.
    fn notify(&mut self, ack: &PendingAck, later: u32) {
        let last = later == 0;
        let ece = self.ecn && ack.ce > 0;
        let growing = matches!(self.phase, Phase::Open | Phase::Loss);
        let (now, lost) = (ack.now, self.stats.lost_packets);
        let min_rtt = (self.stats.rtt_count > 0).then_some(self.stats.rtt_min);
        let rate =
            if last { self.rate.as_mut().and_then(|rate| rate.sample(now, min_rtt, lost)) } else { None };
        let window_limited =
            !self.validates || self.window_use.limits(self.controller.cwnd(), self.controller.ssthresh());
        if let Some(rules) = &mut self.rules {
            rules.before_ack(&self.controller);
        }
        let ack_event = Ack {
            now,
            newly_acked: ack.segments,
            newly_delivered: ack.segments,
            newly_lost: if last { (lost - ack.lost_before) as u32 } else { 0 },
            delivered_total: self.stats.acked_packets,
            lost_total: lost,
            dupacks: 0, // an ACK frame without news is not passed on
            acked_through: self.largest_acked.unwrap_or(0).saturating_sub(later as u64),
            next: self.packets.next(),
            in_flight: self.in_flight().segments,
            prior_in_flight: ack.prior as f64 / self.packet as f64,
            rtt: ack.rtt,
            receiver_time: self.receiver_time.filter(|_| self.needs.has(Signals::RECEIVER_TIME)),
            ece,
            ce: if ece { ack.marked() } else { 0 },
            rate,
            sender: SenderState {
                srtt: self.srtt.map(Span::from_seconds),
                min_rtt,
                ce_total: self.stats.ce_marks,
                ..SenderState::default()
            },
            phase: self.phase,
            may_grow: ack.segments > 0 && growing && !ece,
            paced: self.pacing() != Pacing::None,
            pacing_wait: self.pacer.wait(now),
            window_limited,
        };
        self.controller.on_ack(&ack_event);
        if let Some(rules) = &mut self.rules {
            let change = rules.after_ack(&mut self.controller, &ack_event, window_limited);
            self.apply(change);
        }
        if self.controller.limits_application() {
            self.limit_by_application();
        }
        if self.controller.reduce_now() && self.phase == Phase::Open {
            self.reduce(now, Cause::Controller, Some(ack.newest), Some(ack.newest_sent));
        }
        debug_assert!(self.window_bytes() >= (MIN_WINDOW as u64) * self.packet);
    }
}
