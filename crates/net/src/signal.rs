//! The signal at a receiver: mean, Rayleigh fading, shadowing, blockage. One value for a slot; it is drawn only for the slots in
//! which somebody asks for it, and the correlation over those between is exact.

use crate::normal::polar;
use crate::transmitter::Steps;
use engine::Stream;
use params::Form::{Number, Range, Word};
use params::Mistake;
use params::Unit::{Length as Metres, Speed as SpeedUnit, Time as Seconds};
use units::{Length, Span, Speed, Time};

/// Values from given times on, the first from zero.
pub type Schedule<T> = Vec<(Span, T)>;

params::options! {
    /// Rayleigh fading: one value for a direction and slot.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Fading {
        kind: &'static str = Word(&["rayleigh"]), ["\"rayleigh\""], "distribution";
        speed: Speed = Range(SpeedUnit, "3kmph", "0mps", "300mps"), ["\"3kmph\""], "speed of the terminal";
        carrier: f64 = Number(0.1, 100.0), ["2"], "frequency of the carrier, GHz";
    }
}

params::options! {
    /// Shadowing: a normal deviation in dB that changes with the distance that the terminal has moved.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Shadowing {
        deviation: f64 = Number(0.0, 20.0), ["6"], "standard deviation, dB";
        decorrelation: Length = Range(Metres, "50m", "1m", "10km"), ["\"50m\""],
            "distance over which the correlation falls to 1/e";
        speed: Speed = Range(SpeedUnit, "3kmph", "0mps", "300mps"), ["\"3kmph\""], "speed of the terminal";
    }
}

params::options! {
    /// Blockage of the line of sight: two states with exponential times.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Blockage {
        clear: Span = Range(Seconds, "2s", "1us", "1000000s"), ["\"2s\""], "mean time without blockage";
        blocked: Span = Range(Seconds, "300ms", "1us", "1000000s"), ["\"300ms\""], "mean time of a blockage";
        loss: f64 = Number(0.0, 100.0), ["20"], "loss during it, dB";
    }
}

/// How a signal varies around its mean.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variation {
    /// Rayleigh fading.
    pub fading: Option<Fading>,
    /// Shadowing.
    pub shadowing: Option<Shadowing>,
    /// Blockage.
    pub blockage: Option<Blockage>,
}

/// The steps of a key. Fails if their times are not in order.
pub(crate) fn steps<T: Copy>(key: &'static str, values: &[(Span, T)]) -> Result<Steps<T>, Mistake> {
    let mut steps = Steps { steps: Vec::new(), period: Span::ZERO };
    for (at, value) in values {
        steps.push(Time::ZERO + *at, *value).map_err(|message| (key, message.into()))?;
    }
    if steps.steps.is_empty() { Err((key, "must not be empty".into())) } else { Ok(steps) }
}

/// Speed of light, m/s.
const LIGHT: f64 = 299_792_458.0;
/// After so many mean cycles of blockage the state does not depend on the one before (by less than 1e-40).
const MANY_CHANGES: f64 = 100.0;
/// Numbers of slots whose correlations are kept.
const KEPT: usize = 16;
/// The least power of a fading signal over its mean: -60 dB.
const LEAST_POWER: f64 = 1e-6;

/// The streams of random numbers of a direction.
#[derive(Clone, Debug)]
pub struct SignalStreams {
    /// Of fading.
    pub fading: Stream,
    /// Of shadowing.
    pub shadowing: Stream,
    /// Of blockage.
    pub blockage: Stream,
}

/// Two independent numbers with the standard normal distribution.
fn normals(stream: &mut Stream) -> (f64, f64) {
    let (radius, angle) = polar(stream);
    let (sine, cosine) = libm::sincos(angle);
    (radius * cosine, radius * sine)
}

/// A Gaussian process of unit variance with an exponential correlation (AR(1)), in one or two dimensions.
#[derive(Clone, Debug)]
struct Correlated {
    /// Correlation over 1, 2, ... slots.
    rho: [f64; KEPT],
    value: (f64, f64),
}

impl Correlated {
    fn new(rho: f64, stream: &mut Stream) -> Correlated {
        let rho = std::array::from_fn(|index| libm::pow(rho, (index + 1) as f64));
        Correlated { rho, value: normals(stream) }
    }

    /// Goes `slots` slots on.
    fn advance(&mut self, slots: u64, stream: &mut Stream) {
        let part = match self.rho.get(slots as usize - 1) {
            Some(rho) => *rho,
            None => libm::pow(self.rho[0], slots as f64),
        };
        let (x, y) = normals(stream);
        let noise = (1.0 - part * part).sqrt();
        self.value = (part * self.value.0 + noise * x, part * self.value.1 + noise * y);
    }
}

