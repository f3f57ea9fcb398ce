//! Random early detection. Floyd and Jacobson 1993; gentle mode (Floyd 2000); Adaptive RED (Floyd, Gummadi, Shenker
//! 2001); decisions in the order and with the rounding of ns-2.35 (docs/specs/red-ecn.md sections 2 to 4).
//!
//! The decision on a packet is made at its arrival and the service is first in, first out, so its departure is known
//! at its arrival.

use super::discipline::{Discipline, LinkInfo, limit};
use super::fifo::Fifo;
use super::offer::{Admission, Offer};
use super::{AtArrival, Qdisc};
use crate::rule::Rule;
use engine::Stream;
use params::Form::{Bytes, Number, PartOr, QuantityOr, Switch};
use params::{Key, Mistake, Unit, Value, Values, key};
use units::{Limit, Span, Time};

params::options! {
    /// The configuration of a RED queue. Thresholds, average and limit are in packets, or in bytes in byte mode.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RedConfig {
        max_p: f64 = Number(1e-6, 1.0), ["0.1"], "drop probability at `max`";
        gentle: bool = Switch, ["true"], "above `max` the probability rises to 1 at twice `max`";
        wait: bool = Switch, ["true"], "drops and marks are spaced evenly";
        mean_packet: u32 = Bytes(1, 65_535), ["\"1000B\""],
            "packet size for byte mode, idle time and the automatic settings";
        ecn: bool = Switch, ["false"], "ECN-capable packets are marked instead of dropped";
        mark_p: f64 = Number(0.0, 2.0), ["0.1"],
            "above this drop probability ECN-capable packets are dropped too";
        adaptive: bool = Switch, ["false"], "adapts `max_p` (Floyd, Gummadi and Shenker 2001)";
        feng: bool = Switch, ["false"], "adapts `max_p` (Feng et al. 1999)";
        ns2_gentle_slope: bool = Switch, ["false"], "the slope above `max` follows the initial `max_p`";
        count_in_service: bool = Switch, ["false"], "the averaged length includes the packet in transmission";
    }
    with {
        /// Average below which no packet is dropped or marked.
        min: f64 = |_| 0.0;
        /// Average at which the drop probability is `max_p`.
        max: f64 = |_| 0.0;
        /// Queue limit; a packet is dropped if at least this much waits at its arrival.
        limit: u64 = |_| 0;
        /// Weight of the current queue length in the average.
        weight: f64 = |_| 0.0;
        /// Count bytes, and drop long packets more often (ns-2's `queue_in_bytes_` and `bytes_`).
        bytes: bool = |_| false;
        /// Packets of `mean_packet` bytes that the link sends in a second.
        packets_per_s: f64 = |_| 0.0;
        /// Lower bound of `max_p` in Adaptive RED.
        bottom: f64 = |_| 0.0;
    }
}

const KEYS: &[Key] = &[
    limit(""),
    key(
        "min",
        QuantityOr(Unit::Limit, "5p", &["auto"]),
        "\"5p\"",
        "lower threshold of the average queue, in the unit of the limit; `\"auto\"`: ns-2's",
    ),
    key(
        "max",
        QuantityOr(Unit::Limit, "15p", &["auto"]),
        "\"15p\"",
        "upper threshold; three times `min` if that alone is given",
    ),
    key(
        "weight",
        PartOr(1e-9, &["auto"]),
        "0.002",
        "weight of the newest length in the average; `\"auto\"`: ns-2's",
    ),
];

/// RED.
pub const RED: Discipline = Discipline {
    model: params::model!(
        "queue",
        "red",
        "random early detection, gentle, adaptive, with ECN marks",
        "Floyd and Jacobson 1993; as in ns-2.35",
        [KEYS, RedConfig::KEYS]
    ),
    title: "RED",
    at_arrival: Some(|values, link| {
        Qdisc::Red(Box::new(Red::new(RedConfig::at(values, link), (link.stream)())))
    }),
    check,
    packet_key: Some("mean_packet"),
    limits_before: true,
    stream: "red",
    ..Discipline::PLAIN
};

