//! TCP options. A profile is a set of option values; all profiles use the same sender.

use cc::{Arithmetic, Growth};
use units::{Rate, Span};

/// The loss recovery algorithm: how the sender detects lost segments and retransmits them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Slow start from one segment at the third duplicate ACK.
    Tahoe,
    /// Fast recovery that ends at the first new ACK.
    Reno,
    /// Fast recovery through partial ACKs (RFC 6582).
    NewReno,
    /// Selective acknowledgements: ns-2's Sack1 in the `ns2` profile, RFC 6675 in the `linux` profile.
    Sack,
    /// The fast retransmit of the UCLA Westwood module for ns-2: no guard against repetition, no window inflation.
    WestwoodModule,
}

impl Recovery {
    /// All recoveries: value, name, description.
    pub const ALL: [(Recovery, &str, &str); 5] = [
        (Recovery::Tahoe, "tahoe", "fast retransmit, then slow start from one segment (Jacobson 1988)"),
        (
            Recovery::Reno,
            "reno",
            "fast recovery ending at the first new ACK (RFC 2581); with Vegas its fine clock",
        ),
        (Recovery::NewReno, "newreno", "fast recovery through partial ACKs (RFC 6582)"),
        (
            Recovery::Sack,
            "sack",
            "selective acknowledgements: ns-2's Sack1 (profile ns2) or RFC 6675 (profile linux)",
        ),
        (
            Recovery::WestwoodModule,
            "westwood_module",
            "fast retransmit at every third duplicate ACK, unguarded, no inflation (UCLA Westwood module for ns-2, 2002)",
        ),
    ];
    /// The recovery called `name`.
    pub fn from_name(name: &str) -> Option<Recovery> {
        Recovery::ALL.iter().find(|r| r.1 == name).map(|r| r.0)
    }
    /// Its name.
    pub fn name(self) -> &'static str {
        Recovery::ALL.iter().find(|r| r.0 == self).map_or("", |r| r.1)
    }
}

/// The differences between the profiles that have no option of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackProfile {
    /// ns-2.35's one-way TCP: windows count ACKs, one segment is timed at a time, a loss halves `min(cwnd, window)`.
    Ns2,
    /// A modern stack: windows count segments, every ACK gives a round-trip sample, a loss halves the flight size.
    Linux,
}

/// All options of a flow. `Options::ns2()` and `Options::linux()` are the profiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The profile for the differences without an option of their own.
    pub stack: StackProfile,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Payload of a segment, bytes.
    pub packet: u32,
    /// Header size on the wire in addition to the payload, bytes.
    pub header: u32,
    /// Size of a SYN on the wire, bytes.
    pub syn_size: u32,
    /// Size of an ACK on the wire without SACK blocks, bytes; 8 are added for each block.
    pub ack_size: u32,
    /// Receiver's window, segments.
    pub window: u32,
    /// Window after the handshake, segments.
    pub initial_window: f64,
    /// Slow-start threshold at the start, segments.
    pub initial_ssthresh: f64,
    /// Packet 0 is a SYN without data.
    pub syn: bool,
    /// The receiver acknowledges every second segment.
    pub delayed_ack: bool,
    /// Maximum delay of an ACK.
    pub ack_delay: Span,
    /// Number of segments at the start that the receiver acknowledges without delay if ACKs are delayed.
    pub quick_acks: u32,
    /// One new segment on each of the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Minimum retransmission timeout.
    pub min_rto: Span,
    /// Maximum retransmission timeout.
    pub max_rto: Span,
    /// Retransmission timeout before the first round-trip sample.
    pub initial_rto: Span,
    /// Tick of the clock that times segments; zero for an exact clock.
    pub clock_tick: Span,
    /// Offset of that clock within a tick at the start of the run; `None`: drawn from the seed.
    pub clock_phase: Option<Span>,
    /// Reductions truncate the window (ns-2's `precisionReduce_ false`).
    pub integer_windows: bool,
    /// NewReno: only the first partial ACK resets the retransmission timer (RFC 6582, "impatient").
    pub impatient: bool,
    /// NewReno: a partial ACK deflates the window by what it acknowledges.
    pub partial_deflation: bool,
    /// ECN (RFC 3168): routers may mark packets instead of dropping them, and the sender responds to ECN echoes.
    pub ecn: bool,
    /// An ECN echo reduces the window less than a loss does (RFC 8511).
    pub abe: bool,
    /// Every packet carries a timestamp, and every ACK gives a round-trip sample (RFC 7323).
    pub timestamps: bool,
    /// Resolution of the receiver's timestamps; zero for exact.
    pub timestamp_quantum: Span,
    /// The controller receives the round-trip samples of the retransmission clock: whole ticks of `clock_tick`, and
    /// one segment at a time if there are no timestamps. Otherwise its samples are exact, one per ACK.
    pub clock_rtt: bool,
    /// Quick-Start (RFC 4782): the rate that the SYN requests from the routers of its path; zero for no request. If
    /// all routers approve, the window after the handshake is the approved rate times the round-trip time.
    pub quick_start: Rate,
    /// Window after an approved Quick-Start request, segments, instead of the window from the approved rate; zero:
    /// the latter.
    pub quick_start_window: f64,
    /// Maximum number of packets sent in response to one event; zero for no bound.
    pub max_burst: u32,
    /// Upper bound of the congestion window, segments; zero for no bound.
    pub max_cwnd: f64,
    /// Pace packets at the rate of window over round-trip time.
    pub pacing: bool,
    /// Keep the window at one segment until the first ACK.
    pub delay_growth: bool,
    /// Duplicate ACKs of segments sent before a timeout can cause a fast retransmit (ns-2's `bugFix_ false`).
    pub fast_retransmit_after_rto: bool,
}

