//! Losses and window reductions.

use super::{ControllerState, MIN_WINDOW};
use cc::{Cause, Congestion, Controller, Lost, Phase, Signals, Timeout};
use transport::WindowCause;
use units::Time;

impl ControllerState {
    /// The stack declares packets of `bytes` bytes lost, of which the last were sent at `sent`. `persistent`: they show
    /// persistent congestion.
    pub(super) fn on_lost_bytes(&mut self, now: Time, sent: Time, persistent: bool, bytes: u64) {
        if bytes == 0 {
            return; // an ECN echo, which the ACK frame has shown
        }
        self.stats.loss_events += 1;
        self.in_flight = self.in_flight.saturating_sub(bytes);
        let mut lost = std::mem::take(&mut self.lost);
        lost.clear();
        if !self.packets.lose(bytes, sent, &mut lost) {
            self.stats.unmatched_losses += 1;
        }
        self.qlog.losses(now, &lost, self.largest_acked, self.packet_threshold);
        self.notify_losses(now, &lost);
        let newest = lost.last().copied();
        self.lost = lost;
        if persistent {
            self.restart(now, newest);
        } else {
            self.reduce(now, Cause::FastRetransmit, newest, Some(sent));
        }
        self.qlog.state(now, self.phase, &self.controller, self.cause);
        if self.pending.is_none() {
            self.packets.trim();
        }
    }

    /// Counts losses and passes them to the controller, if it requires that.
    fn notify_losses(&mut self, now: Time, lost: &[u64]) {
        let before = self.stats.lost_packets;
        self.stats.lost_packets += lost.len() as u64;
        if !self.needs.has(Signals::LOSSES) {
            return;
        }
        for (index, number) in lost.iter().enumerate() {
            let state = self.rate.as_ref().map(|rate| rate.sent_state(*number as u32));
            let (tx_in_flight, earlier, app_limited) = state.unwrap_or_default();
            let total = before + 1 + index as u64;
            self.controller.on_lost(&Lost {
                now,
                seq: *number,
                tx_in_flight,
                lost: (total as u32).wrapping_sub(earlier) as u64,
                delivered_total: self.stats.acked_packets,
                app_limited,
                starts_range: index == 0 || lost[index - 1] + 1 != *number,
            });
        }
    }

    /// Whether packet `newest` was sent before the last reduction: then it belongs to it (RFC 9002 section 7.3.2). A packet
    /// of the handshake has no number here.
    fn reduced_for(&self, newest: Option<u64>) -> bool {
        match newest {
            Some(number) => self.recover.is_some_and(|last| number <= last),
            None => self.phase != Phase::Open,
        }
    }

    /// Reduces the window, once per window of data.
    pub(super) fn reduce(&mut self, now: Time, cause: Cause, newest: Option<u64>, sent: Option<Time>) {
        if self.reduced_for(newest) {
            if self.phase == Phase::Cwr && cause == Cause::FastRetransmit {
                self.phase = Phase::Recovery; // the echo has reduced the window for this loss
            }
            return;
        }
        self.recover = self.packets.next().checked_sub(1);
        self.phase = if cause == Cause::FastRetransmit { Phase::Recovery } else { Phase::Cwr };
        self.stats.cwnd_reductions += 1;
        self.cause = Some(cause.into());
        if let Some(rules) = &mut self.rules {
            rules.begin_reduction(&mut self.controller);
        }
        self.controller.on_congestion(&Congestion {
            now,
            cause,
            // Not what is in flight: a window that is not used does not grow (RFC 9002 sections 7.3.2 and 7.8, appendix B.6).
            window: self.controller.cwnd().max(1.0),
            in_flight: self.in_flight().segments,
            segment_sent: sent,
            retransmitted: false,
            dupacks: 0,
        });
        if let Some(rules) = &mut self.rules {
            let change = rules.reduced(&mut self.controller, now, self.packets.next());
            self.apply(change);
        }
    }

    /// Persistent congestion (RFC 9002 section 7.6): the window restarts at its minimum.
    fn restart(&mut self, now: Time, newest: Option<u64>) {
        let repeated = self.reduced_for(newest);
        self.recover = self.packets.next().checked_sub(1);
        self.phase = Phase::Loss;
        self.stats.persistent_congestion += 1;
        self.stats.cwnd_reductions += !repeated as u64;
        self.cause = Some(WindowCause::Rto);
        self.change.timeout = true;
        self.controller.on_rto(&Timeout { now, window: self.controller.cwnd(), repeated });
        if let Some(rules) = &mut self.rules {
            let change = rules.timed_out(now);
            self.apply(change);
        }
        if !self.controller.owns_window() && self.controller.cwnd() < MIN_WINDOW {
            self.controller.set_window(MIN_WINDOW);
        }
    }
}
