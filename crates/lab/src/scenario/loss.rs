//! Reads `loss`: what happens to packets on a link besides its queue.

use super::advice;
use super::document::{TomlItem, TomlValue};
use super::model::Loss;
use super::rate::{self, LONGEST_DELAY, read_delay_key, read_steps};
use super::table::{TableReader, pair, quantity};
use crate::error::{ScenarioError, nearest};
use net::impairment::{Action, Distribution, Selection, Transmissions};
use units::Span;

type Result<T> = std::result::Result<T, ScenarioError>;

/// Reads `loss`: a table, or an array of tables for several impairments on one link.
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
            Some(read_scripted(&loss)?)
        }
        "blackout" => Some(Loss::Blackout { times: read_times(&loss)? }),
        "policer" => {
            let (rate, burst) = rate::read_bucket(&loss)?;
            Some(Loss::Policer { rate, burst })
        }
        "jitter" => Some(read_jitter(&loss)?),
        "delay" => Some(Loss::Delay {
            steps: read_steps(&loss, ["20ms", "5ms"], |delay: &Span| *delay <= LONGEST_DELAY)?,
            ordered: loss.switch("order")?.unwrap_or(true),
        }),
        "reorder" => Some(Loss::Reorder {
            rate: loss.need("rate", loss.number("rate", 0.0, 1.0)?, "a probability, such as rate = 0.01")?,
            by: loss.need(
                "by",
                read_delay_key(&loss, "by")?,
                "the additional delay, such as by = \"5ms\"",
            )?,
        }),
        "duplicate" => Some(Loss::Duplicate {
            rate: loss.need("rate", loss.number("rate", 0.0, 1.0)?, "a probability, such as rate = 0.001")?,
        }),
        "stall" => Some(Loss::Stall { times: read_times(&loss)? }),
        other => {
            let known = net::impairment::IMPAIRMENTS.iter().map(|i| i.name);
            return Err(loss.error("kind", format!("unknown loss \"{other}\"; {}", nearest(other, known))));
        }
    };
    loss.finish()?;
    Ok(read)
}

fn read_jitter(loss: &TableReader<'_>) -> Result<Loss> {
    const NAMES: [&str; 3] = ["uniform", "normal", "pareto"];
    let name = loss.text("distribution")?.unwrap_or("uniform");
    if !NAMES.contains(&name) {
        let message = format!("unknown distribution \"{name}\"; {}", nearest(name, NAMES));
        return Err(loss.error("distribution", message));
    }
    let own: &[&str] = match name {
        "uniform" => &["min", "max"],
        "normal" => &["mean", "deviation", "correlation"],
        _ => &["mean", "deviation"],
    };
    let strange = loss.keys().find(|key| {
        matches!(*key, "min" | "max" | "mean" | "deviation" | "correlation") && !own.contains(key)
    });
    if let Some(key) = strange {
        return Err(loss.error(key, format!("has no effect with distribution = \"{name}\"; it has {own:?}")));
    }
    let (min, max) = (loss.quantity("min", "0ms")?.unwrap_or(Span::ZERO), read_delay_key(loss, "max")?);
    let (mean, deviation) = (read_delay_key(loss, "mean")?, read_delay_key(loss, "deviation")?);
    let correlation = loss.number("correlation", 0.0, 1.0)?.unwrap_or(0.0);
    let ordered = loss.switch("order")?.unwrap_or(true);
    if name == "uniform" {
        let max = loss.need("max", max, "the largest delay, such as max = \"10ms\"")?;
        if min > max {
            return Err(loss.error("min", format!("must not be above max, which is {max}")));
        }
        return Ok(Loss::Jitter { distribution: Distribution::Uniform { min, max }, ordered });
    }
    let mean = loss.need("mean", mean, "the mean delay, such as mean = \"10ms\"")?;
    let deviation = loss.need("deviation", deviation, "the deviation, such as deviation = \"2ms\"")?;
    let distribution = match name {
        "normal" => Distribution::Normal { mean, deviation, correlation },
        _ => Distribution::Pareto { mean, deviation },
    };
    Ok(Loss::Jitter { distribution, ordered })
}

