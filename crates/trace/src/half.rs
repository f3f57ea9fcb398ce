//! One direction of a connection: each segment and each ACK goes to its scoreboard, its counts and its rows.

use crate::board::{Board, Context, Recovery, Sample, Sent};
use crate::limits::{Round, Step};
use crate::reasons::{Evidence, Reason};
use crate::record::{Event, NO_REASON, Phase, Recording, Reduction, Resend, Row};
use crate::tcp::{CWR, FIN, PSH, RST, SYN, Segment};
use crate::totals::Totals;
use std::collections::VecDeque;

const MAX_OUTSTANDING: usize = 1 << 20;
/// Retransmissions among which that is looked for which an ACK proves needless.
const RECENT: usize = 4096;

/// One direction of a connection.
#[derive(Default)]
pub struct Half {
    /// Counts.
    pub totals: Totals,
    /// The window scale of this end's SYN.
    pub scale: Option<u8>,
    /// The MSS option of this end's SYN.
    pub mss: u16,
    /// A SYN of this end was seen.
    pub syn: bool,
    pub(crate) board: Option<Box<Board>>,
    /// ACKs of this end: the last timestamp, and when it came first.
    pub(crate) stamps: VecDeque<(u32, u64)>,
    /// Lowest time from an ACK to the data that echoes it, ns.
    pub(crate) echo: u64,
}

/// What an ACK says of the other direction's data.
pub(crate) struct Feedback<'a> {
    pub segment: &'a Segment,
    pub window: Option<u64>,
    /// The unit of the window is known.
    pub scale_known: bool,
    pub accurate: bool,
}

impl Half {
    /// A segment with `span` sequence numbers. Returns whether it is a SYN or FIN again.
    pub(crate) fn send(
        &mut self,
        segment: &Segment,
        span: u64,
        mss: u32,
        sack: bool,
        context: Context,
        mut output: Option<&mut Recording>,
    ) -> bool {
        let totals = &mut self.totals;
        if totals.given_up.is_some() {
            return false;
        }
        let at = segment.at;
        let fresh = self.board.is_none();
        let board = self.board.get_or_insert_with(|| {
            let initial = if segment.has(SYN) { segment.seq } else { segment.seq.wrapping_sub(1) };
            Box::new(Board { initial, ..Board::default() })
        });
        let start = board.position(segment.seq);
        if fresh {
            board.una = start;
            board.top = start;
        }
        let end = start + span;
        let data = segment.length > 0;
        let packets = u64::from(segment.length.div_ceil(mss)).max(u64::from(data));
        if data {
            if totals.first == 0 {
                totals.first = at.max(1);
            }
            totals.last = totals.last.max(at);
            totals.data += 1;
            totals.bytes += u64::from(segment.length);
            totals.packets += packets;
            totals.longest = totals.longest.max(segment.length);
            totals.super_segments += u64::from(segment.length > mss);
            board.vote(segment.length);
        }
        if data && segment.length <= 1 && end == board.una {
            // A keep-alive repeats the last byte.
            totals.reasons[Reason::WindowProbe as usize] += 1;
            return false;
        }
        if data && board.window == Some(0) && (start < board.top || segment.length <= 1) {
            totals.reasons[Reason::WindowProbe as usize] += 1;
            if start < board.top {
                return false;
            }
        }
        totals.ce += u64::from(segment.ecn == 3);
        totals.ect += u64::from(segment.ecn == 1 || segment.ecn == 2);
        let reduced = segment.has(CWR) && !segment.has(SYN) && !context.accurate;
        totals.cwr += u64::from(reduced);
        let tsval = segment.timestamps.map_or(0, |(value, _)| value);
        let sent = Sent { start, end, at, count: 1, sacked: false, tsval, delivered: totals.delivered };
        if board.is_too_much(totals.data + totals.acks) {
            totals.given_up = Some("its order of segments or its SACK blocks need more work than is linear");
            self.board = None;
            return false;
        }
        let mut event = Event::Sent;
        let mut reason = None;
        let mut step = Step::Sent {
            last: data && (segment.has(PSH) || u64::from(segment.length) % u64::from(mss) != 0),
        };
        if start >= board.top {
            if board.sent.len() >= MAX_OUTSTANDING {
                totals.given_up = Some("more than 1,048,576 segments were outstanding");
                self.board = None;
                return false;
            }
            board.outstanding += span;
            board.sent.push_back(sent);
            board.top = end;
            board.top_tsval = tsval;
        } else {
            event = Event::SentAgain;
            let (why, evidence) = board.again(sent, sack, context);
            let why = if data { why } else { Reason::Handshake };
            if why == Reason::Reordering {
                event = Event::Sent;
                totals.out_of_order += 1;
            } else if data {
                totals.again += packets;
                totals.again_segments += 1;
                totals.again_bytes += u64::from(segment.length);
            }
            if why != Reason::Handshake {
                totals.reasons[why as usize] += packets;
            }
            let waited = if matches!(why, Reason::Timeout | Reason::TailProbe) { evidence.quiet } else { 0 };
            step = Step::SentAgain { waited };
            let began = board.begin_recovery(why, at, evidence.outstanding, totals);
            if let Some(output) = output.as_deref_mut() {
                let relative = evidence.since(context.origin);
                output.push_resend(Resend { start, end, reason: why, evidence: relative, needless: None });
                if let Some(reduction) = began {
                    output.push_reduction(reduction.since(context.origin));
                }
            }
            board.last_again = Some(start);
            reason = Some(why);
        }
        totals.largest_flight = totals.largest_flight.max(board.outstanding);
        if reduced && board.recovery.is_none() {
            let recovery =
                Recovery { until: board.top, phase: Phase::Cwr, before: board.outstanding, since: at };
            board.recovery = Some(recovery);
            totals.reductions += 1;
            if let Some(output) = output.as_deref_mut() {
                output.push_reduction(recovery.reduction().since(context.origin));
            }
        }
        let phase = board.phase();
        if data {
            let mut rounds = output.as_deref_mut().map(|output| &mut output.rounds);
            board.limits.step(step, board.state(at, mss, context), &mut rounds);
        }
        if let Some(output) = output {
            output.push(Row {
                phase,
                reason: reason.map_or(NO_REASON, |reason| reason as u8),
                ecn: segment.ecn,
                seq: start,
                bytes: segment.length,
                outstanding: board.outstanding,
                delivered: totals.delivered,
                window: board.window.map_or(f64::NAN, |window| window as f64),
                marks: board.marks,
                ..Row::new(at.saturating_sub(context.origin), event)
            });
        }
        reason == Some(Reason::Handshake)
    }

