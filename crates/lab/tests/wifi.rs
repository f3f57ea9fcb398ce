//! Wi-Fi against closed forms, ns-3 and the published measurements of its models. docs/specs/wifi.md explains the numbers.

mod common;

use ackclock_lab::Outcome;
use common::{audited_with, copied, refusal};

/// `n` stations that always have 1500-byte packets for the access point.
fn saturated(n: usize, mcs: u8, set: &str, seconds: u32) -> String {
    let rate = format!(
        "{{ kind = \"wifi\", medium = \"cell\", errors = 0, rate_control = {{ kind = \"fixed\", mcs = {mcs} }} }}"
    );
    let queue = "{ kind = \"droptail\", limit = \"600p\" }";
    let mut text = format!("duration = \"{seconds}s\"\nwifi = [{{ name = \"cell\", ap = \"ap\", {set} }}]\n");
    for station in 0..n {
        text += &format!("[[link]]\nends = [\"s{station}\", \"ap\"]\nrate = {rate}\nqueue = {queue}\n");
        text += &format!("[[flow]]\nname = \"u{station}\"\nfrom = \"s{station}\"\nto = \"ap\"\n");
        text += "udp = { rate = \"100Mbps\", packet = 1500 }\n";
    }
    text
}

fn mbps(outcome: &Outcome) -> f64 {
    outcome.flows.iter().map(|flow| flow.goodput_bps).sum::<f64>() / 1e6
}

fn within(value: f64, expected: f64, part: f64) {
    assert!((value / expected - 1.0).abs() <= part, "{value:.3} is not {expected} within {part}");
}

const VHT20: &str = "standard = \"ac\", width = \"20MHz\", streams = 1";

#[test]
fn saturation_is_that_of_bianchi() {
    for (n, expected) in [(1, 60.84), (2, 57.81), (5, 52.07), (10, 47.64), (20, 43.44)] {
        within(mbps(&audited_with(&saturated(n, 7, VHT20, 30), &[])), expected, 0.025);
    }
}

#[test]
fn saturation_is_that_of_ns3() {
    // ns-3.37 waits AIFS after a collision of preambles, and requests a missing block ACK.
    let set = format!("{VHT20}, eifs = false, bar = true");
    for (mcs, n, expected) in [
        (7, 1, 60.72),
        (7, 2, 57.02),
        (7, 5, 49.84),
        (7, 10, 43.6),
        (0, 1, 5.934),
        (0, 5, 4.885),
        (0, 10, 4.222),
    ] {
        within(mbps(&audited_with(&saturated(n, mcs, &set, 30), &[])), expected, 0.03);
    }
    within(mbps(&audited_with(&saturated(20, 7, &set, 30), &[])), 38.16, 0.04);
    let set = format!("{VHT20}, eifs = false, rts_threshold = \"0B\"");
    for (n, expected) in [(2, 60.01), (10, 60.11)] {
        within(mbps(&audited_with(&saturated(n, 7, &set, 10), &[])), expected, 0.01);
    }
}

#[test]
fn one_saturated_sender_of_each_generation() {
    for (set, mcs, expected) in [
        ("standard = \"n\", streams = 1, window = 1", 0, 5.697),
        ("standard = \"n\", streams = 1", 0, 5.949),
        ("standard = \"n\", streams = 1, window = 1", 7, 31.373),
        ("standard = \"n\", streams = 1", 7, 60.886),
        ("standard = \"ac\"", 9, 630.283),
        ("standard = \"ax\", window = 64", 11, 877.413),
        ("standard = \"ax\"", 11, 1075.894),
    ] {
        let rate = ["flow.u0.udp.rate=1500Mbps", "link[0].queue.limit=3000p"];
        within(mbps(&audited_with(&saturated(1, mcs, set, 3), &rate)), expected, 0.01);
    }
}

#[test]
fn errors_stall_the_window() {
    let set = "standard = \"ac\"";
    for (errors, aggregation, expected) in [(0.0, 64.0, 630.0), (0.1, 33.9, 493.0), (0.3, 25.9, 353.0)] {
        let text = saturated(1, 9, set, 3).replace("errors = 0", &format!("errors = {errors}"));
        let o = audited_with(&text, &["flow.u0.udp.rate=1500Mbps", "link[0].queue.limit=3000p"]);
        let link = o.links[0].wifi.as_ref().unwrap();
        within(link.mean_aggregation.unwrap(), aggregation, 0.03);
        within(mbps(&o), expected, 0.03);
        assert!((link.retry_rate.unwrap() - errors).abs() < 0.01);
    }
}

