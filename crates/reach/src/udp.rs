//! UDP sockets of the loopback device with ECN.

use net::Ecn;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use rustix::event::{PollFd, PollFlags};
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

/// Bytes that wait in a socket: more than any emulated queue.
const BUFFER: usize = 4 << 20;

/// Largest datagram.
const LARGEST: usize = 65_536;

/// A socket with its receive buffers.
pub(crate) struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    buffers: Vec<Vec<u8>>,
}

fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

fn ecn(codepoint: Option<EcnCodepoint>) -> Ecn {
    match codepoint {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

impl Socket {
    /// A socket on a free port of 127.0.0.1.
    pub fn bind() -> io::Result<Socket> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let state = UdpSocketState::new((&socket).into())?;
        // A smaller buffer than asked for is not an error: lost datagrams appear in the outcome.
        let _ = state.set_recv_buffer_size((&socket).into(), BUFFER);
        let _ = state.set_send_buffer_size((&socket).into(), BUFFER);
        Ok(Socket { socket, state, buffers: vec![vec![0; LARGEST]; BATCH_SIZE] })
    }

    /// Its address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// For a poll until a datagram arrives.
    pub fn readable(&self) -> PollFd<'_> {
        PollFd::new(&self.socket, PollFlags::IN)
    }

    /// Gives every datagram that has arrived from `from` to `each`; others are dropped.
    pub fn receive(&mut self, from: SocketAddr, mut each: impl FnMut(&[u8], Ecn)) {
        loop {
            let mut metas = [RecvMeta::default(); BATCH_SIZE];
            let mut slices: Vec<IoSliceMut<'_>> =
                self.buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
            let Ok(count) = self.state.recv((&self.socket).into(), &mut slices, &mut metas) else { return };
            for (meta, buffer) in metas[..count].iter().zip(&self.buffers) {
                if meta.addr != from {
                    continue;
                }
                for datagram in buffer[..meta.len].chunks(meta.stride.max(1)) {
                    each(datagram, ecn(meta.ecn));
                }
            }
        }
    }

    /// Sends a datagram. Returns whether the socket has taken it.
    pub fn send(&self, destination: SocketAddr, contents: &[u8], ecn: Ecn) -> bool {
        let transmit =
            Transmit { destination, ecn: codepoint(ecn), contents, segment_size: None, src_ip: None };
        self.state.try_send((&self.socket).into(), &transmit).is_ok()
    }
}
