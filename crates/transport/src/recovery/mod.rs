//! Loss recovery, one file for each algorithm: what to retransmit, and when. The controller sets the window.
//!
//! To add a recovery:
//!
//! 1. Write a file beside `reno.rs` with a type that implements [`LossRecovery`]. Only [`LossRecovery::on_ack`] is
//!    required. What it must remember between events is a field of its variant of `RecoveryState` (`recovery_state/mod.rs`).
//! 2. Add the variant to `RecoveryState`, and one line to `dispatch!` below.
//! 3. Give it a name in `Recovery::ALL` (`options.rs`), and let `RecoveryState::new` choose it.
//!
//! Tests over lossy paths (`tests/transcripts.rs`) then include it by its name.

mod newreno;
pub(crate) mod rack;
mod reno;
mod rfc6675;
mod sack1;
mod tahoe;
mod vegas;
mod westwood_module;

use crate::blocks::AckOptions;
use crate::connection::Connection;
use crate::context::FlowContext;
use crate::recovery_state::RecoveryState;
use cc::Signals;
use net::Packet;

/// Number of duplicate ACKs that indicates a loss.
const DUP_THRESH: u32 = 3;

/// A loss recovery. Its state is in the connection, because the connection and its recovery change each other in every step.
pub(crate) trait LossRecovery {
    /// Processes an ACK: passes it to the controller, detects losses, and sends what is permitted. `options` has the SACK
    /// blocks. The ACK is for data that was sent.
    fn on_ack<W: FlowContext>(s: &mut Connection, context: &mut W, packet: &Packet, options: &AckOptions);

    /// The retransmission timer expired, with data outstanding. By default the sender goes back to the oldest segment.
    fn on_timer<W: FlowContext>(s: &mut Connection, context: &mut W) {
        s.time_out(context);
        Self::forget_repair(s);
        Self::send(s, context, s.options.max_burst);
    }

    /// Forgets the repair that a timeout ends.
    fn forget_repair(_s: &mut Connection) {}

    /// The application has written data.
    fn on_write<W: FlowContext>(s: &mut Connection, context: &mut W) {
        Self::send(s, context, s.options.max_burst);
    }

    /// The next segment to send, if `window` permits one: by default the next one in order.
    #[inline(always)]
    fn next_segment(s: &Connection, window: u32) -> Option<u32> {
        (s.next - s.una < window && s.next < s.limit).then_some(s.next)
    }

    /// Segment `seq`, which [`LossRecovery::next_segment`] gave, is sent now.
    #[inline(always)]
    fn note_sent(_s: &mut Connection, _seq: u32) {}

    /// Sends what the window and the pacer permit: at most `burst` packets, or any number if `burst` is zero. A recovery
    /// with an order of its own replaces it, and then has no use for [`LossRecovery::next_segment`].
    fn send<W: FlowContext>(s: &mut Connection, context: &mut W, burst: u32) {
        let window = s.window();
        let mut packets = 0;
        while let Some(seq) = Self::next_segment(s, window) {
            if !s.may_leave(context) {
                break;
            }
            Self::note_sent(s, seq);
            s.next = s.next.max(seq + 1);
            s.output(context, seq);
            packets += 1;
            if packets == burst {
                break;
            }
        }
    }

    /// Segments in flight: by default those outstanding.
    #[inline]
    fn in_flight(s: &Connection) -> u32 {
        s.next.saturating_sub(s.una)
    }

    /// How many segments more than the window may be outstanding, with limited transmit. The auditor checks it.
    fn beyond_window(s: &Connection) -> u32 {
        if s.options.limited_transmit { s.dupacks.min(2) } else { 0 }
    }
}

/// Evaluates `$call` with `$recovery` as the type of the recovery of connection `$s`. The call is static.
macro_rules! dispatch {
    ($s:expr, $recovery:ident => $call:expr) => {
        dispatch!(@ $s, $recovery => $call;
            Tahoe: tahoe::Tahoe,
            Reno: reno::Reno,
            NewReno: newreno::NewReno,
            Vegas: vegas::Vegas,
            Sack1: sack1::Sack1,
            Rfc6675: rfc6675::Rfc6675,
            WestwoodModule: westwood_module::WestwoodModule,
            Rack: crate::recovery_state::rack::Rack,
        )
    };
    (@ $s:expr, $recovery:ident => $call:expr; $($variant:ident: $type:ty),* $(,)?) => {
        match $s.recovery_state {
            $(RecoveryState::$variant { .. } => {
                type $recovery = $type;
                $call
            })*
        }
    };
}

impl Connection {
    /// Gives an ACK to the recovery.
    #[inline(always)] // or an ACK pays a call for it
    pub(crate) fn recover_on_ack<W: FlowContext>(
        &mut self,
        context: &mut W,
        packet: &Packet,
        options: &AckOptions,
    ) {
        if self.reports.has(Signals::SAMPLES)
            && packet.seq == self.una
            && self.opened
            && self.next > self.una
            && !matches!(self.recovery_state, RecoveryState::Rack(_))
        {
            self.notify_sample(context.now(), packet, 0);
        }
        dispatch!(self, Recovery => Recovery::on_ack(self, context, packet, options));
    }

    /// Gives the expiry of the retransmission timer to the recovery.
    pub(crate) fn recover_on_timer<W: FlowContext>(&mut self, context: &mut W) {
        dispatch!(self, Recovery => Recovery::on_timer(self, context));
    }

    /// Sends what the application has just written.
    pub(crate) fn send_written<W: FlowContext>(&mut self, context: &mut W) {
        dispatch!(self, Recovery => Recovery::on_write(self, context));
    }

    /// Sends what the recovery, the window and the pacer permit.
    pub(crate) fn send_permitted<W: FlowContext>(&mut self, context: &mut W) {
        dispatch!(self, Recovery => Recovery::send(self, context, self.options.max_burst));
    }

    /// Segments in flight: with SACK the estimate of the recovery ("pipe"), otherwise the segments outstanding.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        dispatch!(self, Recovery => Recovery::in_flight(self))
    }

    /// The maximum of outstanding segments, including limited transmit and inflation. The auditor checks it.
    pub(crate) fn allowance(&self) -> u32 {
        if let Some(sack) = self.recovery_state.scoreboard()
            && sack.recovering
        {
            // ns-2's pipe counts retransmissions too, and only cwnd bounds it; new data stays within the receiver's window.
            return self.cwnd().max(self.window());
        }
        let beyond = dispatch!(self, Recovery => Recovery::beyond_window(self));
        self.window().saturating_add(beyond)
    }
}
