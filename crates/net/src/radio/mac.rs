//! 802.11 DCF of one station: frame exchanges, retries and backoff (docs/specs/manet.md section 3). It is a state
//! machine that writes its outputs to a list.

use super::clock::{RadioClock, RadioTimer};
use super::events::{FrameKind, RadioCounts};
use super::station::{CW_MIN, Capture, Current, ExchangeState, Frame, ReceivedSignal, SLOT, Station, Timing};
use super::store::{BROADCAST, QueuedFrame};
use params::{Form, Key, Unit, by_profile, key, options};
use units::{Rate, Span, Time};

/// An output of a station, carried out in order after the call that produced it.
#[derive(Clone, Copy, Debug)]
pub(super) enum MacOutput {
    /// The station transmits `frame` until `end`. The payload of its last transmission, `before`, is no longer needed.
    Transmit { frame: Frame, end: Time, before: Option<QueuedFrame> },
    /// A frame was sent: its ACK arrived, or the frame was a broadcast.
    Sent(QueuedFrame),
    /// A frame arrived from a neighbour.
    Deliver { from: u32, frame: QueuedFrame },
    /// The last attempt to send a frame failed. The station waits for [`Station::end_failure`].
    Failed(QueuedFrame),
    /// The station can take another frame: [`Station::load`], then [`Station::count_down`].
    NextFrame,
}

/// What a station can use during a call.
pub(super) struct MacContext<'a> {
    pub now: Time,
    pub node: u32,
    pub config: &'a MacConfig,
    pub timing: &'a Timing,
    /// Largest propagation delay, in timeouts.
    pub margin: Span,
    pub clock: &'a mut RadioClock,
    pub counts: &'a mut RadioCounts,
    pub outputs: &'a mut Vec<MacOutput>,
}

impl MacContext<'_> {
    fn set(&mut self, timer: RadioTimer, at: Time) {
        self.clock.set(self.node, timer, at);
    }
}

const RATE: Form = Form::Range(Unit::Rate, "2Mbps", "1Mbps", "11Mbps");

options! {
    /// The MAC's settings, under the profiles `ns2` and `std`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct MacConfig {
        rate: Rate = RATE, ["\"1Mbps\""], "rate of data frames: 1, 2, 5.5 or 11 Mb/s";
        basic_rate: Rate = RATE, ["\"1Mbps\""], "rate of control and broadcast frames";
        rts_threshold: u32 = Form::Integer(0, 100_000), ["0"],
            "frames of at least this size use RTS and CTS, bytes";
        capture: Capture = Form::Word(Capture::NAMES), ["\"ns2\"", "\"sinr\""],
            "reception of overlapping frames";
        short_retries ["short_retry_limit"]: u8 = Form::Integer(1, 255), ["7"], "attempts of short frames";
        long_retries ["long_retry_limit"]: u8 = Form::Integer(1, 255), ["4"], "attempts of long frames";
    }
    with {
        /// Preamble and PLCP header: 192 microseconds, 96 with the short preamble.
        preamble: Span = |values| {
            Span::from_ps(if values.optional("preamble") == Some("short") { 96_000_000 } else { 192_000_000 })
        };
        /// Bytes that the MAC adds to data: 28 in 802.11, 34 in ns-2.
        header: u32 = |values| if values.optional("header") == Some("ns2") { 34 } else { 28 };
        /// Variant of ns-2: the station draws a backoff from 0 to window - 1 before every frame, EIFS is a reservation, and
        /// the station doubles the window if the medium is busy after a CTS.
        ns2_backoff: bool = |values| values.optional("backoff") == Some("ns2");
    }
}

impl MacConfig {
    /// The keys that choose what the others do not say.
    pub const VARIANTS: &'static [Key] = &[
        key("preamble", Form::Word(&["long", "short"]), "\"long\"", "preamble: 192 or 96 microseconds"),
        by_profile(
            "header",
            Form::Word(&["std", "ns2"]),
            ["\"ns2\"", "\"std\""],
            "MAC header of 28 bytes, or of 34",
        ),
        by_profile(
            "backoff",
            Form::Word(&["std", "ns2"]),
            ["\"ns2\"", "\"std\""],
            "backoff as in the standard, or before every frame",
        ),
    ];
}

