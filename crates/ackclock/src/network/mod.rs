//! The network of a scenario as a library: datagrams in, datagrams out, in virtual time.
//!
//! One datagram of 972 bytes over one link of 10 Mb/s and 5 ms: with the 28 bytes of IPv4 and UDP its transmission takes
//! 0.8 ms.
//!
//! ```
//! use ackclock::network::{Network, Progress};
//! use ackclock::{Ecn, Scenario, Time};
//!
//! let text = r#"
//! duration = "1s"
//! link = [{ ends = ["a", "b"], rate = "10Mbps", delay = "5ms" }]
//! flow = [{ name = "x", from = "a", to = "b" }]
//! "#;
//! let scenario = Scenario::parse("example.toml", text, &[])?;
//! let mut network = Network::open(&scenario).start()?;
//! let [source, destination] = network.ports_of("x").unwrap();
//!
//! network.send(source, &[0; 972], Ecn::Ect0)?;
//! assert_eq!(network.next(), Time::from_ns(5_800_000));
//! assert_eq!(network.advance(network.next())?, Progress::Running);
//! let datagram = network.receive().unwrap();
//! assert_eq!((datagram.port, datagram.bytes.len(), datagram.ecn), (destination, 972, Ecn::Ect0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Driver`] runs stacks that do no input and output of their own ([`Endpoint`]) over a network.

mod driver;
mod error;
mod port;
mod sample;

pub use driver::{DriveError, Driven, Driver, Endpoint, Limits, StackError, Transmitter};
pub use error::NetworkError;
pub use lab::{Application, DatagramHistory, DatagramStep, FlowEnd, seed_bytes};
pub use port::Port;
pub use sample::{Sample, SampleRow};
pub use units::VirtualClock;

use crate::{Outcome, Recording, Run, Scenario, Settings};
use lab::{Ends, InjectError, Logs, Unanswered, Violation};
use net::{DropReason, Ecn};
use sample::SampleLog;
use std::collections::BTreeMap;
use units::{Span, Time};

/// Whether the network has reached its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has not.
    Running,
    /// The time is [`Network::end`].
    Ended,
}

/// A datagram that has reached a port. The bytes are valid until the next call of the network.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Datagram<'a> {
    /// The port that it has reached.
    pub port: Port,
    /// What was sent.
    pub bytes: &'a [u8],
    /// Its ECN field; queues may have set it to CE.
    pub ecn: Ecn,
    /// Its number among those that the other end has sent, from 0; a copy has the number of the original.
    pub number: u64,
    /// When it was sent.
    pub sent: Time,
    /// When it has arrived, to the picosecond: up to 1 ns before the time at which an end sees it.
    pub arrived: Time,
}

/// One-way delays of the datagrams that arrived, seconds; `None` if none did. The quantiles are within 0.8 %.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Delays {
    /// Of a datagram of the largest size on an empty path; `None` if the path changes.
    pub base_s: Option<f64>,
    /// Mean.
    pub mean_s: Option<f64>,
    /// Median.
    pub p50_s: Option<f64>,
    /// 95th percentile.
    pub p95_s: Option<f64>,
    /// 99th percentile.
    pub p99_s: Option<f64>,
}

/// What was counted of the datagrams that a port has sent, after the warm-up if there is one. Bytes are those handed to
/// [`Network::send`]. Without copies, `sent` is the sum of `received`, of `dropped` and `too_long`, and of those in flight;
/// in a radio network also of those that its stations dropped, which the outcome counts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PortCounts {
    /// Datagrams sent.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Datagrams that the first link has accepted.
    pub accepted: u64,
    /// Datagrams above the MTU, which are dropped before the first link.
    pub too_long: u64,
    /// Bytes of the largest datagram so far that was not above the MTU, in the warm-up too.
    pub largest: u32,
    /// Datagrams of less than 100 bytes so far, such as acknowledgements alone, and their bytes, in the warm-up too.
    pub small: [u64; 2],
    /// Distinct datagrams that arrived.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Bytes on the wire of all datagrams that arrived.
    pub received_wire_bytes: u64,
    /// Arrivals of datagrams that had arrived before.
    pub duplicates: u64,
    /// Arrivals with Congestion Experienced.
    pub marked: u64,
    /// Datagrams dropped by links, by the number of the reason ([`DropReason::ALL`]); copies count too.
    pub dropped: [u64; DropReason::ALL.len()],
    /// One-way delays.
    pub delay: Delays,
}

