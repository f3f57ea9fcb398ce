//! What there is to know about a controller before it runs.

use crate::params::Param;
use std::fmt;

/// How far a model has been checked. Shown wherever the model is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Written, unit tests only.
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

/// What there is to know about a controller before it runs.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// Its name in scenarios.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Where its formulas come from.
    pub source: &'static str,
    /// How far it has been checked.
    pub status: Status,
    /// Its parameters, with units and defaults.
    pub params: &'static [Param],
    /// The named internals that it reports to the trace.
    pub probes: &'static [&'static str],
}
