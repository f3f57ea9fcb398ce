//! The scoreboard of a sender, from what it sent and what was acknowledged.

use crate::limits::{Limits, State};
use crate::reasons::{Evidence, MIN_RTO, Reason};
use crate::record::{Phase, Reduction};
use crate::tcp::{ECE, SYN, Segment};
use crate::totals::Totals;
use std::collections::VecDeque;

/// Steps over a scoreboard: for a whole capture, and more for each packet.
const FREE_WORK: u64 = 1 << 24;
/// See [`FREE_WORK`].
const WORK_PER_PACKET: u64 = 256;

/// Where a capture was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the sender of the data.
    Sender,
    /// At its receiver.
    Receiver,
    /// Between both.
    Middle,
    /// Unknown: no handshake and no timestamps.
    Unknown,
}

impl Place {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Place::Sender => "sender",
            Place::Receiver => "receiver",
            Place::Middle => "middle",
            Place::Unknown => "unknown",
        }
    }
}

/// What the analysis needs of the file.
#[derive(Clone, Copy)]
pub(crate) struct Context {
    pub origin: u64,
    pub tick: u64,
    pub place: Option<Place>,
    /// Accurate ECN was negotiated.
    pub accurate: bool,
}

/// A segment on the scoreboard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    pub start: u64,
    pub end: u64,
    /// The last transmission.
    pub at: u64,
    pub count: u32,
    pub sacked: bool,
    pub tsval: u32,
    /// Bytes delivered when it was sent.
    pub delivered: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Recovery {
    pub until: u64,
    pub phase: Phase,
    pub before: u64,
    pub since: u64,
}

/// The scoreboard of a sender.
#[derive(Default)]
pub(crate) struct Board {
    pub initial: u32,
    pub top: u64,
    pub una: u64,
    pub sent: VecDeque<Sent>,
    pub outstanding: u64,
    pub window: Option<u64>,
    pub high_sack: u64,
    pub sack_since: u64,
    pub duplicates: u32,
    pub duplicate_times: [u64; 2],
    pub srtt: f64,
    pub variance: f64,
    pub newest: u64,
    pub last_delivery: u64,
    pub recovery: Option<Recovery>,
    /// The byte after the highest one at the last timeout, and its time.
    pub timeout: Option<(u64, u64)>,
    /// Steps over the scoreboard beyond one search for each packet.
    pub work: u64,
    /// The SACK blocks of the last ACK.
    pub blocks: [(u64, u64); 4],
    /// The first byte of the last segment sent again.
    pub last_again: Option<u64>,
    pub limits: Limits,
    pub top_tsval: u32,
    pub ace: Option<u16>,
    pub marks: u32,
    /// The most frequent length (majority vote) and its count.
    pub vote: (u32, u32),
    pub last_window: u16,
    /// The unit of the receiver's window is known.
    pub scale_known: bool,
    pub reordered: u64,
}

/// The newest segment that an ACK reports.
#[derive(Default)]
pub(crate) struct Sample {
    /// When it was sent; none: every newly reported segment was sent again.
    pub at: Option<u64>,
    pub bytes: u32,
    pub delivered: u64,
    /// The latest transmission of a segment sent again that the ACK reports, and its timestamp.
    pub again: u64,
    pub again_tsval: Option<u32>,
}

impl Sample {
    fn take(&mut self, sent: &Sent) {
        if sent.count > 1 {
            self.again = self.again.max(sent.at);
            self.again_tsval = Some(sent.tsval);
        } else if self.at.is_none_or(|at| sent.at >= at) {
            self.at = Some(sent.at);
            self.bytes = (sent.end - sent.start).min(u64::from(u32::MAX)) as u32;
            self.delivered = sent.delivered;
        }
    }
}

impl Recovery {
    pub fn reduction(&self) -> Reduction {
        Reduction { at: self.since, phase: self.phase, before: self.before, after: 0, until: 0 }
    }
}

impl Board {
    /// The position of a sequence number, counted from the first one: numbers near the highest one seen.
    pub fn position(&self, seq: u32) -> u64 {
        let relative = seq.wrapping_sub(self.initial);
        let near = self.top.max(self.una);
        let distance = i64::from(relative.wrapping_sub(near as u32) as i32);
        near.saturating_add_signed(distance)
    }

    pub fn vote(&mut self, length: u32) {
        if self.vote.1 == 0 {
            self.vote = (length, 1);
        } else if self.vote.0 == length {
            self.vote.1 = self.vote.1.saturating_add(1);
        } else {
            self.vote.1 -= 1;
        }
    }

    pub fn rto(&self) -> u64 {
        if self.srtt == 0.0 {
            return 1_000_000_000;
        }
        MIN_RTO.max((self.srtt + 4.0 * self.variance) as u64)
    }

    pub fn phase(&self) -> Phase {
        self.recovery.map_or(Phase::Open, |recovery| recovery.phase)
    }

