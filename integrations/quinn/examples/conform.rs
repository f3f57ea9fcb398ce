//! quinn beside the reference, in the five quick situations: `cargo run --release --example conform reno > report.json`.
//! Controllers: reno, cubic, bbr.

use ackclock::conform::Conformance;
use ackclock::network::{Endpoint, FlowEnd, StackError};
use ackclock_quinn::Peer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let controller = std::env::args().nth(1).unwrap_or("reno".into());
    let reference = match controller.as_str() {
        "cubic" => "cubic:rfc9438",
        "bbr" => "bbr:v1",
        _ => "reno",
    };
    let conformance = Conformance::new("quinn").version("0.11.19").controller(&controller, reference).reno("reno").quick();
    let report = conformance.run(|case| {
        let end = |end| Peer::new(end, case.seed, &case.controller, case.application.bytes);
        let ends: [Box<dyn Endpoint>; 2] = [Box::new(end(FlowEnd::Source)?), Box::new(end(FlowEnd::Destination)?)];
        Ok::<_, StackError>(ends)
    })?;
    eprint!("{report}");
    println!("{}", report.to_json());
    Ok(())
}
