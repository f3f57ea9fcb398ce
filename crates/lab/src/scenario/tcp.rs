//! Reads the TCP options of a flow: the profile, then `[tcp]`, then the table of the flow.

use super::document::TomlItem;
use super::model::{CongestionControl, GivenOptions, TcpFlow};
use super::table::TableReader;
use super::{advice, control};
use crate::error::{ScenarioError, nearest};
use cc::{FlowInfo, Signals};
use net::{QUICK_START_LEAST, RouterConfig};
use transport::{
    IdleRestart, Options, Recovery, ReduceFrom, ReductionKind, ReorderingWindow, RtoEstimator, TimerClock,
    UndoBy, Validation,
};
use units::{Rate, Span};

type Result<T> = std::result::Result<T, ScenarioError>;

/// The keys that only recovery `rack` uses.
pub(crate) const RACK_KEYS: &[&str] = &[
    "reordering_window",
    "tail_loss_probe",
    "reduction",
    "reduce_from",
    "undo",
    "rto_estimator",
    "timer",
    "validation",
    "idle_restart",
    "ack_delay_max",
];

const RACK_NEEDED: &str = "recovery = \"rack\"";

/// The keys that need SACK blocks.
pub(crate) const SACK_KEYS: &[&str] = &["dsack", "sack_blocks", "ack_compression"];
const SACK_NEEDED: &str = "recovery = \"sack\" or \"rack\" with sack = true";

/// Maximum number of segments that a flow may send at one time.
const MOST_AT_ONCE: f64 = 1e6;

/// Maximum number of segments that are acknowledged at once at the start.
const MOST_QUICK_ACKS: u64 = 1 << 20;

impl TcpFlow {
    /// The signals that its controller requires.
    fn needs(&self) -> Signals {
        self.control.needs(&flow_info(&self.options, false, 0))
    }

    /// The same flow with another controller, which may specify an initial window.
    pub(crate) fn with_control(&self, control: CongestionControl) -> TcpFlow {
        let mut flow = TcpFlow { control, ..self.clone() };
        flow.set_initial_window();
        flow
    }

    /// Sets the initial window that the controller specifies, unless the scenario gives one.
    fn set_initial_window(&mut self) {
        if let Some(default) = self.default_initial_window {
            let own = self.control.initial_window(&flow_info(&self.options, false, 0));
            self.options.initial_window = own.unwrap_or(default);
        }
    }

    /// The flow information for its controller.
    pub(crate) fn flow_info(&self, seed: u64) -> FlowInfo {
        let vegas = self.options.recovery == Recovery::Reno && self.needs().has(Signals::FINE_CLOCK);
        flow_info(&self.options, vegas, seed)
    }

    /// What its controller misses among its own options.
    fn missing_option(&self) -> Option<&'static str> {
        let needs = self.needs();
        let per_packet = self.options.ecn && self.options.per_packet_echo;
        if needs.has(Signals::ECN_PER_PACKET) && !per_packet {
            return Some("marks per packet: write ecn = true and ecn_feedback = \"per_packet\"");
        }
        if needs.has(Signals::L4S) && !self.options.l4s {
            return Some("packets with ECT(1): write l4s = true");
        }
        if needs.has(Signals::SEGMENT_COUNTS) && self.options.recovery != Recovery::Rack {
            return Some("counts of delivered and lost segments: write recovery = \"rack\"");
        }
        (needs.has(Signals::RECEIVER_TIME) && !self.options.receiver_time())
            .then_some("the receiver's clock: write timestamps = true")
    }

    /// The same as a message.
    pub(crate) fn unmet_option(&self) -> Option<String> {
        self.missing_option().map(|lacks| format!("{} needs {lacks}", self.control.name()))
    }

    /// The routers that its controller needs and that are not in `routers`.
    pub(crate) fn missing_router<'a, I: Iterator<Item = &'a RouterConfig>>(
        &self,
        routers: impl Fn() -> I,
    ) -> Option<&'static str> {
        let needs = self.needs();
        if needs.has(Signals::ROUTER_RATE) && !routers().any(|r| matches!(r, RouterConfig::Rcp(_))) {
            return Some("that grant rates; write router = { kind = \"rcp\" } in a link of its path");
        }
        let xcp = || routers().any(|r| matches!(r, RouterConfig::Xcp(_)));
        (needs.has(Signals::ROUTER_FEEDBACK) && !xcp())
            .then_some("that send feedback; write router = { kind = \"xcp\" } in a link of its path")
    }
}

