//! A video encoder: frames at exact times, of sizes whose mean is the target rate (RFC 8593, section 5).

use super::adapt::Bounds;
use super::sources::Interval;
use cc::detmath;
use engine::Stream;
use units::{Span, Time};

/// Noise of the sizes stays within these multiples of the mean.
const LEAST_NOISE: f64 = 0.1;
const MOST_NOISE: f64 = 2.0;

/// Where the sizes of frames come from.
#[derive(Clone, Debug)]
pub enum FrameSizes {
    /// The mean of the rate, or that of a place in a group.
    Even,
    /// The same, with Laplace noise (RFC 8593, section 5.1).
    Noisy {
        /// The scale of the noise, as a part of the mean: `size_deviation`.
        deviation: f64,
        /// The random stream of the noise.
        stream: Stream,
    },
    /// Bytes of the frames of a file, repeated, each times target over mean rate of the file.
    List(Vec<u64>),
}

/// The mean rate of a list of frame sizes at `fps` frames a second, bit/s.
pub fn list_rate_bps(sizes: &[u64], fps: u32) -> f64 {
    8.0 * sizes.iter().sum::<u64>() as f64 * f64::from(fps) / sizes.len() as f64
}

/// The settings of an encoder.
#[derive(Clone, Debug)]
pub struct EncoderConfig {
    /// The target at first, bit/s.
    pub rate_bps: f64,
    /// The lowest target, bit/s.
    pub min_bps: f64,
    /// The highest target, bit/s.
    pub max_bps: f64,
    /// Frames a second.
    pub fps: u32,
    /// Frames in a group, whose first one is a key frame; 0 without groups.
    pub group: u32,
    /// The size of a key frame over that of the others.
    pub key_ratio: f64,
    /// A request within this time of the last change of the target is ignored (RFC 8593, section 5.1).
    pub reaction: Span,
    /// Where the sizes come from.
    pub sizes: FrameSizes,
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its number, from 0.
    pub number: u64,
    /// Its size, bytes.
    pub bytes: u64,
    /// The number of its group; its own number without groups.
    pub group: u64,
    /// Whether it is the first of its group.
    pub key: bool,
}

/// An encoder.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: EncoderConfig,
    /// bit/s.
    target: f64,
    /// When the target changed last.
    changed: Option<Time>,
    /// The mean rate of a list of sizes, bit/s.
    list_bps: f64,
    next: u64,
    group: u64,
    /// The place of the next frame in its group.
    place: u32,
}

impl Encoder {
    /// An encoder before its first frame.
    pub fn new(config: EncoderConfig) -> Encoder {
        let list_bps = match &config.sizes {
            FrameSizes::List(sizes) => list_rate_bps(sizes, config.fps),
            _ => 0.0,
        };
        Encoder { target: config.rate_bps, changed: None, list_bps, next: 0, group: 0, place: 0, config }
    }

    /// The target, bit/s.
    #[cfg(test)]
    pub fn target_bps(&self) -> f64 {
        self.target
    }

    /// When the next frame is captured, since the start.
    pub fn next_at(&self) -> Span {
        Interval::per_second(self.config.fps).times(self.next)
    }

    /// Asks for another target. It takes effect at once, unless the last change was less than the reaction time ago.
    pub fn request(&mut self, now: Time, rate_bps: f64) {
        let rate_bps = rate_bps.clamp(self.config.min_bps, self.config.max_bps);
        let ready = self.changed.is_none_or(|changed| now.since(changed) >= self.config.reaction);
        if rate_bps != self.target && ready {
            (self.target, self.changed) = (rate_bps, Some(now));
        }
    }

    /// The rate, which does not adapt, is another one from now on.
    pub fn change_rate(&mut self, now: Time, rate_bps: f64) {
        self.change_bounds(now, Bounds { min_bps: rate_bps, max_bps: rate_bps });
    }

    /// The bounds of the target are others from now on.
    pub fn change_bounds(&mut self, now: Time, Bounds { min_bps, max_bps }: Bounds) {
        (self.config.min_bps, self.config.max_bps) = (min_bps, max_bps);
        let target = self.target.clamp(min_bps, max_bps);
        if target != self.target {
            (self.target, self.changed) = (target, Some(now));
        }
    }

    /// The next frame begins a new group.
    pub fn begin_group(&mut self) {
        if self.place > 0 {
            self.end_group();
        }
    }

    fn end_group(&mut self) {
        self.place = 0;
        self.group += 1;
    }

    /// The next frame.
    pub fn frame(&mut self) -> Frame {
        let key = self.place == 0;
        let frame = Frame { number: self.next, bytes: self.bytes(key), group: self.group, key };
        self.next += 1;
        self.place += 1;
        if self.place >= self.config.group {
            self.end_group();
        }
        frame
    }

    /// The size of the next frame, rounded to the nearest byte, at least one.
    fn bytes(&mut self, key: bool) -> u64 {
        let EncoderConfig { fps, group, key_ratio, .. } = self.config;
        let share = match (group, key) {
            (0, _) => (1.0, 1.0),
            // One division of whole numbers rounds halves as they are.
            (_, true) => (f64::from(group) * key_ratio, f64::from(group - 1) + key_ratio),
            (_, false) => (f64::from(group), f64::from(group - 1) + key_ratio),
        };
        let mean = self.target * share.0 / (8.0 * f64::from(fps) * share.1);
        let size = match &mut self.config.sizes {
            FrameSizes::Even => mean,
            FrameSizes::Noisy { deviation, stream } => {
                mean * (1.0 + *deviation * laplace(stream)).clamp(LEAST_NOISE, MOST_NOISE)
            }
            FrameSizes::List(sizes) => {
                let size = sizes[(self.next % sizes.len() as u64) as usize];
                size as f64 * (self.target / self.list_bps)
            }
        };
        ((size + 0.5) as u64).max(1)
    }
}

