//! Tests of the policy controller: intervals and features by hand, decisions, and files that are refused.

use super::*;
use cc::ParamValue;
use cc::testing::{ack, congestion, linux_flow, timeout};

const HEAD: &str = "format = \"ackclock policy 1\"\nfeatures = [\"latency_ratio\", \"loss\"]\nhistory = 2\n";
const LAYER: &str = "[[layer]]\nweights = [0.0, 0.0, -10.0, 0.0]\nbias = [14.0]\n";

fn text(action: &str, layers: &str) -> String {
    format!("{HEAD}[interval]\nrtts = 1.0\nleast = 0.01\n[action]\nkind = \"{action}\"\n{layers}")
}

fn policy(text: &str) -> Policy {
    let file = Policy::read_file(text).expect("the file is valid");
    let params = [("file", ParamValue::File(file))];
    let params = Params::new(Policy::DESCRIPTOR.params, params).expect("a policy is a file");
    Policy::new(&params, &linux_flow(10.0, f64::INFINITY))
}

fn at(ms: u64) -> Time {
    Time::from_ps(ms * 1_000_000_000)
}

fn acked(ms: u64, rtt_ms: f64, lost_total: u64) -> Ack {
    Ack { now: at(ms), rtt: Some(Span::from_seconds(rtt_ms / 1e3)), lost_total, in_flight: 7.0, ..ack(1) }
}

#[test]
fn an_interval_is_measured() {
    let mut policy = policy(&text("rate_delta", ""));
    policy.on_handshake(&Handshake { now: at(0), rtt: Some(Span::from_seconds(0.1)) });
    assert_eq!(
        (policy.due(), policy.cwnd()),
        (at(100), 25.0),
        "an interval of a round trip, 2.5 times 100 a second"
    );
    (0..30).for_each(|_| policy.on_sent(&Sent { now: at(0), seq: 0, in_flight: 1, retransmission: false }));
    for (ms, rtt, lost) in [(20, 100.0, 0), (40, 110.0, 0), (60, 120.0, 2), (80, 150.0, 5)] {
        policy.on_ack(&acked(ms, rtt, lost));
    }
    let inputs = policy.observe(at(100));
    let m = *policy.measured();
    assert_eq!((m.duration, m.sent, m.delivered, m.lost, m.in_flight), (0.1, 30.0, 4.0, 5.0, 7.0));
    assert_eq!((m.rtt, m.min_rtt, m.min_mean_rtt, m.largest), (0.12, 0.1, 0.12, 40.0));
    assert!((m.increase - 0.03).abs() < 1e-12, "135 ms after 105 ms");
    let value = |feature: Feature| m.feature(feature);
    assert!((value(Feature::LatencyInflation) - 0.3).abs() < 1e-6);
    assert_eq!((value(Feature::LatencyRatio), value(Feature::SendRatio)), (1.0, 10.0));
    assert_eq!((value(Feature::Loss), value(Feature::Limited)), (5.0 / 9.0, 1.0));
    assert!((value(Feature::QueueRatio) - 0.2).abs() < 1e-6);
    // The interval before the first one is empty: no sample, nothing lost.
    assert_eq!(inputs, [1.0, 0.0, 1.0, 5.0 / 9.0]);
}

#[test]
fn a_network_decides_once_an_interval() {
    let mut policy = policy(&text("rate_delta", LAYER));
    policy.on_handshake(&Handshake { now: at(0), rtt: Some(Span::from_seconds(0.1)) });
    policy.on_ack(&acked(50, 100.0, 0));
    policy.on_timer(at(99));
    assert_eq!(policy.rate, 100.0, "the interval has not ended");
    policy.on_timer(at(100));
    // 14 - 10 x 1 = 4: the rate times 1 + 0.025 x 4.
    assert!((policy.rate - 110.0).abs() < 1e-9 && policy.due() == at(200));
    policy.on_ack(&acked(150, 200.0, 0));
    policy.on_timer(at(200));
    // 14 - 10 x 200/100 = -6: the rate over 1 + 0.025 x 6.
    assert!((policy.rate - 110.0 / 1.15).abs() < 1e-9);
    assert!((policy.pacing().expect("it paces").bps() as f64 - policy.rate * 8000.0).abs() < 1.0);
}

