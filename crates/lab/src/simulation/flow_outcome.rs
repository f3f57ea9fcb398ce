//! The accounts and outcomes of flows.

use super::account::{ArrivalAccount, FlowAccount, Mean, PortAccount, SenderAccount};
use super::attached::AttachedFlow;
use super::drops::Drops;
use super::endpoints::{FlowSchedule, PathFacts};
use super::outcome::{BackOutcome, FlowOutcome, PhaseTimes, ResumeOutcome, SavedOutcome};
use transport::start::{Phase, SavedPath};
use transport::{Receiver, ReceiverStats, SendLimit, Sender, UdpSource};
use units::{Span, Time};

/// What the outcome of a flow says besides its account: of the whole run also with a warm-up.
pub(super) struct FlowFacts {
    /// The kind in the outcome.
    pub kind: &'static str,
    /// Every one-way delay, seconds, in the order of arrival; empty if not recorded.
    pub delays: Vec<f64>,
    /// Of a flow with a controller.
    pub sender: Option<SenderFacts>,
    /// Of a flow with QUIC.
    pub connection: Option<ConnectionFacts>,
    /// How it started with saved values or a jump.
    pub resume: Option<ResumeOutcome>,
    /// What it has saved of its path.
    pub observed: Option<SavedOutcome>,
}

impl ResumeOutcome {
    /// Of a flow with `packet` bytes of payload in a segment.
    pub(super) fn new(start: &transport::start::Outcome, packet: u32) -> ResumeOutcome {
        let began = |phase: Phase| start.began[phase as usize].map(Time::seconds);
        ResumeOutcome {
            why: start.why.name(),
            phases_s: PhaseTimes {
                reconnaissance: began(Phase::Reconnaissance),
                unvalidated: began(Phase::Unvalidated),
                validating: began(Phase::Validating),
                retreat: began(Phase::Retreat),
                normal: began(Phase::Normal),
            },
            jump: start.jump,
            pipe: start.pipe,
            saved: start.saved.map(|saved| SavedOutcome::new(saved, packet)),
        }
    }
}

impl SavedOutcome {
    /// Of a flow with `packet` bytes of payload in a segment.
    pub(super) fn new(saved: SavedPath, packet: u32) -> SavedOutcome {
        SavedOutcome { cwnd_bytes: (saved.cwnd * f64::from(packet)) as u64, rtt_s: saved.rtt.seconds() }
    }
}

/// What the outcome says of a sender with a controller besides its account.
pub(super) struct SenderFacts {
    pub control: String,
    pub recovery: Option<&'static str>,
    /// Whether the flow has started.
    pub started: bool,
    /// Window and threshold at the end, segments.
    pub cwnd: f64,
    pub ssthresh: f64,
    /// Smallest round-trip sample, if there was one.
    pub min_rtt: Option<Span>,
    /// Time from the start to the completion of a transfer.
    pub completion: Option<Span>,
}

/// What the outcome says of a QUIC connection.
pub(super) struct ConnectionFacts {
    /// How it was lost, in words.
    pub error: Option<String>,
    /// When it was lost.
    pub lost: Option<Time>,
}

/// The delays that a sink has recorded.
pub(super) fn recorded_delays(stats: &ReceiverStats) -> Vec<f64> {
    stats.detail.as_ref().and_then(|detail| detail.delays.clone()).unwrap_or_default()
}

impl ArrivalAccount {
    /// From the counters of a sink.
    pub(super) fn of(stats: &ReceiverStats) -> ArrivalAccount {
        ArrivalAccount {
            packets: stats.packets,
            wire_bytes: stats.wire_bytes,
            distinct: stats.distinct_packets(),
            carried: stats.carried,
            delay: Mean::of_samples(stats.delay_sum, stats.packets),
            gap: Mean::of_samples(
                stats.last_at.since(stats.first_at).seconds(),
                stats.packets.saturating_sub(1), // n arrivals have n - 1 gaps
            ),
            jitter1: Mean::of_samples(stats.last_delay_s - stats.first_delay.seconds(), stats.packets),
            jitter2: Mean::of_samples(stats.jitter_sum, stats.packets),
        }
    }
}

impl FlowSchedule {
    /// The time from the flow's start to its completion, its stop or the end of the first `span` of the run, seconds.
    pub(super) fn active_s(&self, span: Span, completed: Option<Time>) -> f64 {
        let end = (Time::ZERO + span).min(self.stop).min(completed.unwrap_or(Time::NEVER));
        if self.started { end.since(self.start).seconds() } else { 0.0 }
    }
}

/// Payload of a TCP flow delivered in order, without duplicates, bytes.
pub(super) fn delivered_bytes(sender: &Sender, receiver: &Receiver, schedule: &FlowSchedule) -> u64 {
    let received = receiver.in_order();
    let in_order = (received - (sender.options().syn && received > 0) as u32) as u64;
    let complete = schedule.segments.is_some_and(|n| in_order >= n as u64);
    sender.bytes_below(received) - if complete { u64::from(schedule.short) } else { 0 }
}

