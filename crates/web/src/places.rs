//! Positions of satellites and radio nodes over time.

use crate::session::Session;
use lab::{RadioLog, SatelliteView};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use units::{Span, Time};

/// Positions of each radio node between the start and the end of a run.
const RADIO_STEPS: usize = 200;
/// Most transmissions that are listed.
const MOST_FRAMES: usize = 20_000;

impl Session {
    /// Computes the satellites of a scenario.
    pub fn satellites(&mut self) -> i32 {
        let Some(request) = self.request() else { return 1 };
        let scenario = match self.scenario(&request) {
            Err(error) => return self.refuse(&error),
            Ok((scenario, _)) => scenario,
        };
        let until = request["until_s"].as_f64().map_or(scenario.duration, Span::from_seconds);
        let assignments = Self::assignments(&request);
        let stop = AtomicBool::new(false);
        let seed = request["seed"].as_u64();
        match SatelliteView::new(&self.text(&request, &assignments), &[], until, seed, &stop) {
            Err(error) => self.refuse(&error),
            Ok(view) => {
                let named = |key: &str| request[key].as_str();
                let ends = named("from").zip(named("to"));
                let ends = ends.map(|(from, to)| Ok((view.terminal(from)?, view.terminal(to)?)));
                let ends = match ends.transpose() {
                    Ok(ends) => ends,
                    Err::<_, String>(message) => {
                        self.fail::<()>(&message);
                        return 1;
                    }
                };
                self.reply(&json!({"handoffs": serde_json::to_value(view.handoffs()).unwrap_or_default()}));
                self.view = Some((view, ends));
                0
            }
        }
    }

    /// The state of the satellites at a time: names, links and path as the answer; latitude, longitude (degrees) and
    /// altitude (km) of each satellite, then of each terminal, as numbers.
    pub fn places(&mut self, seconds: f64) {
        let Some((view, ends)) = &self.view else {
            self.fail::<()>("no satellites are computed");
            return;
        };
        let snapshot = view.snapshot(Time::ZERO + Span::from_seconds(seconds.max(0.0)), *ends);
        let satellites = snapshot
            .satellites
            .iter()
            .flat_map(|(_, latitude, longitude, altitude)| [*latitude, *longitude, *altitude]);
        let terminals =
            snapshot.terminals.iter().flat_map(|(_, latitude, longitude)| [*latitude, *longitude, 0.0]);
        let numbers = satellites.chain(terminals).collect();
        let names = |list: Vec<&String>| json!(list);
        let answer = json!({
            "satellites": names(snapshot.satellites.iter().map(|s| &s.0).collect()),
            "terminals": names(snapshot.terminals.iter().map(|t| &t.0).collect()),
            "links": snapshot.links, "path": snapshot.path, "delay_s": snapshot.delay_s,
            "footprint_deg": snapshot.footprint,
        });
        self.reply(&answer);
        self.data = numbers;
    }

    /// The radio nodes of a scenario: area, range and times as the answer; x and y of each node, time by time, as numbers.
    pub fn radio(&mut self) -> i32 {
        let Some(request) = self.request() else { return 1 };
        let scenario = match self.scenario(&request) {
            Err(error) => return self.refuse(&error),
            Ok((scenario, _)) => scenario,
        };
        let Some(radio) = &scenario.radio else {
            self.fail::<()>("the scenario has no radio nodes");
            return 1;
        };
        let seed = request["seed"].as_u64().unwrap_or(scenario.seed);
        let paths = radio.trajectories(seed, Time::ZERO + scenario.duration);
        let step = scenario.duration.seconds() / RADIO_STEPS as f64;
        let times: Vec<f64> = (0..=RADIO_STEPS).map(|i| i as f64 * step).collect();
        let at = |time: &f64| Time::ZERO + Span::from_seconds(*time);
        self.data =
            times.iter().flat_map(|time| paths.iter().flat_map(move |path| path.at(at(time)))).collect();
        let answer =
            json!({"nodes": paths.len(), "area_m": radio.area, "range_m": radio.range(), "times_s": times});
        self.reply(&answer);
        0
    }

    /// The transmissions of the run that are under way at some time from `from` to `to`, s, and the routes. Numbers: of each
    /// transmission start, node, receiver, step ([`RadioLog::STEPS`]), flow and duration; then of each route that holds at
    /// `from` or begins until `to` the time, node, destination and next hop. -1 stands for none.
    pub fn transmissions(&mut self, from: f64, to: f64) {
        /// Longer than any frame.
        const LONGEST_S: f64 = 0.1;
        let Some(run) = self.run() else { return };
        let log = &run.logs().radio;
        let some = |number: u32| if number == RadioLog::NOBODY { -1.0 } else { number as f64 };
        let first = log.time.partition_point(|time| time.seconds() < from - LONGEST_S);
        let (mut data, mut rows, mut left_out) = (Vec::new(), 0, 0);
        for row in first..log.time.len() {
            let at = log.time[row].seconds();
            if at > to {
                break;
            }
            if log.airtime_s[row] == 0.0 || at + log.airtime_s[row] < from {
                continue;
            }
            if rows == MOST_FRAMES {
                left_out += 1;
                continue;
            }
            rows += 1;
            let (node, step) = (log.node[row] as f64, log.step[row] as f64);
            data.extend([at, node, some(log.to[row]), step, some(log.flow[row]), log.airtime_s[row]]);
        }
        let mut holds = BTreeMap::new();
        let (mut later, mut routes) = (Vec::new(), 0);
        for route in log.routes.iter().take_while(|route| route.time.seconds() <= to) {
            if route.time.seconds() > from {
                later.push(*route);
            } else {
                holds.insert((route.node, route.to), *route);
            }
        }
        for route in holds.into_values().chain(later) {
            routes += 1;
            let next = route.next.map_or(-1.0, |next| next as f64);
            data.extend([route.time.seconds(), route.node as f64, route.to as f64, next]);
        }
        self.reply(&json!({"rows": rows, "left_out": left_out, "routes": routes, "steps": RadioLog::STEPS}));
        self.data = data;
    }
}
