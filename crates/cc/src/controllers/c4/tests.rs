//! Formulas by the numbers of the independent model; states, eras and signals by ACKs made by hand.

use super::*;
use crate::RateSample;
use crate::testing::{ack, linux_flow, seconds, timeout};
use units::{Span, Time};

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{value}, not {expected}");
}

// ---- formulas -------------------------------------------------------------------------------------------------------

#[test]
fn the_sensitivity_has_the_values_of_the_reference() {
    let vectors =
        [(40e3, 0.0), (50e3, 0.0), (525e3, 0.46), (1e6, 0.92), (5.5e6, 0.96), (10e6, 1.0), (20e6, 1.0)];
    for (rate, expected) in vectors {
        close(rules::sensitivity(rate), expected);
    }
}

#[test]
fn thresholds_have_the_values_of_the_reference() {
    close(rules::delay_threshold(10e6, 0.08), 0.005);
    close(rules::delay_threshold(40e3, 0.08), 0.020);
    close(rules::delay_threshold(1e6, 0.5), 0.025);
    close(rules::loss_threshold(1e6), 0.06);
    close(rules::loss_threshold(10e6), 0.02);
    close(rules::loss_threshold(0.0), 0.52);
}

#[test]
fn the_smoothed_loss_moves_by_a_sixteenth() {
    assert_eq!(rules::smooth_loss(0.0, true), 0.0625);
    assert_eq!(rules::smooth_loss(0.0625, false), 0.05859375);
    assert_eq!(rules::smooth_loss(1.0, true), 1.0);
}

#[test]
fn round_trips_of_an_era_have_the_values_of_the_reference() {
    let (least, most) = rules::round_trips(0.020, 0.050, 0.018, 0.040);
    close(least, 0.018);
    close(most, 0.04875);
    // A higher minimum moves by an eighth; the maximum rises at once, to at most 250 ms above the minimum.
    let (least, most) = rules::round_trips(0.020, 0.050, 0.030, 0.400);
    close(least, 0.02125);
    close(most, 0.27125);
}

#[test]
fn outputs_have_the_values_of_the_reference() {
    assert_eq!(rules::outputs(2.5e6, 0.08, 2.0, 1500.0), (5e6, 4e5, 65_536.0));
    // At least two packets.
    assert_eq!(rules::outputs(1e4, 0.08, 1.0, 1500.0), (1e4, 3000.0, 3000.0));
}

#[test]
fn reductions_and_growth_have_the_values_of_the_reference() {
    assert_eq!(rules::beta_delay(0.090, 0.080, 0.005), 0.25);
    close(rules::beta_delay(0.086, 0.080, 0.005), 0.2);
    assert_eq!(rules::beta_delay(0.080, 0.080, 0.005), 0.0);
    assert!(rules::grew(100.0, 106.25, 1.25) && !rules::grew(100.0, 106.2, 1.25));
    assert!(rules::grew(100.0, 100.1, 17.0 / 16.0) && !rules::grew(100.0, 100.0, 17.0 / 16.0));
}

// ---- states -----------------------------------------------------------------------------------------------------------

/// Segments of an ACK.
const EACH: u32 = 10;

/// A flow of segments of 1000 bytes.
struct Flow {
    c4: C4,
    now: Time,
    delivered: u64,
    limited: bool,
}

impl Flow {
    fn new() -> Flow {
        let c4 = C4::new(&Params::new(&[], []).unwrap(), &linux_flow(10.0, f64::INFINITY));
        Flow { c4, now: Time::ZERO, delivered: 0, limited: false }
    }

