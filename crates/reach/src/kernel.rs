//! A TCP flow of this machine's kernel through a scenario's network: a sender and a sink of this program, whose sockets are
//! in the two namespaces.

#[cfg(feature = "kernel")]
use crate::bridge::Bridge;
use crate::controller::kernel_measures_delay;
use crate::emulate::{LivePath, mtu};
use crate::error::{Error, failed};
use crate::live::LiveRun;
use crate::namespaces::{NamespacePlan, Namespaces, Side, SocketRequest};
use crate::network::{LiveNetwork, RealTimeFacts};
use crate::sys::{self, ProgramOutput, TcpInfo};
use crate::wall::{RealTimePriority, WallClock};
use crate::window::{WindowSample, WindowTrace};
use lab::{Flow, FlowKind, Scenario, Settings, TcpFlow};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;
use units::{Span, Time};

/// Port of the sink.
const PORT: u16 = 5201;

/// Time between two samples of the socket.
const SAMPLE: Duration = Duration::from_millis(1);

/// `tcpi_snd_ssthresh` before the first reduction (TCP_INFINITE_SSTHRESH).
const INFINITE: u32 = 0x7fff_ffff;

/// States of the kernel's congestion control (enum tcp_ca_state).
const PHASES: [&str; 5] = ["open", "open", "cwr", "recovery", "loss"];

/// Where the congestion control of the kernel's sender comes from.
#[derive(Clone, Debug)]
pub enum KernelControl {
    /// An algorithm of the kernel, by its name.
    Own(String),
    /// The controller of the scenario's flow, through BPF.
    #[cfg(feature = "kernel")]
    Bridge,
}

/// Runs the scenario's first flow, which is a TCP flow, in the kernel. `check` is called some twenty times a second and
/// returns whether to go on.
pub fn run_kernel(
    scenario: &Scenario,
    control: &KernelControl,
    seed: Option<u64>,
    check: &mut dyn FnMut() -> bool,
) -> Result<LiveRun, Error> {
    let loaded = scenario.loaded().map_err(|e| Error::Scenario(Box::new(e)))?;
    let scenario = &*loaded;
    let Some(Flow { kind: FlowKind::Tcp(tcp), .. }) = scenario.flows.first() else {
        return Err(Error::Input(
            "flow[0]: must be a TCP flow to run in the kernel; add `tcp = { congestion_control = \"cubic\" }`, or put a TCP \
             flow first"
                .into(),
        ));
    };
    let facts = RealTimeFacts::of(scenario)?;
    let network = LiveNetwork::build(scenario, &facts, 0, Settings { seed, ..Settings::default() })?;
    match control {
        KernelControl::Own(name) => run(scenario, tcp, &facts, network, ControlSource::Own(name), check),
        #[cfg(feature = "kernel")]
        KernelControl::Bridge => {
            let controller = tcp.control.make(&flow_info(tcp, seed.unwrap_or(scenario.seed)));
            let bridge = Bridge::load(controller)?;
            run(scenario, tcp, &facts, network, ControlSource::Bridge(Box::new(bridge)), check)
        }
    }
}

/// What a controller learns about a flow in the kernel.
#[cfg(feature = "kernel")]
fn flow_info(tcp: &TcpFlow, seed: u64) -> cc::FlowInfo {
    let options = &tcp.options;
    cc::FlowInfo {
        packet: options.packet,
        initial_window: options.initial_window,
        initial_ssthresh: options.initial_ssthresh,
        max_window: if options.max_cwnd > 0.0 { options.max_cwnd } else { f64::INFINITY },
        arithmetic: options.arithmetic(),
        fine_clock: false,
        abe: options.abe,
        seed,
        hops: 0,
    }
}

/// Where the congestion control of a run comes from.
enum ControlSource<'a> {
    /// An algorithm of the kernel.
    Own(&'a str),
    #[cfg(feature = "kernel")]
    Bridge(Box<Bridge>),
}

/// The flow's share of the work.
pub(crate) struct FlowPlan {
    start: Time,
    stop: Option<Time>,
    bytes: Option<u64>,
}

