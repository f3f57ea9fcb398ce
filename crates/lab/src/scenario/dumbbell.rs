//! The speed benchmark: a dumbbell topology with N flows, built without a file.

use super::model::{CongestionControl, Prepared};
use super::model::{Direction, Duplex, Flow, FlowKind, Scenario};
use super::model::{FlowStart, SetOptions, TcpFlow};
use net::qdisc::Queue;
use std::sync::Arc;
use transport::{Options, Recovery};
use units::{Limit, Rate, Span};

/// N sources, each on its own access link (1 Gb/s, 10 ms), a 10 ms bottleneck of `rate` with a drop-tail queue
/// of 750 packets, N sinks on links like the sources'; NewReno in the `ns2` profile with 1,000-byte packets,
/// starts spread over 100 ms.
pub fn dumbbell(flows: u32, rate: Rate, duration: Span) -> Scenario {
    let link = |a: String, b: String, rate: Rate, limit: Option<Limit>| {
        let queue = limit.map_or(Queue::UNLIMITED, Queue::droptail);
        let forward = Direction {
            rate,
            delay: Span::from_ms(10),
            queue,
            losses: Vec::new(),
            router: None,
            variation: None,
        };
        let back = Direction { queue: Queue::UNLIMITED, ..forward.clone() };
        Duplex { name: None, ends: [a, b], directions: [forward, back] }
    };
    let access = Rate::from_bps(1_000_000_000);
    let mut links = vec![link("r1".into(), "r2".into(), rate, Some(Limit::Packets(750)))];
    let hosts: Vec<[String; 2]> = (0..flows).map(|i| [format!("s{i}"), format!("d{i}")]).collect();
    for [source, sink] in &hosts {
        links.push(link(source.clone(), "r1".into(), access, None));
        links.push(link("r2".into(), sink.clone(), access, None));
    }
    let window = (2 * 750 * 2 / flows.max(1)).max(4);
    let options = Options {
        recovery: Recovery::NewReno,
        packet: 960,
        window,
        initial_ssthresh: window as f64,
        ..Options::ns2()
    };
    let tcp = Arc::new(TcpFlow {
        control: CongestionControl::with_defaults("reno"),
        options,
        default_initial_window: None,
        options_set: SetOptions::default(),
        start: FlowStart::default(),
    });
    let flows = hosts
        .into_iter()
        .enumerate()
        .map(|(i, [from, to])| Flow {
            start: Span::from_ps(Span::from_ms(100).ps() / flows as u64 * i as u64),
            ..Flow::new(format!("f{i}"), from, to, FlowKind::Tcp(tcp.clone()))
        })
        .collect();
    Scenario {
        title: "dumbbell".into(),
        duration,
        warmup: Span::ZERO,
        cooldown: Span::ZERO,
        seed: 1,
        links,
        flows,
        traffic: Vec::new(),
        quic: None,
        delays: false,
        satellites: None,
        radio: None,
        wifi: Vec::new(),
        cells: Vec::new(),
        ecmp: false,
        is_study: false,
        changes: Vec::new(),
        prepared: Prepared::default(),
        advice: Vec::new(),
    }
}
