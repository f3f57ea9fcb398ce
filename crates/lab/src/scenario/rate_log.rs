//! Logs of a rate or a delay over time, as others publish them: lines with a time and a value, separated by commas,
//! semicolons, tabs or spaces, after a header that names the columns and their units.

use units::Span;

/// Lines with a time and a value. The line numbers are counted from 1.
pub(super) type Rows = Vec<(usize, f64, f64)>;

/// What a log has beside the time.
pub(super) struct Quantity {
    /// Its name.
    name: &'static str,
    /// Units in the names of columns, with their sizes in the unit of a log without a header.
    units: &'static [(&'static str, f64)],
    /// Words of columns with it.
    words: &'static [&'static str],
    /// Whether a column must have one of these words, since its units are also those of times.
    needs_word: bool,
    /// The unit of a log without a header, with a line of such a log.
    plain: (&'static str, &'static str),
    /// Largest values of a log without a header that are more likely in another unit, that unit, and how the message names the
    /// largest value and its unit.
    doubtful: (std::ops::Range<f64>, &'static str, [&'static str; 2]),
    /// The end of a header with a usual unit, and the units that a header can name.
    example: (&'static str, &'static str),
    /// The largest value, and as text.
    largest: (f64, &'static str),
}

/// A rate, in bits a second.
pub(super) const RATE: Quantity = Quantity {
    name: "rate",
    units: &RATES,
    words: &RATE_WORDS,
    needs_word: false,
    plain: ("bits per second", "0.5,2e6"),
    doubtful: (f64::MIN_POSITIVE..1000.0, "Mb/s", ["fastest", "bit/s"]),
    example: ("mbps", "bps, kbps, mbps, gbps"),
    largest: (8e12, "8Tbps"),
};

/// A delay, in seconds.
pub(super) const DELAY: Quantity = Quantity {
    name: "delay",
    units: &TIMES,
    words: &DELAY_WORDS,
    needs_word: true,
    plain: ("seconds", "0.5,0.02"),
    doubtful: (5.0..f64::INFINITY, "ms", ["longest", "s"]),
    example: ("delay_ms", "s, ms, us"),
    largest: (1e6, "1000000s"),
};

/// The longest time: eleven days.
const LONGEST: Span = Span::from_ms(1_000_000_000);

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
/// Words of columns with a delay of one direction.
const DELAY_WORDS: [&str; 4] = ["delay", "latency", "owd", "propagation"];
/// Words of columns with a time in both directions, which is no delay of a link.
const ROUND_TRIP_WORDS: [&str; 4] = ["rtt", "ping", "srtt", "roundtrip"];

impl Quantity {
    /// A header, and the units that it can name.
    fn header(&self) -> String {
        format!("time_s,{} (units: s, ms, us; {})", self.example.0, self.example.1)
    }
}

/// The rows of a log: seconds from its begin, and values. Fails with the line (from 1) and a message.
pub(super) fn rows(text: &str, of: &Quantity) -> Result<Rows, (usize, String)> {
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
            Columns::of_header(&split(line, separator), of).map_err(|message| (first, message))?
        }
        false => Columns { time: 0, value: 1, to_s: 1.0, size: 1.0, count: 2, named: false },
    };
    let mut start = None;
    let mut rows = Vec::new();
    for (number, line) in lines {
        let cells = split(line, separator);
        let row = columns.read(&cells, &mut start, of);
        rows.push(row.map(|(at, value)| (number, at, value)).map_err(|message| (number, message))?);
    }
    if rows.is_empty() {
        return Err((first, "has no line after the header".into()));
    }
    let largest = rows.iter().map(|(_, _, value)| *value).fold(0.0, f64::max);
    let (doubtful, unit, [superlative, own]) = &of.doubtful;
    if !columns.named && doubtful.contains(&largest) {
        let message = format!(
            "its {superlative} {} would be {largest} {own}; if these are {unit}, write a header before the first line: \
             time_s{}{}",
            of.name,
            if separator == ' ' { '\t' } else { separator },
            of.example.0,
        );
        return Err((first, message));
    }
    Ok(rows)
}

/// The columns with the time and the value, and their units.
struct Columns {
    time: usize,
    value: usize,
    to_s: f64,
    size: f64,
    /// The number of columns.
    count: usize,
    /// Whether a header names the units.
    named: bool,
}

