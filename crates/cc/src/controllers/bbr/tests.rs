//! Windows, rates and states of BBR version 1.

use super::*;
use crate::testing::linux_flow;

fn bbr() -> Bbr {
    Bbr::new(&Params::new(Bbr::DESCRIPTOR.params, []).unwrap(), &linux_flow(10.0, f64::INFINITY))
}

#[test]
fn windows_and_rates_have_the_values_of_linux() {
    let mut b = bbr();
    b.fixed_quantum = 1.0;
    b.bandwidth.add(0, 1000.0);
    b.min_rtt = Some(Span::from_ms(40));
    assert_eq!([1.0, HIGH_GAIN, 2.0].map(|gain| b.inflight(1000.0, gain)), [44.0, 120.0, 84.0]);
    (b.mode, b.phase) = (Mode::ProbeBw, 0);
    assert_eq!(b.inflight(1000.0, 2.0), 86.0);
    b.full = true;
    for (mode, expected) in [(Mode::ProbeBw, 1237.5), (Mode::Drain, 340.3125)] {
        b.mode = mode;
        b.update_gains();
        b.set_pacing(&crate::testing::ack(1));
        assert_eq!(b.pacing, expected);
    }
}

#[test]
fn the_quantum_is_that_of_linux() {
    let mut b = bbr();
    let segments = |mbps: f64| mbps * 1e6 / b.segment_bits;
    let rates = [1.19, 1.2, 24.0, 25.0, 100.0, 10_000.0].map(segments);
    // 1000 bytes: 3 x 8.192 Mb/s is 24.576 Mb/s; at most 65,215 bytes.
    let quanta = rates.map(|rate| {
        b.pacing = rate;
        b.send_quantum()
    });
    assert_eq!(quanta, [1, 2, 2, 3, 12, 65]);
    b.fixed_quantum = 0.5;
    assert_eq!((b.quantum(), b.send_quantum()), (0.5, 1));
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_growth() {
    let mut b = bbr();
    let sample = RateSample::default();
    let full: Vec<bool> = [10.0, 20.0, 30.0, 36.0, 37.0, 37.0]
        .into_iter()
        .map(|rate| {
            b.rounds += 1;
            b.bandwidth.add(b.rounds, rate);
            b.round_start = true;
            b.check_full(Some(&sample));
            b.full
        })
        .collect();
    assert_eq!(full, [false, false, false, false, false, true]);
}

#[test]
fn the_largest_rate_of_ten_rounds_counts() {
    let mut max = MaxOverRounds::default();
    for (round, value) in [(1, 5.0), (2, 3.0), (3, 4.0)] {
        max.add(round, value);
    }
    assert_eq!(max.get(), 5.0);
    max.add(11, 1.0);
    assert_eq!(max.get(), 4.0);
    max.add(13, 1.0);
    assert_eq!(max.get(), 1.0);
}
