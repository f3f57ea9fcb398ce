//! Moving links: between satellites, and between satellites and terminals.
//!
//! Every node routes each packet by tables that are recomputed when links change. The satellite of a terminal at any
//! time is computed in advance ([`orbit::Timeline`]), so the delivery or loss of a packet is known when it is
//! enqueued, and a hop still costs one event. The effect of a hand-off on packets follows docs/specs/iridium.md
//! section 5.

use crate::link::Link;
use orbit::{Graph, Held, SatelliteSystem, Timeline};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{PS_PER_S, Span, Time};

params::named_values! {
    /// The effect of a hand-off on the terminal's packets that wait or are in flight.
    HandoffLoss {
        /// As in ns-2: packets that wait at the terminal are sent with the address of the old satellite, and the new one
        /// discards them; packets that wait at the old satellite are lost; packets in flight arrive.
        Ns2 = "ns2",
        /// Packets that wait at the terminal go to the new satellite as soon as there is one; packets that wait at the
        /// old satellite still reach the terminal.
        Lossless = "lossless",
        /// As `Ns2`, and packets in flight between the terminal and the old satellite are lost too.
        InFlight = "drop_all_in_flight",
    }
}

/// The kind of nodes that a link connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Two nodes on the ground.
    Fixed,
    /// Two satellites.
    Isl,
    /// From a terminal to its satellite.
    Up {
        /// Number of the terminal.
        terminal: usize,
    },
    /// From a satellite to its terminals.
    Down {
        /// Number of the satellite.
        satellite: usize,
    },
}

/// The configuration of a satellite network.
#[derive(Clone)]
pub struct SatelliteNetwork {
    /// Satellites and terminals.
    pub system: Arc<SatelliteSystem>,
    /// The links between satellites and terminals over time.
    pub line: Timeline,
    /// Bytes added to every packet on links to and between satellites.
    pub header: u32,
    /// The effect of a hand-off on packets.
    pub loss: HandoffLoss,
    /// Time after a hand-off in which the links of the terminal start no transmission.
    pub pause: Span,
    /// The fixed links: from node, to node, delay in s. They have the first link numbers; the satellite links follow
    /// in the order of [`Graph::new`].
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

    /// The kind of nodes that link `link` connects.
    pub fn ends(&self, link: u32) -> Ends {
        let fixed_links = self.fixed_links.len();
        let Some(number) = (link as usize).checked_sub(fixed_links) else { return Ends::Fixed };
        let isls = 2 * self.system.constellation.isls.len();
        match number.checked_sub(isls) {
            None => Ends::Isl,
            Some(satellite) if satellite < self.system.constellation.len() => Ends::Down { satellite },
            Some(node) => Ends::Up { terminal: node - self.system.constellation.len() },
        }
    }
}

/// A port of a node: a link to a next node.
#[derive(Clone)]
pub(super) struct OutgoingLink {
    pub link: u32,
    pub head: u32,
    /// Index of its first entry in the route table: two entries for each destination.
    pub place: u32,
    ends: Ends,
    moving: Option<Moving>,
}

/// The next hop of a packet by the routing tables.
#[derive(Clone, Copy)]
pub(super) struct TableHop {
    /// The port from which it leaves its node.
    pub port: u32,
    /// The number of its destination.
    pub row: u32,
}

/// The delay between two nodes, interpolated linearly between steps.
#[derive(Clone)]
struct Moving {
    tail: usize,
    head: usize,
    step: u64,
    /// Delay at the step, and its change until the next step, ps.
    delay: f64,
    change: f64,
}

/// With this step the error of linear interpolation is below 10 ns.
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
#[derive(Clone)]
pub(super) struct Tables {
    net: SatelliteNetwork,
    /// For each destination its node, and the index in the table of routes before the hops that follow; none if the
    /// packet is delivered there.
    targets: Vec<(u32, Option<u32>)>,
    /// For each destination and node, the outgoing port; `NOWHERE` if there is no path.
    next: Vec<u32>,
    pub outgoing: Vec<OutgoingLink>,
    ports: BTreeMap<(u32, u32, u32), u32>,
    /// For each node, the link at which packets without a path are dropped.
    ending: Vec<u32>,
    /// For each terminal, the result of the last lookup.
    held: Vec<Held>,
    /// For each entry, the number of its destination, and its node.
    pub entries: Vec<(u32, u32)>,
}

pub(super) const NOWHERE: u32 = u32::MAX;

