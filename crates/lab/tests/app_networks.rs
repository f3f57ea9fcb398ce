//! Applications of all kinds beside other flows on networks that lose, reorder, duplicate and delay: the auditor has nothing to
//! say, and a run is the same without fused hops and as a copy that continues.
//!
//! `ACKCLOCK_APP_NETWORKS=10000 cargo test --release -p ackclock-lab --test app_networks` tries more networks of the same sequence.
//! With `ACKCLOCK_APP_NETWORKS_OUT=FILE` the fingerprints are written there, to compare two builds.
#![cfg(feature = "quic")]

mod common;

use ackclock_lab::{Recording, Run, Scenario, Settings};
use common::draw::Draw;
use common::without_cost;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use units::{Span, Time};

/// Networks of every test run.
const NETWORKS: u64 = 100;
/// Networks in which a fault was seen: a player that was stopped, a retransmission with nothing outstanding, the delay of an ACK
/// after merged segments.
const SEEN: [u64; 8] = [293, 447, 3090, 4471, 4984, 5904, 7845, 8160];

/// The longest run, in real time: a longer one does not end.
const LONGEST: Duration = Duration::from_secs(60);

/// `KEY = VALUE` with a chance.
fn maybe(draw: &mut Draw, percent: u64, keys: &mut Vec<String>, key: impl FnOnce(&mut Draw) -> String) {
    if draw.chance(percent) {
        let key = key(draw);
        keys.push(key);
    }
}

fn ms(draw: &mut Draw, min: f64, max: f64) -> String {
    format!("\"{:.3}ms\"", draw.number(min, max))
}

fn kbps(draw: &mut Draw, min: f64, max: f64) -> String {
    format!("\"{:.2}kbps\"", draw.number(min, max))
}

/// Sizes of messages: one, a pair, or a distribution.
fn sizes(draw: &mut Draw) -> String {
    let size = |draw: &mut Draw| draw.number(1.0, 300_000.0) as u64;
    match draw.next() % 4 {
        0 => format!("\"{}B\"", size(draw)),
        1 => {
            let (first, second) = (size(draw), size(draw));
            format!("[\"{}B\", \"{}B\"]", first.min(second), first.max(second) + 1)
        }
        2 => "\"1448B\"".into(),
        _ => format!("\"{}\"", draw.one(&["rpc", "web_server", "cache_follower", "hadoop"])),
    }
}

/// The keys that all applications with requests have.
fn requesting(draw: &mut Draw, quic: bool, keys: &mut Vec<String>) {
    maybe(draw, 20, keys, |draw| format!("request = \"{}B\"", draw.number(1.0, 3_000.0) as u64));
    maybe(draw, 30, keys, |draw| format!("request_timeout = {}", ms(draw, 1.0, 2_000.0)));
    maybe(draw, 30, keys, |draw| format!("opens = \"{}\"", draw.one(&["to", "from"])));
    if !quic {
        maybe(draw, 40, keys, |draw| format!("tls = {}", draw.one(&["true", "false"])));
        maybe(draw, 20, keys, |draw| {
            format!("certificate_size = \"{}B\"", draw.number(1.0, 50_000.0) as u64)
        });
    }
}

fn rate(draw: &mut Draw, keys: &mut Vec<String>) {
    if draw.chance(60) {
        keys.push(format!("rate = {}", kbps(draw, 1.0, 20_000.0)));
    } else {
        let steps = [100.0, 500.0, 1_500.0].map(|at| format!("[\"{at}ms\", {}]", kbps(draw, 1.0, 20_000.0)));
        keys.push(format!("schedule = [[\"0s\", \"500kbps\"], {}]", steps.join(", ")));
    }
    maybe(draw, 50, keys, |draw| format!("every = {}", ms(draw, 0.5, 500.0)));
    maybe(draw, 40, keys, |draw| {
        format!("late = \"drop\", most = \"{}B\"", draw.number(1.0, 100_000.0) as u64)
    });
}

