//! The log of a radio network: transmissions, deliveries, drops and routes.

use net::radio::{FrameContents, FrameKind, RadioEvent, RadioStep};
use units::Time;

/// Every step of the radio, in columns.
#[derive(Clone, Debug, Default)]
pub struct RadioLog {
    /// When.
    pub time: Vec<Time>,
    /// At which node.
    pub node: Vec<u32>,
    /// To which node; [`RadioLog::NOBODY`] for all or none.
    pub to: Vec<u32>,
    /// Number of the step in [`RadioLog::STEPS`].
    pub step: Vec<u8>,
    /// Which flow; [`RadioLog::NOBODY`] for none.
    pub flow: Vec<u32>,
    /// Duration of a transmission, s; zero for other steps.
    pub airtime_s: Vec<f64>,
    /// Changes of routes, in the order of time.
    pub routes: Vec<RouteChange>,
}

/// A change of a node's route.
#[derive(Clone, Copy, Debug)]
pub struct RouteChange {
    /// When.
    pub time: Time,
    /// The node.
    pub node: u32,
    /// The destination.
    pub to: u32,
    /// The next hop; none if there is no route.
    pub next: Option<u32>,
}

impl RadioLog {
    /// The names of the steps.
    pub const STEPS: [&'static str; 9] =
        ["rts", "cts", "mac_ack", "data", "ack", "routing", "arp", "deliver", "drop"];
    /// The value for no node or no flow.
    pub const NOBODY: u32 = u32::MAX;

    /// Rows of a log with bounded memory.
    pub const MOST_ROWS: usize = 1 << 20;

    pub(super) fn push(&mut self, event: &RadioEvent) {
        if let RadioStep::Route { to, next, .. } = event.step {
            return self.routes.push(RouteChange { time: event.at, node: event.node, to, next });
        }
        let mut row = |step: u8, to: Option<u32>, flow: u32, airtime: f64| {
            self.time.push(event.at);
            self.node.push(event.node);
            self.to.push(to.unwrap_or(Self::NOBODY));
            self.step.push(step);
            self.flow.push(flow);
            self.airtime_s.push(airtime);
        };
        match &event.step {
            RadioStep::Transmit { kind, to, until, load, .. } => {
                let (step, flow) = match (kind, load) {
                    (FrameKind::Rts, _) => (0, Self::NOBODY),
                    (FrameKind::Cts, _) => (1, Self::NOBODY),
                    (FrameKind::Ack, _) => (2, Self::NOBODY),
                    (_, FrameContents::Data { kind, flow, .. }) if kind.is_reverse() => (4, *flow),
                    (_, FrameContents::Data { flow, .. }) => (3, *flow),
                    (_, FrameContents::Routing) => (5, Self::NOBODY),
                    (_, FrameContents::Arp | FrameContents::None) => (6, Self::NOBODY),
                };
                row(step, *to, flow, until.since(event.at).seconds());
            }
            RadioStep::Deliver { flow } => row(7, None, *flow, 0.0),
            RadioStep::Drop { flow, .. } => row(8, None, *flow, 0.0),
            RadioStep::Route { .. } => {}
        }
    }
}
