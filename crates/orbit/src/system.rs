//! Satellites and terminals with their positions and the links that the geometry permits.

use crate::constellation::Constellation;
use crate::earth::{Horizon, Place};
use crate::vector::Vector;

/// A terminal on the ground.
#[derive(Clone, Debug, PartialEq)]
pub struct Terminal {
    /// Its name.
    pub name: String,
    /// Degrees north; geodetic on the ellipsoid.
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
        match node.checked_sub(self.constellation.len()) {
            Some(terminal) => self.horizon(terminal, t).position,
            None => self.constellation.position(node, self.epoch + t),
        }
    }

    /// The horizon of a terminal `t` seconds after the start, in the inertial frame.
    pub(crate) fn horizon(&self, terminal: usize, t: f64) -> Horizon {
        let (Terminal { lat, lon, .. }, earth) = (&self.terminals[terminal], self.constellation.earth);
        earth.horizon(*lat, lon.to_radians() + earth.turn(self.epoch + t))
    }

    /// Position of a node relative to the rotating Earth, `t` seconds after the start.
    pub fn place(&self, node: usize, t: f64) -> Place {
        let earth = self.constellation.earth;
        let position = self.position(node, t).turned(-earth.turn(self.epoch + t));
        let (lat, altitude) = earth.latitude_and_altitude(position);
        Place { lat, lon: libm::atan2(position.y, position.x).to_degrees(), altitude }
    }

    /// Propagation delay between two nodes, s.
    pub fn delay(&self, a: usize, b: usize, t: f64) -> f64 {
        self.position(a, t).distance(self.position(b, t)) / self.constellation.earth.light()
    }

    /// Whether a link between two satellites is possible: both are within `limit` degrees of the equator, and the
    /// line is free.
    pub(crate) fn interplane(&self, a: usize, b: usize, limit: f64, t: f64) -> bool {
        let (a, b, earth) = (self.position(a, t), self.position(b, t), self.constellation.earth);
        earth.within_latitude(a, limit) && earth.within_latitude(b, limit) && earth.clear(a, b)
    }
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
    fn published_elevations_and_delays() {
        let system = system();
        let elevation = |satellite: usize, terminal: usize| {
            let horizon = system.horizon(terminal - 66, 0.0);
            libm::asin(horizon.sin_elevation(system.position(satellite, 0.0))).to_degrees()
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
