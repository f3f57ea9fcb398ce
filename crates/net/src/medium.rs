//! Media: transmitters that decide when packets leave, a Wi-Fi channel or a cell, which several links share, or the grants of
//! one direction. A medium asks the queues of its links for packets when it serves them, so a discipline decides at that
//! time; `network/medium.rs` connects both.

use crate::cellular::Cell;
use crate::grants::Grants;
use crate::packet::Packet;
use crate::turn::{Queues, Turn};
use crate::wifi::Channel;
use engine::{EventQueue, LaneHint, Tie};
use units::Time;

/// The kinds of media.
#[derive(Clone, Debug)]
pub enum MediumKind {
    /// A Wi-Fi channel.
    Wifi(Box<Channel>),
    /// A cell of a mobile network.
    Cell(Box<Cell>),
    /// The grants of one direction.
    Grants(Box<Grants>),
}

/// A medium with its place in the event queue.
#[derive(Clone, Debug)]
pub struct Medium {
    /// Its kind, with what it has done.
    pub kind: MediumKind,
    /// When it serves its links next; `NEVER` if none has anything to send.
    pub(crate) due: Time,
    item: Packet,
    hint: LaneHint,
}

impl Medium {
    /// A medium; `item` stands for it in the event queue.
    pub(crate) fn new(kind: MediumKind, item: Packet) -> Medium {
        Medium { kind, due: Time::NEVER, item, hint: LaneHint::default() }
    }

    /// The links that share it, each with the number of its channel and the part of the time that is for that channel: the
    /// downlink and the uplink of a cell are two.
    pub fn links(&self) -> Vec<(u32, usize, f64)> {
        match &self.kind {
            MediumKind::Cell(cell) => cell
                .directions()
                .map(|(link, up, _)| (link, usize::from(up), cell.shares()[usize::from(up)]))
                .collect(),
            MediumKind::Wifi(channel) => channel.links().map(|link| (link, 0, 1.0)).collect(),
            MediumKind::Grants(_) => Vec::new(),
        }
    }

    /// Whether it takes no packet of `direction`.
    pub(crate) fn refuses(&self, direction: u32) -> bool {
        match &self.kind {
            MediumKind::Wifi(channel) => channel.refuses(direction),
            MediumKind::Cell(_) | MediumKind::Grants(_) => false,
        }
    }

    /// A packet of `direction` waits since `now`.
    pub(crate) fn arrived(&mut self, direction: u32, now: Time) {
        match &mut self.kind {
            MediumKind::Wifi(channel) => channel.arrived(direction, now),
            MediumKind::Cell(cell) => cell.arrived(direction, now),
            MediumKind::Grants(grants) => grants.arrived(now),
        }
    }

    /// Puts the time at which it serves its links next into the event queue, if it is earlier than the one that is there.
    pub(crate) fn schedule(&mut self, event_queue: &mut EventQueue<Packet>) {
        let next = match &self.kind {
            MediumKind::Wifi(channel) => channel.next_access(),
            MediumKind::Cell(cell) => cell.next_slot(),
            MediumKind::Grants(grants) => grants.next_interval(),
        };
        if let Some(at) = next.filter(|at| *at < self.due) {
            self.due = at;
            let tie = Tie::scheduled(at, event_queue.now(), 0);
            event_queue.push(at, tie, &self.item, &mut self.hint, |_| {});
        }
    }

    /// Serves its links at `now`; with `observed`, the turn lists the transmissions of a channel or cell.
    pub(crate) fn serve(&mut self, now: Time, queues: &mut dyn Queues, observed: bool) -> Turn {
        let mut turn = Turn::new(observed);
        match &mut self.kind {
            MediumKind::Wifi(channel) => channel.serve(now, queues, &mut turn),
            MediumKind::Cell(cell) => cell.serve(now, queues, &mut turn),
            MediumKind::Grants(grants) => grants.serve(now, queues, &mut turn),
        }
        turn
    }

    /// Its links, and how many packets of each have left the queue and not yet the receiver.
    pub(crate) fn outstanding(&self) -> Vec<(u32, u64)> {
        match &self.kind {
            MediumKind::Wifi(channel) => channel.outstanding().collect(),
            MediumKind::Cell(cell) => cell.outstanding().collect(),
            MediumKind::Grants(grants) => vec![grants.outstanding()],
        }
    }
}