impl FlowAccount {
    /// Of a TCP flow, in the first `span` of the run.
    pub(super) fn of_tcp(
        sender: &mut Sender,
        receiver: &Receiver,
        schedule: &FlowSchedule,
        span: Span,
    ) -> FlowAccount {
        if schedule.started {
            sender.finish(Time::ZERO + span);
        }
        let (stats, seconds) = (sender.stats(), span.seconds());
        FlowAccount {
            delivered_bytes: delivered_bytes(sender, receiver, schedule),
            sent: stats.sent as u64,
            active_s: schedule.active_s(span, sender.completed()),
            arrivals: ArrivalAccount::of(&receiver.stats),
            sender: Some(SenderAccount {
                acked: sender.acked_segments() as u64,
                retransmitted: stats.retransmitted as u64,
                timeouts: stats.timeouts as u64,
                window_cuts: stats.cwnd_reductions as u64,
                rtt: Mean::of_samples(stats.rtt_sum, stats.rtt_count as u64),
                cwnd: Mean::new(stats.cwnd_area / seconds, seconds),
                ssthresh: Mean::new(stats.ssthresh_area / seconds, seconds),
                limited_s: sender.limited_s(),
            }),
            quic: None,
            ports: None,
        }
    }

    /// Of a UDP flow, in the first `span` of the run.
    pub(super) fn of_udp(
        source: &UdpSource,
        stats: &ReceiverStats,
        schedule: &FlowSchedule,
        span: Span,
    ) -> FlowAccount {
        FlowAccount {
            delivered_bytes: stats.distinct_bytes(),
            sent: source.sent(),
            active_s: schedule.active_s(span, None),
            arrivals: ArrivalAccount::of(stats),
            sender: None,
            quic: None,
            ports: None,
        }
    }

    /// Of an attached flow, in the first `span` of the run. The network does not know what the bytes mean: delivered bytes are
    /// those of the datagrams, without the header that the network adds.
    pub(super) fn of_attached(flow: &AttachedFlow, schedule: &FlowSchedule, span: Span) -> FlowAccount {
        let ports = flow.ports.each_ref().map(|port| port.account(flow.ends.header));
        FlowAccount {
            delivered_bytes: ports[0].received_bytes,
            sent: ports[0].sent,
            active_s: schedule.active_s(span, None),
            arrivals: ports[0].arrivals.clone(),
            sender: None,
            quic: None,
            ports: Some(ports),
        }
    }
}

impl FlowFacts {
    /// Of a TCP flow.
    pub(super) fn of_tcp(sender: &Sender, receiver: &Receiver, schedule: &FlowSchedule) -> FlowFacts {
        let (cwnd, ssthresh) = sender.shown_window();
        let stats = sender.stats();
        let acked = |n: u32| sender.acked_segments() >= n;
        FlowFacts {
            kind: "tcp",
            delays: recorded_delays(&receiver.stats),
            sender: Some(SenderFacts {
                control: sender.controller().name().into(),
                recovery: Some(sender.options().recovery.name()),
                started: schedule.started,
                cwnd,
                ssthresh,
                min_rtt: (stats.rtt_count > 0).then_some(stats.rtt_min),
                completion: sender
                    .completed()
                    .filter(|_| schedule.segments.is_some_and(acked))
                    .map(|at| at.since(schedule.start)),
            }),
            connection: None,
            resume: sender.start_outcome().map(|start| ResumeOutcome::new(start, sender.options().packet)),
            observed: sender
                .observed()
                .map(|observed| SavedOutcome::new(observed.path, sender.options().packet)),
        }
    }

    /// Of a flow without a controller.
    pub(super) fn of_datagrams(kind: &'static str, stats: &ReceiverStats) -> FlowFacts {
        FlowFacts {
            kind,
            delays: recorded_delays(stats),
            sender: None,
            connection: None,
            resume: None,
            observed: None,
        }
    }
}

