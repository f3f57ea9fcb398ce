//! The outcome of a run: the JSON output, in SI units.

use super::apps::AppOutcome;
use super::drops::Drops;
use super::media_outcome::{CellLinkOutcome, CellOutcome, GrantsOutcome, WifiLinkOutcome, WifiOutcome};
use serde::Serialize;
use std::collections::BTreeMap;

/// The result of a run. Values that do not apply are `null`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// The scenario's title.
    pub title: String,
    /// The seed that ran.
    pub seed: u64,
    /// Simulated time, seconds.
    pub duration_s: f64,
    /// Duration of the warm-up, which all values below exclude, seconds; the key is missing if there is no warm-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup_s: Option<f64>,
    /// Version of engine and models.
    pub version: &'static str,
    /// What carried the flows: `tcp` (simulated, as the scenario describes them), `quic` (simulated; every flow with a
    /// controller is a QUIC flow); in real time `udp`, `linux`, `kernel`.
    pub substrate: &'static str,
    /// One per flow, in the order of the scenario.
    pub flows: Vec<FlowOutcome>,
    /// Two per link, forward then back, in the order of the scenario.
    pub links: Vec<LinkOutcome>,
    /// The radio network, if there is one.
    pub radio: Option<RadioOutcome>,
    /// Satellites, if there are any.
    pub satellite: Option<SatelliteOutcome>,
    /// Wi-Fi channels; absent without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wifi: Vec<WifiOutcome>,
    /// Cells of mobile networks; absent without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cell: Vec<CellOutcome>,
    /// Fairness between flows.
    pub fairness: Fairness,
    /// What the run cost.
    pub engine: EngineCost,
}

/// What the destination of an attached flow has sent.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackOutcome {
    /// Datagrams.
    pub sent_packets: u64,
    /// Bytes of the distinct datagrams that arrived, without the header that the network adds.
    pub delivered_bytes: u64,
    /// Distinct datagrams that arrived, over datagrams sent.
    pub delivery_ratio: Option<f64>,
    /// Datagrams that links dropped, by reason.
    pub dropped_packets: Drops,
    /// Datagrams that arrived with Congestion Experienced.
    pub marked_packets: u64,
    /// Mean one-way delay of those that arrived, seconds.
    pub mean_delay_s: Option<f64>,
    /// Quantiles of it, within 0.8 %, seconds.
    pub p50_delay_s: Option<f64>,
    /// The same at 95 %.
    pub p95_delay_s: Option<f64>,
    /// The same at 99 %.
    pub p99_delay_s: Option<f64>,
}

/// How a flow with `resume` or `jump` has started (RFC 9959).
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResumeOutcome {
    /// Why the controller alone decides since then: `validated`, `rate_limited`, `retreated`, `congestion`, `timeout`, or what
    /// prevented the jump: `nothing_saved`, `expired`, `rtt_not_confirmed`, `small`; `not_yet` if it has not come to that.
    pub why: &'static str,
    /// When each phase began, seconds since the start of the run.
    pub phases_s: PhaseTimes,
    /// The window of the jump, segments; zero without one.
    pub jump: f64,
    /// What was acknowledged of it, and what was in flight before it (PipeSize), segments.
    pub pipe: f64,
    /// The saved values that it used; null without any.
    pub saved: Option<SavedOutcome>,
}

/// When the phases of a start began, seconds since the start of the run; null for a phase that did not come.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseTimes {
    /// The initial window: the path is observed.
    pub reconnaissance: Option<f64>,
    /// The packets of the jump are sent.
    pub unvalidated: Option<f64>,
    /// They are sent, and not all of them are acknowledged.
    pub validating: Option<f64>,
    /// A loss or a mark: the window falls below what was acknowledged.
    pub retreat: Option<f64>,
    /// The controller alone decides.
    pub normal: Option<f64>,
}

/// Saved values of a path.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SavedOutcome {
    /// The window, bytes of payload.
    pub cwnd_bytes: u64,
    /// The smallest round-trip time, seconds.
    pub rtt_s: f64,
}

