//! QUIC on networks that reorder, duplicate and delay: no connection is lost.
//!
//! `ACKCLOCK_QUIC_NETWORKS=10000 cargo test --release -p ackclock-lab --test quic_networks` tries more networks of the same
//! sequence.
#![cfg(feature = "quic")]

mod common;

use ackclock_lab::{FlowOutcome, Run, Scenario, Settings};
use common::draw::Draw;

/// Networks of every test run.
const NETWORKS: u64 = 150;

/// Runs the only flow of a scenario, a transfer of `bytes` bytes. Panics if it loses its connection or delivers other bytes.
fn transferred(text: &str, bytes: u64, seed: u64) -> FlowOutcome {
    let scenario = Scenario::parse("test.toml", text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut run = Run::new(&scenario, Settings { seed: Some(seed), ..Settings::default() }).unwrap();
    run.finish();
    let flow = run.outcome().flows.remove(0);
    assert_eq!(flow.connection_error, Some(None), "seed {seed}\n{text}");
    assert!(flow.delivered_bytes <= bytes, "{flow:#?}\n{text}");
    assert!(flow.completion_s.is_none() || flow.delivered_bytes == bytes, "{flow:#?}\n{text}");
    flow
}

/// A scenario in which delayed packets arrive after two updates of the keys and after many later packets.
fn late_packets(control: &str) -> String {
    format!(
        r#"
duration = "5s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "100Mbps"
delay = "1ms"
queue = {{ kind = "droptail", limit = "100p" }}
loss = {{ kind = "reorder", rate = 0.3, by = "30ms" }}
back = {{ loss = {{ kind = "none" }} }}
[[flow]]
name = "q"
from = "a"
to = "b"
bytes = "300kB"
quic = {{ congestion_control = "{control}" }}
"#
    )
}

#[test]
fn packets_of_earlier_key_phases_and_far_numbers_end_no_connection() {
    for control in ["bbr", "bbr3", "cubic"] {
        for seed in 1..=10 {
            let flow = transferred(&late_packets(control), 300_000, seed);
            assert!(flow.completion_s.is_some(), "{control} {seed}");
        }
    }
}

/// A network and a flow, and the bytes of its transfer.
fn drawn_scenario(draw: &mut Draw) -> (String, u64) {
    let (rate, delay, queue) =
        (draw.number(1.0, 1000.0), draw.number(0.05, 100.0), draw.number(4.0, 400.0) as u64);
    let (there, back) = (draw.losses(), draw.losses());
    let control = draw.one(&["reno", "cubic", "vegas", "bic", "westwood", "bbr", "bbr3", "prague"]);
    let size = draw.one(&["1200", "1472", "1472", "1472", "8972", "30000", "65527"]);
    let pacing = draw.one(&["stack", "none", "driver"]);
    let certificate = draw.one(&["800", "800", "16000"]);
    let ack_every = draw.one(&["", "", "", ", ack_every = 1", ", ack_every = 20"]);
    let window = draw.one(&["", "", "", ", receive_window = \"200kB\""]);
    let bytes = draw.number(1e4, 1e7) as u64;
    let text = format!(
        r#"
duration = "20s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "{rate:.3}Mbps"
delay = "{delay:.3}ms"
queue = {{ kind = "droptail", limit = "{queue}p" }}
loss = {there}
back = {{ loss = {back} }}
[[flow]]
name = "q"
from = "a"
to = "b"
bytes = "{bytes}B"
quic = {{ congestion_control = "{control}", max_datagram_size = {size}, pacing = "{pacing}", certificate_size = {certificate}{ack_every}{window} }}
"#
    );
    (text, bytes)
}

#[test]
fn no_connection_is_lost_on_generated_networks() {
    let count = std::env::var("ACKCLOCK_QUIC_NETWORKS").ok();
    let count = count.map_or(NETWORKS, |text| text.parse().expect("a number of networks"));
    let mut draw = Draw(1);
    let mut completed = 0;
    for seed in 0..count {
        let (text, bytes) = drawn_scenario(&mut draw);
        completed += transferred(&text, bytes, seed).completion_s.is_some() as u64;
    }
    assert!(completed * 10 > count * 8, "{completed} of {count} transfers are complete");
}
