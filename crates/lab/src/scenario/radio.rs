//! Reads `[radio]`: nodes, movement, medium, MAC, routing, and the CMU generator's traffic.

use super::cbrgen::cbrgen;
use super::document::{TomlItem, TomlValue};
use super::model::{Flow, FlowKind, Mobility, RadioNetwork};
use super::movement;
use super::table::TableReader;
use super::tcp::TcpLayers;
use crate::error::{ScenarioError, nearest};
use crate::schema::MAC;
use engine::Stream;
use net::radio::{
    AodvConfig, MacConfig, Model, Propagation, RadioConfig, RandomWaypoint, RoutingConfig, Start, Trajectory,
};
use std::sync::Arc;
use units::{Length, Limit, Rate, Span, Speed, Time};

type Result<T> = std::result::Result<T, ScenarioError>;

/// The link layer delay of ns-2: 25 microseconds. It affects results: after a link failure, routing messages are
/// queued behind the packet that the MAC takes from the queue at that time.
const LINK_DELAY: Span = Span::from_ps(25_000_000);

/// Maximum range, m: within it the propagation delay is less than SIFS.
const FARTHEST: f64 = 2900.0;

const MOST_TRIPS: f64 = 2e7;

const MOST_NODES: u64 = 10_000;

impl RadioNetwork {
    /// The name of a node.
    pub fn name(node: usize) -> String {
        format!("n{node}")
    }

    /// The distance up to which packets are received (with shadowing: the median), m.
    pub fn range(&self) -> f64 {
        self.config.propagation.range()
    }

    /// The trajectories of the nodes until `end`, for a seed.
    pub fn trajectories(&self, seed: u64, end: Time) -> Vec<Trajectory> {
        match &self.mobility {
            Mobility::Trajectories(paths) => paths.to_vec(),
            Mobility::Waypoint(model) => {
                let path =
                    |node| model.trajectory(&mut Stream::new(seed, "mobility", &Self::name(node)), end);
                (0..self.nodes).map(path).collect()
            }
        }
    }

    /// Everything that a run needs.
    pub(crate) fn config(&self, seed: u64, end: Time) -> RadioConfig {
        RadioConfig { nodes: self.trajectories(seed, end), seed, ..self.config.clone() }
    }

    /// The radio of a scenario, if it has one, and the flows that it generates.
    pub(crate) fn read(top: &TableReader<'_>, duration: Span) -> Result<Option<(RadioNetwork, Vec<Flow>)>> {
        let Some(table) = top.table("radio")? else { return Ok(None) };
        let ns2 = match word(&table, "profile", &["std", "ns2"])? {
            None | Some("std") => false,
            Some(_) => true,
        };
        let nodes = table.integer("nodes", 1, MOST_NODES)?;
        let nodes = table.need("nodes", nodes, "give the number, such as nodes = 50")? as usize;
        let area = read_area(&table)?;
        let mobility = read_mobility(&table, nodes, area, duration)?;
        let propagation = read_propagation(&table)?;
        let config = RadioConfig {
            nodes: Vec::new(),
            propagation,
            mac: read_mac(&table, ns2)?,
            arp: table.switch("arp")?.unwrap_or(true),
            queue: read_queue(&table)?,
            link_delay: table.quantity("link_delay", "25us")?.unwrap_or(if ns2 {
                LINK_DELAY
            } else {
                Span::ZERO
            }),
            routing: read_routing(&table, ns2)?,
            seed: 0,
        };
        let flows = read_traffic(top, &table, nodes, duration)?;
        table.finish()?;
        let area = area.unwrap_or([0.0; 2]);
        Ok(Some((RadioNetwork { nodes, area, mobility, config }, flows)))
    }
}

/// One of some words.
fn word<'a>(table: &TableReader<'a>, key: &'static str, known: &[&'static str]) -> Result<Option<&'a str>> {
    match table.text(key)? {
        Some(other) if !known.contains(&other) => {
            let message = format!("unknown {key} \"{other}\"; {}", nearest(other, known.iter().copied()));
            Err(table.error(key, message))
        }
        found => Ok(found),
    }
}

fn read_area(table: &TableReader<'_>) -> Result<Option<[f64; 2]>> {
    let Some(items) = table.list("area")? else { return Ok(None) };
    let sides: Vec<f64> = items
        .iter()
        .map(|item| super::table::quantity::<Length>(item, &table.path("area"), "600m").map(Length::metres))
        .collect::<Result<_>>()?;
    match sides[..] {
        [x, y] if x > 0.0 && y > 0.0 && x.max(y) <= 1e7 => Ok(Some([x, y])),
        _ => Err(table.error("area", "must be two sides of at most 10,000 km, such as [\"600m\", \"600m\"]")),
    }
}

