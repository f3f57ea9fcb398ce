//! The TCP sender: the part that all recoveries share.
//!
//! Segments are numbered from 0; with a handshake, number 0 is the SYN. `una` is the oldest unacknowledged segment,
//! `next` the next segment to send, `high` one past the highest segment ever sent. Windows are in segments. Sources:
//! RFC 5681, 6298, 6582, 6675, 3042; the `ns2` profile follows notes on the behaviour of ns-2.35
//! (docs/validation.md).

mod accessors;
mod changes;
mod limits;
mod output;
mod reductions;
mod reports;
mod samples;
mod services;
#[cfg(test)]
mod tests;

use crate::blocks::AckOptions;
use crate::change::WindowCause;
use crate::context::{FlowContext, FlowTimer, Trigger, WindowRow};
use crate::options::{Options, StackProfile};
use crate::recovery_state::RecoveryState;
use crate::rtt::RttEstimator;
use crate::segments::SentSegments;
use cc::{Ack, AnyController, Controller, Phase, Signals, Timeout};
pub use limits::SendLimit;
use net::Packet;
pub(crate) use reports::{Reports, Transmission};
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

/// The counters of a sender.
#[derive(Clone, Debug, Default)]
pub struct SenderStats {
    /// Data packets sent, retransmissions included, SYNs left out.
    pub sent: u32,
    /// Data packets sent again.
    pub retransmitted: u32,
    /// Retransmission timeouts with data outstanding.
    pub timeouts: u32,
    /// Reductions of the window.
    pub cwnd_reductions: u32,
    /// Sum of the round-trip samples given to the controller, seconds.
    pub rtt_sum: f64,
    /// Smallest round-trip sample; not valid if there was none.
    pub rtt_min: Span,
    /// Number of round-trip samples.
    pub rtt_count: u32,
    /// Integrals of window and threshold over time, segment seconds.
    pub cwnd_area: f64,
    /// See `cwnd_area`.
    pub ssthresh_area: f64,
}

/// A TCP sender.
///
/// The fields are in the order in which an ACK accesses them, rarely used ones last: with many flows each cache line
/// that an ACK touches costs a cache miss.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    pub(crate) una: u32,
    pub(crate) next: u32,
    pub(crate) high: u32,
    /// One past the last segment of the application's data.
    pub(crate) limit: u32,
    pub(crate) dupacks: u32,
    /// Reno's window inflation: the number of segments that left the network.
    pub(crate) dupwnd: u32,
    /// Highest segment sent at the start of the last reduction; 0 before the first.
    pub(crate) recover: u32,
    flow: u32,
    route: u32,
    wire_size: u32,
    timed_seq: u32,
    pub(crate) last_reduction: LastReduction,
    pub(crate) phase: Phase,
    timing: bool,
    pub(crate) opened: bool,
    repeated_timeout: bool,
    /// Whether the next new segment carries CWR.
    pub(crate) cwr: bool,
    /// Whether the last reduction by an ECN echo happened with a window of one.
    echoed_at_one: bool,
    under_handoff: bool,
    /// Whether ACKs carry information from routers: ECN echoes, rates or feedback.
    uses_router_feedback: bool,
    quick_start_path: bool,
    /// Whether this sender paces its packets.
    pub(crate) paced: bool,
    done: bool,
    pub(crate) recovery_state: RecoveryState,
    timed_at: Time,
    pub(crate) options: Arc<Options>,
    pub(crate) reports: Reports,
    pub(crate) segments: SentSegments,
    sample: Option<Span>,
    pub(crate) rtt: RttEstimator,
    seen: (f64, f64),
    seen_at: Time,
    limited_at: Time,
    limited_by: SendLimit,
    /// The queue of its host has no room for the next packet.
    host_full: bool,
    /// Counters.
    pub stats: SenderStats,
    pub(crate) controller: AnyController,
    pub(crate) initial_window: f64,
    /// When the pacer permits the next burst.
    pace_at: Time,
    /// When the last burst began, and the segments that it may still send at that time.
    burst_at: Time,
    burst_left: u32,
    completed: Time,
    /// Time under each limit, in the order of [`SendLimit::NAMES`].
    limited: [Span; SendLimit::NAMES.len()],
    /// The receiver's window, segments.
    receive_window: u32,
    /// The next ACK changes the receiver's window, so it is no duplicate (RFC 5681 section 2).
    pub(crate) window_update: bool,
    /// The application will write more data.
    more_to_write: bool,
    /// The cause of the last reduction or undo that the window trace has not shown.
    pub(crate) cause: Option<WindowCause>,
    /// The phase at the last row of the window trace.
    noted_phase: Phase,
    /// One past the highest segment sent when the last CWR without a reduction was set.
    answered: u32,
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

