//! DualPI2 (RFC 9332): a queue for classic traffic and one for low-latency traffic (L4S), coupled so that flows of both
//! kinds have about the same rate.

use super::{Point, Scheduled, Scheduler, TailDrop, Waiting};
use crate::counters::Counter;
use crate::qdisc::discipline::{Discipline, limit};
use crate::qdisc::pie::first_after;
use crate::rule::{self, Rule};
use crate::sojourn::SojournTimes;
use engine::Stream;
use params::Form::{Number, Quantity, Range, Word};
use params::{Unit, key};
use units::{Span, Time};

/// How the two queues share the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DualPi2Scheduler {
    /// Weighted round robin: this part of the bytes is for the classic queue if both have packets (Linux).
    WeightedRoundRobin(f64),
    /// The low-latency queue goes first unless the head of the classic one waits this much longer (RFC 9332).
    TimeShiftedFifo(Span),
}

/// The default of `shift`.
const SHIFT: Span = Span::from_ms(30);

params::options! {
    /// The configuration of DualPI2.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DualPi2Config {
        target: Span = Range(Unit::Time, "15ms", "1us", "10000s"), ["\"15ms\""],
            "delay of the classic queue at which the controller aims";
        update_interval: Span = Range(Unit::Time, "16ms", "1us", "10000s"), ["\"16ms\""],
            "time between two updates of the probability";
        alpha: f64 = Number(0.0, 100.0), ["0.16"], "gain for the distance of the delay from `target`, 1/s";
        beta: f64 = Number(0.0, 100.0), ["3.2"], "gain for the change of the delay, 1/s";
        coupling: f64 = Number(0.0, 100.0), ["2"],
            "ratio of the marking probability of low-latency packets to the square root of the classic one";
        step: Span = Quantity(Unit::Time, "1ms"), ["\"1ms\""], "low-latency packets that wait longer are marked";
        ramp: Span = Quantity(Unit::Time, "0.4ms"), ["\"0ms\""],
            "range above `step` in which the probability of these marks rises from 0 to 1";
    }
    with {
        /// How the two queues share the link.
        scheduler: DualPi2Scheduler = |values| match values.read("scheduler") {
            "tsfifo" => DualPi2Scheduler::TimeShiftedFifo(values.optional("shift").unwrap_or(SHIFT)),
            _ => DualPi2Scheduler::WeightedRoundRobin(values.read("classic_share")),
        };
    }
}

/// DualPI2.
pub const DUALPI2: Discipline = Discipline {
    model: params::model!(
        "queue",
        "dualpi2",
        "coupled queues for classic and low-latency (L4S) traffic",
        "RFC 9332; as in Linux",
        [
            &[limit("\"10000p\"")],
            DualPi2Config::KEYS,
            &[
                key(
                    "scheduler",
                    Word(&["wrr", "tsfifo"]),
                    "\"wrr\"",
                    "`\"wrr\"`: weighted round robin as in Linux; `\"tsfifo\"`: time-shifted first in, first out as in RFC 9332",
                ),
                key(
                    "classic_share",
                    Number(0.0, 1.0),
                    "0.1",
                    "`\"wrr\"`: part of the link for the classic queue if both have packets",
                ),
                key(
                    "shift",
                    Quantity(Unit::Time, "30ms"),
                    "30 ms with `tsfifo`",
                    "`\"tsfifo\"`: time by which low-latency packets are preferred",
                ),
            ],
        ]
    ),
    title: "DualPI2",
    at_departure: Some(|values, link| {
        let config = DualPi2Config::new(values);
        Scheduler::DualPi2(DualPi2::new(config, link.packets, link.bytes, (link.stream)()))
    }),
    check: |values| {
        let (without, scheduler) = match values.read("scheduler") {
            "tsfifo" => ("classic_share", "wrr"),
            _ => ("shift", "tsfifo"),
        };
        match values.is_written(without) {
            true => Err((without, format!("is for scheduler = \"{scheduler}\" only"))),
            false => Ok(()),
        }
    },
    marks: true,
    keeps_flow_order: false,
    ..Discipline::PLAIN
};

/// Counters of the low-latency queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LowLatency {
    /// Packets that left it.
    pub packets: u64,
    /// Packets marked in it.
    pub marked: u64,
    /// Sum of their waiting times, ps.
    waited: f64,
    /// The waiting times of packets that arrived from some time on, if they are recorded.
    times: Option<(Time, SojournTimes)>,
}

