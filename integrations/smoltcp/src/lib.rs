//! smoltcp over the network of a scenario: one TCP connection from the source to the destination of a flow. Whole IP
//! packets are sent: open the network with `header(0)`, and drive it with a granularity of 1 us, the resolution of the stack.
//!
//! ```
//! use ackclock::network::{Driver, Endpoint, FlowEnd, Network};
//! use ackclock::{Scenario, Span};
//! use ackclock_smoltcp::Peer;
//!
//! let scenario = Scenario::parse("scenario.toml", include_str!("../scenario.toml"), &[])?;
//! let mut network = Network::open(&scenario).header(0).start()?;
//! let [from, to] = network.ports_of("bulk").ok_or("no flow `bulk`")?;
//! let mut source = Peer::new(FlowEnd::Source, network.seed(), "cubic", Some(1_000_000))?;
//! let mut destination = Peer::new(FlowEnd::Destination, network.seed(), "cubic", None)?;
//! let driver = Driver::new(&mut network).granularity(Span::from_ns(1000));
//! let driven = driver.endpoint([from], &mut source).endpoint([to], &mut destination).run()?;
//! assert!(driven.finished);
//! assert_eq!(destination.sample().delivered_bytes, Some(1_000_000));
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

mod device;

use ackclock::network::{Datagram, Endpoint, FlowEnd, Sample, StackError, Transmitter, seed_bytes};
use ackclock::{Ecn, Time};
use device::Queues;
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr, Ipv4Address};

/// The addresses of source and destination.
const ADDRESSES: [Ipv4Address; 2] = [Ipv4Address::new(10, 0, 0, 1), Ipv4Address::new(10, 0, 0, 2)];
const PORT: u16 = 5001;
/// Bytes of each buffer of a socket, so large that windows do not limit.
const BUFFER: usize = 4_000_000;

/// One end of a connection: the source connects and writes, the destination listens and reads.
pub struct Peer {
    end: FlowEnd,
    now: Instant,
    device: Queues,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    /// Bytes that the source has yet to write.
    unwritten: usize,
    /// Bytes that the destination has read.
    delivered: u64,
}

impl Peer {
    /// One end of a connection with a congestion controller: `reno` or `cubic`. The source writes `bytes`, or without end.
    pub fn new(end: FlowEnd, seed: u64, controller: &str, bytes: Option<u64>) -> Result<Peer, StackError> {
        let (now, mut device) = (Instant::ZERO, Queues::default());
        let mut config = Config::new(HardwareAddress::Ip);
        let random = seed_bytes(seed, &format!("smoltcp {end:?}"));
        config.random_seed = u64::from_le_bytes(random[..8].try_into()?);
        let mut interface = Interface::new(config, &mut device, now);
        let mut socket = Socket::new(SocketBuffer::new(vec![0; BUFFER]), SocketBuffer::new(vec![0; BUFFER]));
        socket.set_congestion_control(match controller {
            "reno" => CongestionControl::Reno,
            "cubic" => CongestionControl::Cubic,
            other => return Err(format!("no controller {other}; smoltcp has reno and cubic").into()),
        });
        let [local, remote] = if end == FlowEnd::Source { ADDRESSES } else { [ADDRESSES[1], ADDRESSES[0]] };
        interface.update_ip_addrs(|addresses| addresses.extend([IpCidr::new(local.into(), 24)]));
        match end {
            FlowEnd::Source => socket.connect(interface.context(), (remote, PORT), PORT)?,
            FlowEnd::Destination => socket.listen(PORT)?,
        }
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        let unwritten = bytes.map_or(usize::MAX, |bytes| bytes as usize);
        Ok(Peer { end, now, device, interface, sockets, socket, unwritten, delivered: 0 })
    }

    /// The source writes what the socket takes, the destination reads what it has; both close it at the end.
    fn run_application(&mut self) {
        let socket = self.sockets.get_mut::<Socket>(self.socket);
        let ended = match self.end {
            FlowEnd::Source => {
                while let Ok(bytes @ 1..) = socket.send(|buffer| [buffer.len().min(self.unwritten); 2].into())
                {
                    self.unwritten -= bytes;
                }
                self.unwritten == 0
            }
            FlowEnd::Destination => {
                while let Ok(bytes @ 1..) = socket.recv(|buffer| [buffer.len(); 2].into()) {
                    self.delivered += bytes as u64;
                }
                socket.state() == State::CloseWait
            }
        };
        if ended {
            socket.close();
        }
    }
}

impl Endpoint for Peer {
    fn receive(&mut self, _: Time, datagram: &Datagram<'_>) -> Result<(), StackError> {
        self.device.received.push_back(datagram.bytes.to_vec());
        Ok(())
    }

    fn poll(&mut self, now: Time, out: &mut Transmitter<'_>) -> Result<(), StackError> {
        self.now = Instant::from_micros((now.ns() / 1000) as i64);
        while self.interface.poll(self.now, &mut self.device, &mut self.sockets)
            == PollResult::SocketStateChanged
        {
            self.run_application();
        }
        self.device.sent.drain(..).try_for_each(|packet| out.send(&packet, Ecn::NotEct))
    }

    fn timer(&mut self) -> Option<Time> {
        let at = self.interface.poll_at(self.now, &self.sockets)?;
        Some(Time::from_ns(at.total_micros() as u64 * 1000))
    }

    fn sample(&mut self) -> Sample {
        let delivered = (self.end == FlowEnd::Destination).then_some(self.delivered);
        Sample { delivered_bytes: delivered, ..Sample::default() }
    }

    fn finished(&self) -> bool {
        matches!(self.sockets.get::<Socket>(self.socket).state(), State::TimeWait | State::Closed)
    }
}
