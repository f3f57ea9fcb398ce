//! Congestion control: algorithms behind one trait.
//!
//! A controller sees events, never the network: it receives one named struct per distinct event and answers
//! with a window, a slow-start threshold and, if it likes, a pacing rate. What to retransmit is not its
//! business. It reads no clock and draws no random number, so the same code runs in a test, in the
//! simulator, and in front of real packets.
//!
//! To add a controller write one file beside `reno.rs` and add one line to the list below.
#![forbid(unsafe_code)]

mod controller;
mod descriptor;
pub mod detmath;
pub mod estimators;
mod events;
mod external;
mod flow;
mod handoff_bic;
mod noise;
mod params;
mod registry;
#[cfg(test)]
mod testing;
mod window;

pub use controller::{Algorithm, Controller};
pub use descriptor::{Descriptor, Status};
pub use events::{Ack, Cause, Congestion, EcnResponse, PathHint, Phase, RateSample, Restart, Timeout};
pub use external::{CachedExternal, ExternalController, ExternalFactory, Failure};
pub use flow::{Arithmetic, FlowInfo, Growth, Signals};
pub use params::{Param, ParamError, ParamKind, ParamValue, Params};
pub use window::Window;

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
