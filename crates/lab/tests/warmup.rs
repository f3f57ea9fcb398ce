//! A warm-up in the tables of media and of the radio network: each key is a sum, a mean over time, or a mean over packets.
//! A key that is in none of these lists fails. tests/test_warmup_keys.py does the same with flows and links.

mod common;

use common::audited_with;
use serde_json::Value;

const WHOLE_S: f64 = 6.0;
const WARMUP_S: f64 = 2.5;

const NAMES: &[&str] = &["channel", "name", "access"];
/// Values of the whole are those of the warm-up plus those of the rest.
const SUMS: &[&str] = &[
    "accesses",
    "aggregation",
    "attempts",
    "blocks",
    "collisions",
    "dropped_packets",
    "grants",
    "handovers",
    "lost_packets",
    "mac_drops",
    "marked_packets",
    "mcs",
    "mpdus",
    "offered_packets",
    "ppdus",
    "received_packets",
    "requests",
    "retry_drops",
    "routing_packets",
    "sent_packets",
    "slots",
    "unsolicited_bytes",
    "unused_bytes",
];
/// Means over time: weighted by the durations.
const OVER_TIME: &[&str] = &["airtime_share", "block_share", "block_use", "busy"];
/// Means over packets.
const OF_PACKETS: &[&str] = &[
    "block_error_rate",
    "collision_rate",
    "delivery_ratio",
    "mean_access_delay_s",
    "mean_aggregation",
    "mean_cqi",
    "mean_grant_bytes",
    "mean_grant_wait_s",
    "mean_hops",
    "mean_order_wait_s",
    "mean_sojourn_s",
    "retry_rate",
    "routing_load",
];
/// Quantiles over packets, within 1 %: those of the whole and of the rest can be equal.
const QUANTILES: &[&str] = &["p50_s", "p95_s", "p99_s", "p99_sojourn_s"];

const MEDIA: &str = r#"
delays = true
tcp = { ecn = true }
wifi = [{ name = "home", ap = "ap", standard = "ac", width = "80MHz", streams = 2 }]
cell = [{ name = "tower", station = "enb", kind = "lte", width = "10MHz" }]
link = [
  { ends = ["server", "ap"], rate = "1Gbps", delay = "10ms" },
  { ends = ["ap", "laptop"], rate = { kind = "wifi", medium = "home", snr = 12 } },
  { ends = ["server", "enb"], rate = "1Gbps", delay = "10ms" },
  { ends = ["enb", "phone"], rate = { kind = "cellular", medium = "tower", snr = 8 }, delay = "5ms" },
  { ends = ["user", "isp"], delay = "5ms",
    rate = { kind = "request_grant", rate = "20Mbps", channel = "100Mbps", profile = "docsis31" } },
  { ends = ["isp", "server"], rate = "10Mbps", delay = "10ms", queue = { kind = "dualpi2", limit = "200p" } },
]
flow = [
  { name = "laptop", from = "server", to = "laptop" },
  { name = "voice", from = "server", to = "laptop", udp = { rate = "100kbps", packet = 200 }, access = "vo" },
  { name = "phone", from = "server", to = "phone" },
  { name = "photos", from = "phone", to = "server", start = "1s" },
  { name = "cable", from = "user", to = "server", tcp = { congestion_control = "prague", ecn = true } },
]
"#;

const RADIO: &str = r#"
radio = { nodes = 3, mobility = { kind = "static", positions = [[0, 0], [200, 0], [400, 0]] } }
flow = [
  { name = "tcp", from = "n0", to = "n2" },
  { name = "udp", from = "n2", to = "n0", udp = { rate = "300kbps", packet = 500 } },
]
"#;

/// The outcome as JSON.
fn outcome(text: &str, duration_s: f64, warmup_s: f64) -> Value {
    let times = [format!("duration={duration_s}s"), format!("warmup={warmup_s}s")];
    let outcome = audited_with(text, &[&times[0], &times[1]]);
    serde_json::from_str(&outcome.to_json()).unwrap()
}