/// Two fast stations and a slow one, 50 Mb/s of UDP to each ("Ending the Anomaly").
fn anomaly(set: &str) -> Outcome {
    let mut text = format!(
        "duration = \"30s\"\nwifi = [{{ name = \"cell\", ap = \"ap\", standard = \"n\", streams = 2, guard = \"0.4us\", {set} }}]\n"
    );
    for (station, mcs, streams) in [("a", 7, 2), ("b", 7, 2), ("c", 0, 1)] {
        text += &format!("[[link]]\nends = [\"ap\", \"{station}\"]\n");
        text += &format!(
            "rate = {{ kind = \"wifi\", medium = \"cell\", errors = 0, streams = {streams}, rate_control = {{ kind = \"fixed\", mcs = {mcs} }} }}\n"
        );
        if !set.contains("shared") {
            text += "queue = { kind = \"droptail\", limit = \"333p\" }\n";
        }
        text += &format!("[[flow]]\nname = \"{station}\"\nfrom = \"ap\"\nto = \"{station}\"\n");
        text += "udp = { rate = \"50Mbps\", packet = 1500 }\n";
    }
    audited_with(&text, &[])
}

#[test]
fn a_slow_station_takes_the_airtime_of_all_unless_it_is_fair() {
    let shared = anomaly("ap_queue = { kind = \"shared\", limit = \"1000p\" }");
    let airtime = |o: &Outcome| -> Vec<f64> {
        let each = [0, 2, 4].map(|link| o.links[link].wifi.as_ref().unwrap().airtime_share);
        each.iter().map(|share| share / each.iter().sum::<f64>()).collect()
    };
    let rates: Vec<f64> = shared.flows.iter().map(|flow| flow.goodput_bps / 1e6).collect();
    let mean = rates.iter().sum::<f64>() / 3.0;
    assert!(rates.iter().all(|rate| (rate / mean - 1.0).abs() < 0.05), "{rates:?}");
    assert!((0.88..=0.93).contains(&airtime(&shared)[2]), "{:?}", airtime(&shared));
    let fair = anomaly("scheduler = \"airtime\"");
    assert!(airtime(&fair).iter().all(|share| (share - 1.0 / 3.0).abs() < 0.01), "{:?}", airtime(&fair));
    within(mbps(&fair) / mbps(&shared), 4.9, 0.05);
}

const HOME: &str = include_str!("../../../scenarios/wifi.toml");

#[test]
fn a_run_of_a_home_can_be_copied_and_has_a_warm_up() {
    let share = copied(HOME).wifi[0].busy;
    assert!((0.3..=1.0).contains(&share), "{share}");
}

#[test]
fn channels_are_independent_and_idle_stations_change_nothing() {
    let one = saturated(2, 7, VHT20, 5);
    let alone = audited_with(&one, &[]);
    // A third station without traffic, and a second set on another channel with two more.
    let more = format!(
        "{one}[[link]]\nends = [\"quiet\", \"ap\"]\nrate = {{ kind = \"wifi\", medium = \"cell\" }}\n"
    )
    .replace("wifi = [", &format!("wifi = [{{ name = \"other\", ap = \"ap2\", {VHT20} }}, "))
        + "[[link]]\nends = [\"z\", \"ap2\"]\nrate = { kind = \"wifi\", medium = \"other\" }\n"
        + "[[flow]]\nname = \"z\"\nfrom = \"z\"\nto = \"ap2\"\nudp = { rate = \"100Mbps\" }\n";
    let beside = audited_with(&more, &[]);
    for flow in 0..2 {
        assert_eq!(alone.flows[flow].delivered_bytes, beside.flows[flow].delivered_bytes);
    }
    // On one channel the two sets share it.
    let same =
        more.replace(&format!("ap = \"ap2\", {VHT20}"), &format!("ap = \"ap2\", channel = \"1\", {VHT20}"));
    let same =
        same.replace(&format!("ap = \"ap\", {VHT20}"), &format!("ap = \"ap\", channel = \"1\", {VHT20}"));
    assert!(mbps(&audited_with(&same, &[])) < 0.65 * mbps(&beside));
}

