//! Copies of a run in progress.

use super::endpoints::FlowSchedule;
use super::event_loop::Simulation;
use super::per_flow::PerFlow;
use super::{Inner, Run};
use std::collections::VecDeque;
use std::fmt;
use transport::{Receiver, Sender};

/// Why a run cannot be copied. The caller can start the same run again and advance it to the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotForkable(pub String);

impl fmt::Display for NotForkable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotForkable {}

impl Run {
    /// A second run in the present state of this one, recordings included; both continue independently, with equal results.
    /// Fails if the run has QUIC flows, whose stack cannot be copied, or attached flows, whose ends are outside, or an external controller that cannot be copied.
    pub fn fork(&self) -> Result<Run, NotForkable> {
        let inner = match &self.inner {
            Inner::Plain(simulation) => Inner::Plain(Box::new(simulation.fork()?)),
            #[cfg(not(target_family = "wasm"))]
            Inner::Windows(simulation) => Inner::Windows(Box::new(simulation.fork()?)),
            Inner::Full(simulation) => Inner::Full(Box::new(simulation.fork()?)),
        };
        Ok(Run { inner, memory_checks: self.memory_checks })
    }
}

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    pub(super) fn fork(&self) -> Result<Self, NotForkable> {
        self.check_fork()?;
        let copy = self.copy_with(self.schedules.copy(), self.senders.copy(), self.receivers.copy());
        match (copy.failure(), self.failure()) {
            (Some((flow, failure)), None) => Err(NotForkable(format!(
                "the controller of flow \"{flow}\" cannot be copied: {}",
                last_line(&failure.message)
            ))),
            _ => Ok(copy),
        }
    }

    /// Fails if some part of the state, except for controllers, cannot be copied.
    pub(super) fn check_fork(&self) -> Result<(), NotForkable> {
        if !self.quic.is_empty() {
            let name = &self.names[self.senders.len()]; // QUIC flows have the numbers after those of TCP flows
            return Err(NotForkable(format!("flow \"{name}\" is a QUIC flow, whose stack cannot be copied")));
        }
        if let Some(attached) = self.attached.first() {
            let name = &self.names[attached.flow as usize];
            return Err(NotForkable(format!(
                "the ends of flow \"{name}\" are outside the simulation and cannot be copied"
            )));
        }
        if self.border.is_some() {
            return Err(NotForkable("a run on several threads cannot be copied".into()));
        }
        Ok(())
    }

    /// A copy of all but these. It must be possible ([`Simulation::check_fork`]).
    pub(super) fn copy_with(
        &self,
        schedules: PerFlow<FlowSchedule>,
        senders: PerFlow<Sender>,
        receivers: PerFlow<Receiver>,
    ) -> Self {
        Simulation {
            title: self.title.clone(),
            event_queue: self.event_queue.clone(),
            network: self.network.clone(),
            topology: self.topology.clone(),
            recorder: self.recorder.clone(),
            ack_options: self.ack_options.clone(),
            endpoints: self.endpoints.clone(),
            senders,
            receivers,
            receiving: Vec::new(),
            quic: Vec::new(),
            udp: self.udp.clone(),
            attached: self.attached.clone(),
            apps: self.apps.clone(),
            datagrams: self.datagrams.clone(),
            outbox: VecDeque::new(),
            schedules,
            starts: self.starts.clone(),
            names: self.names.clone(),
            ends: self.ends.clone(),
            paths: self.paths.clone(),
            given_names: self.given_names.clone(),
            first_links: self.first_links.clone(),
            order: self.order.clone(),
            routes: Vec::new(), // for the division of a run that has not begun
            border: None,
            network_timers: self.network_timers.clone(),
            satellites: self.satellites.clone(),
            warmup: self.warmup.clone(),
            changes: self.changes.clone(),
            prepared: self.prepared.clone(),
            round_trips: self.round_trips.clone(),
            ..*self
        }
    }
}

/// The last line of a message: of a traceback, the error.
fn last_line(message: &str) -> &str {
    message.trim_end().rsplit('\n').next().unwrap_or(message)
}
