//! Runs with the auditor, and copies of runs.
#![allow(dead_code)] // each test uses a part

use lab::{Outcome, Recording, Run, Scenario, Settings};
use units::{Span, Time};

pub fn scenario(text: &str, assignments: &[&str]) -> Scenario {
    let assignments: Vec<String> = assignments.iter().map(|one| one.to_string()).collect();
    Scenario::parse("test.toml", text, &assignments).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The outcome of a run in which the auditor has nothing to say.
pub fn outcome(text: &str, assignments: &[&str]) -> Outcome {
    let recording = Recording { audit: true, ..Recording::default() };
    let scenario = scenario(text, assignments);
    let mut run = Run::new(&scenario, Settings { recording, ..Settings::default() }).unwrap();
    run.finish();
    let (violations, count) = run.audit();
    assert_eq!(count, 0, "{:?}\n{text}", violations.first());
    run.outcome()
}

/// Why a scenario is refused.
pub fn refusal(text: &str, assignments: &[&str]) -> String {
    let assignments: Vec<String> = assignments.iter().map(|one| one.to_string()).collect();
    Scenario::parse("test.toml", text, &assignments).unwrap_err().to_string()
}

/// The outcome of a run of 5 s with a warm-up of 1.5 s; a copy of it at 2.5 s has the same.
pub fn copied(text: &str) -> Outcome {
    let scenario = scenario(text, &["duration=5s", "warmup=1.5s"]);
    let run = || Run::new(&scenario, Settings::default()).unwrap();
    let mut whole = run();
    whole.finish();
    let mut first = run();
    first.advance_to(Time::ZERO + Span::from_ms(2500));
    let mut copy = first.fork().unwrap();
    copy.finish();
    let strip = |json: String| json.split(",\"engine\"").next().unwrap().to_string();
    assert_eq!(strip(whole.outcome().to_json()), strip(copy.outcome().to_json()));
    whole.outcome()
}
