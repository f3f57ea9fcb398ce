//! Reads the TCP options of a flow: the profile, then `[tcp]`, then the table of the flow.

use super::control::{self, CONTROLLER};
use super::model::{CongestionControl, FlowStart, SetOptions, TcpFlow};
use super::reading::Result;
use super::start;
use super::table::TableReader;
use crate::error::ErrorKind;
use cc::{FlowInfo, Signals};
use net::RouterConfig;
use params::Form::{Controller, Word};
use params::{Key, Table, Value, by_profile, key};
use transport::{EcnFeedback, IdleRestart, Options, Recovery, StackProfile, Validation};

/// The options of a TCP flow.
pub(super) static TCP: Table = Table::new(
    "tcp",
    "`[tcp]` for all flows, and `tcp` of a flow or of traffic",
    &[KEYS, start::KEYS, Options::KEYS],
);

const KEYS: &[Key] =
    &[PROFILE, by_profile("congestion_control", Controller, ["\"reno\"", "\"cubic\""], CONTROLLER)];

const PROFILE: Key = key(
    "profile",
    Word(&["ns2", "linux"]),
    "\"linux\"",
    "the defaults of all other options: ns-2.35, or Linux",
);

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
            let specified = self.control.initial_window(&flow_info(&self.options, false, 0));
            self.options.initial_window = specified.unwrap_or(default);
        }
    }

    /// The flow information for its controller; the path has `hops` links.
    pub(crate) fn flow_info(&self, seed: u64, hops: u32) -> FlowInfo {
        let vegas = self.options.recovery == Recovery::Reno && self.needs().has(Signals::FINE_CLOCK);
        FlowInfo { hops, ..flow_info(&self.options, vegas, seed) }
    }

    /// What its controller misses among its options, as a message.
    pub(crate) fn unmet_option(&self) -> Option<String> {
        let lacks = transport::missing_signal(self.needs(), &self.options);
        lacks.map(|lacks| format!("{} {lacks}", self.control.name()))
    }

    /// The routers that its controller needs and that are not in `routers`.
    pub(crate) fn missing_router<'a, I: Iterator<Item = &'a RouterConfig>>(
        &self,
        routers: impl Fn() -> I,
    ) -> Option<&'static str> {
        let needs = self.needs();
        if needs.has(Signals::ROUTER_RATE) && !routers().any(|r| matches!(r, RouterConfig::Rcp(_))) {
            return Some(
                "that grant rates; write router = { kind = \"rcp\" } in a link of its path, or in [[topology]]",
            );
        }
        let xcp = || routers().any(|r| matches!(r, RouterConfig::Xcp(_)));
        (needs.has(Signals::ROUTER_FEEDBACK) && !xcp()).then_some(
            "that send feedback; write router = { kind = \"xcp\" } in a link of its path, or in [[topology]]",
        )
    }
}

/// The tables with the options of a flow.
pub struct TcpLayers<'a> {
    /// The table `[tcp]`.
    pub defaults: Option<TableReader<'a>>,
    /// The flow's own table.
    pub flow_table: Option<TableReader<'a>>,
    /// `[tcp]` is read for its own mistakes: what has no effect depends on its flows.
    pub alone: bool,
}

impl<'a> TcpLayers<'a> {
    /// Reads all layers.
    pub fn read(&self) -> Result<TcpFlow> {
        let (mut ns2, mut read) = (false, Ok(()));
        for layer in self.layers() {
            match layer.value(&PROFILE) {
                Ok(profile) => ns2 = profile.map_or(ns2, |profile| profile == Value::Word("ns2")),
                Err(reported) => read = Err(reported),
            }
        }
        let mut flow = TcpFlow {
            control: CongestionControl::with_defaults(if ns2 { "reno" } else { "cubic" }),
            options: if ns2 { Options::ns2() } else { Options::linux() },
            default_initial_window: None,
            options_set: SetOptions::default(),
            start: FlowStart::default(),
        };
        flow.default_initial_window = Some(flow.options.initial_window);
        for layer in self.layers() {
            read = read_layer(layer, &mut flow).and(read);
            read = read.and_then(|()| check_times(layer, &mut flow.options));
            flow.options_set.0.extend(layer.keys().map(str::to_string));
        }
        read?;
        let is_set = |key: &str| self.layer_with(key).is_some();
        self.set_required_recovery(&mut flow);
        // Three defaults depend on other options: in ns-2 the initial threshold on the window, and the header size on
        // the timestamps; in Linux the number of SACK blocks on the timestamps.
        if ns2 && !is_set("initial_ssthresh") {
            flow.options.initial_ssthresh = flow.options.window as f64;
        }
        if ns2 && !is_set("header") && flow.options.timestamps {
            flow.options.header += 10;
        }
        // 40 bytes of options hold four SACK blocks, or three and a timestamp.
        if !ns2 && !is_set("sack_blocks") {
            flow.options.sack_blocks = if flow.options.timestamps { 3 } else { 4 };
        }
        set_required_ecn(&mut flow, is_set);
        flow.set_initial_window();
        self.check_ecn(&flow)?;
        self.check_effect(&flow)?;
        self.check_signals(&flow)?;
        self.check_start(&flow)?;
        self.advise_unused(&flow);
        Ok(flow)
    }

