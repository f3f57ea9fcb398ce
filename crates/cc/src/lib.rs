//! Congestion control algorithms behind one trait.
//!
//! A controller has no access to the network. It receives one struct for each kind of event and sets a congestion
//! window, a slow-start threshold and, optionally, a pacing rate. The transport decides what to retransmit. A
//! controller reads no clock, and its random numbers come from a seed of the flow, so the same code runs in a test,
//! in the simulator and with real packets.
//!
//! To add a controller, write one file beside `reno.rs` and add one line to the list below.
#![forbid(unsafe_code)]

#[macro_use]
mod interface;
mod answers;
mod controller;
mod cubic_linux;
mod descriptor;
pub mod detmath;
pub mod estimators;
mod events;
mod external;
mod fields;
mod flow;
mod handoff_bic;
mod linux;
mod noise;
mod pacing_rate;
mod parameters;
#[macro_use]
mod registry;
mod slow_start;
#[cfg(test)]
mod testing;
mod window;

pub use answers::{Answer, Decision};
pub use controller::{Algorithm, Controller};
pub use descriptor::{Descriptor, Family, Status};
pub use events::*;
pub use external::{CachedExternal, Event, EventMethod, ExternalController, ExternalFactory, Failure};
pub use fields::{Argument, External, Field, ValueKind};
pub use flow::{Arithmetic, Growth, Signals};
pub use parameters::{ParamError, ParamValue, Params};
pub use policy::{ActionKind, Feature, Measured, Plan, action_kinds, tunable_parameters};
pub use slow_start::SlowStart;
pub use window::Window;

use units::{Rate, Segments, Span, Time};

registry::controllers! {
    reno: Reno,
    vegas: Vegas in Box,
    veno: Veno,
    cubic: Cubic,
    bbr: Bbr in Box,
    bbr3: Bbr3 in Box,
    dctcp: Dctcp,
    prague: Prague,
    westwood: Westwood,
    westwood_plus: WestwoodPlus,
    ca_artt: CaArtt in Box,
    sarbe: Sarbe in Box,
    bic: Bic,
    bic_awi: BicAwi in Box,
    bic_dpe: BicDpe in Box,
    hybla: Hybla,
    hstcp: Hstcp,
    scalable: Scalable,
    illinois: Illinois,
    htcp: Htcp in Box,
    yeah: Yeah,
    compound: Compound,
    copa: Copa in Box,
    vivace: Vivace in Box,
    policy: Policy in Box,
    cdg: Cdg,
    nv: Nv in Box,
    swift: Swift,
    timely: Timely,
    lp: Lp,
    ledbat: Ledbat,
    ledbat_pp: LedbatPp in Box,
    rcp: Rcp,
    xcp: Xcp,
    rcp_plus: RcpPlus,
    enhanced_rcp: EnhancedRcp in Box,
}
