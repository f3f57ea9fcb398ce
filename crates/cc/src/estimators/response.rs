//! The response function of HighSpeed TCP (RFC 3649).

use crate::detmath::{exp, ln};

/// The response of RFC 3649.
#[derive(Clone, Copy, Debug)]
pub struct Response {
    low: f64,
    /// Natural logarithm of the highest window over the lowest.
    span: f64,
    /// Of the loss rates there: of the lowest window, and of their ratio.
    low_p: f64,
    fall: f64,
    least_cut: f64,
}

impl Response {
    /// Windows (segments) and loss rates at both ends, and the part that a loss takes at the high one.
    pub fn new(low: f64, high: f64, low_p: f64, high_p: f64, least_cut: f64) -> Response {
        Response { low, span: ln(high / low), low_p, fall: ln(high_p / low_p), least_cut }
    }

    /// The RFC's.
    pub fn standard() -> Response {
        Response::new(38.0, 83_000.0, 1e-3, 1e-7, 0.1)
    }

    /// Part of the way from the lowest to the highest window, in logarithms.
    fn part(&self, w: f64) -> f64 {
        ln(w / self.low) / self.span
    }

    /// Part of the window that a loss takes: b(w).
    pub fn cut(&self, w: f64) -> f64 {
        if w <= self.low { 0.5 } else { (self.least_cut - 0.5) * self.part(w) + 0.5 }
    }

    /// Segments gained in a round trip: a(w).
    pub fn gain(&self, w: f64) -> f64 {
        if w <= self.low {
            return 1.0;
        }
        let (p, b) = (self.low_p * exp(self.part(w) * self.fall), self.cut(w));
        // No parameter makes it grow faster than slow start.
        (w * w * p * 2.0 * b / (2.0 - b)).clamp(1.0, w)
    }
}
