//! A capture file: its packets, what it could not read, and its connections.

use crate::board::Place;
use crate::connection::{Chosen, Connections};
use crate::container::Container;
use crate::link;
use crate::tcp::{self, Other};
use std::collections::BTreeMap;

/// Gaps of which the clock's resolution is the greatest common divisor.
const GAPS: u32 = 1000;
/// The greatest part of packets that may go back in time while rates are trusted.
pub const MAX_BACKWARDS: f64 = 0.001;

/// What a capture has besides TCP.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// TCP segments.
    pub tcp: u64,
    /// Other packets of QUIC that begin a connection.
    pub quic: u64,
    /// Packets of other protocols.
    pub other: u64,
    /// Fragments of IP packets.
    pub fragments: u64,
    /// Packets whose headers the snap length cut off.
    pub cut: u64,
    /// Packets whose fields contradict each other.
    pub malformed: u64,
    /// TCP segments in tunnels.
    pub tunnelled: u64,
    /// Segments whose options the snap length cut off.
    pub options_cut: u64,
    /// Packets by link type that is not read.
    pub links: BTreeMap<u16, u64>,
    /// Packets whose time is before that of the packet before.
    pub backwards: u64,
}

/// A capture that is being read.
pub struct Capture {
    /// The file format.
    pub container: Container,
    /// The TCP connections.
    pub connections: Connections,
    /// The rest.
    pub counts: Counts,
    clock: Clock,
}

#[derive(Default)]
struct Clock {
    first: Option<u64>,
    last: u64,
    divisor: u64,
    gaps: u32,
    interface: Option<u32>,
}

impl Clock {
    fn tick(&mut self, at: u64) -> bool {
        self.first.get_or_insert(at);
        let back = at < self.last;
        let gap = at.abs_diff(self.last);
        if self.gaps < GAPS && gap > 0 && self.last > 0 {
            self.divisor = gcd(self.divisor, gap);
            self.gaps += 1;
        }
        self.last = self.last.max(at);
        back
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Capture {
    /// Reads nothing yet. Rows of `chosen` are recorded; `place` is where the capture was taken, if the user says so.
    pub fn new(chosen: Option<Chosen>, place: Option<Place>) -> Capture {
        let mut connections = Connections::new(chosen);
        connections.place = place;
        Capture {
            container: Container::default(),
            connections,
            counts: Counts::default(),
            clock: Clock::default(),
        }
    }

    /// Reads the next bytes of the file.
    pub fn push(&mut self, chunk: &[u8]) {
        let Capture { container, connections, counts, clock } = self;
        container.push(chunk, &mut |frame| {
            counts.backwards += u64::from(clock.tick(frame.at));
            connections.origin = clock.first.unwrap_or(0);
            connections.tick = clock.divisor.max(1);
            let cooked = frame.link == 276;
            let index = if cooked { frame.data.get(7).copied().unwrap_or(0) } else { 0 };
            let interface = frame.interface << 8 | u32::from(index);
            connections.interfaces |=
                clock.interface.replace(interface).is_some_and(|last| last != interface);
            if !link::is_read(frame.link) {
                if counts.links.len() < 64 || counts.links.contains_key(&frame.link) {
                    *counts.links.entry(frame.link).or_default() += 1;
                }
                return;
            }
            let Some((kind, start)) = link::network(frame.link, frame.data) else {
                counts.other += 1;
                return;
            };
            match tcp::segment(kind, frame.data, start, frame.wire, true) {
                Ok((mut segment, tunnelled)) => {
                    counts.tcp += 1;
                    counts.tunnelled += u64::from(tunnelled);
                    counts.options_cut += u64::from(segment.options_cut);
                    segment.at = frame.at;
                    segment.interface = interface;
                    connections.segment(&segment);
                }
                Err(Other::Protocol) => counts.other += 1,
                Err(Other::Quic) => counts.quic += 1,
                Err(Other::Fragment) => counts.fragments += 1,
                Err(Other::Cut) => counts.cut += 1,
                Err(Other::Malformed) => counts.malformed += 1,
            }
        });
    }

    /// Time from the first to the last packet, ns.
    pub fn span(&self) -> u64 {
        self.clock.last.saturating_sub(self.clock.first.unwrap_or(self.clock.last))
    }

    /// The clock's resolution: the greatest common divisor of the first gaps, ns; zero: unknown.
    pub fn tick(&self) -> u64 {
        self.clock.divisor
    }

    /// Why rates of this capture are not trusted; `None`: they are.
    pub fn distrust(&self) -> Option<String> {
        let part = self.counts.backwards as f64 / (self.container.packets.max(1)) as f64;
        (part > MAX_BACKWARDS).then(|| {
            format!("the time goes back at {} of {} packets", self.counts.backwards, self.container.packets)
        })
    }
}
