//! Logs of a rate or a delay over time, as others publish them: lines with a time and a value, separated by commas,
//! semicolons, tabs or spaces, after a header that names the columns and their units.

use super::log_options::{
    Gap, LONGEST, LogOptions, Quantity, RATE, ROUND_TRIP_WORDS, Rows, TIME_WORDS, TIMES,
};
use super::rate_json;
use units::Span;

/// Rows, and what the user should know of them.
#[derive(Debug)]
pub(super) struct Log {
    /// From time 0 on, with increasing times.
    pub rows: Rows,
    /// What was done that the file does not say, a sentence each.
    pub said: Vec<String>,
}

/// A log has gaps if its times are regular and a step is this many of its median steps.
const GAP_STEPS: f64 = 3.0;
/// A later time since 1970 is one in another unit, seconds.
const LATEST_S: f64 = 1e10;
/// A log is regular if it has as many steps, and this part of them is within a tenth of the median.
const REGULAR: (usize, f64) = (10, 0.9);

/// The rows of a log: seconds from its begin, and values. Fails with the line (from 1) and a message.
pub(super) fn rows(text: &str, of: &Quantity, options: &LogOptions) -> Result<Log, (usize, String)> {
    let is_json = text.trim_start().starts_with('{');
    let rows = match is_json {
        true => rate_json::rows(text, of, options).map_err(|message| (1, message))?,
        false => lines(text, of, options)?,
    };
    let mut log = Log { rows: Vec::with_capacity(rows.len()), said: Vec::new() };
    let is_result = is_json && (text.contains("\"intervals\"") || text.contains("\"x_values\""));
    if is_result && !of.is_delay {
        log.said.push("has rates that flows achieved, which are at most those of the link".into());
    }
    let Some(&(_, zero, _)) = rows.first() else { return Err((1, "has no line after the header".into())) };
    if zero > LATEST_S {
        let message = "its times would be after the year 2286; if they are ms, add time_unit = \"ms\"";
        return Err((rows[0].0, message.into()));
    }
    if zero != 0.0 {
        log.said.push(format!("its first time is {zero} s; times count from there"));
    }
    let mut equal = 0;
    for (number, at, value) in rows {
        let at = at - zero;
        let (largest, as_text) = of.largest;
        if !(0.0..=LONGEST.seconds()).contains(&at) || !(0.0..=largest).contains(&value) {
            let name = of.name;
            return Err((
                number,
                format!(
                    "must have a time from the first one on, of at most {LONGEST}, and a {name} from 0 to {as_text}"
                ),
            ));
        }
        match log.rows.last_mut() {
            // Of equal times the last one counts.
            Some(last) if last.1 == at => {
                *last = (number, at, value);
                equal += 1;
            }
            Some(last) if last.1 > at => return Err((number, "the times must not decrease".into())),
            _ => log.rows.push((number, at, value)),
        }
    }
    if equal > 0 {
        log.said
            .push(format!("{equal} lines have the time of the line before them; the last of each counts"));
    }
    // The steps of netem-trace have durations: none is missing.
    if !is_json || is_result {
        fill_gaps(&mut log, options.gap)?;
    }
    Ok(log)
}

/// Fills, says or refuses the gaps of a regular log.
fn fill_gaps(log: &mut Log, gap: Option<Gap>) -> Result<(), (usize, String)> {
    let steps: Vec<f64> = log.rows.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    let mut sorted = steps.clone();
    sorted.sort_by(f64::total_cmp);
    let Some(&median) = sorted.get(sorted.len() / 2) else { return Ok(()) };
    let near = steps.iter().filter(|step| (*step / median - 1.0).abs() <= 0.1).count();
    let regular = steps.len() >= REGULAR.0 && near as f64 >= REGULAR.1 * steps.len() as f64;
    if !regular && gap.is_none() {
        return Ok(());
    }
    let wide = |step: f64| step > GAP_STEPS * median;
    let Some(first) = steps.iter().position(|step| wide(*step)) else { return Ok(()) };
    match gap {
        None | Some(Gap::Error) => {
            let (before, after) = (&log.rows[first], &log.rows[first + 1]);
            Err((
                after.0,
                format!(
                    "no row from {} to {} s, where one comes each {median:.3} s; gap = \"hold\" keeps the value \
                     before it, gap = \"zero\" has none",
                    before.1, after.1
                ),
            ))
        }
        Some(Gap::Hold) => Ok(()),
        Some(Gap::Zero) => {
            let rows = std::mem::take(&mut log.rows);
            for (index, row) in rows.iter().enumerate() {
                log.rows.push(*row);
                if steps.get(index).is_some_and(|step| wide(*step)) {
                    log.rows.push((row.0, row.1 + median, 0.0));
                }
            }
            Ok(())
        }
    }
}

