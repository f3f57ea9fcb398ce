//! The TCP receiver: reassembly, immediate and delayed ACKs, SACK blocks.

mod accurate;
mod compression;
mod decisions;
mod linux;
mod reported;
mod stats;
mod window_growth;

use crate::blocks::{AckOptions, Block, Blocks};
use crate::context::{FlowContext, FlowTimer};
use crate::options::{EcnFeedback, Options, Recovery};
use crate::ranges::SegmentRanges;
use linux::LinuxAcks;
use net::{Ecn, EcnEcho, Packet, PacketKind, RouterReply};
pub use stats::{ArrivalDetail, PacketNumbers, ReceiverStats};
use std::sync::Arc;
use units::{Span, Time};

/// Bytes of payload that GRO puts together.
const GRO_BYTES: u64 = 65_536;

/// A TCP receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    flow: u32,
    route: u32,
    options: Arc<Options>,
    /// Next segment expected; everything below has arrived.
    next: u32,
    /// What arrived beyond `next`.
    beyond: SegmentRanges,
    /// Blocks reported, the most recent first.
    recent: Vec<Block>,
    /// Segments whose ACK is delayed, until there are enough or the timer expires.
    delayed: u32,
    /// The newest segment that GRO merges with others of the same instant.
    merged: Option<u32>,
    /// The packet that arrived is a duplicate, to be reported by DSACK.
    duplicate: Option<u32>,
    /// The timestamp to echo: that of the segment that advanced the last ACK (RFC 7323).
    echo: Time,
    /// The router feedback of the last data packet.
    reply: RouterReply,
    last_ack: u32,
    /// When the SYN arrived last.
    syn_at: Time,
    /// Whether it decides as Linux when to acknowledge, and the state of these decisions.
    as_linux: bool,
    linux: LinuxAcks,
    /// What ACKs carry besides their number.
    contents: AckContents,
    /// The ECN echo of ACKs. ECE: a mark arrived, and no CWR since.
    echoing: EcnEcho,
    /// Counters.
    pub stats: ReceiverStats,
}

/// What ACKs carry besides their number. Each of these has one test in the path of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckContents {
    Nothing,
    /// SACK blocks.
    Blocks,
    /// Counters of ECN marks (RFC 9768).
    Counters,
    BlocksAndCounters,
}

impl AckContents {
    fn new(options: &Options) -> AckContents {
        match (options.reports(), options.has_accurate_ecn()) {
            (false, false) => AckContents::Nothing,
            (true, false) => AckContents::Blocks,
            (false, true) => AckContents::Counters,
            (true, true) => AckContents::BlocksAndCounters,
        }
    }
}

impl Receiver {
    /// Creates a receiver. Its ACKs take route `route`.
    pub fn new(flow: u32, route: u32, options: Arc<Options>) -> Receiver {
        Receiver {
            flow,
            route,
            next: 0,
            beyond: SegmentRanges::default(),
            recent: Vec::new(),
            delayed: 0,
            merged: None,
            duplicate: None,
            echo: Time::ZERO,
            reply: RouterReply::None,
            last_ack: 0,
            syn_at: Time::ZERO,
            as_linux: LinuxAcks::decide_for(&options),
            linux: LinuxAcks::new(&options),
            contents: AckContents::new(&options),
            echoing: EcnEcho::NONE,
            options,
            stats: ReceiverStats::default(),
        }
    }

    /// Number of segments delivered in order, including a SYN.
    pub fn in_order(&self) -> u32 {
        self.next
    }

    /// The start of the route of its ACKs.
    pub fn route(&self) -> u32 {
        self.route
    }

    /// Whether an ACK can wait for its timer.
    #[inline]
    pub fn delays_acks(&self) -> bool {
        self.options.delayed_ack || self.options.ack_compression || self.options.gro
    }

