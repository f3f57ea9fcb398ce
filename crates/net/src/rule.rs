//! The rule by which a queue or an impairment drops or marks a packet, with the values that decided.

use crate::ids::LinkId;
use crate::packet::Packet;
use std::fmt;
use units::{Span, Time, significant};

/// A drop or a mark of a packet.
#[derive(Clone, Debug)]
pub struct RuleEvent {
    /// When; of a loss on the link the end of the transmission.
    pub at: Time,
    /// The link.
    pub link: LinkId,
    /// The packet.
    pub packet: Packet,
    /// It is dropped; otherwise it is marked.
    pub dropped: bool,
    /// The rule.
    pub rule: Rule,
}

/// Why a packet was dropped or marked. Queue lengths do not include the packet in transmission.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// The queue was full.
    Full {
        /// Packets that waited.
        packets: u64,
        /// Their limit; `None` for no limit.
        packet_limit: Option<u64>,
        /// Bytes that waited.
        bytes: u64,
        /// Their limit.
        byte_limit: Option<u64>,
        /// Bytes of the packet.
        size: u32,
    },
    /// Above the limit of all queues, packets at the head of the longest queue are dropped.
    Longest {
        /// Packets that waited in all queues.
        packets: u64,
        /// Their limit.
        packet_limit: Option<u64>,
        /// Bytes that waited in all queues.
        bytes: u64,
        /// Their limit.
        byte_limit: Option<u64>,
    },
    /// RED; lengths in packets, or in bytes in byte mode.
    Red {
        /// The average queue length.
        average: f64,
        /// Lower threshold.
        min: f64,
        /// Upper threshold.
        max: f64,
        /// Lengths are in bytes.
        bytes: bool,
        /// Probability from the average.
        probability: f64,
        /// The probability of this packet, which grows with the packets since the last drop or mark.
        spread: f64,
    },
    /// CoDel in its dropping state.
    Codel {
        /// Time that the packet has waited.
        sojourn: Span,
        /// Acceptable waiting time.
        target: Span,
        /// Time for which packets have waited longer than that.
        above: Span,
        /// Number of the drop or mark in this dropping state, from 1.
        number: u32,
    },
    /// The threshold of CoDel above which every ECN-capable packet is marked.
    Threshold {
        /// Time that the packet has waited.
        sojourn: Span,
        /// The threshold.
        threshold: Span,
    },
    /// PIE.
    Pie {
        /// The delay at the last update.
        delay: Span,
        /// The delay at which the controller aims.
        target: Span,
        /// The probability.
        probability: f64,
    },
    /// The classic queue of DualPI2, or both queues in overload.
    DualPi2 {
        /// The delay at the last update.
        delay: Span,
        /// The delay at which the controller aims.
        target: Span,
        /// The probability.
        probability: f64,
        /// So high a probability that packets of both queues are dropped.
        overload: bool,
    },
    /// A mark in the low-latency queue of DualPI2.
    LowLatency {
        /// Time that the packet has waited.
        sojourn: Span,
        /// The probability from that time.
        native: f64,
        /// The probability that follows from the classic queue.
        coupled: f64,
    },
    /// A policer without tokens.
    Policer {
        /// Tokens, bytes.
        tokens: u64,
        /// Bytes of the packet.
        size: u32,
    },
    /// Random loss on the link.
    Loss(Vec<LossProcess>),
    /// A blackout.
    Blackout {
        /// Its end.
        until: Time,
    },
    /// A script lists the packet.
    Script,
    /// A change of the scenario.
    Change,
}

/// A process that loses packets at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossProcess {
    /// The kind of the loss in a scenario.
    pub name: &'static str,
    /// The probability with which it lost the packet.
    pub probability: f64,
    /// Of a process with two states: whether it is in the bad one.
    pub bad: Option<bool>,
}

/// A limit as an option: the largest number stands for none.
pub(crate) fn limit(bound: u64) -> Option<u64> {
    (bound != u64::MAX).then_some(bound)
}

