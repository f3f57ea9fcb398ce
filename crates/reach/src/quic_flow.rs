//! A QUIC flow over UDP sockets of the loopback device, with a scenario's network between them. Three threads: the sender,
//! the receiver, and the network, each with sockets of its own.

use crate::controller::measures_delay;
use crate::error::{Error, failed};
use crate::live::LiveRun;
use crate::network::{LiveNetwork, RealTimeFacts, longest_sleep};
use crate::udp::Socket;
use crate::wall::{RealTimePriority, WallClock};
use crate::window::{WindowSample, WindowTrace};
use bytes::BytesMut;
use cc::{AnyController, Controller, FlowInfo, Phase};
use lab::{Flow, FlowEnd, FlowKind, QuicFlow, Scenario, Settings};
use net::Ecn;
use quic::{Config, ControllerHandle, ControllerStats, Deadlines, Endpoint};
use rustix::event::poll;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use transport::Options;
use units::{Span, Time, VirtualClock};

/// Largest UDP payload of an IPv4 packet: 65,535 bytes less 28 of headers.
const LARGEST_DATAGRAM: u32 = 65_507;

/// Time between two calls of the caller's check.
const CHECK: Span = Span::from_ms(50);

/// Runs the scenario's first flow over UDP. A TCP flow becomes a QUIC flow with its controller and packets of the same size
/// on the wire. `check` is called some twenty times a second and returns whether to go on. An external controller that fails
/// ends the run.
pub fn run_udp(
    scenario: &Scenario,
    seed: Option<u64>,
    check: &mut dyn FnMut() -> bool,
) -> Result<LiveRun, Error> {
    let (scenario, notes) = converted(scenario)?;
    let facts = RealTimeFacts::of(&scenario)?;
    let flow = &scenario.flows[0];
    let FlowKind::Quic(options) = &flow.kind else { unreachable!("the flow was converted") };
    let (config, controller) = connection(options, seed.unwrap_or(scenario.seed))?;
    if let Some(failure) = controller.failure() {
        return Err(Error::Controller(flow.name.clone(), failure.clone()));
    }
    let (measures_delay, needs) = (measures_delay(&controller), controller.needs());
    let name = controller.name().to_string();
    let mut network = LiveNetwork::build(
        &scenario,
        &facts,
        options.common.header,
        Settings { seed, ..Settings::default() },
    )?;
    let handle = ControllerHandle::new(&config, controller);
    let clock = VirtualClock::new();
    let invalid = |e: quic::ConfigError| Error::Input(format!("the first flow as a QUIC flow: {e}"));
    let sender = Endpoint::sender(&config, clock, handle.clone()).map_err(invalid)?;
    let receiver = Endpoint::receiver(&config, clock).map_err(invalid)?;
    let bind = || Socket::bind().map_err(failed("a UDP socket on 127.0.0.1"));
    let (sockets, mut relays) = ([bind()?, bind()?], [bind()?, bind()?]);
    let address = |socket: &Socket| socket.address().map_err(failed("a UDP socket"));
    let ends = [address(&sockets[0])?, address(&sockets[1])?];
    let near = [address(&relays[0])?, address(&relays[1])?];
    network.start();
    let over = AtomicBool::new(false);
    let shared = Shared { wall: network.clock, since: Time::ZERO + scenario.warmup, over: &over };
    let (sent, received) = std::thread::scope(|scope| {
        let [socket, other] = sockets;
        let handle = &handle;
        let sending = scope.spawn(move || Side::new(sender, socket, near[0], shared).send(flow, handle));
        let receiving = scope.spawn(move || Side::new(receiver, other, near[1], shared).receive());
        let carried = carry(&mut network, &mut relays, ends, &over, check);
        over.store(true, Ordering::Release);
        let lost = |_| Error::Failed("a thread of the connection failed".into());
        let ended = (sending.join().map_err(lost)?, receiving.join().map_err(lost)?);
        carried.map(|()| ended)
    })?;
    if let Some(failure) = handle.lock().controller().failure() {
        return Err(Error::Controller(flow.name.clone(), failure.clone()));
    }
    let packet_time = measures_delay.then_some(facts.packet_time).flatten();
    let mut notes = notes;
    notes.extend(quic::degraded_signals(needs, &config).into_iter().map(|lack| format!("{name} {lack}")));
    notes.push(if config.tls { "session: TLS 1.3".into() } else { "session: without encryption".into() });
    let failures = sent.failures + received.failures;
    network.add_send_failures(failures);
    for (side, mut end) in [sent.socket, received.socket].into_iter().enumerate() {
        let lost = relays[side].lost_from(&end, ends[side]) + end.lost_from(&relays[side], near[side]);
        network.add_lost_outside(lost);
    }
    let validity = network.validity(packet_time, true, notes);
    let mut live = LiveRun::new(network, sent.trace, validity, "udp");
    live.flow(|flow| {
        let late = Counted { stats: *handle.lock().stats(), delivered: received.endpoint.delivered_bytes() };
        let early = Counted { stats: sent.early, delivered: received.early_bytes };
        write(flow, &early, &late, scenario.duration - scenario.warmup);
        flow.control = Some(name);
        flow.connection_error = Some(quic::connection_error(&sent.endpoint, &received.endpoint));
        flow.completion_s =
            sent.endpoint.completed().map(|at| at.since(Time::ZERO + scenario.flows[0].start).seconds());
    });
    Ok(live)
}