#[test]
fn mistakes_are_named() {
    let good = saturated(1, 7, VHT20, 1);
    for (old, new, message) in [
        ("standard = \"ac\"", "standard = \"be\"", "wifi[0].standard: unknown value \"be\""),
        ("width = \"20MHz\"", "width = \"30MHz\"", "wifi[0].width: unknown value \"30MHz\""),
        (
            "standard = \"ac\", width = \"20MHz\"",
            "standard = \"n\", width = \"80MHz\"",
            "802.11n has no width of 80 MHz",
        ),
        ("mcs = 7", "mcs = 9", "there is no MCS 9 with this standard, width and streams; there are 0, 1"),
        (
            "medium = \"cell\"",
            "medium = \"sell\"",
            "there is no [[wifi]] called \"sell\"; did you mean \"cell\"?",
        ),
        (
            "ap = \"ap\"",
            "ap = \"router\"",
            "one end must be the access point of \"cell\", which is \"router\"",
        ),
        ("streams = 1", "streams = 9", "wifi[0].streams: 9 is not between 1 and 8"),
        ("streams = 1", "streams = 1, guard = \"1.6us\"", "must be 0.4us or 0.8us with this standard"),
        (
            "streams = 1",
            "streams = 1, ap_queue = { kind = \"per_station\", limit = \"9p\" }",
            "only a shared queue has a limit",
        ),
        (
            "{ kind = \"droptail\", limit = \"600p\" }",
            "{ kind = \"red\", limit = \"600p\" }",
            "RED and PIE need a constant rate",
        ),
    ] {
        assert!(good.contains(old), "{old}");
        let error = refusal(&good.replace(old, new), &[]);
        assert!(error.contains(message), "{new}: {error}");
    }
}

/// An access point with a saturated link of 60.8 Mb/s to each of these stations; `more` are keys of its table.
fn downlinks(stations: &[(&str, &str)], more: &str) -> String {
    let mut text = format!("duration = \"4s\"\nwifi = [{{ name = \"cell\", ap = \"ap\", {VHT20}{more} }}]\n");
    for (name, access) in stations {
        let control = "rate_control = { kind = \"fixed\", mcs = 7 }";
        text += &format!(
            "[[link]]\nends = [\"ap\", \"{name}\"]\nqueue = {{ kind = \"droptail\", limit = \"300p\" }}\n"
        );
        text += &format!(
            "rate = {{ kind = \"wifi\", medium = \"cell\", errors = 0, {control}, access = \"{access}\" }}\n"
        );
        text += &format!(
            "[[flow]]\nname = \"d{name}\"\nfrom = \"ap\"\nto = \"{name}\"\nudp = {{ rate = \"100Mbps\" }}\n"
        );
    }
    text
}

#[test]
fn the_categories_of_a_node_do_not_collide_with_each_other() {
    let outcome_of_run = audited_with(&downlinks(&[("a", "vi"), ("b", "vo")], ""), &[]);
    assert_eq!(outcome_of_run.wifi[0].collision_rate, Some(0.0));
    assert!(outcome_of_run.flows.iter().all(|flow| flow.goodput_bps > 1e6), "{:?}", mbps(&outcome_of_run));
}

#[test]
fn airtime_of_uploads_takes_no_turns_and_makes_no_debt_of_an_idle_station() {
    let up = "[[flow]]\nname = \"up\"\nfrom = \"a\"\nto = \"ap\"\nudp = { rate = \"100Mbps\" }\n";
    let stations = [("a", "be"), ("b", "be"), ("c", "be")];
    let text = downlinks(&stations, ", scheduler = \"round_robin\", charge = \"both\"") + up;
    let outcome_of_run = audited_with(&text, &["duration=20s"]);
    let rate = |name: &str| outcome_of_run.flows.iter().find(|flow| flow.name == name).unwrap().goodput_bps;
    within(rate("da"), rate("db"), 0.1);
    within(rate("dc"), rate("db"), 0.1);
    // a uploads alone for two seconds, and then a and b have downloads too.
    let text = downlinks(&stations[..2], ", charge = \"both\"") + up;
    let outcome_of_run = audited_with(&text, &["flow.up.stop=2s", "flow.da.start=2s", "flow.db.start=2s"]);
    within(outcome_of_run.flows[0].goodput_bps, outcome_of_run.flows[1].goodput_bps, 0.1);
}

