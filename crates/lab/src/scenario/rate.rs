//! Reads the rate of a link: a constant, or a schedule, a trace or a token bucket.

use super::document::{TomlItem, TomlValue};
use super::model::RateVariation;
use super::movement::read_text;
use super::table::{TableReader, pair, quantity};
use crate::error::{ScenarioError, nearest};
use net::{DeliveryTrace, RateSteps};
use std::sync::Arc;
use units::{Rate, Span, Time};

type Result<T> = std::result::Result<T, ScenarioError>;

/// Eleven days.
const LONGEST_DELAY: Span = Span::from_ms(1_000_000_000);

/// Upper bound of a rate: one byte per picosecond.
pub(super) const FASTEST: Rate = Rate::from_bps(8_000_000_000_000);

pub(super) fn read_rate_key(reader: &TableReader<'_>, key: &'static str) -> Result<Option<Rate>> {
    let rate: Option<Rate> = reader.quantity(key, "10Mbps")?;
    match rate {
        Some(rate) if rate.bps() == 0 => Err(reader.error(key, "must be more than zero")),
        Some(rate) if rate > FASTEST => Err(reader.error(key, format!("{rate} is more than {FASTEST}"))),
        rate => Ok(rate),
    }
}

pub(super) fn read_delay_key(reader: &TableReader<'_>, key: &'static str) -> Result<Option<Span>> {
    match reader.quantity::<Span>(key, "10ms")? {
        Some(delay) if delay > LONGEST_DELAY => {
            Err(reader.error(key, format!("{delay} is more than {LONGEST_DELAY}")))
        }
        delay => Ok(delay),
    }
}

/// Reads `rate` and `shaper` of a link: the mean rate, and how it varies.
pub(super) fn read(reader: &TableReader<'_>) -> Result<Option<(Rate, Option<RateVariation>)>> {
    let given = match reader.get("rate").map(|item| &item.value) {
        Some(TomlValue::Table(_)) => {
            let Some(table) = reader.table("rate")? else { return Ok(None) };
            Some(read_variation(table)?)
        }
        _ => read_rate_key(reader, "rate")?.map(|rate| (rate, None)),
    };
    let Some(shaper) = reader.table("shaper")? else { return Ok(given) };
    let Some((line, None)) = given else {
        return Err(reader.error("shaper", "needs a constant rate of the link beside it"));
    };
    let (rate, burst) = read_bucket(&shaper)?;
    shaper.finish()?;
    if rate > line {
        return Err(reader.error("shaper", format!("its rate of {rate} is above that of the link, {line}")));
    }
    Ok(Some((rate, Some(RateVariation::Shaper { line, burst }))))
}

/// Reads `rate` and `burst` of a token bucket.
pub(super) fn read_bucket(table: &TableReader<'_>) -> Result<(Rate, u64)> {
    let rate = table.need("rate", read_rate_key(table, "rate")?, "such as rate = \"1Mbps\"")?;
    let burst = table.bytes("burst", 1, u64::MAX >> 16)?;
    let burst = table.need("burst", burst, "the largest number of tokens, such as burst = \"15kB\"")?;
    if burst as f64 * 8.0 / rate.bps() as f64 > LONGEST_DELAY.seconds() {
        return Err(table.error("burst", format!("takes longer than {LONGEST_DELAY} at that rate")));
    }
    if burst < 1500 {
        return Err(
            table.error("burst", "must be at least 1500 bytes, or a full packet never has enough tokens")
        );
    }
    Ok((rate, burst))
}

fn read_variation(table: TableReader<'_>) -> Result<(Rate, Option<RateVariation>)> {
    let kind = table.need("kind", table.text("kind")?, "such as kind = \"trace\"")?;
    let read = match kind {
        "trace" => read_trace(&table)?,
        "steps" => read_steps(&table)?,
        other => {
            let message = format!("unknown rate \"{other}\"; {}", nearest(other, ["trace", "steps"]));
            return Err(table.error("kind", message));
        }
    };
    table.finish()?;
    Ok((read.0, Some(read.1)))
}

fn read_trace(table: &TableReader<'_>) -> Result<(Rate, RateVariation)> {
    let (file, name) = table.need(
        "file",
        table.get("file").zip(table.text("file")?),
        "a trace of delivery opportunities, such as file = \"lte.down\"",
    )?;
    let unit = table.bytes("unit", 1, 65_535)?.unwrap_or(1504) as u32;
    let repeat = table.switch("repeat")?.unwrap_or(true);
    let path = table.beside(file, name);
    let text = read_text(&path).map_err(|message| table.error("file", message))?;
    let trace = DeliveryTrace::parse(&text, unit, repeat)
        .map_err(|message| table.error("file", format!("{}: {message}", path.display())))?;
    Ok((trace.mean(), RateVariation::Trace(Arc::new(trace))))
}

fn read_steps(table: &TableReader<'_>) -> Result<(Rate, RateVariation)> {
    let example = "times and rates, such as steps = [[\"0s\", \"10Mbps\"], [\"5s\", \"2Mbps\"]]";
    let items = table.need("steps", table.list("steps")?, example)?;
    let path = table.path("steps");
    let mut steps: Vec<(Time, Rate)> = Vec::new();
    for item in items {
        let (at, rate) = read_step(item, &path, example)?;
        let refuse = |message: &str| Err(ScenarioError::new(&item.origin, &path, message));
        match steps.last() {
            None if at != Time::ZERO => return refuse("the first time must be \"0s\""),
            Some((last, _)) if at <= *last => return refuse("the times must increase"),
            _ => steps.push((at, rate)),
        }
    }
    let Some((last, _)) = steps.last() else { return Err(table.error("steps", "must not be empty")) };
    let last = *last;
    let period: Span = table.quantity("repeat", "20s")?.unwrap_or(Span::ZERO);
    if period > Span::ZERO && Time::ZERO + period <= last {
        return Err(table.error("repeat", "must be after the last step"));
    }
    let steps = RateSteps { steps, period };
    let largest = steps.steps.iter().map(|step| step.1).max().unwrap_or_default();
    if largest.bps() == 0 {
        return Err(table.error("steps", "a rate must be more than zero"));
    }
    // Without a period the mean depends on the duration of the run (`Direction::mean_rate`); here it is the largest.
    let mean = if period > Span::ZERO { steps.mean(Time::NEVER) } else { largest };
    Ok((mean, RateVariation::Steps(steps)))
}

fn read_step(item: &TomlItem, path: &str, example: &str) -> Result<(Time, Rate)> {
    let [at, rate] = pair(item, path, &format!("must be pairs of {example}"))?;
    let (at, rate): (Span, Rate) = (quantity(at, path, "5s")?, quantity(rate, path, "2Mbps")?);
    if rate > FASTEST {
        return Err(ScenarioError::new(&item.origin, path, format!("{rate} is more than {FASTEST}")));
    }
    Ok((Time::ZERO + at, rate))
}
