//! The stack's interface for congestion controllers.

use super::ControllerHandle;
use crate::clock::{Present, StackTime};
use crate::config::Pacing;
use quinn_proto::{RttEstimator, congestion};
use std::any::Any;
use std::sync::Arc;
use units::VirtualClock;

/// A window above 2^32 stops the stack's pacer.
const UNLIMITED: u64 = u64::MAX / 2;

struct Adapter {
    handle: ControllerHandle,
    clock: VirtualClock,
    /// The stack knows the time in whole nanoseconds only.
    present: Present,
}

impl congestion::Controller for Adapter {
    fn on_ack(&mut self, _: StackTime, _: StackTime, bytes: u64, _: bool, _: &RttEstimator) {
        self.handle.lock().on_acked_bytes(bytes);
    }
    fn on_end_acks(&mut self, _: StackTime, in_flight: u64, app_limited: bool, _: Option<u64>) {
        self.handle.lock().on_end_acks(self.present.get(), in_flight, app_limited);
    }
    fn on_congestion_event(&mut self, _: StackTime, sent: StackTime, persistent: bool, lost_bytes: u64) {
        let sent = self.clock.time(sent);
        self.handle.lock().on_lost_bytes(self.present.get(), sent, persistent, lost_bytes);
    }
    fn on_mtu_update(&mut self, _: u16) {}
    fn window(&self) -> u64 {
        let state = self.handle.lock();
        match state.pacing() {
            _ if state.closing => UNLIMITED,
            // The stack sends while less than the window is in flight with the next packet, not as much.
            Pacing::Stack => state.window_bytes().saturating_add(1),
            _ if state.has_room() && !state.held => UNLIMITED,
            _ => 1,
        }
    }
    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        Box::new(Adapter { handle: self.handle.clone(), clock: self.clock, present: self.present.clone() })
    }
    fn initial_window(&self) -> u64 {
        self.handle.lock().window_bytes()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Gives the stack the controller of a connection.
pub(crate) struct Factory {
    pub handle: ControllerHandle,
    pub clock: VirtualClock,
    pub present: Present,
}

impl congestion::ControllerFactory for Factory {
    fn build(self: Arc<Self>, _: StackTime, _: u16) -> Box<dyn congestion::Controller> {
        Box::new(Adapter { handle: self.handle.clone(), clock: self.clock, present: self.present.clone() })
    }
}