#[test]
fn a_change_keeps_packets_that_a_full_queue_would_drop() {
    let text = downlinks(&[("a", "be")], "");
    let change = "[[change]]\nname = \"k\"\nat = \"1s\"\ndo = \"keep_next\"\nlink = \"ap->a\"\ncount = 50\n";
    let queue = |text: &str| audited_with(text, &["duration=1.005s"]).links[0].mean_queue_packets;
    let (plain, kept) = (queue(&text), queue(&(text.clone() + change)));
    assert!(kept > plain, "{plain} {kept}");
}

#[test]
fn what_a_channel_cannot_do_is_refused() {
    let text = downlinks(&[("a", "be")], "");
    let stalled =
        text.replace("[[flow]]", "loss = { kind = \"stall\", times = [[\"1s\", \"2s\"]] }\n[[flow]]");
    let relay = text
        .replace(
            "wifi = [",
            &format!("wifi = [{{ name = \"next\", ap = \"a\", channel = \"c\", {VHT20} }}, "),
        )
        .replace("name = \"cell\"", "name = \"cell\", channel = \"c\"");
    for (text, words) in [
        (stalled, "a stall needs a transmitter"),
        (relay, "give the sets two channels"),
        (downlinks(&[("a", "be")], ", window = 256"), "window"),
        (downlinks(&[("a", "be")], ", scheduler = \"round_robin\", quantum = \"1ms\""), "has no effect"),
        (
            downlinks(&[("a", "be")], "")
                .replace("standard = \"ac\"", "standard = \"n\"")
                .replace("streams = 1", "streams = 8"),
            "from 1 to 4",
        ),
    ] {
        let error = refusal(&text, &[]);
        assert!(error.contains(words), "{error} does not say {words}");
    }
}

