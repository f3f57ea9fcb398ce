//! The laboratory: a scenario becomes a world, the world runs, the run leaves an outcome and traces.
#![forbid(unsafe_code)]

mod advice;
mod air_audit;
mod audit;
mod capture;
pub mod catalog;
mod control;
mod describe;
mod dumbbell;
mod error;
pub mod fuzzing;
mod layout;
mod memory;
mod movement;
mod outcome;
mod overrides;
mod pool;
mod queue;
mod radio;
mod reader;
mod recorder;
mod router;
mod satellites;
mod scenario;
mod stream;
mod study;
mod tcp;
mod tle;
mod traffic;
mod value;
mod view;
mod warmup;
mod world;

pub use advice::advised;
pub use audit::{Auditor, Violation};
pub use control::{Control, GuestLoader, GuestSource, set_guest_loader};
pub use describe::{DirectionDescription, FlowDescription, LinkDescription, NetworkDescription};
pub use dumbbell::dumbbell;
pub use error::{Origin, ScenarioError};
pub use outcome::{
    EngineCost, Fairness, FlowOutcome, HandoffOutcome, LinkOutcome, Outcome, SatelliteOutcome, to_json,
};
pub use pool::{Done, Job, Pool};
pub use queue::{Queue, RedQueue};
pub use radio::{Mobility, RadioNetwork, cbrgen};
pub use recorder::{PacketLog, RadioLog, Recording, TraceMode, WindowLog};
pub use satellites::{Satellites, Transmitter};
pub use scenario::{Direction, Duplex, Flow, FlowKind, Loss, Scenario};
pub use study::{Axis, Step, Study};
pub use tcp::TcpFlow;
pub use traffic::{Sizes, Traffic};
pub use value::allow_code;
pub use view::{Instant, Picture, SkyView};
pub use world::{Run, Settings};

/// The version of engine and models: part of every result's identity.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version with a hash of the core's sources: part of every run's identity.
pub const ENGINE: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("ACKCLOCK_SOURCES"));

/// Folders of the crates whose sources are hashed into [`ENGINE`], in order.
pub const ENGINE_CRATES: &str = env!("ACKCLOCK_CRATES");
