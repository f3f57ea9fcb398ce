//! The queue of a link, with its parameters computed from the rate, delay and round-trip time of the link.

use crate::scenario::{Queue, RedQueue};
use cc::detmath::exp;
use net::qdisc::{DropTail, Qdisc, Red, RedConfig};
use units::{Limit, Rate, Span};

/// Target delay of ns-2's automatic thresholds.
const TARGET_DELAY_S: f64 = 0.005;

impl Queue {
    /// The limit in packets or bytes on a link of rate `rate`; `rtt` is the longest round-trip time of its flows.
    pub(crate) fn limit(&self, rate: Rate, rtt: Span) -> Option<Limit> {
        let (limit, unit) = match self {
            Queue::Unlimited => return None,
            Queue::DropTail(limit) => (*limit, None),
            Queue::Red(red) => (red.limit, Some(red.mean_packet as u64)),
        };
        Some(match (limit, unit) {
            (Limit::Bdp(n), unit) => {
                let bytes = (n * rate.bytes_in(rtt) as f64) as u64;
                unit.map_or(Limit::Bytes(bytes), |unit| Limit::Packets(bytes / unit))
            }
            (fixed, _) => fixed,
        })
    }

    /// Whether the limit applies to the queue before the arrival of a packet, without that packet.
    pub(crate) fn limits_before(&self) -> bool {
        matches!(self, Queue::Red(_))
    }

    /// Builds the queue. `stream` is called only if the queue needs random numbers.
    pub(crate) fn build(
        &self,
        rate: Rate,
        delay: Span,
        rtt: Span,
        stream: impl FnOnce() -> engine::Stream,
    ) -> Qdisc {
        match (self, self.limit(rate, rtt)) {
            (Queue::Red(red), Some(limit)) => {
                Qdisc::Red(Box::new(Red::new(red.resolve(rate, delay, limit), stream())))
            }
            (_, Some(Limit::Packets(n))) => Qdisc::DropTail(DropTail::packets(n)),
            (_, Some(Limit::Bytes(n))) => Qdisc::DropTail(DropTail::bytes(n)),
            _ => Qdisc::Unlimited,
        }
    }
}

impl RedQueue {
    fn resolve(&self, rate: Rate, delay: Span, limit: Limit) -> RedConfig {
        let packets_per_s = rate.bps() as f64 / (8.0 * self.mean_packet as f64);
        let (bytes, limit) = match limit {
            Limit::Bytes(n) => (true, n),
            Limit::Packets(n) => (false, n),
            Limit::Bdp(_) => (false, u64::MAX),
        };
        let unit = if bytes { self.mean_packet as f64 } else { 1.0 };
        let automatic = unit * (TARGET_DELAY_S * packets_per_s / 2.0).max(5.0);
        let min = self.min.map_or(automatic, |min| min as f64);
        let rtt = (3.0 * (delay.seconds() + 1.0 / packets_per_s)).max(0.1);
        RedConfig {
            min,
            max: self.max.map_or(3.0 * min, |max| max as f64),
            limit,
            max_p: self.max_p,
            weight: self.weight.unwrap_or_else(|| 1.0 - exp(-1.0 / (10.0 * rtt * packets_per_s))),
            gentle: self.gentle,
            wait: self.wait,
            bytes,
            mean_packet: self.mean_packet,
            packets_per_s,
            ecn: self.ecn,
            mark_p: self.mark_p,
            adaptive_bottom: self.adaptive.then(|| (80_000.0 / rate.bps() as f64).min(0.01)),
            feng: self.feng,
            ns2_gentle_slope: self.ns2_gentle_slope,
            count_in_service: self.count_in_service,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn automatic_settings_have_their_published_values() {
        let red = RedQueue {
            limit: Limit::Packets(50),
            min: None,
            max: None,
            max_p: 0.1,
            weight: None,
            gentle: true,
            wait: true,
            mean_packet: 500,
            ecn: false,
            mark_p: 0.1,
            adaptive: false,
            feng: false,
            ns2_gentle_slope: false,
            count_in_service: false,
        };
        let c = red.resolve(Rate::from_bps(1_500_000), Span::from_ms(20), red.limit);
        assert!((c.packets_per_s - 375.0).abs() < 1e-9 && (c.weight - 0.00266311).abs() < 1e-8);
        assert_eq!((c.min, c.max), (5.0, 15.0));
        let red = RedQueue { mean_packet: 1000, ..red };
        let c = red.resolve(Rate::from_bps(2_500_000), Span::from_ms(40), red.limit);
        assert!((c.weight - 0.00246609).abs() < 1e-8);
        let c = red.resolve(Rate::from_bps(2_500_000), Span::from_ms(40), Limit::Bytes(12_500));
        assert_eq!((c.bytes, c.min, c.max, c.limit), (true, 5000.0, 15_000.0, 12_500));
    }
}