    pub fn state(&self, at: u64, mss: u32, context: Context) -> State {
        State {
            at,
            outstanding: self.outstanding,
            window: self.window,
            span: self.top.saturating_sub(self.una),
            mss: u64::from(mss),
            srtt: self.srtt as u64,
            rto: self.rto(),
            recovery: self.recovery.is_some_and(|recovery| recovery.phase != Phase::Cwr),
            tick: context.tick,
            scale_known: self.scale_known,
        }
    }

    /// Whether the work would no longer be linear in the number of packets.
    pub fn is_too_much(&self, packets: u64) -> bool {
        self.work > FREE_WORK + WORK_PER_PACKET * packets
    }

    /// Divides the segment that a position lies in. Returns the number of the segment that starts there or after.
    pub fn divide(&mut self, at: u64) -> usize {
        let number = self.sent.partition_point(|sent| sent.end <= at);
        let Some(sent) = self.sent.get(number).copied().filter(|sent| sent.start < at) else { return number };
        if let Some(first) = self.sent.get_mut(number) {
            first.end = at;
        }
        self.insert(number + 1, Sent { start: at, ..sent });
        number + 1
    }

    pub fn insert(&mut self, number: usize, sent: Sent) {
        self.work += number.min(self.sent.len() - number) as u64;
        self.sent.insert(number, sent);
    }

    /// A segment below the highest byte: why it is there, and what shows it.
    pub fn again(&mut self, sent: Sent, sack: bool, context: Context) -> (Reason, Evidence) {
        let Sent { start, end, at, tsval, .. } = sent;
        let mut evidence = Evidence {
            at,
            before: None,
            count: 0,
            sacked_above: self.high_sack.saturating_sub(end),
            sack_since: self.sack_since,
            duplicates: self.duplicates,
            duplicate_times: self.duplicate_times,
            newest: self.newest,
            quiet: at.saturating_sub(self.last_delivery),
            srtt: self.srtt as u64,
            rto: self.rto(),
            head: false,
            tail: end >= self.top,
            sack: sack || self.high_sack > 0,
            after_timeout: false,
            outstanding: self.outstanding,
        };
        if end <= self.una {
            return (Reason::Unknown, evidence);
        }
        let first = self.divide(start.max(self.una));
        if self.sent.get(first).is_none_or(|sent| sent.start >= end) {
            // A hole: the segment was lost, or delayed, before this place.
            self.insert(first, sent);
            self.outstanding += end - start;
            let late = tsval != 0 && (tsval.wrapping_sub(self.top_tsval) as i32) < 0;
            return (if late { Reason::Reordering } else { Reason::Upstream }, evidence);
        }
        self.divide(end);
        let mut number = first;
        while let Some(one) = self.sent.get_mut(number).filter(|one| one.start < end) {
            evidence.before = evidence.before.max(Some(one.at));
            evidence.count = evidence.count.max(one.count);
            evidence.after_timeout |=
                self.timeout.is_some_and(|(until, when)| one.start < until && one.at < when);
            one.at = at;
            one.count = one.count.saturating_add(1);
            one.tsval = tsval;
            number += 1;
        }
        self.work += (number - first) as u64;
        if end > self.top {
            self.outstanding += end - self.top;
            let rest = Sent { start: self.top, ..sent };
            self.sent.push_back(rest);
            self.top = end;
        }
        evidence.head = first == 0;
        evidence.quiet = at.saturating_sub(self.last_delivery.max(evidence.before.unwrap_or(0)));
        if context.place == Some(Place::Receiver) {
            return (Reason::Upstream, evidence);
        }
        let reason = evidence.reason();
        if reason == Reason::Timeout {
            self.timeout = Some((self.top, at));
        }
        (reason, evidence)
    }

    /// A loss begins a recovery, which lasts until the data sent so far is acknowledged.
    pub fn begin_recovery(
        &mut self,
        reason: Reason,
        at: u64,
        before: u64,
        totals: &mut Totals,
    ) -> Option<Reduction> {
        let phase = match reason {
            Reason::Timeout => Phase::Loss,
            Reason::Sack | Reason::DuplicateAcks | Reason::TimeOrder | Reason::LostRetransmission => {
                Phase::Recovery
            }
            _ => return None,
        };
        match &mut self.recovery {
            Some(recovery) if phase == Phase::Loss && recovery.phase != Phase::Loss => {
                recovery.phase = Phase::Loss;
                recovery.until = self.top;
            }
            Some(_) => return None,
            None => {}
        }
        let recovery = Recovery { until: self.top, phase, before, since: at };
        self.recovery = Some(recovery);
        totals.reductions += 1;
        Some(recovery.reduction())
    }

    /// Bytes in flight after a recovery that ends now, and the time.
    pub fn end_recovery(&mut self, at: u64) -> Option<(u64, u64)> {
        let recovery = self.recovery.filter(|recovery| self.una >= recovery.until)?;
        self.recovery = None;
        Some((self.outstanding.max(1), at.max(recovery.since)))
    }

    /// ACKs of data that the capture never saw.
    pub fn lost_by_capture(&mut self, ack: u64) {
        self.top = ack;
        self.sent.clear();
        self.outstanding = 0;
    }

