//! A session without encryption: QUIC's handshake with its messages in order and in size, and packets with a tag of 16 bytes.
//! Congestion control cannot tell it from TLS, and no key makes a run random. The tag contains the sender's clock, which a
//! receiver may pass to its controller, and what the AEAD of TLS authenticates besides the payload (RFC 9001 section 5.3):
//! the full packet number and the key phase. A packet that TLS would discard is discarded.

use crate::frames::Space;
use crate::observer::Observer;
use bytes::{Buf, BytesMut};
use quinn_proto::crypto::{
    self, AeadKey, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair,
    Keys, PacketKey, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use std::any::Any;
use std::sync::Arc;
use units::Time;

/// Sizes of the messages of TLS 1.3, bytes: ClientHello, ServerHello, Finished.
const CLIENT_HELLO: usize = 280;
const SERVER_HELLO: usize = 122;
const FINISHED: usize = 52;

/// The session of one end.
#[derive(Clone)]
pub(super) struct Plain {
    /// Bytes of the server's second message.
    certificate: usize,
    observer: Observer,
}

impl Plain {
    pub fn new(certificate: u32, observer: Observer) -> Plain {
        Plain { certificate: certificate as usize, observer }
    }

    fn session(self, side: Side, parameters: &TransportParameters) -> Box<dyn crypto::Session> {
        let mut local = Vec::new();
        parameters.write(&mut local);
        let (other, incoming) = (Vec::new(), Vec::new());
        Box::new(Session {
            plain: self,
            side,
            local,
            other,
            incoming,
            read: 0,
            written: 0,
            updates: 0,
            done: false,
        })
    }

    /// The keys of a space after `updates` key updates, which only the application data space has.
    fn keys(&self, space: Space, updates: u8) -> Keys {
        let packet = || Box::new(Key { space, updates, observer: self.observer.clone() });
        Keys {
            header: KeyPair { local: Box::new(NoProtection), remote: Box::new(NoProtection) },
            packet: KeyPair { local: packet(), remote: packet() },
        }
    }
}

struct Session {
    plain: Plain,
    side: Side,
    /// Transport parameters of both ends.
    local: Vec<u8>,
    other: Vec<u8>,
    incoming: Vec<u8>,
    /// Messages read and written.
    read: u32,
    written: u32,
    /// Key updates for which there are keys (RFC 9001 section 6).
    updates: u8,
    done: bool,
}

/// Bytes of a message before its content: its size and the size of the content.
const MESSAGE_HEADER: usize = 8;

/// Writes a message of `size` bytes with `content` and zeros.
fn write_message(out: &mut Vec<u8>, size: usize, content: &[u8]) {
    let size = size.max(MESSAGE_HEADER + content.len());
    let end = out.len() + size;
    out.extend((size as u32).to_be_bytes());
    out.extend((content.len() as u32).to_be_bytes());
    out.extend(content);
    out.resize(end, 0);
}

impl Session {
    /// The content of the next message, if it has arrived.
    fn next_message(&mut self) -> Option<Vec<u8>> {
        let mut header = self.incoming.get(..MESSAGE_HEADER)?;
        let (size, content) = (header.get_u32() as usize, header.get_u32() as usize);
        if self.incoming.len() < size || content + MESSAGE_HEADER > size {
            return None;
        }
        let message = self.incoming[MESSAGE_HEADER..MESSAGE_HEADER + content].to_vec();
        self.incoming.drain(..size);
        self.read += 1;
        Some(message)
    }
}

impl crypto::Session for Session {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        self.plain.keys(Space::Initial, 0)
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        (self.read > 0).then(|| Box::new(()) as Box<dyn Any>)
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }
    fn early_data_accepted(&self) -> Option<bool> {
        None
    }
    fn is_handshaking(&self) -> bool {
        !self.done
    }
    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.incoming.extend_from_slice(bytes);
        let before = self.read;
        while let Some(content) = self.next_message() {
            match (self.side, self.read) {
                (Side::Client, 2) | (Side::Server, 1) => self.other = content,
                (Side::Server, 2) => self.done = true,
                _ => {}
            }
        }
        Ok(before == 0 && self.read > 0)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        if self.other.is_empty() {
            return Ok(None);
        }
        Ok(Some(TransportParameters::read(self.side, &mut &self.other[..])?))
    }
    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        // The keys that follow a message, and the messages that must have arrived before it.
        let (space, needed) = match (self.side, self.written) {
            (Side::Client, 0) => {
                write_message(out, CLIENT_HELLO, &self.local);
                self.written = 1;
                return None;
            }
            (Side::Client, 1) => (Space::Handshake, 1),
            (Side::Client, 2) => (Space::Data, 2),
            (Side::Server, 0) => (Space::Handshake, 1),
            (Side::Server, 1) => (Space::Data, 1),
            _ => return None,
        };
        if self.read < needed {
            return None;
        }
        match (self.side, self.written) {
            (Side::Client, 2) => {
                write_message(out, FINISHED, &[]);
                self.done = true;
            }
            (Side::Server, 0) => write_message(out, SERVER_HELLO, &[]),
            (Side::Server, _) => write_message(out, self.plain.certificate, &self.local),
            _ => {}
        }
        self.written += 1;
        Some(self.plain.keys(space, 0))
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.updates = self.updates.wrapping_add(1);
        Some(self.plain.keys(Space::Data, self.updates).packet)
    }
    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false
    }
    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

impl crypto::ClientConfig for Plain {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        Ok((*self).clone().session(Side::Client, parameters))
    }
}

impl crypto::ServerConfig for Plain {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(self.keys(Space::Initial, 0))
    }
    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }
    fn start_session(self: Arc<Self>, _: u32, parameters: &TransportParameters) -> Box<dyn crypto::Session> {
        (*self).clone().session(Side::Server, parameters)
    }
}

