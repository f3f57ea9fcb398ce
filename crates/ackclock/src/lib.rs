//! Ackclock for Rust programs: a scenario in, an outcome and traces out.
//!
//! ```
//! use ackclock::{Recording, Run, Scenario, Settings, TraceMode};
//!
//! let text = r#"
//! duration = "10s"
//! [[link]]
//! ends  = ["sender", "receiver"]
//! rate  = "10Mbps"
//! delay = "20ms"
//! queue = { kind = "droptail", limit = "1bdp" }
//! [[flow]]
//! name = "reno"
//! from = "sender"
//! to   = "receiver"
//! tcp  = { congestion_control = "reno" }
//! "#;
//! let scenario = Scenario::parse("example.toml", text, &["flow.reno.start=1s".into()])?;
//! let recording = Recording { trace: TraceMode::Changes, ..Recording::default() };
//! let mut run = Run::new(&scenario, Settings { seed: Some(7), recording, ..Settings::default() })?;
//! run.finish();
//!
//! let outcome = run.outcome();
//! assert!(outcome.flows[0].goodput_bps > 8e6);
//! let trace = &run.logs().windows;
//! assert_eq!(trace.time_s.len(), trace.cwnd.len());
//! assert!(trace.cwnd.iter().all(|cwnd| *cwnd >= 1.0));
//! println!("{}", outcome.to_json());
//! # Ok::<(), ackclock::ScenarioError>(())
//! ```
//!
//! A controller of your own is a type with the trait [`Controller`] (`crates/cc/src/controllers/reno.rs` is the shortest one
//! of the laboratory). [`Scenario::with_controller`] runs it:
//!
//! ```
//! use ackclock::{Ack, Congestion, Controller, FlowInfo, Run, Scenario, Settings, Timeout, Window};
//!
//! /// Additive increase, multiplicative decrease.
//! #[derive(Clone, Debug)]
//! struct Aimd {
//!     window: Window,
//!     decrease: f64,
//! }
//!
//! impl Controller for Aimd {
//!     fn on_ack(&mut self, ack: &Ack) {
//!         if self.window.on_ack(ack) {
//!             self.window.grow(ack);
//!         }
//!     }
//!     fn on_congestion(&mut self, event: &Congestion) {
//!         self.window.reduce(event.window, self.decrease);
//!     }
//!     fn on_rto(&mut self, event: &Timeout) {
//!         self.window.timeout(event, 0.5);
//!     }
//!     ackclock::impl_window_accessors!(window);
//! }
//!
//! # let text = r#"
//! # duration = "10s"
//! # [[link]]
//! # ends  = ["sender", "receiver"]
//! # rate  = "10Mbps"
//! # delay = "20ms"
//! # queue = { kind = "droptail", limit = "1bdp" }
//! # [[flow]]
//! # name = "mine"
//! # from = "sender"
//! # to   = "receiver"
//! # "#;
//! let scenario = Scenario::parse("example.toml", text, &[])?
//!     .with_controller("mine", |flow: &FlowInfo| Aimd { window: Window::new(flow), decrease: 0.7 })?;
//! let mut run = Run::new(&scenario, Settings::default())?;
//! run.finish();
//!
//! let flow = &run.outcome().flows[0];
//! assert_eq!(flow.control.as_deref(), Some("Aimd"));
//! assert!(flow.goodput_bps > 8e6);
//! # Ok::<(), ackclock::ScenarioError>(())
//! ```
//!
//! [`Study`] and [`Pool`] run the points and seeds of a scenario with a `sweep` on several threads.
//! [`controllers`] lists the congestion control algorithms of the laboratory.
//!
//! [`network`] is the network of a scenario for stacks of your own, in virtual time.
#![forbid(unsafe_code)]

/// The examples of the guide for stacks.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/stacks.md")]
struct StacksPage;

#[cfg(feature = "conform")]
pub mod conform;
pub mod network;

pub use cc::{
    Ack, Algorithm, Congestion, Controller, Delivered, Descriptor, EcnResponse, Family, FlowInfo, Handshake,
    Hint, Lost, PathHint, Phase, RateSample, Restart, Sample, SenderState, Sent, Signals, SlowStart, Status,
    Timeout, TransmitStart, Window, estimators, impl_window_accessors,
};
#[cfg(feature = "schema")]
pub use lab::outcome_schema;
pub use lab::{
    Assignment, CarriedFiles, Done, ErrorKind, FileAccess, FlowOutcome, Job, LinkOutcome, Outcome, PacketLog,
    Pool, Recording, Run, Scenario, ScenarioError, ScenarioText, Settings, StateRow, Study, TraceMode,
    Violation, WindowLog, engine,
};
pub use net::{DropReason, Ecn};
pub use params::{Form, Key};
pub use units::{Limit, Rate, Segments, Span, Time};

/// Every registered congestion control algorithm, with its parameters and sources.
pub fn controllers() -> impl Iterator<Item = &'static Descriptor> {
    lab::controllers().map(|registration| &registration.descriptor)
}
