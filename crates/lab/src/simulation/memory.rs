//! The memory that this process can still use, so that a run fails with a message before the system stops the
//! process.

use std::fs::read_to_string;

/// Memory that must stay free, bytes: the check runs only every few hundred thousand events.
pub(crate) const RESERVE: u64 = 128 << 20;
/// A need below this size, bytes, is never refused.
pub(crate) const SMALL: u64 = 16 << 20;

/// Bytes of a flow without recordings, with a controller and a recovery that need more than NewReno, with which 100,000 TCP
/// flows need 4.1 kB each in a dumbbell (docs/speed.md).
const FLOW: u64 = 5_000;

/// Fails with a message if the state of so many flows does not fit into the memory that is left.
pub(crate) fn room_for(flows: usize) -> Result<(), String> {
    available().map_or(Ok(()), |free| fits(flows, free))
}

/// The largest number of flows: each has its timers, and satellites, the radio and the warm-up have some of their own.
const MOST_FLOWS: u32 = (engine::MOST_TIMERS - 16) / transport::FlowTimer::COUNT;

fn fits(flows: usize, free: u64) -> Result<(), String> {
    if flows > MOST_FLOWS as usize {
        return Err(format!("{flows} flows are more than a run can have, {MOST_FLOWS}; use fewer flows"));
    }
    let need = flows as u64 * FLOW;
    if need < SMALL || need + RESERVE < free {
        return Ok(());
    }
    let (need, free) = (format_bytes(need), format_bytes(free));
    Err(format!("{flows} flows need about {need} of memory, and {free} are free; use fewer flows"))
}

/// Bytes that this process can still allocate: the minimum of the available memory of the machine, of its control
/// group (cgroup), and of its address space limit (`ulimit -v`). `None` if the system does not provide these values
/// (Linux does).
pub(crate) fn available() -> Option<u64> {
    [machine(), group(), address_space()].into_iter().flatten().min()
}

fn machine() -> Option<u64> {
    let text = read_to_string("/proc/meminfo").ok()?;
    Some(field(&text, "MemAvailable")? << 10)
}

/// The minimum over the cgroup of this process and its parents, for cgroup versions 1 and 2.
fn group() -> Option<u64> {
    let group = read_to_string("/proc/self/cgroup").ok()?;
    let second = group.lines().find_map(|line| line.strip_prefix("0::"));
    let first = group.lines().find_map(|line| line.split_once(":memory:").map(|(_, path)| path));
    let second = second.into_iter().flat_map(|path| {
        ancestors("/sys/fs/cgroup", path)
            .filter_map(|folder| cgroup_free(&folder, ["memory.max", "memory.current"], "inactive_file"))
    });
    let first = first.into_iter().flat_map(|path| {
        let names = ["memory.limit_in_bytes", "memory.usage_in_bytes"];
        ancestors("/sys/fs/cgroup/memory", path)
            .filter_map(move |folder| cgroup_free(&folder, names, "total_inactive_file"))
    });
    second.chain(first).min()
}

/// The folders of a cgroup and its parents. In a container the folder of the own cgroup is the root.
fn ancestors(root: &'static str, path: &str) -> impl Iterator<Item = String> {
    let parts: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(str::to_string).collect();
    (0..=parts.len()).rev().map(move |depth| format!("{root}/{}", parts[..depth].join("/")))
}

/// The memory that a cgroup has left. Inactive file pages count as free, because the kernel reclaims them.
fn cgroup_free(folder: &str, [limit, usage]: [&str; 2], unused: &str) -> Option<u64> {
    let read = |name: &str| read_to_string(format!("{folder}/{name}")).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let unused = field(&read("memory.stat").unwrap_or_default(), unused).unwrap_or(0);
    Some(number(limit)?.saturating_sub(number(usage)?.saturating_sub(unused)))
}

/// The number after `word` at the start of a line.
fn field(text: &str, word: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix([' ', ':']))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

fn address_space() -> Option<u64> {
    let limits = read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    let status = read_to_string("/proc/self/status").ok()?;
    Some(limit.saturating_sub(field(&status, "VmSize")? << 10))
}

/// A number of bytes as text, in GB.
pub(crate) fn format_bytes(bytes: u64) -> String {
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
        assert_eq!(super::format_bytes(1_234_000_000), "1.2 GB");
        assert_eq!(super::fits(1_000_000, 6_000_000_000), Ok(()));
        let refused = super::fits(1_000_000, 5_000_000_000).unwrap_err();
        assert_eq!(
            refused,
            "1000000 flows need about 5.0 GB of memory, and 5.0 GB are free; use fewer flows"
        );
        assert_eq!(super::fits(1_000, 0), Ok(()));
        let refused = super::fits(26_843_543, u64::MAX).unwrap_err();
        assert_eq!(refused, "26843543 flows are more than a run can have, 26843542; use fewer flows");
        let text = "MemTotal:  9 kB\nMemAvailable:   12345 kB\ninactive_file 77\n";
        let sizes = ["MemAvailable", "inactive_file", "Mem", "file"].map(|word| super::field(text, word));
        assert_eq!(sizes, [Some(12_345), Some(77), None, None]);
        let folders: Vec<String> = super::ancestors("/r", "/a/b").collect();
        assert_eq!(folders, ["/r/a/b", "/r/a", "/r/"]);
    }
}
