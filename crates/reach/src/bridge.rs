//! A controller of this project in the kernel's TCP: events come from BPF through a ring buffer, decisions go back through a
//! map (bpf/ccbridge.bpf.c).
//!
//! The kernel needs the reduction after a loss or an echo while it processes an ACK, too early for user space. After every
//! event a copy of the controller therefore computes both reductions (`predict_reduction`), and BPF applies them. The
//! controller itself receives the reduction when the kernel reports its new state.

mod messages;

use crate::controller::measures_delay;
use crate::error::Error;
use crate::wall::{RealTimePriority, WallClock};
use crate::window::{WindowSample, WindowTrace};
use cc::{
    Ack, AnyController, Cause, Congestion, Controller, EcnResponse, Handshake, Phase, RateSample, Sample,
    SenderState, Signals, Timeout,
};
use libbpf_rs::{Link, MapCore, MapFlags, MapType, Object, ObjectBuilder, RingBufferBuilder};
use messages::{ACK, CLOSE, Decision, Event, OPEN, SSTHRESH, STATE, UNDO};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use units::{Span, Time};

/// The BPF program; `make bpf` builds it.
static OBJECT: &[u8] = include_bytes!("../bpf/ccbridge.bpf.o");

/// The name in the object, replaced at load time: names of algorithms are global.
const PLACEHOLDER: &[u8] = b"ackclock\0";

/// Longest name of an algorithm (TCP_CA_NAME_MAX).
const NAME: usize = 16;

/// The kernel's states (enum tcp_ca_state).
const DISORDER: u32 = 1;
const CWR: u32 = 2;
const RECOVERY: u32 = 3;
const LOSS: u32 = 4;

/// The longest time between two looks at the end of the run, ms.
const POLL_MS: u64 = 20;

/// Signals that the kernel gives; the fine clock is left out of what it does, which a run reports.
const PROVIDED: Signals = Signals::RATE
    .and(Signals::RECEIVER_TIME)
    .and(Signals::FINE_CLOCK)
    .and(Signals::PACING)
    .and(Signals::TIMER)
    .and(Signals::SEGMENT_COUNTS)
    .and(Signals::SENT)
    .and(Signals::SAMPLES);

/// Why the kernel does not give others.
const MISSING: [(Signals, &str); 6] = [
    (
        Signals::ROUTER_RATE,
        "needs the rates that routers grant, for which the kernel's packets have no field",
    ),
    (Signals::ROUTER_FEEDBACK, "needs the feedback of routers, for which the kernel's packets have no field"),
    (Signals::ECN_PER_PACKET, "needs an ECN echo per packet, which the kernel's receiver does not send"),
    (Signals::L4S, "needs packets with ECT(1), which the kernel does not send"),
    (Signals::LOSSES, "needs each lost segment by number, which the kernel does not report"),
    (Signals::DELIVERIES, "needs each delivered segment by number, which the kernel does not report"),
];

/// A sequence number of the kernel, which wraps at 4 GiB, as the bytes since the first one.
#[derive(Clone, Copy, Debug, Default)]
struct Extended {
    last: Option<u32>,
    bytes: u64,
}

impl Extended {
    /// The bytes up to `sequence`, which is less than 2 GiB before or after the last one.
    fn at(&mut self, sequence: u32) -> u64 {
        let last = *self.last.get_or_insert(sequence);
        let moved = sequence.wrapping_sub(last) as i32;
        let bytes = self.bytes.saturating_add_signed(moved.into());
        if moved > 0 {
            (self.last, self.bytes) = (Some(sequence), bytes);
        }
        bytes
    }
}

/// A window as the kernel counts it.
fn whole(segments: f64) -> u32 {
    if segments > 1e8 { 0x7fff_ffff } else { segments.max(1.0) as u32 }
}

