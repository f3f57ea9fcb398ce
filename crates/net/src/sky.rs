//! Links that move: between satellites, and between satellites and terminals.
//!
//! A packet is routed anew at every node, by tables that are recomputed when links change. Which satellite a terminal uses
//! at any time is known ahead ([`orbit::Timeline`]), so a packet's fate is known when it is enqueued and a hop stays one
//! event. What a hand-off does to packets follows specs/iridium.md section 5.

use crate::link::Link;
use orbit::{Graph, Held, Sky, Timeline};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{PS_PER_S, Span, Time};

/// What becomes of packets that wait or fly at a hand-off of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HandoffLoss {
    /// ns-2's: what waits at the terminal goes out with the old satellite's address and is discarded by the new one, what
    /// waits at the old satellite is sent to nobody; what flies arrives.
    #[default]
    Ns2,
    /// What waits at the terminal goes to the new satellite (once there is one), what waits at the old one still reaches the
    /// terminal.
    Lossless,
    /// As ns-2's, and what flies between terminal and old satellite is lost too.
    InFlight,
}

/// What a link joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Two nodes on the ground.
    Wire,
    /// Two satellites.
    Isl,
    /// A terminal, and the satellite that it uses.
    Up {
        /// Number of the terminal.
        terminal: usize,
    },
    /// A satellite, and the terminals that use it.
    Down {
        /// Number of the satellite.
        satellite: usize,
    },
}

/// Everything that a network over a sky needs to know.
pub struct SkyNetwork {
    /// Satellites and terminals.
    pub sky: Arc<Sky>,
    /// Who is linked with whom, when.
    pub line: Timeline,
    /// Bytes added to every packet on links to and between satellites.
    pub header: u32,
    /// What a hand-off does.
    pub loss: HandoffLoss,
    /// For how long nothing is sent to or from a terminal after a hand-off.
    pub pause: Span,
    /// The wires, which have the first numbers among the links: where they begin and end, and their delay, s. The sky's
    /// links follow in the order of [`Graph::new`].
    pub wires: Vec<(usize, usize, f64)>,
    /// All nodes.
    pub nodes: usize,
}

impl SkyNetwork {
    /// All links that are up at a moment.
    pub fn graph(&self, at: Time) -> Graph {
        let mut graph = Graph::new(&self.sky, &self.line, at, self.wires.len() as u32);
        for _ in self.sky.nodes()..self.nodes {
            graph.add_node();
        }
        for (link, &(from, to, delay)) in self.wires.iter().enumerate() {
            graph.add(from, to, delay, link as u32);
        }
        graph
    }

    /// What a link joins.
    pub fn ends(&self, link: u32) -> Ends {
        let wires = self.wires.len();
        let Some(number) = (link as usize).checked_sub(wires) else { return Ends::Wire };
        let isls = 2 * self.sky.constellation.isls.len();
        match number.checked_sub(isls) {
            None => Ends::Isl,
            Some(satellite) if satellite < self.sky.constellation.len() => Ends::Down { satellite },
            Some(node) => Ends::Up { terminal: node - self.sky.constellation.len() },
        }
    }
}

/// A way out of a node: over a link to another node.
pub(super) struct Port {
    pub link: u32,
    pub head: u32,
    /// Its places in the table of routes begin here: two for each destination.
    pub place: u32,
    ends: Ends,
    moving: Option<Moving>,
}

/// The delay between two nodes, straight lines between knots.
struct Moving {
    tail: usize,
    head: usize,
    knot: u64,
    /// Delay at the knot and its change until the next, ps.
    delay: f64,
    change: f64,
}

/// Between knots the error of a straight line is below 10 ns.
const KNOT_PS: u64 = PS_PER_S / 4;

impl Moving {
    #[inline]
    fn delay(&mut self, sky: &Sky, at: Time) -> Span {
        let knot = at.ps() / KNOT_PS;
        if knot != self.knot {
            self.tie(sky, knot);
        }
        let part = (at.ps() - knot * KNOT_PS) as f64 / KNOT_PS as f64;
        Span::from_ps((self.delay + self.change * part) as u64)
    }

    #[cold]
    fn tie(&mut self, sky: &Sky, knot: u64) {
        let at = |knot: u64| {
            let seconds = knot as f64 * (KNOT_PS as f64 / PS_PER_S as f64);
            sky.delay(self.tail, self.head, seconds) * PS_PER_S as f64
        };
        self.delay = at(knot);
        self.change = at(knot + 1) - self.delay;
        self.knot = knot;
    }
}

