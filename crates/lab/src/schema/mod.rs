//! The keys of scenarios and of outcomes: JSON Schemas, `ackclock list keys` and the reference pages come from here. Models
//! and options are described beside their code (crate `params`), the other tables here.

mod cellular;
mod json;
mod network;
mod old_names;
mod radio;
mod satellites;
mod tables;
#[cfg(test)]
mod tests;
mod transport;
mod wifi;

pub use cellular::{CELL, CELLULAR_RATE, of_user};
pub use json::scenario_schema;
pub(crate) use network::ACTIONS;
pub(crate) use old_names::{current_name, old_names};
pub use params::{Form, Key, Table};
pub use tables::{MAC, SHAPER, keys_of, table_of_kind, tables};
pub use wifi::{EDCA_CATEGORY, WIFI_RATE};
