//! The speed benchmark's dumbbell in one process: `dumbbell FLOWS [SECONDS] [RATE]`, one JSON line.
//! Used by benches/ (callgrind counts its instructions).

use lab::{Run, Settings, dumbbell};
use units::{Rate, Span};

fn main() {
    let mut args = std::env::args().skip(1);
    let flows: u32 = args.next().and_then(|a| a.parse().ok()).unwrap_or(100);
    let seconds: f64 = args.next().and_then(|a| a.parse().ok()).unwrap_or(100.0);
    let rate: Rate = args.next().and_then(|a| a.parse().ok()).unwrap_or(Rate::from_bps(100_000_000));
    let mut run = match Run::new(&dumbbell(flows, rate, Span::from_seconds(seconds)), Settings::default()) {
        Ok(run) => run,
        Err(error) => return eprintln!("{error}"),
    };
    run.finish();
    let (cost, goodput) = run.cost();
    println!(
        "{{\"flows\": {flows}, \"packet_hops\": {}, \"events\": {}, \"cpu_s\": {}, \"hops_per_cpu_s\": {:.0}, \"goodput_bps\": {goodput:.0}}}",
        cost.packet_hops,
        cost.events,
        cost.cpu_s,
        cost.packet_hops as f64 / cost.cpu_s
    );
}
