//! What the packet keys of a connection report: each packet in plain text, when it leaves and when it arrives.

use crate::clock::Present;
use crate::control::{Contents, ControllerHandle};
use crate::frames::{Frame, Frames, Space};
use units::Time;

/// Receives the packets of one end of a connection.
#[derive(Clone)]
pub(crate) struct Observer {
    pub present: Present,
    /// The controller of a sender.
    pub handle: Option<ControllerHandle>,
}

impl Observer {
    /// A packet of `size` bytes leaves; it is not encrypted yet.
    pub fn sent(&self, space: Space, number: u64, size: usize, payload: &[u8]) {
        let Some(handle) = &self.handle else { return };
        let mut contents = Contents::default();
        for frame in Frames::new(payload) {
            contents.elicits_ack |= frame.elicits_ack();
            contents.padded |= matches!(frame, Frame::Padding { .. });
            contents.probe |= frame == Frame::ImmediateAck;
            if let Frame::Stream { offset, length, .. } = frame {
                contents.stream_end = contents.stream_end.max(offset + length);
            }
        }
        handle.lock().on_packet_sent(space, number, size, contents, self.present.get());
    }

    /// A packet has arrived and is decrypted. `clock`: the other end's clock when it was sent, if the packet has it.
    pub fn received(&self, space: Space, _number: u64, payload: &[u8], clock: Option<Time>) {
        let Some(handle) = &self.handle else { return };
        let acks = Frames::new(payload).filter_map(|frame| match frame {
            Frame::Ack(ack) => Some(ack),
            _ => None,
        });
        handle.lock().on_packet_received(space, acks, clock);
    }
}
