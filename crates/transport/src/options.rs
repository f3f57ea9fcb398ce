//! TCP options. A profile is a set of option values; all profiles use the same sender.

use cc::{Arithmetic, Growth};
use params::Form::{AtLeast, Bytes, Integer, List, Number, NumberOrNone, Range, Row, Switch, Word};
use params::{FromValue, Needs, Unit, Value, named_values};
use std::sync::LazyLock;
use units::{Rate, Span, Time};

named_values! {
    /// The loss recovery algorithm: how the sender detects lost segments and retransmits them.
    Recovery {
        /// Slow start from one segment at the third duplicate ACK.
        Tahoe = "tahoe",
        /// Fast recovery that ends at the first new ACK.
        Reno = "reno",
        /// Fast recovery through partial ACKs (RFC 6582).
        NewReno = "newreno",
        /// Selective acknowledgements: ns-2's Sack1 in the `ns2` profile, RFC 6675 in the `linux` profile.
        Sack = "sack",
        /// RACK-TLP loss detection (RFC 8985), with proportional rate reduction, F-RTO and undo, as in Linux.
        Rack = "rack",
        /// The fast retransmit of the UCLA Westwood module for ns-2: no guard against repetition, no window inflation.
        WestwoodModule = "westwood_module",
    }
}

impl Recovery {
    /// The recovery called `name`.
    pub fn from_name(name: &str) -> Option<Recovery> {
        Recovery::ALL.iter().find(|recovery| recovery.1 == name).map(|recovery| recovery.0)
    }

