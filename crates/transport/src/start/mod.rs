//! How a flow starts besides slow start: with what an earlier flow knew of the path, or with a jump, and how far its window
//! may exceed what it used. TCP with recovery `rack` and QUIC use it.

mod observer;
mod rate_limit;
mod resume;
mod rules;

pub use observer::{Observed, PathObserver};
pub use rate_limit::RateLimit;
pub use resume::{CarefulResume, Outcome, Phase, Progress, Reason, SavedPath};

pub use rules::{RuleChange, WindowRules};
use units::{Segments, Span, Time};

/// What the options of a flow say of its start.
#[derive(Clone, Debug, PartialEq)]
pub struct StartOptions {
    /// Saved values of the path: given, or those of an earlier flow.
    pub resume: Option<Resume>,
    /// The window of a jump without knowledge of the path, segments.
    pub jump: Option<Segments>,
}

/// Careful Resume (RFC 9959).
#[derive(Clone, Debug, PartialEq)]
pub struct Resume {
    /// Where the values are from.
    pub from: SavedFrom,
    /// The largest window of the jump, segments.
    pub max_jump: Segments,
    /// The age at which saved values are no longer used.
    pub lifetime: Span,
}

/// The source of saved values.
#[derive(Clone, Debug, PartialEq)]
pub enum SavedFrom {
    /// They are given, with their age at the start of the flow.
    Values(SavedPath, Span),
    /// An earlier flow of this name.
    Flow(String),
}

impl StartOptions {
    /// The start of a flow at `now`, whose initial window is `initial` segments. `observed`: what the earlier flow has saved,
    /// if values of a flow are to be used.
    pub fn begin(&self, now: Time, initial: Segments, observed: Option<Observed>) -> Option<CarefulResume> {
        if let Some(resume) = &self.resume {
            let (path, age) = match &resume.from {
                SavedFrom::Values(path, age) => (Some(*path), *age),
                SavedFrom::Flow(_) => {
                    (observed.map(|o| o.path), observed.map_or(Span::ZERO, |o| now.since(o.at)))
                }
            };
            let path = path.filter(|_| age <= resume.lifetime).ok_or(match path {
                None => Reason::NothingSaved,
                Some(_) => Reason::Expired,
            });
            return Some(CarefulResume::new(path, initial, resume.max_jump, now));
        }
        self.jump.map(|jump| CarefulResume::jumpstart(jump, initial, now))
    }
}
