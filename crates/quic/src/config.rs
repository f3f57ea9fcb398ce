//! The settings of a connection.

use units::{Segments, Span};

/// What spaces the packets of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// The token bucket of the stack: 1.25 windows per round-trip time, bursts of ten packets and more. The controller's
    /// rate is not used.
    #[default]
    Stack,
    /// Nothing: ACKs clock the packets.
    None,
    /// The driver of this crate: one packet at a time at the controller's rate, or, if it has none, at the window over the
    /// round-trip time, times 2 in slow start and 1.2 after it. Controllers that need pacing always get it.
    Driver,
}

impl Pacing {
    /// All of them.
    pub const ALL: [Pacing; 3] = [Pacing::Stack, Pacing::None, Pacing::Driver];
    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Pacing::Stack => "stack",
            Pacing::None => "none",
            Pacing::Driver => "driver",
        }
    }
}

/// The settings of a connection; both ends use the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Largest UDP payload, bytes, 1200 to 65527. It is the segment of windows: a window of 10 is 10 times as many bytes.
    pub packet: u32,
    /// Bytes that the receiver takes beyond what its application has read.
    pub receive_window: u64,
    /// What spaces packets.
    pub pacing: Pacing,
    /// Datagrams are ECN-capable, and the receiver reports marks.
    pub ecn: bool,
    /// The sender's datagrams carry ECT(1); needs `ecn`.
    pub l4s: bool,
    /// TLS 1.3 instead of the session without encryption; needs the cargo feature `tls`.
    pub tls: bool,
    /// Packets under TLS carry the clock of their sender in 8 bytes more: for controllers that need the receiver's clock. Both
    /// ends must be of this crate. (Packets of the session without encryption always carry it, in their tag.)
    pub tls_clock: bool,
    /// Bytes of the server's certificate chain, without `tls`.
    pub certificate: u32,
    /// The window before the first ACK, segments; at least 2.
    pub initial_window: Segments,
    /// The receiver acknowledges every so many packets at the latest (draft-ietf-quic-ack-frequency); `None`: 2.
    pub ack_every: Option<u32>,
    /// The receiver delays an ACK for this time at the most; `None`: 25 ms.
    pub max_ack_delay: Option<Span>,
    /// A packet is lost if so many later ones were sent before one that is acknowledged (RFC 9002 section 6.1.1); at least
    /// 3.
    pub packet_threshold: u32,
    /// A packet is lost if it is older than the round-trip time by this factor (RFC 9002 section 6.1.2).
    pub time_threshold: f32,
    /// The title of the qlog of each end, recorded in memory ([`crate::Endpoint::take_qlog`]); `None` for no qlog.
    pub qlog: Option<String>,
    /// Determines what is random: packet numbers left out, spin bits, key updates, the order of transport parameters.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            packet: 1472,
            receive_window: 16 << 20,
            pacing: Pacing::Stack,
            ecn: false,
            l4s: false,
            tls: false,
            tls_clock: false,
            certificate: 800,
            initial_window: 10.0,
            ack_every: None,
            max_ack_delay: None,
            packet_threshold: 3,
            time_threshold: 1.125,
            qlog: None,
            seed: 1,
        }
    }
}

/// A setting with a value that is not permitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The name of the field.
    pub field: &'static str,
    /// What it must be.
    pub message: String,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Checks the values. Fails with the first field whose value is not permitted.
    pub fn check(&self) -> Result<(), ConfigError> {
        let error = |field, message: &str| Err(ConfigError { field, message: message.into() });
        if !(1200..=65_527).contains(&self.packet) {
            return error("packet", "must be from 1200 to 65527 bytes (RFC 9000 section 14)");
        }
        if self.receive_window < self.packet as u64 || self.receive_window >= 1 << 62 {
            return error("receive_window", "must hold at least one packet and be less than 2^62 bytes");
        }
        if self.l4s && !self.ecn {
            return error("l4s", "needs ecn = true");
        }
        if self.tls && cfg!(not(feature = "tls")) {
            return error("tls", "is not in this build; write tls = false");
        }
        if self.certificate > 16_000 {
            return error("certificate", "must be at most 16000 bytes");
        }
        if !(self.initial_window >= 2.0 && self.initial_window <= 1e9) {
            return error("initial_window", "must be at least 2 segments (RFC 9002 section 7.2)");
        }
        if self.ack_every == Some(0) {
            return error("ack_every", "must be at least 1");
        }
        if self.max_ack_delay.is_some_and(|delay| delay < Span::from_ms(1) || delay > Span::from_ms(16_000)) {
            return error("max_ack_delay", "must be from 1ms to 16s");
        }
        if self.packet_threshold < 3 {
            return error("packet_threshold", "must be at least 3 (RFC 9002 section 6.1.1)");
        }
        if !(self.time_threshold > 1.0 && self.time_threshold <= 100.0) {
            return error("time_threshold", "must be more than 1 and at most 100");
        }
        Ok(())
    }
}