    /// Marks that an ACK reports: ECE, or a change of the counter of accurate ECN (RFC 9768).
    pub fn echo(&mut self, segment: &Segment, accurate: bool) -> bool {
        if segment.has(SYN) {
            return false;
        }
        let marked = if accurate {
            let counter = segment.flags >> 6 & 7;
            let more = self.ace.map_or(0, |before| counter.wrapping_sub(before) & 7);
            self.ace = Some(counter);
            more
        } else {
            u16::from(segment.has(ECE))
        };
        self.marks = self.marks.saturating_add(u32::from(marked));
        marked > 0
    }

    /// The cumulative acknowledgment.
    pub fn acknowledge(&mut self, ack: u64, segment: &Segment, totals: &mut Totals, sample: &mut Sample) {
        let mut was_hole = false;
        while let Some(front) = self.sent.front().copied().filter(|front| front.start < ack) {
            if front.end > ack {
                // Part of a super-segment.
                if !front.sacked {
                    self.deliver(&Sent { end: ack, ..front }, totals, sample);
                }
                if let Some(front) = self.sent.front_mut() {
                    front.start = ack;
                }
                break;
            }
            if !front.sacked {
                self.deliver(&front, totals, sample);
                was_hole |= front.count == 1 && self.high_sack >= front.end && segment.length == 0;
            }
            self.sent.pop_front();
        }
        if was_hole && self.sack_since > 0 {
            self.reordered = segment.at.saturating_sub(self.sack_since).max(1);
        }
        if ack >= self.high_sack {
            self.sack_since = 0;
        }
    }

    /// A segment has arrived that was in flight.
    fn deliver(&mut self, sent: &Sent, totals: &mut Totals, sample: &mut Sample) {
        let bytes = sent.end - sent.start;
        totals.delivered += bytes;
        self.outstanding = self.outstanding.saturating_sub(bytes);
        sample.take(sent);
    }

    /// SACK blocks. Returns the ranges of D-SACK.
    pub fn selective(
        &mut self,
        ack: u64,
        segment: &Segment,
        totals: &mut Totals,
        sample: &mut Sample,
    ) -> Vec<(u64, u64)> {
        let mut needless = Vec::new();
        let blocks = &segment.sack[..usize::from(segment.sacks)];
        let positions = |block: &(u32, u32)| (self.position(block.0), self.position(block.1));
        let ranges: Vec<(u64, u64)> = blocks.iter().map(positions).collect();
        for (number, (start, end)) in ranges.iter().copied().enumerate() {
            if number == 0 {
                let inside = ranges
                    .get(1)
                    .is_some_and(|outer| start >= outer.0 && end <= outer.1 && (start, end) != *outer);
                if end <= ack || inside {
                    totals.dsack += 1;
                    needless.push((start, end));
                    continue;
                }
            }
            if end <= start || end > self.top {
                continue;
            }
            if end > self.high_sack {
                self.high_sack = end;
            }
            if self.sack_since == 0 {
                self.sack_since = segment.at;
            }
            // What the last ACK reported needs no second look.
            let covers = |block: &&(u64, u64)| block.0 <= start && start <= block.1;
            let from = self.blocks.iter().find(covers).map_or(start, |block| block.1.min(end));
            let mut at = self.divide(from);
            if self.sent.get(at).is_some_and(|sent| sent.start < end) {
                self.divide(end);
            }
            while let Some(sent) = self.sent.get_mut(at).filter(|sent| sent.end <= end) {
                if !sent.sacked {
                    sent.sacked = true;
                    let arrived = *sent;
                    self.deliver(&arrived, totals, sample);
                }
                at += 1;
                self.work += 1;
            }
        }
        self.blocks = [(0, 0); 4];
        self.blocks[..ranges.len()].copy_from_slice(&ranges);
        needless
    }

    /// RFC 6298.
    pub fn round_trip(&mut self, rtt: u64) {
        let rtt = rtt as f64;
        if self.srtt == 0.0 {
            self.srtt = rtt.max(1.0);
            self.variance = rtt / 2.0;
        } else {
            self.variance += ((self.srtt - rtt).abs() - self.variance) / 4.0;
            self.srtt += (rtt - self.srtt) / 8.0;
        }
    }

    /// The latest transmission that has arrived: one sent once, or a retransmission that the ACK proves (RFC 8985 section 6.2).
    pub fn proven(&mut self, sample: &Sample, segment: &Segment, at: u64, min_rtt: u64) {
        if let Some(sent) = sample.at {
            self.newest = self.newest.max(sent);
        }
        if let Some(tsval) = sample.again_tsval {
            let echoed = segment.timestamps.map_or(0, |(_, echo)| echo);
            let by_stamp = echoed != 0 && tsval != 0 && echoed.wrapping_sub(tsval) as i32 >= 0;
            let too_early = echoed != 0 && tsval != 0 && !by_stamp;
            if !too_early && (by_stamp || at.saturating_sub(sample.again) >= min_rtt) {
                self.newest = self.newest.max(sample.again);
            }
        }
    }
}
