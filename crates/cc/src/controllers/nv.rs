//! TCP-NV ("new Vegas"). Brakmo, netdev 2.0, 2016, with the constants of Linux: once a round trip the window is compared with
//! what the largest delivery rate of the round needs at the smallest round-trip time, and ten segments more.
//!
//! A rate is the segments in flight when a segment was sent over the smoothed round-trip time of its ACK. Above the limit the
//! window gives up 38/128 of what is too much, and growth stops; two segments or more below it growth is allowed again. The
//! smallest round-trip time is that of the last 3.75 to 6.25 s, a time drawn each time, so that flows do not forget it at once.
//! After a timeout growth is half as fast, and returns after eight good rounds.
//!
//! Variants: `netdev` (default) in real numbers: the smallest round-trip time is renewed first after the drawn time, not after 2 s, the
//! smallest window of a decision is four segments, and growth goes on after a timeout; `linux` in the integers of the module
//! (linux/nv.rs). docs/specs/controllers-2.md section 12. Status: draft; the variant `linux` equals the module of Linux.

use crate::controllers::linux::{self, Linux};
use crate::descriptor::{Descriptor, Family, Status};
use crate::detmath;
use crate::estimators::Round;
use crate::parameters::{Params, choice, number};
use crate::slow_start::SlowStart;
use crate::window::{Window, impl_window_accessors};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Phase, RateSample, Restart, Signals, Timeout};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{Span, Time};

/// Segments above the limit at which the window becomes the limit, and below it at which growth is allowed again.
const ROOM: f64 = 2.0;
/// Part of the excess that the window gives up.
const GIVEN_UP: f64 = 38.0 / 128.0;
/// Part of the window that a loss leaves.
const LOSS: f64 = 819.0 / 1024.0;
/// Samples of a round that may lower the window in slow start, lower it later, and allow growth.
const FIRST_SAMPLES: u32 = 30;
const SAMPLES: u32 = 60;
const GROWTH_SAMPLES: u32 = 20;
/// Rounds before the window may be lowered, and after which a round with few samples stops growth.
const LEAST_ROUNDS: u32 = 2;
const STOP_ROUNDS: u32 = 10;
/// Smallest window, segments.
const LEAST_WINDOW: f64 = 4.0;
/// Good rounds after which growth is twice as fast again, and the most halvings of it.
const GOOD_ROUNDS: u32 = 8;
const MOST_HALVINGS: i32 = 8;

controller_variants! {
    /// A window that keeps few segments in queues.
    Nv {
        /// In real numbers.
        Netdev(Rates),
        /// The module of Linux.
        Linux(Linux<linux::Nv>),
    }
}

/// TCP-NV in real numbers.
#[derive(Clone, Debug)]
pub struct Rates {
    window: Window,
    pad: f64,
    period: f64,
    /// The smoothed round-trip time, the smallest one of it, and that since the last renewal, seconds.
    rtt: f64,
    min_rtt: f64,
    next_min_rtt: f64,
    renewed_at: Option<Time>,
    round: Round,
    rounds: u32,
    samples: u32,
    /// The largest rate of the round, segments a second.
    rate: f64,
    grows: bool,
    halvings: i32,
    good_rounds: u32,
    /// A loss or a timeout: the measurements begin anew.
    disturbed: bool,
    random: Xoshiro256PlusPlus,
}

impl Algorithm for Nv {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "nv",
        summary: "the window is what the largest rate of a round trip needs without a queue, and a few segments",
        source: "Brakmo, netdev 2.0, 2016; constants of Linux",
        family: Family::DataCentre,
        status: Status::Draft,
        params: &[
            number(
                "pad",
                "10",
                [2.0, 1e4],
                "segments",
                "by how much the window may exceed the need of the rate",
            ),
            number(
                "period",
                "5",
                [0.01, 1000.0],
                "s",
                "the smallest round-trip time is that of about this time",
            ),
            crate::slow_start::PARAM,
            crate::slow_start::EXIT,
            crate::slow_start::VARIANT,
            choice!(
                "variant",
                ["netdev", "linux"],
                "real numbers, or the integers of Linux, which stops growth after a timeout until the repair is complete"
            ),
        ],
        probes: &["rate", "min_rtt"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Nv {
        if params.choice("variant") == "linux" {
            let [pad, period] = ["pad", "period"].map(|key| params.number(key));
            return Nv::Linux(Linux::new(linux::Nv::new(flow.packet, pad, period, flow.seed), params, flow));
        }
        Nv::Netdev(Rates {
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            pad: params.number("pad"),
            period: params.number("period"),
            rtt: f64::NAN,
            min_rtt: f64::INFINITY,
            next_min_rtt: f64::INFINITY,
            renewed_at: None,
            round: Round::default(),
            rounds: 0,
            samples: 0,
            rate: 0.0,
            grows: true,
            halvings: 0,
            good_rounds: 0,
            disturbed: false,
            random: Xoshiro256PlusPlus::seed_from_u64(flow.seed),
        })
    }
    const TUNABLE: &'static [&'static str] = &["pad"];
    fn tune(&mut self, _name: &str, value: f64) {
        match self {
            Nv::Netdev(rates) => rates.pad = value,
            Nv::Linux(linux) => linux.module_mut().set_pad(value),
        }
    }
}

