//! Model predictive control (Yin et al., SIGCOMM 2015): the first chunk of the plan of five that promises the most.
//!
//! The promise is the sum of rates, less their changes, less stalls times the highest rate (Mb/s). Chunks have the sizes of their
//! rates. The search is exact: it omits only plans that cannot be better.

use super::estimate::Download;
use super::view::View;
use std::collections::VecDeque;

/// Chunks in a plan, and downloads that the prediction looks back at.
const HORIZON: usize = 5;
/// A plan has to be better than another by more than this to replace it, Mb/s.
const TOLERANCE: f64 = 1e-12;

/// By prediction.
#[derive(Clone, Debug)]
pub struct Mpc {
    robust: bool,
    /// Throughputs of the last downloads, from their requests on, bit/s.
    rates_bps: VecDeque<f64>,
    /// Relative errors of the last predictions.
    errors: VecDeque<f64>,
    /// The prediction for the chunk that is under way, bit/s.
    prediction_bps: Option<f64>,
}

/// Appends to the last values.
fn remember(values: &mut VecDeque<f64>, value: f64) {
    if values.len() == HORIZON {
        values.pop_front();
    }
    values.push_back(value);
}

impl Mpc {
    pub(super) fn new(robust: bool) -> Mpc {
        Mpc { robust, rates_bps: VecDeque::new(), errors: VecDeque::new(), prediction_bps: None }
    }

    pub(super) fn on_chunk(&mut self, download: &Download) {
        let rate_bps = download.whole_bps();
        if let Some(prediction_bps) = self.prediction_bps.take() {
            remember(&mut self.errors, (prediction_bps - rate_bps).abs() / rate_bps);
        }
        remember(&mut self.rates_bps, rate_bps);
    }

    pub(super) fn choose(&mut self, view: &View<'_>) -> usize {
        let inverse: f64 = self.rates_bps.iter().map(|rate| 1.0 / rate).sum();
        let prediction_bps = self.rates_bps.len() as f64 / inverse;
        self.prediction_bps = Some(prediction_bps);
        let error = self.errors.iter().fold(0.0, |largest: f64, error| largest.max(*error));
        let discount = if self.robust { 1.0 + error } else { 1.0 };
        best_plan(view, prediction_bps / discount / 1e6).quality
    }
}

/// The result of a search.
struct BestPlan {
    /// The quality of its first chunk.
    quality: usize,
    /// Chunks of plans that the search looked at.
    #[cfg(test)]
    steps: u64,
}

/// A search for the best plan.
struct Search {
    ladder_mbps: Vec<f64>,
    chunk_s: f64,
    throughput_mbps: f64,
    /// The value of the best plan, and the quality of its first chunk.
    best: f64,
    quality: usize,
    #[cfg(test)]
    steps: u64,
}

/// A plan up to some chunk.
#[derive(Clone, Copy)]
struct Prefix {
    /// Chunks that are left to plan.
    left: usize,
    /// The rate of the last chunk, Mb/s.
    rate_mbps: f64,
    buffer_s: f64,
    value: f64,
}

/// The plan with the largest value at a throughput. Of equal plans, the one with the lower qualities first.
fn best_plan(view: &View<'_>, throughput_mbps: f64) -> BestPlan {
    let ladder_mbps: Vec<f64> = view.ladder_bps.iter().map(|rate| rate / 1e6).collect();
    let start = Prefix {
        left: HORIZON,
        rate_mbps: ladder_mbps[view.previous.unwrap_or(0)],
        buffer_s: view.buffer_s,
        value: 0.0,
    };
    let mut search = Search {
        ladder_mbps,
        chunk_s: view.chunk_s,
        throughput_mbps,
        best: f64::NEG_INFINITY,
        quality: 0,
        #[cfg(test)]
        steps: 0,
    };
    // The best plan is at least as good as the best one without changes. The margin is more than the tolerance.
    for &rate in &search.ladder_mbps {
        let plan = (0..HORIZON).fold(start, |prefix, _| search.after(prefix, rate));
        search.best = search.best.max(plan.value - 1e-9);
    }
    search.extend(start, None);
    BestPlan {
        quality: search.quality,
        #[cfg(test)]
        steps: search.steps,
    }
}

impl Search {
    /// The highest rate, which is also the penalty of a second of stall, Mb/s.
    fn highest(&self) -> f64 {
        self.ladder_mbps[self.ladder_mbps.len() - 1]
    }

    /// At least the value of every plan that begins with `prefix`.
    ///
    /// Rates of a sum S over k chunks after a rate p change by |S/k - p| or more, and stall for what their downloads take beyond
    /// the buffer and k - 1 chunks, or more. What that leaves is concave in S: it is largest where one of both begins, or at an end.
    fn bound(&self, prefix: Prefix) -> f64 {
        if prefix.left == 0 {
            return prefix.value;
        }
        let count = prefix.left as f64;
        let playback_s = prefix.buffer_s + (count - 1.0) * self.chunk_s;
        let [least, most] = [self.ladder_mbps[0], self.highest()].map(|rate| count * rate);
        let rest = |sum: f64| {
            let stall_s = (sum * self.chunk_s / self.throughput_mbps - playback_s).max(0.0);
            sum - (sum / count - prefix.rate_mbps).abs() - self.highest() * stall_s
        };
        let no_change = count * prefix.rate_mbps;
        let no_stall = (playback_s * self.throughput_mbps / self.chunk_s).clamp(least, most);
        prefix.value + rest(least).max(rest(most)).max(rest(no_change)).max(rest(no_stall))
    }

