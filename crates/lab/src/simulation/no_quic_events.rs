//! In place of the events of QUIC flows in a build without the cargo feature `quic`.

use super::event_loop::Simulation;
use super::outcome::FlowOutcome;
use net::Packet;
use transport::FlowTimer;
use units::Span;

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    pub(super) fn quic_arrived(&mut self, index: usize, _: &Packet) {
        self.quic[index].absent()
    }
    pub(super) fn quic_timer(&mut self, flow: u32, _: FlowTimer) {
        self.quic[flow as usize - self.senders.len()].absent()
    }
    pub(super) fn quic_application(&mut self, _: u32, index: usize) {
        self.quic[index].absent()
    }
    pub(super) fn quic_handoff(&mut self, flow: u32, _: bool) {
        self.quic[flow as usize - self.senders.len()].absent()
    }
    pub(super) fn quic_outcome(&mut self, _: usize, index: usize, _: Span) -> FlowOutcome {
        self.quic[index].absent()
    }
}
