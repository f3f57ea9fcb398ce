//! Controllers of the page, in JavaScript: an event is a list of numbers in memory; the page writes the answers of the
//! controller ([`decision`]) into its first places. Times are in picoseconds.

use cc::{
    CachedExternal, Cause, Decision, EcnResponse, Event, ExternalController, ExternalFactory, Failure,
    FlowInfo, Growth, PathHint, Signals,
};
use serde_json::Value;
use std::cell::Cell;
use std::sync::Arc;
use units::{Rate, Segments, Span, Time};

/// Numbers of an event.
const NUMBERS: usize = 41;
/// The place of the first internal value.
const FIRST_PROBE: usize = 9;
/// The kind of the call that creates a controller. That of an event is one more than [`Event::index`].
const NEW: usize = 0;

#[cfg(target_arch = "wasm32")]
#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Passes an event to controller `controller`; 1 if it failed.
    fn tell(controller: u32, kind: u32, event: *mut f64) -> u32;
}

/// Passes an event to the page. Outside a browser there is no page, so every controller fails.
fn pass(controller: u32, kind: usize, event: &mut [f64]) -> bool {
    #[cfg(target_arch = "wasm32")]
    // SAFETY: the page reads and writes the places of the slice during the call alone.
    return unsafe { tell(controller, kind as u32, event.as_mut_ptr()) } == 0;
    #[cfg(not(target_arch = "wasm32"))]
    {
        let _ = (controller, kind, event);
        false
    }
}

thread_local! {
    static NEXT: Cell<u32> = const { Cell::new(0) };
}

/// Creates the controllers of the class that the page has loaded.
#[derive(Debug)]
pub struct PageFactory {
    name: String,
    probes: Vec<String>,
    needs: Signals,
    initial_window: Option<Segments>,
}

impl PageFactory {
    /// The factory of a request: the name of the class, or an object with `name`, `probes`, `needs` (names of signals) and
    /// `initial_window`. Fails with a message.
    pub fn new(request: &Value) -> Result<PageFactory, String> {
        let texts = |key: &str| request[key].as_array().into_iter().flatten().filter_map(Value::as_str);
        let probes: Vec<String> = texts("probes").map(str::to_string).collect();
        if probes.len() > NUMBERS - FIRST_PROBE {
            let (most, given) = (NUMBERS - FIRST_PROBE, probes.len());
            return Err(format!("probes: {given} names; at most {most} are possible"));
        }
        let mut needs = Signals::NONE;
        for name in texts("needs") {
            needs = needs.and(Signals::from_name(name)?);
        }
        let initial_window = request["initial_window"].as_f64();
        if let Some(window) = initial_window.filter(|window| !(1.0..=1e6).contains(window)) {
            return Err(format!("initialWindow is {window}, not a number from 1 to 1000000"));
        }
        let name = request.as_str().or(request["name"].as_str()).unwrap_or("page").to_string();
        Ok(PageFactory { name, probes, needs, initial_window })
    }
}

impl ExternalFactory for PageFactory {
    fn name(&self) -> &str {
        &self.name
    }
    fn probes(&self) -> &[String] {
        &self.probes
    }
    fn needs(&self) -> Signals {
        self.needs
    }
    fn initial_window(&self) -> Option<Segments> {
        self.initial_window
    }
    fn make(&self, flow: &FlowInfo) -> CachedExternal {
        let mut controller = PageController {
            name: self.name.clone(),
            number: NEXT.with(|next| next.replace(next.get() + 1)),
            needs: self.needs,
            probes: vec![f64::NAN; self.probes.len()],
        };
        let arithmetic = flow.arithmetic;
        let event = record(&[
            flow.initial_window,
            flow.initial_ssthresh,
            flow.max_window,
            flow.packet.into(),
            flag(arithmetic.growth == Growth::Counted),
            flag(arithmetic.integer_windows),
            flag(arithmetic.reduce_on_every_timeout),
            flag(flow.fine_clock),
            flag(flow.abe),
            (flow.seed >> 32) as f64,
            (flow.seed & 0xffff_ffff) as f64,
        ]);
        let first = controller.pass(NEW, event);
        CachedExternal::new(Box::new(controller), first)
    }
}

fn flag(value: bool) -> f64 {
    u8::from(value).into()
}

/// A number that may be absent: NaN.
fn optional(value: Option<u64>) -> f64 {
    value.map_or(f64::NAN, |value| value as f64)
}

/// An event in memory: its numbers, then zeros.
fn record(numbers: &[f64]) -> [f64; NUMBERS] {
    let mut event = [0.0; NUMBERS];
    event[..numbers.len()].copy_from_slice(numbers);
    event
}