/// The scenario with its first flow as a QUIC flow, and what is lost in the conversion.
fn converted(scenario: &Scenario) -> Result<(Scenario, Vec<String>), Error> {
    let refused = |error| Error::Scenario(Box::new(error));
    let mut scenario = scenario.loaded().map_err(refused)?.into_owned();
    let Some(flow) = scenario.flows.first() else {
        return Err(Error::Input(
            "flow: is missing; add a [[flow]] with `from`, `to` and `quic` or `tcp`".into(),
        ));
    };
    match &flow.kind {
        FlowKind::Quic(_) => Ok((scenario, Vec::new())),
        FlowKind::Udp { .. } | FlowKind::Attached(_) => {
            Err(Error::Input("flow[0]: must be a QUIC or a TCP flow; put one first".into()))
        }
        FlowKind::Tcp(_) => {
            let (over, mut notes) = scenario.first_over_quic().map_err(refused)?;
            scenario = over;
            notes.push("the TCP flow runs as QUIC: its recovery and timers are those of QUIC".into());
            Ok((scenario, notes))
        }
    }
}

/// The settings and the controller of a connection.
fn connection(options: &QuicFlow, seed: u64) -> Result<(Config, AnyController), Error> {
    let config = Config { seed, ..options.config.clone() };
    if config.packet > LARGEST_DATAGRAM {
        return Err(Error::Input(format!(
            "flow[0]: max_datagram_size is {} bytes, and an IPv4 packet carries {LARGEST_DATAGRAM}; write at most that",
            config.packet
        )));
    }
    let info = FlowInfo {
        packet: config.packet,
        initial_window: config.initial_window,
        initial_ssthresh: options.common.initial_ssthresh,
        max_window: if options.common.max_cwnd > 0.0 { options.common.max_cwnd } else { f64::INFINITY },
        arithmetic: Options::linux().arithmetic(),
        fine_clock: false,
        abe: options.common.abe,
        seed,
        hops: 0,
    };
    let controller = options.control.make(&info);
    if let Some(missing) = quic::missing_signal(controller.needs(), &config) {
        return Err(Error::Input(format!("{} {missing}", controller.name())));
    }
    Ok((config, controller))
}

