//! sctp-proto over a network of Ackclock: one association, one ordered and reliable stream.

use ackclock::conform::Case;
use ackclock::network::{
    Application, Datagram, Endpoint, FlowEnd, Sample, StackError, Transmitter, VirtualClock, seed_bytes,
};
use ackclock::{Ecn, Time};
use bytes::Bytes;
use sctp_proto::{
    Association, ClientConfig, DatagramEvent, EndpointConfig, Event, Payload, PayloadProtocolIdentifier,
    TransportConfig, generate_snap_token,
};
use std::net::SocketAddr;
use std::sync::Arc;

/// Bytes that the source keeps written and not yet acknowledged: more than any window here.
const BUFFER: usize = 4 << 20;
const STREAM: u16 = 1;

/// One end of an association.
pub struct Sctp {
    clock: VirtualClock,
    endpoint: sctp_proto::Endpoint,
    association: Association,
    peer: SocketAddr,
    end: FlowEnd,
    application: Application,
    write_bytes: usize,
    written: u64,
    /// Number of timed writes that were made.
    writes: usize,
    delivered: u64,
}

impl Sctp {
    /// The end `end` of the association of a run. Both ends know each other's INIT chunk (SNAP), so there is no handshake;
    /// tags and first sequence numbers are from the seed.
    pub fn new(case: &Case, end: FlowEnd) -> Result<Sctp, StackError> {
        let transport = || {
            TransportConfig::default()
                .with_max_receive_buffer_size(8 << 20)
                .with_max_send_message_size(1 << 20)
                .with_max_receive_message_size(1 << 20)
        };
        let token = |end: FlowEnd| -> Result<Bytes, StackError> {
            let drawn = seed_bytes(case.seed, &format!("sctp {} {}", case.flow, end as usize));
            let mut init = generate_snap_token(&transport())?.to_vec();
            init[4..8].copy_from_slice(&drawn[0..4]); // the tag
            init[16..20].copy_from_slice(&drawn[4..8]); // the first sequence number
            Ok(init.into())
        };
        let other = if end == FlowEnd::Source { FlowEnd::Destination } else { FlowEnd::Source };
        let peer = SocketAddr::from(([10, 0, 0, 1 + other as u8], 5000));
        let mut config = EndpointConfig::new();
        config.max_payload_size(case.mtu - case.header - 28); // common header and header of a DATA chunk
        let mut endpoint = sctp_proto::Endpoint::new(Arc::new(config), None);
        let mut client = ClientConfig::new().with_snap(token(end)?, token(other)?);
        client.transport = Arc::new(transport());
        let (_, mut association) = endpoint.connect(client, peer)?;
        association.open_stream(STREAM, PayloadProtocolIdentifier::Binary)?;
        let (application, write_bytes) = (case.application.clone(), case.write_bytes);
        let (written, writes, delivered, clock) = (0, 0, 0, VirtualClock::new());
        Ok(Sctp {
            clock,
            endpoint,
            association,
            peer,
            end,
            application,
            write_bytes,
            written,
            writes,
            delivered,
        })
    }

    /// Writes what the application has to write, one message for each write.
    fn write(&mut self, now: Time) -> Result<(), StackError> {
        let mut stream = self.association.stream(STREAM)?;
        let due =
            |writes: &[(Time, u64)], next: usize| writes.get(next).filter(|(at, _)| *at <= now).copied();
        while let Some((_, bytes)) = due(&self.application.writes, self.writes) {
            stream.write(&vec![0; bytes as usize])?;
            self.writes += 1;
        }
        let stopped = self.application.stop.is_some_and(|stop| now >= stop);
        if !self.application.writes.is_empty() || now < self.application.start || stopped {
            return Ok(());
        }
        let most = self.application.bytes.unwrap_or(u64::MAX);
        while stream.buffered_amount()? < BUFFER && self.written < most {
            let size = (most - self.written).min(self.write_bytes as u64);
            stream.write(&vec![0; size as usize])?;
            self.written += size;
        }
        Ok(())
    }
}

impl Endpoint for Sctp {
    fn receive(&mut self, now: Time, datagram: &Datagram<'_>) -> Result<(), StackError> {
        let bytes = Bytes::copy_from_slice(datagram.bytes);
        let handled = self.endpoint.handle(self.clock.instant(now), self.peer, None, None, bytes);
        let Some((_, DatagramEvent::AssociationEvent(event))) = handled else {
            return Err("a datagram of no association".into());
        };
        self.association.handle_event(event);
        Ok(())
    }

    fn poll(&mut self, now: Time, out: &mut Transmitter<'_>) -> Result<(), StackError> {
        let instant = self.clock.instant(now);
        self.association.handle_timeout(instant);
        while let Some(event) = self.association.poll() {
            if let Event::AssociationLost { reason } = event {
                return Err(reason.into());
            }
        }
        if self.end == FlowEnd::Source {
            self.write(now)?;
        } else {
            while let Some(message) = self.association.stream(STREAM)?.read()? {
                self.delivered += message.len() as u64;
            }
        }
        while let Some(transmit) = self.association.poll_transmit(instant) {
            let Payload::RawEncode(datagrams) = transmit.payload else { continue };
            for datagram in datagrams {
                out.send(&datagram, Ecn::NotEct)?;
            }
        }
        Ok(())
    }

    fn timer(&mut self) -> Option<Time> {
        let stack = self.association.poll_timeout().map(|at| self.clock.time(at));
        let write = self.application.writes.get(self.writes).map(|(at, _)| *at);
        let write = write.filter(|_| self.end == FlowEnd::Source);
        stack.into_iter().chain(write).min()
    }

    fn sample(&mut self) -> Sample {
        let delivered_bytes = (self.end == FlowEnd::Destination).then_some(self.delivered);
        Sample { delivered_bytes, ..Sample::default() }
    }
}

/// Both ends for a run.
pub fn ends(case: &Case) -> Result<[Box<dyn Endpoint>; 2], StackError> {
    Ok([Box::new(Sctp::new(case, FlowEnd::Source)?), Box::new(Sctp::new(case, FlowEnd::Destination)?)])
}
