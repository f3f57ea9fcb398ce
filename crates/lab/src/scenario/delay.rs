//! Reads the delay of a link: a constant, or a log of one that varies.

use super::log_options;
use super::rate::logged;
use super::reading::Result;
use super::table::TableReader;
use net::impairment::Loss;
use net::{LOG_COLUMNS, REPEAT};
use params::Form::{File, Switch, Word};
use params::{Key, Table, Value, key};
use units::Span;

/// A delay from a log.
pub(super) static DELAY_FILE: Table = Table::new(
    "delay_file",
    "`delay` of a link that varies",
    &[
        &[
            key("kind", Word(&["file"]), "", "the delays are in a file"),
            key(
                "file",
                File,
                "",
                "the delays, relative to the scenario: in each line a time and the delay from there on, after a header with their units, such as `time_s,delay_ms`; without a header both are in seconds",
            ),
        ],
        &[
            key(
                "unit",
                Word(&["s", "ms", "us"]),
                "none",
                "unit of the delays, if the header does not name it",
            ),
            key(
                "gap",
                Word(&["hold", "error"]),
                "none",
                "where rows of a regular log are missing, for more than 3 of its steps: the delay before holds, or the log is refused; without it it is refused",
            ),
        ],
        LOG_COLUMNS,
        REPEAT,
        &[key("order", Switch, "true", "no packet arrives before the one in front of it")],
    ],
);

/// A delay of a link.
pub(super) struct DelayOfLink {
    /// The delay, or the least of one that varies.
    pub least: Span,
    /// What is added to it.
    pub variation: Option<Loss>,
}

/// Reads `delay` of a link; `key` describes it.
pub(super) fn read(reader: &TableReader<'_>, key: &'static Key) -> Result<Option<DelayOfLink>> {
    match reader.value(key)? {
        Some(Value::Time(least)) => Ok(Some(DelayOfLink { least, variation: None })),
        Some(_) => reader.table("delay")?.map(|table| read_file(&table)).transpose(),
        None => Ok(None),
    }
}

fn read_file(table: &TableReader<'_>) -> Result<DelayOfLink> {
    let values = table.values(&DELAY_FILE, 0)?;
    let mut delays = logged(table, &values, &log_options::DELAY, Span::from_seconds)?;
    let least = delays.steps.iter().map(|step| step.1).min().unwrap_or(Span::ZERO);
    delays.steps.iter_mut().for_each(|(_, delay)| *delay = *delay - least);
    Ok(DelayOfLink { least, variation: Some(Loss::delay(delays, values.read("order"))) })
}
