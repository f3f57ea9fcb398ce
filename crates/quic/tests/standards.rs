//! The rules of RFC 9002 that the other tests of connections do not hold. The page `docs/standards.md` lists all of them
//! with the names of their tests.

mod common;

use ackclock_quic::{Config, Pacing};
use cc::{Controller, Phase, Signals};
use common::recorder::{Event, Recorder};
use common::{Path, Pipe, Treatment, controller};
use std::sync::{Arc, Mutex};
use units::{Rate, Span, Time};

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_ms(n)
}

/// A fast path with a long queue, which drops what `drops` says.
fn path(mut drops: impl FnMut(u64, Time) -> bool + 'static) -> Path {
    Path {
        queue: 10_000,
        rate: Rate::from_bps(1_000_000_000),
        plan: Box::new(move |n, at| Treatment { drop: drops(n, at), ..Treatment::default() }),
        ..Path::default()
    }
}

/// A flow of `reno` that is written in portions.
fn portions(config: &Config, path: Path, portions: u64, bytes: u64, every: u64) -> Pipe {
    let mut pipe = Pipe::new(config, controller("reno", config, &[]), path);
    pipe.ends[0].write(bytes, false);
    pipe.open();
    for n in 1..portions {
        pipe.run(ms(every * n));
        pipe.ends[0].write(bytes, false);
        pipe.turn(0);
    }
    pipe
}

#[test]
fn samples_are_those_of_the_largest_packet_and_the_smallest_counts() {
    // Packets are late by 0 to 7 ms, and some ACKs by 30 ms: those acknowledge nothing new.
    let (recorder, events) = Recorder::new(50.0, Signals::NONE);
    let config =
        Config { pacing: Pacing::None, packet_threshold: 1000, time_threshold: 10.0, ..Config::default() };
    let late = |n: u64, by: u64| Treatment { extra: Span::from_ms(n * 5 % by), ..Treatment::default() };
    let path = Path {
        plan: Box::new(move |n, _| late(n, 8)),
        back: Box::new(move |n, _| Treatment {
            extra: Span::from_ms(if n % 10 == 5 { 30 } else { 0 }),
            ..Treatment::default()
        }),
        ..path(|_, _| false)
    };
    let mut pipe = Pipe::new(&config, recorder.controller(), path);
    pipe.ends[0].write_endlessly();
    pipe.open();
    pipe.run(ms(3000));
    let events = events.lock().unwrap();
    let samples: Vec<Span> =
        events.iter().filter_map(|event| if let Event::Ack(ack) = event { ack.rtt } else { None }).collect();
    let without = events.iter().filter(|event| matches!(event, Event::Ack(ack) if ack.rtt.is_none())).count();
    assert!(samples.len() > 500 && without > 20, "{} {without}", samples.len());
    assert_eq!(pipe.stats().rtt_min, *samples.iter().min().unwrap());
    // 20 ms of propagation, at most 7 ms late, 25 ms until a delayed ACK; never the 30 ms of a late ACK on top.
    assert!(
        samples.iter().all(|rtt| *rtt >= Span::from_ms(20) && *rtt < Span::from_ms(50)),
        "{:?}",
        samples.iter().max()
    );
}

#[test]
fn a_probe_leaves_after_the_smoothed_round_trip_its_variation_and_the_delay_of_acks() {
    for max_ack_delay in [10, 25] {
        // The last datagram of the data is lost: nothing after it shows the loss.
        let config = Config { max_ack_delay: Some(Span::from_ms(max_ack_delay)), ..Config::default() };
        let last = Arc::new(Mutex::new(u64::MAX));
        let dropped = last.clone();
        let mut pipe = Pipe::new(
            &config,
            controller("reno", &config, &[]),
            path(move |n, at| {
                let first = at >= ms(2000) && *dropped.lock().unwrap() == u64::MAX;
                if first {
                    *dropped.lock().unwrap() = n;
                }
                first
            }),
        );
        pipe.ends[0].write(2_000_000, false);
        pipe.open();
        pipe.run(ms(2000));
        pipe.ends[0].write(1000, true);
        pipe.turn(0);
        pipe.run(ms(4000));
        assert!(pipe.ends[0].completed().is_some());
        let sent: Vec<Time> = pipe.log.iter().map(|(at, ..)| *at).filter(|at| *at >= ms(2000)).collect();
        let waited = sent[1].since(sent[0]);
        // The round-trip time is 20 ms, and the variation at least 1 ms.
        let least = Span::from_ms(20 + 1 + max_ack_delay);
        assert!(waited >= least && waited < least + Span::from_ms(10), "{max_ack_delay}: {waited}");
        assert_eq!(pipe.stats().probe_timeouts, 1);
        // A probe timeout is no loss; the ACK of the probe shows that the packet before it is lost.
        assert_eq!(pipe.stats().persistent_congestion, 0);
    }
}

