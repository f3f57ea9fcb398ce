//! Walker constellations from their parameters, and the grid of links between their satellites.

use crate::earth::EarthModel;
use crate::motion::{Circular, Motion};
use crate::vector::Vector;

/// The parameters of a Walker constellation.
#[derive(Clone, Debug, PartialEq)]
pub struct Walker {
    /// The Earth below.
    pub earth: EarthModel,
    /// Altitude above the equator, km.
    pub altitude: f64,
    /// Inclination, degrees.
    pub inclination: f64,
    /// Number of orbital planes.
    pub planes: usize,
    /// Number of satellites in each plane.
    pub per_plane: usize,
    /// Angle between the ascending nodes of neighbouring planes, degrees.
    pub plane_spacing: f64,
    /// Phase offset of the satellites of a plane relative to the previous plane, as a part of the angle between
    /// satellites of a plane (Walker's F over the number of planes).
    pub phasing: f64,
    /// Only every second plane has the offset, as in Iridium with a `phasing` of 0.5; otherwise each plane has it
    /// relative to the previous one.
    pub alternate: bool,
    /// Angles within a plane are rounded to hundredths of a degree, as in ns-2's script.
    pub rounded: bool,
    /// Whether the ascending node of each plane drifts (J2).
    pub j2: bool,
}

impl Walker {
    /// Iridium as in ns-2.35's example script.
    pub const fn iridium() -> Walker {
        Walker {
            earth: EarthModel::Ns2,
            altitude: 780.0,
            inclination: 86.4,
            planes: 6,
            per_plane: 11,
            plane_spacing: 31.6,
            phasing: 0.5,
            alternate: true,
            rounded: true,
            j2: false,
        }
    }

    fn motion(&self, plane: usize, k: usize) -> Motion {
        let slot = 360.0 / self.per_plane as f64;
        let ahead = if self.alternate { plane % 2 } else { plane } as f64 * self.phasing;
        let angle = slot * (k as f64 + ahead);
        let phase = if self.rounded { libm::round(angle * 100.0) / 100.0 } else { angle };
        let node = self.plane_spacing * plane as f64;
        Motion::Circular(Circular::new(self.earth, self.altitude, self.inclination, node, phase, self.j2))
    }

    /// Whether the last plane is a neighbour of the first and moves in the same direction: the planes cover the whole
    /// circle.
    fn closed(&self) -> bool {
        (self.plane_spacing * self.planes as f64 - 360.0).abs() < 1e-6
    }

    /// By how many places the satellites of the first plane are behind those of the last one beside them.
    fn shift(&self) -> usize {
        if self.alternate {
            return 0;
        }
        libm::round(self.phasing * self.planes as f64) as usize % self.per_plane
    }
}

/// The kind of a link between satellites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IslKind {
    /// Within a plane: always up.
    Intraplane,
    /// Between neighbouring planes: down near the poles and if the Earth blocks it.
    Interplane,
    /// Across the seam between planes that move in opposite directions: its far end changes.
    CrossSeam,
}

/// A link between two satellites, by their numbers. A cross-seam link begins at the satellite of the first plane;
/// [`crate::Timeline`] has its far end over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isl {
    /// One end.
    pub a: usize,
    /// The other; of a cross-seam link the one at the start.
    pub b: usize,
    /// Its kind.
    pub kind: IslKind,
}

/// Satellites and the possible links between them.
#[derive(Clone, Debug)]
pub struct Constellation {
    /// The Earth below.
    pub earth: EarthModel,
    motions: Vec<Motion>,
    /// Name of each satellite.
    names: Vec<String>,
    per_plane: usize,
    /// The links, in a fixed order: within planes, between planes, across the seam.
    pub isls: Vec<Isl>,
}

impl Constellation {
    /// Satellites `p0k0`, `p0k1`, ... of a Walker constellation with the grid of links between them.
    pub fn walker(walker: &Walker, cross_seam: bool) -> Constellation {
        let (planes, per_plane) = (walker.planes, walker.per_plane);
        let motions = (0..planes * per_plane).map(|i| walker.motion(i / per_plane, i % per_plane)).collect();
        let closed = walker.closed().then(|| walker.shift());
        Constellation::grid(walker.earth, motions, per_plane, closed, cross_seam)
    }

