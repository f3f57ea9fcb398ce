//! How slow start ends before a loss: HyStart as in Linux, and HyStart++ (RFC 9406). All controllers with a
//! [`crate::Window`] share it.

use crate::events::Ack;
use crate::parameters::{Params, choice};
use params::Key;
use units::Span;

/// The parameter `slow_start` of a controller.
pub const PARAM: Key = choice!(
    "slow_start",
    ["standard", "hystart", "hystart_pp"],
    "what ends slow start besides a loss: nothing, HyStart as in Linux, or HyStart++ (RFC 9406)"
);

/// The end of slow start, with its state.
#[derive(Clone, Debug, Default)]
pub enum SlowStart {
    /// Only a loss or the threshold ends it.
    #[default]
    Standard,
    /// HyStart as in Linux (Ha and Rhee 2011).
    HyStart(HyStart),
    /// HyStart++ (RFC 9406).
    HyStartPlusPlus(HyStartPlusPlus),
}

impl SlowStart {
    /// The kind that the parameter `slow_start` names.
    pub fn new(name: &str) -> SlowStart {
        match name {
            "hystart" => SlowStart::HyStart(HyStart::default()),
            "hystart_pp" => SlowStart::HyStartPlusPlus(HyStartPlusPlus::default()),
            _ => SlowStart::Standard,
        }
    }

    /// The kind that `params` has.
    pub fn from_params(params: &Params) -> SlowStart {
        SlowStart::new(params.choice("slow_start"))
    }

    /// Processes an ACK. `slow_start` tells whether the window is below its threshold, `cwnd` is the window in segments.
    /// Returns whether slow start ends: the threshold becomes the window.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack, cwnd: f64, slow_start: bool) -> bool {
        match self {
            SlowStart::Standard => false,
            SlowStart::HyStart(state) => state.on_ack(ack, cwnd, slow_start),
            SlowStart::HyStartPlusPlus(state) => slow_start && state.on_ack(ack),
        }
    }

    /// The number of segments by which the window grows in slow start for `acked` acknowledged segments.
    #[inline]
    pub fn growth(&mut self, acked: f64) -> f64 {
        match self {
            SlowStart::HyStartPlusPlus(state) => state.growth(acked),
            SlowStart::Standard | SlowStart::HyStart(_) => acked,
        }
    }

    /// A retransmission timeout: HyStart starts again. HyStart++ covers the initial slow start only (RFC 9406 section 4.3).
    pub fn on_rto(&mut self) {
        match self {
            SlowStart::Standard => {}
            SlowStart::HyStart(state) => *state = HyStart::default(),
            SlowStart::HyStartPlusPlus(state) => state.done = true,
        }
    }

    /// A loss or an ECN echo reduced the window.
    pub fn on_congestion(&mut self) {
        if let SlowStart::HyStartPlusPlus(state) = self {
            state.done = true;
        }
    }
}