/// Brings the thresholds into the unit of the limit.
fn check(values: &mut Values) -> Result<(), Mistake> {
    let in_bytes = matches!(values.read("limit"), Limit::Bytes(_));
    let mean_packet: u64 = values.read("mean_packet");
    let (min_alone, mut thresholds) = (values.is_written("min") && !values.is_written("max"), [None, None]);
    for ((key, packets), threshold) in [("min", 5), ("max", 15)].into_iter().zip(&mut thresholds) {
        *threshold = match values.optional(key) {
            None => None,
            Some(_) if !values.is_written(key) && in_bytes => Some(packets * mean_packet),
            Some(Limit::Packets(n)) if !in_bytes && n > 0 => Some(n),
            Some(Limit::Bytes(n)) if in_bytes && n > 0 => Some(n),
            Some(_) => {
                let message = "must be above zero and in the unit of the limit, packets or bytes";
                return Err((key, message.into()));
            }
        };
    }
    let [min, max] = thresholds;
    let max = max.filter(|_| !min_alone);
    if let (Some(min), Some(max)) = (min, max)
        && max <= min
    {
        return Err(("max", format!("must be above min, which is {min}")));
    }
    for (key, threshold) in [("min", min), ("max", max)] {
        values.set(key, threshold.map_or(Value::Word("auto"), Value::Integer));
    }
    Ok(())
}

/// Target delay of ns-2's automatic thresholds.
const TARGET_DELAY_S: f64 = 0.005;

impl RedConfig {
    /// The configuration on a link; ns-2's automatic settings follow from its rate and delay.
    fn at(values: &Values, link: &LinkInfo<'_>) -> RedConfig {
        let config = RedConfig::new(values);
        let packets_per_s = link.rate.bps() as f64 / (8.0 * config.mean_packet as f64);
        let bytes = link.bytes != u64::MAX;
        let unit = if bytes { config.mean_packet as f64 } else { 1.0 };
        let automatic = unit * (TARGET_DELAY_S * packets_per_s / 2.0).max(5.0);
        let threshold = |key| values.optional::<u64>(key).map(|value| value as f64);
        let min = threshold("min").unwrap_or(automatic);
        let rtt = (3.0 * (link.delay.seconds() + 1.0 / packets_per_s)).max(0.1);
        let weight = values.optional("weight");
        RedConfig {
            min,
            max: threshold("max").unwrap_or(3.0 * min),
            limit: if bytes { link.bytes } else { link.packets },
            weight: weight.unwrap_or_else(|| 1.0 - libm::exp(-1.0 / (10.0 * rtt * packets_per_s))),
            bytes,
            packets_per_s,
            bottom: (80_000.0 / link.rate.bps() as f64).min(0.01),
            ..config
        }
    }
}

/// The range of the last average, for Feng's rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Band {
    Below,
    Between,
    Above,
}

/// Interval of the adaptation of `max_p` in Adaptive RED.
const INTERVAL: Span = Span::from_ms(500);
const TOP: f64 = 0.5;

/// A RED queue.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    queue: Fifo,
    stream: Stream,
    average: f64,
    max_p: f64,
    /// Packets, and bytes, since the last drop or mark.
    count: i64,
    count_bytes: u64,
    /// Whether the average was at or above the lower threshold at the last arrival.
    above: bool,
    adapted: Time,
    band: Band,
    /// The probabilities p_b and p_a of the last drop or mark; `None` if the queue was full.
    decided: Option<(f64, f64)>,
}

/// p_b: the drop probability from the average.
fn base_probability(c: &RedConfig, max_p: f64, average: f64) -> f64 {
    let p = if average < c.max {
        max_p * (average - c.min) / (c.max - c.min)
    } else if c.gentle && average < 2.0 * c.max {
        let max_p = if c.ns2_gentle_slope { c.max_p } else { max_p };
        (1.0 - max_p) / c.max * average + 2.0 * max_p - 1.0
    } else {
        1.0
    };
    p.min(1.0)
}

/// p_a: the drop probability from p_b and the packets or bytes since the last drop, which makes the gaps uniform.
fn spread(c: &RedConfig, p: f64, count: i64, count_bytes: u64, size: u32) -> f64 {
    let passed = if c.bytes { (count_bytes / c.mean_packet as u64) as f64 } else { count as f64 };
    let spread = match (c.wait, passed * p) {
        (true, x) if x < 1.0 => 0.0,
        (true, x) if x < 2.0 => p / (2.0 - x),
        (false, x) if x < 1.0 => p / (1.0 - x),
        _ => 1.0,
    };
    let sized = if c.bytes { spread * size as f64 / c.mean_packet as f64 } else { spread };
    sized.min(1.0)
}

/// `base` to the power of `n`, by squaring: the same result bits on every machine.
fn power(mut base: f64, mut n: u64) -> f64 {
    let mut result = 1.0;
    while n > 0 {
        if n & 1 == 1 {
            result *= base;
        }
        base *= base;
        n >>= 1;
    }
    result
}

