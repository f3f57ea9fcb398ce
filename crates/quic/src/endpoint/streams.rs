//! The streams and datagrams of an application: those that the sender opens, and those that the receiver reads.

use crate::control::ControllerHandle;
use crate::numbered::Numbered;
use bytes::Bytes;
use quinn_proto::{Connection, Dir, Side, StreamEvent as StackEvent, StreamId, VarInt};
use std::collections::VecDeque;

/// What the receiver, or the network, has done to a stream of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// The receiver has all of it.
    Acknowledged {
        /// Its number.
        stream: u32,
    },
    /// The receiver wants no more of it ([`Endpoint::stop_stream`](crate::Endpoint::stop_stream)). The stream is reset.
    Stopped {
        /// Its number.
        stream: u32,
        /// Bytes of it that were sent at least once.
        sent: u64,
    },
}

/// Why the stack takes no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// The handshake has not ended, the receiver does not permit more data or more streams now, or the connection is closed.
    Blocked,
    /// The stream is finished or reset, or was never opened.
    Closed,
}

/// How far a stream has come at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamProgress {
    /// Its number.
    pub stream: u32,
    /// Bytes read so far, in order.
    pub bytes: u64,
    /// These are all of its bytes.
    pub finished: bool,
    /// The sender has reset it: nothing follows.
    pub reset: bool,
}

/// A datagram of the application that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedDatagram {
    /// The number that the sender wrote into it.
    pub number: u32,
    /// Its size with the number.
    pub bytes: usize,
}

/// Bytes of the number of a datagram.
pub(super) const DATAGRAM_NUMBER: usize = 4;

/// The error code of streams reset and stopped.
pub(super) const NO_ERROR: VarInt = VarInt::from_u32(0);

/// The stack's name of stream `number`.
pub(super) fn stream_id(number: u64) -> StreamId {
    StreamId::new(Side::Client, Dir::Uni, number)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// The application may write.
    #[default]
    Writable,
    /// The stack has all of it.
    Finished,
    /// Acknowledged or reset.
    Closed,
}

/// A stream of the sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutgoingStream {
    /// Bytes that the stack has taken.
    pub(super) written: u64,
    pub(super) priority: i32,
    pub(super) state: State,
}

/// The streams of the sender.
pub(super) struct Outgoing {
    pub(super) controller: ControllerHandle,
    pub(super) connected: bool,
    pub(super) streams: Numbered<OutgoingStream>,
    /// How many are opened in the stack: the next wait for the end of the handshake, or for the receiver's permission.
    pub(super) opened: u64,
    /// How many are not closed.
    pub(super) unclosed: u64,
    /// Bytes that the stack has taken and will send or has sent.
    pub(super) written: u64,
    /// The application opens no more.
    pub(super) ended: bool,
    pub(super) events: VecDeque<StreamEvent>,
}

impl Outgoing {
    pub fn new(controller: ControllerHandle) -> Outgoing {
        Outgoing {
            controller,
            connected: false,
            streams: Numbered::default(),
            opened: 0,
            unclosed: 0,
            written: 0,
            ended: false,
            events: VecDeque::new(),
        }
    }

    /// Stream `number`, if it is not closed.
    pub(super) fn unclosed(&mut self, number: u64) -> Option<&mut OutgoingStream> {
        self.streams.get_mut(number).filter(|stream| stream.state != State::Closed)
    }