impl Sender {
    /// A sender that has not started.
    pub fn new(setup: Setup, options: Arc<Options>, controller: AnyController) -> Sender {
        let needs = controller.needs();
        let recovery_state = RecoveryState::new(&options, needs);
        let syn = options.syn as u32;
        Sender {
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
            under_handoff: false,
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
            noted_phase: Phase::Open,
            recovery_state,
            segments: SentSegments::default(),
            rtt: RttEstimator::new(&options, setup.clock_phase),
            initial_window: options.initial_window,
            reports: Reports::new(needs),
            pace_at: Time::ZERO,
            burst_at: Time::ZERO,
            burst_left: 0,
            seen: (controller.cwnd(), controller.ssthresh()),
            seen_at: Time::ZERO,
            limited_at: Time::ZERO,
            limited_by: SendLimit::default(),
            host_full: false,
            limited: [Span::ZERO; SendLimit::NAMES.len()],
            sample: None,
            completed: Time::NEVER,
            done: false,
            stats: SenderStats::default(),
            controller,
            options,
        }
    }

    /// Prefetches the memory that an ACK accesses.
    #[inline]
    pub fn prefetch(&self) {
        engine::prefetch_item(self, std::mem::offset_of!(Sender, controller) + 64);
    }

    /// Completes the integrals of window and threshold, and the times under limits, at the end of the run.
    pub fn finish(&mut self, now: Time) {
        self.integrate(now);
        self.add_limited_time(now);
    }

    // ---- events -----------------------------------------------------------------------------------------

    /// The application starts.
    pub fn on_start<W: FlowContext>(&mut self, context: &mut W) {
        self.seen_at = context.now();
        self.limited_at = context.now();
        self.controller.on_open(context.now());
        if !self.options.delay_growth {
            self.opened = true;
        }
        self.note(context, Trigger::Start);
        self.send_permitted(context);
        self.after(context);
    }

    /// The application will write its data in portions, with [`Sender::on_write`]; there is none yet.
    pub fn write_in_portions(&mut self) {
        self.limit = self.options.syn as u32;
        self.more_to_write = true;
    }

    /// The application writes `segments` segments. `last`: it writes no more.
    pub fn on_write<W: FlowContext>(&mut self, context: &mut W, segments: u32, last: bool) {
        self.note_limit_before_write();
        self.limit = self.limit.saturating_add(segments);
        self.more_to_write = !last;
        if self.done {
            return;
        }
        if self.high > 0 || !self.options.syn {
            self.send_written(context);
        }
        self.complete(context);
        self.note_limit(context.now());
        self.after(context);
    }

    /// The receiver advertises a window of `segments` segments (recovery `rack` only).
    pub fn set_receive_window(&mut self, segments: u32) {
        self.window_update = segments != self.receive_window; // until the next ACK
        self.receive_window = segments;
    }

    /// The application has no more data.
    pub fn on_stop<W: FlowContext>(&mut self, context: &mut W) {
        self.limit = self.limit.min(self.high.max(self.options.syn as u32));
        self.more_to_write = false;
        self.complete(context);
    }

    /// Processes an ACK, which acknowledges everything below `packet.seq`.
    pub fn on_ack<W: FlowContext>(&mut self, context: &mut W, packet: &Packet, options: &AckOptions) {
        if self.done || packet.seq > self.high {
            return; // the flow is complete, or the ACK is for data never sent
        }
        self.sample = None;
        if self.uses_router_feedback {
            self.process_ecn_and_router_feedback(context, packet, options.reply);
        }
        let trigger = if packet.seq > self.una { Trigger::Ack } else { Trigger::DupAck };
        self.recover_on_ack(context, packet, options);
        self.note(context, trigger);
        self.after(context);
    }

    /// The retransmission timer expired.
    pub fn on_retransmit_timer<W: FlowContext>(&mut self, context: &mut W) {
        if self.una == self.high || self.done {
            return; // nothing outstanding
        }
        self.sample = None;
        self.recover_on_timer(context);
        self.note(context, Trigger::Rto);
        self.after(context);
    }