/// A number with the Laplace distribution of scale 1.
fn laplace(stream: &mut Stream) -> f64 {
    let centred = stream.uniform() - 0.5;
    let magnitude = -detmath::ln(1.0 - 2.0 * centred.abs());
    if centred < 0.0 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn config(rate_bps: f64, group: u32, key_ratio: f64) -> EncoderConfig {
        EncoderConfig {
            rate_bps,
            min_bps: 150e3,
            max_bps: 1.5e6,
            fps: 30,
            group,
            key_ratio,
            reaction: Span::from_ms(200),
            sizes: FrameSizes::Even,
        }
    }

    fn bytes(encoder: &mut Encoder, count: usize) -> Vec<u64> {
        (0..count).map(|_| encoder.frame().bytes).collect()
    }

    #[test]
    fn sizes_have_the_mean_of_the_rate() {
        assert_eq!(bytes(&mut Encoder::new(config(3e6, 0, 5.0)), 2), [12_500; 2]);
        assert_eq!(bytes(&mut Encoder::new(config(1e6, 0, 5.0)), 1), [4167]);
        let group = bytes(&mut Encoder::new(config(1.17e6, 30, 10.0)), 31);
        assert_eq!((&group[..3], group[30]), (&[37_500, 3750, 3750][..], 37_500));
        assert_eq!(group[..30].iter().sum::<u64>(), 146_250);
        let key = bytes(&mut Encoder::new(config(1e6, 30, 5.0)), 30);
        assert_eq!((&key[..2], 8 * key.iter().sum::<u64>()), (&[18_382, 3676][..], 999_888));
    }

    #[test]
    fn a_request_soon_after_a_change_is_ignored() {
        let mut encoder = Encoder::new(config(300e3, 0, 5.0));
        let targets = [(0, 2e6), (100, 0.3e6), (199, 0.3e6), (200, 0.3e6), (400, 0.1e6)].map(|(ms, rate)| {
            encoder.request(Time::ZERO + Span::from_ms(ms), rate);
            encoder.target_bps()
        });
        assert_eq!(targets, [1.5e6, 1.5e6, 1.5e6, 0.3e6, 0.15e6]);
        // What changes nothing begins no reaction time.
        let mut encoder = Encoder::new(config(300e3, 0, 5.0));
        encoder.request(Time::ZERO, 300e3);
        encoder.request(Time::ZERO, 400e3);
        assert_eq!(encoder.target_bps(), 400e3);
        assert_eq!(encoder.frame().bytes, 1667);
    }

    #[test]
    fn groups_can_begin_early() {
        let mut encoder = Encoder::new(config(1.17e6, 3, 2.0));
        let mut frames: Vec<Frame> = (0..2).map(|_| encoder.frame()).collect();
        encoder.begin_group();
        frames.extend((0..4).map(|_| encoder.frame()));
        encoder.begin_group();
        frames.push(encoder.frame());
        let places: Vec<_> = frames.iter().map(|frame| (frame.number, frame.group, frame.key)).collect();
        let expected = [
            (0, 0, true),
            (1, 0, false),
            (2, 1, true),
            (3, 1, false),
            (4, 1, false),
            (5, 2, true),
            (6, 3, true),
        ];
        assert_eq!(places, expected);
        let mut single = Encoder::new(config(1e6, 0, 5.0));
        (0..5).for_each(|_| _ = single.frame());
        assert_eq!(single.frame(), Frame { number: 5, bytes: 4167, group: 5, key: true });
        assert_eq!(single.next_at(), Span::from_ms(200));
    }

    #[test]
    fn noise_has_mean_zero_and_its_scale() {
        let stream = Stream::new(1, "app", "call");
        let sizes = FrameSizes::Noisy { deviation: 0.15, stream };
        let mut encoder = Encoder::new(EncoderConfig { sizes, ..config(1e6, 0, 5.0) });
        let sizes = bytes(&mut encoder, 30_000);
        let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
        assert!((mean / 4166.67 - 1.0).abs() < 0.01, "{mean}");
        // The mean of |noise| is its scale.
        let deviation = sizes.iter().map(|size| (*size as f64 / 4166.67 - 1.0).abs()).sum::<f64>() / 30_000.0;
        assert!((deviation - 0.15).abs() < 0.005, "{deviation}");
        assert!(sizes.iter().all(|size| (416..=8334).contains(size)));
    }

    #[test]
    fn sizes_of_a_list_are_scaled_to_the_target() {
        let list = vec![1000, 3000, 2000];
        assert_eq!(list_rate_bps(&list, 30), 480e3);
        let sizes = FrameSizes::List(list);
        let mut encoder = Encoder::new(EncoderConfig { sizes, ..config(480e3, 0, 5.0) });
        assert_eq!(bytes(&mut encoder, 4), [1000, 3000, 2000, 1000]);
        encoder.request(Time::ZERO, 240e3);
        assert_eq!(bytes(&mut encoder, 2), [1500, 1000]);
    }
}
