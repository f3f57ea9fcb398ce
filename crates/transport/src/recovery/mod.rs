//! Loss recovery, one file for each algorithm: what to retransmit, and when. The controller sets the window.

mod newreno;
pub(crate) mod rack;
mod reno;
mod sack;
mod sack1;
mod state;
mod tahoe;
mod vegas;
mod westwood_module;

pub(crate) use rack::Rack;
pub use rack::{Snapshot, State};
pub(crate) use state::{RecoveryState, VegasClock};

use crate::blocks::Block;
use crate::context::FlowContext;
use crate::options::StackProfile;
use crate::sender::Sender;
use net::Packet;

/// Number of duplicate ACKs that indicates a loss.
const DUP_THRESH: u32 = 3;

impl Sender {
    /// Gives an ACK to the recovery.
    #[inline(always)] // or an ACK pays a call for it
    pub(crate) fn recover_on_ack<W: FlowContext>(
        &mut self,
        context: &mut W,
        packet: &Packet,
        blocks: &[Block],
    ) {
        match self.recovery_state {
            RecoveryState::Tahoe => tahoe::on_ack(self, context, packet),
            RecoveryState::Reno => reno::on_ack(self, context, packet),
            RecoveryState::NewReno { .. } => newreno::on_ack(self, context, packet),
            RecoveryState::Vegas(_) => vegas::on_ack(self, context, packet),
            RecoveryState::Sack(_) if self.options.stack == StackProfile::Ns2 => {
                sack1::on_ack(self, context, packet, blocks)
            }
            RecoveryState::Sack(_) => sack::on_ack(self, context, packet, blocks),
            RecoveryState::WestwoodModule => westwood_module::on_ack(self, context, packet),
            RecoveryState::Rack(_) => rack::on_ack(self, context, packet, blocks),
        }
    }

    /// Sends what the application has just written.
    pub(crate) fn send_written<W: FlowContext>(&mut self, context: &mut W) {
        match self.recovery_state {
            RecoveryState::Rack(_) => rack::on_write(self, context),
            _ => self.send_much(context, self.options.max_burst),
        }
    }

    /// Gives the expiry of the retransmission timer to a recovery with timers of its own.
    pub(crate) fn recover_on_timer<W: FlowContext>(&mut self, context: &mut W) -> bool {
        let own = matches!(self.recovery_state, RecoveryState::Rack(_));
        if own {
            rack::on_timer(self, context);
        }
        own
    }

    /// Sends what a SACK recovery permits, at most `burst` packets, or any number if `burst` is zero.
    pub(crate) fn send_by_scoreboard<W: FlowContext>(&mut self, context: &mut W, burst: u32) {
        if let RecoveryState::Rack(_) = self.recovery_state {
            return rack::send(self, context);
        }
        match self.options.stack {
            StackProfile::Ns2 => sack1::send(self, context, burst),
            StackProfile::Linux => sack::send(self, context, burst),
        }
    }
}
