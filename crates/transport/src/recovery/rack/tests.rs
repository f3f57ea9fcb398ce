//! Transfers with losses, timeouts, probes, undo and ECN echoes.

use super::State;
use crate::context::FlowTimer;
use crate::options::{Options, UndoBy, Validation};
use crate::testing::{Driver, block, ms, sender};
use net::{Packet, PacketKind};
use units::{Span, Time};

fn driver(controller: &str, segments: Option<u32>) -> Driver {
    let options = Options { timestamps: false, sack_blocks: 4, ..Options::linux() };
    let mut d = Driver::with(options, controller, 10.0, segments);
    assert_eq!(d.sent().len(), segments.map_or(10, |n| n.min(10)) as usize);
    d
}

/// After a handshake of 100 ms `segments` segments, 1 and up, are sent; segment 0 is the SYN.
fn connected(options: Options, segments: u32) -> Driver {
    let mut d = Driver::start(sender(&options, "reno", Some(segments)));
    assert_eq!(d.sent(), [0]);
    let sent = d.ack_at(100, 1, &[]);
    assert_eq!(sent, (1..=segments.min(10)).collect::<Vec<_>>());
    d
}

fn without_timestamps() -> Options {
    Options { timestamps: false, sack_blocks: 4, ..Options::linux() }
}

/// State, then packets out, sacked, lost, and in retransmission.
fn counts(d: &Driver) -> (State, [u32; 4]) {
    let s = d.sender.snapshot().unwrap();
    (s.state, [s.packets_out, s.sacked_out, s.lost_out, s.retrans_out])
}

#[test]
fn prr_after_four_losses() {
    // The vector of docs/specs/linux-sender.md section 5: 0 to 3 are lost, 20 segments in all.
    let mut d = driver("cubic", Some(20));
    assert_eq!(d.ack_at(10, 0, &[block(4, 5)]), [10]);
    assert_eq!(d.ack_at(11, 0, &[block(4, 6)]), [11]);
    assert_eq!(counts(&d), (State::Disorder, [12, 2, 0, 0]));
    assert_eq!(d.ack_at(12, 0, &[block(4, 7)]), [0]);
    assert_eq!(counts(&d), (State::Recovery, [12, 3, 4, 1]));
    assert_eq!(d.ssthresh(), 7.0);
    for (end, again) in [(8, 1), (9, 2), (10, 3)] {
        assert_eq!(d.ack_at(5 + end as u64, 0, &[block(4, end)]), [again]);
    }
    assert_eq!(d.ack_at(20, 0, &[block(4, 11)]), [12]);
    assert_eq!(d.ack_at(21, 0, &[block(4, 12)]), [13]);
    assert_eq!(d.ack_at(22, 1, &[block(4, 12)]), [14, 15]);
    assert_eq!(d.ack_at(25, 1, &[block(2, 12)]), [1, 16]); // the repetition of 1 was passed over: lost again
    assert_eq!(d.ack_at(30, 1, &[block(2, 13)]), [17]);
    assert_eq!(d.ack_at(31, 1, &[block(2, 14)]), [18]);
    assert_eq!(d.sender.snapshot().unwrap().delivered, 13);
    assert_eq!(d.sender.stats().retransmitted, 5);
}

#[test]
fn a_dsack_for_the_only_retransmission_undoes_the_reduction() {
    let mut d = driver("reno", Some(10));
    assert_eq!(d.ack_at(100, 0, &[block(1, 4)]), [0]);
    assert_eq!((d.cwnd(), d.ssthresh()), (8.0, 5.0));
    assert!(d.ack_at(100, 4, &[]).is_empty());
    assert_eq!(d.cwnd(), 7.0);
    assert!(d.ack_at(110, 4, &[block(0, 1)]).is_empty());
    assert_eq!((d.cwnd(), d.ssthresh()), (10.0, f64::INFINITY));
    assert_eq!(counts(&d), (State::Open, [6, 0, 0, 0]));
    assert_eq!(d.sender.snapshot().unwrap().dsacks, 1);
}

#[test]
fn one_report_sets_the_reordering_timer() {
    let mut d = driver("reno", None);
    assert_eq!(d.ack_at(100, 0, &[block(1, 2)]), [10]);
    let (timer, at, sent) = d.fire();
    assert_eq!((timer, at, sent), (FlowTimer::Retransmit, ms(127), vec![0]));
    assert_eq!((d.cwnd(), d.ssthresh(), d.sender.in_flight()), (10.0, 5.0, 10));
    assert_eq!(counts(&d), (State::Recovery, [11, 1, 1, 1]));
}