/// The network's thread: datagrams from the sockets into the network and back, until its end or that of the run.
fn carry(
    network: &mut LiveNetwork,
    relays: &mut [Socket; 2],
    ends: [SocketAddr; 2],
    over: &AtomicBool,
    check: &mut dyn FnMut() -> bool,
) -> Result<(), Error> {
    let _priority = RealTimePriority::new();
    let mut next_check = Time::ZERO;
    while !over.load(Ordering::Acquire) && network.catch_up()? {
        for (side, end) in [FlowEnd::Source, FlowEnd::Destination].into_iter().enumerate() {
            relays[side].receive(ends[side], |bytes, ecn| network.inject(end, bytes, ecn));
        }
        network.deliver(|datagram| {
            let side = datagram.end as usize;
            relays[side].send(ends[side], datagram.bytes, datagram.ecn)
        });
        network.sleep(&mut [relays[0].readable(), relays[1].readable()])?;
        if network.now() >= next_check {
            next_check = network.now() + CHECK;
            if !check() {
                return Err(Error::Interrupted);
            }
        }
    }
    Ok(())
}

/// What the threads share.
#[derive(Clone, Copy)]
struct Shared<'a> {
    wall: WallClock,
    /// The end of the warm-up, which the counters exclude.
    since: Time,
    over: &'a AtomicBool,
}

/// One end of the connection with its socket.
struct Side<'a> {
    endpoint: Endpoint,
    socket: Socket,
    other: SocketAddr,
    shared: Shared<'a>,
    due: Deadlines,
    failures: u64,
}

/// What an end leaves.
struct Ended {
    endpoint: Endpoint,
    socket: Socket,
    trace: WindowTrace,
    failures: u64,
    /// What the sender had counted at the end of the warm-up.
    early: ControllerStats,
    /// What the receiver had delivered then, bytes.
    early_bytes: u64,
}

/// What the connection has counted: its sender, and the bytes that its receiver has delivered.
struct Counted {
    stats: ControllerStats,
    delivered: u64,
}

fn to_network(ecn: quic::Ecn) -> Ecn {
    match ecn {
        quic::Ecn::NotEct => Ecn::NotEct,
        quic::Ecn::Ect0 => Ecn::Ect0,
        quic::Ecn::Ect1 => Ecn::Ect1,
        quic::Ecn::Ce => Ecn::Ce,
    }
}

fn from_network(ecn: Ecn) -> quic::Ecn {
    match ecn {
        Ecn::NotEct => quic::Ecn::NotEct,
        Ecn::Ect0 => quic::Ecn::Ect0,
        Ecn::Ect1 => quic::Ecn::Ect1,
        Ecn::Ce => quic::Ecn::Ce,
    }
}

