//! Scheduled links: with a discipline that never drops they give the results of other links; every discipline passes the
//! audit.

mod common;

use ackclock_lab::{Outcome, Scenario};
use common::audited;
use engine::Stream;

/// A random network of three links in a row with flows of several kinds; `queue` makes the queue of a link from its limit.
fn network(seed: u64, queue: &dyn Fn(u64) -> String) -> String {
    let mut stream = Stream::new(seed, "network", "");
    let mut draw = |from: u64, to: u64| from + stream.bits() % (to - from);
    let mut text = format!("duration = \"{}ms\"\nseed = {seed}\n", draw(4000, 8000));
    if draw(0, 2) == 0 {
        text += &format!("warmup = \"{}ms\"\n", draw(1000, 2000));
    }
    for (name, ends) in [("x", ["a", "b"]), ("y", ["b", "c"]), ("z", ["c", "d"])] {
        let loss = match draw(0, 4) {
            0 => ", loss = { kind = \"bernoulli\", rate = 0.01 }",
            1 => ", loss = { kind = \"stall\", times = [[\"1s\", \"1300ms\"]] }",
            _ => "",
        };
        text += &format!(
            "[[link]]\nname = \"{name}\"\nends = {ends:?}\nrate = \"{}bps\"\ndelay = \"{}us\"\nqueue = {}{}\n",
            draw(1_000_000, 20_000_000),
            draw(500, 30_000),
            queue(draw(5, 80)),
            loss.replace(", loss", "\nloss")
        );
    }
    for flow in 0..draw(1, 6) {
        let profile = ["linux", "ns2"][draw(0, 2) as usize];
        let control = ["reno", "cubic", "vegas", "westwood_plus"][draw(0, 4) as usize];
        let (from, to) = [("a", "d"), ("a", "c"), ("b", "d"), ("d", "a")][draw(0, 4) as usize];
        let tcp = format!("{{ profile = \"{profile}\", congestion_control = \"{control}\" }}");
        let start = draw(0, 1_000_000);
        text += &format!(
            "[[flow]]\nname = \"f{flow}\"\nfrom = \"{from}\"\nto = \"{to}\"\nstart = \"{start}us\"\ntcp = {tcp}\n"
        );
    }
    text
}

/// The outcome without what the number of events decides.
fn compared(text: &str) -> serde_json::Value {
    let mut outcome: serde_json::Value =
        serde_json::from_str(&ackclock_lab::to_json(&audited(text))).unwrap();
    outcome["engine"] = serde_json::Value::Null;
    outcome
}

#[test]
fn a_discipline_that_never_drops_gives_the_results_of_drop_tail() {
    for seed in 0..400 {
        let tail = network(seed, &|limit| format!("{{ kind = \"droptail\", limit = \"{limit}p\" }}"));
        let codel = network(seed, &|limit| {
            format!("{{ kind = \"codel\", limit = \"{limit}p\", target = \"9999s\" }}")
        });
        assert_eq!(compared(&tail), compared(&codel), "seed {seed}\n{tail}");
    }
}

#[test]
fn every_discipline_passes_the_audit() {
    const KINDS: [&str; 8] = [
        "kind = \"codel\"",
        "kind = \"codel\", ecn = true",
        "kind = \"fq_codel\"",
        "kind = \"fq_codel\", flows = 0, quantum = 300",
        "kind = \"pie\"",
        "kind = \"fq_pie\", ecn = true",
        "kind = \"dualpi2\"",
        "kind = \"dualpi2\", scheduler = \"tsfifo\", ramp = \"1ms\"",
    ];
    let mut dropped = 0;
    for seed in 0..80 {
        let kind = KINDS[seed as usize % KINDS.len()];
        let text = network(seed, &|limit| format!("{{ {kind}, limit = \"{}p\" }}", 3 * limit));
        let outcome = audited(&text);
        dropped += outcome.links.iter().map(|link| link.dropped_packets[net::DropReason::Aqm]).sum::<u64>();
    }
    assert!(dropped > 1000, "{dropped}");
}

