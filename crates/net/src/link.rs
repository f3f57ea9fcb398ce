//! A unidirectional link: a queue, a transmitter, then propagation.

use crate::impairment::{Effect, Impair, Impairment};
use crate::packet::Packet;
use crate::qdisc::Qdisc;
use crate::qdisc::scheduled::LowLatency;
use crate::quick_start::{QuickStartConfig, QuickStartRouter};
use crate::rcp::{RcpConfig, RcpRouter};
use crate::rule::Rule;
use crate::service::{Service, Unsent};
use crate::tap::DropReason;
use crate::xcp::{XcpConfig, XcpRouter};
use engine::LaneHint;
use params::{Model, Values};
use units::{Rate, Span, Time};

/// The configuration of a link.
#[derive(Clone, Debug, Default)]
pub struct LinkSpec {
    /// Bits per second.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Its queue.
    pub qdisc: Qdisc,
    /// Its impairments.
    pub impairments: Vec<Impairment>,
    /// The algorithm of the router in front of the link, if the router sends feedback to senders.
    pub router: Option<RouterConfig>,
}

/// The feedback that a router sends to senders.
#[derive(Clone, Debug, PartialEq)]
pub enum RouterConfig {
    /// RCP: one rate for all flows.
    Rcp(RcpConfig),
    /// XCP: a rate change per packet.
    Xcp(XcpConfig),
    /// Quick-Start: the initial rate.
    QuickStart(QuickStartConfig),
}

/// A router that a link can have: its keys, and its configuration.
#[derive(Debug)]
pub struct RouterKind {
    /// Its keys.
    pub model: Model,
    /// The configuration with these values.
    pub config: fn(&Values) -> RouterConfig,
}

/// All routers.
pub const ROUTERS: &[RouterKind] = &[
    RouterKind {
        model: params::model!("router", "rcp", "grants one rate to all flows", "", [RcpConfig::KEYS]),
        config: |values| RouterConfig::Rcp(RcpConfig::new(values)),
    },
    RouterKind {
        model: params::model!(
            "router",
            "xcp",
            "changes the rate of each packet's flow",
            "",
            [XcpConfig::KEYS]
        ),
        config: |values| RouterConfig::Xcp(XcpConfig::new(values)),
    },
    RouterKind {
        model: params::model!(
            "router",
            "quick_start",
            "approves initial rates (RFC 4782)",
            "",
            [QuickStartConfig::KEYS]
        ),
        config: |values| RouterConfig::QuickStart(QuickStartConfig::new(values)),
    },
];

impl RouterConfig {
    /// Its name in diagrams.
    pub fn title(&self) -> &'static str {
        match self {
            RouterConfig::Rcp(_) => "RCP",
            RouterConfig::Xcp(_) => "XCP",
            RouterConfig::QuickStart(_) => "Quick-Start",
        }
    }
}

/// The state of a router.
#[derive(Clone, Debug)]
pub(crate) enum Router {
    Rcp(RcpRouter),
    Xcp(XcpRouter),
    QuickStart(QuickStartRouter),
}

impl Router {
    pub fn new(config: RouterConfig, rate: Rate) -> Router {
        match config {
            RouterConfig::Rcp(config) => Router::Rcp(RcpRouter::new(config, rate)),
            RouterConfig::Xcp(config) => Router::Xcp(XcpRouter::new(config, rate)),
            RouterConfig::QuickStart(config) => Router::QuickStart(QuickStartRouter::new(config, rate)),
        }
    }

    /// Processes a packet and updates its header fields. `free_at` is the time at which the transmitter becomes idle.
    pub fn process(&mut self, now: Time, free_at: Time, packet: &mut Packet) {
        match self {
            Router::Rcp(router) => {
                if let Some(header) = router.process(now, free_at, packet) {
                    packet.set_rate_header(header);
                }
            }
            Router::QuickStart(router) => {
                if let Some(header) = router.process(now, packet) {
                    packet.set_rate_header(header);
                }
            }
            Router::Xcp(router) => {
                if let Some(header) = router.process(now, free_at, packet) {
                    packet.set_xcp_header(header);
                }
            }
        }
    }
}

