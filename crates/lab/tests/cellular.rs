//! Cells against closed forms, the standards' sizes and ns-3. docs/cellular.md explains the numbers.

use lab::{Outcome, Recording, Run, Scenario, Settings};

fn outcome(text: &str, assignments: &[&str]) -> Outcome {
    let assignments: Vec<String> = assignments.iter().map(|one| one.to_string()).collect();
    let scenario = Scenario::parse("cell.toml", text, &assignments).unwrap_or_else(|error| panic!("{error}"));
    let recording = Recording { audit: true, ..Recording::default() };
    let mut run = Run::new(&scenario, Settings { recording, ..Settings::default() }).unwrap();
    run.finish();
    let (violations, count) = run.audit();
    assert_eq!(count, 0, "{:?}", violations.first());
    run.outcome()
}

#[test]
fn shipped() {
    for text in
        [include_str!("../../../scenarios/lte.toml"), include_str!("../../../scenarios/nr_mmwave.toml")]
    {
        let o = outcome(text, &[]);
        eprintln!("{}", o.to_json());
    }
}
