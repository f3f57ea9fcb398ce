//! TLS 1.3 (rustls) with an observer at the packet keys. With a clock in the tag, the tag of a packet is followed by the
//! sender's time, which only the other end of this crate can read.

use crate::frames::Space;
use crate::observer::Observer;
use crate::session::{KeyLog, SERVER_NAME};
use bytes::BytesMut;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::crypto::{
    self, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session,
    UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use rustls::pki_types::PrivateKeyDer;
use std::any::Any;
use std::sync::{Arc, OnceLock};
use units::Time;

/// The TLS settings of both ends, with a certificate that is made once per process.
type Identity = (rustls::ClientConfig, Arc<QuicServerConfig>);
static IDENTITY: OnceLock<Identity> = OnceLock::new();

fn identity() -> &'static Identity {
    IDENTITY.get_or_init(|| make_identity().expect("a certificate of fixed content can be made"))
}

fn make_identity() -> Result<Identity, Box<dyn std::error::Error>> {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519)?;
    let certificate = rcgen::CertificateParams::new(vec![SERVER_NAME.into()])?.self_signed(&key)?;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.der().clone())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut client = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    // A resumed handshake is smaller: no connection depends on those before it.
    client.resumption = rustls::client::Resumption::disabled();
    let secret = PrivateKeyDer::try_from(key.serialize_der())?;
    let server = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], secret)?;
    Ok((client, Arc::new(QuicServerConfig::try_from(server)?)))
}

impl rustls::KeyLog for KeyLog {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        self.add(label, client_random, secret);
    }
}

/// The session of a client, which writes its secrets to `key_log`.
pub(super) fn client(keys: KeyObserver, key_log: &KeyLog) -> Arc<dyn crypto::ClientConfig> {
    let mut config = identity().0.clone();
    config.key_log = Arc::new(key_log.clone());
    let config = QuicClientConfig::try_from(config).expect("the provider has the cipher suites of QUIC");
    Arc::new(Observed { inner: Arc::new(config), keys })
}

pub(super) fn server(keys: KeyObserver) -> Arc<dyn crypto::ServerConfig> {
    Arc::new(Observed { inner: identity().1.clone(), keys })
}

/// What the keys of a connection do besides encryption.
#[derive(Clone)]
pub(super) struct KeyObserver {
    pub observer: Observer,
    /// Bytes of the clock that follows the tag: [`CLOCK`] or none.
    pub clock: usize,
}

/// Bytes of a clock in picoseconds.
pub(super) const CLOCK: usize = 8;

/// Settings whose sessions have observed keys.
struct Observed<T> {
    inner: Arc<T>,
    keys: KeyObserver,
}

impl crypto::ClientConfig for Observed<QuicClientConfig> {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = self.inner.clone().start_session(version, name, parameters)?;
        Ok(Box::new(ObservedSession { inner, keys: self.keys.clone(), pairs: 0 }))
    }
}

impl crypto::ServerConfig for Observed<QuicServerConfig> {
    fn initial_keys(&self, version: u32, id: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(observe(&self.keys, Space::Initial, self.inner.initial_keys(version, id)?))
    }
    fn retry_tag(&self, version: u32, id: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, id, packet)
    }
    fn start_session(self: Arc<Self>, version: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        let inner = self.inner.clone().start_session(version, parameters);
        Box::new(ObservedSession { inner, keys: self.keys.clone(), pairs: 0 })
    }
}

struct ObservedSession {
    inner: Box<dyn Session>,
    keys: KeyObserver,
    /// Key pairs that the handshake has made.
    pairs: u32,
}

fn observe_pair(
    keys: &KeyObserver,
    space: Space,
    pair: KeyPair<Box<dyn PacketKey>>,
) -> KeyPair<Box<dyn PacketKey>> {
    let key = |inner| Box::new(ObservedKey { inner, space, keys: keys.clone() });
    KeyPair { local: key(pair.local), remote: key(pair.remote) }
}

fn observe(observer: &KeyObserver, space: Space, keys: Keys) -> Keys {
    Keys { header: keys.header, packet: observe_pair(observer, space, keys.packet) }
}

impl Session for ObservedSession {
    fn initial_keys(&self, id: &ConnectionId, side: Side) -> Keys {
        observe(&self.keys, Space::Initial, self.inner.initial_keys(id, side))
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }
    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }
    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }
    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(bytes)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }
    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.inner.write_handshake(out)?;
        self.pairs += 1;
        let space = if self.pairs == 1 { Space::Handshake } else { Space::Data };
        Some(observe(&self.keys, space, keys))
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let pair = self.inner.next_1rtt_keys()?;
        Some(observe_pair(&self.keys, Space::Data, pair))
    }
    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(id, header, payload)
    }
    fn export_keying_material(
        &self,
        out: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(out, label, context)
    }
}

struct ObservedKey {
    inner: Box<dyn PacketKey>,
    space: Space,
    keys: KeyObserver,
}

impl PacketKey for ObservedKey {
    fn encrypt(&self, number: u64, packet: &mut [u8], header: usize) {
        let observer = &self.keys.observer;
        let payload = header..packet.len() - self.tag_len();
        observer.sent(self.space, number, packet.len(), &packet[payload]);
        let (sealed, clock) = packet.split_at_mut(packet.len() - self.keys.clock);
        clock.copy_from_slice(&observer.present.get().ps().to_be_bytes()[..self.keys.clock]);
        self.inner.encrypt(number, sealed, header);
    }
    fn decrypt(&self, number: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let size = header.len() + payload.len();
        let sealed = payload.len().checked_sub(self.keys.clock).ok_or(CryptoError)?;
        let clock = payload[sealed..].try_into().ok().map(|bytes| Time::from_ps(u64::from_be_bytes(bytes)));
        payload.truncate(sealed);
        self.inner.decrypt(number, header, payload)?;
        self.keys.observer.received(self.space, number, size, payload, clock);
        Ok(())
    }
    fn tag_len(&self) -> usize {
        self.inner.tag_len() + self.keys.clock
    }
    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }
    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}