/// One flow over a link with these keys, and a queue of 50 packets unless they name one.
fn single(link: &str) -> String {
    format!(
        "duration = \"20s\"\ndelays = true\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\ndelay = \"10ms\"\n{link}\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n"
    )
}

#[test]
fn varying_rates_and_impairments_pass_the_audit() {
    let queue = "queue = { kind = \"droptail\", limit = \"50p\" }";
    let trace = "rate = { kind = \"trace\", file = \"../../scenarios/traces/two-steps.down\" }";
    for link in [
        format!("{trace}\n{queue}"),
        format!("{trace}\nqueue = {{ kind = \"fq_codel\" }}"),
        format!("rate = {{ kind = \"steps\", steps = [[\"0s\", \"9Mbps\"], [\"1s\", \"0Mbps\"], [\"2s\", \"3Mbps\"]], repeat = \"4s\" }}\n{queue}"),
        format!("rate = \"50Mbps\"\nshaper = {{ rate = \"5Mbps\", burst = \"30kB\" }}\n{queue}"),
        format!("rate = \"50Mbps\"\nloss = {{ kind = \"policer\", rate = \"5Mbps\", burst = \"30kB\" }}\n{queue}"),
        format!("rate = \"5Mbps\"\nloss = [{{ kind = \"jitter\", max = \"8ms\" }}, {{ kind = \"duplicate\", rate = 0.01 }}]\n{queue}"),
        format!("rate = \"5Mbps\"\nloss = [{{ kind = \"jitter\", distribution = \"normal\", mean = \"8ms\", deviation = \"2ms\", correlation = 0.5 }}]\n{queue}"),
        format!("rate = \"5Mbps\"\nloss = [{{ kind = \"jitter\", distribution = \"pareto\", mean = \"8ms\", deviation = \"2ms\", order = false }}]\n{queue}"),
        format!("rate = {{ kind = \"random_steps\", interval = \"1s\", min = \"2Mbps\", max = \"9Mbps\" }}\n{queue}"),
        format!("rate = {{ kind = \"file\", file = \"../../scenarios/traces/steps.csv\", repeat = \"4s\" }}\n{queue}"),
        format!("rate = \"5Mbps\"\nloss = {{ kind = \"delay\", steps = [[\"0s\", \"0ms\"], [\"1s\", \"40ms\"], [\"2s\", \"5ms\"]], repeat = \"3s\" }}\n{queue}"),
        "rate = \"5Mbps\"\nloss = [{ kind = \"jitter\", max = \"8ms\", order = false }, { kind = \"reorder\", rate = 0.1, by = \"5ms\" }]\nqueue = { kind = \"codel\" }".into(),
    ] {
        let outcome = audited(&single(&link));
        assert!(outcome.flows[0].delivered_bytes > 1_000_000, "{link}");
        let utilisation = outcome.links[0].utilisation;
        // A token bucket sends its first burst above its rate.
        assert!(utilisation > 0.05 && utilisation <= 1.003, "{link}: {utilisation}");
    }
}

#[test]
fn a_trace_of_even_opportunities_is_a_link_of_their_rate() {
    let file = std::env::temp_dir().join(format!("even-{}.down", std::process::id()));
    std::fs::write(&file, "1\n").unwrap();
    let queue = "queue = { kind = \"droptail\", limit = \"30p\" }";
    let rate = format!("rate = {{ kind = \"trace\", file = \"{}\" }}", file.display());
    let back = "back = { rate = \"12.032Mbps\" }\n";
    let trace = audited(&single(&format!("{back}{rate}\n{queue}")));
    let even = audited(&single(&format!("{back}rate = \"12.032Mbps\"\n{queue}")));
    std::fs::remove_file(file).unwrap();
    let goodput = trace.flows[0].goodput_bps / even.flows[0].goodput_bps;
    assert!((goodput - 1.0).abs() < 1e-3, "{goodput}");
    let delay = trace.flows[0].p95_delay_s.unwrap() - even.flows[0].p95_delay_s.unwrap();
    assert!(delay.abs() < 1e-3, "{delay}");
    assert!((trace.links[0].utilisation - even.links[0].utilisation).abs() < 2e-3);
}

