//! Conversion between the time of a run and the time of a stack that uses `std::time::Instant`.
#![expect(
    clippy::disallowed_types,
    reason = "stacks measure time in `Instant`s; only their differences matter"
)]

use crate::time::{PS_PER_NS, Time};
use std::time::{Duration, Instant};

/// Converts times of a run to `Instant`s and back. An `Instant` can only be obtained by reading a clock: the clock is read
/// once, for the instant that corresponds to time zero. Only differences matter, so results do not depend on it.
#[derive(Clone, Copy, Debug)]
pub struct VirtualClock(Instant);

impl VirtualClock {
    /// A clock whose time zero is an arbitrary instant. All stacks of a run may share it.
    #[expect(clippy::new_without_default, reason = "two calls give different instants")]
    pub fn new() -> VirtualClock {
        // Stacks subtract durations from instants.
        VirtualClock(Instant::now() + Duration::from_secs(1_000_000))
    }
    /// The instant of `time`, rounded down to a nanosecond.
    pub fn instant(self, time: Time) -> Instant {
        self.0 + Duration::from_nanos(time.ps() / PS_PER_NS)
    }
    /// The time of `instant`, exactly; zero for an instant before time zero.
    pub fn time(self, instant: Instant) -> Time {
        let since = instant.saturating_duration_since(self.0);
        Time::from_ns(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    #[test]
    fn instants_and_times_are_the_same_moments() {
        let clock = VirtualClock::new();
        let at = Time::from_ns(1_234_567_891);
        assert_eq!(clock.time(clock.instant(at)), at);
        assert_eq!(clock.time(clock.instant(at + Span::from_ps(999))), at);
        assert_eq!(clock.time(clock.instant(Time::ZERO) - Duration::from_secs(1)), Time::ZERO);
        assert_eq!((Time::from_ps(1).ns(), Time::NEVER.ns()), (1, u64::MAX));
    }
}
