//! The state of a Linux receiver that decides when it acknowledges.

use super::accurate::EcnCounters;
use super::compression::Compression;
use super::reported::ReportedBlocks;
use super::window_growth::WindowGrowth;
use crate::options::{Options, Recovery, StackProfile};
use net::Ecn;
use units::{Span, Time};

/// What decides whether an ACK is sent at once, after a delay, or combined with others.
#[derive(Clone, Debug)]
pub(super) struct LinuxAcks {
    /// ACKs that are not delayed. Each ACK that is sent counts.
    pub(super) quick: u32,
    /// The delay of ACKs, where it adapts to the arrivals; zero until the first segment in order, or the first of `quick`.
    pub(super) delay: Span,
    pub(super) adapts: bool,
    /// When the last segment in order arrived.
    pub(super) last_data: Time,
    /// When the last ACK was sent.
    pub(super) acked_at: Time,
    /// Something arrived that is not acknowledged.
    pub(super) due: bool,
    /// The next ACK is not delayed.
    pub(super) at_once: bool,
    /// Segments in order that the application has not read: those of the packet that is being processed.
    pub(super) unread: u32,
    /// When a waiting ACK is sent; `Time::NEVER` if none waits.
    pub(super) deadline: Time,
    pub(super) compression: Compression,
    /// The blocks that ACKs report.
    pub(super) reported: ReportedBlocks,
    pub(super) growth: Option<WindowGrowth>,
    /// A segment that is ECN-capable arrived.
    pub(super) capable_seen: bool,
    /// The segments that GRO merges.
    pub(super) merged: Option<Merged>,
    /// The counters of accurate ECN feedback.
    pub(super) counters: Option<Box<EcnCounters>>,
}

/// Segments that arrive at one instant, one after another, with the same ECN field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Merged {
    pub(super) newest: u32,
    pub(super) segments: u64,
    pub(super) ecn: Ecn,
}

impl LinuxAcks {
    /// Most ACKs that are not delayed after a CE mark.
    pub(super) const AFTER_MARK: u32 = 2;

    /// Whether a receiver with these options decides as Linux: in its profile, and with an option that only it has.
    pub(super) fn decide_for(options: &Options) -> bool {
        let delayed = options.moderate_rcvbuf || options.quick_acks > 0 || LinuxAcks::adapts(options);
        options.stack == StackProfile::Linux || options.ack_compression || options.delayed_ack && delayed
    }

    /// Whether the delay of ACKs adapts to the arrivals.
    fn adapts(options: &Options) -> bool {
        options.recovery == Recovery::Rack && options.ack_delay < options.ack_delay_max
    }

    /// The state before the first segment.
    pub(super) fn new(options: &Options) -> LinuxAcks {
        let grows = options.delayed_ack && options.moderate_rcvbuf;
        LinuxAcks {
            quick: 0,
            delay: Span::ZERO,
            adapts: LinuxAcks::adapts(options),
            last_data: Time::ZERO,
            acked_at: Time::ZERO,
            due: false,
            at_once: false,
            unread: 0,
            deadline: Time::NEVER,
            compression: Compression::default(),
            reported: ReportedBlocks::default(),
            growth: grows.then(|| WindowGrowth::new(options.packet)),
            capable_seen: false,
            merged: None,
            counters: options.has_accurate_ecn().then(Box::default),
        }
    }

    /// At least `most` ACKs are not delayed, but no more than half a window has segments.
    pub(super) fn enter_quick(&mut self, options: &Options, most: u32) {
        if options.delayed_ack {
            let window = self.growth.as_ref().map_or(u32::MAX, WindowGrowth::quick_acks);
            self.quick = self.quick.max(most.min(window).min(options.quick_acks));
        }
    }

    /// As [`LinuxAcks::enter_quick`], for the segment that has just arrived too; the delay is the shortest again.
    pub(super) fn leave_delay(&mut self, options: &Options, most: u32) {
        self.enter_quick(options, most);
        self.delay = options.ack_delay;
        self.at_once = true;
    }
}

/// The retransmission timeout of a connection with one round-trip sample.
pub(super) fn timeout(rtt: Option<Span>, options: &Options) -> Span {
    rtt.map_or(options.initial_rto, |rtt| rtt + (rtt * 2).max(options.min_rto))
}
