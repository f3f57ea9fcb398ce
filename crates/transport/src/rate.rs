//! Delivery-rate estimation (draft-ietf-ccwg-bbr section 4.1), per segment.

use cc::RateSample;
use units::{Span, Time};

/// The state of the sampler when a segment was last sent: 40 bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    at: Time,
    delivered_at: Time,
    first_sent_at: Time,
    delivered: u32,
    lost: u32,
    in_flight: u32,
    app_limited: bool,
    retransmission: bool,
}

/// Measures the delivery rate.
#[derive(Clone, Debug, Default)]
pub struct RateSampler {
    ring: Vec<Sent>,
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    /// The delivered count at which the last application-limited period ends; zero if there was none.
    app_limited_until: u64,
    /// The segment sent last among those that the current ACK delivers.
    newest: Option<(u32, Sent)>,
    /// The sample of the last cumulative ACK, until the controller takes it.
    sample: Option<RateSample>,
}

impl RateSampler {
    /// Segment `seq` of the outstanding segments from `una` on is sent at `now`, with `in_flight` segments in flight
    /// before it. `lost` segments were marked as lost since the start. `retransmission`: it was sent before.
    pub fn on_send(
        &mut self,
        una: u32,
        seq: u32,
        now: Time,
        in_flight: u32,
        lost: u64,
        retransmission: bool,
    ) {
        if in_flight == 0 {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let needed = (seq - una) as usize + 1;
        if needed > self.ring.len() {
            let mut ring = vec![Sent::default(); needed.next_power_of_two().max(16)];
            let mask = ring.len() - 1;
            if let Some(old) = self.ring.len().checked_sub(1) {
                for s in una..seq {
                    ring[s as usize & mask] = self.ring[s as usize & old];
                }
            }
            self.ring = ring;
        }
        let mask = self.ring.len() - 1;
        self.ring[seq as usize & mask] = Sent {
            at: now,
            delivered: self.delivered as u32,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            app_limited: self.app_limited_until > 0,
            in_flight: in_flight + 1,
            lost: lost as u32,
            retransmission,
        };
    }

    /// The state when segment `seq`, which is outstanding, was last sent: segments in flight with it, segments marked as
    /// lost until then (the lower 32 bits), and whether the application limited the sender.
    pub fn sent_state(&self, seq: u32) -> (u32, u32, bool) {
        let mask = self.ring.len().wrapping_sub(1);
        let sent = self.ring.get(seq as usize & mask).copied().unwrap_or_default();
        (sent.in_flight, sent.lost, sent.app_limited)
    }

    /// When segment `seq`, which is outstanding, was last sent.
    pub fn sent_at(&self, seq: u32) -> Time {
        let mask = self.ring.len().wrapping_sub(1);
        self.ring.get(seq as usize & mask).map_or(Time::ZERO, |sent| sent.at)
    }

    /// Whether the samples of segments sent now are limited by the application.
    pub fn app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// The application has no data to send, and the window permits more.
    pub fn on_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = (self.delivered + in_flight as u64).max(1);
    }

    /// Takes over the number of segments delivered so far, which counts duplicates and a SYN too.
    pub fn set_delivered(&mut self, delivered: u64) {
        self.delivered = delivered;
    }

    /// Segments delivered since the segment of the next sample was sent; `None` if nothing was delivered since the last sample.
    pub fn since_sent(&self) -> Option<u64> {
        let (_, sent) = self.newest.as_ref()?;
        Some((self.delivered as u32).wrapping_sub(sent.delivered) as u64)
    }

    /// Segment `seq` is delivered.
    pub fn on_segment(&mut self, seq: u32, now: Time) {
        self.delivered += 1;
        self.delivered_at = now;
        let mask = self.ring.len().wrapping_sub(1);
        let Some(sent) = self.ring.get(seq as usize & mask) else { return };
        if self.newest.is_none_or(|(number, newest)| (newest.at, number) < (sent.at, seq)) {
            self.newest = Some((seq, *sent));
        }
    }

    /// The sample of the segments that [`RateSampler::on_segment`] received since the last call. `min_rtt`: no rate
    /// follows from a shorter interval. `lost`: segments marked as lost since the start.
    pub fn sample(&mut self, now: Time, min_rtt: Option<Span>, lost: u64) -> Option<RateSample> {
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let (_, sent) = self.newest.take()?;
        let sending = sent.at.since(sent.first_sent_at);
        let acking = now.since(sent.delivered_at);
        self.first_sent_at = sent.at;
        let interval = sending.max(acking);
        let too_short = min_rtt.is_some_and(|least| interval < least);
        let delivered = (self.delivered as u32).wrapping_sub(sent.delivered) as u64;
        Some(RateSample {
            delivered,
            interval: if too_short { Span::ZERO } else { interval },
            app_limited: sent.app_limited,
            prior_delivered: self.delivered - delivered,
            tx_in_flight: sent.in_flight,
            lost: (lost as u32).wrapping_sub(sent.lost) as u64,
            send_interval: sending,
            ack_interval: acking,
            retransmission: sent.retransmission,
        })
    }