fn on_off(draw: &mut Draw, keys: &mut Vec<String>) {
    if draw.chance(50) {
        keys.push(format!("on = {}", ms(draw, 0.1, 1_000.0)));
        maybe(draw, 50, keys, |draw| format!("rate = {}", kbps(draw, 1.0, 20_000.0)));
    } else {
        keys.push(format!("size = {}", sizes(draw)));
    }
    keys.push(format!("off = {}", ms(draw, 1.0, 1_000.0)));
    maybe(draw, 50, keys, |_| "random = true".into());
    maybe(draw, 30, keys, |_| "start_on = false".into());
}

fn requests(draw: &mut Draw, keys: &mut Vec<String>) {
    keys.push(format!("response = {}", sizes(draw)));
    if draw.chance(60) {
        keys.push(format!("think = {}", ms(draw, 0.01, 500.0)));
        maybe(draw, 50, keys, |_| "random = true".into());
    }
    maybe(draw, 30, keys, |draw| format!("service = {}", ms(draw, 0.1, 200.0)));
    maybe(draw, 60, keys, |draw| format!("outstanding = {}", draw.number(1.0, 40.0) as u32));
    maybe(draw, 30, keys, |draw| format!("connections = {}", draw.number(1.0, 4.0) as u32));
    maybe(draw, 30, keys, |draw| format!("requests = {}", draw.number(1.0, 50.0) as u32));
}

fn page(draw: &mut Draw, quic: bool, keys: &mut Vec<String>) {
    if draw.chance(50) {
        keys.push(format!("page = \"{}\"", draw.one(&["small", "small", "median"])));
    } else {
        let count = draw.number(1.0, 30.0) as u64;
        let objects: Vec<String> = (0..count)
            .map(|number| {
                let size = draw.number(1.0, 100_000.0) as u64;
                let parent = if number == 0 { String::new() } else { format!(", {}", draw.next() % number) };
                format!("[\"{size}B\"{parent}]")
            })
            .collect();
        keys.push(format!("objects = [{}]", objects.join(", ")));
    }
    if quic {
        maybe(draw, 30, keys, |_| "protocol = \"http3\"".into());
    } else if draw.chance(60) {
        keys.push("protocol = \"http1\"".into());
        maybe(draw, 60, keys, |draw| format!("connections = {}", draw.number(1.0, 8.0) as u32));
    }
    maybe(draw, 50, keys, |draw| format!("parse = {}", draw.one(&["\"0s\"", "\"1ms\"", "\"50ms\""])));
    maybe(draw, 60, keys, |draw| format!("repeat = {}", draw.one(&["\"0s\"", "\"10ms\"", "\"200ms\""])));
}

fn video(draw: &mut Draw, keys: &mut Vec<String>) {
    let rates = 1 + draw.next() % 6;
    let ladder: Vec<f64> = (0..rates)
        .scan(draw.number(50.0, 500.0), |rate, _| {
            let now = *rate;
            *rate *= draw.number(1.1, 2.5);
            Some(now)
        })
        .collect();
    let ladder: Vec<String> = ladder.iter().map(|rate| format!("\"{rate:.0}kbps\"")).collect();
    keys.push(format!("ladder = [{}]", ladder.join(", ")));
    let chunk = draw.number(100.0, 1_000.0);
    keys.push(format!("chunk = \"{chunk:.0}ms\""));
    keys.push(format!("buffer = \"{:.0}ms\"", (chunk * draw.number(2.1, 8.0)).max(1_000.0)));
    keys.push(format!("length = \"{:.0}ms\"", draw.number(1_000.0, 20_000.0)));
    maybe(draw, 30, keys, |draw| format!("start = {}", ms(draw, 1.0, 1_000.0)));
    maybe(draw, 30, keys, |draw| format!("resume = {}", ms(draw, 1.0, 1_000.0)));
    maybe(draw, 30, keys, |draw| format!("variation = {:.3}", draw.number(0.01, 2.0)));
    maybe(draw, 30, keys, |_| "guard = false".into());
    let algorithm = draw.one(&["dynamic", "throughput", "bola", "bba", "mpc", "fixed"]);
    keys.push(format!("algorithm = \"{algorithm}\""));
    if algorithm == "fixed" {
        keys.push(format!("rate = {}", ladder[draw.next() as usize % ladder.len()]));
    }
}