const SIFS: Span = Span::from_ps(10_000_000);
const RTS: u64 = 20;
const CTS: u64 = 14;
const ACK: u64 = 14;
const LONG_PREAMBLE: Span = Span::from_ps(192_000_000);
const LOWEST: Rate = Rate::from_bps(1_000_000);

fn less(a: Span, b: Span) -> Span {
    Span::from_ps(a.ps().saturating_sub(b.ps()))
}

impl MacConfig {
    fn difs(&self) -> Span {
        SIFS + SLOT + SLOT
    }

    pub(super) fn timing(&self, receive_threshold: f64, capture_ratio: f64, noise: f64) -> Timing {
        let eifs = SIFS + self.difs() + LONG_PREAMBLE + LOWEST.time_for(ACK);
        Timing {
            difs: self.difs(),
            // In 802.11, EIFS replaces DIFS. `Station::deadline` adds DIFS to every wait, so EIFS excludes DIFS here.
            eifs: if self.ns2_backoff { eifs } else { less(eifs, self.difs()) },
            eifs_reserves: self.ns2_backoff,
            always_back_off: self.ns2_backoff,
            capture: self.capture,
            capture_ratio,
            receive_threshold,
            noise,
        }
    }

    /// Airtime of `bytes` at the basic rate.
    fn basic(&self, bytes: u64) -> Span {
        self.preamble + self.basic_rate.time_for(bytes)
    }

    /// Airtime of data of so many bytes above the MAC.
    pub(super) fn airtime(&self, bytes: u32, broadcast: bool) -> Span {
        let rate = if broadcast { self.basic_rate } else { self.rate };
        self.preamble + rate.time_for((bytes + self.header) as u64)
    }

    /// Whether a frame begins with an RTS.
    pub(super) fn begins_with_rts(&self, item: &QueuedFrame) -> bool {
        item.next != BROADCAST && item.bytes + self.header >= self.rts_threshold
    }

    fn frame_airtime(&self, frame: &Frame) -> Span {
        match (frame.kind, &frame.item) {
            (FrameKind::Rts, _) => self.basic(RTS),
            (FrameKind::Data, Some(item)) => self.airtime(item.bytes, frame.to == BROADCAST),
            _ => self.basic(ACK),
        }
    }
}

impl Station {
    /// Transmits a frame. Returns the end of the transmission.
    fn transmit(&mut self, cx: &mut MacContext<'_>, frame: Frame) -> Time {
        let end = cx.now + cx.config.frame_airtime(&frame);
        self.complete_reception(cx.now, cx.timing);
        if self.rx.end > cx.now {
            self.rx.bad = true; // a station does not receive while it transmits
        }
        self.tx_until = end;
        // The previous transmission can reach its last receivers until now.
        let before = std::mem::replace(&mut self.last_transmission, frame).item;
        cx.outputs.push(MacOutput::Transmit { frame, end, before });
        end
    }

    /// A signal reaches the station, now or after its propagation delay.
    #[inline]
    pub(super) fn on_signal(&mut self, cx: &mut MacContext<'_>, signal: ReceivedSignal) {
        let t = cx.timing;
        // If the backoff ends before the signal arrives, the station continues the countdown.
        let interrupted = self.counting && self.deadline(t) > signal.start;
        if interrupted {
            self.pause(signal.start, t);
        }
        cx.counts.collisions += self.add_signal(signal, t) as u64;
        if interrupted {
            self.resumed = self.medium_free_time(signal.start, t);
            cx.set(RadioTimer::Access, self.deadline(t));
        }
        // If the event of the signal in `ended` is still to come, the timer stays set for that signal.
        if signal.addressed && self.rx.addressed && !self.rx.bad && self.ended.end <= cx.now {
            cx.set(RadioTimer::Receive, self.rx.end);
        }
    }