impl Options {
    /// The defaults of ns-2.35, which the five papers used.
    pub fn ns2() -> Options {
        Options {
            stack: StackProfile::Ns2,
            recovery: Recovery::NewReno,
            packet: 1000,
            header: 40,
            syn_size: 40,
            ack_size: 40,
            window: 20,
            initial_window: 2.0,
            initial_ssthresh: 20.0,
            syn: true,
            delayed_ack: false,
            ack_delay: Span::from_ms(100),
            quick_acks: 0,
            limited_transmit: true,
            min_rto: Span::from_ms(200),
            max_rto: Span::from_ms(60_000),
            initial_rto: Span::from_ms(3_000),
            clock_tick: Span::from_ms(10),
            clock_phase: None,
            integer_windows: false,
            impatient: true,
            partial_deflation: true,
            ecn: false,
            abe: false,
            timestamps: false,
            timestamp_quantum: Span::ZERO,
            clock_rtt: false,
            quick_start: Rate::from_bps(0),
            quick_start_window: 0.0,
            max_burst: 0,
            max_cwnd: 0.0,
            pacing: false,
            delay_growth: true,
            fast_retransmit_after_rto: false,
        }
    }

    /// A modern Linux stack without RACK-TLP and PRR.
    pub fn linux() -> Options {
        Options {
            stack: StackProfile::Linux,
            recovery: Recovery::Sack,
            packet: 1448,
            header: 52,
            syn_size: 60,
            ack_size: 52,
            window: 1_000_000,
            initial_window: 10.0,
            initial_ssthresh: f64::INFINITY,
            delayed_ack: true,
            ack_delay: Span::from_ms(40),
            quick_acks: 16,
            max_rto: Span::from_ms(120_000),
            initial_rto: Span::from_ms(1_000),
            clock_tick: Span::ZERO,
            integer_windows: true,
            timestamps: true,
            ..Options::ns2()
        }
    }

    /// Whether ACKs carry the receiver's timestamp: always in ns-2, otherwise with the timestamp option.
    pub fn receiver_time(&self) -> bool {
        self.timestamps || self.stack == StackProfile::Ns2
    }

    /// Whether the SYN carries a Quick-Start request.
    pub fn requests_quick_start(&self) -> bool {
        self.quick_start.bps() > 0
    }

    /// How the controllers of this flow count windows.
    pub fn arithmetic(&self) -> Arithmetic {
        let ns2 = self.stack == StackProfile::Ns2;
        Arithmetic {
            growth: if ns2 { Growth::PerAck } else { Growth::Counted },
            integer_windows: self.integer_windows,
            reduce_on_every_timeout: ns2,
        }
    }
}
