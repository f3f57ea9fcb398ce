//! The queue of a link: reader, label in diagrams, and the queue discipline for a link of some rate and delay.

use super::advice;
use super::aqm;
use super::document::TomlValue;
use super::model::{Queue, RedQueue};
use super::table::{TableReader, quantity};
use crate::error::{ScenarioError, nearest};
use cc::detmath::exp;
use net::qdisc::scheduled::{Codel, DualPi2, DualPi2Config, FairConfig, FairQueue, Scheduler, TailDrop};
use net::qdisc::{DropTail, Pie, QDISCS, Qdisc, Red, RedConfig};
use units::{Limit, Rate, Span};

/// Target delay of ns-2's automatic thresholds.
const TARGET_DELAY_S: f64 = 0.005;

type Result<T> = std::result::Result<T, ScenarioError>;

impl Queue {
    /// The queue that `reader`'s table names, if any.
    pub(crate) fn read(reader: &TableReader<'_>) -> Result<Option<Queue>> {
        if let Some(TomlValue::Text(kind)) = reader.get("queue").map(|item| &item.value) {
            let message = format!("must be a table: write {{ kind = \"{kind}\", limit = \"50p\" }}");
            return Err(reader.error("queue", message));
        }
        let Some(queue) = reader.table("queue")? else { return Ok(None) };
        let kind = queue.need("kind", queue.text("kind")?, "such as kind = \"droptail\"")?;
        let limit = || queue.need("limit", queue.quantity("limit", "50p")?, "such as limit = \"50p\"");
        if let Some(read) = aqm::read(&queue, kind)? {
            queue.finish()?;
            return Ok(Some(read));
        }
        let read = match kind {
            "droptail" => Queue::DropTail {
                limit: limit()?,
                departures_first: queue.switch("departures_first")?.unwrap_or(false),
            },
            "red" => Queue::Red(read_red(&queue, limit()?)?),
            other => {
                let known = QDISCS.iter().map(|q| q.name);
                return Err(
                    queue.error("kind", format!("unknown queue \"{other}\"; {}", nearest(other, known)))
                );
            }
        };
        queue.finish()?;
        Ok(Some(read))
    }
}

fn read_red(queue: &TableReader<'_>, limit: Limit) -> Result<RedQueue> {
    let automatic = |key: &'static str| matches!(queue.get(key).map(|item| &item.value), Some(TomlValue::Text(word)) if word == "auto");
    let bytes = matches!(limit, Limit::Bytes(_));
    let threshold = |key: &'static str, packets: u64, mean: u32| -> Result<Option<u64>> {
        let Some(item) = queue.get(key).filter(|_| !automatic(key)) else {
            let default = if bytes { packets * mean as u64 } else { packets };
            return Ok((!automatic(key)).then_some(default));
        };
        match quantity(item, &queue.path(key), "5p")? {
            Limit::Packets(n) if !bytes && n > 0 => Ok(Some(n)),
            Limit::Bytes(n) if bytes && n > 0 => Ok(Some(n)),
            _ => Err(queue.error(key, "must be above zero and in the unit of the limit, packets or bytes")),
        }
    };
    let mean_packet = queue.bytes("mean_packet", 1, 65_535)?.unwrap_or(1000) as u32;
    if let Some(TomlValue::Integer(n)) = queue.get("mean_packet").map(|item| &item.value) {
        let message = format!("{n} has no unit and is taken in bytes: write \"{n}B\"");
        advice::give(queue.error("mean_packet", message));
    }
    let (min, max) = (threshold("min", 5, mean_packet)?, threshold("max", 15, mean_packet)?);
    if let (Some(min), Some(max)) = (min, max)
        && max <= min
    {
        return Err(queue.error("max", format!("must be above min, which is {min}")));
    }
    Ok(RedQueue {
        limit,
        min,
        // Where only the lower threshold is given, the upper one follows it.
        max: if queue.keys().any(|key| key == "max") || queue.keys().all(|key| key != "min") {
            max
        } else {
            None
        },
        max_p: queue.number("max_p", 1e-6, 1.0)?.unwrap_or(0.1),
        weight: if automatic("weight") {
            None
        } else {
            Some(queue.number("weight", 1e-9, 1.0)?.unwrap_or(0.002))
        },
        gentle: queue.switch("gentle")?.unwrap_or(true),
        wait: queue.switch("wait")?.unwrap_or(true),
        mean_packet,
        ecn: queue.switch("ecn")?.unwrap_or(false),
        mark_p: queue.number("mark_p", 0.0, 2.0)?.unwrap_or(0.1),
        adaptive: queue.switch("adaptive")?.unwrap_or(false),
        feng: queue.switch("feng")?.unwrap_or(false),
        ns2_gentle_slope: queue.switch("ns2_gentle_slope")?.unwrap_or(false),
        count_in_service: queue.switch("count_in_service")?.unwrap_or(false),
    })
}

