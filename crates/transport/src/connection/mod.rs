//! The state of a connection at its sender, which all recoveries share: what they read, and the steps that they compose.
//!
//! Segments are numbered from 0; with a handshake, number 0 is the SYN. `una` is the oldest unacknowledged segment,
//! `next` the next segment to send, `high` one past the highest segment ever sent. Windows are in segments. Sources:
//! RFC 5681, 6298, 6582, 6675, 3042; the `ns2` profile follows notes on the behaviour of ns-2.35
//! (docs/validation.md).

mod output;
mod pacer;
mod reductions;
mod reports;
mod samples;
mod services;
mod stats;

use crate::change::WindowCause;
use crate::context::{FlowContext, FlowTimer};
use crate::options::{Options, StackProfile};
use crate::recovery_state::RecoveryState;
use crate::rtt::RttEstimator;
use crate::segments::SentSegments;
use cc::{Ack, AnyController, Controller, Phase, Sample, SenderState, Signals, Timeout};
use net::Packet;
pub(crate) use pacer::Pacer;
pub(crate) use reports::{Reports, Transmission};
pub use stats::SenderStats;
use std::sync::Arc;
use units::{Span, Time};

/// The reason of the last window reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastReduction {
    None,
    DupAck,
    /// A fast recovery that has ended.
    Exited,
    Timeout,
    /// An ECN echo.
    Ecn,
}

/// The properties of a flow that its sender needs.
pub struct Setup {
    /// Number of the flow.
    pub flow: u32,
    /// The start of the route of its data.
    pub route: u32,
    /// Number of segments of application data; `None` for no end.
    pub segments: Option<u32>,
    /// Offset of the tick clock at the start of the run.
    pub clock_phase: Span,
    /// Whether every router of the path processes Quick-Start requests.
    pub quick_start_path: bool,
}

/// The state of a connection at its sender.
///
/// The fields are in the order in which an ACK accesses them, rarely used ones last: with many flows each cache line
/// that an ACK touches costs a cache miss.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Connection {
    pub una: u32,
    pub next: u32,
    pub high: u32,
    /// One past the last segment of the application's data.
    pub limit: u32,
    /// The receiver's window, segments.
    pub receive_window: u32,
    pub dupacks: u32,
    /// Reno's window inflation: the number of segments that left the network.
    pub dupwnd: u32,
    /// Highest segment sent at the start of the last reduction; 0 before the first.
    pub recover: u32,
    pub flow: u32,
    route: u32,
    wire_size: u32,
    timed_seq: u32,
    pub last_reduction: LastReduction,
    pub phase: Phase,
    timing: bool,
    pub opened: bool,
    repeated_timeout: bool,
    /// Whether the next new segment carries CWR.
    pub cwr: bool,
    /// Whether the last reduction by an ECN echo happened with a window of one.
    echoed_at_one: bool,
    /// Whether ACKs carry information from routers: ECN echoes, rates or feedback.
    pub uses_router_feedback: bool,
    pub quick_start_path: bool,
    /// Whether this sender paces its packets.
    pub paced: bool,
    /// The queue of its host has no room for the next packet.
    pub host_full: bool,
    /// All data is acknowledged.
    pub done: bool,
    pub recovery_state: RecoveryState,
    timed_at: Time,
    pub options: Arc<Options>,
    pub reports: Reports,
    pub segments: SentSegments,
    /// The round-trip sample that the controller gets with the ACK.
    pub sample: Option<Span>,
    pub rtt: RttEstimator,
    pub stats: SenderStats,
    pub controller: AnyController,
    pub initial_window: f64,
    pub pacer: Pacer,
    /// When the last data was acknowledged, if `done`; otherwise [`Time::NEVER`].
    pub completed: Time,
    /// The next ACK changes the receiver's window, so it is no duplicate (RFC 5681 section 2).
    pub window_update: bool,
    /// The application will write more data.
    pub more_to_write: bool,
    /// The cause of the last reduction or undo that the window trace has not shown.
    pub cause: Option<WindowCause>,
    /// One past the highest segment sent when the last CWR without a reduction was set.
    answered: u32,
}

/// The effect of a new acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Segments newly acknowledged.
    pub acked: u32,
    /// Duplicate ACKs before it.
    pub dupacks: u32,
}

#[cold]
fn cancel_timers<W: FlowContext>(context: &mut W) {
    for timer in [FlowTimer::Retransmit, FlowTimer::Pace, FlowTimer::Wake] {
        context.set_timer(timer, Time::NEVER);
    }
}

