//! Reads `[[cell]]`, the cells of mobile networks, and `rate = { kind = "cellular", ... }` of links.

use super::document::TomlItem;
use super::key::key_text;
use super::media::{Medium, MediumWords, SIGNAL_KEYS, inner_values, medium_of, read_variation};
use super::model::{Duplex, RateVariation};
use super::reading::{Reading, Result, all};
use super::table::TableReader;
use net::cellular::{Cell, CellOptions, Drx, Handover, UserOptions};
use net::qdisc::Queue;
use params::{Form, Key, Model, Table, key};
use units::Limit;

const WORDS: MediumWords =
    MediumWords { kind: "cellular", link: "cellular", table: "[[cell]]", station: "the base station" };

/// A cell of a mobile network.
pub(super) static CELL: Table =
    Table::new("cell", "`[[cell]]`: a cell of a mobile network", &[CellOptions::KEYS]);

/// A rate that a cell decides.
pub(super) static CELLULAR_RATE: Model = params::model!(
    "rate",
    "cellular",
    "the transmitter is a cell of a mobile network that several links share",
    "",
    [UserOptions::KEYS, SIGNAL_KEYS, USER_KEYS]
);

const USER_KEYS: &[Key] = &[
    key("drx", Form::Table("drx"), "none", "sleep of the terminal; in the downlink's table"),
    key("handover", Form::Table("handover"), "none", "handovers of the terminal; in the downlink's table"),
];

/// The tables of a terminal in that of a rate.
pub(super) static USER: [Table; 2] = [
    Table::new("drx", "`drx` of a cellular rate", &[Drx::KEYS]),
    Table::new("handover", "`handover` of a cellular rate", &[Handover::KEYS]),
];

/// The default queue of a cellular link: the deep buffer of a user.
pub(super) fn default_queue() -> Queue {
    Queue::droptail(Limit::Packets(1000))
}

/// Reads the table of a rate with kind "cellular".
pub(super) fn read_rate(table: &TableReader<'_>) -> Result<UserOptions> {
    let values = table.values(&CELLULAR_RATE.table, 0);
    let variation = read_variation(table);
    let [drx, handover] = USER.each_ref().map(|inner| inner_values(table, inner));
    let mut user = UserOptions::new(&values?);
    user.variation = variation?;
    user.drx = drx?.map(|values| Drx::new(&values));
    user.handover = handover?.map(|values| Handover::new(&values));
    Ok(user)
}

/// Reads all `[[cell]]` tables.
pub(super) fn read_all(reading: &Reading, items: &[TomlItem]) -> Result<Vec<CellOptions>> {
    let mut cells: Vec<CellOptions> = Vec::new();
    all(items.iter().enumerate().map(|(index, item)| {
        let table = TableReader::new(reading, format!("cell[{index}]"), item)?;
        let values = table.values(&CELL, 0)?;
        let cell = CellOptions::new(&values);
        cell.check(|key| values.is_written(key)).map_err(|mistake| table.mistake(mistake))?;
        if cells.iter().any(|other| other.name == cell.name) {
            return Err(table.error("name", format!("another one is called \"{}\" too", cell.name)));
        }
        cells.push(cell);
        Ok(())
    }))?;
    Ok(cells)
}

/// Gives a cellular link the rates of its cell, of which it returns the number; none for a link of another kind. Fails if the
/// link does not fit.
pub(super) fn resolve(
    reading: &Reading,
    item: &TomlItem,
    link: &mut Duplex,
    cells: Result<&Vec<CellOptions>>,
) -> Result<Option<usize>> {
    if link.directions.iter().all(|direction| direction.cellular().is_none()) {
        return Ok(None);
    }
    let cells = cells?;
    let media: Vec<Medium<'_>> =
        cells.iter().map(|cell| Medium { name: &cell.name, station: &cell.station }).collect();
    let reader = TableReader::new(reading, key_text(["link", &link.key()]), item)?;
    let number = medium_of(&reader, link, &WORDS, &media, |direction| {
        direction.cellular().map(|user| user.medium.clone().unwrap_or_default())
    })?;
    let Some(number) = number else { return Ok(None) };
    let cell = &cells[number];
    let down = usize::from(link.ends[0] != cell.station);
    let terminal = link.directions[down].cellular().map(|user| (user.drx.clone(), user.handover.clone()));
    for (side, direction) in link.directions.iter_mut().enumerate() {
        let Some(RateVariation::Cellular(user)) = &mut direction.variation else { continue };
        user.check(cell).map_err(|(key, message)| reader.error("rate", format!("{key}: {message}")))?;
        user.medium = Some(cell.name.clone());
        let of_terminal = (user.drx.clone(), user.handover.clone());
        if of_terminal != (None, None) && terminal.as_ref() != Some(&of_terminal) {
            let message = "drx and handover belong to the terminal; write them for the downlink alone";
            return Err(reader.error("rate", message));
        }
        user.alone = Cell::rate_alone(cell, user, side != down);
        direction.rate = Cell::peak_rate(cell, user, side != down);
    }
    Ok(Some(number))
}

/// Reports each cell that is not among `used`, the numbers of those with links.
pub(super) fn refuse_unused(reading: &Reading, items: &[TomlItem], cells: &[CellOptions], used: &[usize]) {
    for (number, (item, cell)) in items.iter().zip(cells).enumerate() {
        if used.contains(&number) {
            continue;
        }
        if let Ok(table) = TableReader::new(reading, format!("cell[{number}]"), item) {
            let name = &cell.name;
            let remedy = format!("write rate = {{ kind = \"cellular\", medium = \"{name}\" }} in a [[link]]");
            table.error("name", format!("no link has the medium \"{name}\"; {remedy}"));
        }
    }
}
