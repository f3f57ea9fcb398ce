//! Goodput and drops beside quinn's own controllers, and beside QUIC flows of Ackclock.

mod network;

use ackclock_quinn_controllers::Factory;
use network::{AnyFactory, ECN, LOSS, Measured, SLOW, SMALLEST, laboratory, run, run_with};
use quinn_proto::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use std::sync::Arc;

fn ours(name: &str) -> AnyFactory {
    Arc::new(Factory::new(name).unwrap())
}

fn quinns(name: &str) -> AnyFactory {
    match name {
        "NewReno" => Arc::new(NewRenoConfig::default()),
        "Cubic" => Arc::new(CubicConfig::default()),
        _ => Arc::new(BbrConfig::default()),
    }
}

fn measure(factory: AnyFactory, changes: &[&str]) -> Measured {
    run(factory, 1, changes, None).unwrap()
}

/// The goodput of `measured` is within `part` of that of `reference`.
#[track_caller]
fn close(name: &str, measured: f64, reference: f64, part: f64) {
    assert!((measured / reference - 1.0).abs() < part, "{name}: {measured:.2} Mb/s, not {reference:.2}");
}

#[test]
fn as_much_as_quinns_own_controllers() {
    for changes in [&[][..], SLOW] {
        let reference = measure(quinns("Cubic"), changes);
        for name in ["reno", "cubic", "bbr3", "vegas"] {
            let measured = measure(ours(name), changes);
            close(name, measured.goodput, reference.goodput, 0.03);
            assert!(measured.drops < 2 * reference.drops.max(100), "{name}: {} drops", measured.drops);
        }
    }
    for (name, own) in [("reno", "NewReno"), ("cubic", "Cubic"), ("bbr3", "Bbr")] {
        close(name, measure(ours(name), LOSS).goodput, measure(quinns(own), LOSS).goodput, 0.1);
    }
}

#[test]
fn runs_are_equal() {
    for name in ["reno", "cubic", "bbr3", "vegas"] {
        let [first, second] = [(); 2].map(|()| measure(ours(name), LOSS).fingerprint);
        assert_eq!(first, second, "{name}");
    }
}

/// A controller gets the same events as in Ackclock's own QUIC flows, which read every packet.
#[test]
fn as_in_the_laboratory() {
    for name in ["reno", "cubic", "vegas", "veno", "westwood_plus", "illinois", "htcp", "ledbat_pp", "nv"] {
        for changes in [&[][..], LOSS] {
            let measured = run_with(ours(name), 1, changes, None, SMALLEST).unwrap();
            let (goodput, _) = laboratory(name, 1, changes).unwrap();
            close(name, measured.goodput, goodput, 0.03);
        }
    }
}

/// Prints the figures of the README, means of three seeds, and a comparison of all controllers with the laboratory, seed 1: `cargo test --test goodput -- --ignored --nocapture`.
#[test]
#[ignore = "prints figures"]
fn figures() {
    for (title, changes) in [
        ("20 Mb/s", vec![]),
        ("10 Mb/s", SLOW.to_vec()),
        ("20 Mb/s, 1 % loss", LOSS.to_vec()),
        ("10 Mb/s, 1 % loss", [SLOW, LOSS].concat()),
        ("20 Mb/s, CoDel with ECN", ECN.to_vec()),
    ] {
        println!("{title}: Mb/s, drops, marks, mean one-way delay in ms");
        let names = ["reno", "cubic", "bbr3", "vegas", "bbr", "copa", "vivace"];
        let own = ["quinn NewReno", "quinn Cubic", "quinn Bbr"];
        for name in own.into_iter().chain(names) {
            let mut sums = [0.0; 4];
            for seed in 1..=3 {
                let factory = name.strip_prefix("quinn ").map_or_else(|| ours(name), quinns);
                let Measured { goodput, drops, marks, delay_ms, .. } =
                    run(factory, seed, &changes, None).unwrap();
                let values = [goodput, drops as f64, marks as f64, delay_ms];
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value / 3.0);
            }
            let [goodput, drops, marks, delay_ms] = sums;
            println!("| {name} | {goodput:.2} | {drops:.0} | {marks:.0} | {delay_ms:.1} |");
        }
    }
    println!("1200 bytes: Mb/s and drops here, in the laboratory; then the same with 1 % loss");
    for registration in ackclock_quinn_controllers::CONTROLLERS {
        let name = registration.descriptor.name;
        let Ok(factory) = Factory::new(name) else { continue };
        let unpaced = factory.is_unpaced();
        let rows = [&[][..], LOSS].map(|changes| {
            let here = run_with(ours(name), 1, changes, None, SMALLEST).unwrap();
            let (goodput, drops) = laboratory(name, 1, changes).unwrap();
            format!("{:.2} | {} | {goodput:.2} | {drops}", here.goodput, here.drops)
        });
        println!("| {name}{} | {} |", if unpaced { " (unpaced)" } else { "" }, rows.join(" | "));
    }
}
