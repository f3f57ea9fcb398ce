//! The events of congestion control in a qlog.

use super::ControllerState;
use crate::qlog::Metrics;
use cc::{Controller, Phase};
use transport::WindowCause;
use units::Time;

impl ControllerState {
    /// Writes the metrics that changed.
    pub(super) fn log_metrics(&self, now: Time) {
        let Some(qlog) = &self.qlog else { return };
        let bytes = |segments: f64| (segments * self.packet as f64) as u64;
        let ssthresh = self.controller.ssthresh();
        qlog.metrics(
            now,
            Metrics {
                min_rtt: (self.stats.rtt_count > 0).then_some(self.stats.rtt_min),
                smoothed_rtt: self.smoothed_rtt(),
                latest_rtt: self.sample,
                pto_count: self.pto_count,
                congestion_window: bytes(self.controller.cwnd()),
                bytes_in_flight: self.in_flight,
                packets_in_flight: self.packets.outstanding() as u64,
                ssthresh: ssthresh.is_finite().then(|| bytes(ssthresh)),
                pacing_rate: self.pacing_rate(),
            },
        );
        self.log_state(now);
    }

    /// Writes the state of congestion control if it changed.
    pub(super) fn log_state(&self, now: Time) {
        let Some(qlog) = &self.qlog else { return };
        let state = match self.phase {
            Phase::Recovery | Phase::Cwr => "recovery",
            Phase::Open | Phase::Loss if self.controller.cwnd() < self.controller.ssthresh() => "slow_start",
            Phase::Open | Phase::Loss => "congestion_avoidance",
        };
        let trigger = match self.cause {
            Some(WindowCause::Ecn) if self.phase == Phase::Cwr => Some("ecn"),
            Some(WindowCause::Rto) => Some("persistent_congestion"),
            _ => None,
        };
        qlog.state(now, state, trigger);
    }

    /// Writes the packets that are lost.
    pub(super) fn log_losses(&self, now: Time, lost: &[u64]) {
        let Some(qlog) = &self.qlog else { return };
        for number in lost {
            let reordered =
                self.largest_acked.is_some_and(|largest| largest >= number + self.packet_threshold);
            qlog.lost(now, *number, reordered);
        }
    }
}