/// Routing tables over moving links.
pub(super) struct Tables {
    net: SkyNetwork,
    /// The node of each destination.
    targets: Vec<u32>,
    /// For each destination and node the port to take; `NOWHERE` if there is no way.
    next: Vec<u32>,
    pub ports: Vec<Port>,
    known: BTreeMap<(u32, u32, u32), u32>,
    /// Of each node the link at which packets without a way end.
    ending: Vec<u32>,
    /// Of each terminal what was last looked up.
    held: Vec<Held>,
    /// Of each source: number of the destination, node.
    pub sources: Vec<(u32, u32)>,
}

pub(super) const NOWHERE: u32 = u32::MAX;

/// What happens to a packet on its link.
pub(super) enum Fate {
    /// It arrives at the head of this port.
    Arrives(u32),
    /// A hand-off takes it.
    Lost,
}

impl Tables {
    pub fn new(net: SkyNetwork) -> Tables {
        let mut ending = vec![NOWHERE; net.nodes];
        let transmitters = net.wires.len() + 2 * net.sky.constellation.isls.len();
        for (node, link) in ending.iter_mut().zip(transmitters..).take(net.sky.nodes()) {
            *node = link as u32;
        }
        for (link, &(from, _, _)) in
            net.wires.iter().enumerate().filter(|(_, wire)| wire.0 >= net.sky.nodes())
        {
            ending[from] = link as u32;
        }
        let never = Held { from: Time::NEVER, until: Time::ZERO, satellite: None };
        Tables {
            held: vec![never; net.sky.terminals.len()],
            net,
            targets: Vec::new(),
            next: Vec::new(),
            ports: Vec::new(),
            known: BTreeMap::new(),
            ending,
            sources: Vec::new(),
        }
    }

    /// Names a source and its destination; what to put into [`crate::Packet::route`]. All of them before the first reroute.
    pub fn add(&mut self, from: usize, to: usize) -> u32 {
        let to = to as u32;
        let row = self.targets.iter().position(|t| *t == to).unwrap_or_else(|| {
            self.targets.push(to);
            self.targets.len() - 1
        });
        self.sources.push((row as u32, from as u32));
        self.sources.len() as u32 - 1
    }

    /// Of a packet at the end of the link at this place of the table of routes: the number of its destination, and the node.
    pub fn arrival(&self, route: u32) -> (u32, u32) {
        let (place, rows) = ((route - self.sources.len() as u32) / 2, self.rows());
        (place % rows, self.ports[(place / rows) as usize].head)
    }

    /// Number of destinations.
    pub fn rows(&self) -> u32 {
        self.targets.len() as u32
    }

    /// Whether destination `row` is `node`.
    #[inline]
    pub fn is_target(&self, row: u32, node: u32) -> bool {
        self.targets[row as usize] == node
    }

    /// The port from `node` towards destination `row`, or the link where packets without a way end.
    #[inline]
    pub fn port(&self, row: u32, node: u32) -> Result<u32, u32> {
        match self.next[row as usize * self.net.nodes + node as usize] {
            NOWHERE => Err(self.ending[node as usize]),
            port => Ok(port),
        }
    }

    pub fn header(&self, port: u32) -> u32 {
        if self.ports[port as usize].ends == Ends::Wire { 0 } else { self.net.header }
    }

    /// Computes all ways at a moment. `places` gives a new port its places in the table of routes.
    pub fn reroute(&mut self, at: Time, mut places: impl FnMut(u32) -> u32) {
        let graph = self.net.graph(at);
        let nodes = self.net.nodes;
        self.next = vec![NOWHERE; self.targets.len() * nodes];
        for row in 0..self.targets.len() {
            for (node, step) in graph.towards(self.targets[row] as usize).into_iter().enumerate() {
                if let Some(step) = step {
                    self.next[row * nodes + node] = self.port_over(step.link, node, step.to, &mut places);
                }
            }
        }
        // Wired nodes whose terminal has no satellite send on to it all the same: there the packet's way ends.
        for link in 0..self.net.wires.len() {
            let (from, to, _) = self.net.wires[link];
            for row in 0..self.targets.len() {
                let place = row * nodes + from;
                if self.next[place] == NOWHERE && from >= self.net.sky.nodes() && to < self.net.sky.nodes() {
                    self.next[place] = self.port_over(link as u32, from, to, &mut places);
                }
            }
        }
    }

