//! Controllers of the page, in JavaScript: an event is a list of numbers in memory; the page writes the window and the
//! threshold into its first two places.

use cc::{
    Ack, Cause, Congestion, Controller, ExternalController, ExternalFactory, Failure, FlowInfo, Growth,
    Restart, Signals, Timeout,
};
use std::cell::Cell;
use std::sync::Arc;
use units::{Segments, Time};

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
}

thread_local! {
    static NEXT: Cell<u32> = const { Cell::new(0) };
}

/// Creates the controllers of the class that the page has loaded.
#[derive(Debug)]
pub struct PageFactory {
    /// The name of the class.
    pub name: String,
}

impl ExternalFactory for PageFactory {
    fn name(&self) -> &str {
        &self.name
    }
    fn probes(&self) -> &[String] {
        &[]
    }
    fn needs(&self) -> Signals {
        Signals::NONE
    }
    fn make(&self, flow: &FlowInfo) -> Box<dyn ExternalController> {
        let number = NEXT.with(|next| next.replace(next.get() + 1));
        let mut controller = PageController {
            name: self.name.clone(),
            number,
            now: Time::ZERO,
            cwnd: flow.initial_window,
            ssthresh: flow.initial_ssthresh,
            failure: None,
        };
        let arithmetic = flow.arithmetic;
        controller.tell(
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

/// One controller object of the page.
#[derive(Debug)]
struct PageController {
    name: String,
    number: u32,
    now: Time,
    cwnd: Segments,
    ssthresh: Segments,
    failure: Option<Failure>,
}

impl PageController {
    fn tell(&mut self, now: Time, kind: Event, values: &[f64]) {
        if self.failure.is_some() {
            return;
        }
        self.now = now;
        let mut event = [0.0; 20];
        event[..values.len()].copy_from_slice(values);
        let done = pass(self.number, kind, &mut event);
        let [cwnd, ssthresh] = [event[0], event[1]];
        let valid = cwnd >= 1.0 && cwnd.is_finite() && ssthresh >= 1.0;
        if done && valid {
            (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
            return;
        }
        let message = match done {
            false => "the controller raised an error".into(),
            true => format!("cwnd is {cwnd} and ssthresh is {ssthresh}; both must be numbers from 1 on"),
        };
        self.failure = Some(Failure { at: now, message, error: Arc::new(()) });
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
    fn on_ack(&mut self, ack: &Ack) {
        let seconds = |time: Option<f64>| time.unwrap_or(f64::NAN);
        self.tell(
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
            ],
        );
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.tell(
            event.now,
            Event::Congestion,
            &[
                event.now.seconds(),
                event.window,
                event.in_flight,
                (event.cause == Cause::Ecn) as u8 as f64,
                event.dupacks as f64,
                event.retransmitted as u8 as f64,
            ],
        );
    }
    fn on_rto(&mut self, event: &Timeout) {
        let values = [event.now.seconds(), event.window, event.repeated as u8 as f64];
        self.tell(event.now, Event::Timeout, &values);
    }
    fn on_recovery_exit(&mut self, now: Time) {
        self.tell(now, Event::RecoveryExit, &[now.seconds()]);
    }
    fn on_undo(&mut self, now: Time) {
        self.tell(now, Event::Undo, &[now.seconds()]);
    }
    fn on_restart(&mut self, event: &Restart) {
        self.tell(event.now, Event::Restart, &[event.now.seconds(), event.window, event.idle.seconds()]);
    }
    fn set_window(&mut self, cwnd: Segments) {
        self.tell(self.now, Event::SetWindow, &[cwnd]);
    }
    fn set_ssthresh(&mut self, ssthresh: Segments) {
        self.tell(self.now, Event::SetThreshold, &[ssthresh]);
    }
    fn cwnd(&self) -> Segments {
        self.cwnd
    }
    fn ssthresh(&self) -> Segments {
        self.ssthresh
    }
}
