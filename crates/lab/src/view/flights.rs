//! The packets on the links in an interval, for an animation of the network.

use crate::simulation::{PacketLog, Run};
use net::DropReason;
use std::collections::{BTreeMap, VecDeque};

/// Most packets that are listed.
const MOST: usize = 20_000;

/// What becomes of a packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketFate {
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
    /// end (s; NaN without one), flow, kind (0 data, 1 ACK), number, fate ([`PacketFate`]).
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
        let log = self.packets();
        let mut flights = Flights::default();
        let Some((from, to)) = self.recorded_packets(from, to) else { return flights };
        // Copies of one packet leave a link in the order in which they came.
        let mut open: BTreeMap<(u32, u32, u8, i64), VecDeque<Flight>> = BTreeMap::new();
        for row in 0..log.time.len() {
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
                    flights.push(log, new, f64::NAN, fate(reason));
                }
                (event, reason)
                    if event != PacketLog::ENQUEUE && reason.is_none_or(|reason| reason.after_queue()) =>
                {
                    let Some(list) = open.get_mut(&key) else { continue };
                    let known = list.pop_front();
                    if list.is_empty() {
                        open.remove(&key);
                    }
                    if let Some(flight) = known.filter(|_| at >= from) {
                        match reason {
                            Some(reason) => flights.push(log, flight, f64::NAN, fate(reason)),
                            None => flights.push(log, flight, at, PacketFate::Arrives),
                        }
                    }
                }
                _ => {}
            }
        }
        let mut rest: Vec<Flight> = open.into_values().flatten().collect();
        rest.sort_unstable_by_key(|flight| flight.row);
        for flight in rest {
            flights.push(log, flight, f64::NAN, PacketFate::Arrives); // still on its way when the log ends
        }
        flights
    }
}

impl Flights {
    fn push(&mut self, log: &PacketLog, flight: Flight, arrive: f64, fate: PacketFate) {
        if self.rows.len() == MOST * Self::COLUMNS.len() {
            self.left_out += 1;
            return;
        }
        let Flight { row, start, depart } = flight;
        let (flow, kind, seq) = (log.flow[row] as f64, log.kind[row] as f64, log.seq[row] as f64);
        self.rows.extend([log.link[row] as f64, start, depart, arrive, flow, kind, seq, fate as u8 as f64]);
    }
}

fn fate(reason: DropReason) -> PacketFate {
    match reason {
        DropReason::Queue | DropReason::Aqm => PacketFate::DroppedByQueue,
        DropReason::Loss | DropReason::Handoff => PacketFate::LostOnLink,
        DropReason::List | DropReason::Route | DropReason::Policer => PacketFate::Dropped,
    }
}
