//! sctp-proto over a bottleneck of 20 Mb/s, and its congestion control beside Reno.

use ackclock::conform::{Case, Conformance};
use ackclock::network::{Driver, Network};
use ackclock::{Recording, Scenario};
use sctp_proto_over_ackclock::ends;

/// Goodput in bit/s, dropped datagrams, and the fingerprint.
fn bulk() -> Result<(f64, u64, String), Box<dyn std::error::Error>> {
    let scenario = Scenario::parse("scenario.toml", include_str!("../scenario.toml"), &[])?;
    let recording = Recording { fingerprint: true, ..Recording::default() };
    let mut network = Network::open(&scenario).record(recording).start()?;
    let [from, to] = network.ports_of("stack").expect("the flow of the scenario");
    let case = Case::of_network(&network, "stack", "sctp")?;
    let [mut source, mut destination] = ends(&case).map_err(|error| error.to_string())?;
    Driver::new(&mut network).endpoint([from], &mut *source).endpoint([to], &mut *destination).run()?;
    let counts = network.counts(from)?;
    let fingerprint = network.fingerprint().expect("it is recorded");
    Ok((network.goodput(from)?, counts.dropped.iter().sum(), fingerprint))
}

#[test]
fn a_bulk_transfer_fills_the_bottleneck_and_repeats() {
    let (goodput, drops, fingerprint) = bulk().unwrap();
    println!("{:.3} Mb/s, {drops} drops, {fingerprint}", goodput / 1e6);
    assert!((10e6..20e6).contains(&goodput), "{goodput} bit/s");
    assert!(drops > 0, "the window never reached the queue's limit");
    assert_eq!((goodput, drops, fingerprint), bulk().unwrap());
}

/// Prints the verdicts; what they are is a matter of the stack.
#[test]
fn sctp_beside_reno() {
    let report = Conformance::new("sctp-proto")
        .version("0.10.8")
        .controller("sctp", "reno")
        .quick()
        .run(ends)
        .unwrap();
    println!("{report}");
    assert!(!report.situations.is_empty());
}
