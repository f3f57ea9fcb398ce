//! The packets on the links in an interval, for an animation of the network.

use crate::simulation::{PacketLog, Run};
use net::DropReason;
use std::collections::{BTreeMap, VecDeque};

/// Most packets that are listed.
const MOST: usize = 20_000;

/// What becomes of a packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFate {
    /// It arrives at the far end.
    Arrives = 0,
    /// It is dropped before or in the queue.
    DroppedByQueue = 1,
    /// It is lost on the link after its transmission.
    LostOnLink = 2,
    /// It is dropped for another reason.
    Dropped = 3,
}

/// Packets on links.
#[derive(Debug, Default)]
pub struct Flights {
    /// Rows of eight values: link, arrival at the queue (s), end of transmission (s; NaN without one), arrival at the far
    /// end (s; NaN without one), flow, kind (0 data, 1 ACK), number, fate ([`LinkFate`]).
    pub rows: Vec<f64>,
    /// Packets that are not listed because there are too many.
    pub left_out: usize,
}

impl Flights {
    /// The names of the values of a row.
    pub const COLUMNS: [&'static str; 8] =
        ["link", "start", "depart", "arrive", "flow", "kind", "seq", "fate"];
}

/// A packet on a link.
#[derive(Clone, Copy)]
struct Flight {
    /// Its first row in the log.
    row: usize,
    start: f64,
    depart: f64,
}

impl Run {
    /// The packets that are on a link, or in its queue, at some time from `from` to `to`, s, up to the simulated time so far.
    /// Needs packet events. A log that begins within the run does not have the packets that were on links then.
    pub fn flights(&self, from: f64, to: f64) -> Flights {
        let log = &self.logs().packets;
        let mut flights = Flights::default();
        let Some((from, to)) = self.recorded_packets(from, to) else { return flights };
        // Copies of one packet leave a link in the order in which they came.
        let mut open: BTreeMap<(u32, u32, u8, i64), VecDeque<Flight>> = BTreeMap::new();
        let whole = self.recording().packets_within.is_none();
        for row in if whole { first_row(log, from) } else { 0 }..log.time.len() {
            let at = log.time[row].seconds();
            if at > to && open.is_empty() {
                break;
            }
            let key = (log.link[row], log.flow[row], log.kind[row], log.seq[row]);
            let new = Flight { row, start: at, depart: f64::NAN };
            match (log.event[row], log.drop_reason(row)) {
                (PacketLog::ENQUEUE, _) if at <= to => open.entry(key).or_default().push_back(new),
                (PacketLog::DEPART, _) => {
                    let mut list = open.get_mut(&key).into_iter().flatten();
                    if let Some(flight) = list.find(|flight| flight.depart.is_nan()) {
                        flight.depart = at;
                    }
                }
                (PacketLog::DROP, Some(reason)) if !reason.after_queue() && (from..=to).contains(&at) => {
                    flights.push(log, new, f64::NAN, fate_of_drop(reason));
                }
                (event, reason)
                    if event != PacketLog::ENQUEUE && reason.is_none_or(|reason| reason.after_queue()) =>
                {
                    let Some(list) = open.get_mut(&key) else { continue };
                    let sent = list.pop_front();
                    if list.is_empty() {
                        open.remove(&key);
                    }
                    if let Some(flight) = sent.filter(|_| at >= from) {
                        match reason {
                            Some(reason) => flights.push(log, flight, f64::NAN, fate_of_drop(reason)),
                            None => flights.push(log, flight, at, LinkFate::Arrives),
                        }
                    }
                }
                _ => {}
            }
        }
        let mut rest: Vec<Flight> = open.into_values().flatten().collect();
        rest.sort_unstable_by_key(|flight| flight.row);
        for flight in rest {
            flights.push(log, flight, f64::NAN, LinkFate::Arrives); // still on its way when the log ends
        }
        flights
    }
}

/// What an event does to the number of packets on a link: one more, or one less.
fn step(log: &PacketLog, row: usize) -> isize {
    match (log.event[row], log.drop_reason(row)) {
        (PacketLog::ENQUEUE, _) => 1,
        (PacketLog::DEPART, _) => 0,
        (_, reason) => -isize::from(reason.is_none_or(DropReason::after_queue)),
    }
}

/// The row of a log from the start of a run, from which on it has the arrivals of all packets that are on links at time
/// `from`, s. Counting them takes a few milliseconds for a million events; following each one takes a hundred.
fn first_row(log: &PacketLog, from: f64) -> usize {
    let end = log.time.partition_point(|time| time.seconds() < from);
    let mut open = (0..end).map(|row| step(log, row)).sum::<isize>();
    let mut gone: BTreeMap<(u32, u32, u8, i64), u32> = BTreeMap::new();
    let mut row = end;
    while open > 0 && row > 0 {
        row -= 1;
        let key = (log.link[row], log.flow[row], log.kind[row], log.seq[row]);
        match (step(log, row), gone.get_mut(&key)) {
            (1, Some(copies)) if *copies > 0 => *copies -= 1,
            (1, _) => open -= 1,
            (-1, _) => *gone.entry(key).or_default() += 1,
            _ => {}
        }
    }
    row
}

impl Flights {
    fn push(&mut self, log: &PacketLog, flight: Flight, arrive: f64, fate: LinkFate) {
        if self.rows.len() == MOST * Self::COLUMNS.len() {
            self.left_out += 1;
            return;
        }
        let Flight { row, start, depart } = flight;
        let (flow, kind, seq) = (log.flow[row] as f64, log.kind[row] as f64, log.seq[row] as f64);
        self.rows.extend([log.link[row] as f64, start, depart, arrive, flow, kind, seq, fate as u8 as f64]);
    }
}

fn fate_of_drop(reason: DropReason) -> LinkFate {
    match reason {
        DropReason::Queue | DropReason::Aqm => LinkFate::DroppedByQueue,
        DropReason::Loss
        | DropReason::Handoff
        | DropReason::Retry
        | DropReason::Rlc
        | DropReason::Handover => LinkFate::LostOnLink,
        DropReason::List | DropReason::Route | DropReason::Policer => LinkFate::Dropped,
    }
}
