//! Windows, bounds and losses of BBR version 3, by the numbers of the independent model.

use super::*;
use crate::testing::{ack, linux_flow};

fn bbr() -> Bbr3 {
    Bbr3::new(&Params::new(Bbr3::DESCRIPTOR.params, []).unwrap(), &linux_flow(10.0, f64::INFINITY))
}

/// On a path of 1000 segments/s and 40 ms.
fn on_path() -> Bbr3 {
    let mut b = bbr();
    b.model.set_path(1000.0, Span::from_ms(40));
    b
}

#[test]
fn windows_have_the_values_of_the_reference() {
    let mut b = on_path();
    assert_eq!(b.budget(b.model.bdp(2.0)), 80.0);
    b.state = State::Up;
    assert_eq!(b.budget(b.model.bdp(b.cwnd_gain())), 92.0);
    b.model.set_path(1.0, Span::from_ms(40));
    (b.state, b.quantum) = (State::Cruise, 2.0);
    assert_eq!(b.budget(b.model.bdp(2.0)), 6.0);
}

#[test]
fn the_long_term_bound_rises_faster_each_round() {
    let mut b = on_path();
    (b.model.full, b.cwnd, b.model.longterm) = (true, 100.0, 100.0);
    b.enter(State::Up, "round", Time::ZERO, 0);
    let mut bounds = Vec::new();
    for round in 0..5 {
        for n in 0..100 {
            b.model.round_start = round > 0 && n == 0;
            b.ack_phase = AckPhase::Feedback;
            let sample = RateSample { tx_in_flight: 100, ..RateSample::default() };
            b.cwnd = b.model.longterm; // the window is at the bound
            let (needed, exponent) = (b.up_needed, b.up_exponent);
            b.adapt_longterm(&ack(1), &sample);
            if b.up_exponent != exponent {
                // The vector keeps the window at 100.
                b.up_needed = (100.0 / (1u64 << exponent) as f64).max(1.0);
            } else {
                b.up_needed = needed;
            }
        }
        bounds.push(b.model.longterm);
    }
    assert_eq!(bounds, [101.0, 103.0, 107.0, 115.0, 131.0]);
}

#[test]
fn a_loss_above_two_percent_ends_a_probe() {
    let lost = |lost: u64| Lost {
        now: Time::from_ps(5),
        seq: 1,
        tx_in_flight: 100,
        lost,
        delivered_total: 200,
        app_limited: false,
        starts_range: true,
    };
    let mut b = on_path();
    (b.model.full, b.cwnd) = (true, 120.0);
    b.enter(State::Up, "round", Time::ZERO, 100);
    b.on_lost(&lost(2));
    assert_eq!((b.state, b.model.longterm), (State::Up, f64::INFINITY));
    b.on_lost(&lost(3));
    assert_eq!(b.state, State::Down);
    assert!((b.model.longterm - 98.97959).abs() < 1e-4, "{}", b.model.longterm);
    assert!(b.too_high && !b.probe_sample);
    b.model.longterm = 50.0;
    b.on_lost(&lost(9));
    assert_eq!(b.model.longterm, 50.0, "once in a probe");
}
