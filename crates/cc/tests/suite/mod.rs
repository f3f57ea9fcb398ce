//! Properties that a controller must have for any sequence of events. The test that includes this module names the
//! controllers.

use cc::{
    Ack, AnyController, Arithmetic, Cause, Congestion, Controller, Delivered, Event, FlowInfo, Growth,
    Handshake, Hint, Lost, ParamValue, Params, PathHint, Phase, RateSample, Registration, Restart, Sample,
    SenderState, Sent, Timeout, TransmitStart,
};
use params::Form;
use proptest::prelude::*;
use units::{Rate, Span, Time};

/// Something that happens to a sender.
#[derive(Clone, Debug)]
enum Op {
    /// So many segments acknowledged, round-trip time in µs (none: no sample).
    Ack(u32, Option<u64>),
    DupAck,
    Loss,
    Ecn,
    Rto(bool),
    /// The transport moves the window, in tenths of a segment.
    Move(u32),
    /// The transport sets the threshold, in tenths of a segment.
    Threshold(u32),
    Restart(u32),
    Timer,
    PathHint(bool),
    Undo,
    /// The handshake ends, round-trip time in µs.
    Handshake(u64),
    /// The segment of this number after the first unacknowledged one is marked as lost.
    Lost(u32),
    /// A segment is transmitted: a retransmission, or a new one.
    Sent(bool),
    /// A transmission with nothing in flight, after so many ms.
    TransmitStart(u64),
    /// Recovery ends, if there was a loss or an ECN echo.
    RecoveryExit,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        20 => (1u32..4, prop::option::of(1u64..2_000_000)).prop_map(|(n, rtt)| Op::Ack(n, rtt)),
        4 => Just(Op::DupAck),
        2 => Just(Op::Loss),
        1 => Just(Op::Ecn),
        1 => any::<bool>().prop_map(Op::Rto),
        1 => (10u32..5000).prop_map(Op::Move),
        1 => (20u32..5000).prop_map(Op::Threshold),
        1 => (10u32..100).prop_map(Op::Restart),
        1 => Just(Op::Timer),
        1 => any::<bool>().prop_map(Op::PathHint),
        1 => Just(Op::Undo),
        1 => (1u64..2_000_000).prop_map(Op::Handshake),
        3 => (0u32..40).prop_map(Op::Lost),
        6 => any::<bool>().prop_map(Op::Sent),
        1 => (0u64..5000).prop_map(Op::TransmitStart),
        1 => Just(Op::RecoveryExit),
    ]
}

fn flows() -> Vec<FlowInfo> {
    let flow = |growth, integer_windows, ssthresh, max_window, fine_clock| FlowInfo {
        initial_window: 2.0,
        initial_ssthresh: ssthresh,
        max_window,
        arithmetic: Arithmetic {
            growth,
            integer_windows,
            reduce_on_every_timeout: growth == Growth::PerAck,
            rfc_variants: false,
        },
        fine_clock,
        abe: false,
        packet: 1000,
        seed: 1,
        hops: 0,
    };
    vec![
        flow(Growth::PerAck, false, 20.0, f64::INFINITY, true),
        flow(Growth::PerAck, true, 1000.0, 50.0, false),
        flow(Growth::Counted, true, f64::INFINITY, f64::INFINITY, false),
    ]
}

/// Every controller with its defaults, and with each other choice of each word.
fn variants() -> Vec<(&'static Registration<AnyController>, Params)> {
    let mut list = Vec::new();
    for registration in super::CONTROLLERS {
        let d = &registration.descriptor;
        list.push((registration, Params::new(d.params, []).unwrap()));
        for p in d.params {
            let others: Vec<ParamValue> = match p.form {
                Form::Word(words) => words[1..].iter().map(|w| ParamValue::Word((*w).into())).collect(),
                Form::Switch => vec![ParamValue::Switch(true), ParamValue::Switch(false)],
                Form::Number(min, max) => vec![ParamValue::Number(min), ParamValue::Number(max)],
                _ => Vec::new(), // the file of a policy
            };
            list.extend(
                others.into_iter().map(|v| (registration, Params::new(d.params, [(p.name, v)]).unwrap())),
            );
        }
    }
    list
}

/// A sender's bookkeeping around a controller; every state that a controller shows goes into the log.
struct Harness {
    controller: AnyController,
    shift: Span,
    now: Span,
    una: u64,
    next: u64,
    dupacks: u32,
    lost: u64,
    phase: Phase,
    log: Vec<[u64; 2]>,
    probes: usize,
    /// How often each method of [`Event::METHODS`] was called.
    calls: Vec<u32>,
}

impl Harness {
    fn new(
        registration: &Registration<AnyController>,
        params: &Params,
        flow: &FlowInfo,
        shift: Span,
    ) -> Harness {
        let controller = registration.create(params, flow);
        assert_eq!(controller.name(), registration.descriptor.name);
        let probes = registration.descriptor.probes.len();
        let mut harness = Harness {
            controller,
            shift,
            now: Span::ZERO,
            una: 0,
            next: 1,
            dupacks: 0,
            lost: 0,
            phase: Phase::Open,
            log: Vec::new(),
            probes,
            calls: vec![0; Event::METHODS.len()],
        };
        harness.event(Event::Open(harness.time()));
        harness
    }

