//! Cryptographic sessions: without encryption, and TLS 1.3.

mod plain;
#[cfg(feature = "tls")]
mod tls;

use crate::config::Config;
use crate::observer::Observer;
use plain::{NoSecret, Plain};
use quinn_proto::{ClientConfig, EndpointConfig, ServerConfig};
use std::sync::Arc;

/// The name of the server in its certificate.
pub(crate) const SERVER_NAME: &str = "ackclock";

/// The settings of an endpoint, without entropy.
pub(crate) fn endpoint() -> EndpointConfig {
    EndpointConfig::new(Arc::new(NoSecret))
}

#[cfg(feature = "tls")]
fn keys(config: &Config, observer: Observer) -> tls::KeyObserver {
    tls::KeyObserver { observer, clock: if config.tls_clock { tls::CLOCK } else { 0 } }
}

/// The session of a client.
pub(crate) fn client(config: &Config, observer: Observer) -> ClientConfig {
    #[cfg(feature = "tls")]
    if config.tls {
        return ClientConfig::new(tls::client(keys(config, observer)));
    }
    ClientConfig::new(Arc::new(Plain::new(config.certificate, observer)))
}

/// The session of a server.
pub(crate) fn server(config: &Config, observer: Observer) -> ServerConfig {
    #[cfg(feature = "tls")]
    if config.tls {
        return ServerConfig::new(tls::server(keys(config, observer)), Arc::new(NoSecret));
    }
    ServerConfig::new(Arc::new(Plain::new(config.certificate, observer)), Arc::new(NoSecret))
}
