//! 802.11 DCF: frame exchanges, retries, and the air between stations (docs/specs/manet.md section 3).

use super::propagation::LIGHT;
use super::station::{Capture, Current, Doing, Frame, FrameKind, Signal, Timing, WINDOW_MIN};
use super::store::{BROADCAST, Payload, QueuedFrame};
use super::{Clock, Load, PacketFate, Radio, RadioStep, RadioTimer};
use units::{PS_PER_S, Rate, Span, Time};

/// The MAC's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct MacConfig {
    /// For unicast data.
    pub rate: Rate,
    /// For everything else.
    pub basic_rate: Rate,
    /// Unicast data of at least so many bytes (header included) begins with an RTS.
    pub rts_threshold: u32,
    /// Preamble and PLCP header: 192 microseconds, 96 with the short preamble.
    pub preamble: Span,
    /// Bytes that the MAC adds to data: 28, ns-2 has 34.
    pub header: u32,
    /// ns-2's readings: a backoff before every frame, from 0 to window - 1; EIFS as a reservation; the window doubles when
    /// the medium is busy after a CTS.
    pub ns2_backoff: bool,
    /// What happens to packets that meet.
    pub capture: Capture,
    /// Attempts of an RTS, or of data without one.
    pub short_retries: u8,
    /// Attempts of data after an RTS.
    pub long_retries: u8,
}

const SLOT: Span = Span::from_ps(20_000_000);
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
            slot: SLOT,
            difs: self.difs(),
            // Otherwise EIFS stands in place of DIFS, which is added to whatever is waited for.
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

    fn frame_airtime(&self, frame: &Frame) -> Span {
        match (frame.kind, &frame.item) {
            (FrameKind::Rts, _) => self.basic(RTS),
            (FrameKind::Data, Some(item)) => self.airtime(item.bytes, frame.to == BROADCAST),
            _ => self.basic(ACK),
        }
    }
}

impl Radio {
    /// Puts a frame on the air.
    fn transmit(&mut self, clock: &mut Clock, node: u32, frame: Frame) -> Time {
        let now = clock.now();
        let end = now + self.mac.frame_airtime(&frame);
        if self.watching {
            self.watch_transmission(now, node, &frame, end);
        }
        let station = &mut self.stations[node as usize];
        station.settle(now, &self.timing);
        if station.rx.end > now {
            station.rx.bad = true; // it hears itself
        }
        station.tx_until = end;
        let before = std::mem::replace(&mut station.on_air, frame);
        // What was on the air may just be reaching its last hearers until now.
        if let Some(item) = before.item {
            self.release(item, PacketFate::Sent);
        }
        if let Some(item) = frame.item {
            self.store.retain(item.payload);
        }
        let [x, y] = self.medium.place(node, now);
        let neighbours = self.medium.neighbours(node, now);
        for &other in &neighbours {
            let [ox, oy] = self.medium.place(other, now);
            let (dx, dy) = (ox - x, oy - y);
            let square = dx * dx + dy * dy;
            if square > self.reach_square {
                continue;
            }
            let power =
                if square > 0.0 { self.attenuation.power(square, &mut self.shadows) } else { self.power };
            if power < self.sense_threshold {
                continue;
            }
            let delay = Span::from_ps((square.sqrt() * (PS_PER_S as f64 / LIGHT)) as i64 as u64);
            let signal = Signal {
                start: now + delay,
                end: end + delay,
                duration: frame.duration,
                power,
                from: node,
                bad: power < self.timing.receive_threshold,
                mine: frame.to == other || frame.to == BROADCAST,
            };
            self.reach(clock, other, signal);
        }
        self.medium.give_back(node, neighbours);
        end
    }

    /// A signal reaches a station.
    #[inline]
    fn reach(&mut self, clock: &mut Clock, node: u32, signal: Signal) {
        let t = &self.timing;
        let station = &mut self.stations[node as usize];
        // Who begins to send before it hears this counts on.
        let interrupted = station.counting && station.deadline(t) > signal.start;
        if interrupted {
            station.pause(signal.start, t);
        }
        self.counts.collisions += station.hear(signal, t) as u64;
        if interrupted {
            station.resumed = station.free_from(signal.start, t);
            clock.set(node, RadioTimer::Access, station.deadline(t));
        }
        // One that has ended but was not looked at yet comes first.
        if signal.mine && station.rx.mine && !station.rx.bad && station.ended.end <= clock.now() {
            clock.set(node, RadioTimer::Receive, station.rx.end);
        }
    }

