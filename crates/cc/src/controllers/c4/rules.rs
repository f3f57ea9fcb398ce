//! The formulas of C4, without state. Rates in bytes per second, times in seconds, windows in bytes.

/// Sensitivity 0 up to the first rate, 1 from the last one on.
const LOW_RATE: f64 = 50e3;
const MIDDLE_RATE: f64 = 1e6;
const HIGH_RATE: f64 = 10e6;
const MIDDLE_SENSITIVITY: f64 = 0.92;
const MAX_DELAY_THRESHOLD: f64 = 0.025;
const LEAST_LOSS_THRESHOLD: f64 = 0.02;
/// MAX_JITTER.
const MAX_JITTER: f64 = 0.25;
/// Largest reduction of the nominal rate, and that for losses.
pub(super) const BETA: f64 = 0.25;
/// A push at this rate or a lower one succeeds with any growth.
pub(super) const LOW_PUSH: f64 = 17.0 / 16.0;
const MAX_QUANTUM: f64 = 65_536.0;

/// How strongly a flow of this rate reacts to congestion, 0 to 1.
pub(super) fn sensitivity(rate: f64) -> f64 {
    if rate < LOW_RATE {
        0.0
    } else if rate < MIDDLE_RATE {
        MIDDLE_SENSITIVITY * (rate - LOW_RATE) / (MIDDLE_RATE - LOW_RATE)
    } else {
        let part = (rate - MIDDLE_RATE) / (HIGH_RATE - MIDDLE_RATE);
        (MIDDLE_SENSITIVITY + (1.0 - MIDDLE_SENSITIVITY) * part).min(1.0)
    }
}

/// The round-trip time above the nominal maximum that shows congestion.
pub(super) fn delay_threshold(rate: f64, max_rtt: f64) -> f64 {
    let part = 1.0 / 16.0 + (1.0 - sensitivity(rate)) * 3.0 / 16.0;
    (part * max_rtt).min(MAX_DELAY_THRESHOLD)
}

/// The smoothed part of lost packets that shows congestion.
pub(super) fn loss_threshold(rate: f64) -> f64 {
    LEAST_LOSS_THRESHOLD + 0.5 * (1.0 - sensitivity(rate))
}

/// The smoothed part of lost packets after one more packet.
pub(super) fn smooth_loss(smoothed: f64, lost: bool) -> f64 {
    (f64::from(u8::from(lost)) + 15.0 * smoothed) / 16.0
}

/// The running minimum and the nominal maximum of the round-trip time after an era with these extremes.
pub(super) fn round_trips(running_min: f64, max_rtt: f64, era_min: f64, era_max: f64) -> (f64, f64) {
    let running_min = if era_min < running_min { era_min } else { (7.0 * running_min + era_min) / 8.0 };
    let era_max = era_max.min(running_min + MAX_JITTER);
    let max_rtt = if era_max > max_rtt { era_max } else { (7.0 * max_rtt + era_max) / 8.0 };
    (running_min, max_rtt)
}

/// Pacing rate, window and quantum.
pub(super) fn outputs(rate: f64, max_rtt: f64, alpha: f64, packet: f64) -> (f64, f64, f64) {
    let pacing = alpha * rate;
    let window = (pacing * max_rtt).max(2.0 * packet);
    (pacing, window, (window / 4.0).min(MAX_QUANTUM).max(2.0 * packet))
}

/// The reduction of the nominal rate for a round-trip time above the threshold.
pub(super) fn beta_delay(rtt: f64, max_rtt: f64, threshold: f64) -> f64 {
    ((rtt - (max_rtt + threshold)) / threshold).clamp(0.0, BETA)
}

/// Whether a nominal rate that was `old` before an era sent at `alpha` has grown as much as it must.
pub(super) fn grew(old: f64, new: f64, alpha: f64) -> bool {
    if alpha <= LOW_PUSH { new > old } else { new >= old + (alpha - 1.0) / 4.0 * old }
}
