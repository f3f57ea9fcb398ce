//! What the server half of an application has to send on a connection, and what of it has arrived.

use crate::audit::AppEvent;
use std::collections::VecDeque;

/// In which order the messages of a connection are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendOrder {
    /// One after the other.
    #[default]
    Fifo,
    /// A piece of each in turn, a new one at the end.
    RoundRobin,
    /// The highest priority first, the older of two.
    Priority,
}

/// A message that is not wholly given to the transport.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// Number of the message.
    pub message: u32,
    /// The stream that carries it.
    pub stream: u32,
    /// Bytes that are not given to the transport; `u64::MAX` for no end.
    pub left: u64,
    /// Higher ones first, with [`SendOrder::Priority`].
    pub priority: u8,
    /// The stream ends with it.
    pub finishes: bool,
}

/// A part of a message for the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Number of the message.
    pub message: u32,
    /// The stream that carries it.
    pub stream: u32,
    pub bytes: u64,
    /// The message ends with it.
    pub ends: bool,
    /// The stream ends with it.
    pub finishes: bool,
    /// The message has no end yet.
    pub endless: bool,
}

impl Piece {
    /// The transport of a connection has taken it.
    pub fn event(&self, connection: u32) -> AppEvent {
        AppEvent::Write { connection, message: self.message, stream: self.stream, bytes: self.bytes }
    }
}

/// The messages of a connection that are not wholly given to the transport, which asks for the next piece when it can send it.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    queue: VecDeque<Pending>,
    order: SendOrder,
}

impl Outgoing {
    pub fn new(order: SendOrder) -> Outgoing {
        Outgoing { queue: VecDeque::new(), order }
    }

    pub fn push(&mut self, pending: Pending) {
        self.queue.push_back(pending);
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.queue.iter().fold(0, |sum, pending| sum.saturating_add(pending.left))
    }

    /// What waits of message `message`, bytes; `None` if it is wholly given to the transport, or was removed.
    pub fn left(&self, message: u32) -> Option<u64> {
        self.queue.iter().find(|pending| pending.message == message).map(|pending| pending.left)
    }

    /// Removes what waits of the messages that `removed` selects.
    pub fn remove(&mut self, mut removed: impl FnMut(&Pending) -> bool) {
        self.queue.retain(|pending| !removed(pending));
    }

    /// The messages that wait.
    pub fn messages(&self) -> impl Iterator<Item = u32> {
        self.queue.iter().map(|pending| pending.message)
    }

    /// A stream ends with what waits of it. Returns whether something does.
    pub fn finish(&mut self, stream: u32) -> bool {
        let last = self.queue.iter_mut().rfind(|pending| pending.stream == stream);
        last.map(|pending| pending.finishes = true).is_some()
    }

    /// Takes the next piece, of at most `most` bytes.
    pub fn next(&mut self, most: u64) -> Option<Piece> {
        let place = match self.order {
            SendOrder::Fifo | SendOrder::RoundRobin => 0,
            SendOrder::Priority => {
                let highest = self.queue.iter().map(|pending| pending.priority).max()?;
                self.queue.iter().position(|pending| pending.priority == highest)?
            }
        };
        let pending = self.queue.get_mut(place)?;
        let bytes = pending.left.min(most);
        let endless = pending.left == u64::MAX;
        if !endless {
            pending.left -= bytes;
        }
        let ends = pending.left == 0;
        let Pending { message, stream, finishes, .. } = *pending;
        if ends {
            self.queue.remove(place);
        } else if self.order == SendOrder::RoundRobin {
            self.queue.rotate_left(1);
        }
        Some(Piece { message, stream, bytes, ends, finishes: ends && finishes, endless })
    }
}

/// Consecutive bytes of a stream that belong to one message.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Offset after its last byte.
    end: u64,
    message: u32,
    /// The message ends with it.
    last: bool,
}

/// To which messages the bytes of a stream belong, from the first that has not arrived.
#[derive(Clone, Debug, Default)]
pub struct StreamLog {
    runs: VecDeque<Run>,
    written: u64,
    arrived: u64,
}

/// What the arrival of bytes means for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    pub message: u32,
    /// It is complete.
    pub ends: bool,
}

impl StreamLog {
    /// The transport takes a piece.
    pub fn write(&mut self, piece: &Piece) {
        self.written += piece.bytes;
        match self.runs.back_mut() {
            Some(run) if run.message == piece.message && !run.last => {
                run.end = self.written;
                run.last = piece.ends;
            }
            _ => self.runs.push_back(Run { end: self.written, message: piece.message, last: piece.ends }),
        }
    }

    /// The message that was written last gets no more bytes. Returns whether all of it has arrived.
    pub fn end_last(&mut self, message: u32) -> bool {
        match self.runs.back_mut() {
            Some(run) if run.message == message => {
                run.last = true;
                false
            }
            _ => true,
        }
    }

    /// The next message of which bytes have arrived, when `bytes` bytes of the stream have arrived in order; `None` after the
    /// last one. Call it until then.
    pub fn next_arrived(&mut self, bytes: u64) -> Option<Arrived> {
        let run = *self.runs.front()?;
        if bytes <= self.arrived {
            return None;
        }
        self.arrived = bytes.min(run.end);
        let whole = bytes >= run.end;
        if whole {
            self.runs.pop_front();
        }
        Some(Arrived { message: run.message, ends: whole && run.last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(message: u32, left: u64, priority: u8) -> Pending {
        Pending { message, stream: message, left, priority, finishes: true }
    }

    fn order(order: SendOrder) -> Vec<(u32, u64, bool)> {
        let mut out = Outgoing::new(order);
        out.push(pending(0, 2500, 0));
        out.push(pending(1, 1000, 1));
        out.push(pending(2, 1500, 1));
        std::iter::from_fn(|| out.next(1000)).map(|piece| (piece.message, piece.bytes, piece.ends)).collect()
    }

    #[test]
    fn orders_of_sending() {
        let fifo = [
            (0, 1000, false),
            (0, 1000, false),
            (0, 500, true),
            (1, 1000, true),
            (2, 1000, false),
            (2, 500, true),
        ];
        assert_eq!(order(SendOrder::Fifo), fifo);
        let turns = [
            (0, 1000, false),
            (1, 1000, true),
            (2, 1000, false),
            (0, 1000, false),
            (2, 500, true),
            (0, 500, true),
        ];
        assert_eq!(order(SendOrder::RoundRobin), turns);
        let priority = [
            (1, 1000, true),
            (2, 1000, false),
            (2, 500, true),
            (0, 1000, false),
            (0, 1000, false),
            (0, 500, true),
        ];
        assert_eq!(order(SendOrder::Priority), priority);
    }

    #[test]
    fn bytes_of_a_stream_belong_to_messages() {
        let mut log = StreamLog::default();
        let piece =
            |message, bytes, ends| Piece { message, stream: 0, bytes, ends, finishes: false, endless: false };
        for written in [piece(0, 1000, false), piece(0, 500, true), piece(1, 10, true), piece(2, 100, false)]
        {
            log.write(&written);
        }
        let mut arrive = |bytes| -> Vec<(u32, bool)> {
            std::iter::from_fn(|| log.next_arrived(bytes))
                .map(|arrived| (arrived.message, arrived.ends))
                .collect()
        };
        assert_eq!(arrive(1000), [(0, false)]);
        assert_eq!(arrive(1000), []);
        assert_eq!(arrive(1550), [(0, true), (1, true), (2, false)]);
        assert_eq!(arrive(1610), [(2, false)]);
        assert!(log.end_last(2));
    }
}
