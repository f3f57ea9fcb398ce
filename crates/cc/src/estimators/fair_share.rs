//! The fair share of a link, computed by an end host (RCP+, Enhanced RCP).

use super::{MinRtt, Round, Smoothed};
use crate::parameters::{Params, number};
use crate::{Ack, FlowInfo};
use params::Key;
use units::{Segments, Span, Time};

/// The inputs of an end host of the RCP family: capacity and number of flows (parameters), own rate and queue
/// (measured).
#[derive(Clone, Debug)]
pub struct FairShareRate {
    /// Bit/s.
    capacity: f64,
    flows: f64,
    alpha: f64,
    round: Round,
    began: Time,
    /// Bits acknowledged in the present round trip.
    acked: f64,
    packet_bits: f64,
    pub(crate) smoothed: Smoothed,
    rtt_min: MinRtt,
    /// The rate acknowledged in the last round trip, bit/s.
    acked_rate: f64,
}

/// The parameters of [`FairShareRate`].
pub const fn share_params(alpha: &'static str) -> [Key; 3] {
    [
        number("capacity", "1000000", [1.0, 1e13], "bit/s", "C: capacity of the narrowest link"),
        number("flows", "1", [1.0, 1e6], "", "N: number of flows that share it"),
        number("alpha", alpha, [0.0, 10.0], "", "a: part of the spare capacity that the flows take"),
    ]
}

impl FairShareRate {
    /// Creates the state of a flow. `params` contain [`share_params`].
    pub fn new(params: &Params, flow: &FlowInfo) -> FairShareRate {
        FairShareRate {
            capacity: params.number("capacity"),
            flows: params.number("flows"),
            alpha: params.number("alpha"),
            round: Round::default(),
            began: Time::ZERO,
            acked: 0.0,
            packet_bits: flow.packet as f64 * 8.0,
            smoothed: Smoothed::new(0.125),
            rtt_min: MinRtt::default(),
            acked_rate: 0.0,
        }
    }

    /// Starts the measurement at the start of the flow.
    pub fn open(&mut self, now: Time) {
        self.began = now;
    }

    /// Processes an ACK. Returns whether a round trip has ended.
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
            self.acked_rate = std::mem::take(&mut self.acked) / length;
            self.began = ack.now;
        }
        length > 0.0
    }

    /// `(a C - a y)/N`, bit/s.
    pub fn spare_rate(&self) -> f64 {
        self.alpha * (self.capacity - self.acked_rate) / self.flows
    }

    /// The queue over the round-trip time, bit/s: `C (srtt - min) / min`.
    pub fn queue(&self) -> f64 {
        let Some(least) = self.rtt_min.get().map(Span::seconds).filter(|least| *least > 0.0) else {
            return 0.0;
        };
        self.smoothed.get().map_or(0.0, |rtt| self.capacity * (rtt - least).max(0.0) / least)
    }

    /// The window for a rate in bit/s, segments; `None` before the first round-trip sample.
    pub fn window(&self, rate: f64) -> Option<Segments> {
        self.smoothed.get().map(|rtt| (rate * rtt / self.packet_bits).max(1.0))
    }

    /// C, bit/s.
    pub fn capacity(&self) -> f64 {
        self.capacity
    }
    /// What was acknowledged in the last round trip, bit/s.
    pub fn own(&self) -> f64 {
        self.acked_rate
    }
    /// N.
    pub fn flows(&self) -> f64 {
        self.flows
    }
}
