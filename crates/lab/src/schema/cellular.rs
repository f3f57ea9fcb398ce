//! The tables of cells and of their links.

use net::cellular::{CellOptions, Drx, Handover, UserOptions};
use net::{Blockage, Fading, Shadowing};
use params::{Form, Key, Model, Table, key};

/// A cell of a mobile network.
pub static CELL: Table =
    Table { name: "cell", place: "`[[cell]]`: a cell of a mobile network", groups: &[CellOptions::KEYS] };

/// A rate that a cell decides.
pub static CELLULAR_RATE: Model = params::model!(
    "rate",
    "cellular",
    "the transmitter is a cell of a mobile network that several links share",
    "",
    [UserOptions::KEYS, SIGNAL_KEYS, USER_KEYS]
);

/// How a signal varies around its mean.
pub(super) const SIGNAL_KEYS: &[Key] = &[
    key("fading", Form::Table("fading"), "none", "fading of the signal"),
    key("shadowing", Form::Table("shadowing"), "none", "shadowing of the signal"),
    key("blockage", Form::Table("blockage"), "none", "blockage of the line of sight, for millimetre waves"),
];

const USER_KEYS: &[Key] = &[
    key("drx", Form::Table("drx"), "none", "sleep of the terminal; in the downlink's table"),
    key("handover", Form::Table("handover"), "none", "handovers of the terminal; in the downlink's table"),
];

/// The tables in that of a rate.
pub static USER: [Table; 5] = [
    Table { name: "fading", place: "`fading` of a cellular or Wi-Fi rate", groups: &[Fading::KEYS] },
    Table { name: "shadowing", place: "`shadowing` of a cellular or Wi-Fi rate", groups: &[Shadowing::KEYS] },
    Table { name: "blockage", place: "`blockage` of a cellular or Wi-Fi rate", groups: &[Blockage::KEYS] },
    Table { name: "drx", place: "`drx` of a cellular rate", groups: &[Drx::KEYS] },
    Table { name: "handover", place: "`handover` of a cellular rate", groups: &[Handover::KEYS] },
];

/// The table called `name` among [`USER`].
///
/// # Panics
/// If there is none.
pub fn of_user(name: &str) -> &'static Table {
    USER.iter().find(|table| table.name == name).unwrap_or_else(|| panic!("no table is called {name}"))
}
