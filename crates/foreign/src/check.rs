//! What a controller must do with any sequence of events, for its author: `ackclock check mine.wasm`.

use cc::{
    Ack, AnyController, Arithmetic, Cause, Congestion, Controller, Decision, Delivered, Event,
    ExternalFactory, FlowInfo, Growth, Handshake, Lost, Phase, RateSample, Sample, SenderState, Sent,
    Timeout,
};
use units::{Span, Time};

/// One property of a controller, and why it does not hold, if so.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What must hold.
    pub property: &'static str,
    /// What happened instead.
    pub failure: Option<String>,
}

/// Checks a controller: its answers, reductions, timeouts and windows that the transport sets; that two flows with equal events
/// answer equally, that flows do not disturb each other, and that copies go on as the original.
pub fn check(factory: &dyn ExternalFactory) -> Vec<Checked> {
    type Property = (&'static str, fn(&dyn ExternalFactory) -> Result<(), String>);
    const PROPERTIES: [Property; 8] = [
        ("is created, and processes events", processes),
        ("reduces its window at a loss", reduces),
        ("has one segment after a timeout", restarts),
        ("takes a window that the transport sets", takes),
        ("does not grow in recovery", stays),
        ("answers equally to equal events", repeats),
        ("keeps the state of a flow apart from that of others", apart),
        ("goes on equally after a copy", copies),
    ];
    let checked = |(property, holds): Property| Checked { property, failure: holds(factory).err() };
    PROPERTIES.into_iter().map(checked).collect()
}

/// A flow of the profile linux.
fn flow() -> FlowInfo {
    FlowInfo {
        packet: 1448,
        initial_window: 10.0,
        initial_ssthresh: f64::INFINITY,
        max_window: f64::INFINITY,
        fine_clock: false,
        abe: false,
        seed: 1,
        hops: 2,
        arithmetic: Arithmetic {
            growth: Growth::Counted,
            integer_windows: true,
            reduce_on_every_timeout: false,
            rfc_variants: false,
        },
    }
}

/// A sender with its controller, and the events of a sequence of numbers.
#[derive(Clone)]
struct Sender {
    controller: AnyController,
    now: Span,
    una: u64,
    next: u64,
    phase: Phase,
    draw: u64,
}

impl Sender {
    fn new(factory: &dyn ExternalFactory, seed: u64) -> Sender {
        let mut sender = Sender {
            controller: factory.make(&flow()),
            now: Span::ZERO,
            una: 0,
            next: 10,
            phase: Phase::Open,
            draw: seed,
        };
        let now = sender.time();
        sender.event(Event::Open(now));
        sender.event(Event::Handshake(&Handshake { now, rtt: Some(Span::from_ms(20)) }));
        sender
    }

    fn time(&self) -> Time {
        Time::ZERO + Span::from_ms(1) + self.now
    }

    fn event(&mut self, event: Event<'_>) {
        event.call(&mut self.controller);
    }

    /// A number below `below`.
    fn draw(&mut self, below: u64) -> u64 {
        self.draw = self.draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.draw >> 33) % below
    }

    fn ack(&mut self, acked: u64) {
        self.now = self.now + Span::from_ps(1_700_000_000);
        let now = self.time();
        for seq in self.una..self.una + acked {
            let rtt = Span::from_ms(20);
            self.event(Event::Delivered(&Delivered { now, seq, sent: now, rtt }));
        }
        self.una += acked;
        self.next = self.next.max(self.una + self.controller.cwnd().min(1e6) as u64);
        let rtt = Some(Span::from_ms(20 + self.draw % 7));
        let ack = Ack {
            now,
            newly_acked: acked as u32,
            newly_delivered: acked as u32,
            newly_lost: 0,
            delivered_total: self.una,
            lost_total: 0,
            dupacks: 0,
            acked_through: self.una.saturating_sub(1),
            next: self.next,
            in_flight: (self.next - self.una) as f64,
            prior_in_flight: (self.next - self.una + acked) as f64,
            rtt,
            receiver_time: Some(now),
            ece: false,
            ce: 0,
            phase: self.phase,
            may_grow: self.phase != Phase::Recovery && acked > 0,
            paced: false,
            pacing_wait: Span::ZERO,
            window_limited: true,
            rate: Some(RateSample { delivered: 10, interval: Span::from_ms(20), ..RateSample::default() }),
            sender: SenderState { srtt: rtt, min_rtt: rtt, ..SenderState::default() },
        };
        self.event(Event::Sample(&Sample::of(&ack)));
        self.event(Event::Ack(&ack));
    }

    fn lose(&mut self, window: f64) {
        let now = self.time();
        let lost = Lost {
            now,
            seq: self.una,
            tx_in_flight: 10,
            lost: 1,
            delivered_total: self.una,
            app_limited: false,
            starts_range: true,
        };
        self.event(Event::Lost(&lost));
        self.event(Event::Congestion(&Congestion {
            now,
            cause: Cause::FastRetransmit,
            window,
            in_flight: (self.next - self.una) as f64,
            segment_sent: Some(now),
            retransmitted: false,
            dupacks: 3,
        }));
        self.phase = Phase::Recovery;
    }

    fn time_out(&mut self) {
        let (now, window) = (self.time(), self.controller.cwnd());
        self.event(Event::Rto(&Timeout { now, window, repeated: false }));
        self.phase = Phase::Loss;
    }

    /// One of the events, as the numbers decide.
    fn step(&mut self) {
        match self.draw(24) {
            0 => self.lose(self.controller.cwnd()),
            1 if self.draw(4) == 0 => self.time_out(),
            2 => {
                let now = self.time();
                self.event(Event::RecoveryExit(now));
                self.phase = Phase::Open;
            }
            3 => {
                let window = self.draw(100) as f64 + 2.0;
                self.event(Event::SetWindow(window));
            }
            4 => {
                let sent = Sent { now: self.time(), seq: self.next, in_flight: 3, retransmission: false };
                self.event(Event::Sent(&sent));
            }
            _ => {
                let acked = 1 + self.draw(2);
                self.ack(acked);
            }
        }
    }

    /// Its answers, or why it failed.
    fn answers(&self) -> Result<Decision, String> {
        match self.controller.failure() {
            Some(failure) => Err(failure.message.lines().last().unwrap_or_default().to_string()),
            None => Ok(Decision::of(&self.controller)),
        }
    }

    fn cwnd(&self) -> Result<f64, String> {
        self.answers().map(|answers| answers.cwnd)
    }
}

