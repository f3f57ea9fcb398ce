//! The settings of a connection.

use params::Form::{Bytes, Integer, Number, Quantity, Switch, Word};
use params::{Unit, named_values, options};
use transport::Validation;
use units::{Segments, Span};

named_values! {
    /// What spaces the packets of a sender.
    Pacing {
        /// The token bucket of the stack: 1.25 windows per round-trip time, bursts of ten packets and more. The controller's
        /// rate is not used.
        Stack = "stack",
        /// Nothing: ACKs clock the packets.
        None = "none",
        /// The driver of this crate: one packet at a time at the controller's rate, or, if it has none, at the window over
        /// the round-trip time, times 2 in slow start and 1.2 after it. Controllers that need pacing always get it.
        Driver = "driver",
    }
}

options! {
    /// The settings of a connection; both ends use the same.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        packet ["max_datagram_size"]: u32 = Bytes(1200, 65_527), ["\"1472B\""],
            "largest UDP payload, 1200 to 65,527 bytes; windows count datagrams of this size";
        receive_window: u64 = Bytes(1200, 1 << 50), ["16777216"],
            "bytes that the receiver takes beyond what its application has read";
        initial_window: Segments = Number(2.0, 1e6), ["10, or the controller's"],
            "window before the first ACK, datagrams; without it the controller may specify its own (`enhanced_rcp`: 4)",
            else 10.0;
        ecn: bool = Switch, ["false"],
            "datagrams are ECN-capable and ACK frames count marks; on if the controller requires it";
        l4s: bool = Switch, ["false"], "data carries ECT(1); on if the controller requires it";
        pacing: Pacing = Word(Pacing::NAMES), ["\"stack\""],
            "what spaces datagrams: `stack`: 1.25 windows per round trip, in bursts of 10 and more; `none`: ACKs alone; `driver`: one by one at the controller's rate, always used for controllers that need pacing";
        validation: Validation = Word(&["linux", "none", "ratelimited", "ratelimited_literal"]), ["\"linux\""],
            "a window that the application does not use does not grow; `none`: it grows; `ratelimited`: it grows to twice what was in flight in slow start, and by one segment more than that after it (draft-ietf-ccwg-ratelimited-increase-10; `ratelimited_literal` also cuts it down to that)";
        tls: bool = Switch, ["false"],
            "TLS 1.3 in place of a session without encryption whose packets have the same sizes";
        certificate ["certificate_size"]: u32 = Bytes(0, 16_000), ["\"800B\""],
            "the server's certificates in the handshake, without `tls`, at most 16,000 bytes";
        ack_every: Option<u32> = Integer(1, 1 << 20), ["2 (RFC 9000)"],
            "the receiver acknowledges so many packets at once, unless the delay passes before";
        max_ack_delay: Option<Span> = Quantity(Unit::Time, "25ms"), ["\"25ms\" (RFC 9000)"],
            "longest delay of an ACK, 1 ms to 16 s";
        packet_threshold: u32 = Integer(3, 1 << 20), ["3"],
            "a packet is lost if so many later ones were sent before one that is acknowledged (RFC 9002)";
        time_threshold: f32 = Number(1.001, 100.0), ["1.125"],
            "a packet is lost if it is older than so many round trips (RFC 9002)";
    }
    with {
        /// Packets under TLS carry the clock of their sender in 8 bytes more: for controllers that need the receiver's
        /// clock. Both ends must be of this crate. (Packets of the session without encryption always carry it, in their
        /// tag.)
        tls_clock: bool = |_| false;
        /// The title of the qlog of each end, recorded in memory ([`crate::Endpoint::take_qlog`]); `None` for no qlog.
        qlog: Option<String> = |_| None;
        /// The flow has an application with streams of its own ([`crate::Endpoint::transmit_from`]), of which so many may be
        /// open at a time, 1 to 65,536; the receiver reserves some 50 bytes for each. A stream is open until the receiver has
        /// read all of it. `None`: the flow is the single stream of [`crate::Endpoint::write`].
        streams: Option<u32> = |_| None;
        /// Determines what is random: packet numbers left out, spin bits, key updates, the order of transport parameters.
        seed: u64 = |_| 1;
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::with_defaults(1)
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
        if self.streams.is_some_and(|count| !(1..=65_536).contains(&count)) {
            return error("streams", "must be from 1 to 65536");
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
