//! The network of a scenario by the wall clock, between the two ends of its first flow.

use crate::error::Error;
use crate::validity::{Demands, Lateness, Validity, stall_limit};
use crate::wall::{WallClock, cpu_s};
use lab::{DeliveredDatagram, Ends, FlowEnd, Outcome, PacketLog, Run, RunAccount, Scenario, Settings, Shape};
use net::Ecn;
use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;
use units::{Span, Time};

/// Longest sleep, so that the caller's signals are processed.
const LONGEST_SLEEP: Span = Span::from_ms(20);

/// Simulated time that is processed between two looks at the clock.
const STEP: Span = Span::from_ms(10);

/// How long the network may be behind the wall clock without a pause before the run ends.
const LONGEST_BEHIND: Span = Span::from_ms(1000);

/// The smallest round-trip time for which a run in real time is meant.
const SMALLEST_RTT: Span = Span::from_ms(5);

/// What the first flow of a scenario needs from a run in real time.
pub(crate) struct RealTimeFacts {
    /// Bytes of its full packet on the wire.
    pub packet_bytes: u32,
    /// Its base round-trip time, if its path does not change.
    pub base_rtt: Option<Span>,
    /// Transmission time of a full packet at the slowest link of its path.
    pub packet_time: Option<Span>,
    /// Its two nodes.
    pub nodes: [String; 2],
}

impl RealTimeFacts {
    /// Of the first flow. Fails if there is none.
    pub fn of(scenario: &Scenario) -> Result<RealTimeFacts, Error> {
        let resolved = scenario.resolve();
        let Some(flow) = resolved.flows.first() else {
            return Err(Error::Input(
                "flow: is missing; add a [[flow]] with `from` and `to`, the two nodes that are the ends of the path".into(),
            ));
        };
        let slowest = flow.path.iter().map(|link| resolved.links[*link as usize].mean_rate_bps).min();
        let time = |rate: u64| Span::from_seconds(flow.packet_bytes as f64 * 8.0 / rate as f64);
        Ok(RealTimeFacts {
            packet_bytes: flow.packet_bytes,
            base_rtt: flow.base_rtt_s.map(Span::from_seconds),
            packet_time: slowest.map(time),
            nodes: [flow.from.clone(), flow.to.clone()],
        })
    }
}

/// What a network has recorded.
#[derive(Debug)]
pub struct Recorded {
    /// The packet events; none unless they were asked for.
    pub packets: PacketLog,
    /// The time up to which all of them are there, s.
    pub until_s: f64,
    /// The captures as pcapng files, in the order in which they were asked for.
    pub captures: Vec<Vec<u8>>,
    /// What the numbers in the packet events stand for.
    pub shape: Shape,
}

/// The time from `now` until `next`, at most 20 ms.
pub(crate) fn longest_sleep(now: Time, next: Time) -> Timespec {
    let span = if next <= now { Span::ZERO } else { next.since(now).min(LONGEST_SLEEP) };
    Timespec { tv_sec: 0, tv_nsec: (span.ps() / 1000) as _ }
}

/// A network that the wall clock advances.
pub(crate) struct LiveNetwork {
    run: Run,
    pub clock: WallClock,
    flow: u32,
    lateness: Lateness,
    base_rtt: Option<Span>,
    /// Smallest time that a datagram has spent in the network, to the source and to the destination.
    transit: [Option<Span>; 2],
    cpu: f64,
    ended: bool,
    /// The simulated time that has been reached.
    reached: Time,
    /// When the last sleep ended.
    woke: Time,
    /// When the network last had nothing due.
    idle: Time,
    overloaded: bool,
    /// How long a datagram that is now read may have waited for this thread.
    wait: Span,
}

impl LiveNetwork {
    /// Builds the network; its first flow has its ends outside, with `header` bytes on the wire besides each datagram. The
    /// clock starts with [`LiveNetwork::start`].
    pub fn build(
        scenario: &Scenario,
        facts: &RealTimeFacts,
        header: u32,
        settings: Settings,
    ) -> Result<LiveNetwork, Error> {
        // The programs at the ends know their own largest packet.
        let ends = Ends { header, mtu: u32::MAX };
        let first = scenario.flows.first().map_or(String::new(), |flow| flow.name.clone());
        let in_scenario = |error| Error::Scenario(Box::new(error));
        let attached = scenario.clone().attach(&first, ends).map_err(in_scenario)?;
        let run = Run::new(&attached, settings).map_err(in_scenario)?;
        let flow = run.attached_flows()[0];
        let limit = stall_limit(facts.base_rtt.unwrap_or(SMALLEST_RTT));
        Ok(LiveNetwork {
            run,
            clock: WallClock::start(),
            flow,
            lateness: Lateness::new(limit),
            base_rtt: facts.base_rtt,
            transit: [None; 2],
            cpu: cpu_s(),
            ended: false,
            reached: Time::ZERO,
            woke: Time::ZERO,
            idle: Time::ZERO,
            overloaded: false,
            wait: Span::ZERO,
        })
    }

    /// Starts the clock: the network begins now. Call it once, before others copy the clock.
    pub fn start(&mut self) {
        self.clock = WallClock::start();
        self.cpu = cpu_s();
    }

