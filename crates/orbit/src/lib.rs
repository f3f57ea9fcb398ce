//! The geometry of satellite constellations: positions, visibility, links between satellites, hand-offs, shortest
//! paths.
//!
//! This crate does not depend on packets. Lengths are in kilometres and times in seconds, in `f64`. The trigonometric
//! functions are those of the pinned `libm`, so a constellation gives the same result bits on every machine. Sources:
//! docs/specs/iridium.md, which has the equations of ns-2.35, and NIMA TR8350.2 for WGS 84.
#![forbid(unsafe_code)]

mod constellation;
mod earth;
mod motion;
mod paths;
mod system;
mod timeline;
mod vector;

pub use constellation::{Constellation, Isl, IslKind, Walker};
pub use earth::{EarthModel, Place};
pub use motion::{Circular, Ephemeris, Motion};
pub use paths::{Graph, Path, PathStep};
pub use system::{SatelliteSystem, Terminal};
pub use timeline::{Attachment, Handoff, Held, IslChange, Rules, SelectionRule, Timeline};
pub use vector::Vector;

/// Smallest height of a link between satellites above the ground, km.
pub const ATMOSPHERE_KM: f64 = 150.0;