const US: u64 = 1_000_000; // ps

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

    fn on_ack(&mut self, ack: &Ack, cwnd: f64, slow_start: bool) -> bool {
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

/// HyStart++ (RFC 9406): a growing round-trip time first slows the growth of the window (conservative slow start); after
/// five such rounds slow start ends.
#[derive(Clone, Debug, Default)]
pub struct HyStartPlusPlus {
    last_min: Option<Span>,
    round_min: Option<Span>,
    samples: u32,
    end: u64,
    /// The baseline of conservative slow start and its rounds so far.
    conservative: Option<(Span, u32)>,
    done: bool,
    paced: bool,
}

impl HyStartPlusPlus {
    /// MIN_RTT_THRESH and MAX_RTT_THRESH.
    const THRESHOLD: (Span, Span) = (Span::from_ms(4), Span::from_ms(16));
    const MIN_RTT_DIVISOR: u64 = 8;
    const N_RTT_SAMPLE: u32 = 8;
    const CSS_GROWTH_DIVISOR: f64 = 4.0;
    const CSS_ROUNDS: u32 = 5;
    /// Largest growth per ACK without pacing, segments.
    const L: f64 = 8.0;

    fn on_ack(&mut self, ack: &Ack) -> bool {
        if self.done {
            return false;
        }
        self.paced = ack.paced;
        if ack.acked_through.wrapping_add(1) > self.end {
            self.last_min = self.round_min.take();
            self.samples = 0;
            self.end = ack.next;
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
                if *rounds >= HyStartPlusPlus::CSS_ROUNDS {
                    self.done = true;
                    return true;
                }
            }
        }
        let Some(rtt) = ack.rtt else { return false };
        let current = self.round_min.map_or(rtt, |least| least.min(rtt));
        self.round_min = Some(current);
        self.samples += 1;
        if self.samples >= HyStartPlusPlus::N_RTT_SAMPLE {
            match (self.conservative, self.last_min) {
                (Some((baseline, _)), _) if current < baseline => self.conservative = None,
                (None, Some(last)) if current >= last + HyStartPlusPlus::threshold(last) => {
                    self.conservative = Some((current, 0));
                }
                _ => {}
            }
        }
        false
    }

    fn threshold(last: Span) -> Span {
        let (least, largest) = HyStartPlusPlus::THRESHOLD;
        Span::from_ps(last.ps() / HyStartPlusPlus::MIN_RTT_DIVISOR).max(least).min(largest)
    }

    fn growth(&mut self, acked: f64) -> f64 {
        if self.done {
            return acked;
        }
        let acked = if self.paced { acked } else { acked.min(HyStartPlusPlus::L) };
        if self.conservative.is_some() { acked / HyStartPlusPlus::CSS_GROWTH_DIVISOR } else { acked }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;
    use units::Time;

    /// An ACK at `now_us` of segment `una - 1`, with `next` the next segment and a round-trip time in microseconds.
    fn at(now_us: u64, una: u64, next: u64, rtt_us: u64) -> Ack {
        Ack {
            now: Time::from_ps(now_us * US),
            acked_through: una - 1,
            next,
            rtt: Some(Span::from_ps(rtt_us * US)),
            ..ack(1)
        }
    }

    /// The number of the sample of `rtt_us` that ends slow start, with a smallest round-trip time of `least_us`.
    fn ended_by(least_us: u64, rtt_us: u64) -> Option<u64> {
        let mut state = HyStart::default();
        assert!(!state.on_ack(&at(0, 1, 40, least_us), 10.0, true));
        (1..=20).find(|n| state.on_ack(&at(n * 5000, 40 + n, 80, rtt_us), 30.0, true))
    }

    #[test]
    fn hystart_ends_by_delay_at_the_ninth_sample() {
        assert_eq!(ended_by(40_000, 46_000), Some(9)); // limit 45 ms
        assert_eq!(ended_by(40_000, 45_000), None);
        assert_eq!(ended_by(20_000, 24_000), None); // the limit itself is not above it
        assert_eq!(ended_by(20_000, 24_001), Some(9));
        assert_eq!(ended_by(200_000, 216_001), Some(9)); // at most 16 ms
        assert_eq!(ended_by(200_000, 216_000), None);
    }

    #[test]
    fn hystart_ends_by_a_train_of_acks() {
        let train = |paced: bool| {
            let mut state = HyStart::default();
            state.on_ack(&at(0, 1, 40, 40_000), 10.0, true);
            (0..30).find(|n| {
                state.on_ack(&Ack { paced, ..at(100_000 + n * 1900, 41 + n, 80, 40_000) }, 30.0, true)
            })
        };
        assert_eq!(train(false), Some(11)); // 20.9 ms > 20 ms
        assert_eq!(train(true), Some(22)); // 41.8 ms > 40 ms
        // A gap above 2 ms ends the train, and a small window does not count.
        let mut state = HyStart::default();
        state.on_ack(&at(0, 1, 40, 40_000), 10.0, true);
        assert!(!(0..30).any(|n| state.on_ack(&at(100_000 + n * 2001, 41 + n, 80, 40_000), 30.0, true)));
        assert!(!(0..30).any(|n| state.on_ack(&at(200_000 + n * 1900, 90 + n, 300, 60_000), 15.0, true)));
    }

    #[test]
    fn hystart_ends_once_until_a_timeout() {
        let mut slow_start = SlowStart::new("hystart");
        let run = |slow_start: &mut SlowStart| {
            slow_start.on_ack(&at(0, 1, 40, 20_000), 10.0, true);
            (1..=20).any(|n| slow_start.on_ack(&at(n * 5000, 40 + n, 80, 30_000), 30.0, true))
        };
        assert!(run(&mut slow_start));
        assert!(!run(&mut slow_start));
        slow_start.on_rto();
        assert!(run(&mut slow_start));
        assert!(!SlowStart::new("standard").on_ack(&at(1, 1, 2, 3), 100.0, true));
    }

    #[test]
    fn hystart_plus_plus_slows_and_ends_after_five_rounds() {
        let mut state = HyStartPlusPlus::default();
        let mut una = 1;
        let mut round = |state: &mut HyStartPlusPlus, rtt: u64| {
            let end = una + 10;
            let ended = (una..end).any(|seq| state.on_ack(&at(seq, seq, end, rtt)));
            una = end;
            ended
        };
        assert!(!round(&mut state, 40_000));
        assert_eq!((state.growth(4.0), state.growth(20.0)), (4.0, 8.0));
        assert!(!round(&mut state, 44_900)); // below 40 + 5 ms
        assert!(state.conservative.is_none());
        assert!(!round(&mut state, 50_600)); // above 44.9 + 5.6 ms
        assert_eq!(state.growth(4.0), 1.0);
        assert!(!round(&mut state, 50_000)); // below the baseline: back to slow start
        assert_eq!(state.growth(4.0), 4.0);
        for rtt in [60_000, 60_000, 60_000, 60_000, 60_000] {
            assert!(!round(&mut state, rtt));
        }
        assert!(round(&mut state, 60_000));
        assert_eq!(state.growth(20.0), 20.0);
    }

    /// A round of `samples` ACKs of one segment with the round-trip time `rtt_us`, from segment `una` on. Returns whether
    /// slow start ends.
    fn round_of(slow_start: &mut SlowStart, una: &mut u64, samples: u64, rtt_us: u64) -> bool {
        let (first, end) = (*una, *una + samples);
        *una = end;
        (first..end).any(|seq| slow_start.on_ack(&at(seq, seq, end, rtt_us), 100.0, true))
    }

    /// Two rounds with these round-trip times, of which the second has `samples` samples: its first ACK still belongs to the
    /// first one, since it does not acknowledge the segment after it. Returns what four segments add then.
    fn growth_after(rtts: [u64; 2], samples: u64) -> f64 {
        let (mut slow_start, mut una) = (SlowStart::new("hystart_pp"), 1);
        assert!(!round_of(&mut slow_start, &mut una, 10, rtts[0]));
        assert!(!round_of(&mut slow_start, &mut una, samples + 1, rtts[1]));
        slow_start.growth(4.0)
    }

    #[test]
    fn hystart_plus_plus_slows_down_at_an_eighth_between_4_and_16_ms() {
        for (last, threshold) in
            [(20_000, 4000), (32_000, 4000), (96_000, 12_000), (128_000, 16_000), (200_000, 16_000)]
        {
            assert_eq!(growth_after([last, last + threshold], 10), 1.0, "{last}");
            assert_eq!(growth_after([last, last + threshold - 1], 10), 4.0, "{last}");
        }
    }

    #[test]
    fn hystart_plus_plus_needs_eight_samples_of_a_round() {
        assert_eq!(growth_after([20_000, 40_000], 7), 4.0);
        assert_eq!(growth_after([20_000, 40_000], 8), 1.0);
        // Without a round before there is nothing to compare with.
        let (mut slow_start, mut una) = (SlowStart::new("hystart_pp"), 1);
        assert!(!round_of(&mut slow_start, &mut una, 20, 100_000));
        assert_eq!(slow_start.growth(4.0), 4.0);
    }

    #[test]
    fn hystart_plus_plus_bounds_the_growth_of_an_ack_without_pacing_only() {
        for (paced, growth) in [(false, 8.0), (true, 50.0)] {
            let mut slow_start = SlowStart::new("hystart_pp");
            slow_start.on_ack(&Ack { paced, ..at(1, 1, 40, 20_000) }, 10.0, true);
            assert_eq!(slow_start.growth(50.0), growth);
        }
    }

    #[test]
    fn hystart_plus_plus_counts_the_round_in_which_it_slows_down() {
        let (mut slow_start, mut una) = (SlowStart::new("hystart_pp"), 1);
        round_of(&mut slow_start, &mut una, 10, 20_000);
        // The round of the transition is the first of five; the first ACK after the fifth ends slow start.
        let rounds = (1..=10).find(|_| round_of(&mut slow_start, &mut una, 10, 40_000));
        assert_eq!(rounds, Some(6));
        // It does not slow down again.
        assert_eq!(slow_start.growth(4.0), 4.0);
        assert!(!(0..10).any(|_| round_of(&mut slow_start, &mut una, 10, 80_000)));
    }

    #[test]
    fn hystart_plus_plus_covers_the_first_slow_start_only() {
        for event in [SlowStart::on_rto, SlowStart::on_congestion] {
            let (mut slow_start, mut una) = (SlowStart::new("hystart_pp"), 1);
            round_of(&mut slow_start, &mut una, 10, 20_000);
            round_of(&mut slow_start, &mut una, 10, 40_000);
            assert_eq!(slow_start.growth(4.0), 1.0);
            event(&mut slow_start);
            assert_eq!(slow_start.growth(20.0), 20.0);
            for rtt in [20_000, 40_000, 40_000, 40_000, 40_000, 40_000, 40_000, 40_000] {
                assert!(!round_of(&mut slow_start, &mut una, 10, rtt));
                assert_eq!(slow_start.growth(20.0), 20.0);
            }
        }
    }
}
