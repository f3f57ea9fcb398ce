//! HyStart as in Linux (Ha and Rhee 2011).

use crate::events::Ack;

/// Picoseconds of a microsecond.
const US: u64 = 1_000_000;

/// HyStart as in Linux: slow start ends when the round-trip time has grown, or when a train of closely spaced ACKs is as
/// long as half the smallest round-trip time. Times in microseconds.
#[derive(Clone, Debug, Default)]
pub struct HyStart {
    delay_min: u64,
    finished: bool,
    /// Whether a round has begun.
    begun: bool,
    round_start: u64,
    last_ack: u64,
    /// The round ends when a segment above this number is acknowledged.
    end: u64,
    round_min: u64,
    samples: u32,
}

impl HyStart {
    /// Smallest window, segments.
    const LOW_WINDOW: f64 = 16.0;
    /// Samples of a round before its minimum counts.
    const SAMPLES: u32 = 8;
    /// Bounds of the growth of the round-trip time that ends slow start, microseconds.
    const DELAY: (u64, u64) = (4000, 16_000);
    /// The largest spacing of two ACKs in a train, microseconds.
    const SPACING: u64 = 2000;
    /// Allowance for aggregated segments and ACKs, microseconds. In Linux the time of 256 kB at the pacing rate, at most
    /// this: less above 2 Gb/s only.
    const ACK_DELAY: u64 = 1000;

    pub(super) fn on_ack(&mut self, ack: &Ack, cwnd: f64, slow_start: bool) -> bool {
        let Some(rtt) = ack.rtt else { return false };
        let (now, rtt) = (ack.now.ps() / US, (rtt.ps() / US).max(1));
        if self.delay_min == 0 || rtt < self.delay_min {
            self.delay_min = rtt;
        }
        if self.finished || !slow_start {
            return false;
        }
        if !self.begun || ack.acked_through.wrapping_add(1) > self.end {
            self.begun = true;
            (self.round_start, self.last_ack, self.end) = (now, now, ack.next);
            (self.round_min, self.samples) = (u64::MAX, 0);
        }
        if cwnd < HyStart::LOW_WINDOW {
            return false;
        }
        if now - self.last_ack <= HyStart::SPACING {
            self.last_ack = now;
            let limit = self.delay_min + HyStart::ACK_DELAY;
            self.finished = now - self.round_start > if ack.paced { limit } else { limit / 2 };
        }
        self.round_min = self.round_min.min(rtt);
        if self.samples < HyStart::SAMPLES {
            self.samples += 1;
        } else if self.round_min
            > self.delay_min + (self.delay_min >> 3).clamp(HyStart::DELAY.0, HyStart::DELAY.1)
        {
            self.finished = true;
        }
        self.finished
    }
}
