//! The events that a controller gets, and their order.

mod network;

use ackclock_cc::{
    Ack, Cause, Congestion, Controller, Delivered, Handshake, Lost, NativeFactory, Phase, Sample, Sent,
    Signals, Time, Timeout, TransmitStart, Window, impl_window_accessors, testing,
};
use ackclock_quinn_controllers::Factory;
use network::{ECN, LOSS, Measured, Sending, USUAL, run_with};
use std::sync::{Arc, Mutex};

#[derive(Clone, Debug, PartialEq)]
enum Event {
    Open,
    Handshake(f64),
    Sample,
    Ack { newly_lost: u32, ece: bool, phase: Phase, rate: Option<f64>, spare: f64 },
    Lost(u64),
    Delivered(u64),
    Sent(u64),
    Congestion(Cause),
    Rto(bool),
    Exit,
    Start,
}

/// Reno, which asks for every signal and keeps what it gets.
#[derive(Clone, Debug)]
struct Recorder {
    window: Window,
    now: Time,
    log: Arc<Mutex<Vec<Event>>>,
}

impl Recorder {
    fn add(&mut self, now: Time, event: Event) {
        assert!(now >= self.now, "{event:?}: the time goes back");
        self.now = now;
        self.log.lock().unwrap().push(event);
    }
}

impl Controller for Recorder {
    fn needs(&self) -> Signals {
        Signals::SENT.and(Signals::LOSSES).and(Signals::DELIVERIES).and(Signals::SAMPLES)
    }
    fn on_open(&mut self, now: Time) {
        self.add(now, Event::Open);
    }
    fn on_handshake(&mut self, event: &Handshake) {
        self.add(event.now, Event::Handshake(event.rtt.unwrap().seconds()));
    }
    fn on_sample(&mut self, sample: &Sample) {
        self.add(sample.now, Event::Sample);
    }
    fn on_ack(&mut self, ack: &Ack) {
        assert!(ack.acked_through < ack.next && ack.in_flight <= ack.prior_in_flight);
        let rate = ack.rate.filter(|rate| rate.interval.ps() > 0);
        let rate = rate.map(|rate| rate.delivered as f64 / rate.interval.seconds());
        let spare = self.window.cwnd - ack.in_flight;
        let Ack { newly_lost, ece, phase, .. } = *ack;
        self.add(ack.now, Event::Ack { newly_lost, ece, phase, rate, spare });
        if self.window.on_ack(ack) {
            self.window.grow(ack);
        }
    }
    fn on_lost(&mut self, lost: &Lost) {
        assert!(lost.tx_in_flight > 0 && lost.lost > 0);
        self.add(lost.now, Event::Lost(lost.seq));
    }
    fn on_delivered(&mut self, delivered: &Delivered) {
        assert!(delivered.rtt.seconds() > 0.0399, "{delivered:?}");
        self.add(delivered.now, Event::Delivered(delivered.seq));
    }
    fn on_sent(&mut self, sent: &Sent) {
        self.add(sent.now, Event::Sent(sent.seq));
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.add(event.now, Event::Congestion(event.cause));
        self.window.reduce(event.window, 0.5);
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.add(event.now, Event::Rto(event.repeated));
        self.window.timeout(event, 0.5);
    }
    fn on_recovery_exit(&mut self, now: Time) {
        self.add(now, Event::Exit);
    }
    fn on_transmit_start(&mut self, event: &TransmitStart) {
        self.add(event.now, Event::Start);
    }
    impl_window_accessors!(window);
}

/// The events of the source in a run of ten seconds.
fn events(changes: &[&str]) -> (Vec<Event>, Measured) {
    events_with(changes, USUAL)
}

fn events_with(changes: &[&str], sending: Sending) -> (Vec<Event>, Measured) {
    let logs = Arc::new(Mutex::new(Vec::new()));
    let shared = logs.clone();
    let factory = NativeFactory::new(&testing::linux_flow(10.0, f64::INFINITY), move |flow| {
        let log = Arc::default();
        shared.lock().unwrap().push(Arc::clone(&log));
        Recorder { window: Window::new(flow), now: Time::ZERO, log }
    });
    let factory = Arc::new(Factory::native(factory).unwrap());
    let measured = run_with(factory, 1, &[&["duration=10s"], changes].concat(), None, sending).unwrap();
    let logs = logs.lock().unwrap();
    let longest = logs.iter().max_by_key(|log| log.lock().unwrap().len()).unwrap().lock().unwrap();
    (longest.clone(), measured)
}

