//! Renamed keys: the old names are accepted, with advice.

/// Table, its key before, its key now.
const RENAMED: &[(&str, &str, &str)] = &[
    ("tcp", "control", "congestion_control"),
    ("tcp", "window", "receive_window"),
    ("tcp", "packet", "mss"),
    ("routing", "reading", "variant"),
];

/// The current name of `key` in a table `table`, if `key` is an old name.
pub(crate) fn current_name(table: &str, key: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(of, old, _)| *of == table && *old == key).map(|(.., new)| *new)
}

/// The old names of keys of a table, with the present ones.
pub(crate) fn old_names(table: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    RENAMED.iter().filter(move |(of, ..)| *of == table).map(|(_, old, new)| (*old, *new))
}
