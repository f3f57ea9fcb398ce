//! Reads `[radio]`: nodes, movement, medium, MAC, routing, and the CMU generator's traffic.

use super::model::{Flow, Mobility, RadioNetwork};
use super::movement;
use super::radio_traffic::read_traffic;
use super::reading::{Result, shared};
use super::table::TableReader;
use super::transports::Defaults;
use engine::Stream;
use net::radio::{
    AodvConfig, MacConfig, Propagation, RadioConfig, RandomWaypoint, RoutingConfig, Start, Trajectory,
};
use params::Form::{self, Integer, List, Number, Quantity, Range, Row, Switch, Text, Word};
use params::{Key, Table, Unit, Values, by_profile, key};
use std::sync::Arc;
use units::{Length, Limit, Span, Speed, Time};

/// Maximum range, m: within it the propagation delay is less than SIFS.
const FARTHEST: f64 = 2900.0;

const MOST_TRIPS: f64 = 2e7;

/// A network of radio nodes.
pub(super) static RADIO: Table = Table::new(
    "radio",
    "`[radio]`",
    &[&[
        key("profile", Word(&["std", "ns2"]), "\"std\"", "defaults as in the standards, or as in ns-2.35"),
        NODES,
        key(
            "area",
            Row(&[SIDE, SIDE], "[\"600m\", \"600m\"]"),
            "none",
            "sides of the rectangle in which nodes move",
        ),
        MOVEMENT,
        key(
            "propagation",
            Form::Table("propagation"),
            "two-ray ground, ns-2's WaveLAN card",
            "propagation model and thresholds",
        ),
        key("mac", Form::Table("mac"), "802.11 at 1 Mb/s", "the 802.11 MAC"),
        key("arp", Switch, "true", "addresses of neighbours are resolved before the first packet"),
        key(
            "queue",
            Form::Table("radio_queue"),
            "49 packets",
            "interface queue of each node: `{ kind = \"droptail\", limit = \"49p\" }`",
        ),
        // The link delay of ns-2 affects results: after a link failure, routing messages are queued behind the packet that the
        // MAC takes from the queue at that time.
        by_profile(
            "link_delay",
            Quantity(Unit::Time, "25us"),
            ["\"25us\"", "\"0s\""],
            "delay between link layer and interface queue",
        ),
        key("routing", Form::Table("routing"), "AODV", "routing protocol"),
        key("traffic", Form::Table("radio_traffic"), "none", "generator of flows"),
    ]],
);

const NODES: Key = key("nodes", Integer(1, 10_000), "", "number of nodes, named n0, n1, ...");

const MOVEMENT: Key = key(
    "mobility",
    Form::Table("mobility"),
    "",
    "positions and movement of the nodes, such as `{ kind = \"random_waypoint\", max_speed = \"10mps\" }`",
);

const SIDE: Form = Range(Unit::Length, "600m", "0.001m", "10000km");

const POSITION: Form = Row(&[Number(-1e7, 1e7), Number(-1e7, 1e7)], "[150, 0]");

/// The positions and the movement of radio nodes.
pub(super) static MOBILITY: Table = Table::new(
    "mobility",
    "`mobility` of a radio network",
    &[&[
        key(
            "kind",
            Word(&["random_waypoint", "static", "ns2"]),
            "",
            "random waypoint, fixed positions, or a movement file",
        ),
        key(
            "max_speed",
            Range(Unit::Speed, "10mps", "0mps", "100000mps"),
            "none; needed with `kind = \"random_waypoint\"`",
            "random waypoint: largest speed",
        ),
        key(
            "min_speed",
            Quantity(Unit::Speed, "1mps"),
            "1 m/s, at most `max_speed`",
            "random waypoint: smallest speed",
        ),
        key("pause", Quantity(Unit::Time, "2s"), "\"0s\"", "random waypoint: pause between two trips"),
        key(
            "init",
            Word(&["steady", "cmu"]),
            "\"steady\"",
            "random waypoint: start in the steady state, or as setdest does",
        ),
        key(
            "positions",
            List(&POSITION, "[[0, 0], [150, 0]]"),
            "none; needed with `kind = \"static\"`",
            "static: positions of all nodes, m",
        ),
        key(
            "file",
            Text,
            "none; needed with `kind = \"ns2\"`",
            "ns2: movement file of setdest or BonnMotion, plain or gzip",
        ),
    ]],
);

