//! Carrier sense, NAV and backoff of one station (docs/specs/manet.md sections 2 and 3).
//!
//! The stations in range process a signal when its transmission begins, with the time at which the signal reaches them.
//! A station that is not addressed therefore needs no event for the signal. The station computes in advance when the
//! medium becomes free and when its backoff ends. It corrects both times for every further signal that it senses.

use super::events::FrameKind;
use super::store::QueuedFrame;
use engine::Stream;
use params::named_values;
use std::collections::BTreeMap;
use units::{Span, Time};

named_values! {
    /// Reception of packets that overlap at the receiver.
    Capture {
        /// ns-2: the receiver ignores a later packet that is weaker by the capture ratio. Otherwise, both are lost.
        Ns2 = "ns2",
        /// A packet is received if its power exceeds the sum of the noise and all other signals by the capture ratio.
        Sinr = "sinr",
        /// All packets that overlap are lost.
        None = "none",
    }
}

/// A frame that a station transmits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub kind: FrameKind,
    pub to: u32,
    /// Time for which the frame reserves the medium after its end.
    pub duration: Span,
    /// The payload of a data frame.
    pub item: Option<QueuedFrame>,
    /// The sequence number of a data frame at its sender.
    pub number: u32,
}

/// The times of the MAC.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    pub difs: Span,
    pub eifs: Span,
    /// Variant of ns-2: EIFS is a reservation, DIFS follows it, and no frame ends EIFS early.
    pub eifs_reserves: bool,
    /// Variant of ns-2: the station draws a backoff from 0 to window - 1 before every frame.
    pub always_back_off: bool,
    pub capture: Capture,
    pub capture_ratio: f64,
    pub receive_threshold: f64,
    pub noise: f64,
}

/// A signal at a receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedSignal {
    pub start: Time,
    pub end: Time,
    pub duration: Span,
    pub power: f64,
    pub from: u32,
    /// The station cannot decode the signal, or can no longer decode it.
    pub bad: bool,
    /// The signal is addressed to this station, as unicast or broadcast. The end of the signal is an event.
    pub addressed: bool,
}

const NO_SIGNAL: ReceivedSignal = ReceivedSignal {
    start: Time::ZERO,
    end: Time::ZERO,
    duration: Span::ZERO,
    power: 0.0,
    from: u32::MAX,
    bad: true,
    addressed: false,
};

/// The state of the frame exchange at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExchangeState {
    /// The station has no frame, or waits for access to the medium.
    Idle,
    /// The station waits for SIFS before a reply, or before the data after a CTS.
    Sifs,
    /// The station transmits an RTS, and then waits for the CTS.
    Rts,
    /// The station transmits a CTS, and then waits for the data.
    Cts,
    /// The station transmits data, and then waits for the ACK unless the data is a broadcast.
    Data,
    /// The station transmits an ACK.
    Ack,
}

/// The frame that a station has to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    pub item: QueuedFrame,
    pub number: u32,
    /// The station sends an RTS before the frame.
    pub rts: bool,
}

/// One station.
#[derive(Clone, Debug)]
pub(super) struct Station {
    /// The signal that occupies the receiver.
    pub rx: ReceivedSignal,
    /// The last signal addressed to the station that has ended. It is kept for the event at its end.
    pub ended: ReceivedSignal,
    /// Network allocation vector: the time until which other stations reserve the medium.
    pub nav: Time,
    /// The time until which the station must not contend after a reception error.
    pub eifs: Time,
    /// The time until which the station senses signals other than the one in `rx`.
    pub noisy: Time,
    /// The end of the last signal that occupied the receiver.
    pub quiet: Time,
    /// The end of the last transmission of this station.
    pub tx_until: Time,
    pub exchange_state: ExchangeState,
    /// A backoff is pending.
    pub pending: bool,
    /// The station counts the pending backoff down, and its deadline is set.
    pub counting: bool,
    /// The station may send after DIFS without a backoff, unless a signal arrives before.
    pub fresh: bool,
    /// The remaining backoff, and the time at which the medium became (or becomes) free.
    pub left: Span,
    pub resumed: Time,
    pub window: u32,
    pub short_retries: u8,
    pub long_retries: u8,
    pub current: Option<Current>,
    /// The reply to send: its kind (CTS or ACK), its receiver, and the time for which it reserves the medium.
    pub reply: Option<(FrameKind, u32, Span)>,
    pub last_transmission: Frame,
    pub numbers: u32,
    /// For each neighbour the number of its last data frame.
    pub heard: BTreeMap<u32, u32>,
    pub stream: Stream,
    /// The end and the power of every signal at the receiver, for [`Capture::Sinr`].
    others: Vec<(Time, f64)>,
}

