//! Delivery-rate estimation (draft-cheng-iccrg-delivery-rate-estimation), per segment.

use cc::RateSample;
use units::{Span, Time};

/// The state of the sampler when a segment was sent.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    at: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    app_limited: bool,
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
}

impl RateSampler {
    /// Segment `seq` of the outstanding segments `una..=seq` is sent at `now`; `idle` if no data was in flight.
    pub fn on_send(&mut self, una: u32, seq: u32, now: Time, idle: bool) {
        if idle {
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
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            app_limited: self.app_limited_until > self.delivered,
        };
    }

    /// The application has no data to send, and the window permits more.
    pub fn on_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = self.delivered + in_flight as u64;
    }

    /// Segments `from..to` were delivered. The sample comes from the one that was sent last; of equal ones from the
    /// highest.
    pub fn on_delivered(&mut self, from: u32, to: u32, now: Time) -> Option<RateSample> {
        self.delivered += (to - from) as u64;
        self.delivered_at = now;
        let mask = self.ring.len().wrapping_sub(1);
        let sent =
            (from..to).filter_map(|seq| self.ring.get(seq as usize & mask)).max_by_key(|sent| sent.at)?;
        let sending = sent.at.since(sent.first_sent_at);
        let acking = now.since(sent.delivered_at);
        self.first_sent_at = sent.at;
        let interval = sending.max(acking);
        (interval > Span::ZERO).then_some(RateSample {
            delivered: self.delivered - sent.delivered,
            interval,
            app_limited: sent.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_ms(n)
    }

    #[test]
    fn measures_the_slower_of_sending_and_acknowledging() {
        let mut rate = RateSampler::default();
        for (seq, at) in [(0, 0), (1, 1), (2, 2)] {
            rate.on_send(0, seq, ms(at), seq == 0);
        }
        rate.on_delivered(0, 1, ms(100));
        let sample = rate.on_delivered(1, 3, ms(120)).unwrap(); // three segments, acknowledged since 0 ms
        assert_eq!((sample.delivered, sample.interval), (3, Span::from_ms(120)));
        rate.on_send(3, 3, ms(120), true);
        rate.on_app_limited(1);
        rate.on_send(3, 4, ms(121), false);
        let sample = rate.on_delivered(3, 5, ms(221)).unwrap();
        assert_eq!((sample.delivered, sample.interval, sample.app_limited), (2, Span::from_ms(101), true));
    }
}