/// What a network is opened with; see [`Network::open`].
#[derive(Clone, Debug)]
pub struct Open<'a> {
    scenario: &'a Scenario,
    flows: Vec<(String, bool)>,
    ends: Ends,
    seed: Option<u64>,
    recording: Recording,
}

impl Open<'_> {
    /// Attaches a flow: its ends are outside. Call it for each such flow; without a call it is the first flow of the scenario.
    pub fn attach(mut self, flow: &str) -> Self {
        self.flows.push((flow.into(), false));
        self
    }

    /// Attaches every flow whose name starts with `prefix`, those of `[[traffic]]` tables too.
    pub fn attach_prefix(mut self, prefix: &str) -> Self {
        self.flows.push((prefix.into(), true));
        self
    }

    /// Attaches the flows of a list with commas; `tested*` stands for all whose name starts with `tested`. An empty list changes
    /// nothing.
    pub fn attach_list(self, flows: &str) -> Self {
        let names = flows.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.fold(self, |open, name| match name.strip_suffix('*') {
            Some(prefix) => open.attach_prefix(prefix),
            None => open.attach(name),
        })
    }

    /// Bytes that a datagram has on the wire besides those of [`Network::send`]: 28 (default) for UDP over IPv4, 48 over IPv6,
    /// 0 if whole IP packets are sent.
    pub fn header(mut self, bytes: u32) -> Self {
        self.ends.header = bytes;
        self
    }

    /// Largest datagram on the wire, bytes, with the header (default 1,500). A larger one is dropped and counted.
    pub fn mtu(mut self, bytes: u32) -> Self {
        self.ends.mtu = bytes;
        self
    }

    /// The seed of the run in place of the scenario's.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// What to record. The default is nothing: a recording costs time.
    pub fn record(mut self, recording: Recording) -> Self {
        self.recording = recording;
        self
    }

    /// Builds the network, at time zero.
    pub fn start(self) -> Result<Network, NetworkError> {
        let Open { scenario, mut flows, ends, seed, recording } = self;
        if ends.mtu < ends.header || ends.header > 65_535 {
            return Err(NetworkError::Ends { header: ends.header, mtu: ends.mtu });
        }
        if flows.is_empty() {
            let first = scenario.flows.first().map(|flow| flow.name.clone());
            flows.push((first.ok_or_else(|| NetworkError::NoFlow(String::new()))?, false));
        }
        let mut attached = scenario.clone();
        for (name, prefix) in flows {
            attached = match prefix {
                true => attached.attach_prefix(&name, ends)?,
                false => attached.attach(&name, ends)?,
            };
        }
        let run = Run::new(&attached, Settings { seed, recording, ..Settings::default() })?;
        let (numbers, names) = (run.attached_flows(), run.shape().flows);
        let flows: Vec<(String, u32)> =
            numbers.iter().map(|number| (names[*number as usize].clone(), *number)).collect();
        let mut places = BTreeMap::new();
        for (place, number) in numbers.iter().enumerate() {
            places.insert(*number, place as u32);
        }
        let (end, has_external) = (Time::from_ns(run.end().ns()), run.has_external());
        Ok(Network {
            samples: SampleLog::new(2 * flows.len()),
            seed: seed.unwrap_or(scenario.seed),
            run,
            flows,
            places,
            ends,
            now: Time::ZERO,
            end,
            has_external,
            advances: 0,
        })
    }
}

/// A simulated network in virtual time. All times are whole nanoseconds, so that every language has the same run: a
/// datagram is seen up to 1 ns after it has arrived, never before.
///
/// A network belongs to one thread at a time; networks are independent of each other.
pub struct Network {
    run: Run,
    /// Names and numbers of the attached flows, in the order of the scenario.
    flows: Vec<(String, u32)>,
    /// Their places by number.
    places: BTreeMap<u32, u32>,
    ends: Ends,
    seed: u64,
    now: Time,
    end: Time,
    samples: SampleLog,
    has_external: bool,
    advances: u64,
}

/// Calls of [`Network::advance`] between two looks at the memory.
const MEMORY_CHECK: u64 = 1024;

