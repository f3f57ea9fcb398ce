//! Links that move: between satellites, and between satellites and terminals.
//!
//! A packet is routed anew at every node, by tables that are recomputed when links change. Which satellite a terminal uses
//! at any time is known ahead ([`orbit::Timeline`]), so a packet's fate is known when it is enqueued and a hop stays one
//! event. What a hand-off does to packets follows docs/specs/iridium.md section 5.

use crate::link::Link;
use orbit::{Graph, Held, SatelliteSystem, Timeline};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{PS_PER_S, Span, Time};

/// What becomes of packets that wait or fly at a hand-off of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HandoffLoss {
    /// ns-2's: what waits at the terminal goes out with the old satellite's address and is discarded by the new one, what
    /// waits at the old satellite is sent to nobody; what is in flight arrives.
    #[default]
    Ns2,
    /// What waits at the terminal goes to the new satellite (once there is one), what waits at the old one still reaches the
    /// terminal.
    Lossless,
    /// As ns-2's, and what is in flight between terminal and old satellite is lost too.
    InFlight,
}

/// What a link joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Two nodes on the ground.
    FlowContext,
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

/// Everything that a network over satellites needs to know.
pub struct SatelliteNetwork {
    /// Satellites and terminals.
    pub system: Arc<SatelliteSystem>,
    /// Who is linked with whom, when.
    pub line: Timeline,
    /// Bytes added to every packet on links to and between satellites.
    pub header: u32,
    /// What a hand-off does.
    pub loss: HandoffLoss,
    /// For how long nothing is sent to or from a terminal after a hand-off.
    pub pause: Span,
    /// The fixed links, which have the first numbers among the links: where they begin and end, and their delay, s. the satellites's
    /// links follow in the order of [`Graph::new`].
    pub fixed_links: Vec<(usize, usize, f64)>,
    /// All nodes.
    pub nodes: usize,
}

impl SatelliteNetwork {
    /// All links that are up at a moment.
    pub fn graph(&self, at: Time) -> Graph {
        let mut graph = Graph::new(&self.system, &self.line, at, self.fixed_links.len() as u32);
        for _ in self.system.nodes()..self.nodes {
            graph.add_node();
        }
        for (link, &(from, to, delay)) in self.fixed_links.iter().enumerate() {
            graph.add(from, to, delay, link as u32);
        }
        graph
    }

    /// What a link joins.
    pub fn ends(&self, link: u32) -> Ends {
        let fixed_links = self.fixed_links.len();
        let Some(number) = (link as usize).checked_sub(fixed_links) else { return Ends::FlowContext };
        let isls = 2 * self.system.constellation.isls.len();
        match number.checked_sub(isls) {
            None => Ends::Isl,
            Some(satellite) if satellite < self.system.constellation.len() => Ends::Down { satellite },
            Some(node) => Ends::Up { terminal: node - self.system.constellation.len() },
        }
    }
}

/// A path out of a node: over a link to another node.
pub(super) struct OutgoingLink {
    pub link: u32,
    pub head: u32,
    /// Its places in the table of routes begin here: two for each destination.
    pub place: u32,
    ends: Ends,
    moving: Option<Moving>,
}

/// The delay between two nodes, straight lines between steps.
struct Moving {
    tail: usize,
    head: usize,
    step: u64,
    /// Delay at the step and its change until the next, ps.
    delay: f64,
    change: f64,
}

/// Between steps the error of a straight line is below 10 ns.
const INTERPOLATION_STEP_PS: u64 = PS_PER_S / 4;

impl Moving {
    #[inline]
    fn delay(&mut self, system: &SatelliteSystem, at: Time) -> Span {
        let step = at.ps() / INTERPOLATION_STEP_PS;
        if step != self.step {
            self.interpolate(system, step);
        }
        let part = (at.ps() - step * INTERPOLATION_STEP_PS) as f64 / INTERPOLATION_STEP_PS as f64;
        Span::from_ps((self.delay + self.change * part) as u64)
    }

    #[cold]
    fn interpolate(&mut self, system: &SatelliteSystem, step: u64) {
        let at = |step: u64| {
            let seconds = step as f64 * (INTERPOLATION_STEP_PS as f64 / PS_PER_S as f64);
            system.delay(self.tail, self.head, seconds) * PS_PER_S as f64
        };
        self.delay = at(step);
        self.change = at(step + 1) - self.delay;
        self.step = step;
    }
}

/// Routing tables over moving links.
pub(super) struct Tables {
    net: SatelliteNetwork,
    /// The node of each destination.
    targets: Vec<u32>,
    /// For each destination and node the port to take; `NOWHERE` if there is no path.
    next: Vec<u32>,
    pub outgoing: Vec<OutgoingLink>,
    known: BTreeMap<(u32, u32, u32), u32>,
    /// Of each node the link at which packets without a path end.
    ending: Vec<u32>,
    /// Of each terminal what was last looked up.
    held: Vec<Held>,
    /// Of each source: number of the destination, node.
    pub sources: Vec<(u32, u32)>,
}

pub(super) const NOWHERE: u32 = u32::MAX;

