//! What the sender does for a recovery that keeps its own scoreboard: windows, notifications, samples.

use super::{LastReduction, Sender};
use crate::change::WindowCause;
use crate::recovery_state::RecoveryState;
use cc::{
    Cause, Congestion, Controller, Delivered, Lost, Phase, RateSample, Sent, Signals, Timeout, TransmitStart,
};
use units::{Span, Time};

impl Sender {
    /// The congestion window, whole segments.
    #[inline]
    pub(crate) fn cwnd(&self) -> u32 {
        self.controller.cwnd() as u32
    }
    /// The receiver's window, segments.
    #[inline]
    pub fn receive_window(&self) -> u32 {
        self.receive_window
    }
    /// The most segments that one event may send.
    #[inline]
    pub(crate) fn most_at_once(&self) -> u32 {
        match self.options.max_burst {
            0 => u32::MAX,
            most => most,
        }
    }
    /// Whether the sender waits for the ACK of its SYN.
    #[inline(always)]
    pub(crate) fn handshake_pending(&self) -> bool {
        self.una == 0 && !self.opened && self.options.syn
    }
    /// Whether all data is acknowledged, and the application writes no more.
    #[inline]
    pub(crate) fn finished(&self, una: u32) -> bool {
        una >= self.limit && !self.more_to_write
    }
    /// The SYN is acknowledged.
    pub(crate) fn open(&mut self) {
        self.opened = true;
        self.controller.set_window(self.initial_window);
    }
    /// The SYN was lost: the initial window is one segment.
    pub(crate) fn lost_handshake(&mut self) {
        self.initial_window = 1.0;
    }
    pub(crate) fn set_phase(&mut self, phase: Phase) {
        self.phase = phase;
    }
    pub(crate) fn withdraw_cwr(&mut self) {
        self.cwr = false;
    }

    /// Notifies the controller of a loss or an ECN echo. `oldest`: when the oldest segment was sent, and whether it was
    /// ever retransmitted.
    pub(crate) fn notify_congestion(
        &mut self,
        cause: Cause,
        now: Time,
        window: f64,
        in_flight: f64,
        oldest: Option<(Time, bool)>,
    ) {
        let dupacks = self.dupacks;
        self.stats.cwnd_reductions += 1;
        self.last_reduction = LastReduction::DupAck;
        self.cause = Some(cause.into());
        self.set_cwr_pending();
        self.controller.on_congestion(&Congestion {
            now,
            cause,
            window,
            in_flight,
            segment_sent: oldest.map(|segment| segment.0),
            retransmitted: oldest.is_some_and(|segment| segment.1),
            dupacks,
        });
    }

    /// Notifies the controller of a retransmission timeout. `cut`: it reduces the threshold.
    pub(crate) fn notify_timeout(&mut self, event: &Timeout, cut: bool) {
        self.stats.cwnd_reductions += cut as u32;
        self.cause = Some(WindowCause::Rto);
        self.set_cwr_pending();
        self.controller.on_rto(event);
    }

    /// Notifies the controller of segments that were marked as lost; `lost` and `delivered` are the counts after it.
    pub(crate) fn notify_losses(&mut self, now: Time, segments: &[u32], lost: u64, delivered: u64) {
        let before = lost - segments.len() as u64;
        for (index, seq) in segments.iter().enumerate() {
            let Some((tx_in_flight, earlier, app_limited)) = self.rate.as_ref().map(|r| r.sent_state(*seq))
            else {
                return;
            };
            let total = before + 1 + index as u64;
            self.controller.on_lost(&Lost {
                now,
                seq: *seq as u64,
                tx_in_flight,
                lost: (total as u32).wrapping_sub(earlier) as u64,
                delivered_total: delivered,
                app_limited,
                starts_range: index == 0 || segments[index - 1] + 1 != *seq,
            });
        }
    }

