//! Throughput and latency as the downloads of chunks show them: two exponential means, of which the more cautious one counts
//! (the estimator of the public reference player for BOLA and DYNAMIC).

/// Half-lives, s: of download time for the throughput, of media for the latency.
const HALF_LIVES: [f64; 2] = [3.0, 8.0];

/// The download of a chunk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Download {
    /// Its size, bits.
    pub bits: f64,
    /// From the request to the first byte, s.
    pub latency_s: f64,
    /// From the first byte to the last one, s, more than zero.
    pub transfer_s: f64,
}

impl Download {
    /// Its throughput without the wait for the first byte, bit/s.
    pub fn transfer_bps(&self) -> f64 {
        self.bits / self.transfer_s
    }
    /// Its throughput from the request on, bit/s.
    pub fn whole_bps(&self) -> f64 {
        self.bits / (self.latency_s + self.transfer_s)
    }
}

/// What to expect of the next download.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Throughput after the first byte, bit/s.
    pub rate_bps: f64,
    /// From the request to the first byte, s.
    pub latency_s: f64,
}

/// Exponential means of the downloads so far. Each is divided by the weight that it has received, so that its first value counts
/// in full.
#[derive(Clone, Debug)]
pub struct Estimator {
    chunk_s: f64,
    rate_bps: [f64; 2],
    latency_s: [f64; 2],
    transfer_s: f64,
    chunks: u32,
}

/// What is left of a weight after a number of half-lives.
fn decay(half_lives: f64) -> f64 {
    libm::exp2(-half_lives)
}

impl Estimator {
    /// For chunks of `chunk_s` s of media.
    pub fn new(chunk_s: f64) -> Estimator {
        Estimator { chunk_s, rate_bps: [0.0; 2], latency_s: [0.0; 2], transfer_s: 0.0, chunks: 0 }
    }

    /// A chunk is complete.
    pub fn push(&mut self, download: &Download) {
        for (i, half_life) in HALF_LIVES.into_iter().enumerate() {
            let weight = decay(download.transfer_s / half_life);
            self.rate_bps[i] = weight * self.rate_bps[i] + (1.0 - weight) * download.transfer_bps();
            let weight = decay(self.chunk_s / half_life);
            self.latency_s[i] = weight * self.latency_s[i] + (1.0 - weight) * download.latency_s;
        }
        self.transfer_s += download.transfer_s;
        self.chunks += 1;
    }

    /// The smaller throughput and the larger latency; none before the first chunk.
    pub fn estimate(&self) -> Option<Estimate> {
        if self.chunks == 0 {
            return None;
        }
        let media = f64::from(self.chunks) * self.chunk_s;
        let unbiased = |mean: f64, time: f64, half_life: f64| mean / (1.0 - decay(time / half_life));
        let [fast, slow] = [0, 1].map(|i| {
            let half_life = HALF_LIVES[i];
            let rate_bps = unbiased(self.rate_bps[i], self.transfer_s, half_life);
            Estimate { rate_bps, latency_s: unbiased(self.latency_s[i], media, half_life) }
        });
        Some(Estimate {
            rate_bps: fast.rate_bps.min(slow.rate_bps),
            latency_s: fast.latency_s.max(slow.latency_s),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_download_is_the_estimate() {
        let mut estimator = Estimator::new(4.0);
        assert_eq!(estimator.estimate(), None);
        let download = Download { bits: 1.2e6, latency_s: 0.05, transfer_s: 0.6 };
        estimator.push(&download);
        let estimate = estimator.estimate().unwrap();
        assert!((estimate.rate_bps - 2e6).abs() < 1e-6 && (estimate.latency_s - 0.05).abs() < 1e-12);
        assert!((download.whole_bps() - 1.2e6 / 0.65).abs() < 1e-6);
    }

    #[test]
    fn the_more_cautious_mean_counts() {
        // Half-lives of 3 and 8 s after 3 s at 2 Mb/s and 3 s at 4 Mb/s: weights 1/4 and 1/2 of 3/4; for 8 s, with a = 2^(-3/8),
        // a (1 - a) and (1 - a) of 1 - a^2: (2 a + 4)/(1 + a).
        let mut estimator = Estimator::new(4.0);
        for bits in [6e6, 12e6] {
            estimator.push(&Download { bits, latency_s: bits / 6e7, transfer_s: 3.0 });
        }
        let a = libm::exp2(-0.375);
        let expected = 1e6 * (2.0 * a + 4.0) / (1.0 + a);
        let estimate = estimator.estimate().unwrap();
        assert!((estimate.rate_bps - expected).abs() < 1e-6 && expected < 1e6 * (0.5 + 2.0) / 0.75);
        // Latencies 0.1 and 0.2 s, by 4 s of media each: the fast mean is the larger one.
        let b = libm::exp2(-4.0 / 3.0);
        assert!((estimate.latency_s - (0.1 * b + 0.2) / (1.0 + b)).abs() < 1e-12);
    }
}
