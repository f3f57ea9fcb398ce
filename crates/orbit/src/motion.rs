//! The motion of a satellite: a circular orbit, with or without a drift of its node, or a table.

use crate::earth::EarthModel;
use crate::vector::Vector;
use std::f64::consts::TAU;
use std::sync::Arc;

/// The position of one satellite as a function of time.
#[derive(Clone, Debug)]
pub enum Motion {
    /// On a circle.
    Circular(Circular),
    /// By a table.
    Table(Arc<Ephemeris>),
}

impl Motion {
    /// Position `t` seconds after the epoch, km.
    pub fn at(&self, t: f64) -> Vector {
        match self {
            Motion::Circular(circle) => circle.at(t),
            Motion::Table(table) => table.at(t),
        }
    }
}

/// A circular orbit, as about a spherical Earth.
#[derive(Clone, Copy, Debug)]
pub struct Circular {
    radius: f64,
    sin_inclination: f64,
    cos_inclination: f64,
    /// Longitude of the ascending node at time 0 and its change, rad and rad/s.
    node: f64,
    drift: f64,
    /// Angle from the node at time 0, rad.
    phase: f64,
    period: f64,
}

/// Second zonal harmonic of the Earth.
const J2: f64 = 1.082_63e-3;

impl Circular {
    /// An orbit `altitude` km above the equator. Angles in degrees: inclination, longitude of the ascending node, and
    /// angle from that node at time 0. With `j2` the node drifts.
    pub fn new(
        earth: EarthModel,
        altitude: f64,
        inclination: f64,
        node: f64,
        phase: f64,
        j2: bool,
    ) -> Circular {
        let radius = earth.equatorial_radius() + altitude;
        let period = TAU * (radius * radius * radius / earth.mu()).sqrt();
        let (sin_inclination, cos_inclination) = libm::sincos(inclination.to_radians());
        let flattening = (earth.equatorial_radius() / radius) * (earth.equatorial_radius() / radius);
        let drift = -1.5 * (TAU / period) * J2 * flattening * cos_inclination;
        Circular {
            radius,
            sin_inclination,
            cos_inclination,
            node: node.to_radians(),
            drift: if j2 { drift } else { 0.0 },
            phase: phase.to_radians(),
            period,
        }
    }

    /// One revolution, s.
    pub fn period(&self) -> f64 {
        self.period
    }

    fn at(&self, t: f64) -> Vector {
        let (sin, cos) = libm::sincos(self.phase + TAU * (t % self.period) / self.period);
        let (sin_node, cos_node) = libm::sincos(self.node + self.drift * t);
        let across = sin * self.cos_inclination;
        Vector::new(
            self.radius * (cos_node * cos - sin_node * across),
            self.radius * (sin_node * cos + cos_node * across),
            self.radius * sin * self.sin_inclination,
        )
    }
}

/// Positions and velocities at equal time steps, interpolated with cubic Hermite curves.
#[derive(Clone, Debug)]
pub struct Ephemeris {
    from: f64,
    step: f64,
    /// km and km/s.
    states: Vec<(Vector, Vector)>,
}

impl Ephemeris {
    /// A table of (position km, velocity km/s). The first state is at time `from`, s; the states are `step` seconds
    /// apart. It must have at least two states.
    pub fn new(from: f64, step: f64, states: Vec<(Vector, Vector)>) -> Ephemeris {
        assert!(states.len() >= 2, "an ephemeris needs two states");
        Ephemeris { from, step, states }
    }

    fn at(&self, t: f64) -> Vector {
        let place = ((t - self.from) / self.step).clamp(0.0, (self.states.len() - 1) as f64);
        let i = (place as usize).min(self.states.len() - 2);
        let s = place - i as f64;
        let ((p0, v0), (p1, v1)) = (self.states[i], self.states[i + 1]);
        let (s2, s3) = (s * s, s * s * s);
        p0 * (2.0 * s3 - 3.0 * s2 + 1.0)
            + v0 * (self.step * (s3 - 2.0 * s2 + s))
            + p1 * (3.0 * s2 - 2.0 * s3)
            + v1 * (self.step * (s3 - s2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_positions() {
        let close = |v: Vector, x, y, z| v.distance(Vector::new(x, y, z)) < 0.005;
        let first = Circular::new(EarthModel::Ns2, 780.0, 86.4, 0.0, 0.0, false);
        assert!((first.period() - 6026.957).abs() < 0.001);
        assert!(close(first.at(0.0), 7158.0, 0.0, 0.0));
        assert!(close(first.at(600.0), 5802.745, 263.160, 4182.806));
        let second = Circular::new(EarthModel::Ns2, 780.0, 86.4, 31.6, 16.36, false);
        assert!(close(second.at(0.0), 5783.477, 3706.656, 2012.227));
        assert!((first.at(0.0).distance(second.at(0.0)) - 4435.952).abs() < 0.001);
    }

    #[test]
    fn the_node_drifts_by_j2() {
        let still = Circular::new(EarthModel::Ns2, 780.0, 86.4, 0.0, 0.0, false);
        let drifting = Circular::new(EarthModel::Ns2, 780.0, 86.4, 0.0, 0.0, true);
        // The orbital plane's normal turns about z; after a day by about -0.42 degrees.
        let period = still.period();
        let days = (86_400.0 / period).floor() * period;
        let angle = |v: Vector| libm::atan2(v.y, v.x).to_degrees();
        let drift = (angle(drifting.at(days)) - angle(still.at(days))) * 86_400.0 / days;
        assert!((drift + 0.42).abs() < 0.01, "{drift}");
    }

    #[test]
    fn a_table_follows_what_it_was_made_from() {
        let circle = Circular::new(EarthModel::Wgs84, 550.0, 53.0, 10.0, 20.0, false);
        let step = 10.0;
        let velocity = |t: f64| (circle.at(t + 1e-3) - circle.at(t - 1e-3)) * 500.0;
        let from = 1000.0;
        let at = |i: i32| from + step * i as f64;
        let table =
            Ephemeris::new(from, step, (0..=60).map(|i| (circle.at(at(i)), velocity(at(i)))).collect());
        for i in 0..6000 {
            let t = from + i as f64 * 0.1;
            assert!(table.at(t).distance(circle.at(t)) < 1e-3, "{t}");
        }
    }
}
