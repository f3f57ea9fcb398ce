//! The scoreboard part of an ACK: SACK and DSACK blocks, cumulative acknowledgement, and the round-trip samples.

use super::scoreboard::Scoreboard;
use super::snapshot::State;
use super::window_use::WindowUse;
use super::{Arrival, Rack};
use crate::blocks::Block;
use crate::connection::Connection;
use crate::context::FlowContext;
use cc::Controller;
use net::Packet;
use units::Span;

/// Round-trip times of the first and the last segment that an ACK delivers.
#[derive(Clone, Copy, Debug, Default)]
struct Samples {
    first: Option<Span>,
    last: Option<Span>,
}

impl Samples {
    fn take(&mut self, rtt: Span) {
        self.first.get_or_insert(rtt);
        self.last = Some(rtt);
    }
}

impl Scoreboard {
    /// Whether `blocks` begin with a DSACK: below the cumulative ACK, or within the second block (RFC 2883).
    fn dsack(ack: u32, blocks: &[Block]) -> Option<Block> {
        let first = *blocks.first().filter(|block| block.start < block.end)?;
        let within =
            blocks.get(1).is_some_and(|second| second.start <= first.start && first.end <= second.end);
        (first.start < ack || within).then_some(first)
    }

    /// Processes SACK blocks (RFC 2018) and a DSACK block (RFC 2883).
    pub(super) fn process_blocks(&mut self, c: &mut Connection, a: &mut Arrival, ack: u32, blocks: &[Block]) {
        let mut rest = blocks;
        if let Some(block) = Scoreboard::dsack(ack, blocks) {
            rest = &blocks[1..];
            self.process_dsack(c, a, block);
        }
        let mut sorted: [Block; crate::blocks::MAX_BLOCKS] = Default::default();
        let count = rest.len().min(sorted.len());
        sorted[..count].copy_from_slice(&rest[..count]);
        if count > 1 {
            sorted[..count].sort_unstable_by_key(|block| block.start);
        }
        let (mut samples, mut reordered) = (Samples::default(), u32::MAX);
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        for block in &sorted[..count] {
            // A block that begins at the oldest outstanding segment contradicts the cumulative ACK.
            if block.start > c.una && block.start < block.end {
                self.segments.newly_reported(c.numbers(), *block, &mut parts);
            }
        }
        for part in &parts {
            for seq in part.start..part.end {
                self.report(c, a, seq, &mut samples, &mut reordered);
            }
        }
        a.sacked = !parts.is_empty();
        self.parts = parts;
        if reordered != u32::MAX {
            self.reordering.see(self.segments.highest_sacked(c.una), reordered);
        }
        a.sack_samples(samples);
    }

    fn report(
        &mut self,
        c: &mut Connection,
        a: &mut Arrival,
        seq: u32,
        samples: &mut Samples,
        reordered: &mut u32,
    ) {
        let segment = self.segments.get(seq);
        self.detection.delivered(a.now, seq, segment, self.min_rtt.map(|m| m.0));
        if !segment.ever_retransmitted() {
            if seq < a.prior_highest {
                *reordered = (*reordered).min(seq);
            }
            a.original |= seq < a.high_seq;
            samples.take(a.now.since(segment.sent));
        }
        self.segments.report(seq);
        c.reports.delivered(&mut c.controller, seq, a.now);
    }

    fn process_dsack(&mut self, c: &Connection, a: &mut Arrival, block: Block) {
        let count = block.end - block.start;
        let more = self.dsacks + count as u64 > c.stats.retransmitted as u64;
        if more || count > c.options.window || block.end > c.next {
            return; // more duplicates than retransmissions, or of data never sent: not believed (RFC 2883 section 5)
        }
        a.dsack = true;
        self.dsacks += count as u64;
        a.dsack_of_probe =
            count == 1 && a.probe.is_some_and(|probe| probe.retransmission && probe.high == block.end);
        self.segments.delivered += count as u64;
        if self.reordering.seen() > 0 && !a.dsack_of_probe {
            self.reordering.dsack();
        }
        // Of outstanding data only a retransmitted segment can be a duplicate that the sender caused.
        let outstanding = block.start.max(c.una)..block.end.min(c.next);
        if outstanding.into_iter().all(|seq| self.segments.get(seq).ever_retransmitted()) {
            a.duplicates = Some((block.end, count));
        }
    }