/// The tables with the options of a flow.
pub struct TcpLayers<'a> {
    /// The table `[tcp]`.
    pub defaults: Option<&'a TomlItem>,
    /// The flow's own table.
    pub own: Option<&'a TomlItem>,
    /// The name of the flow's own table in messages.
    pub path: String,
}

impl TcpLayers<'_> {
    /// Reads all layers.
    pub fn read(&self) -> Result<TcpFlow> {
        let defaults = self.defaults.map(|item| TableReader::new("tcp", item)).transpose()?;
        let own = self.own.map(|item| TableReader::new(self.path.clone(), item)).transpose()?;
        let mut profile = "linux";
        for layer in [&defaults, &own].into_iter().flatten() {
            profile = match layer.text("profile")? {
                None => profile,
                Some(known @ ("ns2" | "linux")) => known,
                Some(other) => {
                    return Err(layer.error(
                        "profile",
                        format!("unknown profile \"{other}\"; {}", nearest(other, ["ns2", "linux"])),
                    ));
                }
            };
        }
        let ns2 = profile == "ns2";
        let mut flow = TcpFlow {
            control: CongestionControl::with_defaults(if ns2 { "reno" } else { "cubic" }),
            options: if ns2 { Options::ns2() } else { Options::linux() },
            default_initial_window: None,
            given: GivenOptions::default(),
        };
        flow.default_initial_window = Some(flow.options.initial_window);
        let mut given = ExplicitOptions::default();
        for layer in [defaults, own].into_iter().flatten() {
            read_layer(&layer, &mut flow, &mut given)?;
            flow.given.0.extend(layer.keys().map(str::to_string));
            layer.finish()?;
        }
        // Three defaults depend on other options: in ns-2 the initial threshold on the window, and the header size on
        // the timestamps; in Linux the number of SACK blocks on the timestamps.
        if ns2 && !given.ssthresh {
            flow.options.initial_ssthresh = flow.options.window as f64;
        }
        if ns2 && !given.header && flow.options.timestamps {
            flow.options.header += 10;
        }
        // 40 bytes of options hold four SACK blocks, or three and a timestamp.
        if !ns2 && !given.sack_blocks {
            flow.options.sack_blocks = if flow.options.timestamps { 3 } else { 4 };
        }
        set_required_ecn(&mut flow, &given);
        flow.set_initial_window();
        self.check_ecn(&flow)?;
        self.check_effect(&flow)?;
        self.check_signals(&flow)?;
        self.advise_unused(&flow)?;
        Ok(flow)
    }

    /// Fails if an option of ECN is set without ECN.
    fn check_ecn(&self, flow: &TcpFlow) -> Result<()> {
        let o = &flow.options;
        if o.ecn || !(o.l4s || o.per_packet_echo) {
            return Ok(());
        }
        let key = if o.l4s { "l4s" } else { "ecn_feedback" };
        self.layer_with(key)?.map_or(Ok(()), |layer| Err(layer.error(key, "needs ecn = true")))
    }

    /// Fails if an option is given that the recovery does not use. An option of `[tcp]` may serve other flows than one
    /// that chooses its own recovery.
    fn check_effect(&self, flow: &TcpFlow) -> Result<()> {
        let o = &flow.options;
        let own = self.own_keys()?;
        let own_recovery = own.iter().any(|key| ["recovery", "profile"].contains(key));
        let rack = o.recovery == Recovery::Rack;
        let unused = [(RACK_KEYS, rack, RACK_NEEDED), (SACK_KEYS, o.reports(), SACK_NEEDED)];
        let with = match o.recovery {
            Recovery::Sack | Recovery::Rack => "sack = false".to_string(),
            other => format!("recovery = \"{}\"", other.name()),
        };
        for (keys, _, needed) in unused.into_iter().filter(|(_, used, _)| !used) {
            for key in keys.iter().filter(|key| own.contains(key) || !own_recovery) {
                let Some(layer) = self.layer_with(key)? else { continue };
                let with = if needed == RACK_NEEDED {
                    format!("recovery = \"{}\"", o.recovery.name())
                } else {
                    with
                };
                return Err(
                    layer.error(key, format!("has no effect with {with}: remove it, or write {needed}"))
                );
            }
        }
        let restarts = o.idle_restart != IdleRestart::None;
        if rack && restarts && o.validation == Validation::Rfc7661 {
            let key = "idle_restart";
            let message = "has no effect with validation = \"rfc7661\", which keeps the window: remove it";
            return self.layer_with(key)?.map_or(Ok(()), |layer| Err(layer.error(key, message)));
        }
        Ok(())
    }

    /// Gives advice on options without effect: those of windows and pacing with a controller that sets both itself.
    fn advise_unused(&self, flow: &TcpFlow) -> Result<()> {
        const UNUSED: [&str; 7] =
            ["initial_ssthresh", "reduction", "validation", "idle_restart", "abe", "pacing", "pacing_gain"];
        if !flow.control.owns_window(&flow_info(&flow.options, false, 0)) {
            return Ok(());
        }
        let paces = flow.control.needs(&flow_info(&flow.options, false, 0)).has(Signals::PACING);
        for key in UNUSED.into_iter().filter(|key| paces || !key.starts_with("pacing")) {
            if let Some(layer) = self.layer_with(key)? {
                let name = flow.control.name();
                let what = if paces { "window and pacing rate" } else { "window" };
                let message = format!("has no effect with {name}, which sets its {what} itself");
                advice::give(layer.error(key, message));
            }
        }
        Ok(())
    }

    /// The keys of the flow's own table.
    fn own_keys(&self) -> Result<Vec<&str>> {
        let own = self.own.map(|item| TableReader::new(self.path.clone(), item)).transpose()?;
        Ok(own.iter().flat_map(TableReader::keys).collect())
    }

    /// The table that gives `key`: that of the flow before that of all flows.
    fn layer_with(&self, key: &str) -> Result<Option<TableReader<'_>>> {
        let layers = [(self.own, self.path.as_str()), (self.defaults, "tcp")];
        for (item, path) in layers.into_iter().filter_map(|(item, path)| Some((item?, path))) {
            let layer = TableReader::new(path, item)?;
            if layer.keys().any(|given| given == key) {
                return Ok(Some(layer));
            }
        }
        Ok(None)
    }

    /// Fails if the controller requires a signal that the flow does not provide.
    fn check_signals(&self, flow: &TcpFlow) -> Result<()> {
        let Some(lacks) = flow.unmet_option() else { return Ok(()) };
        let key = "congestion_control";
        self.layer_with(key)?.map_or(Ok(()), |layer| Err(layer.error(key, lacks).unmet()))
    }
}

