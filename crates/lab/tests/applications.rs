//! Applications over simulated TCP and QUIC: the times of a reference that shares no code, to the picosecond.

use ackclock_lab::scenario::Scenario;
use ackclock_lab::{MessageRow, Recording, Run, Settings};

/// A link of 10 Mb/s and 20 ms each way with an endless queue; the window grows by a segment for each that is acknowledged.
fn network(app: &str, transport: &str) -> String {
    format!(
        r#"
duration = "2s"
[[link]]
ends = ["server", "phone"]
rate = "10Mbps"
delay = "20ms"
[[flow]]
name = "f"
from = "server"
to = "phone"
{transport}
app = {app}
"#
    )
}

const RENO: &str = r#"tcp = { congestion_control = "reno", delayed_ack = false, validation = "none", idle_restart = "none" }"#;

fn run(text: &str) -> Run {
    let scenario = Scenario::parse("t", text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut run = Run::new(&scenario, Settings::default()).unwrap();
    run.finish();
    run
}

fn messages(text: &str) -> Vec<MessageRow> {
    run(text).messages().into_iter().map(|(_, row)| row).collect()
}

/// Times in units of 100 ns, which all of the reference are.
fn units(seconds: f64) -> i64 {
    let units = seconds * 1e7;
    assert!((units - units.round()).abs() < 1e-4, "{seconds}");
    units.round() as i64
}

fn ends(rows: &[MessageRow]) -> Vec<i64> {
    rows.iter().map(|row| units(row.end_s.unwrap())).collect()
}

#[test]
fn responses_of_a_closed_loop_have_the_times_of_the_reference() {
    let rows = messages(&network(
        r#"{ kind = "requests", response = "14480B", think = "100ms", requests = 4 }"#,
        RENO,
    ));
    let starts: Vec<i64> = rows.iter().map(|row| units(row.start_s)).collect();
    assert_eq!(starts, [400_960, 1_924_192, 3_447_008, 4_969_824]);
    assert_eq!(ends(&rows), [924_192, 2_447_008, 3_969_824, 5_492_640]);
}

#[test]
fn short_responses_are_short_segments() {
    let rows = messages(&network(
        r#"{ kind = "requests", response = "300B", service = "30ms", requests = 3 }"#,
        RENO,
    ));
    let spans: Vec<i64> = rows.iter().map(|row| units(row.end_s.unwrap() - row.start_s)).collect();
    assert_eq!(spans, [706_048; 3]);
    let rows = messages(&network(
        r#"{ kind = "requests", response = "1448B", outstanding = 4, requests = 4 }"#,
        RENO,
    ));
    assert_eq!(ends(&rows), [816_192, 828_192, 840_192, 852_192]);
}

const PAGE: &str =
    r#"objects = [["14480B"], ["28960B", 0], ["72400B", 0], ["14480B", 0], ["14480B", 1], ["43440B", 2]]"#;

fn page(more: &str) -> Vec<MessageRow> {
    messages(&network(&format!("{{ kind = \"page\", {PAGE}, {more} }}"), RENO))
}

/// The load time of a page, units of 100 ns.
fn load(rows: &[MessageRow]) -> i64 {
    ends(rows).into_iter().max().unwrap()
}

#[test]
fn pages_have_the_times_of_the_reference() {
    let http1 =
        |connections: u32| page(&format!("protocol = \"http1\", connections = {connections}, tls = false"));
    assert_eq!(ends(&http1(1)), [924_192, 1_767_008, 2_770_240, 3_293_472, 3_816_704, 4_579_936]);
    assert_eq!(load(&http1(2)), 3_853_056);
    assert_eq!(load(&http1(6)), 3_973_056);
    let http2 = page("protocol = \"http2\", tls = false");
    assert_eq!(ends(&http2), [924_192, 1_767_008, 2_779_424, 2_179_424, 2_707_424, 3_742_240]);
    assert_eq!(load(&page("protocol = \"http1\"")), 4_212_032);
    assert_eq!(load(&page("protocol = \"http2\"")), 4_086_720);
}

const QUIC: &str = r#"quic = { congestion_control = "cubic" }"#;

/// Values of the outcome of the first flow's application.
fn outcome(text: &str) -> serde_json::Value {
    let value = serde_json::to_value(run(text).outcome()).unwrap();
    value["flows"][0]["app"].clone()
}

#[test]
fn every_kind_runs_over_both_transports() {
    for (app, tcp, quic) in [
        (r#""3Mbps""#, true, true),
        (r#"{ kind = "on_off", on = "200ms", off = "300ms" }"#, true, true),
        (r#"{ kind = "on_off", on = "200ms", off = "300ms", rate = "1Mbps", random = true }"#, true, true),
        (r#"{ kind = "on_off", size = ["30kB", "50kB"], off = "100ms", start_on = false }"#, true, true),
        (
            r#"{ kind = "requests", response = "web_server", outstanding = 3, think = "10ms", random = true }"#,
            true,
            true,
        ),
        (r#"{ kind = "page", page = "small", repeat = "100ms" }"#, true, true),
        (r#"{ kind = "page", page = "small", protocol = "http1" }"#, true, false),
        (
            r#"{ kind = "video", ladder = ["300kbps", "1.2Mbps"], chunk = "500ms", buffer = "2s", length = "10s" }"#,
            true,
            true,
        ),
        (r#"{ kind = "frames", rate = "3Mbps", adapt = "controller" }"#, true, true),
        (r#"{ kind = "frames", rate = "3Mbps", group = 30, late = "drop", adapt = "backlog" }"#, true, true),
        (
            r#"{ kind = "frames", rate = "3Mbps", group = 30, late = "cancel", audio = "24kbps" }"#,
            false,
            true,
        ),
        (
            r#"{ kind = "frames", rate = "3Mbps", group = 30, late = "stop", key_on_cancel = true }"#,
            false,
            true,
        ),
        (
            r#"{ kind = "frames", layers = [{ rate = "1Mbps", priority = 1 }, { rate = "2Mbps", group = 10, late = "cancel" }] }"#,
            false,
            true,
        ),
    ] {
        for (transport, runs) in [(RENO, tcp), (QUIC, quic)] {
            let text = network(app, transport);
            if !runs {
                assert!(Scenario::parse("t", &text, &[]).is_err(), "{text}");
                continue;
            }
            let outcome = outcome(&text);
            let count = |key: &str| outcome[key].as_u64().unwrap();
            assert!(count("finished") > 0 && count("unfinished") < 40, "{text}: {outcome}");
            assert_eq!(count("requests_repeated"), 0, "{text}");
        }
    }
}

#[test]
fn the_budget_of_a_message_adds_up_to_its_time() {
    use ackclock_lab::{Recording, message_budget};
    let busy = |transport: &str, app: &str| {
        network(app, transport)
            .replace("delay = \"20ms\"", "delay = \"20ms\"\nqueue = { kind = \"droptail\", limit = \"20p\" }\nloss = { kind = \"bernoulli\", rate = 0.03 }").replace("\"2s\"", "\"10s\"")
            + "[[flow]]\nname = \"bulk\"\nfrom = \"server\"\nto = \"phone\"\n"
    };
    let requests = r#"{ kind = "requests", response = "30kB", service = "5ms", outstanding = 2 }"#;
    let frames = r#"{ kind = "frames", rate = "3Mbps" }"#;
    for (transport, app) in [(RENO, requests), (RENO, frames), (QUIC, requests), (QUIC, frames)] {
        let scenario =
            Scenario::parse("t", &busy(transport, app), &[]).unwrap_or_else(|error| panic!("{error}"));
        let recording = Recording { packets: true, ..Recording::default() };
        let mut run = Run::new(&scenario, Settings { recording, ..Settings::default() }).unwrap();
        run.finish();
        let ended: Vec<u32> =
            run.messages().iter().filter(|(_, row)| row.end_s.is_some()).map(|(_, row)| row.number).collect();
        assert!(ended.len() > 5);
        let mut repaired = 0;
        for number in ended {
            let budget = message_budget(&run, "f", number).unwrap();
            let sum: f64 = budget.parts.iter().map(|part| part.seconds).sum();
            assert!((sum - budget.total_s).abs() < 1e-9, "{budget:?}");
            assert!(budget.parts.iter().all(|part| part.seconds > 0.0), "{budget:?}");
            repaired += budget.parts.iter().any(|part| part.what == "repeated after a loss") as usize;
        }
        assert!(transport == QUIC || repaired > 0, "{app}");
        assert!(message_budget(&run, "f", 1_000_000).is_err());
    }
}

#[test]
fn the_request_of_the_set_up_has_300_bytes() {
    let rows = messages(&network(
        r#"{ kind = "requests", response = "1448B", request = "2000B", tls = true, requests = 1 }"#,
        RENO,
    ));
    // 8 units a byte, 400,000 both ways. 60 bytes there and back; behind an ACK 352 bytes, for 3,156 in three segments.
    let ready = 480 + 480 + 400_000;
    let set_up = ready + 416 + 2_816 + 8 * (1_500 + 1_500 + 156) + 400_000;
    assert_eq!(units(rows[0].start_s), set_up);
    // Behind an ACK 2,052 bytes, for 1,500.
    assert_eq!(ends(&rows), [set_up + 416 + 16_416 + 12_000 + 400_000]);
}

/// Runs with the auditor; panics on any violation.
fn audited(text: &str) -> Run {
    let scenario = Scenario::parse("t", text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let recording = Recording { audit: true, ..Recording::default() };
    let mut run = Run::new(&scenario, Settings { recording, ..Settings::default() }).unwrap();
    run.finish();
    let (violations, count) = run.audit();
    assert_eq!(count, 0, "{violations:#?}\n{text}");
    run
}

/// 240 frames a second, 4 Mb/s over a path of 1 Mb/s.
fn overloaded(app: &str) -> String {
    network(
        &format!(
            "{{ kind = \"frames\", rate = \"4Mbps\", fps = 240, key_ratio = 1, deadline = \"100ms\", {app} }}"
        ),
        QUIC,
    )
    .replace("10Mbps\"", "1Mbps\"\nqueue = { kind = \"droptail\", limit = \"20p\" }")
    .replace("2s", "40s")
}

#[test]
fn frames_that_are_given_up_leave_no_stream_open() {
    for late in ["drop", "cancel"] {
        for streams in ["streams = \"frame\"", "streams = \"frame\", group = 4", "group = 2", "group = 12"] {
            let text = overloaded(&format!("late = \"{late}\", {streams}"));
            let run = audited(&text);
            let rows = run.messages();
            let last = rows.iter().filter(|(_, row)| row.start_s > 38.0);
            let arrived = last.filter(|(_, row)| row.end_s.is_some()).count();
            assert!(arrived > 20, "{arrived} of the last frames\n{text}");
        }
    }
}

#[test]
fn streams_that_a_receiver_stops_are_reset_with_the_rest_of_their_group() {
    for streams in ["streams = \"frame\", group = 60", "group = 60"] {
        let text = overloaded(&format!("late = \"stop\", {streams}"));
        let run = audited(&text);
        let rows = run.messages();
        // At the end some are under way.
        let early = rows.iter().filter(|(_, row)| row.start_s < 38.0);
        let unfinished = early.filter(|(_, row)| row.state == "unfinished").count();
        assert_eq!(unfinished, 0, "{text}");
        assert!(rows.iter().any(|(_, row)| row.state == "cancelled"));
    }
}

/// A group that is stopped after a frame that is late and complete.
#[test]
fn a_stopped_group_ends_although_its_last_frame_has_arrived() {
    let app = r#"{ kind = "frames", rate = "40kbps", fps = 5, group = 5, key_ratio = 1, deadline = "1ms", late = "stop" }"#;
    let run = audited(&network(app, QUIC));
    let states: Vec<&str> = run.messages().iter().map(|(_, row)| row.state).collect();
    assert_eq!(states[..10], ["late", "cancelled", "cancelled", "cancelled", "cancelled"].repeat(2));
}

#[test]
fn a_period_in_which_nothing_was_taken_is_dropped() {
    // The handshake takes 41 ms.
    let rows = messages(&network(r#"{ kind = "on_off", on = "10ms", off = "300ms" }"#, RENO));
    let states: Vec<(u64, &str)> = rows.iter().map(|row| (row.bytes, row.state)).collect();
    assert_eq!(states[0], (0, "dropped"));
    assert!(states[1..6].iter().all(|(bytes, state)| *bytes > 0 && *state == "finished"), "{states:?}");
}

/// A page over a path whose windows never fill, with the loss of one packet, by its position in the flow.
fn page_with_loss(transport: &str, lost: Option<u64>) -> Vec<MessageRow> {
    let text = network(&format!("{{ kind = \"page\", {PAGE}, tls = false }}"), transport);
    let loss = lost.map_or(String::new(), |packet| {
        format!("loss = {{ kind = \"scripted\", flow = \"f\", packets = [{packet}] }}\n[[flow]]")
    });
    let text = if lost.is_some() { text.replace("[[flow]]", &loss) } else { text };
    audited(&text).messages().into_iter().map(|(_, row)| row).collect()
}

#[test]
fn a_lost_packet_delays_only_its_own_stream() {
    let segment = 0.0012 + 1e-9;
    let first = |rows: &[MessageRow], object: usize| rows[object].first_s.unwrap();
    let end = |rows: &[MessageRow], object: usize| rows[object].end_s.unwrap();
    let over = |transport: &str| {
        let whole = page_with_loss(transport, None);
        // The first packet of object 1: the first one whose loss delays the beginning of the object, and not object 0.
        let lost = (0..60)
            .map(|packet| page_with_loss(transport, Some(packet)))
            .find(|rows| end(rows, 0) == end(&whole, 0) && first(rows, 1) > first(&whole, 1));
        (whole, lost.expect("a packet of object 1"))
    };
    let (whole, lost) =
        over(r#"quic = { congestion_control = "cubic", initial_window = 1000, pacing = "none" }"#);
    let repaired = first(&lost, 1) - first(&whole, 1);
    assert!(repaired > 0.04, "{repaired}");
    assert!(first(&lost, 2) < first(&lost, 1) && end(&lost, 3) < first(&lost, 1));
    // One packet is repeated.
    for object in [2, 3] {
        let later = end(&lost, object) - end(&whole, object);
        assert!((-segment..=segment).contains(&later), "object {object}: {later}");
    }
    let (whole, lost) =
        over(r#"tcp = { congestion_control = "cubic", initial_window = 1000, delayed_ack = false }"#);
    let repaired = first(&lost, 1) - first(&whole, 1);
    assert!(repaired > 0.04, "{repaired}");
    // What follows waits for the repair: the server had written object 1 before it was asked for object 2.
    assert!(first(&whole, 2) < first(&lost, 1) && first(&lost, 2) >= first(&lost, 1));
    assert!(end(&lost, 1) >= first(&lost, 1) && first(&lost, 1) - end(&whole, 1) > 0.01);
}

#[test]
fn every_controller_serves_requests_and_frames() {
    let names = cc::CONTROLLERS.iter().map(|controller| controller.descriptor.name).chain(["policy"]);
    let (mut over_quic, mut without) = (0, Vec::new());
    for name in names {
        for app in [
            r#"{ kind = "requests", response = "web_server", think = "20ms", outstanding = 2, random = true }"#,
            r#"{ kind = "frames", rate = "2Mbps", group = 10, late = "drop", adapt = "controller" }"#,
        ] {
            let tcp = network(app, &format!("tcp = {{ congestion_control = \"{name}\" }}"));
            let routed = tcp.replace("delay =", &format!("router = {{ kind = \"{name}\" }}\ndelay ="));
            let text = if ["rcp", "xcp"].contains(&name) { &routed } else { &tcp };
            let transports = [
                Some(text.clone()),
                Some(tcp.replace("tcp = {", "quic = {")).filter(|text| {
                    match Scenario::parse("t", text, &[]) {
                        Ok(_) => true,
                        Err(error) => {
                            assert!(error.to_string().contains("quic"), "{name}: {error}");
                            false
                        }
                    }
                }),
            ];
            match transports[1] {
                Some(_) => over_quic += 1,
                None => without.push((name, app.len())),
            }
            for text in transports.iter().flatten() {
                let outcome = serde_json::to_value(audited(text).outcome()).unwrap();
                let app = &outcome["flows"][0]["app"];
                assert!(app["finished"].as_u64().unwrap() > 0, "{text}: {app}");
            }
        }
    }
    println!("{over_quic} over QUIC, not {without:?}");
    assert!(over_quic >= 60, "{over_quic}: {without:?}");
}

#[test]
fn any_order_of_packets_and_timers_keeps_the_counts() {
    let mut state = 7u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    let rounds = std::env::var("ACKCLOCK_APP_CALLS").map_or(320, |text| text.parse().unwrap());
    for round in 0..rounds {
        let calls = (0..3_000).map(|_| byte());
        let data: Vec<u8> = std::iter::once(round as u8).chain(calls).collect();
        ackclock_lab::fuzzing::app(&data);
    }
}