impl<'a> Side<'a> {
    fn new(endpoint: Endpoint, socket: Socket, other: SocketAddr, shared: Shared<'a>) -> Side<'a> {
        let never = Deadlines { timeout: Time::NEVER, pacing: Time::NEVER, wake: Time::NEVER };
        Side { endpoint, socket, other, shared, due: never, failures: 0 }
    }

    fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::Acquire)
    }

    fn now(&self) -> Time {
        self.shared.wall.now()
    }

    /// Processes what has arrived and expired, and sends.
    fn turn(&mut self) -> Time {
        let now = self.now();
        let endpoint = &mut self.endpoint;
        self.socket.receive(self.other, |bytes, ecn| {
            endpoint.on_datagram(now, from_network(ecn), BytesMut::from(bytes));
        });
        if self.due.timeout <= now {
            endpoint.on_timeout(now);
        }
        if self.due.wake <= now {
            endpoint.on_wake_timer(now);
        }
        let (socket, other, failures) = (&mut self.socket, self.other, &mut self.failures);
        self.due = endpoint.transmit(now, |bytes, ecn| {
            *failures += u64::from(!socket.send(other, bytes, to_network(ecn)));
        });
        now
    }

    /// Sleeps until the next deadline, `until`, or a datagram.
    fn sleep(&self, until: Time) {
        let timeout = longest_sleep(self.now(), self.due.next().min(until));
        let _ = poll(&mut [self.socket.readable()], Some(&timeout));
    }

    fn receive(mut self) -> Ended {
        let _priority = RealTimePriority::new();
        let mut early = None;
        while !self.is_over() {
            // Nothing happens while an end sleeps: what it has counted before its next turn is what it had at the end of the
            // warm-up.
            if early.is_none() && self.now() >= self.shared.since {
                early = Some(self.endpoint.delivered_bytes());
            }
            self.turn();
            self.sleep(Time::NEVER);
        }
        Ended {
            endpoint: self.endpoint,
            socket: self.socket,
            trace: WindowTrace::new(self.shared.since),
            failures: self.failures,
            early: ControllerStats::default(),
            early_bytes: early.unwrap_or(0),
        }
    }

    fn send(mut self, flow: &Flow, handle: &ControllerHandle) -> Ended {
        let _priority = RealTimePriority::new();
        let mut trace = WindowTrace::new(self.shared.since);
        let start = Time::ZERO + flow.start;
        while !self.is_over() && self.now() < start {
            self.sleep(start);
        }
        let mut stop = flow.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop);
        match flow.bytes {
            Some(bytes) => self.endpoint.write(bytes, true),
            None => self.endpoint.write_endlessly(),
        }
        self.endpoint.open(self.now());
        let mut early = None;
        while !self.is_over() {
            let before = self.now();
            if early.is_none() && trace.counts(before) {
                early = Some(*handle.lock().stats());
            }
            if before >= stop {
                stop = Time::NEVER;
                self.endpoint.stop();
            }
            let now = self.turn();
            if record(&mut trace, handle, now) {
                self.shared.over.store(true, Ordering::Release);
            }
            self.sleep(stop);
        }
        Ended {
            endpoint: self.endpoint,
            socket: self.socket,
            trace,
            failures: self.failures,
            early: early.unwrap_or_default(),
            early_bytes: 0,
        }
    }
}

/// Adds what changed at the sender to the trace. Returns whether the controller has failed.
fn record(trace: &mut WindowTrace, handle: &ControllerHandle, now: Time) -> bool {
    let mut state = handle.lock();
    let failed = state.controller().failure().is_some();
    let change = state.take_change();
    if !trace.is_empty() && !change.acked && !change.window && !change.timeout {
        return failed;
    }
    trace.add(WindowSample {
        at: now,
        event: match (trace.is_empty(), change.timeout, change.acked) {
            (true, ..) => "start",
            (_, true, _) => "rto",
            (.., true) => "ack",
            _ => "timer",
        },
        cwnd: change.cwnd,
        ssthresh: change.ssthresh,
        ack: state.highest_acked(),
        rtt_s: change.rtt.map(Span::seconds),
        in_flight: state.in_flight().segments,
        phase: Phase::name(state.phase()),
        cause: change.cause.map(|cause| cause.name()),
    });
    failed
}

/// Writes what was counted in `duration` after the warm-up into the flow's outcome.
fn write(flow: &mut lab::FlowOutcome, early: &Counted, late: &Counted, duration: Span) {
    let delivered = late.delivered - early.delivered;
    let since = |count: fn(&ControllerStats) -> u64| count(&late.stats) - count(&early.stats);
    flow.kind = "quic";
    flow.delivered_bytes = delivered;
    flow.goodput_bps = delivered as f64 * 8.0 / duration.seconds();
    flow.sent_packets = since(|stats| stats.sent_packets);
    flow.acked_packets = Some(since(|stats| stats.acked_packets));
    flow.retransmitted_packets = Some(since(|stats| stats.lost_packets));
    flow.window_cuts = Some(since(|stats| stats.cwnd_reductions));
    flow.timeouts = Some(since(|stats| stats.probe_timeouts));
}