/// The propagation of radio signals.
pub(super) static PROPAGATION: Table = Table::new(
    "propagation",
    "`propagation` of a radio network",
    &[Propagation::MODEL_KEYS, Propagation::KEYS],
);

/// The MAC of radio nodes.
pub(super) static MAC: Table =
    Table::new("mac", "`mac` of a radio network", &[MacConfig::KEYS, MacConfig::VARIANTS]);

/// The routing of radio nodes.
pub(super) static ROUTING: Table = Table::new(
    "routing",
    "`routing` of a radio network",
    &[
        &[
            key("kind", Word(&["aodv", "static"]), "\"aodv\"", "AODV, or neighbours only"),
            by_profile(
                "variant",
                Word(&["rfc", "ns2"]),
                ["\"ns2\"", "\"rfc\""],
                "AODV as in RFC 3561, or as in ns-2.35",
            ),
        ],
        AodvConfig::KEYS,
    ],
);

/// The interface queue of radio nodes.
pub(super) static RADIO_QUEUE: Table = Table::new(
    "radio_queue",
    "`queue` of a radio network",
    &[&[
        key("kind", Word(&["droptail"]), "\"droptail\"", "first in, first out"),
        key("limit", Quantity(Unit::Limit, "49p"), "\"49p\"", "packets that may wait"),
    ]],
);

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
    pub(super) fn read(
        top: &TableReader<'_>,
        defaults: Defaults<'_>,
        duration: Result<Span>,
    ) -> Result<Option<(RadioNetwork, Vec<Flow>)>> {
        let Some(table) = top.table("radio")? else { return Ok(None) };
        // What differs between the profiles is the link delay, the MAC and the routing.
        let ns2 = table.text("profile").is_ok_and(|profile| profile == Some("ns2"));
        let values = table.values(&RADIO, usize::from(!ns2));
        let (propagation, mac) = (read_propagation(&table), read_mac(&table, ns2));
        let (queue, routing) = (read_queue(&table), read_routing(&table, ns2));
        let nodes = table.read::<usize>(&NODES);
        let area = shared(&values).map(|values| {
            let area: Option<[Length; 2]> = values.read("area");
            area.map(|sides| sides.map(Length::metres))
        });
        let mobility = read_mobility(&table, nodes, area, duration);
        let flows = read_traffic(defaults, &table, nodes, duration);
        let values = values?;
        let config = RadioConfig {
            nodes: Vec::new(),
            propagation: propagation?,
            mac: mac?,
            arp: values.read("arp"),
            queue: queue?,
            link_delay: values.read("link_delay"),
            routing: routing?,
            seed: 0,
        };
        let radio =
            RadioNetwork { nodes: nodes?, area: area?.unwrap_or([0.0; 2]), mobility: mobility?, config };
        Ok(Some((radio, flows?)))
    }
}

fn read_mobility(
    table: &TableReader<'_>,
    nodes: Result<usize>,
    area: Result<Option<[f64; 2]>>,
    duration: Result<Span>,
) -> Result<Mobility> {
    let Some(inner) = table.table("mobility")? else { return Err(table.missing_key(&MOVEMENT)) };
    let values = inner.values(&MOBILITY, 0)?;
    let kind: &str = values.read("kind");
    for (other, keys) in [
        ("random_waypoint", &["max_speed", "min_speed", "pause", "init"][..]),
        ("static", &["positions"]),
        ("ns2", &["file"]),
    ] {
        if other != kind {
            inner.refuse(keys, &format!("kind = \"{kind}\""))?;
        }
    }
    Ok(match kind {
        "random_waypoint" => {
            let area = table.need("area", area?, "where they move, such as area = [\"600m\", \"600m\"]")?;
            let model = read_waypoint(&inner, &values, area)?;
            let trips = nodes? as f64 * duration?.seconds() / model.mean_trip().0;
            if trips > MOST_TRIPS {
                let message = format!(
                    "{trips:.0} trips are more than {MOST_TRIPS:.0}; use a larger area, slower nodes or longer pauses"
                );
                return Err(inner.error("max_speed", message));
            }
            Mobility::Waypoint(model)
        }
        "static" => {
            let positions: Option<Vec<[f64; 2]>> = values.read("positions");
            let positions =
                inner.need("positions", positions, "places in metres, such as [[0, 0], [150, 0]]")?;
            let nodes = nodes?;
            if positions.len() != nodes {
                let message = format!("has {} places for {nodes} nodes", positions.len());
                return Err(inner.error("positions", message));
            }
            Mobility::Trajectories(Arc::new(positions.into_iter().map(Trajectory::new).collect()))
        }
        _ => {
            let remedy = "a movement file of setdest or BonnMotion";
            let (_, text) = inner.need("file", inner.file("file")?, remedy)?;
            let paths = movement::parse(&text, nodes?).map_err(|message| inner.error("file", message))?;
            Mobility::Trajectories(Arc::new(paths))
        }
    })
}

