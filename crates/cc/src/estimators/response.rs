//! The response function of HighSpeed TCP (RFC 3649).

use crate::detmath::{exp, ln};

/// The response of RFC 3649.
#[derive(Clone, Copy, Debug)]
pub struct Response {
    low: f64,
    /// Natural logarithm of the highest window over the lowest.
    span: f64,
    /// The loss rate at the lowest window, and the natural logarithm of the ratio of both loss rates.
    low_p: f64,
    fall: f64,
    b_high: f64,
}

impl Response {
    /// The lowest and the highest window (segments), the loss rates at both, and b(w) at the highest window.
    pub fn new(low: f64, high: f64, low_p: f64, high_p: f64, b_high: f64) -> Response {
        Response { low, span: ln(high / low), low_p, fall: ln(high_p / low_p), b_high }
    }

    /// The response function with the values of RFC 3649.
    pub fn standard() -> Response {
        Response::new(38.0, 83_000.0, 1e-3, 1e-7, 0.1)
    }

    /// The position of `w` between the lowest and the highest window on a logarithmic scale: 0 at the lowest, 1 at
    /// the highest.
    fn part(&self, w: f64) -> f64 {
        ln(w / self.low) / self.span
    }

    /// b(w) of RFC 3649: the part of the window by which a loss reduces it.
    pub fn cut(&self, w: f64) -> f64 {
        if w <= self.low { 0.5 } else { (self.b_high - 0.5) * self.part(w) + 0.5 }
    }

    /// a(w) of RFC 3649: the increase of the window per round trip, segments.
    pub fn gain(&self, w: f64) -> f64 {
        if w <= self.low {
            return 1.0;
        }
        let (p, b) = (self.low_p * exp(self.part(w) * self.fall), self.cut(w));
        // The upper bound `w` keeps the growth at or below that of slow start for all parameters.
        (w * w * p * 2.0 * b / (2.0 - b)).clamp(1.0, w)
    }
}
