//! Radio propagation: the received power of a transmission (docs/specs/manet.md section 2).

use crate::normal::normal;
use engine::Stream;
use params::Form::{Number, Word};
use params::{Key, Values, key};

/// How power falls with distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PropagationModel {
    /// Free space.
    Friis,
    /// Free space up to the crossover distance, the two-ray ground reflection beyond.
    TwoRay,
    /// A power law with a log-normal deviation, drawn for each transmission and receiver.
    Shadowing {
        /// Path loss exponent.
        exponent: f64,
        /// Standard deviation, dB.
        deviation: f64,
        /// Reference distance, m. The free-space model gives the power at this distance.
        reference: f64,
    },
}

params::options! {
    /// The radio of every node. The defaults are those of ns-2: WaveLAN at 914 MHz, reception up to 250 m, and carrier sense
    /// up to 550 m.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Propagation {
        power: f64 = Number(1e-12, 1e6), ["0.28183815"], "transmitted power, W";
        frequency: f64 = Number(1e3, 1e12), ["914e6"], "frequency, Hz";
        gain: f64 = Number(1e-3, 1e6), ["1"], "gain of each antenna, a factor";
        loss ["system_loss"]: f64 = Number(1.0, 1e6), ["1"], "system loss, a factor";
        height: f64 = Number(1e-3, 1e5), ["1.5"], "height of the antennas, m";
        receive_threshold: f64 = Number(1e-20, 1.0), ["3.652e-10"],
            "smallest power that can be received, W";
        sense_threshold ["carrier_sense_threshold"]: f64 = Number(1e-20, 1.0), ["1.559e-11"],
            "smallest power that is sensed, W";
        capture_ratio: f64 = Number(1.0, 1e6), ["10"],
            "ratio of powers at which the stronger frame is received";
        noise: f64 = Number(0.0, 1.0), ["0"], "power of the noise, W; with `capture = \"sinr\"`";
    }
    with {
        /// How power falls with distance.
        model: PropagationModel = PropagationModel::new;
    }
}

/// Speed of light as ns-2 has it, m/s.
pub(super) const SPEED_OF_LIGHT: f64 = 3e8;
const FOUR_PI: f64 = 4.0 * core::f64::consts::PI;
/// Limit of the deviations, in standard deviations. On each side, one deviation in 30,000 is beyond the limit.
const MAX_DEVIATIONS: f64 = 4.0;

impl PropagationModel {
    /// The model that the values of [`Propagation::MODEL_KEYS`] name; two-ray ground reflection without them.
    fn new(values: &Values) -> PropagationModel {
        match values.optional("kind") {
            Some("friis") => PropagationModel::Friis,
            Some("shadowing") => PropagationModel::Shadowing {
                exponent: values.read("exponent"),
                deviation: values.read("deviation_db"),
                reference: values.read("reference_distance"),
            },
            _ => PropagationModel::TwoRay,
        }
    }
}

impl Propagation {
    /// The keys of its model.
    pub const MODEL_KEYS: &'static [Key] = &[
        key("kind", Word(&["two_ray", "friis", "shadowing"]), "\"two_ray\"", "path loss model"),
        key("exponent", Number(1.0, 10.0), "2", "shadowing: path loss exponent"),
        key("deviation_db", Number(0.0, 30.0), "4", "shadowing: standard deviation, dB"),
        key("reference_distance", Number(0.01, 1000.0), "1", "shadowing: free space up to this distance, m"),
    ];

    /// The distance beyond which the two-ray ground reflection applies, m.
    pub fn crossover(&self) -> f64 {
        FOUR_PI * self.height * self.height * self.frequency / SPEED_OF_LIGHT
    }
    fn friis(&self, square: f64) -> f64 {
        let wave = SPEED_OF_LIGHT / self.frequency / FOUR_PI;
        self.power * self.gain * self.gain * wave * wave / (square * self.loss)
    }
    /// The median power at a distance, W.
    pub fn mean_power(&self, distance: f64) -> f64 {
        let square = distance * distance;
        if square == 0.0 {
            return self.power;
        }
        match self.model {
            PropagationModel::Friis => self.friis(square),
            PropagationModel::TwoRay if distance <= self.crossover() => self.friis(square),
            PropagationModel::TwoRay => {
                let h = self.height * self.height;
                self.power * self.gain * self.gain * h * h / (square * square * self.loss)
            }
            PropagationModel::Shadowing { exponent, reference, .. } => {
                let near = self.friis(reference * reference);
                near * libm::pow(distance / reference, -exponent)
            }
        }
    }
    /// Up to this distance packets can be received (with shadowing: in the median), m.
    pub fn range(&self) -> f64 {
        let model = match self.model {
            PropagationModel::Shadowing { exponent, reference, .. } => {
                PropagationModel::Shadowing { exponent, deviation: 0.0, reference }
            }
            model => model,
        };
        Propagation { model, sense_threshold: self.receive_threshold, ..self.clone() }.reach()
    }
    /// The distance beyond which no node senses a signal, m.
    pub fn reach(&self) -> f64 {
        let margin = match self.model {
            PropagationModel::Shadowing { deviation, .. } => decibel(MAX_DEVIATIONS * deviation),
            _ => 1.0,
        };
        let (mut near, mut far) = (0.0, 1.0);
        while self.mean_power(far) * margin >= self.sense_threshold && far < 1e9 {
            (near, far) = (far, far * 2.0);
        }
        for _ in 0..60 {
            let middle = 0.5 * (near + far);
            if self.mean_power(middle) * margin >= self.sense_threshold {
                near = middle;
            } else {
                far = middle;
            }
        }
        far
    }
}