    /// An ACK of this direction's data.
    pub(crate) fn acked(
        &mut self,
        feedback: &Feedback<'_>,
        mss: u32,
        context: Context,
        mut output: Option<&mut Recording>,
    ) {
        let segment = feedback.segment;
        let totals = &mut self.totals;
        let Some(board) = self.board.as_mut() else { return };
        let at = segment.at;
        let ack = board.position(segment.ack);
        totals.acks += 1;
        board.window = feedback.window;
        board.scale_known |= feedback.scale_known;
        totals.largest_window = totals.largest_window.max(feedback.window.unwrap_or(0));
        totals.zero_windows += u64::from(feedback.window == Some(0) && segment.flags & (SYN | RST) == 0);
        let marked = board.echo(segment, feedback.accurate);
        totals.ece += u64::from(marked);
        if ack > board.top {
            totals.unseen += ack - board.top;
            board.lost_by_capture(ack);
            if let Some(output) = output.as_deref_mut() {
                let gap = Row::new(at.saturating_sub(context.origin), Event::Gap);
                output.push(Row { seq: ack, delivered: totals.delivered, ..gap });
            }
        }
        let before = totals.delivered;
        let mut sample = Sample::default();
        board.acknowledge(ack, segment, totals, &mut sample);
        let needless = board.selective(ack, segment, totals, &mut sample);
        let delivered = totals.delivered - before;
        if delivered > 0 {
            board.last_delivery = at;
            totals.last_delivery = at;
            totals.ack_segments[0] += delivered.div_ceil(u64::from(mss));
            totals.ack_segments[1] += 1;
        }
        // Karn: an ACK that also reports a segment sent again says nothing, if that was sent later.
        let rtt = sample.at.filter(|sent| *sent >= sample.again).map(|sent| at.saturating_sub(sent));
        if let Some(rtt) = rtt {
            board.round_trip(rtt);
            totals.rtts = [totals.rtts[0] + 1, totals.rtts[1].saturating_add(rtt)];
            if totals.min_rtt == 0 || rtt < totals.min_rtt {
                totals.min_rtt = rtt.max(1);
            }
        }
        board.proven(&sample, segment, at, totals.min_rtt);
        if ack > board.una {
            board.duplicates = 0;
        } else if delivered == 0 || segment.sacks > 0 {
            let pure = segment.length == 0 && segment.flags & (SYN | FIN | RST) == 0;
            if pure && board.top > board.una && segment.window == board.last_window {
                board.duplicates = board.duplicates.saturating_add(1);
                let first = if board.duplicates == 1 { at } else { board.duplicate_times[0] };
                board.duplicate_times = [first, at];
            }
        }
        board.last_window = segment.window;
        board.una = board.una.max(ack);
        let echoed = segment.timestamps.map(|(_, echo)| echo);
        let by_stamp = sample
            .again_tsval
            .zip(echoed)
            .is_some_and(|(sent, echo)| echo != 0 && sent != 0 && (echo.wrapping_sub(sent) as i32) < 0);
        totals.needless += needless.len() as u64 + u64::from(by_stamp);
        let ended = board.end_recovery(at);
        if let Some(output) = output.as_deref_mut() {
            let relative = at.saturating_sub(context.origin);
            if by_stamp && let Some(start) = board.last_again {
                output.needless(start, start + 1, relative, false);
            }
            for (start, end) in needless {
                output.needless(start, end, relative, true);
            }
            if board.reordered > 0 && output.reordered.len() < RECENT * 16 {
                output.reordered.push((relative, board.reordered));
            }
            if let Some((after, until)) = ended
                && let Some(last) = output.reductions.last_mut()
            {
                last.after = after;
                last.until = until.saturating_sub(context.origin);
            }
        }
        board.reordered = 0;
        let mut rounds: Option<&mut Vec<Round>> = output.as_deref_mut().map(|output| &mut output.rounds);
        board.limits.step(
            Step::Acked { delivered: delivered > 0 },
            board.state(at, mss, context),
            &mut rounds,
        );
        if let Some(output) = output {
            let rtt_s = rtt.map_or(f64::NAN, |rtt| rtt as f64 / 1e9);
            let during = totals.delivered.saturating_sub(sample.delivered);
            output.push(Row {
                phase: board.phase(),
                ecn: segment.ecn,
                seq: ack,
                bytes: delivered.min(u64::from(u32::MAX)) as u32,
                outstanding: board.outstanding,
                delivered: totals.delivered,
                rtt_s,
                delivery_bps: if rtt_s > 0.0 { during as f64 * 8.0 / rtt_s } else { f64::NAN },
                window: board.window.map_or(f64::NAN, |window| window as f64),
                marks: board.marks,
                sent_at: if rtt.is_some() {
                    sample.at.unwrap_or(0).saturating_sub(context.origin)
                } else {
                    0
                },
                sample_bytes: sample.bytes,
                ..Row::new(at.saturating_sub(context.origin), Event::Ack)
            });
        }
    }
}

impl Recording {
    /// Marks the last retransmission of a range as needless.
    fn needless(&mut self, start: u64, end: u64, at: u64, by_dsack: bool) {
        let mut recent = self.resends.iter_mut().rev().take(RECENT);
        if let Some(resend) = recent.find(|resend| resend.start < end && start < resend.end) {
            resend.needless.get_or_insert((at, by_dsack));
        }
    }
}

impl Reduction {
    fn since(mut self, origin: u64) -> Reduction {
        self.at = self.at.saturating_sub(origin);
        self
    }
}

impl Evidence {
    /// The same with times since the first packet.
    fn since(mut self, origin: u64) -> Evidence {
        for time in [&mut self.at, &mut self.newest, &mut self.sack_since] {
            *time = time.saturating_sub(origin);
        }
        self.before = self.before.map(|before| before.saturating_sub(origin));
        self.duplicate_times = self.duplicate_times.map(|at| at.saturating_sub(origin));
        self
    }
}
