//! Runs stacks over a network in virtual time.

use super::{Datagram, Network, NetworkError, Port, Progress, Sample};
use crate::Outcome;
use net::Ecn;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Span, Time};

/// What a stack reports if it cannot go on.
pub type StackError = Box<dyn std::error::Error + Send + Sync>;

/// A stack, or one end of it, that does no input and output of its own. It reads no clock: the time is what it is told.
///
/// ```
/// use ackclock::network::{Datagram, Driver, Endpoint, Network, StackError, Transmitter};
/// use ackclock::{Ecn, Scenario, Time};
///
/// const WINDOW: usize = 10;
///
/// /// Keeps ten datagrams of 1,200 bytes in flight; the network loses none.
/// #[derive(Default)]
/// struct Source { in_flight: usize }
/// impl Endpoint for Source {
///     fn receive(&mut self, _: Time, _: &Datagram<'_>) -> Result<(), StackError> {
///         self.in_flight -= 1;
///         Ok(())
///     }
///     fn poll(&mut self, _: Time, out: &mut Transmitter<'_>) -> Result<(), StackError> {
///         while self.in_flight < WINDOW {
///             out.send(&[0; 1200], Ecn::NotEct)?;
///             self.in_flight += 1;
///         }
///         Ok(())
///     }
///     fn timer(&mut self) -> Option<Time> { None }
/// }
///
/// /// Acknowledges every datagram.
/// #[derive(Default)]
/// struct Destination { received: usize, acknowledged: usize }
/// impl Endpoint for Destination {
///     fn receive(&mut self, _: Time, _: &Datagram<'_>) -> Result<(), StackError> {
///         self.received += 1;
///         Ok(())
///     }
///     fn poll(&mut self, _: Time, out: &mut Transmitter<'_>) -> Result<(), StackError> {
///         for _ in self.acknowledged..self.received {
///             out.send(&[0; 40], Ecn::NotEct)?;
///         }
///         self.acknowledged = self.received;
///         Ok(())
///     }
///     fn timer(&mut self) -> Option<Time> { None }
/// }
///
/// # let text = r#"
/// # duration = "10s"
/// # link = [{ ends = ["a", "b"], rate = "10Mbps", delay = "20ms" }]
/// # flow = [{ name = "x", from = "a", to = "b" }]
/// # "#;
/// let scenario = Scenario::parse("example.toml", text, &[])?;
/// let mut network = Network::open(&scenario).start()?;
/// let [from, to] = network.ports_of("x").unwrap();
/// let (mut source, mut destination) = (Source::default(), Destination::default());
/// Driver::new(&mut network).endpoint([from], &mut source).endpoint([to], &mut destination).run()?;
/// // Ten datagrams a round trip: 40 ms, 1,228 bytes one way and 68 bytes back.
/// let round_trip = 0.040 + (1228.0 + 68.0) * 8.0 / 10e6;
/// assert!((destination.received as f64 / (10.0 / round_trip * WINDOW as f64) - 1.0).abs() < 0.005);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Endpoint {
    /// A datagram has arrived. What the stack sends for it, it sends in the next [`Endpoint::poll`], at the same time.
    fn receive(&mut self, now: Time, datagram: &Datagram<'_>) -> Result<(), StackError>;
    /// Processes the timers that are due and the application, and sends.
    fn poll(&mut self, now: Time, out: &mut Transmitter<'_>) -> Result<(), StackError>;
    /// When to poll next if nothing arrives; a time in the past means at once.
    fn timer(&mut self) -> Option<Time>;
    /// What the stack says of itself; recorded for the endpoint's first port after each poll.
    fn sample(&mut self) -> Sample {
        Sample::default()
    }
    /// Whether it has nothing left to do. The run ends early if all endpoints say so, each after its first poll.
    fn finished(&self) -> bool {
        false
    }
}

/// Takes what an endpoint sends.
pub struct Transmitter<'a> {
    network: &'a mut Network,
    held: &'a mut Held,
    port: Port,
    /// Datagrams sent at this time.
    sent: &'a mut usize,
    most: usize,
}

