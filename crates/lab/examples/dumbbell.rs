//! The dumbbell of the speed benchmark in one process: `dumbbell FLOWS [SECONDS] [RATE] [QUEUE]`. It prints one line
//! of JSON. With `red` or `droptail` every queue is of that kind; RED's thresholds are never reached, so the packets
//! are the same with another queue. With `codel` the bottleneck has CoDel with a target that is never reached. With
//! `sack` or `rack` the senders have the `linux` profile, this recovery and too small a window for losses. With `quic` the
//! flows are QUIC flows.
//! benches/ uses it (callgrind counts its instructions).

use ackclock_lab::{FlowKind, Queue, Run, Scenario, Settings, dumbbell};
use net::qdisc::disciplines;
use params::Value;
use std::sync::Arc;
use transport::{Options, Recovery};
use units::{Limit, Rate, Span};

fn main() {
    let mut args = std::env::args().skip(1);
    let flows: u32 = args.next().and_then(|a| a.parse().ok()).unwrap_or(100);
    let seconds: f64 = args.next().and_then(|a| a.parse().ok()).unwrap_or(100.0);
    let rate: Rate = args.next().and_then(|a| a.parse().ok()).unwrap_or(Rate::from_bps(100_000_000));
    let queue = args.next();
    let mut scenario = dumbbell(flows, rate, Span::from_seconds(seconds));
    for direction in scenario.links.iter_mut().flat_map(|link| &mut link.directions) {
        let limit = direction.queue.limit(rate, Span::ZERO);
        let bounded = limit.is_some();
        // Bounded all the same, so that both are asked.
        let limit = Value::Limit(limit.unwrap_or(Limit::Packets(1 << 40)));
        let never = Value::Time(Span::from_ms(1_000_000_000));
        let threshold = |packets| Value::Limit(Limit::Packets(packets));
        let values = match queue.as_deref() {
            Some("codel") if bounded => {
                vec![("limit", limit), ("target", never.clone()), ("interval", never)]
            }
            Some("red") => vec![("limit", limit), ("min", threshold(1 << 41)), ("max", threshold(1 << 42))],
            Some("droptail") => vec![("limit", limit)],
            _ => continue,
        };
        let discipline = disciplines().find(|discipline| Some(discipline.name()) == queue.as_deref());
        let discipline = discipline.expect("the three names are those of disciplines");
        direction.queue = Queue::with(discipline, &values).expect("the values go together");
    }
    match queue.as_deref() {
        Some("sack") => set_recovery(&mut scenario, Recovery::Sack),
        Some("rack") => set_recovery(&mut scenario, Recovery::Rack),
        Some("quic") => {
            scenario = scenario.over_quic().expect("the controllers of the dumbbell run over QUIC").0
        }
        _ => {}
    }
    let mut run = match Run::new(&scenario, Settings::default()) {
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

/// Gives the senders the `linux` profile with `recovery`; with their windows together the bottleneck's queue is half full.
fn set_recovery(scenario: &mut Scenario, recovery: Recovery) {
    let most = 1125.0 / scenario.flows.len() as f64;
    for flow in &mut scenario.flows {
        if let FlowKind::Tcp(tcp) = &mut flow.kind {
            let tcp = Arc::make_mut(tcp);
            tcp.options = Options {
                recovery,
                packet: tcp.options.packet,
                max_cwnd: most,
                initial_ssthresh: most,
                ..Options::linux()
            };
        }
    }
}
