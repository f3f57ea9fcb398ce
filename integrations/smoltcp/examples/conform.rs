//! smoltcp beside the reference, in the five quick situations: `cargo run --release --example conform reno > report.json`.
//! Controllers: reno, cubic.

use ackclock::conform::Conformance;
use ackclock::network::{Endpoint, FlowEnd, StackError};
use ackclock_smoltcp::Peer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let controller = std::env::args().nth(1).unwrap_or("reno".into());
    let reference = match controller.as_str() {
        "cubic" => "cubic:rfc9438",
        _ => "reno",
    };
    let conformance = Conformance::new("smoltcp").version("0.14.0").controller(&controller, reference).reno("reno").quick().packets(0, 1500).granularity(ackclock::Span::from_us(1));
    let report = conformance.run(|case| {
        let end = |end| Peer::new(end, case.seed, &case.controller, case.application.bytes);
        let ends: [Box<dyn Endpoint>; 2] = [Box::new(end(FlowEnd::Source)?), Box::new(end(FlowEnd::Destination)?)];
        Ok::<_, StackError>(ends)
    })?;
    eprint!("{report}");
    println!("{}", report.to_json());
    Ok(())
}
