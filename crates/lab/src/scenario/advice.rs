//! Advice on what a file says: what is accepted, and would better be written otherwise.

use crate::error::ScenarioError;
use std::cell::RefCell;

/// More places than anybody reads.
const MOST: usize = 100;

thread_local! {
    static GIVEN: RefCell<Vec<ScenarioError>> = const { RefCell::new(Vec::new()) };
}

/// Notes a place, and what would be better there; a place counts once, however often it is read.
pub(crate) fn give(advice: ScenarioError) {
    GIVEN.with_borrow_mut(|given| {
        if given.len() < MOST && !given.contains(&advice) {
            given.push(advice);
        }
    });
}

/// What `read` returns, and the advice on what it read.
pub fn advised<T>(read: impl FnOnce() -> T) -> (T, Vec<ScenarioError>) {
    GIVEN.take();
    let found = read();
    (found, GIVEN.take())
}
