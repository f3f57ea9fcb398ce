//! One record for all sources: the rows of a flow, its rounds, and its retransmissions.

use crate::limits::Round;
use crate::reasons::{Evidence, Reason};

/// What a row reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Event {
    /// New data was sent.
    Sent,
    /// Data was sent again.
    SentAgain,
    /// An ACK, or an ACK frame.
    Ack,
    /// The sender counts data as lost (qlog).
    Lost,
    /// Values of the sender (qlog).
    Metrics,
    /// The state of the sender changed (qlog).
    State,
    /// Flow control changed or blocked (qlog).
    Limit,
    /// A sample of a log (`ss`, iperf3, Flent, ping).
    Sample,
    /// The file misses something here.
    Gap,
}

impl Event {
    /// All, in the order of their numbers.
    pub const ALL: [Event; 9] = [
        Event::Sent,
        Event::SentAgain,
        Event::Ack,
        Event::Lost,
        Event::Metrics,
        Event::State,
        Event::Limit,
        Event::Sample,
        Event::Gap,
    ];

    /// The name in the column `event`.
    pub fn name(self) -> &'static str {
        ["sent", "sent_again", "ack", "lost", "metrics", "state", "limit", "sample", "gap"][self as usize]
    }
}

/// The state of recovery, as in the trace of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// No loss.
    #[default]
    Open,
    /// After a mark.
    Cwr,
    /// After a loss.
    Recovery,
    /// After a timeout.
    Loss,
}

impl Phase {
    /// All, in the order of their numbers.
    pub const ALL: [Phase; 4] = [Phase::Open, Phase::Cwr, Phase::Recovery, Phase::Loss];

    /// The name in the column `phase`.
    pub fn name(self) -> &'static str {
        ["open", "cwr", "recovery", "loss"][self as usize]
    }
}

/// A value that a row may lack.
pub const MISSING: f64 = f64::NAN;

/// A row. Floats that the source does not have are NaN.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Nanoseconds since the first event of the file.
    pub at: u64,
    /// What happened.
    pub event: Event,
    /// The recovery of the sender.
    pub phase: Phase,
    /// Why data was sent again; `255`: no reason.
    pub reason: u8,
    /// The ECN codepoint of the packet.
    pub ecn: u8,
    /// First byte of the segment, or first byte that is not acknowledged; QUIC: packet number.
    pub seq: u64,
    /// Bytes of the segment, or bytes that the ACK newly reports.
    pub bytes: u32,
    /// Bytes in flight after the event.
    pub outstanding: u64,
    /// Bytes delivered since the start.
    pub delivered: u64,
    /// Round-trip time of the newest segment that the ACK reports, seconds.
    pub rtt_s: f64,
    /// Congestion window, bytes.
    pub cwnd: f64,
    /// Slow-start threshold, bytes.
    pub ssthresh: f64,
    /// Pacing rate, bit/s.
    pub pacing_bps: f64,
    /// Delivery rate, bit/s: bytes delivered during the round trip of the sampled segment, over it.
    pub delivery_bps: f64,
    /// Bytes that the receiver permits beyond the acknowledged ones.
    pub window: f64,
    /// CE marks or ECN echoes so far.
    pub marks: u32,
    /// The time at which the sampled segment was sent, ns; zero: no sample.
    pub sent_at: u64,
    /// Bytes of the sampled segment.
    pub sample_bytes: u32,
}

impl Row {
    /// A row without values.
    pub fn new(at: u64, event: Event) -> Row {
        Row {
            at,
            event,
            phase: Phase::Open,
            reason: NO_REASON,
            ecn: 0,
            seq: 0,
            bytes: 0,
            outstanding: 0,
            delivered: 0,
            rtt_s: MISSING,
            cwnd: MISSING,
            ssthresh: MISSING,
            pacing_bps: MISSING,
            delivery_bps: MISSING,
            window: MISSING,
            marks: 0,
            sent_at: 0,
            sample_bytes: 0,
        }
    }
}

/// The number of a row without a reason.
pub const NO_REASON: u8 = 255;

/// A transmission of data that had been sent.
#[derive(Clone, Copy, Debug)]
pub struct Resend {
    /// First byte.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
    /// Its cause.
    pub reason: Reason,
    /// What shows it.
    pub evidence: Evidence,
    /// An ACK proved it needless: when, and whether by D-SACK (otherwise by a timestamp).
    pub needless: Option<(u64, bool)>,
}

/// A reduction of what is in flight.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    /// Nanoseconds.
    pub at: u64,
    /// Its phase: recovery, loss, or cwr.
    pub phase: Phase,
    /// Bytes in flight before it.
    pub before: u64,
    /// Bytes in flight at its end; zero: it did not end.
    pub after: u64,
    /// When it ended.
    pub until: u64,
}

/// The recording of one direction of a flow.
#[derive(Debug, Default)]
pub struct Recording {
    /// In the order of the file.
    pub rows: Vec<Row>,
    /// Rows that did not fit into memory.
    pub left_out: u64,
    /// In the order of time.
    pub rounds: Vec<Round>,
    /// In the order of time.
    pub resends: Vec<Resend>,
    /// In the order of time.
    pub reductions: Vec<Reduction>,
    /// Delays of ACKs that the network reordered: time, and extent in nanoseconds.
    pub reordered: Vec<(u64, u64)>,
}

/// The largest number of rows that are kept; a page has less memory.
pub const MAX_ROWS: usize = if cfg!(target_arch = "wasm32") { 1_000_000 } else { 2_000_000 };

impl Recording {
    /// Appends a retransmission, if there is room.
    pub fn push_resend(&mut self, resend: Resend) {
        if self.resends.len() < MAX_ROWS / 4 {
            self.resends.push(resend);
        } else {
            self.left_out += 1;
        }
    }

    /// Appends a reduction, if there is room.
    pub fn push_reduction(&mut self, reduction: Reduction) {
        if self.reductions.len() < MAX_ROWS / 4 {
            self.reductions.push(reduction);
        }
    }

    /// Appends a row, or counts it.
    pub fn push(&mut self, row: Row) {
        if self.rows.len() < MAX_ROWS {
            self.rows.push(row);
        } else {
            self.left_out += 1;
        }
    }
}
