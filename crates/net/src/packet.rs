//! Packets: small, copied, never allocated.

use units::Time;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// TCP data or SYN, on its way to the receiver.
    Data,
    /// TCP acknowledgement, on its way to the sender.
    Ack,
    /// UDP data.
    Udp,
}

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When it was sent by its source.
    pub sent: Time,
    /// ACK: the timestamp echoed, the sending time of a data packet.
    pub echo: Time,
    /// When its transmission began on the link that it is on; the network keeps this.
    pub began: Time,
    /// Place in the table of routes: the link that it is on.
    pub route: u32,
    /// Which flow.
    pub flow: u32,
    /// Data: its number, 0 the first. ACK: the number of the next packet expected.
    pub seq: u32,
    /// ACK: where the SACK blocks lie, or [`Packet::NO_BLOCKS`].
    pub blocks: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// What it is.
    pub kind: Kind,
    /// Congestion experienced (RFC 3168).
    pub marked: bool,
    /// Data: its sender knows ECN, it may be marked (ECT). ACK: the receiver echoes congestion (ECE).
    pub ecn: bool,
    /// Data: the sender has answered to an echo (CWR).
    pub cwr: bool,
}

impl Packet {
    /// The value of `blocks` for an ACK without any.
    pub const NO_BLOCKS: u32 = u32::MAX;

    /// A packet of `size` bytes that its source sends at `sent` into `route`.
    #[inline]
    pub fn new(kind: Kind, flow: u32, route: u32, seq: u32, size: u32, sent: Time) -> Packet {
        Packet {
            sent,
            echo: Time::ZERO,
            began: Time::ZERO,
            route,
            flow,
            seq,
            blocks: Packet::NO_BLOCKS,
            size,
            kind,
            marked: false,
            ecn: false,
            cwr: false,
        }
    }
}
