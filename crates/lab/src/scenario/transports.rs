//! The transport of a flow: TCP or QUIC with their options, or UDP.

use super::control::CONTROLLER;
use super::document::TomlItem;
use super::model::{CommonOptions, CongestionControl, FlowKind, QuicFlow};
#[cfg(feature = "quic")]
use super::quic::QuicLayers;
use super::table::TableReader;
use super::tcp::TcpLayers;
use crate::error::ScenarioError;
use cc::FlowInfo;
use params::Form::Controller;
use params::{Key, Table, key};
use std::sync::Arc;

type Result<T> = std::result::Result<T, ScenarioError>;

/// The options of a QUIC flow.
pub(super) static QUIC: Table = Table::new(
    "quic",
    "`[quic]` for all QUIC flows, and `quic` of a flow or of traffic",
    &[&[key("congestion_control", Controller, "\"cubic\"", CONTROLLER)], CommonOptions::KEYS, STACK],
);

#[cfg(feature = "quic")]
const STACK: &[Key] = ::quic::Config::KEYS;
#[cfg(not(feature = "quic"))]
const STACK: &[Key] = &[];

/// The tables with the options of all flows.
#[derive(Clone, Copy, Default)]
pub(super) struct Defaults<'a> {
    /// `[tcp]`.
    pub tcp: Option<&'a TomlItem>,
    /// `[quic]`.
    pub quic: Option<&'a TomlItem>,
}

impl<'a> Defaults<'a> {
    /// Finds the tables at the top of a scenario.
    pub fn new(top: &TableReader<'a>) -> Defaults<'a> {
        Defaults { tcp: top.get("tcp"), quic: top.get("quic") }
    }

    /// Reads the tables even if no flow uses them, to report their errors. Returns `[quic]`.
    pub fn check(self) -> Result<Option<Arc<QuicFlow>>> {
        TcpLayers { defaults: self.tcp, flow_table: None, path: String::new(), alone: true }.read()?;
        match read_quic(self.quic, None, String::new())? {
            Some(FlowKind::Quic(quic)) => Ok(Some(quic)),
            _ => Ok(None),
        }
    }
}

#[cfg(feature = "quic")]
fn read_quic(
    defaults: Option<&TomlItem>,
    flow_table: Option<&TomlItem>,
    path: String,
) -> Result<Option<FlowKind>> {
    if defaults.is_none() && flow_table.is_none() {
        return Ok(None);
    }
    QuicLayers { defaults, flow_table, path }.read().map(|quic| Some(FlowKind::Quic(Arc::new(quic))))
}

#[cfg(not(feature = "quic"))]
fn read_quic(
    defaults: Option<&TomlItem>,
    flow_table: Option<&TomlItem>,
    path: String,
) -> Result<Option<FlowKind>> {
    let (key, Some(item)) =
        (if flow_table.is_some() { path.as_str() } else { "quic" }, flow_table.or(defaults))
    else {
        return Ok(None);
    };
    let message = "QUIC is not part of this build; make it a tcp flow, or run it with the command `ackclock`";
    Err(ScenarioError::new(&item.origin, key, message))
}

/// Reads `tcp` or `quic` of a flow or of a traffic source; a flow without either is TCP.
pub(super) fn read_transport(reader: &TableReader<'_>, defaults: Defaults<'_>) -> Result<FlowKind> {
    let (tcp, quic) = (reader.get("tcp"), reader.get("quic"));
    if quic.is_some() {
        if tcp.is_some() {
            return Err(reader.error("quic", "a flow is one of tcp, quic and udp"));
        }
        if let Some(kind) = read_quic(defaults.quic, quic, reader.path("quic"))? {
            return Ok(kind);
        }
    }
    let layers =
        TcpLayers { defaults: defaults.tcp, flow_table: tcp, path: reader.path("tcp"), alone: false };
    layers.read().map(|tcp| FlowKind::Tcp(Arc::new(tcp)))
}

impl FlowKind {
    /// The name of the transport: "tcp", "quic" or "udp".
    pub fn name(&self) -> &'static str {
        match self {
            FlowKind::Tcp(_) => "tcp",
            FlowKind::Quic(_) => "quic",
            FlowKind::Udp { .. } => "udp",
        }
    }

    /// Its congestion controller; UDP has none.
    pub fn control(&self) -> Option<&CongestionControl> {
        match self {
            FlowKind::Tcp(tcp) => Some(&tcp.control),
            FlowKind::Quic(quic) => Some(&quic.control),
            FlowKind::Udp { .. } => None,
        }
    }

    /// The same transport with another controller; `None` for UDP.
    pub(crate) fn with_control(&self, control: CongestionControl) -> Option<FlowKind> {
        match self {
            FlowKind::Tcp(tcp) => Some(FlowKind::Tcp(Arc::new(tcp.with_control(control)))),
            #[cfg(feature = "quic")]
            FlowKind::Quic(quic) => Some(FlowKind::Quic(Arc::new(quic.with_control(control)))),
            _ => None,
        }
    }

    /// What its controller is told about a flow; UDP has none.
    pub(crate) fn flow_info(&self) -> Option<FlowInfo> {
        match self {
            FlowKind::Tcp(tcp) => Some(tcp.flow_info(0, 0)),
            #[cfg(feature = "quic")]
            FlowKind::Quic(quic) => Some(quic.flow_info(0, 0)),
            _ => None,
        }
    }

    /// What its controller needs and its options do not provide, as a message.
    pub(crate) fn unmet_option(&self) -> Option<String> {
        match self {
            FlowKind::Tcp(tcp) => tcp.unmet_option(),
            #[cfg(feature = "quic")]
            FlowKind::Quic(quic) => quic.unmet_option(),
            _ => None,
        }
    }

    /// Bytes of the segment in which windows are counted, or of a UDP packet.
    pub(crate) fn segment(&self) -> u32 {
        match self {
            FlowKind::Tcp(tcp) => tcp.options.packet,
            #[cfg(feature = "quic")]
            FlowKind::Quic(quic) => quic.segment(),
            #[cfg(not(feature = "quic"))]
            FlowKind::Quic(_) => 0,
            FlowKind::Udp { packet, .. } => *packet,
        }
    }

    /// The receiver's window in segments; UDP has none.
    pub(crate) fn receive_window(&self) -> Option<u32> {
        match self {
            FlowKind::Tcp(tcp) => Some(tcp.options.window),
            #[cfg(feature = "quic")]
            FlowKind::Quic(quic) => Some((quic.config.receive_window / quic.segment() as u64) as u32),
            _ => None,
        }
    }

    /// Bytes of a full packet on the wire.
    pub(crate) fn full_packet(&self) -> u32 {
        self.segment()
            + match self {
                FlowKind::Tcp(tcp) => tcp.options.header,
                FlowKind::Quic(quic) => quic.common.header,
                FlowKind::Udp { .. } => 0,
            }
    }
}
