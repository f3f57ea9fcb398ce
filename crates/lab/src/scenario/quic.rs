//! Reads the QUIC options of a flow: `[quic]`, then the table of the flow.

use super::control;
use super::model::{CommonOptions, CongestionControl, FlowStart, QuicFlow};
use super::reading::Result;
use super::start;
use super::table::TableReader;
use super::tcp::TCP;
use crate::error::ErrorKind;
use ::quic::{Config, missing_signal};
use cc::{Arithmetic, FlowInfo, Signals};
use transport::Options;

impl QuicFlow {
    /// The defaults.
    pub(super) fn new() -> QuicFlow {
        let config = Config::default();
        QuicFlow {
            control: CongestionControl::with_defaults("cubic"),
            common: CommonOptions::with_defaults(0),
            default_initial_window: Some(config.initial_window),
            config,
            start: FlowStart::default(),
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
    pub defaults: Option<TableReader<'a>>,
    /// The flow's own table.
    pub flow_table: Option<TableReader<'a>>,
}

impl<'a> QuicLayers<'a> {
    /// Reads all layers.
    pub fn read(&self) -> Result<QuicFlow> {
        let mut flow = QuicFlow::new();
        let mut read = Ok(());
        for layer in self.layers() {
            read = read_layer(layer, &mut flow).and(read);
            read = refuse_tcp_options(layer).and(layer.finish()).and(read);
        }
        read?;
        let needs = flow.control.needs(&flow.flow_info(0, 0));
        let has = |key: &str| self.layers().any(|layer| layer.has(key));
        flow.config.ecn |= needs.has(Signals::ECN_PER_PACKET) && !has("ecn");
        flow.config.l4s |= needs.has(Signals::L4S) && !has("l4s");
        flow.set_initial_window();
        if let Err(error) = flow.config.check() {
            let key = key_of(error.field);
            return Err(self.layer_with(key).error(key, error.message));
        }
        if let Some(key) = start::key_of(&flow.start)
            && flow.control.owns_window(&flow.flow_info(0, 0))
        {
            return Err(self.layer_with(key).error(key, start::refusal(flow.control.name())));
        }
        match flow.unmet_option() {
            Some(lacks) => {
                let key = "congestion_control";
                Err(self.layer_with(key).error_of_kind(ErrorKind::UnmetNeed, key, lacks))
            }
            None => Ok(flow),
        }
    }

    /// The tables, the defaults first.
    fn layers(&self) -> impl DoubleEndedIterator<Item = &TableReader<'a>> {
        self.defaults.iter().chain(&self.flow_table)
    }

    /// The table that gives `key`, that of the flow before that of all flows; without one the last table.
    fn layer_with(&self, key: &str) -> &TableReader<'a> {
        let giving = self.layers().rev().find(|layer| layer.has(key));
        let Some(layer) = giving.or_else(|| self.layers().next_back()) else {
            unreachable!("without tables all values are defaults, which are permitted")
        };
        layer
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

/// Reports the options of a table of QUIC that only TCP has.
fn refuse_tcp_options(layer: &TableReader<'_>) -> Result<()> {
    let mut refused = Ok(());
    for (key, _) in layer.unread().filter(|(key, _)| TCP.key(key).is_some()) {
        let instead = match key {
            "mss" => "write max_datagram_size",
            "delayed_ack" | "ack_delay" | "quick_acks" => "write ack_every and max_ack_delay",
            _ => "remove it, or make this a tcp flow",
        };
        let message = format!("is an option of TCP, which QUIC does not have; {instead}");
        refused = Err(layer.error(key, message));
    }
    refused
}

fn read_layer(layer: &TableReader<'_>, flow: &mut QuicFlow) -> Result<()> {
    let control = control::read(layer).map(|control| {
        if let Some(control) = control {
            flow.control = control;
        }
    });
    if layer.has("initial_window") {
        flow.default_initial_window = None;
    }
    let config = layer.each(Config::KEYS, |key, value| flow.config.set(key, value));
    let start = start::read(layer, &mut flow.start);
    layer
        .each(CommonOptions::KEYS, |key, value| flow.common.set(key, value))
        .and(config)
        .and(control)
        .and(start)
}
