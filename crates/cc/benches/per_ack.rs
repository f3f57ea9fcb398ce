//! Nanoseconds per ACK of each controller, the controller alone: a segment sent and one delivered for each ACK, a loss every
//! 2,000 ACKs, a round-trip sample on each. `per_ack NAME ACKS` runs one controller without the clock, for counts of
//! instructions (validation/controllers/table.py).

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use ackclock_cc::{
    Ack, AnyController, Arithmetic, CONTROLLERS, Cause, Congestion, Controller, Delivered, FlowInfo, Growth,
    Params, Phase, RateSample, Sample, SenderState, Sent, Signals,
};
use std::hint::black_box;
use std::time::Instant;
use units::{Span, Time};

const ACKS: u64 = 4_000_000;

fn run(controller: &mut AnyController, acks: u64) {
    let mut now = Time::ZERO;
    controller.on_open(now);
    let [rates, sent, deliveries] =
        [Signals::RATE, Signals::SENT, Signals::DELIVERIES].map(|signal| controller.needs().has(signal));
    for i in 0..acks {
        now += Span::from_ps(100_000_000);
        let window = controller.cwnd();
        let rtt = Span::from_ps(20_000_000_000 + i % 1000);
        if deliveries {
            let departure = Time::from_ps(now.ps().saturating_sub(rtt.ps()));
            controller.on_delivered(&Delivered { now, seq: i, sent: departure, rtt });
        }
        let samples = controller.needs().has(Signals::SAMPLES);
        let ack = Ack {
            now,
            newly_acked: 1,
            newly_delivered: 1,
            newly_lost: 0,
            delivered_total: i,
            lost_total: 0,
            prior_in_flight: 0.0,
            dupacks: 0,
            acked_through: i,
            next: i + window as u64,
            in_flight: window,
            rtt: Some(rtt),
            receiver_time: None,
            ece: false,
            ce: 0,
            rate: rates.then_some(RateSample {
                delivered: window as u64,
                interval: Span::from_ps(20_000_000_000),
                prior_delivered: i.saturating_sub(window as u64),
                tx_in_flight: window as u32,
                ..RateSample::default()
            }),
            sender: SenderState { srtt: Some(rtt), min_rtt: Some(rtt), ..SenderState::default() },
            phase: Phase::Open,
            may_grow: true,
            paced: false,
            pacing_wait: Span::ZERO,
            window_limited: true,
        };
        if samples {
            controller.on_sample(&Sample::of(&ack));
        }
        controller.on_ack(&ack);
        if sent {
            let seq = i + window as u64;
            controller.on_sent(&Sent { now, seq, in_flight: window as u32, retransmission: false });
        }
        if i % 2000 == 1999 {
            controller.on_congestion(&Congestion {
                now,
                cause: Cause::FastRetransmit,
                window,
                in_flight: window,
                segment_sent: None,
                retransmitted: false,
                dupacks: 3,
            });
        }
    }
    black_box(controller.cwnd());
}

fn nanoseconds(controller: &mut AnyController) -> f64 {
    let begin = Instant::now();
    run(controller, ACKS);
    begin.elapsed().as_nanos() as f64 / ACKS as f64
}

fn main() {
    let arithmetic = Arithmetic {
        growth: Growth::PerAck,
        integer_windows: false,
        reduce_on_every_timeout: true,
        rfc_variants: false,
    };
    let flow = FlowInfo {
        initial_window: 2.0,
        initial_ssthresh: 100.0,
        max_window: f64::INFINITY,
        arithmetic,
        fine_clock: false,
        abe: false,
        packet: 1000,
        seed: 1,
        hops: 0,
    };
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, name, acks, ..] = arguments.as_slice()
        && let Some(registration) = AnyController::registration(name)
    {
        let params = Params::new(registration.descriptor.params, []).expect("the defaults are valid");
        let mut controller = registration.create(&params, &flow);
        return run(&mut controller, acks.parse().expect("a number of ACKs"));
    }
    println!("Window algorithms, ns per ACK (median of 5)");
    for registration in CONTROLLERS {
        let name = registration.descriptor.name;
        let mut times: Vec<f64> = (0..5)
            .filter_map(|_| AnyController::with_defaults(name, &flow))
            .map(|mut c| nanoseconds(&mut c))
            .collect();
        times.sort_by(f64::total_cmp);
        println!("{name:>16} {:>6.1}", times[2]);
    }
}
