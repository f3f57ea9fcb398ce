//! The comparison of stacks with references, tried on the laboratory's own controllers.
#![cfg(feature = "conform")]

use ackclock::conform::{Conformance, Standing};
use std::sync::atomic::AtomicBool;

fn compared(theirs: &str, reference: &str, situations: &[&str], seeds: u64) -> ackclock::conform::Report {
    Conformance::new("ours")
        .controller(theirs, reference)
        .reno("reno")
        .situations(situations.iter().copied())
        .seeds(seeds)
        .run_simulated(&|_| (), &AtomicBool::new(false))
        .unwrap()
}

#[test]
fn a_controller_agrees_with_itself() {
    let report = compared("cubic:rfc9438", "cubic:rfc9438", &["bdp", "loss", "start", "two"], 5);
    assert_eq!(report.with(Standing::Differs).count(), 0);
    assert!(report.with(Standing::Agrees).count() >= 5);
    report.assert();
}

#[test]
fn another_decrease_differs() {
    let report = compared("cubic:rfc9438,beta=0.5", "cubic:rfc9438", &["deep", "light-loss"], 8);
    let differs: Vec<_> = report.with(Standing::Differs).collect();
    assert!(
        differs.iter().any(|(situation, metric)| situation.name == "light-loss" && metric.name == "goodput")
    );
    let (situation, metric) = differs[0];
    assert!(
        metric.checks.iter().any(|check| check.contains("fresh seeds say the same")),
        "{:?}",
        metric.checks
    );
    assert!(metric.checks.iter().any(|check| check.contains("Reno agrees with ours")), "{:?}", metric.checks);
    let sentence = report.sentence(situation, metric);
    assert!(sentence.contains("the stack had delivered") || situation.divergence.is_none(), "{sentence}");
}