#[test]
fn an_overload_halves_the_rate() {
    let mut policy = policy(&text("rate_delta", LAYER));
    policy.on_handshake(&Handshake { now: at(0), rtt: Some(Span::from_seconds(0.1)) });
    policy.on_ack(&acked(50, 100.0, 9));
    policy.on_timer(at(100));
    assert_eq!(policy.rate, 50.0, "nine of ten lost");
}

#[test]
fn an_environment_chooses_the_actions() {
    let file = Arc::new(PolicyFile::read(&text("cwnd_pow2", "")).expect("the file is valid"));
    let mut policy = policy(&text("rate_delta", LAYER));
    policy.open(file, Some(8.0));
    policy.on_handshake(&Handshake { now: at(0), rtt: Some(Span::from_seconds(0.1)) });
    assert_eq!((policy.cwnd(), policy.pacing()), (8.0, None));
    policy.observe(at(100));
    policy.act(1.0);
    policy.on_timer(at(100));
    assert_eq!(policy.cwnd(), 8.0, "no ACK, no decision");
    policy.on_ack(&acked(150, 100.0, 0));
    policy.observe(at(200));
    policy.act(1.0);
    policy.on_timer(at(200));
    assert_eq!(policy.cwnd(), 16.0);
    policy.on_ack(&acked(250, 100.0, 0));
    policy.on_timer(at(300));
    assert_eq!(policy.cwnd(), 16.0, "without an action nothing changes");
    policy.on_rto(&timeout(16.0, false));
    assert_eq!(policy.cwnd(), 2.0);
    policy.on_ack(&acked(350, 100.0, 0));
    assert_eq!(policy.cwnd(), 16.0, "until the next ACK");
}

#[test]
fn files_with_mistakes_are_refused() {
    let right = text("rate_delta", LAYER);
    let with = |old: &str, new: &str| PolicyFile::read(&right.replace(old, new)).expect_err(new);
    for (old, new, message) in [
        ("policy 1", "policy 2", "format: \"ackclock policy 2\" is not \"ackclock policy 1\""),
        ("format = \"ackclock policy 1\"\n", "", "format: missing"),
        ("\"loss\"", "\"lost\"", "there is no feature \"lost\"; there are latency_inflation"),
        ("\"latency_ratio\", \"loss\"", "", "features: must be a list"),
        ("history = 2", "history = 0", "history: must be an integer from 1 to 1000"),
        ("history = 2", "history = 3", "layer 1: has 4 weights for 1 outputs, but 6 inputs need 6"),
        ("rate_delta", "rate", "action.kind: \"rate\" is not one of rate_delta"),
        ("rate_delta", "discrete5", "the last one has 1 outputs, but the action discrete5 needs 5"),
        (
            "bias = [14.0]",
            "bias = [14.0]\nnormalisation = { scale = [1.0, 2.0], shift = [0.0] }",
            "layer 1: normalisation has 2 and 1 numbers for 1 outputs",
        ),
        ("-10.0", "nan", "layer 1: weights[2] is not a finite number"),
        ("-10.0", "1e39", "layer 1: weights[2] is not a finite number"),
        ("[14.0]", "[14.0]\nactivation = \"gelu\"", "there is no activation \"gelu\"; there are linear"),
        ("rtts = 1.0", "rtts = 1.0\nlength = 3", "interval.length: there is no such key"),
        ("rtts = 1.0", "rtts == 1.0", "line 5: "),
        (
            "\"rate_delta\"",
            "\"rate_delta\"\nleast = 9.0\nlargest = 3.0",
            "action.largest: must be a number from 9 to",
        ),
        ("rtts = 1.0\nleast = 0.01", "rtts = 0\nleast = 0", "interval: rtts and least are both 0"),
    ] {
        let error = with(old, new);
        assert!(error.contains(message), "{new}: {error}");
    }
    let open =
        ParamValue::File(Policy::read_file(&text("rate_delta", "")).expect("an environment has a file"));
    let params = Params::new(Policy::DESCRIPTOR.params, [("file", open)]).expect("it is a policy");
    assert!(Policy::check(&params).is_err(), "a file without a network cannot run alone");
}

