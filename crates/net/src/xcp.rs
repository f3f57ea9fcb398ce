//! An XCP router. Katabi, Handley, Rohrs, "Congestion Control for High Bandwidth-Delay Product Networks" (2002), in
//! the form of docs/specs/rcp.md section 2.
//!
//! Every control period, which is the mean round-trip time of the packets, the router distributes the spare bandwidth
//! equally among flows and takes bandwidth back in proportion to their rates. A part of the traffic is always
//! redistributed (shuffled), so that shares become equal. The feedback is written at enqueue, not at departure.

use crate::packet::{Packet, XcpHeader};
use params::Form;
use units::{Rate, Span, Time};

params::options! {
    /// The parameters of an XCP router.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct XcpConfig {
        alpha: f64 = Form::Number(0.0, 10.0), ["0.4"], "gain of the spare capacity";
        beta: f64 = Form::Number(0.0, 10.0), ["0.226"], "gain of the queue";
        gamma: f64 = Form::Number(0.0, 1.0), ["0.1"], "part of the traffic that is redistributed";
    }
}

/// The first and the shortest control period, s.
const FIRST: f64 = 0.05;
const SHORTEST: f64 = 0.001;
/// Upper bound of a packet's round-trip time in the mean, s.
const LONGEST: f64 = 1.024;
/// The shortest interval for the minimum of the queue, s.
const QUEUE_SHORTEST: f64 = 0.002;

/// The router of one link. Amounts are in bytes, times in seconds.
#[derive(Clone, Debug)]
pub struct XcpRouter {
    config: XcpConfig,
    capacity: f64,
    /// The current control period: its length and its end.
    period: f64,
    ends: Time,
    /// Arrivals in the period: bytes; for packets with a round-trip time, the sum of the spacings, and that of
    /// spacings times round-trip times.
    bytes: f64,
    spacings: f64,
    weighted: f64,
    round_trip: f64,
    /// Feedback per second of spacing and per byte, and the rest of both budgets.
    gain: f64,
    loss: f64,
    left: [f64; 2],
    /// The persistent queue, the minimum of the queue in the current interval, and the end of that interval.
    queue: f64,
    least: f64,
    looks: Time,
}

impl XcpRouter {
    /// The router of a link of this rate.
    pub fn new(config: XcpConfig, rate: Rate) -> XcpRouter {
        XcpRouter {
            config,
            capacity: rate.bps() as f64 / 8.0,
            period: FIRST,
            ends: Time::ZERO + Span::from_seconds(FIRST),
            bytes: 0.0,
            spacings: 0.0,
            weighted: 0.0,
            round_trip: FIRST,
            gain: 0.0,
            loss: 0.0,
            left: [0.0; 2],
            queue: 0.0,
            least: 0.0,
            looks: Time::ZERO,
        }
    }

    /// Processes a packet. Returns its new XCP header if it has one. `free_at` is the time at which the transmitter
    /// becomes idle.
    pub fn process(&mut self, now: Time, free_at: Time, packet: &Packet) -> Option<XcpHeader> {
        while now >= self.ends {
            self.update_rate();
        }
        let waiting = free_at.since(now).seconds() * self.capacity;
        self.least = self.least.min(waiting);
        if now >= self.looks {
            self.queue = self.least;
            self.least = waiting;
            let span = ((self.round_trip - waiting / self.capacity) / 2.0).max(QUEUE_SHORTEST);
            self.looks = now + Span::from_seconds(span);
        }
        let size = packet.size as f64;
        self.bytes += size;
        let header = packet.xcp_header()?;
        let rtt = header.round_trip.seconds();
        if rtt == 0.0 {
            return Some(XcpHeader { feedback: 0, ..header });
        }
        let spacing = header.spacing.seconds();
        self.spacings += spacing;
        self.weighted += spacing * rtt.min(LONGEST);
        Some(XcpHeader { feedback: self.feedback(spacing, size, header.feedback as f64) as i32, ..header })
    }

