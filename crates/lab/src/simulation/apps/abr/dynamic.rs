//! DYNAMIC (Spiteri, Sitaraman, Sparacio, MMSys 2018): throughput while the buffer is short, BOLA while it is long.

use super::bola::Bola;
use super::estimate::Estimate;
use super::throughput::Throughput;
use super::view::View;

/// The buffer at which the rules change, s.
const THRESHOLD_S: f64 = 10.0;

/// Both rules; each chooses for every chunk, so that its state is that of a rule that runs alone.
#[derive(Clone, Debug)]
pub struct Dynamic {
    bola: Bola,
    throughput: Throughput,
    by_buffer: bool,
}

impl Dynamic {
    pub(super) fn new(ladder_bps: &[f64], chunk_s: f64, limit_s: f64, guard: bool) -> Dynamic {
        Dynamic {
            bola: Bola::new(ladder_bps, chunk_s, limit_s),
            throughput: Throughput::new(guard),
            by_buffer: false,
        }
    }

    pub(super) fn choose(&mut self, view: &View<'_>, estimate: Estimate) -> usize {
        let bola = self.bola.choose(view, estimate);
        let throughput = self.throughput.choose(view, estimate);
        self.by_buffer = match self.by_buffer {
            true => view.buffer_s >= THRESHOLD_S || bola >= throughput,
            false => view.buffer_s > THRESHOLD_S && bola >= throughput,
        };
        if self.by_buffer { bola } else { throughput }
    }
}
