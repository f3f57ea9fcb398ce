//! quinn's interface for controllers.

use crate::connection::Connection;
use ackclock_cc::{AnyController, Controller as _, Segments};
use quinn_proto::{RttEstimator, congestion};
use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A controller of Ackclock on one path of a connection of quinn.
///
/// quinn reports an ACK before the losses that it shows, and a controller expects them in the other order. So an ACK waits for
/// the next event or until quinn reads the window, which it does before it sends: the lock is for that, as
/// [`congestion::Controller::window`] has a shared reference.
#[derive(Debug)]
pub struct Controller {
    connection: Mutex<Connection>,
}

impl Controller {
    /// `mtu` in bytes, `window` in segments.
    pub(crate) fn new(controller: AnyController, now: Instant, mtu: u16, window: Segments) -> Controller {
        Controller { connection: Mutex::new(Connection::new(controller, now, mtu, window)) }
    }

    /// Calls `look` with the controller of Ackclock, which has processed every event. Its windows are in segments.
    pub fn inspect<R>(&self, look: impl FnOnce(&AnyController) -> R) -> R {
        look(self.lock().controller())
    }

    /// The connection, with no ACK waiting. No method leaves it in an invalid state if it panics.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        connection.flush_ack();
        connection
    }

    fn get_mut(&mut self) -> &mut Connection {
        self.connection.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl congestion::Controller for Controller {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        self.get_mut().on_sent(now, bytes);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _app_limited: bool, _rtt: &RttEstimator) {
        self.get_mut().on_packet_acked(now, sent, bytes);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        self.get_mut().on_end_acks(now, in_flight, app_limited);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        match lost_bytes {
            0 => self.get_mut().on_echo(now, sent),
            _ => self.get_mut().on_lost_bytes(now, sent, persistent, lost_bytes),
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.get_mut().set_packet(new_mtu);
    }

    fn window(&self) -> u64 {
        self.lock().window_bytes()
    }

    fn metrics(&self) -> congestion::ControllerMetrics {
        let connection = self.lock();
        let ssthresh = connection.controller().ssthresh();
        let mut metrics = congestion::ControllerMetrics::default();
        metrics.congestion_window = connection.window_bytes();
        metrics.ssthresh = ssthresh.is_finite().then(|| (ssthresh * connection.packet() as f64) as u64);
        metrics.pacing_rate = connection.controller().pacing().map(|rate| rate.bps());
        metrics
    }

    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        Box::new(Controller { connection: Mutex::new(self.lock().clone()) })
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