/// What happens to a packet on its link.
pub(super) enum LinkTransit {
    /// It arrives at the head of this port.
    Arrives(u32),
    /// A hand-off takes it.
    Lost,
}

impl Tables {
    pub fn new(net: SatelliteNetwork) -> Tables {
        let mut ending = vec![NOWHERE; net.nodes];
        let transmitters = net.fixed_links.len() + 2 * net.system.constellation.isls.len();
        for (node, link) in ending.iter_mut().zip(transmitters..).take(net.system.nodes()) {
            *node = link as u32;
        }
        for (link, &(from, _, _)) in
            net.fixed_links.iter().enumerate().filter(|(_, link)| link.0 >= net.system.nodes())
        {
            ending[from] = link as u32;
        }
        let never = Held { from: Time::NEVER, until: Time::ZERO, satellite: None };
        Tables {
            held: vec![never; net.system.terminals.len()],
            net,
            targets: Vec::new(),
            next: Vec::new(),
            outgoing: Vec::new(),
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
        (place % rows, self.outgoing[(place / rows) as usize].head)
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

    /// The port from `node` towards destination `row`, or the link where packets without a path end.
    #[inline]
    pub fn port(&self, row: u32, node: u32) -> Result<u32, u32> {
        match self.next[row as usize * self.net.nodes + node as usize] {
            NOWHERE => Err(self.ending[node as usize]),
            port => Ok(port),
        }
    }

    pub fn header(&self, port: u32) -> u32 {
        if self.outgoing[port as usize].ends == Ends::FlowContext { 0 } else { self.net.header }
    }

    /// Computes all paths at a moment. `places` gives a new port its places in the table of routes.
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
        // Wired nodes whose terminal has no satellite send on to it all the same: there the packet's path ends.
        for link in 0..self.net.fixed_links.len() {
            let (from, to, _) = self.net.fixed_links[link];
            for row in 0..self.targets.len() {
                let place = row * nodes + from;
                if self.next[place] == NOWHERE
                    && from >= self.net.system.nodes()
                    && to < self.net.system.nodes()
                {
                    self.next[place] = self.port_over(link as u32, from, to, &mut places);
                }
            }
        }
    }

    fn port_over(&mut self, link: u32, tail: usize, head: usize, places: &mut impl FnMut(u32) -> u32) -> u32 {
        let outgoing = &mut self.outgoing;
        let ends = self.net.ends(link);
        *self.known.entry((link, tail as u32, head as u32)).or_insert_with(|| {
            let moving = (ends != Ends::FlowContext).then_some(Moving {
                tail,
                head,
                step: u64::MAX,
                delay: 0.0,
                change: 0.0,
            });
            outgoing.push(OutgoingLink { link, head: head as u32, place: places(link), ends, moving });
            outgoing.len() as u32 - 1
        })
    }

    /// The terminal at an end of this port's link, if there is one.
    fn terminal(&self, port: u32) -> Option<usize> {
        let port = &self.outgoing[port as usize];
        match port.ends {
            Ends::Up { terminal } => Some(terminal),
            Ends::Down { .. } => Some(port.head as usize - self.net.system.constellation.len()),
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
        match &mut self.outgoing[port as usize].moving {
            Some(moving) => moving.delay(&self.net.system, start),
            None => link.delay,
        }
    }

    /// What becomes of a packet enqueued for `port` whose transmission begins at `start`; a hand-off may come before. `places`
    /// as in [`Tables::reroute`].
    #[inline]
    pub fn fate(&mut self, port: u32, start: Time, places: impl FnMut(u32) -> u32) -> LinkTransit {
        let Some(terminal) = self.terminal(port) else { return LinkTransit::Arrives(port) };
        let held = self.held(terminal, start);
        let OutgoingLink { ends, head, .. } = self.outgoing[port as usize];
        let addressed = match ends {
            Ends::Down { satellite } => satellite,
            _ => head as usize,
        };
        if held.satellite == Some(addressed) {
            return LinkTransit::Arrives(port);
        }
        self.moved(port, held.satellite, places)
    }

    #[cold]
    fn moved(
        &mut self,
        port: u32,
        satellite: Option<usize>,
        mut places: impl FnMut(u32) -> u32,
    ) -> LinkTransit {
        let OutgoingLink { ends, link, .. } = self.outgoing[port as usize];
        match (self.net.loss, ends, satellite) {
            (HandoffLoss::Lossless, Ends::Up { terminal }, Some(new)) => {
                let tail = self.net.system.constellation.len() + terminal;
                LinkTransit::Arrives(self.port_over(link, tail, new, &mut places))
            }
            (HandoffLoss::Lossless, Ends::Down { .. }, _) => LinkTransit::Arrives(port),
            _ => LinkTransit::Lost,
        }
    }

    /// Whether a hand-off between `start` and `arrival` takes what is in flight.
    #[inline]
    pub fn lost_in_flight(&mut self, port: u32, start: Time, arrival: Time) -> bool {
        if self.net.loss != HandoffLoss::InFlight {
            return false;
        }
        let Some(terminal) = self.terminal(port) else { return false };
        self.held(terminal, start).until <= arrival
    }
}
