//! Logs of a rate over time, as others publish them: lines with a time and a rate, separated by commas, semicolons, tabs or
//! spaces, after a header that names the columns and their units.

use units::{Rate, Span};

/// Lines with a time and a rate. The line numbers are counted from 1.
pub(super) type Rows = Vec<(usize, f64, f64)>;

/// Units of a rate in the names of columns, with bits a second.
const RATES: [(&str, f64); 9] = [
    ("bps", 1.0),
    ("kbps", 1e3),
    ("mbps", 1e6),
    ("gbps", 1e9),
    ("tbps", 1e12),
    ("bytes", 8.0),
    ("kbytes", 8e3),
    ("mbytes", 8e6),
    ("gbytes", 8e9),
];
/// Units of a time in the names of columns, in seconds.
const TIMES: [(&str, f64); 15] = [
    ("s", 1.0),
    ("sec", 1.0),
    ("secs", 1.0),
    ("seconds", 1.0),
    ("ms", 1e-3),
    ("msec", 1e-3),
    ("milliseconds", 1e-3),
    ("us", 1e-6),
    ("usec", 1e-6),
    ("microseconds", 1e-6),
    ("ns", 1e-9),
    ("min", 60.0),
    ("minutes", 60.0),
    ("h", 3600.0),
    ("hours", 3600.0),
];
/// Words of columns with a time.
const TIME_WORDS: [&str; 4] = ["time", "timestamp", "t", "elapsed"];
/// Words of columns with a rate, for messages.
const RATE_WORDS: [&str; 5] = ["rate", "bitrate", "throughput", "bandwidth", "capacity"];
const EXAMPLE: &str = "time_s,mbps (units: s, ms, us; bps, kbps, mbps, gbps)";

/// The longest time and the fastest rate that a log can have.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub longest: Span,
    pub fastest: Rate,
}

/// The rows of a log: seconds from its begin, and bits a second. Fails with the line (from 1) and a message.
pub(super) fn rows(text: &str, limits: Limits) -> Result<Rows, (usize, String)> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let Some((first, line)) = lines.clone().next() else { return Err((1, "has no line".into())) };
    let separator = separator_of(line);
    let is_header = split(line, separator).iter().all(|cell| cell.parse::<f64>().is_err());
    let columns = match is_header {
        true => {
            lines.next();
            Columns::of_header(&split(line, separator)).map_err(|message| (first, message))?
        }
        false => Columns { time: 0, rate: 1, to_s: 1.0, to_bps: 1.0, count: 2, named: false },
    };
    let mut start = None;
    let mut rows = Vec::new();
    for (number, line) in lines {
        let cells = split(line, separator);
        let row = columns.read(&cells, &mut start, limits);
        rows.push(row.map(|(at, bps)| (number, at, bps)).map_err(|message| (number, message))?);
    }
    if rows.is_empty() {
        return Err((first, "has no line after the header".into()));
    }
    let fastest = rows.iter().map(|(_, _, bps)| *bps).fold(0.0, f64::max);
    if !columns.named && fastest > 0.0 && fastest < 1000.0 {
        let message = format!(
            "its fastest rate would be {fastest} bit/s; if these are Mb/s, write a header before the first line: \
             time_s{}mbps",
            if separator == ' ' { '\t' } else { separator }
        );
        return Err((first, message));
    }
    Ok(rows)
}

/// The columns with the time and the rate.
struct Columns {
    time: usize,
    rate: usize,
    to_s: f64,
    to_bps: f64,
    /// The number of columns.
    count: usize,
    /// Whether a header names the units.
    named: bool,
}

