//! A sender and a receiver over a small lossy path, for tests: one bottleneck with drop-tail queue, random losses, marks
//! and delays from a fixed generator.
#![allow(dead_code)] // each test uses a part of it

use ackclock_transport::{AckOptions, FlowTimer, Options, Receiver, RecordingContext, Sender, Setup};
use cc::{AnyController, FlowInfo};
use net::{Ecn, Packet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use units::{Span, Time};

/// What the path does, in per mille of the packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    /// Data packets lost.
    pub loss: u64,
    /// Data packets marked.
    pub mark: u64,
    /// Data packets delayed by 7 ms more.
    pub late: u64,
    /// ACKs lost.
    pub ack_loss: u64,
    /// No packet arrives from 400 to 1100 ms.
    pub outage: bool,
    /// Packets that wait at the bottleneck.
    pub queue: u64,
    /// Marks come in runs of so many packets, one of which `mark` begins; 0 for single ones.
    pub mark_run: u64,
    /// Data packets arrive at multiples of this, all of one multiple at once; zero for each at its time.
    pub slot: Span,
}

/// FNV-1a of 64 bits over numbers.
#[derive(Clone, Copy)]
pub struct Digest(u64);

impl Digest {
    fn add(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// The exchange between a sender and a receiver.
pub struct Exchange {
    pub sender: Sender,
    pub receiver: Receiver,
    host: RecordingContext,
    peer: RecordingContext,
    path: Path,
    random: u64,
    /// Packets of the present run of marks.
    marks_left: u64,
    free_at: Time,
    waiting: Vec<Time>,
    flying: BinaryHeap<Reverse<(Time, u64, bool)>>,
    packets: Vec<(Packet, AckOptions)>,
    /// Everything that both sent, and the sender's state after each event.
    pub digest: Digest,
}

const SERVICE: Span = Span::from_ms(1);
const DELAY: Span = Span::from_ms(19);
const OUTAGE: (Span, Span) = (Span::from_ms(400), Span::from_ms(1100));

impl Exchange {
    pub fn new(
        options: &Options,
        controller: &str,
        segments: Option<u32>,
        path: Path,
        seed: u64,
    ) -> Exchange {
        let vegas = controller == "vegas";
        let flow = FlowInfo {
            initial_window: if options.syn { 1.0 } else { options.initial_window },
            initial_ssthresh: options.initial_ssthresh,
            max_window: f64::INFINITY,
            arithmetic: options.arithmetic(),
            fine_clock: vegas,
            abe: options.abe,
            packet: options.packet,
            seed: 1,
            hops: 0,
        };
        let controller = AnyController::with_defaults(controller, &flow).unwrap();
        let options = Arc::new(options.clone());
        let setup =
            Setup { flow: 0, route: 0, segments, clock_phase: Span::from_ms(3), quick_start_path: false };
        Exchange {
            sender: Sender::new(setup, options.clone(), controller),
            receiver: Receiver::new(0, 1, options),
            host: RecordingContext::default(),
            peer: RecordingContext::default(),
            path,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            marks_left: 0,
            free_at: Time::ZERO,
            waiting: Vec::new(),
            flying: BinaryHeap::new(),
            packets: Vec::new(),
            digest: Digest(0xcbf2_9ce4_8422_2325),
        }
    }

    /// True for `per_mille` of the calls.
    fn chance(&mut self, per_mille: u64) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % 1000 < per_mille
    }

    fn fly(&mut self, at: Time, packet: (Packet, AckOptions), data: bool) {
        self.packets.push(packet);
        self.flying.push(Reverse((at, self.packets.len() as u64 - 1, data)));
    }

    /// Gives what both ends sent to the path.
    fn carry(&mut self, now: Time) {
        for (mut packet, options) in std::mem::take(&mut self.host.sent) {
            self.digest.add(now.ps() ^ (packet.seq as u64) << 40 ^ (packet.cwr as u64) << 63);
            self.waiting.retain(|start| *start > now);
            let out = self.path.outage && (OUTAGE.0..OUTAGE.1).contains(&now.since(Time::ZERO));
            let lost = self.chance(self.path.loss) || out;
            if lost || self.waiting.len() as u64 >= self.path.queue {
                continue;
            }
            let start = now.max(self.free_at);
            if start > now {
                self.waiting.push(start);
            }
            self.free_at = start + SERVICE;
            if packet.ecn.capable() {
                if self.marks_left > 0 {
                    self.marks_left -= 1;
                    packet.ecn = Ecn::Ce;
                } else if self.chance(self.path.mark) {
                    self.marks_left = self.path.mark_run.saturating_sub(1);
                    packet.ecn = Ecn::Ce;
                }
            }
            let late = if self.chance(self.path.late) { Span::from_ms(7) } else { Span::ZERO };
            let at = self.free_at + DELAY + late;
            let early = at.ps().checked_rem(self.path.slot.ps()).unwrap_or(0);
            let wait = if early > 0 { self.path.slot.ps() - early } else { 0 };
            self.fly(at + Span::from_ps(wait), (packet, options), true);
        }
        for (packet, options) in std::mem::take(&mut self.peer.sent) {
            self.digest.add(now.ps() ^ (packet.seq as u64) << 40 ^ (packet.ece.is_ece() as u64) << 62);
            self.digest.add(packet.size as u64);
            for block in options.blocks.as_slice() {
                self.digest.add((block.start as u64) << 32 | block.end as u64);
            }
            if !self.chance(self.path.ack_loss) {
                self.fly(now + DELAY, (packet, options), false);
            }
        }
    }

    /// Runs until `until`. The sender starts at time zero.
    pub fn run(&mut self, until: Time) {
        self.sender.on_start(&mut self.host);
        self.carry(Time::ZERO);
        while let Some(now) = self.next().filter(|now| *now < until) {
            (self.host.now, self.peer.now) = (now, now);
            self.event(now);
            self.carry(now);
            self.check();
        }
    }

    fn next(&self) -> Option<Time> {
        let flying = self.flying.peek().map(|Reverse((at, ..))| *at);
        let timers = [self.host.first_timer(), self.peer.first_timer()].into_iter().flatten();
        flying.into_iter().chain(timers.map(|(_, at)| at)).min()
    }

    fn event(&mut self, now: Time) {
        if let Some(Reverse((at, number, data))) = self.flying.peek().copied()
            && at == now
        {
            self.flying.pop();
            let (packet, options) = self.packets[number as usize];
            match data {
                true => self.receiver.on_data(&mut self.peer, &packet),
                false => self.sender.on_ack(&mut self.host, &packet, &options),
            }
            return;
        }
        let due = |context: &RecordingContext| {
            context.first_timer().filter(|(_, at)| *at == now).map(|t| t.0 as u8)
        };
        // Of timers at one time the one with the smallest number comes first.
        let (of_host, of_peer) = (due(&self.host), due(&self.peer));
        if of_host.is_some_and(|timer| of_peer.is_none_or(|other| timer <= other)) {
            match self.host.take_timer() {
                Some((FlowTimer::Retransmit, _)) => self.sender.on_retransmit_timer(&mut self.host),
                Some((FlowTimer::Pace, _)) => self.sender.on_pace_timer(&mut self.host),
                _ => self.sender.on_wake_timer(&mut self.host),
            }
        } else if of_peer.is_some() {
            self.peer.take_timer();
            self.receiver.on_ack_delay(&mut self.peer);
        }
    }

    /// The sender's state belongs to the digest; counts of the scoreboard must be consistent.
    fn check(&mut self) {
        use cc::Controller;
        let controller = self.sender.controller();
        let (cwnd, ssthresh) = (controller.cwnd(), controller.ssthresh());
        for number in
            [cwnd.to_bits(), ssthresh.to_bits(), self.sender.in_flight() as u64, self.sender.phase() as u64]
        {
            self.digest.add(number);
        }
        self.digest.add(self.sender.rto().ps());
        self.digest.add(self.sender.smoothed_rtt().map_or(0, Span::ps));
        if let Some(counts) = self.sender.snapshot() {
            assert!(counts.sacked_out + counts.lost_out <= counts.packets_out, "{counts:?}");
            assert!(counts.retrans_out <= counts.packets_out, "{counts:?}");
            for number in [counts.sacked_out, counts.lost_out, counts.retrans_out, counts.reordering] {
                self.digest.add(number as u64);
            }
        }
    }

    /// Counters and digest in one line.
    pub fn summary(&self) -> String {
        let stats = self.sender.stats();
        format!(
            "sent {} again {} timeouts {} reductions {} acked {} {:016x}",
            stats.sent,
            stats.retransmitted,
            stats.timeouts,
            stats.cwnd_reductions,
            self.sender.acked_segments(),
            self.digest.0
        )
    }
}

impl Exchange {
    /// Writes numbers of segments at times (milliseconds); returns the window right after the last write.
    pub fn write_and_wait(&mut self, writes: &[(u64, u32)]) -> f64 {
        use cc::Controller;
        let mut cwnd = 0.0;
        for (number, (ms, segments)) in writes.iter().enumerate() {
            let at = Time::ZERO + Span::from_ms(*ms);
            if number == 0 {
                self.sender.on_start(&mut self.host);
            }
            while let Some(now) = self.next().filter(|now| *now < at) {
                (self.host.now, self.peer.now) = (now, now);
                self.event(now);
                self.carry(now);
            }
            (self.host.now, self.peer.now) = (at, at);
            self.sender.on_write(&mut self.host, *segments, false);
            cwnd = self.sender.controller().cwnd();
            self.carry(at);
        }
        cwnd
    }
}

/// What a run with marks has counted.
#[derive(Clone, Copy, Debug)]
pub struct MarkCounts {
    /// Marked data packets among those that arrived, and all of them.
    pub marked: u64,
    pub arrived: u64,
    /// Marked packets that the sender has counted.
    pub counted: u64,
    /// The mean over time of the first internal value of the controller, from the fifth second on.
    pub alpha: f64,
}

impl Exchange {
    /// Runs until `until` and counts marks. The sender starts at time zero.
    pub fn run_with_marks(&mut self, until: Time) -> MarkCounts {
        use cc::Controller;
        self.sender.on_start(&mut self.host);
        self.carry(Time::ZERO);
        let (mut integral, since) = (0.0, Time::ZERO + Span::from_ms(5000));
        let mut before = Time::ZERO;
        while let Some(now) = self.next().filter(|now| *now < until) {
            let mut alpha = [0.0; 16];
            self.sender.controller().probe(&mut alpha);
            integral += now.since(before.max(since).min(now)).seconds() * alpha[0];
            before = now;
            (self.host.now, self.peer.now) = (now, now);
            self.event(now);
            self.carry(now);
        }
        let data = || self.packets.iter().filter(|(packet, _)| packet.kind == net::PacketKind::Data);
        MarkCounts {
            marked: data().filter(|(packet, _)| packet.ecn == Ecn::Ce).count() as u64,
            arrived: data().count() as u64,
            counted: self.sender.snapshot().map_or(0, |counts| counts.delivered_ce),
            alpha: integral / before.since(since).seconds(),
        }
    }
}

impl Exchange {
    /// Whether a data packet that arrived carried CWR.
    pub fn sent_cwr(&self) -> bool {
        self.packets.iter().any(|(packet, _)| packet.cwr)
    }
}
