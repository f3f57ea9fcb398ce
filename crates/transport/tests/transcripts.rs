//! Every recovery over lossy paths: the transcript of all packets and states is that of `transcripts.txt`.
//!
//! The recorded lines follow from code that agrees with ns-2 row by row (validation/ns2) and with a Linux kernel event by
//! event (validation/linux). After a wanted change of behaviour run `ACKCLOCK_TRANSCRIPTS=write cargo test -p
//! ackclock-transport --test transcripts`.

mod closed_loop;

use ackclock_transport::{
    IdleRestart, Options, Recovery, ReduceFrom, ReductionKind, ReorderingWindow, TimerClock, UndoBy,
};
use ackclock_transport::{RtoEstimator, Validation};
use closed_loop::{Exchange, Path};
use units::{Span, Time};

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transcripts.txt");

fn paths() -> Vec<(&'static str, Path)> {
    let clean = Path { queue: 12, ..Path::default() };
    vec![
        ("overflow", clean),
        ("losses", Path { loss: 25, ..clean }),
        ("bursts and lost ACKs", Path { loss: 90, ack_loss: 200, ..clean }),
        ("marks", Path { mark: 30, loss: 5, ..clean }),
        ("reordering", Path { late: 30, loss: 4, ..clean }),
        ("outage", Path { outage: true, loss: 5, ..clean }),
    ]
}

/// Options that differ from a profile, by name.
fn variants() -> Vec<(String, Options)> {
    let mut lines = Vec::new();
    for (recovery, name) in Recovery::ALL.iter().copied() {
        for (profile, options) in [("ns2", Options::ns2()), ("linux", Options::linux())] {
            let plain = Options { recovery, window: 200, ecn: true, ..options };
            lines.push((format!("{name} {profile}"), plain.clone()));
            let other = Options {
                limited_transmit: false,
                timestamps: !plain.timestamps,
                delayed_ack: !plain.delayed_ack,
                impatient: false,
                partial_deflation: false,
                ecn: false,
                max_burst: 4,
                ..plain.clone()
            };
            lines.push((format!("{name} {profile} other"), other));
            let third =
                Options { pacing: true, syn: false, delay_growth: false, initial_window: 4.0, ..plain };
            lines.push((format!("{name} {profile} paced"), third));
        }
    }
    let rack = Options { window: 200, ecn: true, ..Options::linux() };
    for (kind, name) in ReductionKind::ALL {
        lines.push((format!("reduction {name}"), Options { reduction: *kind, ..rack.clone() }));
    }
    for (window, name) in ReorderingWindow::ALL {
        lines.push((
            format!("reordering window {name}"),
            Options { reordering_window: *window, ..rack.clone() },
        ));
    }
    let none = UndoBy { dsack: false, timestamps: false, frto: false };
    let more = [
        ("no sack", Options { sack: false, ..rack.clone() }),
        ("no sack, no timestamps", Options { sack: false, timestamps: false, ..rack.clone() }),
        ("no timestamps", Options { timestamps: false, sack_blocks: 4, ..rack.clone() }),
        ("no probe", Options { tail_loss_probe: false, ..rack.clone() }),
        ("no undo", Options { undo: none, ..rack.clone() }),
        ("undo by frto", Options { undo: UndoBy { frto: true, ..none }, ..rack.clone() }),
        (
            "undo by dsack",
            Options { undo: UndoBy { dsack: true, ..none }, timestamps: false, ..rack.clone() },
        ),
        ("from flight", Options { reduce_from: ReduceFrom::Flight, ..rack.clone() }),
        ("rfc6298", Options { rto_estimator: RtoEstimator::Rfc6298, ..rack.clone() }),
        ("kernel timers", Options { timer: TimerClock::Linux, ..rack.clone() }),
        ("rfc7661", Options { validation: Validation::Rfc7661, ..rack.clone() }),
        ("combined ACKs", Options { ack_compression: true, ..rack.clone() }),
        ("no validation", Options { validation: Validation::None, ..rack.clone() }),
        ("small receive window", Options { window: 9, ..rack.clone() }),
        ("ack every 4", Options { ack_every: 4, quick_acks: 2, ..rack.clone() }),
        ("no dsack", Options { dsack: false, ..rack }),
    ];
    lines.extend(more.map(|(name, options)| (name.to_string(), options)));
    lines
}

#[test]
fn transcripts_are_the_recorded_ones() {
    let mut lines = Vec::new();
    for (name, options) in variants() {
        for (number, (path_name, path)) in paths().into_iter().enumerate() {
            let mut exchange = Exchange::new(&options, "reno", None, path, number as u64 + 1);
            exchange.run(Time::ZERO + Span::from_ms(4000));
            lines.push(format!("{name} | {path_name} | {}", exchange.summary()));
        }
        // Controllers that use duplicate ACKs, round-trip times, delivered segments, and (with `rack`) rates and losses.
        let rates: &[&str] = if options.recovery == Recovery::Rack { &["bbr", "bbr3"] } else { &[] };
        for controller in ["vegas", "westwood", "cubic"].iter().chain(rates) {
            let path = Path { loss: 25, ack_loss: 50, queue: 12, ..Path::default() };
            let mut exchange = Exchange::new(&options, controller, None, path, 7);
            exchange.run(Time::ZERO + Span::from_ms(3000));
            lines.push(format!("{name} | {controller} | {}", exchange.summary()));
        }
    }
    if std::env::var("ACKCLOCK_TRANSCRIPTS").is_ok_and(|what| what == "write") {
        std::fs::write(LIST, lines.join("\n") + "\n").unwrap();
    }
    let known = std::fs::read_to_string(LIST).unwrap();
    let changed: Vec<_> = lines.iter().zip(known.lines()).filter(|(now, was)| now != was).collect();
    assert!(changed.is_empty() && lines.len() == known.lines().count(), "changed: {changed:#?}");
}

#[test]
fn every_recovery_delivers_a_transfer() {
    for (name, options) in variants() {
        for (path_name, path) in paths() {
            let mut exchange = Exchange::new(&options, "reno", Some(120), path, 9);
            exchange.run(Time::ZERO + Span::from_ms(120_000));
            assert!(exchange.sender.completed().is_some(), "{name} | {path_name} | {}", exchange.summary());
            assert_eq!(exchange.receiver.in_order(), 120 + options.syn as u32, "{name} | {path_name}");
        }
    }
}

#[test]
fn writes_after_idle_times_restart_as_the_option_says() {
    use cc::Controller;
    for (restart, expected) in
        [(IdleRestart::Linux, 16.0), (IdleRestart::Rfc5681, 10.0), (IdleRestart::None, 32.0)]
    {
        let options = Options { idle_restart: restart, syn: false, delayed_ack: false, ..Options::linux() };
        let options = Options { validation: Validation::None, ..options };
        let path = Path { queue: 100, ..Path::default() };
        let mut exchange = Exchange::new(&options, "reno", None, path, 1);
        exchange.sender.write_in_portions();
        let lines = exchange.write_and_wait(&[(0, 22), (400, 3)]);
        assert_eq!(lines, expected, "{restart:?}");
        assert!(exchange.sender.controller().ssthresh() >= 24.0);
    }
}