    fn port_over(&mut self, link: u32, tail: usize, head: usize, places: &mut impl FnMut(u32) -> u32) -> u32 {
        let ports = &mut self.ports;
        let ends = self.net.ends(link);
        *self.known.entry((link, tail as u32, head as u32)).or_insert_with(|| {
            let moving = (ends != Ends::Wire).then_some(Moving {
                tail,
                head,
                knot: u64::MAX,
                delay: 0.0,
                change: 0.0,
            });
            ports.push(Port { link, head: head as u32, place: places(link), ends, moving });
            ports.len() as u32 - 1
        })
    }

    /// The terminal at an end of this port's link, if there is one.
    fn terminal(&self, port: u32) -> Option<usize> {
        let port = &self.ports[port as usize];
        match port.ends {
            Ends::Up { terminal } => Some(terminal),
            Ends::Down { .. } => Some(port.head as usize - self.net.sky.constellation.len()),
            _ => None,
        }
    }

    #[inline]
    fn held(&mut self, terminal: usize, at: Time) -> Held {
        let held = self.held[terminal];
        if held.from <= at && at < held.until {
            return held;
        }
        let held = self.net.line.held(terminal, at);
        self.held[terminal] = held;
        held
    }

    /// The earliest time from `at` on at which a transmission over this port may begin: not in the pause after a hand-off,
    /// and, if nothing may be lost, not while the terminal has no satellite.
    #[inline]
    pub fn not_before(&mut self, port: u32, at: Time) -> Time {
        match self.terminal(port) {
            Some(terminal) if self.net.pause > Span::ZERO || self.net.loss == HandoffLoss::Lossless => {
                let mut held = self.held(terminal, at);
                let waits = held.satellite.is_none() && held.until != Time::NEVER;
                if waits && self.net.loss == HandoffLoss::Lossless {
                    held = self.held(terminal, held.until);
                }
                // The first attachment of all is no hand-off.
                let pause = if held.from == Time::ZERO { Span::ZERO } else { self.net.pause };
                at.max(held.from + pause)
            }
            _ => at,
        }
    }

    /// The delay over a port for a transmission that begins at `start`; that of the link itself if it does not move.
    #[inline]
    pub fn delay(&mut self, port: u32, start: Time, link: &Link) -> Span {
        match &mut self.ports[port as usize].moving {
            Some(moving) => moving.delay(&self.net.sky, start),
            None => link.delay,
        }
    }

    /// What becomes of a packet enqueued for `port` whose transmission begins at `start`; a hand-off may come before. `places`
    /// as in [`Tables::reroute`].
    #[inline]
    pub fn fate(&mut self, port: u32, start: Time, places: impl FnMut(u32) -> u32) -> Fate {
        let Some(terminal) = self.terminal(port) else { return Fate::Arrives(port) };
        let held = self.held(terminal, start);
        let Port { ends, head, .. } = self.ports[port as usize];
        let addressed = match ends {
            Ends::Down { satellite } => satellite,
            _ => head as usize,
        };
        if held.satellite == Some(addressed) {
            return Fate::Arrives(port);
        }
        self.moved(port, held.satellite, places)
    }

    #[cold]
    fn moved(&mut self, port: u32, satellite: Option<usize>, mut places: impl FnMut(u32) -> u32) -> Fate {
        let Port { ends, link, .. } = self.ports[port as usize];
        match (self.net.loss, ends, satellite) {
            (HandoffLoss::Lossless, Ends::Up { terminal }, Some(new)) => {
                let tail = self.net.sky.constellation.len() + terminal;
                Fate::Arrives(self.port_over(link, tail, new, &mut places))
            }
            (HandoffLoss::Lossless, Ends::Down { .. }, _) => Fate::Arrives(port),
            _ => Fate::Lost,
        }
    }

    /// Whether a hand-off between `start` and `arrival` takes what flies.
    #[inline]
    pub fn lost_in_flight(&mut self, port: u32, start: Time, arrival: Time) -> bool {
        if self.net.loss != HandoffLoss::InFlight {
            return false;
        }
        let Some(terminal) = self.terminal(port) else { return false };
        self.held(terminal, start).until <= arrival
    }
}
