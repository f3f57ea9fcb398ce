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
    /// RACK-TLP loss detection (RFC 8985), with proportional rate reduction, F-RTO and undo, as in Linux.
    Rack,
    /// The fast retransmit of the UCLA Westwood module for ns-2: no guard against repetition, no window inflation.
    WestwoodModule,
}

impl Recovery {
    /// All recoveries: value, name, description.
    pub const ALL: [(Recovery, &str, &str); 6] = [
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
            Recovery::Rack,
            "rack",
            "RACK-TLP loss detection (RFC 8985), PRR (RFC 9937), F-RTO and undo, as in Linux",
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

/// An option whose values have names in scenarios.
macro_rules! named_values {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$value_doc])* $value,)*
        }
        impl $name {
            /// All values with their names.
            pub const ALL: &[($name, &str)] = &[$(($name::$value, $word)),*];
            /// All names.
            pub const NAMES: &[&str] = &[$($word),*];
        }
    };
}

named_values! {
    /// How the reordering window of RACK is chosen.
    ReorderingWindow {
        /// A quarter of the smallest round-trip time; wider after DSACKs.
        Adaptive = "adaptive",
        /// A quarter of the smallest round-trip time.
        Static = "static",
        /// No window: a segment is lost when a later one is delivered.
        None = "none",
    }
}

named_values! {
    /// How the window falls after a loss or an ECN echo, with recovery `rack`.
    ReductionKind {
        /// Proportional rate reduction as in Linux 6.18.
        Prr = "prr",
        /// RFC 9937: proportional to the data in flight at the start.
        Prr9937 = "prr_9937",
        /// RFC 6937 with the slow start reduction bound.
        Prr6937Ssrb = "prr_6937_ssrb",
        /// RFC 6937 with the conservative reduction bound.
        Prr6937Crb = "prr_6937_crb",
        /// The window falls at once; what is in flight limits transmission (RFC 6675).
        AtOnce = "at_once",
    }
}

named_values! {
    /// What a loss reduces, with recovery `rack`.
    ReduceFrom {
        /// The congestion window (Linux).
        Cwnd = "cwnd",
        /// The segments in flight (RFC 5681).
        Flight = "flight",
    }
}

named_values! {
    /// The estimator of the retransmission timeout, with recovery `rack`.
    RtoEstimator {
        /// As in Linux: the deviation falls slowly, and its maximum over a round trip counts.
        Linux = "linux",
        /// RFC 6298.
        Rfc6298 = "rfc6298",
    }
}

named_values! {
    /// The clock of the timers, with recovery `rack`.
    TimerClock {
        /// Exact.
        Exact = "exact",
        /// Jiffies of 4 ms and the timer wheel of Linux.
        Linux = "linux",
    }
}

named_values! {
    /// Congestion window validation, with recovery `rack`.
    Validation {
        /// As in Linux: an unused window does not grow, and shrinks after a timeout.
        Linux = "linux",
        /// RFC 7661: a window that is not used does not grow, is kept for five minutes, and a loss reduces what was used.
        Rfc7661 = "rfc7661",
        /// The window grows whether it is used or not.
        None = "none",
    }
}

named_values! {
    /// The window after an idle time longer than the retransmission timeout, with recovery `rack`.
    IdleRestart {
        /// Halved for each timeout of idle time, at least the initial window (Linux).
        Linux = "linux",
        /// The initial window (RFC 5681).
        Rfc5681 = "rfc5681",
        /// Unchanged.
        None = "none",
    }
}