    /// Processes a data packet.
    #[inline]
    pub fn on_data<W: FlowContext>(&mut self, context: &mut W, packet: &Packet) {
        let now = context.now();
        let seq = packet.seq;
        let syn = seq == 0 && self.options.syn;
        if !syn {
            self.stats.arrived(packet, now);
        } else if self.stats.packets == 0 {
            self.syn_at = now;
        }
        if packet.echo != Time::ZERO || self.reply != RouterReply::None {
            self.reply = packet.router_reply(); // the packet has a header for routers, or the one before had
        }
        if self.as_linux {
            return self.on_linux_data(context, packet, syn);
        }
        self.store_stamp(packet);
        if self.options.ecn {
            self.take_mark(context, packet);
        }
        let in_order = seq == self.next && self.beyond.is_empty();
        if in_order {
            self.next += 1;
        } else if self.reassemble(packet, syn, now) && self.options.dsack && self.reports() {
            self.duplicate = Some(seq);
        }
        if self.options.delayed_ack && self.may_wait(seq) {
            if self.delayed == 0 {
                context.set_timer(FlowTimer::AckDelay, now + self.options.ack_delay);
            }
            self.delayed += 1;
            return;
        }
        if self.options.gro && in_order && !syn && self.merge(context, seq) {
            return;
        }
        self.merged = None;
        if std::mem::take(&mut self.delayed) > 0 {
            context.set_timer(FlowTimer::AckDelay, Time::NEVER);
        }
        self.acknowledge(context, seq);
    }

    /// Whether ACKs carry SACK blocks.
    #[inline]
    fn reports(&self) -> bool {
        matches!(self.contents, AckContents::Blocks | AckContents::BlocksAndCounters)
    }

    /// Stores the timestamp of a segment, if it is the one to echo.
    #[inline]
    fn store_stamp(&mut self, packet: &Packet) {
        if packet.seq <= self.last_ack && packet.sent >= self.echo {
            self.echo = packet.sent;
        }
    }

    /// The ACK of a segment waits for other segments that arrive at this instant (GRO): it leaves a picosecond later.
    #[inline(never)] // keeps the path without it short
    fn merge<W: FlowContext>(&mut self, context: &mut W, seq: u32) -> bool {
        if self.delayed as u64 >= GRO_BYTES / self.options.packet as u64 {
            return false;
        }
        self.delayed += 1;
        self.merged = Some(seq);
        context.set_timer(FlowTimer::AckDelay, context.now() + Span::from_ps(1));
        true
    }

    /// The delayed ACK timer expired.
    pub fn on_ack_delay<W: FlowContext>(&mut self, context: &mut W) {
        if self.as_linux {
            return self.on_linux_ack_delay(context);
        }
        if std::mem::take(&mut self.delayed) > 0 {
            let seq = self.merged.take().unwrap_or(self.next.wrapping_sub(1));
            self.acknowledge(context, seq);
        }
    }

    /// The round-trip time: from the SYN-ACK to the first data.
    fn rtt(&self) -> Option<Span> {
        (self.options.syn && self.stats.packets > 0).then(|| self.stats.first_at.since(self.syn_at))
    }

    /// Whether ns-2 delays the ACK of this segment: only of the first of two segments in order, never of the first packet
    /// or of a segment that fills a gap, but also of a repetition of the last segment in order.
    fn may_wait(&self, seq: u32) -> bool {
        let last = seq + 1 == self.next && self.beyond.is_empty();
        // The echo of a mark is not delayed with the recovery of Linux.
        let echo = self.echoing.is_ece() && self.options.recovery == Recovery::Rack;
        seq != 0 && last && !echo && self.delayed + 1 < self.options.ack_every
    }

    /// Stores a segment that is not in order, or fills a gap. Returns whether it had arrived before.
    #[cold]
    fn reassemble(&mut self, packet: &Packet, syn: bool, now: Time) -> bool {
        let seq = packet.seq;
        if seq == self.next {
            self.next = self.beyond.next_hole(seq + 1);
            self.beyond.advance(self.next);
            return false;
        }
        let repeated = !self.beyond.add(Block { start: seq, end: seq + 1 }, self.next, u32::MAX);
        if repeated && !syn {
            self.stats.repeated(packet, now);
        }
        repeated
    }

    /// The SACK blocks after the arrival of segment `seq`: first the block that contains it, then the most recent blocks
    /// that it does not cover (RFC 2018 section 4).
    fn blocks(&mut self, seq: u32) -> Blocks {
        let mut blocks = Blocks::limited(self.options.sack_blocks);
        if let Some(duplicate) = self.duplicate.take() {
            blocks.push(Block { start: duplicate, end: duplicate + 1 });
        }
        if self.as_linux {
            self.linux.reported.push_to(&mut blocks);
            return blocks;
        }
        self.note_block(seq);
        for block in &self.recent {
            if !blocks.push(*block) {
                break;
            }
        }
        blocks
    }

