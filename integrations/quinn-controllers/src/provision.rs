//! Which signals of a controller quinn's interface can give, and why not the others.

use ackclock_cc::{Provision, SignalRule, Signals};

/// A signal that quinn cannot give. `optional`: a controller that asks for it runs without it.
const fn lacking(signal: Signals, optional: bool, missing: &'static str) -> SignalRule<()> {
    SignalRule { signal, provided: |()| false, optional, missing }
}

/// What quinn gives to every controller, and what it does not give.
pub const PROVISION: Provision<()> = Provision {
    always: Signals::RATE
        .and(Signals::SEGMENT_COUNTS)
        .and(Signals::LOSSES)
        .and(Signals::SENT)
        .and(Signals::DELIVERIES)
        .and(Signals::SAMPLES),
    rules: &[
        lacking(
            Signals::RECEIVER_TIME,
            false,
            "needs the receiver's clock, for which QUIC's packets have no field",
        ),
        lacking(
            Signals::ROUTER_RATE,
            false,
            "needs the rates that routers grant, for which QUIC's packets have no field",
        ),
        lacking(
            Signals::ROUTER_FEEDBACK,
            false,
            "needs the feedback of routers, for which QUIC's packets have no field",
        ),
        lacking(
            Signals::ECN_PER_PACKET,
            false,
            "needs the number of packets with an ECN mark, which quinn does not pass to controllers",
        ),
        lacking(Signals::L4S, false, "needs packets with ECT(1); quinn sends ECT(0)"),
        lacking(Signals::TIMER, false, "needs a timer, which quinn does not have for controllers"),
        lacking(
            Signals::FINE_CLOCK,
            true,
            "does not retransmit by its own clock: quinn alone detects losses",
        ),
        lacking(
            Signals::PACING,
            true,
            "is not paced at its own rate: quinn's pacer sends 1.25 windows in a round trip",
        ),
    ],
};