    /// The end of a signal that is addressed to `node`.
    pub(super) fn on_receive(&mut self, clock: &mut Clock, node: u32) {
        let now = clock.now();
        let station = &mut self.stations[node as usize];
        station.settle(now, &self.timing);
        let signal = station.ended;
        let next = station.rx;
        if next.mine && next.end > now {
            clock.set(node, RadioTimer::Receive, next.end);
        }
        if signal.end != now || signal.bad || station.tx_until > now {
            return;
        }
        station.ended.bad = true; // looked at
        let from = signal.from;
        let frame = self.stations[from as usize].on_air;
        match (frame.kind, frame.item) {
            (FrameKind::Rts, _) => self.on_rts(clock, node, from, frame.duration),
            (FrameKind::Cts, _) => self.on_cts(clock, node),
            (FrameKind::Data, Some(item)) => self.on_data(clock, node, from, &frame, item),
            _ => self.on_ack(clock, node),
        }
    }

    fn on_rts(&mut self, clock: &mut Clock, node: u32, from: u32, duration: Span) {
        let reserved = less(duration, SIFS + self.mac.basic(CTS));
        let station = &mut self.stations[node as usize];
        if station.doing != Doing::Idle || station.reply.is_some() {
            self.counts.busy += 1;
            return;
        }
        station.reply = Some((FrameKind::Cts, from, reserved));
        self.go_on(clock, node);
    }

    fn on_cts(&mut self, clock: &mut Clock, node: u32) {
        let station = &mut self.stations[node as usize];
        if station.doing != Doing::Rts {
            return;
        }
        station.short_retries = 0;
        if let Some(current) = &mut station.current {
            current.rts = false;
        }
        self.go_on(clock, node);
    }

    fn on_data(&mut self, clock: &mut Clock, node: u32, from: u32, frame: &Frame, item: QueuedFrame) {
        let item = QueuedFrame { hops: item.hops + 1, ..item };
        if frame.to == BROADCAST {
            return self.arrived(clock, node, from, item);
        }
        let with_rts = self.begins_with_rts(&item);
        let station = &mut self.stations[node as usize];
        if with_rts && station.doing != Doing::Cts || !with_rts && station.reply.is_some() {
            self.counts.busy += 1;
            return;
        }
        station.reply = Some((FrameKind::Ack, from, Span::ZERO));
        if with_rts || station.doing == Doing::Idle {
            self.go_on(clock, node);
        }
        let known = &mut self.heard[node as usize];
        if known.insert(from, frame.number) == Some(frame.number) {
            self.counts.duplicates += 1;
            return;
        }
        self.store.retain(item.payload);
        self.counts.hops += 1;
        self.arrived(clock, node, from, item);
        self.release(item, PacketFate::Sent);
    }

    fn on_ack(&mut self, clock: &mut Clock, node: u32) {
        let station = &mut self.stations[node as usize];
        if station.doing != Doing::Data {
            return;
        }
        let Some(current) = station.current.take() else { return };
        (station.short_retries, station.long_retries) = (0, 0);
        station.window = WINDOW_MIN;
        self.begin_backoff(node);
        self.release(current.item, PacketFate::Sent);
        self.go_on(clock, node);
    }

    pub(super) fn begins_with_rts(&self, item: &QueuedFrame) -> bool {
        item.next != BROADCAST && item.bytes + self.mac.header >= self.mac.rts_threshold
    }

    /// A new frame for the MAC, which has none.
    pub(super) fn load(&mut self, clock: &mut Clock, node: u32, item: QueuedFrame) {
        let rts = self.begins_with_rts(&item);
        let t = &self.timing;
        let station = &mut self.stations[node as usize];
        station.numbers += 1;
        station.current = Some(Current { item, number: station.numbers, rts });
        if station.doing != Doing::Idle || station.pending {
            return; // it goes on from there
        }
        let now = clock.now();
        station.settle(now, t);
        if !t.always_back_off && station.free_from(now, t) <= now {
            // The medium is idle: DIFS is enough, and what has passed of it counts.
            (station.pending, station.fresh, station.left) = (true, true, Span::ZERO);
            let heard = station.quiet.max(station.noisy).max(station.tx_until);
            let since = heard.max(station.nav).max(station.eifs);
            station.resumed = Time::from_ps(since.ps().max(now.ps().saturating_sub(t.difs.ps())));
            station.counting = true;
            clock.set(node, RadioTimer::Access, station.deadline(t));
            return;
        }
        self.begin_backoff(node);
        self.count_down(clock, node);
    }

