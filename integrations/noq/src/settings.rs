//! The settings of both ends: TLS, controller, flow control.

use ackclock::network::{FlowEnd, StackError, seed_bytes};
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TransportConfig, VarInt};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::sync::Arc;

/// The name in the certificate.
pub const SERVER_NAME: &str = "localhost";

/// What precedes the 32 bytes of an Ed25519 private key in PKCS #8 (RFC 8410 section 7).
const ED25519_PKCS8: [u8; 16] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

/// The congestion controller with a name and flow control that does not limit; the rest as by default.
fn transport(controller: &str) -> Result<Arc<TransportConfig>, StackError> {
    let factory: Arc<dyn ControllerFactory + Send + Sync> = match controller {
        "reno" => Arc::new(NewRenoConfig::default()),
        "cubic" => Arc::new(CubicConfig::default()),
        "bbr3" => Arc::new(Bbr3Config::default()),
        other => return Err(format!("no controller {other}; noq has reno, cubic and bbr3").into()),
    };
    let window = VarInt::from_u32(1_000_000_000);
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(factory).max_idle_timeout(None);
    transport.receive_window(window).stream_receive_window(window);
    Ok(Arc::new(transport))
}

/// A self-signed certificate and its key, the same at both ends. All signatures of Ed25519 have 64 bytes, and the serial
/// number is fixed, so that the handshake has the same size in every run.
fn certificate(seed: u64) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), StackError> {
    let secret = [&ED25519_PKCS8[..], &seed_bytes(seed, "certificate")].concat();
    let key = rcgen::KeyPair::try_from(&secret[..])?;
    let mut parameters = rcgen::CertificateParams::new([SERVER_NAME.into()])?;
    parameters.serial_number = Some(1.into());
    Ok((parameters.self_signed(&key)?.der().clone(), PrivatePkcs8KeyDer::from(secret).into()))
}

/// The endpoint of one end, and for the source what it connects with.
pub fn endpoint(
    end: FlowEnd,
    seed: u64,
    controller: &str,
) -> Result<(Endpoint, Option<ClientConfig>), StackError> {
    let (transport, (certificate, key)) = (transport(controller)?, certificate(seed)?);
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
    Ok((Endpoint::new(Arc::new(config), server.map(Arc::new), true), client))
}
