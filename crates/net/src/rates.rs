//! The keys of values that change at given times, and of the rates of links that vary.

use crate::transmitter::Steps;
use params::{Form, FromValue, Key, Mistake, Model, Unit, Values, key};
use units::{Span, Time};

/// The key of the period of steps.
pub const REPEAT: &[Key] =
    &[key("repeat", Form::Quantity(Unit::Time, "20s"), "none", "time after which the steps start again")];

impl<T: FromValue> Steps<T> {
    /// The steps that the keys `steps` and `repeat` of a table give. Fails if their times are not in order.
    pub fn read(values: &Values) -> Result<Steps<T>, Mistake> {
        let rows: Vec<(Span, T)> = values.read("steps");
        let steps = rows.into_iter().map(|(at, value)| (Time::ZERO + at, value)).collect();
        Steps { steps, period: values.optional("repeat").unwrap_or(Span::ZERO) }.checked("steps")
    }
}

impl<T> Steps<T> {
    /// These steps, which the key `key` gives. Fails if their times are not in order.
    pub fn checked(self, key: &'static str) -> Result<Steps<T>, Mistake> {
        let times = || self.steps.iter().map(|step| step.0);
        let wrong = match (self.steps.first(), self.steps.last()) {
            (None, _) | (_, None) => (key, "must not be empty"),
            (Some(first), _) if first.0 != Time::ZERO => (key, "the first time must be zero"),
            _ if times().zip(times().skip(1)).any(|(before, at)| at <= before) => {
                (key, "the times must increase")
            }
            (_, Some(last)) if self.period > Span::ZERO && Time::ZERO + self.period <= last.0 => {
                ("repeat", "must be after the last step")
            }
            _ => return Ok(self),
        };
        Err((wrong.0, wrong.1.into()))
    }
}

const RATE_STEP: Form = Form::Row(
    &[Form::delay("5s"), Form::Range(Unit::Rate, "2Mbps", "0bps", "8000Gbps")],
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
                "the rates, relative to the scenario: in each line a time in seconds, from 0 on and increasing, a comma, and the rate from there on in bits per second; a first line `time_s,bps` and gzip are allowed",
            )],
            REPEAT,
        ]
    ),
];