/// The numbers of a value: of a list or a table its parts; what is absent is zero.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().flat_map(numbers).collect(),
        Value::Object(table) => table.values().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap_or(0.0)],
    }
}

/// Compares a table after the warm-up with those of the whole and of the warm-up. Adds its keys to `seen`.
fn compare(place: &str, whole: &Value, early: &Value, late: &Value, seen: &mut Vec<String>) {
    let (Some(whole), Some(early), Some(late)) = (whole.as_object(), early.as_object(), late.as_object())
    else {
        panic!("{place} is not in all three");
    };
    for (key, rest) in late {
        let place = format!("{place}.{key}");
        let [all, first] = [whole, early].map(|table| table.get(key).unwrap_or(&Value::Null));
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0);
        let parts = || numbers(all).into_iter().zip(numbers(first)).zip(numbers(rest));
        seen.extend((!rest.is_null()).then(|| key.clone()));
        if NAMES.contains(&key.as_str()) {
            assert_eq!(rest, all, "{place}");
        } else if SUMS.contains(&key.as_str()) {
            assert!(
                parts().all(|((all, first), rest)| near(rest, all - first)),
                "{place}: {all} {first} {rest}"
            );
        } else if OVER_TIME.contains(&key.as_str()) {
            let weighted = |all, first| (all * WHOLE_S - first * WARMUP_S) / (WHOLE_S - WARMUP_S);
            let equal = parts().all(|((all, first), rest)| near(rest, weighted(all, first)));
            assert!(equal, "{place}: {all} {first} {rest}");
        } else if OF_PACKETS.contains(&key.as_str()) {
            // A value that is left as that of the whole run is wrong wherever the parts differ.
            let differ = |all: f64, first: f64| first > 0.0 && (all - first).abs() > 0.02 * all;
            let unchanged = |((all, first), rest)| differ(all, first) && rest == all;
            assert!(!parts().any(unchanged), "{place}: {all} {first} {rest}");
        } else if QUANTILES.contains(&key.as_str()) {
            assert!(rest.as_f64().is_some_and(|value| value > 0.0), "{place}: {rest}");
        } else if key == "categories" {
            let lists = [all, first, rest].map(|value| value.as_array().unwrap());
            for (index, rest) in lists[2].iter().enumerate() {
                compare(&place, &lists[0][index], &lists[1][index], rest, seen);
            }
        } else {
            panic!("{place}: what is it after a warm-up?");
        }
    }
}

#[test]
fn every_key_of_media_and_radio_excludes_the_warm_up() {
    let mut seen = Vec::new();
    for text in [MEDIA, RADIO] {
        let (whole, early) = (outcome(text, WHOLE_S, 0.0), outcome(text, WARMUP_S, 0.0));
        let late = outcome(text, WHOLE_S, WARMUP_S);
        if !late["radio"].is_null() {
            compare("radio", &whole["radio"], &early["radio"], &late["radio"], &mut seen);
        }
        for medium in ["wifi", "cell"] {
            for (index, rest) in late[medium].as_array().into_iter().flatten().enumerate() {
                compare(medium, &whole[medium][index], &early[medium][index], rest, &mut seen);
            }
        }
        for (index, rest) in late["links"].as_array().unwrap().iter().enumerate() {
            let (all, first) = (&whole["links"][index], &early["links"][index]);
            for part in ["wifi", "cell", "grants", "low_latency", "delay"] {
                if let Some(rest) = rest.get(part) {
                    compare(&format!("link.{part}"), &all[part], &first[part], rest, &mut seen);
                }
            }
        }
    }
    let missing = [NAMES, SUMS, OVER_TIME, OF_PACKETS, QUANTILES].concat();
    let missing: Vec<_> = missing.into_iter().filter(|key| !seen.iter().any(|name| name == key)).collect();
    assert!(missing.is_empty(), "the networks give these keys no value, so nothing is compared: {missing:?}");
}