    /// An ACK with a rate sample, bytes/s, and a round-trip time, s. `ends`: it acknowledges a packet of this era. `lost`: the
    /// packets that it shows as lost.
    fn event(&mut self, rate: f64, rtt: f64, ends: bool, lost: u32) {
        self.now += Span::from_ms(10);
        self.delivered += u64::from(EACH);
        let prior = if ends { self.c4.era_begins } else { self.c4.era_begins.saturating_sub(1) };
        let sample = RateSample {
            delivered: (rate / 1e3) as u64,
            send_interval: seconds(1.0),
            interval: seconds(1.0),
            prior_delivered: prior,
            app_limited: self.limited,
            ..RateSample::default()
        };
        self.c4.on_ack(&Ack {
            now: self.now,
            delivered_total: self.delivered,
            newly_lost: lost,
            rtt: Some(seconds(rtt)),
            rate: Some(sample),
            ..ack(EACH)
        });
    }
    fn ack(&mut self, rate: f64, rtt: f64) {
        self.event(rate, rtt, false, 0);
    }
    fn era(&mut self, rate: f64, rtt: f64) {
        self.event(rate, rtt, true, 0);
    }
    fn eras(&mut self, count: u32, rate: f64, rtt: f64) {
        (0..count).for_each(|_| self.era(rate, rtt));
    }
    /// At 10 MB/s and 80 ms, where the sensitivity is 1 and the threshold of delays 5 ms.
    fn cruising() -> Flow {
        let mut flow = Flow::new();
        flow.eras(5, 10e6, 0.08);
        assert_eq!(flow.c4.state, State::Cruising);
        flow
    }
    /// In the first era of a push.
    fn pushing() -> Flow {
        let mut flow = Flow::cruising();
        flow.eras(4, 10e6, 0.08);
        assert_eq!(flow.c4.state, State::Pushing);
        flow
    }
    /// Transitions so far: the state entered and the reason.
    fn record(&self) -> Vec<(&'static str, &'static str)> {
        self.c4.transitions.since(0).map(|one| (one.to, one.why)).collect()
    }
}

#[test]
fn the_first_sample_sets_rate_and_window() {
    let mut flow = Flow::new();
    assert_eq!((flow.c4.cwnd(), flow.c4.pacing(), flow.c4.send_quantum()), (10.0, None, 1));
    flow.ack(2.5e6, 0.08);
    // 5 MB/s, 400 kB, 64 KB.
    assert_eq!(flow.c4.pacing(), Some(Rate::from_bps(40_000_000)));
    assert_eq!((flow.c4.cwnd(), flow.c4.send_quantum()), (400.0, 65));
    let mut probes = [0.0; 6];
    flow.c4.probe(&mut probes);
    assert_eq!((probes[0], probes[1], probes[3], probes[4]), (20e6, 0.08, 2.0, 0.0));
    assert!(probes[2].is_nan(), "no era at the nominal rate has ended");
}

#[test]
fn the_handshake_gives_the_first_round_trip_time() {
    let mut flow = Flow::new();
    flow.c4.on_handshake(&Handshake { now: Time::ZERO, rtt: Some(seconds(0.05)) });
    flow.ack(1e6, 0.08);
    assert_eq!((flow.c4.max_rtt, flow.c4.cwnd()), (0.05, 100.0));
}

#[test]
fn samples_raise_the_nominal_rate_and_never_lower_it() {
    let mut flow = Flow::new();
    for (rate, expected) in [(1e6, 1e6), (3e6, 3e6), (2e6, 3e6)] {
        flow.ack(rate, 0.08);
        assert_eq!(flow.c4.rate, expected);
    }
    // A sample without an interval gives no rate.
    let sample = RateSample { delivered: 900, ..RateSample::default() };
    flow.c4.on_ack(&Ack { rate: Some(sample), ..ack(1) });
    assert_eq!(flow.c4.rate, 3e6);
}

