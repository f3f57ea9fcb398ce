//! Reads the router in front of a link.

use super::reading::Result;
use super::table::TableReader;
use net::{ROUTERS, RouterConfig};

/// Reads the key `router` of a direction of a link.
pub(crate) fn read_router(reader: &TableReader<'_>) -> Result<Option<RouterConfig>> {
    let Some(table) = reader.table("router")? else { return Ok(None) };
    let router = table.kind("router", ROUTERS.iter(), |router| &router.model)?;
    table.values(&router.model.table, 0).map(|values| Some((router.config)(&values)))
}