    /// Segments `from..to` were delivered by a cumulative ACK. Keeps the sample, if its interval is not zero.
    pub fn on_delivered(&mut self, from: u32, to: u32, now: Time) {
        (from..to).for_each(|seq| self.on_segment(seq, now));
        self.sample = self.sample(now, None, 0).filter(|sample| sample.interval > Span::ZERO);
    }

    /// The sample of the last cumulative ACK; once.
    pub fn take_sample(&mut self) -> Option<RateSample> {
        self.sample.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_ms(n)
    }

    /// Ten segments sent every `spacing` ms.
    fn ten(spacing: u64) -> RateSampler {
        let mut rate = RateSampler::default();
        (0..10).for_each(|seq| rate.on_send(0, seq, ms(seq as u64 * spacing), seq, 0, false));
        rate
    }

    fn deliver(rate: &mut RateSampler, from: u32, to: u32, now: Time) -> RateSample {
        rate.on_delivered(from, to, now);
        let sample = rate.take_sample().unwrap();
        assert_eq!(rate.take_sample(), None);
        sample
    }

    #[test]
    fn measures_the_slower_of_sending_and_acknowledging() {
        let mut rate = ten(1);
        (0..9).for_each(|seq| rate.on_delivered(seq, seq + 1, ms(100 + 2 * seq as u64)));
        let sample = deliver(&mut rate, 9, 10, ms(118));
        assert_eq!((sample.delivered, sample.interval, sample.prior_delivered), (10, Span::from_ms(118), 0));
        let sample = deliver(&mut ten(10), 0, 10, ms(100));
        assert_eq!((sample.delivered, sample.interval, sample.tx_in_flight), (10, Span::from_ms(100), 10));
    }

    #[test]
    fn counts_losses_since_the_segment_was_sent() {
        let mut rate = RateSampler::default();
        (0..5).for_each(|seq| rate.on_send(0, seq, ms(0), seq, 0, false));
        rate.on_segment(4, ms(100));
        let sample = rate.sample(ms(100), Some(Span::from_ms(100)), 2).unwrap();
        assert_eq!((sample.tx_in_flight, sample.lost, sample.delivered), (5, 2, 1));
        assert_eq!(sample.interval, Span::from_ms(100));
        rate.on_segment(3, ms(150));
        assert_eq!(rate.sample(ms(150), Some(Span::from_ms(151)), 2).unwrap().interval, Span::ZERO);
        assert_eq!(rate.sample(ms(150), None, 2), None);
    }

    #[test]
    fn an_application_limit_lasts_until_its_data_is_delivered() {
        let mut rate = RateSampler::default();
        (0..4).for_each(|seq| rate.on_send(0, seq, ms(0), seq, 0, false));
        rate.on_app_limited(4);
        rate.on_send(0, 4, ms(1), 4, 0, false);
        assert!(!deliver(&mut rate, 0, 4, ms(100)).app_limited);
        rate.on_send(4, 5, ms(100), 1, 0, false); // four delivered are not more than four
        assert!(deliver(&mut rate, 4, 5, ms(101)).app_limited);
        rate.on_send(5, 6, ms(101), 1, 0, false);
        assert!(deliver(&mut rate, 5, 6, ms(201)).app_limited);
        assert!(!deliver(&mut rate, 6, 7, ms(202)).app_limited);
    }

    #[test]
    fn the_newest_segment_by_time_of_sending_counts() {
        let mut rate = ten(1);
        rate.on_send(0, 0, ms(50), 9, 1, true); // sent again
        rate.on_segment(0, ms(120));
        rate.on_segment(5, ms(120));
        let sample = rate.sample(ms(120), None, 1).unwrap();
        assert_eq!((sample.lost, sample.tx_in_flight, sample.delivered), (0, 10, 2));
    }

    #[test]
    fn states_survive_the_growth_of_the_ring() {
        let mut rate = RateSampler::default();
        (0..10).for_each(|seq| rate.on_send(0, seq, ms(seq as u64), seq, 0, false));
        rate.on_delivered(0, 10, ms(100));
        rate.take_sample();
        for seq in 10..60 {
            rate.on_send(10, seq, ms(100 + seq as u64), seq - 10, seq as u64, false);
        }
        for seq in 10..60 {
            assert_eq!(rate.sent_state(seq), (seq - 9, seq, false));
        }
        assert!(rate.ring.len() == 64, "{}", rate.ring.len());
        let sample = deliver(&mut rate, 10, 40, ms(300));
        assert_eq!((sample.tx_in_flight, sample.prior_delivered, sample.delivered), (30, 10, 30));
        // Segment 39 was sent at 139 ms, the first of its flight at 110 ms; the ACKs cover 100 to 300 ms.
        assert_eq!(sample.interval, Span::from_ms(190));
        assert_eq!(RateSampler::default().sent_state(3), (0, 0, false));
        assert!(!rate.app_limited());
        rate.on_app_limited(20);
        assert!(rate.app_limited());
        rate.set_delivered(100);
        assert_eq!(rate.delivered, 100);
    }
}
