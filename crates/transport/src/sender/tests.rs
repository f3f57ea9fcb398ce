//! What all recoveries share: writes, completion, samples, integrals, hand-offs.

use super::*;
use crate::options::Recovery;
use crate::testing::{Driver, block, ms, sender};
use crate::{FlowTimer, SendLimit};
use cc::Phase;
use units::Span;

fn options(recovery: Recovery) -> Options {
    Options { recovery, timestamps: false, ..Options::linux() }
}

#[test]
fn data_is_sent_as_the_application_writes_it() {
    for (recovery, _) in Recovery::ALL.iter().copied() {
        let mut d = Driver::start({
            let mut sender = sender(&options(recovery), "reno", None);
            sender.write_in_portions();
            sender
        });
        assert_eq!(d.sent(), [0], "{recovery:?}");
        d.context.now = ms(50);
        d.sender.on_write(&mut d.context, 2, false);
        assert!(d.sent().is_empty(), "{recovery:?}: before the handshake");
        assert_eq!(d.ack_at(100, 1, &[]), [1, 2]);
        d.sender.on_write(&mut d.context, 3, true);
        assert_eq!(d.sent(), [3, 4, 5], "{recovery:?}");
        d.ack_at(200, 5, &[]);
        assert_eq!(d.sender.completed(), None);
        d.ack_at(210, 6, &[]);
        assert_eq!(d.sender.completed(), Some(ms(210)), "{recovery:?}");
        assert_eq!(d.context.first_timer(), None);
        assert_eq!((d.sender.stats().sent, d.sender.stats().retransmitted), (5, 0));
        // A complete flow does nothing more.
        d.sender.on_write(&mut d.context, 1, true);
        assert!(d.sent().is_empty());
    }
}

#[test]
fn a_stopped_flow_ends_with_what_it_has_sent() {
    let mut d = Driver::start(sender(&options(Recovery::NewReno), "reno", None));
    d.ack_at(100, 1, &[]);
    d.sender.on_stop(&mut d.context);
    assert_eq!(d.sender.completed(), None);
    assert!(d.ack_at(200, 11, &[]).is_empty());
    assert_eq!(d.sender.completed(), Some(ms(200)));
}

#[test]
fn integrals_of_the_window_and_round_trip_samples() {
    let options = Options { initial_ssthresh: 20.0, ..options(Recovery::NewReno) };
    let mut d = Driver::start(sender(&options, "reno", Some(1000)));
    d.ack_at(100, 1, &[]); // 1 for 100 ms, then 10
    d.ack_at(300, 2, &[]); // 10 for 200 ms, then 11
    d.sender.finish(ms(400));
    let stats = d.sender.stats();
    assert!((stats.cwnd_area - (0.1 + 2.0 + 1.1)).abs() < 1e-9, "{}", stats.cwnd_area);
    assert!((stats.ssthresh_area - 8.0).abs() < 1e-9, "{}", stats.ssthresh_area);
    // The sample of the handshake is not the controller's.
    assert_eq!((stats.rtt_count, stats.rtt_min), (1, Span::from_ms(200)));
    assert!((stats.rtt_sum - 0.2).abs() < 1e-12);
    assert_eq!(d.sender.shown_window(), (11.0, 20.0));
    d.ack_at(450, 3, &[]);
    assert_eq!((d.sender.stats().rtt_count, d.sender.stats().rtt_min), (2, Span::from_ms(200)));
}

#[test]
fn a_lost_syn_makes_the_initial_window_one_segment() {
    for recovery in [Recovery::NewReno, Recovery::Rack] {
        let mut d = Driver::start(sender(&options(recovery), "reno", None));
        d.sent();
        let (timer, at, sent) = d.fire();
        assert_eq!((timer, at, sent), (FlowTimer::Retransmit, ms(1000), vec![0]), "{recovery:?}");
        assert_eq!(d.ack_at(1100, 1, &[]), [1], "{recovery:?}");
        assert_eq!(d.cwnd(), 1.0);
    }
}

