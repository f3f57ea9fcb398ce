//! Tests of the recoveries ACK by ACK, with expected values computed by hand from the RFCs.

use cc::{AnyController, Controller, FlowInfo, Params};
use net::{Packet, PacketKind};
use std::sync::Arc;
use transport::{AckOptions, Block, FlowContext, FlowTimer, Options, Recovery, Sender, Setup, WindowRow};
use units::{Span, Time};

/// A context that only records what is sent.
#[derive(Default)]
struct Notes {
    now: Time,
    sent: Vec<u32>,
    timers: [Option<Time>; FlowTimer::COUNT as usize],
}

impl FlowContext for Notes {
    const WINDOWS: bool = false;
    const SENDS: bool = true;
    fn now(&self) -> Time {
        self.now
    }
    fn send(&mut self, packet: Packet, _options: &AckOptions) {
        self.sent.push(packet.seq);
    }
    fn set_timer(&mut self, timer: FlowTimer, at: Time) {
        self.timers[timer as usize] = (at != Time::NEVER).then_some(at);
    }
    fn timer(&self, timer: FlowTimer) -> Time {
        self.timers[timer as usize].unwrap_or(Time::NEVER)
    }
    fn window(&mut self, _row: &WindowRow) {}
    fn sending(&mut self, in_flight: u32, window: u32) {
        assert!(in_flight <= window, "{in_flight} in flight with a window of {window}");
    }
}

struct Driver {
    sender: Sender,
    notes: Notes,
}

impl Driver {
    /// A sender with window `cwnd` (and threshold) that has sent segments 0 to cwnd - 1.
    fn new(options: Options, cwnd: f64) -> Driver {
        let options = Options {
            syn: false,
            delay_growth: false,
            initial_window: cwnd,
            initial_ssthresh: cwnd,
            limited_transmit: false,
            window: 1000,
            ..options
        };
        let flow = FlowInfo {
            initial_window: cwnd,
            initial_ssthresh: cwnd,
            max_window: f64::INFINITY,
            arithmetic: options.arithmetic(),
            fine_clock: false,
            abe: false,
            packet: 1000,
            seed: 1,
        };
        let descriptor = cc::CONTROLLERS.iter().find(|d| d.name == "reno").unwrap();
        let controller =
            AnyController::new("reno", &Params::new(descriptor.params, []).unwrap(), &flow).unwrap();
        let setup =
            Setup { flow: 0, route: 0, segments: None, clock_phase: Span::ZERO, quick_start_path: false };
        let mut driver =
            Driver { sender: Sender::new(setup, Arc::new(options), controller), notes: Notes::default() };
        driver.sender.on_start(&mut driver.notes);
        driver
    }

    /// An ACK for everything below `next`; what is sent in answer.
    fn ack(&mut self, next: u32, blocks: &[Block]) -> Vec<u32> {
        self.notes.now += Span::from_ms(1);
        self.notes.sent.clear();
        let packet = Packet::new(PacketKind::Ack, 0, 0, next, 40, self.notes.now);
        let mut options = AckOptions::NONE;
        for block in blocks {
            assert!(options.blocks.push(*block));
        }
        self.sender.on_ack(&mut self.notes, &packet, &options);
        self.notes.sent.clone()
    }

    fn cwnd(&self) -> f64 {
        self.sender.controller().cwnd()
    }
}

