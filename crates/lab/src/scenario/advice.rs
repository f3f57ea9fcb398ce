//! Advice on a scenario file: accepted text that has a better form.

use crate::error::ScenarioError;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Maximum number of places.
const MOST: usize = 10_000;

thread_local! {
    static GIVEN: RefCell<(Vec<String>, BTreeSet<String>)> = const { RefCell::new((Vec::new(), BTreeSet::new())) };
}

/// Records advice for a place. Each place counts once, for any number of reads.
pub(crate) fn give(advice: ScenarioError) {
    let line = advice.to_string();
    GIVEN.with_borrow_mut(|(lines, seen)| {
        if lines.len() < MOST && seen.insert(line.clone()) {
            lines.push(line);
        }
    });
}

/// Calls `read`. Returns its result, and the advice on the text that it read, each with its place.
pub fn advised<T>(read: impl FnOnce() -> T) -> (T, Vec<String>) {
    GIVEN.take();
    let lines = read();
    (lines, GIVEN.take().0)
}