/// A flow's result.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowOutcome {
    /// Name in the scenario.
    pub name: String,
    /// `tcp`, `quic` or `udp`; `attached` if its ends were outside the simulation.
    pub kind: &'static str,
    /// `quic`; absent for other flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<&'static str>,
    /// Controller.
    pub control: Option<String>,
    /// Loss recovery.
    pub recovery: Option<&'static str>,
    /// Payload delivered in order, without duplicates, over the whole duration, whenever the flow started, bit/s.
    pub goodput_bps: f64,
    /// Bytes on the wire that reached the sink, duplicates included, without the SYN, over the whole duration, bit/s.
    pub throughput_bps: f64,
    /// Payload delivered in order, without duplicates, bytes.
    pub delivered_bytes: u64,
    /// Data packets sent, retransmissions included, without the SYN; QUIC: datagrams sent, those of the handshake included.
    pub sent_packets: u64,
    /// Highest cumulative ACK, in data segments; QUIC: packets acknowledged.
    pub acked_packets: Option<u64>,
    /// Data packets sent again; QUIC: packets declared lost. Null for UDP, as the other values of TCP below.
    pub retransmitted_packets: Option<u64>,
    /// Retransmission timeouts with data outstanding; QUIC: probe timeouts, which reduce no window (RFC 9002).
    pub timeouts: Option<u64>,
    /// Reductions of the window, timeouts included.
    pub window_cuts: Option<u64>,
    /// Times of persistent congestion (RFC 9002 section 7.6); absent for flows without QUIC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_congestion: Option<u64>,
    /// CE marks that ACK frames reported; absent for flows without QUIC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_marks: Option<u64>,
    /// Datagrams of the source that links dropped, by reason; absent unless the flow is `attached`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped_packets: Option<Drops>,
    /// Datagrams of the source that arrived with Congestion Experienced; absent unless the flow is `attached`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked_packets: Option<u64>,
    /// The datagrams of the destination; absent unless the flow is `attached`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back: Option<BackOutcome>,
    /// How and when the connection was lost (RFC 9000 section 10), of the whole run also with a warm-up; null if it was not;
    /// absent for flows without QUIC.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_error: Option<Option<String>>,
    /// True if the connection was lost; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_lost: Option<bool>,
    /// When the connection was lost, seconds since the start of the run; absent if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_lost_s: Option<f64>,
    /// How the flow has started with `resume` or `jump`; absent for other flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeOutcome>,
    /// What the flow has saved of its path, if another one starts with its values; absent for other flows, and if it is too
    /// little to be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<SavedOutcome>,
    /// Time integral of the congestion window over the flow's lifetime divided by the whole duration, segments: small for a
    /// flow that starts late.
    pub mean_cwnd: Option<f64>,
    /// The same of the slow-start threshold, segments; null if it was infinite at any time.
    pub mean_ssthresh: Option<f64>,
    /// Congestion window at the end, segments.
    pub final_cwnd: Option<f64>,
    /// Slow-start threshold at the end, segments.
    pub final_ssthresh: Option<f64>,
    /// Mean of the round-trip samples that the controller receives, seconds: of the newest segment that an ACK covers, unless
    /// one of the covered segments was retransmitted; without the handshake.
    pub mean_rtt_s: Option<f64>,
    /// Smallest of these samples, of the whole run also with a warm-up, seconds.
    pub min_rtt_s: Option<f64>,
    /// Mean one-way delay of data packets that arrived.
    pub mean_delay_s: Option<f64>,
    /// Mean time between arrivals of data packets.
    pub mean_gap_s: Option<f64>,
    /// Sum of the signed delay differences over the number of arrivals, which equals (last - first) / arrivals.
    pub jitter1_s: Option<f64>,
    /// Sum of the absolute delay differences over the number of arrivals.
    pub jitter2_s: Option<f64>,
    /// Distinct data packets that arrived, over data packets sent; after a warm-up, of the packets sent after it.
    pub delivery_ratio: Option<f64>,
    /// Time from the flow's start to the ACK of its last byte, seconds; null without `bytes`, or if it did not end.
    pub completion_s: Option<f64>,
    /// `bytes` of the scenario; absent without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_bytes: Option<u64>,
    /// The least time of a transfer of `bytes` on the empty path, without a handshake or a window, seconds; absent without
    /// `bytes`, and if the path changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ideal_s: Option<f64>,
    /// `completion_s` over `ideal_s`; absent without either.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
    /// What the application of the flow has done; absent without `app`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<Box<AppOutcome>>,
    /// Time from the flow's start to its completion, its stop or the end of the run, without the warm-up, seconds: delivered
    /// bytes over it are the goodput while the flow was there.
    pub active_s: f64,
    /// One-way delay of a full packet on an empty path; null if the path changes (satellites, radio).
    pub base_delay_s: Option<f64>,
    /// Smallest one-way delay of the whole run, with the warm-up; only with `delays = true`, like the quantiles.
    pub min_delay_s: Option<f64>,
    /// Median of the one-way delays: a value that was measured, by rank.
    pub p50_delay_s: Option<f64>,
    /// The delay that 95 % of the packets do not exceed.
    pub p95_delay_s: Option<f64>,
    /// The delay that 99 % of the packets do not exceed.
    pub p99_delay_s: Option<f64>,
    /// Time for which each limit kept the sender from sending more, seconds, by the limit; absent for UDP.
    #[cfg_attr(feature = "schema", schemars(with = "Option<BTreeMap<String, f64>>"))]
    #[serde(serialize_with = "by_limit", skip_serializing_if = "has_no_limits")]
    pub limited_s: [f64; transport::SendLimit::NAMES.len()],
}

