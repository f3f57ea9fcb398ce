//! The endpoints of flows, the owners of timers, and the context of a flow's state machines.

use super::recorder::Recorder;
use crate::scenario::QuicFlow;
use engine::EventQueue;
use net::{Network, Packet};
use std::sync::Arc;
use transport::{AckOptionPool, AckOptions, FlowContext, FlowTimer, ReceiverStats, WindowRow};
use units::{Span, Time};

/// The endpoints of a flow, with their index in the list of their kind.
#[derive(Clone, Copy, Debug)]
pub(super) enum Endpoints {
    /// A TCP sender and its receiver. TCP flows have the first numbers, so the index is that of the flow.
    Tcp(usize),
    /// Two endpoints of QUIC. QUIC flows have the numbers after those of TCP flows.
    Quic(usize),
    /// A UDP source and the counters of its sink.
    Udp(usize),
    /// Ends outside the simulation.
    Attached(usize),
}

impl Endpoints {
    /// The index in the list of their kind.
    pub fn index(self) -> usize {
        match self {
            Endpoints::Tcp(index)
            | Endpoints::Quic(index)
            | Endpoints::Udp(index)
            | Endpoints::Attached(index) => index,
        }
    }
}

/// The owner of a timer that belongs to no flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerOwner {
    /// Satellites: the next change of a path or of a hand-off state.
    Satellites,
    /// The radio channel.
    Radio,
    /// The end of the warm-up.
    Warmup,
}

/// Start and stop of a flow, and the payload of its last segment.
#[derive(Clone)]
pub(super) struct FlowSchedule {
    pub start: Time,
    pub stop: Time,
    pub started: bool,
    /// Number of segments of the whole transfer; `None` for a flow without end.
    pub segments: Option<u32>,
    /// The writes of the application that are to come, the last one first: time and bytes; `None`: all data is there at the
    /// start.
    pub writes: Option<Vec<(Time, u64)>>,
    /// Bytes of the last segment of the transfer that are not the application's.
    pub short: u32,
    /// `bytes` of the flow; `u64::MAX` without.
    pub bytes: u64,
}

impl FlowSchedule {
    /// Removes the next write of the application if its time has come: bytes, and whether it is the last.
    pub fn due_write(&mut self, now: Time) -> Option<(u64, bool)> {
        let writes = self.writes.as_mut()?;
        let &(at, amount) = writes.last()?;
        if at > now {
            return None;
        }
        writes.pop();
        Some((amount, writes.is_empty()))
    }

    /// Sets the application timer of the flow, number `flow`, to the next write or to the stop.
    pub fn set_timer(&self, event_queue: &mut EventQueue<Packet>, flow: u32) {
        let write = self.writes.as_ref().and_then(|writes| writes.last());
        let next = write.map_or(self.stop, |(at, _)| self.stop.min(*at));
        if next != Time::NEVER {
            event_queue.set_timer(flow * FlowTimer::COUNT + FlowTimer::Application as u32, next);
        }
    }
}

/// What is known of the path of a flow, if it is a single one over links.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathFacts {
    /// The delay of a full packet if it is empty.
    pub empty: Option<Span>,
    /// Number of its links; zero if it is not known.
    pub links: u32,
    /// The ideal time of the flow's transfer; zero if it has none, or if the path changes.
    pub ideal: Span,
}

/// What a QUIC flow consists of.
#[cfg_attr(not(feature = "quic"), expect(dead_code, reason = "no scenario has a QUIC flow"))]
pub(super) struct QuicSetup {
    pub flow: u32,
    pub options: Arc<QuicFlow>,
    /// Routes from the sender and from the receiver.
    pub routes: [u32; 2],
    /// What it has to send, bytes; `None` for a flow without end.
    pub bytes: Option<u64>,
    /// Whether the application writes in portions.
    pub written: bool,
    /// How many streams its application may have open at a time; `None` without an application.
    pub streams: Option<u32>,
    /// The title of its qlogs, if they are recorded.
    pub qlog: Option<String>,
    /// Counters of the receiver.
    pub counters: ReceiverStats,
}

/// The context of one flow's state machines.
pub(super) struct SimulationContext<'a, const WINDOWS: bool, const PACKETS: bool> {
    pub event_queue: &'a mut EventQueue<Packet>,
    pub network: &'a mut Network,
    pub recorder: &'a mut Recorder<WINDOWS, PACKETS>,
    pub ack_options: &'a mut AckOptionPool,
    pub flow: u32,
    /// The time of the current event of the flow.
    pub now: Time,
}

impl<const WINDOWS: bool, const PACKETS: bool> FlowContext for SimulationContext<'_, WINDOWS, PACKETS> {
    const WINDOWS: bool = WINDOWS;
    const SENDS: bool = PACKETS;

    #[inline]
    fn now(&self) -> Time {
        self.now
    }
    #[inline]
    fn send(&mut self, mut packet: Packet, options: &AckOptions) {
        if !options.is_empty() {
            while let Some(dropped) = self.network.links.payload_changes.dropped_options.pop() {
                self.ack_options.take(dropped);
            }
            packet.options = self.ack_options.put(options);
        }
        if PACKETS {
            self.recorder.sends(&mut packet, options);
        }
        if !self.network.send(self.event_queue, self.recorder, self.now, &packet) && packet.has_options() {
            self.ack_options.take(packet.options);
        }
    }
    #[inline]
    fn set_timer(&mut self, timer: FlowTimer, at: Time) {
        self.event_queue.set_timer(self.flow * FlowTimer::COUNT + timer as u32, at);
    }
    #[inline]
    fn timer(&self, timer: FlowTimer) -> Time {
        self.event_queue.timer(self.flow * FlowTimer::COUNT + timer as u32)
    }
    fn local_room(&mut self, limit: u64) -> Option<Time> {
        self.network.links.local.room_at(self.flow, limit, self.now)
    }
    #[inline]
    fn window(&mut self, row: &WindowRow) {
        self.recorder.window(self.now, row);
    }
    #[inline]
    fn sending(&mut self, in_flight: u32, window: u32) {
        self.recorder.sending(self.now, self.flow, in_flight, window);
    }
}

/// Builds the context of flow `$flow` from the parts of the simulation that the state machines use.
macro_rules! flow_context {
    ($simulation:ident, $flow:expr) => {
        flow_context!($simulation, $flow, $simulation.event_queue.now())
    };
    ($simulation:ident, $flow:expr, $now:expr) => {
        SimulationContext {
            now: $now,
            event_queue: &mut $simulation.event_queue,
            network: &mut $simulation.network,
            recorder: &mut $simulation.recorder,
            ack_options: &mut $simulation.ack_options,
            flow: $flow,
        }
    };
}
pub(super) use flow_context;
