//! Logs of a rate or a delay in JSON: results of iperf3 and Flent, and traces of netem-trace.

use super::rate_log::{LogOptions, Quantity, Rows};
use trace::json::{self, Value};

/// The rows of a JSON file; the line of each is 1. Fails with a message.
pub(super) fn rows(text: &str, of: &Quantity, options: &LogOptions) -> Result<Rows, String> {
    let (file, whole) = json::read(text.as_bytes());
    if !whole {
        return Err("the JSON ends early, or is damaged".into());
    }
    let has = |key: &str| file.get(key) != &Value::Null;
    match () {
        () if has("intervals") => iperf3(&file, of),
        () if has("x_values") => flent(&file, of, options),
        () if file.pairs().iter().any(|(name, _)| name.ends_with("Config")) => {
            let mut rows = Rows::new();
            let mut at = 0.0;
            netem_trace(&file, of, &mut rows, &mut at)?;
            Ok(rows)
        }
        () => Err("is JSON of no form that is known: results of iperf3 and Flent, and configurations of \
                   netem-trace are read"
            .into()),
    }
}

fn iperf3(file: &Value, of: &Quantity) -> Result<Rows, String> {
    if of.is_delay {
        return Err("a result of iperf3 has no delay of one direction".into());
    }
    let row = |interval: &Value| {
        let sum = interval.any(&["sum", "sum_sent"]);
        Some((1, sum.get("start").number()?, sum.get("bits_per_second").number()?))
    };
    Ok(file.get("intervals").items().iter().filter_map(row).collect())
}

fn flent(file: &Value, of: &Quantity, options: &LogOptions) -> Result<Rows, String> {
    let results = file.get("results");
    let names: Vec<&str> = results.pairs().iter().map(|(name, _)| name.as_str()).collect();
    let Some(name) = options.column.as_deref() else {
        return Err(format!("is a Flent result; select a series: column = one of {}", names.join(", ")));
    };
    if !names.contains(&name) {
        return Err(format!("column = \"{name}\": the Flent result has {}", names.join(", ")));
    }
    let units = file.get("metadata").get("SERIES_META").get(name).get("UNITS").text();
    let known = units.and_then(|units| match units.to_ascii_lowercase().as_str() {
        "bits/s" => Some(1.0),
        "kbits/s" => Some(1e3),
        "mbits/s" => Some(1e6),
        "gbits/s" => Some(1e9),
        "ms" if of.is_delay => Some(1e-3),
        _ => None,
    });
    let Some(size) = options.unit.or(known) else {
        return Err(format!(
            "the series {name} does not name its unit; add unit = \"{}\"",
            of.key_units.get(2).map_or("ms", |unit| unit.0)
        ));
    };
    let times = file.get("x_values").items().iter();
    let rows = times.zip(results.get(name).items());
    Ok(rows.filter_map(|(at, value)| Some((1, at.number()?, value.number()? * size))).collect())
}

/// The steps of a configuration of netem-trace: static ones, and patterns of them, which are repeated.
fn netem_trace(config: &Value, of: &Quantity, rows: &mut Rows, at: &mut f64) -> Result<(), String> {
    const MOST_ROWS: usize = 1_000_000;
    let Some((kind, inner)) = config.pairs().first() else { return Err("a configuration is empty".into()) };
    let (key, quantity) = if of.is_delay { ("delay", "Delay") } else { ("bw", "Bw") };
    let (fixed, repeated) = (format!("Static{quantity}Config"), format!("Repeated{quantity}PatternConfig"));
    if *kind == fixed {
        let value = amount(inner.get(key), of).ok_or_else(|| format!("{kind} has no {key}"))?;
        let seconds = duration(inner.get("duration")).unwrap_or(1.0);
        rows.push((1, *at, value));
        *at += seconds;
        return Ok(());
    }
    if *kind != repeated {
        return Err(format!("{kind} of netem-trace is not read; {fixed} and {repeated} are"));
    }
    let times = inner.get("count").number().unwrap_or(1.0).clamp(1.0, MOST_ROWS as f64) as usize;
    for _ in 0..times {
        for each in inner.get("pattern").items() {
            if rows.len() >= MOST_ROWS {
                return Err(format!("{kind}: more than {MOST_ROWS} steps"));
            }
            // A pattern within a pattern is one step deeper each; JSON is read to a depth of 64.
            netem_trace(each, of, rows, at)?;
        }
    }
    Ok(())
}

/// A rate, bit/s, or a delay, s: text with a unit, or an object of `gbps` and `bps`, or of `secs` and `nanos`.
fn amount(value: &Value, of: &Quantity) -> Option<f64> {
    if of.is_delay {
        return duration(value);
    }
    match value.text() {
        Some(text) => with_unit(text, &[("gbps", 1e9), ("mbps", 1e6), ("kbps", 1e3), ("bps", 1.0)]),
        None => {
            let part = |key: &str| value.get(key).number();
            value.number().or_else(|| Some(part("gbps").unwrap_or(0.0) * 1e9 + part("bps")?))
        }
    }
}

/// Seconds.
fn duration(value: &Value) -> Option<f64> {
    match value.text() {
        Some(text) => with_unit(text, &[("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("m", 60.0), ("s", 1.0)]),
        None => Some(value.get("secs").number()? + value.get("nanos").number().unwrap_or(0.0) / 1e9),
    }
}

fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let (number, size) =
        units.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?.trim().to_owned(), *size)))?;
    Some(number.parse::<f64>().ok()? * size)
}
