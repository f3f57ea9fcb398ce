//! The types of a scenario after reading: links, flows, traffic, satellites, radio.

use super::app_model::App;
use super::language::Language;
use super::sizes::SizeDistribution;
use super::wifi_model::Wifi;
use crate::error::{Origin, ScenarioError};
use cc::{ExternalFactory, Params, Signals};
use net::cellular::{CellOptions, UserOptions};
use net::impairment::Loss;
use net::qdisc::Queue;
use net::radio::{RadioConfig, RandomWaypoint, Trajectory};
use net::wifi::{Access, DirectionOptions};
use net::{DeliveryTrace, GrantOptions, HandoffLoss, RateSteps, RouterConfig};
use orbit::{Rules, SatelliteSystem};
use params::Form::{Bytes, Number, NumberOrNone, Switch};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use transport::Options;
use units::{Rate, Span, Time};

/// A scenario that can run with any seed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The question that the scenario examines.
    pub title: String,
    /// Simulated time of a run.
    pub duration: Span,
    /// Initial part of a run that the outcome excludes.
    pub warmup: Span,
    /// Last part of a run: messages of applications that start in it do not count.
    pub cooldown: Span,
    /// The seed in the file; 1 by default.
    pub seed: u64,
    /// The links, each with its two directions.
    pub links: Vec<Duplex>,
    /// The flows, in the order of the file.
    pub flows: Vec<Flow>,
    /// Traffic sources, whose flows are drawn from the seed.
    pub traffic: Vec<Traffic>,
    /// `[quic]`, if the file has it: the options of flows that [`Scenario::over_quic`] converts.
    pub quic: Option<Arc<QuicFlow>>,
    /// Whether the outcome has quantiles of the one-way delay; then the delay of every packet is stored.
    pub delays: bool,
    /// Satellites and terminals, if there are any.
    pub satellites: Option<Arc<Satellites>>,
    /// Nodes with radios, if there are any.
    pub radio: Option<Arc<RadioNetwork>>,
    /// Basic service sets of Wi-Fi.
    pub wifi: Vec<Wifi>,
    /// Cells of mobile networks.
    pub cells: Vec<CellOptions>,
    /// Whether flows are spread over all paths with the fewest links (ECMP).
    pub ecmp: bool,
    /// Whether the file defines a study (`sweep`).
    pub is_study: bool,
    /// What changes during a run, in the order of time.
    pub changes: Vec<Change>,
    /// What a run has from its start for these changes.
    pub prepared: Prepared,
    /// What has a better form in the text that it was read from, each line with its place.
    pub advice: Vec<String>,
}

impl Scenario {
    /// The basic service set of a direction of a Wi-Fi link.
    pub fn wifi_set(&self, direction: &DirectionOptions) -> Option<&Wifi> {
        self.wifi.iter().find(|set| Some(&set.name) == direction.medium.as_ref())
    }
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

impl Duplex {
    /// Its name in keys such as `link.NAME.rate`: its own, or its nodes joined by an arrow.
    pub fn key(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.ends.join("->"))
    }
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
    pub losses: Vec<Loss>,
    /// The router in front of the link, if it sends feedback to senders.
    pub router: Option<RouterConfig>,
    /// How the transmission rate varies; `rate` is then its mean over a period, or the largest rate of steps without one.
    pub variation: Option<RateVariation>,
}

impl Direction {
    /// The mean rate in a run that ends at `end`.
    pub fn mean_rate(&self, end: Time) -> Rate {
        match &self.variation {
            Some(RateVariation::Steps(steps)) => steps.mean(end),
            _ => self.rate,
        }
    }

    /// Its Wi-Fi options, if it is a direction of a Wi-Fi link.
    pub fn wifi(&self) -> Option<&DirectionOptions> {
        if let Some(RateVariation::Wifi(rate)) = &self.variation { Some(rate) } else { None }
    }

    /// Whether a medium decides when its packets leave.
    pub fn has_medium(&self) -> bool {
        matches!(
            self.variation,
            Some(RateVariation::Wifi(_) | RateVariation::Cellular(_) | RateVariation::Grants(_))
        )
    }

    /// The rate that it has at its mean signal with its cell to itself; none for other links.
    pub fn rate_alone(&self) -> Option<Rate> {
        self.cellular().map(|user| user.alone)
    }

    /// Its options in a cell, if it is a direction of a cellular link.
    pub fn cellular(&self) -> Option<&UserOptions> {
        if let Some(RateVariation::Cellular(user)) = &self.variation { Some(user) } else { None }
    }
}

