//! The outcomes of flows.

use super::attached::AttachedFlow;
use super::endpoints::FlowSchedule;
use super::outcome::FlowOutcome;
use transport::{Receiver, ReceiverStats, Sender, UdpSource};
use units::{Span, Time};

/// What the outcome of a flow needs besides its endpoints.
pub(super) struct FlowFacts<'a> {
    pub name: &'a str,
    /// The delay of a full packet if the path is empty.
    pub empty_delay: Option<Span>,
    pub schedule: &'a FlowSchedule,
    /// The part of the run, from its start.
    pub span: Span,
}

impl FlowFacts<'_> {
    /// A mean of an integral over the time of the run; none for a flow that has not started.
    pub fn mean(&self, area: f64) -> Option<f64> {
        (self.schedule.started && area.is_finite()).then(|| area / self.span.seconds())
    }

    /// The rate of so many bytes, bit/s.
    pub fn rate(&self, bytes: u64) -> f64 {
        bytes as f64 * 8.0 / self.span.seconds()
    }

    /// The time from the flow's start to its completion, its stop or the end, s.
    fn active_s(&self, completed: Option<Time>) -> f64 {
        let end = (Time::ZERO + self.span).min(self.schedule.stop).min(completed.unwrap_or(Time::NEVER));
        if self.schedule.started { end.since(self.schedule.start).seconds() } else { 0.0 }
    }

    /// The values from the counters of a sink and the number of packets sent to it: delivery ratio, throughput, delay,
    /// interarrival time, delay variation. `completed`: when the last byte of the flow was acknowledged.
    pub fn arrivals(&self, stats: &ReceiverStats, sent: u64, completed: Option<Time>) -> FlowOutcome {
        let n = stats.packets as f64;
        let some = stats.packets > 0;
        let mut flow = FlowOutcome {
            name: self.name.into(),
            active_s: self.active_s(completed),
            sent_packets: sent,
            distinct_packets: [stats.distinct_packets(), stats.carried],
            wire_bytes: stats.wire_bytes,
            throughput_bps: self.rate(stats.wire_bytes),
            mean_delay_s: some.then(|| stats.delay_sum / n),
            mean_gap_s: (stats.packets > 1)
                .then(|| stats.last_at.since(stats.first_at).seconds() / (n - 1.0)),
            jitter1_s: some.then(|| (stats.last_delay_s - stats.first_delay.seconds()) / n),
            jitter2_s: some.then(|| stats.jitter_sum / n),
            base_delay_s: self.empty_delay.map(Span::seconds),
            arrived_packets: stats.packets,
            delays: stats.detail.as_ref().and_then(|detail| detail.delays.clone()).unwrap_or_default(),
            ..FlowOutcome::default()
        };
        flow.set_delivery_ratio();
        flow.rank_delays();
        flow
    }
}

/// A value that is shown only if it is finite.
pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Payload of a TCP flow delivered in order, without duplicates, bytes.
pub(super) fn delivered_bytes(sender: &Sender, receiver: &Receiver, schedule: &FlowSchedule) -> u64 {
    let received = receiver.in_order();
    let in_order = (received - (sender.options().syn && received > 0) as u32) as u64;
    let complete = schedule.segments.is_some_and(|n| in_order >= n as u64);
    in_order * sender.options().packet as u64 - if complete { schedule.short } else { 0 }
}

/// The outcome of a TCP flow.
pub(super) fn tcp_outcome(sender: &mut Sender, receiver: &Receiver, facts: &FlowFacts) -> FlowOutcome {
    let schedule = facts.schedule;
    if schedule.started {
        sender.finish(Time::ZERO + facts.span);
    }
    let (options, stats) = (sender.options(), sender.stats());
    let delivered = delivered_bytes(sender, receiver, schedule);
    let (cwnd, ssthresh) = sender.shown_window();
    FlowOutcome {
        kind: "tcp",
        control: Some(sender.controller().name().into()),
        recovery: Some(options.recovery.name()),
        goodput_bps: facts.rate(delivered),
        delivered_bytes: delivered,
        acked_packets: Some(sender.acked_segments() as u64),
        retransmitted_packets: Some(stats.retransmitted as u64),
        timeouts: Some(stats.timeouts as u64),
        window_cuts: Some(stats.cwnd_reductions as u64),
        mean_cwnd: facts.mean(stats.cwnd_area),
        mean_ssthresh: facts.mean(stats.ssthresh_area),
        final_cwnd: finite(cwnd),
        final_ssthresh: finite(ssthresh),
        mean_rtt_s: (stats.rtt_count > 0).then(|| stats.rtt_sum / stats.rtt_count as f64),
        min_rtt_s: (stats.rtt_count > 0).then(|| stats.rtt_min.seconds()),
        rtt_samples: stats.rtt_count as u64,
        limited_s: sender.limited_s(),
        completion_s: sender
            .completed()
            .filter(|_| schedule.segments.is_some_and(|n| sender.acked_segments() >= n))
            .map(|at| at.since(schedule.start).seconds()),
        ..facts.arrivals(&receiver.stats, stats.sent as u64, sender.completed())
    }
}

/// The outcome of a UDP flow.
pub(super) fn udp_outcome((source, stats): &(UdpSource, ReceiverStats), facts: &FlowFacts) -> FlowOutcome {
    let delivered = stats.distinct_bytes();
    FlowOutcome {
        kind: "udp",
        goodput_bps: facts.rate(delivered),
        delivered_bytes: delivered,
        ..facts.arrivals(stats, source.sent(), None)
    }
}

/// The outcome of an attached flow. The network does not know what the bytes mean: goodput and delivered bytes are those of the
/// datagrams, without the header that the network adds.
pub(super) fn attached_outcome(flow: &AttachedFlow, facts: &FlowFacts) -> FlowOutcome {
    let stats = &flow.stats;
    let delivered = stats.distinct_bytes() - stats.distinct_packets() * flow.header as u64;
    FlowOutcome {
        kind: "attached",
        goodput_bps: facts.rate(delivered),
        delivered_bytes: delivered,
        ..facts.arrivals(stats, flow.sent[0] as u64, None)
    }
}
