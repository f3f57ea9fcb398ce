//! Runs on several threads have the results of one thread.

mod common;

use ackclock_lab::{Parts, Run, Scenario, Settings, Study};
use common::{each_fingerprint_scenario, scenario, without_cost};
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

fn on_one_thread(scenario: &Scenario) -> String {
    let mut run = Run::new(scenario, Settings::default()).unwrap();
    run.finish();
    without_cost(&run.outcome().to_json())
}

/// The outcome of a run in so many parts, with `events` events in each call; the reason if it cannot be divided.
fn in_parts(scenario: &Scenario, parts: usize, events: u64) -> Result<String, String> {
    let mut run = Run::new(scenario, Settings::default()).unwrap();
    let mut divided = Parts::scattered(&mut run, parts)?;
    assert!((2..=parts).contains(&divided.facts().work.len()));
    while !divided.advance(&mut run, events) {
        assert!(run.progress() <= 1.0);
    }
    assert!(run.progress() == 1.0 && divided.advance(&mut run, events));
    Ok(without_cost(&run.outcome().to_json()))
}

/// Sixteen hosts at four leaves and two spines. Links have one of a few delays, and flows start in groups at one picosecond:
/// many packets meet.
fn tied(seed: u64, tcp: &str, queue: &str, loss: &str, delays: [u64; 3]) -> String {
    let mut text = format!("duration = \"60ms\"\nseed = {seed}\nrouting = \"ecmp\"\ntcp = {tcp}\n");
    let hosts = (0..16).map(|host| (format!("h{host}"), format!("l{}", host / 4), "{ kind = \"none\" }"));
    let spines = (0..8).map(|pair| (format!("l{}", pair / 2), format!("s{}", pair % 2), loss));
    for (number, (from, to, loss)) in hosts.chain(spines).enumerate() {
        let delay = delays[number % 3];
        text += &format!(
            "[[link]]\nends = [\"{from}\", \"{to}\"]\nrate = \"100Mbps\"\ndelay = \"{delay}us\"\nqueue = {queue}\nloss = {loss}\n"
        );
    }
    for flow in 0..24u64 {
        let (from, to) = ((flow * 7 + seed) % 16, (flow * 7 + seed + 1 + (flow * 5 + seed) % 15) % 16);
        let (start, bytes) = (flow / 4 * 3, 30 + 40 * (flow % 3));
        let kind = match flow % 6 {
            5 => "udp = { packet = 500, schedule = [[\"0s\", \"20Mbps\"]] }".to_string(),
            4 => String::new(),
            _ => format!("bytes = \"{bytes}kB\""),
        };
        text += &format!(
            "[[flow]]\nname = \"f{flow}\"\nfrom = \"h{from}\"\nto = \"h{to}\"\nstart = \"{start}ms\"\n{kind}\n"
        );
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn parts_change_nothing(
        seed in 0u64..1000,
        tcp in prop::sample::select(&[
            "{ profile = \"linux\" }",
            "{ profile = \"linux\", congestion_control = \"dctcp\", ecn = true, recovery = \"rack\" }",
            "{ profile = \"linux\", congestion_control = \"bbr\", recovery = \"rack\" }",
            "{ profile = \"linux\", congestion_control = \"swift\", recovery = \"rack\" }",
            "{ profile = \"ns2\", congestion_control = \"reno\" }",
            "{ profile = \"ns2\", congestion_control = \"vegas\", recovery = \"sack\" }",
        ][..]),
        queue in prop::sample::select(&[
            "{ kind = \"droptail\", limit = \"12p\" }",
            "{ kind = \"codel\" }",
            "{ kind = \"fq_codel\" }",
            "{ kind = \"red\", limit = \"40p\", ecn = true }",
        ][..]),
        loss in prop::sample::select(&[
            "{ kind = \"none\" }",
            "{ kind = \"bernoulli\", rate = 0.01 }",
        ][..]),
        delays in prop::sample::select(&[[20, 20, 20], [20, 100, 20], [1, 50, 2000]][..]),
        events in prop::sample::select(&[500, 20_000, 1 << 40][..]),
    ) {
        let scenario = scenario(&tied(seed, tcp, queue, loss, delays));
        let expected = on_one_thread(&scenario);
        for parts in [2, 3, 8, 22] {
            let divided = in_parts(&scenario, parts, events);
            prop_assert_eq!(divided.as_ref(), Ok(&expected), "{} parts", parts);
        }
    }
}

#[test]
fn every_recorded_network_that_can_be_divided_has_the_same_outcome() {
    let divided = AtomicUsize::new(0);
    each_fingerprint_scenario(|file, point, text| {
        let scenario = Study::parse(file, text, &[]).unwrap().scenario(point).unwrap();
        if let Ok(parts) = in_parts(&scenario, 2, 1 << 40) {
            assert_eq!(parts, on_one_thread(&scenario), "{file}, point {point}");
            divided.fetch_add(1, Ordering::Relaxed);
        }
    });
    let divided = divided.into_inner();
    assert!(divided >= 100, "{divided}");
}

#[test]
fn what_cannot_be_divided_is_refused() {
    let plain = tied(
        1,
        "{ profile = \"linux\" }",
        "{ kind = \"droptail\", limit = \"12p\" }",
        "{ kind = \"none\" }",
        [20; 3],
    );
    for (addition, reason) in [
        ("warmup = \"20ms\"\n", "warm-up"),
        ("delays = true\n", "recorded delays"),
        (
            "change = [{ name = \"c\", at = \"20ms\", set = { \"flow.f4.tcp.receive_window\" = 20 } }]\n",
            "changes",
        ),
    ] {
        let Ok(scenario) = Scenario::parse("test.toml", &format!("{addition}{plain}"), &[]) else {
            panic!("{addition} is refused")
        };
        let refused = in_parts(&scenario, 2, 1 << 40).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
    }
    let silent = scenario(&plain.replace("start = \"", "start = \"9"));
    assert!(in_parts(&silent, 2, 1 << 40).is_ok());
    let mut run = Run::new(&scenario(&plain), Settings::default()).unwrap();
    let mut copy = run.fork().unwrap();
    assert_eq!(Parts::scattered(&mut copy, 2).err().unwrap(), "a copy of a run needs one thread");
    run.advance(1000);
    assert_eq!(Parts::scattered(&mut run, 2).err().unwrap(), "a run that has begun needs one thread");
}