/// The slot time.
pub(super) const SLOT: Span = Span::from_ps(20_000_000);

/// The minimum and maximum contention window (CWmin and CWmax), slots.
pub(super) const CW_MIN: u32 = 31;
pub(super) const CW_MAX: u32 = 1023;

impl Station {
    pub fn new(stream: Stream) -> Station {
        Station {
            rx: NO_SIGNAL,
            ended: NO_SIGNAL,
            nav: Time::ZERO,
            eifs: Time::ZERO,
            noisy: Time::ZERO,
            quiet: Time::ZERO,
            tx_until: Time::ZERO,
            exchange_state: ExchangeState::Idle,
            pending: false,
            counting: false,
            fresh: false,
            left: Span::ZERO,
            resumed: Time::ZERO,
            window: CW_MIN,
            short_retries: 0,
            long_retries: 0,
            current: None,
            reply: None,
            last_transmission: Frame {
                kind: FrameKind::Ack,
                to: u32::MAX,
                duration: Span::ZERO,
                item: None,
                number: 0,
            },
            numbers: 0,
            heard: BTreeMap::new(),
            stream,
            others: Vec::new(),
        }
    }

    /// The NAV and the end of EIFS after the end of `rx`, as far as the station can compute them now.
    #[inline]
    fn after(&self, rx: &ReceivedSignal, t: &Timing) -> (Time, Time) {
        // The processor cannot predict which of these hold, so nothing here is a branch.
        let transmits = self.tx_until > rx.end; // at the end of the signal
        let choose = |condition: bool, time: Time| if condition { time } else { Time::ZERO };
        let reserved = choose(!(transmits | rx.bad | rx.addressed), rx.end + rx.duration);
        let error = choose(rx.bad & !transmits, rx.end + t.eifs);
        let eifs = choose(transmits | rx.bad | t.eifs_reserves, self.eifs);
        (self.nav.max(reserved), eifs.max(error))
    }

    /// Completes a reception that has ended by `now`: updates the NAV and EIFS, and clears the receiver.
    #[inline]
    pub fn complete_reception(&mut self, now: Time, t: &Timing) {
        if self.rx.end <= now && self.rx.end != Time::ZERO {
            (self.nav, self.eifs) = self.after(&self.rx, t);
            self.quiet = self.quiet.max(self.rx.end);
            if self.rx.addressed {
                self.ended = self.rx;
            }
            self.rx = NO_SIGNAL;
        }
    }

    /// Whether the station senses a signal now. Call [`Station::complete_reception`] first.
    pub fn senses_signal(&self, now: Time) -> bool {
        (self.rx.start <= now && self.rx.end > now) || self.noisy > now
    }

    /// Whether the medium is idle: the station senses no signal, and no reservation is active. Call
    /// [`Station::complete_reception`] first.
    pub fn idle(&self, now: Time, t: &Timing) -> bool {
        !self.senses_signal(now) && self.nav <= now && !(t.eifs_reserves && self.eifs > now)
    }