/// A transmission rate that varies.
#[derive(Clone, Debug, PartialEq)]
pub enum RateVariation {
    /// Constant between given times.
    Steps(RateSteps),
    /// Constant for an interval, then drawn anew; uniformly distributed.
    RandomSteps {
        /// The interval.
        interval: Span,
        /// The smallest rate.
        min: Rate,
        /// The largest rate.
        max: Rate,
    },
    /// Delivery opportunities of a trace.
    Trace(Arc<DeliveryTrace>),
    /// A token bucket in front of a faster transmitter.
    Shaper {
        /// Rate of the transmitter.
        line: Rate,
        /// Bytes that leave at the rate of the transmitter after an idle time.
        burst: u64,
    },
    /// The transmitter is a Wi-Fi channel.
    Wifi(Box<DirectionOptions>),
    /// The transmitter is a cell.
    Cellular(Box<UserOptions>),
    /// The transmitter sends what it was granted.
    Grants(GrantOptions),
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
    /// When the application writes, since the start, and how many bytes; empty: all data at the start.
    pub writes: Vec<(Span, u64)>,
    /// What the application does, if it is more than that.
    pub app: Option<Arc<App>>,
    /// Which connection of that application the flow is; the connections of one follow each other.
    pub connection: u32,
    /// The access category of its packets on Wi-Fi links; `None`: that of the link.
    pub access: Option<Access>,
    /// What kind of flow it is.
    pub kind: FlowKind,
}

impl Flow {
    /// A flow from the start to the end of the run, with unlimited data.
    pub fn new(name: String, from: String, to: String, kind: FlowKind) -> Flow {
        Flow {
            name,
            from,
            to,
            start: Span::ZERO,
            start_jitter: Span::ZERO,
            stop: None,
            bytes: None,
            writes: Vec::new(),
            app: None,
            connection: 0,
            access: None,
            kind,
        }
    }
}

impl FlowKind {
    /// Whether its sender limits its packets in the queue of its host.
    pub fn limits_local(&self) -> bool {
        matches!(self, FlowKind::Tcp(tcp) if tcp.options.small_queues)
    }
}

/// What the network needs to know of a flow whose two ends are outside the simulation ([`Scenario::attach`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Bytes that a datagram has on the wire besides those handed to the network: 0 for whole IP packets, 28 for UDP
    /// payload over IPv4, 48 over IPv6.
    pub header: u32,
    /// Largest datagram on the wire, bytes, with the header. A larger one is dropped and counted, as by a router with DF
    /// set and without ICMP.
    pub mtu: u32,
}

impl Ends {
    /// Datagrams of UDP over IPv4 on a path with an MTU of 1,500 bytes.
    pub const UDP: Ends = Ends { header: 28, mtu: 1500 };
}

/// TCP, QUIC, UDP, or ends outside the simulation.
#[derive(Clone, Debug)]
pub enum FlowKind {
    /// TCP with its options and controller.
    Tcp(Arc<TcpFlow>),
    /// QUIC with its options and controller.
    Quic(Arc<QuicFlow>),
    /// Constant bit rate in steps.
    Udp {
        /// Bytes per packet.
        packet: u32,
        /// From when on which rate holds: since the start of the run, or of each period.
        schedule: Vec<(Span, Rate)>,
        /// The schedule begins with the flow, and again after each such time.
        period: Option<Span>,
        /// Each gap is longer or shorter by up to this part of it, at random.
        jitter: f64,
    },
    /// Datagrams of a stack outside the simulation. No scenario file names it; [`Scenario::attach`] does.
    Attached(Ends),
}

/// A TCP flow's controller and options.
#[derive(Clone, Debug)]
pub struct TcpFlow {
    /// The controller.
    pub control: CongestionControl,
    /// Everything else.
    pub options: Options,
    /// The initial window of the profile, segments, if the scenario gives none: then the controller may specify another.
    pub default_initial_window: Option<f64>,
    /// The options that the scenario gives, for messages.
    pub options_set: SetOptions,
    /// How it starts.
    pub start: FlowStart,
}

/// How a flow starts besides slow start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowStart {
    /// Saved values of the path.
    pub resume: Option<ResumeStart>,
    /// The window after the first round trip without them, segments.
    pub jump: Option<f64>,
}

/// A start with saved values (RFC 9959).
#[derive(Clone, Debug, PartialEq)]
pub struct ResumeStart {
    /// Where they are from.
    pub from: ResumeFrom,
    /// The largest window of the jump, bytes of payload.
    pub max_jump: Option<u64>,
    /// Values that are older are not used.
    pub lifetime: Span,
}

/// Where saved values are from.
#[derive(Clone, Debug, PartialEq)]
pub enum ResumeFrom {
    /// An earlier flow of this name.
    Flow(String),
    /// They are given.
    Values {
        /// The window, bytes of payload.
        cwnd: u64,
        /// The smallest round-trip time.
        rtt: Span,
        /// The time since both were observed, at the start of the flow.
        age: Span,
    },
}

