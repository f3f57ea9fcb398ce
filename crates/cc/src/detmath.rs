//! Mathematical functions with the same result bits on every machine: the pinned `libm`, wrapped in one place.
//!
//! `+ - * /` and `sqrt` of the standard library are exact by IEEE 754 and may be used directly.

/// The cube root.
pub fn cbrt(x: f64) -> f64 {
    libm::cbrt(x)
}

/// The natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// The cosine of an angle in radians.
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}

/// The exponential.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}
