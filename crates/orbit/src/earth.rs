//! The Earth: its figure, its rotation, and the constants that go with them.

use crate::ATMOSPHERE_KM;
use crate::vector::Vector;
use std::f64::consts::TAU;

/// Which figure and which constants a satellite system uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarthModel {
    /// ns-2.35: a sphere. Latitudes are angles at its centre.
    Ns2,
    /// WGS 84: an ellipsoid of revolution. Latitudes are geodetic: the angle between the equatorial plane and the
    /// normal of the ellipsoid, as maps and GNSS receivers give it. Elevations are above the plane perpendicular to
    /// that normal.
    Wgs84,
}

/// Radius of ns-2's sphere, km.
const SPHERE_KM: f64 = 6378.0;
/// Semi-major axis of WGS 84, km.
const SEMI_MAJOR_KM: f64 = 6378.137;
/// Flattening of WGS 84: (a - b) / a.
const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// Semi-minor axis of WGS 84, km.
const SEMI_MINOR_KM: f64 = SEMI_MAJOR_KM * (1.0 - FLATTENING);
/// First eccentricity of WGS 84, squared.
const ECCENTRICITY_2: f64 = FLATTENING * (2.0 - FLATTENING);

/// A position relative to the rotating Earth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Degrees north; geodetic on the ellipsoid.
    pub lat: f64,
    /// Degrees east, -180 to 180.
    pub lon: f64,
    /// Above the sphere or the ellipsoid, km.
    pub altitude: f64,
}

/// A point of the surface with the direction of its zenith.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Horizon {
    /// The point.
    pub position: Vector,
    /// Normal of the surface, of any length.
    normal: Vector,
}

impl Horizon {
    /// The sine of the elevation of a satellite above this horizon.
    pub fn sin_elevation(&self, satellite: Vector) -> f64 {
        let ray = satellite - self.position;
        ray.dot(self.normal) / (ray.norm() * self.normal.norm())
    }
}

impl EarthModel {
    /// Radius of the equator, km. Altitudes of orbits are measured from it.
    pub const fn equatorial_radius(self) -> f64 {
        match self {
            EarthModel::Ns2 => SPHERE_KM,
            EarthModel::Wgs84 => SEMI_MAJOR_KM,
        }
    }

    /// Distance of the poles from the centre, km.
    pub const fn polar_radius(self) -> f64 {
        match self {
            EarthModel::Ns2 => SPHERE_KM,
            EarthModel::Wgs84 => SEMI_MINOR_KM,
        }
    }

    /// Gravitational parameter, km^3/s^2.
    pub const fn mu(self) -> f64 {
        match self {
            EarthModel::Ns2 => 398_601.2,
            EarthModel::Wgs84 => 398_600.441_8,
        }
    }

    /// Speed of light, km/s.
    pub const fn light(self) -> f64 {
        match self {
            EarthModel::Ns2 => 299_793.0,
            EarthModel::Wgs84 => 299_792.458,
        }
    }

    /// Angle by which the Earth has rotated at a time, rad.
    pub(crate) fn turn(self, t: f64) -> f64 {
        let day = match self {
            EarthModel::Ns2 => 86_164.0,
            // 2 pi over the angular velocity of WGS 84.
            EarthModel::Wgs84 => TAU / 7.292_115e-5,
        };
        TAU * (t % day) / day
    }

    /// The point of the surface at a latitude in degrees and an angle from the x axis in rad, with its zenith.
    pub(crate) fn horizon(self, lat: f64, angle: f64) -> Horizon {
        let (sin_lat, cos_lat) = libm::sincos(lat.to_radians());
        let (sin, cos) = libm::sincos(angle);
        let zenith = Vector::new(cos_lat * cos, cos_lat * sin, sin_lat);
        match self {
            EarthModel::Ns2 => Horizon { position: zenith * SPHERE_KM, normal: zenith * SPHERE_KM },
            EarthModel::Wgs84 => {
                // The radius of curvature in the prime vertical.
                let curvature = SEMI_MAJOR_KM / (1.0 - ECCENTRICITY_2 * sin_lat * sin_lat).sqrt();
                let mut position = zenith * curvature;
                position.z *= 1.0 - ECCENTRICITY_2;
                Horizon { position, normal: zenith }
            }
        }
    }

    /// Latitude (degrees) and altitude (km) of a position.
    pub(crate) fn latitude_and_altitude(self, position: Vector) -> (f64, f64) {
        if self == EarthModel::Ns2 {
            let radius = position.norm();
            return (libm::asin(position.z / radius).to_degrees(), radius - SPHERE_KM);
        }
        // B. R. Bowring, "Transformation from spatial to geographical coordinates", Survey Review 23(181), 1976, with a
        // second step, which leaves less than a nanodegree at all altitudes.
        let axis = (position.x * position.x + position.y * position.y).sqrt();
        let second = ECCENTRICITY_2 / (1.0 - ECCENTRICITY_2);
        let mut parametric = libm::atan2(position.z * SEMI_MAJOR_KM, axis * SEMI_MINOR_KM);
        let mut lat = 0.0;
        for _ in 0..2 {
            let (sin, cos) = libm::sincos(parametric);
            lat = libm::atan2(
                position.z + second * SEMI_MINOR_KM * sin * sin * sin,
                axis - ECCENTRICITY_2 * SEMI_MAJOR_KM * cos * cos * cos,
            );
            let (sin, cos) = libm::sincos(lat);
            parametric = libm::atan2((1.0 - FLATTENING) * sin, cos);
        }
        let (sin, cos) = libm::sincos(lat);
        let surface = SEMI_MAJOR_KM * (1.0 - ECCENTRICITY_2 * sin * sin).sqrt();
        (lat.to_degrees(), axis * cos + position.z * sin - surface)
    }