impl LowLatency {
    /// What two queues have done.
    pub(super) fn with(&self, other: &LowLatency) -> LowLatency {
        let times = self.times.as_ref().zip(other.times.as_ref());
        LowLatency {
            packets: self.packets + other.packets,
            marked: self.marked + other.marked,
            waited: self.waited + other.waited,
            times: times.map(|((from, a), (_, b))| (*from, a.add(b))),
        }
    }

    /// Mean waiting time, seconds; not a number if no packet has left the queue.
    pub fn mean_wait_s(&self) -> f64 {
        self.waited / self.packets as f64 / units::PS_PER_S as f64
    }

    /// 99th percentile of the waiting times, seconds; none if they are not recorded.
    pub fn p99_wait_s(&self) -> Option<f64> {
        self.times.as_ref().and_then(|(_, times)| times.quantile(0.99))
    }
}

/// A dual queue.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    packets: u64,
    bytes: u64,
    classic: TailDrop,
    low: TailDrop,
    /// p': the output of the controller.
    base: f64,
    last_delay: Span,
    next_update: Time,
    /// Sum of the probabilities since the last mark in the low-latency queue: marks come at even distances.
    recurrence: f64,
    /// Bytes that the classic queue may send before the low-latency one.
    credit: f64,
    stream: Stream,
    counts: LowLatency,
    /// The last mark was in the low-latency queue.
    marked_low: bool,
}

/// Bytes of a full packet.
const LARGEST: u64 = 1514;

/// The credit of empty queues: the low-latency queue may send some packets first.
fn first_credit(scheduler: DualPi2Scheduler) -> f64 {
    match scheduler {
        DualPi2Scheduler::WeightedRoundRobin(part) => (2.0 * part - 1.0) * LARGEST as f64,
        DualPi2Scheduler::TimeShiftedFifo(_) => 0.0,
    }
}

/// Probability above which ECN marks are not enough, and packets of both queues are dropped.
const OVERLOAD: f64 = 0.25;

impl DualPi2 {
    /// A dual queue in which at most `packets` packets and `bytes` bytes wait, with random numbers from `stream`.
    pub fn new(config: DualPi2Config, packets: u64, bytes: u64, stream: Stream) -> DualPi2 {
        let unlimited = || TailDrop::new(u64::MAX, u64::MAX);
        DualPi2 {
            config,
            packets,
            bytes,
            classic: unlimited(),
            low: unlimited(),
            base: 0.0,
            last_delay: Span::ZERO,
            next_update: Time::ZERO + config.update_interval,
            recurrence: 0.0,
            credit: first_credit(config.scheduler),
            stream,
            counts: LowLatency::default(),
            marked_low: false,
        }
    }

    fn update(&mut self, delay: Span) {
        let (now, before) = (delay.seconds(), self.last_delay.seconds());
        let change =
            self.config.alpha * (now - self.config.target.seconds()) + self.config.beta * (now - before);
        self.base = (self.base + change).clamp(0.0, 1.0);
        self.last_delay = delay;
    }

