//! The keys of scenarios and of outcomes, described once: JSON Schemas, `ackclock list keys` and the reference pages come
//! from here. Tests hold the descriptions to the readers and to the profiles.

mod aqm;
mod form;
mod json;
mod keys;
mod quic;
mod radio;
mod rate;
mod tables;
mod tcp;
#[cfg(test)]
mod tests;

pub use form::{Form, Key, Table};
pub use json::{outcome_schema, scenario_schema};
pub use tables::{TABLES, keys_of};
