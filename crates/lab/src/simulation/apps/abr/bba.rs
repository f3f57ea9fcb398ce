//! BBA-0 (Huang et al., SIGCOMM 2014): a straight line from buffer to rate, with hysteresis.
//!
//! The paper has a reservoir of 90 s and a cushion of 126 s in a buffer of 240 s; here they are the same parts of any buffer.

use super::view::View;

/// Part of the buffer below which the rate is the lowest one.
const RESERVOIR: f64 = 90.0 / 240.0;
/// Part of the buffer over which the rate rises to the highest one.
const CUSHION: f64 = 126.0 / 240.0;

/// By the buffer.
#[derive(Clone, Debug)]
pub struct Bba {
    reservoir_s: f64,
    cushion_s: f64,
}

impl Bba {
    pub(super) fn new(limit_s: f64) -> Bba {
        Bba { reservoir_s: RESERVOIR * limit_s, cushion_s: CUSHION * limit_s }
    }

    pub(super) fn choose(&self, view: &View<'_>) -> usize {
        let ladder = view.ladder_bps;
        let top = ladder.len() - 1;
        let previous = view.previous.unwrap_or(0);
        if view.buffer_s <= self.reservoir_s {
            return 0;
        }
        if view.buffer_s >= self.reservoir_s + self.cushion_s {
            return top;
        }
        let target =
            ladder[0] + (ladder[top] - ladder[0]) * (view.buffer_s - self.reservoir_s) / self.cushion_s;
        if target >= ladder[(previous + 1).min(top)] {
            ladder.partition_point(|rate| *rate < target).saturating_sub(1)
        } else if target <= ladder[previous.saturating_sub(1)] {
            ladder.partition_point(|rate| *rate <= target).min(top)
        } else {
            previous
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_follows_the_buffer_in_steps() {
        let ladder = [235e3, 375e3, 560e3, 750e3, 1.05e6, 1.75e6, 2.35e6, 3e6];
        let bba = Bba::new(240.0);
        let choose = |buffer_s, previous| {
            let previous = Some(previous);
            bba.choose(&View { ladder_bps: &ladder, chunk_s: 4.0, buffer_s, previous, estimate: None })
        };
        assert_eq!((choose(80.0, 0), choose(100.0, 0), choose(153.0, 0)), (0, 1, 4));
        assert_eq!((choose(153.0, 5), choose(220.0, 0)), (5, 7));
        // At 216 s the line is at the top; just below, the highest rate below it.
        assert_eq!((choose(216.0, 3), choose(215.9, 3), choose(215.9, 7)), (7, 6, 7));
        // 0.454 Mb/s from 1.05: the lowest rate above the line.
        assert_eq!(choose(100.0, 4), 2);
    }
}
