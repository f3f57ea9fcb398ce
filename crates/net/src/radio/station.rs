//! What one station hears, and when it may send: carrier sense, NAV and backoff (docs/specs/manet.md sections 2 and 3).
//!
//! A signal is told to its hearers when it is sent, with the time at which it will reach them, so that a hearer without
//! business of its own costs no event: its idea of when the medium will be free, and the deadline of its backoff, are
//! computed ahead and corrected by whatever it hears until then.

use super::events::FrameKind;
use super::store::QueuedFrame;
use engine::Stream;
use std::collections::BTreeMap;
use units::{Span, Time};

/// What happens to a packet that another one meets at the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Capture {
    /// ns-2's: a later packet that is weaker by the capture ratio is ignored, otherwise both are lost.
    #[default]
    Ns2,
    /// A packet is received while it is stronger by the capture ratio than noise and all others together.
    Sinr,
    /// Whatever overlaps is lost.
    None,
}

/// A frame on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub kind: FrameKind,
    pub to: u32,
    /// For how long after its end it reserves the medium.
    pub duration: Span,
    /// Data: what it carries.
    pub item: Option<QueuedFrame>,
    /// Data: its number at the sender.
    pub number: u32,
}

/// The times of the MAC.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    pub slot: Span,
    pub difs: Span,
    pub eifs: Span,
    /// ns-2's: EIFS is a reservation, DIFS follows it, and nothing ends it early.
    pub eifs_reserves: bool,
    /// ns-2's: a backoff before every frame, from 0 to one less than the window.
    pub always_back_off: bool,
    pub capture: Capture,
    pub capture_ratio: f64,
    pub receive_threshold: f64,
    pub noise: f64,
}

/// A signal at a hearer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signal {
    pub start: Time,
    pub end: Time,
    pub duration: Span,
    pub power: f64,
    pub from: u32,
    /// It cannot be decoded (any more).
    pub bad: bool,
    /// It is addressed to the hearer, alone or among others: its end is an event.
    pub mine: bool,
}

const SILENCE: Signal = Signal {
    start: Time::ZERO,
    end: Time::ZERO,
    duration: Span::ZERO,
    power: 0.0,
    from: u32::MAX,
    bad: true,
    mine: false,
};

/// What a station does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Nothing, or waiting for the medium.
    Idle,
    /// Waiting for SIFS before a reply or, after a CTS, the data.
    Sifs,
    /// Sent an RTS, waits for the CTS.
    Rts,
    /// Sent a CTS, waits for the data.
    Cts,
    /// Sent data, waits for the acknowledgement; or is sending a broadcast.
    Data,
    /// Is sending an acknowledgement.
    Ack,
}

/// What a station has to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    pub item: QueuedFrame,
    pub number: u32,
    /// An RTS goes first.
    pub rts: bool,
}

/// One station.
#[derive(Clone, Debug)]
pub(super) struct Station {
    /// The signal that occupies the receiver.
    pub rx: Signal,
    /// A signal that has ended, for the event that is still to come.
    pub ended: Signal,
    /// Until when others have reserved the medium.
    pub nav: Time,
    /// Until when a damaged frame forbids to contend.
    pub eifs: Time,
    /// Until when other signals than the one being received can be heard.
    pub noisy: Time,
    /// The last time at which the medium was known to be busy.
    pub quiet: Time,
    /// The end of its own last transmission.
    pub tx_until: Time,
    pub doing: Doing,
    /// A backoff is to be counted down...
    pub pending: bool,
    /// ... and is being so: a deadline is set.
    pub counting: bool,
    /// It may send after DIFS without a backoff, if nobody else begins.
    pub fresh: bool,
    /// What is left of it, and when the medium became (or becomes) free.
    pub left: Span,
    pub resumed: Time,
    pub window: u32,
    pub short_retries: u8,
    pub long_retries: u8,
    pub current: Option<Current>,
    /// The reply owed: a CTS or an acknowledgement, to whom, and the reservation that it passes on.
    pub reply: Option<(FrameKind, u32, Span)>,
    pub on_air: Frame,
    pub numbers: u32,
    /// For each neighbour the number of its last data frame.
    pub heard: BTreeMap<u32, u32>,
    pub stream: Stream,
    /// All signals heard ([`Capture::Sinr`]): end and power.
    others: Vec<(Time, f64)>,
}

/// The least contention window; the largest is 1023.
pub(super) const WINDOW_MIN: u32 = 31;
pub(super) const WINDOW_MAX: u32 = 1023;

impl Station {
    pub fn new(stream: Stream) -> Station {
        Station {
            rx: SILENCE,
            ended: SILENCE,
            nav: Time::ZERO,
            eifs: Time::ZERO,
            noisy: Time::ZERO,
            quiet: Time::ZERO,
            tx_until: Time::ZERO,
            doing: Doing::Idle,
            pending: false,
            counting: false,
            fresh: false,
            left: Span::ZERO,
            resumed: Time::ZERO,
            window: WINDOW_MIN,
            short_retries: 0,
            long_retries: 0,
            current: None,
            reply: None,
            on_air: Frame { kind: FrameKind::Ack, to: u32::MAX, duration: Span::ZERO, item: None, number: 0 },
            numbers: 0,
            heard: BTreeMap::new(),
            stream,
            others: Vec::new(),
        }
    }