    /// The end of a signal that is addressed to the station. Returns the sender if the frame is received.
    pub(super) fn on_receive(&mut self, cx: &mut MacContext<'_>) -> Option<u32> {
        let now = cx.now;
        self.complete_reception(now, cx.timing);
        let signal = self.ended;
        let next = self.rx;
        if next.addressed && next.end > now {
            cx.set(RadioTimer::Receive, next.end);
        }
        if signal.end != now || signal.bad || self.tx_until > now {
            return None;
        }
        self.ended.bad = true; // processed
        Some(signal.from)
    }

    /// A frame from station `from` is received.
    pub(super) fn on_frame(&mut self, cx: &mut MacContext<'_>, from: u32, frame: &Frame) {
        match (frame.kind, frame.item) {
            (FrameKind::Rts, _) => self.on_rts(cx, from, frame.duration),
            (FrameKind::Cts, _) => self.on_cts(cx),
            (FrameKind::Data, Some(item)) => self.on_data(cx, from, frame, item),
            _ => self.on_ack(cx),
        }
    }

    fn on_rts(&mut self, cx: &mut MacContext<'_>, from: u32, duration: Span) {
        let reserved = less(duration, SIFS + cx.config.basic(CTS));
        if self.exchange_state != ExchangeState::Idle || self.reply.is_some() {
            cx.counts.busy += 1;
            return;
        }
        self.reply = Some((FrameKind::Cts, from, reserved));
        self.start_next_step(cx);
    }

    fn on_cts(&mut self, cx: &mut MacContext<'_>) {
        if self.exchange_state != ExchangeState::Rts {
            return;
        }
        self.short_retries = 0;
        if let Some(current) = &mut self.current {
            current.rts = false;
        }
        self.start_next_step(cx);
    }

    fn on_data(&mut self, cx: &mut MacContext<'_>, from: u32, frame: &Frame, item: QueuedFrame) {
        let item = QueuedFrame { hops: item.hops + 1, ..item };
        if frame.to == BROADCAST {
            return cx.outputs.push(MacOutput::Deliver { from, frame: item });
        }
        let with_rts = cx.config.begins_with_rts(&item);
        if with_rts && self.exchange_state != ExchangeState::Cts || !with_rts && self.reply.is_some() {
            cx.counts.busy += 1;
            return;
        }
        self.reply = Some((FrameKind::Ack, from, Span::ZERO));
        if with_rts || self.exchange_state == ExchangeState::Idle {
            self.start_next_step(cx);
        }
        if self.heard.insert(from, frame.number) == Some(frame.number) {
            cx.counts.duplicates += 1;
            return;
        }
        cx.counts.hops += 1;
        cx.outputs.push(MacOutput::Deliver { from, frame: item });
    }

    fn on_ack(&mut self, cx: &mut MacContext<'_>) {
        if self.exchange_state != ExchangeState::Data {
            return;
        }
        let Some(current) = self.current.take() else { return };
        (self.short_retries, self.long_retries) = (0, 0);
        self.window = CW_MIN;
        self.begin_backoff(cx);
        cx.outputs.push(MacOutput::Sent(current.item));
        self.start_next_step(cx);
    }

    /// A new frame for the MAC, which has none.
    pub(super) fn load(&mut self, cx: &mut MacContext<'_>, item: QueuedFrame) {
        let rts = cx.config.begins_with_rts(&item);
        let t = cx.timing;
        self.numbers += 1;
        self.current = Some(Current { item, number: self.numbers, rts });
        if self.exchange_state != ExchangeState::Idle || self.pending {
            return; // the frame is sent after the current exchange or backoff
        }
        let now = cx.now;
        self.complete_reception(now, t);
        if !t.always_back_off && self.medium_free_time(now, t) <= now {
            // The medium is idle: the station waits only for DIFS, and the idle time so far counts toward DIFS.
            (self.pending, self.fresh, self.left) = (true, true, Span::ZERO);
            let heard = self.quiet.max(self.noisy).max(self.tx_until);
            let since = heard.max(self.nav).max(self.eifs);
            self.resumed = Time::from_ps(since.ps().max(now.ps().saturating_sub(t.difs.ps())));
            self.counting = true;
            cx.set(RadioTimer::Access, self.deadline(t));
            return;
        }
        self.begin_backoff(cx);
        self.count_down(cx);
    }

