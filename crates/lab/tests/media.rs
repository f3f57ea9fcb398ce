//! Media under load that ends: every packet that was sent arrives or is dropped, whatever the options.

mod common;

use ackclock_lab::Outcome;
use common::audited;
use engine::Stream;

/// Packets that were sent and have neither arrived nor been dropped, of flows over one link each.
fn remaining(o: &Outcome) -> u64 {
    let sent: u64 = o.flows.iter().map(|flow| flow.sent_packets).sum();
    let ended = o.links.iter().map(|link| {
        link.delivered_packets
            + net::DropReason::ALL.iter().map(|reason| link.dropped_packets[*reason]).sum::<u64>()
    });
    sent - ended.sum::<u64>()
}

/// One of several texts.
fn one<'a>(stream: &mut Stream, texts: &[&'a str]) -> &'a str {
    texts[(stream.uniform() * texts.len() as f64) as usize]
}

const QUEUES: [&str; 6] = [
    r#"{ kind = "droptail", limit = "60p" }"#,
    r#"{ kind = "codel", target = "1ms", interval = "5ms" }"#,
    r#"{ kind = "fq_codel" }"#,
    r#"{ kind = "fq_pie" }"#,
    r#"{ kind = "dualpi2" }"#,
    r#"{ kind = "docsis_pie", limit = "30kB" }"#,
];

/// A cell of any kind.
fn drawn_cell(s: &mut Stream) -> String {
    let kind = one(
        s,
        &[
            "blocks = 6",
            "width = \"10MHz\"",
            "blocks = [[\"0s\", 50], [\"1s\", 8]]",
            "kind = \"nr\", width = \"20MHz\", tdd = \"DDDSU\"",
            "kind = \"nr\", mu = 3, width = \"50MHz\"",
        ],
    );
    let scheduler = one(s, &["max_ci", "round_robin", "proportional_fair\", idle = \"decay"]);
    let rlc = one(s, &["am", "um"]);
    let attempts = 1 + (s.uniform() * 4.0) as u32;
    let rtt = 1 + (s.uniform() * 20.0) as u32;
    format!(
        "cell = [{{ name = \"c\", station = \"b\", {kind}, scheduler = \"{scheduler}\", rlc = \"{rlc}\", attempts = {attempts}, harq_rtt = {rtt} }}]\n"
    )
}

/// A basic service set of any kind.
fn drawn_set(s: &mut Stream) -> String {
    let standard = one(s, &["n", "ac", "ax"]);
    let window = one(s, &["", ", window = 1", ", window = 8", ", max_ppdu = \"1ms\""]);
    let amsdu = 1 + (s.uniform() * 4.0) as u32;
    let rts = one(s, &["none", "0B", "2000B"]);
    let (eifs, bar) = (s.uniform() < 0.5, s.uniform() < 0.3);
    let retries = (s.uniform() * 8.0) as u32;
    let edca = one(s, &["", ", edca = { vo = { txop = \"0ms\" }, be = { txop = \"2ms\" } }"]);
    let more = one(s, &["", ", security = true", ", scheduler = \"round_robin\"", ", charge = \"both\""]);
    format!(
        "wifi = [{{ name = \"w\", ap = \"b\", standard = \"{standard}\", width = \"20MHz\", streams = 1, amsdu = {amsdu}, rts_threshold = \"{rts}\", eifs = {eifs}, bar = {bar}, retry_limit = {retries}{window}{edca}{more} }}]\n"
    )
}

fn cellular_rate(s: &mut Stream) -> String {
    let snr = 5 + (s.uniform() * 20.0) as u32;
    let more = one(
        s,
        &[
            "",
            ", fading = { speed = \"30kmph\" }",
            ", handover = { at = [\"0s\", \"1.5s\", \"1.9s\"] }",
            ", handover = { at = [\"1.5s\", \"1.99s\"], mode = \"seamless\" }",
            ", drx = { cycle = \"40ms\", inactivity = \"5ms\" }",
            ", blockage = { clear = \"100us\", blocked = \"100us\", loss = 10 }",
        ],
    );
    format!("rate = {{ kind = \"cellular\", medium = \"c\", snr = {snr}{more} }}\n")
}

fn wifi_rate(s: &mut Stream) -> String {
    let control = one(s, &["\"minstrel\"", "\"ideal\"", "{ kind = \"fixed\", mcs = 5 }"]);
    let more = one(
        s,
        &[
            "snr = 35",
            "snr = [[\"0s\", 35], [\"1s\", 12]]",
            "errors = 0.2",
            "snr = 20, fading = { speed = \"3kmph\", carrier = 5.2 }",
            "snr = 30, blockage = { clear = \"100ms\", blocked = \"30ms\", loss = 10 }, access = \"vi\"",
        ],
    );
    format!("rate = {{ kind = \"wifi\", medium = \"w\", rate_control = {control}, {more} }}\n")
}

fn grants_rate(s: &mut Stream) -> String {
    let profile = one(s, &["docsis31", "docsis_ll", "gpon", "gpon_fixed"]);
    let rate = one(s, &["200kbps", "5Mbps", "50Mbps"]);
    let unsolicited = one(s, &["0B", "100B", "3000B"]);
    format!(
        "rate = {{ kind = \"request_grant\", rate = \"{rate}\", channel = \"100Mbps\", profile = \"{profile}\", unsolicited = \"{unsolicited}\" }}\n"
    )
}