#[test]
fn codel_keeps_the_delay_near_its_target() {
    let with = |queue: &str| audited(&single(&format!("rate = \"10Mbps\"\nqueue = {queue}")));
    let (tail, codel) = (with("{ kind = \"droptail\", limit = \"200p\" }"), with("{ kind = \"codel\" }"));
    let queueing = |outcome: &Outcome| outcome.links[0].mean_sojourn_s.unwrap();
    assert!(queueing(&codel) < 0.02 && queueing(&tail) > 0.08, "{} {}", queueing(&codel), queueing(&tail));
    assert!(codel.flows[0].goodput_bps > 0.9 * tail.flows[0].goodput_bps);
}

#[test]
fn quantiles_of_waiting_times_are_those_of_the_delays() {
    // One flow over one link: the wait is the one-way delay less transmission and propagation.
    for queue in [
        "{ kind = \"droptail\", limit = \"40p\" }",
        "{ kind = \"codel\", limit = \"40p\", target = \"9999s\" }",
    ] {
        let text = single(&format!("rate = \"10Mbps\"\nqueue = {queue}"));
        let with = |text: &str| {
            let outcome = audited(text);
            let delay = outcome.flows[0].p95_delay_s.unwrap() - outcome.flows[0].base_delay_s.unwrap();
            (outcome.links[0].p95_sojourn_s.unwrap(), delay, outcome.links[0].mean_sojourn_s.unwrap())
        };
        for text in [text.clone(), format!("warmup = \"5s\"\n{text}")] {
            let (wait, delay, mean) = with(&text);
            assert!((wait / delay - 1.0).abs() < 0.012 && wait > mean, "{wait} {delay} {mean}\n{text}");
        }
        let without = audited(&text.replace("delays = true", ""));
        assert_eq!(without.links[0].p95_sojourn_s, None);
        assert_eq!(without.links[0].mean_sojourn_s, audited(&text).links[0].mean_sojourn_s);
    }
}