    fn begin_backoff(&mut self, cx: &MacContext<'_>) {
        let t = cx.timing;
        self.draw(t);
        (self.pending, self.fresh) = (true, false);
    }

    /// Starts the countdown of a pending backoff. The countdown begins when the medium becomes free.
    pub(super) fn count_down(&mut self, cx: &mut MacContext<'_>) {
        let t = cx.timing;
        if !self.pending || self.counting {
            return;
        }
        let now = cx.now;
        self.complete_reception(now, t);
        self.resumed = self.medium_free_time(now, t);
        self.counting = true;
        cx.set(RadioTimer::Access, self.deadline(t));
    }

    /// Pauses the countdown, because the station is about to send a reply.
    fn stop_counting(&mut self, cx: &mut MacContext<'_>) {
        let t = cx.timing;
        if self.counting {
            self.pause(cx.now, t);
            self.counting = false;
            cx.clock.stop(cx.node, RadioTimer::Access);
        }
    }

    /// The backoff is over.
    pub(super) fn on_access(&mut self, cx: &mut MacContext<'_>) {
        (self.pending, self.counting, self.fresh) = (false, false, false);
        if self.exchange_state == ExchangeState::Idle && self.reply.is_none() && self.current.is_some() {
            self.begin_exchange(cx);
        }
    }

    fn begin_exchange(&mut self, cx: &mut MacContext<'_>) {
        let Some(current) = self.current else { return };
        if !current.rts {
            return self.send_data(cx, &current);
        }
        self.exchange_state = ExchangeState::Rts;
        let data = cx.config.airtime(current.item.bytes, false);
        let duration = SIFS + cx.config.basic(CTS) + SIFS + data + SIFS + cx.config.basic(ACK);
        let frame = Frame { kind: FrameKind::Rts, to: current.item.next, duration, item: None, number: 0 };
        let end = self.transmit(cx, frame);
        cx.set(RadioTimer::Exchange, end + cx.margin + SIFS + cx.config.basic(CTS) + cx.margin);
    }

    fn send_data(&mut self, cx: &mut MacContext<'_>, current: &Current) {
        self.exchange_state = ExchangeState::Data;
        let to = current.item.next;
        let duration = if to == BROADCAST { Span::ZERO } else { SIFS + cx.config.basic(ACK) };
        let item = Some(current.item);
        let frame = Frame { kind: FrameKind::Data, to, duration, item, number: current.number };
        let end = self.transmit(cx, frame);
        let answer =
            if to == BROADCAST { Span::ZERO } else { cx.margin + SIFS + cx.config.basic(ACK) + cx.margin };
        cx.set(RadioTimer::Exchange, end + answer);
    }

    /// SIFS is over, an expected reply did not arrive, or the transmission of the station is over.
    pub(super) fn on_exchange(&mut self, cx: &mut MacContext<'_>) {
        match self.exchange_state {
            ExchangeState::Idle => {}
            ExchangeState::Sifs => self.after_sifs(cx),
            ExchangeState::Rts => {
                self.short_retries += 1;
                if self.short_retries >= cx.config.short_retries {
                    self.short_retries = 0;
                    if self.give_up(cx) {
                        return;
                    }
                } else {
                    self.double_contention_window();
                    self.begin_backoff(cx);
                }
                self.start_next_step(cx);
            }
            ExchangeState::Cts | ExchangeState::Ack => {
                self.reply = None;
                self.start_next_step(cx);
            }
            ExchangeState::Data => {
                if !self.data_ended(cx) {
                    self.start_next_step(cx);
                }
            }
        }
    }

