//! PIE (RFC 8033): drops at arrival with a probability that a proportional-integral controller sets from the delay.

use super::discipline::{Discipline, ecn, limit};
use super::fifo::Fifo;
use super::offer::{Admission, Offer};
use super::{AtArrival, Qdisc};
use crate::rule::{self, Rule};
use engine::Stream;
use params::Form::{Bytes, Number, Quantity, Range, Switch, Word};
use params::{Unit, key};
use std::collections::VecDeque;
use units::{Span, Time};

params::options! {
    /// The configuration of PIE.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PieConfig {
        target: Span = Range(Unit::Time, "15ms", "1us", "10000s"), ["\"15ms\""],
            "delay at which the controller aims";
        update_interval: Span = Range(Unit::Time, "15ms", "1us", "10000s"), ["\"15ms\""],
            "time between two updates of the probability";
        alpha: f64 = Number(0.0, 100.0), ["0.125"], "gain for the distance of the delay from `target`, 1/s";
        beta: f64 = Number(0.0, 100.0), ["1.25"], "gain for the change of the delay, 1/s";
        max_burst: Span = Quantity(Unit::Time, "150ms"), ["\"150ms\""],
            "time after an empty queue in which nothing is dropped";
        mean_packet: u32 = Bytes(1, 65_535), ["\"1000B\""],
            "size of a typical packet; behind no more than two of them no packet is dropped";
        mark_p: f64 = Number(0.0, 1.0), ["0.1"],
            "above this drop probability ECN-capable packets are dropped too";
        derandomise: bool = Switch, ["false"], "drops are spread evenly (RFC 8033 section 5.4)";
    }
    with {
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool = |values| values.read("ecn");
        /// The delay is the backlog over a measured departure rate (RFC 8033 section 5.2), not the waiting time of the
        /// head.
        by_rate: bool = |values| values.optional("delay") == Some("rate");
    }
}

/// PIE.
pub const PIE: Discipline = Discipline {
    model: params::model!(
        "queue",
        "pie",
        "proportional integral controller enhanced: drops by a probability from the delay",
        "RFC 8033",
        [
            &[limit("\"1000p\""), ecn("false")],
            PieConfig::KEYS,
            &[key(
                "delay",
                Word(&["timestamp", "rate"]),
                "\"timestamp\"",
                "the delay that the controller holds: `\"timestamp\"`: the waiting time of the packet at the head; `\"rate\"`: the backlog over the measured departure rate (RFC 8033 section 5.2)",
            )],
        ]
    ),
    title: "PIE",
    at_arrival: Some(|values, link| {
        let config = PieConfig::new(values);
        Qdisc::Pie(Box::new(Pie::new(config, link.packets, link.bytes, (link.stream)())))
    }),
    ..Discipline::PLAIN
};

/// Bytes over which the departure rate is measured, and the weight of a measurement in its average (RFC 8033 section 5.2).
const MEASURED_BYTES: u64 = 1 << 14;
const MEASUREMENT_WEIGHT: f64 = MEASURED_BYTES as f64 / (1 << 16) as f64;

/// The estimate of the departure rate.
#[derive(Clone, Debug, Default)]
struct DepartureRate {
    /// Start of a measurement, and the bytes that have left since then.
    measuring: Option<(Time, u64)>,
    /// Mean time in which the measured bytes leave, s.
    time: Option<f64>,
}

impl DepartureRate {
    /// A packet of `size` bytes leaves the queue, and `behind` bytes stay.
    fn departed(&mut self, at: Time, size: u32, behind: u64) {
        let queued = behind + u64::from(size);
        let (start, bytes) = match self.measuring {
            Some(measuring) => measuring,
            None if queued >= MEASURED_BYTES => (at, 0),
            None => return,
        };
        let bytes = bytes + u64::from(size);
        self.measuring = (bytes < MEASURED_BYTES).then_some((start, bytes));
        if self.measuring.is_none() {
            let elapsed = at.since(start).seconds();
            let mean = self.time.map_or(elapsed, |mean| mean + MEASUREMENT_WEIGHT * (elapsed - mean));
            self.time = Some(mean);
        }
    }