impl Columns {
    fn of_header(names: &[&str]) -> Result<Columns, String> {
        let words: Vec<Vec<String>> = names.iter().map(|name| words_of(name)).collect();
        let unit = |words: &[String], units: &[(&str, f64)]| {
            units.iter().find(|(unit, _)| words.iter().any(|word| word == unit)).map(|(_, size)| *size)
        };
        let has = |words: &[String], any: &[&str]| words.iter().any(|word| any.contains(&&**word));
        let times: Vec<usize> = (0..words.len()).filter(|i| has(&words[*i], &TIME_WORDS)).collect();
        let rates: Vec<usize> = (0..words.len()).filter(|i| unit(&words[*i], &RATES).is_some()).collect();
        let listed = names.join(", ");
        let Some(&time) = times.first() else {
            return Err(format!("no column with a time among {listed}; write a header such as {EXAMPLE}"));
        };
        let Some(&rate) = rates.first() else {
            let unnamed = (0..words.len()).find(|i| has(&words[*i], &RATE_WORDS));
            return Err(match unnamed {
                Some(i) => format!(
                    "the column {} does not name its unit; write {}_kbps or {}_mbps in the header",
                    names[i], names[i], names[i]
                ),
                None => format!("no column with a rate among {listed}; write a header such as {EXAMPLE}"),
            });
        };
        if rates.len() > 1 {
            let named: Vec<&str> = rates.iter().map(|i| names[*i]).collect();
            return Err(format!("several columns with a rate: {}; keep one", named.join(", ")));
        }
        Ok(Columns {
            time,
            rate,
            to_s: unit(&words[time], &TIMES).unwrap_or(1.0),
            to_bps: unit(&words[rate], &RATES).unwrap_or(1.0),
            count: names.len(),
            named: true,
        })
    }

    /// The time and the rate of a line. Dates and large times are relative to those of the first line, `start`.
    fn read(&self, cells: &[&str], start: &mut Option<f64>, limits: Limits) -> Result<(f64, f64), String> {
        let expected = "must be a time in seconds and a rate in bits per second, such as 0.5,2e6";
        if cells.len() != self.count {
            return Err(match self.named {
                true => format!("has {} values, and the header {} names", cells.len(), self.count),
                false => format!("{expected}; of another unit, write a header such as {EXAMPLE}"),
            });
        }
        let (time, rate) = (cells[self.time], cells[self.rate]);
        let at = match (time.parse::<f64>(), self.named) {
            (Ok(number), _) => Some(number * self.to_s),
            (Err(_), true) => date(time),
            (Err(_), false) => None,
        };
        let (Some(at), Ok(rate)) = (at, rate.parse::<f64>()) else {
            return Err(match self.named {
                true => format!("\"{time}\" is no time, or \"{rate}\" no number"),
                false => format!("{expected}; of another unit, write a header such as {EXAMPLE}"),
            });
        };
        let Limits { longest, fastest } = limits;
        let is_relative = at <= longest.seconds() && time.parse::<f64>().is_ok();
        let zero = *start.get_or_insert(if is_relative { 0.0 } else { at });
        let (at, bps) = (at - zero, rate * self.to_bps);
        let fits = (0.0..=longest.seconds()).contains(&at) && (0.0..=fastest.bps() as f64).contains(&bps);
        if fits {
            Ok((at, bps))
        } else {
            Err(format!(
                "must have a time of at most {longest} and a rate of at most {fastest}, both of at least 0"
            ))
        }
    }
}

/// The separator of a line: the first of these that it has.
fn separator_of(line: &str) -> char {
    [',', ';', '\t'].into_iter().find(|separator| line.contains(*separator)).unwrap_or(' ')
}

fn split(line: &str, separator: char) -> Vec<&str> {
    match separator {
        ' ' => line.split_ascii_whitespace().collect(),
        _ => line.split(separator).map(|cell| cell.trim().trim_matches('"').trim()).collect(),
    }
}

/// The words of a column's name in small letters: "Throughput (Mbit/s)" is throughput, mbps.
fn words_of(name: &str) -> Vec<String> {
    // A capital B is a byte.
    let mut name = name.replace(['µ', 'μ'], "u");
    for prefix in ["k", "K", "M", "G", ""] {
        for end in ["B/s", "Bps", "Bytes/s", "bytes/s"] {
            let unit = format!("{prefix}{end}");
            let begins = |at: usize| !name[..at].ends_with(|c: char| c.is_ascii_alphabetic());
            if let Some(at) = name.find(&unit).filter(|at| begins(*at)) {
                name.replace_range(at..at + unit.len(), &format!("{prefix}bytes"));
            }
        }
    }
    let mut name = name.to_ascii_lowercase();
    for (written, unit) in [("bits/s", "bps"), ("bit/s", "bps"), ("b/s", "bps"), ("bits_per_second", "bps")] {
        name = name.replace(written, unit);
    }
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(String::from)
        .collect()
}

