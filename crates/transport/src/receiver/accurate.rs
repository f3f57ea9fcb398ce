//! Accurate ECN feedback (RFC 9768): the counters of a receiver, the ACKs that marks cause, and the AccECN option.
//!
//! As in Linux (`tcp_ecn_option` 2, its default), every ACK has the option, and one SACK block less if that is needed for it. That
//! is more than RFC 9768 section 3.2.3.3 demands (after a change of the codepoint, and each 2^22 bytes): an ACK of more than
//! seven segments without the option counts as many marks as are possible.

use crate::accurate_ecn::{ByteCounters, ace};
use crate::blocks::Blocks;
use net::{Ecn, EcnEcho, RouterReply};

/// CE packets that no ACK has reported, at which one is sent at once (RFC 9768 section 3.2.2.5.1).
const UNREPORTED: u32 = 2;
/// Bytes of TCP options in a packet, and of the timestamps among them.
const OPTION_SPACE: u32 = 40;
const TIMESTAMPS: u32 = 12;

/// What a receiver counts.
#[derive(Clone, Debug, Default)]
pub(super) struct EcnCounters {
    /// CE packets, copies included.
    packets: u64,
    bytes: ByteCounters,
    /// The codepoint of the last packet.
    last: Ecn,
    /// CE packets since the last ACK.
    unreported: u32,
}

/// The bytes on the wire of an option with `fields` counters: kind, length, three bytes for each, and a multiple of four.
fn option_bytes(fields: u32) -> u32 {
    (2 + 3 * fields).next_multiple_of(4)
}

/// The counters for which an ACK with `blocks` SACK blocks has room: those of ECT and CE, or of both ECT codepoints and CE.
fn fields_with(blocks: u32, timestamps: bool) -> Option<u32> {
    let stamps = if timestamps { TIMESTAMPS } else { 0 };
    let reported = if blocks > 0 { 4 + 8 * blocks } else { 0 };
    [3, 2].into_iter().find(|fields| stamps + reported + option_bytes(*fields) <= OPTION_SPACE)
}

/// The SACK blocks of at most `blocks` ones beside which the option has room, and its counters.
fn fit(blocks: u32, timestamps: bool) -> Option<(u32, u32)> {
    (0..=blocks).rev().find_map(|blocks| Some((blocks, fields_with(blocks, timestamps)?)))
}

