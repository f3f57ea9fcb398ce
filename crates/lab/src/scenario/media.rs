//! What links of Wi-Fi channels and of cells have in common: their medium, which the file describes in a table of its own.

use super::model::{Direction, Duplex};
use super::reading::Result;
use super::table::TableReader;
use crate::error::nearest;
use net::{Blockage, Fading, Shadowing, Variation};
use params::{Form, Key, Table, Values, key};

/// The words for a kind of medium in messages.
pub(super) struct MediumWords {
    /// `kind` of the rate.
    pub kind: &'static str,
    /// What a link of it is called.
    pub link: &'static str,
    /// Its table.
    pub table: &'static str,
    /// The node that all its links have in common.
    pub station: &'static str,
}

/// A medium that links can name.
pub(super) struct Medium<'a> {
    /// Its name.
    pub name: &'a str,
    /// The node that all its links have in common.
    pub station: &'a str,
}

/// How a signal varies around its mean.
pub(super) const SIGNAL_KEYS: &[Key] = &[
    key("fading", Form::Table("fading"), "none", "fading of the signal"),
    key("shadowing", Form::Table("shadowing"), "none", "shadowing of the signal"),
    key("blockage", Form::Table("blockage"), "none", "blockage of the line of sight, for millimetre waves"),
];

/// The tables of a signal in that of a rate.
pub(super) static SIGNAL: [Table; 3] = [
    Table::new("fading", "`fading` of a cellular or Wi-Fi rate", &[Fading::KEYS]),
    Table::new("shadowing", "`shadowing` of a cellular or Wi-Fi rate", &[Shadowing::KEYS]),
    Table::new("blockage", "`blockage` of a cellular or Wi-Fi rate", &[Blockage::KEYS]),
];

/// The values of a table in that of a rate, if it is there.
pub(super) fn inner_values(table: &TableReader<'_>, inner: &'static Table) -> Result<Option<Values>> {
    table.table(inner.name)?.map(|reader| reader.values(inner, 0)).transpose()
}

/// How the signal of a direction varies around its mean.
pub(super) fn read_variation(table: &TableReader<'_>) -> Result<Variation> {
    let [fading, shadowing, blockage] = &SIGNAL;
    let read = [fading, shadowing, blockage].map(|inner| inner_values(table, inner));
    let [fading, shadowing, blockage] = read;
    Ok(Variation {
        fading: fading?.map(|values| Fading::new(&values)),
        shadowing: shadowing?.map(|values| Shadowing::new(&values)),
        blockage: blockage?.map(|values| Blockage::new(&values)),
    })
}

/// The number of the medium of a link among `media`; none for a link of another kind.
/// `name` gives the medium that a direction of the kind names, which may be empty in the reverse direction. Fails if the link
/// does not fit.
pub(super) fn medium_of(
    reader: &TableReader<'_>,
    link: &Duplex,
    words: &MediumWords,
    media: &[Medium<'_>],
    name: impl Fn(&Direction) -> Option<String>,
) -> Result<Option<usize>> {
    let [forward, back] = link.directions.each_ref().map(name);
    let MediumWords { kind, link: title, table, station } = words;
    let (medium, other) = match (forward, back) {
        (None, None) => return Ok(None),
        (Some(forward), Some(back)) => (forward, back),
        _ => {
            let message = format!("both directions of a {title} link must have kind = \"{kind}\"");
            return Err(reader.error("rate", message));
        }
    };
    let Some(number) = media.iter().position(|one| one.name == medium) else {
        if medium.is_empty() {
            return Err(reader.error("rate", format!("medium: name a {table}")));
        }
        let remedy = match media.is_empty() {
            true => format!("write {table} with that name"),
            false => nearest(&medium, media.iter().map(|one| one.name)),
        };
        return Err(reader.error("rate", format!("there is no {table} called \"{medium}\"; {remedy}")));
    };
    let node = media[number].station;
    if link.ends.iter().filter(|end| *end == node).count() != 1 {
        let message = format!("one end must be {station} of \"{medium}\", which is \"{node}\"");
        return Err(reader.error("ends", message));
    }
    if !other.is_empty() && other != medium {
        return Err(reader.error("back", "both directions must be of one medium"));
    }
    Ok(Some(number))
}
