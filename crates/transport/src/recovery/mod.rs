//! Loss recovery, one file for each algorithm: what to retransmit, and when. The controller sets the window.
//!
//! To add a recovery:
//!
//! 1. Write a file beside `reno.rs` with a type that implements [`LossRecovery`] (`connection/loss_recovery.rs`). Only
//!    [`LossRecovery::new`] and [`LossRecovery::on_ack`] are required. What it must remember between events is a field of
//!    the type.
//! 2. Declare it (`mod`), and add its line to `recoveries!` below.
//! 3. Give it a name in `Recovery` (`options.rs`).
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
use crate::connection::{Connection, LossRecovery};
use crate::context::FlowContext;
use crate::options::{Options, Recovery, StackProfile};
use cc::{Phase, Signals};
use net::Packet;
use rack::Snapshot;
use units::Span;

/// Declares [`AnyRecovery`], the choice of a recovery by the options of a flow, and the calls, which are static.
macro_rules! recoveries {
    (
        |$options:ident, $needs:ident|
        $($recovery:pat $(if $condition:expr)? => $variant:ident($type:ty) $(in $boxed:ident)?,)*
    ) => {
        /// The recovery of a flow. What takes much memory is in a box: most flows have one that takes little.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyRecovery {
            $($variant(recoveries!(@field $type $(, $boxed)?)),)*
        }

        /// Evaluates a call with the recovery of any type.
        macro_rules! dispatch {
            ($any:expr, $each:ident => $call:expr) => {
                match $any {
                    $(AnyRecovery::$variant($each) => $call,)*
                }
            };
        }

        impl AnyRecovery {
            /// The recovery of a new flow, whose controller requires `needs`.
            pub fn new($options: &Options, $needs: Signals) -> AnyRecovery {
                match $options.recovery {
                    $($recovery $(if $condition)? => {
                        AnyRecovery::$variant(<$type>::new($options, $needs).into())
                    })*
                }
            }
        }
    };
    (@field $type:ty) => { $type };
    (@field $type:ty, $boxed:ident) => { $boxed<$type> };
}

recoveries! {
    |options, needs|
    Recovery::Tahoe => Tahoe(tahoe::Tahoe),
    Recovery::Reno if needs.has(Signals::FINE_CLOCK) => Vegas(vegas::Vegas),
    Recovery::Reno => Reno(reno::Reno),
    Recovery::NewReno => NewReno(newreno::NewReno),
    Recovery::Sack if options.stack == StackProfile::Ns2 => Sack1(sack1::Sack1) in Box,
    Recovery::Sack => Rfc6675(rfc6675::Rfc6675) in Box,
    Recovery::WestwoodModule => WestwoodModule(westwood_module::WestwoodModule),
    Recovery::Rack => Rack(rack::Rack) in Box,
}

impl AnyRecovery {
    /// Whether this recovery serves a flow whose controller requires `needs`.
    pub fn serves(&self, options: &Options, needs: Signals) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(&AnyRecovery::new(options, needs))
    }

    /// The counts of the scoreboard, if the recovery is `rack`.
    pub fn snapshot(&self, c: &Connection) -> Option<Snapshot> {
        match self {
            AnyRecovery::Rack(rack) => Some(rack.snapshot(c)),
            _ => None,
        }
    }

    /// The recovery `rack`, if it is that one.
    pub fn rack_mut(&mut self) -> Option<&mut rack::Rack> {
        if let AnyRecovery::Rack(rack) = self { Some(rack) } else { None }
    }

    /// The recovery `rack`, if it is that one.
    pub fn rack(&self) -> Option<&rack::Rack> {
        if let AnyRecovery::Rack(rack) = self { Some(rack) } else { None }
    }

    /// Gives an ACK to the recovery.
    #[inline(always)] // or an ACK pays a call for it
    pub fn on_ack<W: FlowContext>(
        &mut self,
        c: &mut Connection,
        context: &mut W,
        packet: &Packet,
        options: &AckOptions,
    ) {
        dispatch!(self, recovery => recovery.on_ack(c, context, packet, options))
    }

    /// Gives the expiry of the retransmission timer to the recovery.
    pub fn on_timer<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        dispatch!(self, recovery => recovery.on_timer(c, context))
    }

    /// The application is about to write data.
    pub fn before_write(&self, c: &mut Connection) {
        dispatch!(self, recovery => recovery.before_write(c))
    }

    /// Sends what the application has just written.
    pub fn on_write<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        dispatch!(self, recovery => recovery.on_write(c, context))
    }

    /// Sends what the recovery, the window and the pacer permit.
    pub fn send<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        dispatch!(self, recovery => recovery.send(c, context, c.options.max_burst))
    }

    /// Segments in flight: with SACK the estimate of the recovery ("pipe"), otherwise the segments outstanding.
    #[inline]
    pub fn in_flight(&self, c: &Connection) -> u32 {
        dispatch!(self, recovery => recovery.in_flight(c))
    }

    /// The most segments that may be outstanding.
    pub fn allowance(&self, c: &Connection) -> u32 {
        dispatch!(self, recovery => recovery.allowance(c))
    }

    /// The phase that the controller and the window trace see.
    #[inline]
    pub fn phase(&self, c: &Connection) -> Phase {
        dispatch!(self, recovery => recovery.phase(c))
    }

    /// The smallest round-trip time of the last minutes, which `rack` keeps.
    pub fn min_rtt(&self) -> Option<Span> {
        dispatch!(self, recovery => recovery.min_rtt())
    }

    /// Another controller takes over, which requires `needs`.
    pub fn change_needs(&mut self, needs: Signals) {
        dispatch!(self, recovery => recovery.change_needs(needs))
    }

    /// Notes that the application limits the sender, and not the window, if it does.
    #[inline(never)] // most controllers need no rate samples
    pub fn note_application_limit(&self, c: &mut Connection) {
        dispatch!(self, recovery => recovery.note_application_limit(c))
    }
}
