//! Whole runs: the auditor on many networks, repeatability, and the values of the outcome.

mod common;

use ackclock_lab::{Recording, Run, Scenario, Settings, TraceMode};
use common::{audited, finished, scenario};
use proptest::prelude::*;

/// A bottleneck with access links, two TCP flows in one direction and one in the other, and a UDP flow.
fn network(seed: u64, tcp: &str, queue: &str, loss: &str, rate: &str) -> String {
    let router = router_of(tcp).replace('\n', ", ");
    format!(
        r#"
duration = "8s"
seed = {seed}
tcp = {tcp}
link = [
  {{ ends = ["s", "r1"], rate = "20Mbps", delay = "1ms" }},
  {{ name = "bottleneck", ends = ["r1", "r2"], rate = "{rate}", delay = "12ms", queue = {queue}, loss = {loss}{router} }},
  {{ ends = ["r2", "d"], rate = "20Mbps", delay = "3ms" }},
]
flow = [
  {{ name = "one", from = "s", to = "d" }},
  {{ name = "two", from = "s", to = "d", start = "300ms", bytes = "60kB" }},
  {{ name = "back", from = "d", to = "s", stop = "5s" }},
  {{ name = "noise", from = "s", to = "d", udp = {{ packet = 500, schedule = [["1s", "100kbps"], ["2s", "0bps"], ["3s", "300kbps"]] }} }},
]
"#
    )
}

/// The line of a link with the router that the controller needs, if it needs one.
fn router_of(tcp: &str) -> String {
    let told = ["rcp", "xcp"].into_iter().find(|kind| tcp.contains(&format!("\"{kind}\"")));
    told.map_or(String::new(), |kind| format!("\nrouter = {{ kind = \"{kind}\" }}"))
}

/// Controllers that need the counts of recovery `rack`.
const NEED_RACK: [&str; 10] =
    ["bbr", "bbr3", "c4", "copa", "ledbat", "ledbat_pp", "vivace", "policy", "swift", "timely"];

fn profiles() -> Vec<String> {
    let mut results = Vec::new();
    for d in ackclock_lab::controllers().map(|registration| &registration.descriptor) {
        for recovery in transport::Recovery::ALL {
            if NEED_RACK.contains(&d.name) && recovery.1 != "rack" {
                continue; // refused: it needs the counts of that recovery
            }
            for profile in ["ns2", "linux"] {
                results.push(format!(
                    r#"{{ profile = "{profile}", congestion_control = "{}", recovery = "{}", receive_window = 60 }}"#,
                    d.name, recovery.1
                ));
            }
        }
    }
    results
}