#[test]
fn access_parameters_change_the_collisions() {
    let of = |edca: &str| audited_with(&saturated(5, 7, &format!("{VHT20}, {edca}"), 10), &[]);
    let plain = of("edca = {}");
    let wide = of("edca = { be = { cw_min = 127, cw_max = 1023 } }");
    let narrow = of("edca = { be = { cw_min = 3, cw_max = 3 } }");
    let collisions = |o: &Outcome| o.wifi[0].collision_rate.unwrap();
    assert!(collisions(&wide) < 0.5 * collisions(&plain) && collisions(&plain) < collisions(&narrow));
    assert_eq!(mbps(&plain), mbps(&of("edca = { vo = { aifsn = 9 } }")), "another category");
    for (edca, part) in [
        ("edca = { be = { cw_min = 14 } }", "must be a power of two minus one"),
        ("edca = { be = { cw_min = 2047 } }", "is above the largest"),
        ("edca = { be = { aifsn = 16 } }", "16 is not between 1 and 15"),
    ] {
        let text = saturated(1, 7, &format!("{VHT20}, {edca}"), 1);
        let message = refusal(&text, &[]);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn the_category_of_a_flow_decides_its_delay() {
    let call = |access: &str| {
        let text = saturated(5, 7, VHT20, 5)
            + &format!(
                "[[flow]]\nname = \"call\"\nfrom = \"s0\"\nto = \"ap\"\n{access}udp = {{ rate = \"100kbps\", packet = 200 }}\n"
            );
        audited_with(&text, &["link.\"s0->ap\".queue.limit=100p"])
    };
    let delay = |o: &Outcome| o.flows[5].mean_delay_s.unwrap();
    let (plain, voice) = (call(""), call("access = \"vo\"\n"));
    assert!(delay(&voice) < 0.05 * delay(&plain), "{} {}", delay(&voice), delay(&plain));
    let link = voice.links[0].wifi.as_ref().unwrap();
    let ppdus = |access: &str| link.categories.iter().find(|one| one.access == access).unwrap().ppdus;
    assert!(ppdus("vo") > 200, "each packet has a PPDU of its own");
    assert_eq!(ppdus("be") + ppdus("vo"), link.ppdus);
    assert!(plain.links[0].wifi.as_ref().unwrap().categories.is_empty());
    let wired = "duration = \"1s\"\nlink = [{ ends = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"1ms\" }]\nflow = [{ from = \"a\", to = \"b\", access = \"vo\" }]\n";
    assert!(refusal(wired, &[]).contains("flow[0].access: has no effect without [[wifi]]"));
}

#[test]
fn a_txop_has_as_many_ppdus_as_fit() {
    // Video: 34 us of AIFS, 3.5 slots, then 10 PPDUs of 232 us with SIFS and an ACK of 28 us each, 16 us apart, in 3.008 ms.
    let text = saturated(1, 7, &format!("{VHT20}, window = 1"), 3)
        .replace("errors = 0", "errors = 0, access = \"vi\"");
    let cycle = 34.0 + 3.5 * 9.0 + 10.0 * 276.0 + 9.0 * 16.0;
    within(mbps(&audited_with(&text, &[])), 10.0 * 12_000.0 / cycle, 0.005);
    let one = "wifi.cell.edca.vi.txop=0ms";
    within(mbps(&audited_with(&text, &[one])), 12_000.0 / (34.0 + 3.5 * 9.0 + 276.0), 0.005);
}

#[test]
fn packets_share_an_mpdu() {
    // One MPDU of three packets: 30 + 2 x 1524 + 1522 bytes in 608 us; in an A-MPDU 14 MPDUs of two packets in 5348 us.
    let of = |set: &str| mbps(&audited_with(&saturated(1, 7, &format!("{VHT20}, {set}"), 3), &[]));
    within(of("window = 1, amsdu = 3"), 36_000.0 / (608.0 + 44.0 + 43.0 + 67.5), 0.005);
    within(of("amsdu = 2"), 28.0 * 12_000.0 / (5348.0 + 48.0 + 43.0 + 67.5), 0.005);
    // Encryption: 28 MPDUs of 1,554 bytes in 5416 us, which without it take 5364.
    within(of("security = true"), 28.0 * 12_000.0 / (5416.0 + 48.0 + 43.0 + 67.5), 0.003);
    // 802.11n has MPDUs of at most 4,095 bytes: two packets.
    let n = "standard = \"n\", width = \"20MHz\", streams = 1, window = 1, amsdu = 3";
    let o = audited_with(&saturated(1, 7, n, 1), &[]);
    let packets = o.flows[0].delivered_bytes as f64 / 1500.0;
    within(packets / o.links[0].wifi.as_ref().unwrap().mpdus as f64, 2.0, 0.01);
}

#[test]
fn the_signal_of_a_station_changes() {
    let text = saturated(1, 7, VHT20, 4)
        .replace("errors = 0, rate_control = { kind = \"fixed\", mcs = 7 }", "SIGNAL");
    let of = |signal: &str| audited_with(&text.replace("SIGNAL", signal), &[]);
    let near = mbps(&of("snr = 35, rate_control = \"ideal\""));
    let far = mbps(&of("snr = 12, rate_control = \"ideal\""));
    let leaves = of("snr = [[\"0s\", 35], [\"2s\", 12]], rate_control = \"ideal\"");
    within(mbps(&leaves), (near + far) / 2.0, 0.01);
    let fading = of("snr = 25, fading = { speed = \"3kmph\", carrier = 5.2 }, rate_control = \"ideal\"");
    let used = fading.links[0].wifi.as_ref().unwrap().mcs.iter().filter(|mpdus| **mpdus > 0).count();
    assert!(used >= 6, "{used} rates");
    let wrong = text.replace("SIGNAL", "snr = [[\"1s\", 35]]");
    assert!(refusal(&wrong, &[]).contains("snr"), "{}", refusal(&wrong, &[]));
}

#[test]
fn delays_over_a_channel_are_those_of_its_flow() {
    let text = saturated(3, 7, VHT20, 5)
        + "[[flow]]\nname = \"call\"\nfrom = \"ap\"\nto = \"s0\"\nudp = { rate = \"100kbps\" }\n";
    let o = audited_with(&text, &["delays=true", "warmup=1s"]);
    let call = &o.flows[3];
    let flow = [call.p50_delay_s, call.p95_delay_s, call.p99_delay_s].map(Option::unwrap);
    let delay = o.links[1].delay.as_ref().unwrap();
    for (over, expected) in [delay.p50_s, delay.p95_s, delay.p99_s].into_iter().zip(flow) {
        within(over, expected, 0.02);
    }
    assert_eq!(audited_with(&text, &[]).links[1].delay, None);
}

#[test]
fn the_categories_of_a_link_have_one_signal_and_one_account() {
    let text = saturated(1, 7, VHT20, 4).replace(
        "errors = 0, rate_control = { kind = \"fixed\", mcs = 7 }",
        "snr = 25, fading = { speed = \"3kmph\", carrier = 5.2 }, rate_control = \"ideal\"",
    );
    let call = "[[flow]]\nname = \"call\"\nfrom = \"s0\"\nto = \"ap\"\naccess = \"vo\"\nudp = { rate = \"50kbps\" }\n";
    let (alone, beside) = (audited_with(&text, &[]), audited_with(&(text.clone() + call), &[]));
    // The call takes a little airtime and changes no signal.
    within(mbps(&beside), mbps(&alone), 0.03);
    let queue = "{ kind = \"droptail\", limit = \"600p\" }";
    let dual = (text + call).replace(queue, "{ kind = \"dualpi2\" }")
        + "[[flow]]\nname = \"low\"\nfrom = \"s0\"\nto = \"ap\"\naccess = \"vi\"\ntcp = { congestion_control = \"prague\" }\n";
    let low = audited_with(&dual, &[]).links[0].low_latency.clone().unwrap();
    assert!(low.sent_packets > low.marked_packets && low.marked_packets > 0, "{low:?}");
    let change = "[[change]]\nat = \"1s\"\nset = { \"flow.low.access\" = \"vo\" }\n";
    assert!(refusal(&(dual + change), &[]).contains("cannot change during a run"));
}

/// TCP downloads of two fast stations and a slow one, and a sparse flow to a fast one.
fn downloads(set: &str) -> Outcome {
    let mut text = format!(
        "duration = \"30s\"\nwarmup = \"5s\"\ndelays = true\nwifi = [{{ name = \"cell\", ap = \"ap\", standard = \"n\", streams = 2, guard = \"0.4us\", {set} }}]\n[[link]]\nends = [\"server\", \"ap\"]\nrate = \"1Gbps\"\ndelay = \"5ms\"\n"
    );
    for (station, mcs, streams) in [("a", 7, 2), ("b", 7, 2), ("c", 0, 1)] {
        text += &format!(
            "[[link]]\nends = [\"ap\", \"{station}\"]\nrate = {{ kind = \"wifi\", medium = \"cell\", errors = 0, streams = {streams}, rate_control = {{ kind = \"fixed\", mcs = {mcs} }} }}\n[[flow]]\nname = \"{station}\"\nfrom = \"server\"\nto = \"{station}\"\n"
        );
    }
    text += "[[flow]]\nname = \"ping\"\nfrom = \"server\"\nto = \"a\"\nudp = { rate = \"16kbps\", packet = 100 }\n";
    audited_with(&text, &[])
}

#[test]
fn airtime_fairness_pays_for_tcp_and_for_sparse_flows() {
    let delay = |o: &Outcome| o.flows[3].p95_delay_s.unwrap() - 0.005;
    let sum = |o: &Outcome| o.flows[..3].iter().map(|flow| flow.goodput_bps).sum::<f64>();
    let shared = downloads("ap_queue = { kind = \"shared\", limit = \"1000p\" }");
    let fair = downloads("scheduler = \"airtime\"");
    assert!(sum(&fair) > 2.5 * sum(&shared), "{} {}", sum(&fair), sum(&shared));
    assert!(10.0 * delay(&fair) < delay(&shared), "{} {}", delay(&fair), delay(&shared));
    // With PPDUs as short as those that were measured (18 packets in 1.6 ms).
    let short = downloads("scheduler = \"airtime\", max_ppdu = \"2ms\"");
    assert!(delay(&short) < 0.015, "{}", delay(&short));
}
