//! How slow start grows, and how it ends before a loss. All controllers with a [`crate::Window`] share it.

mod hystart;
mod plus_plus;
mod rapid;
mod search;

use crate::events::Ack;
use crate::parameters::{Params, choice};
pub use hystart::HyStart;
use params::{Key, Needs};
pub use plus_plus::HyStartPlusPlus;
pub use rapid::Rapid;
pub use search::Search;
use units::Segments;

/// The parameter `slow_start` of a controller.
pub const PARAM: Key = choice!(
    "slow_start",
    ["standard", "hystart", "hystart_pp", "search", "rapid", "rapid_pp"],
    "what ends slow start besides a loss: nothing, HyStart as in Linux, HyStart++ (RFC 9406), or SEARCH (draft-chung-ccwg-search); Rapid Start (draft-kazuho-ccwg-rapid-start) triples the window in each round trip without a queue, `rapid_pp` with HyStart++"
);

/// The parameter `slow_start_exit`: what SEARCH does to the window.
pub const EXIT: Key = Key {
    needs: Needs::Is("slow_start", &["search"]),
    ..choice!(
        "slow_start_exit",
        ["stop", "rollback", "drain"],
        "what SEARCH does to the window: it stays, falls by what was acknowledged in two round trips (version 3), or falls to what the path delivers in a round trip"
    )
};

/// The parameter `slow_start_variant`: another form of SEARCH or Rapid Start.
pub const VARIANT: Key = Key {
    needs: Needs::Is("slow_start", &["search", "rapid", "rapid_pp"]),
    ..choice!(
        "slow_start_variant",
        ["draft", "v3", "quicly"],
        "SEARCH of version 9 or of version 3 (`v3`); Rapid Start of version 2 or as in the stack quicly in 2026 (`quicly`)"
    )
};

/// How slow start grows and ends, with its state.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::large_enum_variant,
    reason = "it lies in a box of its own, which only a flow that has such a slow start has"
)]
pub enum SlowStart {
    /// Only a loss or the threshold ends it.
    #[default]
    Standard,
    /// HyStart as in Linux (Ha and Rhee 2011).
    HyStart(HyStart),
    /// HyStart++ (RFC 9406).
    HyStartPlusPlus(HyStartPlusPlus),
    /// SEARCH (draft-chung-ccwg-search).
    Search(Search),
    /// Rapid Start (draft-kazuho-ccwg-rapid-start).
    Rapid(Rapid),
}

/// What an ACK does to a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Nothing.
    None,
    /// Slow start ends: the threshold becomes the window.
    End,
    /// Window and threshold become these, segments, and this ACK does not permit growth.
    Set {
        /// The window.
        cwnd: Segments,
        /// The threshold.
        ssthresh: Segments,
    },
}

impl SlowStart {
    /// The kind that the parameter `slow_start` names, with the defaults of the other parameters.
    pub fn new(name: &str) -> SlowStart {
        SlowStart::with(name, "stop", "draft")
    }

    /// The kind that `params` has; `name` in place of its parameter `slow_start`.
    pub fn named(name: &str, params: &Params) -> SlowStart {
        SlowStart::with(name, params.choice("slow_start_exit"), params.choice("slow_start_variant"))
    }

    /// The kind that `params` has.
    pub fn from_params(params: &Params) -> SlowStart {
        SlowStart::named(params.choice("slow_start"), params)
    }

    fn with(name: &str, exit: &str, variant: &str) -> SlowStart {
        match name {
            "hystart" => SlowStart::HyStart(HyStart::default()),
            "hystart_pp" => SlowStart::HyStartPlusPlus(HyStartPlusPlus::default()),
            "search" => SlowStart::Search(Search::new(exit, variant == "v3")),
            "rapid" => SlowStart::Rapid(Rapid::new(variant == "quicly", false)),
            "rapid_pp" => SlowStart::Rapid(Rapid::new(variant == "quicly", true)),
            _ => SlowStart::Standard,
        }
    }

    /// Processes an ACK. `slow_start` tells whether the window is below its threshold, `cwnd` is the window in segments.
    /// `counts`: its round-trip sample counts for HyStart and HyStart++.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack, cwnd: Segments, slow_start: bool, counts: bool) -> Step {
        let ends = match self {
            SlowStart::Standard => false,
            SlowStart::HyStart(state) => counts && state.on_ack(ack, cwnd, slow_start),
            SlowStart::HyStartPlusPlus(state) => counts && slow_start && state.on_ack(ack),
            SlowStart::Search(state) => return state.on_ack(ack, cwnd, slow_start),
            SlowStart::Rapid(state) => return state.on_ack(ack, slow_start, counts),
        };
        if ends { Step::End } else { Step::None }
    }

    /// The number of segments by which the window grows in slow start for `acked` acknowledged segments.
    #[inline]
    pub fn growth(&mut self, acked: f64) -> f64 {
        match self {
            SlowStart::HyStartPlusPlus(state) => state.growth(acked),
            SlowStart::Rapid(state) => state.growth(acked),
            SlowStart::Standard | SlowStart::HyStart(_) | SlowStart::Search(_) => acked,
        }
    }

    /// A retransmission timeout: HyStart starts again. The others cover the initial slow start only (RFC 9406 section 4.3).
    pub fn on_rto(&mut self) {
        match self {
            SlowStart::Standard => {}
            SlowStart::HyStart(state) => *state = HyStart::default(),
            SlowStart::HyStartPlusPlus(state) => state.done = true,
            SlowStart::Search(state) => state.end(),
            SlowStart::Rapid(state) => state.end(),
        }
    }

    /// A loss or an ECN echo reduced a window of `cwnd` segments to its part `factor`. Returns the window with which the
    /// recovery begins, segments, if it is another one.
    pub fn on_congestion(&mut self, cwnd: Segments, factor: f64) -> Option<Segments> {
        match self {
            SlowStart::HyStartPlusPlus(state) => state.done = true,
            SlowStart::Search(state) => state.end(),
            SlowStart::Rapid(state) => return state.begin_recovery(cwnd, factor),
            SlowStart::Standard | SlowStart::HyStart(_) => {}
        }
        None
    }

    /// Whether it sets the window in the recovery that is in progress.
    pub fn owns_recovery(&self) -> bool {
        matches!(self, SlowStart::Rapid(state) if state.recovers())
    }

    /// The window that the recovery has reached if it has set the window, segments.
    pub fn recovered(&self) -> Option<Segments> {
        if let SlowStart::Rapid(state) = self { state.window() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;
    use units::{Span, Time};

    const US: u64 = 1_000_000; // ps

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
            slow_start.on_ack(&at(0, 1, 40, 20_000), 10.0, true, true);
            (1..=20)
                .any(|n| slow_start.on_ack(&at(n * 5000, 40 + n, 80, 30_000), 30.0, true, true) == Step::End)
        };
        assert!(run(&mut slow_start));
        assert!(!run(&mut slow_start));
        slow_start.on_rto();
        assert!(run(&mut slow_start));
        assert_eq!(SlowStart::new("standard").on_ack(&at(1, 1, 2, 3), 100.0, true, true), Step::None);
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
        assert!(!state.is_conservative());
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
        (first..end).any(|seq| slow_start.on_ack(&at(seq, seq, end, rtt_us), 100.0, true, true) == Step::End)
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
            slow_start.on_ack(&Ack { paced, ..at(1, 1, 40, 20_000) }, 10.0, true, true);
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
        let congestion = |state: &mut SlowStart| assert_eq!(state.on_congestion(100.0, 0.5), None);
        for event in [&SlowStart::on_rto as &dyn Fn(&mut SlowStart), &congestion] {
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
