//! Conversion between the time of a run and the time of the stack.
#![expect(
    clippy::disallowed_types,
    reason = "the stack measures time in `Instant`s; only their differences matter"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use units::{Span, Time};

/// The time type of the stack.
pub(crate) type StackTime = Instant;

/// Picoseconds in a nanosecond, the resolution of the stack.
pub(crate) const PS_PER_NS: u64 = 1000;

/// Converts times of a run to instants of the stack and back. An `Instant` can only be obtained by reading a clock. The clock
/// is read once, for the instant that corresponds to time zero; only differences matter, so results do not depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock whose time zero is an arbitrary instant. All connections of a run may share it.
    #[expect(clippy::new_without_default, reason = "two calls give different instants")]
    pub fn new() -> Clock {
        // The stack subtracts spans from instants.
        Clock(Instant::now() + Duration::from_secs(1_000_000))
    }
    /// The instant of `time`, rounded down to a nanosecond.
    pub(crate) fn instant(self, time: Time) -> StackTime {
        self.0 + Duration::from_nanos(time.ps() / PS_PER_NS)
    }
    /// The time of `instant`, exactly; zero for an instant before time zero.
    pub(crate) fn time(self, instant: StackTime) -> Time {
        let since = instant.saturating_duration_since(self.0);
        Time::from_ps((since.as_nanos() as u64).saturating_mul(PS_PER_NS))
    }
}

/// A duration of the stack.
pub(crate) fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.ps() / PS_PER_NS)
}

/// The present time, which the owner of a connection sets before each call into the stack. Packet keys read it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Present(Arc<AtomicU64>);

impl Present {
    pub fn set(&self, now: Time) {
        self.0.store(now.ps(), Ordering::Relaxed);
    }
    pub fn get(&self) -> Time {
        Time::from_ps(self.0.load(Ordering::Relaxed))
    }
}
