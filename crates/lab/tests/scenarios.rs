//! The scenario format: error messages contain file, line, key and a correction.

use ackclock_lab::Scenario;

const GOOD: &str = r#"duration = "10s"

[tcp]
profile = "ns2"

[[link]]
name  = "bottleneck"
ends  = ["a", "b"]
rate  = "1Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "7p" }

[[flow]]
name = "f"
from = "a"
to   = "b"
tcp  = { congestion_control = { kind = "vegas", alpha = 2 } }
"#;

#[test]
fn errors_name_line_key_and_remedy() {
    let cases = [
        (
            "duration = \"10s\"",
            "duration = \"10\"",
            "s.toml:1: duration: \"10\" is not a time such as \"10ms\" or \"1.5s\"",
        ),
        ("duration = \"10s\"", "duration = 10", "s.toml:1: duration: 10 has no unit: write it like \"60s\""),
        (
            "duration = \"10s\"",
            "duratoin = \"10s\"",
            "s.toml:1: duratoin: unknown key; did you mean \"duration\"?",
        ),
        ("duration = \"10s\"", "duration = \"0s\"", "s.toml:1: duration: must be more than zero"),
        ("duration = \"10s\"", "duration = 10s", "s.toml:1: not TOML"),
        ("name = \"f\"", "nmae = \"f\"", "s.toml:14: flow.flow0.nmae: unknown key; did you mean \"name\"?"),
        (
            "rate  = \"1Mbps\"",
            "rate  = \"1mb\"",
            "s.toml:9: link.bottleneck.rate: \"1mb\" is not a rate such as",
        ),
        ("rate  = \"1Mbps\"", "rate  = \"0bps\"", "s.toml:9: link.bottleneck.rate: must be more than zero"),
        (
            "rate  = \"1Mbps\"",
            "",
            "s.toml:6: link.bottleneck.rate: is missing: transmission rate, such as rate = \"10Mbps\"",
        ),
        (
            "limit = \"7p\"",
            "limit = \"7\"",
            "s.toml:11: link.bottleneck.queue.limit: \"7\" is not a queue limit such as",
        ),
        (
            "droptail",
            "dropttail",
            "s.toml:11: link.bottleneck.queue.kind: unknown queue \"dropttail\"; did you mean \"droptail\"?",
        ),
        (
            "droptail",
            "codell",
            "s.toml:11: link.bottleneck.queue.kind: unknown queue \"codell\"; did you mean \"codel\"?",
        ),
        (
            "kind = \"droptail\"",
            "kind = \"codel\", target = \"0ms\"",
            "s.toml:11: link.bottleneck.queue.target: must be from 1us to 10000s",
        ),
        (
            "kind = \"droptail\"",
            "kind = \"dualpi2\", scheduler = \"wr\"",
            "s.toml:11: link.bottleneck.queue.scheduler: unknown value \"wr\"; did you mean \"wrr\"?",
        ),
        (
            "kind = \"droptail\"",
            "kind = \"red\", min = \"9kB\"",
            "s.toml:11: link.bottleneck.queue.min: must be above zero and in the unit of the limit",
        ),
        (
            "kind = \"droptail\"",
            "kind = \"red\", min = \"9p\", max = \"9p\"",
            "s.toml:11: link.bottleneck.queue.max: must be above min, which is 9",
        ),
        (
            "profile = \"ns2\"",
            "profile = \"ns3\"",
            "s.toml:4: tcp.profile: unknown value \"ns3\"; did you mean \"ns2\"?",
        ),
        (
            "profile = \"ns2\"",
            "receive_windw = 3",
            "s.toml:4: tcp.receive_windw: unknown key; did you mean \"receive_window\"?",
        ),
        (
            "profile = \"ns2\"",
            "receive_window = 0",
            "s.toml:4: tcp.receive_window: 0 is not between 1 and 1073741824",
        ),
        (
            "profile = \"ns2\"",
            "receive_window = 2.5",
            "s.toml:4: tcp.receive_window: must be a whole number, not a number",
        ),
        (
            "profile = \"ns2\"",
            "recovery = \"sak\"",
            "s.toml:4: tcp.recovery: unknown value \"sak\"; did you mean \"sack\"?",
        ),
        ("profile = \"ns2\"", "ecn = 1", "s.toml:4: tcp.ecn: must be true or false, not a number"),
        (
            "kind = \"vegas\"",
            "kind = \"vegsa\"",
            "s.toml:17: flow.f.tcp.congestion_control.kind: unknown controller \"vegsa\"; did you mean \"vegas\"?",
        ),
        (
            "alpha = 2",
            "alhpa = 2",
            "s.toml:17: flow.f.tcp.congestion_control.alhpa: vegas has no such parameter; did you mean \"alpha\"?",
        ),
        (
            "congestion_control = { kind = \"vegas\", alpha = 2 }",
            "congestion_control = \"sarbe\", profile = \"linux\", timestamps = false",
            "s.toml:17: flow.f.tcp.congestion_control: sarbe needs the receiver's clock: write timestamps = true",
        ),
        (
            "alpha = 2",
            "alpha = -2",
            "s.toml:17: flow.f.tcp.congestion_control.alpha: -2 is not between 0 and 1000000",
        ),
        (
            "to   = \"b\"",
            "to   = \"bb\"",
            "s.toml:16: flow.f.to: there is no node \"bb\"; did you mean \"b\"?",
        ),
        ("to   = \"b\"", "to   = \"a\"", "s.toml:16: flow.f.to: a flow needs two different nodes"),
        (
            "ends  = [\"a\", \"b\"]",
            "ends  = [\"a\"]",
            "s.toml:8: link.bottleneck.ends: must be an array such as [\"a\", \"b\"]",
        ),
        (
            "alpha = 2 }",
            "alpha = 2 }, reduction = \"prr\"",
            "s.toml:17: flow.f.tcp.reduction: has no effect with recovery = \"newreno\": remove it, or write recovery = \"rack\"",
        ),
        (
            "profile = \"ns2\"",
            "profile = \"ns2\"\nvalidation = \"none\"",
            "s.toml:5: tcp.validation: has no effect with recovery = \"newreno\": remove it, or write recovery = \"rack\"",
        ),
        (
            "profile = \"ns2\"",
            "profile = \"linux\"\nsack = false\nack_compression = true",
            "s.toml:6: tcp.ack_compression: has no effect with sack = false: remove it, or write",
        ),
        (
            "profile = \"ns2\"",
            "profile = \"linux\"\nvalidation = \"rfc7661\"\nidle_restart = \"rfc5681\"",
            "s.toml:6: tcp.idle_restart: has no effect with validation = \"rfc7661\", which keeps the window: remove it",
        ),
        ("[[flow]]", "[radio]\n[[flow]]", "s.toml:13: radio.nodes: is missing: number of nodes"),
    ];
    for (good, bad, expected) in cases {
        let text = GOOD.replace(good, bad);
        assert_ne!(text, GOOD, "{good}");
        let error = Scenario::parse("s.toml", &text, &[]).expect_err(bad).to_string();
        assert!(error.starts_with(expected), "{bad}\n  got      {error}\n  expected {expected}");
    }
}

