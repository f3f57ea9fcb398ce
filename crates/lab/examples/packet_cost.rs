//! A run of a scenario in one process, without a warm-up: `packet_cost FILE SECONDS`. It prints one line of JSON.
//! benches/instructions.py counts the instructions of two durations: their difference has no set-up.

use ackclock_lab::{Run, Scenario, Settings};
use units::Span;

fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().expect("a scenario file");
    let seconds: f64 = args.next().and_then(|a| a.parse().ok()).expect("a number of seconds");
    let text = std::fs::read_to_string(&file).expect("a file that can be read");
    let mut scenario = Scenario::parse(&file, &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    scenario.duration = Span::from_seconds(seconds);
    scenario.warmup = Span::ZERO;
    let mut run = Run::new(&scenario, Settings::default()).unwrap_or_else(|error| panic!("{error}"));
    run.finish();
    let (cost, _) = run.cost();
    let data_packets: u64 = run.outcome().flows.iter().map(|flow| flow.sent_packets).sum();
    println!(
        "{{\"data_packets\": {data_packets}, \"packet_hops\": {}, \"events\": {}, \"cpu_s\": {}}}",
        cost.packet_hops, cost.events, cost.cpu_s
    );
}
