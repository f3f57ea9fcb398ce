//! Runs of scenarios in text, for tests.
#![allow(dead_code, reason = "not every test uses all")]

use lab::{Recording, Run, Scenario, Settings};

pub fn scenario(text: &str) -> Scenario {
    Scenario::parse("test.toml", text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub fn finished(scenario: &Scenario, recording: Recording) -> Run {
    let mut run = Run::new(scenario, Settings { recording, ..Settings::default() }).unwrap();
    run.finish();
    run
}

/// Runs with the auditor on; panics on any violation, and if a share of the outcome is not one.
pub fn audited(text: &str) -> lab::Outcome {
    let mut run = finished(&scenario(text), Recording { audit: true, ..Recording::default() });
    let (violations, count) = run.audit();
    assert_eq!(count, 0, "{:#?}\n{text}", violations);
    let outcome = run.outcome();
    assert!(outcome.shares().all(|share| (0.0..=1.0).contains(&share)), "{outcome:?}\n{text}");
    outcome
}
