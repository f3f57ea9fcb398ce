//! What a scenario is, once it has been read: links, flows, traffic, satellites, radio.

use crate::error::{Origin, ScenarioError};
use cc::{ExternalFactory, Params};
use net::radio::{RadioConfig, RandomWaypoint, Trajectory};
use net::{HandoffLoss, RouterConfig};
use orbit::{Rules, SatelliteSystem};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use transport::Options;
use units::{Limit, Rate, Span};

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

/// What a link's queue is to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Queue {
    /// Takes everything.
    Unlimited,
    /// First in, first out, up to a limit.
    DropTail(Limit),
    /// Random early detection.
    Red(RedQueue),
}

/// A RED queue as a scenario gives it. Thresholds are in packets, or in bytes if the limit is; none: as ns-2's automatic
/// settings have it.
#[derive(Clone, Debug, PartialEq)]
pub struct RedQueue {
    /// What may wait.
    pub limit: Limit,
    /// Average below which nothing happens.
    pub min: Option<u64>,
    /// Average at which the probability is `max_p`.
    pub max: Option<u64>,
    /// Probability at `max`.
    pub max_p: f64,
    /// Weight of the newest length in the average.
    pub weight: Option<f64>,
    /// See [`RedConfig`].
    pub gentle: bool,
    /// See [`RedConfig`].
    pub wait: bool,
    /// Bytes of a typical packet.
    pub mean_packet: u32,
    /// Mark instead of dropping.
    pub ecn: bool,
    /// Above this probability ECN does not save a packet.
    pub mark_p: f64,
    /// Move `max_p` so that the average stays between the thresholds.
    pub adaptive: bool,
    /// See [`RedConfig`].
    pub feng: bool,
    /// See [`RedConfig`].
    pub ns2_gentle_slope: bool,
    /// See [`RedConfig`].
    pub count_in_service: bool,
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

/// A TCP flow's controller and options.
#[derive(Clone, Debug)]
pub struct TcpFlow {
    /// The controller.
    pub control: CongestionControl,
    /// Everything else.
    pub options: Options,
}

/// The controller of a flow.
#[derive(Clone, Debug)]
pub enum CongestionControl {
    /// One of [`CONTROLLERS`], with its parameters.
    Registered(&'static str, Params),
    /// One from outside.
    ExternalController(Arc<dyn ExternalFactory>),
    /// One from outside whose code has not been run: reading a scenario runs no code, a run does.
    ExternalSource(Arc<ExternalSource>),
}

/// A controller written in another language: where it is, and what it is given.
#[derive(Clone)]
pub struct ExternalSource {
    /// Its file.
    pub path: PathBuf,
    /// Its class in the file.
    pub class: String,
    /// Its parameters.
    pub arguments: Vec<(String, cc::ParamValue)>,
    /// What decides which code it is: the class, and a hash of the file.
    pub(crate) identity: String,
    /// Where it is named, and by which key.
    pub(crate) origin: Origin,
    pub(crate) key: String,
}

impl ExternalSource {
    pub(crate) fn refuse(&self, message: String) -> ScenarioError {
        ScenarioError::new(&self.origin, &self.key, message)
    }
}

/// What decides results: part of a run's identity.
impl fmt::Debug for ExternalSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.identity, self.arguments)
    }
}

/// A source of TCP flows.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Its name; its flows are NAME0, NAME1, ...
    pub name: String,
    /// The nodes between which its flows run: each takes one of the first and one of the second.
    pub ends: [Vec<String>; 2],
    /// When the first flow may come.
    pub start: Span,
    /// When no more come.
    pub stop: Span,
    /// Payload offered, on average.
    pub load: Rate,
    /// Sizes of the flows.
    pub sizes: Sizes,
    /// TCP of its flows.
    pub tcp: Arc<TcpFlow>,
}

/// How sizes are distributed: The Pareto distribution between two bounds, or one size for all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// Mean, bytes.
    pub mean: f64,
    pub(crate) smallest: f64,
    pub(crate) largest: f64,
    /// Infinite where all have one size.
    pub(crate) shape: f64,
}

/// Nodes with radios, and what they say by themselves.
#[derive(Clone, Debug)]
pub struct RadioNetwork {
    /// Their number; they are called n0, n1, ...
    pub nodes: usize,
    /// Sides of the rectangle that they are in, m.
    pub area: [f64; 2],
    /// How they move.
    pub mobility: Mobility,
    /// Propagation, MAC, queue and routing; its nodes and seed are filled in for a run.
    pub config: RadioConfig,
}

/// How nodes move.
#[derive(Clone, Debug)]
pub enum Mobility {
    /// At random, by the seed.
    Waypoint(RandomWaypoint),
    /// As written down.
    ExplicitOptions(Arc<Vec<Trajectory>>),
}

/// Satellites, terminals, the links between them and what happens at hand-offs.
#[derive(Clone, Debug)]
pub struct Satellites {
    /// Who is where.
    pub system: Arc<SatelliteSystem>,
    /// Hand-offs and links between satellites.
    pub rules: Rules,
    /// Rate and queue of each link between satellites, in each direction.
    pub isl: Transmitter,
    /// Of each terminal's transmitter.
    pub up: Transmitter,
    /// Of each satellite's transmitter to its terminals.
    pub down: Transmitter,
    /// Bytes added to every packet on these links.
    pub header: u32,
    /// What a hand-off does to packets.
    pub loss: HandoffLoss,
    /// Nothing is sent to or from a terminal for this long after a hand-off.
    pub pause: Span,
    /// A hand-off is announced so long before it happens...
    pub guard_before: Span,
    /// ... and over so long after.
    pub guard_after: Span,
    /// Paths are computed anew so often; none: whenever a link changes.
    pub recompute: Option<Span>,
}

/// Rate and queue of one kind of link.
#[derive(Clone, Debug, PartialEq)]
pub struct Transmitter {
    /// Bits per second.
    pub rate: Rate,
    /// Its queue.
    pub queue: Queue,
    /// What else happens to packets.
    pub loss: Loss,
}

/// More flows than a scenario may have.
pub(crate) const MOST_FLOWS: usize = 1_000_000;