    /// Puts the block that contains segment `seq`, which arrived, before the other recent ones.
    fn note_block(&mut self, seq: u32) {
        if self.beyond.is_empty() {
            return self.recent.clear();
        }
        match self.beyond.range_of(seq) {
            Some(block) => {
                self.recent.retain(|b| !(block.start <= b.start && b.end <= block.end));
                self.recent.insert(0, block);
            }
            None => self.recent.retain(|b| b.end > self.next),
        }
        self.recent.truncate(self.options.sack_blocks as usize);
    }

    /// Updates the echo of CE marks.
    #[cold]
    fn take_mark<W: FlowContext>(&mut self, context: &mut W, packet: &Packet) {
        let marked = packet.ecn == Ecn::Ce;
        if self.options.ecn_feedback == EcnFeedback::Classic {
            // CWR is processed before CE: a mark on the packet that carries CWR starts a new echo.
            self.echoing = EcnEcho::from_flag(self.echoing.is_ece() && !packet.cwr || marked);
        } else if marked != self.echoing.is_ece() {
            // The segments before this one have an ACK of their own.
            if self.delayed > 0 {
                self.delayed = 0;
                self.merged = None;
                context.set_timer(FlowTimer::AckDelay, Time::NEVER);
                self.acknowledge(context, self.next.saturating_sub(1));
            }
            self.echoing = EcnEcho::from_flag(marked);
        }
    }

    #[inline]
    fn acknowledge<W: FlowContext>(&mut self, context: &mut W, seq: u32) {
        if self.contents != AckContents::Nothing || self.reply != RouterReply::None {
            return self.acknowledge_with_options(context, seq);
        }
        let ack = self.ack(context.now(), 0);
        context.send(ack, &AckOptions::NONE);
    }

    #[inline(never)] // keeps the path without options short
    fn acknowledge_with_options<W: FlowContext>(&mut self, context: &mut W, seq: u32) {
        let blocks = match self.contents {
            AckContents::Blocks => self.blocks(seq),
            AckContents::Nothing => Blocks::NONE,
            _ => return self.acknowledge_with_counters(context, seq),
        };
        let ack = self.ack(context.now(), blocks.as_slice().len());
        context.send(ack, &AckOptions { blocks, reply: self.reply });
    }

    /// Counts the codepoint of a packet, with accurate feedback. That of a SYN counts nothing: it is not ECN-capable.
    fn count_mark(&mut self, packet: &Packet) {
        let Some(counters) = &mut self.linux.counters else { return };
        self.linux.at_once |= counters.count(packet.ecn, packet.size - self.options.header);
        self.echoing = counters.field();
    }

    /// Sends an ACK with the field ACE and, after the handshake, the AccECN option. The reply of routers has precedence over it.
    #[cold]
    fn acknowledge_with_counters<W: FlowContext>(&mut self, context: &mut W, seq: u32) {
        let mut blocks = if self.reports() { self.blocks(seq) } else { Blocks::NONE };
        let wanted = self.options.accecn_option && self.reply == RouterReply::None && self.stats.packets > 0;
        let counters = self.linux.counters.as_mut();
        let option =
            counters.and_then(|counters| counters.report(&mut blocks, wanted, self.options.timestamps));
        let (reply, more) = option.unwrap_or((self.reply, 0));
        let ack = self.ack(context.now(), blocks.as_slice().len());
        context.send(Packet { size: ack.size + more, ..ack }, &AckOptions { blocks, reply });
    }