    /// Performs the updates up to `now`; nothing has left the queues since the last call.
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            let at = self.next_update;
            let wait = |queue: &TailDrop| queue.head().map_or(Span::ZERO, |head| at.since(head.arrived));
            let delay = wait(&self.classic).max(wait(&self.low));
            self.update(delay);
            self.next_update = at + self.config.update_interval;
            if self.base == 0.0 && delay == Span::ZERO && self.next_update <= now {
                self.next_update = first_after(self.next_update, self.config.update_interval, now);
            }
        }
    }

    /// Whether the low-latency queue goes next; both have packets.
    fn low_goes_first(&self, now: Time, low: &Waiting, classic: &Waiting) -> bool {
        match self.config.scheduler {
            DualPi2Scheduler::WeightedRoundRobin(_) => self.credit <= 0.0,
            DualPi2Scheduler::TimeShiftedFifo(shift) => low.sojourn(now) + shift >= classic.sojourn(now),
        }
    }

    /// Accounts the bytes that a queue sends in competition with the other one.
    fn charge(&mut self, low: bool, bytes: u32) {
        if let DualPi2Scheduler::WeightedRoundRobin(part) = self.config.scheduler {
            self.credit += if low { part * bytes as f64 } else { (part - 1.0) * bytes as f64 };
        }
    }

    /// Whether `packet` left no more than two full packets, itself included: then the controller signals nothing, as in
    /// Linux.
    fn short(&self, packet: &Waiting) -> bool {
        self.classic.bytes() + self.low.bytes() + (packet.packet.size as u64) < 2 * LARGEST
    }

    fn overloaded(&self) -> bool {
        self.base * self.base >= OVERLOAD
    }

    /// The probability of a mark by the own delay of the low-latency queue.
    fn ramp(&self, delay: Span) -> f64 {
        let (min, range) = (self.config.step, self.config.ramp);
        if delay <= min {
            0.0
        } else if delay >= min + range {
            1.0
        } else {
            (delay - min).seconds() / range.seconds()
        }
    }

    /// A classic packet: dropped or marked with the square of p'. `Err`: it is dropped.
    fn signal_classic(&mut self, mut packet: Waiting) -> Result<Waiting, Waiting> {
        if self.short(&packet) || self.stream.uniform() >= self.base * self.base {
            return Ok(packet);
        }
        self.marked_low = false;
        if !self.overloaded() && packet.mark() { Ok(packet) } else { Err(packet) }
    }

    /// The probabilities of a mark of a low-latency packet that waited `delay`: by that delay, and from the classic queue.
    fn mark_probabilities(&self, packet: &Waiting, delay: Span) -> (f64, f64) {
        let coupled = if self.short(packet) { 0.0 } else { (self.config.coupling * self.base).min(1.0) };
        // A packet alone in its queue is not marked for its delay (RFC 9332: Th_len).
        (if self.low.len() > 0 { self.ramp(delay) } else { 0.0 }, coupled)
    }

    /// A low-latency packet: marked by the coupled probability or its own delay; in overload it can be dropped. `Err`: it
    /// is dropped.
    fn signal_low(&mut self, now: Time, mut packet: Waiting) -> Result<Waiting, Waiting> {
        if !self.short(&packet) && self.overloaded() && self.stream.uniform() < self.base * self.base {
            return Err(packet);
        }
        let delay = packet.sojourn(now);
        let (native, coupled) = self.mark_probabilities(&packet, delay);
        self.recurrence += native.max(coupled);
        if self.recurrence > 1.0 {
            self.recurrence -= 1.0;
            packet.mark();
            self.marked_low = true;
            self.counts.marked += 1;
        }
        self.counts.packets += 1;
        self.counts.waited += delay.ps() as f64;
        if let Some((from, times)) = &mut self.counts.times
            && packet.arrived >= *from
        {
            times.record(delay);
        }
        Ok(packet)
    }
}

impl Scheduled for DualPi2 {
    fn enqueue(&mut self, packet: Waiting, idle: bool, _drops: &mut Vec<Waiting>) -> bool {
        self.catch_up(packet.arrived);
        let packets = (self.classic.len() + self.low.len()) as u64;
        let bytes = self.classic.bytes() + self.low.bytes() + packet.packet.size as u64;
        if (packets >= self.packets || bytes > self.bytes) && !idle {
            return false;
        }
        let queue = if packet.packet.ecn.l4s() { &mut self.low } else { &mut self.classic };
        queue.push(packet, true)
    }