fn count(events: &[Event], of: impl Fn(&Event) -> bool) -> u64 {
    events.iter().filter(|event| of(event)).count() as u64
}

#[test]
fn losses_come_before_their_ack_and_reduce_once_a_round_trip() {
    let (events, measured) = events(LOSS);
    assert_eq!((&events[0], &events[1]), (&Event::Open, &Event::Start));
    assert_eq!(count(&events, |event| matches!(event, Event::Handshake(_))), 1);
    let lost = count(&events, |event| matches!(event, Event::Lost(_)));
    assert_eq!(lost, measured.lost);
    let reductions = count(&events, |event| matches!(event, Event::Congestion(_)));
    assert!(reductions > 10 && reductions <= measured.events, "{reductions} of {}", measured.events);
    let exits = count(&events, |event| *event == Event::Exit);
    assert!(exits == reductions || exits + 1 == reductions, "{exits} exits, {reductions} reductions");
    for (index, event) in events.iter().enumerate() {
        match event {
            Event::Congestion(cause) => {
                assert_eq!(*cause, Cause::FastRetransmit);
                assert!(matches!(events[index - 1], Event::Lost(_)));
                let next = events[index..].iter().find(|event| matches!(event, Event::Ack { .. })).unwrap();
                assert!(matches!(next, Event::Ack { phase: Phase::Recovery, .. }), "{next:?}");
            }
            Event::Ack { newly_lost: 1.., .. } => {
                assert!(matches!(events[index - 1], Event::Lost(_) | Event::Congestion(_)))
            }
            _ => {}
        }
    }
}

#[test]
fn the_delivery_rate_is_that_of_the_link() {
    let (events, _) = events(&[]);
    let mut rates: Vec<f64> = events
        .iter()
        .filter_map(|event| if let Event::Ack { rate, .. } = event { *rate } else { None })
        .collect();
    rates.sort_by(f64::total_cmp);
    // Datagrams of 1452 bytes with 28 of IP and UDP at 20 Mb/s.
    let (median, link) = (rates[rates.len() / 2], 20e6 / (1480.0 * 8.0));
    assert!((median / link - 1.0).abs() < 0.01, "{median:.1} segments/s, not {link:.1}");
}

#[test]
fn the_window_is_filled_to_the_last_packet() {
    let (events, _) = events(LOSS);
    // In flight after an ACK of one or two packets, before the next ones are sent.
    let spare = |event: &Event| matches!(event, Event::Ack { phase: Phase::Open, spare, .. } if *spare < 3.5);
    let acks = count(&events, |event| matches!(event, Event::Ack { phase: Phase::Open, .. }));
    assert!(count(&events, spare) * 10 > acks * 8, "{} of {acks}", count(&events, spare));
}

#[test]
fn datagrams_that_leave_together_are_counted_one_by_one() {
    let (events, measured) = events_with(LOSS, Sending { smallest: false, batch: 10 });
    assert_eq!(count(&events, |event| matches!(event, Event::Lost(_))), measured.lost);
    let sent = count(&events, |event| matches!(event, Event::Sent(_)));
    assert!(sent.abs_diff(measured.sent) < 20, "{sent} of {}", measured.sent);
    assert!(measured.goodput > 2.0, "{}", measured.goodput);
}

#[test]
fn a_mark_reduces_without_a_loss() {
    let (events, measured) = events(ECN);
    assert_eq!((measured.drops, measured.lost), (0, 0));
    let reductions = count(&events, |event| *event == Event::Congestion(Cause::Ecn));
    assert!(reductions > 3 && reductions <= measured.marks, "{reductions} of {}", measured.marks);
    let echoes = count(&events, |event| matches!(event, Event::Ack { ece: true, .. }));
    assert_eq!(echoes, measured.events);
    assert_eq!(count(&events, |event| matches!(event, Event::Congestion(Cause::FastRetransmit))), 0);
}

#[test]
fn persistent_congestion_restarts_the_window() {
    let blackout = r#"link.bottleneck.loss={ kind = "blackout", times = [["4s", "6s"]] }"#;
    let (events, measured) = events(&[blackout]);
    assert!(count(&events, |event| matches!(event, Event::Rto(_))) >= 1, "{}", measured.goodput);
    assert!(measured.goodput > 10.0, "{}", measured.goodput);
}
