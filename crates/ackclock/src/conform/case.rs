//! One run of a stack: what it is told, and the ends that it plays.

use crate::network::{Application, Endpoint, Network, NetworkError};
use std::sync::atomic::AtomicBool;
use units::{Span, Time};

/// One run of a stack.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Case {
    /// Name of the situation.
    pub situation: &'static str,
    /// Seed of the run; the stack takes its random numbers from it (`ackclock::network::seed_bytes`).
    pub seed: u64,
    /// The controller, by the stack's own name.
    pub controller: String,
    /// Name of the flow, of which the stack plays both ends.
    pub flow: String,
    /// What the application does.
    pub application: Application,
    /// How many bytes the application writes at a time where all data is there.
    pub write_bytes: usize,
    /// Bytes on the wire besides a datagram.
    pub header: u32,
    /// Largest datagram on the wire.
    pub mtu: u32,
    /// Length of the run.
    pub duration: Span,
}

impl Case {
    /// The case of an attached flow in any network, for a stack that is run outside a comparison.
    pub fn of_network(network: &Network, flow: &str, controller: &str) -> Result<Case, NetworkError> {
        let application = network.application(flow).ok_or_else(|| NetworkError::NoFlow(flow.into()))?;
        Ok(Case {
            situation: "",
            seed: network.seed(),
            controller: controller.into(),
            flow: flow.into(),
            application,
            write_bytes: WRITE_BYTES,
            header: network.header(),
            mtu: network.mtu(),
            duration: network.end().since(Time::ZERO),
        })
    }
}

/// Bytes that an application writes at a time if nothing else is said.
pub(super) const WRITE_BYTES: usize = 1 << 16;

/// The ends of a flow that a stack plays.
pub enum StackEnds {
    /// One endpoint at both ports.
    Both(Box<dyn Endpoint>),
    /// The source and the destination.
    Each([Box<dyn Endpoint>; 2]),
}

impl From<[Box<dyn Endpoint>; 2]> for StackEnds {
    fn from(ends: [Box<dyn Endpoint>; 2]) -> StackEnds {
        StackEnds::Each(ends)
    }
}

impl From<Box<dyn Endpoint>> for StackEnds {
    fn from(both: Box<dyn Endpoint>) -> StackEnds {
        StackEnds::Both(both)
    }
}

/// How a stack is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct StackOptions {
    pub header: u32,
    pub mtu: u32,
    pub granularity: Span,
}

/// What a run of a stack is made with.
pub(super) struct RunOptions<'a> {
    pub stack: &'a StackOptions,
    /// Ends the run soon after it is set.
    pub stop: &'a AtomicBool,
}