#[test]
fn assignments_replace_values() {
    let parse = |assignment: &str| Scenario::parse("s.toml", GOOD, &[assignment.to_string()]);
    assert_eq!(parse("duration=3s").unwrap().duration, units::Span::from_ms(3000));
    assert_eq!(parse("link.bottleneck.rate=5Mbps").unwrap().links[0].directions[1].rate.bps(), 5_000_000);
    assert_eq!(
        parse("link.bottleneck.back.rate=\"40kbps\"").unwrap().links[0].directions[1].rate.bps(),
        40_000
    );
    parse("flow.f.tcp.congestion_control.beta=9").unwrap();
    parse("flow.f.tcp.congestion_control=cubic").unwrap();
    for (bad, expected) in [
        ("duration", "--set duration: must be KEY=VALUE"),
        ("link.neck.rate=1Mbps", "--set link.neck.rate: there is no \"neck\" here; known: bottleneck"),
        ("duration.x=1", "--set duration.x: \"x\" is a key within text, which has no keys"),
        ("tcp.receive_windw=1", "--set tcp.receive_windw: unknown key; did you mean \"receive_window\"?"),
        ("a..b=1", "--set a..b: a key is names joined by dots"),
    ] {
        let error = parse(bad).expect_err(bad).to_string();
        assert!(error.starts_with(expected), "{bad}: {error}");
    }
}

