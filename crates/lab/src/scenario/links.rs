//! Reads `[[link]]`: rate, delay, queue, loss and router of both directions.

use super::count::COUNT;
use super::document::TomlItem;
use super::key::key_text;
use super::loss::read_losses;
use super::model::{Direction, Duplex, RateVariation};
use super::queue::read_queue;
use super::rate;
use super::router::read_router;
use super::table::TableReader;
use super::{cellular, wifi};
use crate::error::ScenarioError;
use net::qdisc::{Discipline, Queue, disciplines};
use params::Form::{self, LinkRate, Losses, Router, Row, Text};
use params::{Table, key};
use units::Span;

type Result<T> = std::result::Result<T, ScenarioError>;

/// A link.
pub(super) static LINK: Table = Table::new(
    "link",
    "`[[link]]`",
    &[&[
        key("name", Text, "`a->b`", "name for `--set link.NAME...`; the outcome has `from->to`"),
        COUNT,
        key(
            "ends",
            Row(&[Text, Text], "[\"a\", \"b\"]"),
            "",
            "the two nodes; forward is from the first to the second",
        ),
        key("rate", LinkRate, "", "transmission rate; a table for a rate that varies"),
        key("shaper", Form::Table("shaper"), "none", "token bucket in front of the transmitter"),
        key("delay", Form::delay("10ms"), "Wi-Fi, cellular: 0ms", "propagation delay"),
        key(
            "queue",
            Form::Queue,
            "unlimited; Wi-Fi: FQ-CoDel; cellular: drop-tail, 1,000 packets",
            "queue discipline (`ackclock list queues`)",
        ),
        key(
            "loss",
            Losses,
            "none",
            "losses and other impairments besides the queue (`ackclock list losses`); several in an array",
        ),
        key("router", Router, "none", "router in front of the link that writes feedback into packets"),
        key("back", Form::Table("back"), "as forward", "differences in the reverse direction"),
    ]],
);

/// The reverse direction of a link.
pub(super) static BACK: Table = Table::new(
    "back",
    "`[link.back]`: the reverse direction of a link",
    &[&[
        key("rate", LinkRate, "as forward", "transmission rate"),
        key("shaper", Form::Table("shaper"), "as forward", "token bucket in front of the transmitter"),
        key("delay", Form::delay("10ms"), "as forward", "propagation delay"),
        key("queue", Form::Queue, "as forward", "queue discipline"),
        key("loss", Losses, "as forward", "losses besides the queue"),
        key("router", Router, "as forward", "router in front of the reverse direction"),
    ]],
);

pub(super) fn read_link(index: usize, item: &TomlItem) -> Result<Duplex> {
    let written = TableReader::new(format!("link[{index}]"), item)?.text("name")?.map(str::to_string);
    let path = written.as_ref().map_or(format!("link[{index}]"), |name| key_text(["link", name]));
    let reader = TableReader::new(path, item)?;
    let values = reader.values(&LINK, 0)?;
    let ends: [String; 2] = values.read("ends");
    if ends.iter().any(|name| name.is_empty() || name.contains("->")) {
        return Err(reader.error("ends", "must be two node names, such as [\"a\", \"b\"], without \"->\""));
    }
    if ends[0] == ends[1] {
        return Err(reader.error("ends", format!("must be two different nodes, not \"{}\" twice", ends[0])));
    }
    let Some((rate, variation)) = rate::read(&reader, &values)? else { unreachable!("the rate is required") };
    let (default_delay, default_queue) = match variation {
        Some(RateVariation::Wifi(_)) => (Some(Span::ZERO), wifi::default_queue()),
        Some(RateVariation::Cellular(_)) => (Some(Span::ZERO), cellular::default_queue()),
        _ => (None, Queue::UNLIMITED),
    };
    let delay = values.optional("delay").or(default_delay);
    let forward = Direction {
        rate,
        variation,
        delay: reader.need("delay", delay, "such as delay = \"10ms\"")?,
        queue: read_queue(&reader)?.unwrap_or(default_queue),
        losses: read_losses(&reader)?.unwrap_or_default(),
        router: read_router(&reader)?,
    };
    let mut back = forward.clone();
    if let Some(differs) = reader.table("back")? {
        let values = differs.values(&BACK, 0)?;
        if let Some((rate, variation)) = rate::read(&differs, &values)? {
            (back.rate, back.variation) = (rate, variation);
        }
        back.delay = values.optional("delay").unwrap_or(back.delay);
        back.queue = read_queue(&differs)?.unwrap_or(back.queue);
        back.losses = read_losses(&differs)?.unwrap_or(back.losses);
        back.router = read_router(&differs)?.or(back.router);
        check_queue(&differs, &back)?;
    }
    check_queue(&reader, &forward)?;
    Ok(Duplex { name: written, ends, directions: [forward, back] })
}

/// The disciplines that need no constant rate, in a sentence.
pub(super) fn scheduled_queues() -> String {
    names_of(|discipline| discipline.at_departure.is_some())
}

/// The names of some disciplines in quotation marks.
fn names_of(is_named: fn(&Discipline) -> bool) -> String {
    let names = disciplines().filter(|discipline| is_named(discipline));
    let names: Vec<String> = names.map(|discipline| format!("\"{}\"", discipline.name())).collect();
    let (last, others) = names.split_last().expect("there are such disciplines");
    format!("{} or {last}", others.join(", "))
}

/// The disciplines that decide at arrivals only, for a message.
pub(super) fn arrival_queues(separator: &str) -> String {
    let names = disciplines().filter(|discipline| discipline.at_departure.is_none());
    names.map(|discipline| discipline.name().to_uppercase()).collect::<Vec<_>>().join(separator)
}

/// Fails if the queue of a direction does not go with its rate or its router.
pub(super) fn check_queue(reader: &TableReader<'_>, direction: &Direction) -> Result<()> {
    let varies = direction.variation.is_some();
    if varies && direction.queue.needs_constant_rate() {
        let message = format!("{} need a constant rate; use {}", arrival_queues(" and "), scheduled_queues());
        return Err(reader.error("queue", message));
    }
    if direction.has_medium() && direction.losses.iter().any(|loss| loss.kind().name() == "stall") {
        let message = "a stall needs a transmitter of the link, and a medium decides when its packets leave; write kind = \
                       \"blackout\"";
        return Err(reader.error("loss", message));
    }
    if varies && direction.queue.departures_first() {
        return Err(reader.error("queue", "departures_first needs a constant rate"));
    }
    if direction.router.is_some() && (varies || direction.queue.is_scheduled()) {
        let names = names_of(|discipline| discipline.at_arrival.is_some());
        let message = format!("needs a constant rate, and a queue that decides at arrival: {names}");
        return Err(reader.error("router", message));
    }
    Ok(())
}
