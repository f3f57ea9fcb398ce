//! Random numbers of a controller: normal deviates from the seed of the flow, so a run is repeatable.

use crate::detmath;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of standard normal deviates (Box and Muller 1958, one of each pair).
#[derive(Clone, Debug)]
pub struct Normal(Xoshiro256PlusPlus);

impl Normal {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Normal {
        Normal(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The next deviate.
    pub fn draw(&mut self) -> f64 {
        let mut uniform = || ((self.0.next_u64() >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64);
        let (radius, turn) = (uniform(), uniform());
        (-2.0 * detmath::ln(radius)).sqrt() * detmath::cos(core::f64::consts::TAU * turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_mean_zero_and_variance_one() {
        let mut normal = Normal::new(1);
        let draws: Vec<f64> = (0..100_000).map(|_| normal.draw()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 1e5;
        let beyond = draws.iter().filter(|x| x.abs() > 1.959964).count();
        assert!(mean.abs() < 0.013 && (variance - 1.0).abs() < 0.018, "{mean} {variance}");
        assert!((4_700..5_300).contains(&beyond), "{beyond}"); // 5 %
        assert_ne!(Normal::new(2).draw(), Normal::new(1).draw());
    }
}