impl Rule {
    /// Its name in outputs.
    pub const fn name(&self) -> &'static str {
        match self {
            Rule::Full { .. } => "full",
            Rule::Longest { .. } => "longest_queue",
            Rule::Red { .. } => "red",
            Rule::Codel { .. } => "codel",
            Rule::Threshold { .. } => "ce_threshold",
            Rule::Pie { .. } => "pie",
            Rule::DualPi2 { .. } => "dualpi2",
            Rule::LowLatency { .. } => "low_latency",
            Rule::Policer { .. } => "policer",
            Rule::Loss(_) => "loss",
            Rule::Blackout { .. } => "blackout",
            Rule::Script => "scripted",
            Rule::Change => "change",
        }
    }

    /// The values that decided, each with its name; times in seconds.
    pub fn values(&self) -> Vec<(&'static str, f64)> {
        let lengths = |packets: u64, packet_limit: Option<u64>, bytes: u64, byte_limit: Option<u64>| {
            let mut values = vec![("packets", packets as f64), ("bytes", bytes as f64)];
            values.extend(packet_limit.map(|limit| ("packet_limit", limit as f64)));
            values.extend(byte_limit.map(|limit| ("byte_limit", limit as f64)));
            values
        };
        match *self {
            Rule::Full { packets, packet_limit, bytes, byte_limit, .. }
            | Rule::Longest { packets, packet_limit, bytes, byte_limit } => {
                lengths(packets, packet_limit, bytes, byte_limit)
            }
            Rule::Red { average, min, max, probability, spread, .. } => vec![
                ("average", average),
                ("min", min),
                ("max", max),
                ("probability", probability),
                ("spread_probability", spread),
            ],
            Rule::Codel { sojourn, target, above, number } => vec![
                ("sojourn_s", sojourn.seconds()),
                ("target_s", target.seconds()),
                ("above_s", above.seconds()),
                ("number", number as f64),
            ],
            Rule::Threshold { sojourn, threshold } => {
                vec![("sojourn_s", sojourn.seconds()), ("threshold_s", threshold.seconds())]
            }
            Rule::Pie { delay, target, probability } | Rule::DualPi2 { delay, target, probability, .. } => {
                vec![
                    ("delay_s", delay.seconds()),
                    ("target_s", target.seconds()),
                    ("probability", probability),
                ]
            }
            Rule::LowLatency { sojourn, native, coupled } => {
                vec![
                    ("sojourn_s", sojourn.seconds()),
                    ("probability", native),
                    ("coupled_probability", coupled),
                ]
            }
            Rule::Policer { tokens, size } => vec![("tokens", tokens as f64), ("size", size as f64)],
            Rule::Loss(ref processes) => processes.iter().map(|p| ("probability", p.probability)).collect(),
            Rule::Blackout { until } => vec![("until_s", until.seconds())],
            Rule::Script | Rule::Change => Vec::new(),
        }
    }
}

/// A number with three significant digits.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&significant(self.0, 3))
    }
}

/// A span in milliseconds.
fn ms(span: Span) -> String {
    format!("{} ms", Short(1e3 * span.seconds()))
}

/// The length of a queue against the limit that it reached.
fn lengths(
    f: &mut fmt::Formatter<'_>,
    packets: (u64, Option<u64>),
    bytes: (u64, Option<u64>),
) -> fmt::Result {
    match (packets.1, bytes.1) {
        (Some(limit), bound) if packets.0 >= limit || bound.is_none() => {
            write!(f, "{} of {limit} packets waited", packets.0)
        }
        (_, Some(bound)) => write!(f, "{} of {bound} bytes waited", bytes.0),
        _ => write!(f, "{} packets waited", packets.0),
    }
}