impl Transmitter<'_> {
    /// Sends a datagram from the first port of the endpoint.
    pub fn send(&mut self, bytes: &[u8], ecn: Ecn) -> Result<(), StackError> {
        self.send_from(self.port, bytes, ecn)
    }

    /// Sends a datagram from `port`.
    pub fn send_from(&mut self, port: Port, bytes: &[u8], ecn: Ecn) -> Result<(), StackError> {
        self.count()?;
        Ok(self.network.send(port, bytes, ecn)?)
    }

    /// The source (0) or the destination (1) of the endpoint's first flow.
    pub fn port_of(&self, end: usize) -> Port {
        if self.port.end() as usize == end { self.port } else { self.port.peer() }
    }

    /// Records what the stack says of itself at a port, for an endpoint with several.
    pub fn record(&mut self, port: Port, sample: &Sample) -> Result<(), StackError> {
        Ok(self.network.record(port, sample)?)
    }

    /// Sends a datagram from the first port of the endpoint at `at`, for stacks that give each datagram a departure time; at
    /// once if it is in the past. At the end of the run a datagram that is still held is lost.
    pub fn send_at(&mut self, at: Time, bytes: &[u8], ecn: Ecn) -> Result<(), StackError> {
        if at <= self.network.now() {
            return self.send(bytes, ecn);
        }
        self.count()?;
        self.held.order += 1;
        let key = (Time::from_ns(at.ns()), self.held.order);
        self.held.bytes += bytes.len() as u64;
        self.held.datagrams.insert(key, (self.port, bytes.to_vec(), ecn));
        Ok(())
    }

    fn count(&mut self) -> Result<(), StackError> {
        *self.sent += 1;
        if *self.sent > self.most { Err(Box::new(TooMany(self.most))) } else { Ok(()) }
    }
}

/// More datagrams at a time than the limit.
#[derive(Debug)]
struct TooMany(usize);

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {} datagrams at one time", self.0)
    }
}

impl std::error::Error for TooMany {}

/// Datagrams that wait for their departure times.
#[derive(Default)]
struct Held {
    datagrams: BTreeMap<(Time, u64), (Port, Vec<u8>, Ecn)>,
    order: u64,
    bytes: u64,
}

/// What a driver permits its endpoints. A stack that exceeds it ends the run with an error.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Datagrams that one endpoint sends at one time; 10,000.
    pub datagrams_per_instant: usize,
    /// Bytes of the datagrams in flight, of those that wait to be received and of those that wait for their departure; 256 MiB.
    pub stored_bytes: u64,
    /// Steps in a row, each one granule after the last and all of them within 100 ms, in which no datagram arrives; 10,000.
    pub idle_steps: u64,
    /// Datagrams that wait to be received; 65,536.
    pub waiting: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { datagrams_per_instant: 10_000, stored_bytes: 256 << 20, idle_steps: 10_000, waiting: 65_536 }
    }
}

/// Why a run of endpoints ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum DriveError {
    /// The network.
    Network(NetworkError),
    /// A stack reported an error.
    Stack {
        /// When.
        at: Time,
        /// Number of the endpoint, in the order of [`Driver::endpoint`].
        endpoint: usize,
        /// The call: `receive` or `poll`.
        call: &'static str,
        /// What it says.
        error: StackError,
    },
    /// A stack sends without end.
    Flood {
        /// When.
        at: Time,
        /// Number of the endpoint.
        endpoint: usize,
        /// The limit.
        what: String,
    },
    /// Time goes on, and nothing happens: a timer of the stack is in the past or at the present for ever.
    Stuck {
        /// When.
        at: Time,
        /// Number of the endpoint.
        endpoint: usize,
    },
    /// Two endpoints have the same port, or an endpoint none.
    Ports(String),
    /// The flag of [`Driver::stop`] was set.
    Stopped,
}

impl fmt::Display for DriveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriveError::Network(error) => write!(f, "{error}"),
            DriveError::Stack { at, endpoint, call, error } => {
                write!(f, "endpoint {endpoint} failed at {:.6} s in `{call}`: {error}", at.seconds())
            }
            DriveError::Flood { at, endpoint, what } => write!(
                f,
                "endpoint {endpoint} floods the network at {:.6} s: {what}; let a congestion window limit it",
                at.seconds()
            ),
            DriveError::Stuck { at, endpoint } => write!(
                f,
                "endpoint {endpoint} is polled for ever at {:.6} s: its timer does not advance when it is polled",
                at.seconds()
            ),
            DriveError::Ports(message) => f.write_str(message),
            DriveError::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for DriveError {}

impl From<NetworkError> for DriveError {
    fn from(error: NetworkError) -> DriveError {
        DriveError::Network(error)
    }
}

/// What came of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Driven {
    /// The outcome: of the whole run, or up to the time at which all endpoints had finished.
    pub outcome: Outcome,
    /// Times at which something happened at an end.
    pub steps: u64,
    /// Whether all endpoints had finished before the end.
    pub finished: bool,
}

/// The endpoints of a network.
pub struct Driver<'a> {
    network: &'a mut Network,
    endpoints: Vec<Driving<'a>>,
    granularity: Span,
    limits: Limits,
    observer: Option<(Span, Observer<'a>)>,
    stop: Option<&'a AtomicBool>,
}

/// Looks at a network from time to time.
type Observer<'a> = Box<dyn FnMut(&mut Network) + 'a>;

