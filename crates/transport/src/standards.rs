//! The rules of RFC 5681, RFC 6298 and RFC 6675 for every loss recovery to which they apply. The page `docs/standards.md`
//! lists them with the names of these tests.

use crate::context::FlowTimer;
use crate::options::{IdleRestart, Options, Recovery, ReduceFrom, RtoEstimator, UndoBy};
use crate::testing::{Driver, block, ms, sender};
use cc::Phase;
use units::{Span, Time};

/// The recoveries with the rules of RFC 5681 in the profile `linux`.
const STANDARD: [Recovery; 4] = [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack];

/// The profile `linux` with this recovery, without timestamps, tail loss probes and undo.
fn options(recovery: Recovery) -> Options {
    let undo = UndoBy { dsack: false, timestamps: false, frto: false };
    Options { recovery, timestamps: false, tail_loss_probe: false, undo, ..Options::linux() }
}

/// A connection whose handshake took 100 ms, with this initial window and threshold; the data of the first window is sent.
fn connected(options: Options, window: f64, ssthresh: f64) -> Driver {
    let options = Options { initial_window: window, initial_ssthresh: ssthresh, ..options };
    let mut d = Driver::start(sender(&options, "reno", None));
    assert_eq!(d.sent(), [0]);
    d.ack_at(100, 1, &[]);
    d
}

/// The time at which the retransmission timer expires.
fn timer(d: &Driver) -> Time {
    d.context.timer_of(FlowTimer::Retransmit)
}

// ---- RFC 5681 -------------------------------------------------------------------------------------------

#[test]
fn the_handshake_does_not_grow_the_window() {
    for recovery in STANDARD {
        let options = Options { initial_window: 10.0, ..options(recovery) };
        let mut d = Driver::start(sender(&options, "reno", None));
        assert_eq!(d.ack_at(100, 1, &[]).len(), 10, "{recovery:?}");
        assert_eq!(d.cwnd(), 10.0);
    }
}

#[test]
fn slow_start_below_the_threshold_and_one_segment_a_round_trip_above_it() {
    for recovery in STANDARD {
        for step in [1, 2] {
            let mut d = connected(options(recovery), 4.0, 8.0);
            let (mut una, mut at) = (1, 200);
            let mut round = |d: &mut Driver| {
                let (first, before) = (una, d.cwnd());
                let end = first + before as u32;
                while una < end {
                    una = (una + step).min(end);
                    let least = d.cwnd();
                    d.ack_at(at, una, &[]);
                    // RFC 5681 section 3.1: an ACK adds no more than what it acknowledges.
                    assert!(d.cwnd() <= least + step as f64, "{recovery:?} {step}");
                }
                at += 100;
                d.cwnd() - before
            };
            assert_eq!(round(&mut d), 4.0, "{recovery:?} {step}"); // slow start: doubled, to the threshold
            for _ in 0..5 {
                assert!(round(&mut d) <= 1.0, "{recovery:?} {step}");
            }
            assert!((12.0..=13.0).contains(&d.cwnd()), "{recovery:?} {step}: {}", d.cwnd());
        }
    }
}

#[test]
fn a_flow_that_the_receiver_or_the_application_limits_does_not_grow_its_window() {
    for recovery in STANDARD {
        // The receiver permits four segments, the congestion window ten.
        let mut d = connected(Options { window: 4, ..options(recovery) }, 10.0, 8.0);
        (2..200).for_each(|next| drop(d.ack_at(100 + 25 * next as u64, next, &[])));
        assert_eq!((d.cwnd(), d.sender.in_flight()), (10.0, 4), "{recovery:?}");
        // The application writes four segments in each round trip.
        let settings = Options { idle_restart: IdleRestart::None, ..options(recovery) };
        let settings = Options { initial_window: 10.0, initial_ssthresh: 8.0, ..settings };
        let mut d = Driver::start({
            let mut sender = sender(&settings, "reno", None);
            sender.write_in_portions();
            sender
        });
        d.ack_at(100, 1, &[]);
        for round in 1..50 {
            d.context.now = ms(100 * round);
            d.sender.on_write(&mut d.context, 4, false);
            (0..4).for_each(|n| drop(d.ack_at(100 * round + 99, 4 * round as u32 - 2 + n, &[])));
        }
        assert!(d.cwnd() <= 10.0, "{recovery:?}: {}", d.cwnd());
    }
}

