//! The order of a controller's events within an ACK.

use crate::options::Options;
use crate::testing::{Driver, block, ms, sender};
use cc::{
    AnyController, CachedExternal, Cause, Decision, Event, ExternalController, Failure, Phase, Signals,
};
use net::{Packet, PacketKind};
use std::sync::{Arc, Mutex};
use units::Span;

/// The methods of the events so far.
type Methods = Arc<Mutex<Vec<&'static str>>>;

/// Notes the methods of its events. It asks for a reduction at the ACK of this segment.
#[derive(Debug)]
struct Noted {
    methods: Methods,
    reduces_at: Option<u64>,
}

impl ExternalController for Noted {
    fn name(&self) -> &str {
        "noted"
    }
    fn needs(&self) -> Signals {
        Signals::SAMPLES.and(Signals::RATE)
    }
    fn on_event(&mut self, event: Event<'_>, decision: &mut Decision) -> Result<(), Failure> {
        self.methods.lock().unwrap().push(Event::METHODS[event.index()].name);
        decision.reduce_now = false;
        match event {
            Event::SetWindow(cwnd) => decision.cwnd = cwnd,
            Event::SetSsthresh(ssthresh) => decision.ssthresh = ssthresh,
            Event::Congestion(event) => {
                (decision.cwnd, decision.ssthresh) = (event.window / 2.0, event.window / 2.0);
                let asked = event.cause == Cause::Controller;
                assert_eq!(asked, self.reduces_at.is_some());
            }
            Event::Ack(ack) => decision.reduce_now = self.reduces_at == Some(ack.acked_through),
            Event::Handshake(event) => assert_eq!(event.rtt.is_some(), event.now < ms(1000)),
            Event::Sample(sample) => {
                assert_eq!(sample.since_sent.is_some(), sample.newly_delivered > 0);
            }
            _ => {}
        }
        Ok(())
    }
}

fn driver(reduces_at: Option<u64>) -> (Driver, Methods) {
    let methods = Methods::default();
    let options = Options { timestamps: false, sack_blocks: 4, ..Options::linux() };
    let mut sender = sender(&options, "reno", Some(40));
    let noted = Noted { methods: methods.clone(), reduces_at };
    let first = Decision { cwnd: 10.0, ..Decision::default() };
    let controller = AnyController::ExternalController(CachedExternal::new(Box::new(noted), Ok(first)));
    sender.connection.reports = crate::connection::Reports::new(Signals::SAMPLES.and(Signals::RATE));
    sender.connection.controller = controller.into();
    (Driver::start(sender), methods)
}

/// The methods since the last call, without those of transmissions and those that set the window.
fn since(methods: &Methods) -> Vec<&'static str> {
    let all = std::mem::take(&mut *methods.lock().unwrap());
    all.into_iter().filter(|method| !method.starts_with("set_") && *method != "on_transmit_start").collect()
}

#[test]
fn the_measurements_of_an_ack_come_before_what_follows_from_them() {
    let (mut d, methods) = driver(None);
    d.ack_at(100, 1, &[]);
    assert_eq!(since(&methods), ["on_open", "on_handshake"]);
    d.ack_at(200, 2, &[]);
    assert_eq!(since(&methods), ["on_sample", "on_ack"]);
    d.ack_at(210, 2, &[block(3, 6)]);
    assert_eq!(since(&methods), ["on_sample", "on_congestion", "on_ack"]);
    let all = d.sender.connection.next;
    d.ack_at(300, all, &[]);
    assert_eq!(since(&methods), ["on_sample", "on_recovery_exit", "on_ack"]);
    // The original arrives after its retransmission: an undo.
    let (mut d, methods) = driver(None);
    d.ack_at(100, 1, &[]);
    d.ack_at(200, 1, &[block(2, 5)]);
    d.ack_at(210, 5, &[block(1, 2)]);
    assert!(since(&methods).ends_with(&["on_sample", "on_undo", "on_ack"]));
}

#[test]
fn a_handshake_that_was_sent_again_has_no_round_trip_time() {
    let (mut d, methods) = driver(None);
    d.fire();
    d.ack_at(1100, 1, &[]);
    assert_eq!(since(&methods), ["on_open", "on_rto", "on_handshake"]);
    d.ack_at(1200, 2, &[]);
    assert_eq!(since(&methods), ["on_sample", "on_ack"]);
}

#[test]
fn a_controller_asks_for_a_reduction_once_a_window() {
    let (mut d, methods) = driver(Some(2));
    d.ack_at(100, 1, &[]);
    since(&methods);
    d.ack_at(200, 3, &[]);
    assert_eq!(since(&methods), ["on_sample", "on_ack", "on_congestion"]);
    assert_eq!((d.sender.phase(), d.ssthresh(), d.cwnd()), (Phase::Cwr, 5.0, 10.0));
    // The window falls over a round trip.
    for next in 4..=13 {
        d.ack_with(
            ms(200) + Span::from_ms(next.into()),
            Packet::new(PacketKind::Ack, 0, 0, next, 40, ms(200)),
            &[],
        );
    }
    assert_eq!(d.cwnd(), 5.0);
    assert!(!since(&methods).contains(&"on_congestion"));
}