#[test]
fn reported_delays_of_acks_are_taken_off_the_samples() {
    // A datagram each 100 ms: its ACK waits for 25 ms, and the samples are 45 ms. One datagram is lost.
    let mut pipe = portions(&Config::default(), path(|_, at| at == ms(6000)), 61, 1400, 100);
    pipe.run(ms(6099));
    let sent: Vec<Time> = pipe.log.iter().map(|(at, ..)| *at).filter(|at| *at >= ms(6000)).collect();
    assert!(pipe.stats().rtt_sum / pipe.stats().rtt_count as f64 > 0.040);
    // 20 ms, a variation of 1 ms and more, 25 ms for the next delay; with the whole samples 71 ms and more.
    let waited = sent[1].since(sent[0]);
    assert!(waited >= Span::from_ms(46) && waited < Span::from_ms(60), "{waited}");
}

#[test]
fn a_packet_that_one_later_one_overtook_is_lost_by_time() {
    // The last datagram but one is lost: too few packets after it for the packet threshold.
    let config = Config { ack_every: Some(1), ..Config::default() };
    let mut pipe = Pipe::new(
        &config,
        controller("reno", &config, &[]),
        path({
            let mut seen = 0;
            move |_, at| {
                seen += (at >= ms(2000)) as u32;
                at >= ms(2000) && seen == 1
            }
        }),
    );
    pipe.ends[0].write(200_000, false);
    pipe.open();
    pipe.run(ms(2000));
    pipe.ends[0].write(2 * 1400, true); // two datagrams
    pipe.turn(0);
    pipe.run(ms(4000));
    let stats = pipe.stats();
    assert_eq!((stats.lost_packets, stats.probe_timeouts), (1, 0), "{stats:?}");
    // Found 9/8 of a round-trip time after it was sent, repaired a round-trip time later.
    let completed = pipe.ends[0].completed().expect("all data is acknowledged");
    assert!(completed > ms(2000 + 22 + 20) && completed < ms(2000 + 23 + 23), "{completed:?}");
}

#[test]
fn probe_timeouts_mark_nothing_as_lost_and_probes_leave_although_the_window_is_full() {
    let mut pipe = Pipe::new(
        &Config::default(),
        controller("reno", &Config::default(), &[]),
        path(|_, at| at > ms(100)),
    );
    let probing = Arc::new(Mutex::new(0));
    let above = probing.clone();
    pipe.watch = Some(Box::new(move |_, handle| {
        let state = handle.lock();
        if state.stats().probe_timeouts > 0 {
            assert_eq!(state.stats().lost_packets, 0);
            *above.lock().unwrap() += (state.in_flight().bytes > state.window_bytes()) as u32;
        }
    }));
    pipe.ends[0].write_endlessly();
    pipe.open();
    pipe.run(ms(3000));
    let stats = pipe.stats();
    assert!(stats.probe_timeouts >= 4, "{stats:?}");
    assert_eq!((stats.lost_packets, stats.cwnd_reductions), (0, 0));
    assert!(*probing.lock().unwrap() > 0, "probes count as in flight, above the window");
    // They carry new data.
    assert!(
        pipe.log.iter().filter(|(at, ..)| *at > ms(300)).all(|(_, size, _)| *size == 1472),
        "{:?}",
        pipe.log
    );
}

#[test]
fn persistent_congestion_leaves_the_smallest_window() {
    let mut pipe = Pipe::new(
        &Config::default(),
        controller("reno", &Config::default(), &[]),
        path(|_, at| (ms(1000)..ms(4000)).contains(&at)),
    );
    let windows = Arc::new(Mutex::new(Vec::new()));
    let seen = windows.clone();
    pipe.watch = Some(Box::new(move |_, handle| {
        let state = handle.lock();
        if state.stats().persistent_congestion > 0 {
            seen.lock().unwrap().push((state.window_bytes(), state.controller().ssthresh()));
        }
    }));
    pipe.ends[0].write_endlessly();
    pipe.open();
    pipe.run(ms(8000));
    assert_eq!(pipe.stats().persistent_congestion, 1);
    let windows = windows.lock().unwrap();
    assert_eq!(windows[0].0, 2 * 1472);
    // Slow start again, from two datagrams.
    assert!(windows.iter().any(|(window, _)| *window > 1000 * 1472));
}

