//! One queue for each flow, served in deficit round robin, with CoDel or PIE in each: FQ-CoDel (RFC 8290), FQ-PIE.

use super::codel::{CodelConfig, Control, ControlLaw};
use super::{Point, Scheduled, Scheduler, TailDrop, Waiting};
use crate::qdisc::discipline::{Discipline, LinkInfo, ecn, limit};
use crate::qdisc::offer::Admission;
use crate::qdisc::pie::{PieConfig, PieControl};
use crate::rule::{self, Rule};
use engine::Stream;
use params::Form::{Bytes, Integer};
use params::{Key, Values, key};
use std::collections::VecDeque;
use units::{Span, Time};

/// The discipline inside each queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PerFlow {
    /// CoDel.
    Codel(CodelConfig),
    /// PIE, with the delay of the queue's own head.
    Pie(PieConfig),
}

/// The configuration of a fair queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FairConfig {
    /// Number of queues, to which flows are hashed; 0: one for each flow and direction.
    pub queues: u32,
    /// Bytes that a queue may send in its turn.
    pub quantum: u32,
    /// Packets that may wait in all queues.
    pub packets: u64,
    /// Bytes that may wait in all queues.
    pub bytes: u64,
    /// The discipline inside each queue.
    pub inner: PerFlow,
}

const KEYS: &[Key] = &[
    limit("\"10240p\""),
    key(
        "flows",
        Integer(0, 65_536),
        "1024",
        "number of queues, to which flows are hashed; 0: one for each flow",
    ),
    key("quantum", Bytes(1, 1_000_000), "\"1514B\"", "bytes that a queue may send in its turn"),
    key("memory", Bytes(1, u64::MAX >> 1), "\"32000000B\"", "bytes that may wait in all queues"),
];

fn build(values: &Values, link: &LinkInfo<'_>, inner: PerFlow) -> Scheduler {
    let bytes = link.bytes.min(values.read("memory"));
    let (queues, quantum) = (values.read("flows"), values.read("quantum"));
    let config = FairConfig { queues, quantum, packets: link.packets, bytes, inner };
    Scheduler::Fair(FairQueue::new(config, (link.stream)()))
}

/// FQ-CoDel.
pub const FQ_CODEL: Discipline = Discipline {
    model: params::model!(
        "queue",
        "fq_codel",
        "one CoDel queue for each flow, served in turns",
        "RFC 8290",
        [KEYS, &[ecn("true")], CodelConfig::KEYS]
    ),
    title: "FQ-CoDel",
    at_departure: Some(|values, link| build(values, link, PerFlow::Codel(CodelConfig::new(values)))),
    exceeds_limit: true,
    ..Discipline::PLAIN
};

/// FQ-PIE.
pub const FQ_PIE: Discipline = Discipline {
    model: params::model!(
        "queue",
        "fq_pie",
        "one PIE queue for each flow, served in turns",
        "RFC 8033 and RFC 8290; as in Linux",
        [KEYS, &[ecn("false")], PieConfig::KEYS]
    ),
    title: "FQ-PIE",
    at_departure: Some(|values, link| build(values, link, PerFlow::Pie(PieConfig::new(values)))),
    exceeds_limit: true,
    ..Discipline::PLAIN
};

/// Largest number of packets dropped at once if the limit is exceeded (RFC 8290 section 4.1).
const BATCH: usize = 64;

/// The list in which a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    None,
    New,
    Old,
}

#[derive(Clone, Debug)]
enum State {
    Codel(ControlLaw),
    Pie(PieControl),
}

#[derive(Clone, Debug)]
struct Queue {
    waiting: TailDrop,
    state: State,
    deficit: i64,
    list: List,
}

/// Queues by flow.
#[derive(Clone, Debug)]
pub struct FairQueue {
    config: FairConfig,
    queues: Vec<Queue>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: u64,
    bytes: u64,
    stream: Stream,
    perturbation: u64,
}

impl FairQueue {
    /// An empty fair queue. `stream` perturbs the hash and draws for PIE.
    pub fn new(config: FairConfig, mut stream: Stream) -> FairQueue {
        let perturbation = stream.bits();
        let (queues, new, old) = (Vec::new(), VecDeque::new(), VecDeque::new());
        FairQueue { config, queues, new, old, packets: 0, bytes: 0, stream, perturbation }
    }

    /// Number of the queue of a packet: of its flow and direction.
    fn number(&self, packet: &Waiting) -> u32 {
        let key = 2 * packet.packet.flow + packet.packet.kind.is_reverse() as u32;
        match self.config.queues {
            0 => key,
            count => (mix(key as u64 ^ self.perturbation) % count as u64) as u32,
        }
    }