fn has_no_limits(limited_s: &[f64; transport::SendLimit::NAMES.len()]) -> bool {
    limited_s.iter().all(|seconds| *seconds == 0.0)
}

/// Times by the name of the limit, as a key.
fn by_limit<S: serde::Serializer>(
    limited_s: &[f64; transport::SendLimit::NAMES.len()],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let names = transport::SendLimit::NAMES.iter().map(|name| name.replace(' ', "_"));
    serializer.collect_map(names.zip(limited_s))
}

/// A link's result: one direction.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkOutcome {
    /// `from->to`.
    pub name: String,
    /// Packets that arrived at its end; `engine.packet_hops` is their sum.
    pub delivered_packets: u64,
    /// Packets dropped, by reason.
    pub dropped_packets: Drops,
    /// Packets marked (ECN).
    pub marked_packets: u64,
    /// Busy time over duration; with a rate that varies, bits sent over bits that the link could have sent.
    pub utilisation: f64,
    /// Time average of the number of packets waiting, without the one in transmission.
    pub mean_queue_packets: f64,
    /// Mean time that a packet waits before its transmission, seconds; packets that the queue drops do not count.
    pub mean_sojourn_s: Option<f64>,
    /// Packets that the queue dropped, at their arrival or later: those with the reasons `queue` and `aqm`.
    pub queue_drops: u64,
    /// Packets that the queue dropped over those that it dropped or passed to the transmitter, 0 to 1; null if there are none.
    pub drop_rate: Option<f64>,
    /// 95th percentile of these times, within 1 %, with packets that the queue dropped later; only with `delays = true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_sojourn_s: Option<f64>,
    /// Delays over a link of Wi-Fi, of a cell or with grants; absent on other links, and without `delays = true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<LinkDelayOutcome>,
    /// The low-latency queue of DualPI2; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_latency: Option<LowLatencyOutcome>,
    /// What the direction has done on its Wi-Fi channel; absent on other links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wifi: Option<Box<WifiLinkOutcome>>,
    /// What the direction has done in its cell; absent on other links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<Box<CellLinkOutcome>>,
    /// What the direction was granted; absent on other links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grants: Option<Box<GrantsOutcome>>,
    /// Packets whose transmission has begun.
    #[serde(skip)]
    pub transmitted_packets: u64,
    /// Whether it is a satellite link without packets; the outcome omits such links.
    #[serde(skip)]
    pub unused: bool,
}

/// The times from the arrival of a packet at the queue until it leaves the receiver, within 1 %.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkDelayOutcome {
    /// Median, seconds.
    pub p50_s: f64,
    /// 95th percentile, seconds.
    pub p95_s: f64,
    /// 99th percentile, seconds.
    pub p99_s: f64,
}

