//! Logs of a rate or a delay in JSON: results of iperf3 and Flent, and traces of netem-trace.

use super::log_options::{LogOptions, Quantity, Rows};
use trace::json::{self, Value};

/// The rows of a JSON file; the line of each is 1. Fails with a message.
pub(super) fn rows(text: &str, of: &Quantity, options: &LogOptions) -> Result<Rows, String> {
    let (file, whole) = json::read(text.as_bytes());
    if !whole {
        return Err("the JSON ends early, or is damaged".into());
    }
    let has = |key: &str| file.get(key) != &Value::Null;
    let unused = |form: &str, keys: &[(&str, bool)]| match keys.iter().find(|(_, is_set)| *is_set) {
        Some((key, _)) => Err(format!("{key} has no meaning for {form}; omit it")),
        None => Ok(()),
    };
    let of_times = [
        ("time", options.time.is_some()),
        ("time_unit", options.time_unit.is_some()),
        ("every", options.every.is_some()),
    ];
    if has("x_values") {
        unused("a Flent result", &of_times)?;
    } else {
        let rest = [("unit", options.unit.is_some()), ("column", options.column.is_some())];
        unused("JSON with its own units", &[of_times.as_slice(), &rest].concat())?;
    }
    match () {
        () if has("intervals") => iperf3(&file, of),
        () if has("x_values") => flent(&file, of, options),
        () if file.pairs().iter().any(|(name, _)| name.ends_with("Config")) => {
            let mut steps = Steps { rows: Rows::new(), at: 0.0, visits: 0 };
            netem_trace(&file, of, &mut steps)?;
            Ok(steps.rows)
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
        // Seconds that iperf3 omits (-O) begin at 0 once more.
        let omitted = sum.get("omitted") == &Value::Bool(true);
        Some((1, sum.get("start").number()?, sum.get("bits_per_second").number()?)).filter(|_| !omitted)
    };
    let rows: Rows = file.get("intervals").items().iter().filter_map(row).collect();
    match (rows.is_empty(), file.get("error").text()) {
        (true, Some(error)) => Err(format!("the result of iperf3 has no intervals: {error}")),
        (true, None) => Err("the result of iperf3 has no intervals".into()),
        _ => Ok(rows),
    }
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
    let lower = name.to_ascii_lowercase();
    if of.is_delay && (lower.contains("ping") || lower.contains("rtt")) {
        return Err(format!(
            "the series {name} is a round-trip time; a link needs the delay of one direction"
        ));
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
            if of.is_delay { "ms" } else { "Mbps" }
        ));
    };
    let times = file.get("x_values").items().iter();
    let rows = times.zip(results.get(name).items());
    Ok(rows.filter_map(|(at, value)| Some((1, at.number()?, value.number()? * size))).collect())
}

/// The steps of netem-trace so far.
struct Steps {
    rows: Rows,
    at: f64,
    /// Configurations that were read.
    visits: usize,
}

/// Configurations, repeated ones included, that are read at most.
const MOST_VISITS: usize = 1_000_000;

/// The steps of a configuration of netem-trace: static ones, and patterns of them, which are repeated.
fn netem_trace(config: &Value, of: &Quantity, steps: &mut Steps) -> Result<(), String> {
    let Some((kind, inner)) = config.pairs().first() else { return Err("a configuration is empty".into()) };
    let (key, quantity) = if of.is_delay { ("delay", "Delay") } else { ("bw", "Bw") };
    let (fixed, repeated) = (format!("Static{quantity}Config"), format!("Repeated{quantity}PatternConfig"));
    if *kind == fixed {
        let value = amount(inner.get(key), of).ok_or_else(|| format!("{kind} has no {key}"))?;
        let seconds = duration(inner.get("duration")).unwrap_or(1.0);
        steps.rows.push((1, steps.at, value));
        steps.at += seconds;
        return Ok(());
    }
    if *kind != repeated {
        return Err(format!("{kind} of netem-trace is not read; {fixed} and {repeated} are"));
    }
    let count = inner.get("count").number().unwrap_or(1.0);
    if !(1.0..=MOST_VISITS as f64).contains(&count) {
        return Err(format!(
            "{kind}: a pattern with count = {count} has no end; write count = 1, and repeat = TIME in the scenario"
        ));
    }
    for _ in 0..count as usize {
        for each in inner.get("pattern").items() {
            steps.visits += 1;
            if steps.visits > MOST_VISITS {
                return Err(format!("{kind}: more than {MOST_VISITS} steps"));
            }
            // A pattern within a pattern is one step deeper each; JSON is read to a depth of 64.
            netem_trace(each, of, steps)?;
        }
        if inner.get("pattern").items().is_empty() {
            return Err(format!("{kind}: the pattern is empty"));
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