/// The rows of a log of lines, with times as they are written; dates are seconds since 1970.
fn lines(text: &str, of: &Quantity, options: &LogOptions) -> Result<Rows, (usize, String)> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let Some((first, line)) = lines.clone().next() else { return Err((1, "has no line".into())) };
    let separator = separator_of(line);
    let cells = split(line, separator);
    let is_header = cells.iter().all(|cell| cell.parse::<f64>().is_err() && date(cell).is_none());
    if is_header {
        lines.next();
    }
    let columns = Columns::of(&cells, is_header, of, options).map_err(|message| (first, message))?;
    let mut rows = Vec::new();
    for (index, (number, line)) in lines.enumerate() {
        let row = columns.read(&split(line, separator), index, of);
        rows.push(row.map(|(at, value)| (number, at, value)).map_err(|message| (number, message))?);
    }
    if rows.is_empty() {
        return Err((first, "has no line after the header".into()));
    }
    let largest = rows.iter().map(|(_, _, value)| *value).fold(0.0, f64::max);
    let (doubtful, unit, [superlative, own]) = &of.doubtful;
    if !columns.has_unit && doubtful.contains(&largest) {
        let message = format!(
            "its {superlative} {} would be {largest} {own}; if these are {unit}, add unit = \"{}\", or write a header \
             before the first line: time_s{}{}",
            of.name,
            unit.replace("b/s", "bps"),
            separator,
            of.example.0,
        );
        return Err((first, message));
    }
    Ok(rows)
}

/// The columns with the time and the value, and their units.
struct Columns {
    /// None: `every` gives the times.
    time: Option<usize>,
    every: f64,
    value: usize,
    to_s: f64,
    size: f64,
    /// The number of columns; a line without a header may have more.
    count: usize,
    /// Whether a header names the columns.
    named: bool,
    /// Whether a header or a key says the unit.
    has_unit: bool,
}

impl Columns {
    fn of(cells: &[&str], is_header: bool, of: &Quantity, options: &LogOptions) -> Result<Columns, String> {
        let every = options.every.map_or(0.0, |every| every.seconds());
        if options.every.is_some() && (options.time.is_some() || options.time_unit.is_some()) {
            return Err("every is for a log without times: omit time and time_unit".into());
        }
        let chosen = |key: &str, name: &str| {
            let of_header = cells.iter().position(|cell| is_header && *cell == name);
            let of_number = name.parse::<usize>().ok().filter(|number| (1..=cells.len()).contains(number));
            of_header.or(of_number.map(|number| number - 1)).ok_or_else(|| match is_header {
                true => format!("{key} = \"{name}\": the header has {}", cells.join(", ")),
                false => {
                    format!("{key} = \"{name}\": without a header it is a number from 1 to {}", cells.len())
                }
            })
        };
        let column = options.column.as_ref().map(|name| chosen("column", name)).transpose()?;
        let time = options.time.as_ref().map(|name| chosen("time", name)).transpose()?;
        let mut columns = Columns {
            time: if options.every.is_some() { None } else { Some(time.unwrap_or(0)) },
            every,
            value: column.unwrap_or(if options.every.is_some() { 0 } else { 1 }),
            to_s: options.time_unit.unwrap_or(1.0),
            size: options.unit.unwrap_or(1.0),
            count: cells.len(),
            named: is_header,
            has_unit: options.unit.is_some(),
        };
        if !is_header && column.is_none() && columns.count > columns.value + 1 {
            return Err(format!(
                "must be a time in seconds and a {} in {}, such as {}; of {} columns select two, such as time = \"1\" and \
                 column = \"2\"",
                of.name, of.plain.0, of.plain.1, columns.count
            ));
        }
        match is_header {
            true => columns.of_header(cells, of, (time, column), options)?,
            false => columns.check_apart(of)?,
        }
        Ok(columns)
    }