fn read_waypoint(inner: &TableReader<'_>, values: &Values, area: [f64; 2]) -> Result<RandomWaypoint> {
    let fast: Option<Speed> = values.read("max_speed");
    let fast = inner.need("max_speed", fast, "such as max_speed = \"10mps\"")?.metres_per_second();
    let slow = values.optional("min_speed").map_or(fast.min(1.0), Speed::metres_per_second);
    if slow <= 0.0 || slow > fast {
        return Err(inner.error("min_speed", "must be above zero and at most max_speed"));
    }
    let start = if values.read::<&str>("init") == "cmu" { Start::Cmu } else { Start::Steady };
    Ok(RandomWaypoint { area, speed: [slow, fast], pause: values.read("pause"), start })
}

fn read_propagation(table: &TableReader<'_>) -> Result<Propagation> {
    let Some(inner) = table.table("propagation")? else { return Ok(Propagation::with_defaults(0)) };
    let values = inner.values(&PROPAGATION, 0)?;
    let kind: &str = values.read("kind");
    if kind != "shadowing" {
        let of_shadowing = ["exponent", "deviation_db", "reference_distance"];
        inner.refuse(&of_shadowing, &format!("kind = \"{kind}\""))?;
    }
    let read = Propagation::new(&values);
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
    Ok(read)
}

fn read_mac(table: &TableReader<'_>, ns2: bool) -> Result<MacConfig> {
    let profile = usize::from(!ns2);
    let Some(inner) = table.table("mac")? else {
        return Ok(MacConfig::new(&Values::of_defaults(&MAC, profile)));
    };
    let read = MacConfig::new(&inner.values(&MAC, profile)?);
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
    let Some(inner) = table.table("queue")? else {
        return Ok(packets(&Values::of_defaults(&RADIO_QUEUE, 0)).unwrap_or_default());
    };
    if let Some(kind) = inner.text("kind").ok().flatten().filter(|kind| *kind != "droptail")
        && net::qdisc::disciplines().any(|discipline| discipline.name() == kind)
    {
        let message = format!(
            "the interface queue of a station is \"droptail\"; put \"{kind}\" on a [[link]] behind a gateway"
        );
        return Err(inner.error("kind", message));
    }
    let wrong = || inner.error("limit", "must be packets, such as \"49p\", at most a million");
    packets(&inner.values(&RADIO_QUEUE, 0)?).ok_or_else(wrong)
}

/// The limit of an interface queue, packets; none if it is not a possible number of packets.
fn packets(queue: &Values) -> Option<usize> {
    match queue.read("limit") {
        Limit::Packets(n) if n <= 1_000_000 => Some(n as usize),
        _ => None,
    }
}

fn read_routing(table: &TableReader<'_>, ns2: bool) -> Result<RoutingConfig> {
    let Some(inner) = table.table("routing")? else {
        return Ok(RoutingConfig::Aodv(AodvConfig::with_defaults(usize::from(!ns2)).of_variant(ns2)));
    };
    if inner.text("kind").ok().flatten() == Some("static") {
        let others: Vec<&str> = ROUTING.keys().map(|key| key.name).filter(|name| *name != "kind").collect();
        let values = inner.values(&ROUTING, 0);
        return inner.refuse(&others, "kind = \"static\"").and(values).map(|_| RoutingConfig::Static);
    }
    // The variant is that of the profile unless the table names one; the other defaults follow it.
    let ns2 = inner.text("variant").ok().flatten().map_or(ns2, |variant| variant == "ns2");
    let aodv = AodvConfig::new(&inner.values(&ROUTING, usize::from(!ns2))?).of_variant(ns2);
    if aodv.hello.is_none() && !aodv.link_layer_detection {
        return Err(inner.error(
            "link_layer_detection",
            "without it hello messages must detect broken links; write hello = \"1s\"",
        ));
    }
    Ok(RoutingConfig::Aodv(aodv))
}
