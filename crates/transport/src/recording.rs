//! A context without a network.

use crate::blocks::AckOptions;
use crate::context::{FlowContext, FlowTimer, WindowRow};
use net::Packet;
use units::Time;

/// A context that keeps the packets and timers of a sender or receiver: its owner plays the network and the clock.
#[derive(Clone, Debug, Default)]
pub struct RecordingContext {
    /// The time, which the owner sets.
    pub now: Time,
    /// What was sent, in order; [`Packet::sent`] has the time.
    pub sent: Vec<(Packet, AckOptions)>,
    timers: [Option<Time>; FlowTimer::COUNT as usize],
}

impl RecordingContext {
    /// The timer that expires first, and when. Of several at one time it is the one with the smallest number.
    pub fn first_timer(&self) -> Option<(FlowTimer, Time)> {
        let set = self.timers.iter().zip(0..).filter_map(|(at, number)| Some((number, (*at)?)));
        set.min_by_key(|(_, at)| *at).map(|(number, at)| (FlowTimer::from_number(number), at))
    }

    /// When a timer expires; `Time::NEVER` if it is not set.
    pub fn timer_of(&self, timer: FlowTimer) -> Time {
        self.timers[timer as usize].unwrap_or(Time::NEVER)
    }

    /// Stops the timer that expires first and returns it.
    pub fn take_timer(&mut self) -> Option<(FlowTimer, Time)> {
        let first = self.first_timer()?;
        self.timers[first.0 as usize] = None;
        Some(first)
    }
}

impl FlowContext for RecordingContext {
    const WINDOWS: bool = true;
    const SENDS: bool = true;
    fn now(&self) -> Time {
        self.now
    }
    fn send(&mut self, packet: Packet, options: &AckOptions) {
        self.sent.push((packet, *options));
    }
    fn set_timer(&mut self, timer: FlowTimer, at: Time) {
        self.timers[timer as usize] = (at != Time::NEVER).then_some(at);
    }
    fn timer(&self, timer: FlowTimer) -> Time {
        self.timer_of(timer)
    }
    fn window(&mut self, row: &WindowRow) {
        debug_assert!(row.cwnd >= 1.0, "a window of {}", row.cwnd);
    }
    fn sending(&mut self, in_flight: u32, window: u32) {
        debug_assert!(in_flight <= window, "{in_flight} in flight with a window of {window}");
    }
}
