//! Reads the rate of a link: a constant, or a schedule, a trace or a token bucket.

use super::document::TomlValue;
use super::model::RateVariation;
use super::table::{TableReader, pair, quantity};
use super::wifi;
use crate::error::{ScenarioError, nearest};
use net::{DeliveryTrace, RateSteps, Steps};
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;
use units::{Rate, Span, Time};

type Result<T> = std::result::Result<T, ScenarioError>;

/// Eleven days.
pub(super) const LONGEST_DELAY: Span = Span::from_ms(1_000_000_000);

/// The least time between two random steps.
const SHORTEST_STEP: Span = Span::from_ms(1);

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
        "steps" => read_rate_steps(&table)?,
        "random_steps" => read_random_steps(&table)?,
        "file" => read_file(&table)?,
        // The rate is that of its basic service set, which is read later.
        "wifi" => (FASTEST, RateVariation::Wifi(wifi::read_rate(&table)?)),
        other => {
            let known = ["trace", "steps", "random_steps", "file", "wifi"];
            let message = format!("unknown rate \"{other}\"; {}", nearest(other, known));
            return Err(table.error("kind", message));
        }
    };
    table.finish()?;
    Ok((read.0, Some(read.1)))
}

fn read_trace(table: &TableReader<'_>) -> Result<(Rate, RateVariation)> {
    let example = "a trace of delivery opportunities, such as file = \"lte.down\"";
    let (path, text) = table.need("file", table.file("file")?, example)?;
    let unit = table.bytes("unit", 1, 65_535)?.unwrap_or(1504) as u32;
    let repeat = table.switch("repeat")?.unwrap_or(true);
    let trace = DeliveryTrace::parse(&text, unit, repeat)
        .map_err(|message| table.error("file", format!("{}: {message}", path.display())))?;
    Ok((trace.mean(), RateVariation::Trace(Arc::new(trace))))
}

fn read_rate_steps(table: &TableReader<'_>) -> Result<(Rate, RateVariation)> {
    let steps = read_steps(table, ["10Mbps", "2Mbps"], |rate| *rate <= FASTEST)?;
    mean_of(table, "steps", steps)
}

fn read_random_steps(table: &TableReader<'_>) -> Result<(Rate, RateVariation)> {
    let interval = read_delay_key(table, "interval")?;
    let interval =
        table.need("interval", interval, "the time between two steps, such as interval = \"15s\"")?;
    if interval < SHORTEST_STEP {
        return Err(table.error("interval", format!("must be at least {SHORTEST_STEP}")));
    }
    let rate = |key: &'static str, example: &str| table.need(key, read_rate_key(table, key)?, example);
    let min = rate("min", "the smallest rate, such as min = \"50Mbps\"")?;
    let max = rate("max", "the largest rate, such as max = \"250Mbps\"")?;
    if min > max {
        return Err(table.error("min", format!("must not be above max, which is {max}")));
    }
    let mean = Rate::from_bps(min.bps() / 2 + max.bps() / 2);
    Ok((mean, RateVariation::RandomSteps { interval, min, max }))
}

/// Reads the steps from a file with lines `time_s,bps`.
fn read_file(table: &TableReader<'_>) -> Result<(Rate, RateVariation)> {
    let example = "lines of time_s,bps, such as file = \"rate.csv\"";
    let (path, text) = table.need("file", table.file("file")?, example)?;
    let refuse = |line: usize, message: &str| {
        table.error("file", format!("{}:{}: {message}", path.display(), line + 1))
    };
    let mut steps: Vec<(Time, Rate)> = Vec::new();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    for (number, line) in lines.filter(|(number, line)| *number > 0 || line.trim() != "time_s,bps") {
        let values = line
            .split_once(',')
            .and_then(|(at, bps)| Some((at.trim().parse::<f64>().ok()?, bps.trim().parse::<f64>().ok()?)));
        let Some((at, bps)) = values.filter(|(at, bps)| {
            (0.0..=LONGEST_DELAY.seconds()).contains(at) && (0.0..=FASTEST.bps() as f64).contains(bps)
        }) else {
            return Err(refuse(
                number,
                "must be a time in seconds and a rate in bits per second, such as 0.5,2e6",
            ));
        };
        let at = Time::ZERO + Span::from_seconds(at);
        check_time(&steps, at).map_err(|message| refuse(number, message))?;
        steps.push((at, Rate::from_bps(bps as u64)));
    }
    if steps.is_empty() {
        return Err(table.error("file", format!("{}: has no line", path.display())));
    }
    let steps = RateSteps { period: read_period(table, &steps)?, steps };
    mean_of(table, "file", steps)
}

/// The mean of the steps, which must not all be zero.
fn mean_of(table: &TableReader<'_>, key: &'static str, steps: RateSteps) -> Result<(Rate, RateVariation)> {
    let largest = steps.steps.iter().map(|step| step.1).max().unwrap_or_default();
    if largest.bps() == 0 {
        return Err(table.error(key, "a rate must be more than zero"));
    }
    // Without a period the mean depends on the duration of the run (`Direction::mean_rate`); here it is the largest.
    let mean = if steps.period > Span::ZERO { steps.mean(Time::NEVER) } else { largest };
    Ok((mean, RateVariation::Steps(steps)))
}

/// Reads `steps`, pairs of a time and a value, and `repeat`. `examples`: two values; `valid`: whether a value is not too
/// large.
pub(super) fn read_steps<T: FromStr<Err: Display> + Display + Copy>(
    table: &TableReader<'_>,
    examples: [&str; 2],
    valid: impl Fn(&T) -> bool,
) -> Result<Steps<T>> {
    let [first, second] = examples;
    let example =
        format!("times and values, such as steps = [[\"0s\", \"{first}\"], [\"5s\", \"{second}\"]]");
    let items = table.need("steps", table.list("steps")?, &example)?;
    let path = table.path("steps");
    let mut steps: Vec<(Time, T)> = Vec::new();
    for item in items {
        let [at, value] = pair(item, &path, &format!("must be pairs of {example}"))?;
        let at = Time::ZERO + quantity::<Span>(at, &path, "5s")?;
        let value: T = quantity(value, &path, second)?;
        let refuse = |message: String| ScenarioError::new(&item.origin, &path, message);
        if !valid(&value) {
            return Err(refuse(format!("{value} is too large")));
        }
        check_time(&steps, at).map_err(|message| refuse(message.into()))?;
        steps.push((at, value));
    }
    if steps.is_empty() {
        return Err(table.error("steps", "must not be empty"));
    }
    Ok(Steps { period: read_period(table, &steps)?, steps })
}

/// Fails if a step at `at` may not follow `steps`.
fn check_time<T>(steps: &[(Time, T)], at: Time) -> std::result::Result<(), &'static str> {
    match steps.last() {
        None if at != Time::ZERO => Err("the first time must be zero"),
        Some((last, _)) if at <= *last => Err("the times must increase"),
        _ => Ok(()),
    }
}

/// Reads `repeat`, the time after which `steps` start again; zero for never.
fn read_period<T>(table: &TableReader<'_>, steps: &[(Time, T)]) -> Result<Span> {
    let period: Span = table.quantity("repeat", "20s")?.unwrap_or(Span::ZERO);
    if period > Span::ZERO && steps.last().is_some_and(|(last, _)| Time::ZERO + period <= *last) {
        return Err(table.error("repeat", "must be after the last step"));
    }
    Ok(period)
}
