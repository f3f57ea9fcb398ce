//! Bounded steps along the gradient of the utility.

use crate::detmath::{self, exp, ln};

/// First bound of a change, as a part of the rate, and what each cut adds to it.
const BOUND: f64 = 0.05;
const BOUND_STEP: f64 = 0.1;
/// Rate of a unit of gradient, Mb/s.
const THETA: f64 = 1.0;

/// The bounded steps along the gradient.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    /// Cuts in a row, moves in this direction, and the direction.
    cuts: u32,
    moves: u32,
    pub up: Option<bool>,
}

impl Steps {
    /// The change of rate `r` for a gradient, both with Mb/s. `gentle`: the amplifier of the paper grows by two from the
    /// fourth move on; otherwise that of the authors' code.
    pub fn step(&mut self, r: f64, gradient: f64, paper: bool) -> f64 {
        let up = Some(gradient > 0.0);
        if up != self.up {
            *self = Steps { up, ..Steps::default() };
        }
        self.moves += 1;
        let moves = f64::from(self.moves);
        let amplifier = match paper {
            true if self.moves <= 3 => moves,
            true => 2.0 * moves - 3.0,
            false => power(detmath::floor((moves + 1.0) / 2.0), 1.2),
        };
        let change = amplifier * THETA * gradient;
        let bound = (BOUND + f64::from(self.cuts) * BOUND_STEP) * r;
        if change.abs() > bound {
            self.cuts += 1;
            return bound.copysign(change);
        }
        self.cuts = detmath::ceil((change.abs() / r - BOUND) / BOUND_STEP - 1e-9).max(0.0) as u32;
        change
    }
}

/// `x` to the power `t`; 0 for no rate.
pub(super) fn power(x: f64, t: f64) -> f64 {
    if x <= 0.0 { 0.0 } else { exp(t * ln(x)) }
}
