//! What both versions of BBR have in common.

use crate::Phase;
use units::{Segments, Span};

pub(crate) const PROBE_RTT_TIME: Span = Span::from_ms(200);
pub(crate) const MIN_WINDOW: f64 = 4.0;
/// Part of the estimated rate at which packets are paced.
pub(crate) const PACING_MARGIN: f64 = 0.99;
/// Quanta that the two hosts may hold back at once.
pub(crate) const QUANTA: f64 = 3.0;

/// The window to return to after recovery or ProbeRTT: the present one, or in one of these the largest since they began,
/// `prior`.
pub(crate) fn saved_window(prior: Segments, cwnd: Segments, phase: Phase, in_probe_rtt: bool) -> Segments {
    if phase < Phase::Recovery && !in_probe_rtt { cwnd } else { prior.max(cwnd) }
}