/// The kernel's flow and its controller.
pub(crate) struct BridgedFlow {
    controller: AnyController,
    clock: WallClock,
    sent: Extended,
    state: u32,
    /// The kernel has asked for a threshold since the last change of its state.
    asked: bool,
    /// Window and threshold before the last reduction.
    before: (f64, f64),
    first_tsval: Option<u32>,
    /// The last event.
    last: Event,
    /// The time of the last event or timer.
    now: Time,
    pub trace: WindowTrace,
    pub cuts: u64,
    pub timeouts: u64,
}

impl BridgedFlow {
    /// `since` is the end of the warm-up, which the counters exclude.
    fn new(controller: AnyController, clock: WallClock, since: Time) -> BridgedFlow {
        BridgedFlow {
            controller,
            clock,
            sent: Extended::default(),
            state: 0,
            asked: false,
            before: (0.0, 0.0),
            first_tsval: None,
            last: Event::default(),
            now: Time::ZERO,
            trace: WindowTrace::new(since),
            cuts: 0,
            timeouts: 0,
        }
    }

    fn reduces_on_echo(&self) -> bool {
        self.controller.ecn_response() == EcnResponse::Reduce
    }

    fn congestion(&self, event: &Event, now: Time, cause: Cause) -> Congestion {
        let outstanding = (event.in_flight + event.sacked_out + event.lost_out) as f64;
        Congestion {
            now,
            cause,
            // The kernel's own window has the predicted reduction already.
            window: outstanding.min(self.controller.cwnd()).max(1.0),
            in_flight: event.in_flight as f64,
            segment_sent: None,
            retransmitted: false,
            dupacks: 0,
        }
    }

    /// Processes an event. Returns the decision that follows.
    fn on_event(&mut self, event: &Event) -> Decision {
        // A timer may have expired after the kernel wrote the event and before it was read.
        let now = self.clock.at(event.time_ns).max(self.now);
        self.expire(now);
        self.now = now;
        if event.kind == CLOSE {
            self.last = *event;
            return Decision::default();
        }
        self.notify_sent(event, now);
        let mut cause = None;
        match event.kind {
            OPEN => {
                // The kernel opens an algorithm at the end of the handshake.
                self.controller.on_open(now);
                self.controller.on_handshake(&Handshake { now, rtt: None });
            }
            ACK => {
                let ack = self.ack(event, now);
                if self.controller.needs().has(Signals::SAMPLES) {
                    self.controller.on_sample(&Sample::of(&ack));
                }
                self.controller.on_ack(&ack);
            }
            SSTHRESH => self.asked = true,
            STATE => cause = self.on_state(event, now),
            UNDO => {
                self.controller.on_undo(now);
                let (cwnd, ssthresh) = self.before;
                self.controller.set_window(cwnd.max(self.controller.cwnd()));
                self.controller.set_ssthresh(ssthresh);
                cause = Some("undo");
            }
            _ => {}
        }
        self.last = *event;
        let name = match (event.kind, cause) {
            (OPEN, _) => "start",
            (_, Some("rto")) => "rto",
            _ => "ack",
        };
        self.record(event, now, name, cause);
        self.decide(event, now)
    }

    /// Notifies the controller, if it asks for it, of the transmissions since the last event: how many, not which.
    fn notify_sent(&mut self, event: &Event, now: Time) {
        if self.controller.needs().has(Signals::SENT) {
            let seq = self.segment(event.snd_nxt, event.mss);
            for _ in self.last.sent..event.sent {
                let in_flight = event.in_flight;
                self.controller.on_sent(&cc::Sent { now, seq, in_flight, retransmission: false });
            }
        }
    }

    /// When the controller's timer expires; `Time::NEVER` if it has none, or the flow is closed or has not begun.
    fn wake_at(&self) -> Time {
        let runs = !matches!(self.last.kind, 0 | CLOSE) && self.controller.needs().has(Signals::TIMER);
        if runs { self.controller.wake_at() } else { Time::NEVER }
    }

    /// Notifies the controller if its timer has expired. Returns whether it has.
    fn expire(&mut self, now: Time) -> bool {
        let expired = self.wake_at() <= now;
        if expired {
            self.now = now;
            self.controller.on_timer(now);
            let last = Event { rtt_us: -1, ..self.last };
            self.record(&last, now, "timer", None);
        }
        expired
    }