    /// The plan with one chunk more.
    fn after(&self, prefix: Prefix, rate_mbps: f64) -> Prefix {
        let download_s = rate_mbps * self.chunk_s / self.throughput_mbps;
        let stall_s = (download_s - prefix.buffer_s).max(0.0);
        Prefix {
            left: prefix.left - 1,
            rate_mbps,
            buffer_s: (prefix.buffer_s - download_s).max(0.0) + self.chunk_s,
            value: prefix.value + rate_mbps - (rate_mbps - prefix.rate_mbps).abs() - self.highest() * stall_s,
        }
    }

    /// Looks at all plans that begin with `prefix`, whose first chunk has the quality `first`.
    fn extend(&mut self, prefix: Prefix, first: Option<usize>) {
        for quality in 0..self.ladder_mbps.len() {
            #[cfg(test)]
            {
                self.steps += 1;
            }
            let longer = self.after(prefix, self.ladder_mbps[quality]);
            let first = first.unwrap_or(quality);
            if self.bound(longer) <= self.best + TOLERANCE {
                continue;
            }
            if longer.left == 0 {
                (self.best, self.quality) = (longer.value, first);
            } else {
                self.extend(longer, Some(first));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::LADDER;
    use super::*;
    use engine::Stream;

    fn view(ladder_bps: &[f64], buffer_s: f64, previous: usize) -> View<'_> {
        View { ladder_bps, chunk_s: 4.0, buffer_s, previous: Some(previous), estimate: None }
    }

    #[test]
    fn plans_of_the_specification() {
        let choose = |buffer_s, previous, throughput| {
            best_plan(&view(&LADDER, buffer_s, previous), throughput).quality
        };
        assert_eq!((choose(8.0, 1, 2.0), choose(20.0, 3, 2.0), choose(4.0, 5, 1.0)), (2, 3, 1));
    }

    /// The first quality of the best of all plans.
    fn exhaustive(view: &View<'_>, throughput_mbps: f64) -> usize {
        let ladder: Vec<f64> = view.ladder_bps.iter().map(|rate| rate / 1e6).collect();
        let (count, top) = (ladder.len(), ladder[ladder.len() - 1]);
        let mut best = (0, f64::NEG_INFINITY);
        for plan in 0..count.pow(HORIZON as u32) {
            let (mut buffer, mut value, mut before) = (view.buffer_s, 0.0, ladder[view.previous.unwrap()]);
            for place in (0..HORIZON as u32).rev() {
                let rate = ladder[plan / count.pow(place) % count];
                let download = rate * view.chunk_s / throughput_mbps;
                value += rate - (rate - before).abs() - top * (download - buffer).max(0.0);
                buffer = (buffer - download).max(0.0) + view.chunk_s;
                before = rate;
            }
            if value > best.1 + TOLERANCE {
                best = (plan / count.pow(HORIZON as u32 - 1), value);
            }
        }
        best.0
    }

    #[test]
    fn the_search_agrees_with_all_plans() {
        let mut stream = Stream::new(1, "test", "mpc");
        for _ in 0..100 {
            let view = view(&LADDER, 25.0 * stream.uniform(), (6.0 * stream.uniform()) as usize);
            let throughput = 0.1 + 5.0 * stream.uniform();
            assert_eq!(
                best_plan(&view, throughput).quality,
                exhaustive(&view, throughput),
                "{view:?} {throughput}"
            );
        }
    }

    #[test]
    fn thirty_rates_take_no_search_of_all_plans() {
        let ladder: Vec<f64> = (1..=30).map(|i| 2e5 * f64::from(i)).collect();
        let mut stream = Stream::new(1, "test", "mpc steps");
        let mut most = 0;
        for _ in 0..300 {
            let view = view(&ladder, 25.0 * stream.uniform(), (30.0 * stream.uniform()) as usize);
            most = most.max(best_plan(&view, 0.1 + 7.0 * stream.uniform()).steps);
        }
        assert!(most < 20_000, "{most} of {}", 30u64.pow(5));
    }

    #[test]
    fn the_robust_prediction_is_lower_after_an_error() {
        let download = |bits| Download { bits, latency_s: 0.5, transfer_s: 3.5 };
        let [plain, robust] = [false, true].map(|robust| {
            let mut mpc = Mpc::new(robust);
            mpc.on_chunk(&download(12e6)); // 3 Mb/s
            mpc.choose(&view(&LADDER, 12.0, 3));
            mpc.on_chunk(&download(4e6)); // 1 Mb/s where 3 were predicted: an error of 2
            let quality = mpc.choose(&view(&LADDER, 12.0, 3));
            assert_eq!((mpc.prediction_bps, mpc.errors.len()), (Some(1.5e6), 1));
            quality
        });
        assert!(robust < plain, "{robust} {plain}");
    }
}
