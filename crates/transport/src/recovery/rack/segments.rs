//! The scoreboard of recovery `rack`: what the sender knows about each outstanding segment, the counts that follow from
//! it, and the order in which the segments were last sent.
//!
//! Segments are numbered; the connection knows which ones are outstanding. A segment is *reported* when a
//! SACK block covers it, *lost* when the sender has given it up, and *in retransmission* while a retransmission is in
//! flight.

use crate::blocks::Block;
use crate::ranges::SegmentRanges;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use units::Time;

const NONE: u32 = u32::MAX;

const REPORTED: u8 = 1;
const LOST: u8 = 2;
const RETRANSMITTING: u8 = 4;
const EVER_RETRANSMITTED: u8 = 8;
/// In the list of segments by time of sending.
const LISTED: u8 = 16;

/// One outstanding segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// When it was last sent.
    pub sent: Time,
    /// Segments delivered until then (the lower 32 bits).
    pub delivered: u32,
    older: u32,
    newer: u32,
    flags: u8,
}

impl Segment {
    /// SACK has reported it.
    pub fn reported(self) -> bool {
        self.flags & REPORTED != 0
    }
    /// It was ever retransmitted, also as a tail loss probe.
    pub fn ever_retransmitted(self) -> bool {
        self.flags & EVER_RETRANSMITTED != 0
    }
    /// It is given up, and no retransmission of it is in flight.
    pub fn awaits_retransmission(self) -> bool {
        self.flags & (LOST | RETRANSMITTING | REPORTED) == LOST
    }
    /// It is given up, whether retransmitted or not.
    pub fn given_up(self) -> bool {
        self.flags & LOST != 0
    }
    /// A retransmission is in flight.
    pub fn retransmitting(self) -> bool {
        self.flags & RETRANSMITTING != 0
    }
}

const UNSENT: Segment = Segment { sent: Time::ZERO, delivered: 0, older: NONE, newer: NONE, flags: 0 };

/// The outstanding segments and their counts.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    ring: Vec<Segment>,
    /// The ends of the list by time of sending; segments that are reported or lost are not in it.
    oldest: u32,
    newest: u32,
    /// Segments reported by SACK; without SACK, duplicate ACKs.
    pub sacked_out: u32,
    pub lost_out: u32,
    pub retrans_out: u32,
    /// Segments delivered, and segments marked as lost, since the start.
    pub delivered: u64,
    pub lost: u64,
    highest_sacked: u32,
    /// Segments that were marked as lost, the lowest number first: all that await retransmission, and others.
    marked: BinaryHeap<Reverse<u32>>,
    reports: SegmentRanges,
    /// The segments marked as lost of which the controller was not notified yet; only if it asks for them.
    newly_lost: Option<Vec<u32>>,
}

impl Default for Segments {
    fn default() -> Segments {
        Segments {
            ring: vec![UNSENT; 16],
            oldest: NONE,
            newest: NONE,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            delivered: 0,
            lost: 0,
            highest_sacked: 0,
            marked: BinaryHeap::new(),
            reports: SegmentRanges::default(),
            newly_lost: None,
        }
    }
}

impl Segments {
    #[inline]
    fn at(&mut self, seq: u32) -> &mut Segment {
        let mask = self.ring.len() - 1;
        &mut self.ring[seq as usize & mask]
    }

    /// Segment `seq`, which is outstanding.
    #[inline]
    pub fn get(&self, seq: u32) -> Segment {
        self.ring[seq as usize & (self.ring.len() - 1)]
    }