impl Red {
    /// An empty queue with random numbers from `stream`.
    pub fn new(config: RedConfig, stream: Stream) -> Red {
        Red {
            max_p: config.max_p,
            config,
            queue: Fifo::default(),
            stream,
            average: 0.0,
            count: 0,
            count_bytes: 0,
            above: false,
            adapted: Time::ZERO,
            band: Band::Between,
            decided: None,
        }
    }

    /// Updates the average with the queue length. An idle period counts as a number of arrivals at an empty queue.
    #[inline]
    fn estimate(&mut self, offer: &Offer, idle: bool, length: u64) {
        let keep = 1.0 - self.config.weight;
        if idle && offer.now > offer.free_at {
            let missed = (self.config.packets_per_s * offer.now.since(offer.free_at).seconds()) as u64;
            self.average *= power(keep, missed);
        }
        self.average = keep * self.average + self.config.weight * length as f64;
    }

    #[inline]
    fn judge(&mut self, size: u32, ect: bool) -> Admission {
        let p = base_probability(&self.config, self.max_p, self.average);
        let chance = spread(&self.config, p, self.count, self.count_bytes, size);
        if self.stream.uniform() > chance {
            return Admission::Take;
        }
        self.count = 0;
        self.count_bytes = 0;
        self.decided = Some((p, chance));
        if self.config.ecn && ect && p < self.config.mark_p { Admission::Mark } else { Admission::Refuse }
    }

    /// Adaptive RED: adapts `max_p` to keep the average in the middle fifth between the thresholds.
    fn adapt(&mut self, now: Time) {
        if now.since(self.adapted) <= INTERVAL {
            return;
        }
        self.adapted = now;
        let c = &self.config;
        let part = 0.4 * (c.max - c.min);
        let bottom = c.bottom;
        if self.average < c.min + part && self.max_p > bottom {
            self.max_p *= 0.9;
        } else if self.average > c.max - part && self.max_p < TOP {
            self.max_p += (self.max_p / 4.0).min(0.01);
        }
    }

    /// Feng's rule: changes `max_p` when the average crosses a threshold, not while it stays outside.
    fn adapt_by_bands(&mut self) {
        let band = if self.average < self.config.min {
            Band::Below
        } else if self.average > self.config.max {
            Band::Above
        } else {
            Band::Between
        };
        if band != std::mem::replace(&mut self.band, band) {
            match band {
                Band::Below => self.max_p /= 3.0,
                Band::Above => self.max_p = (2.0 * self.max_p).min(1.0),
                Band::Between => {}
            }
        }
    }
}

impl AtArrival for Red {
    #[inline]
    fn admit(&mut self, offer: &Offer, ect: bool) -> Admission {
        let idle = self.queue.settle(offer);
        let waiting = if self.config.bytes { self.queue.bytes() } else { self.queue.packets() };
        let length = if self.config.count_in_service && !idle {
            waiting + if self.config.bytes { self.queue.serving() as u64 } else { 1 }
        } else {
            waiting
        };
        self.estimate(offer, idle, length);
        if self.config.adaptive {
            self.adapt(offer.now);
        }
        if self.config.feng {
            self.adapt_by_bands();
        }
        self.count += 1;
        self.count_bytes += offer.size as u64;
        let mut verdict = Admission::Take;
        if self.average >= self.config.min && length > 1 {
            if self.above {
                verdict = self.judge(offer.size, ect);
            } else {
                // The packet with which the average exceeds the threshold is accepted.
                self.count = 1;
                self.count_bytes = offer.size as u64;
                self.above = true;
            }
        } else {
            self.above = false;
        }
        if waiting >= self.config.limit && !idle && verdict != Admission::Refuse {
            self.count = 0;
            self.count_bytes = 0;
            self.decided = None;
            verdict = Admission::Refuse;
        }
        if verdict != Admission::Refuse {
            self.queue.take(offer, idle);
        }
        verdict
    }

    fn accept(&mut self, offer: &Offer) {
        let idle = self.queue.settle(offer);
        self.queue.take(offer, idle);
    }

