//! XCP at the sender. Katabi, Handley, Rohrs, "Congestion Control for High Bandwidth-Delay Product Networks" (2002):
//! the window follows the feedback that the routers of the path write into its packets (links with
//! `router = { kind = "xcp" }`).
//!
//! Each ACK changes the window by its feedback, a change of rate, times the round-trip time. A loss halves the window
//! as in TCP; a timeout sets it to one segment. Status: draft.

use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::Smoothed;
use crate::parameters::Params;
use crate::window::{Window, impl_window_accessors};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Hint, PathHint, Signals, Timeout};

/// Follows the routers' feedback.
#[derive(Clone, Debug)]
pub struct Xcp {
    window: Window,
    packet: f64,
    smoothed: Smoothed,
    /// Feedback of the current ACK, bytes per second.
    feedback: f64,
}

impl Algorithm for Xcp {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "xcp",
        summary: "the window follows the feedback of the routers of the path",
        source: "Katabi, Handley, Rohrs 2002",
        family: Family::Explicit,
        status: Status::Draft,
        params: &[],
        probes: &["feedback"],
    };
    fn new(_params: &Params, flow: &FlowInfo) -> Xcp {
        Xcp {
            window: Window::new(flow),
            packet: flow.packet as f64,
            smoothed: Smoothed::new(0.125),
            feedback: 0.0,
        }
    }
}

impl Controller for Xcp {
    fn needs(&self) -> Signals {
        Signals::ROUTER_FEEDBACK
    }
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.smoothed.update(rtt.seconds());
        }
        if let Some(rtt) = self.smoothed.get() {
            let change = self.feedback * rtt / self.packet;
            self.window.aim((self.window.cwnd + change).max(1.0), ack.phase);
        }
        self.feedback = 0.0;
    }
    fn on_congestion(&mut self, _event: &Congestion) {
        self.window.set((self.window.cwnd / 2.0).max(1.0));
    }
    fn on_rto(&mut self, _event: &Timeout) {
        self.window.set(1.0);
    }
    fn on_hint(&mut self, hint: &PathHint) {
        if let Hint::RouterFeedback(feedback) = hint.kind {
            self.feedback = feedback;
        }
    }
    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.feedback;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, congestion, ns2_flow, timeout};
    use units::Span;
    use units::Time;

    #[test]
    fn the_window_is_the_feedbacks_sum() {
        let mut algorithm = Xcp::new(&Params::new(&[], []).unwrap(), &ns2_flow(2.0, 100.0));
        // 100 kB/s more over 100 ms: ten packets.
        algorithm.on_hint(&PathHint { now: Time::ZERO, kind: Hint::RouterFeedback(100_000.0) });
        algorithm.on_ack(&Ack { rtt: Some(Span::from_ms(100)), ..ack(1) });
        assert_eq!(algorithm.cwnd(), 12.0);
        // Without feedback nothing moves; less is less, but not below one.
        algorithm.on_ack(&ack(2));
        assert_eq!(algorithm.cwnd(), 12.0);
        algorithm.on_hint(&PathHint { now: Time::ZERO, kind: Hint::RouterFeedback(-40_000.0) });
        algorithm.on_ack(&ack(3));
        assert_eq!(algorithm.cwnd(), 8.0);
        algorithm.on_congestion(&congestion(8.0));
        assert_eq!(algorithm.cwnd(), 4.0);
        algorithm.on_hint(&PathHint { now: Time::ZERO, kind: Hint::RouterFeedback(-1e6) });
        algorithm.on_ack(&ack(4));
        assert_eq!(algorithm.cwnd(), 1.0);
        algorithm.on_rto(&timeout(1.0, false));
        assert_eq!(algorithm.cwnd(), 1.0);
    }
}