    /// One line that describes it, for lists.
    pub fn summary(self) -> &'static str {
        match self {
            Recovery::Tahoe => "fast retransmit, then slow start from one segment (Jacobson 1988)",
            Recovery::Reno => {
                "fast recovery ending at the first new ACK (RFC 2581); with Vegas its fine clock"
            }
            Recovery::NewReno => "fast recovery through partial ACKs (RFC 6582)",
            Recovery::Sack => {
                "selective acknowledgements: ns-2's Sack1 (profile ns2) or RFC 6675 (profile linux)"
            }
            Recovery::Rack => {
                "RACK-TLP loss detection (RFC 8985), PRR (RFC 9937), F-RTO and undo, as in Linux"
            }
            Recovery::WestwoodModule => {
                "fast retransmit at every third duplicate ACK, unguarded, no inflation (UCLA Westwood module for ns-2, 2002)"
            }
        }
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
        /// The window grows up to a limit by what was in flight (draft-ietf-ccwg-ratelimited-increase, version 10).
        Ratelimited = "ratelimited",
        /// The same, read literally: the limit also cuts a window that exceeds it, for instance after a reduction.
        RatelimitedLiteral = "ratelimited_literal",
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

named_values! {
    /// How ACKs echo ECN marks.
    EcnFeedback {
        /// Until the sender sets CWR (RFC 3168).
        Classic = "classic",
        /// The marks of exactly the segments that the ACK acknowledges (RFC 8257 section 3.2).
        PerPacket = "per_packet",
        /// Counters of CE packets, and of bytes by codepoint in an option (RFC 9768).
        Accurate = "accurate",
    }
}

// What options need.
const RECOVERY_RACK: Needs = Needs::Is("recovery", &["rack"]);
const WITH_SACK: Needs = Needs::Is("sack", &["true"]);
const SACK_RECOVERY: Needs = Needs::Is("recovery", &["sack", "rack"]);
const RACK: Needs = Needs::Required(&RECOVERY_RACK);
const RACK_SACK: Needs = Needs::All(&[RACK, WITH_SACK]);
const SACKS: Needs = Needs::Required(&Needs::All(&[SACK_RECOVERY, WITH_SACK]));
const DELAYED: Needs = Needs::Is("delayed_ack", &["true"]);
const ADAPTED: Needs = Needs::All(&[RACK, DELAYED]);
const NOT_RACK: Needs = Needs::IsNot("recovery", &["rack"]);
const CLOCK: Needs = Needs::All(&[NOT_RACK, Needs::IsNot("clock_tick", &["0s"])]);
/// The recovery, and the controllers that use the receiver's clock, have its resolution.
const STAMPS: Needs = Needs::Any(&[
    Needs::All(&[RECOVERY_RACK, Needs::Is("timestamps", &["true"])]),
    Needs::Is("congestion_control", &["ledbat", "ledbat_pp", "lp", "sarbe"]),
]);
const PROFILE_NS2: Needs = Needs::Is("profile", &["ns2"]);
const NS2_WINDOWS: Needs = Needs::All(&[PROFILE_NS2, NOT_RACK]);
const NEWRENO: Needs = Needs::Is("recovery", &["newreno"]);
/// Duplicate ACKs are counted: by all recoveries without SACK but one, and by ns-2's Sack1.
const DUPLICATES: Needs = Needs::Any(&[
    Needs::Is("recovery", &["tahoe", "reno", "newreno"]),
    Needs::All(&[Needs::Is("recovery", &["sack"]), WITH_SACK, PROFILE_NS2]),
]);
const LIMITED: Needs = Needs::Any(&[RECOVERY_RACK, DUPLICATES]);
/// The controllers whose quantum the pacer releases at once.
const BURSTS: Needs = Needs::Is("congestion_control", &["bbr", "bbr3", "c4"]);
/// The controllers that have another factor for ECN echoes.
const ABE: Needs = Needs::All(&[
    Needs::Is("ecn", &["true"]),
    Needs::Is("congestion_control", &["reno", "cubic"]),
    Needs::IsNot("recovery", &["westwood_module"]),
]);
const PACED: Needs = Needs::Is("pacing", &["true"]);
const TSO: Needs =
    Needs::Any(&[Needs::All(&[Needs::Is("tso", &["true"]), PACED]), Needs::Is("small_queues", &["true"])]);
const QUICK_START: Needs = Needs::IsNot("quick_start", &["0bps"]);
const ACCURATE: Needs = Needs::Required(&Needs::Is("ecn_feedback", &["accurate"]));
const GROWTH: Needs = Needs::Any(&[Needs::Is("syn", &["true"]), Needs::Is("recovery", &["reno"])]);

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

params::options! {
    /// All options of a flow. `Options::ns2()` and `Options::linux()` are the profiles.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Options {
        recovery: Recovery = Word(Recovery::NAMES), ["\"newreno\"", "\"rack\""],
            "loss recovery (`ackclock list recoveries`); `sack` is ns-2's Sack1 or RFC 6675 by profile";
        packet ["mss"]: u32 = Bytes(1, 65_000), ["\"1000B\"", "\"1448B\""], "payload of a segment";
        header: u32 = Bytes(0, 500), ["\"40B\"", "\"52B\""],
            "bytes on the wire besides the payload; in profile `ns2` 10 more with `timestamps`";
        ack_size: u32 = Bytes(1, 65_000), ["\"40B\"", "\"52B\""],
            "size of an ACK on the wire without SACK blocks, which take 8 bytes each";
        window ["receive_window"]: u32 = Integer(1, 1 << 30), ["20", "1000000"], "receiver's window, segments";
        initial_window: f64 = Number(1.0, 1e6), ["2", "10"],
            "window after the handshake, segments; without it the controller may specify its own (`enhanced_rcp`: 4)";
        initial_ssthresh: f64 = Number(1.0, 1e9), ["`receive_window`", "infinite"],
            "slow-start threshold at the start, segments", else f64::INFINITY;
        max_cwnd: f64 = NumberOrNone(1.0, 1e9), ["0"],
            "upper bound of the congestion window, segments; 0 for none";
        max_burst: u32 = Integer(0, 1 << 30), ["0"],
            "most packets sent in response to one event; 0 for no bound";
        gso_max_segs: u32 = Integer(1, 65_535), ["1", "65535"],
            "most segments that the pacer releases at once for a controller with a quantum (`bbr`, `c4`)", needs BURSTS;
        short_segments: bool = Switch, ["false", "true"],
            "what the application writes ends with a segment of its rest, as with TCP_NODELAY; otherwise with a full one. With `app` and `sizes` it is true in both profiles";
        syn: bool = Switch, ["true"], "packet 0 is a SYN without data";
        delay_growth: bool = Switch, ["true"],
            "with a SYN (and in the recovery of ns-2's Vegas) the window is 1 until the first ACK, then `initial_window`", needs GROWTH;
        delayed_ack: bool = Switch, ["false", "true"],
            "the receiver acknowledges every second segment (`ack_every`), or after `ack_delay`";
        ack_delay: Span = Range(Unit::Time, "40ms", "0s", "1000000s"), ["\"100ms\"", "\"40ms\""],
            "delay of an ACK with `delayed_ack`; where it adapts, the smallest", needs DELAYED;
        ack_delay_max: Span = Range(Unit::Time, "200ms", "0s", "1000000s"), ["\"100ms\"", "\"200ms\""],
            "largest delay of an ACK where it adapts, with recovery `rack`; equal to `ack_delay` for a fixed delay", needs ADAPTED;
        quick_acks: u32 = Integer(0, 1 << 20), ["0", "16"],
            "ACKs that are not delayed at the start, and after a gap longer than the retransmission timeout", needs DELAYED;
        ack_every: u32 = Integer(1, 1 << 20), ["2"], "segments that one ACK acknowledges with `delayed_ack`", needs DELAYED;
        ack_compression: bool = Switch, ["false", "true"],
            "with SACK: after three duplicate ACKs the receiver combines up to 44 further ones within 5 % of a round trip, at most 1 ms, and 0.1 ms (compressed SACKs of Linux)", needs SACKS;
        moderate_rcvbuf: bool = Switch, ["false", "true"],
            "with `delayed_ack`: no ACK is delayed while the receive window of Linux would grow, which is so in slow start (receive buffer auto-tuning of Linux)", needs DELAYED;
        limited_transmit: bool = Switch, ["true"],
            "a new segment on each of the first two duplicate ACKs (RFC 3042)", needs LIMITED;
        sack: bool = Switch, ["true"],
            "selective acknowledgements (RFC 2018), with recoveries `sack` and `rack`", needs SACK_RECOVERY;
        dsack: bool = Switch, ["false", "true"],
            "the receiver reports duplicates (RFC 2883), with recovery `rack`", needs SACKS;
        sack_blocks: u32 = Integer(1, 4), ["3", "with `timestamps` 3, otherwise 4"],
            "most SACK blocks of an ACK", needs SACKS, else 3;
        reordering_window: ReorderingWindow = Word(ReorderingWindow::NAMES), ["\"adaptive\""],
            "`rack`: a quarter of the smallest round-trip time, wider after DSACKs (RFC 8985 section 6.2); `static`: not wider; `none`: no reordering window", needs RACK_SACK;
        tail_loss_probe: bool = Switch, ["true"],
            "`rack`: probe the end of the data for a loss (RFC 8985 section 7)", needs RACK_SACK;
        reduction: ReductionKind = Word(ReductionKind::NAMES), ["\"prr\""],
            "`rack`: how the window falls: proportional rate reduction of Linux, of RFC 9937, of RFC 6937 with slow start or conservative bound, or at once (RFC 6675)", needs RACK;
        reduce_from: ReduceFrom = Word(ReduceFrom::NAMES), ["\"cwnd\""],
            "`rack`: what a loss reduces: the window (Linux) or the flight size (RFC 5681)", needs RACK;
        undo: UndoBy = List(&Word(&["dsack", "timestamps", "frto"]), "[\"dsack\", \"frto\"]"), ["`[\"dsack\", \"timestamps\", \"frto\"]`"],
            "`rack`: what may undo a reduction: DSACK (RFC 3708), timestamps (RFC 4015), F-RTO (RFC 5682)", needs RACK, else UndoBy { dsack: true, timestamps: true, frto: true };
        rto_estimator: RtoEstimator = Word(RtoEstimator::NAMES), ["\"rfc6298\"", "\"linux\""],
            "`rack`: estimator of the retransmission timeout", needs RACK;
        timer: TimerClock = Word(TimerClock::NAMES), ["\"exact\""],
            "`rack`: exact timers, or jiffies of 4 ms and the timer wheel of Linux", needs RACK;
        validation: Validation = Word(Validation::NAMES), ["\"linux\""],
            "`rack`: a window that the application does not use does not grow, and shrinks after a timeout; `rfc7661`: it is kept for five minutes, and a loss reduces what was used (RFC 7661); `none`: it grows; `ratelimited`: it grows to twice what was in flight in slow start, and by one segment more than that after it (draft-ietf-ccwg-ratelimited-increase-10; `ratelimited_literal` also cuts it down to that)", needs RACK;
        idle_restart: IdleRestart = Word(IdleRestart::NAMES), ["\"linux\""],
            "`rack`: the window after an idle time longer than the timeout: halved for each timeout, the initial window (RFC 5681), or unchanged", needs RACK;
        min_rto: Span = Range(Unit::Time, "200ms", "0s", "1000000s"), ["\"200ms\""],
            "smallest retransmission timeout";
        max_rto: Span = Range(Unit::Time, "60s", "1ms", "1000000s"), ["\"60s\"", "\"120s\""],
            "largest retransmission timeout";
        initial_rto: Span = Range(Unit::Time, "1s", "1ms", "1000000s"), ["\"3s\"", "\"1s\""],
            "retransmission timeout before the first round-trip sample";
        clock_tick: Span = Range(Unit::Time, "10ms", "0s", "1000000s"), ["\"10ms\"", "\"0s\""],
            "tick of the clock that measures round-trip times; 0 for an exact clock";
        clock_phase: Option<Span> = Range(Unit::Time, "3ms", "0s", "1000000s"), ["from the seed"],
            "offset of that clock within a tick at the start", needs CLOCK;
        timestamps: bool = Switch, ["false", "true"],
            "every packet carries a timestamp, every ACK gives a round-trip sample (RFC 7323)";
        timestamp_quantum: Span = Range(Unit::Time, "1ms", "0s", "1000000s"), ["\"0s\"", "\"1ms\""],
            "resolution of the receiver's timestamps; 0 for exact", needs STAMPS;
        clock_rtt: bool = Switch, ["false"],
            "the controller's round-trip samples are those of the retransmission clock: whole ticks of `clock_tick`", needs NOT_RACK;
        integer_windows: bool = Switch, ["false", "true"],
            "reductions truncate the window to a whole number (ns-2's `precisionReduce_ false`)", needs NS2_WINDOWS;
        impatient: bool = Switch, ["true"],
            "NewReno: only the first partial ACK resets the retransmission timer (RFC 6582)", needs NEWRENO;
        partial_deflation: bool = Switch, ["true"],
            "NewReno: a partial ACK deflates the window by what it acknowledges", needs NEWRENO;
        fast_retransmit_after_rto: bool = Switch, ["false"],
            "duplicate ACKs of segments sent before a timeout can cause a fast retransmit (ns-2's `bugFix_ false`)", needs DUPLICATES;
        ecn: bool = Switch, ["false"],
            "data packets are ECN-capable; an echo reduces the window at most once a round trip (RFC 3168)";
        ecn_feedback: EcnFeedback = Word(EcnFeedback::NAMES), ["\"classic\""],
            "`\"classic\"`: ACKs echo a mark until CWR (RFC 3168); `\"per_packet\"`: each ACK echoes the marks of the segments that it acknowledges (RFC 8257); dctcp and prague set it; `\"accurate\"`: ACKs have a counter of the marked packets (RFC 9768), with profile `linux` and recovery `rack`; dctcp and prague then average the counts, without the error that lost and merged ACKs cause";
        accecn_option: bool = Switch, ["true"],
            "ACKs have the counters of bytes by ECN codepoint too, in an option of 8 or 12 bytes on the wire (RFC 9768 section 3.2.3)", needs ACCURATE;
        l4s: bool = Switch, ["false"],
            "ECN-capable packets carry ECT(1) instead of ECT(0) (RFC 9331); prague sets it";
        abe: bool = Switch, ["false"],
            "an ECN echo multiplies the window by 0.8 instead of the controller's factor (RFC 8511)", needs ABE;
        pacing: bool = Switch, ["false"], "packets are sent at the rate window over round-trip time";
        pacing_gain: [f64; 2] = Row(&[Number(0.01, 100.0), Number(0.01, 100.0)], "[2.0, 1.2]"), ["`[2.0, 1.2]`"],
            "factors of that rate, in slow start and after it", needs PACED, else [2.0, 1.2];
        tso: bool = Switch, ["false"],
            "a sender that paces sends bursts: the bytes of 2^-`pacing_shift` s at its rate, at least 2 segments, at most 64 kB", needs PACED;
        pacing_shift: u32 = Integer(0, 20), ["10"],
            "of `tso` and `small_queues`; 10: bursts of 1 ms, as Linux on wires; 7: of 8 ms, as it does on Wi-Fi", needs TSO;
        small_queues: bool = Switch, ["false"],
            "a sender has at most 2 bursts of `tso` or the bytes of 2^-`pacing_shift` s at its rate in the queue and the device of its host (TCP small queues)";
        gro: bool = Switch, ["false"],
            "the receiver acknowledges adjacent segments that arrive at one instant once, up to 64 kB";
        quick_start: Rate = AtLeast(Unit::Rate, "1Mbps", "80kbps"), ["none"],
            "rate that the SYN requests from the routers of its path (RFC 4782)", else Rate::from_bps(0);
        quick_start_window: f64 = Number(1.0, 1e9), ["from the approved rate"],
            "window after an approved request, segments", needs QUICK_START, else 0.0;
    }
    with {
        /// The profile for the differences without an option of their own.
        stack: StackProfile = |_| StackProfile::Ns2;
        /// Size of a SYN on the wire, bytes.
        syn_size: u32 = |_| 40;
    }
}

