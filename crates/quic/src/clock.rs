//! The time of the stack, and the present time for code that the stack calls without it.
#![expect(
    clippy::disallowed_types,
    reason = "the stack measures time in `Instant`s; only their differences matter"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use units::{PS_PER_NS, Span, Time};

/// The time type of the stack.
pub(crate) type StackTime = Instant;

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
