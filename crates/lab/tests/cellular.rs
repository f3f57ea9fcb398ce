//! Cells under TCP: rates, buffers, schedulers, every part at once. docs/specs/cellular.md explains the numbers.

mod common;

use ackclock_lab::Outcome;
use common::{audited_with, copied, refusal};

/// One user behind a wire of 5 ms, with a download.
const ONE: &str = r#"
duration = "20s"
cell = [{ name = "c", station = "enb", width = "20MHz" }]
link = [
  { name = "wire", ends = ["s", "enb"], rate = "10Gbps", delay = "5ms" },
  { name = "air", ends = ["enb", "u"], rate = { kind = "cellular", medium = "c", snr = 40, layers = 2 } },
]
flow = [{ name = "f", from = "s", to = "u" }]
"#;

#[test]
fn a_download_takes_the_peak() {
    let o = audited_with(ONE, &["warmup=5s"]);
    let rate = o.flows[0].goodput_bps / 150.752e6;
    assert!((0.93..0.98).contains(&rate), "{rate}");
    let cell = o.links[2].cell.as_ref().unwrap();
    assert!(cell.block_share > 0.99 && cell.block_error_rate == Some(0.0), "{cell:?}");
    assert!((o.links[2].utilisation - cell.block_share).abs() < 1e-3);
    assert!((o.cell[0].block_use[0] - cell.block_share).abs() < 1e-9);
    // 15,000 slots of 1 ms after the warm-up: none is served twice, none is left out.
    assert!((o.cell[0].slots as f64 / 15_000.0 - 1.0).abs() < 0.01);
}

#[test]
fn acknowledgements_wait_for_grants() {
    let o = audited_with(ONE, &[]);
    let up = o.links[3].cell.as_ref().unwrap();
    assert!(up.requests >= 1 && up.mean_grant_wait_s.is_some_and(|wait| (0.008..0.019).contains(&wait)));
    // A slot down and one up, and 10 ms of the wire; without a grant that is already there 8 ms more.
    assert!(o.flows[0].min_rtt_s.is_some_and(|rtt| rtt >= 0.012));
}

/// A user at a mean of about 5 Mb/s.
fn buffered(control: &str, queue: &str) -> Outcome {
    let assignments = [
        "cell.c.width=10MHz",
        r#"link.air.rate={ kind = "cellular", medium = "c", snr = 0.8, fading = { speed = "3kmph" } }"#,
        "link.wire.delay=20ms",
        "duration=60s",
        "warmup=10s",
        "delays=true",
        &format!("flow.f.tcp.congestion_control={control}"),
        &format!("link.air.queue={{ kind = {queue} }}"),
    ]
    .map(str::to_string);
    audited_with(ONE, &assignments.each_ref().map(String::as_str))
}

