//! Frames of the encoder over a channel that changes its rate.

use super::encoder::{Encoder, EncoderConfig, FrameSizes};
use units::Span;

const FPS: u32 = 30;
/// Propagation delay and deadline, s.
const DELAY_S: f64 = 0.02;
const DEADLINE_S: f64 = 0.15;

/// A channel that sends at 6 Mb/s, from 1 to 2 s at 1.5 Mb/s, as an ideal fluid in the order of the frames.
const STEPS: [(f64, f64); 3] = [(0.0, 6e6), (1.0, 1.5e6), (2.0, 6e6)];

/// When `bits` that begin at `at` have left.
fn sent(mut at: f64, mut bits: f64) -> f64 {
    for (place, (_, rate)) in STEPS.into_iter().enumerate() {
        let end = STEPS.get(place + 1).map_or(f64::INFINITY, |step| step.0);
        if at >= end {
            continue;
        }
        if rate * (end - at) >= bits {
            return at + bits / rate;
        }
        bits -= rate * (end - at);
        at = end;
    }
    unreachable!("the last rate lasts for ever")
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Delivery {
    /// With the time from capture to the last byte, s.
    Arrived(f64),
    Cancelled,
}

/// 120 frames of 3 Mb/s. With `cancel`, a frame that is not sent at its deadline less the delay is given up with the rest of its
/// group.
fn deliver(group: u32, cancel: bool) -> Vec<Delivery> {
    let mut encoder = Encoder::new(EncoderConfig {
        rate_bps: 3e6,
        min_bps: 3e6,
        max_bps: 3e6,
        fps: FPS,
        group,
        key_ratio: 1.0,
        reaction: Span::ZERO,
        sizes: FrameSizes::Even,
    });
    let (mut free, mut abandoned) = (0.0_f64, None);
    (0..120)
        .map(|_| {
            let capture = encoder.next_at().seconds();
            let frame = encoder.frame();
            if abandoned == Some(frame.group) {
                return Delivery::Cancelled;
            }
            let begin = capture.max(free);
            let end = sent(begin, 8.0 * frame.bytes as f64);
            let latest = capture + DEADLINE_S - DELAY_S;
            if cancel && end > latest + 1e-9 {
                (free, abandoned) = (begin.max(latest), Some(frame.group));
                return Delivery::Cancelled;
            }
            free = end;
            Delivery::Arrived(end + DELAY_S - capture)
        })
        .collect()
}

fn numbers(deliveries: &[Delivery], fits: impl Fn(&Delivery) -> bool) -> Vec<usize> {
    (0..deliveries.len()).filter(|frame| fits(&deliveries[*frame])).collect()
}

fn late(delivery: &Delivery) -> bool {
    matches!(delivery, Delivery::Arrived(delay) if *delay > DEADLINE_S + 1e-9)
}

#[test]
fn frames_over_a_step_that_all_are_sent() {
    let deliveries = deliver(0, false);
    let delay_ms = |frame: usize| match deliveries[frame] {
        Delivery::Arrived(delay) => 1e3 * delay,
        Delivery::Cancelled => panic!("frame {frame} was cancelled"),
    };
    assert_eq!(numbers(&deliveries, late), (32..=68).collect::<Vec<_>>());
    for (frame, expected) in [(0, 110.0 / 3.0), (44, 1660.0 / 3.0), (69, 410.0 / 3.0), (75, 110.0 / 3.0)] {
        assert!((delay_ms(frame) - expected).abs() < 1e-6, "{frame}: {}", delay_ms(frame));
    }
    assert!((0..120).all(|frame| delay_ms(frame) <= delay_ms(44)));
}

#[test]
fn frames_over_a_step_that_are_cancelled() {
    for (group, last) in [(0, 56), (30, 59)] {
        let deliveries = deliver(group, true);
        assert!(!deliveries.iter().any(late));
        let cancelled = numbers(&deliveries, |delivery| *delivery == Delivery::Cancelled);
        assert_eq!(cancelled, (32..=last).collect::<Vec<_>>(), "groups of {group}");
    }
}