impl FlowOutcome {
    /// The outcome of the flow called `name` over `seconds`, in which it has counted `account`.
    pub(super) fn new(
        name: &str,
        path: &PathFacts,
        account: &FlowAccount,
        facts: FlowFacts,
        seconds: f64,
    ) -> FlowOutcome {
        let FlowFacts { kind, delays, sender: facts, connection, resume, observed } = facts;
        let (arrivals, sender) = (&account.arrivals, account.sender.as_ref());
        let rate = |bytes: u64| bytes as f64 * 8.0 / seconds;
        // What was sent in the warm-up and arrived after it is not part of what was sent after it.
        let arrived = arrivals.distinct - arrivals.carried;
        let over_time = |mean: &Mean| mean.value().filter(|_| facts.as_ref().is_some_and(|s| s.started));
        let finite = |value: f64| value.is_finite().then_some(value);
        let late = delays.len().saturating_sub(arrivals.packets as usize);
        const PARTS: [f64; 3] = [0.5, 0.95, 0.99];
        let ports = account.ports.as_ref();
        let quantiles = match ports {
            Some([port, _]) if delays.is_empty() => PARTS.map(|part| port.delays.quantile(part)),
            _ => quantiles(&delays[late..], PARTS),
        };
        let completion_s = facts.as_ref().and_then(|s| s.completion).map(Span::seconds);
        let ideal_s = (path.ideal > Span::ZERO).then(|| path.ideal.seconds());
        FlowOutcome {
            name: name.into(),
            kind,
            transport: connection.as_ref().map(|_| "quic"),
            control: facts.as_ref().map(|s| s.control.clone()),
            recovery: facts.as_ref().and_then(|s| s.recovery),
            goodput_bps: rate(account.delivered_bytes),
            throughput_bps: rate(arrivals.wire_bytes),
            delivered_bytes: account.delivered_bytes,
            sent_packets: account.sent,
            acked_packets: sender.map(|s| s.acked),
            retransmitted_packets: sender.map(|s| s.retransmitted),
            timeouts: sender.map(|s| s.timeouts),
            window_cuts: sender.map(|s| s.window_cuts),
            persistent_congestion: account.quic.as_ref().map(|quic| quic.persistent_congestion),
            ce_marks: account.quic.as_ref().map(|quic| quic.ce_marks),
            dropped_packets: ports.map(|[port, _]| Drops(port.dropped)),
            marked_packets: ports.map(|[port, _]| port.marked),
            back: ports.map(|[_, port]| BackOutcome::new(port)),
            connection_lost: connection.as_ref().and_then(|c| c.lost).map(|_| true),
            connection_lost_s: connection.as_ref().and_then(|c| c.lost).map(Time::seconds),
            connection_error: connection.map(|c| c.error),
            resume,
            observed,
            mean_cwnd: sender.and_then(|s| over_time(&s.cwnd)),
            mean_ssthresh: sender.and_then(|s| over_time(&s.ssthresh)),
            final_cwnd: facts.as_ref().and_then(|s| finite(s.cwnd)),
            final_ssthresh: facts.as_ref().and_then(|s| finite(s.ssthresh)),
            mean_rtt_s: sender.and_then(|s| s.rtt.value()),
            min_rtt_s: facts.as_ref().and_then(|s| s.min_rtt).map(Span::seconds),
            mean_delay_s: arrivals.delay.value(),
            mean_gap_s: arrivals.gap.value(),
            jitter1_s: arrivals.jitter1.value(),
            jitter2_s: arrivals.jitter2.value(),
            delivery_ratio: (account.sent > 0).then(|| arrived as f64 / account.sent as f64),
            completion_s,
            transfer_bytes: None,
            ideal_s,
            slowdown: completion_s.zip(ideal_s).map(|(time, ideal)| time / ideal),
            app: None,
            active_s: account.active_s,
            base_delay_s: path.empty.map(Span::seconds),
            min_delay_s: delays.iter().copied().reduce(f64::min),
            p50_delay_s: quantiles[0],
            p95_delay_s: quantiles[1],
            p99_delay_s: quantiles[2],
            limited_s: sender.map_or([0.0; SendLimit::NAMES.len()], |s| s.limited_s),
        }
    }
}

impl BackOutcome {
    fn new(port: &PortAccount) -> BackOutcome {
        let arrived = port.received - port.arrivals.carried;
        BackOutcome {
            sent_packets: port.sent,
            delivered_bytes: port.received_bytes,
            delivery_ratio: (port.sent > 0).then(|| arrived as f64 / port.sent as f64),
            dropped_packets: Drops(port.dropped),
            marked_packets: port.marked,
            mean_delay_s: port.arrivals.delay.value(),
            p50_delay_s: port.delays.quantile(0.5),
            p95_delay_s: port.delays.quantile(0.95),
            p99_delay_s: port.delays.quantile(0.99),
        }
    }
}

/// Of each part the smallest value that is not exceeded by at least this part of the values; none without values.
fn quantiles<const N: usize>(values: &[f64], parts: [f64; N]) -> [Option<f64>; N] {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = |part: f64| (part * sorted.len() as f64).ceil().max(1.0) as usize - 1;
    parts.map(|part| sorted.get(rank(part)).copied())
}

#[cfg(test)]
mod tests {
    #[test]
    fn quantiles_are_values_that_were_measured() {
        let delays: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(super::quantiles(&delays, [0.5, 0.95, 0.99]), [100.0, 190.0, 198.0].map(Some));
        assert_eq!(super::quantiles(&[], [0.5, 0.99]), [None, None]);
    }
}
