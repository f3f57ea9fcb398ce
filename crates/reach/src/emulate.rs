//! Two network namespaces joined by a scenario's network in real time, for any programs.

use crate::error::Error;
use crate::ipv4;
use crate::namespaces::{Command, NamespacePlan, Namespaces, Notice, Side};
use crate::network::{LiveNetwork, RealTimeFacts, Recorded};
use crate::sys::ProgramOutput;
use crate::validity::Validity;
use crate::wall::RealTimePriority;
use lab::{DeliveredDatagram, FlowEnd, LinkOutcome, Recording, RunAccount, Scenario, Settings};
use net::Ecn;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use serde::Serialize;
use std::borrow::Cow;
use std::os::fd::AsFd;
use units::{Span, Time};

/// Packets read from a device before the network advances again.
const BATCH: usize = 32;

/// Time between two calls of the caller's check.
const CHECK: Span = Span::from_ms(50);

/// Largest packet of a TUN device.
const LARGEST: usize = 65_536;

/// Limits of the MTU of the path: IPv4 requires 68, TCP needs more.
const MTU: std::ops::RangeInclusive<u32> = 128..=65_000;

/// The largest packets of the path, from the scenario's flow. Fails if no device can have it.
pub(crate) fn mtu(facts: &RealTimeFacts) -> Result<u32, Error> {
    let bytes = facts.packet_bytes;
    if MTU.contains(&bytes) {
        return Ok(bytes);
    }
    Err(Error::Input(format!(
        "flow[0]: its packets have {bytes} bytes on the wire; a path in real time needs {} to {}: change `mss` or `header`",
        MTU.start(),
        MTU.end()
    )))
}

/// What an emulation is asked to do.
pub struct Emulation<'a> {
    /// The network. Its duration bounds the emulation.
    pub scenario: &'a Scenario,
    /// Seed; `None` for that of the scenario.
    pub seed: Option<u64>,
    /// The programs at the two ends of the first flow; the emulation ends with that at `from`.
    pub commands: [Option<Command>; 2],
    /// Where the programs write.
    pub output: ProgramOutput,
    /// What of the network is recorded.
    pub recording: Recording,
    /// The places at which packets are captured, as [`lab::Run::capture`] has them.
    pub captures: Vec<String>,
    /// Called some twenty times a second: whether to go on.
    pub check: &'a mut dyn FnMut() -> bool,
    /// Called with a message about the programs.
    pub warn: &'a mut dyn FnMut(&str),
}

/// Packets at one end.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EndCounts {
    /// Name of the node.
    pub node: String,
    /// Its address.
    pub address: String,
    /// Packets that its programs have sent.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets that have reached it through the network.
    pub received_packets: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Their bytes without the headers of IP, TCP and UDP. A byte that arrives twice counts twice.
    pub received_payload_bytes: u64,
}

/// What has happened.
#[derive(Debug, Serialize)]
pub struct Emulated {
    /// The scenario's title.
    pub title: String,
    /// How long the network ran, s.
    pub elapsed_s: f64,
    /// From the first packet of a program to the end, s; zero if there was none.
    pub measured_s: f64,
    /// From the start of the program at `from` to its end, s; `None` if it did not start, or the time was over before its end.
    pub program_s: Option<f64>,
    /// Exit status of the program at `from`; `None` if the time was over before.
    pub status: Option<i32>,
    /// Exit status of the program at the other end, if it has ended by itself.
    pub other_status: Option<i32>,
    /// Commands that could not be run.
    pub not_started: Vec<String>,
    /// The two ends.
    pub ends: Vec<EndCounts>,
    /// The links that carried packets. Rates and means are over `measured_s`.
    pub links: Vec<LinkOutcome>,
    /// Whether the run followed the wall clock.
    pub validity: Validity,
    /// What was recorded.
    #[serde(skip)]
    pub recorded: Recorded,
}

/// What is known of the programs.
#[derive(Default)]
struct Programs {
    started: Option<Time>,
    program_s: Option<f64>,
    status: Option<i32>,
    other_status: Option<i32>,
    not_started: Vec<String>,
}

impl Programs {
    /// Takes a notice at `now`. Returns whether the emulation goes on.
    fn take(&mut self, notice: Notice, now: Time, warn: &mut dyn FnMut(&str)) -> bool {
        match notice {
            Notice::Started => self.started = Some(now),
            Notice::Ended(ended) => {
                self.status = Some(ended);
                self.program_s = self.started.map(|at| now.since(at).seconds());
                return false;
            }
            Notice::OtherEnded(ended) => {
                self.other_status = Some(ended);
                if ended != 0 {
                    warn(&format!("the command at the other end has ended with status {ended}"));
                }
            }
            Notice::NotStarted(what) => {
                warn(&format!("cannot run {what}"));
                self.not_started.push(what);
            }
        }
        true
    }
}

