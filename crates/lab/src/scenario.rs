//! The scenario format (TOML): parsed once into what a run needs.

use crate::error::{ScenarioError, nearest};
use crate::layout::{Routers, radio_names};
use crate::overrides;
use crate::queue::Queue;
use crate::radio::RadioNetwork;
use crate::reader::{Reader, quantity};
use crate::router::read_router;
use crate::satellites::Satellites;
use crate::tcp::{TcpFlow, TcpLayers};
use crate::traffic::{self, Traffic};
use crate::value::{self, Item, Value};
use net::RouterConfig;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use units::{Limit, Rate, Span};

type Result<T> = std::result::Result<T, ScenarioError>;

/// An experiment, ready to be built under any seed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The question that it asks.
    pub title: String,
    /// How long it runs.
    pub duration: Span,
    /// How much of its beginning the outcome leaves out.
    pub warmup: Span,
    /// The seed that the file names; 1 where it names none.
    pub seed: u64,
    /// The links, each with its two directions.
    pub links: Vec<Duplex>,
    /// The flows, in the order of the file.
    pub flows: Vec<Flow>,
    /// Sources of flows that the seed draws.
    pub traffic: Vec<Traffic>,
    /// The outcome has quantiles of delays too: every packet's delay is kept.
    pub delays: bool,
    /// Satellites and terminals, if there are any.
    pub satellites: Option<Arc<Satellites>>,
    /// Nodes with radios, if there are any.
    pub radio: Option<Arc<RadioNetwork>>,
    /// Whether the file asks for a study (`sweep`).
    pub is_study: bool,
}

/// A duplex link.
#[derive(Clone, Debug)]
pub struct Duplex {
    /// Its name in the scenario.
    pub name: Option<String>,
    /// The nodes at its ends; forward goes from the first to the second.
    pub ends: [String; 2],
    /// Forward, then back.
    pub directions: [Direction; 2],
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Direction {
    /// Bits per second.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Its queue.
    pub queue: Queue,
    /// What else happens to packets.
    pub loss: Loss,
    /// The router before it tells rates.
    pub router: Option<RouterConfig>,
}

/// What happens to packets on a link.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// Nothing.
    None,
    /// Independent losses.
    Bernoulli {
        /// Probability per packet.
        rate: f64,
    },
    /// Losses in bursts.
    GilbertElliott {
        /// Good to bad, per packet.
        p: f64,
        /// Bad to good, per packet.
        r: f64,
        /// Probability of loss in the good state.
        loss_good: f64,
        /// Probability of loss in the bad state.
        loss_bad: f64,
    },
    /// Named packets.
    List {
        /// Of which flow.
        flow: String,
        /// Their numbers.
        packets: Vec<u64>,
    },
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// The node that sends data.
    pub from: String,
    /// The node that receives it.
    pub to: String,
    /// When it starts.
    pub start: Span,
    /// The seed adds up to this much to its start.
    pub start_jitter: Span,
    /// When it stops offering data.
    pub stop: Option<Span>,
    /// How much it has to send.
    pub bytes: Option<u64>,
    /// What kind of flow it is.
    pub kind: FlowKind,
}

/// TCP or UDP.
#[derive(Clone, Debug)]
pub enum FlowKind {
    /// TCP with its options and controller.
    Tcp(Arc<TcpFlow>),
    /// Constant bit rate in steps.
    Udp {
        /// Bytes per packet.
        packet: u32,
        /// From when on which rate holds.
        schedule: Vec<(Span, Rate)>,
        /// Each gap is longer or shorter by up to this part of it, at random.
        jitter: f64,
    },
}

pub(crate) const MOST_FLOWS: usize = 1_000_000;
/// A byte takes a picosecond.
const FASTEST: Rate = Rate::from_bps(8_000_000_000_000);
/// Eleven days.
const LONGEST_DELAY: Span = Span::from_ms(1_000_000_000);

impl Scenario {
    /// Parses `text`, called `file` in messages, with `KEY=VALUE` assignments applied first.
    pub fn parse(file: &str, text: &str, assignments: &[String]) -> Result<Scenario> {
        let mut document = value::parse_scenario(file, text)?;
        for assignment in assignments {
            overrides::apply(&mut document, assignment)?;
        }
        Scenario::read(&document)
    }

