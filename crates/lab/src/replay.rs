//! A TCP sender without a network: its caller plays the receiver and the clock, and sees what the sender transmits.
//!
//! `ackclock replay` compares the sender with recordings of a kernel in this way, as packetdrill does with a kernel.

use crate::error::ScenarioError;
use crate::scenario::{FlowKind, Scenario};
use cc::Controller;
use net::{Packet, PacketKind};
use std::sync::Arc;
use transport::{AckOptions, Block, FlowTimer, RecordingContext, Sender, Setup, Snapshot};
use units::{Span, Time};

const US: u64 = 1_000_000; // ps

/// A packet that the sender transmitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transmitted {
    /// When, microseconds.
    pub at_us: f64,
    /// Number of the segment; with a handshake, 0 is the SYN.
    pub seq: u32,
    /// It carries CWR.
    pub cwr: bool,
}

/// An ACK of a script; numbers of segments, times in microseconds.
#[derive(Clone, Debug, Default)]
pub struct ScriptedAck {
    /// The next segment expected.
    pub ack: u32,
    /// SACK blocks: first segment, one past the last.
    pub blocks: Vec<(u32, u32)>,
    /// It carries an ECN echo.
    pub ece: bool,
    /// The timestamp echo.
    pub echo_us: f64,
    /// The receiver's window, segments.
    pub window: Option<u32>,
}

/// A TCP sender whose receiver and clock are played by the caller. Times must not decrease.
#[derive(Debug)]
pub struct ScriptedSender {
    sender: Sender,
    wire: RecordingContext,
}

impl ScriptedSender {
    /// The sender of the first flow of the scenario in `text`. Fails if the scenario is not valid or the flow is not TCP.
    pub fn new(text: &str) -> Result<ScriptedSender, ScenarioError> {
        let scenario = Scenario::parse("replay", text, &[])?;
        let Some(FlowKind::Tcp(tcp)) = scenario.flows.first().map(|flow| &flow.kind) else {
            unreachable!("the caller writes a scenario with a TCP flow");
        };
        let controller = tcp.control.make(&tcp.flow_info(1, 0));
        let setup =
            Setup { flow: 0, route: 0, segments: None, clock_phase: Span::ZERO, quick_start_path: false };
        let mut sender = Sender::new(setup, Arc::new(tcp.options.clone()), controller);
        sender.write_in_portions();
        Ok(ScriptedSender { sender, wire: RecordingContext::default() })
    }

    fn at(&mut self, at_us: f64) {
        self.wire.now = self.wire.now.max(time(at_us));
    }

    /// The connection starts: the SYN is sent.
    pub fn start(&mut self, at_us: f64) {
        self.at(at_us);
        self.sender.on_start(&mut self.wire);
    }

    /// The application writes `segments` segments.
    pub fn write(&mut self, at_us: f64, segments: u32) {
        self.at(at_us);
        self.sender.on_write(&mut self.wire, segments, false);
    }

    /// An ACK arrives.
    pub fn ack(&mut self, at_us: f64, ack: &ScriptedAck) {
        self.at(at_us);
        if let Some(window) = ack.window {
            self.sender.set_receive_window(window);
        }
        let packet = Packet::new(PacketKind::Ack, 0, 0, ack.ack, 40, self.wire.now);
        let packet = Packet { ece: ack.ece, echo: time(ack.echo_us), ..packet };
        let mut options = AckOptions::NONE;
        for (start, end) in &ack.blocks {
            options.blocks.push(Block { start: *start, end: *end });
        }
        self.sender.on_ack(&mut self.wire, &packet, &options);
    }

    /// The earliest timer, microseconds.
    pub fn timer_us(&self) -> Option<f64> {
        self.wire.first_timer().map(|(_, at)| us(at))
    }

    /// The earliest timer expires at `at_us`, which may be later than its time.
    pub fn fire(&mut self, at_us: f64) {
        let Some((timer, _)) = self.wire.take_timer() else { return };
        self.at(at_us);
        match timer {
            FlowTimer::Retransmit => self.sender.on_retransmit_timer(&mut self.wire),
            FlowTimer::Pace => self.sender.on_pace_timer(&mut self.wire),
            FlowTimer::Wake => self.sender.on_wake_timer(&mut self.wire),
            FlowTimer::AckDelay | FlowTimer::Application => {}
        }
    }

    /// What was transmitted since the last call.
    pub fn transmitted(&mut self) -> Vec<Transmitted> {
        let sent = self.wire.sent.drain(..);
        sent.map(|(packet, _)| Transmitted { at_us: us(packet.sent), seq: packet.seq, cwr: packet.cwr })
            .collect()
    }

    /// Congestion window and slow-start threshold, segments.
    pub fn windows(&self) -> (f64, f64) {
        (self.sender.controller().cwnd(), self.sender.controller().ssthresh())
    }

    /// The counts of the scoreboard, if the recovery has one.
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.sender.snapshot()
    }

    /// The sender, for its counters.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }
}

fn us(at: Time) -> f64 {
    at.ps() as f64 / US as f64
}

fn time(us: f64) -> Time {
    Time::from_ps((us * US as f64).round().max(0.0) as u64)
}