    fn dequeue(&mut self, now: Time, drops: &mut Vec<Waiting>) -> Option<Waiting> {
        self.catch_up(now);
        loop {
            let low = match (self.low.head(), self.classic.head()) {
                (Some(low), Some(classic)) => self.low_goes_first(now, low, classic),
                (low, _) => low.is_some(),
            };
            let contended = self.low.len() > 0 && self.classic.len() > 0;
            let packet = if low { self.low.pop() } else { self.classic.pop() };
            let Some(packet) = packet else {
                self.credit = first_credit(self.config.scheduler);
                return None;
            };
            if contended {
                self.charge(low, packet.packet.size);
            }
            let signalled = if low { self.signal_low(now, packet) } else { self.signal_classic(packet) };
            match signalled {
                Ok(packet) => return Some(packet),
                Err(dropped) => drops.push(dropped),
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.classic.bytes() + self.low.bytes()
    }

    fn drain(&mut self) -> Vec<Waiting> {
        [self.classic.drain(), self.low.drain()].concat()
    }

    fn rule(&self, packet: &Waiting, now: Time, point: Point) -> Option<Rule> {
        if let Point::Arrival = point {
            let packets = (self.classic.len() + self.low.len()) as u64;
            let (packet_limit, byte_limit) = (rule::limit(self.packets), rule::limit(self.bytes));
            let (bytes, size) = (self.classic.bytes() + self.low.bytes(), packet.packet.size);
            return Some(Rule::Full { packets, packet_limit, bytes, byte_limit, size });
        }
        let sojourn = packet.sojourn(now);
        if let (Point::Mark, true) = (point, self.marked_low) {
            let (native, coupled) = self.mark_probabilities(packet, sojourn);
            return Some(Rule::LowLatency { sojourn, native, coupled });
        }
        let (probability, target) = (self.base * self.base, self.config.target);
        Some(Rule::DualPi2 { delay: self.last_delay, target, probability, overload: self.overloaded() })
    }

    fn record_sojourns(&mut self, from: Time) {
        self.counts.times = Some((from, SojournTimes::default()));
    }

    fn low_latency(&self) -> Option<LowLatency> {
        Some(self.counts.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Ecn, Packet, PacketKind};

    fn config() -> DualPi2Config {
        DualPi2Config {
            target: Span::from_ms(15),
            update_interval: Span::from_ms(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step: Span::from_ms(1),
            ramp: Span::ZERO,
            scheduler: DualPi2Scheduler::WeightedRoundRobin(0.1),
        }
    }

    fn queue(config: DualPi2Config) -> DualPi2 {
        DualPi2::new(config, 1000, u64::MAX, Stream::new(1, "dualpi2", "test"))
    }

    /// With some packets in the low-latency queue.
    fn filled(config: DualPi2Config, base: f64) -> DualPi2 {
        let mut queue = DualPi2 { base, ..queue(config) };
        (0..5).for_each(|_| {
            queue.low.push(packet(ms(0), Ecn::Ect1), false);
        });
        queue
    }

    fn packet(arrived: Time, ecn: Ecn) -> Waiting {
        let packet = Packet { ecn, ..Packet::new(PacketKind::Data, 0, 0, 0, 1000, arrived) };
        Waiting { packet, arrived, effect: Default::default(), marked: None }
    }

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_ms(n)
    }

    #[test]
    fn probabilities_have_the_values_of_the_reference() {
        let mut q = queue(config());
        for (delay, expected) in [(15, 0.048), (30, 0.0984), (30, 0.1008), (20, 0.0696)] {
            q.update(Span::from_ms(delay));
            assert!((q.base - expected).abs() < 1e-12, "{} {expected}", q.base);
        }
        assert!((q.base * q.base - 0.00484416).abs() < 1e-12 && !q.overloaded());
        q.base = 0.6;
        assert!(q.overloaded());
    }

    #[test]
    fn marks_follow_the_ramp_and_come_at_even_distances() {
        let (step, ramp) = (Span::from_ps(800_000_000), Span::from_ps(400_000_000));
        let q = queue(DualPi2Config { step, ramp, ..config() });
        let at = |us: u64| q.ramp(Span::from_ps(us * 1_000_000));
        assert_eq!([800, 1000, 1200, 2000].map(at), [0.0, 0.5, 1.0, 1.0]);
        let mut q = filled(config(), 0.15);
        let marked: Vec<usize> = (1..=11)
            .filter(|_| q.signal_low(ms(0), packet(ms(0), Ecn::Ect1)).unwrap().marked.is_some())
            .collect();
        assert_eq!(marked, [4, 7, 11]);
    }

    #[test]
    fn classic_packets_are_dropped_or_marked_and_overload_drops_all_kinds() {
        let share = |ecn: Ecn, base: f64| {
            let mut q = filled(config(), base);
            let sent: Vec<_> = (0..10_000)
                .map(|_| match ecn {
                    Ecn::Ect1 => q.signal_low(ms(0), packet(ms(0), ecn)),
                    _ => q.signal_classic(packet(ms(0), ecn)),
                })
                .collect();
            let dropped = sent.iter().filter(|sent| sent.is_err()).count();
            let marked = sent.iter().flatten().filter(|sent| sent.marked.is_some()).count();
            (dropped as f64 / 1e4, marked as f64 / 1e4)
        };
        let near = |a: f64, b: f64| (a - b).abs() < 0.015;
        let (dropped, marked) = share(Ecn::NotEct, 0.3);
        assert!(near(dropped, 0.09) && marked == 0.0);
        let (dropped, marked) = share(Ecn::Ect0, 0.3);
        assert!(dropped == 0.0 && near(marked, 0.09));
        let (dropped, marked) = share(Ecn::Ect1, 0.3);
        assert!(dropped == 0.0 && near(marked, 0.6));
        let (dropped, _) = share(Ecn::Ect1, 0.6);
        assert!(near(dropped, 0.36));
    }

    #[test]
    fn a_short_queue_gets_no_signal() {
        let mut q = DualPi2 { base: 0.9, ..queue(config()) };
        assert!((0..100).all(|_| q.signal_classic(packet(ms(0), Ecn::NotEct)).is_ok()));
        // One packet that waited long, alone in its queue.
        assert!((0..100).all(|_| q.signal_low(ms(50), packet(ms(0), Ecn::Ect1)).unwrap().marked.is_none()));
    }

    #[test]
    fn both_kinds_are_served() {
        let served = |scheduler, classic_waits: u64| {
            let mut q = queue(DualPi2Config { scheduler, ..config() });
            for _ in 0..200 {
                q.enqueue(packet(ms(100 - classic_waits), Ecn::NotEct), false, &mut Vec::new());
            }
            for _ in 0..200 {
                q.enqueue(packet(ms(100), Ecn::Ect1), false, &mut Vec::new());
            }
            q.next_update = Time::NEVER; // the probabilities stay zero
            let mut drops = Vec::new();
            (0..100).filter(|_| q.dequeue(ms(100), &mut drops).unwrap().packet.ecn != Ecn::NotEct).count()
        };
        let low = served(DualPi2Scheduler::WeightedRoundRobin(0.1), 1);
        assert!((89..=92).contains(&low), "{low}");
        let shifted = DualPi2Scheduler::TimeShiftedFifo(Span::from_ms(30));
        assert_eq!((served(shifted, 29), served(shifted, 31)), (100, 0));
    }

    #[test]
    fn ect1_and_ce_are_low_latency_and_all_others_classic() {
        for (ecn, low) in [(Ecn::Ect1, 1), (Ecn::Ce, 1), (Ecn::Ect0, 0), (Ecn::NotEct, 0)] {
            let mut q = queue(config());
            assert!(q.enqueue(packet(ms(0), ecn), false, &mut Vec::new()));
            assert_eq!((q.low.len(), q.classic.len()), (low, 1 - low), "{ecn:?}");
        }
    }

    #[test]
    fn a_mark_is_ce_and_nothing_else_changes_the_codepoint() {
        // ECT(1) becomes CE or stays; CE stays.
        for (base, ecn) in [(0.0, Ecn::Ect1), (0.4, Ecn::Ect1), (0.4, Ecn::Ce)] {
            let mut q = filled(config(), base);
            for _ in 0..100 {
                let sent = q.signal_low(ms(0), packet(ms(0), ecn)).unwrap();
                let expected = if sent.marked.is_some() { Ecn::Ce } else { ecn };
                assert_eq!(sent.packet.ecn, expected);
                assert!(base > 0.0 || sent.marked.is_none());
            }
        }
    }

    #[test]
    fn the_low_latency_marks_are_never_below_the_coupled_ones_and_classic_drops_are_their_square() {
        // p_C = (p_CL / k)^2: with k = 2 the classic probability is the square of half the coupled one.
        for coupling in [1.0, 2.0, 4.0] {
            let q = filled(DualPi2Config { coupling, ..config() }, 0.2);
            let (native, coupled) = q.mark_probabilities(&packet(ms(0), Ecn::Ect1), Span::ZERO);
            assert_eq!(native, 0.0);
            assert!((coupled - coupling * 0.2).abs() < 1e-12);
            assert!(((coupled / coupling) * (coupled / coupling) - q.base * q.base).abs() < 1e-12);
        }
        // An own delay above the step marks every packet (after the first, as the sum must exceed one), whatever the
        // classic queue does.
        let mut q = filled(config(), 0.01);
        let marks = (0..50).filter(|_| {
            q.signal_low(ms(2), packet(ms(0), Ecn::Ect1)).is_ok_and(|sent| sent.marked.is_some())
        });
        assert!(marks.count() >= 49);
    }

    #[test]
    fn in_overload_both_kinds_have_the_same_drop_probability() {
        let dropped = |low: bool| {
            let mut q = filled(config(), 0.7);
            let lost = |_: &u32| match low {
                true => q.signal_low(ms(0), packet(ms(0), Ecn::Ect1)).is_err(),
                false => q.signal_classic(packet(ms(0), Ecn::Ect0)).is_err(),
            };
            (0..20_000).filter(lost).count() as f64 / 20_000.0
        };
        let (low, classic) = (dropped(true), dropped(false));
        assert!((low - 0.49).abs() < 0.015 && (classic - 0.49).abs() < 0.015, "{low} {classic}");
    }

    #[test]
    fn a_link_with_one_kind_of_packets_is_never_idle() {
        for scheduler in
            [DualPi2Scheduler::WeightedRoundRobin(0.1), DualPi2Scheduler::TimeShiftedFifo(Span::from_ms(30))]
        {
            for ecn in [Ecn::Ect1, Ecn::NotEct] {
                let mut q = queue(DualPi2Config { scheduler, ..config() });
                assert!((0..50).all(|_| q.enqueue(packet(ms(0), ecn), false, &mut Vec::new())));
                q.next_update = Time::NEVER;
                assert!((0..50).all(|_| q.dequeue(ms(1), &mut Vec::new()).is_some()));
            }
        }
    }
}
