//! The events of congestion control in a qlog.

use crate::qlog::{Metrics, Qlog};
use cc::{AnyController, Controller, Phase};
use transport::WindowCause;
use units::Time;

/// The qlog of a connection, if it has one.
#[derive(Debug, Default)]
pub(super) struct ConnectionLog(pub Option<Qlog>);

impl ConnectionLog {
    /// Writes the metrics that changed.
    pub fn metrics(&self, now: Time, metrics: impl FnOnce() -> Metrics) {
        if let Some(qlog) = &self.0 {
            qlog.metrics(now, metrics());
        }
    }

    /// Writes the state of congestion control if it changed.
    pub fn state(&self, now: Time, phase: Phase, controller: &AnyController, cause: Option<WindowCause>) {
        let Some(qlog) = &self.0 else { return };
        let state = match phase {
            Phase::Recovery | Phase::Cwr => "recovery",
            Phase::Open | Phase::Loss if controller.cwnd() < controller.ssthresh() => "slow_start",
            Phase::Open | Phase::Loss => "congestion_avoidance",
        };
        let trigger = match cause {
            Some(WindowCause::Ecn) if phase == Phase::Cwr => Some("ecn"),
            Some(WindowCause::Rto) => Some("persistent_congestion"),
            _ => None,
        };
        qlog.state(now, state, trigger);
    }

    /// Writes the packets that are lost: by reordering if a packet `threshold` numbers above is acknowledged.
    pub fn losses(&self, now: Time, lost: &[u64], largest_acked: Option<u64>, threshold: u64) {
        let Some(qlog) = &self.0 else { return };
        for number in lost {
            let reordered = largest_acked.is_some_and(|largest| largest >= number + threshold);
            qlog.lost(now, *number, reordered);
        }
    }

    /// Writes that a probe timeout has expired.
    pub fn probe_timeout(&self, now: Time) {
        if let Some(qlog) = &self.0 {
            qlog.probe_timeout(now);
        }
    }
}
