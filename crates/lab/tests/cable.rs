//! Cable and fibre upstream, and what clumps of packets make of senders and receivers. docs/cable.md explains the numbers.

mod common;

use ackclock_lab::Outcome;
use common::{audited_with, copied, refusal};

const CABLE: &str = include_str!("../../../scenarios/cable.toml");

fn game_p95(o: &Outcome) -> f64 {
    o.flows.iter().find(|flow| flow.name == "game").and_then(|flow| flow.p95_delay_s).unwrap()
}

#[test]
fn a_lone_packet_waits_for_its_grant() {
    let text = r#"
duration = "100s"
delays = true
link = [{ ends = ["home", "isp"], rate = { kind = "request_grant", rate = "20Mbps", channel = "100Mbps" }, delay = "0ms", queue = { kind = "droptail", limit = "9p" } }]
flow = [{ name = "f", from = "home", to = "isp", udp = { rate = "79kbps", packet = 100 } }]
"#;
    let o = audited_with(text, &[]);
    // Requested at the next interval, granted two intervals later: 4 to 6 ms, and 8 us on the channel.
    let mean = o.flows[0].mean_delay_s.unwrap();
    assert!((mean / 0.005_008 - 1.0).abs() < 0.01, "{mean}");
    let grants = o.links[0].grants.as_ref().unwrap();
    assert!(grants.requests == grants.grants && grants.mean_grant_bytes == Some(100.0), "{grants:?}");
    let fibre = audited_with(text, &["link[0].rate.profile=gpon_fixed"]);
    assert!(fibre.flows[0].mean_delay_s.unwrap() < 0.0003);
}

