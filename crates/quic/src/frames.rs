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

/// A frame, without the data that it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Padding { length: usize },
    Ping,
    Ack(AckFrame),
    ResetStream { id: u64, error: u64, final_size: u64 },
    StopSending { id: u64, error: u64 },
    Crypto { offset: u64, length: u64 },
    NewToken,
    Stream { id: u64, offset: u64, length: u64, fin: bool },
    MaxData(u64),
    MaxStreamData { id: u64, maximum: u64 },
    MaxStreams { bidirectional: bool, maximum: u64 },
    DataBlocked(u64),
    StreamDataBlocked { id: u64, limit: u64 },
    StreamsBlocked { bidirectional: bool, limit: u64 },
    NewConnectionId { sequence: u64, retire_prior_to: u64, id: Vec<u8> },
    RetireConnectionId(u64),
    PathChallenge,
    PathResponse,
    ConnectionClose { application: bool, error: u64 },
    HandshakeDone,
    ImmediateAck,
    Datagram { length: u64 },
    AckFrequency,
}

impl Frame {
    /// Whether the receiver must acknowledge it (RFC 9002 section 2).
    pub fn elicits_ack(&self) -> bool {
        !matches!(self, Frame::Padding { .. } | Frame::Ack(_) | Frame::ConnectionClose { .. })
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

    fn close(&mut self, application: bool) -> Option<Frame> {
        let error = self.integer()?;
        self.integers(!application as u32)?;
        self.skip_counted()?;
        Some(Frame::ConnectionClose { application, error })
    }

    fn new_connection_id(&mut self) -> Option<Frame> {
        let (sequence, retire_prior_to) = (self.integer()?, self.integer()?);
        let length = *self.rest.first()? as u64;
        self.skip(1)?;
        let id = self.rest.get(..length as usize)?.to_vec();
        self.skip(length + 16)?; // and the stateless reset token
        Some(Frame::NewConnectionId { sequence, retire_prior_to, id })
    }

    fn padding(&mut self) -> Frame {
        let zeros = self.rest.iter().take_while(|byte| **byte == 0).count();
        self.rest = &self.rest[zeros..];
        Frame::Padding { length: 1 + zeros }
    }

    /// A frame about flow control.
    fn limit(&mut self, kind: u64) -> Option<Frame> {
        let bidirectional = matches!(kind, 0x12 | 0x16);
        Some(match kind {
            0x10 => Frame::MaxData(self.integer()?),
            0x11 => Frame::MaxStreamData { id: self.integer()?, maximum: self.integer()? },
            0x12 | 0x13 => Frame::MaxStreams { bidirectional, maximum: self.integer()? },
            0x14 => Frame::DataBlocked(self.integer()?),
            0x15 => Frame::StreamDataBlocked { id: self.integer()?, limit: self.integer()? },
            _ => Frame::StreamsBlocked { bidirectional, limit: self.integer()? },
        })
    }

    fn read(&mut self) -> Option<Frame> {
        let kind = self.integer()?;
        Some(match kind {
            0x00 => self.padding(),
            0x01 => Frame::Ping,
            0x02 | 0x03 => Frame::Ack(self.ack(kind == 3)?),
            0x04 => {
                let (id, error) = (self.integer()?, self.integer()?);
                Frame::ResetStream { id, error, final_size: self.integer()? }
            }
            0x05 => Frame::StopSending { id: self.integer()?, error: self.integer()? },
            0x06 => Frame::Crypto { offset: self.integer()?, length: self.skip_counted()? },
            0x07 => {
                self.skip_counted()?;
                Frame::NewToken
            }
            0x08..=0x0f => self.stream(kind)?,
            0x10..=0x17 => self.limit(kind)?,
            0x18 => self.new_connection_id()?,
            0x19 => Frame::RetireConnectionId(self.integer()?),
            0x1a | 0x1b => {
                self.skip(8)?;
                if kind == 0x1a { Frame::PathChallenge } else { Frame::PathResponse }
            }
            0x1c | 0x1d => self.close(kind == 0x1d)?,
            0x1e => Frame::HandshakeDone,
            0x1f => Frame::ImmediateAck,
            0x30 => Frame::Datagram { length: std::mem::take(&mut self.rest).len() as u64 },
            0x31 => Frame::Datagram { length: self.skip_counted()? },
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(payload: &[u8]) -> Vec<Frame> {
        Frames::new(payload).collect()
    }

    fn acks(payload: &[u8]) -> Vec<AckFrame> {
        let ack = |frame| if let Frame::Ack(ack) = frame { Some(ack) } else { None };
        Frames::new(payload).filter_map(ack).collect()
    }

    fn integer(n: u64, out: &mut Vec<u8>) {
        match n {
            0..0x40 => out.push(n as u8),
            0x40..0x4000 => out.extend((n as u16 | 0x4000).to_be_bytes()),
            0x4000..0x4000_0000 => out.extend((n as u32 | 0x8000_0000).to_be_bytes()),
            _ => out.extend((n | 0xc000_0000_0000_0000).to_be_bytes()),
        }
    }

    /// An ACK frame as RFC 9000 section 19.3 writes it.
    fn write_ack(frame: &AckFrame, out: &mut Vec<u8>) {
        let (low, largest) = frame.ranges[0];
        let first = [
            2 + frame.ecn.is_some() as u64,
            largest,
            frame.delay,
            frame.ranges.len() as u64 - 1,
            largest - low,
        ];
        first.into_iter().for_each(|n| integer(n, out));
        for pair in frame.ranges.windows(2) {
            integer(pair[0].0 - pair[1].1 - 2, out);
            integer(pair[1].1 - pair[1].0, out);
        }
        if let Some(counts) = frame.ecn {
            [counts.ect0, counts.ect1, counts.ce].into_iter().for_each(|n| integer(n, out));
        }
    }

    #[test]
    fn integers_are_those_of_the_rfc() {
        // RFC 9000 appendix A.1.
        let vectors: [(&[u8], u64); 5] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ];
        for (bytes, number) in vectors {
            assert_eq!(Frames::new(bytes).integer(), Some(number));
            assert_eq!(Frames::new(&bytes[..bytes.len() - 1]).integer(), None);
        }
    }

    #[test]
    fn an_ack_frame_has_ranges_and_counts() {
        // PING; ACK with ECN: largest 300, delay 5, one more range, first range 2; gap 0, range 1; counts 7, 0, 3; PADDING.
        let payload = [1, 3, 0x41, 0x2c, 5, 1, 2, 0, 1, 7, 0, 3, 0, 0];
        let frames = read(&payload);
        assert_eq!(frames.len(), 3);
        assert_eq!(frames[2], Frame::Padding { length: 2 });
        let ack = &acks(&payload)[0];
        assert_eq!(ack.ranges, [(298, 300), (295, 296)]);
        assert_eq!((ack.delay, ack.ecn), (5, Some(EcnCounts { ect0: 7, ect1: 0, ce: 3 })));
        assert_eq!(frames.iter().map(Frame::elicits_ack).collect::<Vec<_>>(), [true, false, false]);
    }

    #[test]
    fn every_ack_frame_of_a_packet_is_read() {
        // The last frame of a packet with MAX_DATA, NEW_CONNECTION_ID and a STREAM frame with a length; two ACK frames.
        let mut payload = vec![0x10, 0x40, 0x40, 0x18, 1, 0, 4, 9, 9, 9, 9];
        payload.extend([0; 16]);
        payload.extend([0x02, 0x05, 0, 0, 0x02]);
        payload.extend([0x0e, 0x02, 0x08, 0x03, 1, 2, 3]);
        payload.extend([0x02, 0x09, 0, 0, 0]);
        let frames = read(&payload);
        assert_eq!(frames[0], Frame::MaxData(64));
        assert_eq!(frames[1], Frame::NewConnectionId { sequence: 1, retire_prior_to: 0, id: vec![9; 4] });
        assert_eq!(frames[3], Frame::Stream { id: 2, offset: 8, length: 3, fin: false });
        let ranges: Vec<_> = acks(&payload).into_iter().map(|ack| ack.ranges).collect();
        assert_eq!(ranges, [vec![(3, 5)], vec![(9, 9)]]);
        // A STREAM frame without a length reaches to the end.
        assert_eq!(read(&[0x09, 2, 2, 5, 0, 0]), [Frame::Stream { id: 2, offset: 0, length: 4, fin: true }]);
    }

    #[test]
    fn malformed_frames_end_the_packet() {
        let malformed: [&[u8]; 8] = [
            &[2, 0x41],             // cut
            &[2, 5, 0, 0, 6],       // a range below zero
            &[2, 5, 0, 1, 0, 4, 0], // a gap below zero
            &[2, 5, 0, 0x40],       // a count that is cut
            &[6, 0, 9, 1],          // less data than its length
            &[0x18, 0, 0, 200, 1],  // a connection identifier that is cut
            &[0x21, 0],             // unknown
            &[3, 5, 0, 0, 0, 1, 1], // a count is missing
        ];
        for payload in malformed {
            assert_eq!(read(payload), [], "{payload:?}");
            let mut after = vec![1];
            after.extend(payload);
            assert_eq!(read(&after), [Frame::Ping]);
        }
    }

    fn ack_frame() -> impl Strategy<Value = AckFrame> {
        let steps = prop::collection::vec((2..40_u64, 0..70_000_u64), 1..12);
        let counts = prop::option::of((0..1_u64 << 40, 0..9_u64, 0..1_u64 << 20));
        (0..1_u64 << 50, 0..1_u64 << 20, steps, counts).prop_map(|(lowest, delay, steps, counts)| {
            let mut ranges = Vec::new();
            let mut next = lowest;
            for (gap, length) in steps {
                ranges.push((next, next + length));
                next += length + gap;
            }
            ranges.reverse();
            let ecn = counts.map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce });
            AckFrame { ranges, delay, ecn }
        })
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(payload in prop::collection::vec(any::<u8>(), 0..80)) {
            let frames = read(&payload);
            prop_assert!(frames.len() <= payload.len());
            for ack in acks(&payload) {
                prop_assert!(ack.ranges.iter().all(|(low, high)| low <= high));
                prop_assert!(ack.ranges.windows(2).all(|pair| pair[1].1 + 1 < pair[0].0));
            }
        }

        #[test]
        fn ack_frames_are_read_as_written(frames in prop::collection::vec(ack_frame(), 1..4), end in any::<bool>()) {
            let mut payload = vec![1];
            frames.iter().for_each(|frame| write_ack(frame, &mut payload));
            if end {
                payload.extend([0x0a, 0, 1, 7]);
            }
            prop_assert_eq!(acks(&payload), frames);
        }
    }
}