    /// Takes a scenario from a document, whatever its `sweep` says.
    pub(crate) fn read(document: &Item) -> Result<Scenario> {
        let top = Reader::new("", document)?;
        let title = top.text("title")?.unwrap_or("").to_string();
        let duration: Span = top.need(
            "duration",
            top.quantity("duration", "200s")?,
            "say how long to run, such as duration = \"200s\"",
        )?;
        if duration == Span::ZERO {
            return Err(top.error("duration", "must be more than zero"));
        }
        let warmup: Span = top.quantity("warmup", "20s")?.unwrap_or(Span::ZERO);
        if warmup >= duration {
            return Err(top.error("warmup", format!("must be shorter than the duration, {duration}")));
        }
        let seed = top.integer("seed", 0, i64::MAX as u64)?.unwrap_or(1);
        let radio = RadioNetwork::read(&top, duration)?;
        let (radio, generated) = radio.map_or((None, Vec::new()), |(r, flows)| (Some(Arc::new(r)), flows));
        let satellites = Satellites::read(&top, duration)?.map(Arc::new);
        let is_study = top.get("sweep").is_some();
        let tcp = top.get("tcp");

        // Read once for its own sake: it may have no flow to be read with.
        TcpLayers { defaults: tcp, own: None, path: String::new() }.read()?;

        let link_items = top.list("link")?.unwrap_or(&[]);
        let links: Vec<Duplex> =
            link_items.iter().enumerate().map(|(i, item)| read_link(i, item)).collect::<Result<_>>()?;
        if links.is_empty() && satellites.is_none() && radio.is_none() {
            return Err(top.error("link", "is missing: name at least one [[link]]"));
        }
        if satellites.is_some() && radio.is_some() {
            return Err(top.error("radio", "satellites and radio nodes do not go together yet"));
        }
        let nodes = Nodes::new(&links, satellites.as_deref(), radio.as_deref());
        let flow_items = top.list("flow")?.unwrap_or(&[]);
        if flow_items.len() > MOST_FLOWS {
            return Err(top.error("flow", format!("{} flows are more than {MOST_FLOWS}", flow_items.len())));
        }
        let mut flows: Vec<Flow> = flow_items
            .iter()
            .enumerate()
            .map(|(i, item)| read_flow(i, item, tcp, &nodes))
            .collect::<Result<_>>()?;
        flows.extend(generated);
        let traffic: Vec<Traffic> = top
            .list("traffic")?
            .unwrap_or(&[])
            .iter()
            .enumerate()
            .map(|(i, item)| Traffic::read(i, item, tcp, &nodes, duration))
            .collect::<Result<_>>()?;
        let expected: f64 = traffic.iter().map(|table| table.expected(duration)).sum();
        if flows.len() as f64 + expected > MOST_FLOWS as f64 {
            let all = flows.len() as f64 + expected;
            let message = format!("with all tables about {all:.0} flows, more than {MOST_FLOWS}");
            return Err(top.error("traffic", message));
        }
        let delays = top.switch("delays")?.unwrap_or(false);
        if flows.is_empty() && top.table("radio")?.is_some_and(|radio| radio.get("traffic").is_some()) {
            let message = "the generator made no flow that starts within the duration: take another seed, more nodes or more time";
            return Err(top.error("radio", message));
        }
        if flows.is_empty() && traffic.is_empty() {
            return Err(top.error("flow", "is missing: name at least one [[flow]]"));
        }
        check_names(link_items, &links, flow_items, &flows)?;
        traffic::check_names(top.list("traffic")?.unwrap_or(&[]), &traffic, &flows)?;
        Routers::new(&links, radio.as_deref(), satellites.is_some()).check(document, flow_items, &flows)?;
        if let Some(satellites) = &satellites {
            check_ground(link_items, &links, &satellites.sky)?;
        }
        top.finish()?;
        Ok(Scenario {
            title,
            duration,
            warmup,
            seed,
            links,
            flows,
            traffic,
            delays,
            satellites,
            radio,
            is_study,
        })
    }

    /// The satellites of `text` alone, whatever else the file has or lacks, for `until` from the start; and its seed.
    pub fn parse_sky(
        file: &str,
        text: &str,
        assignments: &[String],
        until: Span,
    ) -> Result<(Satellites, u64)> {
        let mut document = value::parse_scenario(file, text)?;
        for assignment in assignments {
            overrides::apply(&mut document, assignment)?;
        }
        let top = Reader::new("", &document)?;
        let seed = top.integer("seed", 0, i64::MAX as u64)?.unwrap_or(1);
        let found = Satellites::read(&top, until)?;
        Ok((top.need("constellation", found, "there are no satellites to follow")?, seed))
    }
}

/// The nodes that links name, each with the part of the network that it belongs to.
pub(crate) struct Nodes {
    parts: BTreeMap<String, usize>,
}