/// A cell or a Wi-Fi channel with two users, or a direction with grants, and UDP both ways that ends at 2 s.
fn drawn(number: u64) -> String {
    let mut stream = Stream::new(number, "media", "test");
    let s = &mut stream;
    let mut text = "duration = \"200s\"\n".to_string();
    let kind = one(s, &["cell", "wifi", "cell", "wifi", "grants"]);
    text += &match kind {
        "cell" => drawn_cell(s),
        "wifi" => drawn_set(s),
        _ => String::new(),
    };
    for user in 0..if kind == "grants" { 1 } else { 2 } {
        let queue = one(s, &QUEUES);
        text += &format!("[[link]]\nends = [\"b\", \"u{user}\"]\ndelay = \"2ms\"\nqueue = {queue}\n");
        text += &match kind {
            "cell" => cellular_rate(s),
            "wifi" => wifi_rate(s),
            _ => grants_rate(s),
        };
        let ends = [["b".to_string(), format!("u{user}")], [format!("u{user}"), "b".to_string()]];
        for (number, [from, to]) in ends.iter().chain(&ends).enumerate() {
            let rate = one(s, &["20kbps", "1Mbps", "10Mbps"]);
            let packet = one(s, &["60", "1000", "9000"]);
            let access = match kind {
                "wifi" => one(s, &["", "access = \"bk\"\n", "access = \"vi\"\n", "access = \"vo\"\n"]),
                _ => "",
            };
            text += &format!(
                "[[flow]]\nname = \"{number}{from}-{to}\"\nfrom = \"{from}\"\nto = \"{to}\"\nstop = \"2s\"\n{access}udp = {{ rate = \"{rate}\", packet = {packet} }}\n"
            );
        }
    }
    text
}

#[test]
fn every_packet_arrives_or_is_dropped() {
    let count = std::env::var("ACKCLOCK_MEDIA").ok().and_then(|n| n.parse().ok()).unwrap_or(120);
    for number in 0..count {
        let text = drawn(number);
        assert_eq!(remaining(&audited(&text)), 0, "number {number}\n{text}");
    }
}

#[test]
fn blocks_of_a_handover_need_no_later_packet() {
    // The last packets are in a failed block when the handover begins.
    for start in 0..10 {
        let text = format!(
            r#"
duration = "20s"
cell = [{{ name = "c", station = "b", width = "10MHz" }}]
link = [{{ ends = ["b", "u"], rate = {{ kind = "cellular", medium = "c", snr = 18.5, mcs = 28, handover = {{ at = ["5s"] }} }} }}]
flow = [
  {{ name = "d", from = "b", to = "u", start = "{start}ms", stop = "4.999s", udp = {{ rate = "1600kbps", packet = 1000 }} }},
  {{ name = "e", from = "u", to = "b", start = "{start}ms", stop = "4.999s", udp = {{ rate = "1600kbps", packet = 1000 }} }},
]
"#
        );
        let o = audited(&text);
        assert_eq!(remaining(&o), 0);
        assert!(o.links.iter().all(|link| link.cell.as_ref().unwrap().handovers == 1));
    }
}

#[test]
fn a_handover_in_an_idle_time_changes_no_request() {
    let text = r#"
duration = "20s"
cell = [{ name = "c", station = "b" }]
link = [{ ends = ["b", "u"], rate = { kind = "cellular", medium = "c", handover = { at = ["1s", "3s"] } } }]
flow = [{ name = "e", from = "u", to = "b", udp = { bursts = [["0s", "1ms", "800kbps"], ["10s", "1ms", "800kbps"]], packet = 80 } }]
"#;
    let o = audited(text);
    let up = o.links[1].cell.as_ref().unwrap();
    assert_eq!((up.requests, up.handovers, remaining(&o)), (2, 2, 0), "{up:?}");
    assert!(up.mean_grant_wait_s.is_some_and(|wait| wait < 0.02), "{up:?}");
}

#[test]
fn a_queue_that_drops_leaves_no_grant_behind() {
    // CoDel drops at departures, in the middle of a grant; then one packet a second.
    let text = r#"
duration = "60s"
delays = true
link = [{ ends = ["h", "i"], delay = "5ms", rate = { kind = "request_grant", rate = "1Mbps", channel = "100Mbps" }, queue = { kind = "codel", target = "1ms", interval = "1ms" } }]
flow = [
  { name = "load", from = "h", to = "i", stop = "5s", udp = { rate = "3Mbps", packet = 1000 } },
  { name = "lone", from = "h", to = "i", start = "10s", stop = "50s", udp = { rate = "801bps", packet = 100 } },
]
"#;
    let o = audited(text);
    assert_eq!(remaining(&o), 0);
    let delay = o.flows[1].mean_delay_s.unwrap();
    assert!((0.0095..0.0105).contains(&delay), "4 to 6 ms for the grant, 5 ms of the line: {delay}");
    let unused = o.links[0].grants.as_ref().unwrap().unused_bytes;
    assert!((100..1_000_000).contains(&unused), "{unused}");
}