#[test]
fn a_timeout_halves_the_flight_and_leaves_a_window_of_one_segment() {
    for recovery in STANDARD {
        let mut d = connected(options(recovery), 12.0, f64::INFINITY);
        let (_, _, sent) = d.fire();
        assert_eq!(sent, [1], "{recovery:?}"); // the earliest segment that is not acknowledged
        assert_eq!((d.cwnd(), d.ssthresh(), d.sender.phase()), (1.0, 6.0, Phase::Loss), "{recovery:?}");
        // Slow start up to the threshold, then congestion avoidance.
        d.sent();
        let mut una = 2;
        while d.cwnd() < 6.0 {
            let before = d.cwnd();
            d.ack(una, &[]);
            assert!(d.cwnd() <= before + 1.0);
            una += 1;
        }
        assert!(una <= 9, "{recovery:?}: slow start lasted until {una}");
        d.ack(una, &[]);
        assert!(d.cwnd() < 7.0, "{recovery:?}");
    }
}

#[test]
fn a_segment_that_times_out_again_does_not_lower_the_threshold_again() {
    for recovery in STANDARD {
        let mut d = connected(options(recovery), 12.0, f64::INFINITY);
        d.fire();
        for _ in 0..3 {
            d.fire();
            assert_eq!((d.cwnd(), d.ssthresh()), (1.0, 6.0), "{recovery:?}");
        }
    }
}

#[test]
fn the_flight_and_not_the_window_is_halved_if_so_chosen() {
    // The receiver permits six segments of a congestion window of 20.
    for recovery in STANDARD {
        let choice = Options { reduce_from: ReduceFrom::Flight, window: 6, ..options(recovery) };
        let mut d = connected(choice.clone(), 20.0, f64::INFINITY);
        d.fire();
        assert!((2.0..=3.0).contains(&d.ssthresh()), "{recovery:?}: {}", d.ssthresh());
        let mut d = connected(choice, 20.0, f64::INFINITY);
        (2..=4).for_each(|end| drop(d.ack_at(200, 1, &[block(2, end + 1)])));
        assert_eq!(d.sender.phase(), Phase::Recovery, "{recovery:?}");
        assert!((2.0..=3.0).contains(&d.ssthresh()), "{recovery:?}: {}", d.ssthresh());
    }
}

#[test]
fn limited_transmit_moves_no_window_and_is_not_part_of_what_is_halved() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let mut d = connected(options(recovery), 10.0, f64::INFINITY);
        let mut sent = Vec::new();
        for duplicate in 1..=2 {
            sent.extend(d.ack_at(200, 1, &[block(2, 2 + duplicate)]));
            assert_eq!(d.cwnd(), 10.0, "{recovery:?}");
        }
        assert_eq!(sent, [11, 12], "{recovery:?}");
        let third = d.ack_at(200, 1, &[block(2, 5)]);
        assert_eq!(third.first(), Some(&1), "{recovery:?}"); // fast retransmit
        assert_eq!(d.ssthresh(), 5.0, "{recovery:?}"); // half of ten, not of twelve
    }
}

#[test]
fn after_the_repair_the_window_is_the_threshold() {
    for recovery in STANDARD {
        let mut d = connected(options(recovery), 10.0, f64::INFINITY);
        let mut highest = 10;
        for end in 3..=11 {
            highest = d.ack_at(200, 1, &[block(2, end)]).into_iter().fold(highest, u32::max);
        }
        assert_eq!(d.sender.phase(), Phase::Recovery, "{recovery:?}");
        // The ACK of the repair covers everything that was sent.
        let acked = highest as f64; // from segment 1 on
        d.ack_at(300, highest + 1, &[]);
        // Only Reno's recovery and that of Linux let this ACK also grow the window, by the windows that it acknowledges.
        let growth = match recovery {
            Recovery::Reno | Recovery::Rack => (acked / 5.0).floor(),
            _ => 0.0,
        };
        assert!(d.cwnd() <= 5.0 + growth, "{recovery:?}: {}", d.cwnd());
        assert_eq!((d.ssthresh(), d.sender.phase()), (5.0, Phase::Open), "{recovery:?}");
    }
}

