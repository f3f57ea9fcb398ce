//! What the packet keys of a connection report: each packet in plain text, when it leaves and when it arrives.

use crate::clock::Present;
use crate::control::{Contents, ControllerHandle};
use crate::frames::{Frame, Frames, Space};
use crate::qlog::{Qlog, write_frame};
use units::Time;

/// Receives the packets of one end of a connection.
#[derive(Clone)]
pub(crate) struct Observer {
    pub present: Present,
    /// The controller of a sender.
    pub handle: Option<ControllerHandle>,
    pub qlog: Option<Qlog>,
}

/// The JSON of the frames of a packet.
fn frames_text(payload: &[u8]) -> String {
    let mut text = String::new();
    Frames::new(payload).for_each(|frame| write_frame(&mut text, &frame));
    text
}

impl Observer {
    /// A packet of `size` bytes leaves; it is not encrypted yet.
    pub fn sent(&self, space: Space, number: u64, size: usize, payload: &[u8]) {
        if let Some(qlog) = &self.qlog {
            qlog.packet(self.present.get(), true, space, number, size, &frames_text(payload));
        }
        let Some(handle) = &self.handle else { return };
        let (mut contents, mut state) = (Contents::default(), handle.lock());
        for frame in Frames::new(payload) {
            contents.elicits_ack |= frame.elicits_ack();
            contents.padded |= matches!(frame, Frame::Padding { .. });
            contents.probe |= frame == Frame::ImmediateAck;
            if let Frame::Stream { id, offset, length, .. } = frame {
                state.on_stream_frame(id >> 2, offset + length); // the number is all but the two bits of its kind
            }
        }
        state.on_packet_sent(space, number, size, contents, self.present.get());
    }

    /// A packet of `size` bytes has arrived and is decrypted. `clock`: the other end's clock when it was sent, if the packet
    /// has it.
    pub fn received(&self, space: Space, number: u64, size: usize, payload: &[u8], clock: Option<Time>) {
        if let Some(qlog) = &self.qlog {
            qlog.packet(self.present.get(), false, space, number, size, &frames_text(payload));
        }
        let Some(handle) = &self.handle else { return };
        let acks = Frames::new(payload).filter_map(|frame| match frame {
            Frame::Ack(ack) => Some(ack),
            _ => None,
        });
        handle.lock().on_packet_received(self.present.get(), space, acks, clock);
    }
}
