//! Whole runs with radio. Every run is audited: carrier sense, NAV, one frame at a time, no routing loops, packet
//! conservation.

use ackclock_lab::{Outcome, Recording, Run, Scenario, Settings};

fn outcome_of(text: &str, seed: u64) -> Outcome {
    let scenario = Scenario::parse("s.toml", text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let recording = Recording { audit: true, ..Recording::default() };
    let mut run =
        Run::new(&scenario, Settings { seed: Some(seed), recording, ..Settings::default() }).unwrap();
    run.finish();
    let (violations, count) = run.audit();
    assert_eq!(count, 0, "{violations:#?}\n{text}");
    let mut plain = Run::new(&scenario, Settings { seed: Some(seed), ..Settings::default() }).unwrap();
    plain.finish();
    let (watched, unwatched) = (run.outcome(), plain.outcome());
    let flows = |o: &Outcome| format!("{:?} {:?}", o.flows, o.radio);
    assert_eq!(flows(&watched), flows(&unwatched), "watching changes the run");
    watched
}

/// Fixed nodes at `x` metres on a line.
fn line(x: &[u32], profile: &str, radio: &str, flows: &str) -> String {
    let places: Vec<String> = x.iter().map(|x| format!("[{x}, 100]")).collect();
    format!(
        r#"
duration = "20s"
[tcp]
profile = "ns2"
recovery = "newreno"
receive_window = 32
[radio]
nodes = {}
profile = "{profile}"
mobility = {{ kind = "static", positions = [{}] }}
{radio}
{flows}
"#,
        x.len(),
        places.join(", ")
    )
}

fn udp(from: u32, to: u32, rate: &str) -> String {
    format!(
        "[[flow]]\nfrom = \"n{from}\"\nto = \"n{to}\"\nstart = \"{}ms\"\nudp = {{ rate = \"{rate}\", packet = 1000 }}\n",
        500 + from
    )
}

fn tcp(from: &str, to: &str) -> String {
    format!("[[flow]]\nname = \"{from}-{to}\"\nfrom = \"{from}\"\nto = \"{to}\"\nstart = \"1s\"\n")
}

/// Moving nodes with the generator's traffic.
fn manet(nodes: u32, profile: &str, more: &str) -> String {
    format!(
        r#"
duration = "60s"
[radio]
nodes = {nodes}
area = ["700m", "700m"]
profile = "{profile}"
mobility = {{ kind = "random_waypoint", max_speed = "20mps", min_speed = "1mps", pause = "0s" }}
mac = {{ rate = "2Mbps", basic_rate = "1Mbps" }}
traffic = {{ kind = "cbrgen", seed = 3, connections = {nodes}, rate = 8.0, packet = 512 }}
{more}
"#
    )
}

/// kb/s from 0.5 s on.
fn throughput(outcome: &Outcome) -> f64 {
    outcome.flows.iter().map(|f| f.throughput_bps).sum::<f64>() * 20.0 / 19.5 / 1e3
}

/// Payload over the time that a frame takes, with the mean backoff: docs/specs/manet.md section 3.
#[test]
fn a_saturated_station_sends_what_the_closed_form_says() {
    for (profile, header, mean_slots) in [("ns2", 34, 15.0), ("std", 28, 15.5)] {
        for (rate, mbps) in [("1Mbps", 1.0), ("2Mbps", 2.0), ("5.5Mbps", 5.5), ("11Mbps", 11.0)] {
            for rts in [false, true] {
                let mac = format!(
                    "mac = {{ rate = \"{rate}\", basic_rate = \"1Mbps\", rts_threshold = {} }}",
                    if rts { 0 } else { 3000 }
                );
                let radio = format!("{mac}\nrouting = {{ kind = \"static\" }}");
                let got = throughput(&outcome_of(&line(&[0, 150], profile, &radio, &udp(0, 1, "7Mbps")), 1));
                let basic = |bytes: f64| 192.0 + 8.0 * bytes;
                let data = 192.0 + 8.0 * (1000.0 + header as f64) / mbps + 10.0 + basic(14.0);
                let rts = if rts { basic(20.0) + 10.0 + basic(14.0) + 10.0 } else { 0.0 };
                let expected = 8e6 / (50.0 + 20.0 * mean_slots + rts + data);
                let off = got / expected - 1.0;
                assert!(off.abs() < 0.004, "{profile} {rate} RTS {rts}: {got} kb/s, expected {expected}");
            }
        }
    }
}

#[test]
fn a_chain_halves_and_thirds_what_a_hop_carries() {
    let radio = "mac = { rate = \"2Mbps\", basic_rate = \"1Mbps\" }";
    let over = |hops: u32| {
        let x: Vec<u32> = (0..=hops).map(|i| 50 + 200 * i).collect();
        outcome_of(&line(&x, "ns2", radio, &tcp("n0", &format!("n{hops}"))), 1).flows[0].goodput_bps
    };
    let one = over(1);
    assert!((over(2) / one - 0.5).abs() < 0.02 && (over(3) / one - 0.3).abs() < 0.04);
}

/// Hidden nodes collide; with RTS the collisions are short.
#[test]
fn hidden_senders_need_rts() {
    let radio = |rts: u32| {
        format!(
            "propagation = {{ kind = \"two_ray\", carrier_sense_threshold = 3.652e-10 }}\nmac = {{ rate = \"2Mbps\", rts_threshold = {rts} }}\nrouting = {{ kind = \"static\" }}"
        )
    };
    let flows = udp(0, 1, "2.4Mbps") + &udp(2, 1, "2.4Mbps");
    let run = |rts| throughput(&outcome_of(&line(&[50, 250, 450], "ns2", &radio(rts), &flows), 1));
    let (with, without) = (run(0), run(3000));
    assert!(with > 1300.0 && without < 480.0, "{with} {without}");
}

#[test]
fn capture_is_an_option() {
    // n2 sends to n3, which is near. A distant sender interferes with the transmission from n0 to n1.
    let run = |capture: &str| {
        let radio = format!(
            "mac = {{ rate = \"2Mbps\", rts_threshold = 3000, capture = \"{capture}\" }}\nrouting = {{ kind = \"static\" }}"
        );
        let flows = udp(0, 1, "2Mbps") + &udp(3, 2, "2Mbps");
        let outcome = outcome_of(&line(&[0, 50, 510, 700], "std", &radio, &flows), 1);
        throughput(&outcome)
    };
    let (ns2, sinr, none) = (run("ns2"), run("sinr"), run("none"));
    // ns-2 captures the first of two frames; with the sum of interference (SINR) the nearer frame is captured even if
    // it is not the first.
    assert!(none < ns2 && ns2 < sinr, "{none} {ns2} {sinr}");
}

#[test]
fn moving_nodes_in_every_variant() {
    for (profile, more) in [
        ("ns2", ""),
        ("std", ""),
        ("std", "routing = { kind = \"aodv\", hello = \"1s\", link_layer_detection = false }"),
        ("std", "arp = false"),
        ("ns2", "propagation = { kind = \"shadowing\", exponent = 2.4, deviation_db = 4.0 }"),
        (
            "std",
            "propagation = { kind = \"friis\", carrier_sense_threshold = 1e-9, receive_threshold = 3e-9 }",
        ),
    ] {
        for seed in 1..=3 {
            let outcome = outcome_of(&manet(15, profile, more), seed);
            let radio = outcome.radio.unwrap_or_default();
            let delivered = radio.delivery_ratio.unwrap_or(0.0);
            let least = if more.contains("shadowing") { 0.1 } else { 0.5 };
            assert!(delivered > least, "{profile} {more} {seed}: {radio:?}");
            assert!(radio.routing_packets > 0 && radio.mean_hops.is_some_and(|hops| hops >= 1.0));
        }
    }
}

/// A network as dense as that of the paper: routes fail while packets wait for them.
#[test]
fn fifty_nodes_lose_no_packet_without_a_word() {
    for (profile, kind) in [("ns2", "cbr"), ("std", "cbr"), ("std", "tcp")] {
        let text =
            manet(50, profile, "").replace("700m", "600m").replace("60s", "30s").replace("8.0", "80.0");
        let text = text.replace("kind = \"cbrgen\"", &format!("kind = \"cbrgen\", type = \"{kind}\""));
        for seed in 1..=2 {
            let radio = outcome_of(&text, seed).radio.unwrap_or_default();
            assert!(radio.dropped_packets.values().sum::<u64>() > 50, "{profile} {kind}: {radio:?}");
        }
    }
}

/// Without a backoff before the first frame, stations that start at the same time must not collide forever.
#[test]
fn flows_that_start_together_both_start() {
    for (profile, routing) in [("std", "aodv"), ("std", "static"), ("ns2", "aodv")] {
        let radio = format!("routing = {{ kind = \"{routing}\" }}");
        let flows = tcp("n0", "n1") + &tcp("n2", "n3");
        let outcome = outcome_of(&line(&[0, 100, 200, 300], profile, &radio, &flows), 1);
        assert!(outcome.flows.iter().all(|flow| flow.goodput_bps > 5e4), "{profile} {routing}: {outcome:?}");
    }
}

/// Over long distances a reply takes longer than ns-2's timeouts; beyond the maximum range it would arrive after
/// SIFS.
#[test]
fn timeouts_wait_for_light() {
    let far = |metres: u32, threshold: &str| {
        let radio = format!(
            "propagation = {{ kind = \"friis\", receive_threshold = {threshold}, carrier_sense_threshold = {threshold} }}"
        );
        line(&[0, metres], "std", &radio, &tcp("n0", "n1"))
    };
    let outcome = outcome_of(&far(1000, "1.9e-10"), 1);
    assert!(outcome.flows[0].goodput_bps > 4e5, "{outcome:?}");
    let refused = Scenario::parse("s.toml", &far(1000, "1e-12"), &[]).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("later than SIFS"), "{refused}");
}