    /// Processes everything up to now. Returns false at the end of the scenario, and if the network was behind the clock for
    /// a second: a thread with real-time priority must not keep the machine from everything else. Fails if the controller of a
    /// simulated flow does.
    pub fn catch_up(&mut self) -> Result<bool, Error> {
        let goal = self.clock.now();
        while !self.ended && !self.overloaded && self.reached < goal {
            self.reached = goal.min(self.reached + STEP);
            self.ended = self.run.catch_up(self.reached);
            let now = self.clock.now();
            self.overloaded = now.since(self.idle.min(now)) > LONGEST_BEHIND;
        }
        match self.run.failure() {
            Some((flow, failure)) => Err(Error::Controller(flow.into(), failure.clone())),
            None => Ok(!self.ended && !self.overloaded),
        }
    }

    /// A datagram enters the network at an end, at the time of the last [`LiveNetwork::catch_up`].
    pub fn inject(&mut self, end: FlowEnd, bytes: &[u8], ecn: Ecn) {
        self.lateness.record_late(self.wait);
        // What comes after the end of the run is lost with the network.
        self.run.inject(self.flow, end, bytes, ecn).ok();
    }

    /// Gives each datagram that has crossed the network to `send`, which returns whether it could be sent.
    pub fn deliver(&mut self, mut send: impl FnMut(DeliveredDatagram<'_>) -> bool) {
        while let Some(datagram) = self.run.receive() {
            let (at, end) = (datagram.at, datagram.end as usize);
            let transit = at.since(datagram.sent);
            self.transit[end] = Some(self.transit[end].map_or(transit, |least| least.min(transit)));
            if !send(datagram) {
                self.lateness.send_failures += 1;
            }
            self.lateness.packets += 1;
            self.lateness.record(at, self.clock.now());
        }
    }

    /// Sleeps until the network's next event, at most 20 ms, or until one of the descriptors is readable.
    /// A datagram may come while this thread works, and while it wakes up late: both are its wait for the next turn.
    pub fn sleep(&mut self, descriptors: &mut [PollFd<'_>]) -> Result<(), Error> {
        let before = self.clock.now();
        let timeout = longest_sleep(before, self.run.next_at());
        match poll(descriptors, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::Failed(format!("poll: {error}"))),
        }
        let now = self.clock.now();
        let asked = Span::from_ps(timeout.tv_nsec as u64 * 1000);
        let (work, slept) = (before.since(self.woke.min(before)), now.since(before));
        self.wait = work + slept.max(asked) - asked;
        self.woke = now;
        if asked > Span::ZERO {
            self.idle = now;
        }
        Ok(())
    }

    /// Counts datagrams that an end could not send.
    pub fn add_send_failures(&mut self, count: u64) {
        self.lateness.send_failures += count;
    }

    /// Counts datagrams that were lost between the ends and the network.
    pub fn add_lost_outside(&mut self, count: u64) {
        self.lateness.lost_outside += count;
    }

    /// Time since the start.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// The outcome of the links and of the other flows.
    pub fn outcome(&mut self) -> Outcome {
        self.run.outcome()
    }

    /// What the run has counted up to now.
    pub fn account(&mut self) -> RunAccount {
        let now = self.now();
        self.run.catch_up(now);
        self.run.account(now)
    }

    /// The outcome for the time up to now, after that of the account `since`.
    pub fn outcome_so_far(&mut self, since: Option<&RunAccount>) -> Outcome {
        let now = self.now();
        self.run.catch_up(now);
        self.run.outcome_so_far(now, since)
    }

    /// Captures at a place, as [`Run::capture`]. Call it before the start.
    pub fn capture(&mut self, place: &str) -> Result<(), Error> {
        self.run.capture(place).map_err(|text| Error::Input(format!("--pcap: {text}")))
    }

    /// Whether the memory is sufficient for what is recorded. To be called some twenty times a second.
    pub fn check_memory(&mut self) -> Result<(), Error> {
        self.run.check_memory().map_err(Error::Failed)
    }

    /// What was recorded up to now. Call it once, after the end.
    pub fn recorded(&mut self) -> Recorded {
        let ([_, until], _) = self.run.recorded();
        let captures = self.run.captured();
        Recorded { packets: self.run.take_logs().packets, until_s: until, captures, shape: self.run.shape() }
    }

    /// Number of the flow in the outcome.
    pub fn flow_index(&self, outcome: &Outcome) -> usize {
        let names = self.run.shape().flows;
        outcome.flows.iter().position(|flow| flow.name == names[self.flow as usize]).unwrap_or(0)
    }

    /// Whether the run followed the clock closely enough. `packet_time` is that of the bottleneck if the controller measures
    /// delays.
    pub fn validity(
        &self,
        packet_time: Option<Span>,
        needs_packets: bool,
        degraded: Vec<String>,
    ) -> Validity {
        let seen = || Some(self.transit[0]? + self.transit[1]?);
        let base_rtt = self.base_rtt.or_else(seen).unwrap_or(SMALLEST_RTT);
        Validity::of(
            &self.lateness,
            Demands { base_rtt, packet_time, needs_packets, overloaded: self.overloaded, degraded },
            cpu_s() - self.cpu,
        )
    }
}
