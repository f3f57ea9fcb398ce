//! Notifications of a controller besides ACKs, and the sampler of the delivery rate: each only if the controller needs it. And
//! the signals that the options of a flow provide.

use crate::options::{EcnFeedback, Options, Recovery};
use crate::rate::RateSampler;
use cc::{
    Controller, Delivered, Lost, Provision, RateSample, Sent, SignalRule, Signals, TransmitStart, WithWindow,
};
use net::Packet;
use units::{Span, Time};

/// The signals of a controller, and the rate sampler if it has samples of the delivery rate.
#[derive(Clone, Debug)]
pub(crate) struct Reports {
    rate: Option<Box<RateSampler>>,
    needs: Signals,
}

/// A transmission of a segment.
pub(crate) struct Transmission {
    pub seq: u32,
    pub now: Time,
    /// Whether the segment was sent before.
    pub retransmission: bool,
    /// The oldest segment that is not acknowledged.
    pub una: u32,
    /// Segments marked as lost so far.
    pub lost: u64,
    /// Segments in flight before it and with it.
    pub in_flight: [u32; 2],
}

impl Reports {
    pub(crate) fn new(needs: Signals) -> Reports {
        Reports { rate: needs.has(Signals::RATE).then(Box::default), needs }
    }

    /// Whether the controller needs a signal.
    #[inline]
    pub(crate) fn has(&self, signal: Signals) -> bool {
        self.needs.has(signal)
    }

    /// The receiver's time in an ACK, if the controller needs it: a multiple of the quantum of its clock.
    #[inline]
    pub(crate) fn receiver_time(&self, options: &Options, packet: &Packet) -> Option<Time> {
        self.has(Signals::RECEIVER_TIME).then(|| options.stamp(packet.sent))
    }

    /// Whether there are rate samples.
    #[inline]
    pub(crate) fn has_rate(&self) -> bool {
        self.rate.is_some()
    }

    /// Whether rate samples of segments sent now count as limited by the application; `None` without rate samples.
    pub(crate) fn app_limited(&self) -> Option<bool> {
        self.rate.as_ref().map(|rate| rate.app_limited())
    }

    /// Begins rate samples if a later controller needs them; before the flow starts.
    pub(crate) fn prepare(&mut self, needs: Signals) {
        if needs.has(Signals::RATE) && self.rate.is_none() {
            self.rate = Some(Box::default());
        }
    }

    /// Another controller takes over.
    pub(crate) fn change(&mut self, needs: Signals) {
        self.needs = needs;
    }

    /// Notifies the controller of segments that were marked as lost; `lost` and `delivered` are the counts after it.
    pub(crate) fn losses(
        &self,
        controller: &mut WithWindow,
        now: Time,
        segments: &[u32],
        [lost, delivered]: [u64; 2],
    ) {
        let Some(rate) = &self.rate else { return };
        let before = lost - segments.len() as u64;
        for (index, seq) in segments.iter().enumerate() {
            let (tx_in_flight, earlier, app_limited) = rate.sent_state(*seq);
            let total = before + 1 + index as u64;
            controller.on_lost(&Lost {
                now,
                seq: *seq as u64,
                tx_in_flight,
                lost: (total as u32).wrapping_sub(earlier) as u64,
                delivered_total: delivered,
                app_limited,
                starts_range: index == 0 || segments[index - 1] + 1 != *seq,
            });
        }
    }

    /// Notifies the controller that transmission starts with nothing in flight.
    pub(crate) fn transmit_start(&self, controller: &mut WithWindow, now: Time, last_sent: Time) {
        let app_limited = self.rate.as_ref().is_some_and(|rate| rate.app_limited());
        controller.on_transmit_start(&TransmitStart { now, idle: now.since(last_sent), app_limited });
    }

    /// Whether transmissions are reported, with [`Reports::sent`].
    #[inline]
    pub(crate) fn reports_sent(&self) -> bool {
        self.rate.is_some() || self.needs.has(Signals::SENT)
    }

    /// A segment is sent.
    #[inline(never)] // most controllers need neither
    pub(crate) fn sent(&mut self, controller: &mut WithWindow, t: &Transmission) {
        let [in_flight, with] = t.in_flight;
        if let Some(rate) = &mut self.rate {
            rate.on_send(t.una, t.seq, t.now, in_flight, t.lost, t.retransmission);
        }
        if self.needs.has(Signals::SENT) {
            let seq = t.seq as u64;
            controller.on_sent(&Sent { now: t.now, seq, in_flight: with, retransmission: t.retransmission });
        }
    }