    /// The ACK of everything that arrived in order, with `blocks` SACK blocks.
    #[inline(always)]
    fn ack(&mut self, now: Time, blocks: usize) -> Packet {
        self.last_ack = self.next;
        let size = self.options.ack_size + 8 * blocks as u32;
        let ack = Packet::new(PacketKind::Ack, self.flow, self.route, self.next, size, now);
        Packet { echo: self.echo, ece: self.echoing, ..ack }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::RecordingContext;
    use crate::testing::{block, ms};

    /// Of the kernel's timer of combined ACKs.
    const SLACK: Span = Span::from_ps(100_000_000);

    struct Bench {
        receiver: Receiver,
        context: RecordingContext,
    }

    fn bench(options: Options) -> Bench {
        let options = Arc::new(Options { syn: true, moderate_rcvbuf: false, ..options });
        Bench { receiver: Receiver::new(0, 1, options), context: RecordingContext::default() }
    }

    impl Bench {
        /// Segment `seq` arrives at `at` milliseconds; the ACK and its blocks.
        fn data(&mut self, at: u64, seq: u32) -> Option<(u32, Vec<Block>)> {
            self.packet(at, Packet::new(PacketKind::Data, 0, 0, seq, 1500, ms(at)))
        }

        fn packet(&mut self, at: u64, packet: Packet) -> Option<(u32, Vec<Block>)> {
            self.context.now = ms(at);
            self.receiver.on_data(&mut self.context, &packet);
            self.sent()
        }

        fn sent(&mut self) -> Option<(u32, Vec<Block>)> {
            assert!(self.context.sent.len() <= 1);
            self.context.sent.pop().map(|(ack, options)| (ack.seq, options.blocks.as_slice().to_vec()))
        }

        /// The timer of delayed ACKs expires; when, and the ACK.
        fn fire(&mut self) -> (Time, Option<(u32, Vec<Block>)>) {
            let (_, at) = self.context.take_timer().expect("the timer is set");
            self.context.now = at;
            self.receiver.on_ack_delay(&mut self.context);
            (at, self.sent())
        }
    }

    #[test]
    fn reports_the_newest_block_first_and_duplicates_before_all() {
        let mut b = bench(Options { ack_compression: false, ..Options::linux() });
        assert_eq!(b.data(0, 0), Some((1, vec![])));
        assert_eq!(b.data(1, 2), Some((1, vec![block(2, 3)])));
        assert_eq!(b.data(2, 5), Some((1, vec![block(5, 6), block(2, 3)])));
        assert_eq!(b.data(3, 7), Some((1, vec![block(7, 8), block(5, 6), block(2, 3)])));
        assert_eq!(b.data(4, 9), Some((1, vec![block(9, 10), block(7, 8), block(5, 6)]))); // three at most
        assert_eq!(b.data(5, 6), Some((1, vec![block(5, 8), block(9, 10), block(2, 3)])));
        assert_eq!(b.data(6, 6), Some((1, vec![block(6, 7), block(5, 8), block(9, 10)])));
        assert_eq!(b.data(7, 1).map(|ack| ack.0), Some(3));
        assert_eq!(b.data(8, 1).map(|ack| ack.1[0]), Some(block(1, 2)));
        assert_eq!((b.receiver.in_order(), b.receiver.stats.duplicates), (3, 2));
        let mut none = bench(Options { sack: false, ..Options::linux() });
        none.data(0, 0);
        assert_eq!(none.data(1, 2), Some((1, vec![])));
    }

    #[test]
    fn segments_of_one_instant_are_acknowledged_once() {
        let mut b = bench(Options { quick_acks: 0, gro: true, ..Options::linux() });
        b.data(0, 0);
        for seq in 1..6 {
            assert_eq!(b.data(10, seq), None);
        }
        assert_eq!(b.fire(), (ms(10) + Span::from_ps(1), Some((6, vec![]))));
        // One alone waits for the usual time.
        assert_eq!(b.data(20, 6), None);
        assert_eq!(b.fire().1, None);
        assert_eq!(b.fire(), (ms(60) + Span::from_ps(1), Some((7, vec![]))));
        // Segments out of order are merged too; a gap ends a merged segment.
        assert_eq!(b.data(80, 8), None);
        assert_eq!(b.data(80, 9), None);
        assert_eq!(b.data(80, 11), Some((7, vec![block(8, 10)])));
        assert_eq!(b.fire(), (ms(80) + Span::from_ps(1), Some((7, vec![block(11, 12), block(8, 10)]))));
        // 64 kB are one ACK.
        let mut b = bench(Options { delayed_ack: false, gro: true, ..Options::linux() });
        b.data(0, 0);
        let acks = (1..100).filter(|seq| b.data(10, *seq).is_some()).count();
        assert_eq!(acks, 2);
    }

    #[test]
    fn every_second_segment_is_acknowledged_and_the_delay_follows_the_arrivals() {
        let mut b = bench(Options { quick_acks: 1, ..Options::linux() });
        b.data(0, 0);
        assert_eq!(b.data(100, 1).map(|ack| ack.0), Some(2)); // the one quick ACK
        assert_eq!(b.data(110, 2), None);
        assert_eq!(b.data(111, 3).map(|ack| ack.0), Some(4));
        assert_eq!(b.context.first_timer(), None);
        assert_eq!(b.data(112, 4), None);
        // 40 ms at first; arrivals within 20 ms keep it there. A miss doubles it.
        assert_eq!(b.fire(), (ms(152), Some((5, vec![]))));
        assert_eq!(b.data(172, 5), None); // a gap of 60 ms: half of 80, and the gap
        assert_eq!(b.context.first_timer(), Some((FlowTimer::AckDelay, ms(272))));
        // Out of order, or filling a gap: at once.
        assert_eq!(b.data(213, 7).map(|ack| ack.0), Some(6));
        assert_eq!(b.data(214, 6).map(|ack| ack.0), Some(8));
        // After a pause longer than the initial timeout ACKs are quick again.
        assert_eq!(b.data(5000, 8).map(|ack| ack.0), Some(9));
    }

    #[test]
    fn a_fixed_delay_stays() {
        let options = Options { ack_delay_max: Span::from_ms(40), quick_acks: 0, ..Options::linux() };
        let mut b = bench(options);
        b.data(0, 0);
        for seq in 1..4 {
            assert_eq!(b.data(100 * seq as u64, seq), None);
            assert_eq!(b.fire().0, ms(100 * seq as u64 + 40));
        }
    }

    #[test]
    fn combined_acks_wait_for_a_millisecond() {
        let mut b = bench(Options { ack_compression: true, quick_acks: 1, ..Options::linux() });
        b.data(0, 0);
        b.data(100, 1); // quick; the round-trip time is 100 ms
        for seq in 3..6 {
            assert_eq!(b.data(200, seq), Some((2, vec![block(3, seq + 1)])));
        }
        for seq in 6..50 {
            assert_eq!(b.data(200, seq), None);
        }
        assert_eq!(b.fire(), (ms(201) + SLACK, Some((2, vec![block(3, 50)]))));
        // At most 44 wait; the 45th is sent and the timer stops.
        for seq in 50..94 {
            assert_eq!(b.data(202, seq), None);
        }
        assert_eq!(b.data(202, 94), Some((2, vec![block(3, 95)])));
        assert_eq!(b.context.first_timer(), None);
        // Another next segment: three immediate ones again.
        assert_eq!(b.data(203, 96), None);
        assert_eq!(b.data(204, 2), Some((95, vec![block(96, 97)])));
        assert_eq!(b.data(205, 98).map(|ack| ack.0), Some(95));
        assert_eq!(b.data(206, 100).map(|ack| ack.0), Some(95));
        assert_eq!(b.data(207, 102).map(|ack| ack.0), Some(95));
        assert_eq!(b.data(208, 104), None);
        // The gap closes.
        assert_eq!(b.data(208, 95).map(|ack| ack.0), Some(97));
    }

    #[test]
    fn a_combined_ack_leaves_before_a_third_block_changes() {
        let mut b = bench(Options { quick_acks: 0, ..Options::linux() });
        b.data(0, 0);
        b.data(100, 1);
        for seq in [3, 5, 7] {
            assert!(b.data(101, seq).is_some());
        }
        assert_eq!(b.data(102, 9), None);
        // The waiting ACK has the block of 9. That of 11 waits for a further arrival: it has no ACK of its own.
        assert_eq!(b.data(102, 11), Some((2, vec![block(9, 10), block(7, 8), block(5, 6)])));
        assert_eq!(b.context.first_timer(), None);
        assert_eq!(b.data(102, 13), None);
        assert_eq!(b.data(102, 15), Some((2, vec![block(13, 14), block(11, 12), block(9, 10)])));
        // The first two blocks may change while an ACK waits.
        assert_eq!(b.data(102, 16), None);
        assert_eq!(b.data(102, 17), None);
        assert_eq!(b.data(102, 14), None);
        assert_eq!(b.fire().1, Some((2, vec![block(13, 18), block(11, 12), block(9, 10)])));
    }

    #[test]
    fn a_duplicate_below_is_reported_at_once_and_one_beyond_may_be_forgotten() {
        let mut b = bench(Options { quick_acks: 0, ..Options::linux() });
        b.data(0, 0);
        for seq in [1, 3, 4, 5] {
            b.data(100, seq);
        }
        assert_eq!(b.data(100, 6), None); // waits
        assert_eq!(b.data(100, 1), Some((2, vec![block(1, 2), block(3, 7)])));
        assert_eq!(b.context.first_timer(), None);
        assert_eq!(b.data(100, 0), Some((2, vec![block(0, 1), block(3, 7)])));
        assert_eq!(b.data(100, 4), None);
        assert_eq!(b.data(100, 7), None); // the ACK that waits reports segment 7, not the duplicate
        assert_eq!(b.fire(), (ms(101) + SLACK, Some((2, vec![block(3, 8)]))));
        assert_eq!(b.data(102, 5), None);
        assert_eq!(b.fire().1, Some((2, vec![block(5, 6), block(3, 8)])));
    }

    /// How many segments in order from `seq` on have an ACK of their own.
    fn immediate(b: &mut Bench, at: u64, seq: u32) -> u32 {
        (0..).find(|place| b.data(at, seq + place).is_none()).unwrap()
    }

    #[test]
    fn acks_are_quick_after_a_duplicate_and_after_a_timeout() {
        let mut b = bench(Options::linux());
        b.data(0, 0);
        assert_eq!(immediate(&mut b, 20, 1), 16);
        assert_eq!(b.data(21, 18).map(|ack| ack.0), Some(19));
        // A copy of the last segment uses one of sixteen; an older one none.
        assert!(b.data(22, 18).is_some());
        assert_eq!(immediate(&mut b, 23, 19), 15);
        assert!(b.data(24, 35).is_some() && b.data(24, 20).is_some());
        assert_eq!(immediate(&mut b, 25, 36), 16);
        assert!(b.data(26, 53).is_some());
        // The retransmission timeout after a round trip of 20 ms is 220 ms.
        assert_eq!(immediate(&mut b, 246, 54), 0);
        assert!(b.data(247, 55).is_some());
        assert_eq!(immediate(&mut b, 468, 56), 16);
    }

    #[test]
    fn acks_are_not_quick_if_the_first_segments_are_out_of_order_and_raise_the_window() {
        let mut b = bench(Options::linux());
        b.receiver = Receiver::new(0, 1, Arc::new(Options::linux()));
        b.data(0, 0);
        assert_eq!(b.data(20, 2), Some((1, vec![block(2, 3)])));
        assert_eq!(b.data(21, 1), Some((3, vec![])));
        // The window grows with four further ones.
        assert_eq!(immediate(&mut b, 22, 3), 4);
    }

    #[test]
    fn an_ack_is_not_delayed_for_longer_than_a_round_trip() {
        for (rtt, delay) in [(20, 40), (60, 60), (500, 81)] {
            let mut b = bench(Options { quick_acks: 0, ..Options::linux() });
            b.data(0, 0);
            assert_eq!(b.data(rtt, 1), None);
            assert_eq!(b.fire().0, ms(rtt + 40));
            assert_eq!(b.data(rtt + 41, 2), None); // the delay has doubled: 80, then half of it and the gap
            assert_eq!(b.fire().0, ms(rtt + 41 + delay));
        }
    }

    #[test]
    fn a_short_round_trip_shortens_the_wait() {
        let mut b = bench(Options { ack_compression: true, quick_acks: 1, ..Options::linux() });
        b.data(0, 0);
        b.data(10, 1);
        (3..6).for_each(|seq| drop(b.data(20, seq)));
        assert_eq!(b.data(20, 6), None);
        assert_eq!(b.fire().0, ms(20) + Span::from_ps(500_000_000) + SLACK);
        // The same where the first segments are not acknowledged at once.
        let mut b = bench(Options { ack_compression: true, quick_acks: 0, ..Options::linux() });
        b.data(0, 0);
        assert_eq!(b.data(10, 1), None);
        (3..6).for_each(|seq| drop(b.data(20, seq)));
        assert_eq!(b.data(20, 6), None);
        assert_eq!(b.fire().0, ms(20) + Span::from_ps(500_000_000) + SLACK);
    }

    #[test]
    fn marks_are_echoed_until_cwr_or_packet_by_packet() {
        let marked = |seq: u32, ce: bool, cwr: bool| Packet {
            ecn: if ce { Ecn::Ce } else { Ecn::Ect0 },
            cwr,
            ..Packet::new(PacketKind::Data, 0, 0, seq, 1500, ms(seq as u64))
        };
        let mut b = bench(Options { ecn: true, delayed_ack: false, ..Options::linux() });
        let mut echoes = Vec::new();
        for (seq, ce, cwr) in
            [(0, false, false), (1, true, false), (2, false, false), (3, false, true), (4, true, true)]
        {
            b.context.now = ms(seq as u64);
            b.receiver.on_data(&mut b.context, &marked(seq, ce, cwr));
            echoes.push(b.context.sent.pop().unwrap().0.ece.is_ece());
        }
        assert_eq!(echoes, [false, true, true, false, true]);
        let options =
            Options { ecn: true, ecn_feedback: EcnFeedback::PerPacket, quick_acks: 0, ..Options::linux() };
        let mut b = bench(options);
        for (seq, ce) in [(0, false), (1, false), (2, true), (3, true)] {
            b.context.now = ms(seq as u64);
            b.receiver.on_data(&mut b.context, &marked(seq, ce, false));
        }
        // The change has an ACK of its own for what was unmarked.
        let acks: Vec<_> = b.context.sent.iter().map(|(ack, _)| (ack.seq, ack.ece.is_ece())).collect();
        assert_eq!(acks[..2], [(1, false), (2, false)]);
        assert_eq!(acks.last().map(|ack| ack.1), Some(true));
    }

    #[test]
    fn marks_cwr_and_retransmissions_are_acknowledged_at_once() {
        let mut b = bench(Options { ecn: true, ..Options::linux() });
        let mut arrive = |at: u64, seq: u32, ecn: Ecn, cwr: bool| {
            b.packet(at, Packet { ecn, cwr, ..Packet::new(PacketKind::Data, 0, 0, seq, 1500, ms(at)) })
                .is_some()
        };
        let mut acks = |at, arrivals: &[(u32, Ecn, bool)]| -> Vec<bool> {
            arrivals.iter().map(|(seq, ecn, cwr)| arrive(at, *seq, *ecn, *cwr)).collect()
        };
        acks(0, &[(0, Ecn::NotEct, false)]);
        let quick: Vec<_> = (1..17).map(|seq| (seq, Ecn::Ect0, false)).collect();
        assert!(!acks(20, &quick).contains(&false));
        let plain = |seq| (seq, Ecn::Ect0, false);
        assert_eq!(acks(21, &[plain(17), plain(18), plain(19)]), [false, true, false]);
        // The first mark and the segment after it; further marks of the same echo are delayed as usual.
        let marked = |seq| (seq, Ecn::Ce, false);
        assert_eq!(acks(22, &[marked(20), marked(21), marked(22), marked(23)]), [true, true, false, true]);
        assert_eq!(acks(23, &[(24, Ecn::Ect0, true), plain(25), plain(26)]), [true, false, true]);
        let retransmission = (27, Ecn::NotEct, false);
        assert_eq!(acks(24, &[retransmission, plain(28), plain(29), plain(30)]), [true, true, false, true]);
    }

    #[test]
    fn a_segment_that_was_acknowledged_long_ago_does_not_change_the_echo() {
        let mut b = bench(Options::linux());
        for (at, seq) in [(0, 0), (20, 1), (21, 2), (22, 3), (30, 1)] {
            b.context.now = ms(at);
            let packet = Packet::new(PacketKind::Data, 0, 0, seq, 1500, ms(at));
            b.receiver.on_data(&mut b.context, &packet);
        }
        let echoes: Vec<_> = b.context.sent.iter().map(|(ack, _)| ack.echo).collect();
        assert_eq!(echoes, [ms(0), ms(20), ms(21), ms(22), ms(22)]);
    }

    #[test]
    fn the_echo_is_that_of_the_segment_that_advanced_the_last_ack() {
        let mut b = bench(Options { quick_acks: 0, ..Options::linux() });
        let at = |sent: u64, seq| Packet::new(PacketKind::Data, 0, 0, seq, 1500, ms(sent));
        let echo = |b: &mut Bench, now: u64, packet: Packet| {
            b.context.now = ms(now);
            b.receiver.on_data(&mut b.context, &packet);
            b.context.sent.pop().map(|(ack, _)| ack.echo)
        };
        assert_eq!(echo(&mut b, 10, at(1, 0)), Some(ms(1)));
        assert_eq!(echo(&mut b, 20, at(12, 1)), None);
        assert_eq!(echo(&mut b, 21, at(13, 2)), Some(ms(12))); // of the first of both
        assert_eq!(echo(&mut b, 30, at(22, 4)), Some(ms(12))); // out of order
        assert_eq!(echo(&mut b, 40, at(31, 3)), Some(ms(31)));
    }
}