    /// Notifies the controller that transmission starts with nothing in flight.
    pub(crate) fn notify_transmit_start(&mut self, now: Time, last_sent: Time) {
        let app_limited = self.rate.as_ref().is_some_and(|rate| rate.app_limited());
        self.controller.on_transmit_start(&TransmitStart { now, idle: now.since(last_sent), app_limited });
    }

    /// Counts the round-trip sample that the controller receives.
    pub(crate) fn count_rtt(&mut self, rtt: Option<Span>) {
        self.sample = rtt;
        if let Some(rtt) = rtt {
            self.stats.rtt_sum += rtt.seconds();
            self.stats.rtt_min = if self.stats.rtt_count == 0 { rtt } else { self.stats.rtt_min.min(rtt) };
            self.stats.rtt_count += 1;
        }
    }

    /// The rate sampler, and the controller if it asks for it: segment `seq` is sent. `una`: the oldest segment; `lost`: the
    /// segments marked as lost; `in_flight` and `with`: the segments in flight before and after.
    #[inline(never)] // most controllers need neither
    pub(crate) fn report_sent(
        &mut self,
        una: u32,
        lost: u64,
        seq: u32,
        now: Time,
        [in_flight, with]: [u32; 2],
    ) {
        if let Some(rate) = &mut self.rate {
            rate.on_send(una, seq, now, in_flight, lost);
        }
        self.notify_sent(seq, now, seq < self.high, with);
    }

    /// Whether a transmission is reported, with [`Sender::report_sent`] or [`Sender::note_sent_rate`].
    #[inline]
    pub(crate) fn reports_sent(&self) -> bool {
        self.rate.is_some() || self.needs.has(Signals::SENT)
    }

    /// Notifies the controller, if it asks for it, that segment `seq` is sent. `again`: it is a retransmission; `in_flight`
    /// includes it.
    #[inline]
    pub(super) fn notify_sent(&mut self, seq: u32, now: Time, again: bool, in_flight: u32) {
        if self.needs.has(Signals::SENT) {
            self.controller.on_sent(&Sent { now, seq: seq as u64, in_flight, retransmission: again });
        }
    }
    /// The rate sampler, and the controller if it asks for it: segment `seq` is delivered.
    #[inline]
    pub(crate) fn rate_delivered(&mut self, seq: u32, now: Time) {
        let Some(rate) = &mut self.rate else { return };
        rate.on_segment(seq, now);
        if self.needs.has(Signals::DELIVERIES) {
            let sent = rate.sent_at(seq);
            self.controller.on_delivered(&Delivered { now, seq: seq as u64, sent, rtt: now.since(sent) });
        }
    }
    /// The rate sample of an ACK.
    #[inline]
    pub(crate) fn rate_sample(
        &mut self,
        now: Time,
        min_rtt: Option<Span>,
        delivered: u64,
        lost: u64,
    ) -> Option<RateSample> {
        let rate = self.rate.as_mut()?;
        rate.set_delivered(delivered);
        rate.sample(now, min_rtt, lost)
    }

    /// The rate sampler: samples count as limited by the application until what is in flight is delivered.
    pub(crate) fn rate_limited(&mut self, in_flight: u32) {
        if let Some(rate) = &mut self.rate {
            rate.on_app_limited(in_flight);
        }
    }

    /// Notes whether the application, and not the window, limited the sender until it writes more, as Linux does: only
    /// then.
    pub(super) fn note_limit_before_write(&mut self) {
        if let RecoveryState::Rack(Some(rack)) = &self.recovery_state
            && self.rate.is_some()
            && rack.application_limited(self)
        {
            let in_flight = rack.pipe();
            self.rate_limited(in_flight);
        }
    }

    /// The time until the pacer permits the next packet.
    #[inline]
    pub(crate) fn pacing_wait(&self, now: Time) -> Span {
        if self.pace_at > now { self.pace_at.since(now) } else { Span::ZERO }
    }
}