impl FlowPlan {
    fn of(scenario: &Scenario) -> FlowPlan {
        let flow = &scenario.flows[0];
        let at = |span: Span| Time::ZERO + span;
        FlowPlan { start: at(flow.start), stop: flow.stop.map(at), bytes: flow.bytes }
    }
}

/// What the threads share.
struct Shared {
    clock: WallClock,
    /// The end of the warm-up, which the counters exclude.
    since: Time,
    over: AtomicBool,
    received: AtomicU64,
    /// Completion time of a flow with an end, ps; zero: not complete.
    completed: AtomicU64,
}

/// Runs the flow.
fn run(
    scenario: &Scenario,
    tcp: &TcpFlow,
    facts: &RealTimeFacts,
    network: LiveNetwork,
    source: ControlSource<'_>,
    check: &mut dyn FnMut() -> bool,
) -> Result<LiveRun, Error> {
    let (control, delay) = source.describe();
    let mut notes = source.notes();
    let namespaces = Namespaces::create(&plan(tcp, facts, source.kernel_name())?)?;
    let [sender, sink] =
        [0, 1].map(|end| namespaces.sockets[end].try_clone().map_err(failed("a socket of the namespaces")));
    let (sender, sink) = (sender?, sink?);
    let window = tcp.options.window.saturating_mul(tcp.options.packet).min(1 << 30);
    sys::clamp_window(sink.as_fd(), window).map_err(failed("TCP_WINDOW_CLAMP"))?;
    let listener = listen(sink).map_err(failed("the sink"))?;
    let mut path = LivePath::new(network, &namespaces);
    path.network.start();
    let flow = FlowPlan::of(scenario);
    let shared = Shared {
        clock: path.network.clock,
        since: Time::ZERO + scenario.warmup,
        over: AtomicBool::new(false),
        received: AtomicU64::new(0),
        completed: AtomicU64::new(0),
    };
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| receive(&listener, &shared));
        let sending = scope.spawn(|| send(sender, &flow, &shared));
        let sampling = scope.spawn(|| sample(&namespaces.sockets[0], &shared));
        let bridged = source.spawn(scope, &shared);
        let driven = path.drive(check, |_| true);
        shared.over.store(true, Ordering::Release);
        for end in &namespaces.sockets {
            let _ = rustix::net::shutdown(end, rustix::net::Shutdown::Both);
        }
        let lost = |_| Error::Failed("a thread of the flow failed".into());
        let (sent, sampled) = (sending.join().map_err(lost)?, sampling.join().map_err(lost)?);
        let bridged = bridged.map(|thread| thread.join().map_err(lost)?).transpose();
        driven?;
        sent?;
        Ok::<_, Error>((sampled, bridged?))
    })?;
    let ((mut trace, mut counters), bridged) = ended;
    let mut substrate = "linux";
    if let Some((better, cuts, timeouts, lost)) = bridged {
        (trace, counters.cuts, counters.timeouts) = (better, cuts, timeouts);
        substrate = "kernel";
        if lost > 0 {
            notes.push(format!("{lost} events of the kernel were lost"));
        }
    }
    let packet_time = delay.then_some(facts.packet_time).flatten();
    let validity = path.network.validity(packet_time, true, notes);
    let mut live = LiveRun::new(path.network, trace, validity, substrate);
    live.flow(|flow| {
        flow.control = Some(control);
        counters.write(flow, &shared, scenario.duration - scenario.warmup);
    });
    Ok(live)
}

/// Sockets at both ends.
fn plan(tcp: &TcpFlow, facts: &RealTimeFacts, control: &str) -> Result<NamespacePlan, Error> {
    let socket = |side, control: Option<&str>| SocketRequest { side, control: control.map(str::to_string) };
    Ok(NamespacePlan {
        mtu: mtu(facts)?,
        commands: [None, None],
        sockets: vec![socket(Side::From, Some(control)), socket(Side::To, None)],
        ecn: Some(tcp.options.ecn),
        output: ProgramOutput::Own,
    })
}