/// The result of a transmission over a link.
#[derive(Clone)]
pub(super) enum LinkTransit {
    /// The packet arrives at the head of this port.
    Arrives(u32),
    /// The packet is lost in a hand-off.
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
            ports: BTreeMap::new(),
            ending,
            entries: Vec::new(),
        }
    }

    /// Adds an entry: the node where packets enter, the node where they leave, and the index in the table of routes
    /// before the hops that follow. Returns its number. Add all entries before the first reroute.
    pub fn add(&mut self, from: usize, to: usize, after: Option<u32>) -> u32 {
        let target = (to as u32, after);
        let row = self.targets.iter().position(|t| *t == target).unwrap_or_else(|| {
            self.targets.push(target);
            self.targets.len() - 1
        });
        self.entries.push((row as u32, from as u32));
        self.entries.len() as u32 - 1
    }

    /// For a packet at the end of the link with route table index `route`: the number of its destination, and the
    /// node.
    pub fn arrival(&self, route: u32) -> (u32, u32) {
        let TableHop { port, row } = self.hop_of(route);
        (row, self.outgoing[port as usize].head)
    }

    /// Number of destinations.
    pub fn rows(&self) -> u32 {
        self.targets.len() as u32
    }

    /// Whether destination `row` is `node`.
    #[inline]
    pub fn is_target(&self, row: u32, node: u32) -> bool {
        self.targets[row as usize].0 == node
    }

    /// The index in the table of routes before the hops that follow destination `row`; none if there are none.
    pub fn after(&self, row: u32) -> Option<u32> {
        self.targets[row as usize].1
    }

    /// The port from `node` to destination `row`. If there is no path: the link at which the packet is dropped.
    #[inline]
    pub fn port(&self, row: u32, node: u32) -> Result<u32, u32> {
        match self.next[row as usize * self.net.nodes + node as usize] {
            NOWHERE => Err(self.ending[node as usize]),
            port => Ok(port),
        }
    }

    pub fn header(&self, port: u32) -> u32 {
        if self.outgoing[port as usize].ends == Ends::Fixed { 0 } else { self.net.header }
    }

    /// Recomputes all paths for time `at`. `places` adds the route table entries of a new port.
    pub fn reroute(&mut self, at: Time, mut places: impl FnMut(u32) -> u32) {
        let graph = self.net.graph(at);
        let nodes = self.net.nodes;
        self.next = vec![NOWHERE; self.targets.len() * nodes];
        for row in 0..self.targets.len() {
            for (node, step) in graph.towards(self.targets[row].0 as usize).into_iter().enumerate() {
                if let Some(step) = step {
                    self.next[row * nodes + node] = self.port_over(step.link, node, step.to, &mut places);
                }
            }
        }
        // A wired node sends to its terminal even if the terminal has no satellite; the path of the packet ends
        // there.
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
        *self.ports.entry((link, tail as u32, head as u32)).or_insert_with(|| {
            let moving = (ends != Ends::Fixed).then_some(Moving {
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

    /// The terminal at either end of the link of this port, if there is one.
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

    /// The earliest start of a transmission over this port, from `at` on: after the pause of a hand-off and, for
    /// `Lossless`, when the terminal has a satellite.
    #[inline]
    pub fn not_before(&mut self, port: u32, at: Time) -> Time {
        self.terminal(port).map_or(at, |terminal| self.ready(terminal, at))
    }

    #[inline]
    fn ready(&mut self, terminal: usize, at: Time) -> Time {
        let waits = self.net.pause > Span::ZERO || self.net.loss == HandoffLoss::Lossless;
        if !waits || self.net.line.uses_every() {
            return at;
        }
        let mut held = self.held(terminal, at);
        let waits = held.satellite.is_none() && held.until != Time::NEVER;
        if waits && self.net.loss == HandoffLoss::Lossless {
            held = self.held(terminal, held.until);
        }
        // The first attachment is not a hand-off.
        let pause = if held.from == Time::ZERO { Span::ZERO } else { self.net.pause };
        at.max(held.from + pause)
    }

    /// The hop of a packet whose index in the table of routes is `route`.
    #[inline]
    pub fn hop_of(&self, route: u32) -> TableHop {
        // The slots of all ports, one port after the other.
        let (place, rows) = ((route - self.outgoing[0].place) / 2, self.rows());
        TableHop { port: place / rows, row: place % rows }
    }

    /// The earliest time from `at` on at which a terminal can transmit over link `link`, as [`Tables::not_before`]; for other
    /// links `at`: a satellite transmits to several terminals.
    pub fn terminal_ready(&mut self, link: u32, at: Time) -> Time {
        match self.net.ends(link) {
            Ends::Up { terminal } => self.ready(terminal, at),
            _ => at,
        }
    }

    /// The delay over a port for a transmission that starts at `start`; the delay of the link itself if it does not
    /// move.
    #[inline]
    pub fn delay(&mut self, port: u32, start: Time, link: &Link) -> Span {
        match &mut self.outgoing[port as usize].moving {
            Some(moving) => moving.delay(&self.net.system, start),
            None => link.delay,
        }
    }

    /// The result for a packet enqueued at `port` with a transmission that starts at `start`; a hand-off can happen
    /// before that. `places` is as in [`Tables::reroute`].
    #[inline]
    pub fn transit(&mut self, port: u32, start: Time, places: impl FnMut(u32) -> u32) -> LinkTransit {
        let Some(terminal) = self.terminal(port) else { return LinkTransit::Arrives(port) };
        let OutgoingLink { ends, head, .. } = self.outgoing[port as usize];
        let addressed = match ends {
            Ends::Down { satellite } => satellite,
            _ => head as usize,
        };
        if self.net.line.uses_every() {
            let visible = self.net.line.visible_at(terminal, start);
            if visible.binary_search(&addressed).is_ok() {
                return LinkTransit::Arrives(port);
            }
            let node = self.net.system.constellation.len() + terminal;
            let delay = |satellite: usize| self.net.system.delay(node, satellite, start.seconds());
            let nearest = visible.iter().copied().min_by(|a, b| delay(*a).total_cmp(&delay(*b)));
            return self.moved(port, nearest, places);
        }
        let held = self.held(terminal, start);
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

    /// Whether a hand-off between `start` and `arrival` loses a packet in flight.
    #[inline]
    pub fn lost_in_flight(&mut self, port: u32, start: Time, arrival: Time) -> bool {
        if self.net.loss != HandoffLoss::InFlight {
            return false;
        }
        let Some(terminal) = self.terminal(port) else { return false };
        if self.net.line.uses_every() {
            return false; // a satellite that sets can be heard until then
        }
        self.held(terminal, start).until <= arrival
    }
}
