//! Whether a stack's congestion control does what its document says: the stack and the reference in a fixed list of
//! situations, tests of equivalence, and the first point at which they part.
//!
//! ```no_run
//! # use ackclock::network::*;
//! # fn client(_: &ackclock::conform::Case) -> Box<dyn Endpoint> { unimplemented!() }
//! # fn server(_: &ackclock::conform::Case) -> Box<dyn Endpoint> { unimplemented!() }
//! use ackclock::conform::Conformance;
//!
//! let report = Conformance::new("mystack")
//!     .controller("cubic", "cubic:rfc9438")
//!     .reno("reno")
//!     .quick()
//!     .run(|case| Ok([client(case), server(case)]))?;
//! report.assert();
//! # Ok::<(), ackclock::conform::ConformError>(())
//! ```
//!
//! What a verdict means and what it does not: docs/stacks.md.

mod case;
mod judge;
mod pipe;
mod record;
mod reference;
mod report;
mod situations;
mod statistics;

pub use case::{Case, StackEnds};
pub use pipe::{PipeEndpoint, Program};
pub use record::{AdapterAudit, RunRecord};
pub use reference::Reference;
pub use report::{Curve, MetricReport, Report, SituationReport, Standing};
pub use situations::{Metric, QUICK, SITUATIONS, Situation, VERSION};
pub use statistics::{Comparison, LEVEL, Test, Verdict, compare, holm, judge as judge_all};

use crate::network::{Application, StackError};
use case::{RunOptions, StackOptions, WRITE_BYTES};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Span, Time};

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConformError {
    /// A name or an option; one line with a remedy.
    BadInput(String),
    /// The stack has failed: in which situation, with which seed, and how.
    Stack {
        /// Name of the situation.
        situation: &'static str,
        /// The seed.
        seed: u64,
        /// The time and the call.
        message: String,
    },
    /// The flag of [`Conformance::run_watched`] was set.
    Stopped,
}

impl fmt::Display for ConformError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConformError::BadInput(message) => f.write_str(message),
            ConformError::Stack { situation, seed, message } => {
                write!(f, "stack failed in {situation}, seed {seed}: {message}")
            }
            ConformError::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for ConformError {}

/// A comparison of a stack with a reference.
#[derive(Clone, Debug)]
pub struct Conformance {
    name: String,
    version: String,
    controller: String,
    reference: String,
    reno: Option<String>,
    situations: Vec<String>,
    ecn: bool,
    seeds: u64,
    first_seed: u64,
    threads: usize,
    write_bytes: usize,
    exclusive: bool,
    options: StackOptions,
}

impl Conformance {
    /// Of the stack called `name`. Its controller is called `reno` unless [`Conformance::controller`] says otherwise.
    pub fn new(name: &str) -> Conformance {
        Conformance {
            name: name.into(),
            version: String::new(),
            controller: "reno".into(),
            reference: "reno".into(),
            reno: None,
            situations: SITUATIONS.iter().map(|situation| situation.name.into()).collect(),
            ecn: false,
            seeds: 20,
            first_seed: 1,
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            write_bytes: WRITE_BYTES,
            exclusive: false,
            options: StackOptions { header: 28, mtu: 1500, granularity: Span::from_ns(1) },
        }
    }

    /// The stack's version, for the report.
    pub fn version(mut self, version: &str) -> Self {
        self.version = version.into();
        self
    }

    /// The stack's name of the controller, and the reference that it claims to be, named exactly: `reno`, `cubic:rfc9438`,
    /// `cubic:linux`, `bbr:v1`, `bbr3`, with parameters after commas.
    pub fn controller(mut self, theirs: &str, reference: &str) -> Self {
        (self.controller, self.reference) = (theirs.into(), reference.into());
        self
    }

    /// The stack's name of its Reno, the control: a difference that its Reno has too is not one of the controller. Without it
    /// no verdict goes beyond *suspect*.
    pub fn reno(mut self, theirs: &str) -> Self {
        self.reno = Some(theirs.into());
        self
    }

