//! Scenarios with accurate ECN feedback (RFC 9768): what is refused, the audit, captures, and runs beside feedback per packet.

mod common;

use ackclock_lab::{Recording, Run, Settings};
use common::{audited, finished, refusal, scenario};
use units::{Span, Time};

/// A flow over DualPI2; 30 % of its ACKs are lost if `lossy`.
fn network(tcp: &str, lossy: bool) -> String {
    let loss = if lossy { "back = { loss = { kind = \"bernoulli\", rate = 0.3 } }" } else { "" };
    format!(
        r#"
duration = "20s"
[[link]]
name  = "bottleneck"
ends  = ["a", "b"]
rate  = "40Mbps"
delay = "5ms"
queue = {{ kind = "dualpi2" }}
{loss}
[[flow]]
name = "f"
from = "a"
to   = "b"
tcp  = {{ {tcp} }}
"#
    )
}

fn accurate(controller: &str) -> String {
    format!(r#"congestion_control = "{controller}", ecn = true, ecn_feedback = "accurate""#)
}

#[test]
fn what_has_no_accurate_feedback_is_refused() {
    let refused = |tcp: &str| refusal(&network(tcp, false), &[]);
    for (tcp, expected) in [
        (r#"ecn_feedback = "accurate""#, "needs ecn = true"),
        (r#"profile = "ns2", ecn = true, ecn_feedback = "accurate""#, r#"needs profile = "linux""#),
        (r#"recovery = "sack", ecn = true, ecn_feedback = "accurate""#, r#"needs recovery = "rack""#),
        ("ecn = true, accecn_option = true", r#"write ecn_feedback = "accurate""#),
        (r#"ecn = true, ecn_feedback = "exact""#, "accurate"),
    ] {
        let message = refused(tcp);
        assert!(message.contains(expected), "{tcp}: {message}");
    }
}

#[test]
fn advice_where_no_queue_marks() {
    let advice = |queue: &str| {
        let text = network(&accurate("reno"), false).replace("{ kind = \"dualpi2\" }", queue);
        scenario(&text).advice.join("\n")
    };
    assert!(advice(r#"{ kind = "droptail", limit = "50p" }"#).contains("no queue marks packets"));
    assert!(advice(r#"{ kind = "codel" }"#).contains("no queue marks packets"));
    for queue in [r#"{ kind = "codel", ecn = true }"#, r#"{ kind = "fq_codel" }"#, r#"{ kind = "dualpi2" }"#]
    {
        assert_eq!(advice(queue), "");
    }
}

#[test]
fn runs_pass_the_audit() {
    for controller in ["reno", "cubic", "dctcp", "prague", "bbr3"] {
        for more in ["", ", accecn_option = false", ", gro = true", ", sack = false", ", timestamps = false"]
        {
            audited(&network(&format!("{}{more}", accurate(controller)), true));
        }
    }
}

#[test]
fn prague_and_the_flow_beside_it_get_about_the_same_rates() {
    let text = include_str!("../../../scenarios/l4s.toml");
    let goodputs = |feedback: &str| {
        let scenario =
            common::scenario_with(text, &[&format!("flow.prague.tcp.ecn_feedback=\"{feedback}\"")]);
        let flows = finished(&scenario, Recording::default()).outcome().flows;
        [flows[0].goodput_bps, flows[1].goodput_bps]
    };
    let (per_packet, accurate) = (goodputs("per_packet"), goodputs("accurate"));
    println!("{per_packet:?} {accurate:?}");
    for (before, after) in per_packet.into_iter().zip(accurate) {
        assert!((after / before - 1.0).abs() < 0.03, "{per_packet:?} {accurate:?}");
    }
}

/// TCP headers of a capture in which all packets are IPv4, from the flags' first byte: header length and AE.
fn tcp_headers(file: &[u8]) -> Vec<&[u8]> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (mut headers, mut at) = (Vec::new(), 0);
    while at < file.len() {
        if word(at) == 6 {
            let tcp = at + 28 + 20;
            let length = usize::from(file[tcp + 12] >> 4) * 4;
            headers.push(&file[tcp..tcp + length]);
        }
        at += word(at + 4);
    }
    headers
}

#[test]
fn captures_have_the_field_and_the_option() {
    for (l4s, kind) in [(false, 172), (true, 174)] {
        let text = network(&format!("{}, l4s = {l4s}", accurate("dctcp")), false);
        let scenario = common::scenario_with(&text, &["duration=2s"]);
        let recording = Recording { captures: true, ..Recording::default() };
        let mut run = Run::new(&scenario, Settings { recording, ..Settings::default() }).unwrap();
        run.capture("").unwrap();
        run.advance_to(Time::ZERO + Span::from_ms(2000));
        run.finish();
        let file = run.captured().remove(0);
        if let Ok(folder) = std::env::var("ACKCLOCK_CAPTURES") {
            std::fs::write(format!("{folder}/accurate_{kind}.pcapng"), &file).unwrap();
        }
        let headers = tcp_headers(&file);
        let ace = |header: &[u8]| (header[12] & 1) << 2 | header[13] >> 6;
        assert_eq!(headers[..2].iter().map(|header| ace(header)).collect::<Vec<_>>(), [0b111, 0b010]);
        let (acks, data): (Vec<&[u8]>, Vec<&[u8]>) =
            headers[2..].iter().partition(|header| header[0..2] == 5001u16.to_be_bytes());
        assert!(data.len() > 100 && data.iter().all(|header| ace(header) == 5));
        // The field counts modulo eight, and the counter of CE bytes grows with it by a segment each.
        let mut marks = 0;
        for header in &acks {
            let option =
                header[20..].windows(2).position(|pair| pair == [kind, 11]).map(|at| &header[20 + at..]);
            let option = option.expect("every ACK has the option");
            let ce = u32::from_be_bytes([0, option[5], option[6], option[7]]);
            assert_eq!(option[8..11], [0, 0, 1]);
            marks = ce / 1448;
            assert_eq!(ace(header), (marks as u8).wrapping_add(5) & 7);
        }
        assert!(marks > 10, "{marks}");
    }
}
