//! Reads the rate of a link: a constant, or a schedule, a trace or a token bucket.

use super::model::RateVariation;
use super::reading::Result;
use super::table::TableReader;
use super::{
    cellular::{self, CELLULAR_RATE},
    wifi::{self, WIFI_RATE},
};
use super::{log_options, rate_log};
use net::{DeliveryTrace, GrantOptions, RATES, REQUEST_GRANT, RateSteps, Steps, TokenBucket};
use params::{Key, Table, Value, Values};
use std::path::PathBuf;
use std::sync::Arc;
use units::{Rate, Span, Time};

/// Upper bound of a rate: one byte per picosecond.
pub(super) const FASTEST: Rate = Rate::from_bps(8_000_000_000_000);

/// A token bucket in front of a transmitter.
pub(super) static SHAPER: Table = Table::new("shaper", "`shaper` of a link", &[TokenBucket::KEYS]);

/// A rate of a link.
pub(super) struct RateOfLink {
    /// The rate, or the mean of one that varies.
    pub mean: Rate,
    /// How it varies; none for a constant rate.
    pub variation: Option<RateVariation>,
}

impl RateOfLink {
    /// A rate that does not vary.
    pub fn constant(mean: Rate) -> RateOfLink {
        RateOfLink { mean, variation: None }
    }
}

/// Reads `rate` and `shaper` of a link; `key` describes its rate.
pub(super) fn read(reader: &TableReader<'_>, key: &'static Key) -> Result<Option<RateOfLink>> {
    let rate = read_rate(reader, key);
    let shaper = reader.table("shaper").and_then(|table| table.map(|table| read_shaper(&table)).transpose());
    let (rate, shaper) = (rate?, shaper?);
    let Some(bucket) = shaper else { return Ok(rate) };
    if rate.is_none() && key.is_required() {
        return Ok(None); // which is a mistake of the rate alone
    }
    let Some(RateOfLink { mean: line, variation: None }) = rate else {
        return Err(reader.error("shaper", "needs a constant rate of the link beside it"));
    };
    let (rate, burst): (Rate, u64) = (bucket.read("rate"), bucket.read("burst"));
    if rate > line {
        return Err(reader.error("shaper", format!("its rate of {rate} is above that of the link, {line}")));
    }
    Ok(Some(RateOfLink { mean: rate, variation: Some(RateVariation::Shaper { line, burst }) }))
}

fn read_rate(reader: &TableReader<'_>, key: &'static Key) -> Result<Option<RateOfLink>> {
    match reader.value(key)? {
        Some(Value::Rate(rate)) => Ok(Some(RateOfLink::constant(rate))),
        Some(_) => reader.table("rate")?.map(read_variation).transpose(),
        None => Ok(None),
    }
}

fn read_shaper(shaper: &TableReader<'_>) -> Result<Values> {
    let mut values = shaper.values(&SHAPER, 0)?;
    TokenBucket::check(&mut values).map_err(|mistake| shaper.mistake(mistake))?;
    Ok(values)
}

fn read_variation(table: TableReader<'_>) -> Result<RateOfLink> {
    let model =
        table
            .kind("rate", RATES.iter().chain([&WIFI_RATE, &CELLULAR_RATE, &REQUEST_GRANT]), |model| model)?;
    if model.table.name == WIFI_RATE.table.name {
        let rate = wifi::read_rate(&table)?;
        // The rate is that of its basic service set, which is read later.
        return Ok(RateOfLink { mean: FASTEST, variation: Some(RateVariation::Wifi(Box::new(rate))) });
    }
    if model.table.name == CELLULAR_RATE.table.name {
        let user = cellular::read_rate(&table)?;
        return Ok(RateOfLink { mean: FASTEST, variation: Some(RateVariation::Cellular(Box::new(user))) });
    }
    let values = table.values(&model.table, 0)?;
    let (mean, variation) = match model.table.name {
        "request_grant" => {
            let options = GrantOptions::new(&values);
            options.check().map_err(|mistake| table.mistake(mistake))?;
            (options.rate, RateVariation::Grants(options))
        }
        "trace" => read_trace(&table, &values)?,
        "steps" => {
            let steps = Steps::read(&values).map_err(|mistake| table.mistake(mistake))?;
            mean_of(&table, "steps", steps)?
        }
        "random_steps" => read_random_steps(&table, &values)?,
        _ => {
            let steps = logged(&table, &values, &log_options::RATE, |bps| Rate::from_bps(bps as u64))?;
            mean_of(&table, "file", steps)?
        }
    };
    Ok(RateOfLink { mean, variation: Some(variation) })
}

fn read_trace(table: &TableReader<'_>, values: &Values) -> Result<(Rate, RateVariation)> {
    let (path, text) = named_file(table, &[])?;
    let trace = DeliveryTrace::parse(&text, values.read("unit"), values.read("repeat"))
        .map_err(|message| table.error("file", format!("{}: {message}", path.display())))?;
    Ok((trace.mean(), RateVariation::Trace(Arc::new(trace))))
}

/// The file of a table that must have one.
fn named_file(table: &TableReader<'_>, permitted: &[trace::Kind]) -> Result<(PathBuf, String)> {
    table.need("file", table.file_of("file", permitted)?, "such as file = \"rate.csv\"")
}

/// Files of other programs that are logs of a rate or a delay.
const LOGS: [trace::Kind; 3] = [trace::Kind::Iperf3, trace::Kind::Flent, trace::Kind::Json];

/// The steps of a log with a time and a value in each line, of which `value` is made.
pub(super) fn logged<T>(
    table: &TableReader<'_>,
    values: &Values,
    of: &log_options::Quantity,
    value: impl Fn(f64) -> T,
) -> Result<Steps<T>> {
    let (path, text) = named_file(table, &LOGS)?;
    let refuse =
        |line: usize, message: &str| table.error("file", format!("{}:{line}: {message}", path.display()));
    let mut steps = Steps { steps: Vec::new(), period: Span::ZERO };
    let options = log_options::LogOptions::new(values, of);
    let log = rate_log::rows(&text, of, &options).map_err(|(line, message)| refuse(line, &message))?;
    for said in log.said {
        table.advise("file", format!("{}: {said}", path.display()));
    }
    for (line, at, number) in log.rows {
        let at = Time::ZERO + Span::from_seconds(at);
        steps.push(at, value(number)).map_err(|message| refuse(line, message))?;
    }
    steps.repeated(values).map_err(|mistake| table.mistake(mistake))
}

fn read_random_steps(table: &TableReader<'_>, values: &Values) -> Result<(Rate, RateVariation)> {
    let (min, max): (Rate, Rate) = (values.read("min"), values.read("max"));
    if min > max {
        return Err(table.error("min", format!("must not be above max, which is {max}")));
    }
    let mean = Rate::from_bps(min.bps() / 2 + max.bps() / 2);
    Ok((mean, RateVariation::RandomSteps { interval: values.read("interval"), min, max }))
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
