//! The clocks that measure the cost of a run. No result depends on them.

/// CPU time of this thread, ns; zero on a system without this clock, such as Windows or a browser.
pub(crate) fn cpu_time() -> u64 {
    #[cfg(unix)]
    return clock(rustix::time::ClockId::ThreadCPUTime);
    #[cfg(not(unix))]
    0
}

/// Elapsed time since the first call (monotonic clock), ns; zero on a system without this clock, such as a browser.
#[allow(clippy::disallowed_types, reason = "the clock of the cost of a run")]
pub(crate) fn wall_time() -> u64 {
    #[cfg(not(target_family = "wasm"))]
    {
        static FIRST: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        u64::try_from(FIRST.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
    #[cfg(target_family = "wasm")]
    0
}

#[cfg(unix)]
fn clock(id: rustix::time::ClockId) -> u64 {
    let t = rustix::time::clock_gettime(id);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