fn decibel(db: f64) -> f64 {
    libm::exp(db * core::f64::consts::LN_10 / 10.0)
}

/// [`Propagation`] with precomputed constants.
#[derive(Clone, Debug)]
pub(super) struct Attenuation {
    crossover_square: f64,
    /// Power at 1 m under the inverse-square law, and under the inverse-fourth-power law, W.
    by_square: f64,
    by_fourth: f64,
    shadowing: Option<(Propagation, f64)>,
}

impl Attenuation {
    pub fn new(p: &Propagation) -> Attenuation {
        let h = p.height * p.height;
        let crossover = match p.model {
            PropagationModel::TwoRay => p.crossover(),
            _ => f64::INFINITY,
        };
        let deviation = match p.model {
            PropagationModel::Shadowing { deviation, .. } => Some(deviation),
            _ => None,
        };
        Attenuation {
            crossover_square: crossover * crossover,
            by_square: p.friis(1.0),
            by_fourth: p.power * p.gain * p.gain * h * h / p.loss,
            shadowing: deviation.map(|deviation| (p.clone(), deviation)),
        }
    }

    /// Received power of a transmission at the distance whose square is `square` (above zero), W.
    #[inline]
    pub fn power(&self, square: f64, stream: &mut Stream) -> f64 {
        if let Some((p, deviation)) = &self.shadowing {
            return p.mean_power(square.sqrt())
                * decibel(deviation * normal(stream).clamp(-MAX_DEVIATIONS, MAX_DEVIATIONS));
        }
        if square <= self.crossover_square {
            self.by_square / square
        } else {
            self.by_fourth / (square * square)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_spec() {
        let p = Propagation::with_defaults(0);
        assert!((p.crossover() - 86.1425).abs() < 1e-3);
        let fast = Attenuation::new(&p);
        let mut stream = Stream::new(1, "shadowing", "test");
        for (distance, power) in
            [(50.0, 7.69113e-8), (100.0, 1.426_806e-8), (250.0, 3.652_622e-10), (550.0, 1.559_244e-11)]
        {
            assert!((p.mean_power(distance) / power - 1.0).abs() < 1e-5, "{distance} m");
            let same = fast.power(distance * distance, &mut stream) / p.mean_power(distance);
            assert!((same - 1.0).abs() < 1e-12);
        }
        assert!((p.reach() - 550.022).abs() < 1e-3);
        let reach_at = |threshold| Propagation { sense_threshold: threshold, ..p.clone() }.reach();
        assert!((reach_at(p.receive_threshold) - 250.011).abs() < 1e-3);
    }

    #[test]
    fn shadowing_deviates_by_its_decibels() {
        let model = PropagationModel::Shadowing { exponent: 3.0, deviation: 4.0, reference: 1.0 };
        let p = Propagation { model, ..Propagation::with_defaults(0) };
        let (fast, mut stream) = (Attenuation::new(&p), Stream::new(1, "shadowing", "test"));
        let n = 20_000;
        let db: Vec<f64> =
            (0..n).map(|_| 10.0 * libm::log10(fast.power(1e4, &mut stream) / p.mean_power(100.0))).collect();
        let mean = db.iter().sum::<f64>() / n as f64;
        let square = db.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64;
        assert!(mean.abs() < 0.12 && (square.sqrt() - 4.0).abs() < 0.1, "{mean} {}", square.sqrt());
        // Ten times the distance: 30 dB.
        assert!((p.mean_power(10.0) / p.mean_power(100.0) - 1000.0).abs() < 1e-6);
    }
}
