//! What a controller receives over QUIC.

mod common;

use ackclock_quic::{Config, Pacing};
use cc::{Ack, EcnResponse, Phase, Signals};
use common::recorder::{Event, Recorder};
use common::{Path, Pipe, Treatment};
use units::{Rate, Segments, Span, Time};

const ALL: Signals = Signals::RATE
    .and(Signals::LOSSES)
    .and(Signals::SENT)
    .and(Signals::SEGMENT_COUNTS)
    .and(Signals::RECEIVER_TIME);

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_ms(n)
}

/// The events of an endless flow with a constant window.
fn record(
    config: &Config,
    recorder: (Recorder, common::recorder::Events),
    path: Path,
    until: Time,
) -> (Pipe, Vec<Event>) {
    let (controller, events) = recorder;
    let mut pipe = Pipe::new(config, controller.controller(), path);
    pipe.ends[0].write_endlessly();
    pipe.open();
    pipe.run(until);
    let events = events.lock().unwrap().clone();
    (pipe, events)
}

fn acks(events: &[Event]) -> Vec<Ack> {
    events.iter().filter_map(|event| if let Event::Ack(ack) = event { Some(*ack) } else { None }).collect()
}

fn lossless(window: Segments) -> (Pipe, Vec<Event>) {
    let config = Config { pacing: Pacing::None, ..Config::default() };
    record(&config, Recorder::new(window, ALL), Path { queue: 100, ..Path::default() }, ms(3000))
}

#[test]
fn acks_tell_counts_times_and_rates() {
    let (pipe, events) = lossless(50.0);
    let (acks, stats) = (acks(&events), pipe.stats());
    assert!(matches!(events[0], Event::Open(Time::ZERO)));
    // The first datagram takes 0.6 ms, and 10 ms each way.
    let handshakes = events
        .iter()
        .filter_map(|e| if let Event::Handshake(at, rtt) = e { Some((*at, *rtt)) } else { None });
    let round_trip = Span::from_ps(20_600_000_000);
    assert_eq!(handshakes.collect::<Vec<_>>(), [(Time::ZERO + round_trip, Some(round_trip))]);
    assert_eq!(acks.len() as u64, stats.ack_frames);
    let (delivered, newly): (u64, u64) =
        acks.iter().fold((0, 0), |(d, n), ack| (d + ack.newly_delivered as u64, n + ack.newly_acked as u64));
    assert_eq!(delivered, newly);
    assert!(stats.acked_packets - delivered <= 1, "{delivered} {stats:?}"); // a remainder of the small first packets
    let mut through = None;
    for ack in &acks {
        assert_eq!((ack.dupacks, ack.newly_lost, ack.lost_total, ack.phase), (0, 0, 0, Phase::Open));
        assert!(Some(ack.acked_through) > through && ack.next > ack.acked_through);
        through = Some(ack.acked_through);
        assert!(ack.rtt.is_some_and(|rtt| rtt >= Span::from_ps(20_600_000_000)), "{ack:?}");
        assert!((ack.prior_in_flight - ack.in_flight - ack.newly_delivered as f64).abs() < 1.1, "{ack:?}");
        assert!(ack.in_flight <= 50.0 && !ack.ece && !ack.paced);
        // The receiver's clock is that of the sender, and the way back takes 10 ms.
        assert_eq!(ack.receiver_time.map(|at| ack.now.since(at)), Some(Span::from_ms(10)));
    }
    let last = acks.last().unwrap();
    assert_eq!(last.delivered_total, stats.acked_packets);
    assert!(last.window_limited && last.may_grow);
    // 20 Mb/s over datagrams of 1500 bytes.
    let sample = last.rate.expect("the controller needs rates");
    let rate = sample.delivered as f64 / sample.interval.seconds();
    assert!((rate / (20e6 / 8.0 / 1500.0) - 1.0).abs() < 0.03, "{rate}");
    assert_eq!((sample.tx_in_flight, sample.app_limited, sample.lost), (50, false, 0));
    let sent = events.iter().filter(|event| matches!(event, Event::Sent(_))).count();
    assert_eq!(sent as u64, stats.sent_packets);
}