fn read_mobility(
    table: &TableReader<'_>,
    nodes: usize,
    area: Option<[f64; 2]>,
    duration: Span,
) -> Result<Mobility> {
    let inner = table.table("mobility")?;
    let remedy = "how they move, such as mobility = { kind = \"random_waypoint\", max_speed = \"10mps\" }";
    let inner = table.need("mobility", inner, remedy)?;
    let kind = word(&inner, "kind", &["random_waypoint", "static", "ns2"])?;
    let mobility = match inner.need("kind", kind, "random_waypoint, static or ns2")? {
        "random_waypoint" => {
            let area = table.need("area", area, "where they move, such as area = [\"600m\", \"600m\"]")?;
            let model = read_waypoint(&inner, area)?;
            let trips = nodes as f64 * duration.seconds() / model.mean_trip().0;
            if trips > MOST_TRIPS {
                let message = format!(
                    "{trips:.0} trips are more than {MOST_TRIPS:.0}; use a larger area, slower nodes or longer pauses"
                );
                return Err(inner.error("max_speed", message));
            }
            Mobility::Waypoint(model)
        }
        "static" => {
            let positions = inner.list("positions")?;
            let positions =
                inner.need("positions", positions, "places in metres, such as [[0, 0], [150, 0]]")?;
            if positions.len() != nodes {
                let message = format!("has {} places for {nodes} nodes", positions.len());
                return Err(inner.error("positions", message));
            }
            let places = positions.iter().map(|item| read_place(&inner, item).map(Trajectory::new));
            Mobility::Trajectories(Arc::new(places.collect::<Result<_>>()?))
        }
        _ => {
            let remedy = "a movement file of setdest or BonnMotion";
            let (_, text) = inner.need("file", inner.file("file")?, remedy)?;
            let paths = movement::parse(&text, nodes).map_err(|message| inner.error("file", message))?;
            Mobility::Trajectories(Arc::new(paths))
        }
    };
    inner.finish()?;
    Ok(mobility)
}

fn read_waypoint(inner: &TableReader<'_>, area: [f64; 2]) -> Result<RandomWaypoint> {
    let fast: Option<Speed> = inner.quantity("max_speed", "10mps")?;
    let fast = inner.need("max_speed", fast, "such as max_speed = \"10mps\"")?.metres_per_second();
    let slow: Option<Speed> = inner.quantity("min_speed", "1mps")?;
    let slow = slow.map_or(fast.min(1.0), Speed::metres_per_second);
    if slow <= 0.0 || slow > fast || fast > 1e5 {
        return Err(
            inner.error("min_speed", "must be above zero and at most max_speed, which is at most 100 km/s")
        );
    }
    let pause: Span = inner.quantity("pause", "2s")?.unwrap_or(Span::ZERO);
    let start = match word(inner, "init", &["steady", "cmu"])? {
        Some("cmu") => Start::Cmu,
        _ => Start::Steady,
    };
    Ok(RandomWaypoint { area, speed: [slow, fast], pause, start })
}

fn read_place(inner: &TableReader<'_>, item: &TomlItem) -> Result<[f64; 2]> {
    let number = |item: &TomlItem| match item.value {
        TomlValue::Integer(n) => Some(n as f64),
        TomlValue::Float(n) if n.is_finite() => Some(n),
        _ => None,
    };
    if let TomlValue::List(pair) = &item.value
        && let [x, y] = &pair[..]
        && let (Some(x), Some(y)) = (number(x), number(y))
        && x.abs().max(y.abs()) <= 1e7
    {
        return Ok([x, y]);
    }
    Err(ScenarioError::new(
        &item.origin,
        &inner.path("positions"),
        "must be two numbers, metres, such as [150, 0]",
    ))
}

fn read_propagation(table: &TableReader<'_>) -> Result<Propagation> {
    let Some(inner) = table.table("propagation")? else { return Ok(Propagation::with_defaults(0)) };
    let model = match word(&inner, "kind", &["two_ray", "friis", "shadowing"])? {
        None | Some("two_ray") => Model::TwoRay,
        Some("friis") => Model::Friis,
        Some(_) => Model::Shadowing {
            exponent: inner.number("exponent", 1.0, 10.0)?.unwrap_or(2.0),
            deviation: inner.number("deviation_db", 0.0, 30.0)?.unwrap_or(4.0),
            reference: inner.number("reference_distance", 0.01, 1000.0)?.unwrap_or(1.0),
        },
    };
    let mut read = Propagation { model, ..Propagation::with_defaults(0) };
    inner.each(Propagation::KEYS, |key, value| read.set(key, value))?;
    if read.range() > FARTHEST {
        let message = format!(
            "the range is {:.0} m; a reply would arrive later than SIFS; the maximum range is {FARTHEST} m",
            read.range()
        );
        return Err(inner.error("power", message));
    }
    if read.sense_threshold > read.receive_threshold {
        let message = "must be at most receive_threshold: a station senses every frame that it receives";
        return Err(inner.error("carrier_sense_threshold", message));
    }
    inner.finish()?;
    Ok(read)
}