/// The processes, any of which may have lost the packet.
fn losses(f: &mut fmt::Formatter<'_>, processes: &[LossProcess]) -> fmt::Result {
    for (index, LossProcess { name, probability, bad }) in processes.iter().enumerate() {
        let state = match bad {
            Some(true) => " in its bad state",
            Some(false) => " in its good state",
            None => "",
        };
        let or = if index > 0 { ", or " } else { "" };
        write!(f, "{or}{name}{state}: loss probability {}", Short(*probability))?;
    }
    Ok(())
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Rule::Full { packets, packet_limit, bytes, byte_limit, size } => {
                f.write_str("the queue was full: ")?;
                lengths(f, (packets, packet_limit), (bytes, byte_limit))?;
                f.write_str(", not counting the one in transmission")?;
                if byte_limit.is_some() && packet_limit.is_none_or(|limit| packets < limit) {
                    write!(f, "; this packet has {size} bytes")?;
                }
                Ok(())
            }
            Rule::Longest { packets, packet_limit, bytes, byte_limit } => {
                f.write_str("the limit of all queues was exceeded: ")?;
                lengths(f, (packets, packet_limit), (bytes, byte_limit))?;
                f.write_str(", so the longest queue lost packets at its head")
            }
            Rule::Red { average, min, max, bytes, probability, spread } => {
                let unit = if bytes { "bytes" } else { "packets" };
                let place = if average < max { "between" } else { "above" };
                let bounds = if average < max {
                    format!("{} and {}", Short(min), Short(max))
                } else {
                    format!("{}", Short(max))
                };
                write!(
                    f,
                    "RED: average {} {unit}, {place} {bounds}, probability {}",
                    Short(average),
                    Short(probability)
                )?;
                write!(f, ", for this packet {}", Short(spread))
            }
            Rule::Codel { sojourn, target, above, number } => write!(
                f,
                "CoDel: sojourn time {}, above the target of {} for {}, number {number} of this dropping state",
                ms(sojourn),
                ms(target),
                ms(above)
            ),
            Rule::Threshold { sojourn, threshold } => {
                write!(f, "CoDel: sojourn time {}, above ce_threshold of {}", ms(sojourn), ms(threshold))
            }
            Rule::Pie { delay, target, probability } => {
                let (delay, target) = (ms(delay), ms(target));
                write!(f, "PIE: probability {}, delay {delay} for a target of {target}", Short(probability))
            }
            Rule::DualPi2 { delay, target, probability, overload } => {
                let (delay, target) = (ms(delay), ms(target));
                let queue = if overload { "overload" } else { "classic queue" };
                let probability = Short(probability);
                write!(
                    f,
                    "DualPI2, {queue}: probability {probability}, delay {delay} for a target of {target}"
                )
            }
            Rule::LowLatency { sojourn, native, coupled } => write!(
                f,
                "DualPI2, low-latency queue: sojourn time {}, probability {} from it and {} from the classic queue",
                ms(sojourn),
                Short(native),
                Short(coupled)
            ),
            Rule::Policer { tokens, size } => {
                write!(f, "the policer had tokens for {tokens} bytes, and the packet has {size}")
            }
            Rule::Loss(ref processes) => losses(f, processes),
            Rule::Blackout { until } => write!(f, "a blackout until {} s", until.seconds()),
            Rule::Script => f.write_str("a scripted loss lists it"),
            Rule::Change => f.write_str("a change of the scenario drops it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_say_what_decided() {
        let full =
            Rule::Full { packets: 50, packet_limit: Some(50), bytes: 52000, byte_limit: None, size: 1040 };
        assert_eq!(
            full.to_string(),
            "the queue was full: 50 of 50 packets waited, not counting the one in transmission"
        );
        let red =
            Rule::Red { average: 12.31, min: 5.0, max: 15.0, bytes: false, probability: 0.0731, spread: 0.2 };
        assert_eq!(
            red.to_string(),
            "RED: average 12.3 packets, between 5 and 15, probability 0.0731, for this packet 0.2"
        );
        let bernoulli = LossProcess { name: "bernoulli", probability: 0.3, bad: None };
        let burst = LossProcess { name: "gilbert_elliott", probability: 0.5, bad: Some(true) };
        assert_eq!(
            Rule::Loss(vec![bernoulli, burst]).to_string(),
            "bernoulli: loss probability 0.3, or gilbert_elliott in its bad state: loss probability 0.5"
        );
    }
}