/// The profiles: ns-2.35, which the five papers used, and Linux 6.18.
static PROFILES: LazyLock<[Options; 2]> = LazyLock::new(|| {
    let ns2 = Options::with_defaults(0);
    let linux = Options { stack: StackProfile::Linux, syn_size: 60, ..Options::with_defaults(1) };
    [Options { initial_ssthresh: ns2.window as f64, ..ns2 }, linux]
});

impl FromValue for UndoBy {
    fn from_value(value: &Value) -> Option<UndoBy> {
        let words: Vec<&str> = FromValue::from_value(value)?;
        let has = |word| words.contains(&word);
        Some(UndoBy { dsack: has("dsack"), timestamps: has("timestamps"), frto: has("frto") })
    }
}

impl Options {
    /// The defaults of ns-2.35.
    pub fn ns2() -> Options {
        PROFILES[0].clone()
    }

    /// Linux 6.18.
    pub fn linux() -> Options {
        PROFILES[1].clone()
    }

    /// Whether ACKs carry the receiver's timestamp: always in ns-2, otherwise with the timestamp option.
    pub fn receiver_time(&self) -> bool {
        self.timestamps || self.stack == StackProfile::Ns2
    }

    /// The number of segments of `bytes` bytes of payload.
    #[inline]
    pub fn segments(&self, bytes: u64) -> u32 {
        bytes.div_ceil(u64::from(self.packet)).min(u64::from(u32::MAX)) as u32
    }