fn read_mac(table: &TableReader<'_>, ns2: bool) -> Result<MacConfig> {
    let empty = TomlItem::table(crate::error::Origin::command_line("radio.mac"));
    let mac = table.table("mac")?;
    let inner = match mac {
        Some(inner) => inner,
        None => TableReader::new(table.path("mac"), &empty)?,
    };
    let read = MacConfig::new(&inner.values(&MAC, if ns2 { 0 } else { 1 })?);
    for (key, rate) in [("rate", read.rate), ("basic_rate", read.basic_rate)] {
        if ![1_000_000, 2_000_000, 5_500_000, 11_000_000].contains(&rate.bps()) {
            return Err(
                inner.error(key, format!("{rate} is not an 802.11b rate; write 1, 2, 5.5 or 11 Mbps"))
            );
        }
    }
    if read.preamble < Span::from_ps(192_000_000) && read.rate.min(read.basic_rate).bps() == 1_000_000 {
        return Err(inner.error(
            "preamble",
            "a short preamble needs at least 2 Mbps; write rate and basic_rate = \"2Mbps\" or more",
        ));
    }
    Ok(read)
}

fn read_queue(table: &TableReader<'_>) -> Result<usize> {
    let Some(inner) = table.table("queue")? else { return Ok(49) };
    if let Some(kind) = inner.text("kind")?.filter(|kind| *kind != "droptail")
        && net::qdisc::disciplines().any(|known| known.name() == kind)
    {
        let message = format!(
            "the interface queue of a station is \"droptail\"; put \"{kind}\" on a [[link]] behind a gateway"
        );
        return Err(inner.error("kind", message));
    }
    word(&inner, "kind", &["droptail"])?;
    let limit: Option<Limit> = inner.quantity("limit", "49p")?;
    let limit = match limit {
        None => 49,
        Some(Limit::Packets(n)) if n <= 1_000_000 => n as usize,
        Some(_) => return Err(inner.error("limit", "must be packets, such as \"49p\", at most a million")),
    };
    inner.finish()?;
    Ok(limit)
}

/// The constants of AODV in ns-2 or in RFC 3561.
fn aodv(ns2: bool) -> AodvConfig {
    AodvConfig::with_defaults(if ns2 { 0 } else { 1 }).of_variant(ns2)
}

fn read_routing(table: &TableReader<'_>, ns2: bool) -> Result<RoutingConfig> {
    let Some(inner) = table.table("routing")? else {
        return Ok(RoutingConfig::Aodv(aodv(ns2)));
    };
    if word(&inner, "kind", &["aodv", "static"])? == Some("static") {
        inner.finish()?;
        return Ok(RoutingConfig::Static);
    }
    let ns2 = match word(&inner, "variant", &["rfc", "ns2"])? {
        None => ns2,
        Some(variant) => variant == "ns2",
    };
    let mut aodv = aodv(ns2);
    inner.each(AodvConfig::KEYS, |key, value| aodv.set(key, value))?;
    if aodv.hello.is_none() && !aodv.link_layer_detection {
        return Err(inner.error(
            "link_layer_detection",
            "without it hello messages must detect broken links; write hello = \"1s\"",
        ));
    }
    inner.finish()?;
    Ok(RoutingConfig::Aodv(aodv))
}

/// The traffic of the CMU generator: flows to the next node and the one after it, started at random.
fn read_traffic(
    top: &TableReader<'_>,
    table: &TableReader<'_>,
    nodes: usize,
    duration: Span,
) -> Result<Vec<Flow>> {
    let Some(inner) = table.table("traffic")? else { return Ok(Vec::new()) };
    let kind = word(&inner, "kind", &["cbrgen", "none"])?;
    if inner.need("kind", kind, "such as kind = \"cbrgen\"")? == "none" {
        inner.finish()?;
        return Ok(Vec::new());
    }
    let seed = inner.integer("seed", 1, 4_294_944_442)?.unwrap_or(1);
    let most = inner.integer("connections", 1, 1_000_000)?;
    let most = inner.need("connections", most, "give the maximum number, such as connections = 40")? as usize;
    let packet = inner.bytes("packet", 1, 65_000)?.unwrap_or(512) as u32;
    let rate = inner.number("rate", 1e-3, 1e6)?.unwrap_or(4.0);
    let stream = match word(&inner, "type", &["cbr", "tcp"])? {
        Some("tcp") => {
            let layers = TcpLayers { defaults: top.get("tcp"), flow_table: None, path: String::new() };
            FlowKind::Tcp(Arc::new(layers.read()?))
        }
        _ => FlowKind::Udp {
            packet,
            schedule: vec![(Span::ZERO, Rate::from_bps(((rate * packet as f64 * 8.0) as u64).max(1)))],
            period: None,
            jitter: 0.5,
        },
    };
    if nodes < 2 {
        return Err(table.error("nodes", "traffic needs at least two nodes"));
    }
    inner.finish()?;
    let pairs = cbrgen(seed, nodes, most);
    let flows = pairs.into_iter().enumerate().map(|(number, (from, to, start))| Flow {
        name: format!("g{number}"),
        from: RadioNetwork::name(from),
        to: RadioNetwork::name(to),
        start: Span::from_seconds(start),
        start_jitter: Span::ZERO,
        stop: None,
        bytes: None,
        writes: Vec::new(),
        access: None,
        kind: stream.clone(),
    });
    Ok(flows.filter(|flow| flow.start < duration).collect())
}
