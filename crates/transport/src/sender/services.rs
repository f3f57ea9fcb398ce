//! What the sender does for a recovery that keeps its own scoreboard: windows, notifications, samples.

use super::{LastReduction, Sender};
use crate::change::WindowCause;
use crate::recovery_state::RecoveryState;
use cc::{Cause, Congestion, Controller, Timeout};
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
    /// The ACK that opens the connection: the initial window holds.
    pub(crate) fn open(&mut self) {
        self.opened = true;
        self.controller.set_window(self.initial_window);
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

    /// Counts the round-trip sample that the controller receives.
    pub(crate) fn count_rtt(&mut self, rtt: Option<Span>) {
        self.sample = rtt;
        if let Some(rtt) = rtt {
            self.stats.rtt_sum += rtt.seconds();
            self.stats.rtt_min = if self.stats.rtt_count == 0 { rtt } else { self.stats.rtt_min.min(rtt) };
            self.stats.rtt_count += 1;
        }
    }

    /// Notes whether the application, and not the window, limited the sender until it writes more, as Linux does: only
    /// then.
    pub(super) fn note_limit_before_write(&mut self) {
        if let RecoveryState::Rack(Some(rack)) = &self.recovery_state
            && self.reports.has_rate()
            && rack.application_limited(self)
        {
            self.reports.application_limits(rack.pipe());
        }
    }

    /// The time until the pacer permits the next packet.
    #[inline]
    pub(crate) fn pacing_wait(&self, now: Time) -> Span {
        if self.pace_at > now { self.pace_at.since(now) } else { Span::ZERO }
    }
}
