//! Runs of scenarios in text, for tests.
#![allow(dead_code, reason = "not every test uses all")]

pub mod draw;

use ackclock_lab::{Recording, Run, Scenario, Settings, Study};
use std::sync::atomic::{AtomicUsize, Ordering};
use units::{Span, Time};

pub fn scenario(text: &str) -> Scenario {
    scenario_with(text, &[])
}

pub fn scenario_with(text: &str, assignments: &[&str]) -> Scenario {
    read(text, assignments).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Why a scenario is refused.
pub fn refusal(text: &str, assignments: &[&str]) -> String {
    read(text, assignments).unwrap_err().to_string()
}

fn read(text: &str, assignments: &[&str]) -> Result<Scenario, ackclock_lab::ScenarioError> {
    let assignments: Vec<String> = assignments.iter().map(|one| one.to_string()).collect();
    Scenario::parse("test.toml", text, &assignments)
}

pub fn finished(scenario: &Scenario, recording: Recording) -> Run {
    let mut run = Run::new(scenario, Settings { recording, ..Settings::default() }).unwrap();
    run.finish();
    run
}

/// The JSON of an outcome, but for what the run cost.
pub fn without_cost(outcome: &str) -> String {
    outcome.split(",\"engine\"").next().unwrap().to_string()
}

/// Runs with the auditor on; panics on any violation, and if a share of the outcome is not one.
pub fn audited(text: &str) -> ackclock_lab::Outcome {
    audited_with(text, &[])
}

pub fn audited_with(text: &str, assignments: &[&str]) -> ackclock_lab::Outcome {
    let mut run =
        finished(&scenario_with(text, assignments), Recording { audit: true, ..Recording::default() });
    let (violations, count) = run.audit();
    assert_eq!(count, 0, "{:#?}\n{text}", violations);
    let outcome = run.outcome();
    assert!(outcome.shares().all(|share| (0.0..=1.0).contains(&share)), "{outcome:?}\n{text}");
    outcome
}

/// The outcome of a run of 5 s with a warm-up of 1.5 s; a copy of it at 2.5 s has the same.
pub fn copied(text: &str) -> ackclock_lab::Outcome {
    let scenario = scenario_with(text, &["duration=5s", "warmup=1.5s"]);
    let mut whole = finished(&scenario, Recording::default());
    let mut first = Run::new(&scenario, Settings::default()).unwrap();
    first.advance_to(Time::ZERO + Span::from_ms(2500));
    let mut copy = first.fork().unwrap();
    copy.finish();
    assert_eq!(without_cost(&whole.outcome().to_json()), without_cost(&copy.outcome().to_json()));
    whole.outcome()
}

/// Calls `check` with the file, the point and the text of each point of each study of the fingerprints, on two threads.
pub fn each_fingerprint_scenario(check: impl Fn(&str, usize, &str) + Sync) {
    // From the folder of the crate, in which its tests run.
    let files = std::fs::read_dir("tests/fingerprints").unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    let studies: Vec<_> = files
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.to_str().unwrap().to_string();
            let points = Study::parse(&name, &text, &[]).unwrap().points();
            (name, text, points)
        })
        .collect();
    let jobs: Vec<_> =
        studies.iter().flat_map(|(name, text, points)| (0..*points).map(move |p| (name, text, p))).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((name, text, point)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(name, *point, text);
                }
            });
        }
    });
}
