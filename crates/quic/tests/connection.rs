//! Whole connections: data, ends, determinism, losses, probes, pacing.

mod common;

use ackclock_quic::{Config, ControllerStats, Ecn, Pacing};
use cc::{Controller, Phase};
use common::{Path, Pipe, Treatment, controller};
use units::{Rate, Span, Time};

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_ms(n)
}

/// A path that treats the sender's datagrams as `plan` says.
fn planned(plan: impl FnMut(u64, Time) -> Treatment + 'static) -> Path {
    Path { plan: Box::new(plan), ..Path::default() }
}

fn dropping(mut drops: impl FnMut(u64, Time) -> bool + 'static) -> Path {
    planned(move |n, at| Treatment { drop: drops(n, at), ..Treatment::default() })
}

/// A number that depends on every datagram of the sender.
fn fingerprint(pipe: &Pipe) -> (u64, u64, ControllerStats) {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (at, size, ecn) in &pipe.log {
        for value in [at.ps(), *size as u64, *ecn as u64] {
            hash = (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    (hash, pipe.delivered(), pipe.stats())
}

#[test]
fn an_endless_flow_fills_the_path() {
    let pipe = Pipe::endless("reno", &Config::default(), Path::default(), 8);
    let goodput = pipe.delivered() as f64;
    assert!((18.5e6..20e6).contains(&goodput), "{goodput}"); // 8 bits, 8 seconds
    assert!(pipe.ends[0].completed().is_none());
}

#[test]
fn equal_settings_give_equal_bytes() {
    let run = |seed| {
        fingerprint(&Pipe::endless("cubic", &Config { seed, ..Config::default() }, Path::default(), 5))
    };
    let first = run(3);
    assert_eq!(first, run(3));
    assert_ne!(first.0, run(4).0);
    // The same in every build; a new version of the stack or of its random numbers changes it, and so results.
    let (hash, delivered, stats) = first;
    assert_eq!((hash, delivered, stats.cwnd_reductions), FINGERPRINT);
}

const FINGERPRINT: (u64, u64, u64) = (16_579_770_865_660_712_421, 11_862_908, 4);

#[test]
fn written_bytes_arrive_and_the_connection_completes() {
    for bytes in [1, 1435, 100_000, 3_000_000] {
        let config = Config::default();
        let mut pipe = Pipe::new(&config, controller("reno", &config, &[]), Path::default());
        pipe.ends[0].write(bytes, true);
        pipe.open();
        pipe.run(ms(5000));
        assert_eq!(pipe.delivered(), bytes);
        let completed = pipe.ends[0].completed().expect("all data is acknowledged");
        // Two round trips: the handshake and the data.
        assert!(completed >= ms(40) && completed < ms(3000), "{bytes} {completed:?}");
        let state = pipe.handle.lock();
        assert_eq!((state.in_flight().packets, state.in_flight().bytes, state.phase()), (0, 0, Phase::Open));
        assert_eq!(state.stream_sent(), bytes);
    }
}

#[test]
fn portions_are_sent_when_they_are_written() {
    let config = Config::default();
    let mut pipe = Pipe::new(&config, controller("reno", &config, &[]), Path::default());
    pipe.ends[0].write(10_000, false);
    pipe.open();
    pipe.run(ms(500));
    assert_eq!((pipe.delivered(), pipe.ends[0].completed()), (10_000, None));
    pipe.ends[0].write(5_000, true);
    pipe.turn(0);
    pipe.run(ms(1000));
    assert_eq!(pipe.delivered(), 15_000);
    assert!(pipe.ends[0].completed().is_some_and(|at| at > ms(500) && at < ms(600)));
    pipe.ends[0].write(5_000, true); // after the end: ignored
    pipe.turn(0);
    pipe.run(ms(2000));
    assert_eq!(pipe.delivered(), 15_000);
}

#[test]
fn a_stopped_flow_sends_little_more_and_completes() {
    let mut pipe = Pipe::endless("reno", &Config::default(), Path::default(), 2);
    let sent = pipe.log.len();
    let in_flight = pipe.handle.lock().in_flight().bytes;
    pipe.ends[0].stop();
    pipe.turn(0);
    pipe.run(ms(4000));
    let more: usize = pipe.log[sent..].iter().map(|(_, size, _)| size).sum();
    assert!(more as u64 <= in_flight / 2 + 20_000, "{more} of {in_flight}");
    assert!(pipe.ends[0].completed().is_some_and(|at| at < ms(2200)));
    assert_eq!(pipe.handle.lock().in_flight().bytes, 0);
    let delivered = pipe.delivered();
    pipe.run(ms(8000));
    assert_eq!(pipe.delivered(), delivered);
}

#[test]
fn a_closed_connection_is_over() {
    let mut pipe = Pipe::endless("vegas", &Config::default(), Path::default(), 1);
    let now = pipe.now();
    pipe.ends[0].close(now);
    pipe.turn(0);
    pipe.run(ms(5000));
    assert!(
        pipe.ends[1].connection_error().is_some_and(|error| error.reason.contains("closed")),
        "{:?}",
        pipe.ends[1].connection_error()
    );
    assert!(pipe.idle());
}

#[test]
fn the_receive_window_limits_the_flow() {
    // The receiver's frames about flow control are acknowledged, so packets without data are among the sender's.
    let config = Config { receive_window: 30_000, ..Config::default() };
    let pipe = Pipe::endless("reno", &config, Path::default(), 10);
    let stats = pipe.stats();
    let rate = pipe.delivered() as f64 / 10.0;
    assert!(rate < 30_000.0 / 0.02 && rate > 0.4 * 30_000.0 / 0.02, "{rate}"); // a window in a round trip
    assert_eq!((stats.unmatched_acks, stats.lost_packets, stats.probe_timeouts), (0, 0, 0), "{stats:?}");
    assert!(stats.rtt_count as f64 > 0.99 * stats.ack_frames as f64, "{stats:?}");
    assert!(pipe.handle.lock().controller().cwnd() < 60.0, "an unused window does not grow");
}

#[test]
fn a_burst_of_losses_reduces_the_window_once() {
    // Three windows, each with a burst of losses: runs of ten, and single losses between.
    let bursts = [400..410, 1000..1030, 2000..2003];
    let path = Path {
        queue: 1000,
        rate: Rate::from_bps(100_000_000),
        ..dropping(move |n, _| bursts.iter().any(|burst| burst.contains(&n)) || n == 1034 || n == 1037)
    };
    let pipe = Pipe::endless("reno", &Config::default(), path, 3);
    let stats = pipe.stats();
    assert_eq!((stats.cwnd_reductions, stats.lost_packets), (3, 45));
    assert!(stats.loss_events > stats.cwnd_reductions, "{stats:?}");
    assert_eq!((stats.probe_timeouts, stats.persistent_congestion), (0, 0));
}

#[test]
fn a_window_is_never_below_two_segments_and_is_not_exceeded() {
    let mut pipe = Pipe::new(
        &Config::default(),
        controller("reno", &Config::default(), &[]),
        dropping(|n, _| n % 4 == 3), // a quarter of all packets
    );
    pipe.watch = Some(Box::new(|now, handle| {
        let state = handle.lock();
        let (window, in_flight) = (state.window_bytes(), state.in_flight().bytes);
        assert!(window >= 2 * 1472);
        // A reduction leaves more in flight; two probes may leave whatever the window is.
        if state.phase() == Phase::Open && state.stats().probe_timeouts == 0 {
            assert!(in_flight <= window, "{now:?}: {in_flight} of {window}");
        }
    }));
    pipe.ends[0].write(300_000, true);
    pipe.open();
    pipe.run(ms(60_000));
    assert_eq!(pipe.delivered(), 300_000);
    let state = pipe.handle.lock();
    let stats = state.stats();
    assert_eq!(stats.sent_packets, stats.acked_packets + stats.lost_packets);
    assert_eq!(state.in_flight().bytes, 0);
}

#[test]
fn reordering_within_the_thresholds_is_no_loss() {
    let late =
        |n: u64, by| Treatment { extra: if n % 20 == 10 { by } else { Span::ZERO }, ..Treatment::default() };
    let run = |by: Span| {
        let config = Config { initial_window: 10.0, ..Config::default() };
        let path = Path { queue: 1000, ..planned(move |n, _| late(n, by)) };
        let mut pipe = Pipe::new(&config, controller("vegas", &config, &[]), path);
        pipe.ends[0].write(2_000_000, true);
        pipe.open();
        pipe.run(ms(20_000));
        assert_eq!(pipe.delivered(), 2_000_000);
        assert_eq!(pipe.handle.lock().in_flight().bytes, 0);
        pipe.stats()
    };
    assert_eq!(run(Span::from_ms(1)).lost_packets, 0); // two packets of 0.6 ms overtake
    let stats = run(Span::from_ms(4)); // six do
    assert!(stats.lost_packets > 30 && stats.unmatched_losses == 0, "{stats:?}");
}

#[test]
fn an_outage_is_probed_and_shows_persistent_congestion() {
    let outage = ms(1000)..ms(5000);
    let mut pipe = Pipe::new(
        &Config::default(),
        controller("reno", &Config::default(), &[]),
        dropping({
            let outage = outage.clone();
            move |_, at| outage.contains(&at)
        }),
    );
    pipe.ends[0].write_endlessly();
    pipe.open();
    pipe.run(ms(5000));
    // The window fills within a round trip; what leaves later are probes, at the doubling intervals of RFC 9002 section
    // 6.2.1, two packets each.
    let mut probes: Vec<Time> = Vec::new();
    for (at, ..) in pipe.log.iter().filter(|(at, ..)| *at > ms(1061)) {
        if probes.last() != Some(at) {
            probes.push(*at);
        }
    }
    assert!(probes.len() >= 4, "{probes:?}");
    for step in probes.windows(3) {
        let (first, second) = (step[1].since(step[0]).seconds(), step[2].since(step[1]).seconds());
        assert!((second / first - 2.0).abs() < 0.05, "{probes:?}");
    }
    let stats = pipe.stats();
    assert_eq!(stats.probe_timeouts, probes.len() as u64);
    assert_eq!(stats.persistent_congestion, 0);
    let window = pipe.handle.lock().controller().cwnd();
    pipe.run(ms(9500)); // the next probe finds the path again
    let stats = pipe.stats();
    assert_eq!(stats.persistent_congestion, 1, "{stats:?}");
    assert!(pipe.log.iter().any(|(at, ..)| *at > ms(5000)));
    let state = pipe.handle.lock();
    assert!(
        state.controller().ssthresh() <= window / 2.0 + 1.0,
        "{} {window}",
        state.controller().ssthresh()
    );
    drop(state);
    let before = pipe.delivered();
    pipe.run(ms(11_500));
    assert!((pipe.delivered() - before) as f64 * 8.0 / 2.0 > 17e6);
}

#[test]
fn a_lost_handshake_is_probed() {
    for lost in [0..1, 0..2, 1..2, 1..4] {
        let config = Config::default();
        let drops = lost.clone();
        let path = dropping(move |n, _| drops.contains(&n));
        let mut pipe = Pipe::new(&config, controller("reno", &config, &[]), path);
        pipe.ends[0].write(50_000, true);
        pipe.open();
        pipe.run(ms(20_000));
        let stats = pipe.stats();
        assert_eq!(pipe.delivered(), 50_000, "{lost:?} {stats:?}");
        assert!((1..=3).contains(&stats.probe_timeouts), "{lost:?} {stats:?}");
        assert_eq!(stats.unmatched_acks, 0);
        // The stack assumes a round-trip time of 333 ms before it has measured one.
        if lost == (0..1) {
            let completed = pipe.ends[0].completed().expect("all data is acknowledged");
            assert!(completed > ms(999) && completed < ms(1200), "{completed:?} {:?}", &pipe.log[..4]);
        }
        assert_eq!(pipe.handle.lock().in_flight().bytes, 0, "{lost:?}");
    }
}

/// The most datagrams that leave at one time after `from`, and the smallest time between two that do not.
fn bursts(pipe: &Pipe, from: Time) -> (usize, Span) {
    let times: Vec<Time> = pipe.log.iter().map(|(at, ..)| *at).filter(|at| *at > from).collect();
    let most = times.chunk_by(|a, b| a == b).map(<[Time]>::len).max().unwrap_or(0);
    let least = times.windows(2).map(|pair| pair[1].since(pair[0])).filter(|span| *span > Span::ZERO).min();
    (most, least.unwrap_or(Span::ZERO))
}

#[test]
fn pacing_spaces_packets() {
    let run = |pacing| {
        let config = Config { pacing, initial_window: 40.0, ..Config::default() };
        Pipe::endless("reno", &config, Path { queue: 60, ..Path::default() }, 2)
    };
    let unpaced = run(Pacing::None);
    assert_eq!(bursts(&unpaced, Time::ZERO).0, 39 + 1, "the window but for the handshake, and its end");
    let stack = run(Pacing::Stack);
    let most = bursts(&stack, Time::ZERO).0;
    assert!((2..40).contains(&most), "{most}");
    let driver = run(Pacing::Driver);
    // After the first round-trip sample one packet at a time.
    let (most, least) = bursts(&driver, ms(70));
    assert_eq!(most, 1);
    assert!(least >= Span::from_ps(20_000_000), "{least}");
    for pipe in [&unpaced, &stack, &driver] {
        assert!(pipe.delivered() > 4_000_000, "{}", pipe.delivered());
    }
}

#[test]
fn a_controller_that_needs_pacing_is_paced_at_its_rate() {
    let config = Config { pacing: Pacing::None, ..Config::default() };
    let pipe = Pipe::endless("bbr", &config, Path::default(), 3);
    assert_eq!(pipe.handle.lock().pacing(), Pacing::Driver);
    assert_eq!(bursts(&pipe, ms(100)).0, 1);
}

#[test]
fn echoes_reduce_the_window_once_per_window_of_data() {
    // Marks on 20 packets of one window, twice.
    let marks = |n: u64| (500..520).contains(&n) || (1500..1520).contains(&n);
    let config = Config { ecn: true, ..Config::default() };
    let path = planned(move |n, _| Treatment { mark: marks(n), ..Treatment::default() });
    let path = Path { queue: 1000, rate: Rate::from_bps(100_000_000), ..path };
    let mut pipe = Pipe::new(&config, controller("reno", &config, &[]), path);
    let mut phases = std::collections::BTreeSet::new();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let changes = seen.clone();
    pipe.watch = Some(Box::new(move |_, handle| {
        let mut state = handle.lock();
        if let Some(cause) = state.take_change().cause {
            changes.lock().unwrap().push(cause);
        }
        phases.insert(state.phase());
    }));
    pipe.ends[0].write_endlessly();
    pipe.open();
    pipe.run(ms(2000));
    let stats = pipe.stats();
    assert_eq!((stats.cwnd_reductions, stats.ce_marks, stats.lost_packets), (2, 40, 0), "{stats:?}");
    assert_eq!(*seen.lock().unwrap(), [transport::WindowCause::Ecn; 2]);
    assert!(pipe.log.iter().all(|(_, _, ecn)| *ecn == Ecn::Ect0));
    // Without ECN nothing is marked.
    let pipe = Pipe::endless("reno", &Config::default(), Path { mark_from: 1, ..Path::default() }, 1);
    assert!(pipe.log.iter().all(|(_, _, ecn)| *ecn == Ecn::NotEct));
    assert_eq!(pipe.stats().ce_marks, 0);
}

#[test]
fn l4s_packets_carry_ect1() {
    let config = Config { ecn: true, l4s: true, ..Config::default() };
    let pipe = Pipe::endless("prague", &config, Path { mark_from: 5, ..Path::default() }, 3);
    assert!(pipe.log.iter().all(|(_, _, ecn)| *ecn == Ecn::Ect1));
    let stats = pipe.stats();
    assert!(stats.ce_marks > 100 && stats.lost_packets == 0, "{stats:?}");
}

#[test]
fn acks_are_sent_as_often_as_asked() {
    let acks = |ack_every, max_ack_delay| {
        let config = Config { ack_every, max_ack_delay, ..Config::default() };
        let stats = Pipe::endless("vegas", &config, Path::default(), 3).stats();
        stats.acked_packets as f64 / stats.ack_frames as f64
    };
    assert!((acks(None, None) - 2.0).abs() < 0.05);
    assert!((acks(Some(1), None) - 1.0).abs() < 0.05);
    assert!((acks(Some(8), None) - 8.0).abs() < 0.5);
    assert!((acks(Some(30), Some(Span::from_ms(3))) - 5.5).abs() < 1.5); // one packet takes 0.6 ms
}

#[test]
fn the_qlog_has_every_packet_and_loss() {
    let config = Config { qlog: Some("a run".into()), ..Config::default() };
    let mut pipe = Pipe::endless("reno", &config, Path::default(), 2);
    let stats = pipe.stats();
    let [client, server] = [0, 1].map(|end| pipe.ends[end].take_qlog().expect("it is recorded"));
    let count = |text: &str, name: &str| text.matches(&format!("\"name\":\"{name}\"")).count();
    assert!(
        client.starts_with("\x1e{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"title\":\"a run\"")
    );
    assert!(count(&client, "transport:packet_sent") >= pipe.log.len()); // a datagram may have several packets
    assert!(stats.lost_packets > 0);
    assert_eq!(count(&client, "recovery:packet_lost") as u64, stats.lost_packets);
    assert_eq!(client.matches("\"new\":\"recovery\"").count() as u64, stats.cwnd_reductions);
    assert!(count(&client, "recovery:metrics_updated") as u64 >= stats.ack_frames);
    assert!(server.contains("\"vantage_point\":{\"type\":\"server\"}"));
    let acks = server.matches("\"frame_type\":\"ack\"").count();
    assert!(acks as u64 >= stats.ack_frames);
    assert!(client.lines().chain(server.lines()).all(|line| line.starts_with('\x1e') && line.ends_with('}')));
    assert_eq!(pipe.ends[0].take_qlog().as_deref(), Some(""));
    assert_eq!(Pipe::endless("reno", &Config::default(), Path::default(), 1).ends[0].take_qlog(), None);
}

#[test]
fn wrong_settings_are_refused() {
    let wrong = [
        ("packet", Config { packet: 1199, ..Config::default() }),
        ("packet", Config { packet: 70_000, ..Config::default() }),
        ("receive_window", Config { receive_window: 10, ..Config::default() }),
        ("l4s", Config { l4s: true, ..Config::default() }),
        ("initial_window", Config { initial_window: f64::NAN, ..Config::default() }),
        ("ack_every", Config { ack_every: Some(0), ..Config::default() }),
        ("max_ack_delay", Config { max_ack_delay: Some(Span::ZERO), ..Config::default() }),
        ("packet_threshold", Config { packet_threshold: 1, ..Config::default() }),
        ("time_threshold", Config { time_threshold: 1.0, ..Config::default() }),
        ("certificate", Config { certificate: 1 << 20, ..Config::default() }),
    ];
    for (field, config) in wrong {
        let error = config.check().expect_err(field);
        assert_eq!(error.field, field);
        assert!(error.to_string().starts_with(field) && error.message.starts_with(['m', 'n']));
        assert!(ackclock_quic::Endpoint::receiver(&config, units::VirtualClock::new()).is_err());
    }
    Config::default().check().unwrap();
}

#[cfg(feature = "tls")]
#[test]
fn tls_changes_neither_reductions_nor_losses() {
    // The certificate of the plain session has the size of that of TLS.
    let run = |tls| {
        let config = Config { tls, ..Config::default() };
        let pipe = Pipe::endless("cubic", &config, Path::default(), 8);
        let stats = pipe.stats();
        (stats.cwnd_reductions, stats.lost_packets, pipe.delivered() / 100_000)
    };
    assert_eq!(run(true), run(false));
}

#[cfg(feature = "tls")]
#[test]
fn a_tls_session_is_not_resumed_and_its_secrets_are_told() {
    let config = Config { tls: true, qlog: Some("a run".into()), ..Config::default() };
    let run = || Pipe::endless("cubic", &config, Path::default(), 1);
    let (mut first, mut second) = (run(), run());
    // A resumed handshake has CRYPTO frames of other lengths.
    for end in 0..2 {
        assert_eq!(first.ends[end].take_qlog(), second.ends[end].take_qlog());
    }
    let secrets = [&first, &second].map(|pipe| pipe.ends[0].tls_secrets());
    assert_ne!(secrets[0], secrets[1]);
    for label in ["CLIENT_HANDSHAKE_TRAFFIC_SECRET ", "SERVER_TRAFFIC_SECRET_0 "] {
        let line = secrets[0].lines().find(|line| line.starts_with(label)).expect(label);
        let [_, random, secret] = line.split(' ').collect::<Vec<_>>().try_into().expect("three words");
        assert_eq!(random.len(), 64);
        assert!(secret.len() >= 64 && secret.bytes().all(|digit| digit.is_ascii_hexdigit()), "{line}");
    }
    assert_eq!(first.ends[1].tls_secrets(), "");
    let plain = Pipe::endless("cubic", &Config::default(), Path::default(), 1);
    assert_eq!(plain.ends[0].tls_secrets(), "");
}