    /// Fails if the times and the values are one column.
    fn check_apart(&self, of: &Quantity) -> Result<(), String> {
        match self.time == Some(self.value) {
            true => Err(format!("time and {} are the same column", of.name)),
            false => Ok(()),
        }
    }

    /// Completes the columns with what a header says.
    fn of_header(
        &mut self,
        names: &[&str],
        of: &Quantity,
        (time, column): (Option<usize>, Option<usize>),
        options: &LogOptions,
    ) -> Result<(), String> {
        let words: Vec<Vec<String>> = names.iter().map(|name| words_of(name)).collect();
        let unit = |words: &[String], units: &[(&str, f64)]| {
            units.iter().find(|(unit, _)| words.iter().any(|word| word == unit)).map(|(_, size)| *size)
        };
        let has = |words: &[String], any: &[&str]| words.iter().any(|word| any.contains(&&**word));
        let named = |i: &usize| has(&words[*i], of.words);
        let (name, listed, header) = (of.name, names.join(", "), of.header());
        if options.every.is_none() {
            let mut times =
                (0..words.len()).filter(|i| has(&words[*i], &TIME_WORDS) && !(of.is_delay && named(i)));
            let Some(time) = time.or(times.next()) else {
                return Err(match names.len() {
                    1 => format!(
                        "no column with a time beside {listed}; add every = \"1s\" if its lines are equally spaced"
                    ),
                    _ => format!(
                        "no column with a time among {listed}; select one, such as time = \"{}\", or write a header \
                         such as {header}",
                        names[0]
                    ),
                });
            };
            self.time = Some(time);
            let written = unit(&words[time], &TIMES);
            agree("time_unit", names[time], written, options.time_unit)?;
            self.to_s = options.time_unit.or(written).unwrap_or(1.0);
        }
        // The bit rates of the Irish 5G traces (Raca et al. 2020) are kbit/s.
        let irish = |i: usize| !of.is_delay && ["DL_bitrate", "UL_bitrate"].contains(&names[i]);
        let size_of = |i: usize| unit(&words[i], of.units).or(irish(i).then_some(1e3));
        let values: Vec<usize> =
            (0..words.len()).filter(|i| size_of(*i).is_some() && (!of.is_delay || named(i))).collect();
        let others: Vec<usize> = (0..words.len()).filter(|i| self.time != Some(*i)).collect();
        let value = match (column, &values[..], &others[..]) {
            (Some(column), ..) => column,
            (None, [value], _) => *value,
            (None, [], [value]) if options.unit.is_some() => *value,
            (None, [], _) => return Err(without_value(names, of, &words)),
            (None, several, _) => {
                let several: Vec<&str> = several.iter().map(|i| names[*i]).collect();
                return Err(format!(
                    "several columns with a {name}: {}; select one, such as column = \"{}\"",
                    several.join(", "),
                    several[0]
                ));
            }
        };
        self.value = value;
        self.check_apart(of)?;
        agree("unit", names[value], size_of(value), options.unit)?;
        if of.is_delay && has(&words[value], &ROUND_TRIP_WORDS) {
            return Err(format!(
                "the column {} is a round-trip time; a link needs the delay of one direction",
                names[value]
            ));
        }
        let Some(size) = options.unit.or(size_of(value)) else {
            let units: Vec<&str> = of.key_units.iter().map(|(unit, _)| *unit).collect();
            return Err(format!(
                "the column {} does not name its unit; add unit = \"{}\" ({})",
                names[value],
                units[1],
                units.join(", ")
            ));
        };
        self.size = size;
        self.has_unit = true;
        Ok(())
    }

