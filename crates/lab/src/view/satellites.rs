//! A satellite network without traffic: positions, links, paths and hand-offs over time.

use crate::error::{ScenarioError, nearest};
use crate::scenario::{Assignment, Satellites, ScenarioText};
use crate::simulation::HandoffOutcome;
use orbit::{Graph, Timeline};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use units::{Span, Time};

/// A satellite system with its timeline up to a time.
pub struct SatelliteView {
    satellites: Satellites,
    line: Timeline,
}

/// The path between two terminals at a time, after the changes of that time.
#[derive(Debug, Serialize)]
pub struct PathSample {
    /// When.
    pub time_s: f64,
    /// Names, both ends included; null if there is no path.
    pub path: Option<Vec<String>>,
    /// Propagation delay of the path, seconds.
    pub delay_s: Option<f64>,
    /// The first satellite.
    pub up: Option<String>,
    /// The last satellite.
    pub down: Option<String>,
    /// Latitude and longitude in degrees and altitude in km of each satellite, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions: Option<BTreeMap<String, [f64; 3]>>,
}

/// The state of a satellite network at a time, for drawings.
#[derive(Debug, Serialize)]
pub struct SatelliteSnapshot {
    /// When.
    pub time_s: f64,
    /// Satellites: name, latitude and longitude (degrees), altitude (km).
    pub satellites: Vec<(String, f64, f64, f64)>,
    /// Terminals: name, latitude, longitude.
    pub terminals: Vec<(String, f64, f64)>,
    /// Links that are up, by the numbers of their ends: satellites first, then terminals.
    pub links: Vec<(usize, usize)>,
    /// The path, by numbers.
    pub path: Vec<usize>,
    /// Its delay.
    pub delay_s: Option<f64>,
    /// Angle at the Earth's centre between a satellite and the edge of its coverage area, degrees.
    pub footprint: f64,
}

impl SatelliteView {
    /// Computes the satellites of a scenario's text up to and including `until`. `seed` (`None`: that of the
    /// scenario) determines the jitter of checks. The result is incomplete if `stop` is set.
    pub fn new(
        text: &ScenarioText<'_>,
        assignments: &[Assignment],
        until: Span,
        seed: Option<u64>,
        stop: &AtomicBool,
    ) -> Result<SatelliteView, ScenarioError> {
        let (satellites, default_seed) = crate::Scenario::parse_satellites(text, assignments, until)?;
        let line = satellites.timeline(Time::ZERO + until, seed.unwrap_or(default_seed), stop);
        Ok(SatelliteView { satellites, line })
    }

    /// The node number of terminal `name`. Fails with a message that names the nearest known name.
    pub fn terminal(&self, name: &str) -> Result<usize, String> {
        let system = &self.satellites.system;
        let result = system.terminals.iter().position(|terminal| terminal.name == name);
        result.map(|terminal| system.constellation.len() + terminal).ok_or_else(|| {
            let names = system.terminals.iter().map(|terminal| terminal.name.as_str());
            format!("there is no terminal \"{name}\"; {}", nearest(name, names))
        })
    }

    /// The path between two nodes at a time; with `positions` also the position of every satellite.
    pub fn path_at(&self, at: Time, ends: Option<(usize, usize)>, positions: bool) -> PathSample {
        let system = &self.satellites.system;
        let result = ends.and_then(|(from, to)| Graph::new(system, &self.line, at, 0).path(from, to));
        let path: Option<Vec<String>> =
            result.as_ref().map(|path| path.nodes.iter().map(|node| system.name(*node).into()).collect());
        let satellite = |place: Option<&String>| place.cloned();
        let places = || {
            let each = (0..system.constellation.len()).map(|s| {
                let place = system.place(s, at.seconds());
                (system.name(s).to_string(), [place.lat, place.lon, place.altitude])
            });
            each.collect()
        };
        PathSample {
            time_s: at.seconds(),
            delay_s: result.map(|path| path.delay),
            up: satellite(path.as_ref().and_then(|path| path.get(1))),
            down: satellite(path.as_ref().and_then(|path| path.get(path.len().wrapping_sub(2)))),
            path,
            positions: positions.then(places),
        }
    }

    /// All hand-offs, that is changes of a terminal's satellite after the first, in the order of time.
    pub fn handoffs(&self) -> Vec<HandoffOutcome> {
        self.satellites.handoffs(&self.line)
    }

    /// The state at a time, for drawings.
    pub fn snapshot(&self, at: Time, ends: Option<(usize, usize)>) -> SatelliteSnapshot {
        let (system, t) = (&self.satellites.system, at.seconds());
        let satellites: Vec<_> = (0..system.constellation.len())
            .map(|s| {
                let place = system.place(s, t);
                (system.name(s).to_string(), place.lat, place.lon, place.altitude)
            })
            .collect();
        let isls = &system.constellation.isls;
        let far = self.line.isls_at(at, isls.len());
        let mut links: Vec<(usize, usize)> =
            isls.iter().zip(far).filter_map(|(isl, far)| far.map(|far| (isl.a, far))).collect();
        for terminal in 0..system.terminals.len() {
            for satellite in self.line.usable(terminal, at) {
                links.push((system.constellation.len() + terminal, satellite));
            }
        }
        let path = ends.and_then(|(from, to)| Graph::new(system, &self.line, at, 0).path(from, to));
        let radius = system.position(0, t).norm();
        let footprint = system.constellation.earth.footprint(radius, self.satellites.rules.mask);
        SatelliteSnapshot {
            time_s: t,
            satellites,
            terminals: system.terminals.iter().map(|t| (t.name.clone(), t.lat, t.lon)).collect(),
            links,
            delay_s: path.as_ref().map(|path| path.delay),
            path: path.map_or(Vec::new(), |path| path.nodes),
            footprint,
        }
    }
}
