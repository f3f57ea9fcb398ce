//! The state of a connection at its sender, which all recoveries share: what they read, and the steps that they compose.
//!
//! Segments are numbered from 0; with a handshake, number 0 is the SYN. `una` is the oldest unacknowledged segment,
//! `next` the next segment to send, `high` one past the highest segment ever sent. Windows are in segments. Sources:
//! RFC 5681, 6298, 6582, 6675, 3042; the `ns2` profile follows notes on the behaviour of ns-2.35
//! (docs/validation.md).

mod acks;
mod loss_recovery;
mod output;
mod pacer;
mod reductions;
mod reports;
mod samples;
mod services;
mod stats;

use crate::change::WindowCause;
use crate::options::Options;
use crate::rtt::RttEstimator;
use crate::segments::SentSegments;
use crate::short::ShortSegments;
pub(crate) use acks::Progress;
use cc::{AnyController, Controller, Phase, Signals, WithWindow};
pub(crate) use loss_recovery::{DUP_THRESH, LossRecovery};
pub(crate) use pacer::Pacer;
pub use reports::missing_signal;
pub(crate) use reports::{Reports, Transmission};
pub use stats::SenderStats;
use std::ops::Range;
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
    /// The application has data that it has not written yet: it waits for the moment at which a segment can leave.
    pub more_waiting: bool,
    /// The sizes of the segments that are not full; `None` before the first of them.
    pub short: Option<Box<ShortSegments>>,
    timed_at: Time,
    pub options: Arc<Options>,
    pub reports: Reports,
    pub segments: SentSegments,
    /// The round-trip sample that the controller gets with the ACK.
    pub sample: Option<Span>,
    pub rtt: RttEstimator,
    pub stats: SenderStats,
    pub controller: WithWindow,
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
    /// The time of a segment where the start of the flow sets the pacing rate.
    pub start_interval: Option<Span>,
    /// One past the highest segment sent when the last CWR without a reduction was set.
    answered: u32,
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
            start_interval: None,
            receive_window: options.window,
            window_update: false,
            more_to_write: false,
            more_waiting: false,
            short: None,
            cause: None,
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
            controller: controller.into(),
            options,
        }
    }

    /// The number of segments that may be outstanding: congestion window plus inflation, at most the receiver's
    /// window.
    #[inline]
    pub fn window(&self) -> u32 {
        (self.controller.cwnd() as u32).saturating_add(self.dupwnd).min(self.options.window)
    }

    /// The window, and what limited transmit (RFC 3042) sends beyond it.
    pub fn window_with_limited_transmit(&self) -> u32 {
        let beyond = if self.options.limited_transmit { self.dupacks.min(2) } else { 0 };
        self.window().saturating_add(beyond)
    }

    /// The start of the flow paces with one segment each `interval`, or no longer sets the rate.
    pub fn pace_at(&mut self, interval: Option<Span>) {
        self.start_interval = interval;
        self.paced =
            interval.is_some() || self.options.pacing || self.controller.needs().has(Signals::PACING);
    }

    /// The congestion window, whole segments.
    #[inline]
    pub fn cwnd(&self) -> u32 {
        self.controller.cwnd() as u32
    }

    /// Whether the application has nothing to send.
    #[inline]
    pub fn lacks_data(&self) -> bool {
        self.next >= self.limit && !self.more_waiting
    }

    /// Segments outstanding.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.next - self.una
    }

    /// The numbers of the segments outstanding.
    #[inline]
    pub fn numbers(&self) -> Range<u32> {
        self.una..self.next
    }
}