    fn event(&mut self, event: Event<'_>) {
        self.calls[event.index()] += 1;
        event.call(&mut self.controller);
    }

    fn time(&self) -> Time {
        Time::ZERO + self.shift + self.now
    }

    fn ack(&mut self, acked: u32, rtt: Option<u64>) {
        let acked = acked.min((self.next - self.una) as u32);
        let dupacks = if acked > 0 { self.dupacks } else { self.dupacks + 1 };
        for seq in self.una..self.una + acked as u64 {
            self.deliver(seq);
        }
        self.una += acked as u64;
        self.dupacks = if acked > 0 { 0 } else { dupacks };
        let event = Ack {
            now: self.time(),
            newly_acked: acked,
            newly_delivered: acked,
            newly_lost: 0,
            delivered_total: self.una,
            lost_total: self.lost,
            prior_in_flight: (self.next - self.una) as f64,
            dupacks,
            acked_through: self.una.wrapping_sub(1),
            next: self.next,
            in_flight: (self.next - self.una) as f64,
            rtt: rtt.map(|us| Span::from_ps(us * 1_000_000).min(self.now)),
            receiver_time: Some(self.time()),
            ece: false,
            ce: 0,
            rate: Some(RateSample {
                delivered: acked as u64,
                interval: Span::from_ms(10),
                ..RateSample::default()
            }),
            sender: SenderState {
                srtt: rtt.map(|us| Span::from_ps(us * 1_000_000)),
                ..SenderState::default()
            },
            phase: self.phase,
            paced: false,
            pacing_wait: Span::ZERO,
            may_grow: acked > 0 && self.phase != Phase::Recovery,
            window_limited: true,
        };
        self.event(Event::Sample(&Sample::of(&event)));
        self.event(Event::Ack(&event));
        if acked > 0 {
            self.phase = Phase::Open;
        }
    }

    fn lose(&mut self, number: u32) {
        self.lost += 1;
        let in_flight = (self.next - self.una) as u32;
        let lost = Lost {
            now: self.time(),
            seq: self.una + (number % in_flight.max(1)) as u64,
            tx_in_flight: in_flight,
            lost: self.lost.min(in_flight as u64),
            delivered_total: self.una,
            app_limited: number.is_multiple_of(5),
            starts_range: number.is_multiple_of(2),
        };
        self.event(Event::Lost(&lost));
    }

    /// A delivered segment, before the ACK that reports it.
    fn deliver(&mut self, seq: u64) {
        let rtt = Span::from_ms(20).min(self.now);
        let now = self.time();
        let sent = Time::ZERO + self.shift + (self.now - rtt);
        self.event(Event::Delivered(&Delivered { now, seq, sent, rtt }));
    }

    fn send(&mut self, retransmission: bool) {
        let seq = if retransmission { self.una } else { self.next };
        self.next += u64::from(!retransmission);
        let in_flight = (self.next - self.una) as u32;
        let sent = Sent { now: self.time(), seq, in_flight, retransmission };
        self.event(Event::Sent(&sent));
    }

