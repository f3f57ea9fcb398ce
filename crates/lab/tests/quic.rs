//! QUIC flows over every kind of network: audited, and the same twice.
#![cfg(feature = "quic")]

use ackclock_lab::{FlowOutcome, Outcome, Recording, Run, Scenario, Settings};

fn audited(text: &str) -> (Outcome, String) {
    let scenario = Scenario::parse("test.toml", text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let recording = Recording { audit: true, fingerprint: true, ..Recording::default() };
    let once = |recording| {
        let mut run = Run::new(&scenario, Settings { recording, ..Settings::default() }).unwrap();
        run.finish();
        let (violations, count) = run.audit();
        assert_eq!(count, 0, "{violations:#?}\n{text}");
        (run.outcome(), run.fingerprint())
    };
    let (result, again) = (once(recording), once(recording));
    assert_eq!(result.1, again.1, "two runs of a scenario differ");
    let plain = once(Recording::default()).0;
    assert_eq!(format!("{:?}", plain.flows), format!("{:?}", result.0.flows), "watching changes the run");
    result
}

fn wired(queue: &str, flows: &str) -> String {
    format!(
        "duration = \"8s\"\n[[link]]\nname = \"x\"\nends = [\"s\", \"d\"]\nrate = \"20Mbps\"\ndelay = \"10ms\"\n{queue}\n{flows}"
    )
}

fn quic(name: &str, options: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\nfrom = \"s\"\nto = \"d\"\nquic = {{ {options} }}\n")
}

const DROPTAIL: &str = "queue = { kind = \"droptail\", limit = \"40p\" }";

fn flow(text: &str) -> FlowOutcome {
    audited(text).0.flows.remove(0)
}

#[test]
fn reno_on_quic_uses_the_link_as_on_tcp() {
    let result = flow(&wired(DROPTAIL, &quic("q", "congestion_control = \"reno\"")));
    println!("{result:#?}");
    assert_eq!(
        (result.kind, result.transport, result.control.as_deref()),
        ("quic", Some("quic"), Some("reno"))
    );
    assert!((18.5e6..19.5e6).contains(&result.goodput_bps), "{}", result.goodput_bps);
    let tcp = "[[flow]]\nname = \"q\"\nfrom = \"s\"\nto = \"d\"\ntcp = { congestion_control = \"reno\" }\n";
    let tcp = flow(&wired(DROPTAIL, tcp));
    println!("{tcp:#?}");
    let ratio = result.mean_cwnd.unwrap() / tcp.mean_cwnd.unwrap();
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
    assert_eq!(result.window_cuts, tcp.window_cuts);
}

#[test]
fn quic_crosses_every_kind_of_network() {
    let reno = quic("q", "congestion_control = \"reno\"");
    let lossy = wired("loss = { kind = \"bernoulli\", rate = 0.005 }", &reno);
    let red = wired(
        "queue = { kind = \"red\", min = \"5p\", max = \"15p\", limit = \"40p\", mark_p = 1.0, ecn = true }",
        &quic("q", "congestion_control = \"cubic\", ecn = true"),
    );
    let codel = wired("queue = { kind = \"codel\", ecn = true }", &quic("q", "ecn = true"));
    let l4s = wired("queue = { kind = \"dualpi2\" }", &quic("q", "congestion_control = \"prague\""));
    let copies = wired("loss = { kind = \"duplicate\", rate = 0.05 }", &reno);
    for (text, least, marked) in [
        (&lossy, 3e6, false),
        (&red, 17e6, true),
        (&codel, 17e6, true),
        (&l4s, 15e6, true),
        (&copies, 18e6, false),
    ] {
        let result = flow(text);
        assert!(result.goodput_bps > least, "{text}: {}", result.goodput_bps);
        assert_eq!(result.ce_marks.unwrap() > 0, marked, "{text}");
    }
    let mixed = [
        quic("q", ""),
        quic("r", "congestion_control = \"vegas\""),
        quic("s", "pacing = \"driver\""),
    ]
    .concat()
        + "[[flow]]\nname = \"t\"\nfrom = \"s\"\nto = \"d\"\ntcp = {}\n[[flow]]\nname = \"u\"\nfrom = \"d\"\nto = \"s\"\n\
           udp = { rate = \"1Mbps\" }\n";
    let (outcome, _) = audited(&wired(DROPTAIL, &mixed));
    let kinds: Vec<&str> = outcome.flows.iter().map(|flow| flow.kind).collect();
    assert_eq!(kinds, ["quic", "quic", "quic", "tcp", "udp"]);
    assert!(outcome.flows.iter().all(|flow| flow.delivered_bytes > 100_000), "{outcome:#?}");
    assert!(outcome.fairness.jain.unwrap() < 1.0);
}

#[test]
fn quic_crosses_satellites_and_radio() {
    let satellites = "duration = \"60s\"\n[constellation]\nkind = \"iridium\"\n\
         [[terminal]]\nname = \"s\"\nlat = 28.6\nlon = 77.2\n[[terminal]]\nname = \"d\"\nlat = 37.9\nlon = -122.3\n";
    let result = flow(&format!("{satellites}{}", quic("q", "congestion_control = \"ca_artt\"")));
    assert!(result.goodput_bps > 0.5e6 && result.min_rtt_s.unwrap() > 0.06, "{result:#?}");
    let radio = "duration = \"20s\"\n[radio]\nnodes = 4\nrouting = { kind = \"aodv\" }\n\
         mobility = { kind = \"static\", positions = [[0, 0], [200, 0], [400, 0], [600, 0]] }\n";
    let nodes =
        quic("q", "congestion_control = \"reno\"").replace("\"s\"", "\"n0\"").replace("\"d\"", "\"n3\"");
    let (outcome, _) = audited(&format!("{radio}{nodes}"));
    assert!(outcome.flows[0].goodput_bps > 1e5, "{:#?}", outcome.flows[0]);
    assert!(outcome.radio.unwrap().received_packets > 200);
}

