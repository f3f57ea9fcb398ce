//! Exponentially weighted mean.

/// `mean += gain * (sample - mean)`; the mean starts at the first sample.
#[derive(Clone, Copy, Debug)]
pub struct Smoothed {
    gain: f64,
    mean: Option<f64>,
}

impl Smoothed {
    /// `gain` is in (0, 1]; RFC 6298 uses 1/8 for the round-trip time.
    pub const fn new(gain: f64) -> Smoothed {
        Smoothed { gain, mean: None }
    }
    /// Adds a sample and returns the new mean.
    pub fn update(&mut self, sample: f64) -> f64 {
        let mean = self.mean.map_or(sample, |mean| mean + self.gain * (sample - mean));
        self.mean = Some(mean);
        mean
    }
    /// The mean, if there was a sample.
    pub fn get(&self) -> Option<f64> {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smooths() {
        let mut mean = Smoothed::new(0.125);
        assert_eq!(mean.get(), None);
        assert_eq!(mean.update(0.1), 0.1);
        assert!((mean.update(0.12) - 0.1025).abs() < 1e-15);
    }
}