    /// Satellites in planes of `per_plane`, plane by plane. If the last plane is a neighbour of the first, `closed`
    /// is the number of places by which a link from the last to the first plane goes back.
    pub fn grid(
        earth: EarthModel,
        motions: Vec<Motion>,
        per_plane: usize,
        closed: Option<usize>,
        cross_seam: bool,
    ) -> Constellation {
        let planes = motions.len() / per_plane;
        let number = |plane: usize, k: usize| plane * per_plane + k % per_plane;
        let each = |plane: usize| (0..per_plane).map(move |k| (plane, k));
        let mut isls = Vec::new();
        // Two satellites in a plane have one link, one has none.
        let rings = if per_plane > 2 { per_plane } else { per_plane - 1 };
        for (plane, k) in (0..planes).flat_map(each).filter(|(_, k)| *k < rings) {
            isls.push(Isl { a: number(plane, k), b: number(plane, k + 1), kind: IslKind::Intraplane });
        }
        for (plane, k) in (0..planes.saturating_sub(1)).flat_map(each) {
            isls.push(Isl { a: number(plane, k), b: number(plane + 1, k), kind: IslKind::Interplane });
        }
        if let Some(shift) = closed.filter(|_| planes > 2) {
            for k in 0..per_plane {
                isls.push(Isl {
                    a: number(planes - 1, k),
                    b: number(0, k + shift),
                    kind: IslKind::Interplane,
                });
            }
        } else if cross_seam && planes > 1 {
            // The links across the seam at time 0, where a satellite that moves north meets one that moves south.
            for k in 0..per_plane {
                let across = number(planes - 1, per_plane / 2 + per_plane - k);
                isls.push(Isl { a: number(0, k), b: across, kind: IslKind::CrossSeam });
            }
        }
        let names = (0..motions.len()).map(|i| format!("p{}k{}", i / per_plane, i % per_plane)).collect();
        Constellation { earth, motions, names, per_plane, isls }
    }

    /// Number of satellites.
    pub fn len(&self) -> usize {
        self.motions.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.motions.is_empty()
    }
    /// The name of a satellite: plane and place.
    pub fn name(&self, satellite: usize) -> &str {
        &self.names[satellite]
    }
    /// Position of a satellite `t` seconds after the epoch, km.
    pub fn position(&self, satellite: usize, t: f64) -> Vector {
        self.motions[satellite].at(t)
    }
    /// The satellite that follows behind in the same plane.
    pub fn behind(&self, satellite: usize) -> usize {
        let plane = satellite / self.per_plane;
        plane * self.per_plane + (satellite % self.per_plane + self.per_plane - 1) % self.per_plane
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iridium_has_its_links() {
        let system = Constellation::walker(&Walker::iridium(), true);
        assert_eq!((system.len(), system.isls.len()), (66, 66 + 55 + 11));
        assert_eq!(system.name(37), "p3k4");
        assert_eq!((system.behind(26), system.behind(22)), (25, 32));
        let of = |kind| system.isls.iter().filter(move |isl| isl.kind == kind);
        let ring =
            of(IslKind::Intraplane).map(|l| system.position(l.a, 0.0).distance(system.position(l.b, 0.0)));
        assert!(ring.clone().all(|d| (d - 4033.28).abs() < 2.0));
        assert!((4033.28 / EarthModel::Ns2.light() - 0.0134536).abs() < 1e-7);
        let across: Vec<_> = of(IslKind::CrossSeam).map(|l| (l.a, l.b)).collect();
        assert_eq!((across[0], across[10]), ((0, 60), (10, 61)));
    }

    #[test]
    fn a_walker_delta_closes_with_its_phasing() {
        // Two planes a third of a place apart: after three planes the shift is one whole place.
        let walker = Walker {
            earth: EarthModel::Wgs84,
            altitude: 550.0,
            inclination: 53.0,
            planes: 3,
            per_plane: 4,
            plane_spacing: 120.0,
            phasing: 1.0 / 3.0,
            alternate: false,
            rounded: false,
            j2: false,
        };
        let system = Constellation::walker(&walker, false);
        assert_eq!(system.isls.len(), 12 + 8 + 4);
        let closing = system.isls[20];
        assert_eq!((closing.a, closing.b, closing.kind), (8, 1, IslKind::Interplane));
    }
}