    /// The time in which `bytes` leave; zero before the first measurement.
    fn delay(&self, bytes: u64) -> Span {
        let time = self.time.unwrap_or(0.0);
        Span::from_seconds(time * bytes as f64 / MEASURED_BYTES as f64)
    }
}

/// The controller of PIE, without the queue.
#[derive(Clone, Debug)]
pub struct PieControl {
    /// Drop probability.
    p: f64,
    last_delay: Span,
    burst: Span,
    accumulated: f64,
    next_update: Time,
}

/// The factor of an update for small probabilities: without it the controller would overshoot (RFC 8033 section 4.2).
fn scale(p: f64) -> f64 {
    const STEPS: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
    STEPS.iter().find(|(bound, _)| p < *bound).map_or(1.0, |(_, divisor)| 1.0 / divisor)
}

/// The first of the times `next`, `next + interval`, ... after `now`: updates that change nothing are left out.
pub(super) fn first_after(next: Time, interval: Span, now: Time) -> Time {
    next + interval * (now.since(next).ps() / interval.ps() + 1)
}

impl PieControl {
    /// The state of an empty queue at the start of a run.
    pub fn new(config: &PieConfig) -> PieControl {
        PieControl {
            p: 0.0,
            last_delay: Span::ZERO,
            burst: config.max_burst,
            accumulated: 0.0,
            next_update: Time::ZERO + config.update_interval,
        }
    }

    fn update(&mut self, config: &PieConfig, delay: Span) {
        let (now, before, target) = (delay.seconds(), self.last_delay.seconds(), config.target.seconds());
        let mut change = scale(self.p) * (config.alpha * (now - target) + config.beta * (now - before));
        if self.p >= 0.1 {
            change = change.min(0.02);
        }
        self.p += change;
        let idle = delay == Span::ZERO && self.last_delay == Span::ZERO;
        if idle {
            self.p *= 0.98;
        }
        self.p = self.p.clamp(0.0, 1.0);
        self.burst = Span::from_ps(self.burst.ps().saturating_sub(config.update_interval.ps()));
        self.last_delay = delay;
        if self.p == 0.0 && now < target / 2.0 && before < target / 2.0 {
            self.burst = config.max_burst;
        }
    }

    /// Performs the updates up to `now`. `delay_at` returns the delay of the queue at the time of an update.
    pub fn catch_up(&mut self, config: &PieConfig, now: Time, mut delay_at: impl FnMut(Time) -> Span) {
        while self.next_update <= now {
            let at = self.next_update;
            let delay = delay_at(at);
            self.update(config, delay);
            self.next_update = at + config.update_interval;
            let settled = self.p == 0.0 && delay == Span::ZERO && self.burst == config.max_burst;
            if settled && self.next_update <= now {
                self.next_update = first_after(self.next_update, config.update_interval, now);
            }
        }
    }

    /// Decides on a packet in front of `bytes` waiting bytes; `ect` is true if it is ECN-capable.
    pub fn decide(&mut self, config: &PieConfig, bytes: u64, ect: bool, stream: &mut Stream) -> Admission {
        let small_delay = self.last_delay.ps() < config.target.ps() / 2 && self.p < 0.2;
        if self.burst > Span::ZERO || small_delay || bytes <= 2 * config.mean_packet as u64 {
            return Admission::Take;
        }
        if config.derandomise {
            self.accumulated = if self.p == 0.0 { 0.0 } else { self.accumulated + self.p };
            if self.accumulated < 0.85 {
                return Admission::Take;
            }
        }
        let forced = config.derandomise && self.accumulated >= 8.5;
        if !forced && stream.uniform() >= self.p {
            return Admission::Take;
        }
        self.accumulated = 0.0;
        if config.ecn && ect && self.p <= config.mark_p { Admission::Mark } else { Admission::Refuse }
    }
}

impl PieControl {
    /// Why it has just refused or marked a packet.
    pub(crate) fn rule(&self, config: &PieConfig) -> Rule {
        Rule::Pie { delay: self.last_delay, target: config.target, probability: self.p }
    }
}

