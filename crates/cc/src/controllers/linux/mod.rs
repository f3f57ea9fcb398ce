//! Congestion control modules of Linux 6.12 in its integers: what a variant `linux` of a controller does. Each file is one
//! module, written from its behaviour; docs/validation-modules.md compares them with the modules themselves.
//!
//! The kernel calls a module in another form than a [`Controller`]; [`Linux`] translates. The order within an ACK is that
//! of `tcp_ack()`: measurements ([`Module::sample`]), the reduction ([`Module::ssthresh`]), the new state ([`Module::state`]),
//! growth ([`Module::avoid`]).

mod dctcp;
mod highspeed;
mod htcp;
mod hybla;
mod illinois;
mod nv;
mod veno;
mod westwood;
mod yeah;

pub use dctcp::Dctcp;
pub use highspeed::HighSpeed;
pub use htcp::Htcp;
pub use hybla::Hybla;
pub use illinois::Illinois;
pub use nv::Nv;
pub use veno::Veno;
pub use westwood::Westwood;
pub use yeah::Yeah;

use crate::parameters::Params;
use crate::slow_start::SlowStart;
use crate::window::{Window, impl_window_accessors};
use crate::{
    Ack, Arithmetic, Cause, Congestion, Controller, FlowInfo, Growth, Handshake, Phase, Sample, Signals,
    Timeout, TransmitStart,
};
use std::fmt::Debug;
use units::{Span, Time};

/// The state of a sender as Linux names it (`tcp_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing is under repair.
    #[default]
    Open,
    /// Segments are reported or repeated, without a reduction.
    Disorder,
    /// A reduction after an ECN echo.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

impl State {
    /// The state of a recovery phase.
    pub fn of(phase: Phase, disorder: bool) -> State {
        match phase {
            Phase::Open if disorder => State::Disorder,
            Phase::Open => State::Open,
            Phase::Cwr => State::Cwr,
            Phase::Recovery => State::Recovery,
            Phase::Loss => State::Loss,
        }
    }
}

/// A change of the state.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    from: State,
    to: State,
    now: Time,
    /// The next segment to send, and the first unacknowledged one.
    next: u64,
    una: u64,
}

/// A module: its window is that of its controller, in whole segments.
pub trait Module: Clone + Debug {
    /// The signals that it requires besides the measurements of ACKs.
    const NEEDS: Signals = Signals::NONE;
    /// The connection opens: its clock starts.
    fn open(&mut self, _now: Time) {}
    /// The handshake is complete (`init`). The round-trip time is none if its packets were sent again.
    fn init(&mut self, _window: &mut Window, _now: Time, _rtt: Option<Span>) {}
    /// The measurements of an ACK in the state before it (`in_ack_event`, then `pkts_acked`).
    fn sample(&mut self, _window: &mut Window, _sample: &Sample, _state: State) {}
    /// A reduction of a window of `cwnd` segments: the threshold (`ssthresh`). `lost`: for a loss, not for an echo.
    fn ssthresh(&mut self, cwnd: u64, lost: bool, now: Time) -> u64;
    /// The state changes (`set_state`).
    fn state(&mut self, _window: &mut Window, _change: Change) {}
    /// An ACK that permits growth (`cong_avoid`). `limited`: the window limited the sender.
    fn avoid(&mut self, window: &mut Window, ack: &Ack, limited: bool);
    /// The reduction has ended (`CA_EVENT_COMPLETE_CWR`).
    fn complete(&mut self, _window: &mut Window) {}
    /// A timeout has reduced the threshold (`CA_EVENT_LOSS`).
    fn lost(&mut self, _window: &mut Window) {}
    /// Transmission starts with nothing in flight (`CA_EVENT_TX_START`). `next`: the next segment to send.
    fn transmit_start(&mut self, _next: u64) {}
    /// The last reduction was spurious (`undo_cwnd`).
    fn undo(&mut self) {}
    /// [`Controller::probe`].
    fn probe(&self, out: &mut [f64]);
}

/// The controller that a module is.
#[derive(Clone, Debug)]
pub struct Linux<M> {
    window: Window,
    module: M,
    state: State,
    /// The next segment to send and the first unacknowledged one, after the last ACK.
    next: u64,
    una: u64,
}