/// The numbers of an event, in the order in which the page reads them.
fn encode(event: Event<'_>) -> [f64; NUMBERS] {
    let (at, length) = (|time: Time| time.ps() as f64, |span: Span| span.ps() as f64);
    match event {
        Event::Open(now) | Event::RecoveryExit(now) | Event::Undo(now) | Event::Timer(now) => {
            record(&[at(now)])
        }
        Event::SetWindow(segments) | Event::SetThreshold(segments) => record(&[segments]),
        Event::Handshake(now, rtt) => record(&[at(now), length(rtt)]),
        Event::Ack(ack) => record(&[
            at(ack.now),
            ack.newly_acked.into(),
            ack.delivered.into(),
            ack.newly_lost.into(),
            ack.delivered_total as f64,
            ack.lost_total as f64,
            ack.dupacks.into(),
            ack.acked_through as f64,
            ack.next as f64,
            ack.in_flight,
            ack.prior_in_flight,
            optional(ack.rtt.map(Span::ps)),
            optional(ack.receiver_time.map(Time::ps)),
            flag(ack.ece),
            optional(ack.rate.map(|rate| rate.delivered)),
            optional(ack.rate.map(|rate| rate.interval.ps()).filter(|interval| *interval > 0)),
            flag(ack.rate.is_some_and(|rate| rate.app_limited)),
            optional(ack.rate.map(|rate| rate.prior_delivered)),
            optional(ack.rate.map(|rate| rate.tx_in_flight.into())),
            optional(ack.rate.map(|rate| rate.lost)),
            ack.phase as u8 as f64,
            flag(ack.may_grow),
            flag(ack.paced),
            length(ack.pacing_wait),
            flag(ack.window_limited),
        ]),
        Event::Lost(lost) => record(&[
            at(lost.now),
            lost.seq as f64,
            lost.tx_in_flight.into(),
            lost.lost as f64,
            lost.delivered_total as f64,
            flag(lost.app_limited),
            flag(lost.starts_range),
        ]),
        Event::Delivered(delivered) => {
            record(&[at(delivered.now), delivered.seq as f64, at(delivered.sent), length(delivered.rtt)])
        }
        Event::Sent(sent) => {
            record(&[at(sent.now), sent.seq as f64, sent.in_flight.into(), flag(sent.retransmission)])
        }
        Event::Congestion(event) => record(&[
            at(event.now),
            flag(event.cause == Cause::Ecn),
            event.window,
            event.in_flight,
            optional(event.segment_sent.map(Time::ps)),
            flag(event.retransmitted),
            event.dupacks.into(),
        ]),
        Event::Timeout(event) => record(&[at(event.now), event.window, flag(event.repeated)]),
        Event::Restart(event) => record(&[at(event.now), length(event.idle), event.window]),
        Event::TransmitStart(event) => record(&[at(event.now), length(event.idle), flag(event.app_limited)]),
        Event::Hint(now, hint) => {
            let (kind, value) = match hint {
                PathHint::HandoffBegins => (0.0, f64::NAN),
                PathHint::HandoffEnds => (1.0, f64::NAN),
                PathHint::RouterRate(rate) => (2.0, rate.bps() as f64),
                PathHint::RouterFeedback(feedback) => (3.0, *feedback),
            };
            record(&[at(now), kind, value])
        }
    }
}

/// The answers in the first places of an event; NaN stands for none. Fails with a message.
fn decision(event: &[f64; NUMBERS], needs: Signals) -> Result<Decision, String> {
    let &[
        cwnd,
        ssthresh,
        pacing,
        wake_at,
        fine_timeout,
        ecn_response,
        owns_window,
        limits_application,
        send_quantum,
        ..,
    ] = event;
    if !(cwnd >= 1.0 && cwnd.is_finite() && ssthresh >= 1.0) {
        return Err(format!("cwnd is {cwnd} and ssthresh is {ssthresh}; both must be numbers from 1 on"));
    }
    let given = |value: f64, signal| Some(value).filter(|value| needs.has(signal) && !value.is_nan());
    let span = |value, signal| {
        let seconds = given(value, signal).filter(|seconds| seconds.is_finite());
        seconds.map(|seconds| Span::from_seconds(seconds.max(0.0)))
    };
    let pacing = given(pacing, Signals::PACING);
    if let Some(bps) = pacing.filter(|bps| !(1.0..1e15).contains(bps)) {
        return Err(format!("pacingBps is {bps}, not a rate from 1 on (or null)"));
    }
    let quantum = given(send_quantum, Signals::PACING).unwrap_or(1.0);
    if !(quantum >= 1.0 && quantum.fract() == 0.0) {
        return Err(format!("sendQuantum is {quantum}, not a whole number from 1 on"));
    }
    Ok(Decision {
        cwnd,
        ssthresh,
        pacing: pacing.map(|bps| Rate::from_bps(bps as u64)),
        send_quantum: quantum as u32,
        wake_at: span(wake_at, Signals::TIMER).map_or(Time::NEVER, |at| Time::ZERO + at),
        fine_timeout: span(fine_timeout, Signals::FINE_CLOCK),
        ecn_response: match ecn_response {
            1.0 => EcnResponse::CwrOnly,
            2.0 => EcnResponse::NoCwr,
            _ => EcnResponse::Reduce,
        },
        owns_window: owns_window == 1.0,
        limits_application: limits_application == 1.0,
    })
}

/// One controller object of the page.
#[derive(Debug)]
struct PageController {
    name: String,
    number: u32,
    needs: Signals,
    probes: Vec<f64>,
}

impl PageController {
    /// Passes an event to the object and reads its answers and internal values.
    fn pass(&mut self, kind: usize, mut event: [f64; NUMBERS]) -> Result<Decision, Failure> {
        let read = match pass(self.number, kind, &mut event) {
            true => decision(&event, self.needs),
            false => Err("the controller raised an error".into()),
        };
        let probes = self.probes.iter_mut().zip(&event[FIRST_PROBE..]);
        probes.for_each(|(probe, value)| *probe = *value);
        read.map_err(|message| Failure::new(message, Arc::new(())))
    }
}

impl ExternalController for PageController {
    fn name(&self) -> &str {
        &self.name
    }
    fn needs(&self) -> Signals {
        self.needs
    }
    fn on_event(&mut self, event: Event<'_>, decision: &mut Decision) -> Result<(), Failure> {
        *decision = self.pass(event.index() + 1, encode(event))?;
        Ok(())
    }
    fn probe(&self, out: &mut [f64]) {
        for (value, probe) in out.iter_mut().zip(&self.probes) {
            *value = *probe;
        }
    }
}