#[test]
fn losses_in_two_successive_windows_reduce_it_twice() {
    for recovery in STANDARD {
        let mut d = connected(options(recovery), 16.0, f64::INFINITY);
        let mut highest = 16;
        for end in 3..=17 {
            highest = d.ack_at(200, 1, &[block(2, end)]).into_iter().fold(highest, u32::max);
        }
        assert_eq!(d.ssthresh(), 8.0, "{recovery:?}");
        // Everything of the first window is there; of what was sent after the reduction the first segment is lost.
        let una = 20; // limited transmit sent 17 and 18 before the reduction
        highest = d.ack_at(300, una, &[]).into_iter().fold(highest, u32::max);
        assert!(highest >= una + 4, "{recovery:?}");
        let window = d.cwnd();
        for end in una + 2..=highest + 1 {
            d.ack_at(400, una, &[block(una + 1, end)]);
        }
        assert!(d.ssthresh() <= window / 2.0, "{recovery:?}: {} of {window}", d.ssthresh());
        assert_eq!(d.sender.stats().cwnd_reductions, 2, "{recovery:?}");
    }
}

#[test]
fn a_lost_retransmission_ends_in_a_timeout_that_reduces_the_window_again() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut d = connected(options(recovery), 16.0, f64::INFINITY);
        for end in 3..=17 {
            d.ack_at(200, 1, &[block(2, end)]);
        }
        assert_eq!(d.ssthresh(), 8.0, "{recovery:?}");
        let (_, _, sent) = d.fire();
        assert_eq!(sent, [1], "{recovery:?}");
        assert!(d.ssthresh() <= 8.0 && d.cwnd() == 1.0, "{recovery:?}");
        assert_eq!(d.sender.stats().cwnd_reductions, 2, "{recovery:?}");
    }
}

#[test]
fn a_window_that_was_idle_for_a_timeout_restarts_at_the_initial_window() {
    let settings = Options { idle_restart: IdleRestart::Rfc5681, ..options(Recovery::Rack) };
    let mut d = Driver::start({
        let mut sender = sender(&Options { initial_window: 4.0, ..settings }, "reno", None);
        sender.write_in_portions();
        sender
    });
    d.ack_at(100, 1, &[]);
    d.sender.on_write(&mut d.context, 28, false);
    (2..=29).for_each(|next| drop(d.ack_at(100 + 10 * next as u64, next, &[])));
    assert_eq!(d.cwnd(), 32.0);
    d.sent();
    // A pause shorter than the timeout leaves the window, a longer one does not.
    for (at, window) in [(500, 32), (1500, 4)] {
        d.context.now = ms(at);
        d.sender.on_write(&mut d.context, window, false);
        assert_eq!(d.sent().len(), window as usize, "{at} ms");
        assert!(d.cwnd() <= window as f64, "{at} ms");
        let next = d.sender.highest_ack() as u32 + 1 + window;
        d.ack_at(at + 100, next, &[]);
    }
}

// ---- RFC 6298 -------------------------------------------------------------------------------------------

#[test]
fn the_timeout_is_one_second_before_the_first_sample() {
    for recovery in STANDARD {
        let d = Driver::start(sender(&options(recovery), "reno", None));
        assert_eq!((d.sender.rto(), timer(&d)), (Span::from_ms(1000), ms(1000)), "{recovery:?}");
    }
}

#[test]
fn a_constant_round_trip_time_leaves_a_variance_of_at_least_the_clock() {
    for (recovery, estimator) in [
        (Recovery::NewReno, RtoEstimator::Rfc6298),
        (Recovery::Sack, RtoEstimator::Rfc6298),
        (Recovery::Rack, RtoEstimator::Rfc6298),
        (Recovery::Rack, RtoEstimator::Linux),
    ] {
        let tick = Span::from_ms(10);
        let clock =
            Options { rto_estimator: estimator, min_rto: Span::ZERO, clock_tick: tick, ..options(recovery) };
        let mut d = connected(clock, 10.0, 2.0);
        (2..400).for_each(|next| drop(d.ack_at(100 + 100 * (next as u64 - 1), next, &[])));
        let srtt = d.sender.smoothed_rtt().expect("samples");
        assert!(d.sender.rto() > srtt, "{recovery:?} {estimator:?}: {:?} {srtt:?}", d.sender.rto());
    }
}

#[test]
fn segments_that_were_retransmitted_give_no_sample() {
    for recovery in STANDARD {
        let mut d = connected(options(recovery), 10.0, f64::INFINITY);
        let before = d.sender.smoothed_rtt();
        assert_eq!(before, Some(Span::from_ms(100)), "{recovery:?}");
        let (_, at, sent) = d.fire();
        assert_eq!(sent, [1]);
        // Its ACK comes 3 s later: it does not say which of the two it answers.
        d.context.now = at + Span::from_ms(3000);
        d.ack(2, &[]);
        assert_eq!(d.sender.smoothed_rtt(), before, "{recovery:?}");
        assert_eq!(d.sender.stats().rtt_count, 0, "{recovery:?}");
    }
}

