//! Controllers in other languages: they receive each event as [`Event`] and answer with a [`Decision`].
//!
//! `tables.rs` is made from the trait [`crate::Controller`] and the structs of its events (`tests/interface.rs`); the names,
//! types and texts for Python, the page and the reference follow from it.

mod answers;
mod derived;
mod external;
mod fields;
mod numbers;
mod tables;
mod words;

pub use answers::{Answer, Decision};
pub use external::{CachedExternal, Event, EventMethod, ExternalController, Failure};
pub use fields::{Argument, External, Field, ValueKind};
pub use numbers::{NumberLayout, NumberRecord};
pub use words::FromWords;
