//! Accurate ECN feedback (RFC 9768) over a path that loses ACKs: the sender's count of marked packets is that of the path, and
//! the average of DCTCP is the marked fraction. Feedback per packet (RFC 8257) gives other averages there.

mod closed_loop;

use ackclock_transport::{EcnFeedback, Options};
use closed_loop::{Exchange, MarkCounts, Path};
use units::{Span, Time};

const SEEDS: std::ops::Range<u64> = 1..9;
const END: Time = Time::from_ps(60_000_000_000_000);

fn counts(options: &Options, controller: &str, path: Path, seed: u64) -> MarkCounts {
    Exchange::new(options, controller, None, path, seed).run_with_marks(END)
}

fn options(ecn_feedback: EcnFeedback) -> Options {
    Options { ecn: true, ecn_feedback, ..Options::linux() }
}

/// How far the mean average of DCTCP is above the marked fraction.
fn error(counts: &MarkCounts) -> f64 {
    counts.alpha - counts.marked as f64 / counts.arrived as f64
}

/// The sender has counted all marks but those of the last window.
fn assert_counted(counts: &MarkCounts, text: &str) {
    assert!(counts.counted <= counts.marked && counts.marked <= counts.counted + 20, "{text}: {counts:?}");
}

#[test]
fn the_average_is_the_marked_fraction_although_acks_are_lost() {
    let path = Path { mark: 100, ack_loss: 300, queue: 100, ..Path::default() };
    let mut outside = 0;
    for seed in SEEDS {
        let accurate = counts(&options(EcnFeedback::Accurate), "dctcp", path, seed);
        assert_counted(&accurate, "accurate");
        assert!(error(&accurate).abs() < 0.01, "seed {seed}: {accurate:?}");
        // The next ACK that arrives stands for the segments of the lost ones too.
        let per_packet = counts(&options(EcnFeedback::PerPacket), "dctcp", path, seed);
        outside += (error(&per_packet) > 0.01) as u32;
        // Without the option an ACK of more than seven segments counts as many marks as are possible.
        let field = Options { accecn_option: false, ..options(EcnFeedback::Accurate) };
        let field = counts(&field, "dctcp", path, seed);
        assert!(field.counted > field.marked && error(&field) > 0.01, "seed {seed}: {field:?}");
    }
    assert!(outside >= 7, "{outside} of 8");
}

#[test]
fn the_field_alone_is_exact_if_few_acks_are_lost() {
    let path = Path { mark: 100, ack_loss: 10, queue: 100, ..Path::default() };
    for seed in SEEDS {
        let field = Options { accecn_option: false, ..options(EcnFeedback::Accurate) };
        let field = counts(&field, "dctcp", path, seed);
        assert_counted(&field, "the field");
        assert!(error(&field).abs() < 0.01, "seed {seed}: {field:?}");
    }
}

#[test]
fn merged_segments_do_not_change_the_average() {
    let [short, long] = [8, 48].map(Span::from_ms); // all that arrive in this time arrive at once
    let run = Path { mark: 2, mark_run: 20, queue: 1000, slot: long, ..Path::default() };
    for (name, path, stationary) in [
        ("marks of 10 %", Path { mark: 100, queue: 100, slot: short, ..Path::default() }, true),
        ("marks of 2 %", Path { mark: 20, queue: 1000, slot: long, ..Path::default() }, true),
        (
            "marks, lost ACKs",
            Path { mark: 20, ack_loss: 300, queue: 1000, slot: long, ..Path::default() },
            false,
        ),
        ("runs of marks", run, false),
        ("runs of marks, lost ACKs", Path { ack_loss: 300, ..run }, false),
        ("runs of marks, losses", Path { loss: 3, ..run }, false),
        ("runs of marks, reordering", Path { late: 30, ..run }, false),
    ] {
        for seed in SEEDS {
            let options = Options { gro: true, ..options(EcnFeedback::Accurate) };
            let accurate = counts(&options, "dctcp", path, seed);
            assert_counted(&accurate, name);
            assert!(!stationary || error(&accurate).abs() < 0.01, "{name}, seed {seed}: {accurate:?}");
        }
    }
}

#[test]
fn other_controllers_reduce_once_a_round_trip_and_send_no_cwr() {
    for controller in ["reno", "cubic", "vegas", "prague"] {
        let path = Path { mark: 20, queue: 100, ..Path::default() };
        let options = options(EcnFeedback::Accurate);
        let mut exchange = Exchange::new(&options, controller, None, path, 3);
        let counts = exchange.run_with_marks(END);
        assert_counted(&counts, controller);
        assert!(!exchange.sent_cwr(), "{controller}");
        let reductions = exchange.sender.stats().cwnd_reductions as u64;
        // Prague reduces its window itself.
        let expected = if controller == "prague" { 0..=1 } else { counts.marked / 2..=counts.marked };
        assert!(expected.contains(&reductions), "{controller}, {reductions} reductions: {counts:?}");
    }
}
