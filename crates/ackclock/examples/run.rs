//! Runs scenarios and prints what each flow got: `cargo run -p ackclock --example run scenarios/dumbbell.toml`.

use ackclock::{Run, Scenario, Settings};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    for file in std::env::args().skip(1) {
        let scenario = Scenario::parse(&file, &std::fs::read_to_string(&file)?, &[])?;
        let mut run = Run::new(&scenario, Settings::default())?;
        run.finish();
        println!("{file}");
        for flow in &run.outcome().flows {
            let control = flow.control.as_deref().unwrap_or("no controller");
            let resent = flow.retransmitted_packets.unwrap_or_default();
            println!("  {}: {control}, {:.2} Mb/s, {resent} resent", flow.name, flow.goodput_bps / 1e6);
        }
    }
    Ok(())
}
