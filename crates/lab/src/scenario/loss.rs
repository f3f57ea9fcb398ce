//! Reads `loss`: what happens to packets on a link besides its queue.

use super::document::TomlValue;
use super::reading::{Result, all};
use super::table::TableReader;
use net::impairment::{KINDS, Loss};

/// Reads `loss`: a table, or an array of tables for several impairments on one link.
pub(super) fn read_losses(reader: &TableReader<'_>) -> Result<Option<Vec<Loss>>> {
    let tables = match reader.get("loss").map(|item| &item.value) {
        None => return Ok(None),
        Some(TomlValue::List(items)) => {
            let path = |i| format!("{}[{i}]", reader.path("loss"));
            items
                .iter()
                .enumerate()
                .map(|(i, item)| TableReader::new(reader.reading(), path(i), item))
                .collect::<Vec<_>>()
        }
        Some(TomlValue::Table(_)) => reader.table("loss")?.into_iter().map(Ok).collect(),
        Some(_) => {
            let example = "must be a part of the packets, such as \"0.3%\", or a table or an array of tables, such as { kind = \"bernoulli\", rate = 0.01 }";
            return Err(reader.error("loss", example));
        }
    };
    let losses = all(tables.into_iter().map(|table| read_loss(table?)))?;
    Ok(Some(losses.into_iter().flatten().collect()))
}

/// Reads one table of `loss`; none for `kind = "none"`.
fn read_loss(loss: TableReader<'_>) -> Result<Option<Loss>> {
    let kind = loss.kind("loss", KINDS.iter().copied(), |kind| &kind.model)?;
    let read = Loss::new(kind, loss.values(&kind.model.table, 0)?);
    let read = read.map_err(|mistake| loss.mistake(mistake))?;
    Ok((kind.name() != "none").then_some(read))
}