/// Sets the ECN options that the controller requires and that the scenario does not give.
fn set_required_ecn(flow: &mut TcpFlow, given: &ExplicitOptions) {
    let needs = flow.needs();
    if needs.has(Signals::ECN_PER_PACKET) {
        flow.options.ecn |= !given.ecn;
        flow.options.per_packet_echo |= !given.ecn_feedback;
    }
    flow.options.l4s |= needs.has(Signals::L4S) && !given.l4s;
}

#[derive(Default)]
struct ExplicitOptions {
    ssthresh: bool,
    header: bool,
    sack_blocks: bool,
    ecn: bool,
    ecn_feedback: bool,
    l4s: bool,
}

const LONGEST: Span = Span::from_ms(1_000_000_000);

fn read_layer(layer: &TableReader<'_>, flow: &mut TcpFlow, given: &mut ExplicitOptions) -> Result<()> {
    layer.text("profile")?;
    if let Some(control) = control::read(layer)? {
        flow.control = control;
    }
    if layer.keys().any(|key| key == "initial_window") {
        flow.default_initial_window = None;
    }
    let o = &mut flow.options;
    if let Some(name) = layer.text("recovery")? {
        let known = Recovery::ALL.iter().map(|r| r.1);
        o.recovery = Recovery::from_name(name).ok_or_else(|| {
            layer.error("recovery", format!("unknown recovery \"{name}\"; {}", nearest(name, known)))
        })?;
    }
    for key in layer.keys() {
        given.ecn |= key == "ecn";
        given.ecn_feedback |= key == "ecn_feedback";
        given.l4s |= key == "l4s";
    }
    o.per_packet_echo = match layer.text("ecn_feedback")? {
        None => o.per_packet_echo,
        Some("classic") => false,
        Some("per_packet") => true,
        Some(other) => {
            let near = nearest(other, ["classic", "per_packet"]);
            return Err(layer.error("ecn_feedback", format!("unknown feedback \"{other}\"; {near}")));
        }
    };
    read_windows(layer, o, given)?;
    read_switches(layer, o)?;
    read_timers(layer, o)?;
    read_sender(layer, o)?;
    read_receiver(layer, o, given)?;
    read_quick_start(layer, o)
}