#[test]
fn rates_that_cannot_be_are_refused() {
    let queue = "queue = { kind = \"droptail\", limit = \"9p\" }";
    let red = "queue = { kind = \"red\", limit = \"9p\" }";
    let steps = |list: &str| format!("rate = {{ kind = \"steps\", steps = {list} }}");
    for (link, expected) in [
        (format!("{}\n{queue}", steps("[]")), "link.l.rate.steps: must not be empty"),
        (
            format!("{}\n{queue}", steps("[[\"1s\", \"1Mbps\"]]")),
            "link.l.rate.steps: the first time must be zero",
        ),
        (
            format!("{}\n{queue}", steps("[[\"0s\", \"1Mbps\"], [\"0s\", \"2Mbps\"]]")),
            "link.l.rate.steps: the times must increase",
        ),
        (
            format!("{}\n{queue}", steps("[[\"0s\", \"0bps\"]]")),
            "link.l.rate.steps: a rate must be more than zero",
        ),
        (
            format!("{}\n{red}", steps("[[\"0s\", \"1Mbps\"]]")),
            "link.l.queue: RED and PIE need a constant rate",
        ),
        (
            format!("{}\n{queue}", steps("[[\"0s\", \"9e13bps\"]]")),
            "link.l.rate.steps: value 2: must be from 0bps to 8000Gbps",
        ),
        ("rate = { kind = \"file\", file = \"missing\" }".into(), "link.l.rate.file: missing: No such file"),
        (
            "rate = { kind = \"file\", file = \"../../scenarios/traces/two-steps.down\" }".into(),
            "link.l.rate.file: ../../scenarios/traces/two-steps.down:1: has one value and no time: a trace of Mahimahi has kind",
        ),
        (
            "rate = { kind = \"file\", file = \"../../scenarios/traces/steps.csv\", repeat = \"2s\" }".into(),
            "link.l.rate.repeat: must be after the last step",
        ),
        (
            "rate = \"1Mbps\"\nloss = { kind = \"delay\", steps = [[\"0s\", \"20Ms\"]] }".into(),
            "link.l.loss.steps: ",
        ),
        (
            "rate = \"1Mbps\"\nloss = { kind = \"jitter\", distribution = \"normal\", max = \"9ms\" }".into(),
            "link.l.loss.max: has no effect with distribution = \"normal\"",
        ),
        (
            "rate = \"1Mbps\"\nloss = { kind = \"jitter\", distribution = \"gamma\" }".into(),
            "link.l.loss.distribution: unknown value \"gamma\"",
        ),
        ("rate = { kind = \"trace\", file = \"missing\" }".into(), "link.l.rate.file: missing: No such file"),
        (
            "rate = { kind = \"tracee\" }".into(),
            "link.l.rate.kind: unknown rate \"tracee\"; did you mean \"trace\"?",
        ),
        (
            "rate = \"1Mbps\"\nshaper = { rate = \"2Mbps\", burst = \"9kB\" }".into(),
            "link.l.shaper: its rate of 2Mbps is above that of the link, 1Mbps",
        ),
        (
            "rate = \"1Mbps\"\nloss = { kind = \"policer\", rate = \"1Mbps\", burst = \"900B\" }".into(),
            "link.l.loss.burst: must be at least 1500 bytes",
        ),
        (
            "rate = \"1Mbps\"\nloss = { kind = \"jitter\", min = \"9ms\", max = \"1ms\" }".into(),
            "link.l.loss.min: must not be above max, which is 1ms",
        ),
        (
            "rate = \"1Mbps\"\nrouter = { kind = \"rcp\" }\nqueue = { kind = \"codel\" }".into(),
            "link.l.router: needs a constant rate, and a queue that decides at arrival",
        ),
    ] {
        let error = Scenario::parse("t", &single(&link), &[]).expect_err(&link).to_string();
        let message = error.split_once(": ").map_or("", |parts| parts.1);
        assert!(message.starts_with(expected), "{error}\nexpected {expected}");
    }
}

#[test]
fn low_latency_flows_with_retransmissions_pass_the_audit() {
    // Retransmissions are not ECN-capable, so they go to the classic queue and are overtaken.
    for rate in ["200kbps", "1Mbps"] {
        let link = format!(
            "rate = \"{rate}\"\nqueue = {{ kind = \"dualpi2\" }}\nloss = {{ kind = \"bernoulli\", rate = 0.01 }}"
        );
        let text = single(&link)
            + "tcp = { congestion_control = \"prague\" }\n[[flow]]\nname = \"c\"\nfrom = \"a\"\nto = \"b\"\n";
        let outcome = audited(&text);
        assert!(outcome.links[0].low_latency.as_ref().unwrap().sent_packets > 20);
    }
}

#[test]
fn the_utilisation_of_a_varying_rate_is_relative_to_what_it_offers() {
    let queue = "queue = { kind = \"droptail\", limit = \"50p\" }\nback = { rate = \"50Mbps\" }";
    let steps =
        |list: &str, more: &str| format!("rate = {{ kind = \"steps\", steps = {list}{more} }}\n{queue}");
    for (link, warmup) in [
        (steps("[[\"0s\", \"10Mbps\"], [\"30s\", \"1Mbps\"]]", ", repeat = \"60s\""), "0s"),
        (steps("[[\"0s\", \"10Mbps\"], [\"10s\", \"2Mbps\"]]", ""), "10s"),
        (steps("[[\"0s\", \"2Mbps\"], [\"10s\", \"10Mbps\"]]", ""), "10s"),
        (format!("rate = \"9Mbps\"\nshaper = {{ rate = \"3Mbps\", burst = \"9kB\" }}\n{queue}"), "3s"),
    ] {
        let text = format!("warmup = \"{warmup}\"\n{}", single(&link));
        let utilisation = audited(&text).links[0].utilisation;
        assert!(utilisation > 0.9 && utilisation < 1.002, "{utilisation}\n{text}");
    }
}