/// The part of a link that every packet accesses: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Link {
    /// Time at which the transmitter has sent everything that the link has accepted.
    pub free_at: Time,
    pub delay: Span,
    /// The last packet size and its transmission time: most packets of a direction have the same size.
    memo_time: Span,
    memo_size: u32,
    pub hint: LaneHint,
    /// Index of its queue, impairment and router; `NO_INGRESS` if it has none of them.
    pub ingress: u32,
    /// Whether all packets come from one other link, so the hop needs no event: see [`crate::Network::complete_routes`].
    pub fused: bool,
    /// Whether a discipline is asked at each departure.
    pub scheduled: bool,
    /// Packets accepted.
    pub accepted: u64,
    /// Transmission time of what was accepted, up to the horizon.
    pub busy: Span,
    /// Sum of waiting times up to the horizon, ps, modulo 2^64: [`crate::links::Links::waited`] is the whole sum.
    pub waited: u64,
}

const _: () = assert!(size_of::<Link>() == 64);

pub(crate) const NO_INGRESS: u32 = u32::MAX;

impl LinkSpec {
    /// Whether the link has a limited queue, an impairment or a router.
    pub(crate) fn guarded(&self) -> bool {
        !matches!(self.qdisc, Qdisc::Unlimited) || !self.impairments.is_empty() || self.router.is_some()
    }
}

impl Link {
    /// Adds to the sum of waiting times; returns whether it has passed 2^64 ps.
    #[inline(always)] // or a packet pays a call for it
    pub fn add_waited(&mut self, time: Span) -> bool {
        let (sum, over) = self.waited.overflowing_add(time.ps());
        self.waited = sum;
        over
    }

    pub fn new(spec: &LinkSpec, hint: LaneHint) -> Link {
        Link {
            free_at: Time::ZERO,
            delay: spec.delay,
            memo_time: Span::ZERO,
            memo_size: 0,
            hint,
            ingress: NO_INGRESS,
            fused: false,
            scheduled: false,
            accepted: 0,
            busy: Span::ZERO,
            waited: 0,
        }
    }

    /// The transmission time of `size` bytes. `rate` is called only for a new size.
    #[inline]
    pub fn transmission_time(&mut self, size: u32, rate: impl FnOnce() -> Rate) -> Span {
        if size != self.memo_size {
            self.remember(size, rate());
        }
        self.memo_time
    }

    #[cold]
    #[inline(never)] // or its multiplications are done for every packet, in advance
    fn remember(&mut self, size: u32, rate: Rate) {
        self.memo_size = size;
        self.memo_time = rate.time_for(size as u64);
    }
}

/// The queue, impairment and router of a link, for links that have one of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct IngressState {
    pub qdisc: Qdisc,
    pub impairments: Vec<Impairment>,
    pub router: Option<Box<Router>>,
    /// Queue and transmitter of a scheduled link; then `qdisc` is not used.
    pub service: Option<Box<Service>>,
    pub drops: [u64; DropReason::ALL.len()],
    /// Lost packets whose departure lies beyond the horizon: still in flight when the run ends.
    pub lost_later: u64,
    pub marked: u64,
    /// Arrival of the last packet that must not be overtaken, or that left the transmitter.
    pub last_arrival: Time,
}

impl IngressState {
    /// The earliest time from `at` on at which no stall forbids a transmission to begin.
    #[inline(never)] // most links have none
    pub fn after_stalls(&self, mut at: Time) -> Time {
        // A stall may end within another one.
        while let Some(end) = self.impairments.iter().find_map(|i| i.stalled_until(at)) {
            at = end;
        }
        at
    }

    /// Passes a packet that arrives to the impairments; `effect` becomes what they do to it. Returns the reason if it is
    /// dropped. A copy of a packet is not subject to scripts.
    #[inline(never)] // most links have none
    pub fn impair(
        &mut self,
        now: Time,
        packet: &Packet,
        copy: bool,
        effect: &mut Effect,
    ) -> Option<DropReason> {
        if copy {
            // It follows its original: `effect` is that of the original.
            (effect.duplicate, effect.mark) = (false, false);
            return None;
        }
        *effect = Effect::default();
        let mut refused = None;
        for impairment in &mut self.impairments {
            // A dropped packet takes no tokens.
            if refused.is_none() || !matches!(impairment, Impairment::Policer(_)) {
                refused = refused.or(impairment.before(now, packet, effect));
            }
        }
        refused
    }

