//! Two ends joined by a pipe in memory: a bottleneck with a queue, propagation delays, and a plan of losses, marks and extra
//! delays.
#![allow(dead_code)] // each test file uses a part

pub mod recorder;

use ackclock_quic::{Config, ControllerHandle, ControllerStats, Deadlines, Ecn, Endpoint};
use bytes::BytesMut;
use cc::{AnyController, Arithmetic, FlowInfo, Growth, ParamValue, Params};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Rate, Span, Time, VirtualClock};

/// What happens to a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Treatment {
    /// It is dropped.
    pub drop: bool,
    /// It is marked, if it is ECN-capable.
    pub mark: bool,
    /// It arrives later by this time.
    pub extra: Span,
}

/// The path between the ends.
pub struct Path {
    /// The rate of the bottleneck.
    pub rate: Rate,
    /// Propagation in each direction.
    pub delay: Span,
    /// Packets that the queue holds.
    pub queue: usize,
    /// Packets in the queue from which on packets are marked.
    pub mark_from: usize,
    /// The treatment of datagram `n` (from 0) of the sender at a time.
    pub plan: Box<dyn FnMut(u64, Time) -> Treatment>,
    /// The same for the receiver, whose datagrams are not marked.
    pub back: Box<dyn FnMut(u64, Time) -> Treatment>,
}

impl Default for Path {
    fn default() -> Path {
        Path {
            rate: Rate::from_bps(20_000_000),
            delay: Span::from_ms(10),
            queue: 40,
            mark_from: usize::MAX,
            plan: Box::new(|_, _| Treatment::default()),
            back: Box::new(|_, _| Treatment::default()),
        }
    }
}

/// Called after each turn of the sender.
pub type Watch = Box<dyn FnMut(Time, &ControllerHandle)>;

/// The application of an end.
pub type Application = Box<dyn FnMut(Time, &mut Endpoint)>;

type Event = Reverse<(Time, u64, usize, u64)>;

/// A connection over a path.
pub struct Pipe {
    pub ends: [Endpoint; 2],
    pub handle: ControllerHandle,
    path: Path,
    now: Time,
    events: BinaryHeap<Event>,
    bodies: Vec<Option<(BytesMut, Ecn)>>,
    deadlines: [Deadlines; 2],
    sequence: u64,
    sent: [u64; 2],
    /// Datagrams of the sender that arrived marked.
    pub marked: u64,
    /// Times at which the queue becomes free of the packets in it.
    departures: std::collections::VecDeque<Time>,
    /// Every datagram of the sender: when, its size, its ECN field.
    pub log: Vec<(Time, usize, Ecn)>,
    /// Called after each turn of the sender.
    pub watch: Option<Watch>,
    /// The sender's application with streams: called before each datagram.
    pub writer: Option<Application>,
    /// The receiver's application with streams: called after each turn of the receiver, which then has another one.
    pub reader: Option<Application>,
}

/// A number in 0..1000 that depends on the seed, the datagram and the purpose.
pub fn chance(seed: u64, datagram: u64, purpose: u64) -> u64 {
    let mut x =
        seed ^ datagram.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ purpose.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) % 1000
}

/// A controller by its name, with parameters.
pub fn controller(name: &str, config: &Config, params: &[(&str, ParamValue)]) -> AnyController {
    let registration = AnyController::registration(name).expect("a registered name");
    let values = params.iter().map(|(name, value)| (*name, value.clone()));
    let params = Params::new(registration.descriptor.params, values).expect("valid parameters");
    let flow = FlowInfo {
        packet: config.packet,
        initial_window: config.initial_window,
        initial_ssthresh: f64::INFINITY,
        max_window: f64::INFINITY,
        arithmetic: Arithmetic {
            growth: Growth::Counted,
            integer_windows: true,
            reduce_on_every_timeout: false,
            rfc_variants: false,
        },
        fine_clock: false,
        abe: false,
        seed: config.seed,
        hops: 0,
    };
    registration.create(&params, &flow)
}

impl Pipe {
    pub fn new(config: &Config, controller: AnyController, path: Path) -> Pipe {
        let clock = VirtualClock::new();
        let handle = ControllerHandle::new(config, controller);
        let sender = Endpoint::sender(config, clock, handle.clone()).expect("a valid configuration");
        let receiver = Endpoint::receiver(config, clock).expect("a valid configuration");
        let never = Deadlines { timeout: Time::NEVER, pacing: Time::NEVER, wake: Time::NEVER };
        Pipe {
            ends: [sender, receiver],
            handle,
            path,
            now: Time::ZERO,
            events: BinaryHeap::new(),
            bodies: Vec::new(),
            deadlines: [never; 2],
            sequence: 0,
            sent: [0; 2],
            marked: 0,
            departures: Default::default(),
            log: Vec::new(),
            watch: None,
            writer: None,
            reader: None,
        }
    }

