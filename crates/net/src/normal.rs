//! Numbers with the standard normal distribution (Box and Muller 1958).

use engine::Stream;

/// Radius and angle, rad, of two independent numbers with the standard normal distribution.
pub(crate) fn polar(stream: &mut Stream) -> (f64, f64) {
    let radius = (-2.0 * libm::log(1.0 - stream.uniform())).sqrt();
    (radius, 2.0 * core::f64::consts::PI * stream.uniform())
}

/// A number with the standard normal distribution.
pub fn normal(stream: &mut Stream) -> f64 {
    let (radius, angle) = polar(stream);
    radius * libm::cos(angle)
}
