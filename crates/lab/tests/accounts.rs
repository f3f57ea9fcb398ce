//! What the outcome counts: goodput and delivery without duplicates, utilisation, waiting times, drop rates; and minimal
//! networks (`findings`) on which an auditor or a counter was once wrong.

mod common;

use ackclock_lab::{Outcome, PacketLog, Recording, Run, Scenario, Settings};
use common::{audited, scenario};
use std::collections::BTreeMap;

/// Runs a network of the folder with the auditor; panics on any violation.
fn finding(name: &str, unfused: bool) -> Outcome {
    let file = format!("{}/tests/findings/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let scenario = Scenario::parse(&file, &std::fs::read_to_string(&file).unwrap(), &[]).unwrap();
    let recording = Recording { audit: true, ..Recording::default() };
    let mut run = Run::new(&scenario, Settings { recording, unfused, ..Settings::default() }).unwrap();
    run.finish();
    let (violations, count) = run.audit();
    assert_eq!(count, 0, "{name}: {violations:#?}");
    run.outcome()
}

#[test]
fn the_auditor_raises_no_alarm_where_events_coincide_or_copies_are_dropped() {
    for unfused in [false, true] {
        // A packet arrives at the picosecond at which a discipline drops another one.
        for name in ["audit_codel_udp", "audit_dualpi2_udp"] {
            assert!(finding(name, unfused).links[2].dropped_packets[net::DropReason::Aqm] > 0, "{name}");
        }
        // A copy of the packet in transmission is dropped.
        for name in ["audit_copy_fq_codel", "audit_copy_in_transmission"] {
            let outcome = finding(name, unfused);
            let dropped = |link: &ackclock_lab::LinkOutcome| link.dropped_packets[net::DropReason::Aqm];
            assert!(outcome.links.iter().map(dropped).sum::<u64>() > 0, "{name}");
        }
        // Packets leave a link at one time; one ends at its node, the next continues over a fused link.
        assert!(finding("audit_one_time", unfused).flows[1].delivered_bytes > 10_000);
    }
}

#[test]
fn copies_of_packets_are_delivered_once() {
    let outcome = finding("duplicate_goodput", false);
    let [udp, quic] = &outcome.flows[..] else { panic!("two flows") };
    assert_eq!(udp.goodput_bps, udp.delivered_bytes as f64 * 8.0 / 10.0);
    assert!(udp.goodput_bps < 1.0005e6 && udp.throughput_bps > 1.4e6, "{udp:?}");
    let ratio = udp.delivered_bytes as f64 / 1000.0 / udp.sent_packets as f64;
    assert_eq!(udp.delivery_ratio, Some(ratio));
    assert!(ratio > 0.98 && ratio <= 1.0, "{ratio}");
    assert_eq!(quic.delivered_bytes, 1_000_000);
    assert!(quic.delivery_ratio.is_some_and(|ratio| ratio > 0.9 && ratio <= 1.0), "{quic:?}");
    // Only the second one of a copied pair is lost: it is still delivered.
    let text = "duration = \"2s\"\n[[link]]\nends = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"1ms\"\n\
        loss = { kind = \"duplicate\", rate = 1.0 }\n[[link]]\nends = [\"b\", \"c\"]\nrate = \"1Mbps\"\n\
        delay = \"1ms\"\nqueue = { kind = \"droptail\", limit = \"0p\" }\n[[flow]]\nfrom = \"a\"\nto = \"c\"\n\
        stop = \"1s\"\nudp = { rate = \"100kbps\", packet = 500 }\n";
    let flow = &audited(text).flows[0];
    assert_eq!((flow.sent_packets, flow.delivered_bytes, flow.delivery_ratio), (25, 12_500, Some(1.0)));
}

#[test]
fn a_delivery_ratio_is_of_the_packets_that_were_sent_after_the_warm_up() {
    let flow = |traffic: &str| {
        format!(
            "duration = \"2s\"\nwarmup = \"1s\"\n[[link]]\nends = [\"a\", \"b\"]\nrate = \"100Mbps\"\n\
             delay = \"500ms\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n{traffic}\n"
        )
    };
    let udp = "udp = { rate = \"800kbps\", packet = 1000 }"; // a packet each 10 ms
    let ratio = |traffic: &str| {
        let outcome = audited(&flow(traffic));
        (outcome.flows[0].sent_packets, outcome.flows[0].delivery_ratio.unwrap())
    };
    // Sent from 1.01 to 1.19 s, arrived by 1.7 s; those of the last half second of the warm-up arrive too.
    assert_eq!(ratio(&format!("stop = \"1200ms\"\n{udp}")), (19, 1.0));
    // Sent from 1.01 to 2 s; those until 1.49 s arrive.
    assert_eq!(ratio(udp), (100, 0.49));
    for traffic in ["stop = \"1001ms\"", "stop = \"1001ms\"\nquic = {}", "", "quic = {}"] {
        let (sent, ratio) = ratio(&format!("{traffic}\n"));
        assert!(ratio <= 1.0, "{traffic}: {ratio} of {sent}");
    }
}

#[test]
fn a_radio_network_receives_no_more_than_it_was_offered() {
    // The queue is full at the end of the warm-up, and the source stops then.
    let text = "duration = \"2s\"\nwarmup = \"1s\"\n[radio]\nnodes = 2\n\
        mobility = { kind = \"static\", positions = [[0, 0], [150, 0]] }\n[[flow]]\nfrom = \"n0\"\nto = \"n1\"\n\
        stop = \"1010ms\"\nudp = { rate = \"4Mbps\", packet = 1000 }\n";
    let radio = audited(text).radio.unwrap();
    assert!(radio.received_packets > radio.offered_packets && radio.offered_packets > 0, "{radio:?}");
    assert!(radio.delivery_ratio.is_some_and(|ratio| ratio > 0.8 && ratio <= 1.0), "{radio:?}");
}

/// The utilisation of the first link, whose keys are `link`, by a UDP flow of packets of 1,500 bytes from `start` on.
fn utilisation(times: &str, link: &str, start: &str, rate: &str) -> f64 {
    let text = format!(
        "{times}\n[[link]]\nends = [\"a\", \"b\"]\ndelay = \"1ms\"\n{link}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n\
         start = \"{start}\"\nudp = {{ rate = \"{rate}\", packet = 1500 }}\n"
    );
    audited(&text).links[0].utilisation
}

#[test]
fn a_link_is_never_used_by_more_than_it_offers() {
    for name in ["utilisation_above_one", "utilisation_shaper_warmup", "utilisation_trace_warmup"] {
        let used = finding(name, false).links[0].utilisation;
        assert!(used > 0.999 && used <= 1.0, "{name}: {used}");
    }
    // The rate rises at the end of the run: 5,000 of the 12,000 bits of the packet in transmission have left.
    let steps = "rate = { kind = \"steps\", steps = [[\"0s\", \"100kbps\"], [\"1s\", \"10Mbps\"]] }";
    let used = utilisation("duration = \"1s\"", steps, "950ms", "10kbps");
    assert!((used - 0.05).abs() < 1e-9, "{used}");
    // And at the end of the warm-up: 7,000 bits leave after it, of 10,000,000 that could.
    let used = utilisation("duration = \"2s\"\nwarmup = \"1s\"", steps, "950ms", "10kbps");
    assert!((used - 0.0007).abs() < 1e-9, "{used}");
    // Tokens for 400 kbit are saved in the warm-up: after it the line limits, and half of it is used.
    let shaper = "rate = \"300kbps\"\nshaper = { rate = \"56kbps\", burst = \"50kB\" }";
    let used = utilisation("duration = \"2s\"\nwarmup = \"1s\"", shaper, "1s", "150kbps");
    assert!((used - 0.5).abs() < 0.03, "{used}");
    // The bucket was emptied in the warm-up: 56 kbit are offered in each second, and a quarter is used.
    let burst = "rate = \"300kbps\"\nshaper = { rate = \"56kbps\", burst = \"1500B\" }";
    let used = utilisation("duration = \"101s\"\nwarmup = \"1s\"", burst, "0s", "14kbps");
    assert!((used - 0.25).abs() < 0.01, "{used}");
}

/// The mean time that the packets of link 0 that departed have waited, by the packet log. `rate_bps` is its rate.
fn logged_wait(log: &PacketLog, rate_bps: f64) -> (u64, f64) {
    let (mut accepted, mut waits) = (BTreeMap::new(), Vec::new());
    for row in (0..log.time.len()).filter(|row| log.link[*row] == 0) {
        let time = log.time[row].seconds();
        match log.event[row] {
            0 => drop(accepted.insert(log.seq[row], time)),
            2 => waits.push(time - log.size[row] as f64 * 8.0 / rate_bps - accepted[&log.seq[row]]),
            _ => {}
        }
    }
    (waits.len() as u64, waits.iter().sum::<f64>() / waits.len() as f64)
}

#[test]
fn waiting_times_and_drop_rates_are_those_of_the_packet_log() {
    for queue in ["codel", "fq_codel", "dualpi2", "fq_pie", "pie", "droptail"] {
        let limit = if queue == "fq_pie" { ", memory = 20000" } else { ", limit = \"60p\"" };
        let text = format!(
            "duration = \"4s\"\n[[link]]\nends = [\"a\", \"b\"]\nrate = \"5Mbps\"\ndelay = \"1ms\"\n\
             queue = {{ kind = \"{queue}\"{limit} }}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\nstop = \"2s\"\n\
             udp = {{ packet = 1500, rate = \"9Mbps\" }}\n"
        );
        let recording = Recording { packets: true, ..Recording::default() };
        let mut run = common::finished(&common::scenario(&text), recording);
        let (departed, wait) = logged_wait(&run.logs().packets, 5e6);
        let link = run.outcome().links.swap_remove(0);
        assert!((link.mean_sojourn_s.unwrap() - wait).abs() < 1e-9, "{queue}: {wait} {link:?}");
        let dropped =
            link.dropped_packets[net::DropReason::Queue] + link.dropped_packets[net::DropReason::Aqm];
        assert!(dropped > 100, "{queue}: {dropped}");
        assert_eq!(link.queue_drops, dropped, "{queue}");
        assert_eq!(link.drop_rate, Some(dropped as f64 / (dropped + departed) as f64), "{queue}");
    }
}

#[test]
fn packets_that_still_wait_have_no_waiting_time() {
    // A packet arrives each half second and takes a second: the waits are 0, 0.5, 1, 1.5 s, ...
    for queue in ["{ kind = \"droptail\", limit = \"99p\" }", "{ kind = \"codel\", target = \"99s\" }"] {
        let mean = |times: &str| {
            let text = format!(
                "{times}\n[[link]]\nends = [\"a\", \"b\"]\nrate = \"8kbps\"\ndelay = \"1ms\"\nqueue = {queue}\n\
                 [[flow]]\nfrom = \"a\"\nto = \"b\"\nudp = {{ rate = \"16kbps\", packet = 1000 }}\n"
            );
            audited(&text).links[0].mean_sojourn_s
        };
        assert_eq!(mean("duration = \"3750ms\""), Some(0.75), "{queue}");
        assert_eq!(mean("duration = \"3750ms\"\nwarmup = \"1250ms\""), Some(1.25), "{queue}");
        assert_eq!(mean("duration = \"1750ms\"\nwarmup = \"1250ms\""), None, "{queue}");
    }
}

#[test]
fn a_receiver_before_its_time_costs_no_event() {
    let text = "duration = \"5s\"\nlink = [{ ends = [\"a\", \"b\"], rate = \"5Mbps\", delay = \"10ms\" }]\n\
                flow = [{ name = \"f\", from = \"a\", to = \"b\", tcp = { receive_window = 30 } }]\n";
    let events = |unfused: bool| {
        let mut run = Run::new(&scenario(text), Settings { unfused, ..Settings::default() }).unwrap();
        run.finish();
        run.cost().0.events
    };
    let (ahead, each) = (events(false), events(true));
    assert!(each > ahead * 3 / 2, "{ahead} and {each} events");
}
