//! Whole runs with satellites: packet conservation, hand-offs, paths that change. Every run is audited.

use ackclock_lab::{Outcome, Recording, Run, Scenario, Settings, TraceMode};

/// Berkeley to Boston over Iridium, with additional lines in `[constellation]` and in the file.
fn text(duration: &str, constellation: &str, more: &str) -> String {
    format!(
        r#"
duration = "{duration}"
[constellation]
kind = "iridium"
{constellation}
[[terminal]]
name = "delhi"
lat = 28.6
lon = 77.2
[[terminal]]
name = "berkeley"
lat = 37.9
lon = -122.3
[tcp]
profile = "ns2"
receive_window = 1000
recovery = "sack"
{more}
"#
    )
}

const FLOW: &str = r#"
[[flow]]
name = "f"
from = "delhi"
to = "berkeley"
start = "1s"
"#;

fn run_traced(text: &str) -> (Run, Outcome) {
    let scenario = Scenario::parse("s.toml", text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let recording = Recording { audit: true, trace: TraceMode::Changes, ..Recording::default() };
    let mut run = Run::new(&scenario, Settings { recording, ..Settings::default() }).unwrap();
    run.finish();
    let (violations, count) = run.audit();
    assert_eq!(count, 0, "{violations:?}\n{text}");
    let outcome = run.outcome();
    (run, outcome)
}

fn run(text: &str) -> Outcome {
    run_traced(text).1
}

/// Number of packets dropped by a hand-off, and without a path.
fn lost(outcome: &Outcome) -> (u64, u64) {
    let sum = |of: fn(&ackclock_lab::LinkOutcome) -> u64| outcome.links.iter().map(of).sum();
    (sum(|l| l.dropped_packets[net::DropReason::Handoff]), sum(|l| l.dropped_packets[net::DropReason::Route]))
}

#[test]
fn a_handoff_takes_what_waits_unless_it_is_said_to_be_lossless() {
    let with = |handoff: &str| {
        let outcome = run(&text("300s", &format!("handoff = {{ {handoff} }}"), FLOW));
        let handoffs = &outcome.satellite.as_ref().unwrap().handoffs;
        assert_eq!(handoffs.len(), 1, "{handoffs:?}");
        let handoff = &handoffs[0];
        let names = (handoff.terminal.as_str(), handoff.from.as_deref(), handoff.to.as_deref());
        assert_eq!((handoff.time_s, names), (240.0, ("delhi", Some("p2k1"), Some("p2k0"))));
        (lost(&outcome), outcome.flows[0].goodput_bps)
    };
    let (ns2, goodput) = with("loss = \"ns2\"");
    assert!((10..=50).contains(&ns2.0) && ns2.1 == 0, "{ns2:?}");
    let (lossless, better) = with("loss = \"lossless\"");
    assert_eq!(lossless, (0, 0));
    assert!(better > goodput);
    let (flying, _) = with("loss = \"drop_all_in_flight\"");
    assert!(flying.0 > ns2.0);
}

#[test]
fn a_freeze_of_no_length_ends() {
    let more = format!("congestion_control = \"bic_dpe\"\n{FLOW}");
    let (run, _) =
        run_traced(&text("400s", "handoff = { guard_before = \"0s\", guard_after = \"0s\" }", &more));
    let log = &run.logs().windows;
    let late = log.time_s.iter().zip(&log.cwnd).filter(|(at, _)| **at > 250.0).map(|(_, cwnd)| *cwnd);
    let late: Vec<f64> = late.collect();
    assert!(late.windows(2).any(|pair| pair[1] > pair[0]));
}

#[test]
fn ways_follow_a_handoff_whatever_the_period() {
    let lost_with = |recompute: &str| lost(&run(&text("300s", recompute, FLOW))).0;
    assert_eq!(lost_with("recompute = \"70s\""), lost_with(""));
}

#[test]
fn the_faster_of_two_wires_and_of_two_directions_is_taken() {
    let slow = |ends: &str, there: &str, back: &str| {
        format!(
            "[[link]]\nends = [{ends}]\nrate = \"10Mbps\"\ndelay = \"{there}\"\nback = {{ delay = \"{back}\" }}\n"
        )
    };
    let wires = slow("\"x\", \"delhi\"", "200ms", "200ms") + &slow("\"x\", \"delhi\"", "1ms", "1ms");
    let flow = FLOW.replace("from = \"delhi\"", "from = \"x\"");
    let outcome = run(&text("30s", "", &(wires + &flow)));
    assert!(outcome.flows[0].min_rtt_s.unwrap() < 0.25, "{:?}", outcome.flows[0].min_rtt_s);
    // A ring on the ground: 300 ms one way round, 1 ms the other.
    let ring = slow("\"x\", \"y\"", "300ms", "1ms")
        + &slow("\"y\", \"z\"", "1ms", "300ms")
        + &slow("\"z\", \"x\"", "1ms", "300ms")
        + &slow("\"z\", \"delhi\"", "1ms", "1ms");
    let flow = "[[flow]]\nname = \"f\"\nfrom = \"y\"\nto = \"x\"\n";
    let outcome = run(&text("10s", "", &(ring + flow)));
    let rtt = outcome.flows[0].min_rtt_s.unwrap();
    assert!(rtt < 0.32, "{rtt}");
}

#[test]
fn a_flow_that_stays_on_the_ground_hears_of_no_handoff() {
    let wires = "[[link]]\nends = [\"x\", \"delhi\"]\nrate = \"10Mbps\"\ndelay = \"0s\"\n\
        [[link]]\nends = [\"delhi\", \"y\"]\nrate = \"10Mbps\"\ndelay = \"0s\"\n\
        [[flow]]\nname = \"f\"\nfrom = \"x\"\nto = \"y\"\n";
    let (run, outcome) = run_traced(&text("250s", "", wires));
    assert_eq!(outcome.satellite.unwrap().handoffs.len(), 1);
    let flag = &run.logs().windows.internals.iter().find(|(name, _)| *name == "handoff").unwrap().1;
    assert!(flag.iter().all(|value| *value == 0.0));
}

#[test]
fn nothing_waits_in_vain_for_a_satellite_where_nothing_may_be_lost() {
    // Six satellites: gaps.
    let thin = "kind = \"walker\"\naltitude = \"1200km\"\ninclination = \"60deg\"\nplanes = 2\nper_plane = 3\nelevation_mask = \"5deg\"\n\
        isl = { rate = \"1Mbps\" }\nup = { rate = \"100kbps\" }\ndown = { rate = \"1Mbps\" }\n\
        handoff = { loss = \"lossless\" }";
    let flow = FLOW.replace("start = \"1s\"", "udp = { packet = 500, rate = \"90kbps\" }");
    let outcome = run(&text("7000s", "", &flow).replace("kind = \"iridium\"", thin));
    assert!(outcome.satellite.as_ref().unwrap().handoffs.iter().any(|h| h.to.is_none()));
    assert_eq!(lost(&outcome).0, 0);
}

#[test]
fn terminals_that_share_a_satellite_pass_the_audit() {
    let near = "[[terminal]]\nname = \"agra\"\nlat = 20\nlon = 70\n";
    let flows = FLOW.to_string()
        + &FLOW
            .replace("\"f\"", "\"g\"")
            .replace("from = \"delhi\"", "from = \"berkeley\"")
            .replace("to = \"berkeley\"", "to = \"agra\"")
        + &FLOW
            .replace("\"f\"", "\"h\"")
            .replace("from = \"delhi\"", "from = \"berkeley\"")
            .replace("to = \"berkeley\"", "to = \"delhi\"");
    for handoff in ["loss = \"lossless\"", "time = \"200ms\"", "loss = \"drop_all_in_flight\""] {
        run(&text("700s", &format!("handoff = {{ {handoff} }}"), &(near.to_string() + &flows)));
    }
}

#[test]
fn errors_strike_satellite_links_too() {
    let lossy = "down = { loss = { kind = \"bernoulli\", rate = 0.05 } }";
    let outcome = run(&text("60s", lossy, FLOW));
    let losses: u64 = outcome.links.iter().map(|link| link.dropped_packets[net::DropReason::Loss]).sum();
    assert!(losses > 10);
}

#[test]
fn planes_with_too_few_satellites_have_no_links_through_the_earth() {
    let thin = "kind = \"walker\"\naltitude = \"780km\"\ninclination = \"86deg\"\nplanes = 1\nper_plane = 5\n\
        elevation_mask = \"1deg\"\nisl = { rate = \"1Mbps\" }\nup = { rate = \"1Mbps\" }\ndown = { rate = \"1Mbps\" }";
    let outcome = run(&text("30s", "", FLOW).replace("kind = \"iridium\"", thin));
    assert_eq!(outcome.flows[0].goodput_bps, 0.0);
}

#[test]
fn a_pause_after_a_handoff_lets_packets_wait() {
    let longest = |pause: &str| {
        let handoff = format!("handoff = {{ loss = \"lossless\", time = \"{pause}\" }}");
        let (run, _) = run_traced(&text("260s", &handoff, FLOW));
        let log = &run.logs().windows;
        let late = log.time_s.iter().zip(&log.rtt_s).filter(|(at, _)| **at > 240.0);
        late.map(|(_, rtt)| *rtt).filter(|rtt| rtt.is_finite()).fold(0.0, f64::max)
    };
    assert!(longest("300ms") > longest("0s") + 0.2);
}

#[test]
fn wired_nodes_reach_each_other_through_their_terminals() {
    let wires = r#"
[[link]]
ends = ["source", "delhi"]
rate = "10Mbps"
delay = "1ms"
[[link]]
ends = ["berkeley", "sink"]
rate = "10Mbps"
delay = "1ms"
[[flow]]
name = "f"
from = "source"
to = "sink"
start = "1s"
[[flow]]
name = "back"
from = "sink"
to = "delhi"
start = "1s"
tcp = { congestion_control = "bic_dpe" }
[[flow]]
name = "noise"
from = "delhi"
to = "sink"
udp = { packet = 500, rate = "50kbps" }
"#;
    let outcome = run(&text("60s", "cross_seam = true", wires));
    assert!(outcome.flows.iter().all(|flow| flow.goodput_bps > 40_000.0), "{:?}", outcome.flows);
    let names: Vec<&str> = outcome.links.iter().map(|link| link.name.as_str()).collect();
    assert!(names.contains(&"source->delhi") && names.contains(&"delhi->*"), "{names:?}");
}

#[test]
fn nothing_arrives_where_no_satellite_is_seen() {
    // Equatorial satellites 780 km high are never seen from Delhi.
    let flat = "kind = \"walker\"\naltitude = \"780km\"\ninclination = \"0deg\"\nplanes = 1\nper_plane = 24\n\
        isl = { rate = \"1Mbps\" }\nup = { rate = \"1Mbps\" }\ndown = { rate = \"1Mbps\" }";
    let text = text("30s", "", FLOW).replace("kind = \"iridium\"", flat);
    let outcome = run(&text);
    let (handoff, route) = lost(&outcome);
    assert!(outcome.flows[0].goodput_bps == 0.0 && handoff == 0 && route > 0);
    assert!(outcome.satellite.unwrap().handoffs.is_empty());
}

#[test]
fn hints_reach_the_flows_of_the_terminal_and_stop_growth() {
    let more = format!("congestion_control = \"bic_dpe\"\n{FLOW}");
    let (run, _) =
        run_traced(&text("260s", "handoff = { guard_before = \"2s\", guard_after = \"1s\" }", &more));
    let log = &run.logs().windows;
    let flag = &log.internals.iter().find(|(name, _)| *name == "handoff").unwrap().1;
    let changes: Vec<(f64, f64)> = flag
        .windows(2)
        .zip(&log.time_s[1..])
        .filter(|(pair, _)| pair[0] != pair[1])
        .map(|(pair, at)| (*at, pair[1]))
        .collect();
    assert_eq!(changes, [(238.0, 1.0), (241.0, 0.0)]);
    // Frozen: the window may fall, but does not grow.
    let held: Vec<f64> = log
        .time_s
        .iter()
        .zip(&log.cwnd)
        .filter(|(at, _)| (238.1..241.0).contains(*at))
        .map(|(_, cwnd)| *cwnd)
        .collect();
    assert!(held.windows(2).all(|pair| pair[1] <= pair[0] || pair[0] == 1.0), "{held:?}");
}

#[test]
fn the_seed_moves_checks_that_have_jitter() {
    let of = |seed: u64| {
        let text = text("1200s", "handoff = { jitter = \"5s\" }", FLOW)
            .replace("duration", &format!("seed = {seed}\nduration"));
        let outcome = run(&text.replace("start = \"1s\"", "start = \"1s\"\nbytes = \"100kB\""));
        outcome.satellite.unwrap().handoffs.iter().map(|h| h.time_s).collect::<Vec<_>>()
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn small_constellations_pass_the_audit() {
    for (planes, per_plane) in [(1, 1), (1, 2), (2, 1), (2, 3), (3, 2), (12, 20)] {
        for rule in ["ns2", "best"] {
            let walker = format!(
                "kind = \"walker\"\naltitude = \"1200km\"\ninclination = \"70deg\"\nplanes = {planes}\n\
                 per_plane = {per_plane}\nelevation_mask = \"5deg\"\nrecompute = \"500ms\"\n\
                 isl = {{ rate = \"2Mbps\" }}\nup = {{ rate = \"1Mbps\" }}\ndown = {{ rate = \"1Mbps\" }}\n\
                 handoff = {{ rule = \"{rule}\", check = \"0s\", time = \"100ms\" }}"
            );
            let text = text("120s", "", FLOW).replace("kind = \"iridium\"", &walker);
            run(&text);
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_remedy() {
    let refused = |constellation: &str, more: &str| {
        Scenario::parse("s.toml", &text("10s", constellation, more), &[]).unwrap_err().to_string()
    };
    for (constellation, expected) in [
        ("cross_seem = true", "unknown key; did you mean \"cross_seam\"?"),
        ("altitude = \"20km\"", "must be from 100km to 100000km"),
        ("elevation_mask = 8.2", "write it like"),
        ("handoff = { rule = \"bets\" }", "did you mean \"best\"?"),
        ("handoff = { check = \"1ms\" }", "at least 10 ms"),
        ("handoff = { jitter = \"20s\" }", "shorter than the time between checks"),
        ("recompute = \"1us\"", "at least 1 ms"),
        ("isl = { rate = \"0bps\" }", "more than zero"),
    ] {
        let message = refused(constellation, FLOW);
        assert!(message.contains(expected), "{message}");
    }
    let context = "[[link]]\nends = [\"p0k0\", \"x\"]\nrate = \"1Mbps\"\ndelay = \"1ms\"\n";
    let message = refused("", &format!("{context}{FLOW}"));
    assert!(message.contains("is the name of a satellite"), "{message}");
    let stranger = FLOW.replace("\"delhi\"", "\"deli\"");
    assert!(refused("", &stranger).contains("did you mean \"delhi\"?"));
    let twice = format!("{FLOW}[[terminal]]\nname = \"delhi\"\nlat = 1\nlon = 1\n");
    assert!(refused("", &twice).contains("another terminal is called"));
    let text = "duration = \"1s\"\n[[terminal]]\nname = \"a\"\nlat = 0\nlon = 0\n";
    assert!(Scenario::parse("s.toml", text, &[]).unwrap_err().to_string().contains("[constellation]"));
}

/// Transmitters with this queue and rate.
fn transmitters(rate: &str, queue: &str) -> String {
    let of = |rate: &str| format!("{{ rate = {rate}, queue = {queue} }}");
    format!("isl = {}\nup = {}\ndown = {}\n", of("\"25Mbps\""), of(rate), of(rate))
}

/// The outcome without what the number of events decides.
fn compared(text: &str) -> serde_json::Value {
    let mut outcome: serde_json::Value = serde_json::from_str(&ackclock_lab::to_json(&run(text))).unwrap();
    outcome["engine"] = serde_json::Value::Null;
    outcome
}

#[test]
fn a_scheduled_queue_that_never_drops_gives_the_results_of_drop_tail() {
    for handoff in [
        "loss = \"ns2\"",
        "loss = \"lossless\"",
        "loss = \"drop_all_in_flight\"",
        "loss = \"lossless\", time = \"200ms\"",
        "rule = \"best\", check = \"0s\"",
        "rule = \"every\"",
    ] {
        let with = |queue: &str| {
            let more = format!("{FLOW}[[flow]]\nname = \"g\"\nfrom = \"berkeley\"\nto = \"delhi\"\n");
            let satellites = format!("{}handoff = {{ {handoff} }}", transmitters("\"1.5Mbps\"", queue));
            compared(&text("260s", &satellites, &more))
        };
        let tail = with("{ kind = \"droptail\", limit = \"49p\" }");
        let codel = with("{ kind = \"codel\", limit = \"49p\", target = \"9999s\" }");
        assert_eq!(tail, codel, "{handoff}");
    }
}

#[test]
fn every_discipline_and_varying_rates_pass_the_audit_on_satellites() {
    let random = "{ kind = \"random_steps\", interval = \"15s\", min = \"500kbps\", max = \"3Mbps\" }";
    let steps =
        "{ kind = \"steps\", steps = [[\"0s\", \"2Mbps\"], [\"15s\", \"600kbps\"]], repeat = \"30s\" }";
    for queue in ["codel", "fq_codel", "pie", "fq_pie", "dualpi2", "red"] {
        let fifo = matches!(queue, "pie" | "red");
        for rate in [if fifo { "\"1.5Mbps\"" } else { random }, if fifo { "\"1Mbps\"" } else { steps }] {
            let queue = format!("{{ kind = \"{queue}\", limit = \"60p\" }}");
            let satellites = transmitters(rate, &queue);
            let outcome =
                run(&text("280s", &format!("{satellites}handoff = {{ loss = \"lossless\" }}"), FLOW));
            assert!(outcome.flows[0].goodput_bps > 4e5, "{queue} {rate} {}", outcome.flows[0].goodput_bps);
        }
    }
}

#[test]
fn random_steps_depend_on_the_seed_and_stay_within_their_bounds() {
    let rate = "{ kind = \"random_steps\", interval = \"15s\", min = \"500kbps\", max = \"3Mbps\" }";
    let queue = "{ kind = \"droptail\", limit = \"20p\" }";
    let with = |seed: u64| {
        let satellites = format!("seed = {seed}\n");
        let file = text("200s", &transmitters(rate, queue), FLOW);
        run(&format!("{satellites}{file}")).flows[0].goodput_bps
    };
    let goodputs: Vec<f64> = (1..=6).map(with).collect();
    assert!(goodputs.iter().all(|goodput| (3e5..3e6).contains(goodput)), "{goodputs:?}");
    assert!(goodputs.windows(2).all(|pair| pair[0] != pair[1]), "{goodputs:?}");
    assert_eq!(with(1), with(1));
}

#[test]
fn satellite_queues_that_need_a_constant_rate_are_refused_on_another() {
    let rate = "{ kind = \"random_steps\", interval = \"15s\", min = \"1Mbps\", max = \"3Mbps\" }";
    for queue in ["{ kind = \"pie\" }", "{ kind = \"red\", limit = \"9p\" }"] {
        let file = text("10s", &transmitters(rate, queue), FLOW);
        let message = Scenario::parse("s.toml", &file, &[]).unwrap_err().to_string();
        assert!(message.contains("RED and PIE need a constant rate"), "{message}");
    }
    for (rate, expected) in [
        ("{ kind = \"random_steps\", min = \"1Mbps\", max = \"3Mbps\" }", "interval"),
        (
            "{ kind = \"random_steps\", interval = \"1us\", min = \"1Mbps\", max = \"3Mbps\" }",
            "must be from 1ms",
        ),
        ("{ kind = \"random_steps\", interval = \"1s\", min = \"4Mbps\", max = \"3Mbps\" }", "above max"),
    ] {
        let file = text("10s", &transmitters(rate, "{ kind = \"codel\" }"), FLOW);
        let message = Scenario::parse("s.toml", &file, &[]).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}