    /// The decision after the controller's timer, with its flow, if the timer has expired.
    fn on_timer(&mut self, now: Time) -> Option<(u64, Decision)> {
        let last = self.last;
        self.expire(now).then(|| (last.flow, self.decide(&last, now)))
    }

    fn on_state(&mut self, event: &Event, now: Time) -> Option<&'static str> {
        let asked = std::mem::take(&mut self.asked);
        let before = (self.controller.cwnd(), self.controller.ssthresh());
        let old = std::mem::replace(&mut self.state, event.value);
        let cause = match event.value {
            CWR if asked && self.reduces_on_echo() => {
                self.controller.on_congestion(&self.congestion(event, now, Cause::Ecn));
                "ecn"
            }
            RECOVERY if asked => {
                self.controller.on_congestion(&self.congestion(event, now, Cause::FastRetransmit));
                "fast_retransmit"
            }
            LOSS => {
                let window = self.congestion(event, now, Cause::FastRetransmit).window;
                self.controller.on_rto(&Timeout { now, window, repeated: old == LOSS });
                self.timeouts += u64::from(self.trace.counts(now));
                "rto"
            }
            0 if old >= CWR => {
                self.controller.on_recovery_exit(now);
                return None;
            }
            _ => return None,
        };
        self.cuts += u64::from(self.trace.counts(now));
        self.before = before;
        Some(cause)
    }

    /// The phase of the kernel in its state; a controller that processes echoes itself does not see CWR.
    fn phase(&self, state: u32) -> Phase {
        match state {
            CWR if self.reduces_on_echo() => Phase::Cwr,
            RECOVERY => Phase::Recovery,
            LOSS => Phase::Loss,
            _ => Phase::Open,
        }
    }

    /// Number of a segment from its sequence number.
    fn segment(&mut self, sequence: u32, mss: u32) -> u64 {
        self.sent.at(sequence) / u64::from(mss.max(1))
    }

    fn ack(&mut self, event: &Event, now: Time) -> Ack {
        let acked_through = self.segment(event.snd_una, event.mss);
        let next = self.segment(event.snd_nxt, event.mss);
        let needs = self.controller.needs();
        let phase = self.phase(event.state);
        let first = *self.first_tsval.get_or_insert(event.receiver_tsval);
        let ticks = event.receiver_tsval.wrapping_sub(first) as u64;
        let rate = (event.rate_delivered > 0 && event.interval_us > 0).then(|| RateSample {
            delivered: event.rate_delivered as u64,
            interval: Span::from_ps(event.interval_us as u64 * 1_000_000),
            app_limited: event.app_limited != 0,
            prior_delivered: event.prior_delivered as u64,
            tx_in_flight: event.prior_in_flight,
            lost: event.losses as u64,
            ..RateSample::default()
        });
        Ack {
            now,
            newly_acked: event.acked_sacked,
            newly_delivered: event.acked_sacked,
            newly_lost: event.losses,
            delivered_total: event.delivered as u64,
            lost_total: event.lost as u64,
            dupacks: 0,
            acked_through,
            next,
            in_flight: event.in_flight as f64,
            prior_in_flight: event.prior_in_flight as f64,
            rtt: (event.rtt_us > 0).then(|| Span::from_ps(event.rtt_us as u64 * 1_000_000)),
            // The kernel's timestamps tick every millisecond.
            receiver_time: needs.has(Signals::RECEIVER_TIME).then(|| Time::from_ps(ticks * 1_000_000_000)),
            ece: event.value != 0,
            ce: if event.value != 0 { event.acked_sacked } else { 0 },
            rate: rate.filter(|_| needs.has(Signals::RATE)),
            sender: SenderState {
                sacked: event.sacked_out,
                lost_out: event.lost_out,
                disorder: event.state == DISORDER,
                ..SenderState::default()
            },
            phase,
            may_grow: matches!(phase, Phase::Open | Phase::Loss),
            paced: self.controller.pacing().is_some(),
            pacing_wait: Span::ZERO,
            window_limited: event.in_flight as f64 + event.acked_sacked as f64 + 1.0 > self.controller.cwnd(),
        }
    }

    fn record(&mut self, event: &Event, now: Time, name: &'static str, cause: Option<&'static str>) {
        let state = if event.kind == STATE { event.value } else { event.state };
        let ack = self.segment(event.snd_una, event.mss) as i64;
        self.trace.add(WindowSample {
            at: now,
            event: name,
            cwnd: self.controller.cwnd(),
            ssthresh: self.controller.ssthresh(),
            ack,
            rtt_s: (event.rtt_us > 0).then(|| event.rtt_us as f64 / 1e6),
            in_flight: event.in_flight as f64,
            phase: self.phase(state).name(),
            cause,
        });
    }

    fn decide(&mut self, event: &Event, now: Time) -> Decision {
        let windows = [whole(self.controller.cwnd()), whole(self.controller.ssthresh())];
        let predicted = |cause| {
            let answer = self.controller.predict_reduction(&self.congestion(event, now, cause));
            answer.map_or([0, 0], |(cwnd, ssthresh)| [whole(cwnd), whole(ssthresh)])
        };
        Decision {
            sequence: event.sequence,
            cwnd: windows[0],
            ssthresh: windows[1],
            loss: predicted(Cause::FastRetransmit),
            // A controller that processes echoes itself keeps its window when the kernel enters CWR.
            echo: if self.reduces_on_echo() { predicted(Cause::Ecn) } else { windows },
            pacing: self.controller.pacing().map_or(0, |rate| rate.bps() / 8),
        }
    }
}

