//! Explanations of window changes from the logs of a run.

use ackclock_lab::{
    Explanation, Question, Recording, Run, Scenario, Settings, TraceMode, Unanswered, explain, to_json,
};
use units::{Span, Time};

const TEXT: &str = r#"
duration = "20s"
link = [
  { ends = ["a", "r"], rate = "100Mbps", delay = "1ms" },
  { name = "l", ends = ["r", "b"], rate = "2Mbps", delay = "20ms", queue = { kind = "droptail", limit = "20p" } },
]
flow = [{ name = "f", from = "a", to = "b" }]
[tcp]
profile = "ns2"
receive_window = 100
"#;

/// A run that stands at `at_s`, or has ended.
fn run(at_s: Option<f64>) -> Run {
    let recording =
        Recording { trace: TraceMode::EveryAck, packets: true, rules: true, ..Recording::default() };
    let settings = Settings { recording, ..Settings::default() };
    let mut run = Run::new(&Scenario::parse("why.toml", TEXT, &[]).unwrap(), settings).unwrap();
    match at_s {
        Some(at_s) => run.advance_to(Time::ZERO + Span::from_seconds(at_s)),
        None => run.advance(u64::MAX),
    };
    run
}

fn cut(run: &Run, at_s: f64) -> Explanation {
    explain(run, Question { at_s, flow: None, cut: true }).unwrap()
}

#[test]
fn a_run_that_stands_at_a_time_has_the_logs_of_one_that_ended() {
    let (stopped, ended) = (run(Some(15.0)), run(None));
    let explanation = cut(&stopped, 15.0);
    assert_eq!(explanation, cut(&ended, 15.0));
    let until = ended.logs().packets.time.partition_point(|time| time.seconds() <= 15.0);
    assert_eq!(stopped.logs().packets.time[..], ended.logs().packets.time[..until]);
    let rule = explanation.rule.unwrap();
    assert_eq!((rule.kind, rule.values[0]), ("full", ("packets", 20.0)));
    assert_eq!(explanation.queue.unwrap().packets, [("f".into(), 21)]);
}

#[test]
fn the_json_has_the_queue_by_flow_and_the_values_of_the_rule() {
    let json = to_json(&cut(&run(Some(15.0)), 15.0));
    assert!(json.contains(r#""packets":{"f":21}"#), "{json}");
    assert!(json.contains(r#""values":{"packets":20.0,"#), "{json}");
}

#[test]
fn a_question_without_an_answer_says_why() {
    let run = run(Some(1.0));
    let ask = |at_s, flow| explain(&run, Question { at_s, flow, cut: true }).unwrap_err();
    let refused = |part, message: &str| Unanswered { part, message: message.into() };
    assert_eq!(ask(30.0, None), refused("at", "the run lasts from 0 to 20 s"));
    assert_eq!(ask(0.1, Some("g")), refused("flow", "there is no TCP or QUIC flow g; there are f"));
    assert_eq!(ask(0.01, Some("f")), refused("at", "no event reduced f's window until 0.01 s"));
}