    /// The bytes that the last of the segments of `bytes` bytes has less than a full one.
    pub fn missing(&self, bytes: u64) -> u32 {
        (bytes.next_multiple_of(u64::from(self.packet)) - bytes) as u32
    }

    /// The most segments that one event may send.
    #[inline]
    pub fn most_at_once(&self) -> u32 {
        match self.max_burst {
            0 => u32::MAX,
            most => most,
        }
    }

    /// A time in the resolution of the timestamp clock.
    pub fn stamp(&self, at: Time) -> Time {
        let past = at.ps().checked_rem(self.timestamp_quantum.ps()).unwrap_or(0);
        Time::from_ps(at.ps() - past)
    }

    /// Whether the sender responds to ECN echoes.
    pub(crate) fn answers_echoes(&self) -> bool {
        self.ecn && self.recovery != Recovery::WestwoodModule
    }

    /// Whether ACKs have counters of ECN marks (RFC 9768).
    pub fn has_accurate_ecn(&self) -> bool {
        self.ecn && self.ecn_feedback == EcnFeedback::Accurate
    }

    /// Whether the SYN carries a Quick-Start request.
    pub fn requests_quick_start(&self) -> bool {
        self.quick_start.bps() > 0
    }

    /// Whether the receiver sends SACK blocks.
    pub fn reports(&self) -> bool {
        self.sack && matches!(self.recovery, Recovery::Sack | Recovery::Rack)
    }

