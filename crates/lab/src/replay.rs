//! A TCP sender or receiver without a network: its caller plays the other end and the clock, and sees what it transmits.
//!
//! `ackclock replay` compares them with recordings of a kernel in this way, as packetdrill does with a kernel.

use crate::error::ScenarioError;
use crate::scenario::{FlowKind, Scenario, TcpFlow};
use cc::Controller;
use net::{Ecn, EcnEcho, Packet, PacketKind};
use std::sync::Arc;
use transport::{AckOptions, Block, FlowTimer, Receiver, RecordingContext, Sender, Setup, Snapshot};
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
#[derive(Clone, Debug, Default, PartialEq)]
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
        let tcp = first_flow(&scenario);
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
        let packet = Packet { ece: EcnEcho::from_flag(ack.ece), echo: time(ack.echo_us), ..packet };
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

/// A segment of data that arrives at a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScriptedData {
    /// Number of the segment; 0 is the SYN.
    pub seq: u32,
    /// When it was sent, microseconds.
    pub sent_us: f64,
    /// It is ECN-capable.
    pub capable: bool,
    /// It is marked.
    pub marked: bool,
    /// It carries CWR.
    pub cwr: bool,
}

/// A TCP receiver whose sender and clock are played by the caller. Times must not decrease.
#[derive(Debug)]
pub struct ScriptedReceiver {
    receiver: Receiver,
    wire: RecordingContext,
}

impl ScriptedReceiver {
    /// The receiver of the first flow of the scenario in `text`. Fails if the scenario is not valid.
    pub fn new(text: &str) -> Result<ScriptedReceiver, ScenarioError> {
        let scenario = Scenario::parse("replay", text, &[])?;
        let receiver = Receiver::new(0, 0, Arc::new(first_flow(&scenario).options.clone()));
        Ok(ScriptedReceiver { receiver, wire: RecordingContext::default() })
    }

    /// A segment arrives.
    pub fn data(&mut self, at_us: f64, data: &ScriptedData) {
        self.wire.now = self.wire.now.max(time(at_us));
        let packet = Packet::new(PacketKind::Data, 0, 0, data.seq, 1500, time(data.sent_us));
        let ecn = match data {
            ScriptedData { marked: true, .. } => Ecn::Ce,
            ScriptedData { capable: true, .. } => Ecn::Ect0,
            _ => Ecn::NotEct,
        };
        self.receiver.on_data(&mut self.wire, &Packet { ecn, cwr: data.cwr, ..packet });
    }

    /// The timer of delayed ACKs, microseconds.
    pub fn timer_us(&self) -> Option<f64> {
        self.wire.first_timer().map(|(_, at)| us(at))
    }

    /// This timer expires at `at_us`, which may be later than its time.
    pub fn fire(&mut self, at_us: f64) {
        if self.wire.take_timer().is_some() {
            self.wire.now = self.wire.now.max(time(at_us));
            self.receiver.on_ack_delay(&mut self.wire);
        }
    }

    /// The ACKs since the last call.
    pub fn acks(&mut self) -> Vec<ScriptedAck> {
        let acks = self.wire.sent.drain(..).map(|(ack, options)| ScriptedAck {
            ack: ack.seq,
            blocks: options.blocks.as_slice().iter().map(|block| (block.start, block.end)).collect(),
            ece: ack.ece.is_ece(),
            echo_us: us(ack.echo),
            window: None,
        });
        acks.collect()
    }
}

fn first_flow(scenario: &Scenario) -> &TcpFlow {
    match scenario.flows.first().map(|flow| &flow.kind) {
        Some(FlowKind::Tcp(tcp)) => tcp,
        _ => unreachable!("the caller writes a scenario with a TCP flow"),
    }
}

fn us(at: Time) -> f64 {
    at.ps() as f64 / US as f64
}

fn time(us: f64) -> Time {
    Time::from_ps((us * US as f64).round().max(0.0) as u64)
}
