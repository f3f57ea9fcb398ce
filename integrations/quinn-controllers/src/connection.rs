//! The events of a controller, from those of quinn.

use crate::packets::{Packet, Packets};
use ackclock_cc::{
    Ack, AnyController, Cause, Congestion, Controller as _, Delivered, EcnResponse, Handshake, Lost, Phase,
    Sample, Segments, SenderState, Sent, Signals, Span, Time, Timeout, TransmitStart,
};
use std::time::Instant;

/// The smallest window, segments (RFC 9002 section 7.2), whatever the controller's window is.
const MIN_WINDOW: Segments = 2.0;
/// Datagrams up to so many bytes are taken for acknowledgements alone, which do not count as in flight.
const SMALL: u64 = 64;
/// Packets kept beyond two windows.
const SPARE: usize = 1000;

/// The packets that quinn has reported as acknowledged since its last end of ACKs.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    packets: u64,
    bytes: u64,
    newest: Option<Packet>,
}

/// An ACK that quinn has processed, but perhaps not yet the losses that it shows.
#[derive(Clone, Copy, Debug)]
struct PendingAck {
    now: Time,
    segments: u32,
    rtt: Option<Span>,
    newest: Option<Packet>,
    /// Bytes in flight before it.
    prior: u64,
    /// The losses counted before it.
    lost_before: u64,
    /// It reports an ECN mark.
    ece: bool,
}

/// A controller, and what is known of its path.
#[derive(Clone, Debug)]
pub struct Connection {
    controller: AnyController,
    needs: Signals,
    /// Time zero.
    epoch: Instant,
    /// Bytes of a segment.
    packet: u64,
    packets: Packets,
    /// Bytes in flight: what quinn said last, and what was sent since.
    in_flight: u64,
    batch: Batch,
    pending: Option<PendingAck>,
    /// Bytes acknowledged that are not a whole segment yet.
    credit: u64,
    phase: Phase,
    /// The last packet sent before the last reduction, and when the reduction was.
    recover: Option<u64>,
    reduced_at: Time,
    newest_acked: Option<u64>,
    last_sent: Time,
    app_limited: bool,
    handshake_done: bool,
    srtt: Option<f64>,
    min_rtt: Option<Span>,
    /// ACKs with new ECN marks.
    echoes: u64,
    /// Kept for its memory.
    lost: Vec<Packet>,
}

impl Connection {
    /// A path that begins at `now`, with its MTU in bytes and the first window in segments.
    pub fn new(controller: AnyController, now: Instant, mtu: u16, window: Segments) -> Connection {
        let mut connection = Connection {
            needs: controller.needs(),
            controller,
            epoch: now,
            packet: mtu.into(),
            packets: Packets::default(),
            in_flight: 0,
            batch: Batch::default(),
            pending: None,
            credit: 0,
            phase: Phase::Open,
            recover: None,
            reduced_at: Time::ZERO,
            newest_acked: None,
            last_sent: Time::ZERO,
            app_limited: false,
            handshake_done: false,
            srtt: None,
            min_rtt: None,
            echoes: 0,
            lost: Vec::new(),
        };
        connection.controller.on_open(Time::ZERO);
        connection.controller.set_window(window);
        connection
    }

    /// The controller.
    pub fn controller(&self) -> &AnyController {
        &self.controller
    }

    /// Bytes of a segment.
    pub fn packet(&self) -> u64 {
        self.packet
    }

    /// Bytes that may be in flight: whole segments, at least two. One byte more, since quinn sends while less than the window
    /// is in flight with the next datagram, not as much.
    pub fn window_bytes(&self) -> u64 {
        (self.window_segments() as u64).saturating_mul(self.packet).saturating_add(1)
    }

    /// The MTU has changed to `mtu` bytes. The window and the threshold keep their bytes, as Linux keeps those of TCP.
    pub fn set_packet(&mut self, mtu: u16) {
        self.flush_ack();
        let scale = self.packet as f64 / f64::from(mtu);
        self.packet = mtu.into();
        if !self.controller.owns_window() {
            let [cwnd, ssthresh] = [self.controller.cwnd(), self.controller.ssthresh()];
            self.controller.set_window((cwnd * scale).floor().max(MIN_WINDOW));
            if ssthresh.is_finite() {
                self.controller.set_ssthresh((ssthresh * scale).floor().max(MIN_WINDOW));
            }
        }
    }