    /// The tables, the defaults first.
    fn layers(&self) -> impl Iterator<Item = &TableReader<'a>> {
        self.defaults.iter().chain(&self.flow_table)
    }

    /// The table that gives `key`: that of the flow before that of all flows.
    fn layer_with(&self, key: &str) -> Option<&TableReader<'a>> {
        self.flow_table.iter().chain(&self.defaults).find(|layer| layer.has(key))
    }

    /// Whether the flow's own table gives `key`.
    fn flow_gives(&self, key: &str) -> bool {
        self.flow_table.as_ref().is_some_and(|table| table.has(key))
    }

    /// Gives a flow recovery `rack`, with advice, if its controller needs the counts of it and the flow's own table does not
    /// name another one.
    fn set_required_recovery(&self, flow: &mut TcpFlow) {
        let counts = [Signals::SEGMENT_COUNTS, Signals::LOSSES, Signals::DELIVERIES];
        let needs = flow.needs();
        if flow.options.recovery == Recovery::Rack
            || self.flow_gives("recovery")
            || !counts.into_iter().any(|count| needs.has(count))
        {
            return;
        }
        let key = "congestion_control";
        if let Some(layer) = self.layer_with(key) {
            let (name, recovery) = (flow.control.name(), flow.options.recovery.name());
            let message = format!(
                "{name} needs counts of delivered and lost segments: the flow has recovery = \"rack\" instead of \"{recovery}\""
            );
            layer.advise(key, message);
        }
        flow.options.recovery = Recovery::Rack;
    }

    /// Fails if an option of ECN is set without ECN, or accurate feedback without the receiver and the recovery that have it.
    fn check_ecn(&self, flow: &TcpFlow) -> Result<()> {
        let o = &flow.options;
        let accurate = o.ecn_feedback == EcnFeedback::Accurate;
        let (key, needs) = match (o.ecn, o.l4s) {
            (false, true) => ("l4s", "needs ecn = true"),
            (false, false) if o.ecn_feedback != EcnFeedback::Classic => ("ecn_feedback", "needs ecn = true"),
            _ if accurate && o.stack != StackProfile::Linux => {
                ("ecn_feedback", "\"accurate\" needs profile = \"linux\": ns-2 has no such feedback")
            }
            _ if accurate && o.recovery != Recovery::Rack => {
                ("ecn_feedback", "\"accurate\" needs recovery = \"rack\", which counts what an ACK delivers")
            }
            _ => return Ok(()),
        };
        self.layer_with(key).map_or(Ok(()), |layer| Err(layer.error(key, needs)))
    }

    /// Fails, or gives advice, if an option is given that has no effect with the others. An option of `[tcp]` may serve other
    /// flows than one that chooses itself what the option needs.
    fn check_effect(&self, flow: &TcpFlow) -> Result<()> {
        if self.alone {
            return Ok(()); // its flows say what has no effect with what they choose
        }
        let o = &flow.options;
        let paces = flow.control.needs(&flow_info(o, false, 0)).has(Signals::PACING);
        let value = |key: &str| match key {
            // A controller of the user may do what those that are listed do.
            "congestion_control" if flow.control.is_external() => String::new(),
            "congestion_control" => flow.control.name().to_string(),
            "pacing" if paces => true.to_string(),
            key => o.needed(key).unwrap_or_default(),
        };
        let mut effect = Ok(());
        for key in Options::KEYS {
            let Some(layer) = self.layer_with(key.name) else { continue };
            let Some(unmet) = key.needs.unmet(&value) else { continue };
            let chosen = || key.needs.keys().iter().chain(&["profile"]).any(|other| self.flow_gives(other));
            if !self.flow_gives(key.name) && chosen() {
                continue;
            }
            if unmet.required {
                effect = Err(layer.error(key.name, unmet.message()));
            } else {
                layer.advise(key.name, unmet.message());
            }
        }
        let restarts = o.idle_restart != IdleRestart::None;
        if o.recovery == Recovery::Rack && restarts && o.validation == Validation::Rfc7661 {
            let key = "idle_restart";
            let message = "has no effect with validation = \"rfc7661\", which keeps the window: remove it";
            effect = self.layer_with(key).map_or(effect, |layer| Err(layer.error(key, message)));
        }
        effect
    }

    /// Gives advice on options without effect: those of windows and pacing with a controller that sets both itself.
    fn advise_unused(&self, flow: &TcpFlow) {
        const UNUSED: [&str; 7] = [
            "initial_ssthresh",
            "reduction",
            "reduce_from",
            "validation",
            "idle_restart",
            "pacing",
            "pacing_gain",
        ];
        if self.alone || !flow.control.owns_window(&flow_info(&flow.options, false, 0)) {
            return;
        }
        let paces = flow.control.needs(&flow_info(&flow.options, false, 0)).has(Signals::PACING);
        for key in UNUSED.into_iter().filter(|key| paces || !key.starts_with("pacing")) {
            if let Some(layer) = self.layer_with(key) {
                let name = flow.control.name();
                let what = if paces { "window and pacing rate" } else { "window" };
                layer.advise(key, format!("has no effect with {name}, which sets its {what} itself"));
            }
        }
    }

    /// Fails if the flow cannot start as its options say.
    fn check_start(&self, flow: &TcpFlow) -> Result<()> {
        let rapid = flow.control.word("slow_start").is_some_and(|word| word.starts_with("rapid"));
        let rack = flow.options.recovery == Recovery::Rack;
        if rapid
            && !rack
            && let Some(layer) = self.layer_with("congestion_control")
        {
            let message =
                "slow_start = \"rapid\" needs recovery = \"rack\": it sets the window in recovery itself";
            return Err(layer.error("congestion_control", message));
        }
        let unpaced = !flow.options.pacing && flow.options.initial_window > 10.0;
        if rapid
            && unpaced
            && let Some(layer) = self.layer_with("initial_window")
        {
            let message = "Rapid Start triples this window in a round trip: pace it (pacing = true), or write at most 10";
            layer.advise("initial_window", message);
        }
        let Some((key, layer)) =
            start::key_of(&flow.start).and_then(|key| Some((key, self.layer_with(key)?)))
        else {
            return Ok(());
        };
        if !rack {
            return Err(layer.error(key, "needs recovery = \"rack\""));
        }
        if flow.control.owns_window(&flow_info(&flow.options, false, 0)) {
            return Err(layer.error(key, start::refusal(flow.control.name())));
        }
        Ok(())
    }

    /// Fails if the controller requires a signal that the flow does not provide.
    fn check_signals(&self, flow: &TcpFlow) -> Result<()> {
        let key = "congestion_control";
        let (Some(lacks), Some(layer)) = (flow.unmet_option(), self.layer_with(key)) else { return Ok(()) };
        Err(layer.error_of_kind(ErrorKind::UnmetNeed, key, lacks))
    }
}