    /// An endless flow of a registered controller for `seconds` seconds.
    pub fn endless(name: &str, config: &Config, path: Path, seconds: u64) -> Pipe {
        let mut pipe = Pipe::new(config, controller(name, config, &[]), path);
        pipe.ends[0].write_endlessly();
        pipe.open();
        pipe.run(Time::ZERO + Span::from_ms(1000 * seconds));
        pipe
    }

    pub fn stats(&self) -> ControllerStats {
        *self.handle.lock().stats()
    }

    pub fn delivered(&self) -> u64 {
        self.ends[1].delivered_bytes()
    }

    pub fn now(&self) -> Time {
        self.now
    }

    pub fn open(&mut self) {
        self.ends[0].open(self.now);
        self.turn(0);
    }

    /// Whether nothing will happen any more.
    pub fn idle(&self) -> bool {
        self.events.is_empty() && self.deadlines.iter().all(|d| d.next() == Time::NEVER)
    }

    /// Processes all events up to `until`.
    pub fn run(&mut self, until: Time) {
        loop {
            let arrival = self.events.peek().map_or(Time::NEVER, |Reverse(event)| event.0);
            let timers = [self.deadlines[0].next(), self.deadlines[1].next()];
            let next = arrival.min(timers[0]).min(timers[1]);
            if next > until || next == Time::NEVER {
                break;
            }
            self.now = self.now.max(next);
            if arrival == next {
                let Some(Reverse((_, _, end, body))) = self.events.pop() else { return };
                let (datagram, ecn) = self.bodies[body as usize].take().expect("each body arrives once");
                self.ends[end].on_datagram(self.now, ecn, datagram);
                self.turn(end);
            } else {
                let end = (timers[1] < timers[0]) as usize;
                let due = self.deadlines[end];
                if due.timeout <= self.now {
                    self.ends[end].on_timeout(self.now);
                }
                if due.wake <= self.now {
                    self.ends[end].on_wake_timer(self.now);
                }
                self.turn(end);
            }
        }
        self.now = self.now.max(until);
    }

    /// Lets an end send.
    pub fn turn(&mut self, end: usize) {
        self.transmit(end);
        if end == 1
            && let Some(reader) = &mut self.reader
        {
            reader(self.now, &mut self.ends[1]);
            self.transmit(1);
        }
    }

    fn transmit(&mut self, end: usize) {
        let now = self.now;
        let Pipe { ends, path, events, bodies, sequence, sent, marked, departures, log, writer, .. } = self;
        let send = |bytes: &[u8], ecn: Ecn| {
            let (mut ecn, mut at) = (ecn, now);
            let treatment = if end == 0 { (path.plan)(sent[0], now) } else { (path.back)(sent[1], now) };
            sent[end] += 1;
            if end == 0 {
                log.push((now, bytes.len(), ecn));
                while departures.front().is_some_and(|at| *at <= now) {
                    departures.pop_front();
                }
                if treatment.drop || departures.len() > path.queue {
                    return;
                }
                if (treatment.mark || departures.len() >= path.mark_from) && ecn != Ecn::NotEct {
                    ecn = Ecn::Ce;
                    *marked += 1;
                }
                let starts = departures.back().copied().unwrap_or(now);
                at = starts + path.rate.time_for(bytes.len() as u64 + 28);
                departures.push_back(at);
            } else if treatment.drop {
                return;
            }
            at += path.delay + treatment.extra;
            bodies.push(Some((BytesMut::from(bytes), ecn)));
            *sequence += 1;
            events.push(Reverse((at, *sequence, 1 - end, bodies.len() as u64 - 1)));
        };
        let deadlines = match writer {
            Some(write) if end == 0 => ends[0].transmit_from(now, |end| write(now, end), send),
            _ => ends[end].transmit(now, send),
        };
        let clamp = |at: Time| if at == Time::NEVER { at } else { at.max(now) };
        self.deadlines[end] = Deadlines {
            timeout: clamp(deadlines.timeout),
            pacing: clamp(deadlines.pacing),
            wake: clamp(deadlines.wake),
        };
        if end == 0
            && let Some(watch) = &mut self.watch
        {
            watch(now, &self.handle);
        }
    }
}
