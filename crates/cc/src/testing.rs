//! Flows and events for tests of controllers.

use crate::{Ack, Arithmetic, Cause, Congestion, FlowInfo, Growth, Phase, SenderState, Timeout};
use units::{Segments, Span, Time};

/// A flow of the profile ns2 with its first window and threshold, segments.
pub fn ns2_flow(cwnd: Segments, ssthresh: Segments) -> FlowInfo {
    let arithmetic = Arithmetic {
        growth: Growth::PerAck,
        integer_windows: false,
        reduce_on_every_timeout: true,
        rfc_variants: false,
    };
    FlowInfo {
        initial_window: cwnd,
        initial_ssthresh: ssthresh,
        max_window: f64::INFINITY,
        arithmetic,
        fine_clock: false,
        abe: false,
        packet: 1000,
        seed: 1,
        hops: 0,
    }
}

/// A flow of the profile linux.
pub fn linux_flow(cwnd: Segments, ssthresh: Segments) -> FlowInfo {
    let arithmetic = Arithmetic {
        growth: Growth::Counted,
        integer_windows: true,
        reduce_on_every_timeout: false,
        rfc_variants: false,
    };
    FlowInfo { arithmetic, ..ns2_flow(cwnd, ssthresh) }
}

/// An ACK of so many new segments, without a round-trip sample.
pub fn ack(newly_acked: u32) -> Ack {
    Ack {
        now: Time::from_ps(1),
        newly_acked,
        newly_delivered: newly_acked,
        newly_lost: 0,
        delivered_total: 0,
        lost_total: 0,
        prior_in_flight: 0.0,
        dupacks: 0,
        acked_through: 0,
        next: 0,
        in_flight: 0.0,
        rtt: None,
        receiver_time: None,
        ece: false,
        ce: 0,
        rate: None,
        sender: SenderState::default(),
        phase: Phase::Open,
        may_grow: newly_acked > 0,
        paced: false,
        pacing_wait: Span::ZERO,
        window_limited: true,
    }
}

/// A loss, with the window that must be reduced, segments.
pub fn congestion(window: Segments) -> Congestion {
    Congestion {
        now: Time::from_ps(2),
        cause: Cause::FastRetransmit,
        window,
        in_flight: window,
        segment_sent: None,
        retransmitted: false,
        dupacks: 3,
    }
}

/// A retransmission timeout; `repeated`: of the same segment as the last one.
pub fn timeout(window: Segments, repeated: bool) -> Timeout {
    Timeout { now: Time::from_ps(3), window, repeated }
}

/// A time span of seconds.
pub fn seconds(s: f64) -> Span {
    Span::from_seconds(s)
}