#[test]
fn transfers_end_with_their_last_byte() {
    let once = flow(&(wired(DROPTAIL, &quic("q", "")) + "bytes = \"1MB\"\n"));
    assert_eq!(once.delivered_bytes, 1_000_000);
    assert!((0.4..1.5).contains(&once.completion_s.unwrap()), "{:?}", once.completion_s);
    let written = flow(
        &(wired(DROPTAIL, &quic("q", ""))
            + "writes = [[\"0s\", \"20kB\"], [\"3s\", \"5001B\"]]\nstart = \"1s\"\n"),
    );
    assert_eq!(written.delivered_bytes, 25_001);
    assert!((3.0..3.1).contains(&written.completion_s.unwrap()), "{:?}", written.completion_s);
    let stopped = flow(&(wired(DROPTAIL, &quic("q", "")) + "stop = \"4s\"\n"));
    let whole = flow(&wired(DROPTAIL, &quic("q", "")));
    let part = stopped.delivered_bytes as f64 / whole.delivered_bytes as f64;
    assert!((0.4..0.52).contains(&part), "{part}");
    assert_eq!(stopped.completion_s, None);
}

#[test]
fn a_warmup_is_not_in_the_outcome() {
    let text = wired(DROPTAIL, &quic("q", "congestion_control = \"reno\""));
    let (whole, late) = (flow(&text), flow(&format!("warmup = \"4s\"\n{text}")));
    assert!((0.45..0.55).contains(&(late.delivered_bytes as f64 / whole.delivered_bytes as f64)));
    assert!(late.window_cuts.unwrap() < whole.window_cuts.unwrap());
    assert!(late.goodput_bps > 18.5e6);
}

/// Losses are drawn by the packets of a link: with a link of its own, a second flow does not change those of the first.
#[test]
fn another_flow_elsewhere_changes_nothing() {
    let alone = wired("loss = { kind = \"bernoulli\", rate = 0.005 }", &quic("q", ""));
    let link = "[[link]]\nends = [\"e\", \"f\"]\nrate = \"9Mbps\"\ndelay = \"3ms\"\nloss = { kind = \"bernoulli\", rate = 0.02 }\n";
    let other =
        quic("other", "congestion_control = \"reno\"").replace("\"s\"", "\"e\"").replace("\"d\"", "\"f\"");
    let both = alone.replacen("[[flow]]", &format!("{link}[[flow]]"), 1) + &other;
    assert_eq!(format!("{:?}", flow(&alone)), format!("{:?}", flow(&both)));
}

#[test]
fn what_quic_cannot_do_is_refused_by_name() {
    let refused = |options: &str| {
        let text = wired(DROPTAIL, &quic("q", options));
        Scenario::parse("test.toml", &text, &[]).map(|_| ()).unwrap_err().to_string()
    };
    for (options, expected) in [
        ("congestion_control = \"xcp\"", "flow.q.quic.congestion_control: xcp needs the feedback of routers"),
        ("congestion_control = \"rcp\"", "rcp needs the rates that routers grant"),
        ("congestion_control = \"dctcp\", ecn = false", "dctcp needs ECN; write ecn = true"),
        ("recovery = \"sack\"", "flow.q.quic.recovery: is an option of TCP"),
        ("profile = \"ns2\"", "is an option of TCP"),
        ("mss = 1000", "write max_datagram_size"),
        ("ack_delay = \"40ms\"", "write ack_every and max_ack_delay"),
        ("max_datagram_size = 1100", "1100 is not between 1200 and 65527"),
        ("pacing = \"stak\"", "did you mean \"stack\"?"),
        ("pacin = \"stack\"", "unknown key; did you mean \"pacing\"?"),
        ("congestion_control = \"cubik\"", "did you mean \"cubic\"?"),
        ("initial_window = 1", "1 is not between 2 and"),
        ("l4s = true", "l4s: needs ecn = true"),
        ("max_ack_delay = \"20s\"", "must be from 1ms to 16s"),
    ] {
        let message = refused(options);
        assert!(message.contains(expected) && message.contains("test.toml:"), "{options}: {message}");
    }
    let both = wired(DROPTAIL, &quic("q", "")) + "tcp = {}\n";
    let message = Scenario::parse("t", &both, &[]).unwrap_err().to_string();
    assert!(message.contains("a flow is one of tcp, quic and udp"), "{message}");
}

#[test]
fn traffic_sources_can_send_over_quic() {
    let text = wired(DROPTAIL, "")
        + "[[traffic]]\nname = \"web\"\nfrom = \"s\"\nto = \"d\"\nload = \"4Mbps\"\nsize = \"50kB\"\n\
           quic = { congestion_control = \"reno\" }\n";
    let (outcome, _) = audited(&text);
    assert!(outcome.flows.len() > 20 && outcome.flows.iter().all(|flow| flow.kind == "quic"));
    let done = outcome.flows.iter().filter(|flow| flow.completion_s.is_some()).count();
    assert!(done * 10 > outcome.flows.len() * 8, "{done} of {}", outcome.flows.len());
}
