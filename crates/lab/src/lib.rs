//! The simulator library: reads a scenario, builds and runs the simulation, and returns an outcome and traces.
#![forbid(unsafe_code)]

pub mod audit;
mod capture;
pub mod catalog;
mod clock;
mod error;
mod files;
mod foreign;
pub mod fuzzing;
mod identity;
mod layout;
mod replay;
pub mod scenario;
pub mod schema;
pub mod simulation;
pub mod study;
mod view;

pub use audit::{Auditor, Violation};
pub use error::{ErrorKind, Origin, ScenarioError, Source};
pub use files::{CarriedFiles, FileAccess, set_shipped};
pub use foreign::foreign_kind;
pub use identity::engine;
pub use layout::{NodePosition, layout};
pub use replay::{ScriptedAck, ScriptedData, ScriptedReceiver, ScriptedSender, Transmitted};
pub use scenario::{
    Action, Assignment, Change, CommonOptions, CongestionControl, Direction, DirectionDescription, Document,
    Duplex, ExternalLoader, ExternalSource, Flow, FlowDescription, FlowKind, LinkDescription, Literal, Loss,
    Mention, MentionPlace, Mobility, NetworkDescription, Queue, QuicFlow, RadioNetwork, Satellites, Scenario,
    ScenarioText, Sizes, TcpFlow, Traffic, cbrgen, controller, controllers, dumbbell, key_parts, key_text,
    set_external_loader, split_assignment,
};
#[cfg(feature = "schema")]
pub use simulation::outcome_schema;
pub use simulation::{
    AttachmentOptions, DeliveredDatagram, EngineCost, Environment, Fairness, FlowBounds, FlowEnd,
    FlowOutcome, HandoffOutcome, LinkOutcome, Logs, NotForkable, Outcome, PacketLog, RadioLog, Recording,
    ResolvedFlow, ResolvedLink, ResolvedNetwork, ResolvedTraffic, RouteChange, RuleRow, Run, RunAccount,
    SatelliteOutcome, Settings, Shape, TraceMode, TransmissionLog, WindowLog, to_json,
};
#[cfg(not(target_family = "wasm"))]
pub use simulation::{PartFacts, Parts};
pub use study::{Axis, AxisValue, Done, Job, Pool, Study};
pub use view::{
    Curves, Explanation, Flights, LinkFate, PathSample, Question, SatelliteSnapshot, SatelliteView, Series,
    Unanswered, explain, reductions,
};

/// Names of the limits in [`FlowOutcome::limited_s`].
pub const SEND_LIMITS: [&str; transport::SendLimit::NAMES.len()] = transport::SendLimit::NAMES;

/// The version of engine and models: part of every result's identity.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Folders of the crates whose sources are hashed into [`engine()`], in order; none in a published crate.
pub const ENGINE_CRATES: &str = env!("ACKCLOCK_CRATES");