struct Driving<'a> {
    ports: Vec<Port>,
    endpoint: &'a mut dyn Endpoint,
    /// When to poll it.
    due: Time,
    touched: bool,
    /// It was polled at least once: before that it cannot have finished.
    begun: bool,
}

/// A clock with a coarser tick may be polled at each tick for longer.
const SHORT: Span = Span::from_ms(100);

/// Steps between two looks at the flag that ends a run.
const STOP_CHECK: u64 = 256;

/// Rounds at one time, over a path without delay.
const MOST_ROUNDS: u32 = 1000;

impl<'a> Driver<'a> {
    /// A driver of a network without endpoints.
    pub fn new(network: &'a mut Network) -> Driver<'a> {
        let granularity = Span::from_ns(1);
        Driver {
            network,
            endpoints: Vec::new(),
            granularity,
            limits: Limits::default(),
            observer: None,
            stop: None,
        }
    }

    /// Adds the endpoint at some ports: one, or several for a server with several clients or a multipath connection. Order
    /// matters: at equal times the endpoints are polled in the order of these calls.
    pub fn endpoint(
        mut self,
        ports: impl IntoIterator<Item = Port>,
        endpoint: &'a mut dyn Endpoint,
    ) -> Driver<'a> {
        let ports = ports.into_iter().collect();
        self.endpoints.push(Driving { ports, endpoint, due: Time::NEVER, touched: false, begun: false });
        self
    }

