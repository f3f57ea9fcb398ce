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
    /// Datagrams that it has sent.
    pub sent: u64,
    /// Datagrams that it has received.
    pub received: u64,
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
        // A smaller buffer than asked for is not an error: a run that loses datagrams in it is not valid.
        let _ = state.set_recv_buffer_size((&socket).into(), BUFFER);
        let _ = state.set_send_buffer_size((&socket).into(), BUFFER);
        Ok(Socket { socket, state, buffers: vec![vec![0; LARGEST]; BATCH_SIZE], sent: 0, received: 0 })
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
                    self.received += 1;
                    each(datagram, ecn(meta.ecn));
                }
            }
        }
    }

    /// Sends a datagram. Returns whether the socket has taken it.
    pub fn send(&mut self, destination: SocketAddr, contents: &[u8], ecn: Ecn) -> bool {
        let transmit =
            Transmit { destination, ecn: codepoint(ecn), contents, segment_size: None, src_ip: None };
        let accepted = self.state.try_send((&self.socket).into(), &transmit).is_ok();
        self.sent += u64::from(accepted);
        accepted
    }

    /// Reads what still waits, and returns how many of the datagrams of `other` to this socket, whose address there is `from`,
    /// were lost. Neither may be in use.
    pub fn lost_from(&mut self, other: &Socket, from: SocketAddr) -> u64 {
        self.receive(from, |_, _| {});
        other.sent.saturating_sub(self.received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_lost_in_a_buffer_are_counted() {
        let (mut near, mut far) = (Socket::bind().unwrap(), Socket::bind().unwrap());
        let (to, from) = (far.address().unwrap(), near.address().unwrap());
        for _ in 0..10 {
            assert!(near.send(to, &[0; 100], Ecn::NotEct));
        }
        assert_eq!(far.lost_from(&near, from), 0);
        far.state.set_recv_buffer_size((&far.socket).into(), 4096).unwrap();
        for _ in 0..1000 {
            near.send(to, &[0; 1000], Ecn::NotEct);
        }
        let lost = far.lost_from(&near, from);
        assert!(lost > 0 && near.sent == far.received + lost, "{lost}");
    }
}