impl Nodes {
    fn new(links: &[Duplex], satellites: Option<&Satellites>, radio: Option<&RadioNetwork>) -> Nodes {
        let radios = radio_names(radio);
        let mut parts = BTreeMap::new();
        let terminals = satellites.iter().flat_map(|s| &s.sky.terminals).map(|t| t.name.as_str());
        let terminals: Vec<&str> = terminals.collect();
        let wired = links.iter().flat_map(|link| &link.ends).map(String::as_str);
        for name in terminals.iter().copied().chain(radios.iter().map(String::as_str)).chain(wired) {
            let number = parts.len();
            parts.entry(name).or_insert(number);
        }
        // Every link joins two parts: the lower number stands for both (union-find with halved paths).
        let mut lower: Vec<usize> = (0..parts.len()).collect();
        fn find(lower: &mut [usize], mut part: usize) -> usize {
            while lower[part] != part {
                lower[part] = lower[lower[part]];
                part = lower[part];
            }
            part
        }
        // The sky joins all terminals, the air all radio nodes.
        let skyward = terminals.windows(2).map(|pair| [pair[0], pair[1]]);
        let airward = radios.windows(2).map(|pair| [pair[0].as_str(), pair[1].as_str()]);
        let wired = links.iter().map(|link| link.ends.each_ref().map(String::as_str));
        for ends in wired.chain(skyward).chain(airward) {
            let [a, b] = ends.map(|name| find(&mut lower, parts[name]));
            lower[a.max(b)] = a.min(b);
        }
        let parts =
            parts.into_iter().map(|(name, part)| (name.to_string(), find(&mut lower, part))).collect();
        Nodes { parts }
    }
}

/// Names are unique, and losses name flows that exist.
fn check_names(link_items: &[Item], links: &[Duplex], flow_items: &[Item], flows: &[Flow]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for (item, flow) in flow_items.iter().zip(flows) {
        if !seen.insert(flow.name.as_str()) {
            let message = format!("another flow is called \"{}\" too", flow.name);
            return Err(ScenarioError::new(&item.origin, &format!("flow.{}.name", flow.name), message));
        }
    }
    let mut named = BTreeSet::new();
    for (item, link) in link_items.iter().zip(links) {
        let reader = Reader::new("link", item)?;
        if let Some(name) = reader.text("name")?
            && !named.insert(name)
        {
            return Err(reader.error("name", format!("another link is called \"{name}\" too")));
        }
        for direction in &link.directions {
            if let Loss::List { flow, .. } = &direction.loss
                && !seen.contains(flow.as_str())
            {
                let message =
                    format!("names the flow \"{flow}\", which does not exist; {}", nearest(flow, seen));
                return Err(reader.error("loss", message));
            }
        }
    }
    Ok(())
}

/// Wires end on the ground.
fn check_ground(link_items: &[Item], links: &[Duplex], sky: &orbit::Sky) -> Result<()> {
    let satellites = (0..sky.constellation.len()).map(|s| sky.constellation.name(s));
    let taken: BTreeSet<&str> = satellites.chain(["*", "seam"]).collect();
    for (item, link) in link_items.iter().zip(links) {
        if let Some(name) = link.ends.iter().find(|name| taken.contains(name.as_str())) {
            let reader = Reader::new("link", item)?;
            let message = format!("\"{name}\" is a name of the sky's: wires end at terminals and nodes");
            return Err(reader.error("ends", message));
        }
    }
    Ok(())
}

fn read_link(index: usize, item: &Item) -> Result<Duplex> {
    let plain = Reader::new(format!("link[{index}]"), item)?;
    let given = plain.text("name")?.map(str::to_string);
    let name = given.as_ref().map_or(format!("link[{index}]"), |name| format!("link.{name}"));
    let reader = Reader::new(name, item)?;
    reader.text("name")?;
    let ends =
        reader.need("ends", reader.list("ends")?, "name the two nodes, such as ends = [\"a\", \"b\"]")?;
    let ends: Vec<String> = ends
        .iter()
        .filter_map(|e| if let Value::Text(t) = &e.value { Some(t.clone()) } else { None })
        .filter(|t| !t.is_empty() && !t.contains("->"))
        .collect();
    let Ok(ends) = <[String; 2]>::try_from(ends) else {
        return Err(reader.error("ends", "must be two node names, such as [\"a\", \"b\"], without \"->\""));
    };
    if ends[0] == ends[1] {
        return Err(reader.error("ends", format!("a link from \"{}\" to itself", ends[0])));
    }
    let forward = Direction {
        rate: reader.need("rate", read_rate(&reader)?, "such as rate = \"10Mbps\"")?,
        delay: reader.need("delay", read_delay(&reader)?, "such as delay = \"10ms\"")?,
        queue: Queue::read(&reader)?.unwrap_or(Queue::Unlimited),
        loss: read_loss(&reader)?.unwrap_or(Loss::None),
        router: read_router(&reader)?,
    };
    let mut back = forward.clone();
    if let Some(differs) = reader.table("back")? {
        back.rate = read_rate(&differs)?.unwrap_or(back.rate);
        back.delay = read_delay(&differs)?.unwrap_or(back.delay);
        back.queue = Queue::read(&differs)?.unwrap_or(back.queue);
        back.loss = read_loss(&differs)?.unwrap_or(back.loss);
        back.router = read_router(&differs)?.or(back.router);
        differs.finish()?;
    }
    reader.finish()?;
    Ok(Duplex { name: given, ends, directions: [forward, back] })
}

