//! Both ends of a connection of quinn over the simulated network of Ackclock, as integrations/quinn has them, with any
//! controller.

#![allow(dead_code, reason = "each test file uses a part")]

use ackclock::network::{
    Datagram, Driver, Endpoint, FlowEnd, Network, StackError, Transmitter, VirtualClock, seed_bytes,
};
use ackclock::{DropReason, Ecn, Recording, Run, Scenario, Settings, Time};
use quinn_proto::congestion::ControllerFactory;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, EndpointConfig, Event,
    ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

pub type AnyFactory = Arc<dyn ControllerFactory + Send + Sync>;

const REMOTE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 4433);
const SERVER_NAME: &str = "localhost";
/// An endpoint has one connection.
const HANDLE: ConnectionHandle = ConnectionHandle(0);
/// What precedes the 32 bytes of an Ed25519 private key in PKCS #8 (RFC 8410 section 7).
const ED25519_PKCS8: [u8; 16] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
static ZEROS: [u8; 65_536] = [0; 65_536];

/// 10 Mb/s, 40 ms, in both directions a queue of one bandwidth-delay product.
pub const SLOW: &[&str] = &["link.bottleneck.rate=10Mbps"];
/// One packet in 100 is lost on the way to the receiver.
pub const LOSS: &[&str] = &[
    r#"link.bottleneck.loss={ kind = "bernoulli", rate = 0.01 }"#,
    r#"link.bottleneck.back={ loss = { kind = "none" } }"#,
];
/// A queue that marks packets with ECN.
pub const ECN: &[&str] = &[r#"link.bottleneck.queue={ kind = "codel", ecn = true }"#];

/// What a run has measured.
pub struct Measured {
    /// Payload of the stream that arrived, Mb/s.
    pub goodput: f64,
    /// Datagrams of the source; those of them that the network dropped, and that arrived with an ECN mark.
    pub sent: u64,
    pub drops: u64,
    pub marks: u64,
    /// Mean one-way delay of the source's datagrams, ms.
    pub delay_ms: f64,
    /// Of all packets and their times.
    pub fingerprint: String,
    /// Whether the stream has ended.
    pub finished: bool,
    /// What quinn counts at the source: congestion events and lost packets.
    pub events: u64,
    pub lost: u64,
    /// The controller of the source.
    pub controller: Box<dyn quinn_proto::congestion::Controller>,
}

/// How the ends send.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Datagrams of 1200 bytes only, without discovery of the MTU.
    pub smallest: bool,
    /// Datagrams that leave in one call of the stack at most (segmentation offload).
    pub batch: usize,
}

/// As in most programs without segmentation offload.
pub const USUAL: Sending = Sending { smallest: false, batch: 1 };
/// As QUIC flows of the laboratory with `max_datagram_size = "1200B"`.
pub const SMALLEST: Sending = Sending { smallest: true, batch: 1 };

/// Runs a stream of `bytes` bytes, or without end, over the network of scenario.toml with `changes`.
pub fn run(
    factory: AnyFactory,
    seed: u64,
    changes: &[&str],
    bytes: Option<u64>,
) -> Result<Measured, StackError> {
    run_with(factory, seed, changes, bytes, USUAL)
}

/// [`run`], with another way to send.
pub fn run_with(
    factory: AnyFactory,
    seed: u64,
    changes: &[&str],
    bytes: Option<u64>,
    sending: Sending,
) -> Result<Measured, StackError> {
    let changes: Vec<String> = changes.iter().map(|change| change.to_string()).collect();
    let scenario = Scenario::parse("scenario.toml", include_str!("../../scenario.toml"), &changes)?;
    let recording = Recording { fingerprint: true, ..Recording::default() };
    let mut network = Network::open(&scenario).seed(seed).record(recording).start()?;
    let [from, to] = network.ports_of("bulk").ok_or("no flow `bulk`")?;
    let mut source = Peer::new(FlowEnd::Source, seed, factory.clone(), bytes, sending)?;
    let mut destination = Peer::new(FlowEnd::Destination, seed, factory, None, sending)?;
    let driven =
        Driver::new(&mut network).endpoint([from], &mut source).endpoint([to], &mut destination).run()?;
    let counts = network.counts(from)?;
    let connection = source.connection.ok_or("not connected")?;
    let path = connection.stats().path;
    Ok(Measured {
        goodput: destination.delivered as f64 * 8e-6 / network.now().seconds(),
        sent: counts.sent,
        drops: counts.dropped.iter().sum(),
        marks: counts.marked,
        delay_ms: counts.delay.mean_s.unwrap_or(f64::NAN) * 1e3,
        fingerprint: network.fingerprint().ok_or("no fingerprint")?,
        finished: driven.finished,
        events: path.congestion_events,
        lost: path.lost_packets,
        controller: connection.congestion_state().clone_box(),
    })
}

/// One end: the source is the client and writes zeros, the destination is the server and reads.
struct Peer {
    end: FlowEnd,
    batch: usize,
    clock: VirtualClock,
    endpoint: quinn_proto::Endpoint,
    client: Option<ClientConfig>,
    connection: Option<Connection>,
    stream: Option<StreamId>,
    unwritten: u64,
    delivered: u64,
    finished: bool,
}

