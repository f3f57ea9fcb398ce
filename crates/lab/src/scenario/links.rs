//! Reads `[[link]]`: rate, delay, queue, loss and router of both directions.

use super::advice;
use super::document::{TomlItem, TomlValue};
use super::model::{Direction, Duplex, Loss, Queue};
use super::router::read_router;
use super::table::TableReader;
use crate::error::{ScenarioError, nearest};
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

/// Reads `loss`: a table, or an array of tables for several causes of loss on one link.
pub(super) fn read_losses(reader: &TableReader<'_>) -> Result<Option<Vec<Loss>>> {
    let tables = match reader.get("loss").map(|item| &item.value) {
        None => return Ok(None),
        Some(TomlValue::List(items)) => {
            let path = |i| format!("{}[{i}]", reader.path("loss"));
            items
                .iter()
                .enumerate()
                .map(|(i, item)| TableReader::new(path(i), item))
                .collect::<Result<_>>()?
        }
        Some(TomlValue::Table(_)) => reader.table("loss")?.into_iter().collect::<Vec<_>>(),
        Some(_) => {
            let example =
                "must be a table or an array of tables, such as { kind = \"bernoulli\", rate = 0.01 }";
            return Err(reader.error("loss", example));
        }
    };
    let losses = tables.into_iter().map(read_loss).collect::<Result<Vec<_>>>()?;
    Ok(Some(losses.into_iter().flatten().collect()))
}

/// Reads one table of `loss`; none for `kind = "none"`.
fn read_loss(loss: TableReader<'_>) -> Result<Option<Loss>> {
    let kind = loss.need("kind", loss.text("kind")?, "such as kind = \"bernoulli\"")?;
    let read = match kind {
        "none" => None,
        "bernoulli" => Some(Loss::Bernoulli {
            rate: loss.need("rate", loss.number("rate", 0.0, 1.0)?, "a probability, such as rate = 0.01")?,
        }),
        "gilbert_elliott" => Some(Loss::GilbertElliott {
            p: loss.need("p", loss.number("p", 0.0, 1.0)?, "probability good to bad, such as p = 0.001")?,
            r: loss.need("r", loss.number("r", 0.0, 1.0)?, "probability bad to good, such as r = 0.1")?,
            loss_good: loss.number("loss_good", 0.0, 1.0)?.unwrap_or(0.0),
            loss_bad: loss.number("loss_bad", 0.0, 1.0)?.unwrap_or(1.0),
        }),
        "scripted" | "list" => {
            if kind == "list" {
                advice::give(loss.error("kind", "\"list\" is now called \"scripted\""));
            }
            let example = "name the flow whose packets are dropped";
            let flow = loss.need("flow", loss.text("flow")?, example)?.to_string();
            Some(Loss::Scripted { flow, packets: read_numbers(&loss)? })
        }
        other => {
            let known = net::impairment::IMPAIRMENTS.iter().map(|i| i.name);
            return Err(loss.error("kind", format!("unknown loss \"{other}\"; {}", nearest(other, known))));
        }
    };
    loss.finish()?;
    Ok(read)
}

fn read_numbers(loss: &TableReader<'_>) -> Result<Vec<u64>> {
    let items =
        loss.need("packets", loss.list("packets")?, "packet numbers from 0, such as packets = [14, 26]")?;
    items
        .iter()
        .map(|item| match item.value {
            TomlValue::Integer(n) if n >= 0 => Ok(n as u64),
            _ => Err(ScenarioError::new(
                &item.origin,
                &loss.path("packets"),
                "must be whole numbers from 0 on",
            )),
        })
        .collect()
}
