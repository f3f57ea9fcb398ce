//! How closely a run in real time followed the wall clock, and whether its result can be used.

use serde::Serialize;
use units::{Span, Time};

/// Buckets of the histogram for each factor of two: a resolution of 3 %.
const STEPS: u32 = 32;

/// The lateness of packets: how long they may have waited to enter the emulated network, and when they left the program minus
/// when they left the emulated network. A histogram, so that a run of any length needs the same memory.
#[derive(Debug)]
pub(crate) struct Lateness {
    counts: Vec<u64>,
    total: u64,
    max_ns: u64,
    /// Episodes in which packets were later than the limit of a stall.
    stalls: u64,
    stalled: bool,
    limit: Span,
    /// Packets that left the emulated network.
    pub packets: u64,
    /// Packets that the kernel did not accept.
    pub send_failures: u64,
    /// Packets that were lost between the ends and the emulated network.
    pub lost_outside: u64,
}

impl Lateness {
    /// No packets yet. A stall is an episode of packets later than `limit`.
    pub fn new(limit: Span) -> Lateness {
        Lateness {
            counts: vec![0; 64 * STEPS as usize],
            total: 0,
            max_ns: 0,
            stalls: 0,
            stalled: false,
            limit,
            packets: 0,
            send_failures: 0,
            lost_outside: 0,
        }
    }

    /// A packet that was due at `due` left at `now`.
    pub fn record(&mut self, due: Time, now: Time) {
        self.record_late(now.since(due.min(now)));
    }

    /// A packet was this late.
    pub fn record_late(&mut self, late: Span) {
        let ns = late.ps() / 1000;
        self.counts[bucket(ns)] += 1;
        self.total += 1;
        self.max_ns = self.max_ns.max(ns);
        let stalled = late > self.limit;
        self.stalls += u64::from(stalled && !self.stalled);
        self.stalled = stalled;
    }

    /// The lateness that the fraction `part` of the packets does not exceed, s.
    fn quantile(&self, part: f64) -> f64 {
        let rank = (part * self.total as f64).ceil() as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank.max(1) {
                return (upper(index).min(self.max_ns)) as f64 / 1e9;
            }
        }
        self.max_ns as f64 / 1e9
    }

    fn summary(&self) -> LatenessSummary {
        LatenessSummary {
            p50: self.quantile(0.5),
            p90: self.quantile(0.9),
            p99: self.quantile(0.99),
            max: self.max_ns as f64 / 1e9,
        }
    }
}

/// Number of the bucket of a value.
fn bucket(ns: u64) -> usize {
    let log = ns.max(1).ilog2();
    let within = if log >= 5 { (ns >> (log - 5)) - 32 } else { (ns.max(1) << (5 - log)) - 32 };
    (log * STEPS) as usize + within as usize
}

/// The largest value of a bucket, ns.
fn upper(index: usize) -> u64 {
    let (log, within) = (index as u32 / STEPS, (index as u64 % STEPS as u64) + 33);
    if log >= 5 { within.saturating_mul(1 << (log - 5)) } else { within >> (5 - log) }
}

/// Percentiles of the lateness of packets, s.
#[derive(Clone, Debug, Serialize)]
pub struct LatenessSummary {
    /// Median.
    pub p50: f64,
    /// 90 % of the packets are not later.
    pub p90: f64,
    /// 99 % of the packets are not later.
    pub p99: f64,
    /// The latest packet.
    pub max: f64,
}

/// Whether the result of a run in real time can be used.
#[derive(Clone, Debug, Serialize)]
pub struct Validity {
    /// No reason against it.
    pub valid: bool,
    /// Why not.
    pub reasons: Vec<String>,
    /// How late packets entered the emulated network (at most) and left it.
    pub lateness_s: LatenessSummary,
    /// Episodes of packets later than 5 % of the smallest round-trip time.
    pub stalls: u64,
    /// Packets that left the emulated network.
    pub packets: u64,
    /// Packets that a socket or a device did not accept.
    pub send_failures: u64,
    /// Packets that were lost between the ends and the emulated network, in a device or a socket buffer.
    pub lost_outside: u64,
    /// The smallest base round-trip time, s, to which the lateness is compared.
    pub base_rtt_s: f64,
    /// The clock that the run followed.
    pub clock: &'static str,
    /// The kernel's release.
    pub kernel: String,
    /// CPU time of this process in the run, s.
    pub cpu_s: f64,
    /// Mean number of running processes of the last minute at the end of the run.
    pub load: f64,
    /// Signals that the controller receives with less precision than in the simulator, and other differences.
    pub degraded: Vec<String>,
}

/// What the rule compares the lateness with.
pub(crate) struct Demands {
    /// The smallest base round-trip time.
    pub base_rtt: Span,
    /// Transmission time of a full packet at the bottleneck, if the controller measures delays.
    pub packet_time: Option<Span>,
    /// A run without packets has no result.
    pub needs_packets: bool,
    /// The run ended because the network was behind the clock for too long.
    pub overloaded: bool,
    /// Differences to report.
    pub degraded: Vec<String>,
}