impl Network {
    /// A network with the links, the other flows and the changes of a scenario.
    pub fn open(scenario: &Scenario) -> Open<'_> {
        let recording = Recording::default();
        Open { scenario, flows: Vec::new(), ends: Ends::UDP, seed: None, recording }
    }

    /// Source and destination of each attached flow, in the order of the scenario.
    pub fn ports(&self) -> impl Iterator<Item = Port> + '_ {
        (0..2 * self.flows.len() as u32).map(Port)
    }

    /// Source and destination of an attached flow.
    pub fn ports_of(&self, flow: &str) -> Option<[Port; 2]> {
        let place = self.flows.iter().position(|(name, _)| name == flow)? as u32;
        Some([Port(2 * place), Port(2 * place + 1)])
    }

    /// An end of an attached flow.
    pub fn port(&self, flow: &str, end: FlowEnd) -> Option<Port> {
        self.ports_of(flow).map(|ports| ports[end as usize])
    }

    /// The name of a port's flow; empty for a port of another network.
    pub fn flow_of(&self, port: Port) -> &str {
        self.flows.get(port.flow()).map_or("", |(name, _)| name)
    }

    /// What the scenario says of the application of an attached flow. The network enforces nothing of it.
    pub fn application(&self, flow: &str) -> Option<Application> {
        let (_, number) = self.flows.iter().find(|(name, _)| name == flow)?;
        self.run.application(*number)
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Bytes that a datagram has on the wire besides those of [`Network::send`].
    pub fn header(&self) -> u32 {
        self.ends.header
    }

    /// Largest datagram on the wire, bytes.
    pub fn mtu(&self) -> u32 {
        self.ends.mtu
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The end of the scenario.
    pub fn end(&self) -> Time {
        self.end
    }

    /// A time before which no datagram reaches a port unless another is sent: the present if one waits to be received, at most
    /// [`Network::end`].
    pub fn next(&self) -> Time {
        if self.run.waiting() > 0 {
            return self.now;
        }
        let next = self.run.next_at();
        if next >= self.end { self.end } else { Time::from_ns(next.ns()) }
    }

    /// Processes everything up to `to`, a whole number of nanoseconds, or to the end if it is earlier.
    pub fn advance(&mut self, to: Time) -> Result<Progress, NetworkError> {
        if to < self.now {
            return Err(NetworkError::Past { now: self.now, to });
        }
        let to = to.min(self.end);
        if !to.ps().is_multiple_of(units::PS_PER_NS) {
            return Err(NetworkError::NotWhole(to));
        }
        self.now = to;
        let ended = self.run.catch_up(to);
        self.advances += 1;
        if self.advances.is_multiple_of(MEMORY_CHECK) {
            self.run.check_memory().map_err(NetworkError::Memory)?;
        }
        if self.has_external
            && let Some((flow, failure)) = self.run.failure()
        {
            return Err(NetworkError::Controller { flow: flow.into(), failure: failure.message.clone() });
        }
        Ok(if ended { Progress::Ended } else { Progress::Running })
    }

    /// Sends a datagram at the present time. Does not say whether a queue drops it: no socket says so.
    /// [`Network::counts`] does. A datagram above the MTU is dropped; an empty one is sent.
    pub fn send(&mut self, from: Port, bytes: &[u8], ecn: Ecn) -> Result<(), NetworkError> {
        let number = self.number(from)?;
        self.run.inject(number, from.end(), bytes, ecn).map_err(|error| match error {
            InjectError::NotAttached => NetworkError::NotAttached(from),
            InjectError::Ended => NetworkError::Ended,
            InjectError::TooLong(most) => NetworkError::TooLong { bytes: bytes.len(), most },
        })
    }

    /// Removes and returns the next datagram that has reached a port, in the order of arrival.
    pub fn receive(&mut self) -> Option<Datagram<'_>> {
        let datagram = self.run.receive()?;
        let place = self.places.get(&datagram.flow)?;
        Some(Datagram {
            port: Port(2 * place + datagram.end as u32),
            bytes: datagram.bytes,
            ecn: datagram.ecn,
            number: datagram.number,
            sent: datagram.sent,
            arrived: datagram.at,
        })
    }

    /// Number of datagrams that wait to be received.
    pub fn waiting(&self) -> usize {
        self.run.waiting()
    }

    /// Bytes of the datagrams in flight and of those that wait to be received.
    pub fn stored_bytes(&self) -> u64 {
        self.run.datagram_bytes()
    }

    /// What was counted of the datagrams that `port` has sent. Fails for a port of another network.
    pub fn counts(&self, port: Port) -> Result<PortCounts, NetworkError> {
        let account = self.run.port_account(self.number(port)?, port.end());
        let (account, facts) = account.ok_or(NetworkError::NotAttached(port))?;
        let quantile = |part| account.delays.quantile(part);
        Ok(PortCounts {
            sent: account.sent,
            sent_bytes: account.sent_bytes,
            accepted: account.accepted,
            too_long: account.too_long,
            largest: facts.largest,
            small: facts.small,
            received: account.received,
            received_bytes: account.received_bytes,
            received_wire_bytes: account.arrivals.wire_bytes,
            duplicates: account.duplicates,
            marked: account.marked,
            dropped: account.dropped,
            delay: Delays {
                base_s: facts.base_delay.map(Span::seconds),
                mean_s: account.arrivals.delay.value(),
                p50_s: quantile(0.5),
                p95_s: quantile(0.95),
                p99_s: quantile(0.99),
            },
        })
    }

    /// Records what the stack at `port` says of itself now. A row is kept if a value has changed since the last one of the
    /// port. Fails for a port of another network.
    pub fn record(&mut self, port: Port, sample: &Sample) -> Result<(), NetworkError> {
        self.number(port)?;
        self.samples.record(self.now, port, sample);
        Ok(())
    }

    /// The samples that were recorded, in the order of time: every one, or with more than 2^19 an even part of them.
    pub fn samples(&self) -> &[SampleRow] {
        self.samples.rows()
    }

    /// The last sample of a port.
    pub fn last_sample(&self, port: Port) -> Option<&Sample> {
        self.samples.last(port)
    }

    /// The outcome of the whole run: advances to the end first.
    pub fn outcome(&mut self) -> Result<Outcome, NetworkError> {
        self.advance(self.end)?;
        Ok(self.run.outcome())
    }

    /// The outcome up to the present.
    pub fn outcome_so_far(&mut self) -> Outcome {
        self.run.outcome_so_far(self.now.min(self.run.end()), None)
    }

    /// What is recorded ([`Open::record`]).
    pub fn logs(&self) -> &Logs {
        self.run.logs()
    }

    /// Payload rate of the datagrams that `port` has sent and that arrived, bit/s up to the present: with the headers of the stack,
    /// unless the other end reports [`Sample::delivered_bytes`]. Fails for a port of another network.
    pub fn goodput(&self, port: Port) -> Result<f64, NetworkError> {
        let said = self.last_sample(port.peer()).and_then(|sample| sample.delivered_bytes);
        let bytes = said.map_or_else(|| self.counts(port).map(|counts| counts.received_bytes), Ok)?;
        Ok(8.0 * bytes as f64 / self.now.seconds())
    }

    /// What happened to the datagram that `port` has sent with `number`: links, waits, and the queue and rule that dropped or
    /// marked it. The network records `packets` and `rules`.
    pub fn why(&self, port: Port, number: u64) -> Result<DatagramHistory, Unanswered> {
        let flow =
            self.number(port).map_err(|error| Unanswered { part: "flow", message: error.to_string() })?;
        lab::datagram_history(&self.run, flow, port.end(), number)
    }

    /// The first violations that the auditor found, and their number; the network records `audit`. Call it once, at the end.
    pub fn audit(&mut self) -> (Vec<Violation>, u64) {
        self.run.audit()
    }

    /// A hash of every packet event so far, if the network records `fingerprint`.
    pub fn fingerprint(&self) -> Option<String> {
        self.run.recording().fingerprint.then(|| self.run.fingerprint())
    }

    /// What the links and flows have counted up to `at`, at which the network is.
    #[cfg(feature = "conform")]
    pub(crate) fn account(&mut self, at: Time) -> lab::RunAccount {
        self.run.account(at)
    }

    fn number(&self, port: Port) -> Result<u32, NetworkError> {
        let flow = self.flows.get(port.flow());
        flow.map(|(_, number)| *number).ok_or(NetworkError::NotAttached(port))
    }
}
