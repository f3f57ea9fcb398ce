//! Whole runs with pacing rates: those that routers grant, and those of controllers.

use ackclock_lab::{Outcome, Recording, Run, Scenario, Settings};

const TEXT: &str = include_str!("../../../scenarios/rcp.toml");

fn run(text: &str) -> Outcome {
    let scenario = Scenario::parse("rcp.toml", text, &[]).unwrap();
    let recording = Recording { audit: true, ..Recording::default() };
    let mut run = Run::new(&scenario, Settings { recording, ..Settings::default() }).unwrap();
    run.finish();
    assert_eq!(run.audit().1, 0);
    run.outcome()
}

#[test]
fn four_flows_get_a_quarter_each_and_leave_the_queue_empty() {
    let text = TEXT.replace("duration = \"60s\"", "duration = \"60s\"\nwarmup = \"30s\"");
    let outcome = run(&text);
    let total: f64 = outcome.flows.iter().map(|flow| flow.goodput_bps).sum();
    for flow in &outcome.flows {
        assert!((flow.goodput_bps / total - 0.25).abs() < 0.005, "{} of {total}", flow.goodput_bps);
        assert_eq!((flow.retransmitted_packets, flow.timeouts), (Some(0), Some(0)));
    }
    // 1000 of 1040 bytes are payload.
    assert!(total > 0.97 * 10e6 * 1000.0 / 1040.0, "{total}");
    assert!(outcome.links[0].mean_queue_packets < 3.0, "{}", outcome.links[0].mean_queue_packets);
}

#[test]
fn the_narrowest_router_decides() {
    let narrow = TEXT.replace(
        "ends  = [\"r2\", \"d\"]\nrate  = \"100Mbps\"\ndelay = \"5ms\"",
        "ends  = [\"r2\", \"d\"]\nrate  = \"4Mbps\"\ndelay = \"5ms\"\nrouter = { kind = \"rcp\" }\nqueue = { kind = \"droptail\", limit = \"200p\" }",
    );
    assert_ne!(narrow, TEXT);
    let outcome = run(&narrow);
    assert!(outcome.links.iter().all(|link| link.dropped_packets[net::DropReason::Queue] == 0));
    let total: f64 = outcome.flows.iter().map(|flow| flow.goodput_bps).sum();
    assert!((3.4e6..4e6).contains(&total), "{total}");
}

#[test]
fn xcp_shares_the_link_and_leaves_the_queue_empty() {
    let text = TEXT
        .replace("duration = \"60s\"", "duration = \"60s\"\nwarmup = \"30s\"")
        .replace("congestion_control = \"rcp\"", "congestion_control = \"xcp\"")
        .replace("kind = \"rcp\"", "kind = \"xcp\"");
    let outcome = run(&text);
    let total: f64 = outcome.flows.iter().map(|flow| flow.goodput_bps).sum();
    for flow in &outcome.flows {
        assert!((flow.goodput_bps / total - 0.25).abs() < 0.01, "{} of {total}", flow.goodput_bps);
        assert_eq!((flow.retransmitted_packets, flow.timeouts), (Some(0), Some(0)));
    }
    assert!(total > 0.95 * 10e6 * 1000.0 / 1040.0, "{total}");
    assert!(outcome.links[0].mean_queue_packets < 3.0, "{}", outcome.links[0].mean_queue_packets);
}

/// Timestamps and SACK blocks travel beside what routers write.
#[test]
fn timestamps_and_sack_leave_room_for_router_headers() {
    let linux = "receive_window     = 10000\nheader = 40\ntimestamps = ";
    for router in ["rcp", "xcp"] {
        let text = TEXT
            .replace("duration = \"60s\"", "duration = \"60s\"\nwarmup = \"30s\"")
            .replace("congestion_control = \"rcp\"", &format!("congestion_control = \"{router}\""))
            .replace("kind = \"rcp\"", &format!("kind = \"{router}\""));
        let [without, with] = ["false", "true"].map(|stamps| {
            run(&text
                .replace("receive_window     = 10000", &format!("{linux}{stamps}"))
                .replace("newreno", "sack"))
        });
        let total = |outcome: &Outcome| outcome.flows.iter().map(|flow| flow.goodput_bps).sum::<f64>();
        assert!((total(&with) / total(&without) - 1.0).abs() < 0.01, "{} {}", total(&without), total(&with));
        for flow in &with.flows {
            // With exact round-trip times the flows of XCP keep one order within its control period; the feedback of a
            // period may be used up before the last of them, whose share stays below a quarter.
            let off = if router == "xcp" { 0.02 } else { 0.005 };
            assert!((flow.goodput_bps / total(&with) - 0.25).abs() < off, "{router}: {}", flow.goodput_bps);
            assert_eq!((flow.retransmitted_packets, flow.timeouts), (Some(0), Some(0)));
        }
    }
}