    // ---- sending ----------------------------------------------------------------------------------------

    /// Datagrams of `bytes` bytes in total have left; each but the last has the size of the MTU.
    pub fn on_sent(&mut self, now: Instant, bytes: u64) {
        self.flush_ack();
        let now = self.time(now);
        let mut left = bytes;
        while left > SMALL {
            let size = left.min(self.packet);
            left -= size;
            self.send(now, size);
        }
    }

    fn send(&mut self, now: Time, size: u64) {
        if self.in_flight == 0 {
            let (idle, app_limited) = (now.since(self.last_sent), self.packets.app_limited());
            self.controller.on_transmit_start(&TransmitStart { now, idle, app_limited });
        }
        let before = self.packets_in_flight();
        let most = (2.0 * self.window_segments()) as usize + SPARE;
        let seq = self.packets.next();
        self.packets.send(now, size, before, most);
        self.in_flight += size;
        self.last_sent = now;
        if self.needs.has(Signals::SENT) {
            self.controller.on_sent(&Sent { now, seq, in_flight: before + 1, retransmission: false });
        }
    }

    // ---- acknowledgements -------------------------------------------------------------------------------

    /// A packet of `bytes` bytes that was sent at `sent` is acknowledged.
    pub fn on_packet_acked(&mut self, now: Instant, sent: Instant, bytes: u64) {
        self.flush_ack();
        let (now, sent) = (self.time(now), self.time(sent));
        self.batch.packets += 1;
        self.batch.bytes += bytes;
        let Some(packet) = self.packets.deliver(now, sent, bytes) else { return };
        if self.batch.newest.is_none_or(|newest| newest.number < packet.number) {
            self.batch.newest = Some(packet);
        }
        if self.needs.has(Signals::DELIVERIES) {
            let (seq, rtt) = (packet.number, now.since(sent));
            self.controller.on_delivered(&Delivered { now, seq, sent, rtt });
        }
    }

