//! What can go wrong with a network.

use super::port::Port;
use lab::ScenarioError;
use std::fmt;
use units::Time;

/// Why a call of a network failed: one line with a remedy.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NetworkError {
    /// The scenario, or a flow to attach.
    Scenario(Box<ScenarioError>),
    /// There is no flow with this name; empty: the scenario has none.
    NoFlow(String),
    /// Header and MTU do not fit.
    Ends {
        /// Bytes.
        header: u32,
        /// Bytes.
        mtu: u32,
    },
    /// The port belongs to another network.
    NotAttached(Port),
    /// The time is before the present.
    Past {
        /// The present.
        now: Time,
        /// The time.
        to: Time,
    },
    /// The time is not a whole number of nanoseconds.
    NotWhole(Time),
    /// Nothing can be sent at or after the end.
    Ended,
    /// More bytes than an IP packet can have.
    TooLong {
        /// Bytes of the datagram.
        bytes: usize,
        /// The largest number.
        most: usize,
    },
    /// The memory does not suffice.
    Memory(String),
    /// The controller of a simulated flow has failed.
    Controller {
        /// Name of the flow.
        flow: String,
        /// What it says.
        failure: String,
    },
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkError::Scenario(error) => write!(f, "{error}"),
            NetworkError::NoFlow(name) if name.is_empty() => {
                f.write_str("the scenario has no flow; add a [[flow]] with `from` and `to`, the two nodes that are the ends of the path")
            }
            NetworkError::NoFlow(name) => write!(f, "there is no attached flow \"{name}\"; attach it when the network is opened"),
            NetworkError::Ends { header, mtu } => {
                write!(f, "a header of {header} bytes and an MTU of {mtu} bytes do not fit; the MTU includes the header")
            }
            NetworkError::NotAttached(port) => {
                write!(f, "port {} is not of this network; use one of `ports()`", port.number())
            }
            NetworkError::Past { now, to } => {
                write!(f, "{} ns is before the present, {} ns; time only goes on", to.ns(), now.ns())
            }
            NetworkError::NotWhole(time) => {
                write!(f, "{} ps is not a whole number of nanoseconds; use `Time::from_ns`", time.ps())
            }
            NetworkError::Ended => f.write_str("the network has ended; send before `end()`"),
            NetworkError::TooLong { bytes, most } => {
                write!(f, "a datagram of {bytes} bytes is longer than an IP packet; at most {most} bytes")
            }
            NetworkError::Memory(message) => f.write_str(message),
            NetworkError::Controller { flow, failure } => write!(f, "the controller of flow \"{flow}\" failed: {failure}"),
        }
    }
}

impl std::error::Error for NetworkError {}

impl From<ScenarioError> for NetworkError {
    fn from(error: ScenarioError) -> NetworkError {
        NetworkError::Scenario(Box::new(error))
    }
}