    /// Whether the link loses the next packet after the queue.
    #[inline(never)] // most links have no impairments
    pub fn loses(&mut self) -> bool {
        self.impairments.iter_mut().fold(false, |lost, impairment| impairment.after() | lost)
    }

    /// Why `packet` was dropped for this reason at `now`, before the queue or on the link, or by a queue that is not asked
    /// at each departure.
    pub fn rule(&self, now: Time, packet: &Packet, reason: DropReason) -> Option<Rule> {
        if reason == DropReason::Queue {
            return self.qdisc.rule(packet.size, true);
        }
        let mut rules = self.impairments.iter().filter_map(|impairment| impairment.rule(now, packet, reason));
        let mut first = rules.next()?;
        if let Rule::Loss(processes) = &mut first {
            // Each process draws for every packet, so any of them may have lost this one.
            for rule in rules {
                if let Rule::Loss(others) = rule {
                    processes.extend(others);
                }
            }
        }
        Some(first)
    }

    /// Number of packets that wait in the queue of a scheduled link.
    pub fn waiting(&self) -> u64 {
        self.service.as_ref().map_or(0, |service| service.waiting())
    }

    /// The time at which a packet arrives at the far end that would arrive at `arrival` without `effect`, and whether that is
    /// the time of the packet before it.
    pub fn displaced(&mut self, arrival: Time, effect: &Effect) -> (Time, bool) {
        if !effect.ordered {
            return (arrival + effect.delay, false);
        }
        let last = self.last_arrival;
        self.last_arrival = last.max(arrival + effect.jitter);
        (self.last_arrival + effect.delay, self.last_arrival == last)
    }

    /// Whether packets can overtake each other on the link.
    pub fn reorders(&self) -> bool {
        self.impairments.iter().any(Impair::reorders)
    }
}

/// The packet counts of a link at the end of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkAccount {
    /// Packets offered to the link: delivered + dropped + in_flight.
    pub offered: u64,
    /// Packets that the queue took.
    pub accepted: u64,
    /// Packets whose transmission has begun.
    pub transmitted: u64,
    /// Packets that arrived at the far end.
    pub delivered: u64,
    /// Dropped packets by reason, in the order of [`DropReason::ALL`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Waiting, in transmission or in propagation when the run ended.
    pub in_flight: u64,
    /// Packets marked (ECN).
    pub marked: u64,
    /// Busy time over duration, 0 to 1; of a varying transmitter the bits sent over those that it could have sent.
    pub utilisation: f64,
    /// The denominator of the utilisation: the duration, or the time that those bits take at the nominal rate, s.
    pub offered_s: f64,
    /// Time mean of the number of packets waiting.
    pub mean_queue_packets: f64,
    /// Mean time that the transmitted packets waited before their transmission, seconds; none if there are none.
    pub mean_sojourn_s: Option<f64>,
    /// 95th percentile of the waiting times, also of packets dropped after their queue had accepted them, seconds; none
    /// without [`crate::Links::record_sojourns`].
    pub p95_sojourn_s: Option<f64>,
    /// Of a link of a medium the median and the 95th and 99th percentiles of the times from the arrival of a packet at the queue
    /// until it leaves the receiver, seconds; none without [`crate::Links::record_sojourns`].
    pub delays_s: Option<[f64; 3]>,
    /// What the low-latency queue of DualPI2 has done.
    pub low_latency: Option<LowLatency>,
}

/// What a link has already counted for times after the end of the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beyond {
    pub accepted: u64,
    pub delivered: u64,
    pub dropped: [u64; DropReason::ALL.len()],
    pub busy: Span,
    pub waited: u128,
    /// Those of the accepted packets whose transmission begins after the warm-up.
    pub unsent: Unsent,
}

/// The result for a packet that a queue has accepted.
#[derive(Clone, Copy)]
pub(crate) struct Accepted {
    pub marked: bool,
    /// Whether the link changes the packet (mark or router fields).
    pub changed: bool,
    pub lost: bool,
    /// A script delays or duplicates it.
    pub displaced: bool,
}
