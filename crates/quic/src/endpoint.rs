//! One end of a connection: events and the time in, datagrams and deadlines out.

mod application;
mod streams;

pub use streams::{ReceivedDatagram, StreamEvent, StreamProgress, WriteError};

use crate::clock::{Present, StackTime, duration};
use crate::config::{Config, ConfigError};
use crate::control::{ControllerHandle, Factory};
use crate::ecn::Ecn;
use crate::observer::Observer;
use crate::qlog::Qlog;
use crate::session::{self, KeyLog};
use bytes::{Bytes, BytesMut};
use quinn_proto::congestion::CubicConfig;
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator,
    DatagramEvent, Dir, Event, Side, StreamEvent as StackEvent, StreamId, TransportConfig, VarInt,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use streams::{Incoming, Outgoing};
use units::{Time, VirtualClock};

/// The next events of an endpoint; `Time::NEVER` for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Call [`Endpoint::on_timeout`].
    pub timeout: Time,
    /// Call [`Endpoint::transmit`]: the pacer of the driver holds a packet until then.
    pub pacing: Time,
    /// Call [`Endpoint::on_wake_timer`].
    pub wake: Time,
}

impl Deadlines {
    const NEVER: Deadlines = Deadlines { timeout: Time::NEVER, pacing: Time::NEVER, wake: Time::NEVER };

    /// The earliest of them.
    pub fn next(&self) -> Time {
        self.timeout.min(self.pacing).min(self.wake)
    }
}

/// How a connection was lost (RFC 9000 section 10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionError {
    /// When this end knew.
    pub at: Time,
    /// The error in words.
    pub reason: String,
}

/// How the connection between `sender` and `receiver` was lost, in words: the error of the end that knew first. `None` if it
/// was not lost.
pub fn connection_error(sender: &Endpoint, receiver: &Endpoint) -> Option<String> {
    let errors = [("sender", sender), ("receiver", receiver)]
        .into_iter()
        .filter_map(|(name, end)| Some((name, end.connection_error()?)));
    let (name, error) = errors.min_by_key(|(_, error)| error.at)?;
    Some(format!("{} ({name}, at {:.6} s)", error.reason, error.at.seconds()))
}

/// The data of the application that the stack has not taken yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Source {
    /// Bytes; `None` for no end.
    left: Option<u64>,
    /// The application writes no more.
    last: bool,
    /// The stack knows that it ends.
    finished: bool,
}

/// One end of a connection. The sender has a controller and opens the connection; it sends one stream, or those of an
/// application ([`Config::streams`]). The receiver reads all streams at once.
///
/// After each event its owner calls [`Endpoint::transmit`], or [`Endpoint::transmit_from`] for a sender with an application, and
/// sets timers for the [`Deadlines`] that it returns.
pub struct Endpoint {
    clock: VirtualClock,
    present: Present,
    stack: quinn_proto::Endpoint,
    client: Option<ClientConfig>,
    connection: Option<(ConnectionHandle, Connection)>,
    remote: SocketAddr,
    controller: Option<ControllerHandle>,
    ecn: bool,
    l4s: bool,
    packet: u64,
    buffer: Vec<u8>,
    stream: Option<StreamId>,
    source: Source,
    zeros: Bytes,
    written: u64,
    delivered: u64,
    completed: Option<Time>,
    error: Option<ConnectionError>,
    key_log: KeyLog,
    qlog: Option<Qlog>,
    /// The streams of a sender with an application.
    outgoing: Option<Box<Outgoing>>,
    /// The streams of a receiver with an application.
    incoming: Option<Box<Incoming>>,
}

/// The addresses of sender and receiver as the stack sees them. The owner carries the datagrams.
const ADDRESSES: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 4433),
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 4433),
];

/// The most bytes given to the stack at once.
const MAX_WRITE: u64 = 65_536;

/// Bytes to give the stack at once if there is enough data: a quarter of the window, but at least four packets.
fn largest_write(window: u64, packet: u64) -> u64 {
    (window / 4).clamp(4 * packet, MAX_WRITE.max(4 * packet)).min(MAX_WRITE)
}

/// Connection identifiers in sequence: the stack's own generators ask the system for random numbers. Readers of captures tell
/// connections apart by them.
struct Sequence(u64);

