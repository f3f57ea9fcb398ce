//! Reads the QUIC options of a flow: `[quic]`, then the table of the flow.

use super::control;
use super::document::TomlItem;
use super::model::{CommonOptions, CongestionControl, QuicFlow};
use super::table::TableReader;
use super::tcp::TCP;
use crate::error::ScenarioError;
use ::quic::{Config, missing_signal};
use cc::{Arithmetic, FlowInfo, Signals};
use transport::Options;

type Result<T> = std::result::Result<T, ScenarioError>;

impl QuicFlow {
    /// The defaults.
    pub(super) fn new() -> QuicFlow {
        let config = Config::default();
        QuicFlow {
            control: CongestionControl::with_defaults("cubic"),
            common: CommonOptions::with_defaults(0),
            default_initial_window: Some(config.initial_window),
            config,
        }
    }

    /// The flow information for its controller.
    pub(crate) fn flow_info(&self, seed: u64, hops: u32) -> FlowInfo {
        FlowInfo {
            initial_window: self.config.initial_window,
            initial_ssthresh: self.common.initial_ssthresh,
            max_window: if self.common.max_cwnd > 0.0 { self.common.max_cwnd } else { f64::INFINITY },
            arithmetic: Arithmetic { rfc_variants: true, ..Options::linux().arithmetic() },
            fine_clock: false,
            packet: self.config.packet,
            abe: self.common.abe,
            seed,
            hops,
        }
    }

    /// The same flow with another controller, which may specify an initial window.
    pub(crate) fn with_control(&self, control: CongestionControl) -> QuicFlow {
        let mut flow = QuicFlow { control, ..self.clone() };
        flow.set_initial_window();
        flow
    }

    /// Sets the initial window that the controller specifies, unless the scenario gives one.
    fn set_initial_window(&mut self) {
        if let Some(default) = self.default_initial_window {
            let specified = self.control.initial_window(&self.flow_info(0, 0)).map(|window| window.max(2.0));
            self.config.initial_window = specified.unwrap_or(default);
        }
    }

    /// What its controller needs and the flow does not provide, as a message.
    pub(crate) fn unmet_option(&self) -> Option<String> {
        let lacks = missing_signal(self.control.needs(&self.flow_info(0, 0)), &self.config)?;
        Some(format!("{} {lacks}", self.control.name()))
    }

    /// Largest UDP payload, bytes: the segment of windows.
    pub(crate) fn segment(&self) -> u32 {
        self.config.packet
    }
}

/// The tables with the options of a QUIC flow.
pub(super) struct QuicLayers<'a> {
    /// The table `[quic]`.
    pub defaults: Option<&'a TomlItem>,
    /// The flow's own table.
    pub flow_table: Option<&'a TomlItem>,
    /// The name of the flow's own table in messages.
    pub path: String,
}

/// Options that the controller can set unless a table gives them.
#[derive(Default)]
struct Given {
    ecn: bool,
    l4s: bool,
}

impl QuicLayers<'_> {
    /// Reads all layers.
    pub fn read(&self) -> Result<QuicFlow> {
        let mut flow = QuicFlow::new();
        let mut set_keys = Given::default();
        for (path, item) in self.layers() {
            let layer = TableReader::new(path, item)?;
            read_layer(&layer, &mut flow, &mut set_keys)?;
            refuse_tcp_options(&layer)?;
            layer.finish()?;
        }
        let needs = flow.control.needs(&flow.flow_info(0, 0));
        flow.config.ecn |= needs.has(Signals::ECN_PER_PACKET) && !set_keys.ecn;
        flow.config.l4s |= needs.has(Signals::L4S) && !set_keys.l4s;
        flow.set_initial_window();
        if let Err(error) = flow.config.check() {
            return Err(self.error(key_of(error.field), error.message)?);
        }
        match flow.unmet_option() {
            Some(lacks) => Err(self.error("congestion_control", lacks)?.unmet()),
            None => Ok(flow),
        }
    }

    /// The tables with their names in messages, the defaults first.
    fn layers(&self) -> impl DoubleEndedIterator<Item = (&str, &TomlItem)> {
        [("quic", self.defaults), (self.path.as_str(), self.flow_table)]
            .into_iter()
            .filter_map(|(path, item)| Some((path, item?)))
    }

    /// An error about `key` in the table that gives it, that of the flow before that of all flows.
    fn error(&self, key: &str, message: String) -> Result<ScenarioError> {
        let mut last = None;
        for (path, item) in self.layers().rev() {
            let layer = TableReader::new(path, item)?;
            let gives = layer.keys().any(|set_keys| set_keys == key);
            last = last.filter(|_| !gives).or_else(|| Some(layer.error(key, message.clone())));
            if gives {
                break;
            }
        }
        let Some(error) = last else {
            unreachable!("without tables all values are defaults, which are permitted")
        };
        Ok(error)
    }
}

/// The key of a field of [`Config`].
fn key_of(field: &'static str) -> &'static str {
    match field {
        "packet" => "max_datagram_size",
        "certificate" => "certificate_size",
        other => other,
    }
}

/// Fails if a table of QUIC has an option that only TCP has.
fn refuse_tcp_options(layer: &TableReader<'_>) -> Result<()> {
    for error in layer.unknown_keys() {
        let key = error.key.rsplit('.').next().unwrap_or("").to_string();
        if TCP.key(&key).is_some() {
            let instead = match key.as_str() {
                "mss" => "write max_datagram_size",
                "delayed_ack" | "ack_delay" | "quick_acks" => "write ack_every and max_ack_delay",
                _ => "remove it, or make this a tcp flow",
            };
            return Err(
                layer.error(&key, format!("is an option of TCP, which QUIC does not have; {instead}"))
            );
        }
    }
    Ok(())
}

fn read_layer(layer: &TableReader<'_>, flow: &mut QuicFlow, set_keys: &mut Given) -> Result<()> {
    if let Some(control) = control::read(layer)? {
        flow.control = control;
    }
    for key in layer.keys() {
        set_keys.ecn |= key == "ecn";
        set_keys.l4s |= key == "l4s";
        if key == "initial_window" {
            flow.default_initial_window = None;
        }
    }
    layer.each(Config::KEYS, |key, value| flow.config.set(key, value))?;
    layer.each(CommonOptions::KEYS, |key, value| flow.common.set(key, value))?;
    Ok(())
}