    /// A broadcast was sent, or the ACK of data did not arrive. Returns whether the station gave the frame up.
    fn data_ended(&mut self, cx: &mut MacContext<'_>) -> bool {
        let Some(current) = self.current else { return false };
        if current.item.next == BROADCAST {
            self.current = None;
            self.window = CW_MIN;
            self.begin_backoff(cx);
            cx.outputs.push(MacOutput::Sent(current.item));
            return false;
        }
        let with_rts = cx.config.begins_with_rts(&current.item);
        let limit = if with_rts { cx.config.long_retries } else { cx.config.short_retries };
        let retries = if with_rts { &mut self.long_retries } else { &mut self.short_retries };
        *retries += 1;
        if *retries >= limit {
            *retries = 0;
            return self.give_up(cx);
        }
        if let Some(current) = &mut self.current {
            current.rts = with_rts;
        }
        self.double_contention_window();
        self.begin_backoff(cx);
        false
    }

    /// The last attempt has failed. If the station has a frame, outputs it and returns true.
    fn give_up(&mut self, cx: &mut MacContext<'_>) -> bool {
        self.window = CW_MIN;
        if !cx.timing.always_back_off {
            (self.short_retries, self.long_retries) = (0, 0); // ns-2 keeps the long retry count if an RTS fails
        }
        let Some(current) = self.current else { return false };
        cx.counts.retries_exhausted += 1;
        cx.outputs.push(MacOutput::Failed(current.item));
        true
    }

    /// Routing has processed a failure. The frame stays until then, because the next one must not be loaded before.
    pub(super) fn end_failure(&mut self, cx: &mut MacContext<'_>) {
        self.current = None;
        self.start_next_step(cx);
    }

    fn after_sifs(&mut self, cx: &mut MacContext<'_>) {
        let now = cx.now;
        let t = cx.timing;
        self.complete_reception(now, t);
        let idle = self.idle(now, t);
        let reserved = self.nav > now;
        let ns2 = t.always_back_off;
        self.exchange_state = ExchangeState::Idle;
        let Some((kind, to, duration)) = self.reply else {
            let Some(current) = self.current else { return };
            if idle || !ns2 {
                return self.send_data(cx, &current);
            }
            if let Some(current) = &mut self.current {
                current.rts = true;
            }
            self.double_contention_window();
            self.begin_backoff(cx);
            return self.count_down(cx);
        };
        let frame = Frame { kind, to, duration, item: None, number: 0 };
        if kind == FrameKind::Ack {
            self.exchange_state = ExchangeState::Ack;
            let end = self.transmit(cx, frame);
            return cx.set(RadioTimer::Exchange, end);
        }
        if ns2 && !idle || reserved {
            self.reply = None;
            cx.counts.busy += 1;
            return self.start_next_step(cx);
        }
        self.exchange_state = ExchangeState::Cts;
        let end = self.transmit(cx, frame);
        let data = less(duration, SIFS + cx.config.basic(ACK));
        cx.set(RadioTimer::Exchange, end + cx.margin + data + cx.margin);
    }

