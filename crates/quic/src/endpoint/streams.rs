//! The streams and datagrams of an application: those that the sender opens, and those that the receiver reads.

use super::{Endpoint, MAX_WRITE, largest_write};
use crate::control::ControllerHandle;
use crate::numbered::Numbered;
use bytes::{Bytes, BytesMut};
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
    /// The receiver wants no more of it ([`Endpoint::stop_stream`]). The stream is reset.
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
const DATAGRAM_NUMBER: usize = 4;

/// The error code of streams reset and stopped.
const NO_ERROR: VarInt = VarInt::from_u32(0);

/// The stack's name of stream `number`.
fn stream_id(number: u64) -> StreamId {
    StreamId::new(Side::Client, Dir::Uni, number)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
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
struct OutgoingStream {
    /// Bytes that the stack has taken.
    written: u64,
    priority: i32,
    state: State,
}

/// The streams of the sender.
pub(super) struct Outgoing {
    controller: ControllerHandle,
    connected: bool,
    streams: Numbered<OutgoingStream>,
    /// How many are opened in the stack: the next wait for the end of the handshake, or for the receiver's permission.
    opened: u64,
    /// How many are not closed.
    unclosed: u64,
    /// Bytes that the stack has taken and will send or has sent.
    written: u64,
    /// The application opens no more.
    ended: bool,
    events: VecDeque<StreamEvent>,
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
    fn unclosed(&mut self, number: u64) -> Option<&mut OutgoingStream> {
        self.streams.get_mut(number).filter(|stream| stream.state != State::Closed)
    }

    /// Bytes that the stack has taken and not sent.
    fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.controller.lock().stream_sent())
    }

    /// The handshake is complete.
    pub fn on_connected(&mut self, connection: &mut Connection) {
        self.connected = true;
        self.open_waiting(connection);
    }

    /// Opens in the stack what the receiver permits.
    fn open_waiting(&mut self, connection: &mut Connection) {
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
    fn reset(&mut self, number: u64, connection: Option<&mut Connection>) -> Option<u64> {
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
    fn close(&mut self, number: u64) {
        let Some(stream) = self.unclosed(number) else { return };
        stream.state = State::Closed;
        self.unclosed -= 1;
        let opened = self.opened;
        let first =
            self.streams.forget_while(|number, stream| number < opened && stream.state == State::Closed);
        self.controller.lock().forget_streams_before(first);
    }

    /// Gives the stack `bytes` zeros of a stream.
    fn write(
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
struct IncomingStream {
    bytes: u64,
    finished: bool,
    reset: bool,
    stopped: bool,
    /// It has come further since the last call of [`Endpoint::take_progress`].
    changed: bool,
}

impl IncomingStream {
    fn is_over(&self) -> bool {
        !self.changed && (self.finished || self.reset || self.stopped)
    }
}

/// The streams and datagrams of the receiver.
#[derive(Default)]
pub(super) struct Incoming {
    streams: Numbered<IncomingStream>,
    /// Streams that may have more data.
    readable: Vec<StreamId>,
    /// The streams that have changed.
    changed: Vec<u64>,
    datagrams: Vec<ReceivedDatagram>,
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
    fn forget(&mut self) {
        self.streams.forget_while(|_, stream| stream.is_over());
    }
}

/// The streams of the sender's application; [`crate::Config::streams`] must be set, otherwise nothing is opened, taken or
/// sent. Streams are numbered 0, 1, 2, ... in the order of opening.
impl Endpoint {
    /// Opens a stream and returns its number; `None` after [`Endpoint::end_streams`]. Its data is taken once the handshake is
    /// complete and the receiver permits the stream.
    pub fn open_stream(&mut self) -> Option<u32> {
        let outgoing = self.outgoing.as_mut().filter(|outgoing| !outgoing.ended)?;
        let number = outgoing.streams.push(OutgoingStream::default());
        outgoing.unclosed += 1;
        if let Some((_, connection)) = &mut self.connection {
            outgoing.open_waiting(connection);
        }
        Some(number as u32)
    }

    /// The application opens no more streams. The flow is complete when all are acknowledged or reset.
    pub fn end_streams(&mut self) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.ended = true;
        }
    }

    /// Bytes that the stack should be given now, so that it is two packets ahead of what it has sent; zero before the
    /// handshake is complete. Whoever writes no more decides as late as possible what is sent next.
    pub fn write_room(&self) -> u64 {
        match &self.outgoing {
            Some(outgoing) if outgoing.connected => (2 * self.packet).saturating_sub(outgoing.unsent()),
            _ => 0,
        }
    }

    /// Bytes to give the stack at once if they need not be decided late, a quarter of the window but at least four packets:
    /// many small writes cost time.
    pub fn write_batch(&self) -> u64 {
        let window = self.controller.as_ref().map_or(0, |controller| controller.lock().window_bytes());
        largest_write(window, self.packet)
    }

    /// Gives the stack `bytes` bytes of a stream. `last`: they are the last ones; zero bytes are permitted. Returns how many
    /// were taken: at most 65,536, and fewer if the receiver does not permit more. `last` counts only if all were taken. While
    /// one stream is blocked, others may not be: only the first of [`crate::Config::streams`] that are not over are open.
    pub fn write_stream(&mut self, stream: u32, bytes: u64, last: bool) -> Result<u64, WriteError> {
        let outgoing = self.outgoing.as_mut().ok_or(WriteError::Closed)?;
        let Some((_, connection)) = &mut self.connection else {
            let writable = outgoing.streams.get(stream.into()).is_some_and(|s| s.state == State::Writable);
            return Err(if writable { WriteError::Blocked } else { WriteError::Closed });
        };
        let now = bytes.min(MAX_WRITE);
        outgoing.write(connection, stream.into(), self.zeros.slice(..now as usize), last && now == bytes)
    }

    /// Resets a stream (RESET_STREAM): of it the stack sends nothing any more, also nothing again that was lost. Returns the
    /// bytes of it that were sent at least once; `None` if the stream is acknowledged or reset. The final size on the wire is
    /// what the stack had taken.
    pub fn reset_stream(&mut self, stream: u32) -> Option<u64> {
        let connection = self.connection.as_mut().map(|(_, connection)| connection);
        self.outgoing.as_mut()?.reset(stream.into(), connection)
    }

    /// Sets the priority of a stream, at first 0: of what the stack has taken, also what it sends again, it sends the streams of
    /// the highest priority first, and those of one priority in turn. Returns false if the stream is acknowledged or reset.
    pub fn set_priority(&mut self, stream: u32, priority: i32) -> bool {
        let Some(outgoing) = &mut self.outgoing else { return false };
        let opened = outgoing.opened;
        let Some(entry) = outgoing.unclosed(stream.into()) else { return false };
        entry.priority = priority;
        if let Some((_, connection)) = &mut self.connection
            && u64::from(stream) < opened
        {
            return connection.send_stream(stream_id(stream.into())).set_priority(priority).is_ok();
        }
        true
    }

    /// Bytes of a stream that the stack has taken; `None` if the stream is acknowledged or reset.
    pub fn stream_written(&self, stream: u32) -> Option<u64> {
        let entry = self.outgoing.as_ref()?.streams.get(stream.into())?;
        (entry.state != State::Closed).then_some(entry.written)
    }

    /// Bytes of a stream that were sent at least once; `None` if the stream is acknowledged or reset.
    pub fn stream_sent(&self, stream: u32) -> Option<u64> {
        self.stream_written(stream)?;
        Some(self.controller.as_ref()?.lock().sent_of_stream(stream.into()))
    }

    /// Bytes of all streams that the stack has taken and not sent.
    pub fn unsent_bytes(&self) -> u64 {
        self.outgoing.as_ref().map_or(0, |outgoing| outgoing.unsent())
    }

    /// The next event of a stream, the oldest first. [`Endpoint::transmit_from`] finds them before it calls the application.
    pub fn next_stream_event(&mut self) -> Option<StreamEvent> {
        self.outgoing.as_mut()?.events.pop_front()
    }

    /// The largest datagram that [`Endpoint::send_datagram`] takes, bytes; `None` before the handshake is complete.
    pub fn max_datagram_bytes(&mut self) -> Option<usize> {
        self.outgoing.as_ref().filter(|outgoing| outgoing.connected)?;
        self.connection.as_mut()?.1.datagrams().max_size()
    }

    /// Sends a datagram (DATAGRAM frame, RFC 9221) of `bytes` bytes, of which the first four are `number`: in the next packet
    /// that leaves, before data of streams. It is not sent again if it is lost. Returns false if it was not taken: the handshake
    /// is not complete, it is smaller than its number or larger than [`Endpoint::max_datagram_bytes`], or 1 MiB waits.
    pub fn send_datagram(&mut self, number: u32, bytes: usize) -> bool {
        let largest = self.max_datagram_bytes().unwrap_or(0);
        let Some((_, connection)) = &mut self.connection else { return false };
        if !(DATAGRAM_NUMBER..=largest).contains(&bytes) {
            return false;
        }
        let mut content = BytesMut::zeroed(bytes);
        content[..DATAGRAM_NUMBER].copy_from_slice(&number.to_be_bytes());
        connection.datagrams().send(content.freeze(), false).is_ok()
    }
}

/// The streams of the receiver's application; [`crate::Config::streams`] must be set, otherwise there is nothing to take or
/// stop.
impl Endpoint {
    /// Appends to `streams` those that have come further since the last call, in the order of their numbers. A stream that has
    /// finished or was reset is reported as such once.
    pub fn take_progress(&mut self, streams: &mut Vec<StreamProgress>) {
        let Some(incoming) = &mut self.incoming else { return };
        incoming.changed.sort_unstable();
        for number in incoming.changed.drain(..) {
            if let Some(stream) = incoming.streams.get_mut(number) {
                stream.changed = false;
                let IncomingStream { bytes, finished, reset, .. } = *stream;
                streams.push(StreamProgress { stream: number as u32, bytes, finished, reset });
            }
        }
        incoming.forget();
    }

    /// The application wants no more of a stream (STOP_SENDING): what arrives of it is discarded, and it is not reported again.
    /// Returns false if nothing of it has arrived, or if it is finished, reset or stopped.
    pub fn stop_stream(&mut self, stream: u32) -> bool {
        let (Some(incoming), Some((_, connection))) = (&mut self.incoming, &mut self.connection) else {
            return false;
        };
        let Some(entry) = incoming.streams.get_mut(stream.into()) else { return false };
        let stopped = connection.recv_stream(stream_id(stream.into())).stop(NO_ERROR).is_ok();
        entry.stopped |= stopped;
        incoming.forget();
        stopped
    }

    /// Appends to `datagrams` those that have arrived since the last call.
    pub fn take_datagrams(&mut self, datagrams: &mut Vec<ReceivedDatagram>) {
        if let Some(incoming) = &mut self.incoming {
            datagrams.append(&mut incoming.datagrams);
        }
    }
}