impl Sequence {
    /// The sequence of an end. The first bit of an identifier is 0, 43 bits are of the connection's seed, one of the end.
    fn new(seed: u64, sender: bool) -> Sequence {
        Sequence((seed << 21 >> 1) | u64::from(sender) << 19)
    }
    /// The last identifier.
    fn last(&self) -> ConnectionId {
        ConnectionId::new(&self.0.to_be_bytes())
    }
}

impl ConnectionIdGenerator for Sequence {
    fn generate_cid(&mut self) -> ConnectionId {
        self.0 += 1;
        self.last()
    }
    fn cid_len(&self) -> usize {
        8
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// The most bytes of a packet with a long header: the stack writes its length in two bytes (RFC 9000 section 16).
const LONGEST_LONG_HEADER_PACKET: u32 = (1 << 14) - 1;

/// The settings of the stack: no path MTU discovery, no batches of datagrams, no idle timeout.
fn transport(config: &Config) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let window = VarInt::from_u64(config.receive_window).unwrap_or(VarInt::MAX);
    // For the receiver; the sender has the controller of its flow. A receiver whose window is less than two datagrams can hold
    // back HANDSHAKE_DONE and all ACKs for ever: its first 1-RTT packet, padded to a full datagram, is in flight, the sender
    // acknowledges it only after another one, and the stack sets no timer when the handshake ends.
    let mut congestion = CubicConfig::default();
    congestion.initial_window(10 * config.packet as u64);
    transport
        .congestion_controller_factory(Arc::new(congestion))
        .initial_mtu(config.packet as u16)
        // The size to which the stack pads datagrams with an Initial packet.
        .min_mtu(config.packet.min(LONGEST_LONG_HEADER_PACKET) as u16)
        .mtu_discovery_config(None)
        .enable_segmentation_offload(false)
        .max_idle_timeout(None)
        .receive_window(window)
        .stream_receive_window(window)
        .send_window(u64::MAX) // bounded by `Endpoint::write_to_stack`
        .packet_threshold(config.packet_threshold)
        .time_threshold(config.time_threshold);
    if config.ack_every.is_some() || config.max_ack_delay.is_some() {
        let mut frequency = AckFrequencyConfig::default();
        // An ACK is due when the count exceeds the threshold.
        frequency.ack_eliciting_threshold((config.ack_every.unwrap_or(2) - 1).into());
        frequency.max_ack_delay(config.max_ack_delay.map(duration));
        transport.ack_frequency_config(Some(frequency));
    }
    transport
}

impl Endpoint {
    /// The sending end, with its controller. Its application has no data yet. Fails if a setting has a value that is not
    /// permitted.
    pub fn sender(
        config: &Config,
        clock: VirtualClock,
        controller: ControllerHandle,
    ) -> Result<Endpoint, ConfigError> {
        Endpoint::new(config, clock, Some(controller))
    }

    /// The receiving end. Fails if a setting has a value that is not permitted.
    pub fn receiver(config: &Config, clock: VirtualClock) -> Result<Endpoint, ConfigError> {
        Endpoint::new(config, clock, None)
    }

