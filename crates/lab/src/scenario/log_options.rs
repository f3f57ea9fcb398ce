//! What a log of a rate or a delay has, and how the keys of a table say that it is read.

use params::Values;
use units::Span;

/// Lines with a time and a value. The line numbers are counted from 1.
pub type Rows = Vec<(usize, f64, f64)>;

/// How the keys of a table say that a log is read.
#[derive(Clone, Debug, Default)]
pub struct LogOptions {
    /// The size of the unit of the values; none: the header names it.
    pub unit: Option<f64>,
    /// The column of the values: a name of the header, or a number from 1; a series of a JSON file.
    pub column: Option<String>,
    /// The column of the times.
    pub time: Option<String>,
    /// Seconds of the unit of the times.
    pub time_unit: Option<f64>,
    /// Where rows are missing.
    pub gap: Option<Gap>,
    /// The time between two lines of a log without times.
    pub every: Option<Span>,
}

/// What holds where rows of a log are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The value before.
    Hold,
    /// Zero.
    Zero,
    /// The log is refused.
    Error,
}

impl LogOptions {
    /// The options that the keys of a table of `of` give.
    pub fn new(values: &Values, of: &Quantity) -> LogOptions {
        let size = |key: &str, units: &[(&str, f64)]| {
            let unit: Option<&'static str> = values.optional(key);
            unit.and_then(|unit| units.iter().find(|(name, _)| *name == unit)).map(|(_, size)| *size)
        };
        let gap: Option<&'static str> = values.optional("gap");
        LogOptions {
            unit: size("unit", of.key_units),
            column: values.optional("column"),
            time: values.optional("time"),
            time_unit: size("time_unit", &TIMES),
            gap: gap.map(|gap| match gap {
                "zero" => Gap::Zero,
                "error" => Gap::Error,
                _ => Gap::Hold,
            }),
            every: values.optional("every"),
        }
    }
}

/// What a log has beside the time.
pub struct Quantity {
    /// Its name.
    pub name: &'static str,
    /// Units in the names of columns, with their sizes in the unit of a log without a header.
    pub units: &'static [(&'static str, f64)],
    /// Words of columns with it.
    pub words: &'static [&'static str],
    /// Whether it is a delay: a column must then have one of these words, since its units are also those of times.
    pub is_delay: bool,
    /// The unit of a log without a header, with a line of such a log.
    pub plain: (&'static str, &'static str),
    /// Largest values of a log without a header that are more likely in another unit, that unit, and how the message names the
    /// largest value and its unit.
    pub doubtful: (std::ops::Range<f64>, &'static str, [&'static str; 2]),
    /// The end of a header with a usual unit, and the units that a header can name.
    pub example: (&'static str, &'static str),
    /// The largest value, and as text.
    pub largest: (f64, &'static str),
    /// The values of the key `unit`, with their sizes.
    pub key_units: &'static [(&'static str, f64)],
}

/// A rate, in bits a second.
pub const RATE: Quantity = Quantity {
    name: "rate",
    units: &RATES,
    words: &RATE_WORDS,
    is_delay: false,
    plain: ("bits per second", "0.5,2e6"),
    doubtful: (f64::MIN_POSITIVE..1000.0, "Mb/s", ["fastest", "bit/s"]),
    example: ("mbps", "bps, kbps, mbps, gbps"),
    largest: (8e12, "8Tbps"),
    key_units: &[
        ("bps", 1.0),
        ("kbps", 1e3),
        ("Mbps", 1e6),
        ("Gbps", 1e9),
        ("B/s", 8.0),
        ("kB/s", 8e3),
        ("MB/s", 8e6),
        ("KiB/s", 8192.0),
    ],
};

/// A delay, in seconds.
pub const DELAY: Quantity = Quantity {
    name: "delay",
    units: &TIMES,
    words: &DELAY_WORDS,
    is_delay: true,
    plain: ("seconds", "0.5,0.02"),
    doubtful: (5.0..f64::INFINITY, "ms", ["longest", "s"]),
    example: ("delay_ms", "s, ms, us"),
    largest: (1e6, "1000000s"),
    key_units: &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6)],
};

/// The longest time: eleven days.
pub const LONGEST: Span = Span::from_ms(1_000_000_000);

/// Units of a rate in the names of columns, with bits a second.
pub const RATES: [(&str, f64); 9] = [
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
pub const TIMES: [(&str, f64); 15] = [
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
pub const TIME_WORDS: [&str; 4] = ["time", "timestamp", "t", "elapsed"];
/// Words of columns with a rate, for messages.
pub const RATE_WORDS: [&str; 5] = ["rate", "bitrate", "throughput", "bandwidth", "capacity"];
/// Words of columns with a delay of one direction.
pub const DELAY_WORDS: [&str; 4] = ["delay", "latency", "owd", "propagation"];
/// Words of columns with a time in both directions, which is no delay of a link.
pub const ROUND_TRIP_WORDS: [&str; 4] = ["rtt", "ping", "srtt", "roundtrip"];

impl Quantity {
    /// A header, and the units that it can name.
    pub fn header(&self) -> String {
        match self.is_delay {
            true => format!("time_s,{} (units: {})", self.example.0, self.example.1),
            false => format!("time_s,{} (units: s, ms, us; {})", self.example.0, self.example.1),
        }
    }
}
