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
//! [`Study`] and [`Pool`] run the points and seeds of a scenario with a `sweep` on several threads.
//! [`controllers`] lists the congestion control algorithms; `CONTRIBUTING.md` says how to add one.
#![forbid(unsafe_code)]

pub use cc::{Ack, Congestion, Controller, Descriptor, FlowInfo, Status, Timeout};
pub use lab::{
    Access, CarriedFiles, Done, ErrorKind, FlowOutcome, Job, LinkOutcome, Outcome, PacketLog, Pool,
    Recording, Run, Scenario, ScenarioError, ScenarioText, Settings, Study, TraceMode, Violation, WindowLog,
};
pub use params::{Form, Key};
pub use units::{Limit, Rate, Span, Time};

/// Every registered congestion control algorithm, with its parameters and sources.
pub fn controllers() -> &'static [Descriptor] {
    cc::CONTROLLERS
}
