//! In place of the events of QUIC flows in a build without the cargo feature `quic`.

use super::event_loop::Simulation;
use net::Packet;
use transport::{FlowTimer, Trigger};

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
    pub(super) fn quic_transmit(&mut self, flow: u32, _: usize, _: Trigger) {
        self.quic[self.endpoints[flow as usize].index()].absent()
    }
    pub(super) fn open_quic(&mut self, _: u32, index: usize) {
        self.quic[index].absent()
    }
    pub(super) fn finish_stream(&mut self, flow: u32, _: u32) {
        self.quic[self.endpoints[flow as usize].index()].absent()
    }
    pub(super) fn reset_stream(&mut self, flow: u32, _: u32) {
        self.quic[self.endpoints[flow as usize].index()].absent()
    }
    pub(super) fn stop_stream(&mut self, flow: u32, _: u32) {
        self.quic[self.endpoints[flow as usize].index()].absent()
    }
    pub(super) fn send_app_datagram(&mut self, flow: u32, _: u32, _: u32) {
        self.quic[self.endpoints[flow as usize].index()].absent()
    }
    pub(super) fn quic_handoff(&mut self, flow: u32, _: bool) {
        self.quic[self.endpoints[flow as usize].index()].absent()
    }
}