    /// The time and the value of line `index`, from 0, with the time as it is written.
    fn read(&self, cells: &[&str], index: usize, of: &Quantity) -> Result<(f64, f64), String> {
        let header = of.header();
        let (name, (unit, line)) = (of.name, of.plain);
        let expected = format!("must be a time in seconds and a {name} in {unit}, such as {line}");
        let wrong = |detail: String| match self.named || self.has_unit {
            true => detail,
            false => format!(
                "{expected}; of another unit, add unit = \"{}\" or write a header such as {header}",
                of.key_units[1].0
            ),
        };
        if cells.len() != self.count || cells.len() <= self.value {
            let first = if self.named { "header" } else { "first line" };
            return Err(match cells.len() == 1 && self.time.is_some() {
                true => {
                    "has one value and no time: a trace of Mahimahi has kind = \"trace\"; lines that are equally spaced need every = \"1s\"".into()
                }
                false => wrong(format!("has {} values, and the {first} {}", cells.len(), self.count)),
            });
        }
        let at = match self.time {
            None => Some(index as f64 * self.every),
            Some(time) => {
                cells[time].parse().map(|number: f64| number * self.to_s).ok().or_else(|| date(cells[time]))
            }
        };
        let value = cells[self.value];
        let (Some(at), Ok(number)) = (at, value.parse::<f64>()) else {
            let time = self.time.map_or("", |time| cells[time]);
            return Err(wrong(format!("\"{time}\" is no time, or \"{value}\" no number")));
        };
        Ok((at, number * self.size))
    }
}

/// The message for a header without a column of the quantity.
fn without_value(names: &[&str], of: &Quantity, words: &[Vec<String>]) -> String {
    let has = |words: &[String], any: &[&str]| words.iter().any(|word| any.contains(&&**word));
    let without_unit = (0..words.len()).find(|i| has(&words[*i], of.words));
    let round_trip = (0..words.len()).find(|i| of.is_delay && has(&words[*i], &ROUND_TRIP_WORDS));
    let (name, listed, header) = (of.name, names.join(", "), of.header());
    let usual: Vec<&str> = of.example.1.split(", ").skip(1).take(2).collect();
    let with_units = |i: usize| usual.iter().map(move |unit| format!("{}_{unit}", names[i]));
    match (without_unit, round_trip) {
        (Some(i), _) => format!(
            "the column {} does not name its unit; add unit = \"{}\", or write {} in the header",
            names[i],
            of.key_units[1].0,
            with_units(i).collect::<Vec<_>>().join(" or ")
        ),
        (None, Some(i)) => format!(
            "the column {} is a round-trip time; write the delay of one direction, after a header such as {header}",
            names[i]
        ),
        _ => format!(
            "no column with a {name} among {listed}; select one with column = NAME and unit = UNIT, or write a \
             header such as {header}"
        ),
    }
}

/// The rows of a log of a rate whose options are words such as `unit=1e6`; for fuzzing.
pub(super) fn rows_with(keys: &str, text: &str) -> Option<Vec<(f64, f64)>> {
    let get = |key: &str| keys.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let number = |key: &str| get(key)?.parse::<f64>().ok().filter(|number| (1e-9..=1e12).contains(number));
    let options = LogOptions {
        unit: number("unit"),
        column: get("column").map(str::to_owned),
        time: get("time").map(str::to_owned),
        time_unit: number("time_unit"),
        gap: get("gap").map(|gap| if gap == "zero" { Gap::Zero } else { Gap::Hold }),
        every: number("every").filter(|every| *every <= 1e6).map(Span::from_seconds),
    };
    let log = rows(text, &RATE, &options).ok()?;
    Some(log.rows.into_iter().map(|(_, at, bps)| (at, bps)).collect())
}