/// A loaded bridge: while it lives, the kernel has an algorithm whose decisions come from a controller here.
pub(crate) struct Bridge {
    object: Object,
    _link: Link,
    /// The kernel's name of the algorithm.
    pub name: String,
    controller: AnyController,
    /// Differences to report.
    pub degraded: Vec<String>,
}

impl Bridge {
    /// Loads the BPF program. Fails if the kernel cannot give what the controller needs, or refuses the program.
    pub fn load(controller: AnyController) -> Result<Bridge, Error> {
        let needs = controller.needs();
        if let Some(why) = needs.missing(PROVIDED, MISSING) {
            return Err(Error::Input(format!("{} {why}", controller.name())));
        }
        if matches!(controller, AnyController::ExternalController(_)) {
            return Err(Error::Input(format!(
                "{} is not one of Ackclock's own controllers: the kernel bridge must copy it to try its answers",
                controller.name()
            )));
        }
        let mut degraded = vec![
            "the kernel does not spread a reduction over a round trip (PRR) under the bridge".to_string(),
            "the controller's decision takes effect at a later ACK or transmission".to_string(),
        ];
        if needs.has(Signals::FINE_CLOCK) {
            degraded.push(format!("{} does not retransmit by its own clock", controller.name()));
        }
        if needs.has(Signals::TIMER) {
            degraded.push("the controller's timer expires up to a millisecond late".into());
        }
        if needs.has(Signals::SENT) {
            degraded.push("transmissions are counted at the next event of the kernel".into());
        }
        if needs.has(Signals::RECEIVER_TIME) {
            degraded.push("the receiver's clock ticks every millisecond".into());
        }
        if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Err(Error::Unavailable(
                "the kernel has no BTF (/sys/kernel/btf/vmlinux): it must be built with CONFIG_DEBUG_INFO_BTF".into(),
            ));
        }
        let name = format!("ack{}", rustix::process::getpid().as_raw_nonzero());
        let (object, link) = load(&name).map_err(|error| {
            Error::Unavailable(format!(
                "the kernel refuses the BPF program: {error}; it needs root (CAP_BPF, CAP_NET_ADMIN) and Linux 6.4 or later \
                 with struct_ops for TCP"
            ))
        })?;
        Ok(Bridge { object, _link: link, name, controller, degraded })
    }

    /// The controller's name.
    pub fn controller_name(&self) -> &str {
        self.controller.name()
    }

    /// Whether lateness of a packet time changes what the controller does.
    pub fn measures_delay(&self) -> bool {
        measures_delay(&self.controller)
    }

    /// Controls the kernel's sender until `over`. Returns the flow and the number of events that were lost.
    pub fn run(self, clock: WallClock, since: Time, over: &AtomicBool) -> Result<(BridgedFlow, u64), Error> {
        let _priority = RealTimePriority::new();
        let failed = |what: &str| Error::Failed(format!("the kernel bridge: {what}"));
        let map = |name: &str| self.object.maps().find(|map| map.name() == name);
        let (Some(events), Some(decisions), Some(counters)) =
            (map("events"), map("decisions"), map("counters"))
        else {
            return Err(failed("a map is missing"));
        };
        let bridged = RefCell::new(BridgedFlow::new(self.controller, clock, since));
        let mut builder = RingBufferBuilder::new();
        builder
            .add(&events, |bytes: &[u8]| {
                let Some(event) = Event::read(bytes) else { return 0 };
                let decision = bridged.borrow_mut().on_event(&event);
                let _ = decisions.update(&event.flow.to_ne_bytes(), &decision.bytes(), MapFlags::ANY);
                0
            })
            .map_err(|e| failed(&e.to_string()))?;
        let ring = builder.build().map_err(|e| failed(&e.to_string()))?;
        while !over.load(Ordering::Acquire) {
            // The kernel waits whole milliseconds: at least one, or the thread would not sleep.
            let left = bridged.borrow().wake_at().since(clock.now()).min(Span::from_ms(POLL_MS));
            let _ = ring.poll_raw(Duration::from_millis(left.ps().div_ceil(Span::from_ms(1).ps()).max(1)));
            let now = clock.now();
            let _ = ring.consume_raw(); // what the kernel wrote until then comes before the timer
            if let Some((flow, decision)) = bridged.borrow_mut().on_timer(now) {
                let _ = decisions.update(&flow.to_ne_bytes(), &decision.bytes(), MapFlags::ANY);
            }
        }
        drop(ring);
        let lost = counters.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok().flatten();
        let lost = lost.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes);
        Ok((bridged.into_inner(), lost))
    }
}

