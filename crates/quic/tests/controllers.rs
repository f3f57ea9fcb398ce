//! Every registered controller over QUIC: those that are offered run, the others are refused with a reason.

mod common;

use ackclock_quic::{Config, missing_signal};
use cc::{CONTROLLERS, Controller, Phase};
use common::{Path, Pipe, controller};
use units::{Span, Time};

/// The settings with which a controller runs over QUIC.
fn settings(name: &str) -> Config {
    let marked = matches!(name, "dctcp" | "prague");
    Config { ecn: marked, l4s: name == "prague", ..Config::default() }
}

fn run(name: &str, seconds: u64) -> Pipe {
    let config = settings(name);
    let path = Path { mark_from: if config.ecn { 10 } else { usize::MAX }, ..Path::default() };
    let mut pipe = Pipe::new(&config, controller(name, &config, &[]), path);
    pipe.ends[0].write_endlessly();
    pipe.open();
    pipe.run(Time::ZERO + Span::from_ms(1000 * seconds));
    pipe
}

#[test]
fn every_controller_runs_or_is_refused_with_a_reason() {
    let mut refused = Vec::new();
    for descriptor in CONTROLLERS.iter().map(|registration| &registration.descriptor) {
        let config = settings(descriptor.name);
        let quic_controller = controller(descriptor.name, &config, &[]);
        if let Some(reason) = missing_signal(quic_controller.needs(), &config) {
            assert!(reason.starts_with("needs "), "{reason}");
            refused.push(descriptor.name);
            continue;
        }
        let pipe = run(descriptor.name, 5);
        let stats = pipe.stats();
        let context = format!("{}: {stats:?}", descriptor.name);
        assert_eq!(pipe.ends.each_ref().map(|end| end.connection_error()), [None; 2], "{context}");
        assert_eq!((stats.unmatched_acks, stats.unmatched_losses), (0, 0), "{context}");
        // rcp_plus is told a capacity of 1 Mb/s by default; lp yields to its queue as to that of others; swift and timely have
        // the constants of data centres.
        let least = match descriptor.name {
            "rcp_plus" | "lp" => 600_000,
            "swift" | "timely" => 200_000,
            _ => 10_500_000,
        };
        assert!(pipe.delivered() > least, "{context} {}", pipe.delivered());
        let stack = pipe.ends[0].stack_stats().map(|stats| stats.path.lost_packets);
        let state = pipe.handle.lock();
        let in_flight = state.in_flight().packets as u64;
        assert_eq!(stats.sent_packets, stats.acked_packets + stats.lost_packets + in_flight, "{context}");
        assert_eq!(stack, Some(stats.lost_packets), "{context}");
        assert!(
            state.in_flight().segments <= state.window_bytes() as f64 / 1472.0 + 2.0
                || state.phase() != Phase::Open
        );
    }
    assert_eq!(refused, ["rcp", "xcp"]);
}