impl EcnCounters {
    /// Counts a packet of `payload` bytes. Returns whether it is acknowledged at once.
    pub(super) fn count(&mut self, ecn: Ecn, payload: u32) -> bool {
        let (marked, changed) = (ecn == Ecn::Ce, ecn != self.last);
        self.last = ecn;
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 | Ecn::Ect1 => self.bytes.ect += u64::from(payload),
            Ecn::Ce => self.bytes.ce += u64::from(payload),
        }
        if marked {
            self.packets += 1;
            self.unreported += 1;
        }
        changed || self.unreported >= UNREPORTED
    }

    /// The field ACE of the next ACK.
    pub(super) fn field(&self) -> EcnEcho {
        EcnEcho::from_ace(ace(self.packets))
    }

    /// An ACK with `blocks` reports the marks: the option, if it is `wanted` and has room, and its bytes on the wire. The last
    /// blocks leave if that is needed for it.
    pub(super) fn report(
        &mut self,
        blocks: &mut Blocks,
        wanted: bool,
        timestamps: bool,
    ) -> Option<(RouterReply, u32)> {
        self.unreported = 0;
        let (count, fields) = fit(blocks.as_slice().len() as u32, timestamps).filter(|_| wanted)?;
        blocks.truncate(count);
        let [ect, ce] = self.bytes.fields();
        Some((RouterReply::EcnBytes { fields: fields as u8, ect, ce }, option_bytes(fields)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{EcnFeedback, Options};
    use crate::receiver::Receiver;
    use crate::recording::RecordingContext;
    use crate::testing::ms;
    use net::{Packet, PacketKind};
    use std::sync::Arc;

    struct Bench {
        receiver: Receiver,
        context: RecordingContext,
    }

    fn bench(options: Options) -> Bench {
        let feedback = EcnFeedback::Accurate;
        let options =
            Options { ecn: true, ecn_feedback: feedback, quick_acks: 0, moderate_rcvbuf: false, ..options };
        let mut bench =
            Bench { receiver: Receiver::new(0, 1, Arc::new(options)), context: RecordingContext::default() };
        bench.arrive(0, 0, Ecn::NotEct); // the SYN
        bench
    }

    /// Number, field ACE, size and option of an ACK.
    type Sent = (u32, u8, u32, Option<[u32; 3]>);

    impl Bench {
        fn arrive(&mut self, at: u64, seq: u32, ecn: Ecn) -> Option<Sent> {
            self.context.now = ms(at);
            let packet = Packet { ecn, ..Packet::new(PacketKind::Data, 0, 0, seq, 1500, ms(at)) };
            self.receiver.on_data(&mut self.context, &packet);
            self.sent()
        }

        fn sent(&mut self) -> Option<Sent> {
            assert!(self.context.sent.len() <= 1);
            self.context.sent.pop().map(|(ack, options)| {
                let counters = match options.reply {
                    RouterReply::EcnBytes { fields, ect, ce } => Some([fields.into(), ect, ce]),
                    _ => None,
                };
                (ack.seq, ack.ece.ace().expect("the field ACE"), ack.size, counters)
            })
        }
    }

    #[test]
    fn the_option_has_the_room_beside_timestamps_and_sack_blocks() {
        assert_eq!([0, 1, 2, 3].map(|blocks| fields_with(blocks, true)), [Some(3), Some(3), Some(2), None]);
        assert_eq!([2, 3, 4].map(|blocks| fields_with(blocks, false)), [Some(3), Some(3), None]);
        assert_eq!([2, 3].map(option_bytes), [8, 12]);
        assert_eq!(
            [0, 2, 3, 4].map(|blocks| fit(blocks, true)),
            [0, 2, 2, 2].map(|n| Some((n, if n > 0 { 2 } else { 3 })))
        );
        assert_eq!(fit(4, false), Some((3, 3)));
    }

    #[test]
    fn changes_of_the_codepoint_are_acknowledged_at_once_with_the_option() {
        let mut b = bench(Options::linux());
        let (size, mss) = (52, 1448);
        // The first ECT(0) packet is a change.
        assert_eq!(b.arrive(20, 1, Ecn::Ect0), Some((2, 5, size + 12, Some([3, 1 + mss, 0]))));
        assert_eq!(b.arrive(21, 2, Ecn::Ect0), None);
        assert_eq!(b.arrive(21, 3, Ecn::Ect0), Some((4, 5, size + 12, Some([3, 1 + 3 * mss, 0]))));
        assert_eq!(b.arrive(22, 4, Ecn::Ect0), None);
        assert_eq!(b.arrive(22, 5, Ecn::Ect0), Some((6, 5, size + 12, Some([3, 1 + 5 * mss, 0]))));
        // A mark, and what follows it: both at once.
        assert_eq!(b.arrive(23, 6, Ecn::Ect0), None);
        assert_eq!(b.arrive(23, 7, Ecn::Ce), Some((8, 6, size + 12, Some([3, 1 + 6 * mss, mss]))));
        assert_eq!(b.arrive(24, 8, Ecn::Ect0), Some((9, 6, size + 12, Some([3, 1 + 7 * mss, mss]))));
        // Of marks in a row every second one.
        let acks: Vec<_> = (9..14).map(|seq| b.arrive(25, seq, Ecn::Ce).map(|ack| (ack.0, ack.1))).collect();
        assert_eq!(acks, [Some((10, 7)), None, Some((12, 1)), None, Some((14, 3))]);
        // A copy counts, even of a segment that was acknowledged long ago.
        assert_eq!(b.arrive(26, 2, Ecn::Ce).map(|ack| (ack.0, ack.1)), Some((14, 4)));
    }

    #[test]
    fn without_the_option_only_the_field_is_there() {
        let mut b = bench(Options { accecn_option: false, ..Options::linux() });
        assert_eq!(b.arrive(20, 1, Ecn::Ect1), Some((2, 5, 52, None)));
        assert_eq!(b.arrive(20, 2, Ecn::Ce), Some((3, 6, 52, None)));
        let mut b = bench(Options { sack: false, ..Options::linux() });
        assert_eq!(b.arrive(20, 1, Ecn::Ce), Some((2, 6, 64, Some([3, 1, 1448]))));
    }

    #[test]
    fn counters_of_bytes_wrap_after_24_bits() {
        let mut b = bench(Options { delayed_ack: false, ..Options::linux() });
        let last = (1..11_588).map(|seq| b.arrive(20, seq, Ecn::Ect0).unwrap()).last().unwrap();
        assert_eq!(last.3, Some([3, (1 + 11_587 * 1448) & 0xff_ffff, 0])); // 16,777,977 bytes
        assert!(last.3.unwrap()[1] < 1000);
    }
}
