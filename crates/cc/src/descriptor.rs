//! The static description of a controller.

use crate::params::Param;
use std::fmt;

/// The level of validation of a model. Lists and reports show it with the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Implemented; unit tests only.
    Draft,
    /// Agrees with an independent implementation or with hand-computed numbers over whole runs.
    Checked,
    /// Reproduces the published results of its paper.
    Reproduced,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Draft => "draft",
            Status::Checked => "checked",
            Status::Reproduced => "reproduced",
        })
    }
}

/// The static description of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// Its name in scenarios.
    pub name: &'static str,
    /// One line that describes it, for lists.
    pub summary: &'static str,
    /// The source of its formulas.
    pub source: &'static str,
    /// Its level of validation.
    pub status: Status,
    /// Its parameters, with units and defaults.
    pub params: &'static [Param],
    /// The names of the internal values that it writes to the trace.
    pub probes: &'static [&'static str],
}
