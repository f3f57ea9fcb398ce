//! What a state machine of this crate may ask for.

use crate::blocks::Blocks;
use crate::sender::{Sender, Trigger};
use net::Packet;
use units::{Span, Time};

/// The timers of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Timer {
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

impl Timer {
    /// How many there are for each flow.
    pub const COUNT: u32 = 5;
    /// The timer of number `n`, which is below [`Timer::COUNT`].
    pub fn from_number(n: u32) -> Timer {
        match n {
            0 => Timer::Retransmit,
            1 => Timer::AckDelay,
            2 => Timer::Application,
            3 => Timer::Pace,
            _ => Timer::Wake,
        }
    }
}

/// A change of a sender's window, or an ACK, for the trace.
pub struct WindowRow<'a> {
    /// The sender, after the event.
    pub sender: &'a Sender,
    /// What happened.
    pub trigger: Trigger,
    /// The round-trip sample given to the controller.
    pub rtt: Option<Span>,
    /// Whether window or threshold moved.
    pub changed: bool,
}

/// The world as seen from a sender or receiver.
pub trait Wire {
    /// Whether [`Wire::window`] wants to be called.
    const WINDOWS: bool;
    /// Whether [`Wire::sending`] wants to be called.
    const SENDS: bool;
    /// The time.
    fn now(&self) -> Time;
    /// Sends a packet; with it the SACK blocks of an ACK.
    fn send(&mut self, packet: Packet, blocks: &Blocks);
    /// Sets a timer of this flow, `Time::NEVER` to stop it.
    fn set_timer(&mut self, timer: Timer, at: Time);
    /// When a timer of this flow is due, `Time::NEVER` if it is not set.
    fn timer(&self, timer: Timer) -> Time;
    /// A row for the trace.
    fn window(&mut self, row: &WindowRow);
    /// New data is about to be sent: segments in flight with it, and the window that allows it.
    fn sending(&mut self, in_flight: u32, window: u32);
}
