//! DOCSIS-PIE (RFC 8034): PIE as cable modems have it. The delay is computed from the rate shaping of the modem, not measured;
//! large packets are dropped more often; a short queue switches the controller off.

use super::{Point, Scheduled, Scheduler, TailDrop, Waiting};
use crate::qdisc::discipline::{Discipline, limit};
use crate::rule::Rule;
use engine::Stream;
use params::Form::{Bytes, Number, Range};
use params::Unit;
use units::{Rate, Span, Time};

params::options! {
    /// The configuration of DOCSIS-PIE.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DocsisPieConfig {
        target: Span = Range(Unit::Time, "10ms", "1us", "10000s"), ["\"10ms\""],
            "delay at which the controller aims";
        update_interval: Span = Range(Unit::Time, "16ms", "1us", "10000s"), ["\"16ms\""],
            "time between two updates of the probability";
        alpha: f64 = Number(0.0, 100.0), ["0.25"], "gain for the distance of the delay from `target`, 1/s";
        beta: f64 = Number(0.0, 100.0), ["2.5"], "gain for the change of the delay, 1/s";
        max_burst: Span = Range(Unit::Time, "142ms", "0s", "10000s"), ["\"142ms\""],
            "time after the controller begins in which nothing is dropped";
        peak: Option<Rate> = params::Form::rate("40Mbps"), ["the rate of the link"],
            "rate at which tokens are spent";
        burst: u64 = Bytes(0, 1 << 40), ["\"0B\""],
            "bytes that can leave at the peak rate after an idle time: the bucket of the rate shaping";
    }
}

/// DOCSIS-PIE.
pub const DOCSIS_PIE: Discipline = Discipline {
    model: params::model!(
        "queue",
        "docsis_pie",
        "PIE of cable modems: the delay follows from the rate shaping, large packets are dropped more often",
        "RFC 8034",
        [&[limit("\"250kB\"")], DocsisPieConfig::KEYS]
    ),
    title: "DOCSIS-PIE",
    at_departure: Some(|values, link| {
        let config = DocsisPieConfig::new(values);
        let queue = TailDrop::new(link.packets, link.bytes);
        Scheduler::DocsisPie(DocsisPie::new(config, link.rate, queue, (link.stream)()))
    }),
    ..Discipline::PLAIN
};

/// Size of a typical packet, bytes, and of the smallest one.
const MEAN_PACKET: f64 = 1024.0;
const LEAST_PACKET: f64 = 64.0;
/// The largest probability of a packet; drops are spread between this sum of probabilities and the next one.
const LOW: f64 = 0.85;
const HIGH: f64 = 8.5;
/// Below the first delay the probability decays, above the second one it grows, s.
const SHORT: f64 = 0.005;
const LONG: f64 = 0.2;
/// Time without delay and probability after which the controller is switched off.
const QUIET: Span = Span::from_ms(1000);
/// The part of the buffer from which it is switched on.
const SWITCH: u64 = 3;

/// The divisor of an update, by the probability.
fn divisor(p: f64) -> f64 {
    const STEPS: [(f64, f64); 8] = [
        (1e-6, 2048.0),
        (1e-5, 512.0),
        (1e-4, 128.0),
        (1e-3, 32.0),
        (1e-2, 8.0),
        (0.1, 2.0),
        (1.0, 0.5),
        (10.0, 0.125),
    ];
    STEPS.iter().find(|(bound, _)| p < *bound).map_or(0.031_25, |(_, divisor)| *divisor)
}

/// The controller, without the queue.
#[derive(Clone, Debug)]
struct Control {
    active: bool,
    p: f64,
    /// The delay of the last update, s.
    last_delay: f64,
    burst: Span,
    quiet: Span,
    accumulated: f64,
}

impl Control {
    fn new(config: &DocsisPieConfig) -> Control {
        let burst = config.max_burst;
        Control { active: false, p: 0.0, last_delay: 0.0, burst, quiet: Span::ZERO, accumulated: 0.0 }
    }

    fn update(&mut self, config: &DocsisPieConfig, delay: f64) {
        let target = config.target.seconds();
        if self.burst > Span::ZERO {
            self.p = 0.0;
            self.burst = Span::from_ps(self.burst.ps().saturating_sub(config.update_interval.ps()));
        } else {
            let change = config.alpha * (delay - target) + config.beta * (delay - self.last_delay);
            let change = change / divisor(self.p);
            self.p += if self.p >= 0.1 { change.min(0.02) } else { change };
            if delay < SHORT && self.last_delay < SHORT {
                self.p *= 0.98;
            } else if delay > LONG {
                self.p += 0.02;
            }
            self.p = self.p.clamp(0.0, LOW * MEAN_PACKET / LEAST_PACKET);
        }
        let is_quiet = delay < target / 2.0 && self.last_delay < target / 2.0 && self.p == 0.0;
        self.quiet = if is_quiet { self.quiet + config.update_interval } else { Span::ZERO };
        self.last_delay = delay;
        if self.quiet > QUIET {
            *self = Control::new(config);
        }
    }

    /// Whether a packet of `size` bytes in front of `waiting` bytes is dropped.
    fn drops(&mut self, config: &DocsisPieConfig, size: u32, waiting: u64, stream: &mut Stream) -> bool {
        let small_delay = self.last_delay < config.target.seconds() / 2.0 && self.p < 0.2;
        if !self.active || self.burst > Span::ZERO || small_delay || waiting as f64 <= 2.0 * MEAN_PACKET {
            return false;
        }
        let p = (self.p * size as f64 / MEAN_PACKET).min(LOW);
        self.accumulated = if self.p == 0.0 { 0.0 } else { self.accumulated + p };
        if self.accumulated < LOW || self.accumulated < HIGH && stream.uniform() >= p {
            return false;
        }
        self.accumulated = 0.0;
        true
    }
}