impl Queue {
    /// Its label in diagrams.
    pub(crate) fn describe(&self) -> String {
        match self {
            Queue::Unlimited => "unlimited".into(),
            Queue::DropTail { limit, .. } => format!("drop-tail {limit}"),
            Queue::Red(red) => format!("RED {}{}", red.limit, if red.ecn { ", ECN" } else { "" }),
            _ => aqm::label(self),
        }
    }

    /// The limit in packets or bytes on a link of rate `rate`; `rtt` is the longest round-trip time of its flows.
    pub(crate) fn limit(&self, rate: Rate, rtt: Span) -> Option<Limit> {
        let (limit, unit) = match self {
            Queue::Unlimited => return None,
            Queue::DropTail { limit, .. } => (*limit, None),
            Queue::Red(red) => (red.limit, Some(red.mean_packet as u64)),
            Queue::Codel { limit, .. }
            | Queue::Pie { limit, .. }
            | Queue::Fair { limit, .. }
            | Queue::DualPi2 { limit, .. } => (*limit, None),
        };
        Some(match (limit, unit) {
            (Limit::Bdp(n), unit) => {
                let bytes = (n * rate.bytes_in(rtt) as f64) as u64;
                unit.map_or(Limit::Bytes(bytes), |unit| Limit::Packets(bytes / unit))
            }
            (fixed, _) => fixed,
        })
    }

    /// Whether the limit applies to the queue before the arrival of a packet, without that packet.
    pub(crate) fn limits_before(&self) -> bool {
        matches!(self, Queue::Red(_))
    }

    /// The name of its random stream.
    pub(crate) fn purpose(&self) -> &'static str {
        if let Queue::Red(_) = self { "red" } else { "aqm" }
    }

    /// Whether it is asked at each departure which packet leaves next.
    pub(crate) fn scheduled(&self) -> bool {
        matches!(self, Queue::Codel { .. } | Queue::Fair { .. } | Queue::DualPi2 { .. })
    }

    /// Whether it needs the departure time of a packet at its arrival.
    pub(crate) fn decides_at_arrival(&self) -> bool {
        matches!(self, Queue::Red(_) | Queue::Pie { .. })
    }

    /// Builds the discipline of a scheduled link: this queue if it is scheduled, otherwise drop-tail.
    pub(crate) fn build_scheduled(
        &self,
        rate: Rate,
        rtt: Span,
        stream: impl FnOnce() -> engine::Stream,
    ) -> Scheduler {
        let (packets, bytes) = self.counts(rate, rtt);
        match self {
            Queue::Codel { config, .. } => Scheduler::Codel(Codel::new(*config, packets, bytes)),
            Queue::Fair { config, .. } => {
                let config = FairConfig { packets, bytes: bytes.min(config.bytes), ..*config };
                Scheduler::Fair(FairQueue::new(config, stream()))
            }
            Queue::DualPi2 { config, .. } => {
                Scheduler::DualPi2(DualPi2::new(DualPi2Config { packets, bytes, ..*config }, stream()))
            }
            _ => Scheduler::TailDrop(TailDrop::new(packets, bytes)),
        }
    }

    /// The limit as a number of packets and of bytes.
    fn counts(&self, rate: Rate, rtt: Span) -> (u64, u64) {
        match self.limit(rate, rtt) {
            Some(Limit::Packets(n)) => (n, u64::MAX),
            Some(Limit::Bytes(n)) => (u64::MAX, n),
            _ => (u64::MAX, u64::MAX),
        }
    }

    /// Builds the queue of a link with a constant rate. `stream` is called only if the queue needs random numbers.
    pub(crate) fn build(
        &self,
        rate: Rate,
        delay: Span,
        rtt: Span,
        stream: impl FnOnce() -> engine::Stream,
    ) -> Qdisc {
        match (self, self.limit(rate, rtt)) {
            (Queue::Pie { config, .. }, _) => {
                let (packets, bytes) = self.counts(rate, rtt);
                Qdisc::Pie(Box::new(Pie::new(*config, packets, bytes, stream())))
            }
            (Queue::Red(red), Some(limit)) => {
                Qdisc::Red(Box::new(Red::new(red.resolve(rate, delay, limit), stream())))
            }
            (Queue::DropTail { departures_first, .. }, Some(limit)) => {
                let queue = match limit {
                    Limit::Packets(n) => DropTail::packets(n),
                    Limit::Bytes(n) => DropTail::bytes(n),
                    Limit::Bdp(_) => return Qdisc::Unlimited,
                };
                Qdisc::DropTail(queue.departures_first(*departures_first))
            }
            _ => Qdisc::Unlimited,
        }
    }
}