pub(crate) fn read_rate(reader: &Reader<'_>) -> Result<Option<Rate>> {
    read_rate_key(reader, "rate")
}

pub(crate) fn read_rate_key(reader: &Reader<'_>, key: &'static str) -> Result<Option<Rate>> {
    let rate: Option<Rate> = reader.quantity(key, "10Mbps")?;
    match rate {
        Some(rate) if rate.bps() == 0 => Err(reader.error(key, "must be more than zero")),
        Some(rate) if rate > FASTEST => Err(reader.error(key, format!("{rate} is more than {FASTEST}"))),
        rate => Ok(rate),
    }
}

fn read_delay(reader: &Reader<'_>) -> Result<Option<Span>> {
    let delay: Option<Span> = reader.quantity("delay", "10ms")?;
    match delay {
        Some(delay) if delay > LONGEST_DELAY => {
            Err(reader.error("delay", format!("{delay} is more than {LONGEST_DELAY}")))
        }
        delay => Ok(delay),
    }
}

pub(crate) fn read_loss(reader: &Reader<'_>) -> Result<Option<Loss>> {
    let Some(loss) = reader.table("loss")? else { return Ok(None) };
    let kind = loss.need("kind", loss.text("kind")?, "such as kind = \"bernoulli\"")?;
    let read = match kind {
        "none" => Loss::None,
        "bernoulli" => Loss::Bernoulli {
            rate: loss.need("rate", loss.number("rate", 0.0, 1.0)?, "a probability, such as rate = 0.01")?,
        },
        "gilbert_elliott" => Loss::GilbertElliott {
            p: loss.need("p", loss.number("p", 0.0, 1.0)?, "probability good to bad, such as p = 0.001")?,
            r: loss.need("r", loss.number("r", 0.0, 1.0)?, "probability bad to good, such as r = 0.1")?,
            loss_good: loss.number("loss_good", 0.0, 1.0)?.unwrap_or(0.0),
            loss_bad: loss.number("loss_bad", 0.0, 1.0)?.unwrap_or(1.0),
        },
        "list" => Loss::List {
            flow: loss
                .need("flow", loss.text("flow")?, "name the flow whose packets are dropped")?
                .to_string(),
            packets: read_numbers(&loss)?,
        },
        "trace" => return Err(loss.error("kind", "\"trace\" is not in this version yet")),
        other => {
            let known = net::impairment::IMPAIRMENTS.iter().map(|i| i.name);
            return Err(loss.error("kind", format!("unknown loss \"{other}\"; {}", nearest(other, known))));
        }
    };
    loss.finish()?;
    Ok(Some(read))
}

fn read_numbers(loss: &Reader<'_>) -> Result<Vec<u64>> {
    let items =
        loss.need("packets", loss.list("packets")?, "packet numbers from 0, such as packets = [14, 26]")?;
    items
        .iter()
        .map(|item| match item.value {
            Value::Integer(n) if n >= 0 => Ok(n as u64),
            _ => Err(ScenarioError::new(
                &item.origin,
                &loss.path("packets"),
                "must be whole numbers from 0 on",
            )),
        })
        .collect()
}

