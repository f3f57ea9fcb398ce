//! Why a segment was sent again: rules over the evidence that a capture holds.
//!
//! Each rule uses what came before the transmission, and ACKs of the round trip after it. RFC 6298 (timeouts), 6675 and 5681 (fast
//! retransmit), 8985 (RACK-TLP), 2883 (D-SACK), 3522 (Eifel).

/// The cause of a transmission that repeats data, with the letter that the documentation gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Reason {
    /// A byte above the segment was SACKed.
    Sack,
    /// Three duplicate ACKs, without SACK.
    DuplicateAcks,
    /// A segment that was sent later has arrived.
    TimeOrder,
    /// The same, of a segment that had been sent again before.
    LostRetransmission,
    /// The retransmission timer.
    Timeout,
    /// Data that was outstanding at a timeout.
    AfterTimeout,
    /// A tail loss probe.
    TailProbe,
    /// A probe of a closed window, or a keep-alive.
    WindowProbe,
    /// SYN or FIN again.
    Handshake,
    /// A late first arrival: the network changed the order.
    Reordering,
    /// A copy that the network made.
    Duplicate,
    /// The capture misses what would show the cause.
    Unknown,
    /// Sent again by the sender; only a capture at its end shows why.
    Upstream,
}

impl Reason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Reason; 13] = [
        Reason::Sack,
        Reason::DuplicateAcks,
        Reason::TimeOrder,
        Reason::LostRetransmission,
        Reason::Timeout,
        Reason::AfterTimeout,
        Reason::TailProbe,
        Reason::WindowProbe,
        Reason::Handshake,
        Reason::Reordering,
        Reason::Duplicate,
        Reason::Unknown,
        Reason::Upstream,
    ];

    /// The rule's letter.
    pub fn letter(self) -> &'static str {
        ["F1", "F2", "F3", "F4", "O1", "O3", "P1", "Z1", "S1", "N1", "N2", "?", "?"][self as usize]
    }

    /// The name in tables and files.
    pub fn name(self) -> &'static str {
        [
            "sack",
            "duplicate_acks",
            "time_order",
            "lost_retransmission",
            "timeout",
            "after_timeout",
            "tail_probe",
            "window_probe",
            "handshake",
            "reordering",
            "duplicate",
            "unknown",
            "upstream",
        ][self as usize]
    }

    /// One clause.
    pub fn words(self) -> &'static str {
        [
            "fast retransmit: data above the segment was SACKed",
            "fast retransmit: three duplicate ACKs, without SACK",
            "fast retransmit: a segment that was sent later has arrived (RACK)",
            "its retransmission was lost too: a segment that was sent later has arrived (RACK)",
            "retransmission timeout",
            "sent again after a timeout: all data outstanding then counts as lost",
            "tail loss probe",
            "probe of a closed window, or keep-alive",
            "SYN or FIN again",
            "the network delivered the segment late (reordering)",
            "the network delivered the segment twice",
            "sent again for a reason that the file does not show",
            "sent again by the sender; the reason is seen only at the sender",
        ][self as usize]
    }

    /// Whether the data had been sent before by the sender.
    pub fn is_retransmission(self) -> bool {
        !matches!(self, Reason::WindowProbe | Reason::Handshake | Reason::Reordering | Reason::Duplicate)
    }
}

