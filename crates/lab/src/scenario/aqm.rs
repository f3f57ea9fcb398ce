//! Reads the queue disciplines that control the delay: CoDel, PIE, fair queues and DualPI2.

use super::model::Queue;
use super::table::TableReader;
use crate::error::{ScenarioError, nearest};
use net::qdisc::PieConfig;
use net::qdisc::scheduled::{CodelConfig, DualPi2Config, DualPi2Scheduler, FairConfig, PerFlow, Ramp};
use units::{Limit, Span};

type Result<T> = std::result::Result<T, ScenarioError>;

/// Largest packet, bytes, with which CoDel and the turns of a fair queue count.
const LARGEST: u32 = 1514;

/// The discipline of kind `kind`; none if it is not one of those in this file.
pub(super) fn read(queue: &TableReader<'_>, kind: &str) -> Result<Option<Queue>> {
    Ok(Some(match kind {
        "codel" => Queue::Codel { limit: limit(queue, 1000)?, config: codel(queue, false)? },
        "fq_codel" => fair(queue, PerFlow::Codel(codel(queue, true)?))?,
        "pie" => {
            let by_rate = match queue.text("delay")? {
                None | Some("timestamp") => false,
                Some("rate") => true,
                Some(other) => {
                    let message =
                        format!("unknown estimate \"{other}\"; {}", nearest(other, ["timestamp", "rate"]));
                    return Err(queue.error("delay", message));
                }
            };
            Queue::Pie { limit: limit(queue, 1000)?, config: PieConfig { by_rate, ..pie(queue)? } }
        }
        "fq_pie" => fair(queue, PerFlow::Pie(pie(queue)?))?,
        "dualpi2" => Queue::DualPi2 { limit: limit(queue, 10_000)?, config: dualpi2(queue)? },
        _ => return Ok(None),
    }))
}

fn limit(queue: &TableReader<'_>, packets: u64) -> Result<Limit> {
    Ok(queue.quantity("limit", "1000p")?.unwrap_or(Limit::Packets(packets)))
}

/// The least time between two updates of a probability: each costs some instructions.
const SHORTEST: Span = Span::from_ps(1_000_000);
const LONGEST: Span = Span::from_ms(10_000_000);

/// A time from a microsecond to ten thousand seconds.
fn span(queue: &TableReader<'_>, key: &'static str, default: Span) -> Result<Span> {
    match queue.quantity::<Span>(key, "5ms")? {
        Some(given) if !(SHORTEST..=LONGEST).contains(&given) => {
            Err(queue.error(key, format!("must be from {SHORTEST} to {LONGEST}")))
        }
        given => Ok(given.unwrap_or(default)),
    }
}

fn codel(queue: &TableReader<'_>, ecn: bool) -> Result<CodelConfig> {
    Ok(CodelConfig {
        target: span(queue, "target", Span::from_ms(5))?,
        interval: span(queue, "interval", Span::from_ms(100))?,
        ecn: queue.switch("ecn")?.unwrap_or(ecn),
        ce_threshold: queue.quantity("ce_threshold", "1ms")?.unwrap_or(Span::ZERO),
        largest: LARGEST as u64,
    })
}

fn pie(queue: &TableReader<'_>) -> Result<PieConfig> {
    Ok(PieConfig {
        target: span(queue, "target", Span::from_ms(15))?,
        update_interval: span(queue, "update_interval", Span::from_ms(15))?,
        alpha: queue.number("alpha", 0.0, 100.0)?.unwrap_or(0.125),
        beta: queue.number("beta", 0.0, 100.0)?.unwrap_or(1.25),
        max_burst: queue.quantity("max_burst", "150ms")?.unwrap_or(Span::from_ms(150)),
        mean_packet: queue.bytes("mean_packet", 1, 65_535)?.unwrap_or(1000) as u32,
        ecn: queue.switch("ecn")?.unwrap_or(false),
        mark_p: queue.number("mark_p", 0.0, 1.0)?.unwrap_or(0.1),
        derandomise: queue.switch("derandomise")?.unwrap_or(false),
        by_rate: false,
    })
}

fn fair(queue: &TableReader<'_>, inner: PerFlow) -> Result<Queue> {
    let config = FairConfig {
        queues: queue.integer("flows", 0, 65_536)?.unwrap_or(1024) as u32,
        quantum: queue.bytes("quantum", 1, 1_000_000)?.unwrap_or(LARGEST as u64) as u32,
        packets: u64::MAX,
        bytes: queue.bytes("memory", 1, u64::MAX >> 1)?.unwrap_or(32_000_000),
        inner,
    };
    Ok(Queue::Fair { limit: limit(queue, 10_240)?, config })
}

fn dualpi2(queue: &TableReader<'_>) -> Result<DualPi2Config> {
    let share = queue.number("classic_share", 0.0, 1.0)?;
    let shift: Option<Span> = queue.quantity("shift", "30ms")?;
    let scheduler = match queue.text("scheduler")? {
        None | Some("wrr") if shift.is_some() => {
            return Err(queue.error("shift", "is for scheduler = \"tsfifo\" only"));
        }
        Some("tsfifo") if share.is_some() => {
            return Err(queue.error("classic_share", "is for scheduler = \"wrr\" only"));
        }
        None | Some("wrr") => DualPi2Scheduler::WeightedRoundRobin(share.unwrap_or(0.1)),
        Some("tsfifo") => DualPi2Scheduler::TimeShiftedFifo(shift.unwrap_or(Span::from_ms(30))),
        Some(other) => {
            let message = format!("unknown scheduler \"{other}\"; {}", nearest(other, ["wrr", "tsfifo"]));
            return Err(queue.error("scheduler", message));
        }
    };
    Ok(DualPi2Config {
        packets: u64::MAX,
        bytes: u64::MAX,
        target: span(queue, "target", Span::from_ms(15))?,
        update_interval: span(queue, "update_interval", Span::from_ms(16))?,
        alpha: queue.number("alpha", 0.0, 100.0)?.unwrap_or(0.16),
        beta: queue.number("beta", 0.0, 100.0)?.unwrap_or(3.2),
        coupling: queue.number("coupling", 0.0, 100.0)?.unwrap_or(2.0),
        ramp: Ramp {
            min: queue.quantity("step", "1ms")?.unwrap_or(Span::from_ms(1)),
            range: queue.quantity("ramp", "0.4ms")?.unwrap_or(Span::ZERO),
        },
        scheduler,
    })
}

/// The name of a discipline in diagrams.
pub(super) fn label(queue: &Queue) -> String {
    let ecn = |on: bool| if on { ", ECN" } else { "" };
    match queue {
        Queue::Codel { limit, config } => format!("CoDel {limit}{}", ecn(config.ecn)),
        Queue::Pie { limit, config } => format!("PIE {limit}{}", ecn(config.ecn)),
        Queue::Fair { limit, config } => match &config.inner {
            PerFlow::Codel(codel) => format!("FQ-CoDel {limit}{}", ecn(codel.ecn)),
            PerFlow::Pie(pie) => format!("FQ-PIE {limit}{}", ecn(pie.ecn)),
        },
        Queue::DualPi2 { limit, .. } => format!("DualPI2 {limit}"),
        _ => String::new(),
    }
}
