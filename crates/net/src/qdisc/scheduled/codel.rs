//! CoDel (RFC 8289): drops at the head of the queue while packets wait longer than a target for a whole interval.

use super::{Point, Scheduled, Scheduler, TailDrop, Waiting};
use crate::qdisc::discipline::{Discipline, ecn, limit};
use crate::rule::Rule;
use params::Form::{Quantity, Range};
use params::Unit;
use units::{Span, Time};

params::options! {
    /// The configuration of CoDel.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct CodelConfig {
        target: Span = Range(Unit::Time, "5ms", "1us", "10000s"), ["\"5ms\""], "acceptable waiting time";
        interval: Span = Range(Unit::Time, "100ms", "1us", "10000s"), ["\"100ms\""],
            "time for which packets wait longer than `target` before the first drop; about the largest round-trip time";
        ce_threshold: Span = Quantity(Unit::Time, "1ms"), ["\"0ms\""],
            "ECN-capable packets that wait longer are marked, besides CoDel's marks; `\"0ms\"`: none";
    }
    with {
        /// Mark ECN-capable packets instead of dropping them.
        ecn: bool = |values| values.read("ecn");
    }
}

/// CoDel.
pub const CODEL: Discipline = Discipline {
    model: params::model!(
        "queue",
        "codel",
        "controlled delay: drops at the head while packets wait too long",
        "RFC 8289",
        [&[limit("\"1000p\""), ecn("false")], CodelConfig::KEYS]
    ),
    title: "CoDel",
    at_departure: Some(|values, link| {
        Scheduler::Codel(Codel::new(CodelConfig::new(values), link.packets, link.bytes))
    }),
    ..Discipline::PLAIN
};

/// Largest packet, bytes: with no more than this in the queue nothing is dropped.
pub(super) const LARGEST: u64 = 1514;

/// Intervals after which CoDel forgets how fast it dropped (RFC 8289 section 5.5).
const RESUME: u64 = 16;

/// What the control law needs besides its state.
#[derive(Clone, Copy)]
pub(super) struct Control<'a> {
    pub config: &'a CodelConfig,
    /// Bytes that wait in other queues of the same link.
    pub others: u64,
    pub now: Time,
}

/// The state of CoDel's control law, without the queue.
#[derive(Clone, Debug, Default)]
pub(super) struct ControlLaw {
    /// The time from which a packet that waited too long may be dropped; zero if the last packet did not.
    first_above: Time,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
    signalled: Signalled,
}

/// The last drop or mark.
#[derive(Clone, Copy, Debug, Default)]
struct Signalled {
    at: Time,
    /// From when on packets may be dropped.
    since: Time,
    marked: bool,
}

/// interval / sqrt(count), to the picosecond.
fn spacing(config: &CodelConfig, count: u32) -> Span {
    Span::from_ps((config.interval.ps() as f64 / f64::from(count).sqrt()) as u64)
}

impl ControlLaw {
    /// Removes the head of the queue. Returns it, and whether it may be dropped.
    fn pop(&mut self, control: Control<'_>, queue: &mut TailDrop) -> (Option<Waiting>, bool) {
        let Control { config, others, now } = control;
        let Some(packet) = queue.pop() else {
            self.first_above = Time::ZERO;
            return (None, false);
        };
        if packet.sojourn(now) < config.target || queue.bytes() + others <= LARGEST {
            self.first_above = Time::ZERO;
            return (Some(packet), false);
        }
        if self.first_above == Time::ZERO {
            self.first_above = now + config.interval;
            return (Some(packet), false);
        }
        (Some(packet), now >= self.first_above)
    }

    /// Drops or marks `packet`. Returns it if it is marked.
    fn signal(
        &mut self,
        control: Control<'_>,
        mut packet: Waiting,
        drops: &mut Vec<Waiting>,
    ) -> Option<Waiting> {
        let marked = control.config.ecn && packet.mark();
        self.signalled = Signalled { at: control.now, since: self.first_above, marked };
        if marked {
            return Some(packet);
        }
        drops.push(packet);
        None
    }

    /// Why it has just marked `packet`, or `dropped` it and then `later` others.
    pub(super) fn rule(
        &self,
        config: &CodelConfig,
        packet: &Waiting,
        now: Time,
        dropped: bool,
        later: u32,
    ) -> Rule {
        let (sojourn, signalled) = (packet.sojourn(now), self.signalled);
        let in_dropping_state = dropped || signalled.marked && signalled.at == now;
        if !in_dropping_state {
            return Rule::Threshold { sojourn, threshold: config.ce_threshold };
        }
        let above = (now + config.interval).since(signalled.since);
        let number = (self.count + 1).saturating_sub(self.last_count + later);
        Rule::Codel { sojourn, target: config.target, above, number }
    }

