//! Reads the queue of a link.

use super::advice;
use super::document::TomlValue;
use super::model::{Queue, RedQueue};
use super::table::{TableReader, quantity};
use crate::error::{ScenarioError, nearest};
use net::qdisc::QDISCS;
use units::Limit;

type Result<T> = std::result::Result<T, ScenarioError>;

impl Queue {
    /// The queue that `reader`'s table names, if any.
    pub(crate) fn read(reader: &TableReader<'_>) -> Result<Option<Queue>> {
        let Some(queue) = reader.table("queue")? else { return Ok(None) };
        let kind = queue.need("kind", queue.text("kind")?, "such as kind = \"droptail\"")?;
        let limit = || queue.need("limit", queue.quantity("limit", "50p")?, "such as limit = \"50p\"");
        let read = match kind {
            "droptail" => Queue::DropTail(limit()?),
            "red" => Queue::Red(read_red(&queue, limit()?)?),
            "codel" | "fq_codel" | "pie" => {
                let message =
                    format!("\"{kind}\" is not in this version yet; there are \"droptail\" and \"red\"");
                return Err(queue.error("kind", message));
            }
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