#[test]
fn every_round_trip_has_a_sample() {
    for recovery in STANDARD {
        let mut d = connected(options(recovery), 10.0, 2.0);
        let mut next = 1;
        for round in 2..12 {
            let mut before = d.sender.smoothed_rtt();
            let window = d.cwnd() as u32;
            // Each round trip takes 10 ms longer: without a sample the mean would stay.
            (0..window).for_each(|n| {
                d.ack_at(100 * round + 5 * round * round, next + n + 1, &[]);
            });
            next += window;
            let after = d.sender.smoothed_rtt();
            assert!(after > before, "{recovery:?} {round}: {before:?} {after:?}");
            before = after;
            assert!(before.is_some());
        }
    }
}

#[test]
fn the_timer_runs_while_data_is_outstanding_and_restarts_at_each_new_ack() {
    for recovery in STANDARD {
        let mut d = Driver::start({
            let mut sender = sender(&options(recovery), "reno", None);
            sender.write_in_portions();
            sender
        });
        d.ack_at(100, 1, &[]);
        assert_eq!(timer(&d), Time::NEVER, "{recovery:?}: nothing is outstanding");
        d.context.now = ms(1000);
        d.sender.on_write(&mut d.context, 4, false);
        let rto = d.sender.rto();
        assert_eq!(timer(&d), ms(1000) + rto, "{recovery:?}");
        d.context.now = ms(1050);
        d.sender.on_write(&mut d.context, 2, false); // the timer runs already
        assert!(timer(&d) >= ms(1000) + rto, "{recovery:?}");
        d.ack_at(1100, 2, &[]);
        assert_eq!(timer(&d), ms(1100) + d.sender.rto(), "{recovery:?}");
        d.ack_at(1150, 7, &[]);
        assert_eq!(timer(&d), Time::NEVER, "{recovery:?}");
    }
}

#[test]
fn each_expiry_doubles_the_timeout_and_a_sample_ends_the_backoff() {
    for recovery in STANDARD {
        let mut d = connected(options(recovery), 10.0, f64::INFINITY);
        let first = d.sender.rto();
        let mut last = d.fire().1;
        for doubled in [2, 4, 8] {
            assert_eq!(d.sender.rto(), first * doubled, "{recovery:?}");
            let (_, at, sent) = d.fire();
            assert_eq!((at.since(last), sent), (first * doubled, vec![1]), "{recovery:?}");
            last = at;
        }
        // The retransmission is acknowledged, then a segment that was sent after it.
        d.context.now = last + Span::from_ms(100);
        let highest = d.ack(11, &[]).into_iter().max().expect("new data");
        d.context.now += Span::from_ms(100);
        d.ack(highest + 1, &[]);
        assert!(d.sender.rto() < first * 2, "{recovery:?}: {:?}", d.sender.rto());
    }
}

#[test]
fn a_lost_syn_makes_the_first_timeout_of_data_three_seconds() {
    for recovery in STANDARD {
        let mut d = Driver::start(sender(&options(recovery), "reno", None));
        d.sent();
        let (_, at, sent) = d.fire();
        assert_eq!((at, sent), (ms(1000), vec![0]), "{recovery:?}");
        // Without timestamps the ACK of the repeated SYN is no sample.
        assert_eq!(d.ack_at(1100, 1, &[]), [1], "{recovery:?}");
        assert_eq!((d.sender.rto(), timer(&d)), (Span::from_ms(3000), ms(4100)), "{recovery:?}");
    }
}

#[test]
fn no_segment_is_retransmitted_by_the_timer_within_a_timeout_of_its_transmission() {
    for recovery in STANDARD {
        let mut d = connected(options(recovery), 10.0, f64::INFINITY);
        // The ACK of segment 1 restarts the timer; segment 2 was sent at 100 ms.
        d.ack_at(190, 2, &[]);
        let rto = d.sender.rto();
        let (_, at, sent) = d.fire();
        assert_eq!(sent, [2], "{recovery:?}");
        assert!(at.since(ms(100)) >= rto, "{recovery:?}: {at:?}");
    }
}

// ---- RFC 6675 -------------------------------------------------------------------------------------------

fn sack(window: f64) -> Driver {
    Driver::new(options(Recovery::Sack), window)
}