#[test]
fn every_controller_on_every_recovery_passes_the_audit() {
    for tcp in profiles() {
        for (queue, loss) in [
            (r#"{ kind = "droptail", limit = "6p" }"#, r#"{ kind = "none" }"#),
            (r#"{ kind = "droptail", limit = "15kB" }"#, r#"{ kind = "bernoulli", rate = 0.02 }"#),
            (r#"{ kind = "red", limit = "30p" }"#, r#"{ kind = "none" }"#),
            (
                r#"{ kind = "droptail", limit = "1bdp" }"#,
                r#"{ kind = "gilbert_elliott", p = 0.01, r = 0.3 }"#,
            ),
        ] {
            // The Westwood module repairs most losses by its timer, whose initial value is three seconds; and a segment
            // that is lost six times in a row waits for 64 timeouts.
            // The file begins before the queue is full: BBR's paced packets arrive as packets leave, and keep a short
            // queue so full that a SYN finds no place for minutes (phase effects: Floyd and Jacobson 1991).
            let text = network(1, &tcp, queue, loss, "2Mbps")
                .replace("duration = \"8s\"", "duration = \"25s\"")
                .replace("start = \"300ms\"", "start = \"30ms\"");
            let outcome = audited(&text);
            let one = &outcome.flows[0];
            assert!(one.goodput_bps > 50_000.0, "{tcp} {queue} {loss}: {} bit/s", one.goodput_bps);
            assert_eq!(
                outcome.flows[1].delivered_bytes, 60_000,
                "{tcp} {queue} {loss}: the file did not arrive"
            );
            assert!(outcome.flows[1].completion_s.is_some());
            assert_eq!(
                outcome.flows.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(),
                ["one", "two", "back", "noise"]
            );
        }
    }
}

#[test]
fn options_pass_the_audit() {
    for option in [
        "delayed_ack = true",
        "limited_transmit = false",
        "max_burst = 2",
        "max_cwnd = 12",
        "pacing = true",
        "syn = false",
        "delay_growth = false",
        "timestamps = true, timestamp_quantum = \"10ms\"",
        "clock_tick = \"0s\"",
        "clock_tick = \"100ms\"",
        "integer_windows = true",
        "impatient = false",
        "partial_deflation = false",
        "fast_retransmit_after_rto = true",
        "min_rto = \"1s\"",
        "receive_window = 1",
        "ecn = true",
        "ecn = true, abe = true",
        "initial_window = 40, initial_ssthresh = 3",
        "header = 0, mss = 1",
    ] {
        for (profile, recovery) in [("ns2", "newreno"), ("ns2", "sack"), ("linux", "sack"), ("linux", "reno")]
        {
            let tcp = format!(r#"{{ profile = "{profile}", recovery = "{recovery}", {option} }}"#);
            for queue in
                [r#"{ kind = "droptail", limit = "6p" }"#, r#"{ kind = "red", limit = "9p", ecn = true }"#]
            {
                let outcome = audited(&network(1, &tcp, queue, r#"{ kind = "none" }"#, "2Mbps"));
                assert!(outcome.flows[0].delivered_bytes > 0, "{tcp} {queue}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_network_passes_the_audit(
        seed in 0u64..1000,
        which in 0usize..40,
        kind in prop_oneof![Just("droptail"), Just("red")],
        limit in prop_oneof![(0u64..40).prop_map(|n| format!("{n}p")), (0u64..40_000).prop_map(|n| format!("{n}B"))],
        rate in 50u64..20_000,
        loss in prop_oneof![Just(0.0), Just(0.01), Just(0.2), Just(1.0)],
    ) {
        let all = profiles();
        let queue = format!(r#"{{ kind = "{kind}", limit = "{limit}" }}"#);
        let loss = format!(r#"{{ kind = "bernoulli", rate = {loss} }}"#);
        audited(&network(seed, &all[which % all.len()], &queue, &loss, &format!("{rate}kbps")));
    }
}

/// All results of a run except for its cost: the outcome and every packet event.
fn account(text: &str, unfused: bool) -> (String, Vec<impl Ord + std::fmt::Debug>) {
    let recording = Recording { packets: true, ..Recording::default() };
    let mut run = Run::new(&scenario(text), Settings { recording, unfused, ..Settings::default() }).unwrap();
    run.finish();
    let json = run.outcome().to_json();
    let log = &run.logs().packets;
    let mut rows: Vec<_> = (0..log.time.len())
        .map(|i| {
            (
                log.time[i],
                log.link[i],
                log.flow[i],
                log.kind[i],
                log.seq[i],
                log.event[i],
                log.reason[i],
                log.size[i],
                log.marked[i],
            )
        })
        .collect();
    rows.sort_unstable();
    (json[..json.find("\"engine\"").unwrap()].to_string(), rows)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn hops_computed_at_once_change_nothing(seed in 0u64..1000, which in 0usize..24, limit in 1u64..30, rate in 300u64..9_000) {
        let all = profiles();
        let queue = format!(r#"{{ kind = "droptail", limit = "{limit}p" }}"#);
        let loss = r#"{ kind = "bernoulli", rate = 0.01 }"#;
        let text = network(seed, &all[which % all.len()], &queue, loss, &format!("{rate}kbps"));
        prop_assert_eq!(account(&text, false), account(&text, true));
    }
}

/// Keys of the links at the receivers: of the data, and of the acknowledgements (`back`).
const LAST_LINKS: [&str; 8] = [
    "",
    "loss = { kind = \"bernoulli\", rate = 0.02 }",
    "queue = { kind = \"red\", limit = \"40p\", ecn = true }",
    "queue = { kind = \"codel\" }",
    "loss = { kind = \"stall\", times = [[\"1s\", \"1300ms\"]] }",
    "queue = { kind = \"droptail\", limit = \"2p\" }\nback = { rate = \"60kbps\", queue = { kind = \"droptail\", limit = \"3p\" } }",
    "back = { loss = { kind = \"stall\", times = [[\"3s\", \"3300ms\"]] } }",
    "back = { loss = { kind = \"bernoulli\", rate = 0.05 } }",
];

/// A dumbbell whose flows have hosts of their own, so that receivers process packets before their time.
fn hosts(seed: u64, tcp: &str, queue: &str, loss: &str, rate: u64, last: &str) -> String {
    let router = router_of(tcp);
    let mut text = format!(
        "duration = \"6s\"\nwarmup = \"2s\"\nseed = {seed}\ntcp = {tcp}\n[[link]]\nname = \"bottleneck\"\nends = [\"r1\", \"r2\"]\n\
         rate = \"{rate}kbps\"\ndelay = \"12ms\"\nqueue = {queue}\nloss = {loss}{router}\n"
    );
    for flow in 0..4 {
        // Two pairs of equal hosts, which start at the same instant: many packets meet at the same picosecond.
        let (delay, start) = (1 + flow / 2 * 7, flow / 2 * 300);
        let kind = if flow == 3 { "udp = { packet = 500, schedule = [[\"0s\", \"200kbps\"]] }" } else { "" };
        text += &format!(
            "[[link]]\nends = [\"s{flow}\", \"r1\"]\nrate = \"20Mbps\"\ndelay = \"{delay}ms\"\n[[link]]\nends = [\"r2\", \"d{flow}\"]\n\
             rate = \"20Mbps\"\ndelay = \"3ms\"\n{last}\n[[flow]]\nname = \"f{flow}\"\nfrom = \"s{flow}\"\nto = \"d{flow}\"\n\
             start = \"{start}ms\"\n{kind}\n"
        );
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn receivers_before_their_time_change_nothing(
        seed in 0u64..1000,
        which in 0usize..1000,
        queue in prop_oneof![
            (1u64..40).prop_map(|n| format!("{{ kind = \"droptail\", limit = \"{n}p\" }}")),
            Just("{ kind = \"codel\" }".to_string()),
            Just("{ kind = \"red\", limit = \"40p\", ecn = true }".to_string()),
        ],
        loss in prop_oneof![Just("{ kind = \"none\" }"), Just("{ kind = \"bernoulli\", rate = 0.02 }"), Just("{ kind = \"jitter\", max = \"2ms\" }")],
        rate in 300u64..9_000,
        ecn in any::<bool>(),
        last in prop::sample::select(&LAST_LINKS[..]),
    ) {
        let all = profiles();
        let mut tcp = all[which % all.len()].clone();
        if !["dctcp", "prague"].iter().any(|name| tcp.contains(name)) {
            tcp = tcp.replacen('{', &format!("{{ ecn = {ecn}, "), 1); // these two need more than marks
        }
        prop_assume!(router_of(&tcp).is_empty() || !queue.contains("codel")); // a router needs a queue that decides at arrivals
        let text = hosts(seed, &tcp, &queue, loss, rate, last);
        prop_assert_eq!(account(&text, false), account(&text, true));
    }
}

/// The hash of every packet event of a run.
fn fingerprint(scenario: &Scenario) -> String {
    finished(scenario, Recording { fingerprint: true, ..Recording::default() }).fingerprint()
}

#[test]
fn the_same_scenario_and_seed_give_the_same_bytes() {
    let scenarios: Vec<Scenario> = [
        network(
            7,
            r#"{ profile = "ns2", congestion_control = "reno", recovery = "newreno" }"#,
            r#"{ kind = "droptail", limit = "6p" }"#,
            r#"{ kind = "bernoulli", rate = 0.01 }"#,
            "2Mbps",
        ),
        network(
            7,
            r#"{ profile = "ns2", congestion_control = "vegas", recovery = "reno" }"#,
            r#"{ kind = "droptail", limit = "6p" }"#,
            r#"{ kind = "bernoulli", rate = 0.01 }"#,
            "2Mbps",
        ),
        network(
            7,
            r#"{ profile = "linux", congestion_control = "cubic" }"#,
            r#"{ kind = "droptail", limit = "1bdp" }"#,
            r#"{ kind = "gilbert_elliott", p = 0.01, r = 0.3 }"#,
            "2Mbps",
        ),
    ]
    .iter()
    .map(|text| scenario(text))
    .collect();
    // Recorded values: they are the same in debug and release builds and on every machine. A change of them is a
    // change of results and needs a line in CHANGELOG.md.
    let known = include_str!("fingerprints.txt").lines().map(str::to_string).collect::<Vec<_>>();
    let prints: Vec<String> = scenarios.iter().map(fingerprint).collect();
    assert_eq!(prints, known);
    // In any chunks, on any thread, beside any other run, with any log on.
    let mut chunked = Run::new(
        &scenarios[0],
        Settings {
            recording: Recording {
                fingerprint: true,
                audit: true,
                packets: true,
                captures: false,
                packets_within: None,
                bounded: false,
                qlog: true,
                radio: true,
                rules: true,
                trace: TraceMode::EveryAck,
            },
            ..Settings::default()
        },
    )
    .unwrap();
    while !chunked.advance(997) {}
    assert_eq!(chunked.fingerprint(), prints[0]);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..6)
            .map(|i| {
                scope.spawn({
                    let scenarios = &scenarios;
                    move || (i % 3, fingerprint(&scenarios[i % 3]))
                })
            })
            .collect();
        for run in runs {
            let (i, print) = run.join().unwrap();
            assert_eq!(print, prints[i]);
        }
    });
}

#[test]
fn another_seed_gives_other_losses_and_another_flow_does_not() {
    let text = |seed, more: &str| {
        format!(
            r#"
duration = "5s"
seed = {seed}
link = [{{ ends = ["a", "b"], rate = "10Mbps", delay = "5ms", loss = {{ kind = "bernoulli", rate = 0.05 }} }}, {{ ends = ["b", "c"], rate = "1Mbps", delay = "5ms" }}]
flow = [{{ name = "u", from = "a", to = "b", udp = {{ rate = "500kbps", packet = 500 }} }}{more}]
"#
        )
    };
    let arrived = |text: &str| {
        let run = finished(&scenario(text), Recording { packets: true, ..Recording::default() });
        let log = &run.logs().packets;
        (0..log.time.len())
            .filter(|i| log.event[*i] == 1 && log.link[*i] == 0)
            .map(|i| log.seq[i])
            .collect::<Vec<_>>()
    };
    let losses = arrived(&text(1, ""));
    assert!(losses.len() > 10);
    assert_eq!(losses, arrived(&text(1, r#", { name = "t", from = "b", to = "c" }"#)));
    assert_ne!(losses, arrived(&text(2, "")));
}

#[test]
fn outcome_of_a_hand_computed_run() {
    // 10 packets of 1,000 bytes at 80 kb/s over 800 kb/s and 5 ms: one every 0.1 s, 10 ms on the wire each.
    let outcome = audited(
        r#"
duration = "1s"
link = [{ ends = ["a", "b"], rate = "800kbps", delay = "5ms" }]
flow = [{ name = "u", from = "a", to = "b", udp = { rate = "80kbps", packet = 1000 } }]
"#,
    );
    let (flow, link) = (&outcome.flows[0], &outcome.links[0]);
    assert_eq!((flow.sent_packets, flow.delivered_bytes, link.delivered_packets), (11, 10_000, 10)); // one leaves at 1 s
    assert!((flow.goodput_bps - 80_000.0).abs() < 1e-9);
    assert!((flow.mean_delay_s.unwrap() - 0.015).abs() < 1e-12);
    assert!((flow.mean_gap_s.unwrap() - 0.1).abs() < 1e-12);
    assert_eq!(flow.jitter2_s, Some(0.0));
    assert!((link.utilisation - 0.1).abs() < 1e-9);
    assert_eq!(link.name, "a->b");
    assert_eq!(outcome.engine.packet_hops, 10);
    // A file of 10 kB over TCP: hand-shake (one round trip), then 2, 4, 4 segments in three more.
    let outcome = audited(
        r#"
duration = "5s"
tcp = { profile = "ns2", mss = 1000 }
link = [{ ends = ["a", "b"], rate = "1Gbps", delay = "50ms" }]
flow = [{ name = "t", from = "a", to = "b", bytes = "9500B" }]
"#,
    );
    let flow = &outcome.flows[0];
    assert_eq!((flow.delivered_bytes, flow.sent_packets, flow.acked_packets), (9_500, 10, Some(10)));
    assert!((flow.completion_s.unwrap() - 0.4).abs() < 0.001, "{:?}", flow.completion_s);
    assert_eq!((flow.timeouts, flow.retransmitted_packets), (Some(0), Some(0)));
}

#[test]
fn a_file_that_is_stopped_counts_what_arrived() {
    for (bytes, stop, delivered) in [("10500B", "1ms", 0), ("100500B", "250ms", 6_000)] {
        let outcome = audited(&format!(
            r#"
duration = "2s"
tcp = {{ profile = "ns2" }}
link = [{{ ends = ["a", "b"], rate = "10Mbps", delay = "50ms" }}]
flow = [{{ name = "f", from = "a", to = "b", bytes = "{bytes}", stop = "{stop}" }}]
"#
        ));
        assert_eq!(
            (outcome.flows[0].delivered_bytes, outcome.flows[0].completion_s),
            (delivered, None),
            "{bytes}"
        );
    }
}

#[test]
fn extremes_neither_panic_nor_hang() {
    for (link, flow) in [
        (r#"rate = "1bps", delay = "10ms""#, r#"bytes = "30kB""#),
        (r#"rate = "1Mbps", delay = "200h""#, r#"bytes = "30kB""#),
        (r#"rate = "1Mbps", delay = "1000000s""#, r#"tcp = { profile = "linux" }"#),
        (r#"rate = "8Tbps", delay = "0s""#, r#"bytes = "1MB""#),
        (r#"rate = "1Mbps", delay = "1ms""#, r#"start = "4000h", bytes = "30kB""#),
        (
            r#"rate = "1Mbps", delay = "1ms", queue = { kind = "droptail", limit = "0p" }"#,
            r#"bytes = "30kB""#,
        ),
        (r#"rate = "1Mbps", delay = "1ms", loss = { kind = "bernoulli", rate = 1 }"#, r#"bytes = "30kB""#),
    ] {
        audited(&format!(
            "duration = \"5000h\"\nlink = [{{ ends = [\"a\", \"b\"], {link} }}]\nflow = [{{ name = \"f\", from = \"a\", to = \"b\", {flow}, stop = \"4100h\" }}]"
        ));
    }
}

#[test]
fn listed_packets_are_dropped_and_repaired() {
    let text = |recovery: &str| {
        format!(
            r#"
duration = "6s"
tcp = {{ profile = "ns2", recovery = "{recovery}", receive_window = 28 }}
link = [{{ ends = ["a", "b"], rate = "800kbps", delay = "100ms", loss = {{ kind = "scripted", flow = "f", packets = [14, 26, 28] }}, back = {{ loss = {{ kind = "none" }} }} }}]
flow = [{{ name = "f", from = "a", to = "b" }}]
"#
        )
    };
    for (_, recovery) in transport::Recovery::ALL {
        let outcome = audited(&text(recovery));
        assert_eq!(outcome.links[0].dropped_packets[net::DropReason::List], 3, "{recovery}");
        assert!(outcome.flows[0].retransmitted_packets.unwrap() >= 3, "{recovery}");
    }
}

#[test]
fn fuzz_corpora_are_replayed() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus");
    let mut replayed = 0;
    for (target, run) in [
        ("scenario", ackclock_lab::fuzzing::scenario as fn(&[u8])),
        ("study", ackclock_lab::fuzzing::study),
        ("elements", ackclock_lab::fuzzing::elements),
        ("movement", ackclock_lab::fuzzing::movement),
        ("sender", ackclock_lab::fuzzing::sender),
        ("rates", ackclock_lab::fuzzing::rates),
        ("har", ackclock_lab::fuzzing::har),
        ("sizes", ackclock_lab::fuzzing::sizes),
        ("app", ackclock_lab::fuzzing::app),
    ] {
        for entry in std::fs::read_dir(format!("{root}/{target}")).unwrap() {
            run(&std::fs::read(entry.unwrap().path()).unwrap());
            replayed += 1;
        }
    }
    assert!(replayed >= 10, "only {replayed} files in the corpora");
}

/// A long flow over RED with and without ECN: marks instead of drops, and one reduction per window.
#[test]
fn marks_are_answered_as_drops_are_but_nothing_is_sent_again() {
    let run = |profile: &str, recovery: &str, ecn: bool| {
        audited(&format!(
            r#"
duration = "60s"
tcp = {{ profile = "{profile}", congestion_control = "reno", recovery = "{recovery}", receive_window = 1000, initial_ssthresh = 10, ecn = {ecn} }}
link = [{{ ends = ["a", "b"], rate = "5Mbps", delay = "20ms",
    queue = {{ kind = "red", limit = "60p", ecn = {ecn}, mark_p = 2 }} }}]
flow = [{{ name = "f", from = "a", to = "b" }}]
"#
        ))
    };
    for (profile, recovery) in [
        ("ns2", "tahoe"),
        ("ns2", "reno"),
        ("ns2", "newreno"),
        ("ns2", "sack"),
        ("linux", "sack"),
        ("linux", "newreno"),
    ] {
        let (plain, ecn) = (run(profile, recovery, false), run(profile, recovery, true));
        let (lossy, marked) = (&plain.flows[0], &ecn.flows[0]);
        assert!(lossy.retransmitted_packets.unwrap() > 10 && plain.links[0].marked_packets == 0);
        let marks = ecn.links[0].marked_packets;
        let cuts = marked.window_cuts.unwrap();
        assert!(marks > 10, "{profile} {recovery}: {marks} marks");
        assert_eq!(
            (ecn.links[0].dropped_packets[net::DropReason::Queue], marked.retransmitted_packets),
            (0, Some(0))
        );
        assert!(cuts <= marks + 6, "{profile} {recovery}: {cuts} cuts for {marks} marks");
        assert!(cuts * 3 >= marks, "{profile} {recovery}: {cuts} cuts for {marks} marks");
        assert!(marked.goodput_bps > 0.9 * lossy.goodput_bps);
    }
}

/// Networks in which the auditor could confuse the next step of a packet with that of another: flows that branch, end
/// early, or pass a terminal.
#[test]
fn correct_runs_raise_no_alarm() {
    let line = |name: &str, from: &str, to: &str| {
        format!(
            "[[link]]\nname = \"{name}\"\nends = [\"{from}\", \"{to}\"]\nrate = \"10Mbps\"\ndelay = \"10ms\"\n"
        )
    };
    let flow =
        |from: &str, to: &str| format!("[[flow]]\nname = \"{from}{to}\"\nfrom = \"{from}\"\nto = \"{to}\"\n");
    let ends_early = format!(
        "duration = \"5s\"\n{}{}{}{}",
        line("x", "a", "b"),
        line("y", "b", "c"),
        flow("a", "b"),
        flow("a", "c")
    );
    let parting = format!(
        "duration = \"5s\"\n{}{}{}{}{}",
        line("x", "a", "m"),
        line("y", "m", "b"),
        line("z", "m", "c"),
        flow("a", "b"),
        flow("a", "c")
    );
    let parking_lot: String = (0..5)
        .map(|n| line(&format!("l{n}"), &format!("n{n}"), &format!("n{}", n + 1)))
        .chain((0..5).map(|n| flow(&format!("n{n}"), &format!("n{}", n + 1))))
        .chain([flow("n0", "n5"), flow("n5", "n2")])
        .collect();
    let passing = "duration = \"20s\"\nconstellation = { kind = \"iridium\" }\n\
        terminal = [{ name = \"t0\", lat = 37.9, lon = 0 }, { name = \"t1\", lat = 0, lon = -122.3 }, \
        { name = \"t2\", lat = 37.9, lon = 71.1 }]\n";
    let passing = format!("{passing}{}{}", line("x", "t0", "t1"), flow("t2", "t1"));
    for text in [ends_early, parting, format!("duration = \"5s\"\n{parking_lot}"), passing] {
        for unfused in [false, true] {
            let recording = Recording { audit: true, ..Recording::default() };
            let settings = Settings { recording, unfused, ..Settings::default() };
            let mut run = Run::new(&scenario(&text), settings).unwrap();
            run.finish();
            let (violations, count) = run.audit();
            assert_eq!(count, 0, "unfused {unfused}: {violations:#?}\n{text}");
        }
    }
}

/// The losses of a link act independently, each with a stream of its own: a second one leaves the first one's losses.
#[test]
fn losses_in_a_row_are_independent() {
    let run = |loss: &str| {
        let text = format!(
            r#"
duration = "200s"
link = [{{ name = "l", ends = ["a", "b"], rate = "10Mbps", delay = "1ms", {loss} }}]
flow = [{{ name = "f", from = "a", to = "b", udp = {{ packet = 1000, rate = "8Mbps" }} }}]
"#
        );
        let scenario = Scenario::parse("losses.toml", &text, &[]).unwrap();
        let recording = Recording { audit: true, ..Recording::default() };
        let mut run = Run::new(&scenario, Settings { recording, ..Settings::default() }).unwrap();
        run.finish();
        assert_eq!(run.audit().1, 0);
        let link = run.outcome().links[0].clone();
        (link.dropped_packets[net::DropReason::Loss] as f64, link.dropped_packets[net::DropReason::List])
    };
    let of = |rate: f64| format!(r#"{{ kind = "bernoulli", rate = {rate} }}"#);
    let (first, _) = run(&format!("loss = {}", of(0.1)));
    let (alone, _) = run(&format!("loss = [{}]", of(0.1)));
    let (none, _) = run(&format!(r#"loss = [{{ kind = "none" }}, {}]"#, of(0.1)));
    assert_eq!((first, first), (alone, none));
    let (both, _) = run(&format!("loss = [{}, {}]", of(0.1), of(0.2)));
    let (n, p) = (200_000.0, 1.0 - 0.9 * 0.8);
    assert!(first < both && (both - n * p).abs() < 4.0 * (n * p * (1.0 - p)).sqrt(), "{both}");
    let scripted = r#"{ kind = "scripted", flow = "f", packets = [3, 5] }"#;
    let (random, listed) = run(&format!("loss = [{scripted}, {}]", of(0.1)));
    assert_eq!(listed, 2);
    assert!((random - first).abs() <= 2.0, "{random}, {first}");
    // The reverse direction can have none.
    assert_eq!(run(&format!("loss = {}, back = {{ loss = [] }}", of(0.1))).0, first);
}

#[test]
fn one_loss_of_several_can_be_set() {
    let text = r#"
duration = "1s"
link = [{ name = "l", ends = ["a", "b"], rate = "10Mbps", delay = "1ms", loss = [{ kind = "bernoulli", rate = 0.5 }, { kind = "bernoulli", rate = 0.25 }] }]
flow = [{ from = "a", to = "b" }]
"#;
    let parse = |set: &str| Scenario::parse("s.toml", text, &[set.to_string()]);
    let rates = |scenario: &Scenario| {
        scenario.links[0].directions[0].losses.iter().map(ackclock_lab::Loss::label).collect::<Vec<_>>()
    };
    assert_eq!(rates(&parse("link.l.loss[1].rate=0.75").unwrap()), ["loss 50 %", "loss 75 %"]);
    let error = |set: &str| parse(set).unwrap_err().to_string();
    assert!(error("link.l.loss[2].rate=0.75").contains("\"loss\" has no element 2; it has 2"));
    assert!(error("link.l.loss.rate=0.75").contains("write loss[0] for its first"));
    let named = text.replace(r#"name = "l""#, r#"name = "l[1]""#);
    let set = r#"link."l[1]".loss[0].rate=0.75"#.to_string();
    assert_eq!(rates(&Scenario::parse("s.toml", &named, &[set]).unwrap()), ["loss 75 %", "loss 25 %"]);
}
