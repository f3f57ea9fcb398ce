//! What the owner of an endpoint calls for the streams and datagrams of its application.

use super::streams::*;
use super::{Endpoint, MAX_WRITE, largest_write};
use bytes::BytesMut;

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