    /// Segment `seq` is delivered.
    #[inline]
    pub(crate) fn delivered(&mut self, controller: &mut WithWindow, seq: u32, now: Time) {
        let Some(rate) = &mut self.rate else { return };
        rate.on_segment(seq, now);
        if self.needs.has(Signals::DELIVERIES) {
            let sent = rate.sent_at(seq);
            controller.on_delivered(&Delivered { now, seq: seq as u64, sent, rtt: now.since(sent) });
        }
    }

    /// Everything from `una` to below `to` is delivered; the sampler keeps the sample for the controller.
    #[inline]
    pub(crate) fn delivered_below(&mut self, una: u32, to: u32, now: Time) {
        if let Some(rate) = &mut self.rate {
            rate.on_delivered(una, to, now);
        }
    }

    /// The sample that [`Reports::delivered_below`] kept; once.
    #[inline]
    pub(crate) fn take_sample(&mut self) -> Option<RateSample> {
        self.rate.as_mut().and_then(|rate| rate.take_sample())
    }

    /// The sample of an ACK, with the counts of segments that the scoreboard keeps.
    #[inline]
    pub(crate) fn sample(
        &mut self,
        now: Time,
        min_rtt: Option<Span>,
        delivered: u64,
        lost: u64,
    ) -> Option<RateSample> {
        let rate = self.rate.as_mut()?;
        rate.set_delivered(delivered);
        rate.sample(now, min_rtt, lost)
    }

    /// Segments delivered since the newest segment of the current ACK was sent, if there are rate samples. `delivered`: those
    /// until now.
    pub(crate) fn since_sent(&mut self, delivered: u64) -> Option<u64> {
        let rate = self.rate.as_mut()?;
        rate.set_delivered(delivered);
        rate.since_sent()
    }

    /// The handshake is complete: `delivered` segments, the SYN, are delivered before the first data leaves.
    pub(crate) fn handshake(&mut self, delivered: u64) {
        if let Some(rate) = &mut self.rate {
            rate.set_delivered(delivered);
        }
    }

    /// The application limits the sender: samples count as such until what is in flight is delivered.
    pub(crate) fn application_limits(&mut self, in_flight: u32) {
        if let Some(rate) = &mut self.rate {
            rate.on_app_limited(in_flight);
        }
    }
}

const RULES: &[SignalRule<Options>] = &[
    SignalRule {
        signal: Signals::ECN_PER_PACKET,
        provided: |options| options.ecn && options.ecn_feedback != EcnFeedback::Classic,
        optional: false,
        missing: "needs marks per packet: write ecn = true and ecn_feedback = \"per_packet\" or \"accurate\"",
    },
    SignalRule {
        signal: Signals::L4S,
        provided: |options| options.l4s,
        optional: false,
        missing: "needs packets with ECT(1): write l4s = true",
    },
    SignalRule {
        signal: Signals::SEGMENT_COUNTS,
        provided: |options| options.recovery == Recovery::Rack,
        optional: false,
        missing: "needs counts of delivered and lost segments: write recovery = \"rack\"",
    },
    SignalRule {
        signal: Signals::RECEIVER_TIME,
        provided: Options::receiver_time,
        optional: false,
        missing: "needs the receiver's clock: write timestamps = true",
    },
    SignalRule {
        signal: Signals::LOSSES,
        provided: |options| options.recovery == Recovery::Rack,
        optional: false,
        missing: "needs each lost segment: write recovery = \"rack\"",
    },
    SignalRule {
        signal: Signals::DELIVERIES,
        provided: |options| options.recovery == Recovery::Rack,
        optional: false,
        missing: "needs each delivered segment: write recovery = \"rack\"",
    },
];

/// The signals that every sender provides. Those of routers depend on the path; without a fine clock a controller does not
/// retransmit by itself.
const ALWAYS: Signals = Signals::RATE
    .and(Signals::SENT)
    .and(Signals::SAMPLES)
    .and(Signals::PACING)
    .and(Signals::TIMER)
    .and(Signals::FINE_CLOCK)
    .and(Signals::ROUTER_RATE)
    .and(Signals::ROUTER_FEEDBACK);

/// What a controller that needs `needs` misses with these options, after its name; `None` if nothing.
pub fn missing_signal(needs: Signals, options: &Options) -> Option<&'static str> {
    Provision { always: ALWAYS, rules: RULES }.missing(needs, options)
}
