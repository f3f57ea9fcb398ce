//! Controllers of the page, in JavaScript: an event is a list of numbers in memory; the page writes the window, the
//! threshold and the other values of the controller ([`Values`]) into its first places.

use cc::{
    Ack, Cause, Congestion, Controller, EcnResponse, ExternalController, ExternalFactory, Failure, FlowInfo,
    Growth, Lost, PathHint, Restart, Sent, Signals, Timeout, TransmitStart,
};
use serde_json::Value;
use std::cell::Cell;
use std::sync::Arc;
use units::{Rate, Segments, Span, Time};

/// Numbers of an event.
const NUMBERS: usize = 40;
/// The place of the first internal value.
const FIRST_PROBE: usize = 8;

#[cfg(target_arch = "wasm32")]
#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Passes an event to controller `controller`; 1 if it failed.
    fn tell(controller: u32, kind: u32, event: *mut f64) -> u32;
}

/// Passes an event to the page. Outside a browser there is no page, so every controller fails.
fn pass(controller: u32, kind: Event, event: &mut [f64]) -> bool {
    #[cfg(target_arch = "wasm32")]
    // SAFETY: the page reads and writes the places of the slice during the call alone.
    return unsafe { tell(controller, kind as u32, event.as_mut_ptr()) } == 0;
    #[cfg(not(target_arch = "wasm32"))]
    {
        let _ = (controller, kind, event);
        false
    }
}

/// The kinds of events, with the numbers that the page knows.
#[derive(Clone, Copy)]
enum Event {
    New = 0,
    Ack = 1,
    Congestion = 2,
    Timeout = 3,
    RecoveryExit = 4,
    Restart = 5,
    SetWindow = 6,
    SetThreshold = 7,
    Undo = 8,
    Open = 9,
    Lost = 10,
    Sent = 11,
    TransmitStart = 12,
    Timer = 13,
    Hint = 14,
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
    fn make(&self, flow: &FlowInfo) -> Box<dyn ExternalController> {
        let number = NEXT.with(|next| next.replace(next.get() + 1));
        let mut controller = PageController {
            name: self.name.clone(),
            number,
            needs: self.needs,
            now: Time::ZERO,
            values: Values {
                cwnd: flow.initial_window,
                ssthresh: flow.initial_ssthresh,
                pacing: None,
                wake_at: Time::NEVER,
                fine_timeout: None,
                ecn_response: EcnResponse::Reduce,
            },
            probes: vec![f64::NAN; self.probes.len()],
            failure: None,
        };
        let arithmetic = flow.arithmetic;
        controller.pass(
            Time::ZERO,
            Event::New,
            &[
                flow.initial_window,
                flow.initial_ssthresh,
                flow.max_window,
                flow.packet as f64,
                (arithmetic.growth == Growth::Counted) as u8 as f64,
                arithmetic.integer_windows as u8 as f64,
                arithmetic.reduce_on_every_timeout as u8 as f64,
                flow.abe as u8 as f64,
                (flow.seed >> 32) as f64,
                (flow.seed & 0xffff_ffff) as f64,
            ],
        );
        Box::new(controller)
    }
}

/// What a controller object has set, read after each event.
#[derive(Clone, Copy, Debug)]
struct Values {
    cwnd: Segments,
    ssthresh: Segments,
    pacing: Option<Rate>,
    wake_at: Time,
    fine_timeout: Option<Span>,
    ecn_response: EcnResponse,
}

impl Values {
    /// The values in the first places of an event; NaN stands for none. Fails with a message.
    fn read(event: &[f64], needs: Signals) -> Result<Values, String> {
        let &[cwnd, ssthresh, pacing, wake_at, fine_timeout, ecn_response, ..] = event else {
            return Err("the event is too short".into());
        };
        if !(cwnd >= 1.0 && cwnd.is_finite() && ssthresh >= 1.0) {
            return Err(format!("cwnd is {cwnd} and ssthresh is {ssthresh}; both must be numbers from 1 on"));
        }
        let given = |value: f64, signal| Some(value).filter(|value| needs.has(signal) && !value.is_nan());
        let pacing = given(pacing, Signals::PACING);
        if let Some(bps) = pacing.filter(|bps| !(1.0..1e15).contains(bps)) {
            return Err(format!("pacingBps is {bps}, not a rate from 1 on (or null)"));
        }
        let wake_at = given(wake_at, Signals::TIMER).filter(|at| at.is_finite());
        let fine_timeout = given(fine_timeout, Signals::FINE_CLOCK).filter(|age| age.is_finite());
        Ok(Values {
            cwnd,
            ssthresh,
            pacing: pacing.map(|bps| Rate::from_bps(bps as u64)),
            wake_at: wake_at.map_or(Time::NEVER, |at| Time::ZERO + Span::from_seconds(at.max(0.0))),
            fine_timeout: fine_timeout.map(|age| Span::from_seconds(age.max(0.0))),
            ecn_response: match ecn_response {
                1.0 => EcnResponse::CwrOnly,
                2.0 => EcnResponse::NoCwr,
                _ => EcnResponse::Reduce,
            },
        })
    }
}

/// One controller object of the page.
#[derive(Debug)]
struct PageController {
    name: String,
    number: u32,
    needs: Signals,
    now: Time,
    values: Values,
    probes: Vec<f64>,
    failure: Option<Failure>,
}

