//! A router with Quick-Start (RFC 4782): a SYN carries the initial rate that its sender requests. Each router on the
//! path reduces it to its spare rate, and the rate that reaches the receiver is approved.
//!
//! The spare rate is `threshold` times the capacity, minus the rate of arrivals and approvals in the last `window`.
//! It is rounded down to one of the fifteen rates of the header, 40 kb/s times a power of two. Difference from the
//! RFC: the simulator checks when it builds the path that every router of the path participates; packets carry no
//! Quick-Start TTL.

use crate::packet::{Packet, RateHeader};
use params::{Form, Unit};
use units::{Rate, Span, Time};

/// The smallest rate of a request: 80 kb/s (RFC 4782 section 3.1).
pub const QUICK_START_LEAST: Rate = Rate::from_bps(80_000);

params::options! {
    /// The configuration of a Quick-Start router.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct QuickStartConfig {
        threshold: f64 = Form::Number(0.0, 1.0), ["0.85"], "part of the capacity up to which rates are approved";
        window: Span = Form::AtLeast(Unit::Time, "200ms", "1ms"), ["\"200ms\""],
            "time over which arrivals and approvals count";
    }
}

/// The router of one link.
#[derive(Clone, Debug)]
pub struct QuickStartRouter {
    config: QuickStartConfig,
    capacity_bps: f64,
    ends: Time,
    /// Bits that arrived or were approved in this window and in the one before.
    now_bits: f64,
    past_bits: f64,
}

impl QuickStartRouter {
    /// The router of a link of this rate.
    pub fn new(config: QuickStartConfig, rate: Rate) -> QuickStartRouter {
        QuickStartRouter {
            ends: Time::ZERO + config.window,
            config,
            capacity_bps: rate.bps() as f64,
            now_bits: 0.0,
            past_bits: 0.0,
        }
    }

    /// Processes a packet. Returns its new rate header if it is a SYN with a request.
    pub fn process(&mut self, now: Time, packet: &Packet) -> Option<RateHeader> {
        while now >= self.ends {
            self.past_bits = std::mem::take(&mut self.now_bits);
            self.ends += self.config.window;
        }
        self.now_bits += packet.size as f64 * 8.0;
        let request = packet.rate_header().filter(|_| packet.seq == 0)?;
        let used = self.past_bits.max(self.now_bits) / self.config.window.seconds();
        let left = self.config.threshold * self.capacity_bps - used;
        let requested = request.rate().map_or(0.0, |rate| rate.bps() as f64);
        let granted = quantised(left.min(requested));
        self.now_bits += granted.bps() as f64 * self.config.window.seconds();
        Some(request.at_most(granted))
    }
}

/// The largest rate of the header that is at most `bps` bit/s; zero if there is none.
fn quantised(bps: f64) -> Rate {
    let rate_code = (1..=15).rev().map(|n| 40_000u64 << n).find(|rate| *rate as f64 <= bps);
    Rate::from_bps(rate_code.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketKind;

    fn syn(at: Time, rate: u64) -> Packet {
        let mut packet = Packet::new(PacketKind::Data, 0, 0, 0, 40, at);
        packet.set_rate_header(RateHeader::request(Span::ZERO).at_most(Rate::from_bps(rate)));
        packet
    }

    #[test]
    fn approves_what_is_left() {
        let mut router =
            QuickStartRouter::new(QuickStartConfig::with_defaults(0), Rate::from_bps(10_000_000));
        let at = Time::ZERO + Span::from_ms(1000);
        // 8.5 Mb/s are left: the header's next rate below is 40 kb/s times 2^7.
        let granted = |r: &mut QuickStartRouter, t| {
            r.process(t, &syn(t, 10_000_000)).and_then(RateHeader::rate).unwrap()
        };
        assert_eq!(granted(&mut router, at), Rate::from_bps(5_120_000));
        assert_eq!(granted(&mut router, at), Rate::from_bps(2_560_000)); // less what was just approved
        assert!(granted(&mut router, at) < Rate::from_bps(1_000_000));
        let later = at + Span::from_ms(500);
        assert_eq!(granted(&mut router, later), Rate::from_bps(5_120_000));
    }

    #[test]
    fn data_counts_and_carries_nothing() {
        let mut router = QuickStartRouter::new(QuickStartConfig::with_defaults(0), Rate::from_bps(1_000_000));
        let at = Time::ZERO + Span::from_ms(10);
        for seq in 1..30 {
            assert!(router.process(at, &Packet::new(PacketKind::Data, 0, 0, seq, 1000, at)).is_none());
        }
        // 232 kbit in 200 ms are more than the link carries: nothing is left.
        let answer = router.process(at, &syn(at, 500_000)).and_then(RateHeader::rate).unwrap();
        assert!(answer < QUICK_START_LEAST);
    }
}