    fn begin_backoff(&mut self, node: u32) {
        let t = &self.timing;
        let station = &mut self.stations[node as usize];
        station.draw(t);
        (station.pending, station.fresh) = (true, false);
    }

    /// Counts a pending backoff down from when the medium is free.
    fn count_down(&mut self, clock: &mut Clock, node: u32) {
        let t = &self.timing;
        let station = &mut self.stations[node as usize];
        if !station.pending || station.counting {
            return;
        }
        let now = clock.now();
        station.settle(now, t);
        station.resumed = station.free_from(now, t);
        station.counting = true;
        clock.set(node, RadioTimer::Access, station.deadline(t));
    }

    /// The station becomes busy itself.
    fn stop_counting(&mut self, clock: &mut Clock, node: u32) {
        let t = &self.timing;
        let station = &mut self.stations[node as usize];
        if station.counting {
            station.pause(clock.now(), t);
            station.counting = false;
            clock.set(node, RadioTimer::Access, Time::NEVER);
        }
    }

    /// The backoff is over.
    pub(super) fn on_access(&mut self, clock: &mut Clock, node: u32) {
        let station = &mut self.stations[node as usize];
        (station.pending, station.counting, station.fresh) = (false, false, false);
        if station.doing == Doing::Idle && station.reply.is_none() && station.current.is_some() {
            self.begin_exchange(clock, node);
        }
    }

    fn begin_exchange(&mut self, clock: &mut Clock, node: u32) {
        let Some(current) = self.stations[node as usize].current else { return };
        if !current.rts {
            return self.send_data(clock, node, &current);
        }
        self.stations[node as usize].doing = Doing::Rts;
        let data = self.mac.airtime(current.item.bytes, false);
        let duration = SIFS + self.mac.basic(CTS) + SIFS + data + SIFS + self.mac.basic(ACK);
        let frame = Frame { kind: FrameKind::Rts, to: current.item.next, duration, item: None, number: 0 };
        let end = self.transmit(clock, node, frame);
        clock.set(node, RadioTimer::Exchange, end + self.margin + SIFS + self.mac.basic(CTS) + self.margin);
    }

    fn send_data(&mut self, clock: &mut Clock, node: u32, current: &Current) {
        self.stations[node as usize].doing = Doing::Data;
        let to = current.item.next;
        let duration = if to == BROADCAST { Span::ZERO } else { SIFS + self.mac.basic(ACK) };
        let item = Some(current.item);
        let frame = Frame { kind: FrameKind::Data, to, duration, item, number: current.number };
        let end = self.transmit(clock, node, frame);
        let answer =
            if to == BROADCAST { Span::ZERO } else { self.margin + SIFS + self.mac.basic(ACK) + self.margin };
        clock.set(node, RadioTimer::Exchange, end + answer);
    }

    /// SIFS is over, or an answer did not come, or the station has ended what it was sending.
    pub(super) fn on_exchange(&mut self, clock: &mut Clock, node: u32) {
        match self.stations[node as usize].doing {
            Doing::Idle => {}
            Doing::Sifs => self.after_sifs(clock, node),
            Doing::Rts => {
                let limit = self.mac.short_retries;
                let station = &mut self.stations[node as usize];
                station.short_retries += 1;
                if station.short_retries >= limit {
                    station.short_retries = 0;
                    self.give_up(clock, node);
                } else {
                    station.widen();
                    self.begin_backoff(node);
                }
                self.go_on(clock, node);
            }
            Doing::Cts | Doing::Ack => {
                self.stations[node as usize].reply = None;
                self.go_on(clock, node);
            }
            Doing::Data => {
                self.data_ended(clock, node);
                self.go_on(clock, node);
            }
        }
    }

    /// A broadcast has been sent, or data was not acknowledged.
    fn data_ended(&mut self, clock: &mut Clock, node: u32) {
        let Some(current) = self.stations[node as usize].current else { return };
        if current.item.next == BROADCAST {
            let station = &mut self.stations[node as usize];
            station.current = None;
            station.window = WINDOW_MIN;
            self.begin_backoff(node);
            return self.release(current.item, PacketFate::Sent);
        }
        let with_rts = self.begins_with_rts(&current.item);
        let limit = if with_rts { self.mac.long_retries } else { self.mac.short_retries };
        let station = &mut self.stations[node as usize];
        let retries = if with_rts { &mut station.long_retries } else { &mut station.short_retries };
        *retries += 1;
        if *retries >= limit {
            *retries = 0;
            return self.give_up(clock, node);
        }
        if let Some(current) = &mut station.current {
            current.rts = with_rts;
        }
        station.widen();
        self.begin_backoff(node);
    }