#[test]
fn the_pacer_spreads_the_window_over_the_round_trip() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let options = Options { pacing: true, initial_ssthresh: 4.0, ..options(recovery) };
        let mut d = Driver::start(sender(&options, "reno", None));
        assert_eq!(d.ack_at(100, 1, &[]), [1]);
        let mut times = Vec::new();
        while let Some((FlowTimer::Pace, at)) = d.context.first_timer() {
            times.push(at);
            assert_eq!(d.fire().2.len(), 1);
        }
        assert_eq!(times.len(), 9, "{recovery:?}");
        // 1.2 windows of ten segments in 100 ms: a gap of 8.33 ms.
        let last = times[8].since(ms(100)).seconds();
        assert!((last - 9.0 * 0.1 / 12.0).abs() < 1e-4, "{recovery:?}: {last}");
        assert_eq!(d.sender.limited_by(), SendLimit::CongestionWindow);
    }
}

#[test]
fn the_pacer_releases_the_quantum_of_the_controller_at_once() {
    for (gso_max_segs, burst) in [(65_535, 2), (1, 1)] {
        let mut d = Driver::start(sender(&Options { gso_max_segs, ..options(Recovery::Rack) }, "bbr", None));
        assert_eq!(d.ack_at(100, 1, &[]).len(), burst);
        let (timer, at, sent) = d.fire();
        assert_eq!((timer, sent.len()), (FlowTimer::Pace, burst));
        // The first rate: 2.89 windows of ten segments in 100 ms, less one percent.
        let gap = burst as f64 * 0.1 / (10.0 * 739.0 / 256.0 * 0.99);
        assert!((at.since(ms(100)).seconds() - gap).abs() < 1e-6, "{at:?}");
    }
}

#[test]
fn acks_of_a_complete_flow_and_of_data_never_sent_change_nothing() {
    let mut d = Driver::start(sender(&options(Recovery::NewReno), "reno", Some(3)));
    d.ack_at(100, 1, &[]);
    d.ack_at(150, 9, &[]);
    assert_eq!(d.sender.highest_ack(), 0);
    d.ack_at(200, 4, &[]);
    assert_eq!((d.sender.highest_ack(), d.sender.acked_segments()), (3, 3));
    let cwnd = d.cwnd();
    d.ack_at(300, 4, &[block(2, 3)]);
    assert_eq!((d.cwnd(), d.sender.completed()), (cwnd, Some(ms(200))));
}

#[test]
fn a_burst_is_bounded() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let mut d = Driver::start(sender(&Options { max_burst: 3, ..options(recovery) }, "reno", None));
        assert_eq!(d.ack_at(100, 1, &[]), [1, 2, 3], "{recovery:?}");
        assert_eq!(d.ack_at(200, 4, &[]), [4, 5, 6], "{recovery:?}");
    }
}

#[test]
fn the_receive_window_bounds_what_is_outstanding() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let mut d = Driver::start(sender(&Options { window: 4, ..options(recovery) }, "reno", None));
        assert_eq!(d.ack_at(100, 1, &[]), [1, 2, 3, 4], "{recovery:?}");
        assert_eq!(d.sender.limited_by(), SendLimit::ReceiveWindow);
        assert_eq!((d.sender.in_flight(), d.sender.receive_window()), (4, 4));
        assert_eq!(d.ack_at(200, 2, &[]), [5]);
    }
    let mut d = Driver::start(sender(&options(Recovery::Rack), "reno", None));
    d.sender.set_receive_window(2);
    assert_eq!(d.ack_at(100, 1, &[]), [1, 2]);
}

#[test]
fn vegas_opens_at_the_second_ack() {
    let options = Options { recovery: Recovery::Reno, ..Options::ns2() };
    let mut d = Driver::start(sender(&options, "vegas", None));
    assert_eq!(d.ack_at(100, 1, &[]), [1]);
    assert_eq!(d.sender.phase(), Phase::Open);
    let sent = d.ack_at(200, 2, &[]);
    assert!(sent.len() >= 2, "{sent:?}");
}
