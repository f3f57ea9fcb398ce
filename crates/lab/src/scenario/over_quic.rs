//! A scenario with its TCP flows over QUIC.

use super::key::key_text;
use super::model::{Action, Flow, FlowKind, QuicFlow, Scenario, TcpFlow};
use crate::error::{Origin, ScenarioError};
use ::quic::Pacing;
use cc::Signals;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Options of TCP that a QUIC flow has too; their values are taken over.
const COMMON: &[&str] = &[
    "congestion_control",
    "mss",
    "header",
    "receive_window",
    "initial_window",
    "initial_ssthresh",
    "max_cwnd",
    "abe",
    "ecn",
    "l4s",
    "pacing",
    "ack_every",
    "validation",
    "resume",
    "jump",
];

/// The smallest datagram, bytes of UDP payload (RFC 9000 section 14).
const LEAST_DATAGRAM: u32 = 1200;

impl Scenario {
    /// As [`Scenario::over_quic`], but for the first flow alone; without flows nothing changes.
    pub fn first_over_quic(&self) -> Result<(Scenario, Vec<String>), ScenarioError> {
        let first = self.flows.first().cloned().into_iter().collect();
        let alone = Scenario { flows: first, traffic: Vec::new(), ..self.clone() };
        let (over, lost) = alone.over_quic()?;
        let mut scenario = self.clone();
        scenario.flows.iter_mut().zip(over.flows).for_each(|(flow, converted)| *flow = converted);
        Ok((scenario, lost))
    }

    /// This scenario with a QUIC flow in place of every TCP flow: the same controller with its parameters, packets of the same
    /// size on the wire, windows, ECN; everything else as in `[quic]`. Also returns what is lost in the conversion, in words.
    /// Fails if a controller needs what QUIC does not provide.
    pub fn over_quic(&self) -> Result<(Scenario, Vec<String>), ScenarioError> {
        let (mut over, mut lost, mut smallest) = (self.clone(), BTreeSet::new(), u32::MAX);
        let base = self.quic.as_deref().cloned().unwrap_or_else(QuicFlow::new);
        let kinds = over.flows.iter_mut().map(|flow| (&flow.name, &mut flow.kind, "flow"));
        let sources = over.traffic.iter_mut().map(|source| (&source.name, &mut source.kind, "traffic"));
        for (name, kind, table) in kinds.chain(sources) {
            let FlowKind::Tcp(tcp) = kind else { continue };
            lost.extend(tcp.options_set.0.iter().filter(|key| !COMMON.contains(&key.as_str())).cloned());
            smallest = smallest.min(datagram(tcp, &base));
            let quic = convert(tcp, &base);
            if let Some(lacks) = quic.unmet_option() {
                let key = key_text([table, name, "quic", "congestion_control"]);
                return Err(ScenarioError::new(&Origin::command_line("over quic"), &key, lacks).unmet());
            }
            *kind = FlowKind::Quic(Arc::new(quic));
        }
        for (flow, before) in over.flows.iter_mut().zip(&self.flows) {
            if let (Some(app), FlowKind::Tcp(_)) = (&flow.app, &before.kind) {
                flow.app = Some(Arc::new(app.over_quic()));
            }
        }
        // A page has one connection. The actions of changes have the places of flows.
        if let Some(flow) = over.flows.iter().find(|flow| flow.connection > 0 && !over.changes.is_empty()) {
            let key = key_text(["flow", &flow.name]);
            let message = "a page with protocol = \"http1\" cannot be converted in a scenario with changes; write \"http2\"";
            return Err(ScenarioError::new(&Origin::command_line("over quic"), &key, message).unmet());
        }
        over.flows.retain(|flow| flow.connection == 0);
        self.refuse_changes_of_tcp()?;
        let mut remarks = Vec::new();
        if !lost.is_empty() {
            let names = lost.into_iter().collect::<Vec<_>>().join(", ");
            remarks.push(format!("QUIC has no counterpart of these TCP options, which are ignored: {names}"));
        }
        if smallest < LEAST_DATAGRAM {
            remarks.push(format!(
                "datagrams have {LEAST_DATAGRAM} bytes, the least of QUIC, in place of {smallest} (RFC 9000 section 14)"
            ));
        }
        Ok((over, remarks))
    }
}

impl Scenario {
    /// Fails for a change of what a QUIC flow cannot change during a run.
    fn refuse_changes_of_tcp(&self) -> Result<(), ScenarioError> {
        let of_tcp =
            |flow: &usize| matches!(self.flows.get(*flow), Some(Flow { kind: FlowKind::Tcp(_), .. }));
        for change in &self.changes {
            for action in &change.actions {
                let (flow, what) = match action {
                    Action::ReceiveWindow(flow, _) => (flow, "receive window"),
                    Action::Control(flow, _) => (flow, "controller"),
                    _ => continue,
                };
                if of_tcp(flow) {
                    let key = key_text(["change", &change.name, "set"]);
                    let text = format!(
                        "the {what} of a QUIC flow cannot change during a run; omit the change, or run on TCP"
                    );
                    return Err(ScenarioError::new(&Origin::command_line("over quic"), &key, text).unmet());
                }
            }
        }
        Ok(())
    }
}

/// The UDP payload that makes a packet as large on the wire as a full segment of TCP.
fn datagram(tcp: &TcpFlow, base: &QuicFlow) -> u32 {
    (tcp.options.packet + tcp.options.header).saturating_sub(base.common.header)
}

fn convert(tcp: &TcpFlow, base: &QuicFlow) -> QuicFlow {
    let options = &tcp.options;
    let mut quic = QuicFlow { control: tcp.control.clone(), ..base.clone() };
    let config = &mut quic.config;
    config.packet = datagram(tcp, base).clamp(LEAST_DATAGRAM, 65_527);
    config.receive_window = options.window as u64 * config.packet as u64;
    config.initial_window = options.initial_window.max(2.0);
    let needs = tcp.control.needs(&tcp.flow_info(0, 0));
    config.ecn = options.ecn || needs.has(Signals::ECN_PER_PACKET);
    config.l4s = options.l4s || needs.has(Signals::L4S);
    if options.pacing {
        config.pacing = Pacing::Driver;
    }
    if tcp.options_set.0.iter().any(|key| key == "ack_every") {
        config.ack_every = Some(options.ack_every);
    }
    if options.validation != transport::Validation::Rfc7661 {
        config.validation = options.validation;
    }
    quic.start = tcp.start.clone();
    quic.default_initial_window = None;
    quic.common.initial_ssthresh = options.initial_ssthresh;
    quic.common.max_cwnd = options.max_cwnd;
    quic.common.abe = options.abe;
    quic
}