/// Reads the name of one of `known`, if the table has it.
fn named<T: Copy>(
    layer: &TableReader<'_>,
    key: &'static str,
    known: &[(T, &'static str)],
    into: &mut T,
) -> Result<()> {
    let Some(name) = layer.text(key)? else { return Ok(()) };
    match known.iter().find(|value| value.1 == name) {
        Some(value) => *into = value.0,
        None => {
            let names = known.iter().map(|value| value.1);
            return Err(layer.error(key, format!("unknown value \"{name}\"; {}", nearest(name, names))));
        }
    }
    Ok(())
}

/// Options of the recovery `rack`.
fn read_sender(layer: &TableReader<'_>, o: &mut Options) -> Result<()> {
    named(layer, "reordering_window", ReorderingWindow::ALL, &mut o.reordering_window)?;
    named(layer, "reduction", ReductionKind::ALL, &mut o.reduction)?;
    named(layer, "reduce_from", ReduceFrom::ALL, &mut o.reduce_from)?;
    named(layer, "rto_estimator", RtoEstimator::ALL, &mut o.rto_estimator)?;
    named(layer, "timer", TimerClock::ALL, &mut o.timer)?;
    named(layer, "validation", Validation::ALL, &mut o.validation)?;
    named(layer, "idle_restart", IdleRestart::ALL, &mut o.idle_restart)?;
    if let Some(words) = layer.texts("undo")? {
        o.undo = UndoBy { dsack: false, timestamps: false, frto: false };
        for word in words {
            match word {
                "dsack" => o.undo.dsack = true,
                "timestamps" => o.undo.timestamps = true,
                "frto" => o.undo.frto = true,
                other => {
                    let known = ["dsack", "timestamps", "frto"];
                    let message = format!("unknown value \"{other}\"; {}", nearest(other, known));
                    return Err(layer.error("undo", message));
                }
            }
        }
    }
    if let Some(gains) = layer.numbers("pacing_gain", 0.01, 100.0)? {
        o.pacing_gain = gains.try_into().map_err(|_| {
            layer.error("pacing_gain", "must be two numbers, in slow start and after it, such as [2.0, 1.2]")
        })?;
    }
    Ok(())
}

/// Options of the receiver.
fn read_receiver(layer: &TableReader<'_>, o: &mut Options, given: &mut ExplicitOptions) -> Result<()> {
    for (key, min, max, into) in [
        ("quick_acks", 0, MOST_QUICK_ACKS, &mut o.quick_acks),
        ("ack_every", 1, MOST_QUICK_ACKS, &mut o.ack_every),
        ("sack_blocks", 1, 4, &mut o.sack_blocks),
    ] {
        *into = layer.integer(key, min, max)?.map_or(*into, |n| n as u32);
    }
    given.sack_blocks |= layer.keys().any(|key| key == "sack_blocks");
    span(layer, "ack_delay_max", &mut o.ack_delay_max)?;
    let keys: Vec<_> = layer.keys().collect();
    if keys.contains(&"ack_delay") && !keys.contains(&"ack_delay_max") {
        o.ack_delay_max = o.ack_delay_max.max(o.ack_delay);
    }
    if o.ack_delay_max < o.ack_delay {
        let message = format!("must be at least ack_delay, which is {}", o.ack_delay);
        return Err(layer.error("ack_delay_max", message));
    }
    Ok(())
}

/// Reads a time of at most [`LONGEST`], if the table has it.
fn span(layer: &TableReader<'_>, key: &'static str, into: &mut Span) -> Result<()> {
    if let Some(span) = layer.quantity::<Span>(key, "200ms")? {
        if span > LONGEST {
            return Err(layer.error(key, format!("{span} is more than {LONGEST}")));
        }
        *into = span;
    }
    Ok(())
}

/// Reads a number of at least `min`. Returns whether the table has it.
fn number(layer: &TableReader<'_>, key: &'static str, min: f64, into: &mut f64) -> Result<bool> {
    let n = layer.number(key, min, 1e9)?;
    *into = n.unwrap_or(*into);
    Ok(n.is_some())
}

/// Sizes of packets, bytes, and windows, segments.
fn read_windows(layer: &TableReader<'_>, o: &mut Options, given: &mut ExplicitOptions) -> Result<()> {
    for (key, min, max, into) in [
        ("mss", 1, 65_000, &mut o.packet),
        ("header", 0, 500, &mut o.header),
        ("ack_size", 1, 65_000, &mut o.ack_size),
    ] {
        *into = layer.bytes(key, min, max)?.map_or(*into, |n| n as u32);
    }
    given.header |= layer.keys().any(|key| key == "header");
    for (key, min, max, into) in [
        ("receive_window", 1, 1 << 30, &mut o.window),
        ("max_burst", 0, 1 << 30, &mut o.max_burst),
        ("gso_max_segs", 1, 65_535, &mut o.gso_max_segs),
    ] {
        *into = layer.integer(key, min, max)?.map_or(*into, |n| n as u32);
    }
    number(layer, "initial_window", 1.0, &mut o.initial_window)?;
    if o.initial_window > MOST_AT_ONCE {
        return Err(layer.error("initial_window", format!("must be at most {MOST_AT_ONCE}")));
    }
    given.ssthresh |= number(layer, "initial_ssthresh", 1.0, &mut o.initial_ssthresh)?;
    o.max_cwnd = layer.number_or_none("max_cwnd", 1.0, 1e9)?.unwrap_or(o.max_cwnd);
    Ok(())
}

fn read_switches(layer: &TableReader<'_>, o: &mut Options) -> Result<()> {
    for (key, into) in [
        ("syn", &mut o.syn),
        ("delayed_ack", &mut o.delayed_ack),
        ("limited_transmit", &mut o.limited_transmit),
        ("integer_windows", &mut o.integer_windows),
        ("impatient", &mut o.impatient),
        ("partial_deflation", &mut o.partial_deflation),
        ("timestamps", &mut o.timestamps),
        ("ecn", &mut o.ecn),
        ("l4s", &mut o.l4s),
        ("abe", &mut o.abe),
        ("pacing", &mut o.pacing),
        ("delay_growth", &mut o.delay_growth),
        ("fast_retransmit_after_rto", &mut o.fast_retransmit_after_rto),
        ("clock_rtt", &mut o.clock_rtt),
        ("sack", &mut o.sack),
        ("dsack", &mut o.dsack),
        ("tail_loss_probe", &mut o.tail_loss_probe),
        ("ack_compression", &mut o.ack_compression),
        ("moderate_rcvbuf", &mut o.moderate_rcvbuf),
    ] {
        *into = layer.switch(key)?.unwrap_or(*into);
    }
    Ok(())
}

/// Retransmission timeouts, delays of ACKs, clocks.
fn read_timers(layer: &TableReader<'_>, o: &mut Options) -> Result<()> {
    let mut phase = o.clock_phase.unwrap_or(Span::ZERO);
    for (key, into) in [
        ("ack_delay", &mut o.ack_delay),
        ("min_rto", &mut o.min_rto),
        ("max_rto", &mut o.max_rto),
        ("initial_rto", &mut o.initial_rto),
        ("clock_tick", &mut o.clock_tick),
        ("clock_phase", &mut phase),
        ("timestamp_quantum", &mut o.timestamp_quantum),
    ] {
        span(layer, key, into)?;
    }
    if layer.keys().any(|key| key == "clock_phase") {
        o.clock_phase = Some(phase);
    }
    if o.max_rto == Span::ZERO || o.max_rto < o.min_rto {
        return Err(layer.error("max_rto", format!("must be at least min_rto, which is {}", o.min_rto)));
    }
    for (key, rto) in [("initial_rto", o.initial_rto), ("max_rto", o.max_rto)] {
        if rto < Span::from_ms(1) {
            return Err(layer.error(key, format!("{rto} is less than a millisecond")));
        }
    }
    Ok(())
}

fn read_quick_start(layer: &TableReader<'_>, o: &mut Options) -> Result<()> {
    if let Some(rate) = layer.quantity::<Rate>("quick_start", "1Mbps")? {
        if rate < QUICK_START_LEAST {
            let message = format!("{rate} is less than {QUICK_START_LEAST}, the least request");
            return Err(layer.error("quick_start", message));
        }
        o.quick_start = rate;
    }
    number(layer, "quick_start_window", 1.0, &mut o.quick_start_window)?;
    Ok(())
}

/// The flow information for a controller; `vegas` is true with the recovery of ns-2's Vegas.
fn flow_info(options: &Options, vegas: bool, seed: u64) -> FlowInfo {
    FlowInfo {
        // ns-2 keeps the first window at one after a SYN, and in Vegas, which tests the window before its first
        // growth.
        initial_window: if options.delay_growth && (options.syn || vegas) {
            1.0
        } else {
            options.initial_window
        },
        initial_ssthresh: options.initial_ssthresh,
        max_window: if options.max_cwnd > 0.0 { options.max_cwnd } else { f64::INFINITY },
        arithmetic: options.arithmetic(),
        fine_clock: options.recovery == transport::Recovery::Reno,
        packet: options.packet,
        abe: options.abe,
        seed,
    }
}
