//! RCP+. The end-host form of the rate control protocol in Enhanced RCP's paper (seed 003, Eq. 4): a sender that reckons
//! what its routers would tell it.
//!
//! Each round trip the rate changes by `(a (C - y) - b q/d)/N`, and the window is what the rate needs. The capacity C and the
//! number of flows N are told (parameters); the rate y is what was acknowledged in the last round trip; the queue is what
//! the round-trip time says, `q/d = C (srtt - min)/min`. Printed, the change stands where the rate should
//! (specs/rcp.md section 3): `equation = "absolute"` takes it as printed. Losses are repaired and change nothing but the
//! phase; after a timeout the window begins at one. Status: draft.

use crate::estimators::{MinRtt, Round, Smoothed};
use crate::params::{Kind, Param, Params};
use crate::registry::{Descriptor, Status};
use crate::window::{Window, its_window};
use crate::{Ack, Congestion, Controller, FlowInfo, Law, Timeout};
use units::{Segments, Span, Time};

/// What an end host of the RCP family measures and is told: capacity, flows, own rate, queue.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    /// Bit/s.
    capacity: f64,
    flows: f64,
    alpha: f64,
    round: Round,
    began: Time,
    /// Bits acknowledged in the present round trip.
    acked: f64,
    packet_bits: f64,
    smoothed: Smoothed,
    rtt_min: MinRtt,
    /// What was acknowledged in the last round trip, bit/s.
    own: f64,
}

/// The parameters that a share needs.
pub(crate) const fn share_params(alpha: f64) -> [Param; 3] {
    [
        Param {
            name: "capacity",
            kind: Kind::Number { default: 1e6, min: 1.0, max: 1e13 },
            unit: "bit/s",
            doc: "C: of the narrowest link",
        },
        Param {
            name: "flows",
            kind: Kind::Number { default: 1.0, min: 1.0, max: 1e6 },
            unit: "",
            doc: "N: that share it",
        },
        Param {
            name: "alpha",
            kind: Kind::Number { default: alpha, min: 0.0, max: 10.0 },
            unit: "",
            doc: "a: part of the free capacity that is taken",
        },
    ]
}

impl Share {
    pub fn new(params: &Params, flow: &FlowInfo) -> Share {
        Share {
            capacity: params.number("capacity"),
            flows: params.number("flows"),
            alpha: params.number("alpha"),
            round: Round::default(),
            began: Time::ZERO,
            acked: 0.0,
            packet_bits: flow.packet as f64 * 8.0,
            smoothed: Smoothed::new(0.125),
            rtt_min: MinRtt::default(),
            own: 0.0,
        }
    }

    pub fn open(&mut self, now: Time) {
        self.began = now;
    }

    /// Takes an ACK; whether a round trip has ended.
    pub fn take(&mut self, ack: &Ack) -> bool {
        if let Some(rtt) = ack.rtt {
            self.smoothed.update(rtt.seconds());
            self.rtt_min.update(rtt);
        }
        self.acked += ack.newly_acked as f64 * self.packet_bits;
        if ack.newly_acked == 0 || self.round.closed_by(ack.acked_through, ack.next).is_none() {
            return false;
        }
        let length = ack.now.since(self.began).seconds();
        if length > 0.0 {
            self.own = std::mem::take(&mut self.acked) / length;
            self.began = ack.now;
        }
        length > 0.0
    }

    /// `(a C - a y)/N`, bit/s.
    pub fn free(&self) -> f64 {
        self.alpha * (self.capacity - self.own) / self.flows
    }

    /// What the queue holds over the round-trip time, bit/s.
    pub fn queue(&self) -> f64 {
        let Some(least) = self.rtt_min.get().map(Span::seconds).filter(|least| *least > 0.0) else {
            return 0.0;
        };
        self.smoothed.get().map_or(0.0, |rtt| self.capacity * (rtt - least).max(0.0) / least)
    }

    /// The window that a rate needs, segments; none before there is a round-trip time.
    pub fn window(&self, rate: f64) -> Option<Segments> {
        self.smoothed.get().map(|rtt| (rate * rtt / self.packet_bits).max(1.0))
    }

    pub fn capacity(&self) -> f64 {
        self.capacity
    }
    pub fn own(&self) -> f64 {
        self.own
    }
    pub fn flows(&self) -> f64 {
        self.flows
    }
}

