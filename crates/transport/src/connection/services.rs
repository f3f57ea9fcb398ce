//! The handshake of a connection, and notifications of its controller.

use super::Connection;
use crate::change::WindowCause;
use cc::{Congestion, Controller, Timeout};

impl Connection {
    /// Whether the sender waits for the ACK of its SYN.
    #[inline(always)]
    pub(crate) fn handshake_pending(&self) -> bool {
        self.una == 0 && !self.opened && self.options.syn
    }
    /// The ACK that opens the connection: the initial window holds.
    pub(crate) fn open(&mut self) {
        self.opened = true;
        self.controller.set_window(self.initial_window);
    }

    /// Notifies the controller of a loss or an ECN echo.
    pub(crate) fn notify_congestion(&mut self, event: &Congestion) {
        self.stats.cwnd_reductions += 1;
        self.cause = Some(event.cause.into());
        self.set_cwr_pending();
        self.controller.on_congestion(event);
    }

    /// Notifies the controller of a retransmission timeout. `cut`: it reduces the threshold.
    pub(crate) fn notify_timeout(&mut self, event: &Timeout, cut: bool) {
        self.stats.cwnd_reductions += cut as u32;
        self.cause = Some(WindowCause::Rto);
        self.set_cwr_pending();
        self.controller.on_rto(event);
    }
}
