//! In place of QUIC flows in a build without the cargo feature `quic`, in which no scenario has them.

use super::account::FlowAccount;
use super::apps::SenderView;
use super::bounds::FlowBounds;
use super::endpoints::{FlowSchedule, QuicSetup};
use super::flow_outcome::FlowFacts;
use cc::Failure;
use std::convert::Infallible;
use transport::start::{CarefulResume, Observed};
use units::Span;

/// The endpoints of a QUIC flow: there are none.
pub(super) struct QuicEndpoints(Infallible);

impl QuicEndpoints {
    pub fn new(_: QuicSetup, _: [u64; 2], _: u32) -> QuicEndpoints {
        unreachable!("the reader refuses QUIC flows")
    }
    pub fn take_qlogs(&mut self) -> Option<[String; 2]> {
        match self.0 {}
    }
    pub fn has_tls(&self) -> bool {
        match self.0 {}
    }
    pub fn tls_secrets(&self) -> String {
        match self.0 {}
    }
    pub fn absent(&self) -> ! {
        match self.0 {}
    }
    pub fn bounds(&self) -> FlowBounds {
        match self.0 {}
    }
    pub fn sender_view(&self) -> SenderView {
        match self.0 {}
    }
    pub fn shown_window(&self) -> (f64, f64) {
        match self.0 {}
    }
    pub fn with_policy<T>(&mut self, _: impl FnOnce(&mut policy::Policy) -> T) -> Option<T> {
        match self.0 {}
    }
    pub fn serve(&self, _: cc::Signals) -> Result<(), &'static str> {
        match self.0 {}
    }
    pub fn account(&mut self, _: &FlowSchedule, _: Span) -> FlowAccount {
        match self.0 {}
    }
    pub fn facts(&self, _: &FlowSchedule) -> FlowFacts {
        match self.0 {}
    }
    pub fn begin_start(&mut self, _: CarefulResume) {
        match self.0 {}
    }
    pub fn observe_path(&mut self) {
        match self.0 {}
    }
    pub fn saved_path(&self) -> Option<Observed> {
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