/// From a wired host over a gateway to a radio node two hops away, and between two wired hosts over the radio
/// channel.
#[test]
fn wires_and_air_meet_at_gateways() {
    let wires = r#"
[[link]]
ends = ["server", "n0"]
rate = "10Mbps"
delay = "5ms"
queue = { kind = "droptail", limit = "50p" }
[[link]]
ends = ["n2", "client"]
rate = "10Mbps"
delay = "2ms"
"#;
    let radio = "mac = { rate = \"11Mbps\", basic_rate = \"1Mbps\" }";
    for flow in [tcp("server", "n2"), tcp("n2", "server"), tcp("server", "client"), tcp("n1", "server")] {
        let sack = flow + "tcp = { recovery = \"sack\" }\n";
        let text = line(&[0, 200, 400], "ns2", radio, &format!("{wires}{sack}"));
        let outcome = outcome_of(&text, 1);
        assert!(outcome.flows[0].goodput_bps > 8e5, "{text}\n{:?}", outcome.flows[0]);
        let wired = outcome.links.iter().map(|l| l.delivered_packets).sum::<u64>();
        assert!(wired > 1000);
    }
}

/// `check` and `run` apply the same rule: with a radio hop, too, only routers on the path of the data count.
#[test]
fn routers_count_on_the_path_to_the_gateway_alone() {
    let wires = |near: &str, aside: &str| {
        let link = |ends: [&str; 2], router: &str| {
            format!(
                "[[link]]\nends = {ends:?}\nrate = \"10Mbps\"\ndelay = \"5ms\"\nqueue = {{ kind = \"droptail\", limit = \"50p\" }}\n{router}\n"
            )
        };
        let links = link(["server", "n0"], near) + &link(["n0", "other"], aside);
        line(
            &[0, 200],
            "ns2",
            "",
            &(links + &tcp("server", "n1") + "tcp = { congestion_control = \"rcp\" }\n"),
        )
    };
    let router = "router = { kind = \"rcp\" }";
    let refused = Scenario::parse("s.toml", &wires("", router), &[]).unwrap_err();
    assert!(
        refused.to_string().contains("flow.server-n1.tcp.congestion_control: rcp needs routers"),
        "{refused}"
    );
    assert!(refused.line.is_some_and(|line| line > 1));
    assert!(outcome_of(&wires(router, ""), 1).flows[0].goodput_bps > 1e5);
}

