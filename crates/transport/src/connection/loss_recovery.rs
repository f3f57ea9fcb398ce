//! The interface between a connection and its loss recovery.

use super::Connection;
use crate::blocks::AckOptions;
use crate::context::FlowContext;
use crate::options::Options;
use cc::{Phase, Signals};
use net::Packet;
use units::Span;

/// Number of duplicate ACKs that indicates a loss.
pub(crate) const DUP_THRESH: u32 = 3;

/// A loss recovery: what to retransmit, and when. It keeps what only it knows; what every sender has is the connection `c`,
/// whose methods are the steps that recoveries compose. A step that must know what the recovery knows takes it as an
/// argument.
pub(crate) trait LossRecovery: Sized {
    /// The recovery of a new flow, whose controller requires `needs`.
    fn new(options: &Options, needs: Signals) -> Self;

    /// Processes an ACK: passes it to the controller, detects losses, and sends what is permitted. `options` has the SACK
    /// blocks. The ACK is for data that was sent.
    fn on_ack<W: FlowContext>(
        &mut self,
        c: &mut Connection,
        context: &mut W,
        packet: &Packet,
        options: &AckOptions,
    );

    /// The retransmission timer expired, with data outstanding. By default the sender goes back to the oldest segment.
    fn on_timer<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        c.time_out(self, context);
        self.forget_repair();
        self.send(c, context, c.options.max_burst);
    }

    /// Forgets the repair that a timeout ends.
    fn forget_repair(&mut self) {}

    /// The application is about to write data. A recovery notes here what the rate samples must know of the time before.
    fn before_write(&self, _c: &mut Connection) {}

    /// The application has written data.
    fn on_write<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        self.send(c, context, c.options.max_burst);
    }

    /// The next segment to send, if `window` permits one: by default the next one in order.
    #[inline(always)]
    fn next_segment(&self, c: &Connection, window: u32) -> Option<u32> {
        (c.outstanding() < window && c.next < c.limit).then_some(c.next)
    }

    /// Segment `seq`, which [`LossRecovery::next_segment`] gave, is sent now.
    #[inline(always)]
    fn note_sent(&mut self, _c: &Connection, _seq: u32) {}

    /// Sends what the window and the pacer permit: at most `burst` packets, or any number if `burst` is zero. A recovery
    /// with an order of its own replaces it, and then has no use for [`LossRecovery::next_segment`].
    fn send<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W, burst: u32) {
        let window = c.window();
        let mut packets = 0;
        while let Some(seq) = self.next_segment(c, window) {
            if !c.may_leave(self, context) {
                break;
            }
            self.note_sent(c, seq);
            c.next = c.next.max(seq + 1);
            c.output(self, context, seq);
            packets += 1;
            if packets == burst {
                break;
            }
        }
    }

    /// Segments in flight: by default those outstanding.
    #[inline]
    fn in_flight(&self, c: &Connection) -> u32 {
        c.next.saturating_sub(c.una)
    }

    /// Segments in flight before an ACK that has acknowledged `acked` new ones.
    #[inline]
    fn in_flight_before(&self, c: &Connection, acked: u32) -> u32 {
        c.outstanding() + acked
    }

    /// Segments outstanding, as the pacing rate counts them: by default those that are now.
    #[inline]
    fn outstanding_for_pacing(&self, c: &Connection) -> u32 {
        c.outstanding()
    }

    /// Whether SACK has reported segment `seq`.
    #[inline]
    fn reported(&self, _seq: u32) -> bool {
        false
    }

    /// The most segments that may be outstanding. The auditor checks it.
    fn allowance(&self, c: &Connection) -> u32 {
        c.window_with_limited_transmit()
    }

    /// The phase that the controller and the window trace see.
    #[inline]
    fn phase(&self, c: &Connection) -> Phase {
        c.phase
    }

    /// Whether the sender compares the age of segments with a timeout of its controller, as ns-2's Vegas.
    #[inline]
    fn has_fine_clock(&self) -> bool {
        false
    }

    /// The smallest round-trip time of the last minutes, if the recovery keeps it.
    fn min_rtt(&self) -> Option<Span> {
        None
    }

    /// Another controller takes over, which requires `needs`.
    fn change_needs(&mut self, _needs: Signals) {}

    /// Called after an event if there are rate samples: notes that the application limits the sender, and not the window, if
    /// it does.
    fn note_application_limit(&self, c: &mut Connection) {
        let in_flight = self.in_flight(c);
        if c.lacks_data() && in_flight < c.window() {
            c.reports.application_limits(in_flight.max(1));
        }
    }
}
