//! A sender whose receiver is played by a test.

use crate::blocks::{AckOptions, Block};
use crate::connection::Setup;
use crate::context::FlowTimer;
use crate::options::Options;
use crate::recording::RecordingContext;
use crate::sender::Sender;
use cc::{AnyController, Controller, FlowInfo};
use net::{Packet, PacketKind};
use std::sync::Arc;
use units::{Span, Time};

/// A time in milliseconds.
pub(crate) fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_ms(n)
}

/// A SACK block.
pub(crate) fn block(start: u32, end: u32) -> Block {
    Block { start, end }
}

pub(crate) fn sender(options: &Options, controller: &str, segments: Option<u32>) -> Sender {
    let flow = FlowInfo {
        initial_window: if options.syn { 1.0 } else { options.initial_window },
        initial_ssthresh: options.initial_ssthresh,
        max_window: f64::INFINITY,
        arithmetic: options.arithmetic(),
        fine_clock: controller == "vegas",
        abe: options.abe,
        packet: options.packet,
        seed: 1,
        hops: 0,
    };
    let controller = AnyController::with_defaults(controller, &flow).unwrap();
    let setup = Setup { flow: 0, route: 0, segments, clock_phase: Span::ZERO, quick_start_path: false };
    Sender::new(setup, Arc::new(options.clone()), controller)
}

/// A sender with a recording context.
pub(crate) struct Driver {
    pub sender: Sender,
    pub context: RecordingContext,
}

impl Driver {
    /// A sender with window `cwnd` (and threshold), without a handshake and limited transmit, that has sent segments 0 to
    /// cwnd - 1 at time zero.
    pub fn new(options: Options, cwnd: f64) -> Driver {
        let options = Options { initial_ssthresh: cwnd, limited_transmit: false, ..options };
        Driver::with(options, "reno", cwnd, None)
    }

    /// A sender of `segments` segments with window `cwnd`, without a handshake, that has started at time zero.
    pub fn with(options: Options, controller: &str, cwnd: f64, segments: Option<u32>) -> Driver {
        let options =
            Options { syn: false, delay_growth: false, initial_window: cwnd, window: 1000, ..options };
        Driver::start(sender(&options, controller, segments))
    }

    /// Starts a sender at time zero.
    pub fn start(sender: Sender) -> Driver {
        let mut driver = Driver { sender, context: RecordingContext::default() };
        driver.sender.on_start(&mut driver.context);
        driver
    }

    /// An ACK for everything below `next`, a millisecond later; what is sent in answer.
    pub fn ack(&mut self, next: u32, blocks: &[Block]) -> Vec<u32> {
        let at = self.context.now + Span::from_ms(1);
        self.ack_with(at, Packet::new(PacketKind::Ack, 0, 0, next, 40, at), blocks)
    }

    /// The same at `at` milliseconds.
    pub fn ack_at(&mut self, at: u64, next: u32, blocks: &[Block]) -> Vec<u32> {
        self.ack_with(ms(at), Packet::new(PacketKind::Ack, 0, 0, next, 40, ms(at)), blocks)
    }

    /// The ACK `packet` at `at`.
    pub fn ack_with(&mut self, at: Time, packet: Packet, blocks: &[Block]) -> Vec<u32> {
        self.context.now = at;
        self.context.sent.clear();
        let mut options = AckOptions::NONE;
        for block in blocks {
            assert!(options.blocks.push(*block));
        }
        self.sender.on_ack(&mut self.context, &packet, &options);
        self.sent()
    }

    /// As [`Driver::ack`], but keeps what was sent before and now.
    pub fn ack_kept(&mut self, next: u32) -> (Vec<(Packet, AckOptions)>, Time) {
        let at = self.context.now + Span::from_ms(1);
        self.context.now = at;
        let packet = Packet::new(PacketKind::Ack, 0, 0, next, 40, at);
        self.sender.on_ack(&mut self.context, &packet, &AckOptions::NONE);
        (self.context.sent.clone(), at)
    }

    /// Lets the first timer expire; the timer, when, and what is sent.
    pub fn fire(&mut self) -> (FlowTimer, Time, Vec<u32>) {
        let (timer, at) = self.context.take_timer().expect("a timer is set");
        self.context.now = at;
        self.context.sent.clear();
        match timer {
            FlowTimer::Retransmit => self.sender.on_retransmit_timer(&mut self.context),
            FlowTimer::Pace => self.sender.on_pace_timer(&mut self.context),
            FlowTimer::Wake => self.sender.on_wake_timer(&mut self.context),
            FlowTimer::AckDelay | FlowTimer::Application => unreachable!("no timer of a sender"),
        }
        (timer, at, self.sent())
    }

    /// The numbers of the segments sent since the last call.
    pub fn sent(&mut self) -> Vec<u32> {
        self.context.sent.drain(..).map(|(packet, _)| packet.seq).collect()
    }

    pub fn cwnd(&self) -> f64 {
        self.sender.controller().cwnd()
    }
    pub fn ssthresh(&self) -> f64 {
        self.sender.controller().ssthresh()
    }
}