    /// The feedback of one packet, at most `requested`.
    fn feedback(&mut self, spacing: f64, size: f64, requested: f64) -> f64 {
        let (mut more, mut less) =
            ((self.gain * spacing).min(self.left[0]), (self.loss * size).min(self.left[1]));
        let mut feedback = more - less;
        if requested < feedback {
            less = (less + feedback - requested).min(self.left[1]);
            more = (requested + less).max(0.0);
            feedback = requested;
        }
        self.left = [(self.left[0] - more).max(0.0), (self.left[1] - less).max(0.0)];
        feedback
    }

    /// Ends a control period.
    fn update_rate(&mut self) {
        let arriving = self.bytes / self.period;
        self.round_trip = if self.spacings > 0.0 { self.weighted / self.spacings } else { FIRST };
        (self.gain, self.loss, self.left) = (0.0, 0.0, [0.0; 2]);
        if self.bytes > 0.0 {
            let XcpConfig { alpha, beta, gamma } = self.config;
            let spare = alpha * (self.capacity - arriving) - beta * self.queue / self.round_trip;
            let shuffled = (gamma * arriving - spare.abs()).max(0.0);
            self.left = [spare.max(0.0) + shuffled, (-spare).max(0.0) + shuffled];
            if self.spacings > 0.0 {
                self.gain = self.left[0] / self.spacings;
            }
            self.loss = self.left[1] / self.bytes;
        }
        (self.bytes, self.spacings, self.weighted) = (0.0, 0.0, 0.0);
        self.period = self.round_trip.max(SHORTEST);
        self.ends += Span::from_seconds(self.period);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketKind;

    fn packet(spacing_ms: u64, rtt_ms: u64) -> Packet {
        let mut packet = Packet::new(PacketKind::Data, 0, 0, 0, 1000, Time::ZERO);
        let (round_trip, spacing) = (Span::from_ms(rtt_ms), Span::from_ms(spacing_ms));
        packet.set_xcp_header(XcpHeader { round_trip, spacing, feedback: i32::MAX });
        packet
    }

    /// Ten packets of 1000 bytes in the first 50 ms of a link of 1 MB/s: 200 kB/s, 800 are spare, of which 0.4 are given out
    /// in the next period, to each packet by its spacing.
    #[test]
    fn spare_capacity_is_given_by_spacing() {
        let mut router = XcpRouter::new(XcpConfig::with_defaults(0), Rate::from_bps(8_000_000));
        for k in 0..10 {
            let at = Time::ZERO + Span::from_ms(5 * k);
            assert_eq!(router.process(at, at, &packet(5, 100)).unwrap().feedback, 0);
        }
        let at = Time::ZERO + Span::from_ms(51);
        // 320 kB/s over ten spacings of 5 ms: a packet gets a tenth.
        assert_eq!(router.process(at, at, &packet(5, 100)).unwrap().feedback, 32_000);
        assert_eq!(router.process(at, at, &packet(10, 100)).unwrap().feedback, 64_000);
        // A packet that requests less receives its request.
        let mut modest = packet(5, 100);
        modest.set_xcp_header(XcpHeader { feedback: 7, ..modest.xcp_header().unwrap() });
        assert_eq!(router.process(at, at, &modest).unwrap().feedback, 7);
        // No round-trip time yet, no feedback.
        assert_eq!(router.process(at, at, &packet(5, 0)).unwrap().feedback, 0);
    }

    #[test]
    fn an_overloaded_link_takes_back() {
        let mut router = XcpRouter::new(XcpConfig::with_defaults(0), Rate::from_bps(800_000));
        for k in 0..10 {
            let at = Time::ZERO + Span::from_ms(5 * k);
            router.process(at, at + Span::from_ms(100), &packet(5, 100));
        }
        let at = Time::ZERO + Span::from_ms(51);
        assert!(router.process(at, at + Span::from_ms(100), &packet(5, 100)).unwrap().feedback < -3000);
    }
}