/// Largest p99 lateness as a part of the round-trip time.
const P99_PART: f64 = 0.05;

/// Largest lateness as a part of the round-trip time.
const MAX_PART: f64 = 0.5;

/// The largest lateness without a stall.
pub(crate) fn stall_limit(base_rtt: Span) -> Span {
    Span::from_seconds(base_rtt.seconds() * P99_PART)
}

impl Validity {
    /// Evaluates a run that took `cpu_s` of CPU time.
    pub(crate) fn of(lateness: &Lateness, demands: Demands, cpu_s: f64) -> Validity {
        let summary = lateness.summary();
        let base = demands.base_rtt.seconds();
        let mut reasons = Vec::new();
        let ms = |s: f64| format!("{:.3} ms", s * 1e3);
        let mut too_late = |what: &str, late: f64, limit: f64, of: &str| {
            if late > limit {
                reasons.push(format!("{what} {} is more than {} ({of})", ms(late), ms(limit)));
            }
        };
        too_late("p99 lateness", summary.p99, P99_PART * base, "5 % of the smallest round-trip time");
        too_late("maximum lateness", summary.max, MAX_PART * base, "half of the smallest round-trip time");
        if let Some(packet) = demands.packet_time {
            let of = "a packet time of the bottleneck: the controller measures delays";
            too_late("p99 lateness", summary.p99, packet.seconds(), of);
        }
        if lateness.send_failures > 0 {
            reasons.push(format!("{} packets could not be sent", lateness.send_failures));
        }
        if lateness.lost_outside > 0 {
            reasons.push(format!(
                "{} packets were lost between the ends and the network (buffers of the devices or sockets)",
                lateness.lost_outside
            ));
        }
        if demands.overloaded {
            reasons.push(
                "the network is slower than real time: it was behind the clock for 1 s, and the run was ended; use a smaller \
                 scenario"
                    .into(),
            );
        }
        if lateness.packets == 0 && demands.needs_packets {
            reasons.push("no packet crossed the network".into());
        }
        Validity {
            valid: reasons.is_empty(),
            reasons,
            lateness_s: summary,
            stalls: lateness.stalls,
            packets: lateness.packets,
            send_failures: lateness.send_failures,
            lost_outside: lateness.lost_outside,
            base_rtt_s: base,
            clock: "CLOCK_MONOTONIC",
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            cpu_s,
            load: rustix::system::sysinfo().loads[0] as f64 / 65_536.0,
            degraded: demands.degraded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(late_us: impl Iterator<Item = u64>) -> Lateness {
        let mut lateness = Lateness::new(Span::from_ps(1_000_000_000));
        for late in late_us {
            lateness.packets += 1;
            lateness.record(Time::from_ps(0), Time::from_ps(late * 1_000_000));
        }
        lateness
    }

    fn evaluated(lateness: &Lateness, rtt_ms: u64, packet_us: Option<u64>) -> Validity {
        let demands = Demands {
            base_rtt: Span::from_ps(rtt_ms * 1_000_000_000),
            packet_time: packet_us.map(|us| Span::from_ps(us * 1_000_000)),
            needs_packets: true,
            overloaded: false,
            degraded: Vec::new(),
        };
        Validity::of(lateness, demands, 0.0)
    }

    #[test]
    fn quantiles_are_exact_within_three_percent() {
        let summary = recorded(1..=100_000).summary();
        for (found, exact) in [(summary.p50, 0.05), (summary.p90, 0.09), (summary.p99, 0.099)] {
            assert!((found / exact - 1.0).abs() < 0.035, "{found} {exact}");
        }
        assert_eq!(summary.max, 0.1);
    }

    #[test]
    fn every_value_lies_in_its_bucket() {
        for ns in (0..64).chain((6..50).flat_map(|log| [(1 << log) - 1, 1 << log, (1 << log) + 1])) {
            let index = bucket(ns);
            assert!(upper(index) >= ns && (index == 0 || upper(index - 1) <= ns.max(1)), "{ns}");
        }
    }

    #[test]
    fn late_packets_make_a_run_invalid() {
        let timely = recorded((0..1000).map(|_| 100));
        assert!(evaluated(&timely, 20, None).valid);
        assert!(!evaluated(&timely, 20, Some(50)).valid);
        let late = recorded((0..1000).map(|i| if i % 50 == 0 { 1500 } else { 100 }));
        let validity = evaluated(&late, 20, None);
        assert_eq!(validity.reasons.len(), 1, "{:?}", validity.reasons);
        assert_eq!(validity.stalls, 20);
        let once = recorded((0..1000).map(|i| if i == 500 { 11_000 } else { 100 }));
        assert!(evaluated(&once, 20, None).reasons[0].starts_with("maximum lateness 11"));
        assert!(!evaluated(&recorded(0..0), 20, None).valid);
    }
}