    /// The packets of an ACK frame were reported; `in_flight` bytes are in flight after it.
    pub fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool) {
        self.flush_ack();
        let now = self.time(now);
        let Batch { packets, bytes, newest } = std::mem::take(&mut self.batch);
        self.in_flight = in_flight;
        self.app_limited = app_limited;
        if app_limited {
            let in_flight = self.packets_in_flight();
            self.packets.limit_by_application(in_flight);
        }
        if packets == 0 {
            return;
        }
        // RFC 9002 section 5.1: a sample only if the largest packet is newly acknowledged.
        let fresh = newest.filter(|packet| Some(packet.number) > self.newest_acked);
        let rtt = fresh.map(|packet| now.since(packet.at));
        self.newest_acked = self.newest_acked.max(fresh.map(|packet| packet.number));
        self.sample_rtt(now, rtt);
        self.credit += bytes;
        let segments = (self.credit / self.packet) as u32;
        self.credit %= self.packet;
        let (prior, lost_before) = (in_flight + bytes, self.packets.lost);
        let ack = PendingAck { now, segments, rtt, newest, prior, lost_before, ece: false };
        if self.needs.has(Signals::SAMPLES) {
            self.notify_sample(&ack);
        }
        if self.phase != Phase::Open && newest.map(|packet| packet.number) > self.recover {
            self.leave_recovery(now);
        }
        self.pending = Some(ack);
    }

    fn sample_rtt(&mut self, now: Time, rtt: Option<Span>) {
        let Some(rtt) = rtt else { return };
        let seconds = rtt.seconds();
        self.srtt = Some(self.srtt.map_or(seconds, |srtt| srtt + (seconds - srtt) / 8.0));
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        if !std::mem::replace(&mut self.handshake_done, true) {
            self.controller.on_handshake(&Handshake { now, rtt: Some(rtt) });
        }
    }

    /// Passes the measurements of an ACK to the controller, before anything follows from them.
    fn notify_sample(&mut self, ack: &PendingAck) {
        self.controller.on_sample(&Sample {
            now: ack.now,
            newly_acked: ack.segments,
            newly_delivered: ack.segments,
            rtt: ack.rtt,
            ece: false, // quinn reports it later
            acked_through: self.newest_acked.unwrap_or(0),
            next: self.packets.next(),
            in_flight: self.segments(self.in_flight),
            prior_in_flight: self.segments(ack.prior),
            since_sent: self.packets.since_sent().filter(|_| self.needs.has(Signals::RATE)),
            sacked: 0,
            phase: self.phase,
            disorder: false,
            ce: 0,
        });
    }

    /// Passes the ACK that waits, if there is one, to the controller: quinn has found the losses that it shows.
    pub fn flush_ack(&mut self) {
        let Some(ack) = self.pending.take() else { return };
        if ack.ece && self.controller.ecn_response() == EcnResponse::Reduce {
            let newest = ack.newest;
            self.reduce(
                ack.now,
                Cause::Ecn,
                newest.map(|packet| packet.number),
                newest.map(|packet| packet.at),
            );
        }
        let rate = self.packets.sample(ack.now, self.min_rtt).filter(|_| self.needs.has(Signals::RATE));
        let growing = matches!(self.phase, Phase::Open | Phase::Loss);
        self.controller.on_ack(&Ack {
            now: ack.now,
            newly_acked: ack.segments,
            newly_delivered: ack.segments,
            newly_lost: (self.packets.lost - ack.lost_before) as u32,
            delivered_total: self.packets.delivered,
            lost_total: self.packets.lost,
            dupacks: 0,
            acked_through: self.newest_acked.unwrap_or(0),
            next: self.packets.next(),
            in_flight: self.segments(self.in_flight),
            prior_in_flight: self.segments(ack.prior),
            rtt: ack.rtt,
            receiver_time: None,
            ece: ack.ece,
            ce: if ack.ece { ack.segments } else { 0 }, // quinn does not report how many
            phase: self.phase,
            may_grow: ack.segments > 0 && growing && !ack.ece,
            paced: true,
            pacing_wait: Span::ZERO,
            window_limited: !self.app_limited,
            rate,
            sender: SenderState {
                srtt: self.srtt.map(Span::from_seconds),
                min_rtt: self.min_rtt,
                ce_total: self.echoes,
                ..SenderState::default()
            },
        });
        if self.controller.limits_application() {
            let in_flight = self.packets_in_flight();
            self.packets.limit_by_application(in_flight);
        }
        if self.controller.reduce_now() && self.phase == Phase::Open {
            let newest = ack.newest;
            let (number, sent) = (newest.map(|packet| packet.number), newest.map(|packet| packet.at));
            self.reduce(ack.now, Cause::Controller, number, sent);
        }
    }

    // ---- losses and echoes ------------------------------------------------------------------------------

    /// An ACK has reported new ECN marks; the newest packet that it acknowledges was sent at `sent`.
    pub fn on_echo(&mut self, now: Instant, sent: Instant) {
        let (now, sent) = (self.time(now), self.time(sent));
        self.echoes += 1;
        if let Some(ack) = self.pending.as_mut().filter(|ack| ack.now == now) {
            ack.ece = true; // the last that quinn reports of an ACK
        } else if self.controller.ecn_response() == EcnResponse::Reduce {
            self.reduce(now, Cause::Ecn, self.packets.last_until(sent), Some(sent));
        }
        self.flush_ack();
    }

    /// Packets of `bytes` bytes are lost, of which the last was sent at `sent`. `persistent`: they show persistent
    /// congestion.
    pub fn on_lost_bytes(&mut self, now: Instant, sent: Instant, persistent: bool, bytes: u64) {
        let (now, sent) = (self.time(now), self.time(sent));
        if self.pending.is_some_and(|ack| ack.now != now) {
            self.flush_ack();
        }
        self.in_flight = self.in_flight.saturating_sub(bytes);
        let mut lost = std::mem::take(&mut self.lost);
        lost.clear();
        self.packets.lose(sent, bytes, &mut lost);
        self.notify_losses(now, &lost);
        if lost.is_empty() {
            self.packets.lost += bytes.div_ceil(self.packet);
        }
        let newest = lost.last().map(|packet| packet.number);
        self.lost = lost;
        if persistent {
            self.restart(now, newest, sent);
        } else {
            self.reduce(now, Cause::FastRetransmit, newest, Some(sent));
        }
    }

    /// Counts losses and passes them to the controller, if it requires that.
    fn notify_losses(&mut self, now: Time, lost: &[Packet]) {
        let mut previous = None;
        for packet in lost {
            self.packets.lost += 1;
            if self.needs.has(Signals::LOSSES) {
                self.controller.on_lost(&Lost {
                    now,
                    seq: packet.number,
                    tx_in_flight: packet.in_flight,
                    lost: self.packets.lost - packet.lost,
                    delivered_total: self.packets.delivered,
                    app_limited: packet.app_limited,
                    starts_range: previous.is_none_or(|number| number + 1 != packet.number),
                });
            }
            previous = Some(packet.number);
        }
    }

    /// Whether the packet with a number that was sent at `sent` precedes the last reduction: then it belongs to it (RFC 9002
    /// section 7.3.2).
    fn reduced_for(&self, number: Option<u64>, sent: Option<Time>) -> bool {
        match (number, self.recover) {
            (Some(number), Some(last)) => number <= last,
            (None, Some(_)) => sent.is_some_and(|sent| sent <= self.reduced_at),
            (_, None) => false,
        }
    }

    /// Reduces the window, once per window of data.
    fn reduce(&mut self, now: Time, cause: Cause, number: Option<u64>, sent: Option<Time>) {
        if self.reduced_for(number, sent) {
            if self.phase == Phase::Cwr && cause == Cause::FastRetransmit {
                self.phase = Phase::Recovery; // the echo has reduced the window for this loss
            }
            return;
        }
        self.begin_reduction(now, if cause == Cause::FastRetransmit { Phase::Recovery } else { Phase::Cwr });
        self.controller.on_congestion(&Congestion {
            now,
            cause,
            window: self.controller.cwnd().max(1.0),
            in_flight: self.segments(self.in_flight),
            segment_sent: sent,
            retransmitted: false,
            dupacks: 0,
        });
    }

    /// Persistent congestion (RFC 9002 section 7.6): the window restarts at its minimum.
    fn restart(&mut self, now: Time, number: Option<u64>, sent: Time) {
        let repeated = self.reduced_for(number, Some(sent));
        self.begin_reduction(now, Phase::Loss);
        self.controller.on_rto(&Timeout { now, window: self.controller.cwnd(), repeated });
        if !self.controller.owns_window() && self.controller.cwnd() < MIN_WINDOW {
            self.controller.set_window(MIN_WINDOW);
        }
    }

    fn begin_reduction(&mut self, now: Time, phase: Phase) {
        self.recover = self.packets.next().checked_sub(1);
        self.reduced_at = now;
        self.phase = phase;
    }

    fn leave_recovery(&mut self, now: Time) {
        let phase = std::mem::replace(&mut self.phase, Phase::Open);
        if phase != Phase::Loss {
            self.controller.on_recovery_exit(now);
        }
    }

    // ---- units ------------------------------------------------------------------------------------------

    /// The time since the epoch; zero for an earlier one.
    fn time(&self, instant: Instant) -> Time {
        let ns = instant.saturating_duration_since(self.epoch).as_nanos();
        Time::from_ps(u64::try_from(ns.saturating_mul(1000)).unwrap_or(u64::MAX))
    }

    fn segments(&self, bytes: u64) -> Segments {
        bytes as f64 / self.packet as f64
    }

    fn window_segments(&self) -> Segments {
        self.controller.cwnd().max(MIN_WINDOW).floor()
    }

    fn packets_in_flight(&self) -> u32 {
        u32::try_from(self.in_flight.div_ceil(self.packet)).unwrap_or(u32::MAX)
    }
}
