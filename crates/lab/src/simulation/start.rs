//! Flows that start with saved values of their path, or with a jump.

use super::endpoints::Endpoints;
use super::event_loop::Simulation;
use transport::start::{Observed, SavedPath};

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    /// Flow `flow` is about to start.
    pub(super) fn begin_start(&mut self, flow: u32) {
        let Some(place) = self.starts.iter().position(|start| start.flow == flow) else { return };
        let source = self.starts[place].source;
        let taken = self.starts.iter().any(|start| start.used && start.source == source);
        let observed = source.filter(|_| !taken).and_then(|source| match self.endpoints[source as usize] {
            Endpoints::Tcp(index) => {
                let sender = &self.senders[index];
                sender.completed().and_then(|_| sender.observed())
            }
            Endpoints::Quic(index) => self.quic[index].saved_path(),
            Endpoints::Udp(_) | Endpoints::Attached(_) => None,
        });
        let planned = &mut self.starts[place];
        planned.used = observed.is_some();
        let observed = observed.map(|Observed { path, at }| {
            let path = SavedPath { cwnd: path.cwnd * planned.scale, ..path };
            Observed { path, at }
        });
        let now = self.event_queue.now();
        let Some(start) = planned.options.begin(now, planned.initial, observed) else { return };
        match self.endpoints[flow as usize] {
            Endpoints::Tcp(index) => self.senders[index].begin_start(start),
            Endpoints::Quic(index) => self.quic[index].begin_start(start),
            Endpoints::Udp(_) | Endpoints::Attached(_) => {}
        }
    }
}
