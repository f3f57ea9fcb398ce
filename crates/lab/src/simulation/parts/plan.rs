//! Which part of a run has which nodes, and whether parts are of use.

use super::part::Part;
use super::partition::{WorkEdge, WorkGraph, partition, scatter};
use net::LinkId;
use net::cut::{can_be_cut, has_too_many_links, lookahead, route_links};
use serde::Serialize;
use std::collections::BTreeMap;
use units::Span;

/// The parts of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartFacts {
    /// For each part, the share of the estimated work.
    pub work: Vec<f64>,
    /// Links between parts, each direction counted.
    pub cut_links: usize,
    /// All links, each direction counted.
    pub links: usize,
    /// The least delay of the links between parts, s.
    pub lookahead_s: f64,
    /// Estimated packet-hops of the whole network in this time.
    pub hops: f64,
    /// Whether the run goes on without parts if that is faster.
    pub compared: bool,
}

/// The owners of nodes, and the lookahead between parts.
#[derive(Debug)]
pub(super) struct PartPlan {
    /// The part of each node.
    pub of: Vec<u16>,
    /// For each part, the parts from which packets come, with the least delay.
    pub incoming: Vec<Vec<(usize, Span)>>,
    /// The least of these delays.
    pub lookahead: Span,
    pub facts: PartFacts,
}

/// The work of a sender and of a receiver for a packet and its acknowledgement, in packet-hops.
const SENDER: f64 = 2.0;
const RECEIVER: f64 = 1.0;
/// Packet-hops of a part in the time of the least delay below which its thread waits for others most of the time: an exchange
/// takes as long as some packet-hops.
const LEAST_HOPS: f64 = 12.0;
/// Packet-hops of a run that takes one thread some tenths of a second.
const LEAST_RUN: f64 = 5e6;
/// The work of the largest part over the mean of all, at most.
const MOST: f64 = 1.25;
/// The size of a packet for the estimate, bits.
const PACKET_BITS: f64 = 12_000.0;

impl PartPlan {
    /// Divides a simulation that has not begun into at most `limit` parts of about equal work. Fails with the reason if one thread
    /// is faster.
    pub fn useful(simulation: &Part, limit: usize) -> Result<PartPlan, String> {
        let (load, mut parts) = (Load::new(simulation)?, limit);
        if load.hops < LEAST_RUN {
            return Err(format!(
                "the run has about {:.1} million packet-hops, too few to divide",
                load.hops / 1e6
            ));
        }
        let graph = load.graph(simulation);
        loop {
            let of = partition(&graph, parts, MOST).map_err(|largest| {
                let largest = 100.0 * largest;
                format!("nodes without a link of some delay between them have {largest:.0} % of the work")
            });
            match of.and_then(|of| PartPlan::of(simulation, &graph, of, load.hops_per_s).checked()) {
                Ok(plan) => return Ok(plan),
                Err(_) if parts > 2 => parts = (3 * parts / 4).max(2),
                Err(reason) => return Err(reason),
            }
        }
    }

    /// Divides a simulation that has not begun into at most `parts` parts, whose traffic is nearly all between them. Fails with
    /// the reason if this is impossible.
    pub fn scattered(simulation: &Part, parts: usize) -> Result<PartPlan, String> {
        let load = Load::new(simulation)?;
        let graph = load.graph(simulation);
        let of = scatter(&graph, parts);
        if of.iter().all(|part| *part == 0) {
            return Err("all nodes stay together, because no link has a fixed delay".into());
        }
        Ok(PartPlan::of(simulation, &graph, of, load.hops_per_s))
    }

    /// The plan, if its parts do not wait for each other most of the time.
    fn checked(self) -> Result<PartPlan, String> {
        let PartFacts { lookahead_s, hops, .. } = self.facts;
        let parts = self.incoming.len();
        if hops < LEAST_HOPS * parts as f64 {
            let delay = lookahead_s * 1e6;
            return Err(format!(
                "in {delay:.3} us, the least delay between two of {parts} parts, about {hops:.1} packet-hops occur, and the \
                 exchange between the threads takes as long as {LEAST_HOPS} for each part"
            ));
        }
        Ok(self)
    }

    fn of(simulation: &Part, graph: &WorkGraph, of: Vec<u16>, hops_per_s: f64) -> PartPlan {
        let (network, topology) = (&simulation.network, &simulation.topology);
        let parts = of.iter().max().map_or(0, |part| *part as usize + 1);
        let mut incoming = vec![BTreeMap::new(); parts];
        let mut cut = 0;
        for link in topology.link_ids() {
            let (from, to) = topology.ends(link);
            let [from, to] = [from, to].map(|node| of[node.0 as usize] as usize);
            if let (true, Some(delay)) = (from != to, lookahead(network, link)) {
                cut += 1;
                let least = incoming[to].entry(from).or_insert(delay);
                *least = delay.min(*least);
            }
        }
        let least = incoming.iter().flat_map(BTreeMap::values).min().copied().unwrap_or_default();
        let total: f64 = graph.work.iter().sum();
        let mut work = vec![0.0; parts];
        for (node, part) in of.iter().enumerate() {
            work[*part as usize] += graph.work[node] / total;
        }
        let facts = PartFacts {
            work,
            cut_links: cut,
            links: topology.links(),
            lookahead_s: least.seconds(),
            hops: hops_per_s * least.seconds(),
            compared: false,
        };
        let incoming = incoming.into_iter().map(|from| from.into_iter().collect()).collect();
        PartPlan { of, incoming, lookahead: least, facts }
    }
}

