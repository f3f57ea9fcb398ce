//! Fingerprints: recorded hashes of every packet event, and of the outcome, of some two hundred scenarios. They must
//! not depend on builds, machines or threads; tests/test_fingerprints.py compares the same list in the release build.
//!
//! After a change of results, run `ACKCLOCK_FINGERPRINTS=write cargo test -p ackclock-lab --test fingerprints`, and add a
//! line to CHANGELOG.md.

use ackclock_lab::{Recording, Run, Settings, Study};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fingerprints");
const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fingerprints/list.txt");

/// Every study with its name, in the order of the names.
fn studies() -> Vec<(String, Study)> {
    let mut files: Vec<_> = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let study =
            Study::parse(path.to_str().unwrap(), &text, &[]).unwrap_or_else(|error| panic!("{error}"));
        (name, study)
    };
    files.iter().map(read).collect()
}

/// FNV-1a of an outcome, but for what the run cost.
fn fnv(outcome: &str) -> u64 {
    let what = outcome.split(",\"engine\"").next().unwrap();
    what.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ byte as u64).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// One line for each point of each study, computed with `threads` threads.
fn lines(threads: usize) -> Vec<String> {
    let studies = studies();
    let jobs: Vec<(usize, usize)> = studies
        .iter()
        .enumerate()
        .flat_map(|(s, (_, study))| (0..study.points()).map(move |p| (s, p)))
        .collect();
    let lines = Mutex::new(vec![String::new(); jobs.len()]);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let job = next.fetch_add(1, Ordering::Relaxed);
                    let Some((s, point)) = jobs.get(job) else { return };
                    let (name, study) = &studies[*s];
                    let settings = Settings {
                        recording: Recording { fingerprint: true, ..Recording::default() },
                        ..Settings::default()
                    };
                    let mut run = Run::new(&study.scenario(*point).unwrap(), settings).unwrap();
                    run.finish();
                    let outcome = run.outcome().to_json();
                    let line = format!("{name} {point} {} {:016x}", &run.fingerprint()[..24], fnv(&outcome));
                    lines.lock().unwrap()[job] = line;
                }
            });
        }
    });
    lines.into_inner().unwrap()
}

#[test]
fn two_hundred_runs_on_two_threads_have_the_recorded_fingerprints() {
    let now = lines(2);
    let events: BTreeSet<&str> = now.iter().filter_map(|line| line.split(' ').nth(2)).collect();
    assert!(events.len() >= 200, "only {} of {} scenarios differ in their packets", events.len(), now.len());
    if std::env::var("ACKCLOCK_FINGERPRINTS").is_ok_and(|what| what == "write") {
        std::fs::write(LIST, now.join("\n") + "\n").unwrap();
    }
    let recorded: Vec<String> = std::fs::read_to_string(LIST).unwrap().lines().map(str::to_string).collect();
    let changed: Vec<_> = now.iter().zip(&recorded).filter(|(now, before)| now != before).collect();
    assert!(changed.is_empty() && now.len() == recorded.len(), "changed: {changed:?}");
}