fn late(draw: &mut Draw, quic: bool, one_stream: bool) -> String {
    let all = ["keep", "drop", "cancel", "stop"];
    let count = if quic && !one_stream { 4 } else { 2 };
    format!("late = \"{}\"", draw.one(&all[..count]))
}

fn frames(draw: &mut Draw, quic: bool, keys: &mut Vec<String>) {
    keys.push(format!("fps = {}", draw.number(1.0, 241.0) as u32));
    let streams = if quic { draw.one(&["one", "group", "group", "frame"]) } else { "one" };
    keys.push(format!("streams = \"{streams}\""));
    let layers = draw.chance(25);
    if layers {
        let layers: Vec<String> = (0..=draw.next() % 3)
            .map(|_| {
                let mut keys = vec![format!("rate = {}", kbps(draw, 50.0, 5_000.0))];
                keys.push(late(draw, quic, streams == "one"));
                maybe(draw, 50, &mut keys, |draw| format!("group = {}", draw.number(1.0, 60.0) as u32));
                maybe(draw, 30, &mut keys, |draw| format!("key_ratio = {:.2}", draw.number(1.0, 50.0)));
                maybe(draw, 50, &mut keys, |draw| format!("priority = {}", draw.next() % 4));
                format!("{{ {} }}", keys.join(", "))
            })
            .collect();
        keys.push(format!("layers = [{}]", layers.join(", ")));
    } else {
        keys.push(late(draw, quic, streams == "one"));
        maybe(draw, 60, keys, |draw| format!("group = {}", draw.number(1.0, 60.0) as u32));
        maybe(draw, 30, keys, |draw| format!("key_ratio = {:.2}", draw.number(1.0, 50.0)));
        if draw.chance(50) {
            keys.push(format!("rate = {}, min = \"100kbps\", max = \"8Mbps\"", kbps(draw, 100.0, 8_000.0)));
            let adapt = draw.one(&["controller", "backlog"]);
            keys.push(format!("adapt = \"{adapt}\""));
            maybe(draw, 30, keys, |draw| format!("reaction = {}", ms(draw, 1.0, 1_000.0)));
            if adapt == "controller" {
                maybe(draw, 30, keys, |draw| format!("share = {:.3}", draw.number(0.1, 1.0)));
            }
        } else {
            keys.push(format!("rate = {}", kbps(draw, 50.0, 8_000.0)));
        }
    }
    maybe(draw, 30, keys, |draw| format!("size_deviation = {:.3}", draw.number(0.001, 1.0)));
    maybe(draw, 70, keys, |draw| format!("deadline = {}", ms(draw, 1.0, 500.0)));
    maybe(draw, 30, keys, |_| "key_on_cancel = true".into());
    if quic {
        maybe(draw, 50, keys, |draw| format!("audio = {}", kbps(draw, 2.0, 400.0)));
    }
}

/// An application of a random kind.
fn application(draw: &mut Draw, quic: bool) -> String {
    let kind = draw.one(&["rate", "on_off", "requests", "requests", "page", "video", "frames", "frames"]);
    let mut keys = vec![format!("kind = \"{kind}\"")];
    match kind {
        "rate" => rate(draw, &mut keys),
        "on_off" => on_off(draw, &mut keys),
        "requests" => requests(draw, &mut keys),
        "page" => page(draw, quic, &mut keys),
        "video" => video(draw, &mut keys),
        _ => frames(draw, quic, &mut keys),
    }
    if ["requests", "page", "video"].contains(&kind) {
        requesting(draw, quic, &mut keys);
    }
    format!("{{ {} }}", keys.join(", "))
}

