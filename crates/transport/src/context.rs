//! The interface between the simulation and the senders and receivers.

use crate::blocks::AckOptions;
use crate::change::WindowCause;
use cc::{AnyController, Phase};
use net::Packet;
use units::{Span, Time};

/// The timers of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FlowTimer {
    /// Sender: retransmission.
    Retransmit,
    /// Receiver: the delayed ACK timer.
    AckDelay,
    /// Source: start, stop, or the next UDP packet.
    Application,
    /// Sender: the pacing timer.
    Pace,
    /// Sender: the controller's timer (`Controller::wake_at`).
    Wake,
}

impl FlowTimer {
    /// How many there are for each flow.
    pub const COUNT: u32 = 5;
    /// The timer with number `n`, which must be below [`FlowTimer::COUNT`].
    pub fn from_number(n: u32) -> FlowTimer {
        match n {
            0 => FlowTimer::Retransmit,
            1 => FlowTimer::AckDelay,
            2 => FlowTimer::Application,
            3 => FlowTimer::Pace,
            _ => FlowTimer::Wake,
        }
    }
}

/// The event that caused a row of the window trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The flow started.
    Start,
    /// A new acknowledgement.
    Ack,
    /// A duplicate acknowledgement.
    DupAck,
    /// A retransmission timeout.
    Rto,
    /// The controller's own timer.
    FlowTimer,
    /// A hand-off of an end of the flow begins or ends.
    Handoff,
    /// A change of the scenario.
    Change,
    /// The timer of RACK's reordering window, or of a tail loss probe.
    LossTimer,
}

impl Trigger {
    /// All triggers, in the order of their numbers.
    pub const ALL: [Trigger; 8] = [
        Trigger::Start,
        Trigger::Ack,
        Trigger::DupAck,
        Trigger::Rto,
        Trigger::FlowTimer,
        Trigger::Handoff,
        Trigger::Change,
        Trigger::LossTimer,
    ];
    /// Its name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Trigger::Start => "start",
            Trigger::Ack => "ack",
            Trigger::DupAck => "dupack",
            Trigger::Rto => "rto",
            Trigger::FlowTimer => "timer",
            Trigger::Handoff => "handoff",
            Trigger::Change => "change",
            Trigger::LossTimer => "loss_timer",
        }
    }
}

/// A row of the window trace: the state of the sender after an ACK or a change of its window.
#[derive(Clone, Copy, Debug)]
pub struct WindowRow<'a> {
    /// The flow.
    pub flow: u32,
    /// What happened.
    pub trigger: Trigger,
    /// The round-trip sample that the controller received.
    pub rtt: Option<Span>,
    /// Whether the window or the threshold changed.
    pub changed: bool,
    /// Why, if it is a reduction or its undo.
    pub cause: Option<WindowCause>,
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Slow-start threshold, segments.
    pub ssthresh: f64,
    /// Number of the highest segment acknowledged; -1 for none.
    pub highest_ack: i64,
    /// Segments in flight.
    pub in_flight: u32,
    /// The phase of recovery.
    pub phase: Phase,
    /// Whether either end is in a hand-off.
    pub under_handoff: bool,
    /// Whether rate samples of segments sent now count as limited by the application; `None` if nobody counts rates.
    pub app_limited: Option<bool>,
    /// The controller, for its internal values.
    pub controller: &'a AnyController,
}

/// The interface of a sender or receiver to the simulation.
pub trait FlowContext {
    /// Whether the simulation needs the calls of [`FlowContext::window`].
    const WINDOWS: bool;
    /// Whether the simulation needs the calls of [`FlowContext::sending`].
    const SENDS: bool;
    /// The simulated time.
    fn now(&self) -> Time;
    /// Sends a packet. `options` are the options of an ACK.
    fn send(&mut self, packet: Packet, options: &AckOptions);
    /// Sets a timer of this flow; `Time::NEVER` stops it.
    fn set_timer(&mut self, timer: FlowTimer, at: Time);
    /// The deadline of a timer of this flow; `Time::NEVER` if the timer is not set.
    fn timer(&self, timer: FlowTimer) -> Time;
    /// Adds a row to the window trace.
    fn window(&mut self, row: &WindowRow);
    /// When at most `limit` bytes of this flow are in the queue and the device of its host; `None`: now. `Time::NEVER`: the
    /// pacing timer is set when it is known.
    fn local_room(&mut self, _limit: u64) -> Option<Time> {
        None
    }
    /// Called before new data is sent: segments in flight including the new one, and the window.
    fn sending(&mut self, in_flight: u32, window: u32);
}