/// Fails if a key says another unit than the name of a column.
fn agree(key: &str, name: &str, written: Option<f64>, said: Option<f64>) -> Result<(), String> {
    match (written, said) {
        (Some(written), Some(said)) if written != said => {
            Err(format!("{key} contradicts the header, whose column {name} names its unit; omit {key}"))
        }
        _ => Ok(()),
    }
}

/// The separator of a line: the first of these that it has.
fn separator_of(line: &str) -> char {
    [',', ';', '\t'].into_iter().find(|separator| line.contains(*separator)).unwrap_or(' ')
}

/// The cells of a line, without quotes; a separator in quotes separates nothing.
fn split(line: &str, separator: char) -> Vec<&str> {
    if separator == ' ' {
        return line.split_ascii_whitespace().collect();
    }
    let mut quoted = false;
    let separates = |c: char| {
        quoted ^= c == '"';
        c == separator && !quoted
    };
    line.split(separates).map(|cell| cell.trim().trim_matches('"').trim()).collect()
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

/// Seconds since the year 1970 of a date with a time, such as `2024-01-01T10:00:00.5+02:00` or `2020.01.01_10.00.00`. A date
/// without a zone counts as UTC.
pub(super) fn date(text: &str) -> Option<f64> {
    let text = text.trim();
    let (clock, zone) = match text.strip_suffix(['Z', 'z']) {
        Some(clock) => (clock, 0),
        None => zoned(text)?,
    };
    let numbers: Vec<&str> = clock.split(|c: char| !c.is_ascii_digit()).collect();
    let [year, month, day, hours, minutes, rest @ ..] = &numbers[..] else { return None };
    let number = |digits: &str, largest: i64| {
        digits.parse::<i64>().ok().filter(|number| digits.len() <= 4 && *number <= largest)
    };
    let (year, month, day) = (number(year, 2999)?, number(month, 12)?, number(day, 31)?);
    if year < 1970 || month < 1 || day < 1 {
        return None;
    }
    let (hours, minutes) = (number(hours, 24)?, number(minutes, 59)?);
    let (seconds, fraction) = match rest {
        [] => (0, 0.0),
        [seconds] => (number(seconds, 60)?, 0.0),
        [seconds, part] if part.len() <= 12 => (number(seconds, 60)?, format!("0.{part}0").parse().ok()?),
        _ => return None,
    };
    // Days since 1970-03-01 of the Gregorian calendar, in which a year begins in March.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        365 * years + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day - 1 - 719_468;
    Some((days * 86_400 + hours * 3600 + minutes * 60 + seconds - zone) as f64 + fraction)
}

/// A date without its zone, such as `+02:00`, and the zone, seconds.
fn zoned(text: &str) -> Option<(&str, i64)> {
    let Some(at) = text.rfind(['+', '-']).filter(|at| *at > 10) else { return Some((text, 0)) };
    let (clock, zone) = text.split_at(at);
    let digits: String = zone[1..].chars().filter(|c| *c != ':').collect();
    if !digits.bytes().all(|b| b.is_ascii_digit()) || ![2, 4].contains(&digits.len()) {
        return None;
    }
    let minutes =
        digits[..2].parse::<i64>().ok()? * 60 + digits.get(2..4).map_or(Some(0), |m| m.parse().ok())?;
    Some((clock, if zone.starts_with('-') { -minutes * 60 } else { minutes * 60 }))
}

#[cfg(test)]
mod tests {
    use super::super::log_options::DELAY;
    use super::*;

    #[test]
    fn a_capital_b_is_a_byte_and_times_have_units() {
        let read = |text: &str| {
            rows(text, &RATE, &LogOptions::default()).unwrap().rows.last().map(|(_, at, bps)| (*at, *bps))
        };
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
            rows(text, &RATE, &LogOptions::default())
                .unwrap()
                .rows
                .into_iter()
                .map(|(_, at, bps)| (at, bps))
                .collect::<Vec<_>>()
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
        let told = |text: &str| rows(text, &RATE, &LogOptions::default()).unwrap_err();
        assert_eq!(told("").1, "has no line");
        let (line, message) = told("0.000\t2.6229\n0.810\t2.7418\n");
        assert!(
            line == 1 && message.contains("2.7418 bit/s") && message.contains("time_s\tmbps"),
            "{message}"
        );
        assert!(told("Timestamp,bitrate\n1,2\n").1.contains("does not name its unit; add unit = \"kbps\""));
        assert!(told("a,mbps\n1,2\n").1.contains("no column with a time"));
        assert!(told("time,dl_mbps,ul_mbps\n1,2,3\n").1.contains("several columns"));
        assert_eq!(told("time_s,mbps\n0,1\n1,x\n"), (3, "\"1\" is no time, or \"x\" no number".into()));
        assert!(told("0;1;2\n").1.starts_with("must be a time in seconds"));
    }

    fn options(of: &Quantity, keys: &[(&str, &str)]) -> LogOptions {
        let get =
            |key: &str| keys.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned());
        let size = |key: &str, units: &[(&str, f64)]| {
            let unit = get(key)?;
            units.iter().find(|(name, _)| *name == unit).map(|(_, size)| *size)
        };
        LogOptions {
            unit: size("unit", of.key_units),
            column: get("column"),
            time: get("time"),
            time_unit: size("time_unit", &TIMES),
            gap: get("gap").map(|gap| if gap == "zero" { Gap::Zero } else { Gap::Hold }),
            every: get("every").map(|text| text.parse().unwrap()),
        }
    }

    const IRISH: &str = "Timestamp,Longitude,DL_bitrate,UL_bitrate,State\n2020.01.01_10.00.00,-8.0,27842,518,D\n\
                         2020.01.01_10.00.01,-8.0,21939,588,D\n2020.01.01_10.00.01,-8.0,20000,588,D\n";
    const FLENT: &str = r#"{"metadata": {"SERIES_META": {"TCP download sum": {"UNITS": "Mbits/s"}}}, "x_values": [0, 0.5, 1],
        "results": {"TCP download sum": [12, null, 8], "Ping (ms) ICMP": [1, 2, 3]}}"#;
    const IPERF: &str = r#"{"intervals": [{"sum": {"start": 0, "end": 1, "bits_per_second": 10e6}},
        {"sum": {"start": 1.0, "end": 2, "bits_per_second": 20e6}}]}"#;
    const NETEM: &str = r#"{"RepeatedBwPatternConfig": {"pattern": [
        {"StaticBwConfig": {"bw": "12Mbps", "duration": "1s"}},
        {"StaticBwConfig": {"bw": {"gbps": 0, "bps": 24000000}, "duration": {"secs": 1, "nanos": 500000000}}}], "count": 2}}"#;

    #[test]
    fn forms_of_others_are_read_or_name_the_key_that_reads_them() {
        /// Text, what its message says without keys (empty: it is read), keys, rows.
        type Form =
            (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static [(f64, f64)]);
        let forms: [Form; 10] = [
            (
                "0.000\t2.5\n0.810\t2.75\n",
                "add unit = \"Mbps\"",
                &[("unit", "Mbps")],
                &[(0.0, 2.5e6), (0.81, 2.75e6)],
            ),
            (
                IRISH,
                "select one, such as column = \"DL_bitrate\"",
                &[("column", "DL_bitrate")],
                &[(0.0, 27.842e6), (1.0, 20e6)],
            ),
            (
                "unit_id,dtime,bytes_sec\n7,2016-01-01 00:00:00,1000\n7,2016-01-01 00:00:05,2000\n",
                "select one, such as time",
                &[("time", "dtime"), ("column", "bytes_sec"), ("unit", "B/s")],
                &[(0.0, 8e3), (5.0, 16e3)],
            ),
            (FLENT, "select a series", &[("column", "TCP download sum")], &[(0.0, 12e6), (1.0, 8e6)]),
            (IPERF, "", &[], &[(0.0, 10e6), (1.0, 20e6)]),
            (NETEM, "", &[], &[(0.0, 12e6), (1.0, 24e6), (2.5, 12e6), (3.5, 24e6)]),
            ("5\n6\n", "need every = ", &[("every", "100ms"), ("unit", "Mbps")], &[(0.0, 5e6), (0.1, 6e6)]),
            (
                "9 0 12\n9 500 8\n",
                "of 3 columns select two",
                &[("unit", "Mbps"), ("time", "2"), ("column", "3"), ("time_unit", "ms")],
                &[(0.0, 12e6), (0.5, 8e6)],
            ),
            (
                "time,throughput_mbps,retrans\n2024-01-01T10:00:00.5,73,0\n2024-01-01T10:00:01.0,97,0\n",
                "",
                &[],
                &[(0.0, 73e6), (0.5, 97e6)],
            ),
            ("time_s,mbps\n5,1\n6,2\n", "", &[], &[(0.0, 1e6), (1.0, 2e6)]),
        ];
        for (text, remedy, keys, expected) in forms {
            let plain = rows(text, &RATE, &LogOptions::default());
            match remedy {
                "" => assert!(plain.is_ok(), "{text}: {plain:?}"),
                _ => {
                    assert!(plain.as_ref().is_err_and(|(_, said)| said.contains(remedy)), "{text}: {plain:?}")
                }
            }
            let log = rows(text, &RATE, &options(&RATE, keys)).unwrap();
            let read: Vec<(f64, f64)> =
                log.rows.iter().map(|(_, at, bps)| ((at * 1e6).round() / 1e6, *bps)).collect();
            assert_eq!(read, expected, "{text}");
        }
        // A file of delays of LeoReplayer: one in each line, 10 ms apart.
        let log = rows("20\n30\n", &DELAY, &options(&DELAY, &[("every", "10ms"), ("unit", "ms")])).unwrap();
        assert_eq!(log.rows.last().map(|row| row.1), Some(0.01));
    }

    #[test]
    fn damaged_json_and_wrong_names_are_told() {
        let told =
            |text: &str, keys: &[(&str, &str)]| rows(text, &RATE, &options(&RATE, keys)).unwrap_err().1;
        assert!(told("{\"intervals\": [", &[]).contains("ends early"));
        assert!(told("{\"a\": 1}", &[]).contains("no form that is known"));
        assert!(told(FLENT, &[("column", "x")]).contains("has TCP download sum, Ping (ms) ICMP"));
        assert!(
            told("{\"SawtoothBwConfig\": {}}", &[]).contains("SawtoothBwConfig of netem-trace is not read")
        );
        assert!(told("time_s,mbps\n0,1\n", &[("column", "x")]).contains("the header has time_s, mbps"));
        assert!(told("0,1e6\n", &[("column", "3")]).contains("a number from 1 to 2"));
        assert!(told("time_s,mbps\n0,1\n", &[("column", "time_s")]).contains("same column"));
    }

    #[test]
    fn keys_that_contradict_or_have_no_meaning_are_refused() {
        let told =
            |text: &str, keys: &[(&str, &str)]| rows(text, &RATE, &options(&RATE, keys)).unwrap_err().1;
        assert!(told("time_s,mbps\n0,1\n", &[("unit", "kbps")]).contains("unit contradicts the header"));
        assert!(told("time_ms,mbps\n0,1\n", &[("time_unit", "s")]).contains("time_unit contradicts"));
        assert!(told("1\n2\n", &[("every", "1s"), ("time", "1")]).contains("omit time"));
        assert!(told(IPERF, &[("unit", "kbps")]).contains("unit has no meaning for JSON"));
        assert!(
            told(FLENT, &[("column", "TCP download sum"), ("every", "1s")]).contains("every has no meaning")
        );
        assert!(told("timestamp,mbps\n1700000000000,1\n", &[]).contains("add time_unit = \"ms\""));
        let nested = "{\"RepeatedBwPatternConfig\": {\"count\": 1000000, \"pattern\": [";
        let endless = format!("{}{}", nested.repeat(3), "]}}".repeat(3));
        assert!(told(&endless, &[]).contains("the pattern is empty"));
        assert!(told(&NETEM.replace("\"count\": 2", "\"count\": 0"), &[]).contains("repeat = TIME"));
        let failed = told("{\"intervals\": [], \"error\": \"unable to connect\"}", &[]);
        assert!(failed.contains("no intervals: unable to connect"), "{failed}");
        let round_trip =
            rows(FLENT, &DELAY, &options(&DELAY, &[("column", "Ping (ms) ICMP")])).unwrap_err().1;
        assert!(round_trip.contains("is a round-trip time"));
        let round_trip =
            rows("time_s,rtt_ms\n0,1\n", &DELAY, &options(&DELAY, &[("column", "rtt_ms")])).unwrap_err().1;
        assert!(round_trip.contains("is a round-trip time"));
        let quoted = rows("time_s,\"rate, measured (Mb/s)\"\n0,1\n", &RATE, &LogOptions::default()).unwrap();
        assert_eq!(quoted.rows, [(2, 0.0, 1e6)]);
    }

    #[test]
    fn dates_have_zones_and_fractions() {
        let hour = 3600.0;
        for (text, seconds) in [
            ("1970-01-01T01:00:00.25Z", hour + 0.25),
            ("1970-01-01T03:00:00+02:00", hour),
            ("1970-01-01T03:00:00.5+0200", hour + 0.5),
            ("1970-01-01 00:30:00-00:30", hour),
            ("1970/01/01 01:00", hour),
        ] {
            assert_eq!(date(text), Some(seconds), "{text}");
        }
        for text in [
            "2024-01-01 10:00 PM",
            "2024-01-01T99:00:00",
            "2024-01-01T9223372036854775807:00",
            "2024-13-01 1:1",
        ] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn a_regular_log_with_missing_rows_is_refused_unless_a_key_says_what_holds() {
        let mut text: String = (0..12).map(|at| format!("{at},1e6\n")).collect();
        text += "40,2e6\n";
        let (line, message) = rows(&text, &RATE, &LogOptions::default()).unwrap_err();
        assert!(line == 13 && message.contains("no row from 11 to 40 s"), "{line} {message}");
        let read = |gap: &str| rows(&text, &RATE, &options(&RATE, &[("gap", gap)])).unwrap().rows;
        assert_eq!(read("hold").len(), 13);
        assert_eq!(read("zero")[12], (12, 12.0, 0.0));
        // Steps at times of the user's choice are no regular log.
        assert!(rows("0,1e6\n1,2e6\n2,1e6\n60,2e6\n", &RATE, &LogOptions::default()).is_ok());
        let decreasing = rows("0,1e6\n2,2e6\n1,1e6\n", &RATE, &LogOptions::default()).unwrap_err();
        assert_eq!(decreasing, (3, "the times must not decrease".into()));
    }

    #[test]
    fn delays_are_read_with_their_units() {
        let read = |text: &str| {
            rows(text, &DELAY, &LogOptions::default())
                .map(|log| log.rows.last().map(|(_, at, delay)| (*at, *delay)))
        };
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
        let told = |text: &str| rows(text, &DELAY, &LogOptions::default()).unwrap_err().1;
        assert!(told("0,20\n1,30\n").contains(
            "if these are ms, add unit = \"ms\", or write a header before the first line: time_s,delay_ms"
        ));
        assert!(told("time_s,rtt_ms\n0,20\n").contains("the column rtt_ms is a round-trip time"));
        assert!(told("time_s,delay\n0,20\n").contains("write delay_ms or delay_us"));
        assert!(told("time_s,mbps\n0,20\n").contains("no column with a delay"));
        assert!(told("time_s,delay_ms\n0,-1\n").contains("a delay from 0 to 1000000s"));
    }
}
