//! Advice on what a file says: what is accepted, and would better be written otherwise.

use crate::error::ScenarioError;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// More places than anybody reads.
const MOST: usize = 10_000;

thread_local! {
    static GIVEN: RefCell<(Vec<String>, BTreeSet<String>)> = const { RefCell::new((Vec::new(), BTreeSet::new())) };
}

/// Notes a place, and what would be better there; a place counts once, however often it is read.
pub(crate) fn give(advice: ScenarioError) {
    let line = advice.to_string();
    GIVEN.with_borrow_mut(|(lines, seen)| {
        if lines.len() < MOST && seen.insert(line.clone()) {
            lines.push(line);
        }
    });
}

/// What `read` returns, and the advice on what it read, each with its place.
pub fn advised<T>(read: impl FnOnce() -> T) -> (T, Vec<String>) {
    GIVEN.take();
    let found = read();
    (found, GIVEN.take().0)
}