#[test]
fn silence_brings_a_probe_then_a_timeout() {
    let mut d = connected(without_timestamps(), 10);
    let (_, at, sent) = d.fire();
    assert_eq!((at, sent), (ms(302), vec![10])); // two round trips and 2 ms; the last segment again
    assert_eq!((d.cwnd(), counts(&d).0), (10.0, State::Open));
    let (_, at, sent) = d.fire();
    assert_eq!((at, sent), (ms(602), vec![1])); // the timeout of 300 ms counts from the probe
    assert_eq!((d.cwnd(), d.ssthresh(), d.sender.rto()), (1.0, 5.0, Span::from_ms(600)));
    assert_eq!(counts(&d), (State::Loss, [10, 0, 10, 1]));
    assert_eq!((d.sender.stats().timeouts, d.sender.backoff()), (1, 1));
    let (_, at, sent) = d.fire();
    assert_eq!((at, sent), (ms(1202), vec![1]));
    assert_eq!((d.sender.stats().timeouts, d.ssthresh()), (2, 5.0)); // reduced once
}

#[test]
fn frto_undoes_a_timeout_when_an_original_arrives() {
    let options = Options { tail_loss_probe: false, ..without_timestamps() };
    let mut d = connected(options, 40);
    let (_, at, sent) = d.fire();
    assert_eq!((at, sent), (ms(400), vec![1]));
    // Segment 2 was sent once: its ACK shows that the timeout was spurious.
    assert_eq!(d.ack_at(410, 3, &[]).len(), 4);
    assert_eq!((d.cwnd(), d.ssthresh()), (12.0, f64::INFINITY));
    assert_eq!(counts(&d), (State::Open, [12, 0, 0, 0]));
    // Without it the window stays reduced.
    let undo = UndoBy { dsack: true, timestamps: true, frto: false };
    let mut d = connected(Options { undo, tail_loss_probe: false, ..without_timestamps() }, 40);
    d.fire();
    d.ack_at(410, 3, &[]);
    assert_eq!((d.ssthresh(), counts(&d).0), (5.0, State::Loss));
}

#[test]
fn frto_sends_new_data_first_and_gives_up_on_a_report() {
    let mut d = connected(Options { tail_loss_probe: false, ..without_timestamps() }, 40);
    d.fire();
    assert_eq!(d.ack_at(500, 2, &[]), [11, 12]); // the retransmission only: two new segments
    assert_eq!(counts(&d).0, State::Loss);
    let sent = d.ack_at(600, 2, &[block(11, 12)]);
    assert_eq!(sent.first(), Some(&2)); // the new data arrived before the old: the loss was real
    assert_eq!(d.ssthresh(), 5.0);
}

#[test]
fn an_echo_older_than_the_retransmission_undoes() {
    let mut d = connected(Options::linux(), 40);
    let sack = |at: u64, next: u32, echo: u64| {
        let packet = Packet::new(PacketKind::Ack, 0, 0, next, 52, ms(at));
        (ms(at), Packet { echo: ms(echo), ..packet })
    };
    let (at, packet) = sack(200, 1, 100);
    assert_eq!(d.ack_with(at, packet, &[block(2, 5)]).first(), Some(&1));
    assert_eq!(counts(&d).0, State::Recovery);
    let (at, packet) = sack(210, 5, 100); // the original of 1 arrived
    d.ack_with(at, packet, &[]);
    assert_eq!((counts(&d).0, d.ssthresh()), (State::Open, f64::INFINITY));
    assert!(d.cwnd() >= 10.0);
    assert!(d.sender.snapshot().unwrap().reordering_seen > 0);
}

#[test]
fn a_probe_that_repaired_a_loss_reduces_the_window() {
    let mut d = connected(without_timestamps(), 10);
    assert!(d.ack_at(200, 10, &[]).is_empty()); // segment 10 is lost
    let cwnd = d.cwnd();
    let (_, at, sent) = d.fire();
    assert_eq!(sent, [10]);
    assert!(at <= ms(500), "{at:?}");
    d.sender.on_write(&mut d.context, 3, true);
    assert_eq!(d.sent(), [11, 12, 13]);
    d.ack_at(600, 11, &[]); // undecided
    assert!(d.cwnd() > cwnd);
    let cwnd = d.cwnd();
    d.ack_at(610, 12, &[]);
    assert_eq!((d.cwnd(), d.ssthresh()), ((cwnd / 2.0).floor(), (cwnd / 2.0).floor()));
    assert_eq!(counts(&d).0, State::Open);
    // A DSACK for the probe says that nothing was lost.
    let mut d = connected(without_timestamps(), 10);
    d.ack_at(200, 10, &[]);
    d.fire();
    d.ack_at(600, 11, &[]);
    d.ack_at(610, 11, &[block(10, 11)]);
    assert_eq!((d.ssthresh(), d.sender.stats().cwnd_reductions), (f64::INFINITY, 0));
}

