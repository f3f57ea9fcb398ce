//! The events of congestion control in a qlog.

use super::ControllerState;
use crate::qlog::{Metrics, Qlog};
use cc::{Controller, Phase};
use transport::WindowCause;
use units::Time;

/// The qlog of a connection, if it has one.
#[derive(Debug, Default)]
pub(super) struct ConnectionLog(pub Option<Qlog>);

impl ConnectionLog {
    /// Writes the metrics that changed.
    pub fn metrics(&self, of: &ControllerState, now: Time) {
        let Some(qlog) = &self.0 else { return };
        let bytes = |segments: f64| (segments * of.packet as f64) as u64;
        let ssthresh = of.controller.ssthresh();
        qlog.metrics(
            now,
            Metrics {
                min_rtt: (of.stats.rtt_count > 0).then_some(of.stats.rtt_min),
                smoothed_rtt: of.smoothed_rtt(),
                latest_rtt: of.sample,
                pto_count: of.pto_count,
                congestion_window: bytes(of.controller.cwnd()),
                bytes_in_flight: of.in_flight,
                packets_in_flight: of.packets.outstanding() as u64,
                ssthresh: ssthresh.is_finite().then(|| bytes(ssthresh)),
                pacing_rate: of.pacing_rate(),
            },
        );
        self.state(of, now);
    }

    /// Writes the state of congestion control if it changed.
    pub fn state(&self, of: &ControllerState, now: Time) {
        let Some(qlog) = &self.0 else { return };
        let state = match of.phase {
            Phase::Recovery | Phase::Cwr => "recovery",
            Phase::Open | Phase::Loss if of.controller.cwnd() < of.controller.ssthresh() => "slow_start",
            Phase::Open | Phase::Loss => "congestion_avoidance",
        };
        let trigger = match of.cause {
            Some(WindowCause::Ecn) if of.phase == Phase::Cwr => Some("ecn"),
            Some(WindowCause::Rto) => Some("persistent_congestion"),
            _ => None,
        };
        qlog.state(now, state, trigger);
    }

    /// Writes the packets that are lost.
    pub fn losses(&self, of: &ControllerState, now: Time, lost: &[u64]) {
        let Some(qlog) = &self.0 else { return };
        for number in lost {
            let reordered = of.largest_acked.is_some_and(|largest| largest >= number + of.packet_threshold);
            qlog.lost(now, *number, reordered);
        }
    }

    pub fn probe_timeout(&self, now: Time) {
        if let Some(qlog) = &self.0 {
            qlog.probe_timeout(now);
        }
    }
}