/// What may undo a reduction, with recovery `rack`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoBy {
    /// DSACKs for all retransmissions (RFC 3708).
    pub dsack: bool,
    /// A timestamp echo older than the first retransmission (Eifel, RFC 4015).
    pub timestamps: bool,
    /// F-RTO (RFC 5682).
    pub frto: bool,
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
    /// ECN-capable segments carry ECT(1), the L4S identifier (RFC 9331), instead of ECT(0).
    pub l4s: bool,
    /// Each ACK echoes the marks of exactly the segments that it acknowledges (RFC 8257 section 3.2); otherwise the echo
    /// lasts until the sender sets CWR (RFC 3168).
    pub per_packet_echo: bool,
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
    /// Maximum number of segments that the pacer releases at once, if the controller has a quantum (Linux: gso_max_segs
    /// of the device).
    pub gso_max_segs: u32,
    /// Upper bound of the congestion window, segments; zero for no bound.
    pub max_cwnd: f64,
    /// Pace packets at the rate of window over round-trip time.
    pub pacing: bool,
    /// Keep the window at one segment until the first ACK.
    pub delay_growth: bool,
    /// The receiver sends SACK blocks (recoveries `sack` and `rack`).
    pub sack: bool,
    /// The receiver reports duplicates (RFC 2883), with recovery `rack`.
    pub dsack: bool,
    /// Most SACK blocks of an ACK.
    pub sack_blocks: u32,
    /// Send a tail loss probe (RFC 8985 section 7), with recovery `rack`.
    pub tail_loss_probe: bool,
    /// See [`ReorderingWindow`].
    pub reordering_window: ReorderingWindow,
    /// See [`ReductionKind`].
    pub reduction: ReductionKind,
    /// See [`ReduceFrom`].
    pub reduce_from: ReduceFrom,
    /// See [`UndoBy`].
    pub undo: UndoBy,
    /// See [`RtoEstimator`].
    pub rto_estimator: RtoEstimator,
    /// See [`TimerClock`].
    pub timer: TimerClock,
    /// See [`Validation`].
    pub validation: Validation,
    /// See [`IdleRestart`].
    pub idle_restart: IdleRestart,
    /// Pacing rate over window per round-trip time: in slow start, and after it.
    pub pacing_gain: [f64; 2],
    /// Upper bound of the delay of an ACK where it adapts; equal to `ack_delay`: the delay is fixed.
    pub ack_delay_max: Span,
    /// Number of segments that one ACK acknowledges with `delayed_ack`.
    pub ack_every: u32,
    /// After three duplicate ACKs the receiver combines further ones (compressed SACKs of Linux).
    pub ack_compression: bool,
    /// The receiver does not delay ACKs while the receive window of Linux would grow (its tcp_moderate_rcvbuf).
    pub moderate_rcvbuf: bool,
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
            l4s: false,
            per_packet_echo: false,
            abe: false,
            timestamps: false,
            timestamp_quantum: Span::ZERO,
            clock_rtt: false,
            quick_start: Rate::from_bps(0),
            quick_start_window: 0.0,
            max_burst: 0,
            gso_max_segs: 1,
            max_cwnd: 0.0,
            pacing: false,
            delay_growth: true,
            fast_retransmit_after_rto: false,
            sack: true,
            dsack: false,
            sack_blocks: 3,
            tail_loss_probe: true,
            reordering_window: ReorderingWindow::Adaptive,
            reduction: ReductionKind::Prr,
            reduce_from: ReduceFrom::Cwnd,
            undo: UndoBy { dsack: true, timestamps: true, frto: true },
            rto_estimator: RtoEstimator::Rfc6298,
            timer: TimerClock::Exact,
            validation: Validation::Linux,
            idle_restart: IdleRestart::Linux,
            pacing_gain: [2.0, 1.2],
            ack_delay_max: Span::from_ms(100),
            ack_every: 2,
            ack_compression: false,
            moderate_rcvbuf: false,
        }
    }

    /// Linux 6.18.
    pub fn linux() -> Options {
        Options {
            stack: StackProfile::Linux,
            recovery: Recovery::Rack,
            rto_estimator: RtoEstimator::Linux,
            dsack: true,
            ack_delay_max: Span::from_ms(200),
            timestamp_quantum: Span::from_ms(1),
            packet: 1448,
            header: 52,
            syn_size: 60,
            ack_size: 52,
            window: 1_000_000,
            initial_window: 10.0,
            initial_ssthresh: f64::INFINITY,
            gso_max_segs: 65_535,
            delayed_ack: true,
            ack_delay: Span::from_ms(40),
            quick_acks: 16,
            ack_compression: true,
            moderate_rcvbuf: true,
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

    /// Whether the receiver sends SACK blocks.
    pub fn reports(&self) -> bool {
        self.sack && matches!(self.recovery, Recovery::Sack | Recovery::Rack)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again() {
        for (recovery, name, _) in Recovery::ALL {
            assert_eq!((Recovery::from_name(name), recovery.name()), (Some(recovery), name));
        }
        assert_eq!(Recovery::from_name("none"), None);
        assert_eq!(Validation::NAMES, ["linux", "rfc7661", "none"]);
    }

    #[test]
    fn the_profiles_differ_where_linux_does() {
        let (ns2, linux) = (Options::ns2(), Options::linux());
        assert_eq!((ns2.recovery, linux.recovery), (Recovery::NewReno, Recovery::Rack));
        assert!(linux.integer_windows && linux.timestamps && linux.delayed_ack && linux.dsack);
        assert!(ns2.receiver_time() && linux.receiver_time());
        assert!(!Options { timestamps: false, ..linux.clone() }.receiver_time());
        assert!(linux.reports() && !ns2.reports());
        assert!(!Options { sack: false, ..linux.clone() }.reports());
        assert!(Options { recovery: Recovery::Sack, ..ns2.clone() }.reports());
        assert_eq!((ns2.arithmetic().growth, linux.arithmetic().growth), (Growth::PerAck, Growth::Counted));
        assert!(ns2.arithmetic().reduce_on_every_timeout && !linux.arithmetic().reduce_on_every_timeout);
        assert!(!ns2.requests_quick_start());
        assert!(Options { quick_start: Rate::from_bps(1), ..ns2 }.requests_quick_start());
    }
}