#[test]
fn losses_before_the_first_sample_are_no_persistent_congestion() {
    let mut pipe =
        Pipe::new(&Config::default(), controller("reno", &Config::default(), &[]), path(|n, _| n < 6));
    pipe.ends[0].write(100_000, true);
    pipe.open();
    pipe.run(ms(60_000));
    assert_eq!(pipe.delivered(), 100_000);
    assert_eq!(pipe.stats().persistent_congestion, 0, "{:?}", pipe.stats());
}

#[test]
fn a_loss_or_a_mark_ends_slow_start_and_the_window_is_the_threshold() {
    for marked in [false, true] {
        let config = Config { ecn: marked, ..Config::default() };
        let plan = move |n: u64, _: Time| Treatment {
            drop: n == 300 && !marked,
            mark: n == 300 && marked,
            ..Treatment::default()
        };
        let mut pipe = Pipe::new(
            &config,
            controller("reno", &config, &[]),
            Path { plan: Box::new(plan), ..path(|_, _| false) },
        );
        let states = Arc::new(Mutex::new(Vec::new()));
        let seen = states.clone();
        pipe.watch = Some(Box::new(move |_, handle| {
            let state = handle.lock();
            let controller = state.controller();
            seen.lock().unwrap().push((
                state.stats().cwnd_reductions,
                state.phase(),
                controller.cwnd(),
                controller.ssthresh(),
            ));
        }));
        pipe.ends[0].write_endlessly();
        pipe.open();
        pipe.run(ms(400));
        let states = states.lock().unwrap();
        let first = states.iter().position(|state| state.0 > 0).expect("a reduction");
        let (before, after) = states.split_at(first);
        assert!(before.iter().all(|state| state.3.is_infinite()), "slow start");
        let (_, phase, cwnd, ssthresh) = after[0];
        assert_eq!(phase, if marked { Phase::Cwr } else { Phase::Recovery });
        assert_eq!(cwnd, ssthresh);
        // In the recovery period the window stays.
        let held =
            after.iter().take_while(|state| state.1 != Phase::Open).map(|state| state.2).collect::<Vec<_>>();
        assert!(held.len() > 1 && held.iter().all(|window| *window == cwnd), "{held:?}");
    }
}

#[test]
fn congestion_avoidance_adds_at_most_a_datagram_for_each_window() {
    let mut pipe = Pipe::new(
        &Config::default(),
        controller("reno", &Config::default(), &[]),
        Path { delay: Span::from_ms(50), ..path(|n, _| n == 200) },
    );
    let windows = Arc::new(Mutex::new(Vec::new()));
    let seen = windows.clone();
    pipe.watch = Some(Box::new(move |now, handle| {
        let state = handle.lock();
        if state.stats().cwnd_reductions == 1 && state.phase() == Phase::Open {
            seen.lock().unwrap().push((now, state.controller().cwnd()));
        }
    }));
    pipe.ends[0].write_endlessly();
    pipe.open();
    pipe.run(ms(4000));
    assert_eq!(pipe.stats().cwnd_reductions, 1);
    let windows = windows.lock().unwrap();
    let (first, last) = (windows[0], windows[windows.len() - 1]);
    let rounds = last.0.since(first.0).seconds() / 0.1;
    assert!(rounds > 25.0, "{rounds}");
    let grown = last.1 - first.1;
    assert!(grown <= rounds + 1.0 && grown > 0.9 * rounds - 1.0, "{grown} in {rounds}");
}

#[test]
fn a_flow_that_the_application_limits_does_not_grow_its_window() {
    // Five datagrams each 50 ms, the round-trip time is 20 ms; in slow start and, after a loss, in congestion avoidance.
    // As in Linux slow start may reach twice what was in flight (seven datagrams).
    for (lost, most) in [(u64::MAX, 14.0), (100, 10.0)] {
        let pipe = portions(&Config::default(), path(move |n, _| n == lost), 200, 5 * 1400, 50);
        let window = pipe.handle.lock().controller().cwnd();
        assert!(window <= most, "{lost}: {window}");
        assert!(pipe.delivered() >= 198 * 5 * 1400);
    }
}
