//! Reads `[[link]]`: rate, delay, queue, loss and router of both directions.

use super::document::{TomlItem, TomlValue};
use super::loss::read_losses;
use super::model::{Direction, Duplex, Queue};
use super::router::read_router;
use super::table::TableReader;
use crate::error::ScenarioError;
use units::{Rate, Span};

type Result<T> = std::result::Result<T, ScenarioError>;

/// Upper bound of a rate: one byte per picosecond.
pub(super) const FASTEST: Rate = Rate::from_bps(8_000_000_000_000);

/// Eleven days.
const LONGEST_DELAY: Span = Span::from_ms(1_000_000_000);

pub(super) fn read_link(index: usize, item: &TomlItem) -> Result<Duplex> {
    let plain = TableReader::new(format!("link[{index}]"), item)?;
    let given = plain.text("name")?.map(str::to_string);
    let name = given.as_ref().map_or(format!("link[{index}]"), |name| format!("link.{name}"));
    let reader = TableReader::new(name, item)?;
    reader.text("name")?;
    let ends =
        reader.need("ends", reader.list("ends")?, "name the two nodes, such as ends = [\"a\", \"b\"]")?;
    let ends: Vec<String> = ends
        .iter()
        .filter_map(|e| if let TomlValue::Text(t) = &e.value { Some(t.clone()) } else { None })
        .filter(|t| !t.is_empty() && !t.contains("->"))
        .collect();
    let Ok(ends) = <[String; 2]>::try_from(ends) else {
        return Err(reader.error("ends", "must be two node names, such as [\"a\", \"b\"], without \"->\""));
    };
    if ends[0] == ends[1] {
        return Err(reader.error("ends", format!("must be two different nodes, not \"{}\" twice", ends[0])));
    }
    let forward = Direction {
        rate: reader.need("rate", read_rate(&reader)?, "such as rate = \"10Mbps\"")?,
        delay: reader.need("delay", read_delay(&reader)?, "such as delay = \"10ms\"")?,
        queue: Queue::read(&reader)?.unwrap_or(Queue::Unlimited),
        losses: read_losses(&reader)?.unwrap_or_default(),
        router: read_router(&reader)?,
    };
    let mut back = forward.clone();
    if let Some(differs) = reader.table("back")? {
        back.rate = read_rate(&differs)?.unwrap_or(back.rate);
        back.delay = read_delay(&differs)?.unwrap_or(back.delay);
        back.queue = Queue::read(&differs)?.unwrap_or(back.queue);
        back.losses = read_losses(&differs)?.unwrap_or(back.losses);
        back.router = read_router(&differs)?.or(back.router);
        differs.finish()?;
    }
    reader.finish()?;
    Ok(Duplex { name: given, ends, directions: [forward, back] })
}

pub(super) fn read_rate(reader: &TableReader<'_>) -> Result<Option<Rate>> {
    read_rate_key(reader, "rate")
}

pub(super) fn read_rate_key(reader: &TableReader<'_>, key: &'static str) -> Result<Option<Rate>> {
    let rate: Option<Rate> = reader.quantity(key, "10Mbps")?;
    match rate {
        Some(rate) if rate.bps() == 0 => Err(reader.error(key, "must be more than zero")),
        Some(rate) if rate > FASTEST => Err(reader.error(key, format!("{rate} is more than {FASTEST}"))),
        rate => Ok(rate),
    }
}

fn read_delay(reader: &TableReader<'_>) -> Result<Option<Span>> {
    let delay: Option<Span> = reader.quantity("delay", "10ms")?;
    match delay {
        Some(delay) if delay > LONGEST_DELAY => {
            Err(reader.error("delay", format!("{delay} is more than {LONGEST_DELAY}")))
        }
        delay => Ok(delay),
    }
}