    /// The same; the queue is created if there is none.
    fn index(&mut self, packet: &Waiting) -> u32 {
        let index = self.number(packet);
        while self.queues.len() <= index as usize {
            let state = match &self.config.inner {
                PerFlow::Codel(_) => State::Codel(ControlLaw::default()),
                PerFlow::Pie(config) => State::Pie(PieControl::new(config)),
            };
            let waiting = TailDrop::new(u64::MAX, u64::MAX);
            self.queues.push(Queue { waiting, state, deficit: 0, list: List::None });
        }
        index
    }

    /// Drops packets at the head of the longest queue, until half of its bytes or a batch is gone.
    fn drop_from_longest(&mut self, drops: &mut Vec<Waiting>) {
        let Some(queue) = self.queues.iter_mut().rev().max_by_key(|queue| queue.waiting.bytes()) else {
            return;
        };
        let half = queue.waiting.bytes().div_ceil(2);
        let mut gone = 0;
        for _ in 0..BATCH {
            let Some(packet) = queue.waiting.pop() else { break };
            gone += packet.packet.size as u64;
            self.packets -= 1;
            drops.push(packet);
            if gone >= half {
                break;
            }
        }
        self.bytes -= gone;
    }
}

impl Scheduled for FairQueue {
    /// Accepts the packet; above the limit, packets of the longest queue are dropped. With PIE it can be refused.
    fn enqueue(&mut self, mut packet: Waiting, idle: bool, drops: &mut Vec<Waiting>) -> bool {
        let (index, now, size) = (self.index(&packet), packet.arrived, packet.packet.size as u64);
        let queue = &mut self.queues[index as usize];
        if let (PerFlow::Pie(config), State::Pie(control)) = (&self.config.inner, &mut queue.state) {
            catch_up(control, config, &queue.waiting, now);
            let ect = packet.packet.ecn.capable();
            // An idle transmitter takes every packet, and so does a link that keeps one.
            if !idle {
                match control.decide(config, queue.waiting.bytes(), ect, &mut self.stream) {
                    Admission::Take => {}
                    Admission::Mark => {
                        packet.mark();
                    }
                    Admission::Refuse => return false,
                }
            }
        }
        queue.waiting.push(packet, idle);
        if queue.list == List::None {
            (queue.list, queue.deficit) = (List::New, self.config.quantum as i64);
            self.new.push_back(index);
        }
        self.packets += 1;
        self.bytes += size;
        if (self.packets > self.config.packets || self.bytes > self.config.bytes) && !idle {
            self.drop_from_longest(drops);
        }
        true
    }

