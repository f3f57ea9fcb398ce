//! The clocks that measure the cost of a run. No result depends on them.

/// CPU time of this thread, ns; zero on a system without this clock, such as a browser.
pub(crate) fn cpu_time() -> u64 {
    #[cfg(unix)]
    return clock(rustix::time::ClockId::ThreadCPUTime);
    #[cfg(not(unix))]
    0
}

/// Elapsed time (monotonic clock), ns; zero on a system without this clock.
pub(crate) fn wall_time() -> u64 {
    #[cfg(unix)]
    return clock(rustix::time::ClockId::Monotonic);
    #[cfg(not(unix))]
    0
}

#[cfg(unix)]
fn clock(id: rustix::time::ClockId) -> u64 {
    let t = rustix::time::clock_gettime(id);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
