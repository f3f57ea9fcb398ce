//! The target rate of an encoder that follows what its transport can send.

use units::{Span, Time};

/// Media that waits unsent, in seconds at the target: above the first the target falls, below the second it rises.
const MOST_WAITING_S: f64 = 0.2;
const LEAST_WAITING_S: f64 = 0.05;
/// Factors of the target.
const FALL: f64 = 0.75;
const RISE: f64 = 1.05;
/// After a change the target stays for this time.
const HOLD: Span = Span::from_ms(1000);

/// What a controller permits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Permission {
    /// The congestion window, bytes.
    pub window_bytes: f64,
    /// The smoothed round-trip time; none before the first sample.
    pub srtt: Option<Span>,
    /// The pacing rate, bit/s, of a controller that sets one.
    pub pacing_bps: Option<f64>,
}

/// The lowest and the highest target, bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The lowest target.
    pub min_bps: f64,
    /// The highest target.
    pub max_bps: f64,
}

impl Bounds {
    fn apply(self, rate_bps: f64) -> f64 {
        rate_bps.clamp(self.min_bps, self.max_bps)
    }
}

/// The target that a controller permits, bit/s: `share` of the smaller of pacing rate and window over round-trip time, less what
/// audio takes. None before the first round-trip time without a pacing rate.
pub fn permitted_target(permission: Permission, share: f64, audio_bps: f64, bounds: Bounds) -> Option<f64> {
    let by_window = permission
        .srtt
        .filter(|srtt| *srtt > Span::ZERO)
        .map(|srtt| 8.0 * permission.window_bytes / srtt.seconds());
    let rate_bps = match (permission.pacing_bps, by_window) {
        (Some(pacing_bps), Some(window_bps)) => pacing_bps.min(window_bps),
        (pacing_bps, window_bps) => pacing_bps.or(window_bps)?,
    };
    Some(bounds.apply(share * rate_bps - audio_bps))
}

/// A target by what waits unsent, as broadcasting software does.
#[derive(Clone, Debug)]
pub struct Backlog {
    target_bps: f64,
    bounds: Bounds,
    /// No change before this time.
    hold: Time,
}

impl Backlog {
    /// With its first target.
    pub fn new(start_bps: f64, bounds: Bounds) -> Backlog {
        Backlog { target_bps: start_bps, bounds, hold: Time::ZERO }
    }

    /// The bounds are others from now on.
    pub fn change_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
        self.target_bps = bounds.apply(self.target_bps);
    }

    /// The target with `unsent` bytes that wait at the application and the transport, bit/s.
    pub fn target_bps(&mut self, now: Time, unsent: u64) -> f64 {
        let waiting_s = 8.0 * unsent as f64 / self.target_bps;
        let factor = match waiting_s {
            _ if now < self.hold => return self.target_bps,
            s if s > MOST_WAITING_S => FALL,
            s if s < LEAST_WAITING_S => RISE,
            _ => return self.target_bps,
        };
        self.target_bps = self.bounds.apply(factor * self.target_bps);
        self.hold = now + HOLD;
        self.target_bps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: f64 = 0.85;
    const BOUNDS: Bounds = Bounds { min_bps: 150e3, max_bps: 3e6 };

    #[test]
    fn the_target_is_a_part_of_what_the_controller_permits() {
        let target = |window_bytes, srtt_ms: Option<u64>, pacing_bps, audio_bps| {
            let permission = Permission { window_bytes, srtt: srtt_ms.map(Span::from_ms), pacing_bps };
            permitted_target(permission, SHARE, audio_bps, BOUNDS)
        };
        let near = |target: Option<f64>, expected: f64| (target.unwrap() - expected).abs() < 1e-6;
        assert!(near(target(30e3, Some(100), None, 0.0), 2.04e6));
        assert!(near(target(30e3, Some(100), Some(2e6), 0.0), 1.7e6));
        assert!(near(target(30e3, Some(100), Some(2e6), 24e3), 1.676e6));
        assert!(near(target(30e3, None, Some(2e6), 0.0), 1.7e6));
        assert_eq!(target(60e3, Some(100), None, 0.0), Some(3e6));
        assert_eq!(target(1e3, Some(100), None, 24e3), Some(150e3));
        assert_eq!(target(60e3, None, None, 0.0), None);
    }

    #[test]
    fn the_target_follows_the_backlog() {
        let mut backlog = Backlog::new(1e6, BOUNDS);
        let steps =
            [(0, 30_000), (500, 30_000), (1000, 30_000), (2000, 5000), (3000, 3000), (3900, 0), (4000, 0)];
        let targets = steps.map(|(ms, unsent)| backlog.target_bps(Time::ZERO + Span::from_ms(ms), unsent));
        let expected = [750e3, 750e3, 562.5e3, 562.5e3, 590_625.0, 590_625.0, 620_156.25];
        assert!(
            targets.iter().zip(expected).all(|(target, value)| (target - value).abs() < 1e-9),
            "{targets:?}"
        );
        let mut bounded = Backlog::new(160e3, BOUNDS);
        assert_eq!(bounded.target_bps(Time::ZERO, 30_000), 150e3);
    }
}
