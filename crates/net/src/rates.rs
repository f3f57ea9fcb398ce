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
                "the rates, relative to the scenario: in each line a time in seconds, from 0 on and increasing, a comma, and the rate from there on in bits per second; a first line `time_s,bps` and gzip are allowed",
            )],
            REPEAT,
        ]
    ),
];