#[test]
fn options_of_all_flows_may_serve_only_some() {
    // The flow chooses its own recovery: what `[tcp]` says for `rack` is for others.
    let text = GOOD
        .replace("profile = \"ns2\"", "profile = \"linux\"\nvalidation = \"none\"")
        .replace("alpha = 2 }", "alpha = 2 }, recovery = \"newreno\"");
    Scenario::parse("s.toml", &text, &[]).unwrap();
    let linux = GOOD.replace("profile = \"ns2\"", "validation = \"rfc7661\"\nack_compression = true");
    Scenario::parse("s.toml", &linux, &[]).unwrap();
}

#[test]
fn no_path_and_repeated_names_are_told() {
    let apart = "[[link]]\nends = [\"c\", \"d\"]\nrate = \"1Mbps\"\ndelay = \"1ms\"\n[[flow]]";
    let twice = format!("{GOOD}\n[[flow]]\nname = \"f\"\nfrom = \"b\"\nto = \"a\"\n");
    for (text, expected) in [
        (
            GOOD.replace("[[flow]]", apart).replace("to   = \"b\"", "to   = \"d\""),
            "s.toml:20: flow.f.to: there is no path from \"a\" to \"d\"",
        ),
        (twice, "s.toml:19: flow.f.name: another flow is called \"f\" too"),
        (
            GOOD.replace(
                "delay = \"10ms\"",
                "delay = \"10ms\"\nloss = { kind = \"scripted\", flow = \"g\", packets = [1] }",
            ),
            "s.toml:11: link.bottleneck.loss: names the flow \"g\", which does not exist; did you mean \"f\"?",
        ),
        (
            GOOD.replace("rate  = \"1Mbps\"", "rate  = \"9Tbps\""),
            "s.toml:9: link.bottleneck.rate: must be from 1bps to 8000Gbps",
        ),
    ] {
        let error = Scenario::parse("s.toml", &text, &[]).unwrap_err().to_string();
        assert_eq!(error, expected);
    }
}

#[test]
fn a_large_file_is_read_in_linear_time() {
    // 4,000 flows of their own links, some 1 MB: minutes if every value counted its line from the top.
    let mut text = String::from("duration = \"1s\"\n");
    for i in 0..4000 {
        text += &format!("[[link]]\nends = [\"s{i}\", \"r\"]\nrate = \"1Mbps\"\ndelay = \"1ms\"\n");
        text += &format!("[[flow]]\nname = \"f{i}\"\nfrom = \"s{i}\"\nto = \"r\"\n");
    }
    assert_eq!(Scenario::parse("s.toml", &text, &[]).unwrap().flows.len(), 4000);
}