#[test]
fn actions_change_the_window_of_a_controller_that_decides_between_them() {
    let layer = "[[layer]]\nweights = [0.0, 0.0, 0.0, 0.0]\nbias = [1.0]\n";
    let mut policy = policy(&text("cwnd_pow2", layer).replace("kind =", "controller = \"reno\"\nkind ="));
    policy.on_handshake(&Handshake { now: at(0), rtt: Some(Span::from_seconds(0.1)) });
    assert_eq!(policy.cwnd(), 10.0);
    policy.on_ack(&acked(50, 100.0, 0));
    assert_eq!((policy.cwnd(), policy.needs().has(Signals::PACING)), (11.0, false), "slow start of Reno");
    policy.on_timer(at(100));
    assert_eq!(policy.cwnd(), 22.0, "2^1");
    policy.on_congestion(&congestion(22.0));
    assert_eq!(policy.ssthresh(), 11.0, "Reno halves");
}

#[test]
fn actions_set_a_parameter() {
    let layer = "[[layer]]\nweights = [0.0, 0.0, 0.0, 0.0]\nbias = [0.2]\n";
    let keys = "controller = \"cubic\"\nparameter = \"beta\"\nkind =";
    let mut policy = policy(&text("parameter", layer).replace("kind =", keys));
    policy.on_handshake(&Handshake { now: at(0), rtt: Some(Span::from_seconds(0.1)) });
    policy.on_ack(&acked(50, 100.0, 0));
    policy.on_timer(at(100));
    policy.set_window(100.0);
    policy.on_congestion(&congestion(100.0));
    assert_eq!(policy.ssthresh(), 20.0, "205/1024 of 100 segments");
}

#[test]
fn the_fraction_of_a_window_is_not_lost() {
    let layer = "[[layer]]\nweights = [0.0, 0.0, 0.0, 0.0]\nbias = [0.01]\n";
    let mut policy = policy(&text("cwnd_pow2", layer).replace("kind =", "controller = \"reno\"\nkind ="));
    policy.on_handshake(&Handshake { now: at(0), rtt: Some(Span::from_seconds(0.1)) });
    let mut windows = Vec::new();
    for interval in 1..=30 {
        policy.on_ack(&Ack { may_grow: false, ..acked(100 * interval - 50, 100.0, 0) });
        policy.on_timer(at(100 * interval));
        windows.push(policy.cwnd());
    }
    assert_eq!((windows[0], windows[29]), (10.0, 12.0), "10 times 2^0.3 are 12.3");
    // The sender sets the window itself while it repairs losses.
    policy.on_ack(&Ack { may_grow: false, phase: Phase::Recovery, ..acked(3050, 100.0, 0) });
    policy.set_window(7.0);
    policy.on_timer(at(3100));
    assert_eq!(policy.cwnd(), 7.0);
}

/// The names of the answers in Rust.
macro_rules! answer_names {
    ([] { $($(#[$required_doc:meta])+ $required:ident: $required_type:ty => $required_name:ident,)+ }
        { $($(#[$doc:meta])+ $answer:ident: $type:ty = $default:expr => $name:ident,)+ }
    ) => {
        [$(stringify!($required),)+ $(stringify!($answer),)+]
    };
}

/// A new event or answer must not be forgotten here.
#[test]
fn every_event_reaches_the_controller_inside_and_every_answer_comes_from_it() {
    let source = include_str!("lib.rs");
    let events = cc::Event::METHODS.iter().map(|method| method.name);
    for name in events.chain(cc::controller_answers!(answer_names)) {
        assert!(source.contains(&format!("inner.{name}(")), "{name}");
    }
}
