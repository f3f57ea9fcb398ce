//! Congestion control algorithms behind one trait.
//!
//! A controller has no access to the network. It receives one struct for each kind of event and sets a congestion
//! window, a slow-start threshold and, optionally, a pacing rate. The transport decides what to retransmit. A
//! controller reads no clock, and its random numbers come from a seed of the flow, so the same code runs in a test,
//! in the simulator and with real packets.
//!
//! - [`Controller`]: what a controller receives and answers; [`Algorithm`]: how it is described and created.
//! - [`Window`], [`SlowStart`] and [`estimators`]: parts of controllers. [`parameters`]: how parameters are declared.
//! - `controllers/`: one file each. To add one, write a file beside `reno.rs` and register it in `controllers/mod.rs`.
//! - [`AnyController`]: what a transport holds; [`BoxedController`]: a controller of another crate in it.
//! - `outside/`: the same events and answers for controllers in other languages.
#![forbid(unsafe_code)]

mod boxed;
mod controller;
#[macro_use]
mod dispatch;
mod controllers;
mod descriptor;
pub mod detmath;
pub mod estimators;
mod events;
pub mod export;
mod factory;
mod flow;
mod noise;
mod outside;
mod pacing_rate;
pub mod parameters;
mod registry;
mod signals;
mod slow_start;
pub mod testing;
mod transitions;
mod window;
mod with_window;

pub use boxed::BoxedController;
pub use controller::{Algorithm, Controller};
pub use controllers::*;
pub use descriptor::{Descriptor, Family, Status};
pub use events::*;
pub use factory::{ExternalFactory, NativeFactory};
pub use flow::{Arithmetic, FlowInfo, Growth};
pub use outside::*;
pub use pacing_rate::pacing_rate;
pub use parameters::{FileContent, Key, ParamError, ParamValue, Params};
pub use registry::Registration;
pub use signals::{Provision, SignalRule, Signals};
pub use slow_start::SlowStart;
pub use transitions::{Transition, Transitions};
pub use units::{Rate, Segments, Span, Time};
pub use window::Window;
pub use with_window::WithWindow;
