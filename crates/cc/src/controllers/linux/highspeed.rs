//! HighSpeed TCP in Linux: a(w) counts ACKs, not segments, and b(w) comes from a table (RFC 3649, appendix B).

use super::Module;
use crate::Ack;
use crate::window::Window;
use units::Time;

/// The windows of the table up to which a(w) is 1, 2, 3 and so on.
const WINDOWS: [u64; 72] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778, 4177, 4596,
    5036, 5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082, 12834, 13614, 14424,
    15265, 16137, 17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402, 25618, 26881, 28193, 29557, 30975,
    32450, 33986, 35586, 37253, 38992, 40808, 42707, 44694, 46776, 48961, 51258, 53677, 56230, 58932, 61799,
    64851, 68113, 71617, 75401, 79517, 84035, 89053,
];

/// b(w) of a window in 1/256, rounded down: from 1/2 at 38 to 1/10 at 83,000 segments, on a logarithmic scale.
fn decrease(window: u64) -> u64 {
    use crate::detmath::ln;
    let place = (ln(window as f64) - ln(38.0)) / (ln(83_000.0) - ln(38.0));
    ((0.5 - 0.4 * place) * 256.0) as u64
}

/// The module `highspeed`.
#[derive(Clone, Debug, Default)]
pub struct HighSpeed {
    /// The place of the window in the table.
    place: usize,
}

impl HighSpeed {
    /// a(w) of the last ACK in congestion avoidance, segments a round trip.
    fn gain(&self) -> f64 {
        (self.place + 1) as f64
    }
}

impl Module for HighSpeed {
    fn ssthresh(&mut self, cwnd: u64, _lost: bool, _now: Time) -> u64 {
        (cwnd - ((cwnd * decrease(WINDOWS[self.place])) >> 8)).max(2)
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack, limited: bool) {
        if !limited {
            return;
        }
        if window.slow_start() {
            window.slow_start_step(ack);
            return;
        }
        let cwnd = window.cwnd as u64;
        self.place = WINDOWS.partition_point(|bound| *bound < cwnd).min(WINDOWS.len() - 1);
        window.counter += self.gain();
        if window.counter >= window.cwnd {
            window.counter -= window.cwnd;
            window.set(window.cwnd + 1.0);
        }
    }

    fn probe(&self, out: &mut [f64]) {
        (out[0], out[1]) = (self.gain(), decrease(WINDOWS[self.place]) as f64 / 256.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_decreases_of_the_table() {
        let decreases = [0, 1, 2, 3, 10, 35, 71].map(|place: usize| decrease(WINDOWS[place]));
        // b(w) of RFC 3649, appendix B: 0.50, 0.44, 0.41, 0.38, 0.30, 0.19, 0.10.
        assert_eq!(decreases, [128, 112, 104, 98, 76, 48, 24]);
    }
}