    /// Reservation and EIFS once `rx` has ended, as far as is known.
    #[inline]
    fn after(&self, rx: &Signal, t: &Timing) -> (Time, Time) {
        if self.tx_until > rx.end {
            (self.nav, self.eifs) // it heard itself only
        } else if rx.bad {
            (self.nav, self.eifs.max(rx.end + t.eifs))
        } else {
            let nav = if rx.mine { self.nav } else { self.nav.max(rx.end + rx.duration) };
            (nav, if t.eifs_reserves { self.eifs } else { Time::ZERO })
        }
    }

    /// Draws the consequences of a reception that has ended by `now`.
    #[inline]
    pub fn settle(&mut self, now: Time, t: &Timing) {
        if self.rx.end <= now && self.rx.end != Time::ZERO {
            (self.nav, self.eifs) = self.after(&self.rx, t);
            self.quiet = self.quiet.max(self.rx.end);
            if self.rx.mine {
                self.ended = self.rx;
            }
            self.rx = SILENCE;
        }
    }

    /// Whether a signal is being heard now. After [`Station::settle`].
    pub fn hears(&self, now: Time) -> bool {
        (self.rx.start <= now && self.rx.end > now) || self.noisy > now
    }

    /// Whether the medium is idle: nothing heard, nothing reserved. After [`Station::settle`].
    pub fn idle(&self, now: Time, t: &Timing) -> bool {
        !self.hears(now) && self.nav <= now && !(t.eifs_reserves && self.eifs > now)
    }

    /// When the medium will be free for contention, if nothing else happens.
    #[inline]
    pub fn free_from(&self, now: Time, t: &Timing) -> Time {
        let (nav, eifs) = if self.rx.end > now { self.after(&self.rx, t) } else { (self.nav, self.eifs) };
        now.max(self.rx.end).max(nav).max(eifs).max(self.noisy)
    }

    /// When it may send.
    #[inline]
    pub fn deadline(&self, t: &Timing) -> Time {
        self.resumed + t.difs + self.left
    }

    /// Counts the whole slots that passed until `at`, when the medium becomes busy.
    #[inline]
    pub fn pause(&mut self, at: Time, t: &Timing) {
        let begun = self.resumed + t.difs;
        if at > begun {
            let slots = at.since(begun).ps() / t.slot.ps();
            let gone = slots * t.slot.ps();
            self.left = Span::from_ps(self.left.ps().saturating_sub(gone));
        }
        if self.fresh {
            self.fresh = false;
            self.draw(t);
        }
    }

    /// A new backoff.
    pub fn draw(&mut self, t: &Timing) {
        let choices = if t.always_back_off { self.window } else { self.window + 1 };
        let slots = (self.stream.uniform() * choices as f64) as u64;
        self.left = Span::from_ps(slots * t.slot.ps());
    }

    pub fn widen(&mut self) {
        self.window = (2 * self.window + 1).min(WINDOW_MAX);
    }

    /// A signal reaches the station, or will in a moment; how many receptions of its own that spoils.
    #[inline]
    pub fn hear(&mut self, mut new: Signal, t: &Timing) -> u32 {
        self.settle(new.start, t);
        if self.tx_until > new.start {
            new.bad = true;
        }
        if t.capture == Capture::Sinr {
            return self.hear_among(new, t);
        }
        if self.rx.end == Time::ZERO {
            self.rx = new;
            return 0;
        }
        // Two within the time that light takes may be told in the wrong order.
        let (first, second) = if self.rx.start <= new.start { (self.rx, new) } else { (new, self.rx) };
        if t.capture == Capture::Ns2 && first.power >= t.capture_ratio * second.power {
            self.rx = first;
            self.noisy = self.noisy.max(second.end);
            if t.eifs_reserves {
                self.eifs = self.eifs.max(second.end + t.eifs);
            }
            return (second.mine && !second.bad) as u32;
        }
        let spoilt = (first.mine && !first.bad) as u32 + (second.mine && !second.bad) as u32;
        let longer = if second.end > first.end { second } else { first };
        self.rx = Signal { bad: true, ..longer };
        spoilt
    }

    /// With interference summed: the receiver follows the first signal that it can decode, all others are noise to it.
    fn hear_among(&mut self, mut new: Signal, t: &Timing) -> u32 {
        self.others.retain(|(end, _)| *end > new.start);
        let noise = t.noise + self.others.iter().map(|(_, power)| power).sum::<f64>();
        self.others.push((new.end, new.power));
        let strong = new.power >= t.receive_threshold;
        if self.rx.end > Time::ZERO {
            // Its own power is among the others'.
            let rest = noise - self.rx.power + new.power;
            let spoilt = !self.rx.bad && self.rx.power < t.capture_ratio * rest;
            let lost = (spoilt && self.rx.mine) as u32 + (new.mine && !new.bad && strong) as u32;
            self.rx.bad |= spoilt;
            self.noisy = self.noisy.max(new.end);
            return lost;
        }
        if !strong {
            self.noisy = self.noisy.max(new.end);
            return 0;
        }
        let drowned = new.power < t.capture_ratio * noise;
        let lost = (drowned && new.mine && !new.bad) as u32;
        new.bad |= drowned;
        self.rx = new;
        lost
    }
}
