//! Reads `loss` and `impair`: what happens to packets on a link besides its queue.

use super::document::TomlValue;
use super::reading::{Result, all};
use super::table::TableReader;
use net::impairment::{KINDS, Loss};

/// Reads `loss` or `impair`: a table, or an array of tables for several impairments on one link.
pub(super) fn read_losses(reader: &TableReader<'_>, key: &'static str) -> Result<Option<Vec<Loss>>> {
    let tables = match reader.get(key).map(|item| &item.value) {
        None => return Ok(None),
        Some(TomlValue::List(items)) => {
            let path = |i| format!("{}[{i}]", reader.path(key));
            items
                .iter()
                .enumerate()
                .map(|(i, item)| TableReader::new(reader.reading(), path(i), item))
                .collect::<Vec<_>>()
        }
        Some(TomlValue::Table(_)) => reader.table(key)?.into_iter().map(Ok).collect(),
        Some(_) => {
            let part = if key == "loss" { "a part of the packets, such as \"0.3%\", or " } else { "" };
            let example = "a table or an array of tables, such as { kind = \"bernoulli\", rate = 0.01 }";
            return Err(reader.error(key, format!("must be {part}{example}")));
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