/// A first-in-first-out queue with PIE.
#[derive(Clone, Debug)]
pub struct Pie {
    config: PieConfig,
    packets: u64,
    bytes: u64,
    control: PieControl,
    queue: Fifo,
    /// Times of arrival of the waiting packets.
    arrivals: VecDeque<Time>,
    rate: DepartureRate,
    stream: Stream,
}

impl Pie {
    /// A queue in which at most `packets` packets and `bytes` bytes wait, with random numbers from `stream`.
    pub fn new(config: PieConfig, packets: u64, bytes: u64, stream: Stream) -> Pie {
        let control = PieControl::new(&config);
        Pie {
            config,
            packets,
            bytes,
            control,
            queue: Fifo::default(),
            arrivals: VecDeque::new(),
            rate: DepartureRate::default(),
            stream,
        }
    }
}

impl AtArrival for Pie {
    fn admit(&mut self, offer: &Offer, ect: bool) -> Admission {
        let Pie { control, queue, arrivals, rate, config, .. } = self;
        control.catch_up(config, offer.now, |at| {
            if config.by_rate {
                queue.depart_with(at, true, |start, size, behind| rate.departed(start, size, behind));
                return rate.delay(queue.bytes());
            }
            queue.depart(at, true);
            arrivals.drain(..arrivals.len() - queue.packets() as usize);
            arrivals.front().map_or(Span::ZERO, |first| at.since(*first))
        });
        let idle = if config.by_rate {
            queue.settle_with(offer, |start, size, behind| rate.departed(start, size, behind))
        } else {
            queue.settle(offer)
        };
        arrivals.drain(..arrivals.len() - queue.packets() as usize);
        let full = queue.packets() >= self.packets || queue.bytes() + offer.size as u64 > self.bytes;
        if full && !idle {
            control.accumulated = 0.0;
            return Admission::Refuse;
        }
        let decision = control.decide(config, queue.bytes(), ect, &mut self.stream);
        if decision != Admission::Refuse {
            queue.take(offer, idle);
            if idle && config.by_rate {
                rate.departed(offer.now, offer.size, 0);
            }
            if !idle {
                arrivals.push_back(offer.now);
            }
        }
        decision
    }

    fn accept(&mut self, offer: &Offer) {
        let idle = self.queue.settle(offer);
        self.queue.take(offer, idle);
        if !idle {
            self.arrivals.push_back(offer.now);
        }
    }