    /// Removes the packet that leaves now.
    #[inline]
    pub fn dequeue(
        &mut self,
        control: Control<'_>,
        queue: &mut TailDrop,
        drops: &mut Vec<Waiting>,
    ) -> Option<Waiting> {
        let Some(head) = queue.head() else {
            (self.first_above, self.dropping) = (Time::ZERO, false);
            return None;
        };
        let Control { config, others, now } = control;
        let short = queue.bytes() + others - head.packet.size as u64 <= LARGEST;
        if !self.dropping && config.ce_threshold == Span::ZERO && (short || head.sojourn(now) < config.target)
        {
            self.first_above = Time::ZERO;
            return queue.pop();
        }
        self.control(control, queue, drops)
    }

    /// Removes the packet that leaves now from a queue that may need control.
    #[inline(never)] // keeps the path of uncontrolled queues short
    fn control(
        &mut self,
        control: Control<'_>,
        queue: &mut TailDrop,
        drops: &mut Vec<Waiting>,
    ) -> Option<Waiting> {
        let Control { config, now, .. } = control;
        let (first, droppable) = self.pop(control, queue);
        let Some(packet) = first else {
            self.dropping = false;
            return None;
        };
        let packet = if self.dropping {
            self.continue_dropping(control, queue, drops, packet, droppable)
        } else if droppable {
            self.start_dropping(control, queue, drops, packet)
        } else {
            Some(packet)
        };
        let mut packet = packet?;
        if config.ce_threshold > Span::ZERO && packet.sojourn(now) > config.ce_threshold {
            packet.mark();
        }
        Some(packet)
    }

    fn continue_dropping(
        &mut self,
        control: Control<'_>,
        queue: &mut TailDrop,
        drops: &mut Vec<Waiting>,
        mut packet: Waiting,
        droppable: bool,
    ) -> Option<Waiting> {
        let Control { config, now, .. } = control;
        self.dropping = droppable;
        while self.dropping && now >= self.drop_next {
            let marked = self.signal(control, packet, drops);
            self.count += 1;
            if marked.is_some() {
                self.drop_next += spacing(config, self.count);
                return marked;
            }
            let (next, droppable) = self.pop(control, queue);
            if droppable {
                self.drop_next += spacing(config, self.count);
            } else {
                self.dropping = false;
            }
            packet = next?;
        }
        Some(packet)
    }

    fn start_dropping(
        &mut self,
        control: Control<'_>,
        queue: &mut TailDrop,
        drops: &mut Vec<Waiting>,
        packet: Waiting,
    ) -> Option<Waiting> {
        let Control { config, now, .. } = control;
        let marked = self.signal(control, packet, drops);
        let packet = if marked.is_some() { marked } else { self.pop(control, queue).0 };
        self.dropping = true;
        // A new series of drops soon after the last one begins at the rate that controlled the queue then.
        let since = self.count - self.last_count;
        let soon = now < self.drop_next + Span::from_ps(RESUME * config.interval.ps());
        self.count = if since > 1 && soon { since } else { 1 };
        self.drop_next = now + spacing(config, self.count);
        self.last_count = self.count;
        packet
    }
}

/// A CoDel queue.
#[derive(Clone, Debug)]
pub struct Codel {
    config: CodelConfig,
    queue: TailDrop,
    law: ControlLaw,
}

impl Codel {
    /// A queue in which at most `packets` packets and `bytes` bytes wait.
    pub fn new(config: CodelConfig, packets: u64, bytes: u64) -> Codel {
        Codel { config, queue: TailDrop::new(packets, bytes), law: ControlLaw::default() }
    }
}

impl Scheduled for Codel {
    #[inline]
    fn enqueue(&mut self, packet: Waiting, idle: bool, _drops: &mut Vec<Waiting>) -> bool {
        self.queue.push(packet, idle)
    }

