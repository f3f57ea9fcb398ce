//! Cryptographic sessions: without encryption, and TLS 1.3.

mod plain;
#[cfg(feature = "tls")]
mod tls;

use crate::config::Config;
use crate::observer::Observer;
use plain::{NoSecret, Plain};
use quinn_proto::{ClientConfig, EndpointConfig, ServerConfig};
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// The name of the server in its certificate.
pub(crate) const SERVER_NAME: &str = "ackclock";

/// The secrets of a TLS session, one line each, in the SSLKEYLOGFILE format: label, random of the client, secret.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyLog(Arc<Mutex<String>>);

impl KeyLog {
    #[cfg_attr(
        not(feature = "tls"),
        expect(dead_code, reason = "the session without encryption has no secrets")
    )]
    fn add(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text.push_str(label);
        for bytes in [client_random, secret] {
            text.push(' ');
            for byte in bytes {
                let _ = write!(text, "{byte:02x}"); // a String takes everything
            }
        }
        text.push('\n');
    }

    /// All lines so far.
    pub fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The settings of an endpoint, without entropy.
pub(crate) fn endpoint() -> EndpointConfig {
    EndpointConfig::new(Arc::new(NoSecret))
}

#[cfg(feature = "tls")]
fn keys(config: &Config, observer: Observer) -> tls::KeyObserver {
    tls::KeyObserver { observer, clock: if config.tls_clock { tls::CLOCK } else { 0 } }
}

/// The session of a client. With TLS it writes its secrets to `key_log`.
#[cfg_attr(not(feature = "tls"), expect(unused_variables, reason = "only TLS has secrets"))]
pub(crate) fn client(config: &Config, observer: Observer, key_log: &KeyLog) -> ClientConfig {
    #[cfg(feature = "tls")]
    if config.tls {
        return ClientConfig::new(tls::client(keys(config, observer), key_log));
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
