//! BOLA (Spiteri, Urgaonkar, Sitaraman, INFOCOM 2016): the quality with the largest utility for its size at this buffer.
//!
//! As in the basic form of the public reference player, with its bound on a rise: never more than one step above what the
//! throughput permits. It does not wait where all scores are negative: the limit of the buffer makes a player wait.

use super::estimate::Estimate;
use super::throughput::within_rate;
use super::view::View;
use cc::detmath;

/// The utility of a chunk that is shown without a stall (gamma times p).
const GP: f64 = 5.0;

/// By the buffer.
#[derive(Clone, Debug)]
pub struct Bola {
    /// ln(rate/lowest rate) + gp.
    utility: Vec<f64>,
    /// The trade-off between utility and buffer, s.
    v: f64,
    /// Its last choice, which DYNAMIC may not have followed.
    previous: usize,
}

impl Bola {
    pub(super) fn new(ladder_bps: &[f64], chunk_s: f64, limit_s: f64) -> Bola {
        let utility: Vec<f64> =
            ladder_bps.iter().map(|rate| detmath::ln(rate / ladder_bps[0]) + GP).collect();
        let v = (limit_s - chunk_s) / utility[utility.len() - 1];
        Bola { utility, v, previous: 0 }
    }

    /// The scores of the qualities at a buffer, 1/bit.
    fn scores(&self, ladder_bps: &[f64], buffer_s: f64) -> impl Iterator<Item = f64> {
        self.utility.iter().zip(ladder_bps).map(move |(utility, rate)| (self.v * utility - buffer_s) / rate)
    }

    /// The quality with the highest score; the lowest of equal ones.
    fn best(&self, ladder_bps: &[f64], buffer_s: f64) -> usize {
        let mut best = (0, f64::NEG_INFINITY);
        for (quality, score) in self.scores(ladder_bps, buffer_s).enumerate() {
            if score > best.1 {
                best = (quality, score);
            }
        }
        best.0
    }

    pub(super) fn choose(&mut self, view: &View<'_>, estimate: Estimate) -> usize {
        let mut quality = self.best(view.ladder_bps, view.buffer_s);
        if quality > self.previous {
            let sustainable = within_rate(view, estimate.rate_bps, estimate.latency_s);
            if quality > sustainable {
                quality = if self.previous > sustainable { self.previous } else { sustainable + 1 };
            }
        }
        self.previous = quality;
        quality
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::LADDER;
    use super::*;

    #[test]
    fn the_basic_choice_follows_the_buffer() {
        let bola = Bola::new(&LADDER, 4.0, 25.0);
        let at = [0.0, 12.0, 14.0, 15.0, 16.0, 17.0, 18.0, 20.0];
        assert_eq!(at.map(|buffer_s| bola.best(&LADDER, buffer_s)), [0, 0, 1, 2, 3, 4, 5, 5]);
        assert!(bola.scores(&LADDER, 22.0).all(|score| score < 0.0));
    }

    #[test]
    fn a_rise_ends_one_step_above_the_throughput() {
        let mut bola = Bola::new(&LADDER, 4.0, 25.0);
        let estimate = Estimate { rate_bps: 1e6, latency_s: 0.0 };
        let mut choose = |buffer_s| {
            let view = View {
                ladder_bps: &LADDER,
                chunk_s: 4.0,
                buffer_s,
                previous: None,
                estimate: Some(estimate),
            };
            bola.choose(&view, estimate)
        };
        // 1 Mb/s permits 0.75 Mb/s, quality 1; a quality above that stays when the buffer would permit more.
        assert_eq!([18.0, 18.0, 14.0, 20.0, 0.0].map(&mut choose), [2, 2, 1, 2, 0]);
    }
}