#[test]
fn a_probe_with_new_data_waits_for_the_pacer() {
    let options = Options { pacing: true, pacing_gain: [0.01, 0.01], ..without_timestamps() };
    let mut d = Driver::start(sender(&options, "reno", None));
    d.ack_at(100, 1, &[]);
    // The pacer permits one segment in a whole second; the probe is due after 300 ms.
    let (timer, at, sent) = d.fire();
    assert_eq!((timer, sent), (FlowTimer::Retransmit, vec![]));
    assert!(at < ms(500), "{at:?}");
    let paced = d.context.timer_of(FlowTimer::Pace);
    assert!(paced > ms(900), "{paced:?}");
}

#[test]
fn an_ecn_echo_reduces_the_window_over_a_round_trip() {
    let options = Options { ecn: true, ..without_timestamps() };
    let mut d = connected(options, 100);
    let echo = |d: &mut Driver, at: u64, next: u32| {
        let packet =
            Packet { ece: net::EcnEcho::ECE, ..Packet::new(PacketKind::Ack, 0, 0, next, 52, ms(at)) };
        d.ack_with(ms(at), packet, &[])
    };
    assert_eq!(echo(&mut d, 200, 2).len(), 1);
    assert_eq!((counts(&d).0, d.ssthresh()), (State::Cwr, 5.0));
    assert!(d.context.sent.iter().all(|(packet, _)| !packet.cwr));
    for next in 3..=11 {
        echo(&mut d, 200, next);
    }
    assert_eq!((d.cwnd(), d.sender.stats().cwnd_reductions), (5.0, 1));
    d.ack_at(300, 12, &[]);
    assert_eq!((counts(&d).0, d.cwnd()), (State::Open, 5.0));
}

#[test]
fn without_sack_duplicates_count_as_arrivals() {
    let options = Options { sack: false, ..without_timestamps() };
    let mut d = connected(options, 100);
    assert_eq!(d.ack_at(200, 1, &[]), [11]); // limited transmit
    assert_eq!(d.ack_at(200, 1, &[]), [12]);
    assert_eq!(d.ack_at(200, 1, &[]), [1]);
    assert_eq!(counts(&d), (State::Recovery, [12, 3, 1, 1]));
    assert!(d.ack_at(300, 4, &[]).is_empty()); // partial: 4 is the next hole, and the window is still full
    assert_eq!(counts(&d), (State::Recovery, [9, 1, 1, 0]));
    assert_eq!(d.ack_at(301, 4, &[]), [4]);
    d.ack_at(400, 13, &[]);
    assert_eq!(d.ssthresh(), 5.0);
    d.ack_at(500, 14, &[]);
    assert_eq!((counts(&d).0, d.cwnd()), (State::Open, 5.0));
}

#[test]
fn an_unused_window_shrinks_after_a_timeout() {
    // Linux: once, halfway from 40 to the initial window of 10. Otherwise five segments let the window grow by five.
    for (validation, expected) in [(Validation::Linux, 25.0), (Validation::None, 45.0)] {
        let options = Options { validation, ..without_timestamps() };
        let mut d = Driver::start({
            let mut sender = sender(&options, "reno", None);
            sender.write_in_portions();
            sender
        });
        d.ack_at(100, 1, &[]);
        d.sender.on_write(&mut d.context, 30, false);
        (2..=31).for_each(|next| drop(d.ack_at(200, next, &[])));
        assert_eq!(d.cwnd(), 40.0);
        for at in (300..=700).step_by(100) {
            d.context.now = Time::ZERO + Span::from_ms(at);
            d.sender.on_write(&mut d.context, 1, false);
            let next = 31 + (at / 100 - 2) as u32;
            d.ack_at(at + 50, next, &[]);
        }
        assert_eq!(d.cwnd(), expected, "{validation:?}");
    }
}

#[test]
fn a_threshold_that_slow_start_lowers_is_the_target_of_the_reduction() {
    use cc::Controller;
    let mut d = driver("reno", Some(10));
    d.ack_at(100, 0, &[block(1, 4)]);
    assert_eq!((d.cwnd(), d.ssthresh()), (8.0, 5.0));
    // What HyStart does: the window is below the threshold, and becomes the threshold.
    d.sender.connection.controller.set_window(4.0);
    d.sender.connection.controller.set_ssthresh(4.0);
    d.ack_at(100, 0, &[block(1, 5)]);
    d.ack_at(200, 10, &[]);
    // The window of 4 grows by one with the six segments of this ACK.
    assert_eq!((d.cwnd(), d.ssthresh()), (5.0, 4.0));
    assert_eq!(d.sender.phase(), cc::Phase::Open);
}
