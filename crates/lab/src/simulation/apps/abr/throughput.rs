//! The highest rate below the estimated throughput, as in the public reference player for BOLA and DYNAMIC.

use super::estimate::Estimate;
use super::view::View;

/// Part of the estimate that is used.
const SHARE: f64 = 0.9;
/// The guard's part of what the buffer can pay for: its first value, which is also its factor after each chunk, and its last one.
const GUARD_FIRST: f64 = 0.9;
const GUARD_LAST: f64 = 0.5;

/// The highest quality whose chunk arrives within the time of a chunk, at `rate_bps`.
pub(super) fn within_rate(view: &View<'_>, rate_bps: f64, latency_s: f64) -> usize {
    let arrives = |rate: &&f64| latency_s + view.chunk_s * **rate / rate_bps <= view.chunk_s;
    view.ladder_bps.iter().skip(1).take_while(arrives).count()
}

/// By throughput.
#[derive(Clone, Debug)]
pub struct Throughput {
    guard: bool,
    guard_share: f64,
}

impl Throughput {
    /// With `guard`, no chunk is larger than a part of what arrives before the buffer is empty.
    pub(super) fn new(guard: bool) -> Throughput {
        Throughput { guard, guard_share: GUARD_FIRST }
    }

    pub(super) fn choose(&mut self, view: &View<'_>, estimate: Estimate) -> usize {
        let Estimate { rate_bps, latency_s } = estimate;
        let quality = within_rate(view, SHARE * rate_bps, latency_s);
        if !self.guard {
            return quality;
        }
        let most_bits = self.guard_share * (view.buffer_s - latency_s) * rate_bps;
        self.guard_share = (GUARD_FIRST * self.guard_share).max(GUARD_LAST);
        let affordable = |rate: &&f64| **rate * view.chunk_s <= most_bits;
        view.ladder_bps[1..=quality].iter().take_while(affordable).count()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::LADDER;
    use super::*;

    #[test]
    fn the_guard_limits_a_chunk_to_what_the_buffer_lasts_for() {
        let estimate = Estimate { rate_bps: 2e6, latency_s: 0.05 };
        let view = |buffer_s| View {
            ladder_bps: &LADDER,
            chunk_s: 4.0,
            buffer_s,
            previous: Some(0),
            estimate: Some(estimate),
        };
        // 0.9 of 2 Mb/s: 1.2 Mb/s. A buffer of 2.5 s pays for 0.9 * 2.45 * 2 = 4.41 Mbit, then for 3.969 Mbit: 1.2 Mb/s is
        // 4.8 Mbit, 0.75 Mb/s 3 Mbit.
        assert_eq!(Throughput::new(false).choose(&view(2.5), estimate), 2);
        let mut throughput = Throughput::new(true);
        assert_eq!(throughput.choose(&view(2.5), estimate), 1);
        assert_eq!(throughput.choose(&view(4.0), estimate), 2);
        (0..20).for_each(|_| _ = throughput.choose(&view(4.0), estimate));
        // Its last value: 0.5 * 3.95 * 2 = 3.95 Mbit.
        assert_eq!((throughput.guard_share, throughput.choose(&view(4.0), estimate)), (0.5, 1));
        assert_eq!(throughput.choose(&view(0.0), estimate), 0);
    }
}
