//! One-step forecasts of the round-trip time by an ARIMA(2,1,1) model.
//!
//! With X the round-trip time and e the innovation, the differences obey
//! `Y(t) = phi1 Y(t-1) + phi2 Y(t-2) + e(t) + theta e(t-1)`: the sign of theta is that of the paper's Eq. 17
//! (Jeyasekar et al., JATIT 66(1), 2014), docs/specs/ca-artt.md sections 1 and 2.

use crate::noise::Normal;

/// The coefficients of an ARIMA(2,1,1) model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arima {
    /// Coefficients of the last two differences.
    pub phi: [f64; 2],
    /// Coefficient of the last innovation.
    pub theta: f64,
}

/// The innovation term of the forecast.
#[derive(Clone, Debug)]
pub enum Innovation {
    /// `theta e(t)`, the correct one-step forecast.
    Forecast,
    /// No innovation term.
    Zero,
    /// A random term of this standard deviation, seconds.
    Noise(f64, Normal),
    /// `theta e(t-1) + e(t)`, Eq. 24 as printed. It diverges: its error grows by a factor of 1.6 per sample.
    Literal,
}

/// The estimator. All times are in seconds.
#[derive(Clone, Debug)]
pub struct Artt {
    model: Arima,
    innovation: Innovation,
    /// The last three samples, newest first; none before the first.
    samples: Option<[f64; 3]>,
    error: f64,
    forecast: f64,
}

impl Artt {
    /// An estimator of `model` without samples.
    pub fn new(model: Arima, innovation: Innovation) -> Artt {
        Artt { model, innovation, samples: None, error: 0.0, forecast: f64::NAN }
    }

    /// Adds a sample and returns the forecast of the next one.
    pub fn update(&mut self, rtt: f64) -> f64 {
        let Some([x1, x2, _]) = self.samples else {
            self.samples = Some([rtt; 3]);
            self.forecast = rtt;
            return rtt;
        };
        let last_error = self.error;
        self.error = rtt - self.forecast;
        self.samples = Some([rtt, x1, x2]);
        let Arima { phi: [phi1, phi2], theta } = self.model;
        let base = (1.0 + phi1) * rtt + (phi2 - phi1) * x1 - phi2 * x2;
        self.forecast = match &mut self.innovation {
            Innovation::Forecast => base + theta * self.error,
            Innovation::Zero => base,
            Innovation::Noise(sigma, normal) => base + *sigma * normal.draw(),
            Innovation::Literal => base + theta * last_error + self.error,
        };
        self.forecast
    }

    /// The last forecast; none before the first sample.
    pub fn forecast(&self) -> Option<f64> {
        self.samples.map(|_| self.forecast)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLISHED: Arima = Arima { phi: [-0.36251, 0.17573], theta: -0.95108 };
    /// Round-trip times (ms) of docs/specs/ca-artt.md section 7.
    const SAMPLES: [f64; 10] = [100.0, 100.0, 100.0, 110.0, 125.0, 120.0, 118.0, 118.0, 118.0, 118.0];

    #[test]
    fn published_forecasts() {
        let mut artt = Artt::new(PUBLISHED, Innovation::Forecast);
        let mut zero = Artt::new(PUBLISHED, Innovation::Zero);
        let expected = [
            (96.8641, 10.0, 106.3749),
            (94.5602, 28.1359, 121.3196),
            (100.2532, 25.4398, 124.4485),
            (100.9677, 17.7468, 117.8464),
            (101.4495, 17.0323, 117.6485),
            (102.2591, 16.5505, 118.0),
            (103.0292, 15.7409, 118.0),
        ];
        for (i, rtt) in SAMPLES.into_iter().enumerate() {
            let (a, z) = (artt.update(rtt), zero.update(rtt));
            let (want_a, want_e, want_z) = if i < 3 { (100.0, 0.0, 100.0) } else { expected[i - 3] };
            assert!((a - want_a).abs() < 1e-4 && (artt.error - want_e).abs() < 1e-4, "{i}: {a} {artt:?}");
            assert!((z - want_z).abs() < 1e-4, "{i}: {z}");
        }
    }

    #[test]
    fn as_printed_it_diverges() {
        let mut artt = Artt::new(PUBLISHED, Innovation::Literal);
        for _ in 0..3 {
            artt.update(100.0);
        }
        artt.update(110.0);
        for _ in 0..20 {
            artt.update(100.0);
        }
        assert!(artt.forecast().unwrap().abs() > 1e4); // 1.5959^20 is 11,000
    }

    #[test]
    fn a_constant_is_forecast_as_itself() {
        for innovation in [Innovation::Forecast, Innovation::Zero, Innovation::Literal] {
            let mut artt = Artt::new(PUBLISHED, innovation);
            assert_eq!(artt.forecast(), None);
            for _ in 0..10 {
                assert!((artt.update(80.0) - 80.0).abs() < 1e-9);
            }
        }
    }
}
