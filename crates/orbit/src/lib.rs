//! The geometry of satellite constellations: positions, visibility, links between satellites, hand-offs, shortest
//! paths.
//!
//! This crate does not depend on packets. Lengths are in kilometres and times in seconds, in `f64`. The trigonometric
//! functions are those of the pinned `libm`, so a constellation gives the same result bits on every machine. Source:
//! docs/specs/iridium.md, which has the equations of ns-2.35.
#![forbid(unsafe_code)]

mod constellation;
mod motion;
mod paths;
mod system;
mod timeline;
mod vector;

pub use constellation::{Constellation, Isl, IslKind, Walker};
pub use motion::{Circular, Ephemeris, Motion};
pub use paths::{Graph, Path, Step};
pub use system::{Place, SatelliteSystem, Terminal, footprint};
pub use timeline::{Attachment, Handoff, Held, IslChange, Rule, Rules, Timeline};
pub use vector::Vector;

/// Radius of the Earth, km (a sphere, as in ns-2).
pub const EARTH_KM: f64 = 6378.0;
/// Gravitational parameter of the Earth, km^3/s^2 (ns-2's).
pub const MU: f64 = 398_601.2;
/// Duration of one rotation of the Earth, s.
pub const SIDEREAL_DAY_S: f64 = 86_164.0;
/// Speed of light, km/s (ns-2's).
pub const LIGHT_KM_S: f64 = 299_793.0;
/// Smallest height of a link between satellites above the ground, km.
pub const ATMOSPHERE_KM: f64 = 150.0;