/// A controller after events and a copy in the middle of them, until it fails.
#[cfg(feature = "interpreter")]
pub(crate) fn exercise(factory: &dyn ExternalFactory) -> AnyController {
    let mut sender = Sender::new(factory, 1);
    for step in 0..30 {
        if sender.controller.failure().is_some() {
            break;
        }
        sender.step();
        if step == 10 {
            sender = sender.clone();
        }
    }
    sender.controller
}

const STEPS: usize = 3000;

fn processes(factory: &dyn ExternalFactory) -> Result<(), String> {
    let mut sender = Sender::new(factory, 1);
    for step in 0..STEPS {
        sender.answers().map_err(|failure| format!("event {step}: {failure}"))?;
        sender.step();
    }
    Ok(())
}

/// A sender with a window of 100 segments; `None` if the controller owns its window.
fn settled(factory: &dyn ExternalFactory) -> Result<Option<Sender>, String> {
    let mut sender = Sender::new(factory, 1);
    for _ in 0..20 {
        sender.ack(1);
    }
    sender.event(Event::SetWindow(100.0));
    let answers = sender.answers()?;
    Ok((!answers.owns_window).then_some(sender))
}

fn reduces(factory: &dyn ExternalFactory) -> Result<(), String> {
    let Some(mut sender) = settled(factory)? else { return Ok(()) };
    let before = sender.cwnd()?;
    sender.lose(before);
    let after = sender.cwnd()?;
    if after < before { Ok(()) } else { Err(format!("{before} segments before a loss, {after} after it")) }
}

fn restarts(factory: &dyn ExternalFactory) -> Result<(), String> {
    let Some(mut sender) = settled(factory)? else { return Ok(()) };
    sender.time_out();
    let after = sender.cwnd()?;
    if after <= 1.0 { Ok(()) } else { Err(format!("{after} segments after a timeout")) }
}

fn takes(factory: &dyn ExternalFactory) -> Result<(), String> {
    let Some(sender) = settled(factory)? else { return Ok(()) };
    let window = sender.cwnd()?;
    if window == 100.0 { Ok(()) } else { Err(format!("{window} segments after set_window(100)")) }
}

fn stays(factory: &dyn ExternalFactory) -> Result<(), String> {
    let Some(mut sender) = settled(factory)? else { return Ok(()) };
    sender.lose(100.0);
    let before = sender.cwnd()?;
    for _ in 0..5 {
        sender.ack(1);
    }
    let after = sender.cwnd()?;
    if after <= before {
        Ok(())
    } else {
        Err(format!("{before} segments in recovery, {after} after five ACKs without may_grow"))
    }
}

/// Fails if the answers of two senders differ.
fn same(a: &Sender, b: &Sender, step: usize) -> Result<(), String> {
    let (a, b) = (a.answers()?, b.answers()?);
    if format!("{a:?}") == format!("{b:?}") {
        return Ok(());
    }
    Err(format!("event {step}: windows of {} and {} segments, or other answers that differ", a.cwnd, b.cwnd))
}

fn repeats(factory: &dyn ExternalFactory) -> Result<(), String> {
    let (mut a, mut b) = (Sender::new(factory, 7), Sender::new(factory, 7));
    for step in 0..STEPS {
        a.step();
        b.step();
        same(&a, &b, step)?;
    }
    Ok(())
}

fn apart(factory: &dyn ExternalFactory) -> Result<(), String> {
    let mut alone = Sender::new(factory, 3);
    let mut answers = Vec::new();
    for _ in 0..STEPS {
        alone.step();
        answers.push(alone.cwnd()?);
    }
    let (mut beside, mut other) = (Sender::new(factory, 3), Sender::new(factory, 11));
    for (step, alone) in answers.into_iter().enumerate() {
        beside.step();
        other.step();
        let window = beside.cwnd()?;
        if window != alone {
            return Err(format!(
                "event {step}: {alone} segments alone, {window} beside another flow: state outside the block \
                 (state = \"instance\")"
            ));
        }
    }
    Ok(())
}

fn copies(factory: &dyn ExternalFactory) -> Result<(), String> {
    let mut sender = Sender::new(factory, 5);
    let mut copy: Option<Sender> = None;
    for step in 0..STEPS {
        if step % (STEPS / 5) == 17 {
            copy = Some(sender.clone());
        }
        sender.step();
        if let Some(copy) = &mut copy {
            copy.step();
            same(&sender, copy, step)?;
        }
    }
    Ok(())
}
