//! Reads `[[link]]`: rate, delay, queue, loss and router of both directions.

use super::count::COUNT;
use super::document::TomlItem;
use super::key::key_text;
use super::loss::read_losses;
use super::model::{Direction, Duplex, RateVariation};
use super::queue::read_queue;
use super::rate::{self, RateOfLink};
use super::reading::{Reading, Result};
use super::router::read_router;
use super::table::TableReader;
use super::{cellular, delay, wifi};
use net::RouterConfig;
use net::impairment::Loss;
use net::qdisc::{Discipline, Queue, disciplines};
use params::Form::{self, LinkDelay, LinkRate, Losses, Router, Row, Text};
use params::{Key, Table, key};
use units::Span;

/// A link.
pub(super) static LINK: Table = Table::new(
    "link",
    "`[[link]]`",
    &[&[
        key("name", Text, "`a->b`", "name for `--set link.NAME...`; the outcome has `from->to`"),
        COUNT,
        ENDS,
        RATE,
        key("shaper", Form::Table("shaper"), "none", "token bucket in front of the transmitter"),
        DELAY,
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
        key(
            "impair",
            Losses,
            "none",
            "as `loss`, and after it: a name for jitter, delays, policers and the like",
        ),
        key("router", Router, "none", "router in front of the link that writes feedback into packets"),
        key("back", Form::Table("back"), "as forward", "differences in the reverse direction"),
    ]],
);

const ENDS: Key = key(
    "ends",
    Row(&[Text, Text], "[\"a\", \"b\"]"),
    "",
    "the two nodes; forward is from the first to the second",
);

const RATE: Key = key("rate", LinkRate, "", "transmission rate; a table for a rate that varies");

const DELAY: Key = key(
    "delay",
    LinkDelay("delay_file"),
    "Wi-Fi, cellular: 0ms",
    "propagation delay; a table for a delay that varies",
);

const BACK_DELAY: Key = key("delay", LinkDelay("delay_file"), "as forward", "propagation delay");

const BACK_RATE: Key = key("rate", LinkRate, "as forward", "transmission rate");

/// The reverse direction of a link.
pub(super) static BACK: Table = Table::new(
    "back",
    "`[link.back]`: the reverse direction of a link",
    &[&[
        BACK_RATE,
        key("shaper", Form::Table("shaper"), "as forward", "token bucket in front of the transmitter"),
        BACK_DELAY,
        key("queue", Form::Queue, "as forward", "queue discipline"),
        key("loss", Losses, "as forward", "losses besides the queue"),
        key("impair", Losses, "as forward", "impairments after those of `loss`"),
        key("router", Router, "as forward", "router in front of the reverse direction"),
    ]],
);

/// The table of a link.
pub(super) fn link_table<'a>(
    reading: &'a Reading,
    index: usize,
    item: &'a TomlItem,
) -> Result<TableReader<'a>> {
    let place = format!("link[{index}]");
    let name = TableReader::new(reading, place.clone(), item)?.text("name");
    let path = name.ok().flatten().map_or(place, |name| key_text(["link", name]));
    TableReader::new(reading, path, item)
}

/// Reads the nodes at the ends of a link.
pub(super) fn read_ends(reader: &TableReader<'_>) -> Result<[String; 2]> {
    let ends: [String; 2] = reader.read(&ENDS)?;
    if ends.iter().any(|name| name.is_empty() || name.contains("->")) {
        return Err(reader.error("ends", "must be two node names, such as [\"a\", \"b\"], without \"->\""));
    }
    if ends[0] == ends[1] {
        return Err(reader.error("ends", format!("must be two different nodes, not \"{}\" twice", ends[0])));
    }
    Ok(ends)
}

/// What a table says about a direction of a link; without what it does not say.
struct WrittenDirection {
    rate: Option<RateOfLink>,
    delay: Option<Span>,
    queue: Option<Queue>,
    /// Those of `loss`, of `impair` and of a delay that varies.
    losses: [Option<Vec<Loss>>; 3],
    router: Option<RouterConfig>,
}

impl WrittenDirection {
    /// Reads the keys of `table`; `rate` and `delay` describe those two.
    fn read(
        reader: &TableReader<'_>,
        table: &'static Table,
        rate: &'static Key,
        delay: &'static Key,
    ) -> Result<WrittenDirection> {
        let (rate, delay) = (rate::read(reader, rate), delay::read(reader, delay));
        let (queue, router) = (read_queue(reader), read_router(reader));
        let (losses, impair) = (read_losses(reader, "loss"), read_losses(reader, "impair"));
        reader.values(table, 0)?;
        let (rate, queue) = (rate?, queue?);
        let (delay, varies) = delay?.map(|delay| (delay.least, Vec::from_iter(delay.variation))).unzip();
        Ok(WrittenDirection { rate, delay, queue, losses: [losses?, impair?, varies], router: router? })
    }
}

/// The impairments of a direction, those of `loss` first.
fn joined(losses: &[Option<Vec<Loss>>; 3]) -> Vec<Loss> {
    losses.iter().flatten().flatten().cloned().collect()
}

/// Reads a link.
pub(super) fn read_link(reader: &TableReader<'_>) -> Result<Duplex> {
    let ends = read_ends(reader);
    let forward = WrittenDirection::read(reader, &LINK, &RATE, &DELAY);
    let back = reader.table("back");
    let written_back = match &back {
        Ok(Some(table)) => WrittenDirection::read(table, &BACK, &BACK_RATE, &BACK_DELAY).map(Some),
        _ => Ok(None),
    };
    let (forward, ends) = (forward?, ends?);
    let Some(RateOfLink { mean, variation }) = forward.rate else { unreachable!("the rate is required") };
    let (default_delay, default_queue) = match variation {
        Some(RateVariation::Wifi(_)) => (Some(Span::ZERO), wifi::default_queue()),
        Some(RateVariation::Cellular(_)) => (Some(Span::ZERO), cellular::default_queue()),
        _ => (None, Queue::UNLIMITED),
    };
    let delay = reader.need("delay", forward.delay.or(default_delay), "such as delay = \"10ms\"");
    let back = back?.zip(written_back?);
    let losses = forward.losses;
    let forward = Direction {
        rate: mean,
        variation,
        delay: delay?,
        queue: forward.queue.unwrap_or(default_queue),
        losses: joined(&losses),
        router: forward.router,
    };
    let mut reverse = forward.clone();
    if let Some((table, back)) = back {
        if let Some(RateOfLink { mean, variation }) = back.rate {
            (reverse.rate, reverse.variation) = (mean, variation);
        }
        reverse.delay = back.delay.unwrap_or(reverse.delay);
        reverse.queue = back.queue.unwrap_or(reverse.queue);
        let [ours, impair, varies] = losses;
        let [back_losses, back_impair, back_varies] = back.losses;
        reverse.losses = joined(&[back_losses.or(ours), back_impair.or(impair), back_varies.or(varies)]);
        reverse.router = back.router.or(reverse.router);
        check_queue(&table, &reverse)?;
    }
    check_queue(reader, &forward)?;
    let name = reader.text("name")?.map(str::to_string);
    Ok(Duplex { name, ends, directions: [forward, reverse] })
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
        let key = if reader.has("impair") { "impair" } else { "loss" };
        return Err(reader.error(key, message));
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