    /// Removes the next packet: new queues first, each up to its deficit.
    fn dequeue(&mut self, now: Time, drops: &mut Vec<Waiting>) -> Option<Waiting> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let queue = &mut self.queues[index as usize];
            if queue.deficit <= 0 {
                queue.deficit += self.config.quantum as i64;
                queue.list = List::Old;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let (count, bytes) = (queue.waiting.len(), queue.waiting.bytes());
            let packet = match (&self.config.inner, &mut queue.state) {
                (PerFlow::Codel(config), State::Codel(law)) => {
                    // As in Linux, the bytes in all queues decide whether the queue is short.
                    let control = Control { config, others: self.bytes - bytes, now };
                    law.dequeue(control, &mut queue.waiting, drops)
                }
                (PerFlow::Pie(config), State::Pie(control)) => {
                    catch_up(control, config, &queue.waiting, now);
                    queue.waiting.pop()
                }
                _ => None,
            };
            self.packets -= (count - queue.waiting.len()) as u64;
            self.bytes -= bytes - queue.waiting.bytes();
            if let Some(packet) = packet {
                queue.deficit -= packet.packet.size as i64;
                return Some(packet);
            }
            list.pop_front();
            // A queue that was new has its turn among the old ones first, or it would always be new.
            if from_new && !self.old.is_empty() {
                queue.list = List::Old;
                self.old.push_back(index);
            } else {
                queue.list = List::None;
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Removes all packets, queue by queue. An empty fair queue takes its place.
    fn drain(&mut self) -> Vec<Waiting> {
        self.queues.iter_mut().flat_map(|queue| queue.waiting.drain()).collect()
    }

    fn rule(&self, packet: &Waiting, now: Time, point: Point) -> Option<Rule> {
        let queue = self.queues.get(self.number(packet) as usize)?;
        match (point, &self.config.inner, &queue.state) {
            (Point::Limit { others }, ..) => Some(Rule::Longest {
                packets: self.packets + others as u64 + 1,
                packet_limit: rule::limit(self.config.packets),
                bytes: self.bytes,
                byte_limit: rule::limit(self.config.bytes),
            }),
            (Point::Arrival, PerFlow::Pie(config), State::Pie(control)) => Some(control.rule(config)),
            (Point::Departure { later }, PerFlow::Codel(config), State::Codel(law)) => {
                Some(law.rule(config, packet, now, true, later))
            }
            (Point::Mark, PerFlow::Codel(config), State::Codel(law)) => {
                Some(law.rule(config, packet, now, false, 0))
            }
            _ => None,
        }
    }

    fn mark_at_arrival(&self, packet: &Waiting) -> Option<Rule> {
        let queue = self.queues.get(self.number(packet) as usize)?;
        match (&self.config.inner, &queue.state) {
            (PerFlow::Pie(config), State::Pie(control)) if queue.waiting.last()?.marked.is_some() => {
                Some(control.rule(config))
            }
            _ => None,
        }
    }
}

/// Performs the updates of PIE up to `now`; nothing has left the queue since the last ones.
fn catch_up(control: &mut PieControl, config: &PieConfig, queue: &TailDrop, now: Time) {
    let head = queue.head().map(|head| head.arrived);
    control.catch_up(config, now, |at| head.map_or(Span::ZERO, |head| at.since(head)));
}

/// A hash of 64 bits (the finalizer of SplitMix64).
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::packet::PacketKind;

    fn config() -> FairConfig {
        let inner = CodelConfig {
            target: Span::from_ms(5),
            interval: Span::from_ms(100),
            ecn: true,
            ce_threshold: Span::ZERO,
        };
        FairConfig {
            queues: 0,
            quantum: 1514,
            packets: 10_240,
            bytes: u64::MAX,
            inner: PerFlow::Codel(inner),
        }
    }

    fn packet(flow: u32, size: u32) -> Waiting {
        let packet = Packet::new(PacketKind::Data, flow, 0, 0, size, Time::ZERO);
        Waiting { packet, arrived: Time::ZERO, effect: Default::default(), marked: None }
    }

    fn order(queue: &mut FairQueue, count: usize) -> Vec<u32> {
        let now = Time::from_ps(1);
        (0..count).map(|_| queue.dequeue(now, &mut Vec::new()).unwrap().packet.flow).collect()
    }

    fn filled(config: FairConfig, packets: &[(u32, u32, usize)]) -> (FairQueue, Vec<Waiting>) {
        let mut queue = FairQueue::new(config, Stream::new(1, "fq", "test"));
        let mut drops = Vec::new();
        for (flow, size, count) in packets {
            for _ in 0..*count {
                assert!(queue.enqueue(packet(*flow, *size), false, &mut drops));
            }
        }
        (queue, drops)
    }

    #[test]
    fn a_new_flow_goes_first() {
        let (mut queue, _) = filled(config(), &[(1, 1514, 4)]);
        assert_eq!(order(&mut queue, 1), [1]);
        queue.enqueue(packet(2, 100), false, &mut Vec::new());
        assert_eq!(order(&mut queue, 4), [2, 1, 1, 1]);
    }

    #[test]
    fn flows_share_by_bytes() {
        let (mut queue, _) =
            filled(FairConfig { quantum: 1500, ..config() }, &[(1, 500, 3000), (2, 1500, 1000)]);
        assert_eq!(order(&mut queue, 4000), [1, 1, 1, 2].repeat(1000));
    }

    #[test]
    fn above_the_limit_the_longest_queue_loses_half_of_its_bytes() {
        let (mut queue, drops) =
            filled(FairConfig { packets: 100, ..config() }, &[(1, 1000, 90), (2, 1000, 10), (2, 1000, 1)]);
        assert_eq!((drops.len(), queue.packets), (45, 56));
        assert!(drops.iter().all(|drop| drop.packet.flow == 1));
        assert_eq!(order(&mut queue, 56).iter().filter(|flow| **flow == 2).count(), 11);
        assert!(queue.dequeue(Time::ZERO, &mut Vec::new()).is_none());
    }

    #[test]
    fn a_sparse_flow_that_is_served_joins_the_old_ones() {
        let (mut queue, _) = filled(config(), &[(1, 1514, 10)]);
        assert_eq!(order(&mut queue, 2), [1, 1]);
        // Flow 2 comes again as soon as its packet is sent: flow 1 still has its turns.
        let mut served = Vec::new();
        for _ in 0..8 {
            queue.enqueue(packet(2, 1514), false, &mut Vec::new());
            served.extend(order(&mut queue, 1));
        }
        assert!(served.iter().filter(|flow| **flow == 1).count() >= 3, "{served:?}");
    }

    #[test]
    fn flows_are_hashed_to_the_queues() {
        let (queue, _) =
            filled(FairConfig { queues: 8, ..config() }, &[(1, 100, 1), (2, 100, 1), (3, 100, 1)]);
        assert!(queue.queues.len() <= 8);
        let (many, _) = filled(config(), &[(1, 100, 1), (2, 100, 1), (3, 100, 1)]);
        assert_eq!(many.new.len(), 3);
    }
}