    fn rule(&self, size: u32, dropped: bool) -> Option<Rule> {
        let (packets, bytes) = (self.queue.packets(), self.queue.bytes());
        if !dropped || packets < self.packets && bytes + size as u64 <= self.bytes {
            return Some(self.control.rule(&self.config));
        }
        let (packet_limit, byte_limit) = (rule::limit(self.packets), rule::limit(self.bytes));
        Some(Rule::Full { packets, packet_limit, bytes, byte_limit, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn config() -> PieConfig {
        PieConfig {
            target: Span::from_ms(15),
            update_interval: Span::from_ms(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Span::from_ms(150),
            mean_packet: 1000,
            ecn: false,
            mark_p: 0.1,
            derandomise: false,
            by_rate: false,
        }
    }

    #[test]
    fn probabilities_have_the_values_of_the_reference() {
        let mut control = PieControl { burst: Span::ZERO, ..PieControl::new(&config()) };
        let expected = [9.155e-06, 4.9438e-05, 6.4087e-05, 7.8735e-05, 2.54517e-04];
        for (delay, expected) in [15, 30, 30, 30, 45].into_iter().zip(expected) {
            control.update(&config(), Span::from_ms(delay));
            assert!((control.p / expected - 1.0).abs() < 1e-4, "{} {expected}", control.p);
        }
        control = PieControl { p: 0.3, last_delay: Span::from_ms(30), ..control };
        control.update(&config(), Span::from_ms(200));
        assert_eq!(control.p, 0.32);
        control = PieControl { p: 0.3, last_delay: Span::ZERO, ..control };
        control.update(&config(), Span::ZERO);
        assert!((control.p - (0.3 - 0.001875) * 0.98).abs() < 1e-12);
    }

    #[test]
    fn a_burst_is_taken_for_ten_updates() {
        let mut control = PieControl::new(&config());
        let updates = (1..20).find(|_| {
            control.update(&config(), Span::from_ms(30));
            control.burst == Span::ZERO
        });
        assert_eq!(updates, Some(10));
    }

    #[test]
    fn a_long_idle_time_costs_few_updates() {
        let mut control = PieControl { p: 0.5, ..PieControl::new(&config()) };
        let mut updates = 0;
        control.catch_up(&config(), Time::ZERO + Span::from_ms(1_000_000_000), |_| {
            updates += 1;
            Span::ZERO
        });
        assert!(updates < 1000 && control.p == 0.0, "{updates} updates");
        assert!(control.next_update > Time::ZERO + Span::from_ms(1_000_000_000));
    }

    #[test]
    fn derandomised_drops_are_never_close() {
        let derandomised = PieConfig { derandomise: true, ..config() };
        let mut control = PieControl {
            p: 0.1,
            burst: Span::ZERO,
            last_delay: Span::from_ms(20),
            ..PieControl::new(&config())
        };
        let mut stream = Stream::new(1, "pie", "test");
        let drops: Vec<u32> = (0..10_000)
            .filter(|_| control.decide(&derandomised, 1_000_000, false, &mut stream) == Admission::Refuse)
            .collect();
        assert!(drops.len() > 300);
        assert!(drops.windows(2).all(|pair| (9..=86).contains(&(pair[1] - pair[0]))));
    }

    #[test]
    fn the_departure_rate_is_measured_over_sixteen_kilobytes() {
        let mut rate = DepartureRate::default();
        let at = |ms: u64| Time::ZERO + Span::from_ms(ms);
        rate.departed(at(0), 1000, 15_000); // too short a queue
        assert_eq!((rate.measuring, rate.delay(16_384)), (None, Span::ZERO));
        // One packet of 1,024 bytes each 2 ms: the sixteenth leaves 30 ms after the first.
        (0..16).for_each(|n| rate.departed(at(10 + 2 * n), 1024, 20_000));
        assert_eq!((rate.measuring, rate.time), (None, Some(0.030)));
        assert_eq!(rate.delay(8192), Span::from_ms(15));
        // The rate halves: a quarter of the difference.
        (0..16).for_each(|n| rate.departed(at(100 + 4 * n), 1024, 20_000));
        assert!((rate.time.unwrap() - 0.0375).abs() < 1e-12);
    }

    #[test]
    fn both_estimates_of_the_delay_agree_at_a_constant_rate() {
        // Packets of 1,000 bytes take 1 ms; nine arrive in 8 ms.
        let drops = |by_rate: bool| {
            let mut queue =
                Pie::new(PieConfig { by_rate, ..config() }, 1000, u64::MAX, Stream::new(1, "pie", "test"));
            let mut free_at = Time::ZERO;
            let dropped = |n: &u64| {
                let now = Time::ZERO + Span::from_ps(n * 8_000_000_000 / 9);
                let refused =
                    queue.admit(&Offer { now, free_at, size: 1000, cause: now }, false) == Admission::Refuse;
                if !refused {
                    free_at = free_at.max(now) + Span::from_ms(1);
                }
                refused
            };
            (0..200_000u64).filter(dropped).count() as f64
        };
        let (by_time, by_rate) = (drops(false), drops(true));
        assert!(by_time > 15_000.0 && (by_rate / by_time - 1.0).abs() < 0.05, "{by_time} {by_rate}");
    }

    #[test]
    fn the_delay_is_the_waiting_time_of_the_head() {
        // A packet of 1,000 bytes takes 10 ms; one arrives every 5 ms: the delay grows by 5 ms each 10 ms.
        let mut queue = Pie::new(config(), 1000, u64::MAX, Stream::new(1, "pie", "test"));
        let mut free_at = Time::ZERO;
        for n in 0..40u64 {
            let now = Time::ZERO + Span::from_ms(5 * n);
            let offer = Offer { now, free_at, size: 1000, cause: now };
            if queue.admit(&offer, false) != Admission::Refuse {
                free_at = free_at.max(now) + Span::from_ms(10);
            }
        }
        // The 40th arrives at 195 ms, the last update was at 195 ms: the packet that arrived at 100 ms is the head.
        assert_eq!(queue.control.last_delay, Span::from_ms(95));
    }

    /// Whether any of 1,000 packets in front of `bytes` bytes is refused or marked.
    fn signals(config: &PieConfig, control: &PieControl, bytes: u64, ect: bool) -> [bool; 2] {
        let (mut control, mut stream) = (control.clone(), Stream::new(1, "pie", "test"));
        let decisions: Vec<Admission> =
            (0..1000).map(|_| control.decide(config, bytes, ect, &mut stream)).collect();
        [Admission::Refuse, Admission::Mark].map(|kind| decisions.contains(&kind))
    }

    #[test]
    fn small_delays_and_short_queues_are_safe() {
        let control = |p: f64, delay: u64| PieControl {
            p,
            last_delay: Span::from_ms(delay),
            burst: Span::ZERO,
            ..PieControl::new(&config())
        };
        let refused = |control, bytes| signals(&config(), &control, bytes, false)[0];
        // Below half the target and a probability of 0.2 nothing is dropped, nor in front of two packets at the most.
        assert!(!refused(control(0.19, 7), 100_000));
        assert!(refused(control(0.19, 8), 100_000) && refused(control(0.2, 7), 100_000));
        assert!(!refused(control(0.5, 100), 2000) && refused(control(0.5, 100), 2001));
        // Nor in a burst.
        let burst = PieControl { burst: Span::from_ms(15), ..control(0.5, 100) };
        assert!(!refused(burst, 100_000));
    }

    #[test]
    fn marks_replace_drops_up_to_a_tenth() {
        let ecn = PieConfig { ecn: true, ..config() };
        let control =
            |p| PieControl { p, last_delay: Span::from_ms(30), burst: Span::ZERO, ..PieControl::new(&ecn) };
        assert_eq!(signals(&ecn, &control(0.1), 100_000, true), [false, true]);
        assert_eq!(signals(&ecn, &control(0.1), 100_000, false), [true, false]);
        assert_eq!(signals(&ecn, &control(0.11), 100_000, true), [true, false]);
    }

    #[test]
    fn small_probabilities_move_by_the_published_fractions() {
        for (p, divisor) in [
            (0.5e-6, 2048.0),
            (0.5e-5, 512.0),
            (0.5e-4, 128.0),
            (0.5e-3, 32.0),
            (0.5e-2, 8.0),
            (0.05, 2.0),
            (0.15, 1.0),
        ] {
            let mut control = PieControl { p, last_delay: Span::from_ms(20), ..PieControl::new(&config()) };
            control.update(&config(), Span::from_ms(21));
            // alpha (21 - 15) ms + beta (21 - 20) ms
            let change = (0.125 * 0.006 + 1.25 * 0.001) / divisor;
            assert!((control.p - p - change).abs() < 1e-12, "{p}");
        }
    }

    #[test]
    fn a_burst_is_allowed_again_when_the_queue_is_calm() {
        let mut control =
            PieControl { burst: Span::ZERO, last_delay: Span::from_ms(7), ..PieControl::new(&config()) };
        control.update(&config(), Span::from_ms(7));
        assert_eq!(control.burst, Span::from_ms(150));
        // Not while a probability is left, or the delay was above half the target.
        let mut control = PieControl { p: 0.2, burst: Span::ZERO, ..PieControl::new(&config()) };
        control.update(&config(), Span::from_ms(7));
        assert_eq!(control.burst, Span::ZERO);
        let mut control =
            PieControl { burst: Span::ZERO, last_delay: Span::from_ms(8), ..PieControl::new(&config()) };
        control.update(&config(), Span::from_ms(7));
        assert_eq!(control.burst, Span::ZERO);
    }
}
