//! The keys of values that change at given times, and of the rates of links that vary.

use crate::transmitter::Steps;
use params::{Form, FromValue, Key, Mistake, Model, Unit, Values, key};
use units::{Span, Time};

/// The key of the period of steps.
pub const REPEAT: &[Key] =
    &[key("repeat", Form::Quantity(Unit::Time, "20s"), "none", "time after which the steps start again")];

/// The keys that select the columns of a log with a time and a value in each line.
pub const LOG_COLUMNS: &[Key] = &[
    key(
        "column",
        Form::Text,
        "none",
        "column of the values, if there are several: a name of the header, or a number from 1; a series of a Flent result",
    ),
    key("time", Form::Text, "none", "column of the times: a name of the header, or a number from 1"),
    key(
        "time_unit",
        Form::Word(&["s", "ms", "us"]),
        "none",
        "unit of the times, if the header does not name it",
    ),
    key(
        "every",
        Form::Range(Unit::Time, "10ms", "1us", "1000000s"),
        "none",
        "time from one line to the next in a log without times",
    ),
];

impl<T: FromValue> Steps<T> {
    /// The steps that the keys `steps` and `repeat` of a table give. Fails if their times are not in order.
    pub fn read(values: &Values) -> Result<Steps<T>, Mistake> {
        let rows: Vec<(Span, T)> = values.read("steps");
        let mut steps = Steps { steps: Vec::new(), period: Span::ZERO };
        for (at, value) in rows {
            steps.push(Time::ZERO + at, value).map_err(|message| ("steps", message.into()))?;
        }
        match steps.steps.is_empty() {
            true => Err(("steps", "must not be empty".into())),
            false => steps.repeated(values),
        }
    }
}

impl<T> Steps<T> {
    /// Adds the value from `at` on. Fails if the first time is not zero, or if the times do not increase.
    pub fn push(&mut self, at: Time, value: T) -> Result<(), &'static str> {
        match self.steps.last() {
            None if at != Time::ZERO => return Err("the first time must be zero"),
            Some((last, _)) if at <= *last => return Err("the times must increase"),
            _ => self.steps.push((at, value)),
        }
        Ok(())
    }

    /// The steps with the period that the key `repeat` of a table gives. Fails if it ends before the last step.
    pub fn repeated(self, values: &Values) -> Result<Steps<T>, Mistake> {
        let period = values.optional("repeat").unwrap_or(Span::ZERO);
        if period > Span::ZERO && self.steps.last().is_some_and(|(last, _)| Time::ZERO + period <= *last) {
            return Err(("repeat", "must be after the last step".into()));
        }
        Ok(Steps { period, ..self })
    }
}

const RATE_STEP: Form = Form::Row(
    &[Form::Quantity(Unit::Time, "5s"), Form::Range(Unit::Rate, "2Mbps", "0bps", "8000Gbps")],
    "[\"5s\", \"2Mbps\"]",
);

/// The rates of links that vary and need no other table.
pub const RATES: &[Model] = &[
    params::model!(
        "rate",
        "trace",
        "delivery opportunities of a trace in Mahimahi's format",
        "",
        [&[
            key(
                "file",
                Form::Text,
                "",
                "the trace, relative to the scenario: in each line the time of an opportunity, ms, not decreasing; the last one is the period; gzip is allowed",
            ),
            key("unit", Form::Bytes(1, 65_535), "\"1504B\"", "bytes that one opportunity delivers"),
            key("repeat", Form::Switch, "true", "the trace starts again after its last time"),
        ]]
    ),
    params::model!(
        "rate",
        "steps",
        "a rate that changes at given times",
        "",
        [
            &[key(
                "steps",
                Form::List(&RATE_STEP, "[[\"0s\", \"10Mbps\"], [\"5s\", \"2Mbps\"]]"),
                "",
                "times from the start, and the rate from there on",
            )],
            REPEAT,
        ]
    ),
    params::model!(
        "rate",
        "random_steps",
        "a rate that is drawn anew after each interval, uniformly distributed, such as that of a Starlink terminal, whose satellite and share are assigned every 15 s",
        "",
        [&[
            key(
                "interval",
                Form::Range(Unit::Time, "15s", "1ms", "1000000s"),
                "",
                "time for which a rate holds",
            ),
            key("min", Form::rate("50Mbps"), "", "smallest rate"),
            key("max", Form::rate("250Mbps"), "", "largest rate"),
        ]]
    ),
    params::model!(
        "rate",
        "file",
        "a rate that changes at the times of a file",
        "",
        [
            &[key(
                "file",
                Form::Text,
                "",
                "the rates, relative to the scenario: in each line a time and the rate from there on, after a header that names their units, such as `time_s,mbps`; without a header seconds and bits per second; results of iperf3 and Flent, and configurations of netem-trace, in JSON; gzip is allowed",
            )],
            &[
                key(
                    "unit",
                    Form::Word(&["bps", "kbps", "Mbps", "Gbps", "B/s", "kB/s", "MB/s", "KiB/s"]),
                    "none",
                    "unit of the rates, if the header does not name it",
                ),
                key(
                    "gap",
                    Form::Word(&["hold", "zero", "error"]),
                    "none",
                    "where rows of a regular log are missing, for more than 3 of its steps: the rate before holds, it is 0, or the log is refused; without it it is refused"
                ),
            ],
            LOG_COLUMNS,
            REPEAT,
        ]
    ),
];
