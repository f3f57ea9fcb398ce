//! Controllers from outside the registry, such as those written in Python: the same trait behind a pointer.

use crate::controller::{Controller, FlowInfo, Signals};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use units::Time;

/// A controller that is not registered.
pub trait Guest: Controller + Debug + Send {
    /// Its name in outcomes.
    fn name(&self) -> &str;
    /// Why it cannot go on. It does nothing from then on; the run ends soon after.
    fn failure(&self) -> Option<&Failure>;
}

/// What makes guests: one for each flow.
pub trait GuestLaw: Debug + Send + Sync {
    /// Its name in outcomes. What `Debug` prints is its identity: two laws that print alike give the same runs.
    fn name(&self) -> &str;
    /// The named internals that its guests report to the trace.
    fn probes(&self) -> &[String];
    /// The signals that its guests cannot do without.
    fn needs(&self) -> Signals;
    /// A fresh controller; one that has failed where it cannot be made.
    fn make(&self, flow: &FlowInfo) -> Box<dyn Guest>;
}

/// The end of a guest.
#[derive(Clone, Debug)]
pub struct Failure {
    /// When, in the run.
    pub at: Time,
    /// What happened, as its author wants to read it.
    pub message: String,
    /// The error itself, for who knows its type.
    pub error: Arc<dyn Any + Send + Sync>,
}