    /// The time from which the medium is free for contention, if no further signal arrives.
    #[inline]
    pub fn medium_free_time(&self, now: Time, t: &Timing) -> Time {
        let (nav, eifs) = if self.rx.end > now { self.after(&self.rx, t) } else { (self.nav, self.eifs) };
        now.max(self.rx.end).max(nav).max(eifs).max(self.noisy)
    }

    /// The time at which the station may send.
    #[inline]
    pub fn deadline(&self, t: &Timing) -> Time {
        self.resumed + t.difs + self.left
    }

    /// Counts the whole slots that passed until `at`, when the medium becomes busy.
    #[inline]
    pub fn pause(&mut self, at: Time, t: &Timing) {
        let begun = self.resumed + t.difs;
        let slots = at.ps().saturating_sub(begun.ps()) / SLOT.ps();
        self.left = Span::from_ps(self.left.ps().saturating_sub(slots * SLOT.ps()));
        if self.fresh {
            self.fresh = false;
            self.draw(t);
        }
    }

    /// Draws a new backoff.
    pub fn draw(&mut self, t: &Timing) {
        let choices = if t.always_back_off { self.window } else { self.window + 1 };
        let slots = (self.stream.uniform() * choices as f64) as u64;
        self.left = Span::from_ps(slots * SLOT.ps());
    }

    pub fn double_contention_window(&mut self) {
        self.window = (2 * self.window + 1).min(CW_MAX);
    }

    /// Adds a signal that reaches the station now or after its propagation delay. Returns the number of receptions
    /// addressed to the station that are lost because of the overlap.
    #[inline]
    pub fn add_signal(&mut self, mut new: ReceivedSignal, t: &Timing) -> u32 {
        self.complete_reception(new.start, t);
        if self.tx_until > new.start {
            new.bad = true;
        }
        if t.capture == Capture::Sinr {
            return self.add_signal_sinr(new, t);
        }
        if self.rx.end == Time::ZERO {
            self.rx = new;
            return 0;
        }
        // Signals can be added in the wrong order if they start within one propagation delay.
        let (first, second) = if self.rx.start <= new.start { (self.rx, new) } else { (new, self.rx) };
        if t.capture == Capture::Ns2 && first.power >= t.capture_ratio * second.power {
            self.rx = first;
            self.noisy = self.noisy.max(second.end);
            if t.eifs_reserves {
                self.eifs = self.eifs.max(second.end + t.eifs);
            }
            return (second.addressed && !second.bad) as u32;
        }
        let corrupted = (first.addressed && !first.bad) as u32 + (second.addressed && !second.bad) as u32;
        let longer = if second.end > first.end { second } else { first };
        self.rx = ReceivedSignal { bad: true, ..longer };
        corrupted
    }

    /// Adds a signal under [`Capture::Sinr`]: the receiver receives the first signal that it can decode, and all
    /// other signals are interference.
    fn add_signal_sinr(&mut self, mut new: ReceivedSignal, t: &Timing) -> u32 {
        self.others.retain(|(end, _)| *end > new.start);
        let noise = t.noise + self.others.iter().map(|(_, power)| power).sum::<f64>();
        self.others.push((new.end, new.power));
        let strong = new.power >= t.receive_threshold;
        if self.rx.end > Time::ZERO {
            // `noise` includes the power of the signal in `rx`.
            let rest = noise - self.rx.power + new.power;
            let corrupted = !self.rx.bad && self.rx.power < t.capture_ratio * rest;
            let lost = (corrupted && self.rx.addressed) as u32 + (new.addressed && !new.bad && strong) as u32;
            self.rx.bad |= corrupted;
            self.noisy = self.noisy.max(new.end);
            return lost;
        }
        if !strong {
            self.noisy = self.noisy.max(new.end);
            return 0;
        }
        let below_capture_ratio = new.power < t.capture_ratio * noise;
        let lost = (below_capture_ratio && new.addressed && !new.bad) as u32;
        new.bad |= below_capture_ratio;
        self.rx = new;
        lost
    }
}
