//! The values that a run derives from a scenario: queue limits in packets or bytes, paths, empty-path round-trip times.

use super::flows::ideal_path;
use super::links::longest_round_trips;
use super::plan::{BuildPlan, Layout};
use crate::scenario::paths::{FlowPath, radio_names};
use crate::scenario::{
    Direction, DirectionDescription, Flow, FlowKind, Loss, Scenario, Traffic, describe_direction,
};
use crate::simulation::Settings;
use net::LinkId;
use serde::Serialize;
use std::sync::atomic::AtomicBool;
use units::{Limit, Span, Time};

/// The derived values of a scenario. Serialised as JSON.
#[derive(Debug, Serialize)]
pub struct ResolvedNetwork {
    /// Directions of the links: forward, then back, in the order of the file.
    pub links: Vec<ResolvedLink>,
    /// Flows in the order of the file.
    pub flows: Vec<ResolvedFlow>,
    /// Sources of flows that are drawn from the seed.
    pub traffic: Vec<ResolvedTraffic>,
    /// Whether the seed can change a run; true if that is not certain.
    pub seed_matters: bool,
}

/// One direction of a link.
#[derive(Debug, Serialize)]
pub struct ResolvedLink {
    /// `from->to`.
    pub name: String,
    /// Name in the scenario.
    pub given: Option<String>,
    /// Rate, delay, queue and losses.
    #[serde(flatten)]
    pub described: DirectionDescription,
    /// The mean rate in the run, bit/s.
    pub mean_rate_bps: u64,
    /// Longest round-trip propagation delay of the flows that cross the link, s: that of `bdp` in a limit.
    pub round_trip_s: f64,
    /// Limit of the queue in packets.
    pub limit_packets: Option<u64>,
    /// Limit of the queue in bytes.
    pub limit_bytes: Option<u64>,
    /// Whether it loses packets at random.
    pub random_loss: bool,
    /// Whether its delay changes at given times.
    pub delay_varies: bool,
}

/// A flow.
#[derive(Debug, Serialize)]
pub struct ResolvedFlow {
    /// Its name.
    pub name: String,
    /// The node that sends data.
    pub from: String,
    /// The node that receives it.
    pub to: String,
    /// "tcp", "quic" or "udp".
    pub kind: &'static str,
    /// Controller of a TCP or QUIC flow.
    pub control: Option<String>,
    /// Indices of the links that its data crosses; empty if the path changes during the run (satellites, radio).
    pub path: Vec<u32>,
    /// Indices of the links that its ACKs cross.
    pub back: Vec<u32>,
    /// Round-trip time of a full segment and its ACK on an empty path, s.
    pub base_rtt_s: Option<f64>,
    /// Bytes of a full packet on the wire.
    pub packet_bytes: u32,
    /// The receiver's window, segments (QUIC: full datagrams).
    pub receive_window: Option<u32>,
    /// When it starts, s.
    pub start_s: f64,
    /// When it stops offering data, s.
    pub stop_s: Option<f64>,
    /// How much it has to send, bytes.
    pub bytes: Option<u64>,
    /// When its application first writes, s since its start.
    pub first_write_s: Option<f64>,
    /// The largest rate of a UDP source, bit/s.
    pub rate_bps: Option<u64>,
    /// Its application, if it has one; that of several connections stands at the first.
    pub application: Option<ResolvedApp>,
}

/// An application of a flow.
#[derive(Clone, Debug, Serialize)]
pub struct ResolvedApp {
    /// Its kind.
    pub kind: &'static str,
    /// Its connections, or those with loops of their own.
    pub connections: u32,
    /// What a connection offers in the mean, bit/s; null if the network alone decides.
    pub offered_bps: Option<f64>,
}

/// A source of flows.
#[derive(Debug, Serialize)]
pub struct ResolvedTraffic {
    /// What the names of its flows begin with, before a number.
    pub name: String,
    /// Expected number of its flows.
    pub expected_flows: f64,
    /// Payload offered on average, bit/s.
    pub load_bps: u64,
    /// Mean size of a flow, bytes.
    pub mean_bytes: f64,
    /// When the first flow may start, s.
    pub start_s: f64,
}

