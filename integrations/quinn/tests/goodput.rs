//! Goodput in the reference network, and in others for the record.

use ackclock::network::{Driver, Endpoint, FlowEnd, Network, StackError};
use ackclock::{Recording, Scenario};
use ackclock_quinn::Peer;

const LOSS: [&str; 2] = [
    r#"link.bottleneck.loss={ kind = "bernoulli", rate = 0.01 }"#,
    r#"link.bottleneck.back={ loss = { kind = "none" } }"#,
];
const JITTER: [&str; 4] = [
    "duration=60s",
    "link.bottleneck.rate=50Mbps",
    "link.bottleneck.delay=10ms",
    r#"link.bottleneck.loss={ kind = "jitter", max = "5ms" }"#,
];

/// Goodput in Mb/s and fingerprint of a run.
fn run(controller: &str, seed: u64, changes: &[&str]) -> Result<(f64, String), StackError> {
    let changes: Vec<String> = changes.iter().map(|change| change.to_string()).collect();
    let scenario = Scenario::parse("scenario.toml", include_str!("../scenario.toml"), &changes)?;
    let recording = Recording { fingerprint: true, ..Recording::default() };
    let mut network = Network::open(&scenario).seed(seed).record(recording).start()?;
    let [from, to] = network.ports_of("bulk").ok_or("no flow `bulk`")?;
    let mut source = Peer::new(FlowEnd::Source, seed, controller, None)?;
    let mut destination = Peer::new(FlowEnd::Destination, seed, controller, None)?;
    Driver::new(&mut network).endpoint([from], &mut source).endpoint([to], &mut destination).run()?;
    let delivered = destination.sample().delivered_bytes.ok_or("nothing is delivered")?;
    let goodput = delivered as f64 * 8e-6 / network.end().seconds();
    Ok((goodput, network.fingerprint().ok_or("no fingerprint")?))
}

/// Checks that two runs have the same packets and a goodput within 0.5 % of `expected`, Mb/s.
#[track_caller]
fn check(controller: &str, expected: f64) {
    let (goodput, fingerprint) = run(controller, 1, &[]).unwrap();
    assert!((goodput / expected - 1.0).abs() < 0.005, "{controller}: {goodput:.3} Mb/s, not {expected}");
    assert_eq!(run(controller, 1, &[]).unwrap().1, fingerprint, "{controller}: two runs differ");
}

#[test]
fn reno_goodput() {
    check("reno", 19.020);
}

#[test]
fn cubic_goodput() {
    check("cubic", 19.08);
}

/// Prints goodputs: `cargo test --release -- --ignored --nocapture`.
#[test]
#[ignore = "prints figures"]
fn figures() {
    for seed in [1, 2, 3] {
        for controller in ["reno", "cubic", "bbr"] {
            let [bdp, loss, jitter] =
                [&[][..], &LOSS, &JITTER].map(|changes| run(controller, seed, changes).unwrap().0);
            println!("{controller}, seed {seed}: bdp {bdp:.3}, loss {loss:.3}, jitter {jitter:.3} Mb/s");
        }
    }
}