/// What the thread of the bridge leaves: trace, reductions, timeouts, lost events.
type BridgeResult = (WindowTrace, u64, u64, u64);

impl ControlSource<'_> {
    /// The name in the kernel.
    fn kernel_name(&self) -> &str {
        match self {
            ControlSource::Own(name) => name,
            #[cfg(feature = "kernel")]
            ControlSource::Bridge(bridge) => &bridge.name,
        }
    }

    /// The name in the outcome, and whether it measures delays.
    fn describe(&self) -> (String, bool) {
        match self {
            ControlSource::Own(name) => (format!("linux:{name}"), kernel_measures_delay(name)),
            #[cfg(feature = "kernel")]
            ControlSource::Bridge(bridge) => (bridge.controller_name().into(), bridge.measures_delay()),
        }
    }

    /// Differences from a run in the simulator.
    fn notes(&self) -> Vec<String> {
        match self {
            ControlSource::Own(_) => {
                vec!["round-trip times and windows are sampled every millisecond (TCP_INFO)".into()]
            }
            #[cfg(feature = "kernel")]
            ControlSource::Bridge(bridge) => bridge.degraded.clone(),
        }
    }

    /// Starts the thread of the bridge, if there is one.
    #[cfg_attr(not(feature = "kernel"), allow(unused_variables, reason = "the kernel has its own control"))]
    fn spawn<'scope, 'env>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        shared: &'env Shared,
    ) -> Option<ScopedJoinHandle<'scope, Result<BridgeResult, Error>>> {
        match self {
            ControlSource::Own(_) => None,
            #[cfg(feature = "kernel")]
            ControlSource::Bridge(bridge) => Some(scope.spawn(|| {
                let (flow, lost) = bridge.run(shared.clock, shared.since, &shared.over)?;
                Ok((flow.trace, flow.cuts, flow.timeouts, lost))
            })),
        }
    }
}

fn listen(socket: OwnedFd) -> io::Result<TcpListener> {
    rustix::net::bind(&socket, &SocketAddrV4::new(Side::To.address(), PORT))?;
    rustix::net::listen(&socket, 1)?;
    Ok(TcpListener::from(socket))
}

/// Counts what arrives.
fn receive(listener: &TcpListener, shared: &Shared) {
    let _priority = RealTimePriority::new();
    let Ok((mut stream, _)) = listener.accept() else { return };
    let _ = stream.set_read_timeout(Some(Duration::from_millis(100)));
    let mut buffer = vec![0; 1 << 16];
    while !shared.over.load(Ordering::Acquire) {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(bytes) => drop(shared.received.fetch_add(bytes as u64, Ordering::Relaxed)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => return,
        }
    }
}

/// Connects at the flow's start and sends until its end.
fn send(socket: OwnedFd, flow: &FlowPlan, shared: &Shared) -> Result<(), Error> {
    while shared.clock.now() < flow.start {
        if shared.over.load(Ordering::Acquire) {
            return Ok(());
        }
        let left = flow.start.since(shared.clock.now().min(flow.start)).seconds();
        std::thread::sleep(Duration::from_secs_f64(left.min(0.05)));
    }
    // A sender that waits for a processor would leave the path empty. It sleeps whenever the socket's buffer is full.
    let _priority = RealTimePriority::new();
    let over = || shared.over.load(Ordering::Acquire);
    if let Err(error) = rustix::net::connect(&socket, &SocketAddrV4::new(Side::To.address(), PORT)) {
        return if over() { Ok(()) } else { Err(failed("connecting through the network")(error.into())) };
    }
    let mut stream = TcpStream::from(socket);
    let zeros = vec![0; 1 << 16];
    let mut left = flow.bytes.unwrap_or(u64::MAX);
    let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
    while left > 0 && !over() && flow.stop.is_none_or(|stop| shared.clock.now() < stop) {
        let length = left.min(zeros.len() as u64) as usize;
        match stream.write(&zeros[..length]) {
            Ok(bytes) => left -= bytes as u64,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) if over() => return Ok(()),
            Err(error) => return Err(failed("sending through the network")(error)),
        }
    }
    while left == 0 && !over() {
        let info = sys::tcp_info(stream.as_fd()).map_err(failed("TCP_INFO"))?;
        if info.notsent_bytes == 0 && info.unacked == 0 {
            shared.completed.store(shared.clock.now().since(flow.start).ps().max(1), Ordering::Release);
            break;
        }
        std::thread::sleep(SAMPLE);
    }
    while !over() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = stream.shutdown(Shutdown::Both);
    Ok(())
}

