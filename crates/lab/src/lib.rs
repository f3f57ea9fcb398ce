//! The simulator library: reads a scenario, builds and runs the simulation, and returns an outcome and traces.
#![forbid(unsafe_code)]

pub mod audit;
mod capture;
pub mod catalog;
mod clock;
mod error;
mod files;
pub mod fuzzing;
pub mod identify;
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
pub use identity::engine;
pub use layout::{NodePosition, layout};
pub use replay::{ScriptedAck, ScriptedData, ScriptedReceiver, ScriptedSender, Transmitted};
pub use scenario::{
    Action, Arrivals, Assignment, Change, CommonOptions, CongestionControl, Direction, DirectionDescription,
    Document, Duplex, Ends, ExternalLoader, ExternalSource, Flow, FlowDescription, FlowKind, Language,
    LinkDescription, Literal, Loss, Mention, MentionPlace, Mobility, NetworkDescription, Page, PageObject,
    Queue, QuicFlow, RadioNetwork, Satellites, Scenario, ScenarioText, SizeDistribution, SizeTable, TcpFlow,
    Traffic, TruncatedPareto, cbrgen, controller, controllers, dumbbell, key_parts, key_text,
    set_external_loader, split_assignment,
};
#[cfg(feature = "schema")]
pub use simulation::outcome_schema;
pub use simulation::{
    AppOutcome, AppRow, Application, DeliveredDatagram, EngineCost, Environment, Fairness, FlowBounds,
    FlowEnd, FlowOutcome, HandoffOutcome, InjectError, LinkOutcome, Logs, MessageRow, NotForkable, Outcome,
    PacketLog, PortAccount, RadioLog, Recording, ResolvedFlow, ResolvedLink, ResolvedNetwork,
    ResolvedTraffic, RouteChange, RuleRow, Run, RunAccount, SatelliteOutcome, Settings, Shape, StateRow,
    TraceMode, TransmissionLog, WindowLog, ideal_delivery_time, ideal_time, pooled_quantile, to_json,
};
#[cfg(not(target_family = "wasm"))]
pub use simulation::{PartFacts, Parts};
pub use study::{Axis, AxisValue, Done, Job, Pool, Study};
pub use view::{
    BudgetPart, Curves, DatagramHistory, DatagramStep, Explanation, Flights, LinkFate, MessageBudget,
    PathSample, Question, SatelliteSnapshot, SatelliteView, Series, Unanswered, datagram_history, explain,
    message_budget, reductions,
};

/// Names of the limits in [`FlowOutcome::limited_s`].
pub const SEND_LIMITS: [&str; transport::SendLimit::NAMES.len()] = transport::SendLimit::NAMES;

/// 32 bytes that a stack can use as the seed of its generator: the same for the same seed of a run and the same purpose, and
/// independent of those of other purposes and of all that the network draws.
pub fn seed_bytes(seed: u64, purpose: &str) -> [u8; 32] {
    let mut stream = ::engine::Stream::new(seed, "stack", purpose);
    let words: [u64; 4] = std::array::from_fn(|_| stream.bits());
    let mut bytes = [0; 32];
    bytes.chunks_exact_mut(8).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
    bytes
}

/// The version of engine and models: part of every result's identity.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Folders of the crates whose sources are hashed into [`engine()`], in order; none in a published crate.
pub const ENGINE_CRATES: &str = env!("ACKCLOCK_CRATES");