/// A UDP flow of 2 Mb/s over a link with these keys, its packets in the order of arrival.
fn udp(link: &str) -> Outcome {
    let flow = "udp = { rate = \"2Mbps\", packet = 500 }\n";
    audited(&(single(&format!("rate = \"10Mbps\"\n{link}")) + flow))
}

#[test]
fn a_delay_follows_its_schedule() {
    let delays = |order: bool| {
        let steps = "[[\"0s\", \"0ms\"], [\"5s\", \"30ms\"], [\"10s\", \"0ms\"]]";
        let flow = &udp(&format!("loss = {{ kind = \"delay\", steps = {steps}, order = {order} }}")).flows[0];
        (flow.p50_delay_s.unwrap(), flow.p99_delay_s.unwrap(), flow.mean_delay_s.unwrap())
    };
    for order in [true, false] {
        let (median, highest, mean) = delays(order);
        // 10 ms of propagation, 0.4 ms of transmission; 30 ms more for 5 of 20 s.
        assert!((median - 0.0104).abs() < 1e-4, "{median}");
        assert!((highest - 0.0404).abs() < 1e-4, "{highest}");
        assert!((mean - 0.0104 - 0.0075).abs() < 1e-4, "{mean}");
    }
}

#[test]
fn impairments_act_on_their_own() {
    // A dropped packet takes no tokens: after a blackout the bucket is full.
    let policer = "{ kind = \"policer\", rate = \"500kbps\", burst = \"250kB\" }";
    let blackout = "{ kind = \"blackout\", times = [[\"1s\", \"9s\"]] }";
    let alone = udp(&format!("loss = [{policer}]")).links[0].dropped_packets[net::DropReason::Policer];
    let both =
        udp(&format!("loss = [{blackout}, {policer}]")).links[0].dropped_packets[net::DropReason::Policer];
    assert!(alone > 7000 && both < alone - 3000, "{alone} {both}");
    // Jitter in order does not undo a reordering beside it.
    let reorder = "{ kind = \"reorder\", rate = 0.1, by = \"20ms\" }";
    let jitter = "{ kind = \"jitter\", max = \"1ms\" }";
    let late = |losses: &str| {
        let outcome = udp(&format!("loss = [{losses}]"));
        let flow = &outcome.flows[0];
        (flow.p50_delay_s.unwrap(), flow.p99_delay_s.unwrap())
    };
    let (alone, beside) = (late(reorder), late(&format!("{jitter}, {reorder}")));
    assert!(beside.0 - alone.0 < 0.0011 && (beside.1 - alone.1).abs() < 0.0011, "{alone:?} {beside:?}");
}

#[test]
fn options_without_effect_on_bbr_are_told() {
    let file = |tcp: &str| format!("{}tcp = {{ {tcp} }}\n", single("rate = \"1Mbps\""));
    let advice = |tcp: &str| Scenario::parse("test.toml", &file(tcp), &[]).unwrap().advice;
    let unused = "initial_ssthresh = 20, pacing = false, abe = true";
    let lines = advice(&format!("congestion_control = \"bbr\", {unused}"));
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("initial_ssthresh: has no effect with bbr")), "{lines:?}");
    // Of Reno, only the reduction at marks has none, without ECN.
    let lines = advice(&format!("congestion_control = \"reno\", {unused}"));
    assert!(lines.len() == 1 && lines[0].contains("abe: has no effect with ecn = false"), "{lines:?}");
    assert_eq!(advice("congestion_control = \"bbr\", delayed_ack = false"), Vec::<String>::new());
}