impl Rates {
    /// Takes a round-trip time, s, with the segments in flight when its segment was sent.
    fn sample(&mut self, now: Time, rtt: f64, in_flight: f64) {
        self.rtt = if self.rtt.is_nan() { rtt } else { (rtt + self.rtt) / 2.0 };
        self.rate = self.rate.max(in_flight / self.rtt);
        self.samples += 1;
        self.min_rtt = self.min_rtt.min(self.rtt);
        self.next_min_rtt = self.next_min_rtt.min(self.rtt);
        let drawn = (384 + (self.random.next_u64() >> 56)) as f64 / 512.0;
        let renewed_at = *self.renewed_at.get_or_insert(now + Span::from_seconds(self.period * drawn));
        if now >= renewed_at {
            (self.min_rtt, self.next_min_rtt) = (self.next_min_rtt, f64::INFINITY);
            self.renewed_at = Some(now + Span::from_seconds(self.period * drawn));
        }
    }

    /// The end of a round: the window and whether it may grow.
    fn decide(&mut self) {
        let limit = detmath::floor(self.rate * self.min_rtt + 1e-9) + self.pad;
        let cwnd = self.window.cwnd;
        if cwnd > limit {
            let needed = if self.window.ssthresh.is_infinite() { FIRST_SAMPLES } else { SAMPLES };
            if self.rounds < LEAST_ROUNDS {
                return;
            }
            if self.samples < needed {
                self.grows &= needed == FIRST_SAMPLES || self.rounds <= STOP_ROUNDS;
                return;
            }
            (self.grows, self.good_rounds) = (false, 0);
            let over = cwnd - limit;
            let left = if over > ROOM { cwnd - detmath::floor(over * GIVEN_UP).max(2.0) } else { limit };
            self.window.ssthresh = limit;
            self.window.set(left.max(LEAST_WINDOW));
        } else if cwnd <= limit - ROOM {
            if self.samples < GROWTH_SAMPLES {
                return;
            }
            self.grows = true;
            self.good_rounds += 1;
            if self.halvings > 0 && self.good_rounds > GOOD_ROUNDS {
                (self.halvings, self.good_rounds) = (self.halvings - 1, 0);
            }
        } else {
            return;
        }
        (self.rounds, self.samples, self.rate) = (0, 0, 0.0);
    }

    /// A loss, an echo or a timeout.
    fn disturb(&mut self) {
        (self.disturbed, self.grows) = (true, false);
    }

    /// The measurements begin anew.
    fn forget(&mut self) {
        (self.disturbed, self.rtt, self.rate) = (false, f64::NAN, 0.0);
        (self.rounds, self.samples, self.good_rounds) = (0, 0, 0);
    }
}

impl Controller for Rates {
    fn needs(&self) -> Signals {
        Signals::RATE
    }
    fn on_ack(&mut self, ack: &Ack) {
        if ack.phase == Phase::Open {
            if self.disturbed {
                self.forget();
            }
            if let (Some(rtt), Some(RateSample { tx_in_flight, .. })) = (ack.rtt, ack.rate) {
                self.sample(ack.now, rtt.seconds(), tx_in_flight.into());
                if self.round.closed_by(ack.acked_through, ack.next).is_some() {
                    self.rounds += 1;
                    self.decide();
                }
            }
        }
        if self.window.on_ack(ack) && (self.grows || ack.phase == Phase::Loss) {
            let left = self.window.slow_start_step(ack);
            if left > 0.0 {
                let per = self.window.cwnd.max(LEAST_WINDOW) * f64::from(1 << self.halvings);
                self.window.grow_by(left, per);
            }
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.window.reduce(event.window, LOSS);
        self.disturb();
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.window.timeout(event, LOSS);
        self.halvings = (self.halvings + 1).min(MOST_HALVINGS);
        self.disturb();
    }
    fn on_restart(&mut self, event: &Restart) {
        self.forget();
        self.window.set(event.window);
    }
    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        (out[0], out[1]) = (self.rate, self.min_rtt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParamValue;
    use crate::testing::linux_flow;

    fn nv(cwnd: f64) -> Rates {
        let values = [("variant", ParamValue::Word("netdev".into()))];
        let params = Params::new(Nv::DESCRIPTOR.params, values).unwrap();
        let Nv::Netdev(rates) = Nv::new(&params, &linux_flow(cwnd, f64::INFINITY)) else {
            panic!("the module of Linux has its own tests");
        };
        rates
    }

    #[test]
    fn windows_of_the_model() {
        // A rate of 1,000 segments a second at 50 ms has the limit 60: window, window after it, threshold, growth.
        for (cwnd, after, ssthresh, grows) in [
            (100.0, 89.0, 60.0, false),
            (62.0, 60.0, 60.0, false),
            (55.0, 55.0, f64::INFINITY, true),
            (59.0, 59.0, f64::INFINITY, false),
        ] {
            let mut controller = nv(cwnd);
            (controller.rate, controller.min_rtt, controller.grows) = (1000.0, 0.05, false);
            (controller.rounds, controller.samples) = (2, SAMPLES);
            controller.decide();
            let now = (controller.cwnd(), controller.ssthresh(), controller.grows);
            assert_eq!(now, (after, ssthresh, grows), "{cwnd}");
        }
    }

    #[test]
    fn the_smallest_round_trip_time_is_renewed() {
        let mut controller = nv(10.0);
        let at = |s: f64| Time::ZERO + Span::from_seconds(s);
        for n in 0..300 {
            controller.sample(at(0.05 * n as f64), if n == 0 { 0.05 } else { 0.06 }, 10.0);
            let low = controller.min_rtt < 0.0501;
            assert!(low || n >= 75, "{n}");
            assert!(!low || n <= 250, "{n}");
        }
        assert!(controller.min_rtt > 0.0599);
    }
}
