//! Satellites and terminals with their positions and the links that the geometry permits.

use crate::constellation::{Constellation, clear};
use crate::vector::Vector;
use crate::{EARTH_KM, LIGHT_KM_S, SIDEREAL_DAY_S};
use std::f64::consts::TAU;

/// A terminal on the ground.
#[derive(Clone, Debug, PartialEq)]
pub struct Terminal {
    /// Its name.
    pub name: String,
    /// Degrees north.
    pub lat: f64,
    /// Degrees east.
    pub lon: f64,
}

/// Satellites, and terminals that rotate with the Earth. Node numbers: satellites first, then terminals.
#[derive(Clone, Debug)]
pub struct SatelliteSystem {
    /// The satellites.
    pub constellation: Constellation,
    /// The terminals.
    pub terminals: Vec<Terminal>,
    /// Constellation time at the start of the run, s.
    pub epoch: f64,
}

/// A position relative to the rotating Earth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Degrees north.
    pub lat: f64,
    /// Degrees east, -180 to 180.
    pub lon: f64,
    /// Above the ground, km.
    pub altitude: f64,
}

impl SatelliteSystem {
    /// Number of satellites and terminals.
    pub fn nodes(&self) -> usize {
        self.constellation.len() + self.terminals.len()
    }

    /// The name of a node.
    pub fn name(&self, node: usize) -> &str {
        let satellites = self.constellation.len();
        if node < satellites {
            self.constellation.name(node)
        } else {
            &self.terminals[node - satellites].name
        }
    }

    /// Position of a node `t` seconds after the start, km, in the inertial frame.
    pub fn position(&self, node: usize, t: f64) -> Vector {
        let t = self.epoch + t;
        let Some(terminal) = node.checked_sub(self.constellation.len()) else {
            return self.constellation.position(node, t);
        };
        let Terminal { lat, lon, .. } = &self.terminals[terminal];
        let (sin_lat, cos_lat) = libm::sincos(lat.to_radians());
        let (sin_lon, cos_lon) = libm::sincos(lon.to_radians() + turn(t));
        Vector::new(cos_lat * cos_lon, cos_lat * sin_lon, sin_lat) * EARTH_KM
    }

    /// Position of a node relative to the rotating Earth, `t` seconds after the start.
    pub fn place(&self, node: usize, t: f64) -> Place {
        let position = self.position(node, t).turned(-turn(self.epoch + t));
        let radius = position.norm();
        Place {
            lat: libm::asin(position.z / radius).to_degrees(),
            lon: libm::atan2(position.y, position.x).to_degrees(),
            altitude: radius - EARTH_KM,
        }
    }

    /// Propagation delay between two nodes, s.
    pub fn delay(&self, a: usize, b: usize, t: f64) -> f64 {
        self.position(a, t).distance(self.position(b, t)) / LIGHT_KM_S
    }

    /// Whether a link between two satellites is possible: both are within `limit` degrees of the equator, and the
    /// line is free.
    pub(crate) fn interplane(&self, a: usize, b: usize, limit: f64, t: f64) -> bool {
        let (a, b) = (self.position(a, t), self.position(b, t));
        // |lat| <= limit, without the arc sine.
        let bound = libm::sin(limit.to_radians());
        a.z.abs() <= bound * a.norm() && b.z.abs() <= bound * b.norm() && clear(a, b)
    }
}

/// The sine of a satellite's elevation above the horizon of a terminal.
pub(crate) fn sin_elevation(satellite: Vector, terminal: Vector) -> f64 {
    let ray = satellite - terminal;
    ray.dot(terminal) / (ray.norm() * terminal.norm())
}

/// Angle at the Earth's centre between a satellite at this radius (km) and a point that sees it at an elevation of
/// `mask` degrees, degrees.
pub fn footprint(radius: f64, mask: f64) -> f64 {
    let mask = mask.to_radians();
    (libm::acos(crate::EARTH_KM / radius * libm::cos(mask)) - mask).to_degrees()
}

/// Rotation angle of the Earth, rad.
fn turn(t: f64) -> f64 {
    TAU * (t % SIDEREAL_DAY_S) / SIDEREAL_DAY_S
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constellation::Walker;

    fn system() -> SatelliteSystem {
        let terminal = |name: &str, lat, lon| Terminal { name: name.into(), lat, lon };
        SatelliteSystem {
            constellation: Constellation::walker(&Walker::iridium(), false),
            terminals: vec![terminal("berkeley", 37.9, -122.3), terminal("boston", 42.3, -71.1)],
            epoch: 0.0,
        }
    }

    #[test]
    fn published_places() {
        let system = system();
        let place = system.place(0, 600.0);
        assert!((place.lat - 35.757364).abs() < 1e-5 && (place.altitude - 780.0).abs() < 1e-6);
        assert!((place.lon - (2.596637 - 600.0 * 360.0 / 86164.0)).abs() < 1e-5);
        let place = system.place(66, 1234.0);
        assert!((place.lat - 37.9).abs() < 1e-9 && (place.lon + 122.3).abs() < 1e-9);
    }

    #[test]
    fn published_footprint() {
        assert!((footprint(7158.0, 8.2) - 19.925).abs() < 1e-3);
    }

    #[test]
    fn published_elevations_and_delays() {
        let system = system();
        let elevation = |satellite, terminal| {
            libm::asin(sin_elevation(system.position(satellite, 0.0), system.position(terminal, 0.0)))
                .to_degrees()
        };
        assert!((elevation(26, 66) - 25.110875).abs() < 1e-4);
        assert!((elevation(48, 67) - 24.180321).abs() < 1e-4);
        let above: Vec<_> = (0..66).filter(|s| elevation(*s, 66) > 8.2).collect();
        assert_eq!(above, [26]);
        let path = [66, 26, 37, 48, 67];
        let delay: f64 = path.windows(2).map(|pair| system.delay(pair[0], pair[1], 0.0)).sum();
        assert!((delay - 0.033881832).abs() < 1e-9, "{delay}");
    }
}
