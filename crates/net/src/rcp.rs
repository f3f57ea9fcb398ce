//! An RCP router. Dukkipati, "Rate Control Protocol", thesis, Stanford 2007; the discrete form and its constants
//! follow docs/specs/rcp.md section 1.
//!
//! Every period the router computes one rate for all flows from the arrivals, the queue and the mean round-trip time.
//! A data packet carries the smallest rate of its path to the receiver, and the ACK returns it. Differences from the
//! ns-2 code of the author: the first period is not random, and the rate is written at enqueue, not at departure.

use crate::packet::{Packet, RateHeader};
use params::{Form, Unit};
use units::{Rate, Span, Time};

params::options! {
    /// The parameters of an RCP router.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RcpConfig {
        alpha: f64 = Form::Number(0.0, 10.0), ["0.4"], "gain of the spare capacity";
        beta: f64 = Form::Number(0.0, 10.0), ["0.4"], "gain of the queue";
        gamma: f64 = Form::Number(0.01, 1.0), ["1"], "part of the capacity to use";
        period: Span = Form::Range(Unit::Time, "10ms", "1ms", "200ms"), ["\"10ms\""],
            "time between two updates of the rate";
        initial: f64 = Form::Number(1e-6, 1.0), ["0.05"], "first rate, as a part of the capacity";
    }
}

/// The smallest rate, as bytes per round trip: 0.01 packets of 1000 bytes.
const LEAST: f64 = 0.01 * 1000.0;

/// The router of one link. Amounts are in bytes, times in seconds.
#[derive(Clone, Debug)]
pub struct RcpRouter {
    config: RcpConfig,
    capacity: f64,
    rate: f64,
    /// Mean round-trip time.
    round_trip: f64,
    /// End of the current period, and the time at which the transmitter becomes idle, as of the last packet.
    ends: Time,
    free_at: Time,
    bytes: f64,
    /// Packets with a round-trip time in their rate header: sum of sizes, and sum of sizes times round-trip times.
    weight: f64,
    weighted: f64,
}

impl RcpRouter {
    /// The router of a link of this rate.
    pub fn new(config: RcpConfig, rate: Rate) -> RcpRouter {
        let capacity = rate.bps() as f64 / 8.0;
        RcpRouter {
            rate: config.initial * capacity,
            capacity,
            round_trip: 0.2,
            ends: Time::ZERO + config.period,
            free_at: Time::ZERO,
            bytes: 0.0,
            weight: 0.0,
            weighted: 0.0,
            config,
        }
    }

    /// The rate that flows are granted.
    pub fn rate(&self) -> Rate {
        Rate::from_bps((8.0 * self.rate) as u64)
    }

    /// Processes a packet. Returns its new rate header if it carries one. `free_at` is the time at which the
    /// transmitter becomes idle.
    pub fn process(&mut self, now: Time, free_at: Time, packet: &Packet) -> Option<RateHeader> {
        while now >= self.ends {
            self.update_rate();
        }
        self.free_at = free_at;
        let size = packet.size as f64;
        self.bytes += size;
        let header = packet.rate_header()?;
        let rtt = header.round_trip().seconds();
        if rtt > 0.0 {
            self.weight += size;
            self.weighted += size * rtt;
        }
        Some(header.at_most(self.rate()))
    }

    /// Ends a period and updates the rate.
    fn update_rate(&mut self) {
        let waiting = self.free_at.since(self.ends).seconds() * self.capacity;
        self.update(self.bytes / self.config.period.seconds(), waiting);
        self.ends += self.config.period;
        (self.bytes, self.weight, self.weighted) = (0.0, 0.0, 0.0);
    }

    /// Updates the rate from the arrivals, bytes per second, and the queue, bytes.
    fn update(&mut self, arriving: f64, waiting: f64) {
        let RcpConfig { alpha, beta, gamma, .. } = self.config;
        let (period, round_trip) = (self.config.period.seconds(), self.round_trip);
        let target = gamma * self.capacity;
        let free = alpha * (target - arriving) - beta * waiting / round_trip;
        let rate = self.rate * (1.0 + period / round_trip * free / target);
        self.rate = rate.clamp((LEAST / round_trip).min(target), target);
        if self.weight > 0.0 {
            let seen = self.weighted / self.weight;
            let gain = if seen >= round_trip {
                period / round_trip
            } else {
                self.rate / self.capacity * (seen / round_trip) * (period / round_trip)
            };
            self.round_trip += gain.min(1.0) * (seen - round_trip);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketKind;

    #[test]
    fn published_updates() {
        for (arriving, waiting, expected) in [
            (0.0, 0.0, 13_000.0),
            (125_000.0, 0.0, 12_750.0),
            (250_000.0, 0.0, 12_500.0),
            (300_000.0, 20_000.0, 12_000.0),
        ] {
            let mut router = RcpRouter::new(RcpConfig::with_defaults(0), Rate::from_bps(2_000_000));
            assert_eq!(router.rate, 12_500.0);
            router.round_trip = 0.1;
            router.update(arriving, waiting);
            assert!((router.rate - expected).abs() < 1e-6, "{arriving} {waiting}: {}", router.rate);
        }
    }

    #[test]
    fn a_packet_leaves_with_the_least_rate_of_its_path() {
        let mut router = RcpRouter::new(RcpConfig::with_defaults(0), Rate::from_bps(2_000_000));
        let mut packet = Packet::new(PacketKind::Data, 0, 0, 0, 1000, Time::ZERO);
        assert_eq!(router.process(Time::ZERO, Time::ZERO, &packet), None);
        packet.set_rate_header(RateHeader::request(Span::from_ms(100)));
        let granted = router.process(Time::ZERO, Time::ZERO, &packet).unwrap();
        assert_eq!(granted.rate(), Some(Rate::from_bps(100_000)));
        assert_eq!(granted.round_trip(), Span::from_ms(100));
        packet.set_rate_header(granted.at_most(Rate::from_bps(30_000)));
        assert_eq!(
            router.process(Time::ZERO, Time::ZERO, &packet).unwrap().rate(),
            Some(Rate::from_bps(30_000))
        );
    }

    #[test]
    fn an_idle_link_grants_more_and_more() {
        let mut router = RcpRouter::new(RcpConfig::with_defaults(0), Rate::from_bps(2_000_000));
        let late = Time::ZERO + Span::from_ms(60_000);
        router.process(late, Time::ZERO, &Packet::new(PacketKind::Data, 0, 0, 0, 40, Time::ZERO));
        assert_eq!(router.rate(), Rate::from_bps(2_000_000));
    }
}