/// Seconds since the year 1970 of a date with a time, such as 2024-01-01T10:00:00.5 or 2020.01.01_10.00.00.
fn date(text: &str) -> Option<f64> {
    let numbers: Vec<&str> =
        text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty()).collect();
    let number = |index: usize| numbers.get(index).and_then(|digits| digits.parse::<i64>().ok());
    let (year, month, day) = (number(0)?, number(1)?, number(2)?);
    if !(1970..3000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days since 1970-03-01 of the Gregorian calendar, in which a year begins in March.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        365 * years + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day - 1 - 719_468;
    let seconds = number(3)? * 3600 + number(4)? * 60 + number(5).unwrap_or(0);
    let fraction = numbers.get(6).and_then(|digits| format!("0.{digits}").parse::<f64>().ok()).unwrap_or(0.0);
    Some((days * 86_400 + seconds) as f64 + fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { longest: Span::from_ms(1_000_000_000), fastest: Rate::from_bps(8_000_000_000_000) };

    #[test]
    fn a_capital_b_is_a_byte_and_times_have_units() {
        let read = |text: &str| rows(text, LIMITS).unwrap().last().map(|(_, at, bps)| (*at, *bps));
        for (text, row) in [
            ("time_s,throughput (MB/s)\n0,1\n2,3\n", (2.0, 24e6)),
            ("time_s,MBps\n0,1\n2,3\n", (2.0, 24e6)),
            ("time_s,rate kB/s\n0,1\n2,3\n", (2.0, 24e3)),
            ("time_s,rate (Mb/s)\n0,1\n2,3\n", (2.0, 3e6)),
            ("time_min,mbps\n0,1\n2,3\n", (120.0, 3e6)),
            ("time (hours),mbps\n0,1\n2,3\n", (7200.0, 3e6)),
            ("time_µs,mbps\n0,1\n2,3\n", (2e-6, 3e6)),
        ] {
            assert_eq!(read(text), Some(row), "{text}");
        }
    }

    #[test]
    fn headers_name_columns_and_units() {
        let read = |text: &str| {
            rows(text, LIMITS).unwrap().into_iter().map(|(_, at, bps)| (at, bps)).collect::<Vec<_>>()
        };
        let same = vec![(0.0, 12e6), (0.5, 8e6)];
        for text in [
            "0,12e6\n0.5,8e6\n",
            "time_s,bps\n0,12e6\n\n0.5,8e6\n",
            "timestamp_ms,bandwidth_kbps\n0,12000\n500,8000\n",
            "time_s\tmbps\n0\t12\n0.5\t8\n",
            "time;throughput (Mbit/s)\n0;12\n0.5;8\n",
            "# a log\ntime,throughput_mbps,retrans\n2024-01-01T10:00:00.000000,12,0\n2024-01-01T10:00:00.500000,8,1\n",
            "time_s mbps\n0 12\n0.5 8\n",
            "\"time_ms\",\"rate (Mb/s)\"\n1700000000000,12\n1700000000500,8\n",
        ] {
            assert_eq!(read(text), same, "{text}");
        }
        assert_eq!(date("1970-01-01T00:00:01"), Some(1.0));
        assert_eq!(
            date("2024-03-01 00:00:00").unwrap() - date("2024-02-28 00:00:00").unwrap(),
            2.0 * 86_400.0
        );
        assert_eq!(date("2020.01.01_10.00.07"), date("2020-01-01T10:00:07Z"));
    }

    #[test]
    fn what_is_missing_is_told() {
        let told = |text: &str| rows(text, LIMITS).unwrap_err();
        assert_eq!(told("").1, "has no line");
        let (line, message) = told("0.000\t2.6229\n0.810\t2.7418\n");
        assert!(
            line == 1 && message.contains("2.7418 bit/s") && message.contains("time_s\tmbps"),
            "{message}"
        );
        assert!(
            told("Timestamp,DL_bitrate\n1,2\n").1.contains("the column DL_bitrate does not name its unit")
        );
        assert!(told("a,mbps\n1,2\n").1.contains("no column with a time"));
        assert!(told("time,dl_mbps,ul_mbps\n1,2,3\n").1.contains("several columns"));
        assert_eq!(told("time_s,mbps\n0,1\n1,x\n"), (3, "\"1\" is no time, or \"x\" no number".into()));
        assert!(told("0;1;2\n").1.starts_with("must be a time in seconds"));
    }
}
