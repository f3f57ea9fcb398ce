//! What the auditor reports.

use std::fmt;
use units::Time;

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When.
    pub at: Time,
    /// The rule: conservation, causality, link rate, medium, medium access, queue bound, cumulative ack, window; of applications
    /// message bytes, message time, message counts, request, outstanding, reset, frame state, page, player.
    pub rule: &'static str,
    /// What happened.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:.9} s: {}", self.rule, self.at.seconds(), self.what)
    }
}