/// Sets the ECN options that the controller requires and that the scenario does not give; `is_set` tells which it gives.
fn set_required_ecn(flow: &mut TcpFlow, is_set: impl Fn(&str) -> bool) {
    let needs = flow.needs();
    if needs.has(Signals::ECN_PER_PACKET) {
        flow.options.ecn |= !is_set("ecn");
        if !is_set("ecn_feedback") {
            flow.options.ecn_feedback = EcnFeedback::PerPacket;
        }
    }
    flow.options.l4s |= needs.has(Signals::L4S) && !is_set("l4s");
}

fn read_layer(layer: &TableReader<'_>, flow: &mut TcpFlow) -> Result<()> {
    let control = control::read(layer).map(|control| {
        if let Some(control) = control {
            flow.control = control;
        }
    });
    if layer.has("initial_window") {
        flow.default_initial_window = None;
    }
    let options = layer.each(Options::KEYS, |key, value| flow.options.set(key, value));
    let options = start::read(layer, &mut flow.start).and(options);
    layer.finish().and(options).and(control)
}

/// Reports times of a table that do not go together.
fn check_times(layer: &TableReader<'_>, o: &mut Options) -> Result<()> {
    if layer.has("ack_delay") && !layer.has("ack_delay_max") {
        o.ack_delay_max = o.ack_delay_max.max(o.ack_delay);
    }
    let mut fits = Ok(());
    if o.ack_delay_max < o.ack_delay {
        let message = format!("must be at least ack_delay, which is {}", o.ack_delay);
        fits = Err(layer.error("ack_delay_max", message));
    }
    if o.max_rto < o.min_rto {
        fits = Err(layer.error("max_rto", format!("must be at least min_rto, which is {}", o.min_rto)));
    }
    fits
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
        hops: 0,
    }
}