/// What the socket counts.
#[derive(Default)]
struct Counters {
    last: TcpInfo,
    /// What the kernel had counted at the end of the warm-up, and the bytes that the sink had received.
    early: Option<(TcpInfo, u64)>,
    /// Reductions and timeouts after the warm-up.
    cuts: u64,
    timeouts: u64,
}

impl Counters {
    fn write(&self, flow: &mut lab::FlowOutcome, shared: &Shared, duration: Span) {
        let (info, seconds) = (&self.last, duration.seconds());
        let (early, early_bytes) = self.early.unwrap_or_default();
        let received = shared.received.load(Ordering::Relaxed) - early_bytes;
        let acked = |info: &TcpInfo| info.bytes_acked / info.snd_mss.max(1) as u64;
        flow.kind = "tcp";
        flow.recovery = Some("linux");
        flow.delivered_bytes = received;
        flow.goodput_bps = received as f64 * 8.0 / seconds;
        flow.sent_packets = (info.data_segs_out - early.data_segs_out) as u64;
        flow.acked_packets = Some(acked(info) - acked(&early));
        flow.retransmitted_packets = Some((info.total_retrans - early.total_retrans) as u64);
        flow.window_cuts = Some(self.cuts);
        flow.timeouts = Some(self.timeouts);
        flow.min_rtt_s = (info.min_rtt > 0 && info.min_rtt < u32::MAX).then(|| info.min_rtt as f64 / 1e6);
        let completed = shared.completed.load(Ordering::Acquire);
        flow.completion_s = (completed > 0).then(|| Time::from_ps(completed).seconds());
    }
}

/// Samples the socket until the end. Returns the trace and the counters.
fn sample(socket: &OwnedFd, shared: &Shared) -> (WindowTrace, Counters) {
    let _priority = RealTimePriority::new();
    let mut trace = WindowTrace::new(shared.since);
    let mut counters = Counters::default();
    let mut phase = 0usize;
    while !shared.over.load(Ordering::Acquire) {
        std::thread::sleep(SAMPLE);
        let Ok(info) = sys::tcp_info(socket.as_fd()) else { break };
        let now = shared.clock.now();
        if trace.counts(now) && counters.early.is_none() {
            counters.early = Some((info, shared.received.load(Ordering::Relaxed)));
        }
        if info.data_segs_out == 0 {
            continue;
        }
        let state = (info.ca_state as usize).min(PHASES.len() - 1);
        let cause = (state >= 2 && state != phase).then(|| ["ecn", "fast_retransmit", "rto"][state - 2]);
        counters.cuts += u64::from(cause.is_some() && trace.counts(now));
        counters.timeouts += u64::from(cause == Some("rto") && trace.counts(now));
        phase = state;
        trace.add(WindowSample {
            at: now,
            event: if cause == Some("rto") { "rto" } else { "ack" },
            cwnd: info.snd_cwnd as f64,
            ssthresh: if info.snd_ssthresh >= INFINITE { f64::INFINITY } else { info.snd_ssthresh as f64 },
            ack: (info.bytes_acked / info.snd_mss.max(1) as u64) as i64,
            rtt_s: (info.rtt > 0).then(|| info.rtt as f64 / 1e6),
            in_flight: (info.unacked + info.retrans).saturating_sub(info.sacked + info.lost) as f64,
            phase: PHASES[state],
            cause,
        });
        counters.last = info;
    }
    (trace, counters)
}
