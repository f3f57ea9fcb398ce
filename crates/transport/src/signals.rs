//! Which signals a TCP sender provides to controllers, and why not the others.

use crate::options::{EcnFeedback, Options, Recovery};
use cc::Signals;

/// A signal that an option provides.
struct Rule {
    signal: Signals,
    provided: fn(&Options) -> bool,
    /// What the controller needs, after its name, with the remedy.
    missing: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        signal: Signals::ECN_PER_PACKET,
        provided: |options| options.ecn && options.ecn_feedback == EcnFeedback::PerPacket,
        missing: "needs marks per packet: write ecn = true and ecn_feedback = \"per_packet\"",
    },
    Rule {
        signal: Signals::L4S,
        provided: |options| options.l4s,
        missing: "needs packets with ECT(1): write l4s = true",
    },
    Rule {
        signal: Signals::SEGMENT_COUNTS,
        provided: |options| options.recovery == Recovery::Rack,
        missing: "needs counts of delivered and lost segments: write recovery = \"rack\"",
    },
    Rule {
        signal: Signals::RECEIVER_TIME,
        provided: Options::receiver_time,
        missing: "needs the receiver's clock: write timestamps = true",
    },
    Rule {
        signal: Signals::LOSSES,
        provided: |options| options.recovery == Recovery::Rack,
        missing: "needs each lost segment: write recovery = \"rack\"",
    },
    Rule {
        signal: Signals::DELIVERIES,
        provided: |options| options.recovery == Recovery::Rack,
        missing: "needs each delivered segment: write recovery = \"rack\"",
    },
];

/// The signals that every sender provides. Those of routers depend on the path; without a fine clock a controller does not
/// retransmit by itself.
const ALWAYS: Signals = Signals::RATE
    .and(Signals::SENT)
    .and(Signals::SAMPLES)
    .and(Signals::PACING)
    .and(Signals::TIMER)
    .and(Signals::FINE_CLOCK)
    .and(Signals::ROUTER_RATE)
    .and(Signals::ROUTER_FEEDBACK);

/// What a controller that needs `needs` misses with these options, after its name; `None` if nothing.
pub fn missing_signal(needs: Signals, options: &Options) -> Option<&'static str> {
    let provided = RULES.iter().filter(|rule| (rule.provided)(options));
    let provided = provided.fold(ALWAYS, |signals, rule| signals.and(rule.signal));
    needs.missing(provided, RULES.iter().map(|rule| (rule.signal, rule.missing)))
}