    /// Only the situations with these names.
    pub fn situations<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.situations = names.into_iter().map(String::from).collect();
        self
    }

    /// Five situations with five seeds.
    pub fn quick(self) -> Self {
        self.situations(QUICK).seeds(5)
    }

    /// Number of seeds, from 3 on; 20 by default.
    pub fn seeds(mut self, seeds: u64) -> Self {
        self.seeds = seeds;
        self
    }

    /// The first seed, 1 by default. The fresh seeds that confirm a difference are others.
    pub fn first_seed(mut self, seed: u64) -> Self {
        self.first_seed = seed;
        self
    }

    /// Number of threads; by default that of the processors.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// At most one run of the stack at a time, for a stack with global state. References run beside it.
    pub fn exclusive(mut self, exclusive: bool) -> Self {
        self.exclusive = exclusive;
        self
    }

    /// The stack marks its packets as ECN-capable and reacts to marks.
    pub fn ecn(mut self, ecn: bool) -> Self {
        self.ecn = ecn;
        self
    }

    /// As [`crate::network::Open::header`] and [`crate::network::Open::mtu`].
    pub fn packets(mut self, header: u32, mtu: u32) -> Self {
        (self.options.header, self.options.mtu) = (header, mtu);
        self
    }

    /// The resolution of the stack's clock ([`crate::network::Driver::granularity`]).
    pub fn granularity(mut self, step: Span) -> Self {
        self.options.granularity = step;
        self
    }

    /// Runs the stack and the reference, and judges. `stack` makes the ends of a flow for a run; it is called from several
    /// threads, each of which uses its own ends.
    pub fn run<E: Into<StackEnds>>(
        &self,
        stack: impl Fn(&Case) -> Result<E, StackError> + Sync,
    ) -> Result<Report, ConformError> {
        self.run_watched(stack, &|_, _| (), &AtomicBool::new(false))
    }

    /// As [`Conformance::run`]. `progress` is told after each run its number and how many are planned; the checks of a
    /// difference count anew. The comparison ends soon after `stop` is set.
    pub fn run_watched<E: Into<StackEnds>>(
        &self,
        stack: impl Fn(&Case) -> Result<E, StackError> + Sync,
        progress: &(dyn Fn(usize, usize) + Sync),
        stop: &AtomicBool,
    ) -> Result<Report, ConformError> {
        let make = |case: &Case| stack(case).map(Into::into).map_err(|error| error.to_string());
        let run = |situation: &'static Situation, seed: u64, controller: &str, write_bytes: usize| {
            let scenario =
                situation.scenario(seed, Vec::new()).map_err(|error| judge::invalid(situation, error))?;
            let case = Case {
                situation: situation.name,
                seed,
                controller: controller.into(),
                flow: String::new(),
                application: Application { start: Time::ZERO, stop: None, bytes: None, writes: Vec::new() },
                write_bytes,
                header: self.options.header,
                mtu: self.options.mtu,
                duration: scenario.duration,
            };
            let options = RunOptions { stack: &self.options, stop };
            RunRecord::of_stack(situation, &scenario, &options, &case, &make).map_err(|message| {
                match stop.load(Ordering::Relaxed) {
                    true => ConformError::Stopped,
                    false => ConformError::Stack { situation: situation.name, seed, message },
                }
            })
        };
        judge::Judge::new(self, &run)?.watched(progress, stop).report()
    }

    /// The same for a controller of the laboratory over QUIC in place of a stack: a check of the method itself. The names of
    /// controllers are those of references.
    pub fn run_simulated(
        &self,
        progress: &(dyn Fn(usize, usize) + Sync),
        stop: &AtomicBool,
    ) -> Result<Report, ConformError> {
        let run = |situation: &'static Situation, seed: u64, controller: &str, _: usize| {
            let named = Reference::parse(controller).map_err(ConformError::BadInput)?;
            let over_quic = named.variants().remove(1);
            judge::simulated(situation, seed, over_quic)
        };
        judge::Judge::new(self, &run)?.watched(progress, stop).report()
    }
}
