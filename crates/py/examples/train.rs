//! The workload of profile-guided optimisation (`make pgo`): the dumbbell of the speed benchmark with 1 to 10,000 flows, the
//! shipped scenarios and the first point of each study of the fingerprints, over TCP and QUIC, each for the same number
//! of events at most, without a recording and with the window trace. It reads the scenarios below the present folder, and
//! prints the numbers of runs and events. The example belongs to this crate so that it is built with the features of the
//! Python extension: a profile applies to functions of the same name, and the names depend on the features.

use lab::{Recording, Run, Scenario, Settings, Study, TraceMode, dumbbell};
use std::path::PathBuf;
use units::{Rate, Span};

/// Largest number of events of a run.
const EVENTS: u64 = 300_000;
const FOLDERS: [&str; 2] = ["scenarios", "crates/lab/tests/fingerprints"];

fn main() {
    let mut scenarios: Vec<Scenario> = [(1, 100), (10, 100), (100, 100), (1_000, 1_000), (10_000, 10_000)]
        .map(|(flows, mbps)| dumbbell(flows, Rate::from_bps(mbps * 1_000_000), Span::from_seconds(100.0)))
        .into();
    for file in FOLDERS.into_iter().flat_map(files) {
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let study = Study::parse(&file.to_string_lossy(), &text, &[]).unwrap_or_else(|e| panic!("{e}"));
        scenarios.push(study.scenario(0).unwrap_or_else(|e| panic!("{e}")));
    }
    let over_quic: Vec<_> =
        scenarios.iter().filter_map(|scenario| Some(scenario.over_quic().ok()?.0)).collect();
    scenarios.extend(over_quic);
    let (mut runs, mut events) = (0, 0);
    for scenario in &scenarios {
        for recording in
            [Recording::default(), Recording { trace: TraceMode::Changes, ..Recording::default() }]
        {
            let settings = Settings { recording, ..Settings::default() };
            let mut run = Run::new(scenario, settings).unwrap_or_else(|e| panic!("{e}"));
            run.advance(EVENTS);
            runs += 1;
            events += run.cost().0.events;
        }
    }
    println!("{runs} runs, {events} events");
}

/// The scenario files of a folder, by name.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{folder}: {e}"));
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}