    #[inline]
    fn dequeue(&mut self, now: Time, drops: &mut Vec<Waiting>) -> Option<Waiting> {
        self.law.dequeue(Control { config: &self.config, others: 0, now }, &mut self.queue, drops)
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn drain(&mut self) -> Vec<Waiting> {
        self.queue.drain()
    }

    fn rule(&self, packet: &Waiting, now: Time, point: Point) -> Option<Rule> {
        match point {
            Point::Arrival => Some(self.queue.full(packet.packet.size)),
            Point::Departure { later } => Some(self.law.rule(&self.config, packet, now, true, later)),
            Point::Mark => Some(self.law.rule(&self.config, packet, now, false, 0)),
            Point::Limit { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Ecn, Packet, PacketKind};

    fn us(n: u64) -> Time {
        Time::from_ps(n * 1_000_000)
    }

    fn config(ecn: bool) -> CodelConfig {
        CodelConfig { target: Span::from_ms(5), interval: Span::from_ms(100), ecn, ce_threshold: Span::ZERO }
    }

    fn packet(arrived: Time, seq: u32, ecn: Ecn) -> Waiting {
        let packet = Packet { ecn, ..Packet::new(PacketKind::Data, 0, 0, seq, 1000, arrived) };
        Waiting { packet, arrived, effect: Default::default(), marked: None }
    }

    /// A packet of 1,000 bytes every 2/3 ms into a link that sends one a millisecond: times of drops and of marks, ms.
    fn overload(ecn: Ecn) -> (Vec<u64>, Vec<u64>) {
        let mut queue = Codel::new(config(true), 1000, u64::MAX);
        let (mut drops, mut dropped, mut marked) = (Vec::new(), Vec::new(), Vec::new());
        let mut arrivals = (0u64..).map(|n| n * 2000 / 3).peekable();
        for ms in 0..=650u64 {
            while let Some(at) = arrivals.next_if(|at| *at <= ms * 1000) {
                queue.enqueue(packet(us(at), at as u32, ecn), false, &mut drops);
            }
            let sent = queue.dequeue(us(ms * 1000), &mut drops);
            dropped.extend(drops.drain(..).map(|_| ms));
            marked.extend(sent.filter(|sent| sent.marked.is_some()).map(|_| ms));
        }
        (dropped, marked)
    }

    #[test]
    fn drops_come_at_the_published_times() {
        let expected = [115, 215, 286, 344, 394, 439, 479, 517, 553, 586, 618, 648];
        assert_eq!(overload(Ecn::NotEct), (expected.to_vec(), vec![]));
        assert_eq!(overload(Ecn::Ect0), (vec![], expected.to_vec()));
    }

    #[test]
    fn drops_follow_the_square_root() {
        let spacings: Vec<u64> = (1..=8).map(|n| spacing(&config(false), n).ps() / 1_000_000).collect();
        assert_eq!(spacings, [100_000, 70_710, 57_735, 50_000, 44_721, 40_824, 37_796, 35_355]);
    }

    #[test]
    fn a_new_series_resumes_the_old_rate_or_not() {
        for (drop_next, count) in [(10_000, 8), (8_000, 1)] {
            let mut queue = Codel::new(config(false), 1000, u64::MAX);
            (0..9).for_each(|n| {
                queue.enqueue(packet(us(10_000_000), n, Ecn::NotEct), false, &mut Vec::new());
            });
            let law = &mut queue.law;
            (law.count, law.last_count, law.drop_next) = (12, 4, us(drop_next * 1000));
            law.first_above = us(10_400_000);
            queue.dequeue(us(10_500_000), &mut Vec::new());
            assert_eq!(queue.law.count, count);
        }
    }

    #[test]
    fn a_short_queue_is_never_dropped() {
        let mut queue = Codel::new(config(false), 1000, u64::MAX);
        let mut drops = Vec::new();
        for n in 0..10u64 {
            queue.enqueue(packet(us(n * 1_000_000), 2 * n as u32, Ecn::NotEct), false, &mut Vec::new());
            queue.enqueue(packet(us(n * 1_000_000), 2 * n as u32 + 1, Ecn::NotEct), false, &mut Vec::new());
            (0..2).for_each(|_| {
                queue.dequeue(us(n * 1_000_000 + 900_000), &mut drops);
            });
        }
        assert!(drops.is_empty());
    }

    #[test]
    fn above_the_threshold_every_capable_packet_is_marked() {
        let threshold = CodelConfig { ce_threshold: Span::from_ms(1), ..config(false) };
        let mut queue = Codel::new(threshold, 1000, u64::MAX);
        for (seq, ecn) in [(0, Ecn::Ect1), (1, Ecn::NotEct)] {
            queue.enqueue(packet(us(0), seq, ecn), false, &mut Vec::new());
        }
        let marks: Vec<bool> =
            (0..2).map(|_| queue.dequeue(us(1001), &mut Vec::new()).unwrap().marked.is_some()).collect();
        assert_eq!(marks, [true, false]);
    }

    #[test]
    fn a_whole_interval_above_the_target_is_needed() {
        // The waiting time is above the target from 0 on; at 60 ms one packet has waited less.
        let first_drop = |interrupted: bool| {
            let mut queue = Codel::new(config(false), 1000, u64::MAX);
            let mut drops = Vec::new();
            (0..=300u64).find(|ms| {
                let waited = if interrupted && *ms == 60 { 4 } else { 6 };
                (0..4).for_each(|n| {
                    let arrived = us((1000 + ms - waited) * 1000);
                    queue.enqueue(packet(arrived, n, Ecn::NotEct), false, &mut drops);
                });
                let left = queue.dequeue(us((1000 + ms) * 1000), &mut drops);
                assert!(left.is_some());
                let dropped = !drops.is_empty();
                while queue.bytes() > 0 {
                    queue.queue.pop();
                }
                dropped
            })
        };
        assert_eq!(first_drop(false), Some(100));
        assert_eq!(first_drop(true), Some(161)); // the interval begins again at 61 ms
    }
}