#[test]
fn losses_come_before_the_ack_that_shows_them() {
    let drops = |n: u64| (300..303).contains(&n) || n == 900;
    let plan = move |n, _| Treatment { drop: drops(n), ..Treatment::default() };
    let path = Path { plan: Box::new(plan), ..Path::default() };
    let (pipe, events) = record(&Config::default(), Recorder::new(30.0, ALL), path, ms(3000));
    let stats = pipe.stats();
    assert_eq!((stats.lost_packets, stats.cwnd_reductions), (4, 2), "{stats:?}");
    let lost: Vec<_> =
        events.iter().filter_map(|e| if let Event::Lost(l) = e { Some(*l) } else { None }).collect();
    assert_eq!(lost.len(), 4);
    assert!(
        lost.iter().all(|lost| (1..=4).contains(&lost.lost) && lost.tx_in_flight >= 25 && !lost.app_limited)
    );
    let starts = lost
        .iter()
        .enumerate()
        .map(|(n, l)| n == 0 || lost[n - 1].seq + 1 != l.seq || lost[n - 1].now != l.now);
    assert!(starts.eq(lost.iter().map(|l| l.starts_range)), "{lost:?}");
    // Lost, the reduction, and then the ACK at the same time, in recovery.
    let at = events.iter().position(|event| matches!(event, Event::Lost(_))).unwrap();
    let reduction = events.iter().position(|event| matches!(event, Event::Congestion(_))).unwrap();
    let Event::Congestion(congestion) = events[reduction] else { unreachable!() };
    let Event::Ack(ack) = events[reduction + 1] else { panic!("{:?}", events[reduction + 1]) };
    assert!(at < reduction && congestion.now == ack.now && lost[0].now == ack.now);
    assert_eq!(congestion.window, 30.0);
    assert!(ack.newly_lost >= 1 && ack.phase == Phase::Recovery && !ack.may_grow);
    assert!((congestion.in_flight - ack.in_flight).abs() < 1e-9);
    // Recovery ends with the first packet sent after it began.
    let exits = events.iter().filter_map(|e| if let Event::Exit(at) = e { Some(*at) } else { None });
    let exits: Vec<_> = exits.collect();
    assert_eq!(exits.len(), 2);
    let round_trip = exits[0].since(congestion.now).seconds();
    assert!((0.02..0.045).contains(&round_trip), "{round_trip}");
    assert!(acks(&events).iter().all(|ack| ack.lost_total <= 4));
}

#[test]
fn the_measurements_of_an_ack_come_before_what_follows_from_them() {
    let plan = Box::new(|n, _| Treatment { drop: n == 60, ..Treatment::default() });
    let (_, events) = record(
        &Config::default(),
        Recorder::new(30.0, ALL.and(Signals::SAMPLES)),
        Path { plan, queue: 100, ..Path::default() },
        ms(1000),
    );
    let samples: Vec<_> = events
        .iter()
        .enumerate()
        .filter_map(|(n, event)| if let Event::Sample(sample) = event { Some((n, *sample)) } else { None })
        .collect();
    let acks = acks(&events);
    assert_eq!(samples.len(), acks.len());
    for ((_, sample), ack) in samples.iter().zip(&acks) {
        assert_eq!((sample.now, sample.newly_delivered, sample.rtt), (ack.now, ack.newly_delivered, ack.rtt));
        assert_eq!(sample.since_sent, ack.rate.map(|rate| rate.delivered));
        assert_eq!(ack.sender.min_rtt.is_some(), ack.sender.srtt.is_some());
    }
    for event in [|e: &Event| matches!(e, Event::Congestion(_)), |e: &Event| matches!(e, Event::Exit(_))] {
        let place = events.iter().position(event).expect("the loss begins and ends a recovery");
        let (before, sample) = samples.iter().rfind(|(n, _)| *n < place).expect("an ACK");
        // Nothing but the lost packet lies between them.
        assert!(place - before <= 2 && sample.now <= ms(1000), "{place} {before}");
    }
}

#[test]
fn marks_are_counted_per_packet() {
    for (response, needs) in
        [(EcnResponse::NoCwr, Signals::ECN_PER_PACKET), (EcnResponse::Reduce, Signals::NONE)]
    {
        let config = Config { ecn: true, ..Config::default() };
        let path = Path {
            plan: Box::new(|n, _| Treatment { mark: n % 4 == 0, ..Treatment::default() }),
            ..Path::default()
        };
        let (mut recorder, events) = Recorder::new(20.0, needs);
        recorder.response = response;
        let (pipe, events) = record(&config, (recorder, events), path, ms(3000));
        let marked: u32 = acks(&events).iter().filter(|ack| ack.ece).map(|ack| ack.newly_delivered).sum();
        let all: u32 = acks(&events).iter().map(|ack| ack.newly_delivered).sum();
        let reductions = events.iter().filter(|event| matches!(event, Event::Congestion(_))).count();
        let fraction = marked as f64 / all as f64;
        match response {
            EcnResponse::NoCwr => {
                assert!((fraction - 0.25).abs() < 0.002, "{fraction}");
                assert_eq!(reductions, 0);
                assert!(marked as u64 <= pipe.stats().ce_marks && pipe.stats().ce_marks - marked as u64 <= 1);
            }
            _ => {
                // An ACK of two packets of which one is marked is an echo as a whole; one reduction per window.
                assert!(fraction > 0.3, "{fraction}");
                let windows = all as f64 / 20.0;
                assert!((reductions as f64 / windows - 1.0).abs() < 0.3, "{reductions} {windows}");
            }
        }
        assert!(acks(&events).windows(2).all(|pair| pair[0].acked_through <= pair[1].acked_through));
    }
}