    /// Bytes that the stack has taken and not sent.
    pub(super) fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.controller.lock().stream_sent())
    }

    /// The handshake is complete.
    pub fn on_connected(&mut self, connection: &mut Connection) {
        self.connected = true;
        self.open_waiting(connection);
    }

    /// Opens in the stack what the receiver permits.
    pub(super) fn open_waiting(&mut self, connection: &mut Connection) {
        while self.connected && self.opened < self.streams.next() {
            let Some(id) = connection.streams().open(Dir::Uni) else { return };
            debug_assert_eq!(id, stream_id(self.opened));
            let mut stream = connection.send_stream(id);
            // A stream that was just opened has every operation.
            match self.streams.get(self.opened) {
                Some(OutgoingStream { state: State::Closed, .. }) | None => drop(stream.reset(NO_ERROR)),
                Some(OutgoingStream { priority: 0, .. }) => {}
                Some(OutgoingStream { priority, .. }) => drop(stream.set_priority(*priority)),
            }
            self.opened += 1;
        }
    }

    /// The stack reports an event of a stream.
    pub fn on_event(&mut self, event: StackEvent, connection: &mut Connection) {
        match event {
            StackEvent::Available { dir: Dir::Uni } => self.open_waiting(connection),
            StackEvent::Finished { id } => {
                self.close(id.index());
                self.events.push_back(StreamEvent::Acknowledged { stream: id.index() as u32 });
            }
            StackEvent::Stopped { id, .. } => {
                if let Some(sent) = self.reset(id.index(), Some(connection)) {
                    self.events.push_back(StreamEvent::Stopped { stream: id.index() as u32, sent });
                }
            }
            _ => {}
        }
    }

    /// Resets a stream and returns the bytes of it that were sent; `None` if it is closed.
    pub(super) fn reset(&mut self, number: u64, connection: Option<&mut Connection>) -> Option<u64> {
        let written = self.unclosed(number)?.written;
        let sent = self.controller.lock().sent_of_stream(number);
        self.written -= written - sent; // the stack drops them
        if let Some(connection) = connection
            && number < self.opened
        {
            // Fails if the stack has closed it already.
            let _ = connection.send_stream(stream_id(number)).reset(NO_ERROR);
        }
        self.close(number);
        Some(sent)
    }

    /// A stream is closed. Forgets the oldest streams that are.
    pub(super) fn close(&mut self, number: u64) {
        let Some(stream) = self.unclosed(number) else { return };
        stream.state = State::Closed;
        self.unclosed -= 1;
        let opened = self.opened;
        let first =
            self.streams.forget_while(|number, stream| number < opened && stream.state == State::Closed);
        self.controller.lock().forget_streams_before(first);
    }

    /// Gives the stack `bytes` zeros of a stream.
    pub(super) fn write(
        &mut self,
        connection: &mut Connection,
        number: u64,
        zeros: Bytes,
        last: bool,
    ) -> Result<u64, WriteError> {
        let opened = self.opened;
        let stream = self.streams.get_mut(number).filter(|stream| stream.state == State::Writable);
        let stream = stream.ok_or(WriteError::Closed)?;
        if number >= opened {
            return Err(WriteError::Blocked);
        }
        let (bytes, mut taken) = (zeros.len() as u64, 0);
        if bytes > 0 {
            let written = connection.send_stream(stream_id(number)).write_chunks(&mut [zeros]);
            taken = match written {
                Ok(written) => written.bytes as u64,
                Err(quinn_proto::WriteError::Blocked) => return Err(WriteError::Blocked),
                Err(_) => return Err(WriteError::Closed),
            };
            stream.written += taken;
            self.written += taken;
        }
        if last && taken == bytes && connection.send_stream(stream_id(number)).finish().is_ok() {
            stream.state = State::Finished;
        }
        Ok(taken)
    }

    /// Whether the application opens no more streams and all are acknowledged or reset; the reset is acknowledged.
    pub fn is_complete(&self, connection: &mut Connection) -> bool {
        self.ended && self.connected && self.unclosed == 0 && connection.streams().send_streams() == 0
    }
}

/// A stream of the receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IncomingStream {
    pub(super) bytes: u64,
    pub(super) finished: bool,
    pub(super) reset: bool,
    pub(super) stopped: bool,
    /// It has come further since the last call of [`Endpoint::take_progress`].
    pub(super) changed: bool,
}

impl IncomingStream {
    pub(super) fn is_over(&self) -> bool {
        !self.changed && (self.finished || self.reset || self.stopped)
    }
}

/// The streams and datagrams of the receiver.
#[derive(Default)]
pub(super) struct Incoming {
    pub(super) streams: Numbered<IncomingStream>,
    /// Streams that may have more data.
    pub(super) readable: Vec<StreamId>,
    /// The streams that have changed.
    pub(super) changed: Vec<u64>,
    pub(super) datagrams: Vec<ReceivedDatagram>,
}

impl Incoming {
    /// The stack reports an event of a stream.
    pub fn on_event(&mut self, event: StackEvent, connection: &mut Connection) {
        match event {
            StackEvent::Opened { dir: Dir::Uni } => {
                while let Some(id) = connection.streams().accept(Dir::Uni) {
                    self.streams.get_or_insert(id.index());
                    self.readable.push(id);
                }
            }
            StackEvent::Readable { id } => self.readable.push(id),
            _ => {}
        }
    }

    /// Reads what has arrived and returns its bytes.
    pub fn read(&mut self, connection: &mut Connection) -> u64 {
        let mut total = 0;
        let Incoming { streams, readable, changed, datagrams } = self;
        for id in readable.drain(..) {
            let Some(stream) = streams.get_mut(id.index()) else { continue };
            let before = stream.bytes;
            let mut source = connection.recv_stream(id);
            let Ok(mut chunks) = source.read(true) else { continue };
            loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => stream.bytes += chunk.bytes.len() as u64,
                    Ok(None) => stream.finished = true,
                    Err(quinn_proto::ReadError::Reset(_)) => stream.reset = true,
                    Err(quinn_proto::ReadError::Blocked) => break,
                }
                if stream.finished || stream.reset {
                    break;
                }
            }
            let _ = chunks.finalize(); // flow control is sent with the next datagram
            total += stream.bytes - before;
            let has_changed = stream.bytes > before || stream.finished || stream.reset;
            if has_changed && !std::mem::replace(&mut stream.changed, true) {
                changed.push(id.index());
            }
        }
        while let Some(datagram) = connection.datagrams().recv() {
            if let Some(number) = datagram.first_chunk::<DATAGRAM_NUMBER>() {
                let number = u32::from_be_bytes(*number);
                datagrams.push(ReceivedDatagram { number, bytes: datagram.len() });
            }
        }
        total
    }

    /// Forgets the oldest streams that are over.
    pub(super) fn forget(&mut self) {
        self.streams.forget_while(|_, stream| stream.is_over());
    }
}
