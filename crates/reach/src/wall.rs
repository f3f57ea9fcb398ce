//! The wall clock of a run, and how closely this thread follows it.

use crate::sys;
use rustix::time::{ClockId, clock_gettime};
use units::Time;

/// The clock of a run: nanoseconds of the monotonic clock since its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WallClock {
    start: u64,
}

impl WallClock {
    /// A clock that shows zero now.
    pub fn start() -> WallClock {
        WallClock { start: monotonic() }
    }

    /// The time since the start.
    pub fn now(&self) -> Time {
        Time::from_ps((monotonic() - self.start) * 1000)
    }

    /// The time of a run at a reading of the monotonic clock, ns.
    #[cfg_attr(
        not(feature = "kernel"),
        allow(dead_code, reason = "only the kernel bridge has such readings")
    )]
    pub fn at(&self, monotonic_ns: u64) -> Time {
        Time::from_ps(monotonic_ns.saturating_sub(self.start) * 1000)
    }
}

fn monotonic() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// CPU time of this process, s.
pub(crate) fn cpu_s() -> f64 {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

/// While it lives, timers of the calling thread end at the exact time, and the thread runs before all ordinary ones if this
/// user may ask for that. It must sleep between events.
pub(crate) struct RealTimePriority {
    slack: Option<u64>,
    real_time: bool,
}

impl RealTimePriority {
    /// Changes the calling thread.
    pub fn new() -> RealTimePriority {
        RealTimePriority { slack: sys::set_timer_slack(1), real_time: sys::enter_real_time() }
    }
}

impl Drop for RealTimePriority {
    fn drop(&mut self) {
        if let Some(slack) = self.slack {
            sys::set_timer_slack(slack);
        }
        if self.real_time {
            sys::leave_real_time();
        }
    }
}