/// What is known when a segment is sent again; times in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// Now.
    pub at: u64,
    /// When the segment was last sent; `None`: it had been acknowledged before.
    pub before: Option<u64>,
    /// How often it had been sent.
    pub count: u32,
    /// Bytes SACKed above it.
    pub sacked_above: u64,
    /// When SACK first reported a byte above `una`, in this episode.
    pub sack_since: u64,
    /// Duplicate ACKs so far, and the times of the first and the last.
    pub duplicates: u32,
    /// See `duplicates`.
    pub duplicate_times: [u64; 2],
    /// The latest time of sending among transmissions that arrived.
    pub newest: u64,
    /// Time since the last ACK that delivered something or since the segment's own transmission, whichever is later.
    pub quiet: u64,
    /// Smoothed round-trip time; zero: no sample.
    pub srtt: u64,
    /// The estimate of the retransmission timeout (RFC 6298 with a minimum of 200 ms).
    pub rto: u64,
    /// The segment starts at the first unacknowledged byte.
    pub head: bool,
    /// It is the last one sent.
    pub tail: bool,
    /// The connection negotiated SACK.
    pub sack: bool,
    /// It was outstanding at a timeout whose recovery lasts.
    pub after_timeout: bool,
    /// Bytes in flight before it.
    pub outstanding: u64,
}

/// The lowest retransmission timeout of the stacks in use.
pub const MIN_RTO: u64 = 200_000_000;
const MIN_PROBE: u64 = 10_000_000;
/// A transmission so soon after an ACK answers it.
const AT_ONCE: u64 = 1_000_000;
/// Round-trip times without an ACK after which only a timer sends again.
pub const SILENT_ROUNDS: u64 = 8;
/// A silence that is shorter is no timer's.
const LEAST_SILENCE: u64 = 4_000_000;

impl Evidence {
    /// The first rule that holds (`docs/why.md`), for a capture at the sender.
    pub fn reason(&self) -> Reason {
        let newer_arrived = self.before.is_some_and(|before| self.newest > before);
        // RFC 6298 starts the timer again at each ACK of new data; Linux, where a probe was pending, keeps the time since the
        // segment was sent.
        let age = self.before.map_or(0, |before| self.at.saturating_sub(before));
        let parts = |time: u64| time as f64 / self.rto as f64;
        let since_sent =
            (self.sacked_above == 0 || self.count > 1) && parts(age) >= 0.97 && parts(self.quiet) >= 0.2;
        // An answer to an ACK is no timer's: Vegas sends again at the first duplicate ACK if the segment is old.
        let [_, duplicate] = self.duplicate_times;
        let at_duplicate = self.duplicates > 0 && self.at.saturating_sub(duplicate) < AT_ONCE;
        // A silence of many round-trip times, of data that no rule of SACK sends once more: a timer with a lower minimum.
        let silent = self.sacked_above == 0
            && self.count > 1
            && self.srtt > 0
            && self.quiet >= self.srtt.saturating_mul(SILENT_ROUNDS).max(LEAST_SILENCE);
        let expired = parts(self.quiet) >= 0.85 || since_sent || silent;
        let timeout = self.head && !newer_arrived && !at_duplicate && expired;
        // RFC 8985 section 7.2: two round-trip times, at least 10 ms; with one segment in flight 200 ms more.
        let probe = self.srtt.saturating_mul(2).clamp(MIN_PROBE, u64::MAX / 2);
        let near = |expected: u64| (self.quiet as f64 / expected as f64 - 1.0).abs() <= 0.3;
        let alone = self.head && self.tail;
        if self.tail
            && !newer_arrived
            && self.srtt > 0
            && !(self.after_timeout && self.head)
            && self.sacked_above == 0
            && self.count <= 1
            && (near(probe) && !timeout || alone && near(probe + MIN_RTO) && self.sack)
        {
            return Reason::TailProbe;
        }
        if timeout {
            return Reason::Timeout;
        }
        if self.sacked_above > 0 && self.count <= 1 {
            return Reason::Sack;
        }
        if !self.sack && self.duplicates >= 3 && self.head {
            return Reason::DuplicateAcks;
        }
        if self.after_timeout && self.count <= 1 {
            return Reason::AfterTimeout;
        }
        if newer_arrived {
            return if self.count > 1 { Reason::LostRetransmission } else { Reason::TimeOrder };
        }
        if self.after_timeout {
            Reason::AfterTimeout
        } else if self.sacked_above > 0 {
            Reason::Sack
        } else {
            Reason::Unknown
        }
    }
}