fn read_flow(index: usize, item: &Item, tcp: Option<&Item>, nodes: &Nodes) -> Result<Flow> {
    let plain = Reader::new(format!("flow[{index}]"), item)?;
    let name = plain.text("name")?.map_or(format!("flow{index}"), str::to_string);
    let reader = Reader::new(format!("flow.{name}"), item)?;
    reader.text("name")?;
    let node = |key: &'static str| reader.need(key, reader.text(key)?, "name a node");
    let (from, to) = (node("from")?.to_string(), node("to")?.to_string());
    check_ends(&reader, nodes, &from, &to)?;
    let start: Span = reader.quantity("start", "0s")?.unwrap_or(Span::ZERO);
    let start_jitter: Span = reader.quantity("start_jitter", "1s")?.unwrap_or(Span::ZERO);
    let stop: Option<Span> = reader.quantity("stop", "150s")?;
    if stop.is_some_and(|stop| stop <= start + start_jitter) {
        return Err(reader.error("stop", "must be later than the start and its jitter"));
    }
    let bytes = read_bytes(&reader)?;
    let udp = reader.table("udp")?;
    let own = reader.get("tcp");
    let kind = match udp {
        Some(_) if own.is_some() => return Err(reader.error("udp", "a flow is either tcp or udp")),
        Some(udp) => read_udp(udp)?,
        None => {
            let tcp = TcpLayers { defaults: tcp, own, path: reader.path("tcp") }.read()?;
            if let Some(bytes) = bytes
                && bytes.div_ceil(tcp.options.packet as u64) >= u32::MAX as u64
            {
                return Err(reader.error("bytes", "more than 4 billion segments"));
            }
            FlowKind::Tcp(Arc::new(tcp))
        }
    };
    if bytes.is_some() && matches!(kind, FlowKind::Udp { .. }) {
        return Err(reader.error("bytes", "is for tcp; give a udp flow a stop time"));
    }
    reader.finish()?;
    Ok(Flow { name, from, to, start, start_jitter, stop, bytes, kind })
}

/// Whether a flow can run between two nodes.
pub(crate) fn check_ends(reader: &Reader<'_>, nodes: &Nodes, from: &str, to: &str) -> Result<()> {
    for (key, node) in [("from", from), ("to", to)] {
        if !nodes.parts.contains_key(node) {
            let remark = nearest(node, nodes.parts.keys().map(String::as_str));
            return Err(reader.error(key, format!("there is no node \"{node}\"; {remark}")));
        }
    }
    if from == to {
        return Err(reader.error("to", "a flow needs two different nodes"));
    }
    if nodes.parts[from] != nodes.parts[to] {
        return Err(reader.error("to", format!("there is no path from \"{from}\" to \"{to}\"")));
    }
    Ok(())
}

fn read_bytes(reader: &Reader<'_>) -> Result<Option<u64>> {
    match reader.quantity::<Limit>("bytes", "10MB")? {
        None => Ok(None),
        Some(Limit::Bytes(n)) if n > 0 => Ok(Some(n)),
        Some(_) => Err(reader.error("bytes", "must be a number of bytes, such as \"10MB\"")),
    }
}

fn read_udp(udp: Reader<'_>) -> Result<FlowKind> {
    let packet = udp.bytes("packet", 1, 65_535)?.unwrap_or(1000) as u32;
    let rate: Option<Rate> = udp.quantity("rate", "20kbps")?;
    let mut schedule: Vec<(Span, Rate)> = rate.map(|rate| (Span::ZERO, rate)).into_iter().collect();
    let mut last = None;
    for item in udp.list("schedule")?.unwrap_or(&[]) {
        let path = udp.path("schedule");
        let Value::List(pair) = &item.value else {
            return Err(ScenarioError::new(
                &item.origin,
                &path,
                "must be pairs, such as [[\"0s\", \"1Mbps\"], [\"30s\", \"2Mbps\"]]",
            ));
        };
        let [at, rate] = &pair[..] else {
            return Err(ScenarioError::new(&item.origin, &path, "each step is a time and a rate"));
        };
        let step: (Span, Rate) = (quantity(at, &path, "30s")?, quantity(rate, &path, "2Mbps")?);
        if last.is_some_and(|last| step.0 <= last) {
            return Err(ScenarioError::new(&item.origin, &path, "steps must come in the order of time"));
        }
        last = Some(step.0);
        if step.0 == Span::ZERO {
            schedule.clear(); // it replaces the plain rate
        }
        schedule.push(step);
    }
    if let Some((_, rate)) = schedule.iter().find(|(_, rate)| *rate > FASTEST) {
        return Err(udp.error("rate", format!("{rate} is more than {FASTEST}")));
    }
    if schedule.is_empty() {
        return Err(udp.error("rate", "is missing: give a rate such as \"20kbps\", or a schedule"));
    }
    let jitter = udp.number("jitter", 0.0, 1.0)?.unwrap_or(0.0);
    udp.finish()?;
    Ok(FlowKind::Udp { packet, schedule, jitter })
}
