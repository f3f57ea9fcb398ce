//! RCP at the sender. Dukkipati, "Rate Control Protocol", thesis, Stanford 2007: the sender paces packets at the rate
//! that the routers of the path grant (links with `router = { kind = "rcp" }`).
//!
//! The window only bounds the data in flight: `headroom` times the rate times the round-trip time. The transport
//! repairs losses; a loss does not change the rate. Before the first grant the window is one packet. Status: draft.

use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::Smoothed;
use crate::parameters::{Params, number};
use crate::window::{Window, impl_window_accessors};
use crate::{
    Ack, Algorithm, Congestion, Controller, EcnResponse, FlowInfo, Hint, PathHint, Signals, Timeout,
};
use units::Rate;

/// Sends at the rate that the routers grant.
#[derive(Clone, Debug)]
pub struct Rcp {
    window: Window,
    headroom: f64,
    packet_bits: f64,
    smoothed: Smoothed,
    granted: Option<Rate>,
}

impl Algorithm for Rcp {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "rcp",
        summary: "paces packets at the rate that the routers of the path grant",
        source: "Dukkipati, thesis, Stanford 2007",
        family: Family::Explicit,
        status: Status::Draft,
        params: &[number(
            "headroom",
            "2",
            [1.0, 100.0],
            "",
            "the window over the product of rate and round-trip time",
        )],
        probes: &["rate"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Rcp {
        Rcp {
            window: Window::new(flow),
            headroom: params.number("headroom"),
            packet_bits: flow.packet as f64 * 8.0,
            smoothed: Smoothed::new(0.125),
            granted: None,
        }
    }
}

impl Controller for Rcp {
    fn needs(&self) -> Signals {
        Signals::ROUTER_RATE.and(Signals::PACING)
    }
    fn ecn_response(&self) -> EcnResponse {
        EcnResponse::CwrOnly
    }
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.smoothed.update(rtt.seconds());
        }
        if let (Some(rate), Some(rtt)) = (self.granted, self.smoothed.get()) {
            let needed = (self.headroom * rate.bps() as f64 * rtt / self.packet_bits).max(2.0);
            self.window.aim(needed, ack.phase);
        }
    }
    fn on_congestion(&mut self, _event: &Congestion) {}
    fn on_rto(&mut self, _event: &Timeout) {
        self.window.set(1.0);
    }
    fn on_hint(&mut self, hint: &PathHint) {
        if let Hint::RouterRate(rate) = hint.kind {
            self.granted = Some(rate);
        }
    }
    fn pacing(&self) -> Option<Rate> {
        self.granted.filter(|rate| rate.bps() > 0)
    }
    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.granted.map_or(f64::NAN, |rate| rate.bps() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, congestion, ns2_flow, timeout};
    use units::Span;
    use units::Time;

    #[test]
    fn the_rate_is_the_routers() {
        let mut algorithm =
            Rcp::new(&Params::new(Rcp::DESCRIPTOR.params, []).unwrap(), &ns2_flow(1.0, 100.0));
        assert_eq!(algorithm.pacing(), None);
        algorithm.on_hint(&PathHint { now: Time::ZERO, kind: Hint::RouterRate(Rate::from_bps(1_000_000)) });
        assert_eq!(algorithm.pacing(), Some(Rate::from_bps(1_000_000)));
        // 1 Mb/s, 100 ms: 12.5 segments, with the headroom 25.
        algorithm.on_ack(&Ack { rtt: Some(Span::from_ms(100)), ..ack(1) });
        assert_eq!(algorithm.cwnd(), 25.0);
        algorithm.on_congestion(&congestion(25.0));
        assert_eq!(algorithm.cwnd(), 25.0);
        algorithm.on_rto(&timeout(25.0, false));
        assert_eq!(algorithm.cwnd(), 1.0);
    }
}
