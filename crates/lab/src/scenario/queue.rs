//! Reads the queue of a link.

use super::document::TomlValue;
use super::reading::Result;
use super::table::TableReader;
use crate::error::nearest;
use net::qdisc::{Queue, disciplines};
use units::Limit;

/// The queue that `reader`'s table names, if any.
pub(crate) fn read_queue(reader: &TableReader<'_>) -> Result<Option<Queue>> {
    if let Some(TomlValue::Text(kind)) = reader.get("queue").map(|item| &item.value) {
        let message = match kind.parse::<Limit>() {
            Ok(_) => {
                format!("must be a queue discipline: write {{ kind = \"droptail\", limit = \"{kind}\" }}")
            }
            Err(_) => {
                let names = disciplines().map(|discipline| discipline.name());
                format!("unknown queue \"{kind}\"; {}", nearest(kind, names))
            }
        };
        return Err(reader.error("queue", message));
    }
    let Some(queue) = reader.table("queue")? else { return Ok(None) };
    let discipline = queue.kind("queue", disciplines(), |discipline| &discipline.model)?;
    let values = queue.values(&discipline.model.table, 0)?;
    if let Some(key) = discipline.packet_key
        && let Some(TomlValue::Integer(n)) = queue.get(key).map(|item| &item.value)
    {
        let message = format!("{n} has no unit and is taken in bytes: write \"{n}B\"");
        queue.advise(key, message);
    }
    Queue::new(discipline, values).map(Some).map_err(|mistake| queue.mistake(mistake))
}
