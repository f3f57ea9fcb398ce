//! Which signals a QUIC connection provides to controllers, and why not the others.

use crate::config::Config;
use cc::{Provision, SignalRule, Signals};

const RULES: &[SignalRule<Config>] = &[
    SignalRule {
        signal: Signals::ROUTER_RATE,
        provided: |_| false,
        optional: false,
        missing: "needs the rates that routers grant, for which QUIC's packets have no field; use a TCP flow",
    },
    SignalRule {
        signal: Signals::ROUTER_FEEDBACK,
        provided: |_| false,
        optional: false,
        missing: "needs the feedback of routers, for which QUIC's packets have no field; use a TCP flow",
    },
    SignalRule {
        signal: Signals::FINE_CLOCK,
        provided: |_| false,
        optional: true,
        missing: "does not retransmit by its own clock: QUIC has no duplicate ACKs, and its stack alone detects losses",
    },
    SignalRule {
        signal: Signals::ECN_PER_PACKET,
        provided: |config| config.ecn,
        optional: false,
        missing: "needs ECN; write ecn = true",
    },
    SignalRule {
        signal: Signals::L4S,
        provided: |config| config.ecn && config.l4s,
        optional: false,
        missing: "needs packets with ECT(1); write ecn = true and l4s = true",
    },
    SignalRule {
        signal: Signals::RECEIVER_TIME,
        provided: |config| !config.tls || config.tls_clock,
        optional: false,
        missing: "needs the receiver's clock, for which packets under TLS have no field; write tls = false or tls_clock = true",
    },
];

/// The signals that are always there: delivery rates, pacing, timer, counts, losses, transmissions, deliveries,
/// measurements of ACKs.
const ALWAYS: Signals = Signals::RATE
    .and(Signals::PACING)
    .and(Signals::TIMER)
    .and(Signals::SEGMENT_COUNTS)
    .and(Signals::LOSSES)
    .and(Signals::SENT)
    .and(Signals::DELIVERIES)
    .and(Signals::SAMPLES);

const SIGNALS: Provision<Config> = Provision { always: ALWAYS, rules: RULES };

/// The signals that a connection with these settings provides.
pub fn provided_signals(config: &Config) -> Signals {
    SIGNALS.provided(config)
}

/// Why a controller that needs `needs` cannot run on a connection with these settings: the text after its name, for example
/// "needs ECN; write ecn = true". `None` if it can.
pub fn missing_signal(needs: Signals, config: &Config) -> Option<&'static str> {
    SIGNALS.missing(needs, config)
}

/// What a controller that needs `needs` does without on a connection with these settings although it runs: texts after its
/// name, as in [`missing_signal`].
pub fn degraded_signals(needs: Signals, config: &Config) -> Vec<&'static str> {
    SIGNALS.degraded(needs, config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_offered_is_not_missing() {
        let plain = Config::default();
        let marked = Config { ecn: true, l4s: true, ..Config::default() };
        for config in [&plain, &marked, &Config { tls: true, ..plain.clone() }] {
            for rule in RULES {
                let missing = missing_signal(rule.signal, config).is_some();
                let degraded = !degraded_signals(rule.signal, config).is_empty();
                assert_eq!(provided_signals(config).has(rule.signal), !missing && !degraded);
                assert_eq!(degraded, rule.signal == Signals::FINE_CLOCK);
            }
        }
        assert!(missing_signal(Signals::ECN_PER_PACKET, &plain).unwrap().contains("ecn = true"));
        assert!(missing_signal(Signals::ECN_PER_PACKET.and(Signals::L4S), &marked).is_none());
        assert!(missing_signal(Signals::ROUTER_RATE.and(Signals::PACING), &marked).is_some());
        assert!(missing_signal(ALWAYS, &plain).is_none());
        // A signal is provided, or there is a rule: none is granted because nobody has thought of it.
        for (name, signal) in Signals::named() {
            let ruled = RULES.iter().any(|rule| rule.signal == signal);
            assert!(ruled != ALWAYS.has(signal), "{name}");
        }
    }
}