    /// Processes the cumulative part. Returns the round-trip sample for the retransmission timer.
    pub(super) fn advance(&mut self, c: &mut Connection, a: &mut Arrival, ack: u32) -> Option<Span> {
        let (acked, sack, now) = (ack.saturating_sub(c.una), c.options.sack, a.now);
        let (mut samples, mut reordered, mut retransmitted) = (Samples::default(), u32::MAX, false);
        a.advanced = acked > 0;
        let update = std::mem::take(&mut c.window_update);
        while c.una < ack {
            let seq = c.una;
            let segment = self.segments.acknowledge(seq, sack);
            c.una += 1;
            if segment.ever_retransmitted() {
                retransmitted = true;
            } else if !segment.reported() {
                samples.take(now.since(segment.sent));
                reordered = reordered.min(seq);
                a.original |= seq < a.high_seq;
            }
            if !segment.reported() {
                let spurious = segment.ever_retransmitted()
                    && a.echo.is_some_and(|echo| c.options.stamp(segment.sent) > c.options.stamp(echo));
                if sack && !spurious {
                    self.detection.delivered(now, seq, segment, self.min_rtt.map(|m| m.0));
                }
                c.reports.delivered(&mut c.controller, seq, now);
            }
        }
        if a.advanced {
            c.dupacks = 0;
            a.rearm = true;
            self.segments.forget_reports(c.una);
            if !sack {
                self.remove_duplicates(c, acked);
                a.original &= !retransmitted;
            } else if reordered < a.prior_highest {
                self.reordering.see(self.segments.highest_sacked(c.una), reordered);
            }
        } else {
            a.duplicate = !update && !a.dsack && c.outstanding() > 0 && ack == c.una;
            c.dupacks += a.duplicate as u32;
            let sack_rtt = a.sack_rtt();
            if let Some(rtt) = sack_rtt
                && c.outstanding() > 0
                && rtt > now.since(self.segments.get(c.una).sent)
            {
                // The reported segment was sent before the last transmission of the oldest one.
                a.rearm = true;
            }
        }
        if retransmitted {
            samples = Samples::default();
        }
        self.choose_sample(c, a, samples)
    }

    /// The sample for the retransmission timer: from the oldest segment acknowledged, else from SACK, else from the
    /// timestamp. The controller receives that of the newest segment.
    fn choose_sample(&mut self, c: &Connection, a: &mut Arrival, samples: Samples) -> Option<Span> {
        let (sacked_first, sacked_last) = (a.sack_rtt(), a.rtt);
        let mut timer = samples.first.or(sacked_first);
        let mut newest = sacked_last.or(samples.last);
        if timer.is_none()
            && a.advanced
            && let Some(echo) = a.echo
        {
            let rtt = c.options.stamp(a.now).since(c.options.stamp(echo)).max(c.options.timestamp_quantum);
            (timer, newest) = (Some(rtt), Some(rtt));
            a.exact_rtt = Some(a.now.since(echo));
        }
        if timer.is_none() {
            newest = sacked_last;
        }
        a.rtt = newest;
        if let (Some(_), Some(rtt)) = (timer, newest) {
            self.update_min_rtt(a.now, rtt);
        }
        timer
    }

    /// Without SACK: a duplicate ACK stands for a segment that arrived.
    pub(super) fn count_duplicate(&mut self, c: &Connection, duplicate: bool) {
        if !duplicate {
            return;
        }
        let before = self.segments.sacked_out;
        self.segments.sacked_out += 1;
        self.limit_duplicates(c, 0);
        self.segments.delivered += self.segments.sacked_out.saturating_sub(before) as u64;
    }

    /// Without SACK: an ACK of `acked` segments fills one hole; the others were counted by duplicate ACKs.
    fn remove_duplicates(&mut self, c: &Connection, acked: u32) {
        let counted = self.segments.sacked_out;
        self.segments.delivered += acked.saturating_sub(counted).max(1) as u64;
        self.segments.sacked_out = counted.saturating_sub(acked - 1);
        self.limit_duplicates(c, acked);
    }

    /// Without SACK: more duplicate ACKs than segments that can have arrived are a sign of reordering.
    fn limit_duplicates(&mut self, c: &Connection, acked: u32) {
        let out = c.outstanding();
        let holes = self.segments.lost_out.max(1).min(out);
        if self.segments.sacked_out + holes > out {
            self.segments.sacked_out = out - holes;
            self.reordering.see_degree(out + acked);
        }
    }
}

impl Rack {
    /// Processes the first ACK, which acknowledges the SYN.
    pub(super) fn complete_handshake<W: FlowContext>(
        &mut self,
        c: &mut Connection,
        context: &mut W,
        packet: &Packet,
    ) {
        if packet.seq == 0 {
            return;
        }
        let now = context.now();
        let segment = self.board.segments.acknowledge(c.una, true);
        c.una += 1;
        let rtt = (!segment.ever_retransmitted()).then(|| now.since(segment.sent));
        if let Some(rtt) = rtt {
            c.rtt.sample(&c.options, rtt, c.una, c.next);
            self.board.update_min_rtt(now, rtt);
        } else if c.options.timestamps {
            // The timestamp tells which SYN arrived.
            let rtt =
                c.options.stamp(now).since(c.options.stamp(packet.echo)).max(c.options.timestamp_quantum);
            c.rtt.sample(&c.options, rtt, c.una, c.next);
        }
        c.rtt.end_handshake(&c.options);
        self.timeouts = 0;
        self.state = State::Open;
        self.timer.disarm();
        c.reports.handshake(self.board.segments.delivered);
        c.open();
        c.controller.on_handshake(&cc::Handshake { now, rtt });
        // The first window of data begins.
        self.validation.window_use = WindowUse { full_at: now, ..WindowUse::default() };
        self.high_seq = c.una;
        self.board.detection.pending = false;
    }
}

impl Arrival {
    /// Keeps the samples of SACK blocks.
    fn sack_samples(&mut self, samples: Samples) {
        self.rtt = samples.last;
        self.sack_first = samples.first;
    }
    fn sack_rtt(&self) -> Option<Span> {
        self.sack_first
    }
}
