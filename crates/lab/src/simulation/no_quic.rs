//! In place of QUIC flows in a build without the cargo feature `quic`, in which no scenario has them.

use super::bounds::FlowBounds;
use super::build::QuicSetup;
use super::event_loop::Simulation;
use super::outcome::FlowOutcome;
use cc::Failure;
use net::Packet;
use std::convert::Infallible;
use transport::FlowTimer;
use units::Span;

/// The endpoints of a QUIC flow: there are none.
pub(super) struct QuicEndpoints(Infallible);

impl QuicEndpoints {
    pub fn new(_: QuicSetup, _: [u64; 2]) -> QuicEndpoints {
        unreachable!("the reader refuses QUIC flows")
    }
    pub fn take_qlogs(&mut self) -> Option<[String; 2]> {
        match self.0 {}
    }
    pub fn bounds(&self) -> FlowBounds {
        match self.0 {}
    }
    pub fn segment(&self) -> u32 {
        match self.0 {}
    }
    pub fn delivered_bytes(&self) -> u64 {
        match self.0 {}
    }
    pub fn failure(&self) -> Option<&Failure> {
        match self.0 {}
    }
    pub fn check(&self) -> Result<(), String> {
        match self.0 {}
    }
}

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    pub(super) fn quic_arrived(&mut self, index: usize, _: &Packet) {
        match self.quic[index].0 {}
    }
    pub(super) fn quic_timer(&mut self, flow: u32, _: FlowTimer) {
        match self.quic[flow as usize - self.senders.len()].0 {}
    }
    pub(super) fn quic_application(&mut self, _: u32, index: usize) {
        match self.quic[index].0 {}
    }
    pub(super) fn quic_handoff(&mut self, flow: u32, _: bool) {
        match self.quic[flow as usize - self.senders.len()].0 {}
    }
    pub(super) fn quic_outcome(&mut self, _: usize, index: usize, _: Span) -> FlowOutcome {
        match self.quic[index].0 {}
    }
}