/// Loads the object with an algorithm of this name and registers it.
fn load(name: &str) -> Result<(Object, Link), libbpf_rs::Error> {
    libbpf_rs::set_print(None);
    let mut open = ObjectBuilder::default().open_memory(OBJECT)?;
    for mut map in open.maps_mut() {
        if map.map_type() == MapType::StructOps
            && let Some(value) = map.initial_value_mut()
            && let Some(place) = value.windows(PLACEHOLDER.len()).position(|bytes| bytes == PLACEHOLDER)
        {
            let bytes = name.as_bytes();
            let length = bytes.len().min(NAME - 1);
            value[place..place + NAME].fill(0);
            value[place..place + length].copy_from_slice(&bytes[..length]);
        }
    }
    let mut object = open.load()?;
    let mut link = None;
    for mut map in object.maps_mut() {
        if map.map_type() == MapType::StructOps {
            link = Some(map.attach_struct_ops()?);
        }
    }
    match link {
        Some(link) => Ok((object, link)),
        None => Err(libbpf_rs::Error::from(std::io::Error::other("the object has no struct_ops"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reno(cwnd: f64) -> BridgedFlow {
        flow("reno", cwnd)
    }

    fn flow(controller: &str, cwnd: f64) -> BridgedFlow {
        let info = cc::FlowInfo {
            packet: 1448,
            initial_window: cwnd,
            initial_ssthresh: f64::INFINITY,
            max_window: f64::INFINITY,
            arithmetic: cc::Arithmetic {
                growth: cc::Growth::Counted,
                integer_windows: true,
                reduce_on_every_timeout: false,
                rfc_variants: false,
            },
            fine_clock: false,
            abe: false,
            seed: 1,
            hops: 0,
        };
        let registration = lab::controller(controller).unwrap();
        let params = cc::Params::new(registration.descriptor.params, []).unwrap();
        let controller = registration.create(&params, &info);
        BridgedFlow::new(controller, WallClock::start(), Time::ZERO)
    }

    fn event(kind: u32, value: u32) -> Event {
        Event {
            kind,
            value,
            in_flight: 38,
            sacked_out: 1,
            lost_out: 1,
            mss: 1448,
            rtt_us: -1,
            ..Event::default()
        }
    }

    #[test]
    fn the_predicted_reduction_is_the_one_that_follows() {
        let mut flow = reno(40.0);
        let before = flow.on_event(&event(OPEN, 0));
        assert_eq!((before.cwnd, before.loss, before.echo), (40, [20, 20], [20, 20]));
        flow.on_event(&event(SSTHRESH, 0));
        let after = flow.on_event(&event(STATE, RECOVERY));
        assert_eq!((after.cwnd, after.ssthresh), (20, 20));
        assert_eq!((flow.cuts, flow.timeouts), (1, 0));
        // Without a request for a threshold the state alone reduces nothing.
        flow.on_event(&event(STATE, 0));
        flow.on_event(&event(STATE, RECOVERY));
        assert_eq!(flow.controller.cwnd(), 20.0);
        assert_eq!(flow.on_event(&event(STATE, LOSS)).cwnd, 1);
        assert_eq!(flow.timeouts, 1);
    }

    #[test]
    fn segments_are_counted_beyond_four_gigabytes() {
        let mut flow = reno(40.0);
        let begin = u32::MAX - 5000;
        assert_eq!(flow.segment(begin, 1000), 0);
        let mut sequence = begin;
        for round in 1..=6u64 {
            sequence = sequence.wrapping_add(1_000_000_000);
            assert_eq!(flow.segment(sequence, 1000), round * 1_000_000);
            assert_eq!(flow.segment(sequence.wrapping_sub(20_000), 1000), round * 1_000_000 - 20);
        }
    }

    #[test]
    fn an_undo_restores_the_window() {
        let mut flow = reno(40.0);
        flow.on_event(&event(OPEN, 0));
        flow.on_event(&event(SSTHRESH, 0));
        flow.on_event(&event(STATE, RECOVERY));
        assert_eq!(flow.on_event(&event(UNDO, 0)).cwnd, 40);
    }

    #[test]
    fn the_timer_of_a_controller_makes_decisions_between_events() {
        let mut flow = flow("policy", 10.0);
        assert!(flow.on_timer(Time::ZERO).is_none());
        let ack = |time_ns, sent, sequence| Event {
            time_ns,
            sent,
            sequence,
            acked_sacked: 10,
            flow: 3,
            rtt_us: 100_000,
            ..event(ACK, 0)
        };
        flow.on_event(&Event { rtt_us: -1, ..ack(0, 0, 1) });
        assert_eq!(flow.wake_at(), Time::NEVER);
        flow.on_event(&ack(0, 10, 2));
        let due = flow.wake_at();
        assert!(due < Time::NEVER && flow.on_timer(Time::ZERO).is_none());
        flow.on_event(&ack(0, 30, 3)); // 20 more are sent: a rate of 200 a second
        let (number, decision) = flow.on_timer(due).unwrap();
        assert_eq!((number, decision.sequence), (3, 3));
        let policy: &mut policy::Policy = flow.controller.downcast_mut().unwrap();
        assert_eq!(policy.measured().sent, 20.0);
        assert!(flow.wake_at() > due && decision.pacing > 0);
        // An event that the kernel wrote before the timer expired comes after it.
        flow.on_event(&ack(0, 30, 4));
        assert_eq!(flow.now, due);
        flow.on_event(&Event { kind: CLOSE, ..ack(0, 30, 5) });
        assert_eq!(flow.wake_at(), Time::NEVER);
        assert!(flow.on_timer(due + Span::from_ms(1000)).is_none());
    }
}
