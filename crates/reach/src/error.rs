//! Why a run in real time cannot be made.

use std::fmt;
use std::io;

/// The reason why a run in real time did not happen or ended early.
#[derive(Debug)]
pub enum Error {
    /// This machine does not provide something that the run needs; the text says what and how to get it.
    Unavailable(String),
    /// The scenario or an option does not fit.
    Input(String),
    /// The scenario cannot be run.
    Scenario(Box<lab::ScenarioError>),
    /// The controller of the flow of this name failed; only external controllers fail.
    Controller(String, cc::Failure),
    /// Something failed during the run.
    Failed(String),
    /// The caller ended the run.
    Interrupted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unavailable(text) | Error::Input(text) | Error::Failed(text) => f.write_str(text),
            Error::Scenario(error) => error.fmt(f),
            Error::Controller(flow, failure) => write!(f, "flow {flow}: {}", failure.message),
            Error::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}

/// A failed system call of the run itself.
pub(crate) fn failed(what: &str) -> impl Fn(io::Error) -> Error {
    move |error| Error::Failed(format!("{what}: {error}"))
}