    fn step(&mut self, op: &Op) -> Result<(), TestCaseError> {
        self.now = self.now + Span::from_ps(1_700_000_000);
        let before = self.controller.cwnd();
        let owned = self.controller.owns_window(); // the last ACK of a recovery with its own window sets it
        let window = before.max(1.0);
        match *op {
            Op::Ack(n, rtt) => self.ack(n, rtt),
            Op::DupAck => self.ack(0, None),
            Op::Loss | Op::Ecn => {
                let cause = if matches!(op, Op::Loss) { Cause::FastRetransmit } else { Cause::Ecn };
                let event = Congestion {
                    now: self.time(),
                    cause,
                    window,
                    in_flight: (self.next - self.una) as f64,
                    segment_sent: Some(self.time()),
                    retransmitted: self.una.is_multiple_of(3),
                    dupacks: 3,
                };
                self.event(Event::Congestion(&event));
                self.phase = Phase::Recovery;
            }
            Op::Rto(repeated) => {
                let timeout = Timeout { now: self.time(), window, repeated };
                self.event(Event::Rto(&timeout));
                self.phase = Phase::Loss;
                let cwnd = self.controller.cwnd();
                prop_assert!(cwnd <= 2.0, "{cwnd} segments after a timeout");
            }
            Op::Move(tenths) => self.event(Event::SetWindow(tenths as f64 / 10.0)),
            Op::Threshold(tenths) => self.event(Event::SetSsthresh(tenths as f64 / 10.0)),
            Op::Restart(tenths) => {
                let event =
                    Restart { now: self.time(), idle: Span::from_ms(900), window: tenths as f64 / 10.0 };
                self.event(Event::Restart(&event));
            }
            Op::Timer => self.event(Event::Timer(self.time())),
            Op::PathHint(begins) => {
                let kind = if begins {
                    Hint::RouterFeedback(-1e5)
                } else {
                    Hint::RouterRate(Rate::from_bps(1_000_000))
                };
                let hint = PathHint { now: self.time(), kind };
                self.event(Event::Hint(&hint));
            }
            Op::Undo => self.event(Event::Undo(self.time())),
            Op::Handshake(us) => {
                let rtt = Span::from_ps(us * 1_000_000).min(self.now);
                let rtt = (us % 5 != 0).then_some(rtt); // sometimes its packets were sent again
                let handshake = Handshake { now: self.time(), rtt };
                self.event(Event::Handshake(&handshake));
            }
            Op::Lost(number) => self.lose(number),
            Op::Sent(retransmission) => self.send(retransmission),
            Op::TransmitStart(ms) => {
                let idle = Span::from_ms(ms);
                let start = TransmitStart { now: self.time(), idle, app_limited: ms.is_multiple_of(2) };
                self.event(Event::TransmitStart(&start));
            }
            Op::RecoveryExit => {
                if self.phase == Phase::Recovery {
                    self.phase = Phase::Open;
                    self.event(Event::RecoveryExit(self.time()));
                }
            }
        }
        self.next = self.next.max(self.una + self.controller.cwnd() as u64).max(self.una + 1);
        let (cwnd, ssthresh) = (self.controller.cwnd(), self.controller.ssthresh());
        prop_assert!(cwnd.is_finite() && cwnd >= 1.0, "cwnd {cwnd} after {op:?}");
        prop_assert!(ssthresh >= 1.0, "ssthresh {ssthresh} after {op:?}");
        let reduces = matches!(op, Op::Ack(..) | Op::DupAck) && self.phase != Phase::Open;
        if reduces && !owned && !self.controller.owns_window() {
            // One reduction per window and cause: no ACK repeats it.
            prop_assert!(cwnd >= before - 1.0 - before / 8.0, "an ACK takes {before} to {cwnd}");
        }
        if let Some(rate) = self.controller.pacing() {
            prop_assert!(rate.bps() > 0, "pacing rate of zero");
        }
        let mut probes = vec![f64::NAN; self.probes];
        self.controller.probe(&mut probes);
        self.log.push([cwnd.to_bits(), ssthresh.to_bits()]);
        self.log.extend(probes.iter().map(|p| [p.to_bits(), 0]));
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn survives_anything_and_depends_on_nothing_else(ops in prop::collection::vec(op(), 1..300)) {
        for (registration, params) in variants() {
            let name = registration.descriptor.name;
            for flow in flows() {
                let run = |shift: Span| -> Result<Vec<[u64; 2]>, TestCaseError> {
                    let mut harness = Harness::new(registration, &params, &flow, shift);
                    for op in &ops {
                        harness.step(op).map_err(|error| TestCaseError::fail(format!("{name} {params:?}: {error}")))?;
                    }
                    Ok(harness.log)
                };
                let log = run(Span::ZERO)?;
                prop_assert_eq!(&log, &run(Span::ZERO)?, "{} is not repeatable", name);
                // A clock that starts elsewhere changes nothing.
                let shifted = run(Span::from_ps(0x05a1_38fb_de87_4300))?;
                prop_assert_eq!(&log, &shifted, "{} depends on the time of day", name);
            }
        }
    }
}

/// Each operation has its event: an event that is added to the table needs one here.
#[test]
fn the_operations_call_every_method() {
    let ops = [
        Op::Ack(1, Some(1000)),
        Op::Loss,
        Op::RecoveryExit,
        Op::Rto(false),
        Op::Move(20),
        Op::Threshold(20),
        Op::Restart(20),
        Op::Timer,
        Op::PathHint(true),
        Op::Undo,
        Op::Handshake(1000),
        Op::Lost(1),
        Op::Sent(false),
        Op::TransmitStart(1),
    ];
    let registration = &super::CONTROLLERS[0];
    let params = Params::new(registration.descriptor.params, []).unwrap();
    let mut harness = Harness::new(registration, &params, &flows()[0], Span::ZERO);
    for op in &ops {
        harness.step(op).unwrap();
    }
    for (method, calls) in Event::METHODS.iter().zip(&harness.calls) {
        assert!(*calls > 0, "no operation calls {}", method.name);
    }
}

#[test]
fn descriptors_are_complete() {
    let mut names: Vec<&str> = super::CONTROLLERS.iter().map(|c| c.descriptor.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), super::CONTROLLERS.len(), "two controllers of one name");
    for d in super::CONTROLLERS.iter().map(|c| &c.descriptor) {
        assert!(!d.summary.is_empty() && !d.source.is_empty(), "{} lacks words", d.name);
        for p in d.params {
            assert!(!p.doc.is_empty(), "{}.{} lacks words", d.name, p.name);
        }
        for column in
            ["time_s", "flow", "event", "cwnd", "ssthresh", "ack", "rtt_s", "in_flight", "phase", "cause"]
        {
            assert!(!d.probes.contains(&column), "{}: the trace has a column {column} already", d.name);
        }
    }
}
