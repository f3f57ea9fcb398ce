//! A device over two queues.

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use std::collections::VecDeque;

/// The packets that the stack has yet to take, and those that it has sent.
#[derive(Default)]
pub struct Queues {
    pub received: VecDeque<Vec<u8>>,
    pub sent: VecDeque<Vec<u8>>,
}

/// A packet that has arrived.
pub struct Packet(Vec<u8>);

/// The queue of the next packet to be sent.
pub struct Sent<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Packet {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, process: F) -> R {
        process(&self.0)
    }
}

impl TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, size: usize, fill: F) -> R {
        let mut packet = vec![0; size];
        let result = fill(&mut packet);
        self.0.push_back(packet);
        result
    }
}

impl Device for Queues {
    type RxToken<'a> = Packet;
    type TxToken<'a> = Sent<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Packet, Sent<'_>)> {
        self.received.pop_front().map(|packet| (Packet(packet), Sent(&mut self.sent)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sent<'_>> {
        Some(Sent(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = 1500;
        capabilities
    }
}