impl RedQueue {
    fn resolve(&self, rate: Rate, delay: Span, limit: Limit) -> RedConfig {
        let packets_per_s = rate.bps() as f64 / (8.0 * self.mean_packet as f64);
        let (bytes, limit) = match limit {
            Limit::Bytes(n) => (true, n),
            Limit::Packets(n) => (false, n),
            Limit::Bdp(_) => (false, u64::MAX),
        };
        let unit = if bytes { self.mean_packet as f64 } else { 1.0 };
        let automatic = unit * (TARGET_DELAY_S * packets_per_s / 2.0).max(5.0);
        let min = self.min.map_or(automatic, |min| min as f64);
        let rtt = (3.0 * (delay.seconds() + 1.0 / packets_per_s)).max(0.1);
        RedConfig {
            min,
            max: self.max.map_or(3.0 * min, |max| max as f64),
            limit,
            max_p: self.max_p,
            weight: self.weight.unwrap_or_else(|| 1.0 - exp(-1.0 / (10.0 * rtt * packets_per_s))),
            gentle: self.gentle,
            wait: self.wait,
            bytes,
            mean_packet: self.mean_packet,
            packets_per_s,
            ecn: self.ecn,
            mark_p: self.mark_p,
            adaptive_bottom: self.adaptive.then(|| (80_000.0 / rate.bps() as f64).min(0.01)),
            feng: self.feng,
            ns2_gentle_slope: self.ns2_gentle_slope,
            count_in_service: self.count_in_service,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn automatic_settings_have_their_published_values() {
        let red = RedQueue {
            limit: Limit::Packets(50),
            min: None,
            max: None,
            max_p: 0.1,
            weight: None,
            gentle: true,
            wait: true,
            mean_packet: 500,
            ecn: false,
            mark_p: 0.1,
            adaptive: false,
            feng: false,
            ns2_gentle_slope: false,
            count_in_service: false,
        };
        let c = red.resolve(Rate::from_bps(1_500_000), Span::from_ms(20), red.limit);
        assert!((c.packets_per_s - 375.0).abs() < 1e-9 && (c.weight - 0.00266311).abs() < 1e-8);
        assert_eq!((c.min, c.max), (5.0, 15.0));
        let red = RedQueue { mean_packet: 1000, ..red };
        let c = red.resolve(Rate::from_bps(2_500_000), Span::from_ms(40), red.limit);
        assert!((c.weight - 0.00246609).abs() < 1e-8);
        let c = red.resolve(Rate::from_bps(2_500_000), Span::from_ms(40), Limit::Bytes(12_500));
        assert_eq!((c.bytes, c.min, c.max, c.limit), (true, 5000.0, 15_000.0, 12_500));
    }
}
