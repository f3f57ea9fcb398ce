//! In place of the events of QUIC flows in a build without the cargo feature `quic`.

use super::event_loop::Simulation;
use net::Packet;
use transport::FlowTimer;

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    pub(super) fn quic_arrived(&mut self, index: usize, _: &Packet) {
        self.quic[index].absent()
    }
    pub(super) fn quic_timer(&mut self, flow: u32, _: FlowTimer) {
        self.quic[self.endpoints[flow as usize].index()].absent()
    }
    pub(super) fn quic_application(&mut self, _: u32, index: usize) {
        self.quic[index].absent()
    }
    pub(super) fn quic_handoff(&mut self, flow: u32, _: bool) {
        self.quic[self.endpoints[flow as usize].index()].absent()
    }
}