#[test]
fn nodes_out_of_reach_get_nothing_and_every_packet_has_a_fate() {
    let outcome = outcome_of(&line(&[0, 2000], "ns2", "", &udp(0, 1, "100kbps")), 1);
    let radio = outcome.radio.unwrap_or_default();
    assert_eq!(radio.received_packets, 0);
    assert!(radio.offered_packets > 200 && radio.dropped_packets["route"] > 0, "{radio:?}");
    // With static routing the MAC reaches its retry limit, or ARP fails.
    for (arp, fate) in [("true", "arp"), ("false", "retry")] {
        let still = format!("routing = {{ kind = \"static\" }}\narp = {arp}");
        let outcome = outcome_of(&line(&[0, 2000], "ns2", &still, &udp(0, 1, "100kbps")), 1);
        assert!(outcome.radio.unwrap_or_default().dropped_packets[fate] > 0);
    }
}

#[test]
fn mistakes_are_told() {
    let wrong = |radio: &str, flows: &str| {
        let text = line(&[0, 100], "ns2", radio, flows);
        Scenario::parse("s.toml", &text, &[]).map(|_| ()).unwrap_err().to_string()
    };
    let flow = udp(0, 1, "1Mbps");
    for (radio, message) in [
        ("mac = { rate = \"3Mbps\" }", "1, 2, 5.5 or 11 Mbps"),
        ("mac = { speed = 3 }", "unknown key"),
        ("routing = { kind = \"olsr\" }", "unknown value \"olsr\"; known: aodv, static"),
        ("queue = { kind = \"droptail\", limit = \"10kB\" }", "must be packets"),
        ("propagation = { kind = \"two_ray\", carrier_sense_threshold = 1e-3 }", "at most receive_threshold"),
        ("routing = { kind = \"aodv\", link_layer_detection = false }", "write hello"),
        ("traffic = { kind = \"cbrgen\" }", "connections"),
    ] {
        assert!(wrong(radio, &flow).contains(message), "{radio}: {}", wrong(radio, &flow));
    }
    assert!(wrong("", &udp(0, 2, "1Mbps")).contains("there is no node \"n2\""));
    assert!(wrong("", "").contains("name at least one"));
}