impl FlowKind {
    /// How it starts; none if it has no congestion controller.
    pub(crate) fn start(&self) -> Option<&FlowStart> {
        match self {
            FlowKind::Tcp(tcp) => Some(&tcp.start),
            FlowKind::Quic(quic) => Some(&quic.start),
            FlowKind::Udp { .. } | FlowKind::Attached(_) => None,
        }
    }
}

/// Names of options that a scenario gives. They do not belong to the identity of a run.
#[derive(Clone, Default)]
pub struct SetOptions(pub Vec<String>);

impl fmt::Debug for SetOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

/// A QUIC flow's controller and options. Without the cargo feature `quic` no scenario has one.
#[derive(Clone, Debug)]
pub struct QuicFlow {
    /// The controller.
    pub control: CongestionControl,
    /// The settings of the stack; a run sets the seed.
    #[cfg(feature = "quic")]
    pub config: ::quic::Config,
    /// Options that TCP has too.
    pub common: CommonOptions,
    /// The default initial window, segments, if the scenario gives none: then the controller may specify another.
    pub default_initial_window: Option<f64>,
    /// How it starts.
    pub start: FlowStart,
}

params::options! {
    /// Options of a QUIC flow that are not settings of its stack, and that TCP has too.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CommonOptions {
        header: u32 = Bytes(0, 500), ["\"28B\""],
            "bytes on the wire besides the UDP payload: the headers of IP and UDP";
        initial_ssthresh: f64 = Number(2.0, 1e9), ["infinite"],
            "slow-start threshold before the first reduction, datagrams", else f64::INFINITY;
        max_cwnd: f64 = NumberOrNone(1.0, 1e9), ["0"], "largest congestion window, datagrams; 0 for none";
        abe: bool = Switch, ["false"], "smaller reductions after ECN marks (RFC 8511)";
    }
}

/// The congestion controller of a flow.
#[derive(Clone, Debug)]
pub enum CongestionControl {
    /// One of [`crate::controllers`], with its parameters.
    Registered(&'static str, Params),
    /// A controller of another crate or language, loaded.
    ExternalController(Arc<dyn ExternalFactory>),
    /// An external controller whose code is not loaded. Reading a scenario runs no code; starting a run does.
    ExternalSource(Arc<ExternalSource>),
}

/// A controller in another language: its file, name and arguments.
#[derive(Clone)]
pub struct ExternalSource {
    /// Its language.
    pub language: Language,
    /// Its file.
    pub path: PathBuf,
    /// The content of its file, if it is read as data: that of a sandboxed one.
    pub content: Option<Arc<[u8]>>,
    /// Its class or its name in the file; `None` for the first one of the file.
    pub name: Option<String>,
    /// Its parameters.
    pub arguments: Vec<(String, cc::ParamValue)>,
    /// The identity of the code: the name, and a hash of the file.
    pub(crate) identity: String,
    /// The place and the key that name it.
    pub(crate) origin: Origin,
    pub(crate) key: String,
}

impl ExternalSource {
    /// Its name, or that of its file.
    pub fn label(&self) -> &str {
        let file = || self.path.file_stem().and_then(|stem| stem.to_str());
        self.name.as_deref().or_else(file).unwrap_or("external")
    }
    pub(crate) fn refuse(&self, message: String) -> ScenarioError {
        ScenarioError::new(&self.origin, &self.key, message)
    }
}

/// The fields that decide results; they are part of the identity of a run.
impl fmt::Debug for ExternalSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.identity, self.arguments)
    }
}

/// A traffic source: TCP or QUIC flows with random start times and sizes.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Its name; its flows are NAME0, NAME1, ...
    pub name: String,
    /// The nodes of its flows: each flow has a source from the first list and a destination from the second.
    pub ends: [Vec<String>; 2],
    /// Earliest start of a flow.
    pub start: Span,
    /// End of the arrivals of flows.
    pub stop: Span,
    /// When its flows start.
    pub arrivals: Arrivals,
    /// Sizes of the flows.
    pub sizes: SizeDistribution,
    /// The access category of their packets on Wi-Fi links; `None`: that of the link.
    pub access: Option<Access>,
    /// The transport of its flows.
    pub kind: FlowKind,
}

/// When the flows of a traffic source start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// At times of a Poisson process with this mean offered load, payload.
    Poisson(Rate),
    /// Several at once, to one node.
    Incast {
        /// Number of flows that start together.
        flows: u32,
        /// Time from one burst to the next.
        every: Span,
    },
}

/// The radio nodes and their configuration.
#[derive(Clone, Debug)]
pub struct RadioNetwork {
    /// Their number; they are called n0, n1, ...
    pub nodes: usize,
    /// Sides of the rectangle in which they are, m.
    pub area: [f64; 2],
    /// How they move.
    pub mobility: Mobility,
    /// Propagation, MAC, queue and routing. A run sets the nodes and the seed.
    pub config: RadioConfig,
}