    fn rule(&self, size: u32, _dropped: bool) -> Option<Rule> {
        let RedConfig { min, max, bytes, limit, .. } = self.config;
        Some(match self.decided {
            Some((probability, spread)) => {
                Rule::Red { average: self.average, min, max, bytes, probability, spread }
            }
            None => Rule::Full {
                packets: self.queue.packets(),
                packet_limit: (!bytes).then_some(limit),
                bytes: self.queue.bytes(),
                byte_limit: bytes.then_some(limit),
                size,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    fn config() -> RedConfig {
        RedConfig {
            min: 5.0,
            max: 15.0,
            limit: 50,
            max_p: 0.1,
            weight: 0.002,
            gentle: true,
            wait: true,
            bytes: false,
            mean_packet: 1000,
            packets_per_s: 312.5,
            ecn: false,
            mark_p: f64::INFINITY,
            adaptive: false,
            bottom: 0.0,
            feng: false,
            ns2_gentle_slope: false,
            count_in_service: false,
        }
    }

    fn red(config: RedConfig) -> Red {
        Red::new(config, Stream::new(1, "red", "test"))
    }

    fn at(seconds: f64, free_at: f64) -> Offer {
        let [now, free_at] = [seconds, free_at].map(|s| Time::ZERO + Span::from_seconds(s));
        Offer { now, free_at, size: 1000, cause: now }
    }

    #[test]
    fn automatic_settings_have_their_published_values() {
        let at = |limit: Limit, mean_packet: u64, bps: u64, ms: u64| {
            let word = |key| (key, Value::Word("auto"));
            let assignments = [
                ("limit", Value::Limit(limit)),
                word("min"),
                word("max"),
                word("weight"),
                ("mean_packet", Value::Integer(mean_packet)),
            ];
            let mut values = Values::new(&RED.model.table, 0, |key| {
                Ok::<_, ()>(
                    assignments.iter().find(|(name, _)| *name == key.name).map(|entry| entry.1.clone()),
                )
            })
            .unwrap();
            check(&mut values).unwrap();
            let stream = || Stream::new(1, "red", "test");
            let (packets, bytes) = match limit {
                Limit::Bytes(n) => (u64::MAX, n),
                Limit::Packets(n) => (n, u64::MAX),
                Limit::Bdp(_) | Limit::Time(_) => (u64::MAX, u64::MAX),
            };
            let (rate, delay) = (Rate::from_bps(bps), Span::from_ms(ms));
            RedConfig::at(&values, &LinkInfo { rate, delay, packets, bytes, stream: &stream })
        };
        let c = at(Limit::Packets(50), 500, 1_500_000, 20);
        assert!((c.packets_per_s - 375.0).abs() < 1e-9 && (c.weight - 0.00266311).abs() < 1e-8);
        assert_eq!((c.min, c.max), (5.0, 15.0));
        let c = at(Limit::Packets(50), 1000, 2_500_000, 40);
        assert!((c.weight - 0.00246609).abs() < 1e-8);
        let c = at(Limit::Bytes(12_500), 1000, 2_500_000, 40);
        assert_eq!((c.bytes, c.min, c.max, c.limit), (true, 5000.0, 15_000.0, 12_500));
    }

    #[test]
    fn published_probabilities() {
        for (average, p) in [(5.0, 0.0), (10.0, 0.05), (15.0, 0.1), (20.0, 0.4), (29.0, 0.94), (30.0, 1.0)] {
            assert!((base_probability(&config(), 0.1, average) - p).abs() < 1e-12, "{average}");
        }
        assert_eq!(base_probability(&RedConfig { gentle: false, ..config() }, 0.1, 15.0), 1.0);
        let spread_of = |wait, count| spread(&RedConfig { wait, ..config() }, 0.05, count, 0, 1000);
        for (count, p) in [(1, 0.052632), (10, 0.1), (19, 1.0)] {
            assert!((spread_of(false, count) - p).abs() < 1e-6, "{count}");
        }
        for (count, p) in [(19, 0.0), (20, 0.05), (25, 0.066667), (30, 0.1), (39, 1.0)] {
            assert!((spread_of(true, count) - p).abs() < 1e-6, "{count}");
        }
        // Byte mode: a packet of twice the mean is twice as likely to go.
        let bytes = RedConfig { bytes: true, wait: false, mean_packet: 500, ..config() };
        assert!((spread(&bytes, 0.05, 0, 499, 1000) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn published_averages() {
        // From 0 with ten waiting, three times: 0.02, 0.03996, 0.05988008.
        let mut queue = red(config());
        for expected in [0.02, 0.03996, 0.05988008] {
            queue.estimate(&at(1.0, 2.0), false, 10);
            assert!((queue.average - expected).abs() < 1e-12);
        }
        // Idle for 0.1 s at 312.5 packets/s: 31 missed arrivals, then this one.
        let mut queue = red(config());
        queue.average = 10.0;
        queue.estimate(&at(1.1, 1.0), true, 0);
        assert!((queue.average - 9.379449).abs() < 1e-6);
    }

    #[test]
    fn marks_what_knows_ecn_and_drops_the_rest() {
        let drive = |config: RedConfig, ect| {
            let mut queue = red(config);
            queue.average = 12.0;
            let (mut marks, mut drops) = (0, 0);
            let mut busy_until = 1.0;
            for i in 0..20_000 {
                let now = 1.0 + i as f64 * 1e-6;
                queue.average = 12.0;
                match queue.admit(&at(now, busy_until), ect) {
                    Admission::Mark => marks += 1,
                    Admission::Refuse => drops += 1,
                    Admission::Take => {}
                }
                busy_until = now + 1e-3;
                queue.queue = Fifo::default(); // the length is the test's own
                for _ in 0..3 {
                    queue.queue.take(&at(now, busy_until), false);
                }
            }
            (marks, drops)
        };
        let ecn = RedConfig { ecn: true, ..config() };
        let (marks, drops) = drive(ecn.clone(), true);
        // p_b = 0.07 with wait: gaps between 14.3 and 28.6 packets, 21.9 on the mean.
        assert!((850..980).contains(&marks) && drops == 0, "{marks} {drops}");
        let (marks, drops) = drive(ecn.clone(), false);
        assert!((850..980).contains(&drops) && marks == 0, "{marks} {drops}");
        let (marks, drops) = drive(RedConfig { mark_p: 0.05, ..ecn }, true);
        assert!(marks == 0 && drops > 0);
    }

    #[test]
    fn a_full_queue_drops_and_adaptive_red_moves_its_probability() {
        let mut queue = red(RedConfig { limit: 3, ..config() });
        let verdicts: Vec<Admission> = (0..6)
            .map(|i| queue.admit(&at(1.0 + i as f64 * 1e-9, if i == 0 { 0.5 } else { 2.0 }), true))
            .collect();
        assert_eq!(verdicts[..4], [Admission::Take; 4]); // one in transmission, three wait
        assert_eq!(verdicts[4..], [Admission::Refuse; 2]);

        let mut queue = red(RedConfig { adaptive: true, bottom: 0.01, ..config() });
        queue.average = 14.0;
        queue.adapt(Time::ZERO + Span::from_ms(501));
        assert!((queue.max_p - 0.11).abs() < 1e-12);
        queue.adapt(Time::ZERO + Span::from_ms(700)); // too early
        assert!((queue.max_p - 0.11).abs() < 1e-12);
        queue.average = 6.0;
        queue.adapt(Time::ZERO + Span::from_ms(1100));
        assert!((queue.max_p - 0.099).abs() < 1e-12);
    }

    #[test]
    fn feng_moves_the_probability_at_crossings_only() {
        let mut queue = red(RedConfig { feng: true, ..config() });
        for (average, max_p) in
            [(10.0, 0.1), (16.0, 0.2), (17.0, 0.2), (10.0, 0.2), (4.0, 0.2 / 3.0), (3.0, 0.2 / 3.0)]
        {
            queue.average = average;
            queue.adapt_by_bands();
            assert!((queue.max_p - max_p).abs() < 1e-12, "{average}");
        }
        // ns-2 keeps the gentle slope of the first max_p: p(20) = 0.4 for 0.1, whatever it has become.
        assert!((base_probability(&config(), 0.2, 20.0) - (0.8 / 15.0 * 20.0 - 0.6)).abs() < 1e-12);
        let gentle = RedConfig { ns2_gentle_slope: true, ..config() };
        assert!((base_probability(&gentle, 0.2, 20.0) - 0.4).abs() < 1e-12);
    }

    #[test]
    fn the_packet_in_service_counts_if_asked_to() {
        for (bytes, expected) in [(false, [0.0, 1.0, 2.0]), (true, [0.0, 1000.0, 2000.0])] {
            let c = RedConfig {
                count_in_service: true,
                bytes,
                weight: 1.0,
                min: 1e9,
                max: 2e9,
                limit: 1 << 30,
                ..config()
            };
            let mut queue = red(c);
            for (i, length) in expected.into_iter().enumerate() {
                queue.admit(&at(1.0 + i as f64 * 1e-6, if i == 0 { 0.5 } else { 2.0 }), true);
                assert_eq!(queue.average, length);
            }
        }
    }
}