fn transport(draw: &mut Draw, quic: bool) -> String {
    let control = draw.one(&["reno", "cubic", "vegas", "bic", "westwood", "bbr", "bbr3", "copa", "ledbat"]);
    let mut keys = vec![format!("congestion_control = \"{control}\"")];
    if quic {
        maybe(draw, 30, &mut keys, |draw| format!("pacing = \"{}\"", draw.one(&["none", "driver"])));
        maybe(draw, 20, &mut keys, |_| "receive_window = \"200kB\"".into());
        maybe(draw, 30, &mut keys, |draw| {
            format!("max_datagram_size = {}", draw.one(&["1200", "8972", "65527"]))
        });
        return format!("quic = {{ {} }}", keys.join(", "));
    }
    maybe(draw, 30, &mut keys, |_| "profile = \"ns2\"".into());
    maybe(draw, 30, &mut keys, |draw| format!("mss = {}", draw.one(&["100", "536", "8948"])));
    maybe(draw, 20, &mut keys, |draw| format!("receive_window = {}", draw.number(1.0, 100.0) as u32));
    maybe(draw, 30, &mut keys, |draw| format!("delayed_ack = {}", draw.one(&["true", "false"])));
    maybe(draw, 15, &mut keys, |_| "syn = false".into());
    maybe(draw, 15, &mut keys, |_| "gro = true".into());
    maybe(draw, 20, &mut keys, |draw| format!("pacing = true{}", draw.one(&["", ", tso = true"])));
    maybe(draw, 15, &mut keys, |draw| format!("max_burst = {}", draw.number(1.0, 10.0) as u32));
    format!("tcp = {{ {} }}", keys.join(", "))
}

/// Nodes a, r, b in a line, or only a and b.
fn links(draw: &mut Draw) -> String {
    let middle = draw.chance(50);
    let pairs: &[[&str; 2]] = if middle { &[["a", "r"], ["r", "b"]] } else { &[["a", "b"]] };
    let mut text = String::new();
    for (number, [from, to]) in pairs.iter().enumerate() {
        let queue = match draw.next() % 5 {
            0 => "{ kind = \"fq_codel\" }".into(),
            1 => "{ kind = \"codel\" }".into(),
            _ => format!("{{ kind = \"droptail\", limit = \"{}p\" }}", draw.number(2.0, 300.0) as u64),
        };
        let (rate, delay) = (draw.number(0.3, 100.0), draw.number(0.01, 80.0));
        text += &format!(
            "[[link]]\nname = \"l{number}\"\nends = [\"{from}\", \"{to}\"]\nrate = \"{rate:.3}Mbps\"\ndelay = \"{delay:.3}ms\"\nqueue = {queue}\n"
        );
        if draw.chance(50) {
            let (there, back) = (draw.losses(), draw.losses());
            text += &format!("loss = {there}\nback = {{ loss = {back} }}\n");
        }
    }
    text
}

/// A network with applications beside other flows.
fn network(draw: &mut Draw) -> String {
    let quic = draw.chance(50);
    let duration = draw.number(300.0, 4_000.0);
    let mut text = format!("duration = \"{duration:.0}ms\"\n");
    if draw.chance(20) {
        text += "warmup = \"200ms\"\n";
    }
    if draw.chance(20) {
        text += "cooldown = \"50ms\"\n";
    }
    text += &links(draw);
    for number in 0..1 + draw.next() % 4 {
        let ends = if draw.chance(70) { ["a", "b"] } else { ["b", "a"] };
        text += &format!("[[flow]]\nname = \"f{number}\"\nfrom = \"{}\"\nto = \"{}\"\n", ends[0], ends[1]);
        let over_quic = quic && draw.chance(60);
        if draw.chance(20) {
            text += &format!("start = {}\n", ms(draw, 1.0, 300.0));
        }
        if draw.chance(20) {
            text += &format!("stop = \"{}ms\"\n", 400 + draw.next() % 2_000);
        }
        match draw.next() % 10 {
            0 => text += &format!("udp = {{ rate = {} }}\n", kbps(draw, 10.0, 10_000.0)),
            1 => text += &format!("{}\n", transport(draw, over_quic)),
            2 => text += &format!("{}\nbytes = \"500kB\"\n", transport(draw, over_quic)),
            _ => text += &format!("{}\napp = {}\n", transport(draw, over_quic), application(draw, over_quic)),
        }
    }
    if draw.chance(25) {
        let (at, rate) = (draw.number(10.0, duration - 1.0) as u64, draw.number(0.2, 50.0));
        text += &format!(
            "[[change]]\nname = \"c\"\nat = \"{at}ms\"\nset = {{ \"link.l0.rate\" = \"{rate:.3}Mbps\" }}\n"
        );
    }
    text
}