impl Peer {
    fn new(
        end: FlowEnd,
        seed: u64,
        factory: AnyFactory,
        bytes: Option<u64>,
        sending: Sending,
    ) -> Result<Peer, StackError> {
        let window = VarInt::from_u32(1_000_000_000);
        let mut transport = TransportConfig::default();
        transport.congestion_controller_factory(factory).max_idle_timeout(None);
        transport.receive_window(window).stream_receive_window(window);
        if sending.smallest {
            transport.mtu_discovery_config(None);
        }
        let (transport, (certificate, key)) = (Arc::new(transport), certificate(seed)?);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let (mut client, mut server) = (None, None);
        if end == FlowEnd::Source {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(certificate)?;
            let tls = rustls::ClientConfig::builder_with_provider(provider)
                .with_protocol_versions(&[&rustls::version::TLS13])?
                .with_root_certificates(roots)
                .with_no_client_auth();
            let config = client.insert(ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)));
            config.transport_config(transport);
        } else {
            let tls = rustls::ServerConfig::builder_with_provider(provider)
                .with_protocol_versions(&[&rustls::version::TLS13])?
                .with_no_client_auth()
                .with_single_cert(vec![certificate], key)?;
            let config = server.insert(ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?)));
            config.transport_config(transport);
        }
        let mut config = EndpointConfig::default();
        config.rng_seed(Some(seed_bytes(seed, if client.is_some() { "source" } else { "destination" })));
        Ok(Peer {
            end,
            batch: sending.batch,
            clock: VirtualClock::new(),
            endpoint: quinn_proto::Endpoint::new(Arc::new(config), server.map(Arc::new), true, None),
            client,
            connection: None,
            stream: None,
            unwritten: bytes.unwrap_or(u64::MAX),
            delivered: 0,
            finished: false,
        })
    }

    fn write(&mut self, id: StreamId) {
        let Some(connection) = &mut self.connection else { return };
        let mut stream = connection.send_stream(id);
        while let size @ 1.. = self.unwritten.min(ZEROS.len() as u64) as usize
            && let Ok(bytes) = stream.write(&ZEROS[..size])
        {
            self.unwritten -= bytes as u64;
        }
        if self.unwritten == 0 {
            let _ = stream.finish(); // it fails if the stream has ended before
        }
    }

    fn read(&mut self, id: StreamId) {
        let Some(connection) = &mut self.connection else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(next) = chunks.next(usize::MAX) {
            let Some(chunk) = next else {
                self.finished = true;
                break;
            };
            self.delivered += chunk.bytes.len() as u64;
        }
        let _ = chunks.finalize(); // the caller transmits in any case
    }
}

impl Endpoint for Peer {
    fn receive(&mut self, now: Time, datagram: &Datagram<'_>) -> Result<(), StackError> {
        let (now, ecn) = (self.clock.instant(now), EcnCodepoint::from_bits(datagram.ecn.bits()));
        let mut response = Vec::new();
        let event = self.endpoint.handle(now, REMOTE, None, ecn, datagram.bytes.into(), &mut response);
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
            self.connection = Some(self.endpoint.connect(now, client, REMOTE, SERVER_NAME)?.1);
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
            (Some(id), FlowEnd::Source) => self.write(id),
            (Some(id), FlowEnd::Destination) => self.read(id),
            (None, _) => {}
        }
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let mut datagrams = Vec::new();
        while let Some(transmit) = connection.poll_transmit(now, self.batch, &mut datagrams) {
            let ecn = transmit.ecn.map_or(Ecn::NotEct, |ecn| Ecn::from_bits(ecn as u8));
            for datagram in datagrams.chunks(transmit.segment_size.unwrap_or(datagrams.len())) {
                out.send(datagram, ecn)?;
            }
            datagrams.clear();
        }
        Ok(())
    }

    fn timer(&mut self) -> Option<Time> {
        let timeout = self.connection.as_mut()?.poll_timeout()?;
        Some(self.clock.time(timeout))
    }

    fn finished(&self) -> bool {
        self.finished
    }
}

/// A self-signed certificate and its key, the same at both ends and of the same size in every run.
fn certificate(seed: u64) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), StackError> {
    let secret = [&ED25519_PKCS8[..], &seed_bytes(seed, "certificate")].concat();
    let key = rcgen::KeyPair::try_from(&secret[..])?;
    let mut parameters = rcgen::CertificateParams::new([SERVER_NAME.into()])?;
    parameters.serial_number = Some(1.into());
    Ok((parameters.self_signed(&key)?.der().clone(), PrivatePkcs8KeyDer::from(secret).into()))
}

/// Goodput, Mb/s, and drops of the controller `name` in a QUIC flow of Ackclock with datagrams of 1200 bytes, which gives it
/// every signal.
pub fn laboratory(name: &str, seed: u64, changes: &[&str]) -> Result<(f64, u64), StackError> {
    let mut changes: Vec<String> = changes.iter().map(|change| change.to_string()).collect();
    changes.push(format!(
        r#"flow.bulk.quic={{ congestion_control = "{name}", max_datagram_size = "1200B", ecn = true }}"#
    ));
    let scenario = Scenario::parse("scenario.toml", include_str!("../../scenario.toml"), &changes)?;
    let mut run = Run::new(&scenario, Settings { seed: Some(seed), ..Settings::default() })?;
    run.finish();
    let outcome = run.outcome();
    let dropped = |link: &ackclock::LinkOutcome| -> u64 {
        DropReason::ALL.iter().map(|reason| link.dropped_packets[*reason]).sum()
    };
    let drops = outcome.links.iter().map(dropped).sum();
    Ok((outcome.flows[0].goodput_bps * 1e-6, drops))
}