impl Columns {
    fn of_header(names: &[&str], of: &Quantity) -> Result<Columns, String> {
        let words: Vec<Vec<String>> = names.iter().map(|name| words_of(name)).collect();
        let unit = |words: &[String], units: &[(&str, f64)]| {
            units.iter().find(|(unit, _)| words.iter().any(|word| word == unit)).map(|(_, size)| *size)
        };
        let has = |words: &[String], any: &[&str]| words.iter().any(|word| any.contains(&&**word));
        let named = |i: &usize| has(&words[*i], of.words);
        let times: Vec<usize> = (0..words.len())
            .filter(|i| has(&words[*i], &TIME_WORDS) && !(of.needs_word && named(i)))
            .collect();
        let values: Vec<usize> = (0..words.len())
            .filter(|i| unit(&words[*i], of.units).is_some() && (!of.needs_word || named(i)))
            .collect();
        let (name, listed, header) = (of.name, names.join(", "), of.header());
        let Some(&time) = times.first() else {
            return Err(format!("no column with a time among {listed}; write a header such as {header}"));
        };
        let Some(&value) = values.first() else {
            let without_unit = (0..words.len()).find(named);
            let round_trip = (0..words.len()).find(|i| of.needs_word && has(&words[*i], &ROUND_TRIP_WORDS));
            let usual: Vec<&str> = of.example.1.split(", ").skip(1).take(2).collect();
            return Err(match (without_unit, round_trip) {
                (Some(i), _) => format!(
                    "the column {} does not name its unit; write {} in the header",
                    names[i],
                    usual.iter().map(|unit| format!("{}_{unit}", names[i])).collect::<Vec<_>>().join(" or ")
                ),
                (None, Some(i)) => format!(
                    "the column {} is a round-trip time; write the delay of one direction, after a header such as {header}",
                    names[i]
                ),
                _ => format!("no column with a {name} among {listed}; write a header such as {header}"),
            });
        };
        if values.len() > 1 {
            let several: Vec<&str> = values.iter().map(|i| names[*i]).collect();
            return Err(format!("several columns with a {name}: {}; keep one", several.join(", ")));
        }
        Ok(Columns {
            time,
            value,
            to_s: unit(&words[time], &TIMES).unwrap_or(1.0),
            size: unit(&words[value], of.units).unwrap_or(1.0),
            count: names.len(),
            named: true,
        })
    }

    /// The time and the value of a line. Dates and large times are relative to those of the first line, `start`.
    fn read(&self, cells: &[&str], start: &mut Option<f64>, of: &Quantity) -> Result<(f64, f64), String> {
        let header = of.header();
        let (name, (unit, line)) = (of.name, of.plain);
        let expected = format!("must be a time in seconds and a {name} in {unit}, such as {line}");
        if cells.len() != self.count {
            return Err(match self.named {
                true => format!("has {} values, and the header {} names", cells.len(), self.count),
                false => format!("{expected}; of another unit, write a header such as {header}"),
            });
        }
        let (time, value) = (cells[self.time], cells[self.value]);
        let at = match (time.parse::<f64>(), self.named) {
            (Ok(number), _) => Some(number * self.to_s),
            (Err(_), true) => date(time),
            (Err(_), false) => None,
        };
        let (Some(at), Ok(value)) = (at, value.parse::<f64>()) else {
            return Err(match self.named {
                true => format!("\"{time}\" is no time, or \"{value}\" no number"),
                false => format!("{expected}; of another unit, write a header such as {header}"),
            });
        };
        let is_relative = at <= LONGEST.seconds() && time.parse::<f64>().is_ok();
        let zero = *start.get_or_insert(if is_relative { 0.0 } else { at });
        let (at, value, (largest, as_text)) = (at - zero, value * self.size, of.largest);
        if (0.0..=LONGEST.seconds()).contains(&at) && (0.0..=largest).contains(&value) {
            return Ok((at, value));
        }
        Err(format!(
            "must have a time of at most {LONGEST} and a {name} of at most {as_text}, both of at least 0"
        ))
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

    #[test]
    fn a_capital_b_is_a_byte_and_times_have_units() {
        let read = |text: &str| rows(text, &RATE).unwrap().last().map(|(_, at, bps)| (*at, *bps));
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
            rows(text, &RATE).unwrap().into_iter().map(|(_, at, bps)| (at, bps)).collect::<Vec<_>>()
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
        let told = |text: &str| rows(text, &RATE).unwrap_err();
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

    #[test]
    fn delays_are_read_with_their_units() {
        let read =
            |text: &str| rows(text, &DELAY).map(|rows| rows.last().map(|(_, at, delay)| (*at, *delay)));
        for text in [
            "0,0.02\n0.5,0.03\n",
            "time_s,delay_ms\n0,20\n0.5,30\n",
            "time_ms,latency (ms)\n0,20\n500,30\n",
            "timestamp;owd_us;rtt_ms\n0;20000;1\n0.5;30000;1\n",
            "delay_time_ms,time\n20,0\n30,0.5\n",
        ] {
            let (at, delay) = read(text).unwrap().unwrap();
            assert!(at == 0.5 && (delay - 0.03).abs() < 1e-12, "{text}: {at} {delay}");
        }
        let told = |text: &str| rows(text, &DELAY).unwrap_err().1;
        assert!(
            told("0,20\n1,30\n")
                .contains("if these are ms, write a header before the first line: time_s,delay_ms")
        );
        assert!(told("time_s,rtt_ms\n0,20\n").contains("the column rtt_ms is a round-trip time"));
        assert!(told("time_s,delay\n0,20\n").contains("write delay_ms or delay_us"));
        assert!(told("time_s,mbps\n0,20\n").contains("no column with a delay"));
        assert!(told("time_s,delay_ms\n0,-1\n").contains("both of at least 0"));
    }
}
