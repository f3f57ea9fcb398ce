//! What a sender measures in one interval, and the features of a policy that follow from it.

use super::feature::Feature;
use cc::detmath;
use units::{Segments, Span, Time};

/// Counts and samples since the start of the interval. Packets are segments of [`cc::FlowInfo::packet`] bytes.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// When it began.
    pub start: Time,
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Segments delivered.
    pub delivered: u64,
    /// Segments marked as lost.
    pub lost: u64,
    /// ACKs, those with an ECN echo, and those of a sender that its window limited.
    pub acks: u64,
    /// ACKs with an ECN echo.
    pub marked: u64,
    /// ACKs of a sender that its window limited.
    pub limited: u64,
    /// Round-trip samples in the order of arrival, s.
    pub samples: Vec<f64>,
}

/// One interval after its end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Its length, s.
    pub duration: f64,
    /// Segments sent, retransmissions included.
    pub sent: f64,
    /// Segments delivered.
    pub delivered: f64,
    /// Segments marked as lost.
    pub lost: f64,
    /// Part of the ACKs with an ECN echo.
    pub marked: f64,
    /// Part of the ACKs that came while the window limited the sender.
    pub limited: f64,
    /// Mean round-trip time, s; 0 without a sample.
    pub rtt: f64,
    /// Mean of the second half of the samples less that of the first, s.
    pub increase: f64,
    /// Smallest round-trip time of the connection so far, s.
    pub min_rtt: f64,
    /// Smallest mean round-trip time of an interval so far, s.
    pub min_mean_rtt: f64,
    /// Segments in flight at the last ACK.
    pub in_flight: Segments,
    /// Window at the end, segments.
    pub cwnd: Segments,
    /// Rate at the end, segments a second; 0 without pacing.
    pub rate: f64,
    /// Largest number of delivered segments a second in an interval so far.
    pub largest: f64,
    /// The last action, before its bounds.
    pub action: f64,
    /// ACKs.
    pub acks: f64,
}

impl Measured {
    /// Names of the values of [`Measured::values`], with their units.
    pub const NAMES: [(&'static str, &'static str); 18] = [
        ("duration", "s"),
        ("sent", "segments"),
        ("delivered", "segments"),
        ("lost", "segments"),
        ("marked", ""),
        ("limited", ""),
        ("rtt", "s"),
        ("increase", "s"),
        ("min_rtt", "s"),
        ("min_mean_rtt", "s"),
        ("in_flight", "segments"),
        ("cwnd", "segments"),
        ("rate", "segments/s"),
        ("largest", "segments/s"),
        ("action", ""),
        ("throughput", "segments/s"),
        ("loss", ""),
        ("acks", ""),
    ];

    /// All values, in the order of [`Measured::NAMES`].
    pub fn values(&self) -> [f64; 18] {
        [
            self.duration,
            self.sent,
            self.delivered,
            self.lost,
            self.marked,
            self.limited,
            self.rtt,
            self.increase,
            self.min_rtt,
            self.min_mean_rtt,
            self.in_flight,
            self.cwnd,
            self.rate,
            self.largest,
            self.action,
            self.throughput(),
            self.loss(),
            self.acks,
        ]
    }

    /// Delivered segments a second.
    pub fn throughput(&self) -> f64 {
        quotient(self.delivered, self.duration).unwrap_or(0.0)
    }

    /// Lost segments over lost and delivered ones.
    pub fn loss(&self) -> f64 {
        quotient(self.lost, self.lost + self.delivered).unwrap_or(0.0)
    }

    /// The value of a feature, within its bounds.
    pub fn feature(&self, feature: Feature) -> f32 {
        let ratio = |above: f64, below: f64, without: f64| quotient(above, below).unwrap_or(without);
        let value = match feature {
            Feature::LatencyInflation => ratio(self.increase, self.duration, 0.0),
            Feature::LatencyRatio if self.rtt == 0.0 => 1.0,
            Feature::LatencyRatio => ratio(self.rtt, self.min_mean_rtt, 1.0),
            Feature::SendRatio => {
                quotient(self.sent, self.delivered - 1.0).filter(|ratio| *ratio < 1000.0).unwrap_or(1.0)
            }
            Feature::Loss => self.loss(),
            Feature::Marked => self.marked,
            Feature::Limited => self.limited,
            Feature::QueueRatio if self.rtt == 0.0 => 0.0,
            Feature::QueueRatio => ratio(self.rtt, self.min_rtt, 1.0) - 1.0,
            Feature::ThroughputRatio => ratio(self.throughput(), self.largest, 0.0),
            Feature::WindowRatio => ratio(self.cwnd, self.largest * self.min_rtt, 1.0),
            Feature::LogBacklog if self.rtt == 0.0 => 0.0,
            Feature::LogBacklog => detmath::ln(1.0 + self.throughput() * (self.rtt - self.min_rtt).max(0.0)),
            Feature::LastAction => self.action,
            Feature::Rtt => self.rtt,
            Feature::MinRtt => self.min_rtt,
            Feature::Throughput => self.throughput(),
            Feature::SendRate => ratio(self.sent, self.duration, 0.0),
            Feature::Cwnd => self.cwnd,
            Feature::InFlight => self.in_flight,
            Feature::Rate => self.rate,
        };
        let (least, largest) = feature.bounds();
        (value as f32).clamp(least, largest)
    }
}

/// `above / below`; `None` if `below` is not positive.
fn quotient(above: f64, below: f64) -> Option<f64> {
    (below > 0.0).then(|| above / below)
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

impl Interval {
    /// An interval that begins at `start`; it keeps the memory of `self`.
    pub fn restart(&mut self, start: Time) {
        let mut samples = std::mem::take(&mut self.samples);
        samples.clear();
        *self = Interval { start, samples, ..Interval::default() };
    }

    /// A round-trip sample.
    pub fn sample(&mut self, rtt: Span) {
        self.samples.push(rtt.seconds());
    }

    /// Its values at `end`; those of the connection come from `before`, the interval before it.
    pub fn measure(&self, end: Time, before: &Measured) -> Measured {
        let (first, second) = self.samples.split_at(self.samples.len() / 2);
        let of_acks = |count: u64| quotient(count as f64, self.acks as f64).unwrap_or(0.0);
        let rtt = mean(&self.samples);
        let smallest = |known: f64, value: f64| match (known > 0.0, value > 0.0) {
            (true, true) => known.min(value),
            (false, true) => value,
            _ => known,
        };
        let least = self.samples.iter().copied().fold(f64::INFINITY, f64::min);
        let mut measured = Measured {
            duration: end.since(self.start).seconds(),
            sent: self.sent as f64,
            delivered: self.delivered as f64,
            lost: self.lost as f64,
            marked: of_acks(self.marked),
            limited: of_acks(self.limited),
            rtt,
            increase: if first.is_empty() { 0.0 } else { mean(second) - mean(first) },
            min_rtt: smallest(before.min_rtt, if least.is_finite() { least } else { 0.0 }),
            acks: self.acks as f64,
            min_mean_rtt: smallest(before.min_mean_rtt, rtt),
            ..Measured::default()
        };
        measured.largest = before.largest.max(measured.throughput());
        measured
    }
}
