//! Recordings of real transfers: captures, qlogs and logs, read into one record.
//!
//! Bytes are pushed, so a file of any size needs bounded memory, and the same code reads in a browser. No dependency but `libm`, no panic on
//! any input; limits are constants of the modules.
#![forbid(unsafe_code)]

mod board;
pub mod bytes;
pub mod capture;
pub mod connection;
pub mod container;
pub mod fuzzing;
mod half;
pub mod json;
pub mod limits;
pub mod link;
pub mod path;
pub mod qlog;
pub mod reader;
pub mod reasons;
pub mod record;
pub mod sniff;
pub mod summary;
pub mod tcp;
pub mod text;
pub mod tools;
pub mod totals;
pub mod why;

pub use board::Place;
pub use reader::{Reader, Settings};
pub use sniff::{Kind, sniff};