#[test]
fn docsis_pie_holds_the_delay_of_an_upload() {
    let with = audited_with(CABLE, &[]);
    let without = audited_with(CABLE, &[r#"link.cable.queue={ kind = "droptail", limit = "250kB" }"#]);
    assert!(with.links[0].utilisation > 0.9 && without.links[0].utilisation > 0.95);
    assert!(game_p95(&with) * 1.5 < game_p95(&without), "{} {}", game_p95(&with), game_p95(&without));
    // Low-latency DOCSIS: a queue of its own for packets that say so, and grants without requests.
    let low = audited_with(
        CABLE,
        &[
            r#"link.cable.rate={ kind = "request_grant", rate = "20Mbps", channel = "100Mbps", profile = "docsis_ll", unsolicited = "400B" }"#,
            r#"link.cable.queue={ kind = "dualpi2" }"#,
            r#"flow.upload.tcp={ congestion_control = "prague", ecn = true }"#,
        ],
    );
    assert!(game_p95(&low) < game_p95(&with), "{} {}", game_p95(&low), game_p95(&with));
    let queue = low.links[0].low_latency.as_ref().unwrap();
    assert!(queue.mean_sojourn_s.is_some_and(|wait| wait < 0.006), "{queue:?}");
}

#[test]
fn a_warm_up_and_a_copy() {
    assert!(copied(CABLE).links[0].grants.as_ref().unwrap().requests > 100);
}

/// A transfer over a Wi-Fi link of 80 MHz by a sender that paces, whose receive window of `window` segments is below the
/// capacity of the path: packets in an A-MPDU, airtime for each Mbit, and ACKs for each segment.
fn over_wifi([from, to]: [&str; 2], window: u32, options: &str) -> (f64, f64, f64) {
    let text = format!(
        r#"
duration = "10s"
warmup = "2s"
wifi = [{{ name = "w", ap = "ap" }}]
link = [
  {{ name = "air", ends = ["ap", "sta"], rate = {{ kind = "wifi", medium = "w", errors = 0, rate_control = {{ kind = "fixed", mcs = 9 }} }} }},
  {{ name = "wire", ends = ["ap", "server"], rate = "10Gbps", delay = "5ms" }},
]
flow = [{{ name = "f", from = "{from}", to = "{to}", tcp = {{ congestion_control = "reno", pacing = true, receive_window = {window}, {options} }} }}]
"#
    );
    let o = audited_with(&text, &[]);
    let (data, acks) = if from == "sta" { (1, 0) } else { (0, 1) };
    let wifi = o.links[data].wifi.as_ref().unwrap();
    let ratio = o.links[acks].delivered_packets as f64 / o.links[data].delivered_packets as f64;
    (wifi.mean_aggregation.unwrap(), wifi.airtime_share / o.flows[0].goodput_bps * 1e6, ratio)
}

#[test]
fn longer_bursts_fill_longer_aggregates() {
    let of = |options: &str| over_wifi(["sta", "server"], 80, options);
    let [alone, short, long] = ["tso = false", "tso = true", "tso = true, pacing_shift = 7"].map(of);
    assert!(alone.0 * 1.3 < short.0 && short.0 * 1.05 < long.0, "{alone:?} {short:?} {long:?}");
    assert!(long.1 < short.1 && short.1 < 0.9 * alone.1, "airtime: {alone:?} {short:?} {long:?}");
}

#[test]
fn a_sender_with_small_queues_fills_aggregates_by_its_pacing_shift() {
    let upload = |shift: u32| {
        let text = format!(
            r#"
duration = "10s"
warmup = "2s"
wifi = [{{ name = "w", ap = "ap", standard = "ax" }}]
link = [
  {{ name = "air", ends = ["sta", "ap"], rate = {{ kind = "wifi", medium = "w", errors = 0, rate_control = {{ kind = "fixed", mcs = 9 }} }} }},
  {{ name = "wire", ends = ["ap", "server"], rate = "10Gbps", delay = "5ms" }},
]
flow = [{{ name = "f", from = "sta", to = "server", tcp = {{ congestion_control = "bbr", tso = true, small_queues = true, pacing_shift = {shift} }} }}]
"#
        );
        let o = audited_with(&text, &[]);
        let mpdus = o.links[0].wifi.as_ref().unwrap().mean_aggregation.unwrap();
        (o.flows[0].goodput_bps, mpdus, o.flows[0].limited_s[4])
    };
    let [short, long] = [upload(10), upload(7)];
    assert!(long.0 > 1.1 * short.0 && long.1 > 2.0 * short.1, "{short:?} {long:?}");
    assert!(short.2 > 1.0, "the queue of its host limits it: {short:?}");
}

#[test]
fn small_queues_bound_the_queue_of_a_host() {
    let of = |options: &str| {
        let text = format!(
            r#"
duration = "10s"
link = [{{ name = "l", ends = ["a", "b"], rate = "20Mbps", delay = "20ms", queue = {{ kind = "QUEUE", limit = "500p" }} }}]
flow = [{{ name = "f", from = "a", to = "b", tcp = {{ congestion_control = "cubic", {options} }} }}]
"#
        );
        text
    };
    let run = |options: &str, queue: &str| audited_with(&of(options).replace("QUEUE", queue), &[]);
    for queue in ["droptail", "fq_codel", "codel"] {
        let plain = run("tso = true", queue);
        let small = run("tso = true, small_queues = true", queue);
        // Two bursts of two segments, of which one is in transmission.
        assert!(small.links[0].mean_queue_packets <= 4.0, "{queue}: {}", small.links[0].mean_queue_packets);
        assert!(small.flows[0].goodput_bps > 0.93 * plain.flows[0].goodput_bps, "{queue}");
    }
    let refused = refusal(&of("small_queues = true").replace("QUEUE", "red"), &[]);
    assert!(refused.contains("small_queues needs hosts whose links are wires or Wi-Fi"), "{refused}");
}

#[test]
fn one_acknowledgement_for_an_aggregate() {
    let of = |options: &str| over_wifi(["server", "sta"], 100, options);
    let [each, merged] =
        ["tso = true, pacing_shift = 7, gro = false", "tso = true, pacing_shift = 7, gro = true"].map(of);
    assert!((each.2 - 0.5).abs() < 0.01 && merged.2 < 0.1, "{each:?} {merged:?}");
    assert!(merged.1 < each.1, "ACKs take airtime: {each:?} {merged:?}");
}

#[test]
fn a_queue_that_drops_what_waits_behind_a_transmission_stops_no_sender() {
    // FQ-CoDel drops at arrivals while BBR's limit falls below what is in the queue.
    let text = r#"
duration = "3s"
link = [{ ends = ["a", "b"], rate = "100Mbps", delay = "20ms", queue = { kind = "fq_codel", limit = "150p", target = "5ms" } }]
flow = [
  { name = "f", from = "a", to = "b", tcp = { congestion_control = "bbr", small_queues = true, pacing = true, tso = true, pacing_shift = 6 } },
  { name = "u", from = "a", to = "b", start = "1s", udp = { rate = "5Mbps", packet = 1400 } },
]
"#;
    let o = audited_with(text, &[]);
    assert!(o.flows[0].goodput_bps > 50e6, "{}", o.flows[0].goodput_bps);
    // A change drops what waits, and the sender goes on.
    let change =
        "[[change]]\nat = \"2s\"\nset = { \"link.a->b.queue\" = { kind = \"droptail\", limit = \"1p\" } }\n";
    let change = change.replace("link.a->b.queue", "link.\\\"a->b\\\".queue");
    assert!(audited_with(&(text.to_string() + &change), &[]).flows[0].goodput_bps > 40e6);
}