#[test]
fn parameters_with_a_unit_take_text_with_a_unit() {
    let base = "duration = \"1s\"\n[[link]]\nends = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"1ms\"\n";
    let flow = "[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntcp = { mss = \"1kB\" }\n";
    let control = |text: &str| {
        let text = format!("{base}{flow}").replace("mss = ", &format!("congestion_control = {text}, mss = "));
        Scenario::parse("s.toml", &text, &[])
            .map(|scenario| format!("{:?}", scenario.flows))
            .map_err(|error| error.to_string())
    };
    for (with, without) in [
        ("{ kind = \"westwood\", tau = \"500ms\" }", "{ kind = \"westwood\", tau = 0.5 }"),
        ("{ kind = \"rcp_plus\", capacity = \"5Mbps\" }", "{ kind = \"rcp_plus\", capacity = 5e6 }"),
    ] {
        assert_eq!(control(with).unwrap(), control(without).unwrap());
    }
    let error = control("{ kind = \"westwood\", tau = \"5Mbps\" }").unwrap_err();
    assert!(error.contains("tau") && error.contains("write it like \"500ms\""), "{error}");
    let red = |text: &str| {
        let queue = format!("queue = {{ kind = \"red\", limit = \"50p\", mean_packet = {text} }}\n");
        Scenario::parse("s.toml", &format!("{base}{queue}{flow}"), &[]).map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!((red("\"1000B\""), red("1000")), (Ok(()), Ok(())));
    assert!(red("\"5p\"").unwrap_err().contains("\"5p\" is not a number of bytes"));
}

const FABRIC: &str = r#"
duration = "50ms"
routing = "ecmp"
tcp = { min_rto = "10ms" }
[[topology]]
kind = "leaf_spine"
leaves = 2
spines = 4
hosts = 8
host_rate = "1Gbps"
fabric_rate = "1Gbps"
delay = "2us"
queue = { kind = "droptail", limit = "100p" }
"#;

#[test]
fn flows_are_spread_over_the_spines() {
    let flow = |n: u32| format!("[[flow]]\nname = \"f{n}\"\nfrom = \"h{n}\"\nto = \"h{}\"\n", n + 8);
    let text = FABRIC.to_string() + &(0..8).map(flow).collect::<String>();
    let carried = |assignments: &[String]| {
        let scenario = Scenario::parse("fabric.toml", &text, assignments).unwrap();
        let mut run = ackclock_lab::Run::new(&scenario, ackclock_lab::Settings::default()).unwrap();
        run.finish();
        let outcome = run.outcome();
        assert_eq!(outcome.links.len(), 2 * (16 + 8));
        outcome.flows.iter().map(|flow| flow.goodput_bps).sum::<f64>() / 1e9
    };
    let (spread, shortest) = (carried(&[]), carried(&["routing=shortest".into()]));
    assert!(shortest < 1.0, "all over one spine: {shortest} Gb/s");
    assert!(spread > 2.0, "over four spines: {spread} Gb/s");
    for (old, new, message) in [
        ("\"leaf_spine\"", "\"leaf_spin\"", "unknown value \"leaf_spin\"; did you mean \"leaf_spine\"?"),
        (
            "kind = \"leaf_spine\"",
            "kind = \"fat_tree\"\nk = 3",
            "topology[0].k: must be an even number up to 100",
        ),
        ("spines = 4\n", "", "topology[0].spines"),
        ("\"ecmp\"", "\"ecpm\"", "routing: unknown value \"ecpm\"; did you mean \"ecmp\"?"),
    ] {
        let error = Scenario::parse("fabric.toml", &text.replace(old, new), &[]).expect_err(new).to_string();
        assert!(error.contains(message), "{new}: {error}");
    }
}

/// Times that mean "to the end" may lie far behind it.
#[test]
fn far_times_are_accepted() {
    let link = |keys: &str| {
        format!(
            "duration = \"1s\"\nlink = [{{ ends = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"1ms\", {keys} }}]\nflow = [{{ from = \"a\", to = \"b\" }}]\n"
        )
    };
    for text in [
        link("loss = { kind = \"blackout\", times = [[\"0.5s\", \"2000000s\"]] }"),
        link(
            "loss = { kind = \"scripted\", flow = \"flow0\", packets = [3], action = \"delay\", by = \"2000000s\" }",
        ),
        link("loss = { kind = \"delay\", steps = [[\"0s\", \"1ms\"], [\"2000000s\", \"2ms\"]] }"),
        link("router = { kind = \"quick_start\", window = \"2000000s\" }"),
        // `max` is three times `min` if that alone is there.
        link("queue = { kind = \"red\", limit = \"100p\", min = \"20p\" }"),
    ] {
        Scenario::parse("s.toml", &text, &[]).unwrap_or_else(|error| panic!("{text}{error}"));
    }
}