    /// A retransmission timeout (RFC 6298 section 5, RFC 5681 section 3.1): backs the timer off, lets the controller reduce
    /// its window, and goes back to the oldest segment. The caller sends.
    pub(crate) fn time_out<W: FlowContext>(&mut self, context: &mut W) {
        self.dupwnd = 0;
        self.dupacks = 0;
        self.recover = self.high - 1;
        if self.una == 0 && !self.opened && !matches!(self.recovery_state, RecoveryState::Vegas(_)) {
            self.initial_window = 1.0; // the first packet was lost: the initial window is one segment
        }
        let window = self.effective_window();
        self.stats.timeouts += 1;
        self.stats.cwnd_reductions += 1;
        self.last_reduction = LastReduction::Timeout;
        self.cause = Some(WindowCause::Rto);
        self.set_cwr_pending();
        self.controller.on_rto(&Timeout { now: context.now(), window, repeated: self.repeated_timeout });
        self.repeated_timeout = true;
        self.phase = Phase::Loss;
        self.rtt.back_off(&self.options);
        context.set_timer(FlowTimer::Retransmit, context.now() + self.rtt.rto());
        self.timing = false;
        self.next = self.una;
    }

    /// The pacing timer expired.
    pub fn on_pace_timer<W: FlowContext>(&mut self, context: &mut W) {
        if !self.done {
            self.send_permitted(context);
            self.note_limit(context.now());
        }
    }

    /// The controller's timer expired.
    pub fn on_wake_timer<W: FlowContext>(&mut self, context: &mut W) {
        if self.done {
            return;
        }
        self.controller.on_timer(context.now());
        self.send_permitted(context);
        self.note(context, Trigger::FlowTimer);
        self.after(context);
    }

    /// A hand-off of an end of the flow begins or ends.
    pub fn on_handoff<W: FlowContext>(&mut self, context: &mut W, begins: bool) {
        self.under_handoff = begins;
        if self.done {
            return;
        }
        let kind = if begins { cc::Hint::HandoffBegins } else { cc::Hint::HandoffEnds };
        self.controller.on_hint(&cc::PathHint { now: context.now(), kind });
        if self.high > 0 {
            self.note(context, Trigger::Handoff);
            self.after(context);
        }
    }

    /// Whether an end of the flow is in a hand-off.
    pub fn under_handoff(&self) -> bool {
        self.under_handoff
    }

    // ---- the window -------------------------------------------------------------------------------------

    /// The number of segments that may be outstanding: congestion window plus inflation, at most the receiver's
    /// window.
    #[inline]
    pub(crate) fn window(&self) -> u32 {
        (self.controller.cwnd() as u32).saturating_add(self.dupwnd).min(self.options.window)
    }

    // ---- acknowledgements -------------------------------------------------------------------------------

    /// Processes the acknowledgement of everything below `packet.seq`: samples, timer, completion. The caller then
    /// calls [`Sender::grow`], [`Sender::notify_growth`] or [`Sender::notify_without_growth`].
    #[inline]
    pub(crate) fn new_ack<W: FlowContext>(&mut self, context: &mut W, packet: &Packet) -> Progress {
        let now = context.now();
        let (from, to) = (self.una, packet.seq);
        let progress = Progress { acked: to - from, dupacks: self.dupacks };
        self.reports.delivered_below(from, to, now);
        self.measure(now, packet);
        self.dupacks = 0;
        self.repeated_timeout = false;
        self.una = to;
        self.next = self.next.max(to);
        if self.phase == Phase::Loss && to > self.recover {
            self.phase = Phase::Open;
        }
        if self.last_reduction == LastReduction::Ecn {
            self.leave_reduction(now);
        }
        if self.finished(self.una) {
            self.complete(context);
        } else if self.options.stack == StackProfile::Linux && self.una == self.high {
            context.set_timer(FlowTimer::Retransmit, Time::NEVER);
        } else {
            context.set_timer(FlowTimer::Retransmit, now + self.rtt.rto());
        }
        progress
    }

