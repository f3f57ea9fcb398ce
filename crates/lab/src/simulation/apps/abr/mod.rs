//! Adaptive bit rates: the quality that a player asks for next. Qualities are indices into a ladder of rising rates.

mod bba;
mod bola;
mod dynamic;
mod estimate;
mod mpc;
mod throughput;
mod view;

pub use estimate::{Download, Estimator};
pub use view::View;

use bba::Bba;
use bola::Bola;
use dynamic::Dynamic;
use mpc::Mpc;
use throughput::Throughput;

/// The name of an algorithm, with what is particular to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AbrAlgorithm {
    /// The highest rate below the estimated throughput.
    Throughput,
    /// BOLA (Spiteri et al., INFOCOM 2016), by the buffer.
    Bola,
    /// Throughput while the buffer is short, BOLA while it is long (Spiteri et al., MMSys 2018).
    Dynamic,
    /// BBA-0 (Huang et al., SIGCOMM 2014), by the buffer.
    Bba,
    /// Model predictive control (Yin et al., SIGCOMM 2015).
    Mpc {
        /// The prediction is divided by one plus the largest of its last relative errors.
        robust: bool,
    },
    /// Always the same quality.
    Fixed {
        /// The quality.
        quality: usize,
    },
}

/// An algorithm with its state. The first chunk has the lowest quality, except with `Fixed`.
#[derive(Clone, Debug)]
pub enum Abr {
    /// See [`AbrAlgorithm::Throughput`].
    Throughput(Throughput),
    /// See [`AbrAlgorithm::Bola`].
    Bola(Bola),
    /// See [`AbrAlgorithm::Dynamic`].
    Dynamic(Dynamic),
    /// See [`AbrAlgorithm::Bba`].
    Bba(Bba),
    /// See [`AbrAlgorithm::Mpc`].
    Mpc(Mpc),
    /// See [`AbrAlgorithm::Fixed`].
    Fixed(usize),
}

impl Abr {
    /// An algorithm for chunks of `chunk_s` s and a buffer of at most `limit_s` s. With `guard`, throughput asks for no chunk
    /// that the buffer may not last for.
    pub fn new(algorithm: AbrAlgorithm, ladder_bps: &[f64], chunk_s: f64, limit_s: f64, guard: bool) -> Abr {
        match algorithm {
            AbrAlgorithm::Throughput => Abr::Throughput(Throughput::new(guard)),
            AbrAlgorithm::Bola => Abr::Bola(Bola::new(ladder_bps, chunk_s, limit_s)),
            AbrAlgorithm::Dynamic => Abr::Dynamic(Dynamic::new(ladder_bps, chunk_s, limit_s, guard)),
            AbrAlgorithm::Bba => Abr::Bba(Bba::new(limit_s)),
            AbrAlgorithm::Mpc { robust } => Abr::Mpc(Mpc::new(robust)),
            AbrAlgorithm::Fixed { quality } => Abr::Fixed(quality.min(ladder_bps.len() - 1)),
        }
    }

    /// A chunk is complete.
    pub fn on_chunk(&mut self, download: &Download) {
        if let Abr::Mpc(mpc) = self {
            mpc.on_chunk(download);
        }
    }

    /// The quality of the next chunk.
    pub fn choose(&mut self, view: &View<'_>) -> usize {
        if let Abr::Fixed(quality) = self {
            return *quality;
        }
        let Some(estimate) = view.estimate else {
            return 0;
        };
        match self {
            Abr::Throughput(throughput) => throughput.choose(view, estimate),
            Abr::Bola(bola) => bola.choose(view, estimate),
            Abr::Dynamic(dynamic) => dynamic.choose(view, estimate),
            Abr::Bba(bba) => bba.choose(view),
            Abr::Mpc(mpc) => mpc.choose(view),
            Abr::Fixed(quality) => *quality,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub const LADDER: [f64; 6] = [300e3, 750e3, 1.2e6, 1.85e6, 2.85e6, 4.3e6];

    #[test]
    fn the_first_chunk_is_the_lowest_one_unless_the_quality_is_fixed() {
        let view = View { ladder_bps: &LADDER, chunk_s: 4.0, buffer_s: 0.0, previous: None, estimate: None };
        let first = |algorithm| Abr::new(algorithm, &LADDER, 4.0, 25.0, true).choose(&view);
        for algorithm in [
            AbrAlgorithm::Throughput,
            AbrAlgorithm::Bola,
            AbrAlgorithm::Dynamic,
            AbrAlgorithm::Bba,
            AbrAlgorithm::Mpc { robust: true },
        ] {
            assert_eq!(first(algorithm), 0, "{algorithm:?}");
        }
        assert_eq!(first(AbrAlgorithm::Fixed { quality: 3 }), 3);
        assert_eq!(first(AbrAlgorithm::Fixed { quality: 9 }), 5);
    }
}