    fn new(
        config: &Config,
        clock: VirtualClock,
        controller: Option<ControllerHandle>,
    ) -> Result<Endpoint, ConfigError> {
        config.check()?;
        let present = Present::default();
        let (sends, applications) = (controller.is_some(), config.streams.is_some());
        let qlog = config.qlog.as_ref().map(|title| Qlog::new(title, sends, config));
        if let Some(handle) = &controller {
            handle.record(qlog.clone());
        }
        let observer = Observer { present: present.clone(), handle: controller.clone(), qlog: qlog.clone() };
        let mut transport = transport(config);
        if let Some(handle) = controller.clone() {
            let present = present.clone();
            transport.congestion_controller_factory(Arc::new(Factory { handle, clock, present }));
        }
        if let (false, Some(count)) = (sends, config.streams) {
            transport.max_concurrent_uni_streams(count.into());
        }
        let transport = Arc::new(transport);
        let mut settings = session::endpoint();
        settings.grease_quic_bit(false);
        settings.max_udp_payload_size(config.packet as u16).expect("the size is checked");
        let id_seed = config.seed;
        settings.cid_generator(move || Box::new(Sequence::new(id_seed, sends)));
        let mut seed = [sends as u8; 32];
        seed[..8].copy_from_slice(&config.seed.to_le_bytes());
        settings.rng_seed(Some(seed));
        let (mut client, mut server, key_log) = (None, None, KeyLog::default());
        if sends {
            let mut settings = session::client(config, observer, &key_log);
            settings.transport_config(transport);
            settings.initial_dst_cid_provider(Arc::new(move || Sequence::new(id_seed, true).last()));
            client = Some(settings);
        } else {
            let mut settings = session::server(config, observer);
            settings.transport_config(transport);
            server = Some(Arc::new(settings));
        }
        Ok(Endpoint {
            clock,
            present,
            stack: quinn_proto::Endpoint::new(Arc::new(settings), server, false, None),
            client,
            connection: None,
            remote: ADDRESSES[sends as usize],
            outgoing: controller
                .clone()
                .filter(|_| applications)
                .map(|handle| Box::new(Outgoing::new(handle))),
            incoming: (applications && !sends).then(Box::default),
            controller,
            ecn: config.ecn,
            l4s: config.l4s,
            packet: config.packet as u64,
            buffer: Vec::with_capacity(config.packet as usize),
            stream: None,
            source: Source { left: Some(0), last: false, finished: false },
            zeros: Bytes::from_static(&[0; MAX_WRITE as usize]),
            written: 0,
            delivered: 0,
            completed: None,
            error: None,
            key_log,
            qlog,
        })
    }

    // ---- what others see --------------------------------------------------------------------------------

    /// The sender's controller; `None` for a receiver.
    pub fn controller(&self) -> Option<&ControllerHandle> {
        self.controller.as_ref()
    }
    /// Bytes that the receiver's application has read, in the order of their stream; the sum over all streams.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered
    }
    /// The time at which the last byte was acknowledged; `None` before that. With [`Config::streams`]: the time after
    /// [`Endpoint::end_streams`] at which all streams are acknowledged or reset.
    pub fn completed(&self) -> Option<Time> {
        self.completed
    }
    /// Whether the connection exists: of a receiver, since the sender's first packet.
    pub fn has_begun(&self) -> bool {
        self.connection.is_some()
    }
    /// How the connection was lost, if it was.
    pub fn connection_error(&self) -> Option<&ConnectionError> {
        self.error.as_ref()
    }
    /// The counters of the stack; `None` before the connection exists.
    pub fn stack_stats(&self) -> Option<quinn_proto::ConnectionStats> {
        self.connection.as_ref().map(|(_, connection)| connection.stats())
    }
    /// The qlog of this end since the last call, JSON text sequences: the texts of all calls, one after the other, are a file
    /// `.sqlog`. `None` if [`Config::qlog`] is not set.
    pub fn take_qlog(&mut self) -> Option<String> {
        self.qlog.as_ref().map(Qlog::take)
    }

    /// The secrets of a sender's TLS session so far, in the SSLKEYLOGFILE format; empty for a receiver and without TLS.
    pub fn tls_secrets(&self) -> String {
        self.key_log.text()
    }

    // ---- events -----------------------------------------------------------------------------------------

    fn stack_time(&self, now: Time) -> StackTime {
        self.present.set(now);
        self.clock.instant(now)
    }

    /// The sender opens the connection.
    pub fn open(&mut self, now: Time) {
        let at = self.stack_time(now);
        let Some(client) = self.client.take() else { return };
        if let Some(controller) = &self.controller {
            controller.lock().on_open(now);
        }
        match self.stack.connect(at, client, self.remote, session::SERVER_NAME) {
            Ok(connection) => self.connection = Some(connection),
            Err(error) => self.error = Some(ConnectionError { at: now, reason: error.to_string() }),
        }
    }

    /// The application writes `bytes` more bytes. `last`: it writes no more.
    pub fn write(&mut self, bytes: u64, last: bool) {
        if !self.source.finished {
            self.source.left = self.source.left.map(|left| left.saturating_add(bytes));
            self.source.last = last;
        }
    }

    /// The application writes without end.
    pub fn write_endlessly(&mut self) {
        if !self.source.finished {
            self.source.left = None;
        }
    }

    /// The application has no more data: what the stack has taken is the last.
    pub fn stop(&mut self) {
        if !self.source.finished {
            self.source = Source { left: Some(0), last: true, finished: false };
        }
    }