/// A window by a rate that the sender reckons itself.
#[derive(Clone, Debug)]
pub struct RcpPlus {
    window: Window,
    share: Share,
    beta: f64,
    absolute: bool,
    /// Bit/s.
    rate: f64,
}

const SHARE: [Param; 3] = share_params(0.4);

impl Law for RcpPlus {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "rcp_plus",
        summary: "a window by a rate that the sender reckons from capacity, flows, its own rate and the queue",
        source: "seed 003, Eq. 4 (specs/rcp.md section 3)",
        status: Status::Draft,
        params: &[
            SHARE[0],
            SHARE[1],
            SHARE[2],
            Param {
                name: "beta",
                kind: Kind::Number { default: 0.4, min: 0.0, max: 10.0 },
                unit: "",
                doc: "b: part of the queue that is given back",
            },
            Param {
                name: "equation",
                kind: Kind::Choice(&["increment", "absolute"]),
                unit: "",
                doc: "the change of the rate, or, as printed, the rate",
            },
        ],
        probes: &["rate", "own_rate"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> RcpPlus {
        RcpPlus {
            window: Window::new(flow),
            share: Share::new(params, flow),
            beta: params.number("beta"),
            absolute: params.choice("equation") == "absolute",
            rate: 0.0,
        }
    }
}

impl RcpPlus {
    fn reckon(&mut self) {
        let step = self.share.free() - self.beta * self.share.queue() / self.share.flows();
        self.rate = if self.absolute { step } else { self.rate + step };
        self.rate = self.rate.clamp(0.0, self.share.capacity());
    }
}

impl Controller for RcpPlus {
    fn on_open(&mut self, now: Time) {
        self.share.open(now);
    }
    fn on_ack(&mut self, ack: &Ack) {
        if self.share.take(ack) {
            self.reckon();
            if let Some(window) = self.share.window(self.rate) {
                self.window.aim(window, ack.phase);
            }
        }
    }
    fn on_congestion(&mut self, _event: &Congestion) {}
    fn on_rto(&mut self, _event: &Timeout) {
        self.window.set(1.0);
    }
    its_window!(window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.rate;
        out[1] = self.share.own();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use crate::testing::{ack, ns2_flow};

    fn law(given: &[(&str, Value)]) -> RcpPlus {
        let given = given.iter().map(|(name, value)| (*name, value.clone()));
        RcpPlus::new(&Params::new(RcpPlus::DESCRIPTOR.params, given).unwrap(), &ns2_flow(1.0, 1e9))
    }

    /// Rounds of 100 ms in which a window of segments is acknowledged.
    fn rounds(law: &mut RcpPlus, count: u64) {
        law.on_open(Time::ZERO);
        let mut through = 0;
        for round in 1..=count {
            let window = law.cwnd() as u64;
            for i in 0..window {
                let now = Time::ZERO + Span::from_ps(round * 100_000_000_000 + i);
                let event = Ack {
                    now,
                    rtt: Some(Span::from_ms(100)),
                    acked_through: through,
                    next: through + window,
                    ..ack(1)
                };
                law.on_ack(&event);
                through += 1;
            }
        }
    }

    #[test]
    fn a_flow_alone_comes_to_the_capacity() {
        // 1 Mb/s over 100 ms: 12.5 segments of 1000 bytes.
        let mut law = law(&[]);
        rounds(&mut law, 100);
        assert!((11.0..=12.5).contains(&law.cwnd()), "{}", law.cwnd());
    }

    #[test]
    fn as_printed_the_rate_settles_where_it_equals_its_own_change() {
        // R = a (C - R): a third of a megabit for a = 0.5.
        let mut law = law(&[("equation", Value::Word("absolute".into())), ("alpha", Value::Number(0.5))]);
        rounds(&mut law, 100);
        assert!((2.0..=6.0).contains(&law.cwnd()), "{}", law.cwnd());
    }

    #[test]
    fn a_queue_is_given_back() {
        let mut law = law(&[]);
        rounds(&mut law, 50);
        let before = law.rate;
        law.share.smoothed = Smoothed::new(1.0);
        law.share.smoothed.update(0.2); // as much waits as the path holds
        law.reckon();
        assert!(law.rate < before - 0.3e6, "{} {before}", law.rate);
    }
}