#[test]
fn a_rate_sample_is_over_the_longer_of_its_times() {
    let sample = |rtt: Option<f64>, sending: f64| {
        let mut flow = Flow::new();
        let sample = RateSample {
            delivered: 100,
            interval: seconds(0.125),
            send_interval: seconds(sending),
            ..RateSample::default()
        };
        flow.c4.on_ack(&Ack { rtt: rtt.map(seconds), rate: Some(sample), ..ack(1) });
        flow.c4.rate
    };
    assert_eq!(sample(Some(0.1), 0.05), 1e6);
    assert_eq!(sample(Some(0.1), 0.2), 5e5);
    assert_eq!(sample(None, 0.05), 8e5);
}

#[test]
fn three_eras_without_growth_end_the_initial_state() {
    let mut flow = Flow::new();
    for rate in [1e6, 2e6, 2.5e6] {
        flow.era(rate, 0.08);
        assert_eq!(flow.c4.no_growth, 0, "a quarter is growth");
    }
    flow.era(3e6, 0.08);
    assert_eq!(flow.c4.no_growth, 1);
    flow.limited = true;
    flow.era(3e6, 0.08);
    assert_eq!(flow.c4.no_growth, 1, "the application limited this era");
    flow.limited = false;
    flow.era(3e6, 0.08);
    assert_eq!(flow.c4.state, State::Initial);
    flow.era(3e6, 0.08);
    assert_eq!(flow.record(), [("recovery", "full")]);
    assert_eq!((flow.c4.rate, flow.c4.alpha), (3e6, 15.0 / 16.0));
    flow.era(3e6, 0.08);
    assert_eq!(flow.record()[1..], [("cruising", "era")]);
    // 3 MB/s x 80 ms.
    assert_eq!(flow.c4.cwnd(), 240.0);
}

#[test]
fn a_delay_ends_the_initial_state_after_two_eras_without_growth() {
    let mut flow = Flow::new();
    flow.eras(2, 10e6, 0.08); // growth, then none
    flow.ack(10e6, 0.2);
    assert_eq!((flow.c4.state, flow.c4.no_growth), (State::Initial, 1));
    flow.era(10e6, 0.08);
    flow.ack(10e6, 0.085);
    assert_eq!((flow.c4.state, flow.c4.no_growth), (State::Initial, 2), "at the threshold, not above");
    flow.ack(10e6, 0.0851);
    assert_eq!(flow.record(), [("recovery", "delay")]);
    assert_eq!((flow.c4.rate, flow.c4.congested), (10e6, true), "nothing is taken away");
}

#[test]
fn a_loss_ends_the_initial_state_after_twenty_packets() {
    let mut flow = Flow::new();
    flow.ack(10e6, 0.08);
    flow.ack(10e6, 0.08);
    flow.event(10e6, 0.08, false, 1);
    assert_eq!(
        (flow.c4.state, flow.c4.received),
        (State::Initial, 30),
        "20 packets before it are not more than 20"
    );
    flow.event(10e6, 0.08, false, 1);
    assert_eq!(flow.record(), [("recovery", "loss")]);
}

#[test]
fn cruising_for_four_eras_then_a_push_for_one() {
    let mut flow = Flow::cruising();
    flow.eras(3, 10e6, 0.08);
    flow.limited = true;
    flow.eras(3, 10e6, 0.08);
    assert_eq!(flow.c4.state, State::Cruising, "no push while the application is the limit");
    flow.limited = false;
    flow.era(10e6, 0.08);
    assert_eq!((flow.c4.state, flow.c4.alpha), (State::Pushing, 17.0 / 16.0));
    flow.ack(10e6, 0.08);
    assert_eq!(flow.c4.state, State::Pushing);
    flow.era(10e6, 0.08);
    assert_eq!(flow.c4.state, State::Recovery);
    let expected = [("recovery", "full"), ("cruising", "era"), ("pushing", "eras"), ("recovery", "era")];
    assert_eq!(flow.record(), expected);
}