impl PageController {
    fn pass(&mut self, now: Time, kind: Event, numbers: &[f64]) {
        if self.failure.is_some() {
            return;
        }
        self.now = now;
        let mut event = [0.0; NUMBERS];
        event[..numbers.len()].copy_from_slice(numbers);
        let read = match pass(self.number, kind, &mut event) {
            true => Values::read(&event, self.needs),
            false => Err("the controller raised an error".into()),
        };
        match read {
            Ok(values) => {
                self.values = values;
                let probes = self.probes.iter_mut().zip(&event[FIRST_PROBE..]);
                probes.for_each(|(probe, value)| *probe = *value);
            }
            Err(message) => self.failure = Some(Failure { at: now, message, error: Arc::new(()) }),
        }
    }
}

impl ExternalController for PageController {
    fn name(&self) -> &str {
        &self.name
    }
    fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }
}

impl Controller for PageController {
    fn needs(&self) -> Signals {
        self.needs
    }
    fn on_open(&mut self, now: Time) {
        self.pass(now, Event::Open, &[now.seconds()]);
    }
    fn on_ack(&mut self, ack: &Ack) {
        let seconds = |time: Option<f64>| time.unwrap_or(f64::NAN);
        self.pass(
            ack.now,
            Event::Ack,
            &[
                ack.now.seconds(),
                ack.newly_acked as f64,
                ack.delivered as f64,
                ack.newly_lost as f64,
                ack.dupacks as f64,
                ack.acked_through as f64,
                ack.next as f64,
                ack.in_flight,
                ack.prior_in_flight,
                seconds(ack.rtt.map(|rtt| rtt.seconds())),
                ack.ece as u8 as f64,
                ack.phase as u8 as f64,
                ack.may_grow as u8 as f64,
                ack.window_limited as u8 as f64,
                ack.rate.map_or(f64::NAN, |rate| rate.delivered as f64),
                seconds(ack.rate.map(|rate| rate.interval.seconds()).filter(|interval| *interval > 0.0)),
                ack.rate.is_some_and(|rate| rate.app_limited) as u8 as f64,
                ack.delivered_total as f64,
                ack.lost_total as f64,
                seconds(ack.receiver_time.map(Time::seconds)),
            ],
        );
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.pass(
            event.now,
            Event::Congestion,
            &[
                event.now.seconds(),
                event.window,
                event.in_flight,
                (event.cause == Cause::Ecn) as u8 as f64,
                event.dupacks as f64,
                event.retransmitted as u8 as f64,
                event.segment_sent.map_or(f64::NAN, Time::seconds),
            ],
        );
    }
    fn on_rto(&mut self, event: &Timeout) {
        let values = [event.now.seconds(), event.window, event.repeated as u8 as f64];
        self.pass(event.now, Event::Timeout, &values);
    }
    fn on_recovery_exit(&mut self, now: Time) {
        self.pass(now, Event::RecoveryExit, &[now.seconds()]);
    }
    fn on_undo(&mut self, now: Time) {
        self.pass(now, Event::Undo, &[now.seconds()]);
    }
    fn on_restart(&mut self, event: &Restart) {
        self.pass(event.now, Event::Restart, &[event.now.seconds(), event.window, event.idle.seconds()]);
    }
    fn set_window(&mut self, cwnd: Segments) {
        self.pass(self.now, Event::SetWindow, &[cwnd]);
    }
    fn set_ssthresh(&mut self, ssthresh: Segments) {
        self.pass(self.now, Event::SetThreshold, &[ssthresh]);
    }
    fn on_lost(&mut self, lost: &Lost) {
        let values = [
            lost.now.seconds(),
            lost.seq as f64,
            lost.tx_in_flight as f64,
            lost.lost as f64,
            lost.delivered_total as f64,
            lost.app_limited as u8 as f64,
            lost.starts_range as u8 as f64,
        ];
        self.pass(lost.now, Event::Lost, &values);
    }
    fn on_sent(&mut self, sent: &Sent) {
        let again = sent.retransmission as u8 as f64;
        let values = [sent.now.seconds(), sent.seq as f64, sent.in_flight as f64, again];
        self.pass(sent.now, Event::Sent, &values);
    }
    fn on_transmit_start(&mut self, event: &TransmitStart) {
        let values = [event.now.seconds(), event.idle.seconds(), event.app_limited as u8 as f64];
        self.pass(event.now, Event::TransmitStart, &values);
    }
    fn on_timer(&mut self, now: Time) {
        self.pass(now, Event::Timer, &[now.seconds()]);
    }
    fn on_hint(&mut self, now: Time, hint: &PathHint) {
        let (kind, value) = match hint {
            PathHint::HandoffBegins => (0.0, f64::NAN),
            PathHint::HandoffEnds => (1.0, f64::NAN),
            PathHint::RouterRate(rate) => (2.0, rate.bps() as f64),
            PathHint::RouterFeedback(feedback) => (3.0, *feedback),
        };
        self.pass(now, Event::Hint, &[now.seconds(), kind, value]);
    }
    fn ecn_response(&self) -> EcnResponse {
        self.values.ecn_response
    }
    fn pacing(&self) -> Option<Rate> {
        self.values.pacing
    }
    fn wake_at(&self) -> Time {
        // A time that has passed is not used again.
        if self.values.wake_at > self.now { self.values.wake_at } else { Time::NEVER }
    }
    fn fine_timeout(&self) -> Option<Span> {
        self.values.fine_timeout
    }
    fn probe(&self, out: &mut [f64]) {
        for (value, probe) in out.iter_mut().zip(&self.probes) {
            *value = *probe;
        }
    }
    fn cwnd(&self) -> Segments {
        self.values.cwnd
    }
    fn ssthresh(&self) -> Segments {
        self.values.ssthresh
    }
}