impl Connection {
    pub fn new(setup: Setup, options: Arc<Options>, controller: AnyController) -> Connection {
        let needs = controller.needs();
        let syn = options.syn as u32;
        Connection {
            una: 0,
            next: 0,
            high: 0,
            limit: setup.segments.map_or(u32::MAX, |n| n.saturating_add(syn)),
            dupacks: 0,
            dupwnd: 0,
            recover: 0,
            last_reduction: LastReduction::None,
            phase: Phase::Open,
            flow: setup.flow,
            route: setup.route,
            wire_size: options.packet + options.header,
            timing: false,
            timed_seq: 0,
            timed_at: Time::ZERO,
            opened: false,
            repeated_timeout: false,
            cwr: false,
            echoed_at_one: false,
            quick_start_path: setup.quick_start_path,
            paced: options.pacing || needs.has(Signals::PACING),
            uses_router_feedback: options.ecn
                || options.requests_quick_start()
                || needs.has(Signals::ROUTER_RATE)
                || needs.has(Signals::ROUTER_FEEDBACK),
            answered: 0,
            receive_window: options.window,
            window_update: false,
            more_to_write: false,
            cause: None,
            recovery_state: RecoveryState::new(&options, needs),
            segments: SentSegments::default(),
            rtt: RttEstimator::new(&options, setup.clock_phase),
            initial_window: options.initial_window,
            reports: Reports::new(needs),
            pacer: Pacer::default(),
            host_full: false,
            sample: None,
            completed: Time::NEVER,
            done: false,
            stats: SenderStats::default(),
            controller,
            options,
        }
    }

    // ---- the window -------------------------------------------------------------------------------------

    /// The number of segments that may be outstanding: congestion window plus inflation, at most the receiver's
    /// window.
    #[inline]
    pub fn window(&self) -> u32 {
        (self.controller.cwnd() as u32).saturating_add(self.dupwnd).min(self.options.window)
    }

    /// The congestion window, whole segments.
    #[inline]
    pub fn cwnd(&self) -> u32 {
        self.controller.cwnd() as u32
    }

    // ---- acknowledgements -------------------------------------------------------------------------------

    /// Processes the acknowledgement of everything below `packet.seq`: samples, timer, completion. The caller then
    /// calls [`Connection::grow`], [`Connection::notify_growth`] or [`Connection::notify`].
    #[inline]
    pub fn new_ack<W: FlowContext>(&mut self, context: &mut W, packet: &Packet) -> Progress {
        let now = context.now();
        let (from, to) = (self.una, packet.seq);
        let progress = Progress { acked: to - from, dupacks: self.dupacks };
        self.reports.delivered_below(from, to, now);
        self.measure(now, packet);
        if from == 0 && self.options.syn {
            self.rtt.end_handshake(&self.options);
        }
        self.dupacks = 0;
        self.repeated_timeout = false;
        self.una = to;
        self.next = self.next.max(to);
        if self.reports.has(Signals::SAMPLES) && self.opened {
            self.notify_sample(now, packet, progress.acked);
        }
        if self.phase == Phase::Loss && to > self.recover {
            self.phase = Phase::Open;
        }
        if self.last_reduction == LastReduction::Ecn {
            self.leave_reduction(now);
        }
        if self.complete(context) {
            // No timer is set any more.
        } else if self.options.stack == StackProfile::Linux && self.una == self.high {
            context.set_timer(FlowTimer::Retransmit, Time::NEVER);
        } else {
            context.set_timer(FlowTimer::Retransmit, now + self.rtt.rto());
        }
        progress
    }

    /// Passes the measurements of an ACK of `acked` new segments to the controller, before anything follows from them.
    #[cold]
    pub(crate) fn notify_sample(&mut self, now: Time, packet: &Packet, acked: u32) {
        let in_flight = f64::from(self.next - self.una);
        self.controller.on_sample(&Sample {
            now,
            newly_acked: acked,
            newly_delivered: acked,
            rtt: self.sample.filter(|_| acked > 0),
            ece: packet.ece && self.options.ecn,
            acked_through: u64::from(self.una).wrapping_sub(1),
            next: self.next.into(),
            in_flight,
            prior_in_flight: in_flight + f64::from(acked),
            since_sent: None,
            sacked: 0,
            phase: self.phase,
            disorder: false,
        });
    }