    /// The estimated number of segments in the network (RFC 6675: pipe), with `outstanding` segments outstanding.
    #[inline]
    pub fn in_flight(&self, outstanding: u32) -> u32 {
        (outstanding + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    /// One past the highest segment reported, at least `una`, the oldest outstanding one.
    pub fn highest_sacked(&self, una: u32) -> u32 {
        self.highest_sacked.max(una)
    }

    /// Whether a retransmission is in flight or the oldest of the segments outstanding was ever retransmitted.
    pub fn any_retransmission(&self, outstanding: Range<u32>) -> bool {
        self.retrans_out > 0 || (!outstanding.is_empty() && self.get(outstanding.start).ever_retransmitted())
    }

    // ---- events -----------------------------------------------------------------------------------------

    /// A new segment is sent, the next one after those outstanding.
    #[inline]
    pub fn append(&mut self, outstanding: Range<u32>, now: Time) {
        let seq = outstanding.end;
        if outstanding.len() >= self.ring.len() {
            self.grow(outstanding);
        }
        let older = std::mem::replace(&mut self.newest, seq);
        let delivered = self.delivered as u32;
        *self.at(seq) = Segment { sent: now, delivered, older, newer: NONE, flags: LISTED };
        if older == NONE {
            self.oldest = seq;
        } else {
            self.at(older).newer = seq;
        }
    }

    #[cold]
    fn grow(&mut self, outstanding: Range<u32>) {
        let mut ring = vec![UNSENT; self.ring.len() * 2];
        let mask = ring.len() - 1;
        for seq in outstanding {
            ring[seq as usize & mask] = self.get(seq);
        }
        self.ring = ring;
    }

    /// Segment `seq` is sent again. A tail loss probe does not count as in flight (RFC 8985 section 7).
    pub fn retransmit(&mut self, seq: u32, now: Time, probe: bool) {
        self.unlist(seq);
        let delivered = self.delivered as u32;
        let segment = self.at(seq);
        (segment.sent, segment.delivered) = (now, delivered);
        segment.flags |= EVER_RETRANSMITTED;
        if !probe && !segment.retransmitting() {
            segment.flags |= RETRANSMITTING;
            self.retrans_out += 1;
        }
        if self.get(seq).flags & (LOST | RETRANSMITTING) != LOST {
            self.list(seq);
        }
    }

    /// SACK reports segment `seq` for the first time.
    pub fn report(&mut self, seq: u32) {
        self.unlist(seq);
        let flags = self.get(seq).flags;
        let kept = match flags & (LOST | RETRANSMITTING) {
            // Without a mark the retransmission is still in flight.
            RETRANSMITTING => flags,
            _ => flags & !(LOST | RETRANSMITTING),
        };
        self.lost_out -= (flags & !kept & LOST != 0) as u32;
        self.retrans_out -= (flags & !kept & RETRANSMITTING != 0) as u32;
        self.at(seq).flags = kept | REPORTED;
        self.sacked_out += 1;
        self.delivered += 1;
        self.highest_sacked = self.highest_sacked.max(seq + 1);
    }

    /// Segment `seq`, the oldest outstanding one, is acknowledged cumulatively. Returns it.
    #[inline]
    pub fn acknowledge(&mut self, seq: u32, counts_delivery: bool) -> Segment {
        let segment = self.get(seq);
        if segment.flags == LISTED && segment.older == NONE && segment.newer != NONE {
            self.oldest = segment.newer; // without losses the oldest segment is the first of the list
            self.at(segment.newer).older = NONE;
        } else {
            self.unlist(seq);
            self.sacked_out -= segment.reported() as u32;
            self.lost_out -= (segment.flags & LOST != 0) as u32;
            self.retrans_out -= segment.retransmitting() as u32;
        }
        self.delivered += (counts_delivery && !segment.reported()) as u64;
        segment
    }

    /// Removes reports below `una`. Called after cumulative acknowledgements.
    #[inline]
    pub fn forget_reports(&mut self, una: u32) {
        if self.highest_sacked > 0 {
            self.reports.advance(una);
        }
    }

    /// Gives up segment `seq`. A lost retransmission counts again.
    pub fn mark_lost(&mut self, seq: u32) {
        let flags = self.get(seq).flags;
        if flags & REPORTED != 0 || flags & (LOST | RETRANSMITTING) == LOST {
            return;
        }
        self.unlist(seq);
        if flags & LOST == 0 {
            self.lost_out += 1;
        } else {
            self.retrans_out -= 1;
        }
        let kept = if flags & LOST == 0 { flags } else { flags & !RETRANSMITTING };
        self.at(seq).flags = (kept | LOST) & !LISTED;
        self.lost += 1;
        self.marked.push(Reverse(seq));
        if let Some(newly_lost) = &mut self.newly_lost {
            newly_lost.push(seq);
        }
    }

    /// Whether the controller asks for losses.
    #[inline]
    pub fn records_losses(&self) -> bool {
        self.newly_lost.is_some()
    }

    /// Keeps the numbers of segments that are marked as lost from now on, or no longer.
    pub fn record_losses(&mut self, needed: bool) {
        self.newly_lost = if needed { Some(self.take_losses()) } else { None };
    }

    /// The segments marked as lost since the last call.
    pub fn take_losses(&mut self) -> Vec<u32> {
        self.newly_lost.as_mut().map_or(Vec::new(), std::mem::take)
    }

    /// Takes all losses of the segments outstanding back.
    pub fn unmark_losses(&mut self, outstanding: Range<u32>) {
        for seq in outstanding.clone() {
            self.at(seq).flags &= !LOST;
        }
        self.lost_out = 0;
        self.order_by_sending(outstanding);
    }

    /// The receiver has discarded reported segments (reneging, RFC 2018 section 8): forgets all reports.
    pub fn forget_all_reports(&mut self, outstanding: Range<u32>) {
        for seq in outstanding.clone() {
            self.at(seq).flags &= !REPORTED;
        }
        self.sacked_out = 0;
        self.highest_sacked = 0;
        self.reports.clear();
        self.order_by_sending(outstanding);
    }

    // ---- queries ----------------------------------------------------------------------------------------

    /// Appends to `parts` the parts of `block` that no SACK block has reported before. Records the block.
    pub fn newly_reported(&mut self, outstanding: Range<u32>, block: Block, parts: &mut Vec<Block>) {
        self.reports.add_parts(block, outstanding.start, outstanding.end, parts);
    }

    /// The first segment from `una` on that awaits retransmission.
    pub fn next_lost(&mut self, una: u32) -> Option<u32> {
        while let Some(&Reverse(seq)) = self.marked.peek() {
            if seq >= una && self.get(seq).awaits_retransmission() {
                return Some(seq);
            }
            self.marked.pop();
        }
        None
    }

    // ---- order of sending -------------------------------------------------------------------------------

    fn list(&mut self, seq: u32) {
        let last = std::mem::replace(&mut self.newest, seq);
        let segment = self.at(seq);
        (segment.older, segment.newer) = (last, NONE);
        segment.flags |= LISTED;
        if last == NONE {
            self.oldest = seq;
        } else {
            self.at(last).newer = seq;
        }
    }

    #[inline]
    fn unlist(&mut self, seq: u32) {
        let Segment { older, newer, flags, .. } = self.get(seq);
        if flags & LISTED == 0 {
            return;
        }
        self.at(seq).flags &= !LISTED;
        if older == NONE {
            self.oldest = newer;
        } else {
            self.at(older).newer = newer;
        }
        if newer == NONE {
            self.newest = older;
        } else {
            self.at(newer).older = older;
        }
    }

    /// Lists every outstanding segment that is neither reported nor given up, by time of sending.
    fn order_by_sending(&mut self, outstanding: Range<u32>) {
        let mut listed: Vec<u32> = outstanding
            .clone()
            .filter(|seq| {
                let segment = self.get(*seq);
                !segment.reported() && !segment.awaits_retransmission()
            })
            .collect();
        listed.sort_by_key(|seq| (self.get(*seq).sent, *seq));
        for seq in outstanding {
            self.at(seq).flags &= !LISTED;
        }
        (self.oldest, self.newest) = (NONE, NONE);
        for seq in listed {
            self.list(seq);
        }
    }

    /// The segment sent longest ago among those that are neither reported nor given up.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The listed segment that was sent after `seq`.
    pub fn sent_after(&self, seq: u32) -> Option<u32> {
        let newer = self.get(seq).newer;
        (newer != NONE).then_some(newer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_ms(n)
    }

    const TEN: Range<u32> = 0..10;

    fn ten() -> Segments {
        let mut segments = Segments::default();
        TEN.for_each(|n| segments.append(0..n, ms(n.into())));
        segments
    }

    fn order(segments: &Segments) -> Vec<u32> {
        std::iter::successors(segments.oldest(), |seq| segments.sent_after(*seq)).collect()
    }

    /// Sacked, lost, in retransmission, and in flight with `outstanding` segments outstanding.
    fn counts(s: &Segments, outstanding: u32) -> [u32; 4] {
        [s.sacked_out, s.lost_out, s.retrans_out, s.in_flight(outstanding)]
    }

    #[test]
    fn counts_follow_a_segment_through_loss_and_repair() {
        let mut s = ten();
        assert_eq!(counts(&s, 10), [0, 0, 0, 10]);
        s.report(3);
        assert_eq!((counts(&s, 10), s.highest_sacked(0), s.delivered), ([1, 0, 0, 9], 4, 1));
        s.mark_lost(3); // reported: not lost
        s.mark_lost(0);
        s.mark_lost(0); // once
        assert_eq!((counts(&s, 10), s.lost), ([1, 1, 0, 8], 1));
        assert_eq!(s.next_lost(0), Some(0));
        s.retransmit(0, ms(20), false);
        assert_eq!((counts(&s, 10), s.next_lost(0)), ([1, 1, 1, 9], None));
        assert!(s.any_retransmission(TEN));
        s.mark_lost(0); // the retransmission is lost
        assert_eq!((counts(&s, 10), s.lost, s.next_lost(0)), ([1, 1, 0, 8], 2, Some(0)));
        s.retransmit(0, ms(30), false);
        s.report(0); // lost and in retransmission: both end
        assert_eq!(counts(&s, 10), [2, 0, 0, 8]);
        assert!(!s.acknowledge(0, true).awaits_retransmission());
        assert_eq!((counts(&s, 9), s.delivered), ([1, 0, 0, 8], 2));
    }

    #[test]
    fn a_retransmission_of_a_segment_not_given_up_stays_in_flight() {
        let mut s = ten();
        s.mark_lost(2);
        s.retransmit(2, ms(20), false);
        s.unmark_losses(TEN);
        assert_eq!(counts(&s, 10), [0, 0, 1, 11]);
        s.report(2);
        assert_eq!(counts(&s, 10), [1, 0, 1, 10]);
    }

    #[test]
    fn a_probe_is_not_in_flight() {
        let mut s = ten();
        s.retransmit(9, ms(50), true);
        assert_eq!(
            (counts(&s, 10), s.get(9).ever_retransmitted(), s.get(9).sent),
            ([0, 0, 0, 10], true, ms(50))
        );
        assert!(!s.any_retransmission(TEN));
    }

    #[test]
    fn lists_by_time_of_sending() {
        let mut s = ten();
        s.report(4);
        s.mark_lost(1);
        assert_eq!(order(&s), [0, 2, 3, 5, 6, 7, 8, 9]);
        s.retransmit(1, ms(20), false);
        s.acknowledge(0, true);
        assert_eq!(order(&s), [2, 3, 5, 6, 7, 8, 9, 1]);
        s.mark_lost(9);
        s.mark_lost(3);
        s.unmark_losses(1..10);
        assert_eq!(order(&s), [2, 3, 5, 6, 7, 8, 9, 1]);
        s.forget_all_reports(1..10);
        assert_eq!(order(&s), [2, 3, 4, 5, 6, 7, 8, 9, 1]);
        assert_eq!((s.sacked_out, s.highest_sacked(1)), (0, 1));
    }

    #[test]
    fn reports_only_what_is_new() {
        let mut s = ten();
        let new = |s: &mut Segments, outstanding, start, end| {
            let mut parts = Vec::new();
            s.newly_reported(outstanding, Block { start, end }, &mut parts);
            parts.into_iter().map(|b| (b.start, b.end)).collect::<Vec<_>>()
        };
        assert_eq!(new(&mut s, TEN, 3, 5), [(3, 5)]);
        assert_eq!(new(&mut s, TEN, 7, 8), [(7, 8)]);
        assert_eq!(new(&mut s, TEN, 2, 20), [(2, 3), (5, 7), (8, 10)]);
        assert_eq!(new(&mut s, TEN, 2, 20), []);
        s.append(TEN, ms(11));
        assert_eq!(new(&mut s, 0..11, 9, 11), [(10, 11)]);
    }

    #[test]
    fn the_ring_grows() {
        let mut s = ten();
        s.mark_lost(0);
        (10..100).for_each(|n| s.append(0..n, ms(n.into())));
        assert_eq!((counts(&s, 100), s.get(99).sent, s.next_lost(0)), ([0, 1, 0, 99], ms(99), Some(0)));
        assert_eq!(order(&s).len(), 99);
    }
}