/// The correlation of Rayleigh fading from one slot to the next; 0 where the Bessel function is negative.
pub(crate) fn fading_correlation(fading: &Fading, slot: Span) -> f64 {
    let doppler = fading.speed.metres_per_second() * fading.carrier * 1e9 / LIGHT;
    libm::j0(2.0 * core::f64::consts::PI * doppler * slot.seconds()).max(0.0)
}

fn shadowing_correlation(shadowing: &Shadowing, slot: Span) -> f64 {
    let moved = shadowing.speed.metres_per_second() * slot.seconds();
    libm::exp(-moved / shadowing.decorrelation.metres())
}

/// The line of sight: clear or blocked.
#[derive(Clone, Debug)]
struct LineOfSight {
    /// Mean times of both states, s, and the loss of the second, dB.
    means: [f64; 2],
    loss: f64,
    blocked: bool,
    until: Time,
}

impl LineOfSight {
    /// The loss at `now`, dB.
    fn loss(&mut self, now: Time, stream: &mut Stream) -> f64 {
        let passed = now.max(self.until).since(self.until).seconds();
        if passed > MANY_CHANGES * (self.means[0] + self.means[1]) {
            // The states of a long time need not be drawn: the next one has the share of the times.
            self.blocked = stream.uniform() * (self.means[0] + self.means[1]) >= self.means[1];
            self.until = now;
        }
        while self.until <= now {
            self.blocked = !self.blocked;
            let mean = self.means[usize::from(self.blocked)];
            self.until += Span::from_seconds(-mean * libm::log(1.0 - stream.uniform()));
        }
        if self.blocked { self.loss } else { 0.0 }
    }
}

/// The signal of a direction.
#[derive(Clone, Debug)]
pub struct Signal {
    mean: Steps<f64>,
    slot: Span,
    streams: SignalStreams,
    fading: Option<Correlated>,
    /// With its standard deviation, dB.
    shadowing: Option<(Correlated, f64)>,
    sight: Option<LineOfSight>,
    /// The mean, and the slot until which it holds.
    held: (f64, u64),
    /// The last slot that was asked for, and its value.
    last: Option<(u64, f64)>,
}

impl Signal {
    /// A signal with this mean, dB.
    pub fn new(mean: Steps<f64>, variation: &Variation, slot: Span, mut streams: SignalStreams) -> Signal {
        let fading = variation.fading.as_ref().map(|fading| {
            let rho = fading_correlation(fading, slot);
            Correlated::new(rho, &mut streams.fading)
        });
        let shadowing = variation.shadowing.as_ref().map(|shadowing| {
            let rho = shadowing_correlation(shadowing, slot);
            (Correlated::new(rho, &mut streams.shadowing), shadowing.deviation)
        });
        let sight = variation.blockage.as_ref().map(|blockage| {
            let means = [blockage.clear.seconds(), blockage.blocked.seconds()];
            let blocked = streams.blockage.uniform() * (means[0] + means[1]) < means[1];
            // The state at the start is the one after this change.
            LineOfSight { means, loss: blockage.loss, blocked: !blocked, until: Time::ZERO }
        });
        Signal { mean, slot, streams, fading, shadowing, sight, held: (0.0, 0), last: None }
    }

    /// The SNR in slot `slot`, dB. Slots must not decrease.
    pub fn snr(&mut self, slot: u64) -> f64 {
        let passed = match self.last {
            Some((last, value)) if last == slot => return value,
            Some((last, _)) => slot - last,
            None => 0,
        };
        let now = Time::ZERO + self.slot * slot;
        if slot >= self.held.1 {
            let (mean, until) = self.mean.at(now);
            self.held = (mean, until.ps().div_ceil(self.slot.ps()).max(slot + 1));
        }
        let mut snr = self.held.0;
        if let Some(fading) = &mut self.fading {
            if passed > 0 {
                fading.advance(passed, &mut self.streams.fading);
            }
            let power = (fading.value.0 * fading.value.0 + fading.value.1 * fading.value.1) / 2.0;
            snr += 10.0 * libm::log10(power.max(LEAST_POWER));
        }
        if let Some((shadowing, deviation)) = &mut self.shadowing {
            if passed > 0 {
                shadowing.advance(passed, &mut self.streams.shadowing);
            }
            snr += *deviation * shadowing.value.0;
        }
        if let Some(sight) = &mut self.sight {
            snr -= sight.loss(now, &mut self.streams.blockage);
        }
        self.last = Some((slot, snr));
        snr
    }
}
