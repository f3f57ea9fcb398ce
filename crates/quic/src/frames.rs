//! A reader of QUIC frames (RFC 9000 section 19, and the ACK frequency extension). It reads the payload of one packet and
//! allocates nothing but the ranges of ACK frames.

/// The packet number spaces (RFC 9000 section 12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Initial,
    Handshake,
    Data,
}

/// The counts of an ACK frame with ECN (RFC 9000 section 19.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EcnCounts {
    pub ect0: u64,
    pub ect1: u64,
    pub ce: u64,
}

/// An ACK frame (RFC 9000 section 19.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AckFrame {
    /// First and last packet number of each range, the highest range first. Never empty.
    pub ranges: Vec<(u64, u64)>,
    /// The delay field, not scaled.
    pub delay: u64,
    pub ecn: Option<EcnCounts>,
}

/// A frame. What congestion control and qlog do not need is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Padding {
        length: usize,
    },
    Ping,
    Ack(AckFrame),
    Crypto {
        offset: u64,
        length: u64,
    },
    Stream {
        id: u64,
        offset: u64,
        length: u64,
        fin: bool,
    },
    ConnectionClose,
    ImmediateAck,
    AckFrequency,
    /// Any other frame, by its name in qlog.
    Other(&'static str),
}

impl Frame {
    /// Whether the receiver must acknowledge it (RFC 9002 section 2).
    pub fn elicits_ack(&self) -> bool {
        !matches!(self, Frame::Padding { .. } | Frame::Ack(_) | Frame::ConnectionClose)
    }
}

/// The frames of a packet. It ends at the first frame that is malformed or unknown; `None` then comes early.
pub(crate) struct Frames<'a> {
    rest: &'a [u8],
}

impl<'a> Frames<'a> {
    pub fn new(payload: &'a [u8]) -> Frames<'a> {
        Frames { rest: payload }
    }

    /// A variable-length integer (RFC 9000 section 16).
    fn integer(&mut self) -> Option<u64> {
        let first = *self.rest.first()?;
        let (bytes, rest) = self.rest.split_at_checked(1 << (first >> 6))?;
        self.rest = rest;
        Some(bytes[1..].iter().fold((first & 0x3f) as u64, |n, byte| n << 8 | *byte as u64))
    }

    fn integers(&mut self, count: u32) -> Option<()> {
        (0..count).try_for_each(|_| self.integer().map(drop))
    }

    fn skip(&mut self, bytes: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }

    /// Skips a length and as many bytes.
    fn skip_counted(&mut self) -> Option<u64> {
        let length = self.integer()?;
        self.skip(length)?;
        Some(length)
    }

    fn ack(&mut self, with_ecn: bool) -> Option<AckFrame> {
        let largest = self.integer()?;
        let delay = self.integer()?;
        let more = self.integer()?;
        let mut low = largest.checked_sub(self.integer()?)?;
        let mut ranges = vec![(low, largest)];
        for _ in 0..more {
            let high = low.checked_sub(self.integer()?.checked_add(2)?)?;
            low = high.checked_sub(self.integer()?)?;
            ranges.push((low, high));
        }
        let ecn = if with_ecn {
            Some(EcnCounts { ect0: self.integer()?, ect1: self.integer()?, ce: self.integer()? })
        } else {
            None
        };
        Some(AckFrame { ranges, delay, ecn })
    }

    fn stream(&mut self, kind: u64) -> Option<Frame> {
        let id = self.integer()?;
        let offset = if kind & 4 != 0 { self.integer()? } else { 0 };
        let length =
            if kind & 2 != 0 { self.skip_counted()? } else { std::mem::take(&mut self.rest).len() as u64 };
        Some(Frame::Stream { id, offset, length, fin: kind & 1 != 0 })
    }

    fn close(&mut self, transport: bool) -> Option<Frame> {
        self.integers(1 + transport as u32)?;
        self.skip_counted()?;
        Some(Frame::ConnectionClose)
    }

    fn padding(&mut self) -> Frame {
        let zeros = self.rest.iter().take_while(|byte| **byte == 0).count();
        self.rest = &self.rest[zeros..];
        Frame::Padding { length: 1 + zeros }
    }

    fn other(&mut self, name: &'static str, integers: u32) -> Option<Frame> {
        self.integers(integers)?;
        Some(Frame::Other(name))
    }

    fn read(&mut self) -> Option<Frame> {
        let kind = self.integer()?;
        Some(match kind {
            0x00 => self.padding(),
            0x01 => Frame::Ping,
            0x02 | 0x03 => Frame::Ack(self.ack(kind == 3)?),
            0x04 => self.other("reset_stream", 3)?,
            0x05 => self.other("stop_sending", 2)?,
            0x06 => {
                let offset = self.integer()?;
                Frame::Crypto { offset, length: self.skip_counted()? }
            }
            0x07 => {
                self.skip_counted()?;
                Frame::Other("new_token")
            }
            0x08..=0x0f => self.stream(kind)?,
            0x10 => self.other("max_data", 1)?,
            0x11 => self.other("max_stream_data", 2)?,
            0x12 | 0x13 => self.other("max_streams", 1)?,
            0x14 => self.other("data_blocked", 1)?,
            0x15 => self.other("stream_data_blocked", 2)?,
            0x16 | 0x17 => self.other("streams_blocked", 1)?,
            0x18 => {
                self.integers(2)?;
                let length = *self.rest.first()? as u64;
                self.skip(1 + length + 16)?;
                Frame::Other("new_connection_id")
            }
            0x19 => self.other("retire_connection_id", 1)?,
            0x1a | 0x1b => {
                self.skip(8)?;
                Frame::Other(if kind == 0x1a { "path_challenge" } else { "path_response" })
            }
            0x1c | 0x1d => self.close(kind == 0x1c)?,
            0x1e => Frame::Other("handshake_done"),
            0x1f => Frame::ImmediateAck,
            0x30 | 0x31 => {
                if kind == 0x31 {
                    self.skip_counted()?;
                } else {
                    self.rest = &[];
                }
                Frame::Other("datagram")
            }
            0xaf => {
                self.integers(4)?;
                Frame::AckFrequency
            }
            _ => return None,
        })
    }
}

impl Iterator for Frames<'_> {
    type Item = Frame;
    fn next(&mut self) -> Option<Frame> {
        let before = self.rest;
        let frame = self.read();
        if frame.is_none() {
            self.rest = before;
        }
        frame
    }
}