/// What the low-latency queue of DualPI2 has sent.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LowLatencyOutcome {
    /// Packets that it sent.
    pub sent_packets: u64,
    /// Those that it marked (ECN).
    pub marked_packets: u64,
    /// Mean time that they waited, seconds.
    pub mean_sojourn_s: Option<f64>,
    /// 99th percentile of these times, within 1 %; only with `delays = true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_sojourn_s: Option<f64>,
}

/// The results of the radio network. Counts are of data packets, except for the counters of the MAC.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RadioOutcome {
    /// Data packets that were handed to the radio network.
    pub offered_packets: u64,
    /// Distinct data packets that reached the end of their radio path.
    pub received_packets: u64,
    /// Received over offered; null if none was offered.
    pub delivery_ratio: Option<f64>,
    /// Transmissions of routing messages, counted per hop.
    pub routing_packets: u64,
    /// Routing messages over data packets received.
    pub routing_load: Option<f64>,
    /// Mean number of hops of the received packets.
    pub mean_hops: Option<f64>,
    /// MAC counters: frames dropped after the retry limit, failed receptions, unanswered requests, duplicate frames.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::drops::mac_drops"))]
    pub mac_drops: BTreeMap<&'static str, u64>,
    /// Data packets without a delivered copy, by the drop reason of the last copy.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::drops::radio_drops"))]
    pub dropped_packets: BTreeMap<&'static str, u64>,
}

/// The results of the satellite network.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SatelliteOutcome {
    /// Every change of a terminal's satellite after its first, in the order of time.
    pub handoffs: Vec<HandoffOutcome>,
}

/// A hand-off: a change of a terminal's satellite.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HandoffOutcome {
    /// Which terminal.
    pub terminal: String,
    /// When.
    pub time_s: f64,
    /// The satellite before; null if there was none.
    pub from: Option<String>,
    /// The satellite after; null if there is none.
    pub to: Option<String>,
}

/// Fairness between flows.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fairness {
    /// Jain's index of the goodputs of the TCP and QUIC flows (of all flows where there are none); null if all are zero.
    pub jain: Option<f64>,
}

/// What the run cost.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EngineCost {
    /// Events processed.
    pub events: u64,
    /// Packets that crossed a link, summed over links.
    pub packet_hops: u64,
    /// CPU time of the event loop.
    pub cpu_s: f64,
    /// Elapsed time of the event loop.
    pub wall_s: f64,
}

impl Outcome {
    /// The numbers of the outcome that are shares, each from 0 to 1: delivery ratios, utilisations, drop rates.
    pub fn shares(&self) -> impl Iterator<Item = f64> {
        let ratios = self.flows.iter().map(|flow| flow.delivery_ratio);
        let links = self.links.iter().flat_map(|link| [Some(link.utilisation), link.drop_rate]);
        let radio = self.radio.as_ref().and_then(|radio| radio.delivery_ratio);
        ratios.chain(links).chain([radio]).flatten()
    }

    /// As one line of JSON.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// Serialises a value as one line of JSON.
pub fn to_json(value: &impl Serialize) -> String {
    // Numbers, strings and maps with string keys: nothing here can fail to serialise.
    serde_json::to_string(value).unwrap_or_else(|error| unreachable!("outcome: {error}"))
}

/// The goodputs of the flows that adapt to the network, TCP and QUIC; of all flows if there are none.
pub(crate) fn compared_goodputs(flows: &[FlowOutcome]) -> Vec<f64> {
    let adapts = |flow: &&FlowOutcome| matches!(flow.kind, "tcp" | "quic");
    let any = flows.iter().any(|flow| adapts(&flow));
    flows.iter().filter(|flow| !any || adapts(flow)).map(|flow| flow.goodput_bps).collect()
}

/// Jain's index (Jain, Chiu, Hawe 1984) of `x`; none if all are zero.
pub(crate) fn jain(x: &[f64]) -> Option<f64> {
    let (sum, squares) = (x.iter().sum::<f64>(), x.iter().map(|v| v * v).sum::<f64>());
    (squares > 0.0).then(|| sum * sum / (x.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    #[test]
    fn jain_has_its_published_value() {
        assert!((super::jain(&[10.0, 10.0, 20.0]).unwrap() - 0.888889).abs() < 1e-6);
        assert_eq!(super::jain(&[0.0, 0.0]), None);
    }
}