/// How nodes move.
#[derive(Clone, Debug)]
pub enum Mobility {
    /// Random waypoint movement, drawn from the seed.
    Waypoint(RandomWaypoint),
    /// Given trajectories.
    Trajectories(Arc<Vec<Trajectory>>),
}

/// Satellites, terminals, the links between them and what happens at hand-offs.
#[derive(Clone, Debug)]
pub struct Satellites {
    /// The satellites and terminals with their positions over time.
    pub system: Arc<SatelliteSystem>,
    /// The rules of hand-offs and of links between satellites.
    pub rules: Rules,
    /// Rate and queue of each link between satellites, in each direction. These links have no delay of their own.
    pub isl: Direction,
    /// The transmitter of each terminal.
    pub up: Direction,
    /// The transmitter of each satellite to its terminals.
    pub down: Direction,
    /// Bytes added to every packet on these links.
    pub header: u32,
    /// The effect of a hand-off on packets.
    pub loss: HandoffLoss,
    /// Pause of the links of a terminal after a hand-off.
    pub pause: Span,
    /// Time by which a hand-off is announced before it happens.
    pub guard_before: Span,
    /// Time after a hand-off until it is over for the controllers.
    pub guard_after: Span,
    /// Interval of the recomputation of paths; `None`: at every change of a link.
    pub recompute: Option<Span>,
}

/// Maximum number of flows of a scenario.
pub(crate) const MOST_FLOWS: usize = 1_000_000;

/// What happens at one time.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its name; the random streams of what it starts have it in theirs.
    pub name: String,
    /// When: before everything else at that time.
    pub at: Time,
    /// What.
    pub actions: Vec<Action>,
}

/// One change. A link is a direction, by the number of the link in a run; a flow is its place in the scenario.
#[derive(Clone, Debug)]
pub enum Action {
    /// The transmission rate.
    Rate(u32, Rate),
    /// The propagation delay; with `true`, packets keep their order.
    Delay(u32, Span, bool),
    /// The queue.
    Queue(u32, Queue),
    /// Losses and other impairments.
    Losses(u32, Vec<Loss>),
    /// The next packets of a link are dropped.
    DropNext(u32, PacketSelection),
    /// The next packets that a link would drop are not dropped.
    KeepNext(u32, PacketSelection),
    /// The next packets that a link would mark are not marked.
    UnmarkNext(u32, PacketSelection),
    /// Packets that arrive at a link until then are dropped.
    Blackout(u32, Time),
    /// The schedule of a UDP source.
    Schedule(usize, Vec<(Span, Rate)>),
    /// When a flow that has not started starts.
    Start(usize, Time),
    /// When a flow stops.
    Stop(usize, Time),
    /// The receiver's window, segments.
    ReceiveWindow(usize, u32),
    /// The congestion controller: the transport of the flow with it.
    Control(usize, FlowKind),
    /// The application: rate, time between requests, or largest rate of an encoder.
    App(usize, Arc<App>),
}

/// The packets that an action means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSelection {
    /// Of this flow, by its place in the scenario; `None`: of every flow.
    pub flow: Option<usize>,
    /// With this number, as in the packet log; `None`: any.
    pub packet: Option<u32>,
    /// How many.
    pub count: u32,
}

/// What a run has from its start, so that changes are possible: they are not in the path of runs without changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    /// For the links, by their numbers in a run.
    pub links: BTreeMap<u32, PreparedLink>,
    /// What the controllers require that changes start, by the place of the flow in the scenario.
    pub signals: BTreeMap<usize, Signals>,
}

impl Prepared {
    /// Whether a link is served at each departure.
    pub fn serves(&self, link: u32) -> bool {
        self.links.get(&link).is_some_and(|link| link.served)
    }

    /// Adds what a controller of a flow requires.
    pub fn require(&mut self, flow: usize, needs: Signals) {
        let present = self.signals.entry(flow).or_insert(Signals::NONE);
        *present = present.and(needs);
    }

    /// Adds what the changes of another scenario need.
    pub fn merge(&mut self, other: &Prepared) {
        for (number, needed) in &other.links {
            let link = self.links.entry(*number).or_default();
            link.served |= needed.served;
            link.delayed |= needed.delayed;
            link.reorders |= needed.reorders;
        }
        for (flow, needed) in &other.signals {
            self.require(*flow, *needed);
        }
    }
}

/// What a link has from the start of a run for its changes, besides a place for demands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PreparedLink {
    /// It is served at each departure, by a transmitter whose rate has steps.
    pub served: bool,
    /// Its delay changes.
    pub delayed: bool,
    /// A change of its delay lets packets overtake each other.
    pub reorders: bool,
}