/// No header protection. The size of its sample is that of AES, because it bounds the size of the smallest packets.
struct NoProtection;

impl HeaderKey for NoProtection {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}
    fn encrypt(&self, _: usize, _: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        16
    }
}

struct Key {
    space: Space,
    /// Key updates before this key, modulo 256.
    updates: u8,
    observer: Observer,
}

/// Bytes of the tag of a packet: a clock in picoseconds, and [`Key::check`].
const TAG: usize = 16;
/// The first byte of the second half of a tag. Stateless reset tokens, with which the stack compares the last bytes of packets
/// that it cannot read, have another one there ([`NoSecret`]).
const MARK: u8 = 0xac;

impl Key {
    /// The second half of the tag of packet `number`: it differs for a wrongly decoded number and for another key phase.
    fn check(&self, number: u64) -> u64 {
        let [.., a, b, c, d, e, f] = number.to_be_bytes();
        u64::from_be_bytes([MARK, self.updates, a, b, c, d, e, f])
    }
}

impl PacketKey for Key {
    fn encrypt(&self, number: u64, packet: &mut [u8], header: usize) {
        let size = packet.len();
        let (payload, tag) = packet[header..].split_at_mut(size - header - TAG);
        self.observer.sent(self.space, number, size, payload);
        tag[..8].copy_from_slice(&self.observer.present.get().ps().to_be_bytes());
        tag[8..].copy_from_slice(&self.check(number).to_be_bytes());
    }
    fn decrypt(&self, number: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let size = header.len() + payload.len();
        let length = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        let mut tag = &payload[length..];
        let clock = Time::from_ps(tag.get_u64());
        if tag.get_u64() != self.check(number) {
            return Err(CryptoError);
        }
        payload.truncate(length);
        self.observer.received(self.space, number, size, payload, Some(clock));
        Ok(())
    }
    fn tag_len(&self) -> usize {
        TAG
    }
    fn confidentiality_limit(&self) -> u64 {
        1 << 60
    }
    fn integrity_limit(&self) -> u64 {
        1 << 60
    }
}

/// The keys of an endpoint for stateless resets and address validation tokens, which are not used here.
pub(super) struct NoSecret;

impl HmacKey for NoSecret {
    fn sign(&self, data: &[u8], out: &mut [u8]) {
        // Reset tokens of different connection identifiers differ, and none is equal to a tag.
        out.iter_mut().zip(data.iter().cycle()).for_each(|(out, byte)| *out = *byte);
    }
    fn signature_len(&self) -> usize {
        32
    }
    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

impl HandshakeTokenKey for NoSecret {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(NoSecret)
    }
}

impl AeadKey for NoSecret {
    fn seal(&self, _: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(updates: u8) -> Key {
        let present = crate::clock::Present::default();
        present.set(Time::from_ps(77));
        Key { space: Space::Data, updates, observer: Observer { present, handle: None, qlog: None } }
    }

    fn packet() -> Vec<u8> {
        let mut packet = vec![0x40, 1, 2, 3];
        packet.resize(4 + TAG, 0);
        key(0).encrypt(9, &mut packet, 1);
        packet
    }

    fn decrypted(key: &Key, number: u64, packet: &[u8]) -> Result<BytesMut, CryptoError> {
        let mut payload = BytesMut::from(&packet[1..]);
        key.decrypt(number, &packet[..1], &mut payload).map(|()| payload)
    }

    #[test]
    fn a_packet_is_read_as_written_and_a_changed_tag_is_refused() {
        let mut packet = packet();
        assert_eq!(packet[..4], [0x40, 1, 2, 3]);
        assert_eq!(packet[4..12], 77_u64.to_be_bytes());
        assert_eq!(decrypted(&key(0), 9, &packet).unwrap()[..], [1, 2, 3]);
        packet[4 + TAG - 1] ^= 1;
        assert!(decrypted(&key(0), 9, &packet).is_err());
        assert!(key(0).decrypt(9, &[], &mut BytesMut::from(&[0; TAG - 1][..])).is_err());
    }

    #[test]
    fn another_key_phase_and_a_wrongly_decoded_number_are_refused() {
        let packet = packet();
        assert!(decrypted(&key(1), 9, &packet).is_err());
        assert!(decrypted(&key(255), 9, &packet).is_err());
        // Candidates of a truncated packet number differ by powers of 256 (RFC 9000 appendix A.3).
        for distance in [1 << 8, 1 << 16, 1 << 24, 1 << 32] {
            assert!(decrypted(&key(0), 9 + distance, &packet).is_err(), "{distance}");
        }
    }

    #[test]
    fn each_key_update_has_keys_of_its_own() {
        let parameters = TransportParameters::read(Side::Server, &mut &[][..]).unwrap();
        let mut session = Plain::new(0, key(0).observer).session(Side::Client, &parameters);
        let pairs = [session.next_1rtt_keys().unwrap(), session.next_1rtt_keys().unwrap()];
        let mut packet = packet();
        pairs[0].local.encrypt(9, &mut packet, 1);
        assert!(decrypted(&key(0), 9, &packet).is_err());
        let mut payload = BytesMut::from(&packet[1..]);
        assert!(pairs[1].remote.decrypt(9, &packet[..1], &mut payload).is_err());
        pairs[0].remote.decrypt(9, &packet[..1], &mut payload).unwrap();
    }

    #[test]
    fn no_reset_token_is_a_tag() {
        // The first bit of a connection identifier is 0.
        for first in 0..0x80 {
            let mut token = [0; 32];
            NoSecret.sign(&[first, 1, 2, 3, 4, 5, 6, 7], &mut token);
            assert_ne!(token[8], MARK);
        }
    }
}