    /// The value of an option that other options need, as a table has it; none of another key.
    pub fn needed(&self, key: &str) -> Option<String> {
        Some(match key {
            "recovery" => self.recovery.name().into(),
            "clock_tick" => self.clock_tick.to_string(),
            "quick_start" => self.quick_start.to_string(),
            "ecn_feedback" => self.ecn_feedback.name().into(),
            "profile" => if self.stack == StackProfile::Ns2 { "ns2" } else { "linux" }.into(),
            switch => {
                let on = match switch {
                    "delayed_ack" => self.delayed_ack,
                    "ecn" => self.ecn,
                    "pacing" => self.pacing,
                    "sack" => self.sack,
                    "small_queues" => self.small_queues,
                    "syn" => self.syn,
                    "timestamps" => self.timestamps,
                    "tso" => self.tso,
                    _ => return None,
                };
                on.to_string()
            }
        })
    }

    /// How the controllers of this flow count windows.
    pub fn arithmetic(&self) -> Arithmetic {
        let ns2 = self.stack == StackProfile::Ns2;
        Arithmetic {
            growth: if ns2 { Growth::PerAck } else { Growth::Counted },
            integer_windows: self.integer_windows,
            reduce_on_every_timeout: ns2,
            rfc_variants: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again() {
        for (recovery, name) in Recovery::ALL {
            assert_eq!((Recovery::from_name(name), recovery.name()), (Some(*recovery), *name));
        }
        assert_eq!(Recovery::from_name("none"), None);
        assert_eq!(Validation::NAMES, ["linux", "rfc7661", "none", "ratelimited", "ratelimited_literal"]);
    }

    #[test]
    fn what_options_need_has_a_value() {
        let options = Options::linux();
        for key in Options::KEYS.iter().flat_map(|key| key.needs.keys()) {
            assert!(key == "congestion_control" || options.needed(key).is_some(), "{key}");
        }
        assert_eq!(options.needed("clock_tick").as_deref(), Some("0s"));
        assert_eq!(options.needed("quick_start").as_deref(), Some("0bps"));
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