impl<M: Module> Linux<M> {
    /// The module with the window of a new flow, which is whole and counts segments in every profile.
    pub(crate) fn new(module: M, params: &Params, flow: &FlowInfo) -> Linux<M> {
        let arithmetic = Arithmetic {
            growth: Growth::Counted,
            integer_windows: true,
            reduce_on_every_timeout: false,
            rfc_variants: false,
        };
        let window = Window::new(&FlowInfo { arithmetic, ..*flow });
        let window = window.with_slow_start(SlowStart::from_params(params));
        Linux { window, module, state: State::Open, next: 0, una: 0 }
    }

    /// The module, to change a parameter of it.
    pub(crate) fn module_mut(&mut self) -> &mut M {
        &mut self.module
    }

    fn set_state(&mut self, to: State, now: Time) {
        let from = std::mem::replace(&mut self.state, to);
        self.module.state(&mut self.window, Change { from, to, now, next: self.next, una: self.una });
    }
}

impl<M: Module> Controller for Linux<M> {
    fn needs(&self) -> Signals {
        Signals::SAMPLES.and(M::NEEDS)
    }
    fn on_open(&mut self, now: Time) {
        self.module.open(now);
    }
    fn on_handshake(&mut self, event: &Handshake) {
        self.module.init(&mut self.window, event.now, event.rtt);
    }
    fn on_sample(&mut self, sample: &Sample) {
        self.module.sample(&mut self.window, sample, self.state);
    }
    fn on_ack(&mut self, ack: &Ack) {
        (self.next, self.una) = (ack.next, ack.acked_through.wrapping_add(1));
        let state = State::of(ack.phase, ack.sender.disorder);
        if state != self.state {
            self.set_state(state, ack.now);
        }
        let limited = self.window.on_ack(ack);
        if ack.may_grow {
            self.module.avoid(&mut self.window, ack, limited);
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        let lost = event.cause == Cause::FastRetransmit;
        let reduced = self.module.ssthresh(event.window as u64, lost, event.now);
        self.window.reduce_to(reduced as f64);
        self.set_state(if lost { State::Recovery } else { State::Cwr }, event.now);
    }
    fn on_rto(&mut self, event: &Timeout) {
        if !event.repeated {
            let reduced = self.module.ssthresh(event.window as u64, true, event.now);
            self.window.reduce_to(reduced as f64);
            self.module.lost(&mut self.window);
        }
        self.window.restart();
        self.set_state(State::Loss, event.now);
    }
    fn on_recovery_exit(&mut self, _now: Time) {
        self.module.complete(&mut self.window);
    }
    fn on_undo(&mut self, _now: Time) {
        self.module.undo();
    }
    fn on_transmit_start(&mut self, _event: &TransmitStart) {
        self.module.transmit_start(self.next);
    }
    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        self.module.probe(out);
    }
}

/// Whole microseconds of a round-trip time.
fn microseconds(rtt: Span) -> u64 {
    rtt.ps() / 1_000_000
}

/// A round-trip time in jiffies of a millisecond, rounded up.
fn jiffies_up(rtt: Span) -> u64 {
    microseconds(rtt).div_ceil(1000)
}

/// A clock of 1,000 jiffies a second.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    opened: Time,
}

impl Clock {
    /// Jiffies since the connection opened.
    fn jiffies(self, now: Time) -> u64 {
        now.since(self.opened).ps() / 1_000_000_000
    }
}

/// Vegas's samples of a round trip, in microseconds plus one, so that none is zero.
#[derive(Clone, Copy, Debug)]
struct Delays {
    /// The smallest of the connection.
    base: u64,
    /// The smallest of the round.
    least: u64,
    /// Samples of the round.
    count: u32,
}

impl Delays {
    const NONE: u64 = 0x7fff_ffff;
    /// Samples without which a round decides nothing: one of them was not from a delayed ACK.
    const ENOUGH: u32 = 3;

    fn new() -> Delays {
        Delays { base: Delays::NONE, least: Delays::NONE, count: 0 }
    }

    fn take(&mut self, rtt: Span) {
        let rtt = microseconds(rtt) + 1;
        self.base = self.base.min(rtt);
        self.least = self.least.min(rtt);
        self.count += 1;
    }

    /// A new round.
    fn clear(&mut self) {
        (self.least, self.count) = (Delays::NONE, 0);
    }
}
