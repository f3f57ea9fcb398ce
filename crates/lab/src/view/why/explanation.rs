//! Question and answer of an explanation.

use net::DropReason;
use serde::{Serialize, Serializer};

/// What to explain.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Simulated time, seconds.
    pub at_s: f64,
    /// Name of the flow; `None`: the TCP flow whose window changed last.
    pub flow: Option<&'a str>,
    /// The last reduction, in place of the last change.
    pub cut: bool,
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// The part of the question: `at`, `flow`, or empty.
    pub part: &'static str,
    /// The reason.
    pub message: String,
}

/// The packets of each flow at a link at one time, with the packet in transmission.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueState {
    /// The link.
    pub link: String,
    /// When.
    pub time_s: f64,
    /// Packets by flow, in the order of their first packet at the link.
    #[serde(serialize_with = "as_map")]
    pub packets: Vec<(String, u64)>,
}

/// An event of a packet at a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkEvent {
    /// When.
    pub time_s: f64,
    /// The link; of an ACK with a remark.
    pub link: String,
    /// enqueued, transmitted, delivered, drop.
    pub event: &'static str,
    /// Of a drop.
    pub reason: Option<&'static str>,
    /// Of a transmission: the time since the arrival at the link.
    pub waited_s: Option<f64>,
    /// Of a packet that left a Wi-Fi channel or a cell.
    pub transmission: Option<TransmissionView>,
}

/// The PPDU or the transport block at whose end the receiver released a packet. It arrived in this one or, if it was held
/// for order, in an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransmissionView {
    /// What it is: ppdu, block.
    pub kind: &'static str,
    /// When it began.
    pub begin_s: f64,
    /// Its packets; of a block also parts of packets.
    pub packets: u32,
    /// The number of its attempt, from 1; of a PPDU the highest one of its packets.
    pub attempt: u32,
    /// The part of the channel that it took while it lasted.
    pub share: f64,
    /// Transmissions of other links over the channel since the packet came to the link, before this one began.
    pub others: usize,
    /// Those of the same link.
    pub earlier: usize,
    /// The same in words.
    pub words: String,
}

/// The rule that dropped or marked a packet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleView {
    /// Its name.
    pub kind: &'static str,
    /// The link.
    pub link: String,
    /// When it decided.
    pub time_s: f64,
    /// The values that decided; times in seconds.
    #[serde(serialize_with = "as_map")]
    pub values: Vec<(&'static str, f64)>,
    /// One sentence.
    pub words: String,
}

/// What limits a flow while its window does not change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowLimit {
    /// handshake, complete, no_acks, recovery, application, receive_window, max_cwnd, pacing, window, other.
    pub kind: &'static str,
    /// Time since the last change of the window.
    pub unchanged_s: f64,
    /// One sentence.
    pub words: String,
}

/// The action of a change (`[[change]]`) that keeps the packet of an explanation, or leaves it unmarked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prevention {
    /// When the drop or the mark was decided, seconds.
    pub at_s: f64,
    /// keep_next or unmark_next.
    pub action: &'static str,
    /// The link.
    pub link: String,
    /// Number of the packet.
    pub packet: i64,
}

/// A change of a window and its cause. Windows in segments, times in simulated seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The flow.
    pub flow: String,
    /// Its congestion controller.
    pub control: String,
    /// When the window changed.
    pub time_s: f64,
    /// The event, as in the window trace.
    pub event: &'static str,
    /// The phase after it.
    pub phase: &'static str,
    /// The window before and after it.
    pub cwnd: [f64; 2],
    /// The threshold before and after it; `None` for infinite.
    pub ssthresh: [Option<f64>; 2],
    /// The round-trip sample.
    pub rtt_s: Option<f64>,
    /// Segments in flight after it.
    pub in_flight: f64,
    /// Number of the highest packet acknowledged.
    pub acked: i64,
    /// The cause of a reduction or its undo, as in the window trace; `None` for growth.
    pub change: Option<&'static str>,
    /// The cause in one sentence.
    pub cause: String,
    /// The packet that caused the change: the one acknowledged, lost, or marked.
    pub packet: Option<i64>,
    /// The events of that packet, of all its copies, up to the change.
    pub packet_events: Vec<LinkEvent>,
    /// The rule that dropped or marked it.
    pub rule: Option<RuleView>,
    /// The queue that dropped or marked it.
    pub queue: Option<QueueState>,
    /// What takes the drop or the mark back; `None` if there is none, or if it cannot be taken back.
    pub prevention: Option<Prevention>,
    /// What limits the flow since, if the window has not changed for longer than a round trip.
    pub limit: Option<FlowLimit>,
    /// All of it in words, line by line.
    pub lines: Vec<String>,
}

const PICOSECOND: f64 = 1e-12;

impl Explanation {
    /// The action that takes the last drop of the packet back, or its mark; `None` for a growth, and at links that no change
    /// can name (those of moving satellites).
    pub(super) fn prevention(&self) -> Option<Prevention> {
        let packet = self.packet.filter(|_| self.change.is_some())?;
        let Some(at) = self.packet_events.iter().rposition(|step| step.event == "drop") else {
            let rule = self.rule.as_ref()?;
            return Some(Prevention {
                at_s: rule.time_s,
                action: "unmark_next",
                link: rule.link.clone(),
                packet,
            });
        };
        let drop = &self.packet_events[at];
        let reason = drop.reason.unwrap_or_default();
        let is_one_of = |reasons: &[DropReason]| reasons.iter().any(|one| one.name() == reason);
        if is_one_of(&[DropReason::Handoff, DropReason::Route]) || drop.link.ends_with('*') {
            return None;
        }
        // A loss on the link is decided after the link accepted the packet.
        let accepted = |step: &&LinkEvent| step.event == "enqueued" && step.link == drop.link;
        let on_link = [DropReason::Loss, DropReason::Retry, DropReason::Rlc, DropReason::Handover];
        let accepted = self.packet_events[..at].iter().rfind(accepted).filter(|_| is_one_of(&on_link));
        // A change of the queue can drop waiting packets, and comes before other changes at its time.
        let before = if reason == DropReason::Aqm.name() { PICOSECOND } else { 0.0 };
        let at_s = accepted.map_or(drop.time_s - before, |step| step.time_s);
        Some(Prevention { at_s, action: "keep_next", link: drop.link.clone(), packet })
    }
}

/// Serializes pairs as a map in their order.
fn as_map<K: Serialize, V: Serialize, S: Serializer>(pairs: &[(K, V)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}
