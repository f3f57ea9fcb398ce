//! Reads `udp` of a flow.

use super::model::FlowKind;
use super::rate::FASTEST;
use super::reading::Result;
use super::table::TableReader;
use params::Form::{self, AtLeast, Bytes, List, Number, Quantity, Range, Row};
use params::{Table, Unit, Values, key};
use units::{Rate, Span};

/// A UDP source.
pub(super) static UDP: Table = Table::new(
    "udp",
    "`udp` of a flow",
    &[&[
        key("packet", Bytes(1, 65_535), "\"1000B\"", "size of a packet"),
        key("rate", UDP_RATE, "none; needed without a schedule", "sending rate"),
        key(
            "schedule",
            List(&STEP, "[[\"0s\", \"1Mbps\"], [\"30s\", \"2Mbps\"]]"),
            "none",
            "times and the rates from then on",
        ),
        key(
            "bursts",
            List(&BURST, "[[\"4.5s\", \"120ms\", \"30Mbps\"]]"),
            "none",
            "start, length and rate of each burst, above `rate` (0 without it); where bursts overlap, their rates add up",
        ),
        key(
            "period",
            Quantity(Unit::Time, "1s"),
            "none",
            "time from burst to burst; the first is at the start of the flow",
        ),
        key("burst", Quantity(Unit::Time, "30ms"), "needed with `period`", "length of a burst"),
        key("peak", UDP_RATE, "needed with `period`", "rate in a burst; between bursts it is `rate`, or 0"),
        key("jitter", Number(0.0, 1.0), "0", "each interval is random by this part of it, up or down"),
    ]],
);

const UDP_RATE: Form = Range(Unit::Rate, "1Mbps", "0bps", "8000Gbps");

const STEP: Form = Row(&[Quantity(Unit::Time, "30s"), UDP_RATE], "[\"30s\", \"2Mbps\"]");

const BURST: Form = Row(
    &[Quantity(Unit::Time, "4.5s"), AtLeast(Unit::Time, "120ms", "1ps"), UDP_RATE],
    "[\"4.5s\", \"120ms\", \"30Mbps\"]",
);

pub(super) fn read_udp(udp: &TableReader<'_>) -> Result<FlowKind> {
    let values = udp.values(&UDP, 0)?;
    let forms = ["schedule", "bursts", "period"].into_iter().filter(|key| udp.has(key));
    if let [_, other, ..] = forms.collect::<Vec<_>>()[..] {
        return Err(udp.error(other, "a source has one of schedule, bursts and period"));
    }
    let rate: Option<Rate> = values.read("rate");
    let base = rate.unwrap_or(Rate::from_bps(0));
    let (mut schedule, mut period) = (read_schedule(udp, &values, rate)?, None);
    if let Some((cycle, burst, peak)) = read_square(udp, &values)? {
        schedule = vec![(Span::ZERO, peak), (burst, base)];
        period = Some(cycle);
    }
    if let Some(bursts) = values.optional::<Vec<_>>("bursts") {
        if bursts.is_empty() {
            return Err(udp.error("bursts", "has no burst; leave it out"));
        }
        schedule = steps_of(&bursts, base);
        if let Some((_, rate)) = schedule.iter().find(|(_, rate)| *rate > FASTEST) {
            return Err(udp.error("bursts", format!("{rate} is more than {FASTEST}")));
        }
    }
    if schedule.is_empty() {
        let message = "give a rate such as \"20kbps\", a schedule, bursts, or a period";
        return Err(udp.missing("rate", message));
    }
    Ok(FlowKind::Udp { packet: values.read("packet"), schedule, period, jitter: values.read("jitter") })
}

/// The steps of `schedule`, after a plain rate until the first of them.
fn read_schedule(udp: &TableReader<'_>, values: &Values, rate: Option<Rate>) -> Result<Vec<(Span, Rate)>> {
    let steps: Vec<(Span, Rate)> = values.optional("schedule").unwrap_or_default();
    if let Some(before) = steps.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
        return Err(udp.element_error("schedule", before + 1, "steps must come in the order of time"));
    }
    let plain = rate.filter(|_| steps.first().is_none_or(|first| first.0 > Span::ZERO));
    Ok(plain.map(|rate| (Span::ZERO, rate)).into_iter().chain(steps).collect())
}

/// The rate in steps: `base`, and while bursts last the sum of their rates more.
fn steps_of(bursts: &[(Span, Span, Rate)], base: Rate) -> Vec<(Span, Rate)> {
    let ends = bursts.iter().flat_map(|(start, length, _)| [*start, *start + *length]);
    let mut times: Vec<Span> = std::iter::once(Span::ZERO).chain(ends).collect();
    times.sort();
    times.dedup();
    let rate_at = |at: Span| {
        let lasting = bursts.iter().filter(|(start, length, _)| (*start..*start + *length).contains(&at));
        lasting.fold(base.bps(), |sum, (.., rate)| sum.saturating_add(rate.bps()))
    };
    times.into_iter().map(|at| (at, Rate::from_bps(rate_at(at)))).collect()
}

/// Reads `period`, `burst` and `peak`.
fn read_square(udp: &TableReader<'_>, values: &Values) -> Result<Option<(Span, Span, Rate)>> {
    let Some(period) = values.optional::<Span>("period") else {
        let alone = ["burst", "peak"].into_iter().find(|key| udp.has(key));
        return alone.map_or(Ok(None), |key| Err(udp.error(key, "needs a period, such as period = \"1s\"")));
    };
    let (burst, peak): (Option<Span>, Option<Rate>) = (values.read("burst"), values.read("peak"));
    let burst = udp.need("burst", burst, "the length of a burst, such as burst = \"30ms\"")?;
    let peak = udp.need("peak", peak, "the rate in a burst, such as peak = \"30Mbps\"")?;
    if burst == Span::ZERO || burst >= period {
        return Err(
            udp.error("burst", format!("must be more than zero and less than the period of {period}"))
        );
    }
    Ok(Some((period, burst, peak)))
}