    /// Passes a new ACK outside recovery to the controller. The first one opens the connection.
    #[inline]
    pub fn grow<W: FlowContext>(&mut self, context: &W, packet: &Packet, progress: Progress) {
        let opening = !self.opened;
        if !(opening && self.options.syn) {
            self.notify_growth(context, packet, progress);
        }
        if opening {
            // The first ACK sets the initial window; the value of the provisional window does not matter.
            self.opened = true;
            if self.una == 1 {
                self.controller.set_window(self.initial_window);
            }
        }
    }

    /// Passes an ACK that permits window growth to the controller.
    pub fn notify_growth<W: FlowContext>(&mut self, context: &W, packet: &Packet, progress: Progress) {
        let phase = if self.phase == Phase::Loss { Phase::Loss } else { Phase::Open };
        pass_to_controller(self, context, packet, progress, phase);
    }

    /// Passes a duplicate ACK, already counted, to the controller.
    pub fn notify_duplicate<W: FlowContext>(&mut self, context: &W, packet: &Packet) {
        let progress = Progress { acked: 0, dupacks: self.dupacks };
        self.notify(context, packet, progress, self.phase);
    }

    /// Passes an ACK to the controller. In [`Phase::Recovery`] it does not permit window growth.
    #[inline(never)] // keeps the paths of the recoveries short
    pub fn notify<W: FlowContext>(&mut self, context: &W, packet: &Packet, progress: Progress, phase: Phase) {
        pass_to_controller(self, context, packet, progress, phase);
    }

    /// Completes the flow if all data is acknowledged, and the application writes no more. Returns whether it is complete.
    #[inline]
    pub fn complete<W: FlowContext>(&mut self, context: &mut W) -> bool {
        if self.una < self.limit || self.more_to_write {
            return false;
        }
        if !self.done {
            (self.done, self.completed) = (true, context.now());
            cancel_timers(context);
        }
        true
    }

    /// A retransmission timeout (RFC 6298 section 5, RFC 5681 section 3.1): backs the timer off, lets the controller reduce
    /// its window, and goes back to the oldest segment. The caller sends.
    pub fn time_out<W: FlowContext>(&mut self, context: &mut W) {
        self.dupwnd = 0;
        self.dupacks = 0;
        self.recover = self.high - 1;
        if self.una == 0 && !self.opened && !matches!(self.recovery_state, RecoveryState::Vegas(_)) {
            self.initial_window = 1.0; // the first packet was lost: the initial window is one segment
        }
        let window = self.effective_window();
        self.stats.timeouts += 1;
        self.last_reduction = LastReduction::Timeout;
        self.notify_timeout(&Timeout { now: context.now(), window, repeated: self.repeated_timeout }, true);
        self.repeated_timeout = true;
        self.phase = Phase::Loss;
        self.rtt.back_off(&self.options);
        context.set_timer(FlowTimer::Retransmit, context.now() + self.rtt.rto());
        self.timing = false;
        self.next = self.una;
    }
}

/// Passes an ACK to the controller.
#[inline(always)] // or an ACK pays a call for it
fn pass_to_controller<W: FlowContext>(
    s: &mut Connection,
    context: &W,
    packet: &Packet,
    progress: Progress,
    phase: Phase,
) {
    let receiver_time = s.reports.receiver_time(&s.options, packet);
    let outstanding = (s.next - s.una) as f64;
    let before = outstanding + progress.acked as f64;
    let (prior_in_flight, in_flight) = match s.recovery_state.scoreboard() {
        Some(sack) => (sack.prior_in_flight as f64, s.in_flight() as f64),
        None => (before, outstanding),
    };
    let ece = packet.ece && s.options.ecn;
    let mut ack = Ack {
        now: context.now(),
        newly_acked: progress.acked,
        newly_delivered: progress.acked,
        newly_lost: 0,
        delivered_total: 0,
        lost_total: 0,
        dupacks: progress.dupacks,
        acked_through: (s.una as u64).wrapping_sub(1),
        next: s.next as u64,
        in_flight,
        prior_in_flight,
        rtt: s.sample,
        receiver_time,
        ece,
        rate: None,
        sender: SenderState::default(),
        phase,
        may_grow: progress.acked > 0 && phase != Phase::Recovery && !ece,
        paced: s.paced,
        pacing_wait: Span::ZERO,
        window_limited: before + 1.0 > s.controller.cwnd(),
    };
    if progress.acked > 0 {
        ack.rate = s.reports.take_sample(); // a duplicate ACK has none
    }
    s.controller.on_ack(&ack);
}