#[test]
fn a_delay_while_cruising_reduces_the_rate_by_its_excess() {
    let mut flow = Flow::cruising();
    flow.ack(10e6, 0.086);
    close(flow.c4.rate, 8e6);
    assert_eq!(flow.record()[2..], [("recovery", "delay")]);
    // Higher samples of packets sent before do not raise it, and another signal does not lower it.
    flow.ack(10e6, 0.1);
    close(flow.c4.rate, 8e6);
    // Until the recovery is over.
    flow.era(10e6, 0.08);
    close(flow.c4.rate, 8e6);
    assert_eq!(flow.c4.state, State::Cruising);
    flow.ack(9e6, 0.08);
    close(flow.c4.rate, 9e6);
}

#[test]
fn a_loss_while_cruising_reduces_the_rate_by_a_quarter_if_the_flow_is_sensitive() {
    let mut flow = Flow::cruising();
    flow.event(10e6, 0.08, false, 1);
    close(flow.c4.rate, 7.5e6);
    assert_eq!((flow.record()[2..].to_vec(), flow.c4.max_rtt), (vec![("recovery", "loss")], 0.08));
    // Below 50 kB/s more than half of the packets must be lost.
    let mut slow = Flow::new();
    slow.eras(5, 40e3, 0.08);
    assert_eq!(slow.c4.state, State::Cruising);
    slow.event(40e3, 0.08, false, 11); // 1 - (15/16)^11 = 0.508
    assert_eq!((slow.c4.state, slow.c4.rate), (State::Cruising, 40e3));
    let mut slow = Flow::new();
    slow.eras(5, 40e3, 0.08);
    slow.event(40e3, 0.08, false, 12); // 0.539
    close(slow.c4.rate, 30e3);
}

#[test]
fn a_signal_while_pushing_ends_the_push_without_a_reduction() {
    let mut flow = Flow::pushing();
    flow.ack(10.5e6, 0.09);
    assert_eq!((flow.c4.state, flow.c4.rate, flow.c4.congested), (State::Recovery, 10.5e6, true));
    flow.era(11e6, 0.08);
    assert_eq!((flow.c4.state, flow.c4.rate), (State::Cruising, 10.5e6));
    assert!(!flow.c4.last_push_succeeded && flow.c4.successes == 0, "growth with a signal is no success");
}

#[test]
fn a_signal_in_recovery_makes_the_push_fail() {
    let mut flow = Flow::pushing();
    flow.era(10.5e6, 0.08);
    flow.ack(10.6e6, 0.09);
    assert!(flow.c4.congested);
    flow.era(10.6e6, 0.08);
    assert_eq!((flow.c4.state, flow.c4.successes, flow.c4.rate), (State::Cruising, 0, 10.6e6));
}

#[test]
fn three_successful_pushes_start_the_initial_state_again() {
    let mut flow = Flow::pushing();
    // Any growth is a success at 17/16, then a sixteenth must come of 5/4.
    for (number, rate) in [(1, 10.1e6), (2, 10.8e6)] {
        flow.era(10e6, 0.08);
        flow.era(rate, 0.08);
        assert_eq!((flow.c4.state, flow.c4.successes), (State::Cruising, number));
        flow.eras(4, rate, 0.08);
        assert_eq!((flow.c4.state, flow.c4.alpha), (State::Pushing, 1.25));
    }
    flow.era(10e6, 0.08);
    flow.era(11.5e6, 0.08);
    assert_eq!((flow.c4.state, flow.c4.successes, flow.c4.alpha), (State::Initial, 0, 2.0));
    assert_eq!(flow.record().last(), Some(&("initial", "pushes")));
    assert_eq!((flow.c4.no_growth, flow.c4.received), (0, 0));
}

