//! Congestion control: window laws behind one trait.
//!
//! A controller sees events, never the network: it receives one named struct per distinct event and answers
//! with a window, a slow-start threshold and, if it likes, a pacing rate. What to retransmit is not its
//! business. It reads no clock and draws no random number, so the same code runs in a test, in the
//! simulator, and in front of real packets.
//!
//! To add a controller write one file beside `reno.rs` and add one line to the list below.
#![forbid(unsafe_code)]

mod controller;
pub mod detmath;
pub mod estimators;
mod guest;
mod handoff_bic;
mod noise;
mod params;
mod registry;
#[cfg(test)]
mod testing;
mod window;

pub use controller::{
    Ack, Cause, Congestion, Controller, EchoAnswer, FlowInfo, Hint, Law, Phase, RateSample, Restart, Signals,
    Timeout,
};
pub use guest::{Failure, Guest, GuestLaw, Hosted};
pub use params::{Kind, Param, ParamError, Params, Value};
pub use registry::{Descriptor, Status};
pub use window::{Arithmetic, Growth, Window};

registry::controllers! {
    reno: Reno,
    vegas: Vegas,
    veno: Veno,
    cubic: Cubic,
    westwood: Westwood,
    westwood_plus: WestwoodPlus,
    ca_artt: CaArtt,
    sarbe: Sarbe,
    bic: Bic,
    bic_awi: BicAwi,
    bic_dpe: BicDpe,
    hybla: Hybla,
    hstcp: Hstcp,
    rcp: Rcp,
    xcp: Xcp,
    rcp_plus: RcpPlus,
    enhanced_rcp: EnhancedRcp,
}