/// Everything that must be equal: the packets, the outcome, the messages.
fn all_of(mut run: Run) -> [String; 3] {
    run.finish();
    let messages = format!("{:?}", run.messages());
    [run.fingerprint(), without_cost(&run.outcome().to_json()), messages]
}

fn begin(scenario: &Scenario, seed: u64, recording: Recording, unfused: bool) -> Run {
    Run::new(scenario, Settings { seed: Some(seed), recording, unfused }).unwrap()
}

/// Runs a network in every way. Returns its fingerprint and whether it was copied.
fn check(text: &str, seed: u64) -> (String, bool) {
    let scenario = Scenario::parse("test.toml", text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let watched = Recording { fingerprint: true, ..Recording::default() };
    let mut audited = begin(&scenario, seed, Recording { audit: true, ..watched }, false);
    audited.finish();
    let (violations, count) = audited.audit();
    assert_eq!(count, 0, "seed {seed}: {violations:#?}\n{text}");
    let whole = all_of(audited);
    assert!(
        all_of(begin(&scenario, seed, watched, false)) == whole,
        "seed {seed}: the auditor changes the run\n{text}"
    );
    assert!(
        all_of(begin(&scenario, seed, watched, true)) == whole,
        "seed {seed}: the run without fused hops differs\n{text}"
    );
    let plain = all_of(begin(&scenario, seed, Recording::default(), false));
    assert_eq!(plain[1..], whole[1..], "seed {seed}: the recording changes the run\n{text}");
    let at = Time::ZERO + Span::from_ps((scenario.duration.ps() / 1000) * (seed * 379 % 1000));
    let mut run = begin(&scenario, seed, watched, false);
    run.advance_to(at);
    let copied = run.fork().ok();
    let is_copied = copied.is_some();
    assert!(
        copied.is_none_or(|copy| all_of(copy) == whole),
        "seed {seed}: a copy at {} differs\n{text}",
        at.seconds()
    );
    assert!(all_of(run) == whole, "seed {seed}: a run in two steps differs\n{text}");
    (whole[0].clone(), is_copied)
}

#[test]
fn applications_keep_every_rule_on_generated_networks() {
    let count = std::env::var("ACKCLOCK_APP_NETWORKS").ok();
    let count: u64 = count.map_or(NETWORKS, |text| text.parse().expect("a number of networks"));
    let first: u64 =
        std::env::var("ACKCLOCK_APP_NETWORKS_FROM").map_or(0, |text| text.parse().expect("a number"));
    let (mut copied, mut fingerprints, mut failures) = (0, String::new(), Vec::new());
    for seed in (first..first + count).chain(SEEN) {
        let text = network(&mut Draw(seed));
        let (send, receive) = channel();
        let of_thread = text.clone();
        std::thread::spawn(move || {
            let _ = send.send(check(&of_thread, seed));
        });
        match receive.recv_timeout(LONGEST) {
            Ok((fingerprint, is_copied)) => {
                copied += u64::from(is_copied);
                fingerprints += &format!("{seed} {fingerprint}\n");
            }
            Err(RecvTimeoutError::Timeout) => panic!("seed {seed} does not end:\n{text}"),
            Err(RecvTimeoutError::Disconnected) => failures.push(seed), // it has said why
        }
    }
    if let Ok(out) = std::env::var("ACKCLOCK_APP_NETWORKS_OUT") {
        std::fs::write(out, &fingerprints).unwrap();
    }
    assert!(failures.is_empty(), "networks {failures:?}");
    let all = count + SEEN.len() as u64;
    assert!(copied * 4 > all, "{copied} of {all} runs were copied");
}