/// A router that is not on the path has no effect: the request of the flow would return unchanged.
#[test]
fn the_router_must_be_on_the_flows_own_way() {
    let aside = TEXT.replace("router = { kind = \"rcp\" }", "")
        + "[[link]]\nends = [\"d\", \"e\"]\nrate = \"1Mbps\"\ndelay = \"1ms\"\nrouter = { kind = \"rcp\" }\n";
    let refused = Scenario::parse("rcp.toml", &aside, &[]).unwrap_err().to_string();
    assert!(
        refused.contains("flow.f0.tcp.congestion_control: rcp needs routers that grant rates"),
        "{refused}"
    );
}

#[test]
fn what_cannot_give_a_rate_is_refused() {
    let refused = |text: &str| Scenario::parse("rcp.toml", text, &[]).unwrap_err().to_string();
    let none = refused(&TEXT.replace("router = { kind = \"rcp\" }", ""));
    assert!(
        none.contains("flow.f0.tcp.congestion_control: rcp needs routers that grant rates; write router"),
        "{none}"
    );
    let feedback = refused(&TEXT.replace("congestion_control = \"rcp\"", "congestion_control = \"xcp\""));
    assert!(feedback.contains("xcp needs routers that send feedback"), "{feedback}");
    let other = refused(&TEXT.replace("kind = \"rcp\"", "kind = \"rpc\""));
    assert!(other.contains("did you mean \"rcp\"?"), "{other}");
    let period = refused(&TEXT.replace("kind = \"rcp\"", "kind = \"rcp\", period = \"1s\""));
    assert!(period.contains("from 1ms to 200ms"), "{period}");
}

#[test]
fn quick_start_begins_with_the_approved_rate_if_every_router_answers() {
    let text = r#"
duration = "2s"
[tcp]
profile = "ns2"
receive_window = 1000
quick_start = "5Mbps"
[[link]]
ends = ["s", "r1"]
rate = "100Mbps"
delay = "5ms"
[[link]]
ends = ["r1", "r2"]
rate = "10Mbps"
delay = "40ms"
router = { kind = "quick_start" }
[[link]]
ends = ["r2", "d"]
rate = "100Mbps"
delay = "5ms"
router = { kind = "quick_start" }
[[flow]]
name = "f"
from = "s"
to = "d"
bytes = "60kB"
"#;
    let outcome = |text: &str| run(text).flows[0].completion_s.unwrap();
    let approved = outcome(text);
    // 2.56 Mb/s are the header's rate below 5; in a round trip of 100 ms that is a window of 30 segments: 60 take two.
    assert!((0.3..0.45).contains(&approved), "{approved}");
    // A router that does not take part leaves the usual start, from two segments.
    let refused = outcome(&text.replacen("router = { kind = \"quick_start\" }\n", "", 1));
    assert!(refused > approved + 0.15, "{refused}");
    // The window of Enhanced RCP's code, whatever the rate.
    let whole = outcome(
        &text.replace("quick_start = \"5Mbps\"", "quick_start = \"5Mbps\"\nquick_start_window = 9999"),
    );
    assert!(whole < approved, "{whole}");
    let error = Scenario::parse("q.toml", &text.replace("5Mbps", "10kbps"), &[]).unwrap_err();
    assert!(error.to_string().contains("must be at least 80kbps"), "{error}");
}

/// A path of 1 Mb/s with an outage. The goodput in kb/s of a flow with this controller.
fn after_an_outage(controller: &str, recovery: &str, mss: u32) -> f64 {
    let outcome = run(&format!(
        r#"
duration = "300s"
tcp = {{ profile = "ns2", recovery = "{recovery}", congestion_control = "{controller}", mss = {mss}, receive_window = 1000 }}
link = [{{ ends = ["a", "b"], rate = "1Mbps", delay = "300ms", queue = {{ kind = "droptail", limit = "50p" }}, loss = {{ kind = "blackout", times = [["1s", "3s"]] }} }}]
flow = [{{ name = "f", from = "a", to = "b" }}]
"#
    ));
    outcome.flows[0].goodput_bps / 1e3
}

/// The window of Prague grows only while it is the limit, so its pacing rate must let the window be used.
#[test]
fn the_pacing_rate_of_a_window_lets_the_window_be_used() {
    for recovery in ["newreno", "sack", "rack"] {
        for mss in [40, 536, 1000] {
            let [prague, dctcp] = ["prague", "dctcp"].map(|name| after_an_outage(name, recovery, mss));
            assert!(prague > 0.9 * dctcp, "{recovery}, {mss} bytes: {prague:.0} of {dctcp:.0} kb/s");
        }
    }
}