/// A first-in-first-out queue with DOCSIS-PIE.
#[derive(Clone, Debug)]
pub struct DocsisPie {
    config: DocsisPieConfig,
    /// Bytes a second, sustained and peak.
    rates: [f64; 2],
    /// Bytes that can leave at the peak rate, at the time of `filled`.
    tokens: f64,
    filled: Time,
    control: Control,
    next_update: Time,
    queue: TailDrop,
    stream: Stream,
}

impl DocsisPie {
    /// A queue in front of a transmitter of a sustained `rate`, with random numbers from `stream`.
    pub(crate) fn new(config: DocsisPieConfig, rate: Rate, queue: TailDrop, stream: Stream) -> DocsisPie {
        let bytes = |rate: Rate| rate.bps() as f64 / 8.0;
        DocsisPie {
            rates: [bytes(rate), bytes(config.peak.unwrap_or(rate))],
            tokens: config.burst as f64,
            filled: Time::ZERO,
            control: Control::new(&config),
            next_update: Time::ZERO + config.update_interval,
            config,
            queue,
            stream,
        }
    }

    fn fill(&mut self, now: Time) {
        let new = self.rates[0] * now.since(self.filled).seconds();
        self.tokens = (self.tokens + new).min(self.config.burst as f64);
        self.filled = now;
    }

    /// The time in which the waiting bytes leave, s.
    fn delay(&self) -> f64 {
        let (bytes, [rate, peak]) = (self.queue.bytes() as f64, self.rates);
        if bytes <= self.tokens { bytes / peak } else { (bytes - self.tokens) / rate + self.tokens / peak }
    }

    /// Performs the updates up to `now`.
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            let at = self.next_update;
            self.fill(at);
            let delay = self.delay();
            self.next_update = at + self.config.update_interval;
            if self.control.active {
                self.control.update(&self.config, delay);
            } else {
                // Nothing changes until the queue is longer, so the updates until now are left out.
                let interval = self.config.update_interval;
                self.next_update = self.next_update.max(at + interval * (now.since(at).ps() / interval.ps()));
            }
        }
        self.fill(now);
    }
}

impl Scheduled for DocsisPie {
    fn enqueue(&mut self, packet: Waiting, idle: bool, _drops: &mut Vec<Waiting>) -> bool {
        self.catch_up(packet.arrived);
        let (size, waiting) = (packet.packet.size, self.queue.bytes());
        if !idle && self.control.drops(&self.config, size, waiting, &mut self.stream) {
            return false;
        }
        if !self.queue.push(packet, idle) {
            self.control.accumulated = 0.0;
            return false;
        }
        if !self.control.active && self.queue.is_filled(SWITCH) {
            self.control = Control { active: true, ..Control::new(&self.config) };
        }
        true
    }

    fn dequeue(&mut self, now: Time, _drops: &mut Vec<Waiting>) -> Option<Waiting> {
        self.catch_up(now);
        let packet = self.queue.pop()?;
        self.tokens = (self.tokens - packet.packet.size as f64).max(0.0);
        Some(packet)
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn drain(&mut self) -> Vec<Waiting> {
        self.queue.drain()
    }

    fn rule(&self, packet: &Waiting, _now: Time, _point: Point) -> Option<Rule> {
        if !self.queue.has_room(packet.packet.size) {
            return Some(self.queue.full(packet.packet.size));
        }
        let delay = Span::from_seconds(self.control.last_delay);
        Some(Rule::Pie { delay, target: self.config.target, probability: self.control.p })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use params::Values;

    fn config() -> DocsisPieConfig {
        DocsisPieConfig::new(&Values::defaults(DocsisPieConfig::KEYS, 0))
    }

    #[test]
    fn probabilities_are_those_of_the_reference() {
        let mut control = Control::new(&config());
        let delays = [20, 20, 20, 20, 20, 20, 20, 20, 20, 30, 30, 50, 50, 100, 100, 250, 250, 250];
        let expected =
            [1.46e-5, 5.37e-5, 5.225e-4, 8.35e-4, 5.4443e-3, 8.2568e-3, 0.0826318, 0.1326318, 0.1726318];
        for (index, ms) in delays.into_iter().enumerate() {
            control.update(&config(), ms as f64 / 1000.0);
            match index.checked_sub(9) {
                None => assert_eq!(control.p, 0.0),
                Some(later) => {
                    let expected = expected[later];
                    assert!((control.p / expected - 1.0).abs() < 5e-3, "{} is not {expected}", control.p);
                }
            }
        }
    }

    #[test]
    fn the_delay_follows_from_the_shaping() {
        let config = DocsisPieConfig { peak: Some(Rate::from_bps(40_000_000)), burst: 20_000, ..config() };
        let queue = TailDrop::new(u64::MAX, u64::MAX);
        let mut pie =
            DocsisPie::new(config, Rate::from_bps(20_000_000), queue, Stream::new(1, "aqm", "test"));
        for _ in 0..50 {
            let packet = crate::packet::Packet::new(crate::PacketKind::Udp, 0, 0, 0, 1000, Time::ZERO);
            let effect = crate::impairment::Effect::default();
            assert!(pie.queue.push(Waiting { packet, arrived: Time::ZERO, effect, marked: None }, false));
        }
        assert!((pie.delay() - 0.016).abs() < 1e-12);
    }

    #[test]
    fn a_quiet_second_switches_it_off() {
        let mut control = Control { active: true, burst: Span::ZERO, ..Control::new(&config()) };
        let updates = (1..100).find(|_| {
            control.update(&config(), 0.001);
            !control.active
        });
        assert_eq!(updates, Some(64), "the first update sees the delay rise");
    }
}
