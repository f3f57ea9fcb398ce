//! Mathematical functions with the same result bits on every machine: the pinned `libm`, wrapped in one place.
//!
//! `+ - * /` and `sqrt` of the standard library are exact by IEEE 754 and may be used directly. So are its `floor` and `ceil`, but
//! on x86-64 without SSE4.1 they are calls of 40 instructions: what runs at each ACK uses those of this module.

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

/// A number to which one below 2^51 is added without its fraction: the result is whole, and rounded to the nearest one.
const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;

/// Whether [`nearest`] holds for a number.
#[inline]
fn is_small(x: f64) -> bool {
    x.abs() < (1u64 << 51) as f64
}

/// The nearest whole number.
#[inline]
fn nearest(x: f64) -> f64 {
    (x + WHOLE) - WHOLE
}

/// The largest whole number that is not above `x`: that of the standard library, but zero has no sign.
#[inline]
pub fn floor(x: f64) -> f64 {
    if !is_small(x) {
        return x.floor();
    }
    let whole = nearest(x);
    if whole > x { whole - 1.0 } else { whole }
}

/// The smallest whole number that is not below `x`: that of the standard library, but zero has no sign.
#[inline]
pub fn ceil(x: f64) -> f64 {
    if !is_small(x) {
        return x.ceil();
    }
    let whole = nearest(x);
    if whole < x { whole + 1.0 } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_those_of_the_standard_library() {
        let edges =
            [0.0, 1e-300, 0.5, 1.0, 1.5, WHOLE - 0.5, WHOLE, WHOLE + 1.0, 1e300, f64::INFINITY, f64::MAX];
        let beside = |x: f64| [x.next_down(), x, x.next_up()];
        for x in edges.into_iter().flat_map(beside).flat_map(|x| [x, -x]) {
            assert_eq!((floor(x), ceil(x)), (x.floor(), x.ceil()), "{x}");
        }
        assert!(floor(f64::NAN).is_nan() && ceil(f64::NAN).is_nan());
    }
}