/// Why a simulation runs on one thread whatever its topology is.
fn refusal(simulation: &Part) -> Option<&'static str> {
    let reasons = [
        (simulation.event_queue.events() > 0, "a run that has begun needs one thread"),
        (simulation.has_external, "a controller outside the core needs one thread"),
        (!simulation.apps.is_empty(), "flows with applications need one thread"),
        (!simulation.quic.is_empty(), "QUIC flows need one thread"),
        (!simulation.attached.is_empty(), "ends outside the simulation need one thread"),
        (simulation.routes.len() < simulation.endpoints.len(), "a copy of a run needs one thread"),
        (!simulation.changes.is_empty(), "changes during a run need one thread"),
        (has_too_many_links(&simulation.network), "4,194,304 links or more need one thread"),
        (
            !can_be_cut(&simulation.network),
            "warm-up, satellites, radio, Wi-Fi, cells, cable, small queues, recorded delays and links that can change \
             need one thread",
        ),
    ];
    reasons.into_iter().find_map(|(holds, reason)| holds.then_some(reason))
}

/// The estimated load of a network.
struct Load {
    /// Packets over each link in the run.
    links: Vec<f64>,
    /// The work at the ends of flows, by node.
    ends: Vec<f64>,
    /// Packet-hops of the run, and in a second in which there are flows.
    hops: f64,
    hops_per_s: f64,
}

impl Load {
    /// Each flow has its fair share of each link while all flows are there, but not more than it has to send. Fails with the
    /// reason if the simulation cannot be divided.
    fn new(simulation: &Part) -> Result<Load, String> {
        if let Some(reason) = refusal(simulation) {
            return Err(reason.into());
        }
        let network = &simulation.network;
        let mut users = vec![0u32; simulation.topology.links()];
        for (data, _) in &simulation.routes {
            route_links(network, *data).for_each(|link| users[link.0 as usize] += 1);
        }
        let mut load = Load {
            links: vec![0.0; users.len()],
            ends: vec![0.0; simulation.topology.nodes()],
            hops: 0.0,
            hops_per_s: 0.0,
        };
        let (mut first, mut last, mut transfers) = (f64::INFINITY, 0.0f64, 0.0);
        for ((data, acknowledgements), (schedule, ends)) in
            simulation.routes.iter().zip(simulation.schedules.iter().zip(simulation.ends.iter()))
        {
            let share =
                |link: LinkId| network.links.rate(link).bps() as f64 / f64::from(users[link.0 as usize]);
            let rate = route_links(network, *data).map(share).fold(f64::INFINITY, f64::min);
            let active = simulation.end.min(schedule.stop).since(schedule.start.min(simulation.end));
            let limit = schedule.segments.map_or(f64::INFINITY, f64::from);
            let packets = (rate / PACKET_BITS * active.seconds()).min(limit);
            let (start, transfer) = (schedule.start.seconds(), packets * PACKET_BITS / rate);
            (first, last) = (first.min(start), last.max(start));
            let back = acknowledgements.iter().flat_map(|route| route_links(network, *route));
            for link in route_links(network, *data).chain(back) {
                load.links[link.0 as usize] += packets;
                load.hops += packets;
                transfers += packets * transfer;
            }
            load.ends[ends[0].0 as usize] += SENDER * packets;
            load.ends[ends[1].0 as usize] += RECEIVER * packets;
        }
        // From the first start to the last one, and as long as the transfer of a packet's flow takes in the mean.
        if load.hops > 0.0 {
            load.hops_per_s = load.hops / (last - first + transfers / load.hops);
        }
        Ok(load)
    }

    /// The nodes with their work, and the links between them.
    fn graph(&self, simulation: &Part) -> WorkGraph {
        let mut work = self.ends.clone();
        let mut edges: BTreeMap<[usize; 2], WorkEdge> = BTreeMap::new();
        for number in 0..simulation.topology.links() {
            let link = LinkId(number as u32);
            let (from, to) = simulation.topology.ends(link);
            let (from, to) = (from.0 as usize, to.0 as usize);
            let traffic = self.links[number];
            work[from] += traffic;
            let delay = lookahead(&simulation.network, link);
            let ends = [from.min(to), from.max(to)];
            edges
                .entry(ends)
                .and_modify(|edge| {
                    edge.traffic += traffic;
                    edge.delay = edge.delay.zip(delay).map(|(a, b)| a.min(b));
                })
                .or_insert(WorkEdge { ends, traffic, delay });
        }
        WorkGraph { work, edges: edges.into_values().collect() }
    }
}