#[test]
fn newreno_of_rfc_6582() {
    // Window 8: segments 0 to 7 in flight (11 to 18 in the RFC's example), 0 and 3 lost.
    let options = Options { recovery: Recovery::NewReno, ..Options::linux() };
    let mut d = Driver::new(Options { timestamps: false, ..options }, 8.0);
    assert_eq!(d.notes.sent, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(d.ack(0, &[]).is_empty());
    assert!(d.ack(0, &[]).is_empty());
    assert_eq!(d.ack(0, &[]), [0]); // third duplicate: retransmit; ssthresh 4, inflated window 7
    assert_eq!((d.cwnd(), d.sender.controller().ssthresh()), (4.0, 4.0));
    assert!(d.ack(0, &[]).is_empty()); // 8
    assert_eq!(d.ack(0, &[]), [8]); // 9
    assert_eq!(d.ack(0, &[]), [9]); // 10
    assert_eq!(d.ack(3, &[]), [3, 10]); // partial: retransmit 3, 10 - 3 + 1 = 8, one more
    assert_eq!(d.ack(3, &[]), [11]);
    assert_eq!(d.ack(3, &[]), [12]);
    assert_eq!(d.ack(10, &[]), [13]); // full: flight 3, window min(4, 3 + 1)
    assert_eq!(d.cwnd(), 4.0);
}

#[test]
fn sack_of_rfc_6675() {
    // Window 10; 0, 1 and 5 are lost.
    let options = Options { recovery: Recovery::Sack, timestamps: false, ..Options::linux() };
    let mut d = Driver::new(options, 10.0);
    let block = |start, end| [Block { start, end }];
    assert_eq!(d.ack(0, &block(2, 3)), [10]); // one reported: the pipe has room for a new one
    assert_eq!(d.ack(0, &block(2, 4)), [11]);
    // The third: 0 and 1 are lost. Window 5; pipe: 5 and 6 to 11 unreported above the lost ones, and 0 again: 8.
    assert_eq!(d.ack(0, &block(2, 5)), [0]);
    assert_eq!(d.cwnd(), 5.0);
    assert!(d.ack(0, &[Block { start: 6, end: 7 }, Block { start: 2, end: 5 }]).is_empty());
    assert!(d.ack(0, &[Block { start: 6, end: 8 }, Block { start: 2, end: 5 }]).is_empty());
    // Three reported above 5: it is lost too, which takes it out of the pipe: 8 to 11 less 8, and 0.
    assert_eq!(d.ack(0, &[Block { start: 6, end: 9 }, Block { start: 2, end: 5 }]), [1]);
    assert_eq!(d.ack(0, &[Block { start: 6, end: 10 }, Block { start: 2, end: 5 }]), [5]);
    // All but the last two that were sent before the recovery are there: two in the pipe, room for three.
    assert_eq!(d.ack(10, &[]), [12, 13, 14]);
    assert_eq!(d.sender.phase(), cc::Phase::Recovery);
    d.ack(12, &[]);
    assert_eq!(d.cwnd(), 5.0);
    assert_eq!(d.sender.phase(), cc::Phase::Open);
}

#[test]
fn timeout_goes_back_and_keeps_reports() {
    let options = Options { recovery: Recovery::Sack, timestamps: false, ..Options::linux() };
    let mut d = Driver::new(options, 4.0);
    d.ack(0, &[Block { start: 2, end: 3 }]);
    d.notes.sent.clear();
    d.notes.now += Span::from_ms(1000);
    d.sender.on_retransmit_timer(&mut d.notes);
    assert_eq!(d.notes.sent, [0]);
    assert_eq!(d.cwnd(), 1.0);
    assert_eq!(d.ack(1, &[Block { start: 2, end: 3 }]), [1, 3]); // 2 was reported: it is passed over
}

#[test]
fn westwood_module_retransmits_at_every_third_duplicate_without_guard_or_inflation() {
    let options = Options { recovery: Recovery::WestwoodModule, limited_transmit: true, ..Options::ns2() };
    let mut d = Driver::new(options, 8.0);
    assert!(d.ack(0, &[]).is_empty()); // no limited transmit
    assert!(d.ack(0, &[]).is_empty());
    assert_eq!(d.ack(0, &[]), [0]);
    assert_eq!(d.cwnd(), 4.0);
    for _ in 0..3 {
        assert!(d.ack(0, &[]).is_empty()); // the fourth and later ones do nothing: no inflation
    }
    // A partial ACK lets the window grow, and three duplicates of it cut again: Reno would refuse both.
    assert!(d.ack(3, &[]).is_empty());
    assert_eq!(d.cwnd(), 4.25);
    assert_eq!(d.sender.phase(), cc::Phase::Open);
    d.ack(3, &[]);
    d.ack(3, &[]);
    assert_eq!(d.ack(3, &[]), [3]);
    assert_eq!(d.cwnd(), 2.125);
    assert_eq!(d.sender.stats.cwnd_reductions, 2);
}

#[test]
fn clock_rtt_gives_the_controller_whole_ticks() {
    // Sent at 0 with the clock 3 ms into its tick; an ACK after 1 ms: within the same tick, which counts as one.
    let options = Options { clock_rtt: true, ..Options::ns2() };
    let mut d = Driver::new(options, 8.0);
    d.ack(1, &[]);
    assert_eq!(d.sender.stats.rtt_min, Span::from_ms(1));
    assert_eq!(d.sender.rtt_given(), Some(Span::from_ms(10)));
}

#[test]
fn a_delayed_ack_gives_the_controller_its_newest_segment_and_the_timer_its_oldest() {
    let options = Options { recovery: Recovery::NewReno, max_burst: 1, ..Options::linux() };
    let mut d = Driver::new(options, 8.0);
    assert_eq!(d.notes.sent, [0]);
    d.notes.now += Span::from_ms(10);
    d.sender.on_pace_timer(&mut d.notes); // any event lets the next one go
    assert_eq!(d.notes.sent, [0, 1]);
    d.notes.now += Span::from_ms(39);
    // An ACK for both, with the first one's timestamp echoed (zero).
    d.ack(2, &[]);
    assert_eq!(d.sender.rtt_given(), Some(Span::from_ms(40)));
    assert_eq!(d.sender.smoothed_rtt(), Some(Span::from_ms(50)));
}
