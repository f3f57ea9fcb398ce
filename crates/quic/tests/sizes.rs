//! Datagrams of every permitted size.

mod common;

use ackclock_quic::{Config, Pacing};
use common::{Path, Pipe, Treatment, controller};
use units::{Rate, Span, Time};

/// Sizes of UDP payloads around the limits of the stack: its congestion window for a server, 12,000 bytes, and the most of a
/// packet with a long header, 16,383 bytes.
const SIZES: [u32; 14] =
    [1200, 1472, 5999, 6001, 6500, 8972, 12_001, 14_000, 16_383, 16_384, 16_385, 20_000, 30_000, 65_527];

fn seconds(n: u64) -> Time {
    Time::ZERO + Span::from_ms(1000 * n)
}

#[test]
fn every_size_uses_the_path() {
    for packet in SIZES {
        for (name, pacing) in [("cubic", Pacing::Stack), ("reno", Pacing::None), ("bbr", Pacing::Driver)] {
            let config = Config { packet, pacing, ..Config::default() };
            let queue = (300_000 / packet as usize).max(10);
            let path = Path { rate: Rate::from_bps(50_000_000), queue, ..Path::default() };
            let mut pipe = Pipe::new(&config, controller(name, &config, &[]), path);
            pipe.ends[0].write_endlessly();
            pipe.open();
            pipe.run(seconds(4));
            let before = pipe.stats().acked_packets;
            pipe.run(seconds(8));
            let packets = pipe.stats().acked_packets - before;
            let used = packets as f64 * (packet + 28) as f64 * 8.0 / 4.0 / 50e6;
            assert!((0.99..1.01).contains(&used), "{packet} {name}: {used} {:?}", pipe.stats());
            // Stream data but for headers and tags, and what waits for a retransmission.
            assert!(pipe.delivered() as f64 > 0.9 * pipe.stats().acked_packets as f64 * packet as f64);
            assert_eq!(pipe.ends.each_ref().map(|end| end.connection_error()), [None; 2]);
        }
    }
}

#[cfg(feature = "tls")]
#[test]
fn every_size_runs_under_tls() {
    for packet in SIZES {
        let config = Config { packet, tls: true, ..Config::default() };
        let mut pipe = Pipe::new(&config, controller("cubic", &config, &[]), Path::default());
        pipe.ends[0].write(1_000_000, true);
        pipe.open();
        pipe.run(seconds(10));
        assert_eq!(pipe.delivered(), 1_000_000, "{packet} {:?}", pipe.stats());
        assert_eq!(pipe.ends.each_ref().map(|end| end.connection_error()), [None; 2]);
    }
}

/// Losses after which the stack concludes that the path does not carry the size (RFC 8899 section 4.3) do not reduce it.
#[test]
fn heavy_losses_do_not_reduce_the_size() {
    let mut reductions = 0;
    for seed in 1..=20_u64 {
        let config = Config { packet: 20_000, seed, ..Config::default() };
        let lost = move |n: u64, at: Time| Treatment {
            drop: at < seconds(20) && n > 3 && (n * 7919 + seed * 104_729) % 101 < 60,
            ..Treatment::default()
        };
        let path = Path { plan: Box::new(lost), ..Path::default() };
        let mut pipe = Pipe::endless("reno", &config, path, 30);
        let stack = pipe.ends[0].stack_stats().expect("it is connected").path;
        reductions += stack.black_holes_detected;
        assert_eq!(stack.current_mtu, 20_000, "seed {seed}");
        let before = pipe.stats().acked_packets;
        pipe.run(seconds(32));
        let rate = (pipe.stats().acked_packets - before) as f64 * 20_028.0 * 8.0 / 2.0;
        assert!(rate > 0.99 * 20e6, "seed {seed}: {rate}");
    }
    assert!(reductions > 0, "the losses are not heavy enough for this test");
}

#[test]
fn every_size_survives_a_lossy_handshake() {
    for packet in SIZES {
        // Every combination of losses of the first three datagrams of each end; the largest and the smallest certificate.
        for case in 0..128_u64 {
            let certificate = if case & 64 == 0 { 800 } else { 16_000 };
            let config = Config { packet, certificate, ..Config::default() };
            let drops = |bits: u64| {
                move |n: u64, _: Time| Treatment { drop: n < 3 && bits >> n & 1 == 1, ..Treatment::default() }
            };
            let path =
                Path { plan: Box::new(drops(case)), back: Box::new(drops(case >> 3)), ..Path::default() };
            let mut pipe = Pipe::new(&config, controller("cubic", &config, &[]), path);
            pipe.ends[0].write(100_000, true);
            pipe.open();
            pipe.run(seconds(60));
            assert_eq!(pipe.delivered(), 100_000, "{packet} {case:#b} {:?}", pipe.stats());
            assert!(pipe.ends[0].completed().is_some(), "{packet} {case:#b}");
            assert_eq!(pipe.handle.lock().in_flight().bytes, 0, "{packet} {case:#b}");
        }
    }
}