    /// The last attempt has failed: routing hears of it.
    fn give_up(&mut self, clock: &mut Clock, node: u32) {
        let station = &mut self.stations[node as usize];
        station.window = WINDOW_MIN;
        if !self.timing.always_back_off {
            (station.short_retries, station.long_retries) = (0, 0); // ns-2's count of long frames outlives a lost RTS
        }
        let Some(current) = station.current else { return };
        self.counts.retries_exhausted += 1;
        // The frame stays until routing has done its work, as the next one must not be loaded before.
        self.link_failed(clock, node, current.item, PacketFate::Retry);
        self.stations[node as usize].current = None;
    }

    fn after_sifs(&mut self, clock: &mut Clock, node: u32) {
        let now = clock.now();
        let t = &self.timing;
        let station = &mut self.stations[node as usize];
        station.settle(now, t);
        let idle = station.idle(now, t);
        let reserved = station.nav > now;
        let ns2 = t.always_back_off;
        station.doing = Doing::Idle;
        let Some((kind, to, duration)) = station.reply else {
            let Some(current) = station.current else { return };
            if idle || !ns2 {
                return self.send_data(clock, node, &current);
            }
            if let Some(current) = &mut station.current {
                current.rts = true;
            }
            station.widen();
            self.begin_backoff(node);
            return self.count_down(clock, node);
        };
        let frame = Frame { kind, to, duration, item: None, number: 0 };
        if kind == FrameKind::Ack {
            self.stations[node as usize].doing = Doing::Ack;
            let end = self.transmit(clock, node, frame);
            return clock.set(node, RadioTimer::Exchange, end);
        }
        if ns2 && !idle || reserved {
            station.reply = None;
            self.counts.busy += 1;
            return self.go_on(clock, node);
        }
        station.doing = Doing::Cts;
        let end = self.transmit(clock, node, frame);
        let data = less(duration, SIFS + self.mac.basic(ACK));
        clock.set(node, RadioTimer::Exchange, end + self.margin + data + self.margin);
    }

    /// What comes next at a station that has ended something.
    fn go_on(&mut self, clock: &mut Clock, node: u32) {
        let now = clock.now();
        clock.set(node, RadioTimer::Exchange, Time::NEVER);
        let station = &mut self.stations[node as usize];
        let sent_rts = station.doing == Doing::Rts;
        if station.reply.is_some() {
            station.doing = Doing::Sifs;
            self.stop_counting(clock, node);
            return clock.set(node, RadioTimer::Exchange, now + SIFS);
        }
        station.doing = Doing::Idle;
        match station.current {
            Some(current) if sent_rts && !current.rts && !station.pending => {
                station.doing = Doing::Sifs; // the CTS came: data follows
                return clock.set(node, RadioTimer::Exchange, now + SIFS);
            }
            Some(_) => {
                if !station.pending {
                    self.begin_backoff(node);
                }
            }
            None => self.load_next(clock, node),
        }
        self.count_down(clock, node);
    }

    fn watch_transmission(&mut self, now: Time, node: u32, frame: &Frame, until: Time) {
        let load = frame.item.map_or(Load::None, |item| match self.store.get(item.payload) {
            Payload::Data { packet, .. } => {
                Load::Data { flow: packet.flow, kind: packet.kind, seq: packet.seq }
            }
            Payload::ArpRequest { .. } | Payload::ArpReply { .. } => Load::Arp,
            Payload::Request(_) | Payload::Reply(_) | Payload::Error(_) => Load::Routing,
        });
        let (kind, to, duration) = (frame.kind, frame.to, frame.duration);
        // What was contended for: everything but replies, and data that follows a CTS.
        let follows = frame.item.is_some_and(|item| self.begins_with_rts(&item));
        let contended = match kind {
            FrameKind::Rts => true,
            FrameKind::Data => !follows,
            FrameKind::Cts | FrameKind::Ack => false,
        };
        let to = (to != BROADCAST).then_some(to);
        self.tell(now, node, RadioStep::Transmit { kind, to, until, duration, contended, load });
    }
}