/// Runs the programs with the network between them.
pub fn emulate(mut request: Emulation<'_>) -> Result<Emulated, Error> {
    let facts = RealTimeFacts::of(request.scenario)?;
    let network = network(&request, &facts)?;
    let plan = NamespacePlan {
        mtu: mtu(&facts)?,
        commands: std::mem::take(&mut request.commands),
        sockets: Vec::new(),
        ecn: None,
        output: request.output,
    };
    let namespaces = Namespaces::create(&plan)?;
    let mut path = LivePath::new(network, &namespaces);
    path.network.start();
    namespaces.start()?;
    let clock = path.network.clock;
    let mut programs = Programs::default();
    path.drive(request.check, |notice| programs.take(notice, clock.now(), request.warn))?;
    let end = path.network.now();
    let (since, first) = match path.first.take() {
        Some((at, account)) => (at, Some(account)),
        None => (end, None),
    };
    let ends = Side::BOTH.map(|side| EndCounts {
        node: facts.nodes[side as usize].clone(),
        address: side.address().to_string(),
        ..path.counts[side as usize].clone()
    });
    let warm = (request.scenario.warmup > Span::ZERO)
        .then(|| "the warm-up of the scenario is not excluded".to_string());
    let used = |link: &LinkOutcome| link.delivered_packets > 0 || link.transmitted_packets > 0;
    Ok(Emulated {
        title: request.scenario.title.clone(),
        elapsed_s: end.seconds(),
        measured_s: end.since(since).seconds(),
        program_s: programs.program_s,
        status: programs.status,
        other_status: programs.other_status,
        not_started: programs.not_started,
        ends: ends.to_vec(),
        links: path.network.outcome_so_far(first.as_ref()).links.into_iter().filter(used).collect(),
        validity: path.network.validity(None, false, warm.into_iter().collect()),
        recorded: path.network.recorded(),
    })
}

/// The network with its recordings.
fn network(request: &Emulation<'_>, facts: &RealTimeFacts) -> Result<LiveNetwork, Error> {
    // Programs begin when they like: what they do in the scenario's warm-up counts.
    let scenario = Scenario { warmup: Span::ZERO, ..request.scenario.clone() };
    let recording = Recording { captures: !request.captures.is_empty(), ..request.recording };
    let settings = Settings { seed: request.seed, recording, ..Settings::default() };
    let mut network = LiveNetwork::build(&scenario, facts, 0, settings)?;
    for place in &request.captures {
        network.capture(place)?;
    }
    Ok(network)
}

/// The network between the two devices.
pub(crate) struct LivePath<'a> {
    pub network: LiveNetwork,
    namespaces: &'a Namespaces,
    counts: [EndCounts; 2],
    /// The time of the first packet of a program, and what the network had counted before it.
    first: Option<(Time, RunAccount)>,
    buffer: Vec<u8>,
}

impl<'a> LivePath<'a> {
    /// Joins the devices.
    pub fn new(network: LiveNetwork, namespaces: &'a Namespaces) -> LivePath<'a> {
        LivePath { network, namespaces, counts: Default::default(), first: None, buffer: vec![0; LARGEST] }
    }

    /// Moves packets until the scenario ends, the network is too slow, `notice` returns false, or `check` does (an error). Fails
    /// if the controller of a simulated flow does.
    pub fn drive(
        &mut self,
        check: &mut dyn FnMut() -> bool,
        mut notice: impl FnMut(Notice) -> bool,
    ) -> Result<(), Error> {
        let _priority = RealTimePriority::new();
        let mut next_check = Time::ZERO;
        while self.network.catch_up()? {
            for side in Side::BOTH {
                self.read(side)?;
            }
            self.write();
            let control = self.namespaces.control();
            let mut descriptors = [
                PollFd::new(&self.namespaces.tuns[0], PollFlags::IN),
                PollFd::new(&self.namespaces.tuns[1], PollFlags::IN),
                PollFd::new(&control, PollFlags::IN),
            ];
            self.network.sleep(&mut descriptors)?;
            if !descriptors[2].revents().is_empty() && !notice(self.namespaces.notice()?) {
                break;
            }
            if self.network.now() >= next_check {
                next_check = self.network.now() + CHECK;
                if !check() {
                    return Err(Error::Interrupted);
                }
                self.network.check_memory()?;
            }
        }
        self.network.add_lost_outside(self.namespaces.dropped()?);
        Ok(())
    }

    /// Passes packets of a device to the network. Packets that are not IPv4 are dropped.
    fn read(&mut self, side: Side) -> Result<(), Error> {
        let end = [FlowEnd::Source, FlowEnd::Destination][side as usize];
        for _ in 0..BATCH {
            let bytes = match rustix::io::read(&self.namespaces.tuns[side as usize], &mut self.buffer[..]) {
                Ok(bytes) => bytes,
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(error) => {
                    return Err(Error::Failed(format!("the device at {}: {error}", side.address())));
                }
            };
            let Some(ecn) = ipv4::ecn(&self.buffer[..bytes]) else { continue };
            if self.first.is_none() {
                self.first = Some((self.network.now(), self.network.account()));
            }
            let counts = &mut self.counts[side as usize];
            counts.sent_packets += 1;
            counts.sent_bytes += bytes as u64;
            self.network.inject(end, &self.buffer[..bytes], ecn);
        }
        Ok(())
    }

    /// Passes what has crossed the network to the devices.
    fn write(&mut self) {
        let (tuns, counts) = (&self.namespaces.tuns, &mut self.counts);
        self.network.deliver(|DeliveredDatagram { end, bytes, ecn, .. }| {
            let mut bytes = Cow::Borrowed(bytes);
            if ecn == Ecn::Ce && ipv4::ecn(&bytes) != Some(Ecn::Ce) {
                ipv4::set_ce(bytes.to_mut());
            }
            let counts = &mut counts[end as usize];
            counts.received_packets += 1;
            counts.received_bytes += bytes.len() as u64;
            counts.received_payload_bytes += ipv4::payload(&bytes);
            rustix::io::write(tuns[end as usize].as_fd(), &bytes).is_ok()
        });
    }
}