#[test]
fn three_segments_above_a_hole_make_it_lost_whatever_the_number_of_duplicates() {
    // One ACK reports three segments.
    let mut d = sack(10.0);
    assert_eq!(d.ack(0, &[block(1, 4)]).first(), Some(&0));
    assert_eq!(d.sender.phase(), Phase::Recovery);
    // Two segments are not enough.
    let mut d = sack(10.0);
    assert_ne!(d.ack(0, &[block(1, 3)]).first(), Some(&0));
    assert_eq!(d.sender.phase(), Phase::Open);
    // A cumulative ACK resets the count of duplicates.
    let mut d = sack(10.0);
    d.ack(0, &[block(1, 2)]);
    d.ack(0, &[block(1, 3)]);
    d.ack(3, &[]);
    d.ack(3, &[block(4, 5)]);
    assert_eq!(d.sender.phase(), Phase::Open);
}

#[test]
fn recovery_ends_at_its_recovery_point_and_keeps_later_reports() {
    let mut d = sack(10.0); // 0 to 9 are outstanding
    d.ack(0, &[block(1, 4)]);
    assert_eq!((d.sender.phase(), d.ssthresh()), (Phase::Recovery, 5.0));
    // Reports of everything but 0 let new segments leave.
    let mut new = d.ack(0, &[block(1, 10)]);
    assert_eq!(new, [10, 11, 12, 13]);
    d.ack(9, &[]); // below the recovery point
    assert_eq!(d.sender.phase(), Phase::Recovery);
    // 10 is missing, 11 to 13 have arrived: recovery ends, and the reports above count for the next one.
    new = d.ack(10, &[block(11, 14)]);
    assert_eq!(d.sender.stats().cwnd_reductions, 2);
    assert!(new.contains(&10), "{new:?}");
}

#[test]
fn each_step_of_recovery_sends_lost_segments_then_new_data_then_unreported_ones() {
    // 0 and 1 are lost, 4 is missing with one report above it: not lost yet.
    let mut d = Driver::with(options(Recovery::Sack), "reno", 12.0, Some(13));
    d.sent();
    assert_eq!(d.ack(0, &[block(2, 4)]).len(), 1); // 12, by limited transmit
    let mut order = d.ack(0, &[block(5, 6), block(2, 4)]);
    for reported in [7, 8, 9, 10, 11, 12, 13] {
        order.extend(d.ack(0, &[block(5, reported), block(2, 4)]));
    }
    // 0 and 1, then 4 when it is lost; no new data is left. The last unreported segment follows once.
    assert_eq!(order[..3], [0, 1, 4], "{order:?}");
    let mut sorted = order.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), order.len(), "{order:?}: a segment was sent twice");
}

#[test]
fn a_timeout_in_recovery_ends_it_and_none_begins_before_the_recovery_point() {
    let mut d = sack(16.0);
    for end in 2..=8 {
        d.ack(0, &[block(1, end)]);
    }
    assert_eq!(d.sender.phase(), Phase::Recovery);
    let (timer, _, sent) = d.fire();
    assert_eq!((timer, sent.first()), (FlowTimer::Retransmit, Some(&0)));
    assert_eq!((d.sender.phase(), d.cwnd()), (Phase::Loss, 1.0));
    let reductions = d.sender.stats().cwnd_reductions;
    // 8 is missing too: reports above it start no recovery, as everything below 16 was sent before the timeout.
    d.ack(8, &[]);
    for end in 11..=15 {
        d.ack(8, &[block(10, end)]);
        assert_eq!(d.sender.phase(), Phase::Loss);
    }
    assert_eq!(d.sender.stats().cwnd_reductions, reductions);
}

#[test]
fn the_window_bounds_what_recovery_has_in_the_network() {
    // After the first retransmission, a segment leaves only if the estimate of what is in the network is below the window.
    let mut d = sack(20.0);
    let mut highest = 19;
    let mut recovering = false;
    for end in 2..=20 {
        let sent = d.ack(0, &[block(1, end)]);
        if recovering && !sent.is_empty() {
            assert!(d.sender.in_flight() <= d.cwnd() as u32, "{end}: {}", d.sender.in_flight());
        }
        recovering = d.sender.phase() == Phase::Recovery;
        highest = sent.into_iter().fold(highest, u32::max);
    }
    assert!(highest > 20, "new data left in recovery");
    d.ack(highest + 1, &[]);
    assert_eq!((d.sender.phase(), d.ssthresh()), (Phase::Open, 10.0));
}
