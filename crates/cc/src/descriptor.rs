//! The static description of a controller.

use params::Key;
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

/// What a controller reacts to first. Lists group controllers by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Losses and marks.
    Loss,
    /// The queueing delay.
    Delay,
    /// Losses, with growth or reduction that depend on the delay.
    LossAndDelay,
    /// An estimate of the path: rates and round-trip times.
    Model,
    /// What routers say.
    Explicit,
    /// It yields to other flows.
    Background,
    /// Delays of microseconds and marks of shallow queues, in data centres and for L4S.
    DataCentre,
    /// The results of its own experiments, or a trained model.
    Learning,
}

impl Family {
    /// Its name in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Loss => "loss-based",
            Family::Delay => "delay-based",
            Family::LossAndDelay => "loss and delay",
            Family::Model => "model-based",
            Family::Explicit => "explicit feedback of routers",
            Family::Background => "background",
            Family::DataCentre => "data centre and L4S",
            Family::Learning => "learning",
        }
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
    /// What it reacts to first.
    pub family: Family,
    /// Its level of validation.
    pub status: Status,
    /// Its parameters, with units and defaults.
    pub params: &'static [Key],
    /// The names of the internal values that it writes to the trace.
    pub probes: &'static [&'static str],
}