    /// The resolution of the stack's clock, 1 ns by default. A stack with a coarser clock needs it: an arrival between two
    /// of its ticks is otherwise looked for too early, missed, and seen at the stack's next timer.
    pub fn granularity(mut self, step: Span) -> Driver<'a> {
        self.granularity = Span::from_ns(step.ns().max(1));
        self
    }

    /// Other limits than the default ones.
    pub fn limits(mut self, limits: Limits) -> Driver<'a> {
        self.limits = limits;
        self
    }

    /// Calls `look` at every multiple of `step`, and at the end.
    pub fn observe(mut self, step: Span, look: impl FnMut(&mut Network) + 'a) -> Driver<'a> {
        self.observer = Some((Span::from_ns(step.ns().max(1)), Box::new(look)));
        self
    }

    /// Ends the run with [`DriveError::Stopped`] soon after `stop` is set.
    pub fn stop(mut self, stop: &'a AtomicBool) -> Driver<'a> {
        self.stop = Some(stop);
        self
    }

    /// Runs to the end of the scenario, or until all endpoints have finished.
    ///
    /// What is processed at one time, in this order: the network up to that time; every datagram that has arrived, each handed to its
    /// endpoint; each endpoint that received one, whose timer is due, or whose flow starts, is polled in the order of
    /// [`Driver::endpoint`], and its datagrams enter the network at once. If a datagram has arrived meanwhile, over a path
    /// without delay, again. Then the time is the earliest of the network's next arrival, all timers and all departure times,
    /// at least one granule later. No clock is read, and there is no thread.
    pub fn run(mut self) -> Result<Driven, DriveError> {
        let mut owner = self.owners()?;
        for driving in &mut self.endpoints {
            let starts = driving.ports.iter().filter_map(|port| {
                let name = self.network.flow_of(*port).to_string();
                self.network.application(&name).map(|application| application.start)
            });
            driving.due = starts.min().unwrap_or(Time::ZERO);
        }
        let mut state = Running { held: Held::default(), steps: 0, idle: 0, idle_since: Time::ZERO };
        let mut now = self.network.now();
        let mut look = Time::ZERO;
        loop {
            let mut progress = self.network.advance(now)?;
            state.steps += 1;
            let look_up = state.steps.is_multiple_of(STOP_CHECK);
            if look_up && self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(DriveError::Stopped);
            }
            if let Some((step, observer)) = &mut self.observer
                && (now >= look || progress == Progress::Ended)
            {
                observer(self.network);
                look = Time::from_ns(now.ns() / step.ns() * step.ns()) + *step;
            }
            let mut received = false;
            for round in 0.. {
                received |= self.deliver(now, &mut owner)?;
                if progress == Progress::Ended {
                    break;
                }
                self.poll(now, &mut state)?;
                if self.network.next() > now {
                    break;
                }
                if round == MOST_ROUNDS {
                    let endpoint = self.endpoints.iter().position(|driving| driving.touched).unwrap_or(0);
                    return Err(DriveError::Stuck { at: now, endpoint });
                }
                progress = self.network.advance(now)?;
            }
            let finished = self.endpoints.iter().all(|driving| driving.begun && driving.endpoint.finished());
            if progress == Progress::Ended || finished {
                let ended = progress == Progress::Ended;
                let outcome = if ended { self.network.outcome()? } else { self.network.outcome_so_far() };
                return Ok(Driven { outcome, steps: state.steps, finished: finished && !ended });
            }
            let next = self.next(now, look, &state.held);
            if received || next > now + self.granularity {
                (state.idle, state.idle_since) = (0, next);
            } else {
                state.idle += 1;
            }
            if state.idle > self.limits.idle_steps && now.since(state.idle_since) < SHORT {
                let endpoint = self.endpoints.iter().position(|driving| driving.due <= next).unwrap_or(0);
                return Err(DriveError::Stuck { at: now, endpoint });
            }
            now = next;
        }
    }

    /// The number of the endpoint of each port.
    fn owners(&self) -> Result<Vec<Option<usize>>, DriveError> {
        let mut owner = vec![None; self.network.ports().count()];
        for (number, driving) in self.endpoints.iter().enumerate() {
            if driving.ports.is_empty() {
                return Err(DriveError::Ports(format!("endpoint {number} has no port; give it one")));
            }
            for port in &driving.ports {
                let Some(place) = owner.get_mut(port.number() as usize) else {
                    return Err(NetworkError::NotAttached(*port).into());
                };
                if place.replace(number).is_some() {
                    let port = port.number();
                    return Err(DriveError::Ports(format!(
                        "port {port} has two endpoints; give each its own"
                    )));
                }
            }
        }
        Ok(owner)
    }

    /// Hands every datagram that has arrived to its endpoint. Returns whether there was one.
    fn deliver(&mut self, now: Time, owner: &mut [Option<usize>]) -> Result<bool, DriveError> {
        let mut any = false;
        while let Some(datagram) = self.network.receive() {
            any = true;
            let Some(number) = owner[datagram.port.number() as usize] else { continue };
            let driving = &mut self.endpoints[number];
            driving.touched = true;
            let received = driving.endpoint.receive(now, &datagram);
            received.map_err(|error| failed(error, now, number, "receive"))?;
        }
        Ok(any)
    }

    /// Polls the endpoints that have something to do.
    fn poll(&mut self, now: Time, state: &mut Running) -> Result<(), DriveError> {
        while let Some(entry) = state.held.datagrams.first_entry()
            && entry.key().0 <= now
        {
            let (port, bytes, ecn) = entry.remove();
            state.held.bytes -= bytes.len() as u64;
            self.network.send(port, &bytes, ecn)?;
        }
        for (number, driving) in self.endpoints.iter_mut().enumerate() {
            if !driving.touched && driving.due > now {
                continue;
            }
            (driving.touched, driving.begun) = (false, true);
            let port = driving.ports[0];
            let mut sent = 0;
            let mut out = Transmitter {
                network: self.network,
                held: &mut state.held,
                port,
                sent: &mut sent,
                most: self.limits.datagrams_per_instant,
            };
            driving.endpoint.poll(now, &mut out).map_err(|error| failed(error, now, number, "poll"))?;
            driving.due = driving.endpoint.timer().unwrap_or(Time::NEVER);
            let sample = driving.endpoint.sample();
            if !sample.is_empty() {
                self.network.record(port, &sample)?;
            }
            let (stored, most) = (self.network.stored_bytes() + state.held.bytes, self.limits.stored_bytes);
            if stored > most {
                let what = format!("{stored} bytes are in flight or held, and {most} are permitted");
                return Err(DriveError::Flood { at: now, endpoint: number, what });
            }
            if self.network.waiting() > self.limits.waiting {
                let what = format!("more than {} datagrams wait to be received", self.limits.waiting);
                return Err(DriveError::Flood { at: now, endpoint: number, what });
            }
        }
        Ok(())
    }

    /// The next time at which something happens, at least a granule after `now`.
    fn next(&self, now: Time, look: Time, held: &Held) -> Time {
        let timers = self.endpoints.iter().map(|driving| driving.due);
        let departure = held.datagrams.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
        let look = if self.observer.is_some() { look } else { Time::NEVER };
        let next = timers.fold(self.network.next().min(departure).min(look), Time::min);
        if next >= self.network.end() {
            return self.network.end();
        }
        let granule = self.granularity.ps();
        let rounded = Time::from_ps(next.ps().div_ceil(granule) * granule);
        rounded.max(now + self.granularity).min(self.network.end())
    }
}

/// The state of a run besides the endpoints.
struct Running {
    held: Held,
    steps: u64,
    /// Steps in a row, each a granule after the last, without an arrival, and when they began.
    idle: u64,
    idle_since: Time,
}

fn failed(error: StackError, at: Time, endpoint: usize, call: &'static str) -> DriveError {
    if error.is::<TooMany>() {
        return DriveError::Flood { at, endpoint, what: error.to_string() };
    }
    DriveError::Stack { at, endpoint, call, error }
}