impl Scenario {
    /// The derived values of this scenario. Does not run it.
    pub fn resolve(&self) -> ResolvedNetwork {
        let plan = BuildPlan::new(self, Settings::default());
        let radio_nodes = radio_names(self.radio.as_deref());
        // Of satellites the positions at the start suffice, which a timeline that is stopped has, too: all changes of a long
        // run take long.
        let mut layout = Layout::new(&plan, &radio_nodes, &AtomicBool::new(true));
        let moving = layout.satellites.as_mut().map_or(Vec::new(), |s| std::mem::take(&mut s.directions));
        let wired: Vec<&Direction> = self.links.iter().flat_map(|link| &link.directions).collect();
        let directions: Vec<&Direction> = wired.iter().copied().chain(&moving).collect();
        let round_trips = longest_round_trips(&layout, &directions);
        let end = Time::ZERO + self.duration;
        let links = wired.iter().zip(round_trips).enumerate().map(|(i, (direction, round_trip))| {
            let name = layout.topology.link_name(LinkId(i as u32));
            resolve_link(name, self.links[i / 2].name.clone(), direction, round_trip, end)
        });
        let flows = self.flows.iter().zip(&plan.order).map(|(flow, number)| {
            let path = |of: usize| layout.paths.get(2 * *number as usize + of);
            resolve_flow(flow, [path(0), path(1)], &wired)
        });
        let traffic = self.traffic.iter().map(|source| resolve_traffic(source, self.duration));
        ResolvedNetwork {
            links: links.collect(),
            flows: flows.collect(),
            traffic: traffic.collect(),
            seed_matters: self.seed_matters(),
        }
    }
}

fn resolve_link(
    name: String,
    given: Option<String>,
    direction: &Direction,
    round_trip: Span,
    end: Time,
) -> ResolvedLink {
    let rate = direction.rate_alone().unwrap_or_else(|| direction.mean_rate(end));
    let limit = direction.queue.limit(direction.mean_rate(end), round_trip);
    ResolvedLink {
        name,
        given,
        described: describe_direction(direction),
        mean_rate_bps: rate.bps(),
        round_trip_s: round_trip.seconds(),
        limit_packets: if let Some(Limit::Packets(n)) = limit { Some(n) } else { None },
        limit_bytes: if let Some(Limit::Bytes(n)) = limit { Some(n) } else { None },
        random_loss: direction.losses.iter().any(Loss::loses_at_random),
        delay_varies: direction.losses.iter().any(|loss| loss.kind().name() == "delay"),
    }
}

/// UDP payload of a datagram with an ACK frame alone, bytes: header, frame, tag; it varies by some bytes.
const QUIC_ACK: u32 = 34;

fn resolve_flow(flow: &Flow, paths: [Option<&FlowPath>; 2], links: &[&Direction]) -> ResolvedFlow {
    let (receive_window, ack_bytes, rate_bps) = match &flow.kind {
        FlowKind::Tcp(tcp) => (Some(tcp.options.window), tcp.options.ack_size, None),
        FlowKind::Quic(quic) => (flow.kind.receive_window(), quic.common.header + QUIC_ACK, None),
        FlowKind::Attached(ends) => (None, ends.header, None),
        FlowKind::Udp { schedule, .. } => (None, 0, schedule.iter().map(|(_, rate)| rate.bps()).max()),
    };
    let (packet_bytes, control) = (flow.kind.full_packet(), flow.kind.control());
    let wired = |path: Option<&FlowPath>| -> Vec<u32> {
        let path = path.filter(|path| path.is_wired());
        path.map_or(Vec::new(), |path| path.links().map(|link| link.0).collect())
    };
    let [path, back] = paths.map(wired);
    let crossing = |links_of: &[u32], size: u32| {
        let each = links_of.iter().map(|link| links[*link as usize]);
        each.fold(Span::ZERO, |sum, link| sum + link.delay + link.rate.time_for(size as u64))
    };
    let whole = paths[0].zip(paths[1]).map(|(data, back)| [data, back]);
    let application = flow.app.as_ref().filter(|_| flow.connection == 0).map(|app| {
        let ideal = whole.and_then(|paths| ideal_path(flow, paths, links));
        let offered_bps =
            app.offered_bps(|bytes, request| Some(ideal.as_ref()?.message(bytes, Some(request))));
        ResolvedApp { kind: app.name(), connections: app.connections(), offered_bps }
    });
    let base_rtt = crossing(&path, packet_bytes) + crossing(&back, ack_bytes);
    ResolvedFlow {
        name: flow.name.clone(),
        from: flow.from.clone(),
        to: flow.to.clone(),
        kind: flow.kind.name(),
        control: control.map(|control| control.name().to_string()),
        base_rtt_s: (control.is_some() && !path.is_empty()).then(|| base_rtt.seconds()),
        path,
        back,
        packet_bytes,
        receive_window,
        start_s: flow.start.seconds(),
        stop_s: flow.stop.map(Span::seconds),
        bytes: flow.bytes,
        first_write_s: flow.writes.first().map(|(at, _)| at.seconds()),
        rate_bps,
        application,
    }
}

fn resolve_traffic(source: &Traffic, duration: Span) -> ResolvedTraffic {
    ResolvedTraffic {
        name: source.name.clone(),
        expected_flows: source.expected(duration),
        load_bps: source.load().bps(),
        mean_bytes: source.sizes.mean(),
        start_s: source.start.seconds(),
    }
}