#[test]
fn a_deep_buffer_delays_what_fills_it() {
    let p95 = |o: &Outcome| o.flows[0].p95_delay_s.unwrap();
    let deep = r#""droptail", limit = "1000p""#;
    let [cubic, bbr, copa] = ["cubic", "bbr", "copa"].map(|control| buffered(control, deep));
    assert!((2e6..8e6).contains(&cubic.flows[0].goodput_bps), "{}", cubic.flows[0].goodput_bps);
    assert!(p95(&cubic) > 1.0, "{}", p95(&cubic));
    assert!(p95(&cubic) > p95(&bbr) && p95(&bbr) > p95(&copa), "{} {}", p95(&bbr), p95(&copa));
    let codel = buffered("cubic", r#""codel""#);
    assert!(p95(&codel) < 0.15, "{}", p95(&codel));
}

/// `users` with equal fading and downloads by UDP that always have data.
fn crowd(users: usize, about: &str) -> String {
    let mut text = format!(
        "duration = \"60s\"\ncell = [{{ name = \"c\", station = \"enb\", width = \"10MHz\", {about} }}]\n"
    );
    for user in 0..users {
        text += &format!(
            "[[link]]\nends = [\"enb\", \"u{user}\"]\nqueue = {{ kind = \"droptail\", limit = \"100p\" }}\n"
        );
        text += "rate = { kind = \"cellular\", medium = \"c\", snr = 12, fading = { speed = \"30kmph\" } }\n";
        text += &format!(
            "[[flow]]\nname = \"f{user}\"\nfrom = \"enb\"\nto = \"u{user}\"\nudp = {{ rate = \"30Mbps\", packet = 1500 }}\n"
        );
    }
    text
}

fn total(o: &Outcome) -> f64 {
    o.flows.iter().map(|flow| flow.goodput_bps).sum::<f64>() / 1e6
}

#[test]
fn schedulers_trade_throughput_for_equal_shares() {
    let of = |scheduler: &str| audited_with(&crowd(8, &format!("scheduler = \"{scheduler}\"")), &[]);
    let [turns, fair, largest] = ["round_robin", "proportional_fair", "max_ci"].map(of);
    assert!(total(&turns) * 1.15 < total(&fair), "{} {}", total(&turns), total(&fair));
    assert!(total(&fair) < total(&largest), "{} {}", total(&fair), total(&largest));
    assert!(fair.fairness.jain.is_some_and(|jain| jain > 0.99), "{:?}", fair.fairness.jain);
    let shares: Vec<f64> =
        fair.links.iter().step_by(2).map(|l| l.cell.as_ref().unwrap().block_share).collect();
    assert!(shares.iter().all(|share| (share * 8.0 - 1.0).abs() < 0.05), "{shares:?}");
    // Far users beside near ones: the largest rate starves them.
    let far = ["link[0].rate.snr=2", "link[1].rate.snr=2"];
    let jain = |scheduler: &str| {
        audited_with(&crowd(4, &format!("scheduler = \"{scheduler}\"")), &far).fairness.jain.unwrap()
    };
    assert!(jain("max_ci") < jain("proportional_fair"));
}

#[test]
fn a_user_without_traffic_changes_nothing() {
    let strip = |o: Outcome| -> Vec<f64> { o.flows.iter().map(|flow| flow.goodput_bps).collect() };
    let text = crowd(3, "scheduler = \"round_robin\"");
    let idle = r#"
[[link]]
ends = ["enb", "idle"]
rate = { kind = "cellular", medium = "c", snr = 5, fading = { speed = "3kmph" } }
"#;
    assert_eq!(strip(audited_with(&text, &[])), strip(audited_with(&(text.clone() + idle), &[])));
}

const SHIPPED: [&str; 2] =
    [include_str!("../../../scenarios/lte.toml"), include_str!("../../../scenarios/nr_mmwave.toml")];

#[test]
fn a_run_can_be_copied_and_has_a_warm_up() {
    for text in SHIPPED {
        assert!(copied(text).cell[0].block_use.iter().all(|part| (0.0..=1.001).contains(part)));
    }
}

#[test]
fn all_parts_at_once_pass_the_audit() {
    let parts = r#"
duration = "5s"
cell = [
  { name = "c", station = "a", kind = "nr", width = "20MHz", tdd = "DSUDU", attempts = 2, rlc = "um", idle = "decay" },
  { name = "d", station = "a", blocks = [["0s", 25], ["2s", 75]], scheduler = "round_robin", cqi_map = "gap", attempts = 1 },
]
link = [
  { name = "wire", ends = ["s", "a"], rate = "1Gbps", delay = "5ms" },
  { name = "x", ends = ["a", "x"], queue = { kind = "fq_codel" }, rate = { kind = "cellular", medium = "c", snr = 12, layers = 2, fading = { speed = "30kmph" }, shadowing = {}, blockage = { clear = "1s" }, drx = { cycle = "80ms", inactivity = "20ms" } } },
  { name = "y", ends = ["a", "y"], queue = { kind = "dualpi2" }, loss = { kind = "jitter", max = "2ms" }, rate = { kind = "cellular", medium = "d", snr = [["0s", 20], ["2s", 6]], handover = { at = ["2s", "3s"] } } },
  { name = "z", ends = ["z", "a"], rate = { kind = "cellular", medium = "d", mcs = 10 }, back = { rate = { kind = "cellular", snr = 8, handover = { at = ["1s"], mode = "seamless" } }, queue = { kind = "codel" } } },
]
flow = [
  { name = "x", from = "s", to = "x" },
  { name = "y", from = "s", to = "y", tcp = { congestion_control = "prague", ecn = true } },
  { name = "z", from = "z", to = "s" },
  { name = "w", from = "x", to = "z", start = "0.5s" },
  { name = "v", from = "s", to = "z", udp = { rate = "2Mbps" } },
]
"#;
    let o = audited_with(parts, &[]);
    assert!(o.flows.iter().all(|flow| flow.goodput_bps > 1e5), "{o:?}");
    assert_eq!(o.links[4].cell.as_ref().unwrap().handovers, 2);
}

#[test]
fn what_does_not_fit_is_refused() {
    for (assignment, part) in [
        ("link.air.rate.medium=d", "there is no [[cell]] called \"d\""),
        ("cell.c.station=s", "one end must be the base station of \"c\", which is \"s\""),
        ("link.air.back.rate=1Mbps", "both directions of a cellular link must have kind = \"cellular\""),
        ("link.air.loss={ kind = \"stall\", times = [] }", "a stall needs a transmitter of the link"),
        ("link.air.rate.layers=8", "layers: LTE has at most 4"),
        ("cell.c.mu=1", "is for kind = \"nr\" alone"),
        ("cell.c.width=100MHz", "there is no 100MHz here"),
        ("link.air.rate.snr=90", "90 is not between -50 and 80"),
        ("link.air.queue={ kind = \"red\", limit = \"9p\" }", "need a constant rate"),
        ("link.air.rate=1Mbps", "no link has the medium \"c\""),
    ] {
        let message = refusal(ONE, &[assignment, "link.air.delay=0ms"]);
        assert!(message.contains(part), "{assignment}: {message}");
    }
}
