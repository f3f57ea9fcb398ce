//! What senders and receivers ask of their surroundings, and what they report.

use crate::blocks::AckOptions;
use cc::{AnyController, Phase};
use net::Packet;
use units::{Span, Time};

/// The timers of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FlowTimer {
    /// Sender: retransmission.
    Retransmit,
    /// Receiver: a delayed ACK is due.
    AckDelay,
    /// Source: start, stop, or the next UDP packet.
    Application,
    /// Sender: the next packet may leave.
    Pace,
    /// Sender: the controller asked to be woken.
    Wake,
}

impl FlowTimer {
    /// How many there are for each flow.
    pub const COUNT: u32 = 5;
    /// The timer of number `n`, which is below [`FlowTimer::COUNT`].
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

/// What caused a row of the trace.
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
    /// An end of the flow comes under hand-off, or it is over.
    Handoff,
}

impl Trigger {
    /// Every trigger, in the order of their numbers.
    pub const ALL: [Trigger; 6] =
        [Trigger::Start, Trigger::Ack, Trigger::DupAck, Trigger::Rto, Trigger::FlowTimer, Trigger::Handoff];
    /// Its name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Trigger::Start => "start",
            Trigger::Ack => "ack",
            Trigger::DupAck => "dupack",
            Trigger::Rto => "rto",
            Trigger::FlowTimer => "timer",
            Trigger::Handoff => "handoff",
        }
    }
}

/// A change of a sender's window, or an ACK, for the trace: the state of the sender after the event.
#[derive(Clone, Copy, Debug)]
pub struct WindowRow<'a> {
    /// The flow.
    pub flow: u32,
    /// What happened.
    pub trigger: Trigger,
    /// The round-trip sample given to the controller.
    pub rtt: Option<Span>,
    /// Whether window or threshold moved.
    pub changed: bool,
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
    /// Whether either end is under hand-off.
    pub under_handoff: bool,
    /// The controller, for its internals.
    pub controller: &'a AnyController,
}

/// The simulation as seen from a sender or receiver.
pub trait FlowContext {
    /// Whether [`FlowContext::window`] wants to be called.
    const WINDOWS: bool;
    /// Whether [`FlowContext::sending`] wants to be called.
    const SENDS: bool;
    /// The time.
    fn now(&self) -> Time;
    /// Sends a packet; with it the options of an ACK.
    fn send(&mut self, packet: Packet, options: &AckOptions);
    /// Sets a timer of this flow, `Time::NEVER` to stop it.
    fn set_timer(&mut self, timer: FlowTimer, at: Time);
    /// When a timer of this flow is due, `Time::NEVER` if it is not set.
    fn timer(&self, timer: FlowTimer) -> Time;
    /// A row for the trace.
    fn window(&mut self, row: &WindowRow);
    /// New data is about to be sent: segments in flight with it, and the window that allows it.
    fn sending(&mut self, in_flight: u32, window: u32);
}
