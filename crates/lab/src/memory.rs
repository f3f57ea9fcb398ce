//! How much memory this process may still take, so that a run ends with a message and not with an abort.

use std::fs::read_to_string;

/// So much stays free: a run is looked at every few hundred thousand events.
pub(crate) const RESERVE: u64 = 256 << 20;

/// Bytes that this process may still take: the least of what the machine has left, of what its control group has left, and
/// of its limit of address space (`ulimit -v`). None where the system does not say (Linux does).
pub(crate) fn available() -> Option<u64> {
    [machine(), group(), address_space()].into_iter().flatten().min()
}

fn machine() -> Option<u64> {
    let text = read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_ascii_whitespace().next()?.parse::<u64>().ok()? << 10)
}

fn group() -> Option<u64> {
    let own = read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let read = |name: &str| -> Option<u64> {
        let within = read_to_string(format!("/sys/fs/cgroup{path}/{name}"));
        // In a container the group's own folder is the root.
        let text = within.or_else(|_| read_to_string(format!("/sys/fs/cgroup/{name}"))).ok()?;
        text.trim().parse().ok()
    };
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}

fn address_space() -> Option<u64> {
    let limits = read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    let status = read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let taken = line.split_ascii_whitespace().next()?.parse::<u64>().ok()? << 10;
    Some(limit.saturating_sub(taken))
}

/// Bytes for people.
pub(crate) fn told(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_is_some_memory_left() {
        if cfg!(target_os = "linux") {
            assert!(super::machine().unwrap() > 1 << 20);
            assert!(super::available().unwrap() <= super::machine().unwrap().max(1 << 20));
        }
        assert_eq!(super::told(1_234_000_000), "1.2 GB");
    }
}