#[test]
fn the_timer_fires_at_its_time() {
    let (mut recorder, events) = Recorder::new(10.0, Signals::TIMER);
    recorder.every = Some(Span::from_ms(7));
    let (_, events) = record(&Config::default(), (recorder, events), Path::default(), ms(100));
    let times = events.iter().filter_map(|e| if let Event::Timer(at) = e { Some(*at) } else { None });
    assert_eq!(times.collect::<Vec<_>>(), (1..=14).map(|n| ms(7 * n)).collect::<Vec<_>>());
}

#[test]
fn the_driver_paces_at_the_rate_of_the_controller() {
    let (mut recorder, events) = Recorder::new(1000.0, Signals::PACING);
    recorder.rate = Some(Rate::from_bps(5_000_000));
    let (pipe, _) = record(&Config::default(), (recorder, events), Path::default(), ms(2000));
    let sent: usize = pipe.log.iter().filter(|(at, ..)| *at >= ms(1000)).map(|(_, size, _)| size).sum();
    assert!((sent as f64 * 8.0 / 5e6 - 1.0).abs() < 0.005, "{sent}");
}

#[test]
fn an_idle_application_limits_the_samples() {
    let (recorder, events) = Recorder::new(20.0, ALL);
    let config = Config { pacing: Pacing::None, ..Config::default() };
    let mut pipe = Pipe::new(&config, recorder.controller(), Path::default());
    pipe.ends[0].write(5 * 1400, false);
    pipe.open();
    pipe.run(ms(500));
    pipe.ends[0].write(5 * 1400, false);
    pipe.turn(0);
    pipe.run(ms(1000));
    let events = events.lock().unwrap().clone();
    let starts: Vec<_> =
        events.iter().filter_map(|e| if let Event::Start(start) = e { Some(*start) } else { None }).collect();
    let start = starts.iter().find(|start| start.now == ms(500)).expect("transmission starts again");
    assert!(start.app_limited && start.idle > Span::from_ms(400), "{start:?}");
    let last = acks(&events).pop().unwrap();
    assert!(last.rate.is_some_and(|rate| rate.app_limited) && !last.window_limited, "{last:?}");
}

#[test]
fn persistent_congestion_is_a_timeout_and_not_a_second_reduction() {
    let plan = |_, at: Time| Treatment { drop: at > ms(300) && at < ms(3000), ..Treatment::default() };
    let path = Path { plan: Box::new(plan), ..Path::default() };
    let (pipe, events) = record(&Config::default(), Recorder::new(20.0, ALL), path, ms(6000));
    let stats = pipe.stats();
    let timeouts: Vec<_> = events
        .iter()
        .filter_map(|e| if let Event::Rto(timeout) = e { Some(*timeout) } else { None })
        .collect();
    assert_eq!((timeouts.len(), stats.persistent_congestion), (1, 1));
    assert_eq!(stats.cwnd_reductions, 1, "{stats:?}");
    assert!(!timeouts[0].repeated && timeouts[0].window == 20.0);
    assert!(acks(&events).iter().any(|ack| ack.phase == Phase::Loss && ack.may_grow));
    assert!(pipe.handle.lock().phase() == Phase::Open);
}

#[cfg(feature = "tls")]
#[test]
fn the_receivers_clock_passes_tls() {
    for (tls_clock, expected) in [(true, Some(Span::from_ms(10))), (false, None)] {
        let config = Config { tls: true, tls_clock, ..Config::default() };
        assert_eq!(ackclock_quic::missing_signal(Signals::RECEIVER_TIME, &config).is_none(), tls_clock);
        let (pipe, events) = record(&config, Recorder::new(10.0, ALL), Path::default(), ms(500));
        assert!(pipe.delivered() > 100_000);
        assert!(acks(&events).iter().all(|ack| ack.receiver_time.map(|at| ack.now.since(at)) == expected));
    }
}
