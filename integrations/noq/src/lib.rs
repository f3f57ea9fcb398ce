//! noq over the network of a scenario: one stream of bytes from the source to the destination of a flow.
//!
//! ```
//! use ackclock::Scenario;
//! use ackclock::network::{Driver, Endpoint, FlowEnd, Network};
//! use ackclock_noq::Peer;
//!
//! let scenario = Scenario::parse("scenario.toml", include_str!("../scenario.toml"), &[])?;
//! let mut network = Network::open(&scenario).start()?;
//! let [from, to] = network.ports_of("bulk").ok_or("no flow `bulk`")?;
//! let mut source = Peer::new(FlowEnd::Source, network.seed(), "cubic", Some(1_000_000))?;
//! let mut destination = Peer::new(FlowEnd::Destination, network.seed(), "cubic", None)?;
//! let driven = Driver::new(&mut network).endpoint([from], &mut source).endpoint([to], &mut destination).run()?;
//! assert!(driven.finished);
//! assert_eq!(destination.sample().delivered_bytes, Some(1_000_000));
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

mod application;
mod settings;

use ackclock::network::{Datagram, Endpoint, FlowEnd, Sample, StackError, Transmitter, VirtualClock};
use ackclock::{Ecn, Time};
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Event, FourTuple, PathId,
    StreamEvent, StreamId,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;

/// The address of the other end, as each end sees it.
const REMOTE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 4433);
/// An endpoint has one connection.
const HANDLE: ConnectionHandle = ConnectionHandle(0);

/// One end of a connection: the source is the client and writes, the destination is the server and reads.
pub struct Peer {
    end: FlowEnd,
    clock: VirtualClock,
    endpoint: noq_proto::Endpoint,
    client: Option<ClientConfig>,
    connection: Option<Connection>,
    stream: Option<StreamId>,
    /// Bytes that the source has yet to write.
    unwritten: u64,
    /// Bytes that the destination has read.
    delivered: u64,
    finished: bool,
}

impl Peer {
    /// One end of a connection with a congestion controller: `reno`, `cubic` or `bbr3`. The source writes `bytes`, or
    /// without end. Both ends need the same seed.
    pub fn new(end: FlowEnd, seed: u64, controller: &str, bytes: Option<u64>) -> Result<Peer, StackError> {
        let (endpoint, client) = settings::endpoint(end, seed, controller)?;
        let (clock, connection, stream) = (VirtualClock::new(), None, None);
        let (unwritten, delivered, finished) = (bytes.unwrap_or(u64::MAX), 0, false);
        Ok(Peer { end, clock, endpoint, client, connection, stream, unwritten, delivered, finished })
    }
}

impl Endpoint for Peer {
    fn receive(&mut self, now: Time, datagram: &Datagram<'_>) -> Result<(), StackError> {
        let (now, ecn) = (self.clock.instant(now), EcnCodepoint::from_bits(datagram.ecn.bits()));
        let (path, mut response) = (FourTuple::from_remote(REMOTE), Vec::new());
        let event = self.endpoint.handle(now, path, ecn, datagram.bytes.into(), &mut response);
        match (event, &mut self.connection) {
            (Some(DatagramEvent::ConnectionEvent(_, event)), Some(connection)) => {
                connection.handle_event(event)
            }
            (Some(DatagramEvent::NewConnection(incoming)), None) => {
                let accepted = self.endpoint.accept(incoming, now, &mut response, None);
                self.connection = Some(accepted.map_err(|error| error.cause)?.1);
            }
            _ => {}
        }
        Ok(())
    }

    fn poll(&mut self, now: Time, out: &mut Transmitter<'_>) -> Result<(), StackError> {
        let now = self.clock.instant(now);
        if let Some(client) = self.client.take() {
            self.connection = Some(self.endpoint.connect(now, client, REMOTE, settings::SERVER_NAME)?.1);
        }
        let Some(connection) = &mut self.connection else { return Ok(()) };
        if connection.poll_timeout().is_some_and(|timeout| timeout <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(HANDLE, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match (event, self.end) {
                (Event::ConnectionLost { reason }, _) => return Err(reason.into()),
                (Event::Connected, FlowEnd::Source) => self.stream = connection.streams().open(Dir::Uni),
                (Event::Stream(StreamEvent::Opened { dir }), _) => {
                    self.stream = connection.streams().accept(dir)
                }
                (Event::Stream(StreamEvent::Finished { .. }), _) => self.finished = true,
                _ => {}
            }
        }
        match (self.stream, self.end) {
            (Some(id), FlowEnd::Source) => {
                application::write(&mut connection.send_stream(id), &mut self.unwritten);
            }
            (Some(id), FlowEnd::Destination) => {
                self.finished |= application::read(&mut connection.recv_stream(id), &mut self.delivered);
            }
            (None, _) => {}
        }
        let mut datagram = Vec::new();
        while let Some(transmit) = connection.poll_transmit(now, NonZeroUsize::MIN, &mut datagram) {
            out.send(&datagram, transmit.ecn.map_or(Ecn::NotEct, |ecn| Ecn::from_bits(ecn as u8)))?;
            datagram.clear();
        }
        Ok(())
    }

    fn timer(&mut self) -> Option<Time> {
        let timeout = self.connection.as_mut()?.poll_timeout()?;
        Some(self.clock.time(timeout))
    }

    fn sample(&mut self) -> Sample {
        let connection = self.connection.as_ref();
        let controller = connection.and_then(|connection| connection.congestion_state(PathId::ZERO));
        let metrics = controller.map(|controller| controller.metrics()).unwrap_or_default();
        Sample {
            delivered_bytes: (self.end == FlowEnd::Destination).then_some(self.delivered),
            cwnd_bytes: controller.map(|controller| controller.window()),
            ssthresh_bytes: metrics.ssthresh,
            pacing_bps: metrics.pacing_rate.map(|rate| 8 * rate),
            ..Sample::default()
        }
    }

    fn finished(&self) -> bool {
        self.finished
    }
}
