//! The routing protocol of a node, with its random numbers and deferred actions.

use super::routing::{Deferred, Routing, RoutingConfig};
use engine::Stream;
use std::collections::BTreeMap;
use units::Time;

/// The routing of one node.
#[derive(Clone)]
pub(super) struct Agent {
    pub protocol: Box<dyn Routing>,
    pub stream: Stream,
    deferred: BTreeMap<(Time, u64), Deferred>,
    order: u64,
}

impl Agent {
    pub fn new(config: &RoutingConfig, stream: Stream) -> Agent {
        Agent { protocol: config.protocol(), stream, deferred: BTreeMap::new(), order: 0 }
    }

    /// Defers an action to `at`. Returns the time of the first one.
    pub fn defer(&mut self, at: Time, what: Deferred) -> Time {
        self.order += 1;
        self.deferred.insert((at, self.order), what);
        self.deferred.first_key_value().map_or(at, |(&(first, _), _)| first)
    }

    /// The next action that is due at `now`, or the time of the next one.
    pub fn due(&mut self, now: Time) -> Result<Deferred, Option<Time>> {
        match self.deferred.first_entry() {
            Some(entry) if entry.key().0 <= now => Ok(entry.remove()),
            Some(entry) => Err(Some(entry.key().0)),
            None => Err(None),
        }
    }
}

/// The nodes of a loop among the routes to `to`, if there is one that begins at `node`. For observers.
pub(super) fn route_loop(agents: &[Agent], node: u32, to: u32, now: Time) -> Option<Vec<u32>> {
    let mut path = vec![node];
    while let Some(next) = agents[path[path.len() - 1] as usize].protocol.next_hop(to, now) {
        if next == to {
            return None;
        }
        if let Some(place) = path.iter().position(|n| *n == next) {
            return Some(path.split_off(place));
        }
        path.push(next);
    }
    None
}
