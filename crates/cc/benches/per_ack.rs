//! Nanoseconds per ACK of each controller, the controller alone: a loss every 2,000 ACKs, a round-trip sample on each.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use cc::{
    Ack, AnyController, Arithmetic, CONTROLLERS, Cause, Congestion, Controller, FlowInfo, Growth, Params,
    Phase, RateSample, Signals,
};
use std::hint::black_box;
use std::time::Instant;
use units::{Span, Time};

const ACKS: u64 = 4_000_000;

fn run(controller: &mut AnyController) -> f64 {
    let begin = Instant::now();
    let mut now = Time::ZERO;
    controller.on_open(now);
    let rates = controller.needs().has(Signals::RATE);
    for i in 0..ACKS {
        now += Span::from_ps(100_000_000);
        let window = controller.cwnd();
        let ack = Ack {
            now,
            newly_acked: 1,
            delivered: 1,
            newly_lost: 0,
            delivered_total: i,
            lost_total: 0,
            prior_in_flight: 0.0,
            dupacks: 0,
            acked_through: i,
            next: i + window as u64,
            in_flight: window,
            rtt: Some(Span::from_ps(20_000_000_000 + i % 1000)),
            receiver_time: None,
            ece: false,
            rate: rates.then_some(RateSample {
                delivered: window as u64,
                interval: Span::from_ps(20_000_000_000),
                app_limited: false,
                prior_delivered: i.saturating_sub(window as u64),
                tx_in_flight: window as u32,
                lost: 0,
            }),
            phase: Phase::Open,
            may_grow: true,
            paced: false,
            pacing_wait: Span::ZERO,
            window_limited: true,
        };
        controller.on_ack(&ack);
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
    begin.elapsed().as_nanos() as f64 / ACKS as f64
}

fn main() {
    let arithmetic =
        Arithmetic { growth: Growth::PerAck, integer_windows: false, reduce_on_every_timeout: true };
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
    println!("Window algorithms, ns per ACK (median of 5)");
    for d in CONTROLLERS {
        let Ok(params) = Params::new(d.params, []) else { continue };
        let mut times: Vec<f64> = (0..5)
            .filter_map(|_| AnyController::new(d.name, &params, &flow))
            .map(|mut c| run(&mut c))
            .collect();
        times.sort_by(f64::total_cmp);
        println!("{:>16} {:>6.1}", d.name, times[2]);
    }
}