    /// Starts the next step of a station: a reply, data after a CTS, the backoff of a frame, or the next frame.
    fn start_next_step(&mut self, cx: &mut MacContext<'_>) {
        let now = cx.now;
        cx.clock.stop(cx.node, RadioTimer::Exchange);
        let sent_rts = self.exchange_state == ExchangeState::Rts;
        if self.reply.is_some() {
            self.exchange_state = ExchangeState::Sifs;
            self.stop_counting(cx);
            return cx.set(RadioTimer::Exchange, now + SIFS);
        }
        self.exchange_state = ExchangeState::Idle;
        match self.current {
            Some(current) if sent_rts && !current.rts && !self.pending => {
                self.exchange_state = ExchangeState::Sifs; // the CTS arrived, and data follows
                return cx.set(RadioTimer::Exchange, now + SIFS);
            }
            Some(_) => {
                if !self.pending {
                    self.begin_backoff(cx);
                }
            }
            None => return cx.outputs.push(MacOutput::NextFrame),
        }
        self.count_down(cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Stream;

    /// Station 0 of two, on an idle medium.
    struct Bench {
        station: Station,
        config: MacConfig,
        timing: Timing,
        clock: RadioClock,
        counts: RadioCounts,
    }

    impl Bench {
        fn new(rts_threshold: u32) -> Bench {
            let config = MacConfig { rts_threshold, ..MacConfig::with_defaults(1) };
            let timing = config.timing(1e-10, 10.0, 0.0);
            let station = Station::new(Stream::new(1, "backoff", "test"));
            Bench { station, config, timing, clock: RadioClock::new(2), counts: RadioCounts::default() }
        }

        fn call(&mut self, call: impl FnOnce(&mut Station, &mut MacContext<'_>)) -> Vec<MacOutput> {
            let mut outputs = Vec::new();
            let Bench { station, config, timing, clock, counts } = self;
            let (now, margin) = (clock.now(), Span::from_ps(2_000_000));
            let mut cx =
                MacContext { now, node: 0, config, timing, margin, clock, counts, outputs: &mut outputs };
            call(station, &mut cx);
            outputs
        }

        /// The next timer of the station expires.
        fn expire(&mut self) -> Vec<MacOutput> {
            let (at, node, timer) = self.clock.first().unwrap();
            self.clock.now = at;
            self.clock.stop(node, timer);
            match timer {
                RadioTimer::Access => self.call(Station::on_access),
                _ => self.call(Station::on_exchange),
            }
        }

        fn microseconds(&self) -> u64 {
            self.clock.now().ps() / 1_000_000
        }

        fn receive(&mut self, kind: FrameKind) -> Vec<MacOutput> {
            let frame = Frame { kind, to: 0, duration: Span::ZERO, item: None, number: 0 };
            self.call(|station, cx| station.on_frame(cx, 1, &frame))
        }
    }

    fn frame() -> QueuedFrame {
        QueuedFrame { source: 0, target: 1, ..QueuedFrame::message(0, 1, 1000, 1, false) }
    }

    /// DIFS, RTS, CTS, SIFS, data, ACK (IEEE 802.11 DCF with DSSS: SIFS 10, slot 20, DIFS 50 microseconds).
    #[test]
    fn a_frame_exchange_takes_its_four_frames() {
        let mut bench = Bench::new(0);
        assert!(bench.call(|station, cx| station.load(cx, frame())).is_empty());
        let outputs = bench.expire();
        assert!(matches!(
            outputs[..],
            [MacOutput::Transmit { frame: Frame { kind: FrameKind::Rts, to: 1, .. }, .. }]
        ));
        let rts = bench.microseconds();
        bench.clock.now += Span::from_ps(1_000_000_000);
        assert!(bench.receive(FrameKind::Cts).is_empty());
        let outputs = bench.expire();
        assert!(matches!(
            outputs[..],
            [MacOutput::Transmit { frame: Frame { kind: FrameKind::Data, .. }, .. }]
        ));
        assert_eq!(bench.microseconds(), rts + 1000 + 10);
        let outputs = bench.receive(FrameKind::Ack);
        assert!(matches!(outputs[..], [MacOutput::Sent(_), MacOutput::NextFrame]));
    }

    #[test]
    fn a_frame_without_an_answer_is_given_up_after_the_last_attempt() {
        let mut bench = Bench::new(3000);
        bench.call(|station, cx| station.load(cx, frame()));
        let mut attempts = 0;
        let last = loop {
            let outputs = bench.expire();
            attempts += matches!(outputs[..], [MacOutput::Transmit { .. }]) as u32;
            if let [MacOutput::Failed(frame)] = outputs[..] {
                break frame;
            }
        };
        assert_eq!((attempts, last.target), (7, 1));
        assert_eq!(bench.counts.retries_exhausted, 1);
        // Until routing has processed the failure, the station keeps the frame.
        assert!(bench.station.current.is_some());
        assert!(matches!(bench.call(Station::end_failure)[..], [MacOutput::NextFrame]));
        assert!(bench.station.current.is_none());
    }
}