    /// Closes the connection at once; data in flight is given up.
    pub fn close(&mut self, now: Time) {
        let at = self.stack_time(now);
        if let Some(controller) = &self.controller {
            controller.lock().on_close();
        }
        if let Some((_, connection)) = &mut self.connection {
            connection.close(at, VarInt::from_u32(0), Bytes::new());
        }
    }

    /// A datagram arrives.
    pub fn on_datagram(&mut self, now: Time, ecn: Ecn, datagram: BytesMut) {
        let at = self.stack_time(now);
        let ecn = if self.ecn { ecn.codepoint(self.l4s) } else { None };
        self.buffer.clear();
        match self.stack.handle(at, self.remote, None, ecn, datagram, &mut self.buffer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                match self.stack.accept(incoming, at, &mut self.buffer, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(error) => {
                        self.error = Some(ConnectionError { at: now, reason: error.cause.to_string() });
                    }
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.stack.ignore(incoming),
            Some(DatagramEvent::Response(_)) | None => {}
        }
        if let Some(controller) = &self.controller {
            controller.lock().flush_ack();
        }
    }

    /// The deadline [`Deadlines::timeout`] has come.
    pub fn on_timeout(&mut self, now: Time) {
        let at = self.stack_time(now);
        let Some((_, connection)) = &mut self.connection else { return };
        let losses = |connection: &Connection| connection.stats().path.lost_packets;
        let before = losses(connection);
        connection.handle_timeout(at);
        if let Some(controller) = &self.controller {
            let has_losses = losses(connection) > before;
            controller.lock().on_timeout(has_losses);
        }
    }

    /// The deadline [`Deadlines::wake`] has come.
    pub fn on_wake_timer(&mut self, now: Time) {
        if let Some(controller) = &self.controller {
            controller.lock().on_timer(now);
        }
    }

    /// Called after every event: the application reads and writes, and each datagram that may leave is given to `send` with
    /// its ECN field. Returns the next deadlines.
    pub fn transmit(&mut self, now: Time, send: impl FnMut(&[u8], Ecn)) -> Deadlines {
        self.transmit_from(now, Endpoint::write_to_stack, send)
    }

    /// As [`Endpoint::transmit`], for a sender with [`Config::streams`]. `write` is the application: it is called before each
    /// datagram, and once more when none may leave, and gives the stack data with [`Endpoint::write_stream`] while
    /// [`Endpoint::write_room`] is not zero and it has any; if it gives less although it has more, the flow counts as limited by
    /// its application. It may also open, reset and finish streams and send datagrams; it may not call `transmit`.
    pub fn transmit_from(
        &mut self,
        now: Time,
        mut write: impl FnMut(&mut Endpoint),
        mut send: impl FnMut(&[u8], Ecn),
    ) -> Deadlines {
        let at = self.stack_time(now);
        self.restore_datagram_size(at);
        self.process_events(now);
        self.read();
        let mut pacing = Time::NEVER;
        loop {
            write(self);
            let Some((_, connection)) = &mut self.connection else { return Deadlines::NEVER };
            if let Some(controller) = &self.controller {
                pacing = controller.lock().before_transmit(now).unwrap_or(Time::NEVER);
            }
            self.buffer.clear();
            let Some(transmit) = connection.poll_transmit(at, 1, &mut self.buffer) else { break };
            if let Some(controller) = &self.controller {
                controller.lock().after_transmit(now, transmit.size as u64);
            }
            let ecn = match (self.ecn && transmit.ecn.is_some(), self.l4s && self.controller.is_some()) {
                (false, _) => Ecn::NotEct,
                (true, false) => Ecn::Ect0,
                (true, true) => Ecn::Ect1,
            };
            send(&self.buffer[..transmit.size], ecn);
        }
        let Some((_, connection)) = &mut self.connection else { return Deadlines::NEVER };
        let timeout = connection.poll_timeout().map_or(Time::NEVER, |at| self.clock.time(at));
        let wake = self.controller.as_ref().map_or(Time::NEVER, |controller| {
            let mut controller = controller.lock();
            controller.after_turn(now);
            controller.wake_at()
        });
        Deadlines { timeout, pacing, wake }
    }

    /// Undoes a reduction of the datagram size, from more than [`LONGEST_LONG_HEADER_PACKET`] to that size. The stack reduces it
    /// after bursts of losses, because the path may no longer carry the larger size (RFC 8899 section 4.3); the path of a
    /// scenario does. The stack measures the round-trip time anew.
    fn restore_datagram_size(&mut self, at: StackTime) {
        let Some((_, connection)) = &mut self.connection else { return };
        if u64::from(connection.current_mtu()) < self.packet {
            connection.path_changed(at);
        }
    }

    /// Processes the events of connection and stack until there are none.
    fn process_events(&mut self, now: Time) {
        let Some((handle, connection)) = &mut self.connection else { return };
        loop {
            let mut any = false;
            while let Some(event) = connection.poll() {
                any = true;
                match event {
                    Event::Connected => {
                        if let Some(controller) = &self.controller {
                            controller.lock().on_handshake(now);
                            match &mut self.outgoing {
                                Some(outgoing) => outgoing.on_connected(connection),
                                None => self.stream = connection.streams().open(Dir::Uni),
                            }
                        }
                    }
                    Event::Stream(event) => match (&mut self.outgoing, &mut self.incoming) {
                        (Some(outgoing), _) => outgoing.on_event(event, connection),
                        (None, Some(incoming)) => incoming.on_event(event, connection),
                        (None, None) if matches!(event, StackEvent::Finished { .. }) => {
                            self.completed = Some(now);
                        }
                        (None, None) => {}
                    },
                    Event::ConnectionLost { reason } => {
                        self.error = Some(ConnectionError { at: now, reason: reason.to_string() });
                    }
                    _ => {}
                }
            }
            while let Some(event) = connection.poll_endpoint_events() {
                any = true;
                if let Some(event) = self.stack.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            if !any {
                break;
            }
        }
        if self.completed.is_none()
            && let Some(outgoing) = &self.outgoing
            && outgoing.is_complete(connection)
        {
            self.completed = Some(now);
        }
    }

    /// The receiver's application reads what has arrived.
    fn read(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        if connection.side() == Side::Client {
            return;
        }
        if let Some(incoming) = &mut self.incoming {
            self.delivered += incoming.read(connection);
            return;
        }
        connection.streams().accept(Dir::Uni);
        let mut stream = connection.recv_stream(StreamId::new(Side::Client, Dir::Uni, 0));
        if let Ok(mut chunks) = stream.read(true) {
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                self.delivered += chunk.bytes.len() as u64;
            }
            let _ = chunks.finalize(); // flow control is sent with the next datagram
        }
    }

    /// Gives the stack data of the application, but little more than it can send now: it sends all that it has taken, even
    /// after [`Endpoint::stop`].
    fn write_to_stack(&mut self) {
        let (Some(stream), Some((_, connection))) = (self.stream, &mut self.connection) else { return };
        let Some(controller) = &self.controller else { return };
        if self.source.finished {
            return;
        }
        let (sent, window) = {
            let controller = controller.lock();
            (controller.stream_sent(), controller.window_bytes())
        };
        let unsent = self.written - sent;
        if unsent < 2 * self.packet && self.source.left != Some(0) {
            let limit = largest_write(window, self.packet).min(self.source.left.unwrap_or(u64::MAX));
            let mut chunks = [self.zeros.slice(..limit as usize)];
            if let Ok(written) = connection.send_stream(stream).write_chunks(&mut chunks) {
                self.written += written.bytes as u64;
                self.source.left = self.source.left.map(|left| left - written.bytes as u64);
            }
        }
        if self.source.left == Some(0) && self.source.last {
            self.source.finished = connection.send_stream(stream).finish().is_ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_and_ends_have_identifiers_of_their_own() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in [0, 1, 2, 1 << 42, (1 << 43) - 1] {
            for sender in [false, true] {
                let mut ids = Sequence::new(seed, sender);
                assert!(seen.insert(ids.last().to_vec()));
                assert!((0..100).all(|_| seen.insert(ids.generate_cid().to_vec())), "{seed} {sender}");
            }
        }
        // The first byte of a reset token is that of its identifier, and the tag of a packet has another (session/plain.rs).
        assert!(seen.iter().all(|id| id.len() == 8 && id[0] < 0x80));
        assert_eq!(Sequence::new(u64::MAX, false).last()[0], 0x7f);
    }

    #[test]
    fn ends_can_move_between_threads() {
        fn can_move<T: Send>() {}
        can_move::<Endpoint>();
        can_move::<ControllerHandle>();
    }
}