#[test]
fn a_push_that_fails_is_followed_by_a_low_one() {
    let mut flow = Flow::pushing();
    flow.era(10e6, 0.08);
    flow.era(10.1e6, 0.08);
    flow.eras(4, 10.1e6, 0.08);
    assert_eq!((flow.c4.alpha, flow.c4.successes), (1.25, 1));
    flow.era(10.1e6, 0.08);
    flow.era(10.7e6, 0.08); // a sixteenth is 0.63 MB/s
    assert_eq!((flow.c4.state, flow.c4.successes), (State::Cruising, 0));
    flow.eras(4, 10.7e6, 0.08);
    assert_eq!((flow.c4.state, flow.c4.alpha), (State::Pushing, 17.0 / 16.0));
}

#[test]
fn round_trips_count_in_eras_after_one_at_most_at_the_nominal_rate() {
    let mut flow = Flow::new();
    flow.eras(4, 10e6, 0.08);
    assert_eq!(flow.c4.state, State::Recovery);
    flow.era(10e6, 0.081); // after an era of the initial state
    assert_eq!((flow.c4.max_rtt, flow.c4.min_rtt), (0.08, f64::INFINITY));
    flow.ack(10e6, 0.070);
    flow.era(10e6, 0.084); // after recovery
    close(flow.c4.max_rtt, 0.084);
    close(flow.c4.min_rtt, 0.070);
    flow.ack(10e6, 0.078);
    flow.era(10e6, 0.082); // after cruising
    close(flow.c4.max_rtt, (7.0 * 0.084 + 0.082) / 8.0);
    close(flow.c4.min_rtt, (7.0 * 0.070 + 0.078) / 8.0);
    flow.eras(2, 10e6, 0.082);
    assert_eq!(flow.c4.state, State::Pushing);
    let before = flow.c4.max_rtt;
    flow.era(10e6, 0.084); // in the push: after cruising
    assert!(flow.c4.max_rtt > before);
    let before = flow.c4.max_rtt;
    flow.era(10e6, before + 0.004); // in recovery: after the push
    assert_eq!(flow.c4.max_rtt, before);
}

#[test]
fn high_jitter_starts_the_initial_state_again_once() {
    let mut flow = Flow::cruising();
    // Samples from 20 ms to a maximum that rises within the threshold.
    (flow.c4.min_rtt, flow.c4.max_rtt) = (0.02, 0.0501);
    flow.ack(10e6, 0.2);
    assert_eq!(flow.c4.state, State::Recovery);
    (flow.c4.previous_alpha, flow.c4.era_max) = (2.0, 0.0); // the era changes nothing
    flow.era(10e6, 0.05);
    assert_eq!((flow.c4.state, flow.c4.restarted), (State::Initial, true));
    assert_eq!(flow.record().last(), Some(&("initial", "jitter")));
    flow.eras(3, 7.5e6, 0.05);
    assert_eq!(flow.c4.state, State::Recovery);
    flow.era(7.5e6, 0.05);
    assert_eq!(flow.c4.state, State::Cruising, "once");
}

#[test]
fn a_timeout_leaves_the_rate_and_the_state() {
    let mut flow = Flow::cruising();
    let before = (flow.c4.rate, flow.c4.pacing(), flow.c4.state);
    flow.c4.on_rto(&timeout(800.0, false));
    assert_eq!(flow.c4.cwnd(), 2.0);
    assert_eq!((flow.c4.rate, flow.c4.pacing(), flow.c4.state), before);
    flow.ack(1e6, 0.08);
    assert_eq!((flow.c4.cwnd(), flow.c4.rate), (800.0, 10e6));
}

#[test]
fn the_window_has_a_least_value_and_its_bound() {
    let mut flow = Flow::new();
    flow.ack(1e4, 0.01);
    assert_eq!((flow.c4.cwnd(), flow.c4.send_quantum()), (2.0, 2));
    let bounded = FlowInfo { max_window: 60.0, ..linux_flow(10.0, f64::INFINITY) };
    flow.c4 = C4::new(&Params::new(&[], []).unwrap(), &bounded);
    flow.ack(2.5e6, 0.08);
    assert_eq!(flow.c4.cwnd(), 60.0);
}