fn read_scripted(loss: &TableReader<'_>) -> Result<Loss> {
    let flow = loss.need("flow", loss.text("flow")?, "name the flow whose packets are listed")?.to_string();
    let selection = Selection {
        packets: read_numbers(loss, "packets")?,
        segments: read_segments(loss)?,
        acks: read_numbers(loss, "acks")?,
    };
    let listed: Vec<_> = ["packets", "segments", "acks"]
        .into_iter()
        .filter(|key| loss.keys().any(|given| given == *key))
        .collect();
    loss.need(
        "packets",
        listed.first(),
        "packet numbers from 0, such as packets = [14, 26]; or segments or acks",
    )?;
    let by = loss.quantity::<Span>("by", "45ms")?;
    let action = match loss.text("action")? {
        None | Some("drop") => Action::Drop,
        Some("mark") => Action::Mark,
        Some("duplicate") => Action::Duplicate,
        Some("delay") => Action::Delay(loss.need("by", by, "the additional delay, such as by = \"45ms\"")?),
        Some(other) => {
            let known = ["drop", "mark", "delay", "duplicate"];
            return Err(
                loss.error("action", format!("unknown action \"{other}\"; {}", nearest(other, known)))
            );
        }
    };
    if by.is_some() && !matches!(action, Action::Delay(_)) {
        return Err(loss.error("by", "is for action = \"delay\" only"));
    }
    Ok(Loss::Scripted { flow, selection, action })
}

fn read_numbers(loss: &TableReader<'_>, key: &'static str) -> Result<Vec<u64>> {
    let items = loss.list(key)?.unwrap_or_default();
    items
        .iter()
        .map(|item| match item.value {
            TomlValue::Integer(n) if n >= 0 => Ok(n as u64),
            _ => Err(ScenarioError::new(&item.origin, &loss.path(key), "must be whole numbers from 0 on")),
        })
        .collect()
}

/// Reads `segments`: the number of a data segment, from 0 without the SYN, with a number of transmissions from the first
/// on, or with the first and the last transmission.
fn read_segments(loss: &TableReader<'_>) -> Result<Vec<Transmissions>> {
    let items = loss.list("segments")?.unwrap_or_default();
    let entry = |item: &TomlItem| {
        let TomlValue::List(entries) = &item.value else { return None };
        let number = |item: &TomlItem| match item.value {
            TomlValue::Integer(n) => u32::try_from(n).ok(),
            _ => None,
        };
        let numbers = entries.iter().map(number).collect::<Option<Vec<u32>>>()?;
        let (seq, first, last) = match numbers[..] {
            [seq, last] => (seq, 1, last),
            [seq, first, last] => (seq, first, last),
            _ => return None,
        };
        (1..=last).contains(&first).then_some(Transmissions { seq, first, last })
    };
    let message = "must be a segment with the number of its transmissions, such as [[300, 2]], \
                   or with the first and the last of them, such as [[300, 2, 2]]";
    items
        .iter()
        .map(|item| {
            entry(item).ok_or_else(|| ScenarioError::new(&item.origin, &loss.path("segments"), message))
        })
        .collect()
}

/// Reads `times`: pairs of a begin and an end.
fn read_times(loss: &TableReader<'_>) -> Result<Vec<(Span, Span)>> {
    let example = "begin and end, such as times = [[\"8s\", \"10s\"]]";
    let items = loss.need("times", loss.list("times")?, example)?;
    let path = loss.path("times");
    let read = |item: &TomlItem| {
        let [begin, end] = pair(item, &path, &format!("must be pairs of {example}"))?;
        let times: (Span, Span) = (quantity(begin, &path, "8s")?, quantity(end, &path, "10s")?);
        if times.0 >= times.1 {
            return Err(ScenarioError::new(&item.origin, &path, "the end must be later than the begin"));
        }
        Ok(times)
    };
    items.iter().map(read).collect()
}
