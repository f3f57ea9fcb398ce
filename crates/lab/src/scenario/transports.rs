//! The transport of a flow: TCP or QUIC with their options, or UDP.

use super::control::CONTROLLER;
use super::document::TomlItem;
use super::model::{CommonOptions, CongestionControl, FlowKind, QuicFlow};
#[cfg(feature = "quic")]
use super::quic::QuicLayers;
use super::reading::{Reading, Result};
use super::table::TableReader;
use super::tcp::TcpLayers;
#[cfg(not(feature = "quic"))]
use crate::error::ScenarioError;
use cc::FlowInfo;
use params::Form::Controller;
use params::{Key, Table, key};
use std::sync::Arc;

/// The options of a QUIC flow.
pub(super) static QUIC: Table = Table::new(
    "quic",
    "`[quic]` for all QUIC flows, and `quic` of a flow or of traffic",
    &[
        &[key("congestion_control", Controller, "\"cubic\"", CONTROLLER)],
        super::start::KEYS,
        CommonOptions::KEYS,
        STACK,
    ],
);

#[cfg(feature = "quic")]
const STACK: &[Key] = ::quic::Config::KEYS;
#[cfg(not(feature = "quic"))]
const STACK: &[Key] = &[];

/// The tables with the options of all flows.
#[derive(Clone, Copy)]
pub(super) struct Defaults<'a> {
    /// `[tcp]`.
    pub tcp: Option<&'a TomlItem>,
    /// `[quic]`.
    pub quic: Option<&'a TomlItem>,
    reading: &'a Reading,
}

impl<'a> Defaults<'a> {
    /// Finds the tables at the top of a scenario.
    pub fn new(top: &TableReader<'a>) -> Defaults<'a> {
        Defaults { tcp: top.get("tcp"), quic: top.get("quic"), reading: top.reading() }
    }

    /// Reads the tables even if no flow uses them, to report their errors. Returns `[quic]`.
    pub fn check(self) -> Result<Option<Arc<QuicFlow>>> {
        let tcp = self.read_tcp(None, true);
        let quic = self.quic.map(|_| self.read_quic(None)).transpose();
        match tcp.and(quic)? {
            Some(FlowKind::Quic(quic)) => Ok(Some(quic)),
            _ => Ok(None),
        }
    }

    /// Reads the options of a TCP flow with the table `flow_table`; `alone`: those of `[tcp]` for their own mistakes.
    pub fn read_tcp(self, flow_table: Option<TableReader<'_>>, alone: bool) -> Result<FlowKind> {
        let defaults = self.tcp.map(|item| TableReader::new(self.reading, "tcp", item)).transpose()?;
        TcpLayers { defaults, flow_table, alone }.read().map(|tcp| FlowKind::Tcp(Arc::new(tcp)))
    }

    /// Reads the options of a QUIC flow with the table `flow_table`, or those of `[quic]`.
    #[cfg(feature = "quic")]
    fn read_quic(self, flow_table: Option<TableReader<'_>>) -> Result<FlowKind> {
        let defaults = self.quic.map(|item| TableReader::new(self.reading, "quic", item)).transpose()?;
        QuicLayers { defaults, flow_table }.read().map(|quic| FlowKind::Quic(Arc::new(quic)))
    }

    /// Reports that there is no QUIC.
    #[cfg(not(feature = "quic"))]
    fn read_quic(self, flow_table: Option<TableReader<'_>>) -> Result<FlowKind> {
        let message =
            "QUIC is not part of this build; make it a tcp flow, or run it with the command `ackclock`";
        match (flow_table, self.quic) {
            (Some(table), _) => Err(table.refused(message)),
            (None, Some(item)) => Err(self.reading.report(ScenarioError::new(&item.origin, "quic", message))),
            (None, None) => unreachable!("the file or the flow has the table"),
        }
    }
}

/// Reads `tcp` or `quic` of a flow or of a traffic source; a flow without either is TCP.
pub(super) fn read_transport(reader: &TableReader<'_>, defaults: Defaults<'_>) -> Result<FlowKind> {
    let (tcp, quic) = (reader.table("tcp"), reader.table("quic"));
    match (tcp?, quic?) {
        (tcp, None) => defaults.read_tcp(tcp, false),
        (None, quic) => defaults.read_quic(quic),
        (Some(_), Some(_)) => Err(reader.error("quic", "a flow is one of tcp, quic and udp")),
    }
}

impl FlowKind {
    /// The name of the transport: "tcp", "quic", "udp" or "attached".
    pub fn name(&self) -> &'static str {
        match self {
            FlowKind::Tcp(_) => "tcp",
            FlowKind::Quic(_) => "quic",
            FlowKind::Udp { .. } => "udp",
            FlowKind::Attached(_) => "attached",
        }
    }

    /// Its congestion controller; UDP has none, and that of an attached flow is unknown.
    pub fn control(&self) -> Option<&CongestionControl> {
        match self {
            FlowKind::Tcp(tcp) => Some(&tcp.control),
            FlowKind::Quic(quic) => Some(&quic.control),
            FlowKind::Udp { .. } | FlowKind::Attached(_) => None,
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

    /// The same transport in which messages end with a short segment, unless its options say otherwise.
    pub(super) fn with_short_segments(self) -> FlowKind {
        match self {
            FlowKind::Tcp(tcp)
                if !tcp.options.short_segments
                    && !tcp.options_set.0.contains(&String::from("short_segments")) =>
            {
                let mut tcp = Arc::unwrap_or_clone(tcp);
                tcp.options.short_segments = true;
                FlowKind::Tcp(Arc::new(tcp))
            }
            other => other,
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
            FlowKind::Attached(ends) => ends.mtu.saturating_sub(ends.header),
        }
    }

    /// The window before the first ACK, segments; zero without a controller.
    pub(crate) fn initial_window(&self) -> f64 {
        match self {
            FlowKind::Tcp(tcp) => tcp.options.initial_window,
            #[cfg(feature = "quic")]
            FlowKind::Quic(quic) => quic.config.initial_window,
            _ => 0.0,
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
        self.segment() + self.header()
    }

    /// Bytes of a packet on the wire besides those of its segment.
    pub(crate) fn header(&self) -> u32 {
        match self {
            FlowKind::Tcp(tcp) => tcp.options.header,
            FlowKind::Quic(quic) => quic.common.header,
            FlowKind::Udp { .. } => 0,
            FlowKind::Attached(ends) => ends.header,
        }
    }
}