    /// Passes a new ACK outside recovery to the controller. The first one opens the connection.
    #[inline]
    pub(crate) fn grow<W: FlowContext>(&mut self, context: &W, packet: &Packet, progress: Progress) {
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
    pub(crate) fn notify_growth<W: FlowContext>(&mut self, context: &W, packet: &Packet, progress: Progress) {
        let phase = if self.phase == Phase::Loss { Phase::Loss } else { Phase::Open };
        self.notify(context, packet, progress, phase);
    }

    /// Passes an ACK that does not permit window growth to the controller.
    pub(crate) fn notify_without_growth<W: FlowContext>(
        &mut self,
        context: &W,
        packet: &Packet,
        progress: Progress,
    ) {
        self.notify(context, packet, progress, Phase::Recovery);
    }

    /// Passes a duplicate ACK, already counted, to the controller.
    pub(crate) fn notify_duplicate<W: FlowContext>(&mut self, context: &W, packet: &Packet) {
        let progress = Progress { acked: 0, dupacks: self.dupacks };
        self.notify(context, packet, progress, self.phase);
    }

    #[inline(always)]
    fn notify<W: FlowContext>(&mut self, context: &W, packet: &Packet, progress: Progress, phase: Phase) {
        let receiver_time = self.receiver_time(packet);
        let outstanding = (self.next - self.una) as f64;
        let before = outstanding + progress.acked as f64;
        let (prior_in_flight, in_flight) = match self.recovery_state.scoreboard() {
            Some(sack) => (sack.prior_in_flight as f64, self.in_flight() as f64),
            None => (before, outstanding),
        };
        let ece = packet.ece && self.options.ecn;
        let mut ack = Ack {
            now: context.now(),
            newly_acked: progress.acked,
            delivered: progress.acked,
            newly_lost: 0,
            delivered_total: 0,
            lost_total: 0,
            dupacks: progress.dupacks,
            acked_through: (self.una as u64).wrapping_sub(1),
            next: self.next as u64,
            in_flight,
            prior_in_flight,
            rtt: self.sample,
            receiver_time,
            ece,
            rate: None,
            phase,
            may_grow: progress.acked > 0 && phase != Phase::Recovery && !ece,
            paced: self.paced,
            pacing_wait: Span::ZERO,
            window_limited: before + 1.0 > self.controller.cwnd(),
        };
        if progress.acked > 0 {
            ack.rate = self.reports.take_sample(); // a duplicate ACK has none
        }
        self.controller.on_ack(&ack);
    }

    /// The receiver's time in an ACK, if the controller needs it: a multiple of the quantum.
    #[inline]
    pub(crate) fn receiver_time(&self, packet: &Packet) -> Option<Time> {
        self.reports.has(Signals::RECEIVER_TIME).then(|| self.stamp(packet.sent))
    }

    /// A time in the resolution of the timestamp clock.
    pub(crate) fn stamp(&self, at: Time) -> Time {
        let past = at.ps().checked_rem(self.options.timestamp_quantum.ps()).unwrap_or(0);
        Time::from_ps(at.ps() - past)
    }

    pub(crate) fn complete<W: FlowContext>(&mut self, context: &mut W) {
        if self.finished(self.una) && !self.done {
            self.add_limited_time(context.now());
            self.done = true;
            self.completed = context.now();
            for timer in [FlowTimer::Retransmit, FlowTimer::Pace, FlowTimer::Wake] {
                context.set_timer(timer, Time::NEVER);
            }
        }
    }

    // ---- bookkeeping ------------------------------------------------------------------------------------

    fn integrate(&mut self, now: Time) {
        let span = now.since(self.seen_at).seconds();
        self.stats.cwnd_area += self.seen.0 * span;
        self.stats.ssthresh_area += self.seen.1 * span;
        self.seen_at = now;
    }

    /// Called after an event: integrates the window over time and writes the window trace.
    #[inline(always)] // or an ACK pays a call for it
    fn note<W: FlowContext>(&mut self, context: &mut W, trigger: Trigger) {
        let window = (self.controller.cwnd(), self.controller.ssthresh());
        let before = if W::WINDOWS { self.seen } else { window };
        let changed = window != self.seen || matches!(trigger, Trigger::Start | Trigger::Handoff);
        if changed {
            self.integrate(context.now());
            self.seen = window;
        }
        self.note_limit(context.now());
        if !W::WINDOWS {
            return;
        }
        let cause = self.take_cause(trigger, before);
        if changed || matches!(trigger, Trigger::Ack | Trigger::DupAck) {
            let (cwnd, ssthresh) = self.shown_window();
            context.window(&WindowRow {
                flow: self.flow(),
                trigger,
                rtt: self.sample,
                changed,
                cause,
                cwnd,
                ssthresh,
                highest_ack: self.highest_ack(),
                in_flight: self.in_flight(),
                phase: self.phase(),
                under_handoff: self.under_handoff(),
                controller: self.controller(),
            });
        }
    }

    /// The congestion window and the threshold in the window trace, segments.
    pub fn shown_window(&self) -> (f64, f64) {
        self.seen
    }

    /// Called after an event: sets the controller's timer.
    #[inline]
    fn after<W: FlowContext>(&mut self, context: &mut W) {
        if self.reports.has_rate() && !matches!(self.recovery_state, RecoveryState::Rack(_)) {
            self.note_application_limit();
        }
        if self.reports.has(Signals::TIMER) && !self.done {
            let at = self.controller.wake_at();
            if at != context.timer(FlowTimer::Wake) {
                context
                    .set_timer(FlowTimer::Wake, if at == Time::NEVER { at } else { at.max(context.now()) });
            }
        }
    }
}

/// The effect of a new acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Segments newly acknowledged.
    pub acked: u32,
    /// Duplicate ACKs before it.
    pub dupacks: u32,
}