    /// Whether a position is at most `limit` degrees north or south.
    pub(crate) fn within_latitude(self, position: Vector, limit: f64) -> bool {
        match self {
            // Without the arc sine.
            EarthModel::Ns2 => position.z.abs() <= libm::sin(limit.to_radians()) * position.norm(),
            EarthModel::Wgs84 => limit >= 90.0 || self.latitude_and_altitude(position).0.abs() <= limit,
        }
    }

    /// Whether the line between two satellites is free of the Earth and its atmosphere.
    pub(crate) fn clear(self, mut a: Vector, mut b: Vector) -> bool {
        // The z axis is scaled so that the upper edge of the atmosphere becomes a sphere.
        let edge = self.equatorial_radius() + ATMOSPHERE_KM;
        if self == EarthModel::Wgs84 {
            let scale = edge / (SEMI_MINOR_KM + ATMOSPHERE_KM);
            a.z *= scale;
            b.z *= scale;
        }
        // The point of the line nearest to the Earth's centre, if it lies between the two.
        let along = b - a;
        let length = along.dot(along);
        let part = if length > 0.0 { (-(a.dot(along)) / length).clamp(0.0, 1.0) } else { 0.0 };
        (a + along * part).norm() >= edge
    }

    /// Angle at the Earth's centre between a satellite at this radius (km) and a point that sees it at an elevation of
    /// `mask` degrees, degrees. For drawings: the ellipsoid is replaced by a sphere of its mean radius.
    pub fn footprint(self, radius: f64, mask: f64) -> f64 {
        let mask = mask.to_radians();
        let mean = (2.0 * self.equatorial_radius() + self.polar_radius()) / 3.0;
        (libm::acos(mean / radius * libm::cos(mask)) - mask).to_degrees()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EARTH: EarthModel = EarthModel::Wgs84;

    #[test]
    fn wgs84_has_its_derived_constants() {
        // NIMA TR8350.2, table 3.3.
        assert!((SEMI_MINOR_KM - 6356.7523142).abs() < 1e-7);
        assert!((ECCENTRICITY_2 - 6.69437999014e-3).abs() < 1e-14);
        assert!((TAU / 7.292115e-5 - 86_164.1).abs() < 1e-3);
    }

    #[test]
    fn wgs84_positions() {
        for (lat, lon, [x, y, z]) in [
            (0.0, 0.0, [6378.137, 0.0, 0.0]),
            (90.0, 0.0, [0.0, 0.0, 6356.752314]),
            (45.0, 45.0, [3194.419145, 3194.419145, 4487.348409]),
            (-45.0, 180.0, [-4517.590879, 0.0, -4487.348409]),
        ] {
            let position = EARTH.horizon(lat, f64::to_radians(lon)).position;
            assert!(position.distance(Vector::new(x, y, z)) < 2e-6, "{lat} {position:?}");
        }
    }

    #[test]
    fn wgs84_latitudes_and_altitudes() {
        // u-blox, "Datum transformations of GPS positions", 1999, section 3: an example.
        let (lat, altitude) =
            EARTH.latitude_and_altitude(Vector::new(-2430.601828, -4702.442703, 3546.587358));
        assert!((lat - 34.00000048).abs() < 1e-8 && (altitude - 0.251702).abs() < 1e-6, "{lat} {altitude}");
        for altitude in [0.0, 0.4, 550.0, 1200.0, 35_786.0] {
            for lat in [-90.0, -53.0, -1e-3, 0.0, 12.0, 45.0, 57.0, 89.9, 90.0] {
                let horizon = EARTH.horizon(lat, 1.0);
                let (back, above) = EARTH.latitude_and_altitude(horizon.position + horizon.normal * altitude);
                assert!((back - lat).abs() < 1e-9, "{lat} {altitude} {back}");
                assert!((above - altitude).abs() < 1e-6, "{lat} {altitude} {above}");
            }
        }
    }

    #[test]
    fn elevations_are_above_the_plane_of_the_normal() {
        let horizon = EARTH.horizon(45.0, 0.0);
        let zenith = horizon.position + horizon.normal * 550.0;
        assert!((horizon.sin_elevation(zenith) - 1.0).abs() < 1e-12);
        // Along the radius from the centre, 0.1924 degrees from the zenith: geodetic minus geocentric latitude.
        let outwards = horizon.position * (1.0 + 550.0 / horizon.position.norm());
        let tilt = libm::acos(horizon.sin_elevation(outwards)).to_degrees();
        assert!((tilt - 0.19242).abs() < 1e-4, "{tilt}");
    }

    #[test]
    fn rays_stay_above_the_atmosphere() {
        let at = |angle: f64| Vector::new(7158.0, 0.0, 0.0).turned(angle.to_radians());
        // sqrt(7158^2 - (d/2)^2) = 6528: an angle of 48.44 degrees between the two.
        assert!(EarthModel::Ns2.clear(at(0.0), at(48.4)));
        assert!(!EarthModel::Ns2.clear(at(0.0), at(48.5)));
        // Over the pole the ellipsoid is 21 km lower: two satellites at 80 degrees see each other above 6506.75 km.
        let polar = |side: f64, height: f64| Vector::new(side * 1000.0, 0.0, height);
        assert!(EARTH.clear(polar(-1.0, 6507.0), polar(1.0, 6507.0)));
        assert!(!EARTH.clear(polar(-1.0, 6506.5), polar(1.0, 6506.5)));
        assert!(!EarthModel::Ns2.clear(polar(-1.0, 6507.0), polar(1.0, 6507.0)));
    }

    #[test]
    fn the_footprint_of_iridium() {
        assert!((EarthModel::Ns2.footprint(7158.0, 8.2) - 19.925).abs() < 1e-3);
    }
}
